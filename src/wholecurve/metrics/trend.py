"""Trend and change-point tests for short series: is a figure still moving, and did it jump?

All are rank based, so they ask for no distribution and mind no single outlier. Series are one value per super-pass, in
issue order; values that were not measured are left out by the caller.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from math import erfc, exp, factorial, sqrt
from statistics import NormalDist
from typing import Final

import numpy as np

from wholecurve.metrics.columns import Floats

MIN_TREND_N: Final[int] = 4
"""Fewest values in which a trend is looked for (rules.md section 10.1)."""
EXACT_PETTITT_N: Final[int] = 12
"""Up to here Pettitt's probability is counted exactly; the approximation is far too cautious for so few values."""


@dataclass(frozen=True, slots=True)
class Trend:
    """Result of `mann_kendall`.

    s: Kendall's S, rises minus falls over all pairs. z, p: normal deviate and two-sided probability, corrected.
    factor: n / n*, by which the correction widened the variance of S; 1 without serial correlation.
    slope: `sen_slope`, per step. change: slope * (n - 1) / median, the change from end to end; None if the median is 0.
    """

    n: int
    s: int
    z: float
    p: float
    factor: float
    slope: float
    change: float | None


@dataclass(frozen=True, slots=True)
class ChangePoint:
    """Result of `pettitt`: the second level begins at `index`. k: the statistic; p: probability without any change."""

    index: int
    k: int
    p: float


def sen_slope(values: Floats) -> float:
    """Median of the slopes (x_j - x_i) / (j - i) of all pairs i < j, per step; 0 below two values.

    Source: Sen, Estimates of the regression coefficient based on Kendall's tau, JASA 63 (1968).
    """
    n = len(values)
    if n < 2:
        return 0.0
    first, second = _pairs(n)
    return float(np.median((values[second] - values[first]) / (second - first)))


def relative_change(values: Floats) -> float | None:
    """Sen slope over the whole series as a share of its median: +0.05 is 5 % up from end to end; None if it is 0."""
    middle = float(np.median(values)) if len(values) else 0.0
    return sen_slope(values) * (len(values) - 1) / middle if middle else None


def mann_kendall(values: Floats, *, alpha: float = 0.05) -> Trend:
    """Mann-Kendall test with the Hamed-Rao correction for serial correlation.

    S = sum over i < j of sgn(x_j - x_i); var S = (n (n - 1) (2 n + 5) - sum over ties t (t - 1) (2 t + 5)) / 18;
    z = (S - sgn S) / sqrt(var S * factor); p = 2 (1 - Phi(|z|)).
    factor = 1 + 2 / (n (n - 1) (n - 2)) * sum over lags i of (n - i) (n - i - 1) (n - i - 2) rho_i, where rho_i is the
    autocorrelation of the ranks of the series without its Sen slope, as far as it is significant at `alpha`. A factor
    that is not positive has no meaning as a variance: then there is no correction.

    Fewer than three values, or equal ones, give S = 0 and p = 1: no trend can be seen.
    Source: Mann 1945; Kendall 1975; Hamed and Rao, A modified Mann-Kendall trend test for autocorrelated data,
    Journal of Hydrology 204 (1998).
    """
    n = len(values)
    slope, change = sen_slope(values), relative_change(values)
    if n < 3 or np.all(values == values[0]):
        return Trend(n, 0, 0.0, 1.0, 1.0, slope, change)
    first, second = _pairs(n)
    s = int(np.sign(values[second] - values[first]).sum())
    _, ties = np.unique(values, return_counts=True)
    variance = (n * (n - 1) * (2 * n + 5) - int((ties * (ties - 1) * (2 * ties + 5)).sum())) / 18
    factor = _hamed_rao(values - slope * np.arange(n), alpha)
    z = (s - np.sign(s)) / sqrt(variance * factor)
    return Trend(n, s, float(z), erfc(abs(z) / sqrt(2.0)), factor, slope, change)


def pettitt(values: Floats) -> ChangePoint | None:
    """The most likely single step of a series, and how likely so clear a one is without any; None below two values.

    U_t = sum over i <= t < j of sgn(x_i - x_j) = 2 * (sum of the first t ranks) - t (n + 1); K = max |U_t|.
    p = 2 exp(-6 K^2 / (n^3 + n^2)), at most 1; up to 12 values the exact share of all orders with so large a K, which
    is an upper bound when values are equal. Of equally clear steps the first is taken.
    Source: Pettitt, A non-parametric approach to the change-point problem, Applied Statistics 28 (1979).
    """
    n = len(values)
    if n < 2:
        return None
    u = np.rint(2 * np.cumsum(_ranks(values))[:-1] - np.arange(1, n) * (n + 1)).astype(np.int64)
    at = int(np.argmax(np.abs(u)))
    k = int(abs(u[at]))
    p = _exact_pettitt(n, k) if n <= EXACT_PETTITT_N else min(1.0, 2 * exp(-6 * k * k / (n**3 + n**2)))
    return ChangePoint(at + 1, k, p)


def _pairs(n: int) -> tuple[np.ndarray, np.ndarray]:
    """Places i < j of all pairs."""
    first, second = np.triu_indices(n, k=1)
    return first, second


def _ranks(values: Floats) -> Floats:
    """Ranks from 1; equal values share the mean of theirs."""
    _, places, counts = np.unique(values, return_inverse=True, return_counts=True)
    last = np.cumsum(counts)
    ranks: Floats = (last - (counts - 1) / 2)[places]
    return ranks


def _hamed_rao(detrended: Floats, alpha: float) -> float:
    """The factor of `mann_kendall`."""
    n = len(detrended)
    reach = float(np.ptp(detrended))
    # rounding: values that differ only by the noise of the subtraction are equal, and must share a rank
    ranks = _ranks(np.round(detrended / reach, 9) if reach else detrended) - (n + 1) / 2
    power = float(ranks @ ranks)
    if power <= 0:
        return 1.0
    lags = np.arange(1, n)
    rho = np.correlate(ranks, ranks, mode="full")[n:] / power
    rho[np.abs(rho) <= NormalDist().inv_cdf(1 - alpha / 2) / sqrt(n)] = 0.0
    factor = 1 + 2 / (n * (n - 1) * (n - 2)) * float(((n - lags) * (n - lags - 1) * (n - lags - 2) * rho).sum())
    return factor if factor > 0 else 1.0


@lru_cache(maxsize=256)
def _exact_pettitt(n: int, k: int) -> float:
    """Share of the n! orders of n different values with max |U_t| >= k.

    U_t depends on which ranks came first, not on their order: so orders are counted set by set, each set reached from
    the sets with one rank less, and only while |U| stays below k.
    """
    if k <= 0:
        return 1.0
    ways = [0] * (1 << n)
    ways[0] = 1
    below = [0] * (1 << n)  # sum of the ranks of a set
    for chosen in range(1, 1 << n):
        lowest = chosen & -chosen
        below[chosen] = below[chosen ^ lowest] + lowest.bit_length()
        if abs(2 * below[chosen] - chosen.bit_count() * (n + 1)) < k:
            left = chosen
            while left:
                bit = left & -left
                ways[chosen] += ways[chosen ^ bit]
                left ^= bit
    return 1 - ways[-1] / factorial(n)
