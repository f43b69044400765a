"""Curves as text for a terminal. The only file that knows plotext; it is imported when the first plot is drawn.

plotext keeps one figure for the process, so a plot clears it before and after. Imports take a tenth of a second, a plot
a few milliseconds, so a progress display can draw it again after every point.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import log2
from typing import Any, Final

from wholecurve.chart import linear_ticks, number
from wholecurve.curve import ceiling, line
from wholecurve.model.errors import InputError

AXES: Final[Mapping[str, str]] = {"concurrency": "concurrency (log scale)", "interactivity_tps": "tokens/s of one user"}
"""What may be on the x axis, and how it is named there."""

LEAST_WIDTH, LEAST_HEIGHT = 30, 8
POINT, RING, CEILING = "●", "○", "╌"
CURVE: Final = re.compile(f"[{POINT}{RING}\u2800-\u28ff]+")
"""What of a plot is the curve; for whoever colours it."""

_ASCII: Final = str.maketrans(
    dict.fromkeys("─╌⠒⠤⠉⣀", "-") | dict.fromkeys("│⡇⢸", "|") | dict.fromkeys("┌┐└┘┤├┬┴┼", "+") | {"●": "o", "○": "x"}
)
_COLUMNS: Final[Mapping[str, Any]] = {
    "id": "", "curve": "", "kind": "curve", "elected_offline": False, "barred": "", "system_tps": None,
    "interactivity_tps": None, "reasons": {},
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class _Shape:
    """What is drawn, in places of the x axis: steps, points that count, points that do not, the ceiling."""

    stretches: list[list[tuple[float, float]]]
    points: list[tuple[float, float]]
    rings: list[tuple[float, float]]
    ceiling: float | None


def plot_text(
    rows: Sequence[Mapping[str, Any]],
    width: int = 80,
    height: int = 20,
    *,
    x: str = "concurrency",
    colour: bool = False,
    ascii_only: bool = False,
) -> str:
    """System throughput against concurrency or interactivity as lines of at most `width` columns, `height` lines.

    rows: rows of `curve.rows_of`, or as much of them as is known so far: `concurrency`, `system_tps` and
    `interactivity_tps` (or `tps_per_user`); `kind`, `barred` and `elected_offline` are taken into account. Points that
    count for nothing are rings and define no step, Offline is a broken line. No colour codes unless asked for.
    Raises InputError for another axis. Without a point to draw, one line says so.
    """
    if x not in AXES:
        raise InputError(f"wanted an axis of {', '.join(AXES)}, got {x!r}")
    width, height = max(width, LEAST_WIDTH), max(height, LEAST_HEIGHT)
    shape = _shape([_whole(row) for row in rows], x)
    if not (shape.points or shape.rings):
        return "no point to draw yet"
    text = _drawn(shape, width, height, x)
    text = "\n".join(one.rstrip() for one in text.split("\n")).strip("\n")
    if ascii_only:
        text = text.translate(_ASCII).encode("ascii", "replace").decode("ascii").replace("?", ".")
    return CURVE.sub("\x1b[36m\\g<0>\x1b[0m", text) if colour else text


def _whole(row: Mapping[str, Any]) -> dict[str, Any]:
    found = {**_COLUMNS, "id": str(row.get("concurrency")), **row}
    if found["interactivity_tps"] is None:
        found["interactivity_tps"] = row.get("tps_per_user")
    return found


def _shape(rows: Sequence[dict[str, Any]], x: str) -> _Shape:
    place = log2 if x == "concurrency" else float
    placed = [row for row in rows if row["kind"] == "curve" and row[x] is not None and row["system_tps"] is not None]
    dots = {
        barred: [(place(row[x]), float(row["system_tps"])) for row in placed if bool(row["barred"]) is barred]
        for barred in (False, True)
    }
    stretches = [[(place(a), float(b)) for a, b in one] for one in line(rows, x, "system_tps")]
    return _Shape(stretches, dots[False], dots[True], ceiling(rows)["system_tps"])


def _drawn(shape: _Shape, width: int, height: int, x: str) -> str:
    import plotext  # type: ignore[import-untyped]

    everything = [*shape.points, *shape.rings]
    low, high = min(at for at, _ in everything), max(at for at, _ in everything)
    if low == high:
        low, high = low - 0.5, high + 0.5
    top = max([value for _, value in everything] + ([shape.ceiling] if shape.ceiling else [])) * 1.04 or 1.0
    figure = plotext.figure
    figure.clear.all()
    plotext.terminal.limit(False, False)  # the size asked for, whatever the terminal's
    try:
        figure.plot_size(width, height)
        figure.theme("colorless")
        if shape.ceiling:
            across = [low + (high - low) * k / (2 * width) for k in range(2 * width + 1)]
            figure.draw(figure.signal(across, [shape.ceiling] * len(across), marker=CEILING))
        for stretch in shape.stretches:
            figure.draw(figure.signal([a for a, _ in stretch], [b for _, b in stretch], marker="braille").lines(True))
        for dots, marker in ((shape.rings, RING), (shape.points, POINT)):
            if dots:
                figure.draw(figure.signal([a for a, _ in dots], [b for _, b in dots], marker=marker))
        y_ticks = linear_ticks(0, top, max(2, height // 4))
        step = y_ticks[1] - y_ticks[0] if len(y_ticks) > 1 else 1.0
        x_ticks = _x_ticks([at for at, _ in everything], low, high, width - 10, x)
        figure.ruler("y", "left").lim(0, top)
        figure.ruler("y", "left").ticks(y_ticks, labels=[number(tick, step, y_ticks[-1]) for tick in y_ticks])
        figure.ruler("x", "lower").lim(low, high)
        figure.ruler("x", "lower").ticks([at for at, _ in x_ticks], labels=[label for _, label in x_ticks])
        figure.title(_title(shape, width))
        figure.label(AXES[x], "x", "lower")
        text: str = figure.build().string(colorless=True)
    finally:
        plotext.terminal.limit()
        figure.clear.all()
    return text


def _title(shape: _Shape, width: int) -> str:
    parts = ["tokens/s of the system"]
    if shape.ceiling:
        parts.append(f"{CEILING}{CEILING} Offline")
    if shape.rings:
        parts.append(f"{RING} not on the curve")
    while len("   ".join(parts)) > width - 10 and len(parts) > 1:
        parts.pop()
    return "   ".join(parts)


def _x_ticks(places: Sequence[float], low: float, high: float, width: int, x: str) -> list[tuple[float, str]]:
    """Labels that leave a space between them. Concurrency: the measured levels, both ends first; else round values."""
    if x == "concurrency":
        found = [(at, f"{round(2**at)}") for at in sorted(set(places))]
        wanted = [found[0], found[-1], *found[1:-1]] if len(found) > 1 else found
    else:
        round_ones = linear_ticks(low, high, max(2, width // 12)) or [low, high]
        step = round_ones[1] - round_ones[0] if len(round_ones) > 1 else 1.0
        wanted = [(at, number(at, step, round_ones[-1])) for at in round_ones]
    kept: list[tuple[float, str]] = []
    for at, label in wanted:
        column = (at - low) / (high - low) * width
        apart = (
            abs(column - (other - low) / (high - low) * width) >= (len(label) + len(text)) / 2 + 2
            for other, text in kept
        )
        if all(apart):
            kept.append((at, label))
    return sorted(kept)
