"""LoadGen's early-stopping estimates: a percentile's upper bound that holds with 99 % confidence.

Source: reference-client.md section 6.3 (MLPerf LoadGen, single stream). If the p-th percentile were above the bound,
n samples with at most t of them over it would be seen with a probability of I_p(n - t, t + 1), the regularised
incomplete beta function (the chance that Binomial(n, 1 - p) is at most t). The largest t that keeps this strictly below
1 % is taken, and the t-th highest value is reported. An estimate is worse than the plain percentile, the fewer samples
the worse; below the floor of samples there is none.
"""

from __future__ import annotations

from functools import lru_cache
from math import lgamma, log, sqrt
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

DOUBT: Final[float] = 0.01
"""1 - confidence. LoadGen fixes it, and results must stay comparable: not a setting."""
FAR_SDS: Final[int] = 14
"""Terms further below the mean than this many standard deviations add less than 1e-40."""


@lru_cache(maxsize=1024)
def overs_allowed(n: int, percentile: float) -> int:
    """The largest t with P(Binomial(n, 1 - p) <= t) < 1 %, 0 if not even t = 1 passes.

    The distribution is summed term by term from far below its mean, each term from the one before by
    C(n, k) / C(n, k - 1) = (n - k + 1) / k. This equals LoadGen's search for the largest t with n >= h(t) + t, where
    h(t) is the smallest count of under-bound samples that passes: the function falls as that count grows.
    """
    p, q = percentile / 100.0, (100.0 - percentile) / 100.0
    mean, spread = n * q, sqrt(n * p * q)
    low = max(0, int(mean - FAR_SDS * spread - FAR_SDS))
    k = np.arange(low + 1, int(mean) + 2, dtype=np.float64)
    first = lgamma(n + 1) - lgamma(low + 1) - lgamma(n - low + 1) + low * log(q) + (n - low) * log(p)
    steps = np.concatenate(([first], np.log((n - k + 1) / k) + log(q / p)))
    chances = np.cumsum(np.exp(np.cumsum(steps)))
    return max(0, low + int(np.searchsorted(chances, DOUBT, side="left")) - 1)


def estimate(ordered: NDArray[Any], percentile: float) -> int | float | None:
    """The early-stopping estimate of a sorted series (unit of the series); None when n is below the floor."""
    t = overs_allowed(len(ordered), percentile)
    if t == 0:
        return None
    value: int | float = ordered[-t].item()
    return value
