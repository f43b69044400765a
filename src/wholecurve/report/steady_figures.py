"""TPOT and TTFT per super-pass, with the steady window shaded: what the verdict on the steady state was made of."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from wholecurve.chart import Axis, Band, Figure, Line, Point, Quantity, step_points
from wholecurve.report.reading import at, items, mapping, number
from wholecurve.report.steadiness import series_name
from wholecurve.report.view import Steady

CHARTS: Final[tuple[tuple[str, str, str, tuple[str, ...]], ...]] = (
    ("steady-tpot", "TPOT", "time per output token", ("tpot_p50", "tpot_p90")),
    ("steady-ttft", "TTFT", "time to first token", ("ttft_p50", "ttft_p90")),
)
"""Name, title, label of the y axis and series of each chart."""


def steady_figures(summary: Mapping[str, Any], steady: Steady | None) -> list[Figure]:
    """A chart for TPOT, which decides, and one for TTFT, which only warns; none for a run without a full account."""
    block = mapping(summary, "steady_state")
    size, passed = (number(at(block, "cut", key)) for key in ("block_size", "pass_size"))
    if steady is None or not steady.rows or not size or not passed or size < passed:
        return []
    charts = [_chart(block, size / passed, *row) for row in CHARTS]
    return [chart for chart in charts if chart.series]


def _chart(
    block: Mapping[str, Any], per_block: float, name: str, title: str, label: str, keys: Sequence[str]
) -> Figure:
    lines = [line for tone, key in enumerate(keys) for line in _lines(block, key, per_block, tone)]
    first, last = (number(at(block, "window", f"super_pass_{end}")) for end in ("start", "end"))
    bands = [] if first is None or last is None else [Band(first, last + 1, "steady window", "steady")]
    where = f"the steady window, super-passes {first} to {last}, is shaded" if bands else "there is no steady window"
    return Figure(
        name=name,
        title=f"{title} per super-pass",
        description=f"P50 and P90 of {label} over the successes of each super-pass, in issue order; {where}.",
        x=Axis("super-pass", Quantity.NUMBER, zero=True),
        y=Axis(label, Quantity.DURATION, zero=True),
        series=lines,
        bands=bands,
        width=620,
        height=260,
    )


def _lines(block: Mapping[str, Any], key: str, per_block: float, tone: int) -> list[Line]:
    """A step for each super-pass; where nothing was measured the line is broken. The first part has the label."""
    parts: list[list[Point]] = [[]]
    for place, raw in enumerate(items(block, "series", key)):
        value = number(raw)
        if value is not None:
            parts[-1].append((place * per_block, float(value)))
        elif parts[-1]:
            parts.append([])
    lines: list[Line] = []
    for part in parts:
        if part:
            starts, levels = zip(*part, strict=True)
            corners = step_points(starts, levels, end=starts[-1] + per_block)
            lines.append(Line(corners, "" if lines else series_name(key).rpartition(" ")[2], tone))
    return lines
