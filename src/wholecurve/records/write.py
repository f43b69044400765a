"""From row journals to records/*.parquet, in issue order, one row group at a time."""

from __future__ import annotations

import os
from array import array
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from wholecurve.model.record import (
    EVENT_COLUMNS,
    EVENTS_SCHEMA,
    REQUEST_COLUMNS,
    REQUEST_SCHEMA,
    RESPONSE_COLUMNS,
    RESPONSES_SCHEMA,
    Column,
)
from wholecurve.records.journal import (
    NULL,
    NUMBER_NAMES,
    RESPONSE_NAMES,
    TEXT_NAMES,
    Row,
    journal_files,
    places,
    read_row,
)

ROWS_PER_GROUP = 20_000
PAGE_BYTES = 64 << 10
REPEATED = ("outcome", "failure", "finish_reason")
"""Columns with few different values. A dictionary for every column would cost 40 MB of buffers; stamps never repeat."""
TOKEN_NAMES = ("isl", "osl", "osl_after_first", "osl_reasoning")

_ARROW: Mapping[str, pa.DataType] = {
    "int16": pa.int16(),
    "int32": pa.int32(),
    "int64": pa.int64(),
    "bool": pa.bool_(),
    "string": pa.string(),
    "list<int64>": pa.list_(pa.int64()),
}

_NUMPY = {"int16": np.int16, "int32": np.int32, "int64": np.int64, "bool": np.bool_}


def arrow_schema(columns: Sequence[Column], name: str) -> pa.Schema:
    """The Arrow schema of a table of columns; unit and meaning travel in the field metadata."""
    fields = [
        pa.field(column.name, _ARROW[column.type], metadata={"unit": column.unit, "meaning": column.meaning})
        for column in columns
    ]
    return pa.schema(fields, metadata={"schema": name})


def rows_in_order(folder: Path) -> Iterator[Row]:
    """Every row of all journals by (phase, index). Reads one row at a time; a doubled key is taken once."""
    with ExitStack() as stack:
        files: list[BinaryIO] = [stack.enter_context(path.open("rb")) for path in journal_files(folder)]
        found: list[tuple[int, int, int, int]] = []
        for number, file in enumerate(files):
            found += [(place.phase, place.index, number, place.offset) for place in places(file)]
        found.sort()
        last: tuple[int, int] | None = None
        for phase, index, number, offset in found:
            if (phase, index) == last:
                continue
            last = (phase, index)
            yield read_row(files[number], offset)


TokenCounter = Callable[[Sequence[Row]], Mapping[str, Sequence[int | None]]]
"""From rows of one group to token columns (TOKEN_NAMES) of the same length."""


def write_parquet(
    folder: Path,
    *,
    keep_responses: Collection[int],
    count_tokens: TokenCounter | None = None,
    progress: Callable[[int], None] | None = None,
) -> int:
    """Write requests and events, and responses of the phases `keep_responses`; returns the rows.

    Journals are left for the caller to delete. Without a phase to keep there is no responses.parquet.
    Each file is written under a temporary name, synced and renamed, so that no reader ever meets half a file.
    """
    tables = [("requests", REQUEST_COLUMNS, REQUEST_SCHEMA), ("events", EVENT_COLUMNS, EVENTS_SCHEMA)]
    if keep_responses:
        tables.append(("responses", RESPONSE_COLUMNS, RESPONSES_SCHEMA))
    writers: dict[str, pq.ParquetWriter] = {}
    written = 0
    try:
        for name, columns, schema in tables:
            path = folder / f"{name}.parquet.part"
            writers[name] = pq.ParquetWriter(
                path, arrow_schema(columns, schema), compression="zstd", data_page_size=PAGE_BYTES,
                use_dictionary=[column.name for column in columns if column.name in REPEATED],
            )  # fmt: skip
        for group in _groups(rows_in_order(folder)):
            tokens = count_tokens(group) if count_tokens is not None else {}
            _write_requests(writers["requests"], group, tokens)
            _write_events(writers["events"], group)
            if keep_responses:
                kept = [row for row in group if row.key[0] in keep_responses]
                if kept:
                    _write_responses(writers["responses"], kept)
            written += len(group)
            if progress is not None:
                progress(written)
    finally:
        for writer in writers.values():
            writer.close()
    for name, _, _ in tables:
        part = folder / f"{name}.parquet.part"
        with part.open("rb+") as file:
            os.fsync(file.fileno())
        part.replace(folder / f"{name}.parquet")
    return written


def _groups(rows: Iterator[Row]) -> Iterator[list[Row]]:
    group: list[Row] = []
    for row in rows:
        group.append(row)
        if len(group) == ROWS_PER_GROUP:
            yield group
            group = []
    if group:
        yield group


def _write_requests(writer: pq.ParquetWriter, rows: Sequence[Row], tokens: Mapping[str, Sequence[int | None]]) -> None:
    numbers = np.array([row.numbers for row in rows], dtype=np.int64).reshape(len(rows), len(NUMBER_NAMES))
    arrays: list[Any] = []
    for column in REQUEST_COLUMNS:
        kind = _ARROW[column.type]
        if column.name in tokens:
            arrays.append(pa.array(list(tokens[column.name]), type=kind))
        elif column.type == "string":
            place = TEXT_NAMES.index(column.name)
            arrays.append(pa.array([row.texts[place] for row in rows], type=kind))
        else:
            values = numbers[:, NUMBER_NAMES.index(column.name)]
            missing = values == NULL
            # A cast by Arrow would load its compute module; numpy's is exact here once NULL is out of the way.
            narrow: Any = np.where(missing, 0, values).astype(_NUMPY[column.type])
            arrays.append(pa.array(narrow, type=kind, mask=missing))
    writer.write_batch(pa.record_batch(arrays, schema=arrow_schema(REQUEST_COLUMNS, REQUEST_SCHEMA)))


def _write_events(writer: pq.ParquetWriter, rows: Sequence[Row]) -> None:
    offsets = np.zeros(len(rows) + 1, dtype=np.int32)
    np.cumsum([len(row.gaps_ns) for row in rows], out=offsets[1:])
    flat = array("q")
    for row in rows:
        flat.extend(row.gaps_ns)
    values = pa.array(np.frombuffer(flat, dtype=np.int64), type=pa.int64())
    gaps = pa.ListArray.from_arrays(pa.array(offsets, type=pa.int32()), values)
    phases = pa.array([row.key[0] for row in rows], type=pa.int16())
    indices = pa.array([row.key[1] for row in rows], type=pa.int64())
    writer.write_batch(pa.record_batch([phases, indices, gaps], schema=arrow_schema(EVENT_COLUMNS, EVENTS_SCHEMA)))


def _write_responses(writer: pq.ParquetWriter, rows: Sequence[Row]) -> None:
    arrays: list[Any] = [
        pa.array([row.key[0] for row in rows], type=pa.int16()),
        pa.array([row.key[1] for row in rows], type=pa.int64()),
    ]
    for place in range(len(RESPONSE_NAMES)):
        arrays.append(pa.array([row.response[place] for row in rows], type=pa.string()))
    writer.write_batch(pa.record_batch(arrays, schema=arrow_schema(RESPONSE_COLUMNS, RESPONSES_SCHEMA)))
