"""Loads a data set from disk: format, columns, rows, fingerprint. Every refusal happens here, before any load."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from os import PathLike
from pathlib import Path

from wholecurve.datasets.columns import INPUTS, ColumnMap, resolve_columns, without_answer
from wholecurve.datasets.formats import Bad, Records, reader_for
from wholecurve.datasets.rows import expected_answer, row_reader
from wholecurve.model.errors import InputError
from wholecurve.model.plan import DatasetPlan
from wholecurve.model.sample import Sample


@dataclass(frozen=True, slots=True)
class LoadedDataset:
    """A data set ready to be sent.

    `samples[i].row == i`. `plan.skipped_rows` are places in the file, counted from 1 (lines of JSONL and CSV, records
    of JSON and Parquet). `notes` say what was decided: columns used and left over, rows skipped, a limit. `answers[i]`
    is the expected answer of `samples[i]`; empty unless a column of answers was named.
    """

    plan: DatasetPlan
    samples: tuple[Sample, ...]
    notes: tuple[str, ...] = ()
    answers: tuple[str, ...] = ()


def load(
    path: str | PathLike[str],
    *,
    format: str | None = None,
    columns: Mapping[str, str] | None = None,
    limit: int | None = None,
    skip_bad_rows: bool = False,
    prefer: str | None = None,
    name: str | None = None,
    answer: str | None = None,
) -> LoadedDataset:
    """Load a JSONL (also gzipped), JSON, CSV or Parquet file.

    `format` is taken from the suffix unless given. `columns` maps targets to the file's columns. `limit` reads the
    first so many rows of the file. `prefer` names the input (`messages`, `prompt`, `input_ids`) to use where a row
    has several; the default order is that one. `name` defaults to the file's stem. `answer` names the column of the
    expected answers, which is never sent; a row without one is a bad row.

    Raises InputError, naming file and row, for anything that cannot be sent. With `skip_bad_rows` bad rows are left
    out and listed in the plan instead; a file without one good row is refused all the same.
    """
    file = Path(path)
    where = str(path)
    if limit is not None and limit < 1:
        raise InputError(f"wanted a row limit of at least 1, got {limit}", where=where)
    if prefer is not None and prefer not in INPUTS:
        raise InputError(f"wanted one of {', '.join(INPUTS)} as preferred input, got {prefer!r}", where=where)
    _refuse_unreadable(file, where)
    read = reader_for(file, format, where=where)
    digest = _fingerprint(file, where)
    records = read(file, where, limit, lambda found: _used(found, columns, answer, where))
    if not records.rows:
        raise InputError("wanted a data set with rows, got an empty file", where=where)
    if not skip_bad_rows:
        _refuse_first_bad(records, where)
    mapped = resolve_columns(without_answer(records.columns, answer, where=where), columns, where=where)
    samples, answers, skipped = _samples(records, mapped, prefer, answer, where, skip_bad_rows)
    plan = DatasetPlan(name or _stem(file), file.name, len(samples), digest, tuple(skipped))
    notes = _notes(records, mapped, prefer, limit, skipped)
    if answer is not None:
        notes = (*notes, f"expected answers: column {answer}")
    return LoadedDataset(plan, tuple(samples), notes, tuple(answers))


def _used(found: Sequence[str], columns: Mapping[str, str] | None, answer: str | None, where: str) -> set[str]:
    """The columns that are read of a columnar file."""
    used = set(resolve_columns(without_answer(found, answer, where=where), columns, where=where).source.values())
    return used if answer is None else used | {answer}


def _samples(
    records: Records, mapped: ColumnMap, prefer: str | None, answer: str | None, where: str, skip_bad_rows: bool
) -> tuple[list[Sample], list[str], dict[int, str]]:
    """(samples, expected answers, reasons of skipped rows by place)."""
    reader = row_reader(mapped, prefer=prefer)
    samples: list[Sample] = []
    answers: list[str] = []
    skipped: dict[int, str] = {}
    for place, record in records.rows:
        try:
            if isinstance(record, Bad):
                raise ValueError(record.reason)
            expected = None if answer is None else expected_answer(record, answer)
            samples.append(reader.sample(record, len(samples)))
            if expected is not None:
                answers.append(expected)
        except ValueError as error:
            if not skip_bad_rows:
                raise _row_error(str(error), place, records.unit, where) from None
            skipped[place] = str(error)
    if not samples:
        place, reason = next(iter(skipped.items()))
        raise InputError(
            f"none of {len(skipped)} rows can be sent; the first: {reason}", where=f"{where}, {records.unit} {place}"
        )
    return samples, answers, skipped


def _refuse_first_bad(records: Records, where: str) -> None:
    # A broken first line must not be reported as a file without columns.
    for place, record in records.rows:
        if isinstance(record, Bad):
            raise _row_error(record.reason, place, records.unit, where)
        if records.columns:
            return


def _row_error(reason: str, place: int, unit: str, where: str) -> InputError:
    return InputError(
        reason,
        where=f"{where}, {unit} {place}",
        hint="correct the row, or leave such rows out with --skip-bad-rows (they are then counted)",
    )


def _refuse_unreadable(file: Path, where: str) -> None:
    try:
        if file.is_dir():
            raise InputError(
                "wanted a data set file, got a folder", where=where, hint="name the file, or export the set as Parquet"
            )
        if not file.exists():
            raise InputError("wanted a data set file, got a name that does not exist", where=where)
        if not file.is_file():
            raise InputError("wanted a data set file, got a device or pipe", where=where)
    except OSError as error:
        raise InputError(f"the data set cannot be read: {error.strerror}", where=where) from None


def _fingerprint(file: Path, where: str) -> str:
    try:
        with file.open("rb") as stream:
            return hashlib.file_digest(stream, "sha256").hexdigest()
    except OSError as error:
        raise InputError(f"the data set cannot be read: {error.strerror}", where=where) from None


def _stem(file: Path) -> str:
    return file.name.split(".")[0] if file.name.endswith(".gz") else file.stem


def _notes(
    records: Records, mapped: ColumnMap, prefer: str | None, limit: int | None, skipped: Mapping[int, str]
) -> tuple[str, ...]:
    used = ", ".join(name if name == column else f"{name} <- {column}" for name, column in mapped.source.items())
    notes = [f"columns used: {used}"]
    if mapped.unused:
        notes.append(f"columns not used: {_listed(mapped.unused)}")
    inputs = sorted((name for name in INPUTS if name in mapped.source), key=lambda name: name != prefer)
    if len(inputs) > 1:
        notes.append(f"rows with several inputs are sent as {', else '.join(inputs)}")
    if limit is not None:
        notes.append(f"only the first {limit} rows of the file were read")
    if skipped:
        notes.append(f"{len(skipped)} bad rows skipped: {records.unit} {_listed([str(place) for place in skipped])}")
    return tuple(notes)


def _listed(items: Sequence[str], limit: int = 20) -> str:
    return ", ".join(items[:limit]) + (f" and {len(items) - limit} more" if len(items) > limit else "")
