"""`wholecurve export`: the records of a run in another form."""

from __future__ import annotations

import contextlib
import csv
import io
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import IO, Annotated, Any, Literal

from cyclopts import Parameter

from wholecurve.cli.outputs import write_named
from wholecurve.cli.report import run_folder
from wholecurve.model.errors import InputError
from wholecurve.run.files import read_object

What = Literal["requests", "gaps", "events"]
Format = Literal["csv", "jsonl", "parquet"]
SUFFIXES: dict[str, Format] = {".csv": "csv", ".jsonl": "jsonl", ".ndjson": "jsonl", ".parquet": "parquet"}


def command(
    what: Annotated[What, Parameter(help="what to write")],
    run: Annotated[str, Parameter(help="a run folder")],
    /,
    *,
    out: Annotated[str | None, Parameter(name="--out", help="file to write, must not exist; else stdout")] = None,
    format: Annotated[
        Format | None,
        Parameter(name="--format", help="form of the rows; by default as --out ends, else csv"),
    ] = None,
) -> int:
    """Write the records of a run in another form.

    `requests`: one row per request, columns as in records/requests.parquet, empty where nothing was measured. `gaps`:
    one row per time between two output-bearing events. `events`: events.jsonl of the MLPerf reference client, with a
    map from its request ids to rows of the data set beside the file.
    """
    folder = run_folder(run)
    target = _target(out)
    if what == "events":
        if format not in (None, "jsonl"):
            raise InputError(f"--format: events are written as jsonl, got {format}", hint="leave --format out")
        _events(folder, target)
        return 0
    chosen = format or SUFFIXES.get(target.suffix if target else "", "csv")
    table = _table(folder, "requests" if what == "requests" else "events")
    if chosen == "parquet":
        if target is None:
            raise InputError("--format parquet: wanted --out FILE too, got none", hint="it is no text for a screen")
        write_named(target, _parquet(table))
        return 0
    rows = _request_rows(table) if what == "requests" else _gap_rows(table)
    names = table.column_names if what == "requests" else ["phase", "index", "number", "gap_ns"]
    with _opened(target) as stream:
        _WRITERS[chosen](stream, names, rows)
    return 0


def _target(out: str | None) -> Path | None:
    if out is None:
        return None
    path = Path(out)
    if path.exists():
        raise InputError(f"--out: wanted a new file, got {out}, which exists", hint="name another file")
    if not path.absolute().parent.is_dir():
        raise InputError(f"--out: there is no folder for {out}", hint="make it first")
    return path


@contextlib.contextmanager
def _opened(target: Path | None) -> Iterator[IO[str]]:
    """stdout, or a file that appears under its name only when it is whole."""
    if target is None:
        yield sys.stdout
        return
    part = target.with_name(target.name + ".part")
    part.unlink(missing_ok=True)
    with part.open("x", encoding="utf-8", newline="") as stream:  # a link left under this name is not followed
        yield stream
    part.replace(target)


def _table(folder: Path, name: str) -> Any:
    """All phases of a Parquet file of records."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    path = folder / "records" / f"{name}.parquet"
    if not path.is_file():
        raise InputError(
            f"{folder} has no records/{name}.parquet",
            hint=f"a run that was killed is finished by: wholecurve report {folder}",
        )
    try:
        return pq.read_table(path)
    except (pa.ArrowInvalid, OSError) as error:
        raise InputError(f"records/{name}.parquet cannot be read: {error}", where=str(folder)) from None


def _parquet(table: Any) -> bytes:
    import pyarrow.parquet as pq

    buffer = io.BytesIO()
    pq.write_table(table, buffer, compression="zstd")
    return buffer.getvalue()


def _request_rows(table: Any) -> Iterator[dict[str, Any]]:
    for batch in table.to_batches(max_chunksize=10_000):
        yield from batch.to_pylist()


def _gap_rows(table: Any) -> Iterator[dict[str, Any]]:
    for batch in table.to_batches(max_chunksize=1_000):
        for row in batch.to_pylist():
            for number, gap in enumerate(row["gaps_ns"] or ()):
                yield {"phase": row["phase"], "index": row["index"], "number": number, "gap_ns": gap}


def _write_csv(stream: IO[str], names: list[str], rows: Iterator[Mapping[str, Any]]) -> None:
    """One header for all rows (REP-2); truth values as true and false, nothing where nothing was measured."""
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow(names)
    for row in rows:
        writer.writerow(_cell(row[name]) for name in names)


def _cell(value: Any) -> Any:
    if isinstance(value, bool):
        return "true" if value else "false"
    return "" if value is None else value


def _write_jsonl(stream: IO[str], names: list[str], rows: Iterator[Mapping[str, Any]]) -> None:
    import orjson

    for row in rows:
        stream.write(orjson.dumps({name: row[name] for name in names}).decode() + "\n")


_WRITERS = {"csv": _write_csv, "jsonl": _write_jsonl}


def _events(folder: Path, target: Path | None) -> None:
    import orjson

    from wholecurve.cli.reference_events import reference_events, sample_ids

    clock, plan = read_object(folder / "clock.json"), read_object(folder / "plan.json")
    requests = list(_request_rows(_table(folder, "requests")))
    answers = None
    if (folder / "records" / "responses.parquet").is_file():
        answers = {(row["phase"], row["index"]): row for row in _request_rows(_table(folder, "responses"))}
    with _opened(target) as stream:
        for event in reference_events(requests, answers, clock, plan):
            stream.write(orjson.dumps(event).decode() + "\n")
    if target is not None:
        map_file = target.with_name(f"{target.stem}.sample_idx_map.json")
        write_named(map_file, orjson.dumps(sample_ids(requests, clock, plan), option=orjson.OPT_INDENT_2))
