"""From records/*.parquet to the columns that metrics read.

Arrow's compute and data-set modules are not used: each costs memory and start-up time, and all that is needed here is
values and where they are null.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from wholecurve.metrics import NULL, NUMBER_COLUMNS, TEXT_COLUMNS, Columns
from wholecurve.model.errors import InputError
from wholecurve.model.record import EVENT_COLUMNS, REQUEST_COLUMNS


def read_columns(records: Path, phase: int) -> Columns:
    """Requests and gaps of one phase, in issue order. Raises InputError if the files are missing or do not fit."""
    requests = _table(records / "requests.parquet", [column.name for column in REQUEST_COLUMNS])
    events = _table(records / "events.parquet", [column.name for column in EVENT_COLUMNS])
    places = _numbers(requests["index"])
    phases = _numbers(requests["phase"])
    if not (np.array_equal(places, _numbers(events["index"])) and np.array_equal(phases, _numbers(events["phase"]))):
        raise InputError(
            "requests.parquet and events.parquet hold different requests",
            where=records.parent.name,
            hint="The folder is damaged; measure again or restore it.",
        )
    gaps = events["gaps_ns"]
    offsets = np.zeros(len(places) + 1, dtype=np.int64)
    lengths = [np.diff(chunk.offsets.to_numpy()) for chunk in gaps.chunks]
    np.cumsum(np.concatenate(lengths) if lengths else [], out=offsets[1:])
    flat = [chunk.flatten().to_numpy(zero_copy_only=False) for chunk in gaps.chunks]
    everything = Columns(
        numbers={name: _numbers(requests[name]) for name in NUMBER_COLUMNS},
        texts={name: requests[name].to_pylist() for name in TEXT_COLUMNS},
        gaps_ns=np.concatenate(flat).astype(np.int64) if flat else np.zeros(0, dtype=np.int64),
        gap_offsets=offsets,
    )
    chosen = phases == phase
    return everything if chosen.all() else everything.where(chosen)


def sent_rows(records: Path, phase: int) -> list[int]:
    """Rows of the data set that the requests of a phase used, in issue order. Raises InputError as `read_columns`."""
    requests = _table(records / "requests.parquet", ["phase", "sample"])
    phases, samples = _numbers(requests["phase"]), _numbers(requests["sample"])
    rows: list[int] = samples[(phases == phase) & (samples >= 0)].tolist()
    return rows


def _table(path: Path, columns: list[str]) -> pa.Table:
    try:
        table = pq.ParquetFile(path).read(columns=columns, use_threads=False)
    except FileNotFoundError:
        raise InputError(
            f"no {path.name} in {path.parent.name}/",
            where=path.parent.parent.name,
            hint="wanted a run folder written by `wholecurve run`",
        ) from None
    except (pa.ArrowInvalid, OSError) as error:
        raise InputError(f"{path.name} cannot be read: {error}", where=path.parent.parent.name) from None
    lacking = [name for name in columns if name not in table.column_names]
    if lacking:
        raise InputError(
            f"{path.name} lacks the columns {', '.join(lacking)}",
            where=path.parent.parent.name,
            hint="wanted the records of a run of this version of wholecurve",
        )
    return table


def _numbers(column: pa.ChunkedArray) -> NDArray[np.int64]:
    """Integers or booleans as int64, NULL where null."""
    parts = [_chunk_numbers(chunk) for chunk in column.chunks]
    return np.concatenate(parts) if parts else np.zeros(0, dtype=np.int64)


def _chunk_numbers(chunk: Any) -> NDArray[np.int64]:
    count, start = len(chunk), chunk.offset
    validity, data = chunk.buffers()
    if chunk.type == pa.bool_():
        values = _bits(data, start, count).astype(np.int64)
    else:
        values = np.frombuffer(data, dtype=chunk.type.to_pandas_dtype())[start : start + count].astype(np.int64)
    if validity is not None:
        values[~_bits(validity, start, count)] = NULL
    return values


def _bits(buffer: Any, start: int, count: int) -> NDArray[np.bool_]:
    """Arrow's bitmaps: least significant bit first."""
    return np.unpackbits(np.frombuffer(buffer, dtype=np.uint8), bitorder="little")[start : start + count].astype(bool)
