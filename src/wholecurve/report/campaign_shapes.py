"""The shape of a series at one point, small enough for a table: bars with the median and the 90th percentile."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from wholecurve.chart import Bar
from wholecurve.metrics import Columns
from wholecurve.metrics.latency import tpot, ttft
from wholecurve.model.errors import WholecurveError
from wholecurve.report.reading import at, duration, items, mapping, number

BINS: Final[int] = 30
_SERIES: Final[Mapping[str, Callable[[Columns], Any]]] = {"ttft": ttft, "tpot": tpot}


@dataclass(frozen=True, slots=True)
class Shape:
    """A histogram in ns, all of whose bars begin above zero. n: values in it. said: in words."""

    bars: tuple[Bar, ...]
    p50: float | None
    p90: float | None
    said: str


def shape_of(
    summary: Mapping[str, Any], key: str, label: str, columns_of: Callable[[str], Columns] | None
) -> Shape | None:
    """From the summary's own buckets, so that figure and file agree; else from the records; else None."""
    block = mapping(summary, key)
    bars = _from_buckets(block)
    if not bars and columns_of is not None and summary:
        try:
            columns = columns_of(label)
        except (
            WholecurveError,
            OSError,
            LookupError,
            ValueError,
        ):  # records that are not there or not whole: nothing to draw
            return None
        bars = _from_values(_SERIES[key](columns)[columns.succeeded])
    if not bars:
        return None
    p50, p90 = (number(at(block, "percentiles", one)) for one in ("50.0", "90.0"))
    return Shape(tuple(bars), p50, p90, f"P50 {duration(p50)}, P90 {duration(p90)}")


def common_ends(shapes: Sequence[Shape | None]) -> tuple[float, float] | None:
    """A range that holds all shapes; None without any."""
    bars = [bar for shape in shapes if shape is not None for bar in shape.bars]
    if not bars:
        return None
    low, high = min(bar.low for bar in bars), max(bar.high for bar in bars)
    return (low, high) if low < high else (low / 2, high * 2)


def _from_buckets(block: Mapping[str, Any]) -> list[Bar]:
    """Bars above zero of a series block; a first bucket that begins at zero is begun at half its end."""
    counts = [number(one) for one in items(block, "histogram", "counts")]
    buckets = items(block, "histogram", "buckets")
    if len(counts) != len(buckets):
        return []
    found = []
    for bucket, height in zip(buckets, counts, strict=True):
        pair = [number(one) for one in bucket] if isinstance(bucket, list | tuple) else []
        if len(pair) != 2 or height is None or pair[0] is None or pair[1] is None:
            return []
        low, high = float(pair[0]), float(pair[1])
        if high > 0 and height > 0 and high >= low:
            low = low if low > 0 else high / 2
            found.append(Bar(low, max(high, low * 1.0001), float(height)))
    return found


def _from_values(values: Any) -> list[Bar]:
    known = values[np.isfinite(values) & (values > 0)].astype(float)
    if not len(known):
        return []
    low, high = float(known.min()), float(known.max())
    edges = np.geomspace(low, max(high, low * 1.001), BINS + 1)
    counts, _ = np.histogram(known, edges)
    return [
        Bar(float(edges[k]), float(edges[k + 1]), float(height)) for k, height in enumerate(counts.tolist()) if height
    ]
