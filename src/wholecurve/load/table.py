"""The load patterns: one row each. Adding a pattern is one generator, one row here, and its member of `Pattern`."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from random import Random

from wholecurve.load import patterns
from wholecurve.model.errors import InputError
from wholecurve.model.plan import Pattern, PhasePlan


@dataclass(frozen=True, slots=True)
class PatternRow:
    """One pattern. `arrivals` makes ns offsets from (rate, generator); None for a closed loop, which has no clock.

    `needs` and `allows` name fields of `PhasePlan` among `concurrency`, `rate_per_s` and `ramp_ns`; others must be
    unset. `needs_count`: the phase must be bounded by a count, because its requests are issued in no time.
    """

    needs: tuple[str, ...]
    allows: tuple[str, ...]
    description: str
    arrivals: Callable[[float, Random], Iterator[int]] | None = None
    needs_count: bool = False


PATTERNS: dict[Pattern, PatternRow] = {
    Pattern.CONCURRENCY: PatternRow(
        needs=("concurrency",),
        allows=("ramp_ns",),
        description="closed loop: a fixed number of requests in flight, each answered one followed by the next",
    ),
    Pattern.OFFLINE: PatternRow(
        needs=(),
        allows=("concurrency",),
        description="all requests wanted at the start of the phase",
        arrivals=lambda _rate, _rng: patterns.offline(),
        needs_count=True,
    ),
    Pattern.POISSON: PatternRow(
        needs=("rate_per_s",),
        allows=("concurrency", "ramp_ns"),
        description="open loop: exponential gaps with the given mean rate, whatever the endpoint does",
        arrivals=patterns.poisson,
    ),
    Pattern.CONSTANT: PatternRow(
        needs=("rate_per_s",),
        allows=("concurrency", "ramp_ns"),
        description="open loop: equal gaps on an absolute schedule, whatever the endpoint does",
        arrivals=lambda rate, _rng: patterns.constant(rate),
    ),
}


def arrivals(phase: PhasePlan, rng: Random) -> Iterator[int] | None:
    """Offsets of the phase in ns from its start, ramp included, without end; None for a closed loop.

    `rng` is seeded by the caller with the phase's `arrival_seed`. Raises InputError for a missing or wrong rate.
    """
    row = PATTERNS[phase.pattern]
    if row.arrivals is None:
        return None
    if "rate_per_s" in row.needs and phase.rate_per_s is None:
        raise InputError(f"wanted a rate for the pattern {phase.pattern.value}, got none", where=f"phase {phase.name}")
    return patterns.ramped(row.arrivals(phase.rate_per_s or 0.0, rng), phase.ramp_ns)
