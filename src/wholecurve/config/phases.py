"""Phases from settings: load, end and order of the measurement and of its warm-up."""

from __future__ import annotations

from wholecurve.config.place import CurvePlace
from wholecurve.config.schema import LoadSettings, Settings, StopSettings, WarmupSettings
from wholecurve.load import PATTERNS, planned_total
from wholecurve.model.errors import InputError
from wholecurve.model.plan import HoldRule, Pattern, PhaseKind, PhasePlan, StopRule
from wholecurve.model.units import show_duration


def pattern_of(load: LoadSettings) -> Pattern:
    """The pattern, worked out from rate and concurrency unless named. Raises InputError for what does not fit it."""
    if load.pattern is not None:
        pattern = load.pattern
    elif load.rate is not None:
        pattern = Pattern.POISSON
    elif load.concurrency is not None:
        pattern = Pattern.CONCURRENCY
    else:
        raise InputError(
            "load: wanted a concurrency, a rate or a pattern, got none",
            hint="give --concurrency N, --rate R or --pattern offline",
        )
    row = PATTERNS[pattern]
    for name, field, value in (
        ("concurrency", "concurrency", load.concurrency),
        ("rate", "rate_per_s", load.rate),
        ("ramp", "ramp_ns", load.ramp or None),
    ):
        if value is None and field in row.needs:
            raise InputError(f"load.{name}: wanted a value for the pattern {pattern.value}, got none")
        if value is not None and field not in row.needs + row.allows:
            raise InputError(
                f"load.{name}: wanted none with the pattern {pattern.value}, got {value}",
                hint=f"{pattern.value} is: {row.description}",
            )
    return pattern


def stop_rule(stop: StopSettings, rows: int, place: CurvePlace, pattern: Pattern) -> StopRule:
    """Requests, passes and times as one rule. Raises InputError where a minimum lies above its maximum.

    A closed loop with a place on a curve ends with a whole pass, after its leading passes and at least one more.
    """
    placed = pattern is Pattern.CONCURRENCY and (place.lead_passes > 0 or place.hold_ns is not None)
    lead = place.lead_passes if placed else 0
    if stop.max_duration is not None and (stop.duration or 0) > stop.max_duration:
        raise InputError(
            f"stop.max_duration: wanted at least stop.duration ({show_duration(stop.duration or 0)}), "
            f"got {show_duration(stop.max_duration)}"
        )
    passes = max(stop.passes or 0, place.passes, lead + 1 if lead else 0)
    least = max(stop.requests or 0, passes * rows)
    if stop.max_requests is not None and least > stop.max_requests:
        who = "stop.requests and stop.passes ask for" if passes == (stop.passes or 0) else "this point of a curve needs"
        raise InputError(f"stop.max_requests: wanted at least {least}, which {who}, got {stop.max_requests}")
    return StopRule(
        min_samples=least,
        max_samples=stop.max_requests,
        min_duration_ns=stop.duration or 0,
        max_duration_ns=stop.max_duration,
        whole_passes=stop.whole_passes or placed,
        lead_samples=lead * rows,
    )


def _check_count(pattern: Pattern, rule: StopRule, section: str, cap: int | None) -> None:
    """All requests of an offline phase are issued at once, so a clock alone would never end it; under a cap it does."""
    if not PATTERNS[pattern].needs_count or cap is not None:
        return
    bounded = rule.max_samples is not None or rule.min_duration_ns == 0
    if not bounded or (rule.max_duration_ns is not None and rule.min_samples == 0 and rule.max_samples is None):
        raise InputError(
            f"{section}: wanted a count of requests for the pattern {pattern.value}, got a duration",
            hint=f"set {section}.requests or {section}.passes",
        )


def performance_phase(settings: Settings, dataset: str, rows: int, place: CurvePlace) -> PhasePlan:
    """The measured phase over a data set of so many rows, at its place on a curve."""
    load = settings.load
    pattern = pattern_of(load)
    rule = stop_rule(settings.stop, rows, place, pattern)
    _check_count(pattern, rule, "stop", load.concurrency)
    hold = None
    if place.hold_ns is not None and pattern is Pattern.CONCURRENCY:
        hold = HoldRule(place.hold_ns)
    limit = settings.limits.run_timeout
    longest = rule.min_duration_ns + (hold.max_extra_ns if hold else 0)
    if limit is not None and longest > limit:
        raise InputError(
            f"limits.run_timeout: wanted at least stop.duration{' and the extra time' if hold else ''} "
            f"({show_duration(longest)}), got {show_duration(limit)}"
        )
    return PhasePlan(
        kind=PhaseKind.PERFORMANCE,
        name="performance",
        dataset=dataset,
        rows=rows,
        order=load.order,
        order_seed=settings.seeds.order,
        pattern=pattern,
        stop=rule,
        concurrency=load.concurrency,
        rate_per_s=load.rate,
        arrival_seed=settings.seeds.arrivals,
        ramp_ns=load.ramp,
        salt=load.salt,
        drain_timeout_ns=settings.limits.drain_timeout,
        hold=hold,
    )


def warmup_phase(settings: Settings, dataset: str, rows: int, salt: str | None) -> PhasePlan:
    """The warm-up: the measured load, or a closed loop of its own concurrency."""
    warmup, load = settings.warmup, settings.load
    pattern, concurrency, rate = pattern_of(load), load.concurrency, load.rate
    if warmup.concurrency is not None:
        pattern, concurrency, rate = Pattern.CONCURRENCY, warmup.concurrency, None
    rule = StopRule(
        min_samples=max(warmup.requests or 0, (warmup.passes or 0) * rows), min_duration_ns=warmup.duration or 0
    )
    _check_count(pattern, rule, "warmup", concurrency)
    return PhasePlan(
        kind=PhaseKind.WARMUP,
        name="warmup",
        dataset=dataset,
        rows=rows,
        order=load.order,
        order_seed=settings.seeds.warmup + 1,
        pattern=pattern,
        stop=rule,
        concurrency=concurrency,
        rate_per_s=rate,
        arrival_seed=settings.seeds.warmup,
        salt=salt,
        drain_timeout_ns=warmup.drain_timeout,
    )


def in_flight(phase: PhasePlan) -> int:
    """Most requests in flight at once that the plan allows for, as far as it is known beforehand."""
    if phase.concurrency is not None:
        return phase.concurrency
    if PATTERNS[phase.pattern].needs_count:
        return planned_total(phase.stop, phase.rows) or phase.stop.max_samples or phase.rows
    return 1


def check_warmup(warmup: WarmupSettings) -> None:
    """A warm-up that was described but not asked for is a mistake."""
    described = warmup.model_fields_set - {"requests", "passes", "duration"}
    if not warmup.wanted and described:
        raise InputError(
            f"warmup.{sorted(described)[0]} is set, but there is no warm-up",
            hint="set warmup.requests (--warmup N), warmup.passes or warmup.duration",
        )
