"""A figure as SVG text: axes, labels, title, legend, series. No scripts, no style attributes, every text escaped."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from wholecurve.chart.band import Band, draw_bands
from wholecurve.chart.scale import Scale, span
from wholecurve.chart.series import (
    CHAR,
    RIGHT,
    ROW,
    TOP,
    Line,
    Mark,
    Series,
    draw,
    draw_marks,
    legend_row,
    mark_baseline,
    mark_rows,
    place,
    size,
    text,
    xs_of,
    ys_of,
)
from wholecurve.chart.spots import LABEL_CHAR, Box, Spot, Spots, around, place_labels, stroke_box
from wholecurve.chart.step import Point
from wholecurve.chart.ticks import Quantity, log_ticks, measure, unit_for, unit_ticks

_ROUNDEST = "0152374689"
"""Leading digits, the roundest first."""

AXIS, LEGEND = 42.0, 20.0
"""Heights of the x axis with its labels and title, and of the row of the legend."""


@dataclass(frozen=True, slots=True)
class Axis:
    """label: without unit, which is added. low, high: wished ends; the data may widen them, nothing is cut off.

    zero: a linear axis reaches down to zero. ticks: where to put them, such as the measured levels; of those whose
    labels would touch, the rounder stay. Empty: at round values.
    """

    label: str
    quantity: Quantity = Quantity.NUMBER
    log: bool = False
    zero: bool = False
    low: float | None = None
    high: float | None = None
    ticks: Sequence[float] = ()


@dataclass(frozen=True, slots=True)
class Figure:
    """One chart. name: `[a-z][a-z0-9-]*`, unique on the page. description: what it shows, for those who cannot see it.

    `svg` raises ValueError for NaN and Infinity, and for zero or less on a logarithmic axis.
    """

    name: str
    title: str
    description: str
    x: Axis
    y: Axis
    series: Sequence[Series] = ()
    marks: Sequence[Mark] = ()
    bands: Sequence[Band] = ()
    empty: str = "no data"
    width: int = 420
    height: int = 260

    def svg(self) -> str:
        """The figure as one `<svg>` element; a figure without data says so."""
        if not re.fullmatch(r"[a-z][a-z0-9-]*", self.name):
            raise ValueError(f"wanted a figure name of a-z, 0-9 and -, got {self.name!r}")
        inside = list(self._chart() if any(size(one) for one in self.series) else self._no_data())
        return "\n".join((*self._head(), *inside, "</svg>"))

    def _head(self) -> Iterator[str]:
        box, name = f"{self.width} {self.height}", self.name
        yield (
            f'<svg xmlns="http://www.w3.org/2000/svg" class="wc-figure" viewBox="0 0 {box}" role="img" '
            f'aria-labelledby="{name}-title {name}-desc" font-family="system-ui, sans-serif" font-size="12" '
            f'fill="currentColor" stroke="none">'
        )
        yield f'<title id="{name}-title">{text(self.title)}</title>'
        yield f'<desc id="{name}-desc">{text(self.description)}</desc>'
        yield f'<text x="0" y="13" font-size="13" font-weight="600">{text(self.title)}</text>'

    def _no_data(self) -> Iterator[str]:
        yield (
            f'<text x="{place(self.width / 2)}" y="{place(self.height / 2)}" text-anchor="middle" opacity="0.7">'
            f"{text(self.empty)}</text>"
        )

    def _chart(self) -> Iterator[str]:
        (x_low, x_high), (y_low, y_high) = self._spans()
        y_ticks = _ticks(self.y, y_low, y_high, about=5)
        if not self.y.log and len(y_ticks) > 1 and y_high > y_ticks[-1][0]:  # up to a whole step: room above the data
            y_high = 2 * y_ticks[-1][0] - y_ticks[-2][0]
            y_ticks = _ticks(self.y, y_low, y_high, about=5)
        left = 12 + CHAR * max(len(label) for _, label in y_ticks)
        legend = [one for one in self.series if one.label]
        top = TOP + (LEGEND if legend else 0)
        x = Scale(x_low, x_high, left, self.width - RIGHT, self.x.log)
        rows = mark_rows(self.marks, x)
        named = ROW if self.bands else 0
        top += ROW * (1 + max((row for _, row, _ in rows), default=-1)) + named + ROW + 2  # a row names the y axis
        y = Scale(y_low, y_high, self.height - AXIS, top, self.y.log)
        yield from legend_row(legend)
        yield from draw_bands(self.bands, x, y.end, y.start)
        yield from self._axes(x, y, y_ticks, named)
        for one in self.series:
            yield from draw(one, x, y, self.x.quantity)
        boxes = [self._mark_box(mark, x, y) for mark in self.marks if mark.on == "y"]
        sides = [side for side, _ in boxes]
        yield from draw_marks(rows, self.marks, x, y, TOP + (LEGEND if legend else 0), sides)
        yield from self._labels(x, y, [box for _, box in boxes])

    def _spots(self) -> list[Spot]:
        return [spot for one in self.series if isinstance(one, Spots) for spot in one.spots]

    def _strokes(self, x: Scale, y: Scale) -> list[tuple[Point, Point]]:
        """Every straight piece of every line, on the figure."""
        lines = (one for one in self.series if isinstance(one, Line))
        return [piece for one in lines for piece in pairwise([(x(a), y(b)) for a, b in one.points])]

    def _mark_box(self, mark: Mark, x: Scale, y: Scale) -> tuple[str, Box]:
        """(text anchor, box) of a horizontal mark's label: at the right end, or at the left if less is in its way."""
        at, width = mark_baseline(y(mark.at), y), LABEL_CHAR * len(mark.label) + 4
        left, right = min(x.start, x.end), max(x.start, x.end)
        places = (
            ("end", Box(right - width, at - 10, right, at + 2)),
            ("start", Box(left, at - 10, left + width, at + 2)),
        )
        things = [around(x(one.x), y(one.y)) for one in self._spots()]
        things += [stroke_box(*stroke) for stroke in self._strokes(x, y)]
        return min(places, key=lambda one: sum(one[1].meets(thing) for thing in things))

    def _labels(self, x: Scale, y: Scale, taken: Sequence[Box]) -> Iterator[str]:
        """Labels of the spots, off each other and off the labels of horizontal marks."""
        spots = self._spots()
        if not spots:
            return
        ends = max(x.start, x.end), min(y.start, y.end)
        marks = [y(mark.at) for mark in self.marks if mark.on == "y"]
        strokes: list[tuple[Point, Point]] = [((x.start, at), (x.end, at)) for at in marks]
        strokes += self._strokes(x, y)
        found = place_labels(
            spots,
            x,
            y,
            room=Box(min(x.start, x.end) - 4, ends[1] - 4, ends[0] + RIGHT, max(y.start, y.end)),
            taken=taken,
            strokes=strokes,
        )
        yield '<g font-size="11">'
        for label in found:
            where = f'x="{place(label.x)}" y="{place(label.y)}" text-anchor="{label.anchor}"'
            yield f"<text {where}>{text(label.text)}</text>"
        yield "</g>"

    def _spans(self) -> tuple[tuple[float, float], tuple[float, float]]:
        xs = [value for one in self.series for value in xs_of(one)]
        ys = [value for one in self.series for value in ys_of(one)]
        xs += [mark.at for mark in self.marks if mark.on == "x"]
        ys += [mark.at for mark in self.marks if mark.on == "y"]
        for values, axis in ((xs, self.x), (ys, self.y)):
            values += [end for end in (axis.low, axis.high) if end is not None]
        return span(xs, log=self.x.log, zero=self.x.zero), span(ys, log=self.y.log, zero=self.y.zero)

    def _axes(self, x: Scale, y: Scale, y_ticks: Sequence[tuple[float, str]], raised: float) -> Iterator[str]:
        grid = "".join(f"M{place(x.start)} {place(y(at))}H{place(x.end)}" for at, _ in y_ticks)
        yield f'<path class="wc-grid" d="{grid}" fill="none" stroke="currentColor" stroke-opacity="0.15"/>'
        floor = y.start
        x_ticks = _apart(_ticks(self.x, x.low, x.high, about=5), x)
        notches = "".join(f"M{place(x(at))} {place(floor)}v4" for at, _ in x_ticks)
        base = f"M{place(x.start)} {place(floor)}H{place(x.end)}"
        yield f'<path d="{base}{notches}" fill="none" stroke="currentColor" stroke-opacity="0.5"/>'
        yield '<g text-anchor="middle" opacity="0.85">'
        yield from (_label(x(at), floor + 17, label) for at, label in x_ticks)
        yield _label((x.start + x.end) / 2, floor + 36, _axis_title(self.x, x))
        yield '</g><g text-anchor="end" opacity="0.85">'
        yield from (_label(x.start - 6, y(at) + 4, label) for at, label in y_ticks)
        yield '</g><g opacity="0.85">'
        yield _label(0, y.end - 12 - raised, _axis_title(self.y, y))
        yield "</g>"


def _apart(ticks: Sequence[tuple[float, str]], x: Scale) -> list[tuple[float, str]]:
    """Ticks whose labels do not touch, in order; where two would, the rounder one stays."""
    kept: list[tuple[float, str]] = []
    for tick in sorted(ticks, key=lambda one: _ROUNDEST.find(one[1][:1])):
        half = CHAR * len(tick[1]) / 2
        if all(abs(x(tick[0]) - x(at)) >= half + CHAR * len(label) / 2 + 4 for at, label in kept):
            kept.append(tick)
    return sorted(kept)


def _label(x: float, y: float, label: str) -> str:
    return f'<text x="{place(x)}" y="{place(y)}">{text(label)}</text>'


def _axis_title(axis: Axis, scale: Scale) -> str:
    """Label and unit; on a logarithmic axis of durations each tick carries its own unit."""
    unit = unit_for(axis.quantity, max(abs(scale.low), abs(scale.high))).symbol
    if axis.log and axis.quantity is Quantity.DURATION:
        unit = "log scale"
    elif axis.log:
        unit = f"{unit}, log scale" if unit else "log scale"
    return f"{axis.label} ({unit})" if unit and unit != axis.label else axis.label


def _ticks(axis: Axis, low: float, high: float, about: int) -> list[tuple[float, str]]:
    """Never empty: an axis too short for a round value names its ends."""
    if axis.ticks:
        return [(at, measure(at, Quantity.NUMBER)) for at in axis.ticks if low <= at <= high]
    if axis.log:
        durations = axis.quantity is Quantity.DURATION
        found = [(at, measure(at, axis.quantity if durations else Quantity.NUMBER)) for at in log_ticks(low, high)]
    else:
        found = unit_ticks(low, high, axis.quantity, about)
    return found or [(at, measure(at, axis.quantity)) for at in (low, high)]
