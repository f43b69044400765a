"""The answer first: the few figures that a whole curve comes to, and where it bends."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from wholecurve.curve import DERIVED, OFFICIAL, Row, c_bounds, ceiling, levels
from wholecurve.model.curve import Curve
from wholecurve.model.names import NAMES
from wholecurve.report.campaign_accuracy import FAILED, PASSED, worst
from wholecurve.report.reading import NOT_MEASURED, clean, duration, rate, share

if TYPE_CHECKING:
    from wholecurve.report.campaign_points import PointView

KNEE_DEFINITION: Final = (
    "The measured level where throughput lies farthest above the straight line from the first level to the level of "
    "the highest throughput, both axes linear and scaled to one. Derived from the measured levels; not an official "
    "figure."
)
LEAST_LEVELS: Final = 3
LEAST_BEND: Final[float] = 0.05
"""A curve that nowhere rises this share of its height above the straight line has no knee worth naming."""


@dataclass(frozen=True, slots=True)
class Card:
    """One key figure. value: `not measured` when there is none, then `note` says why. unit: set smaller."""

    label: str
    value: str
    unit: str
    note: str
    definition: str


@dataclass(frozen=True, slots=True)
class Knee:
    """Where the curve bends. bend: how far above the straight line, as a share of the curve's height."""

    concurrency: int
    system_tps: float
    bend: float


def _rising(rows: Sequence[Row]) -> list[Row]:
    """The levels up to the one with the highest throughput."""
    known = [row for row in levels(rows) if row["system_tps"] is not None]
    top = max(range(len(known)), key=lambda k: (known[k]["system_tps"], -k), default=-1)
    return known[: top + 1]


def knee_of(rows: Sequence[Row]) -> Knee | None:
    """The knee of one curve's rows; None without a bend, and with fewer than three levels up to the top.

    On linear axes, for a buyer pays for load and throughput in proportion; a sweep places its levels by logarithms.
    """
    rising = _rising(rows)
    if len(rising) < LEAST_LEVELS:
        return None
    first, last = rising[0], rising[-1]
    width, height = last["concurrency"] - first["concurrency"], last["system_tps"] - first["system_tps"]
    if width <= 0 or height <= 0:
        return None
    above = [
        (row["system_tps"] - first["system_tps"]) / height - (row["concurrency"] - first["concurrency"]) / width
        for row in rising
    ]
    best = max(range(len(rising)), key=lambda k: (above[k], -k))
    if above[best] < LEAST_BEND:
        return None
    return Knee(rising[best]["concurrency"], rising[best]["system_tps"], above[best])


def cards_of(curve: Curve, rows: Sequence[Row], knee: Knee | None, points: Sequence[PointView]) -> tuple[Card, ...]:
    """Range, best throughput, best interactivity, shortest wait, knee, Offline, per kW and accuracy, in this order."""
    return (
        _range(curve, rows), _best_system(rows), _best_speed(curve, rows), _best_wait(rows), _knee(knee, rows),
        _offline(rows), _per_kw(rows), _accuracy(points),
    )  # fmt: skip


def _range(curve: Curve, rows: Sequence[Row]) -> Card:
    bounds = c_bounds(rows, curve.c_max_declared)
    definition = (
        "C_min is the lowest measured level that counts, C_max the highest concurrency as declared; without a "
        "declaration the highest measured level stands for it."
    )
    if bounds["c_min"] is None:
        return Card("Concurrency", NOT_MEASURED, "", bounds["note"], definition)
    counted = len(levels(rows))
    note = f"{counted} {'level' if counted == 1 else 'levels'} measured"
    note += f"; {bounds['note']}" if bounds["note"] else ""
    span = (
        f"{bounds['c_min']:,} to {bounds['c_max']:,}" if bounds["c_min"] != bounds["c_max"] else f"{bounds['c_min']:,}"
    )
    return Card("Concurrency, C_min to C_max", span, "", note, definition)


def _best_system(rows: Sequence[Row]) -> Card:
    found = [row for row in levels(rows) if row["system_tps"] is not None]
    label, text = "Highest system throughput", NAMES["system_tps"].definition
    if not found:
        return Card(label, NOT_MEASURED, "", _why(rows, "system_tps"), text)
    best = max(found, key=lambda row: (row["system_tps"], -row["concurrency"]))
    wait = "" if best["ttft_p90_ns"] is None else f", TTFT P90 {duration(best['ttft_p90_ns'])}"
    return _card(label, rate(best["system_tps"], "tokens/s"), f"at concurrency {best['concurrency']:,}{wait}", text)


def _best_speed(curve: Curve, rows: Sequence[Row]) -> Card:
    found = [row for row in levels(rows) if row["interactivity_tps"] is not None]
    label, text = "Highest interactivity", NAMES[curve.interactivity_key].definition
    if not found:
        return Card(label, NOT_MEASURED, "", _why(rows, "interactivity_tps"), text)
    best = max(found, key=lambda row: (row["interactivity_tps"], -row["concurrency"]))
    note = f"for one user, at concurrency {best['concurrency']:,}"
    return _card(label, rate(best["interactivity_tps"], "tokens/s"), note, text)


def _best_wait(rows: Sequence[Row]) -> Card:
    found = [row for row in levels(rows) if row["ttft_p90_ns"] is not None]
    label, text = "Lowest TTFT P90", f"{NAMES['ttft'].definition} Its 90th percentile over the answers of one level."
    if not found:
        return Card(label, NOT_MEASURED, "", _why(rows, "ttft_p90_ns"), text)
    best = min(found, key=lambda row: (row["ttft_p90_ns"], row["concurrency"]))
    note, last = f"at concurrency {best['concurrency']:,}", found[-1]
    if last is not best:
        note += f"; {duration(last['ttft_p90_ns'])} at {last['concurrency']:,}"
    return _card(label, duration(best["ttft_p90_ns"]), note, text)


def _accuracy(points: Sequence[PointView]) -> Card:
    text = "Answers to questions whose answer is known, asked at the load of the point right after it was measured."
    scored = [one for one in points if one.scores]
    if not scored:
        return Card("Accuracy", NOT_MEASURED, "", "no accuracy run belongs to this campaign", text)
    verdicts = [worst(one.scores) for one in scored]
    passed = verdicts.count(PASSED)
    value = PASSED if passed == len(scored) else next(word for word in verdicts if word != PASSED)
    if FAILED in verdicts:
        value = FAILED
    told = next(one for one in scored[verdicts.index(value)].scores if one.verdict == value)
    note = f"at {passed if value == PASSED else verdicts.count(value)} of {len(scored)} points"
    return Card("Accuracy", value, "", f"{note}; {told.label} {told.value}", text)


def _knee(knee: Knee | None, rows: Sequence[Row]) -> Card:
    if knee is None:
        return Card("Knee", "none", "", _no_knee(rows), KNEE_DEFINITION)
    note = f"{rate(knee.system_tps, 'tokens/s')} there; {DERIVED}"
    return Card("Knee", f"{knee.concurrency:,}", "in flight", note, KNEE_DEFINITION)


def _no_knee(rows: Sequence[Row]) -> str:
    """Why there is no knee."""
    rising = _rising(rows)
    if not rising:
        return "no level was measured"
    if len(rising) < LEAST_LEVELS:
        return f"fewer than three levels up to the highest throughput, at concurrency {rising[-1]['concurrency']:,}"
    return "no level lies clearly above a straight line up to the highest throughput"


def _offline(rows: Sequence[Row]) -> Card:
    found = ceiling(rows)
    text = "System throughput when all requests are there from the start; a ceiling, and no point of the curve."
    if found["system_tps"] is None:
        return Card("Offline", NOT_MEASURED, "", clean(found["why"]), text)
    elected = {"elected": "elected: the point at C_max stands for it", "dedicated": "a dedicated run"}
    note, best = elected[found["offline"]], max((row["system_tps"] or 0 for row in levels(rows)), default=0)
    if best > found["system_tps"]:
        return _card("Offline", rate(found["system_tps"], "tokens/s"), f"{note}, below the best level", text)
    return _card("Offline ceiling", rate(found["system_tps"], "tokens/s"), note, text)


def _per_kw(rows: Sequence[Row]) -> Card:
    text = f"System throughput / provisioned power of the system under test in kW ({OFFICIAL})."
    powered = [row for row in levels(rows) if row["provisioned_power_kw"] is not None]
    found = [(row["system_tps"] / row["provisioned_power_kw"], row) for row in powered if row["system_tps"] is not None]
    if not found:
        missing = "system_tps" if powered else "provisioned_power_kw"
        return Card("Per provisioned kW", NOT_MEASURED, "", _why(rows, missing), text)
    best, row = max(found, key=lambda one: (one[0], -one[1]["concurrency"]))
    estimated = ", estimated" if row["power_estimated"] else ""
    note = f"at concurrency {row['concurrency']:,}, of {row['provisioned_power_kw']:.4g} kW{estimated}"
    return _card("Highest per provisioned kW", rate(best, "tokens/s/kW"), note, text)


def _card(label: str, shown: str, note: str, definition: str) -> Card:
    value, _, unit = shown.partition(" ")
    return Card(label, value, unit, note, definition)


def _why(rows: Sequence[Row], key: str) -> str:
    """The reason that most points give."""
    reasons = [str(row["reasons"][key]) for row in rows if key in row["reasons"]]
    return clean(max(sorted(set(reasons)), key=reasons.count)) if reasons else "no level was measured"


def lost(fall: dict[str, float]) -> str:
    """A fall of throughput in words."""
    return f"from concurrency {fall['from']:,} to {fall['to']:,} by {share(fall['share'])}"
