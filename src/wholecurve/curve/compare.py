"""Two curves level by level: refused when they cannot be compared, and "no difference" where intervals overlap.

A figure of a single run is marked, because one run says nothing of the spread between runs (CMP-5).
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from wholecurve.curve.rank import ABOUT_EQUAL_SHARE
from wholecurve.curve.table import KEYS, barred
from wholecurve.curve.words import brief
from wholecurve.model.curve import Curve
from wholecurve.model.errors import InputError
from wholecurve.model.point import OVER_WHOLE_RUN, Figure, Point, PointKind
from wholecurve.model.steadiness import SteadyVerdict

COMPARABLE: Final[tuple[tuple[str, str], ...]] = (
    ("benchmark", "benchmark"),
    ("data_set_hash", "data set"),
    ("tokenizer_hash", "tokenizer"),
    ("definition_version", "definition of the metrics"),
)
"""What must be known and equal on both sides."""

NOTEWORTHY: Final[tuple[tuple[str, str], ...]] = (
    ("division", "division"),
    ("rules_version", "rules version"),
    ("model", "model"),
    ("precision", "precision"),
    ("accelerators", "number of accelerators"),
    ("nodes", "number of nodes"),
)
"""What may differ, and is said."""

LENGTH_SHARE: Final = 0.05
"""Realised output lengths further apart than this share of the longer one are not compared (CMP-4)."""

MEDIAN_FACTOR: Final = math.sqrt(math.pi / 2)
"""Standard error of a median over that of a mean, for values from a normal distribution."""


UNSTEADY: Final[Mapping[str, str]] = {
    "drifting_up": "not steady, drifting up",
    "drifting_down": "not steady, drifting down",
    "anomaly": "steady, then another level",
    "not found": "no steady state found",
}
"""Verdicts on the steady state that are to be kept in mind, in words."""


def whole_run(verdict: str | None, notes: Sequence[str]) -> str:
    """The note that says that figures are over the whole run although a steady window was found; else empty."""
    if verdict is None or verdict == SteadyVerdict.NOT_FOUND:
        return ""
    return next((note for note in notes if note.startswith(OVER_WHOLE_RUN)), "")


class Found(StrEnum):
    """What can be said of one figure on two sides."""

    HIGHER = "higher"
    LOWER = "lower"
    NO_DIFFERENCE = "no difference"
    ABOUT_EQUAL = "about equal"
    NOT_PROVEN = "not proven"
    NOT_MEASURED = "not measured"


@dataclass(frozen=True, slots=True)
class Difference:
    """One figure before and after. change: (after - before) / before. better: of the second side, None when open."""

    key: str
    before: Figure
    after: Figure
    found: Found
    change: float | None
    better: bool | None
    single_run: bool
    why: str = ""


@dataclass(frozen=True, slots=True)
class Level:
    """One level of both curves. refused: why its figures are not compared; `differences` is empty then."""

    kind: PointKind
    concurrency: int
    before: str
    after: str
    refused: tuple[str, ...]
    differences: tuple[Difference, ...]


@dataclass(frozen=True, slots=True)
class Comparison:
    """refused: sentences why the curves cannot be compared; everything else but `cautions` is empty then.

    only_before, only_after: levels that one side alone has (Offline is 0). crossings: pairs of neighbouring common
    levels between which the lead in system throughput changes.
    """

    before: str
    after: str
    refused: tuple[str, ...]
    cautions: tuple[str, ...]
    levels: tuple[Level, ...] = ()
    only_before: tuple[int, ...] = ()
    only_after: tuple[int, ...] = ()
    crossings: tuple[tuple[int, int], ...] = ()


def compare(before: Curve, after: Curve) -> Comparison:
    """Both curves at each level that both have measured."""
    refused, cautions = comparable(before, after)
    if refused:
        return Comparison(before.id, after.id, refused, cautions)
    one, other = levels_of(before), levels_of(after)
    common = [level for level in one if level in other]
    keys = ("system_tps", before.interactivity_key, "ttft_p90_ns")
    found = tuple(_level(one[level], other[level], keys) for level in common)
    return Comparison(
        before.id,
        after.id,
        refused,
        (*cautions, *doubts(one, other, common)),
        found,
        tuple(level for level in one if level not in other),
        tuple(level for level in other if level not in one),
        tuple(_crossings(found)),
    )


def comparable(before: Curve, after: Curve) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """(refusals, cautions) as sentences. What is not known on a side is not comparable either.

    Where the endpoint's own token counts are used on both sides no tokenizer took part: a caution, not a refusal.
    """
    refused: list[str] = []
    cautions: list[str] = []
    sources = [_token_sources(curve) for curve in (before, after)]
    for key, label in COMPARABLE:
        one, other = getattr(before.identity, key), getattr(after.identity, key)
        if key == "tokenizer_hash" and sources == [{"usage"}, {"usage"}]:
            cautions.append("Tokens are counted by the endpoints themselves on both sides, never by one tokenizer.")
        elif one is None or other is None:
            refused.append(f"The {label} is not known on {'both sides' if one == other else 'one side'}.")
        elif one != other:
            refused.append(f"The {label} differs: {brief(one)} and {brief(other)}.")
    if before.interactivity_key != after.interactivity_key:
        refused.append(f"Interactivity differs: {before.interactivity_key} and {after.interactivity_key}.")
    if all(sources) and sources[0] != sources[1]:
        counted = " and ".join(", ".join(sorted(one)) for one in sources)
        refused.append(f"Tokens are counted differently: {counted}.")
    for key, label in NOTEWORTHY:
        one, other = getattr(before.identity, key), getattr(after.identity, key)
        if one != other:
            cautions.append(f"The {label} differs: {one or 'not stated'} and {other or 'not stated'}.")
    return tuple(refused), tuple(cautions)


def doubts(one: Mapping[int, Point], other: Mapping[int, Point], common: Sequence[int]) -> tuple[str, ...]:
    """What to keep in mind of the points that are held against each other, as sentences."""
    found = []
    pairs = [(one[level], other[level]) for level in common]
    if pairs and all(left.figures == right.figures for left, right in pairs):
        found.append(
            "The figures are the very same on both sides, to the last digit: this is one measurement, not two."
        )
    for point in (point for pair in pairs for point in pair):
        source, verdict = point.provenance.source, point.provenance.steady_verdict
        if point.provenance.client_verdict == "strained":
            found.append(f"{source}: the client was strained.")
        if verdict is not None and verdict != SteadyVerdict.STEADY:
            found.append(f"{source}: {UNSTEADY.get(verdict, verdict)}.")
        fallback = whole_run(verdict, point.notes)
        if fallback:
            found.append(f"{source}: {fallback.rstrip('.')}.")
    return tuple(found)


def levels_of(curve: Curve) -> dict[int, Point]:
    """The points of a curve by concurrency, a dedicated Offline point at 0; Offline stands at the end."""
    return {0 if point.kind is PointKind.OFFLINE else point.concurrency: point for point in curve.points}


def length_refusal(one: Point, other: Point) -> str:
    """Why output lengths forbid a comparison, or an empty text (CMP-4)."""
    lengths = [point.figure("output_length_mean").value for point in (one, other)]
    if lengths[0] is None or lengths[1] is None:
        return "The realised output length is not known on a side."
    if abs(lengths[0] - lengths[1]) > LENGTH_SHARE * max(lengths[0], lengths[1]):
        return f"Realised output lengths differ by more than 5 %: {lengths[0]:.5g} and {lengths[1]:.5g} tokens."
    return ""


def difference(key: str, before: Figure, after: Figure) -> Difference:
    """What the two figures of this key say. Intervals that touch overlap: no difference.

    With an interval missing on a side, less than 1 % is about equal and more is not proven.
    """
    single = 1 in (before.runs, after.runs)
    if before.value is None or after.value is None:
        why = "; ".join(figure.reason for figure in (before, after) if figure.reason)
        return Difference(key, before, after, Found.NOT_MEASURED, None, None, single, why)
    change = (after.value - before.value) / before.value if before.value else None
    if before.low is None or before.high is None or after.low is None or after.high is None:
        largest = max(before.value, after.value)
        near = abs(after.value - before.value) < ABOUT_EQUAL_SHARE * largest or before.value == after.value
        found = Found.ABOUT_EQUAL if near else Found.NOT_PROVEN
        return Difference(key, before, after, found, change, None, single, "an interval is missing on a side")
    if before.low <= after.high and after.low <= before.high:
        return Difference(key, before, after, Found.NO_DIFFERENCE, change, None, single, "intervals overlap")
    higher = after.value > before.value
    found = Found.HIGHER if higher else Found.LOWER
    return Difference(key, before, after, found, change, higher == high_is_better(key), single)


def high_is_better(key: str) -> bool:
    """The good direction of a figure: as its column in KEYS, and high for both measures of interactivity."""
    return key not in KEYS or KEYS[key]["better"] == "high"


def figure_of_runs(values: Sequence[float]) -> Figure:
    """One figure from the same figure of several runs: their lower median, its 95 % interval, and the spread.

    Interval: median +- t(0.975, n - 1) x sqrt(pi / 2) x s / sqrt(n), not below 0. Percentiles are not averaged, so the
    value is one that was measured. A single run has no interval. InputError without a value.
    """
    if not values:
        raise InputError("wanted the figure of one run or more, got none")
    value, n = statistics.median_low(values), len(values)
    if n == 1:
        return Figure(value)
    from scipy.special import stdtrit  # here, because it takes longer to load than everything else together

    half = float(stdtrit(n - 1, 0.975)) * MEDIAN_FACTOR * statistics.stdev(values) / math.sqrt(n)
    spread = (max(values) - min(values)) / value if value else None
    return Figure(value, low=max(0.0, value - half), high=value + half, runs=n, spread=spread)


def _level(before: Point, after: Point, keys: Sequence[str]) -> Level:
    refused = tuple(
        text
        for text in (
            *(f"{point.provenance.source}: {barred(point)}." for point in (before, after) if barred(point)),
            length_refusal(before, after),
        )
        if text
    )
    used = keys[:1] if before.kind is PointKind.OFFLINE else keys
    found = () if refused else tuple(difference(key, before.figure(key), after.figure(key)) for key in used)
    sources = (before.provenance.source, after.provenance.source)
    return Level(before.kind, before.concurrency, *sources, refused, found)


def _crossings(levels: Sequence[Level]) -> Iterator[tuple[int, int]]:
    """Between which levels the leader in throughput changes; levels without a proven leader do not count."""
    lead: tuple[int, Found] | None = None
    for level in levels:
        if level.kind is PointKind.OFFLINE or not level.differences:
            continue
        found = level.differences[0].found
        if found in (Found.HIGHER, Found.LOWER):
            if lead and lead[1] is not found:
                yield lead[0], level.concurrency
            lead = (level.concurrency, found)


def _token_sources(curve: Curve) -> set[str]:
    return {point.provenance.token_source for point in curve.points if point.provenance.token_source}
