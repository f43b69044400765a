"""Percentiles, and the block that describes one series in result_summary.json.

A percentile is the lower order statistic over all raw samples: the value at index floor(p / 100 * (n - 1)) of the
sorted series (reference-client.md section 6.2). It is a value that was measured, never one between two, so no
percentile can lie above the maximum. Percentiles are never averaged: pool the samples, then ask once.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from wholecurve.metrics.columns import NULL, Floats, Ints
from wholecurve.metrics.early_stopping import estimate

GRID: Final[tuple[float, ...]] = (99.9, 99.0, 97.0, 95.0, 90.0, 80.0, 75.0, 50.0, 25.0, 10.0, 5.0, 1.0)
"""Percentiles of every series, as the reference client writes them."""

HISTOGRAM_BUCKETS: Final[int] = 30


def key(percentile: float) -> str:
    """The key text of a percentile on the scale 0 to 100: `99.9`, `90.0`."""
    return f"{percentile:.1f}"


def index(percentile: float, n: int) -> int:
    """floor(percentile / 100 * (n - 1)), in whole numbers so that no rounding error can move it.

    `percentile` on the scale 0 to 100 with at most three decimals, `n` at least 1.
    """
    return round(percentile * 1000) * (n - 1) // 100_000


def supported(percentile: float, n: int) -> bool:
    """True when n samples leave at least one beyond the percentile: 99 needs 100 samples, 99.9 needs 1,000."""
    tail = min(round(percentile * 1000), 100_000 - round(percentile * 1000))
    return n * tail >= 100_000


def measured(values: Ints | Floats) -> NDArray[Any]:
    """The values that were measured: without NULL (whole numbers) or NaN (floats)."""
    if values.dtype.kind == "f":
        found: NDArray[Any] = values[~np.isnan(values)]
    else:
        found = values[values != NULL]
    return found


def percentile_of(values: Ints | Floats, percentile: float) -> int | float | None:
    """One percentile of the measured values; None without any."""
    found = measured(values)
    if not len(found):
        return None
    at = index(percentile, len(found))
    value: int | float = np.partition(found, at)[at].item()
    return value


def series(values: Ints | Floats, *, early_stopping: bool = False) -> dict[str, Any]:
    """Everything a reader may ask of one series, as plain values; `{}` when nothing was measured, never zeros.

    Keys as reference-client.md section 6.6 (unit of the values throughout), then `n` and `unsupported`: the
    percentiles whose tail n samples cannot support. `std_dev` is the sample form (n - 1), None for one sample.
    With `early_stopping`, LoadGen's estimates for the grid from 50 upwards.
    """
    ordered = np.sort(measured(values))
    n = len(ordered)
    if not n:
        return {}
    total = _total(ordered)
    percentiles = {key(p): ordered[index(p, n)].item() for p in GRID}
    block: dict[str, Any] = {
        "total": total,
        "min": ordered[0].item(),
        "max": ordered[-1].item(),
        "median": percentiles[key(50.0)],
        "avg": total / n,
        "std_dev": float(np.std(ordered, ddof=1)) if n > 1 else None,
        "percentiles": percentiles,
    }
    if early_stopping:
        block["early_stopping_percentiles"] = {key(p): estimate(ordered, p) for p in GRID if p >= 50.0}
    return block | {
        "histogram": histogram(ordered),
        "n": n,
        "unsupported": [key(p) for p in GRID if not supported(p, n)],
    }


def histogram(ordered: NDArray[Any]) -> dict[str, Any]:
    """`{buckets: [[low, high], ...], counts: [...]}` of a sorted series of zero or more; counts add up to n.

    30 buckets, log-spaced between minimum and maximum. A bucket holds low <= value < high, the last one high too.
    Zeros have no logarithm: then the spacing starts at the smallest value above zero and the first bucket reaches down
    to zero. A series of one value, zeros aside, is one bucket.
    """
    low, high = float(ordered[0]), float(ordered[-1])
    start = low if low > 0 or high <= 0 else float(ordered[np.searchsorted(ordered, 0, side="right")])
    if start == high:
        return {"buckets": [[low, high]], "counts": [len(ordered)]}
    edges = np.geomspace(start, high, HISTOGRAM_BUCKETS + 1)
    edges[0], edges[-1] = low, high
    below = np.searchsorted(ordered, edges[1:-1], side="left")
    counts = np.diff(below, prepend=0, append=len(ordered))
    pairs = np.column_stack((edges[:-1], edges[1:]))
    return {"buckets": pairs.tolist(), "counts": counts.tolist()}


def _total(values: NDArray[Any]) -> int | float:
    """Exact sum: a week of nanoseconds times a million requests does not fit int64, so halves are added apart."""
    if values.dtype.kind == "f":
        return float(values.sum())
    return (int((values >> 32).sum()) << 32) + int((values & 0xFFFFFFFF).sum())
