"""Named bands along the x axis, and small charts without axes that stand in the cells of a table."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from wholecurve.chart.scale import Scale
from wholecurve.chart.series import CHAR, LIGHT, place, text
from wholecurve.chart.step import Bar
from wholecurve.chart.ticks import Quantity, log_ticks, measure, unit_ticks

SPARK_WIDTH, SPARK_HEIGHT = 170, 34
TICK_CHAR: Final[float] = 6.6  # width of a character of 10.5 px text, on the generous side
_EDGE: Final[float] = 4.0


@dataclass(frozen=True, slots=True)
class Band:
    """A band from low to high on the x axis, with a name and a shorter one for where it is narrow."""

    low: float
    high: float
    label: str
    short: str = ""


def draw_bands(bands: Sequence[Band], x: Scale, top: float, floor: float) -> Iterator[str]:
    """Bands clipped to the axis, every other one shaded, their names in a row above `top`; a name with no room for
    even its short form is left out."""
    edge = min(x.start, x.end), max(x.start, x.end)
    for number, band in enumerate(bands):
        if band.high <= x.low or band.low >= x.high:
            continue
        left = max(edge[0], x(max(band.low, x.low)))
        right = min(edge[1], x(min(band.high, x.high)))
        if number % 2 == 0:
            shape = f"M{place(left)} {place(top)}H{place(right)}V{place(floor)}H{place(left)}z"
            yield f'<path class="wc-band" d="{shape}" fill="currentColor" fill-opacity="0.06"/>'
        name = next((one for one in (band.label, band.short) if one and CHAR * len(one) <= right - left - 4), "")
        if name:
            middle = place((left + right) / 2)
            yield (
                f'<text x="{middle}" y="{place(top - 4)}" text-anchor="middle" font-size="11" opacity="0.7">'
                f"{text(name)}</text>"
            )


def spark(
    name: str,
    description: str,
    bars: Sequence[Bar],
    ends: tuple[float, float],
    marks: Sequence[tuple[float, int]] = (),
    *,
    log: bool = True,
) -> str:
    """A histogram without axes as `<svg>`, on the range `ends` that it shares with others; marks: (value, tone).

    name: as of Figure, unique on the page.
    """
    x = Scale(*ends, _EDGE, SPARK_WIDTH - _EDGE, log)
    floor, most = SPARK_HEIGHT - 2, max((bar.height for bar in bars), default=0)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" class="wc-spark" viewBox="0 0 {SPARK_WIDTH} {SPARK_HEIGHT}" '
        f'role="img" aria-labelledby="{name}-title" fill="currentColor" stroke="none">',
        f'<title id="{name}-title">{text(description)}</title>',
        f'<path d="M{place(x.start)} {place(floor)}H{place(x.end)}" fill="none" stroke="currentColor" '
        'stroke-opacity="0.3"/>',
    ]
    shape = "".join(_shape(bar, x, floor, most) for bar in bars if bar.height > 0 and most > 0)
    if shape:
        parts.append(f'<path class="wc-fill wc-t0" fill="{LIGHT[0]}" fill-opacity="0.75" d="{shape}"/>')
    for value, tone in marks:
        at = place(x(min(max(value, x.low), x.high)))
        parts.append(
            f'<path class="wc-line wc-t{tone}" d="M{at} 1V{place(floor)}" fill="none" stroke="{LIGHT[tone]}" '
            'stroke-width="1.4"/>'
        )
    return "\n".join((*parts, "</svg>"))


def spark_axis(ends: tuple[float, float], quantity: Quantity, *, log: bool = True) -> str:
    """The axis that a column of sparks shares, as `<svg>`: few ticks with their units; for the head of the column."""
    x = Scale(*ends, _EDGE, SPARK_WIDTH - _EDGE, log)
    found = [(at, measure(at, quantity)) for at in log_ticks(*ends, about=4)] if log else unit_ticks(*ends, quantity, 3)
    kept: list[tuple[float, float, str]] = []
    for at, label in found or [(end, measure(end, quantity)) for end in ends]:
        half = TICK_CHAR * len(label) / 2
        middle = min(max(x(at), half), SPARK_WIDTH - half)
        if not kept or middle - half > kept[-1][1] + TICK_CHAR * len(kept[-1][2]) / 2 + 4:
            kept.append((x(at), middle, label))
    labels = "".join(f'<text x="{place(middle)}" y="10">{text(label)}</text>' for _, middle, label in kept)
    notches = "".join(f"M{place(at)} 14v4" for at, _, _ in kept)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" class="wc-spark" viewBox="0 0 {SPARK_WIDTH} 18" aria-hidden="true" '
        'font-family="system-ui, sans-serif" font-size="10.5" text-anchor="middle" fill="currentColor">'
        f'{labels}<path d="{notches}" fill="none" stroke="currentColor" stroke-opacity="0.5"/></svg>'
    )


def _shape(bar: Bar, x: Scale, floor: float, most: float) -> str:
    """A bar as a closed path, clipped to the axis, at least half a unit tall and wide."""
    left, right = (x(min(max(end, x.low), x.high)) for end in (bar.low, bar.high))
    height = max(bar.height / most * (floor - 3), 0.5)
    width = max(right - left - 0.4, 0.6)
    return f"M{place(left)} {place(floor)}v-{place(height)}h{place(width)}v{place(height)}z"
