"""Shapes made of data: step functions, histogram bars, the share at or below a value; and thinning that hides no peak.

A point is (x, y). Everything here is plain numbers in the data's own units.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from wholecurve.chart.scale import finite

Point = tuple[float, float]


@dataclass(frozen=True, slots=True)
class Bar:
    """A bar from `low` to `high` on the x axis, `height` tall."""

    low: float
    high: float
    height: float


def step_points(times: Sequence[float], levels: Sequence[float], end: float | None = None) -> list[Point]:
    """The corners of the step function that is `levels[i]` from `times[i]` until `times[i + 1]`, the last until `end`.

    times: sorted. ValueError when the lengths differ or a value is not finite.
    """
    if len(times) != len(levels):
        raise ValueError(f"wanted as many levels as times, got {len(levels)} and {len(times)}")
    corners: list[Point] = []
    for time, level in zip(times, levels, strict=True):
        if corners:
            corners.append((finite(time), corners[-1][1]))
        corners.append((finite(time), finite(level)))
    if corners and end is not None:
        corners.append((finite(end), corners[-1][1]))
    return corners


def ecdf(values: Sequence[float]) -> list[Point]:
    """(value, share of the values at or below it), one point per distinct value, as corners of steps from zero up."""
    ordered = sorted(finite(value) for value in values)
    n = len(ordered)
    ends = [i + 1 for i in range(n) if i + 1 == n or ordered[i + 1] != ordered[i]]
    if not ends:
        return []
    return [(ordered[0], 0.0), *step_points([ordered[end - 1] for end in ends], [end / n for end in ends])]


def bars(buckets: Sequence[tuple[float, float]], counts: Sequence[float], *, narrowest: float = 0.0) -> list[Bar]:
    """Histogram bars from (low, high) buckets that lie side by side and their counts.

    narrowest: buckets are joined until a bar is at least this wide; 1 keeps whole numbers from leaving gaps.
    """
    if len(buckets) != len(counts):
        raise ValueError(f"wanted as many counts as buckets, got {len(counts)} and {len(buckets)}")
    found: list[Bar] = []
    for (low, high), count in zip(buckets, counts, strict=True):
        if found and found[-1].high - found[-1].low < narrowest:
            joined = found.pop()
            found.append(Bar(joined.low, finite(high), joined.height + finite(count)))
        else:
            found.append(Bar(finite(low), finite(high), finite(count)))
    if len(found) > 1 and found[-1].high - found[-1].low < narrowest:
        last = found.pop()
        found[-1] = Bar(found[-1].low, last.high, found[-1].height + last.height)
    return found


def thin(points: Sequence[Point], limit: int) -> list[Point]:
    """At most `limit` points (4 or more) of a series sorted by x: first, lowest, highest and last of each slice of x.

    The extremes of the series are always among them, and the order stays.
    """
    n = len(points)
    if n <= limit:
        return list(points)
    slices = max(1, limit // 4)
    start, width = points[0][0], (points[-1][0] - points[0][0]) / slices
    kept: list[Point] = []
    begin = 0
    while begin < n:
        place = slices if width <= 0 else min(int((points[begin][0] - start) / width), slices - 1)
        end = begin + 1
        while end < n and (width <= 0 or min(int((points[end][0] - start) / width), slices - 1) == place):
            end += 1
        inside = range(begin, end)
        lowest, highest = min(inside, key=lambda i: points[i][1]), max(inside, key=lambda i: points[i][1])
        kept += [points[i] for i in sorted({begin, lowest, highest, end - 1})]
        begin = end
    return kept
