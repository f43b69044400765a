"""The charts of a whole curve. Every measured point is on each chart or named below it; nothing is interpolated.

Points that count are filled and carry the steps; those that count for nothing are rings, with the reason in their
titles. Offline is a broken horizontal line and defines no step. Intervals are whiskers.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import sqrt
from typing import Final

from wholecurve.chart import Axis, Band, Figure, Line, Mark, Quantity, Spot, Spots
from wholecurve.curve import KEYS, line
from wholecurve.model.point import Figure as Value
from wholecurve.report.campaign_points import PointView
from wholecurve.report.campaign_regions import Stretch
from wholecurve.report.campaign_view import CampaignView
from wholecurve.report.reading import duration, rate

OFFLINE: Final = "Offline"
ROOM: Final[float] = 1.12
"""How far a logarithmic axis goes on beyond the data, so that points do not lie on the frame."""

MANY: Final[int] = 14
"""From more levels on, a chart against concurrency names them on its axis only."""

EDGE: Final[float] = 1.04
EMPTY_HEIGHT: Final[int] = 110

_SHORT: Final = {"Ultra Low": "UL", "Low": "L", "Medium": "M", "High": "H", "margin": ""}
CURVE_TONE, CEILING_TONE, BEATEN_TONE = 0, 1, 4


@dataclass(frozen=True, slots=True)
class Measure:
    """A value of a point as the y axis of a chart: how to get it, its axis, how it is shown."""

    key: str
    value: Callable[[PointView], Value]
    label: str
    quantity: Quantity
    shown: Callable[[float], str]


MEASURES: Final = {
    "system_tps": Measure(
        "system_tps", lambda one: one.system, "system throughput", Quantity.TOKENS_PER_S, lambda v: rate(v, "tokens/s")
    ),
    "ttft_p90_ns": Measure("ttft_p90_ns", lambda one: one.ttft, "TTFT P90", Quantity.DURATION, duration),
    "interactivity_tps": Measure(
        "interactivity_tps",
        lambda one: one.speed,
        "interactivity, one user",
        Quantity.TOKENS_PER_S,
        lambda v: rate(v, "tokens/s per user"),
    ),
}


def campaign_figures(view: CampaignView, *, width: int = 420, height: int = 290) -> list[Figure]:
    """Throughput, TTFT P90 and interactivity against concurrency; the primary chart is `curve_figure`."""
    return [_against_concurrency(view, key, width, height) for key in MEASURES]


def curve_figure(view: CampaignView, *, width: int = 800, height: int = 420) -> Figure:
    """The primary chart: system throughput against interactivity, as a step function over the points that count."""
    system, speed = MEASURES["system_tps"], MEASURES["interactivity_tps"]
    placed = [one for one in view.points if not one.offline and None not in (one.system.value, one.speed.value)]
    speeds = [one.speed.value or 0.0 for one in placed]
    stretches = line(view.rows, "interactivity_tps", "system_tps")
    corners = {corner for stretch in stretches for corner in stretch}
    kinds: dict[str, list[Spot]] = {"measured": [], "beaten by another level": [], "not on the curve": []}
    for one in placed:
        on_front = (float(one.speed.value or 0), float(one.system.value or 0)) in corners
        kind = "not on the curve" if one.barred else "measured" if on_front else "beaten by another level"
        kinds[kind].append(_spot(one, speed.value(one), one.system))
    title = "System throughput against interactivity"
    return Figure(
        name="curve",
        title=title,
        description=_described(view, placed, title) + " Each value holds back to the speed of the level before.",
        x=Axis("interactivity: tokens/s of one user", zero=True, high=max(speeds, default=0.0) * EDGE),
        y=Axis(system.label, system.quantity, zero=True),
        series=[*_steps(stretches), *_spots(kinds)] if placed else [],
        marks=_ceiling(view, bool(placed)),
        empty="no level has both throughput and interactivity",
        width=width,
        height=height if placed else EMPTY_HEIGHT,
    )


def _against_concurrency(view: CampaignView, key: str, width: int, height: int) -> Figure:
    measure = MEASURES[key]
    placed = [one for one in view.points if not one.offline and measure.value(one).value is not None]
    levels = [float(one.concurrency) for one in placed]
    low, high = (min(levels) / ROOM, max(levels) * ROOM) if levels else (None, None)
    kinds: dict[str, list[Spot]] = {"measured": [], "not on the curve": []}
    for one in placed:
        spot = _spot(one, Value(float(one.concurrency)), measure.value(one), labelled=len(placed) <= MANY)
        kinds["not on the curve" if one.barred else "measured"].append(spot)
    values = [measure.value(one).value or 0.0 for one in placed]
    log = key == "ttft_p90_ns" and bool(values) and min(values) > 0 and max(values) / min(values) >= 10
    tops = [end for one in placed for end in _ends(measure.value(one)) or (measure.value(one).value or 0.0,)]
    title = f"{KEYS[key]['label'][:1].upper()}{KEYS[key]['label'][1:]} against concurrency"
    held = line(view.rows, "concurrency", key) if placed else []
    drawn = bool(placed) and key == "system_tps"
    return Figure(
        name=f"concurrency-{key.replace('_', '-')}",
        title=title,
        description=_described(view, placed, title, key) + " Each value holds until the next level.",
        x=Axis("concurrency", log=True, low=low, high=high, ticks=sorted(set(levels))),
        y=Axis(measure.label, measure.quantity, log=log, zero=not log, high=max(tops) * ROOM if log else None),
        series=[*_steps(held), *_spots(kinds)] if placed else [],
        marks=_ceiling(view, drawn) if key == "system_tps" else [],
        bands=bands_of(view.stretches) if placed else (),
        empty="no level has this figure",
        width=width,
        height=height if placed else EMPTY_HEIGHT,
    )


def bands_of(stretches: Sequence[Stretch]) -> list[Band]:
    """Regions as bands that meet halfway between the last level of one and the first of the next, on a log axis."""
    found = []
    for place, one in enumerate(stretches):
        before = sqrt(stretches[place - 1].last * one.first) if place else one.first / 2
        after = sqrt(one.last * stretches[place + 1].first) if place + 1 < len(stretches) else one.last * 1.1
        found.append(Band(before, after, one.title, _SHORT.get(one.title, one.title[:1])))
    return found


def _steps(stretches: Sequence[Sequence[tuple[float, float]]]) -> list[Line]:
    """One line for each unbroken stretch; a stretch of a single point is only its point."""
    return [Line(stretch, tone=CURVE_TONE) for stretch in stretches if len(stretch) > 1]


def _spots(kinds: dict[str, list[Spot]]) -> list[Spots]:
    """Kinds that have points; named in a legend only where there is more than one kind."""
    tones = {"measured": CURVE_TONE, "beaten by another level": BEATEN_TONE, "not on the curve": BEATEN_TONE}
    found = {kind: spots for kind, spots in kinds.items() if spots}
    return [Spots(spots, kind if len(found) > 1 else "", tones[kind]) for kind, spots in found.items()]


def _spot(one: PointView, across: Value, up: Value, *, labelled: bool = True) -> Spot:
    x, y = float(across.value or 0), float(up.value or 0)
    elected = f", stands for {OFFLINE} too" if one.elected else ""
    return Spot(
        x,
        y,
        label=f"{one.name} · {OFFLINE}" if one.elected else one.name if labelled else "",
        says=_said(one) + elected,
        hollow=bool(one.barred),
        x_ends=_ends(across),
        y_ends=_ends(up),
    )


def _ends(value: Value) -> tuple[float, float] | None:
    return None if value.low is None or value.high is None else (value.low, value.high)


def _said(one: PointView) -> str:
    parts = [f"concurrency {one.name}"]
    for measure in MEASURES.values():
        found = measure.value(one).value
        parts.append(f"{measure.label} " + ("not measured" if found is None else measure.shown(found)))
    return ", ".join(parts) + (f"; not on the curve: {one.barred}" if one.barred else "")


def _ceiling(view: CampaignView, drawn: bool) -> list[Mark]:
    """Offline as a broken line, if it is a run of its own; an elected point carries the word itself (rules 5.7.3)."""
    found = view.ceiling
    if not drawn or found["offline"] != "dedicated" or found["system_tps"] is None:
        return []
    value = float(found["system_tps"])
    return [Mark(value, f"{OFFLINE} {rate(value, 'tokens/s')}", "y", CEILING_TONE)]


def _described(view: CampaignView, placed: Sequence[PointView], title: str, key: str = "") -> str:
    """The chart in words: every point of it, so that nobody needs to see it."""
    if not placed:
        return f"{title}: no points."
    keys = [key] if key else ["interactivity_tps", "system_tps"]
    said = []
    for one in placed:
        values = " and ".join(MEASURES[name].shown(float(MEASURES[name].value(one).value or 0)) for name in keys)
        said.append(f"{one.name}: {values}" + (" (not on the curve)" if one.barred else ""))
    offline = view.ceiling["system_tps"]
    ceiling = f" {OFFLINE}: {rate(offline, 'tokens/s')}." if offline is not None and key in ("", "system_tps") else ""
    return f"{title}, by concurrency. {'; '.join(said)}.{ceiling}"
