"""From records/*.parquet to the columns that metrics read."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from wholecurve.metrics import NULL, NUMBER_COLUMNS, TEXT_COLUMNS, Columns
from wholecurve.model.errors import InputError


def read_columns(records: Path, phase: int) -> Columns:
    """Requests and gaps of one phase, in issue order. Raises InputError if the files are missing or do not fit."""
    requests = _table(records / "requests.parquet", phase)
    events = _table(records / "events.parquet", phase)
    if requests.num_rows != events.num_rows or requests["index"] != events["index"]:
        raise InputError(
            "requests.parquet and events.parquet hold different requests", where=str(records.name),
            hint="The folder is damaged; measure again or restore it.",
        )  # fmt: skip
    numbers = {name: _numbers(requests, name) for name in NUMBER_COLUMNS}
    texts = {name: requests[name].to_pylist() for name in TEXT_COLUMNS}
    gaps: Any = events["gaps_ns"].combine_chunks()
    if isinstance(gaps, pa.ChunkedArray):
        gaps = pa.concat_arrays(gaps.chunks) if gaps.num_chunks else pa.array([], type=pa.list_(pa.int64()))
    lengths = pc.list_value_length(gaps).to_numpy(zero_copy_only=False)
    offsets = np.zeros(len(gaps) + 1, dtype=np.int64)
    np.cumsum(lengths, out=offsets[1:])
    return Columns(numbers, texts, gaps.flatten().to_numpy(zero_copy_only=False).astype(np.int64), offsets)


def _table(path: Path, phase: int) -> pa.Table:
    try:
        return pq.read_table(path, filters=[("phase", "=", phase)], use_threads=False)
    except FileNotFoundError:
        raise InputError(
            f"no {path.name} in {path.parent.name}/", where=path.parent.parent.name,
            hint="wanted a run folder written by `wholecurve run`",
        ) from None  # fmt: skip
    except (pa.ArrowInvalid, OSError) as error:
        raise InputError(f"{path.name} cannot be read: {error}", where=path.parent.parent.name) from None


def _numbers(table: pa.Table, name: str) -> Any:
    column = (
        table[name].cast(pa.int64()) if table[name].type != pa.bool_() else table[name].cast(pa.int8()).cast(pa.int64())
    )
    return column.fill_null(NULL).to_numpy().astype(np.int64, copy=False)
