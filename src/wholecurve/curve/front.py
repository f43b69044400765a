"""The front of two axes and the step function through it. Worked out again for the axes on screen, never kept (S5)."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

from wholecurve.curve.decide import NOT_REPORTED, Limit, levels, passes
from wholecurve.curve.table import KEYS, Row
from wholecurve.model.errors import InputError

Corner = tuple[float, float]


def front(rows: Sequence[Row], x: str, y: str, limits: Sequence[Limit] = ()) -> list[dict[str, Any]]:
    """The levels that pass and that no other one beats, by x: {"id", "curve", "concurrency", "x", "y", "count"}.

    A point is beaten by one that is at least as good on both axes and better on one. Equal points keep the lower
    concurrency; `count` says how many they are. Points without a value on an axis are in `left_out`, not here.
    """
    _check_axes(x, y)
    placed = [row for row in levels(rows) if passes(row, limits) and None not in (row.get(x), row.get(y))]
    placed.sort(key=lambda row: (-_goodness(row, x), -_goodness(row, y), row["concurrency"], row["id"]))
    found: list[dict[str, Any]] = []
    for row in placed:
        if found and (row[x], row[y]) == (found[-1]["x"], found[-1]["y"]):
            found[-1]["count"] += 1
        elif not found or _goodness(row, y) > _sign(y) * found[-1]["y"]:
            names = {name: row[name] for name in ("id", "curve", "concurrency")}
            found.append({**names, "x": row[x], "y": row[y], "count": 1})
    return sorted(found, key=lambda one: one["x"])


def left_out(rows: Sequence[Row], x: str, y: str) -> list[dict[str, Any]]:
    """Levels that cannot be placed on these axes: {"id", "key", "why"}, so that nothing vanishes silently."""
    _check_axes(x, y)
    found = []
    for row in levels(rows):
        for key in (x, y):
            if row.get(key) is None:
                found.append({"id": row["id"], "key": key, "why": row["reasons"].get(key, NOT_REPORTED)})
    return found


def steps(points: Sequence[tuple[float, float | None]], step: str) -> list[list[Corner]]:
    """Corners of the step function through (x, y), as one list for each unbroken stretch.

    step: `after`, a value holds until the next x, or `before`, it holds back to the x before; KEYS of the x axis says
    which. A y of None breaks the line: nothing is drawn from where it stands, and no gap is bridged. Nothing is drawn
    outside the measured range. ValueError for two points at one x.
    """
    ordered = sorted(points, key=lambda point: point[0])
    if any(one[0] == other[0] for one, other in pairwise(ordered)):
        raise ValueError("wanted each x once")
    stretches: list[list[Corner]] = []
    open_stretch = False
    for place, (at, value) in enumerate(ordered):
        if value is None:
            open_stretch = False
            continue
        if not open_stretch:
            stretches.append([])
        if step == "before" and place > 0:
            stretches[-1].append((ordered[place - 1][0], value))
        stretches[-1].append((at, value))
        if step == "after" and place + 1 < len(ordered):
            stretches[-1].append((ordered[place + 1][0], value))
        open_stretch = True
    return stretches


def value_at(points: Sequence[tuple[float, float | None]], step: str, x: float) -> float | None:
    """The step function at x; None outside the measured range and where it is broken. Always a measured value."""
    ordered = sorted(points, key=lambda point: point[0])
    if not ordered or not ordered[0][0] <= x <= ordered[-1][0]:
        return None
    if step == "before":
        return next(value for at, value in ordered if at >= x)
    return next(value for at, value in reversed(ordered) if at <= x)


def line(rows: Sequence[Row], x: str, y: str, limits: Sequence[Limit] = ()) -> list[list[Corner]]:
    """The step function of one curve's rows on two axes: over every level for concurrency, else over the front."""
    if x == "concurrency":
        _check_axes(x, y)
        return steps([(row[x], row.get(y) if passes(row, limits) else None) for row in levels(rows)], KEYS[x]["step"])
    return steps([(one["x"], one["y"]) for one in front(rows, x, y, limits)], KEYS[x]["step"])


def _sign(key: str) -> int:
    return 1 if KEYS[key]["better"] == "high" else -1


def _goodness(row: Row, key: str) -> float:
    value: float = row[key]
    return _sign(key) * value


def _check_axes(x: str, y: str) -> None:
    for key in (x, y):
        if key not in KEYS:
            raise InputError(f"wanted an axis of {', '.join(KEYS)}, got {key!r}")
    if x == y:
        raise InputError(f"wanted two different axes, got {x} twice")
