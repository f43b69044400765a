"""Plateaus of per-block series: where the gated metrics stand still, which plateau counts, and what came after it.

Selection never looks at how good a figure is: the first plateau that is long enough is taken (White, 1997: choose by
precision, not by value), for later ones are mostly degradation.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import ceil, inf, sqrt
from typing import Final

import numpy as np

from wholecurve.metrics.columns import Floats
from wholecurve.metrics.confidence import student_t
from wholecurve.metrics.trend import MIN_TREND_N, mann_kendall, pettitt, relative_change
from wholecurve.metrics.window_rules import Gate, Movement, WindowRules

Z_95: Final[float] = 1.96
EDGE: Final[int] = 2
"""Blocks on either side of a step that show how sharp it is."""
SHARP: Final[float] = 0.75
"""Share of the difference of two levels that a sharp step makes at once."""


@dataclass(frozen=True, slots=True)
class Plateau:
    """Blocks [start, end). bound: the tightest bound of variation that all gating series keep.

    variation, levels: by gate key, coefficient of variation and mean of the series over the plateau.
    """

    start: int
    end: int
    bound: float
    variation: Mapping[str, float]
    levels: Mapping[str, float]


@dataclass(frozen=True, slots=True)
class Required:
    """Time a window should last: the largest of three (detector), each in ns.

    floor: the rules' minimum, without which nothing is official. precision: blocks that a noisy series needs for a
    95 % interval of a given width, 0 if the fewest blocks are enough. relaxation: some latencies of the slowest.
    """

    floor_ns: int
    precision_ns: int
    relaxation_ns: int

    @property
    def ns(self) -> int:
        """The largest."""
        return max(self.floor_ns, self.precision_ns, self.relaxation_ns)


@dataclass(frozen=True, slots=True)
class Drift:
    """Movement of a series after the window. n: values tested; p: of the trend test on them.

    change: from the window's first block to the last one without its steps, as a share of the median. low, high:
    smallest and largest value of the series from the window on. state is a drift only if the trend is significant and
    the change counts.
    """

    key: str
    state: Movement
    n: int
    p: float
    change: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class LevelShift:
    """A step from the window's level to another plateau's. block: where the new level begins; change: as a share.

    confirmed: the change-point test agrees (p below alpha).
    """

    key: str
    block: int
    change: float
    p: float
    confirmed: bool
    plateau: Plateau


def movement(values: Floats, rules: WindowRules) -> tuple[Movement, float]:
    """(direction of a significant trend, its p), whatever its size; Plateau below four values.

    Four values cannot reach a p of 0.05 however they rise, so values that only rise, or only fall, are a trend too.
    """
    if len(values) < MIN_TREND_N or not np.isfinite(values).all():
        return Movement.PLATEAU, 1.0
    trend = mann_kendall(values, alpha=rules.alpha)
    if trend.p >= rules.alpha and abs(trend.s) < len(values) * (len(values) - 1) // 2:
        return Movement.PLATEAU, trend.p
    return (Movement.DRIFTING_UP if trend.s > 0 else Movement.DRIFTING_DOWN), trend.p


def state_of(values: Floats, rules: WindowRules, *, at_least: float | None = None) -> Movement:
    """Movement that counts: a significant trend of at least `at_least` (None: the rules' change) from end to end."""
    change = relative_change(values) if len(values) >= MIN_TREND_N and np.isfinite(values).all() else None
    if change is None or abs(change) < (rules.min_change if at_least is None else at_least):
        return Movement.PLATEAU
    return movement(values, rules)[0]


def variation(values: Floats) -> float:
    """Coefficient of variation, sample form; infinite where it is not defined, so that no bound is kept."""
    mean = float(values.mean())
    return float(values.std(ddof=1)) / mean if len(values) > 1 and mean > 0 else float("inf")


def ends_fit(values: Floats, rules: WindowRules) -> bool:
    """False if the first or the last value is far from the rest: beyond `min_change` and beyond their scatter.

    The scatter is a prediction interval, so a few values are given more room than many. Without this, a wide bound of
    variation lets a long plateau swallow the first blocks of the next level.
    """
    for end, rest in ((values[0], values[1:]), (values[-1], values[:-1])):
        n, middle = len(rest), float(np.median(rest))
        if abs(end - middle) > rules.min_change * middle:
            room = student_t(n - 1, rules.edge_level) * float(rest.std(ddof=1)) * sqrt(1 + 1 / n) if n > 1 else inf
            if abs(end - middle) > room:
                return False
    return True


def admissible(series: Mapping[str, Floats], start: int, end: int, rules: WindowRules) -> bool:
    """True if every gating series stands still over blocks [start, end).

    That is: within its last bound of variation, ends that fit the rest, and no trend that counts.
    """
    for gate in rules.gates:
        if gate.gates:
            values = series[gate.key][start:end]
            if not np.isfinite(values).all() or variation(values) > gate.cov_bounds[-1]:
                return False
            if not ends_fit(values, rules) or state_of(values, rules) is not Movement.PLATEAU:
                return False
    return True


def plateaus(series: Mapping[str, Floats], start: int, end: int, rules: WindowRules) -> tuple[Plateau, ...]:
    """The plateaus of blocks [start, end), in order: each grown from its first block until it is one no more."""
    found: list[Plateau] = []
    least = rules.min_super_passes
    while start + least <= end:
        stop = start + least
        if not admissible(series, start, stop, rules):
            start += 1
            continue
        while stop < end and admissible(series, start, stop + 1, rules):
            stop += 1
        found.append(_plateau(series, start, stop, rules))
        start = stop
    return tuple(found)


def is_flat(series: Mapping[str, Floats], plateau: Plateau, rules: WindowRules) -> bool:
    """True if no gating series has even half a trend that counts: a piece of a slow ramp has one."""
    parts = (series[key][plateau.start : plateau.end] for key in plateau.levels)
    return all(state_of(values, rules, at_least=rules.min_change / 2) is Movement.PLATEAU for values in parts)


def required(plateau: Plateau, block_span_ns: float, latency_ns: float, rules: WindowRules) -> Required:
    """Time this plateau should last. block_span_ns: typical issue span of a block; latency_ns: of the slow requests."""
    key = next(gate.key for gate in rules.gates if gate.gates)
    blocks = ceil((Z_95 * plateau.variation[key] / rules.precision) ** 2)
    precision = blocks * block_span_ns if blocks > rules.min_super_passes else 0
    return Required(rules.min_duration_ns, round(precision), round(rules.relaxation * latency_ns))


def choose(spans_ns: Sequence[int], needs: Sequence[Required]) -> int | None:
    """Place of the plateau to report: the first that lasts long enough for detector and rules, else the first for the
    rules, else the longest, else None."""
    for wanted in ([need.ns for need in needs], [need.floor_ns for need in needs]):
        for at, (span, least) in enumerate(zip(spans_ns, wanted, strict=True)):
            if span >= least:
                return at
    return max(range(len(spans_ns)), key=lambda at: spans_ns[at], default=None)


def drifts(
    series: Mapping[str, Floats], window: Plateau, found: Sequence[Plateau], end: int, rules: WindowRules
) -> tuple[Drift, ...]:
    """What each series does in blocks [window.end, end): one row per gate that has values.

    Sharp steps between plateaus are taken out first: a step is an anomaly, no drift. A tail too short for the test is
    tested together with the window, since a climb that ended the window is in both.
    """
    later = [plateau for plateau in found if plateau.start >= window.start]
    rows = (_drift(gate, series[gate.key], window, later, end, rules) for gate in rules.gates)
    return tuple(row for row in rows if row is not None)


def without_steps(values: Floats, later: Sequence[Plateau], rules: WindowRules) -> Floats:
    """The series with the levels of these plateaus brought to that of the first, where a step between two is sharp.

    Sharp: most of the difference between the two levels lies between their neighbouring ends. On a slope, which is cut
    into plateaus as well, it does not.
    """
    levelled = values.copy()
    for before, after in pairwise(later):
        ratio = _ratio(values[after.start : after.end], values[before.start : before.end])
        jump = _ratio(values[after.start : after.start + EDGE], values[before.end - EDGE : before.end])
        if abs(ratio - 1) >= rules.min_change and (jump - 1) / (ratio - 1) >= SHARP:
            levelled[after.start :] /= ratio
    return levelled


def level_shift(
    series: Mapping[str, Floats], window: Plateau, found: tuple[Plateau, ...], rules: WindowRules
) -> LevelShift | None:
    """The first later plateau on a materially other level, a confirmed one before one that is not; None without."""
    shifts: list[LevelShift] = []
    for later in (plateau for plateau in found if plateau.start >= window.end):
        for gate in (gate for gate in rules.gates if gate.gates):
            change = later.levels[gate.key] / window.levels[gate.key] - 1
            values = series[gate.key][window.start : later.end]
            places = np.flatnonzero(np.isfinite(values))
            step = pettitt(values[places])
            if abs(change) >= rules.min_change and step is not None:
                block = window.start + int(places[step.index])
                shifts.append(LevelShift(gate.key, block, change, step.p, step.p < rules.alpha, later))
    return next((shift for shift in shifts if shift.confirmed), shifts[0] if shifts else None)


def _ratio(after: Floats, before: Floats) -> float:
    """Mean after / mean before; 1, no step, where either was not measured or is 0."""
    if not np.isfinite(after).all() or not np.isfinite(before).all() or before.mean() <= 0:
        return 1.0
    return float(after.mean() / before.mean())


def _plateau(series: Mapping[str, Floats], start: int, end: int, rules: WindowRules) -> Plateau:
    parts = {gate.key: series[gate.key][start:end] for gate in rules.gates if gate.gates}
    spread = {key: variation(values) for key, values in parts.items()}
    bound = max(
        next(one for one in gate.cov_bounds if spread[gate.key] <= one) for gate in rules.gates if gate.key in spread
    )
    return Plateau(start, end, bound, spread, {key: float(values.mean()) for key, values in parts.items()})


def _drift(
    gate: Gate, values: Floats, window: Plateau, later: Sequence[Plateau], end: int, rules: WindowRules
) -> Drift | None:
    seen = values[window.start : end]
    seen = seen[np.isfinite(seen)]
    if not len(seen):
        return None
    levelled = without_steps(values, later, rules)
    whole, tail = (levelled[start:end] for start in (window.start, window.end))
    whole, tail = whole[np.isfinite(whole)], tail[np.isfinite(tail)]
    tested = tail if len(tail) >= MIN_TREND_N else whole if len(tail) else tail
    direction, p = movement(tested, rules)
    change = relative_change(whole) or 0.0
    same_way = (change > 0) == (direction is Movement.DRIFTING_UP)
    counts = direction is not Movement.PLATEAU and same_way and abs(change) >= rules.min_change
    state = direction if counts else Movement.PLATEAU
    return Drift(gate.key, state, len(tested), p, change, float(seen.min()), float(seen.max()))
