"""LoadGen's early-stopping estimates: a percentile's upper bound that holds with 99 % confidence.

Source: reference-client.md section 6.3 (MLPerf LoadGen, single stream). If the p-th percentile were above the bound,
n samples with at most t of them over it would be seen with a probability of I_p(n - t, t + 1), the regularised
incomplete beta function (the chance that Binomial(n, 1 - p) is at most t). The largest t that keeps this strictly below
1 % is taken, and the t-th highest value is reported. An estimate is worse than the plain percentile, the fewer samples
the worse; below the floor of samples there is none.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any, Final

from numpy.typing import NDArray

DOUBT: Final[float] = 0.01
"""1 - confidence. LoadGen fixes it, and results must stay comparable: not a setting."""


def _doubt(n: int, t: int, p: float) -> float:
    """I_p(n - t, t + 1): the chance to see at most t of n over the true p-quantile. Grows with t."""
    from scipy.special import betainc  # only a finished run needs scipy; importing it costs a third of a second

    return float(betainc(n - t, t + 1, p))


@lru_cache(maxsize=1024)
def overs_allowed(n: int, percentile: float) -> int:
    """The largest t with I_p(n - t, t + 1) < 1 %, 0 if not even t = 1 passes. Bisection: about log2(n) evaluations.

    This equals LoadGen's search for the largest t with n >= h(t) + t, where h(t) is the smallest count of
    under-bound samples that passes: the function falls as the count under the bound grows.
    """
    p = percentile / 100.0
    low, high = 0, n  # low passes (0 by agreement), high fails: at t = n the chance is 1
    while high - low > 1:
        middle = (low + high) // 2
        if _doubt(n, middle, p) < DOUBT:
            low = middle
        else:
            high = middle
    return low


def estimate(ordered: NDArray[Any], percentile: float) -> int | float | None:
    """The early-stopping estimate of a sorted series (unit of the series); None when n is below the floor."""
    t = overs_allowed(len(ordered), percentile)
    if t == 0:
        return None
    value: int | float = ordered[-t].item()
    return value
