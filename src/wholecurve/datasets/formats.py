"""Files to records: one function per format, in one table. Nothing here knows what a column means.

A record is a dict, or a `Bad` with the reason it is none. JSON Lines are read line by line; pyarrow is imported for
Parquet only, so that other files cost no start-up time. No format that can run code is read.
"""

from __future__ import annotations

import codecs
import csv
import gzip
import io
import zlib
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

import orjson

from wholecurve.datasets.values import shown
from wholecurve.model.errors import InputError

# Reading these runs code that the file brings along.
CODE_SUFFIXES = (".pkl", ".pickle", ".pt", ".pth", ".joblib", ".dill", ".npy", ".npz", ".py")


@dataclass(frozen=True, slots=True)
class Bad:
    """A row that is no record, and why."""

    reason: str


@dataclass(frozen=True, slots=True)
class Records:
    """What a file holds: its columns in order of appearance, and (place, record) pairs.

    `place` counts from 1: the line for text formats, the record otherwise; `unit` says which.
    """

    columns: tuple[str, ...]
    rows: tuple[tuple[int, dict[str, Any] | Bad], ...]
    unit: str


# Of a columnar file only the columns are read that this function chooses from all.
Choose = Callable[[Sequence[str]], Collection[str]]
Reader = Callable[[Path, str, "int | None", Choose], Records]


def _gathered(pairs: Iterable[tuple[int, Any]], unit: str, problems: dict[int, str]) -> Records:
    columns: dict[str, None] = {}
    rows: list[tuple[int, dict[str, Any] | Bad]] = []
    for place, value in pairs:
        if isinstance(value, dict):
            columns.update(dict.fromkeys(value))
            rows.append((place, value))
        else:
            rows.append((place, Bad(problems.get(place) or f"wanted an object, got {shown(value)}")))
    return Records(tuple(columns), tuple(rows), unit)


def _read_json_lines(path: Path, where: str, limit: int | None, choose: Choose) -> Records:
    problems: dict[int, str] = {}

    def pairs() -> Iterator[tuple[int, Any]]:
        offset = 0
        with gzip.open(path, "rb") if path.suffix == ".gz" else path.open("rb") as lines:
            for place, line in enumerate(lines, 1):
                raw = line
                if place == 1:
                    raw = _without_bom(line, where)
                if raw.strip():
                    try:
                        value = orjson.loads(raw)
                    except ValueError as error:
                        _refuse_other_encodings(line, offset, where)
                        problems[place] = f"wanted a JSON object, got text that is not JSON ({_reason(error)})"
                        value = None
                    yield place, value
                offset += len(line)

    try:
        return _gathered(islice(pairs(), limit), "line", problems)
    except (gzip.BadGzipFile, EOFError, zlib.error):
        raise InputError("wanted a gzip file, got a damaged or shortened one", where=where) from None


def _read_json(path: Path, where: str, limit: int | None, choose: Choose) -> Records:
    data = path.read_bytes()
    body = _without_bom(data, where)
    try:
        value = orjson.loads(body) if body.strip() else []
    except orjson.JSONDecodeError as error:
        _refuse_other_encodings(data, 0, where)
        hint = "" if body.lstrip()[:1] == b"[" else "one object a line is JSON Lines: name the file .jsonl"
        raise InputError(
            f"wanted a JSON list of objects, got text that is not JSON ({_reason(error)}, line {error.lineno})",
            where=where,
            hint=hint,
        ) from None
    if not isinstance(value, list):
        raise InputError(f"wanted a JSON list of objects, got {shown(value)}", where=where)
    return _gathered(islice(enumerate(value, 1), limit), "row", {})


def _read_csv(path: Path, where: str, limit: int | None, choose: Choose) -> Records:
    data = path.read_bytes()
    body = _without_bom(data, where)
    _refuse_other_encodings(data, 0, where)
    # Prompts are longer than the field limit of the csv module, which is one setting for the whole process.
    kept = csv.field_size_limit(max(len(data) + 1, 1 << 17))
    try:
        return _csv_records(io.StringIO(body.decode(), newline=""), where, limit)
    finally:
        csv.field_size_limit(kept)


def _csv_records(text: io.StringIO, where: str, limit: int | None) -> Records:
    reader = csv.reader(text, strict=True)
    rows: list[tuple[int, dict[str, Any] | Bad]] = []
    columns: list[str] = []
    while limit is None or len(rows) < limit:
        place = reader.line_num + 1
        try:
            cells = next(reader)
        except StopIteration:
            break
        except csv.Error as error:
            raise InputError(f"wanted a CSV row, got a broken one ({error})", where=f"{where}, line {place}") from None
        if not columns:
            columns = [cell.strip() for cell in cells]
            _refuse_double_columns([name for name in columns if name], where)
        elif len(cells) == len(columns):
            rows.append((place, dict(zip(columns, cells))))
        elif cells:
            rows.append((place, Bad(f"wanted {len(columns)} fields as in the header, got {len(cells)}")))
    return Records(tuple(columns), tuple(rows), "line")


def _read_parquet(path: Path, where: str, limit: int | None, choose: Choose) -> Records:
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        with pq.ParquetFile(path) as file:
            columns = tuple(file.schema_arrow.names)
            _refuse_double_columns(columns, where)
            used = [name for name in columns if name in choose(columns)]
            rows: list[tuple[int, dict[str, Any] | Bad]] = []
            for batch in file.iter_batches(batch_size=1024, columns=used):
                for record in batch.slice(0, None if limit is None else limit - len(rows)).to_pylist():
                    rows.append((len(rows) + 1, _without_nulls(record)))
                if limit is not None and len(rows) >= limit:
                    break
    except (pa.ArrowException, OSError) as error:
        raise InputError(f"wanted a Parquet file, got an unreadable one ({_reason(error)})", where=where) from None
    return Records(columns, tuple(rows), "row")


def _without_nulls(value: Any) -> Any:
    """Parquet fills the fields of every struct; those that are null were absent, except a message's content."""
    if isinstance(value, dict):
        return {
            key: _without_nulls(item)
            for key, item in value.items()
            if item is not None or (key == "content" and "role" in value)
        }
    return [_without_nulls(item) for item in value] if isinstance(value, list) else value


# Suffix -> how to read it. Also what `format` may be, with or without the dot.
FORMATS: dict[str, Reader] = {
    ".jsonl": _read_json_lines,
    ".jsonl.gz": _read_json_lines,
    ".json": _read_json,
    ".csv": _read_csv,
    ".parquet": _read_parquet,
}


def reader_for(path: Path, named: str | None, *, where: str) -> Reader:
    """The reader for a file, from the named format or from its suffix. Raises InputError for any other."""
    if path.suffix.lower() in CODE_SUFFIXES:
        raise InputError(
            f"{path.suffix} files are not read: loading one can run code that it brings along",
            where=where,
            hint=f"export the rows as one of {', '.join(FORMATS)}",
        )
    wanted = f".{named.lstrip('.').lower()}" if named else "".join(path.suffixes[-2:]).lower()
    if not named and wanted not in FORMATS:
        wanted = path.suffix.lower()
    if wanted not in FORMATS:
        got = f"format {named!r}" if named else f"suffix {path.suffix!r}" if path.suffix else "a name without suffix"
        raise InputError(
            f"wanted a data set as {', '.join(FORMATS)}; got {got}",
            where=where,
            hint="export the data set as Parquet or JSON Lines, or name the format",
        )
    return FORMATS[wanted]


def _without_bom(data: bytes, where: str) -> bytes:
    """UTF-8 marks are dropped, those of UTF-16 and UTF-32 refused."""
    if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        raise InputError("wanted UTF-8, got UTF-16 or UTF-32 (bad byte at position 0)", where=where)
    return data.removeprefix(codecs.BOM_UTF8)


def _refuse_other_encodings(data: bytes, offset: int, where: str) -> None:
    try:
        data.decode()
    except UnicodeDecodeError as error:
        raise InputError(
            f"wanted UTF-8, got byte 0x{data[error.start]:02x} at position {offset + error.start} of the file",
            where=where,
            hint="convert the file to UTF-8",
        ) from None


def _refuse_double_columns(columns: Sequence[str], where: str) -> None:
    double = [name for name in dict.fromkeys(columns) if columns.count(name) > 1]
    if double:
        raise InputError(f"column {double[0]!r} is there {columns.count(double[0])} times; wanted once", where=where)


def _reason(error: BaseException) -> str:
    """The first line of an error of a library, without the position text that repeats ours."""
    return str(error).splitlines()[0].split(": line ")[0][:120] if str(error) else type(error).__name__
