"""The search for C_max: from the trials made so far to the next level, or to what was found. Pure.

Levels are doubled from a first one until a level is too much; then the bracket between the last good level and the
first bad one is halved until it is narrow. A level is too much when its trial is not valid, when this machine and not
the endpoint was the limit, when a stated limit is broken, or when throughput grew by less than `growth` per doubling
since the last good level. If already the first level is too much, or nothing grows above it, lower ones are tried;
and where throughput falls beyond the last good level, the step before it is halved too: so the best level of a curve
that falls with load is found, wherever the search began.

Nothing is remembered between calls: the trials say everything, so that a search can be resumed from a journal.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from typing import Any, Final

from wholecurve.curve import Limit, check_limits, misses
from wholecurve.model.errors import InputError
from wholecurve.model.units import NS_PER_S, show_duration, show_percent
from wholecurve.rules import RuleSet
from wholecurve.sweep.knee import knee_of

GROWTH: Final = 0.03
"""Throughput that grows by less than this over a doubling of the load has stopped growing."""

TOLERANCE: Final = 0.10
"""The search ends when the bracket is at most this share of its lower end, or one request wide."""

WAVES: Final = 10
"""Answers of every slot in a trial: the drain at its end, half empty for about one answer, then weighs 5 % (LOD-7)."""

LEAST_WAVES: Final = 3
"""A trial with fewer answers of every slot, cut by its longest time, is too short to be believed."""

LATENCIES: Final = 3
"""A trial lasts this many of the slowest answers that are to be expected, at least."""


@dataclass(frozen=True, slots=True)
class Trial:
    """What a short run at one level came to. None: not measured. `invalid`: why its figures cannot be believed.

    endpoint_lost: it is invalid because the endpoint went away under it.
    """

    concurrency: int
    system_tps: float | None
    tps_per_user: float | None = None
    ttft_p90_ns: float | None = None
    requests_per_s: float | None = None
    latency_p90_ns: float | None = None
    invalid: tuple[str, ...] = ()
    client_limited: bool = False
    endpoint_lost: bool = False

    def to_json(self) -> dict[str, Any]:
        """Plain values for the journal."""
        return asdict(self) | {"invalid": list(self.invalid)}


def trial_from_json(data: Mapping[str, Any]) -> Trial:
    """A trial from its journal line. InputError for a damaged one."""
    level, words = data.get("concurrency"), data.get("invalid", [])
    if not isinstance(level, int) or isinstance(level, bool) or level < 1 or not isinstance(words, list):
        raise InputError(f"wanted a trial with its concurrency, got {level!r}")
    numbers: dict[str, float | None] = {}
    for one in fields(Trial):
        value = data.get(one.name)
        if one.name in ("concurrency", "invalid", "client_limited", "endpoint_lost"):
            continue
        if value is not None and (not isinstance(value, int | float) or isinstance(value, bool)):
            raise InputError(f"wanted a number or null for {one.name}, got {value!r}", where=f"trial at {level}")
        numbers[one.name] = value
    invalid = tuple(str(word) for word in words)
    flags = {name: data.get(name) is True for name in ("client_limited", "endpoint_lost")}
    values: dict[str, Any] = {**numbers, **flags}
    return Trial(level, invalid=invalid, **values)


@dataclass(frozen=True, slots=True)
class Found:
    """The end of a search. c_max None: not even one request in flight was good. reason: a sentence. knee: `knee_of`."""

    c_max: int | None
    reason: str
    knee: int | None = None


def next_trial(
    trials: Sequence[Trial], *, start: int, most: int, limits: Sequence[Limit] = (), growth: float = GROWTH,
    tolerance: float = TOLERANCE,
) -> int | Found:  # fmt: skip
    """The next level to try, or what was found. Never a level that was tried.

    start: the first level. most: the highest that may be tried. limits: as of `curve.limits_of`; borders are inside,
    and a figure that was not measured does not pass. InputError for a start beyond `most` and contradictory limits.
    """
    if not 1 <= start <= most:
        raise InputError(f"wanted a first level from 1 to the highest one allowed ({most}), got {start}")
    check_limits(limits)
    by_level = {trial.concurrency: trial for trial in trials}
    if not by_level:
        return start
    good, bad, why = _bracket(by_level, limits, growth)
    if good is None:
        lowest = min(by_level)
        return lowest // 2 if lowest > 1 else Found(None, why, knee_of(known_of(trials)))
    if bad is None:
        if good < most:
            return min(2 * good, most)
        return Found(
            good, f"throughput still grows at {good}, the highest level that is tried", knee_of(known_of(trials))
        )
    if good == min(by_level) and good > 1 and _soft(by_level[bad], limits):
        return good // 2  # nothing grows above the lowest level tried: it may lie beyond the best one
    if bad - good > max(1, tolerance * good):
        return (good + bad) // 2
    lower = max((level for level in by_level if level < good), default=good)
    if good - lower > max(1, tolerance * good) and _falls_above(by_level, good, limits, growth):
        return (lower + good) // 2  # a top may have been stepped over
    return Found(good, why, knee_of(known_of(trials)))


def check_found(found: Found, rules: RuleSet) -> int:
    """The C_max that was found. InputError, with the next step, if no curve can be built on it."""
    above = rules.regions.c_max_above
    if found.c_max is None:
        raise InputError(
            f"no level can be measured: {found.reason}",
            hint="look at the endpoint with `wholecurve probe`, or state wider limits",
        )
    if found.c_max <= above:
        raise InputError(
            f"the search ended at {found.c_max} requests in flight, but the rules ask for a C_max above {above}: "
            f"{found.reason}",
            hint=f"declare one with --c-max {above + 1} or more if the endpoint holds it, state wider limits, or use "
            "--rules demo for a small endpoint",
        )
    return found.c_max


def known_of(trials: Iterable[Trial]) -> list[tuple[int, float | None, float | None]]:
    """What valid trials know of the curve, for `choose_levels`: (concurrency, system tokens/s, tokens/s per user)."""
    return [(one.concurrency, one.system_tps, one.tps_per_user) for one in trials if not one.invalid]


def _bracket(
    by_level: Mapping[int, Trial], limits: Sequence[Limit], growth: float
) -> tuple[int | None, int | None, str]:
    """(last good level, first bad level above it, why that is bad), going up from the lowest level."""
    good: Trial | None = None
    for level in sorted(by_level):
        trial = by_level[level]
        why = _hard(trial, limits) or (_stalled(good, trial, growth) if good else None)
        if why is not None:
            return (good.concurrency if good else None), level, why
        good = trial
    return (good.concurrency if good else None), None, ""


def _falls_above(by_level: Mapping[int, Trial], good: int, limits: Sequence[Limit], growth: float) -> bool:
    """Whether throughput clearly falls beyond the last good level, by more than what counts as growth."""
    best = (by_level[good].system_tps or 0.0) * (1 - growth)
    beyond = [trial for level, trial in by_level.items() if level > good and _soft(trial, limits)]
    return any(trial.system_tps is not None and trial.system_tps < best for trial in beyond)


def _soft(trial: Trial, limits: Sequence[Limit]) -> bool:
    """Whether only throughput speaks against a level."""
    return _hard(trial, limits) is None


def _hard(trial: Trial, limits: Sequence[Limit]) -> str | None:
    """Why a level is too much whatever lies below it."""
    at = f"{trial.concurrency} in flight"
    if trial.invalid:
        return f"the trial with {at} is not valid: {trial.invalid[0]}"
    if trial.client_limited:
        return f"with {at} this machine is the limit, not the endpoint"
    if not trial.system_tps:
        return f"with {at} no throughput could be measured"
    row = {"barred": "", "ttft_p90_ns": trial.ttft_p90_ns, "interactivity_tps": trial.tps_per_user}
    broken = misses(row | {"system_tps": trial.system_tps}, limits)
    return f"with {at} {_miss(broken[0])}" if broken else None


def _miss(miss: Mapping[str, Any]) -> str:
    time = miss["key"].endswith("_ns")
    name = {"ttft_p90_ns": "TTFT P90", "interactivity_tps": "the speed of one user"}.get(miss["key"], miss["key"])
    if miss["got"] is None:
        return f"{name} was not measured, so its limit is not met"
    got, wanted = (show_duration(miss[key]) if time else f"{miss[key]:.4g} tokens/s" for key in ("got", "wanted"))
    return f"{name} is {got}, and {miss['bound']} {wanted} was asked for"


def _stalled(good: Trial, trial: Trial, growth: float) -> str | None:
    """Why throughput has stopped growing from the last good level to this one: less than `growth` per doubling."""
    before, after = good.system_tps, trial.system_tps
    assert before, "a good level has a throughput"
    assert after, "a level without one was refused before"
    if after >= before * (1 + growth) ** math.log2(trial.concurrency / good.concurrency):
        return None
    way = f"from {good.concurrency} to {trial.concurrency} in flight"
    change = after / before - 1
    if change < 0:
        return f"throughput falls by {show_percent(-change)} {way}"
    return f"throughput grows by {show_percent(change)} only {way}, less than {show_percent(growth, 0)} per doubling"


@dataclass(frozen=True, slots=True)
class TrialStop:
    """When a trial ends: `requests` and `least_s` are both reached, at the latest `longest_s`. why: a sentence."""

    requests: int
    least_s: float
    longest_s: float
    why: str


def trial_stop(
    concurrency: int, trials: Sequence[Trial], *, least_s: float = 10, longest_s: float = 600, waves: int = WAVES
) -> TrialStop:
    """How long a trial at this level must be, so that it neither ends in its own start nor in its own drain (LOD-7).

    Every slot answers `waves` times, and the trial lasts LATENCIES of the slowest answers to expect: those of the
    nearest level, made longer in proportion to the load where that is lower, as they are behind a full server.
    """
    slowest_s = _slowest_s(concurrency, trials)
    wanted_s = max(least_s, LATENCIES * slowest_s)
    seconds = min(wanted_s, longest_s)
    why = f"{waves} answers in each of {concurrency} slots, and {show_duration(seconds * NS_PER_S)} at least"
    if slowest_s and wanted_s > least_s:
        why += f", {LATENCIES} times the slowest answer to expect"
    if wanted_s > longest_s:
        why += ", cut to the longest a trial may take"
    return TrialStop(max(waves * concurrency, waves), seconds, longest_s, why)


def _slowest_s(concurrency: int, trials: Sequence[Trial]) -> float:
    """P90 of the latency to expect at a level, from the nearest lower trial, else the nearest one; 0.0 without any."""
    known = [one for one in trials if one.latency_p90_ns]
    if not known:
        return 0.0
    nearest = min(known, key=lambda one: (one.concurrency > concurrency, abs(one.concurrency - concurrency)))
    assert nearest.latency_p90_ns is not None, "others were left out"
    return nearest.latency_p90_ns * max(1.0, concurrency / nearest.concurrency) / NS_PER_S


def trial_faults(concurrency: int, completed: int) -> tuple[str, ...]:
    """Why a trial that was cut by its longest time is too short to be believed; empty if it is not."""
    least = LEAST_WAVES * concurrency
    if completed >= least:
        return ()
    return (f"too short: {completed} answers, and {least} are wanted at {concurrency} in flight",)
