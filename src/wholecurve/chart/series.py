"""What lies on a figure: lines, dots, bars and marks, their colours, and how each becomes SVG.

Colours stand twice: as attributes, so that a figure alone (a file, a PNG) is readable on white, and in `STYLESHEET`,
which a page may embed to follow light and dark; style sheets win over attributes. Series differ by dash and shape too.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html import escape
from typing import Final

from wholecurve.chart.scale import Scale
from wholecurve.chart.spots import RADIUS, Spot, Spots, spot_xs, spot_ys, whiskers
from wholecurve.chart.step import Bar, Point, thin
from wholecurve.chart.ticks import Quantity, measure

LIGHT: Final[tuple[str, ...]] = ("#1f5fa8", "#b8480b", "#13765a", "#7a3fa8", "#5b6470")
DARK: Final[tuple[str, ...]] = ("#7db4f5", "#f2a065", "#5fcfa8", "#c79bf0", "#a9b3bf")
DASHES: Final[tuple[str, ...]] = ("", "6 3", "2 2.5", "8 3 2 3", "1 3")
"""One row per tone: a series is told from the next by its dash as well as by its colour."""


def _palette(colours: Sequence[str]) -> str:
    return "".join(f"--wc-{tone}:{colour};" for tone, colour in enumerate(colours))


STYLESHEET: Final[str] = (
    f":root{{{_palette(LIGHT)}}}"
    f"@media (prefers-color-scheme:dark){{:root{{{_palette(DARK)}}}}}"
    f"@media print{{:root{{{_palette(LIGHT)}}}}}"
    ".wc-figure,.wc-spark{display:block;width:100%;height:auto;overflow:visible}"
    + "".join(f".wc-line.wc-t{tone}{{stroke:var(--wc-{tone})}}" for tone in range(len(LIGHT)))
    + "".join(f".wc-fill.wc-t{tone}{{fill:var(--wc-{tone})}}" for tone in range(len(LIGHT)))
)
"""What a page embeds so that its figures follow light and dark."""

LINE_POINTS: Final[int] = 800
DOT_POINTS: Final[int] = 1200
CHAR: Final[float] = 6.4  # width of a character of 12 px text, on the generous side
TOP, RIGHT, ROW = 26.0, 14.0, 15.0
MARK_TEXT: Final[float] = 9.0  # height of the letters of 11 px text


@dataclass(frozen=True, slots=True)
class Line:
    """Points joined by straight lines; give it the corners of `step_points` for a step function. x must not fall."""

    points: Sequence[Point]
    label: str = ""
    tone: int = 0


@dataclass(frozen=True, slots=True)
class Dots:
    """One dot per point."""

    points: Sequence[Point]
    label: str = ""
    tone: int = 0


@dataclass(frozen=True, slots=True)
class Bars:
    """Bars that stand on zero, side by side."""

    bars: Sequence[Bar]
    label: str = ""
    tone: int = 0


@dataclass(frozen=True, slots=True)
class Mark:
    """A straight line at one value over the whole width or height: `at` on the axis `on` ("x" or "y"), with a label."""

    at: float
    label: str
    on: str = "x"
    tone: int = 1


Series = Line | Dots | Bars | Spots


def mark_rows(marks: Sequence[Mark], x: Scale) -> list[tuple[float, int, str]]:
    """(place, row, text anchor) for the label of each mark on the x axis, in the order of `marks`.

    Labels stand beside their lines, all on one side, in rows from the top such that no label meets another, nor the
    line of another mark: a mark under a label starts in a row below it.
    """
    across = [(x(mark.at), CHAR * len(mark.label) + 8) for mark in marks if mark.on == "x"]
    anchor = "start" if all(at + length <= x.end + RIGHT for at, length in across) else "end"
    ahead = 1 if anchor == "start" else -1
    rows: dict[int, int] = {}
    order = sorted(range(len(across)), key=lambda k: ahead * across[k][0])
    for place_in_order, k in enumerate(order):
        before = order[:place_in_order]
        covering = [rows[j] for j in before if ahead * (across[k][0] - across[j][0]) <= across[j][1]]
        rows[k] = 1 + max(covering) if covering else 0
    return [(at, rows[k], anchor) for k, (at, _) in enumerate(across)]


def mark_baseline(at: float, y: Scale) -> float:
    """Where the label of a horizontal line stands: above it, or below it where there is no room above."""
    return at - 4 if at - 4 - MARK_TEXT >= min(y.start, y.end) else at + MARK_TEXT + 2


def draw_marks(
    rows: Sequence[tuple[float, int, str]], marks: Sequence[Mark], x: Scale, y: Scale, top: float, sides: Sequence[str]
) -> Iterator[str]:
    """sides: text anchor for the label of each mark on the y axis: `end` at the right end of its line, `start` at the
    left."""
    across = [mark for mark in marks if mark.on == "x"]
    for mark, (at, row, anchor) in zip(across, rows, strict=True):
        height = top + ROW * row
        yield _stroke(f"M{place(at)} {place(height)}V{place(y.start)}", mark.tone, width=1.2)
        offset = 4 if anchor == "start" else -4
        yield (
            f'<text x="{place(at + offset)}" y="{place(height + 9)}" text-anchor="{anchor}" font-size="11">'
            f"{text(mark.label)}</text>"
        )
    for mark, side in zip((mark for mark in marks if mark.on == "y"), sides, strict=True):
        at = x.end if side == "end" else x.start + 4
        yield _stroke(f"M{place(x.start)} {place(y(mark.at))}H{place(x.end)}", mark.tone, width=1.2)
        yield (
            f'<text x="{place(at)}" y="{place(mark_baseline(y(mark.at), y))}" text-anchor="{side}" font-size="11">'
            f"{text(mark.label)}</text>"
        )


def legend_row(series: Sequence[Series]) -> Iterator[str]:
    """One row under the title: a sample of each stroke or fill, then its label."""
    at = 0.0
    for one in series:
        if isinstance(one, Line):
            yield _stroke(f"M{place(at)} {place(TOP + 1)}h18", one.tone)
        elif isinstance(one, Spots):
            hollow = all(spot.hollow for spot in one.spots)
            look = f'class="wc-line wc-t{one.tone}" fill="none" stroke="{LIGHT[one.tone]}" stroke-width="1.6"'
            look = look if hollow else _fill(one.tone)
            yield f'<circle {look} cx="{place(at + 9)}" cy="{place(TOP + 1)}" r="{place(RADIUS)}"/>'
        else:
            yield f'<path {_fill(one.tone)} d="M{place(at + 4)} {place(TOP - 4)}h10v10h-10z"/>'
        yield f'<text x="{place(at + 23)}" y="{place(TOP + 5)}">{text(one.label)}</text>'
        at += 23 + CHAR * len(one.label) + 16


def draw(one: Series, x: Scale, y: Scale, quantity: Quantity) -> Iterator[str]:
    if isinstance(one, Bars):
        yield f'<g {_fill(one.tone)} fill-opacity="0.75">'
        yield from (_bar(bar, x, y, quantity) for bar in one.bars if bar.height)
        yield "</g>"
    elif isinstance(one, Line):
        yield _stroke(_path(thin([(x(a), y(b)) for a, b in one.points], LINE_POINTS)), one.tone)
    elif isinstance(one, Spots):
        yield from (_spot(spot, one.tone, x, y) for spot in one.spots)
    else:
        dots = "".join(f"M{place(a)} {place(b)}h0" for a, b in thin([(x(a), y(b)) for a, b in one.points], DOT_POINTS))
        yield (
            f'<path class="wc-line wc-t{one.tone}" d="{dots}" fill="none" stroke="{LIGHT[one.tone]}" '
            f'stroke-width="3" stroke-linecap="round" stroke-opacity="0.6"/>'
        )


def _spot(spot: Spot, tone: int, x: Scale, y: Scale) -> str:
    """Whiskers, then the point: filled, or a ring when it counts for nothing."""
    ends = "".join(f"M{place(a)} {place(b)}L{place(c)} {place(d)}" for (a, b), (c, d) in whiskers(spot, x, y))
    stroke = f'class="wc-line wc-t{tone}" fill="none" stroke="{LIGHT[tone]}"'
    bars = f'<path {stroke} stroke-width="1" stroke-opacity="0.7" d="{ends}"/>' if ends else ""
    look = f'{stroke} stroke-width="1.6"' if spot.hollow else _fill(tone)
    title = f"<title>{text(spot.says)}</title>" if spot.says else ""
    ring = f'<circle {look} cx="{place(x(spot.x))}" cy="{place(y(spot.y))}" r="{place(RADIUS)}">{title}</circle>'
    return bars + ring


def _bar(bar: Bar, x: Scale, y: Scale, quantity: Quantity) -> str:
    """At least half a unit tall and one wide, so that a single request among millions is still seen."""
    left, right = x(bar.low), x(bar.high)
    if right - left < 1:
        left, right = (left + right) / 2 - 1.5, (left + right) / 2 + 1.5
    top = min(y(bar.height), y.start - 0.5)
    says = f"{bar.height:,.0f}: {measure(bar.low, quantity)} to {measure(bar.high, quantity)}"
    width = max(right - left - 0.6, 0.6)
    shape = f"M{place(left)} {place(top)}h{place(width)}V{place(y.start)}h-{place(width)}z"
    return f'<path d="{shape}"><title>{text(says)}</title></path>'


def _path(points: Sequence[Point]) -> str:
    """Path commands in tenths of a unit; horizontal and vertical parts in their short form, repeated places dropped."""
    parts: list[str] = []
    last: tuple[str, str] | None = None
    for at in points:
        x, y = place(at[0]), place(at[1])
        if last is None:
            parts.append(f"M{x} {y}")
        elif (x, y) == last:
            continue
        elif y == last[1]:
            parts.append(f"H{x}")
        elif x == last[0]:
            parts.append(f"V{y}")
        else:
            parts.append(f"L{x} {y}")
        last = (x, y)
    return "".join(parts)


def _stroke(path: str, tone: int, width: float = 1.6) -> str:
    dash = f' stroke-dasharray="{DASHES[tone]}"' if DASHES[tone] else ""
    look = f'fill="none" stroke="{LIGHT[tone]}" stroke-width="{place(width)}"{dash}'
    return f'<path class="wc-line wc-t{tone}" d="{path}" {look}/>'


def _fill(tone: int) -> str:
    return f'class="wc-fill wc-t{tone}" fill="{LIGHT[tone]}"'


def size(one: Series) -> int:
    return len(one.bars if isinstance(one, Bars) else one.spots if isinstance(one, Spots) else one.points)


def xs_of(one: Series) -> Iterator[float]:
    if isinstance(one, Bars):
        for bar in one.bars:
            yield from (bar.low, bar.high)
    elif isinstance(one, Spots):
        yield from spot_xs(one.spots)
    else:
        yield from (point[0] for point in one.points)


def ys_of(one: Series) -> Iterator[float]:
    if isinstance(one, Bars):
        yield 0.0
        yield from (bar.height for bar in one.bars)
    elif isinstance(one, Spots):
        yield from spot_ys(one.spots)
    else:
        yield from (point[1] for point in one.points)


def place(value: float) -> str:
    """A place in tenths of a unit, as short as it can be written."""
    tenths = f"{value:.1f}"
    return tenths[:-2] if tenths.endswith(".0") else tenths


def text(raw: str) -> str:
    """Escaped for an element's content; characters that XML does not know become a replacement mark."""
    return escape(re.sub("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]", "\ufffd", raw))
