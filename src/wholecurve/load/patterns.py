"""Open-loop arrivals: when each request is wanted, in whole ns from the start of the phase. Endless and absolute.

An offset never depends on when an earlier request really went out, so a late send delays nothing after it.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from itertools import count, repeat
from math import isfinite, isqrt
from random import Random

from wholecurve.model.errors import InputError
from wholecurve.model.units import NS_PER_S


def poisson(rate_per_s: float, rng: Random) -> Iterator[int]:
    """Exponential gaps in whole ns (at least 1) with mean 1/rate, accumulated; the first offset is the first gap.

    Equal to the MLPerf reference client's times for the same seed.
    """
    rate_per_ns = checked_rate(rate_per_s) / NS_PER_S
    return _poisson(rate_per_ns, rng)


def _poisson(rate_per_ns: float, rng: Random) -> Iterator[int]:
    offset_ns = 0
    while True:
        offset_ns += max(1, int(rng.expovariate(rate_per_ns)))
        yield offset_ns


def constant(rate_per_s: float) -> Iterator[int]:
    """Offset k is k/rate, rounded once from exact arithmetic: fractional rates do not drift. The first is 0."""
    gap_ns = NS_PER_S / Fraction(checked_rate(rate_per_s))
    return (round(k * gap_ns) for k in count())


def offline() -> Iterator[int]:
    """Everything at once: every offset is 0."""
    return repeat(0)


def ramped(offsets_ns: Iterator[int], ramp_ns: int) -> Iterator[int]:
    """The same arrivals with the rate rising linearly from 0 to full over the first `ramp_ns`.

    A change of clock: at the full rate r the expected count by time t is r*t; under the ramp it is r*t^2/(2*ramp)
    until `ramp_ns`, then r*(t - ramp/2). Equating the two maps u to sqrt(2*ramp*u), then to u + ramp/2. A Poisson
    process stays one, and order is kept.
    """
    if ramp_ns < 0:
        raise InputError(f"wanted a ramp of zero or more, got {ramp_ns} ns")
    if ramp_ns == 0:
        return offsets_ns
    return (
        isqrt(2 * ramp_ns * offset_ns) if 2 * offset_ns < ramp_ns else offset_ns + ramp_ns // 2
        for offset_ns in offsets_ns
    )


def checked_rate(rate_per_s: float) -> float:
    """The rate, or InputError unless it is a finite number above 0."""
    if not isfinite(rate_per_s) or rate_per_s <= 0:
        raise InputError(f"wanted a rate above 0 requests per second, got {rate_per_s}")
    return rate_per_s
