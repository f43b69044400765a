"""Intervals: how far a headline figure could lie from what was measured.

Three kinds, for three questions: a percentile of one run (order statistics), a rate of one run (batch means), a figure
over several runs (spread). Where n is too small there is no interval but a reason; a narrow guess would be a lie.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import atan, ceil, cos, lgamma, log, log1p, pi, sin, sqrt
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from wholecurve.metrics.columns import Floats, Ints
from wholecurve.metrics.quantile import measured

LEVEL: Final[float] = 0.95
MIN_BATCHES: Final[int] = 4
"""Fewest batches of a rate: with three, the t quantile alone widens the interval by half again."""
MIN_REPEATS: Final[int] = 3
"""Fewest runs for an interval of their mean: with two it is nine times as wide as the runs lie apart."""
FAR_SDS: Final[int] = 14
"""Binomial terms further from the mean than this many standard deviations add less than 1e-40."""


@dataclass(frozen=True, slots=True)
class Interval:
    """low and high in the unit of the figure, both None with a `reason` when n is too small.

    level: the confidence asked for; order statistics reach at least that much. n: samples, batches or runs.
    """

    low: float | None
    high: float | None
    level: float
    n: int
    method: str
    reason: str | None = None


@dataclass(frozen=True, slots=True)
class Spread:
    """Repeats of one figure. relative_range: (maximum - minimum) / mean, None if the mean is 0 or there is one run.

    std_dev: sample form, None below two. interval: of the mean, by Student's t.
    """

    n: int
    mean: float | None
    minimum: float | None
    maximum: float | None
    std_dev: float | None
    relative_range: float | None
    interval: Interval
    reason: str | None = None


ORDER_STATISTICS: Final[str] = "order statistics"
BATCH_MEANS: Final[str] = "batch means"
REPEATS: Final[str] = "repeats"


def percentile_interval(values: Ints | Floats, percentile: float, *, level: float = LEVEL) -> Interval:
    """Interval of a percentile (scale 0 to 100, ends excluded) from order statistics of the measured values.

    The number of samples at or below the true percentile is binomial (n, p). So the l-th smallest sample lies above it
    with probability P(B < l), the u-th smallest below it with P(B >= u): l is the largest rank and u the smallest that
    keep each at (1 - level) / 2 or less. No distribution is assumed, but samples are taken as independent: requests
    that shared a batch on the server are not quite, so read the interval as a lower bound of the doubt.
    Source: David and Nagaraja, Order Statistics, section 7.1.
    """
    ordered = np.sort(measured(values))
    n = len(ordered)
    doubt = (1 - level) / 2
    low, high = order_ranks(n, percentile, level)
    if low < 1 or high > n:
        wanted = _samples_wanted(percentile, doubt)
        reason = f"wanted at least {wanted} samples for an interval of P{percentile:g}, got {n}"
        return Interval(None, None, level, n, ORDER_STATISTICS, reason)
    return Interval(float(ordered[low - 1]), float(ordered[high - 1]), level, n, ORDER_STATISTICS)


@lru_cache(maxsize=1024)
def order_ranks(n: int, percentile: float, level: float = LEVEL) -> tuple[int, int]:
    """Ranks (l, u) from 1 of the two samples of `percentile_interval`; l is 0 or u is n + 1 where there is none."""
    p, doubt = percentile / 100.0, (1 - level) / 2
    mean, spread = n * p, sqrt(n * p * (1 - p))
    first = max(0, int(mean - FAR_SDS * spread - FAR_SDS))
    last = min(n, int(mean + FAR_SDS * spread + FAR_SDS))
    k = np.arange(first + 1, last + 1, dtype=np.float64)
    start = lgamma(n + 1) - lgamma(first + 1) - lgamma(n - first + 1) + first * log(p) + (n - first) * log1p(-p)
    terms = np.exp(np.cumsum(np.concatenate(([start], np.log((n - k + 1) / k) + log(p) - log1p(-p)))))
    at_most = np.cumsum(terms)  # P(B <= first + i)
    at_least = np.cumsum(terms[::-1])[::-1]  # P(B >= first + i)
    low = first + int(np.searchsorted(at_most, doubt, side="right"))
    high = first + int(np.count_nonzero(at_least > doubt))
    return low, high


def rate_interval(counts: Floats | Ints, spans_ns: Floats | Ints, *, level: float = LEVEL) -> Interval:
    """Interval, per second, of the rate (sum of counts) / (sum of spans), from batches that follow each other.

    counts: tokens or requests of each batch; spans_ns: its time; both of shape (k,). With R the rate and
    e_i = count_i - R span_i, the error is t * sqrt(sum of e_i^2 / (k (k - 1))) / mean span, t with k - 1 degrees of
    freedom. Batches must be long against the memory of the system; a whole pass of the data set is.
    Source: batch means (Law, Simulation Modeling and Analysis, section 9.5.3) for a ratio (Cochran, Sampling
    Techniques, section 6.4).
    """
    k = len(counts)
    total = float(np.sum(spans_ns))
    if k < MIN_BATCHES or total <= 0:
        reason = f"wanted at least {MIN_BATCHES} batches that last some time, got {k} that last {total / 1e9:g} s"
        return Interval(None, None, level, k, BATCH_MEANS, reason)
    numbers, seconds = np.asarray(counts, dtype=np.float64), np.asarray(spans_ns, dtype=np.float64) / 1e9
    rate = float(numbers.sum() / seconds.sum())
    errors = numbers - rate * seconds
    reach = student_t(k - 1, level) * sqrt(float(errors @ errors) / (k * (k - 1))) / (float(seconds.sum()) / k)
    return Interval(max(0.0, rate - reach), rate + reach, level, k, BATCH_MEANS)


def inverse(interval: Interval, numerator: float) -> Interval:
    """The interval of numerator / figure: ends swapped. An end at 0 or below has no inverse: None with a reason."""
    if interval.low is None or interval.high is None:
        return interval
    if interval.low <= 0:
        reason = f"the interval of its divisor reaches {interval.low:g}"
        return Interval(None, None, interval.level, interval.n, interval.method, reason)
    low, high = numerator / interval.high, numerator / interval.low
    return Interval(low, high, interval.level, interval.n, interval.method)


def between_runs(values: Sequence[float | None], *, level: float = LEVEL) -> Spread:
    """Spread of one figure over repeated runs; runs that did not measure it (None) are left out, and said."""
    found = np.array([value for value in values if value is not None], dtype=np.float64)
    n, missing = len(found), len(values) - len(found)
    gap = f"{missing} of {len(values)} runs did not measure it" if missing else None
    if n < 2:
        reason = f"wanted at least 2 runs for a spread, got {n}" + (f"; {gap}" if gap else "")
        lone = float(found[0]) if n else None
        return Spread(n, lone, lone, lone, None, None, Interval(None, None, level, n, REPEATS, reason), reason)
    mean, deviation = float(found.mean()), float(found.std(ddof=1))
    low, high = float(found.min()), float(found.max())
    if n < MIN_REPEATS:
        reason = f"wanted at least {MIN_REPEATS} runs for an interval, got {n}"
        interval = Interval(None, None, level, n, REPEATS, reason)
    else:
        reach = student_t(n - 1, level) * deviation / sqrt(n)
        interval = Interval(mean - reach, mean + reach, level, n, REPEATS)
    return Spread(n, mean, low, high, deviation, (high - low) / mean if mean else None, interval, gap)


@lru_cache(maxsize=256)
def student_t(degrees: int, level: float = LEVEL) -> float:
    """The value that |t| stays below with probability `level`, by halving; `degrees` at least 1.

    Whole degrees of freedom have a closed form (Abramowitz and Stegun 26.7.3, 26.7.4), so no library is loaded.
    """
    low, high = 0.0, 1.0
    while _within(high, degrees) < level:
        high *= 2
    for _ in range(80):
        middle = (low + high) / 2
        low, high = (middle, high) if _within(middle, degrees) < level else (low, middle)
    return high


def _within(t: float, degrees: int) -> float:
    """P(|T| <= t)."""
    angle = atan(t / sqrt(degrees))
    odd = degrees % 2
    term, total = (cos(angle), cos(angle)) if odd else (1.0, 1.0)
    for j in range(2 + odd, degrees - 1, 2):
        term *= cos(angle) ** 2 * (j - 1) / j
        total += term
    if not odd:
        return sin(angle) * total
    return (angle + (sin(angle) * total if degrees > 1 else 0.0)) * 2 / pi


def _samples_wanted(percentile: float, doubt: float) -> int:
    """Fewest samples with a rank on either side: p^n and (1 - p)^n both at most `doubt`."""
    p = percentile / 100.0
    return ceil(log(doubt) / log(max(p, 1 - p)))


def time_batches(at_ns: NDArray[Any], weights: NDArray[Any], start_ns: int, end_ns: int, k: int = 20) -> Floats:
    """Weights summed over k equal parts of [start, end]; a weight belongs to the part its time lies in. Shape (k,)."""
    edges = np.linspace(0.0, float(end_ns - start_ns), k + 1)
    found, _ = np.histogram(at_ns - start_ns, bins=edges, weights=weights.astype(np.float64))
    return np.asarray(found, dtype=np.float64)
