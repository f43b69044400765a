"""Trend and change-point tests against hand counts, other implementations and their definitions."""

from __future__ import annotations

import math
from itertools import permutations

import numpy as np
import pytest
import scipy.stats
from hypothesis import given
from hypothesis import strategies as st

from wholecurve.metrics import mann_kendall, pettitt, sen_slope
from wholecurve.metrics.trend import EXACT_PETTITT_N, relative_change

SERIES = st.lists(st.integers(-50, 50), min_size=2, max_size=25).map(lambda found: np.array(found, dtype=np.float64))


def series(*values: float) -> np.ndarray:
    return np.array(values, dtype=np.float64)


# (series, S, z): z without serial correlation is (|S| - 1) / sqrt(var S), var S = n (n - 1) (2 n + 5) / 18.
BY_HAND = [
    (series(1, 2, 3, 4), 6, 5 / math.sqrt(26 / 3)),
    (series(4, 3, 2, 1), -6, -5 / math.sqrt(26 / 3)),
    (series(1, 2, 3, 4, 5), 10, 9 / math.sqrt(50 / 3)),
    (series(2, 1, 4, 3), 2, 1 / math.sqrt(26 / 3)),
    # one tie of two takes 2 * 1 * 9 from the numerator
    (series(1, 2, 2, 3), 5, 4 / math.sqrt((4 * 3 * 13 - 18) / 18)),
]


@pytest.mark.parametrize(("values", "s", "z"), BY_HAND)
def test_mann_kendall_by_hand(values: np.ndarray, s: int, z: float) -> None:
    found = mann_kendall(values)
    assert (found.n, found.s, found.factor) == (len(values), s, 1.0)
    assert found.z == pytest.approx(z)
    assert found.p == pytest.approx(2 * scipy.stats.norm.sf(abs(z)))


@pytest.mark.parametrize("values", [series(), series(1), series(1, 2), series(3, 3, 3, 3, 3)])
def test_too_few_or_equal_values_have_no_trend(values: np.ndarray) -> None:
    found = mann_kendall(values)
    assert (found.s, found.z, found.p, found.factor) == (0, 0.0, 1.0, 1.0)


# z and factor by pymannkendall 1.4.3, hamed_rao_modification_test
CORRELATED = [
    (
        series(
            *(10.0, 9.2, 8.11, 8.43, 9.32, 10.66, 10.57, 9.85, 9.11, 10.13, 11.72, 11.48),
            *(9.8, 8.9, 10.83, 10.79, 8.82, 9.09, 8.2, 8.11, 8.19, 8.02, 9.17, 9.35),
        ),
        -0.9500929273974412,
        1.98875,
    ),
    (
        series(
            *(10.0, 10.84, 9.69, 9.56, 8.97, 10.8, 11.41, 13.78),
            *(13.91, 14.23, 14.5, 13.3, 12.89, 14.0, 13.16, 13.1),
        ),
        1.8139551666678226,
        1.602310924369748,
    ),
]


@pytest.mark.parametrize(("values", "z", "factor"), CORRELATED)
def test_hamed_rao_equals_another_implementation(values: np.ndarray, z: float, factor: float) -> None:
    found = mann_kendall(values)
    assert (found.z, found.factor) == (pytest.approx(z), pytest.approx(factor))


def test_hamed_rao_keeps_serial_correlation_from_faking_a_trend() -> None:
    """150 series without a trend, each value 0.7 of the one before it and noise: how many seem to have one."""
    noise = np.random.default_rng(1).standard_normal((150, 60))
    for step in range(1, 60):
        noise[:, step] += 0.7 * noise[:, step - 1]
    found = [mann_kendall(one) for one in noise]
    corrected = np.mean([one.p < 0.05 for one in found])
    plain = np.mean([abs(one.z) * math.sqrt(one.factor) > 1.96 for one in found])
    assert plain > 0.35
    assert corrected < 0.6 * plain


def test_a_variance_that_is_not_positive_is_not_corrected() -> None:
    """Values that swing from one to the next: the formula gives a negative variance here, and so no z at all."""
    swing = series(
        *(10.0, 9.43, 10.8, 10.43, 8.21, 10.96, 8.62, 10.87, 8.44, 11.24, 9.53, 10.32, 9.13, 10.53, 9.03),
        *(9.7, 10.91, 8.88, 12.41, 9.87, 8.71, 11.71, 8.57, 11.62, 9.83, 8.9, 11.25, 9.85, 11.94, 8.57),
    )
    found = mann_kendall(swing)
    assert (found.s, found.factor) == (26, 1.0)
    assert found.p > 0.5


@given(SERIES)
def test_s_and_slope_equal_scipy(values: np.ndarray) -> None:
    n = len(values)
    places = np.arange(n)
    assert sen_slope(values) == pytest.approx(scipy.stats.theilslopes(values, places).slope)
    found = mann_kendall(values)
    if n > 2 and np.ptp(values) > 0:
        _, ties = np.unique(values, return_counts=True)
        pairs = n * (n - 1) / 2
        tau = found.s / math.sqrt(pairs * (pairs - (ties * (ties - 1) / 2).sum()))
        assert tau == pytest.approx(scipy.stats.kendalltau(places, values).statistic)


@given(SERIES, st.floats(0.01, 1000), st.integers(-100, 100))
def test_the_trend_does_not_depend_on_unit_and_origin(values: np.ndarray, unit: float, origin: int) -> None:
    found, moved = mann_kendall(values), mann_kendall((values + origin) * unit)
    assert (moved.s, moved.factor) == (found.s, pytest.approx(found.factor))
    assert mann_kendall(-values).s == -found.s


def test_relative_change_is_from_end_to_end() -> None:
    assert relative_change(series(100, 101, 102, 103, 104)) == pytest.approx(4 / 102)
    assert relative_change(series(100, 100, 900, 100, 100)) == 0.0, "one outlier moves nothing"
    assert relative_change(series(-1, 0, 1)) is None
    assert relative_change(series()) is None


def by_definition(values: np.ndarray) -> list[int]:
    """|U_t| for t = 1 .. n - 1."""
    n = len(values)
    return [abs(int(sum(np.sign(values[i] - values[j]) for i in range(t) for j in range(t, n)))) for t in range(1, n)]


def test_pettitt_of_a_step() -> None:
    found = pettitt(series(1, 2, 3, 4, 15, 16, 17, 18))
    assert found is not None
    assert (found.index, found.k) == (4, 16)
    # only 4! 4! orders split so clearly, upwards or downwards
    assert found.p == pytest.approx(2 * 24 * 24 / math.factorial(8))


def test_pettitt_of_a_long_step_is_the_published_approximation() -> None:
    found = pettitt(np.concatenate((np.zeros(20), np.ones(20))))
    assert found is not None
    assert (found.index, found.k) == (20, 400)
    assert found.p == pytest.approx(2 * math.exp(-6 * 400**2 / (40**3 + 40**2)))


def test_pettitt_without_a_step() -> None:
    assert pettitt(series()) is None
    assert pettitt(series(1)) is None
    found = pettitt(series(5, 5, 5, 5))
    assert found is not None
    assert (found.k, found.p) == (0, 1.0)
    flat = pettitt(np.array([10.0, 11.0] * 20))
    assert flat is not None
    assert flat.p == 1.0


@given(SERIES)
def test_pettitt_is_its_definition(values: np.ndarray) -> None:
    found, wanted = pettitt(values), by_definition(values)
    assert found is not None
    assert found.k == max(wanted)
    assert wanted[found.index - 1] == found.k
    assert 0 < found.p <= 1


@pytest.mark.parametrize("n", [2, 4, 6])
def test_the_exact_probability_counts_orders(n: int) -> None:
    assert n <= EXACT_PETTITT_N
    statistics = [max(by_definition(np.array(order))) for order in permutations(range(n))]
    for order in (tuple(range(n)), (*range(1, n), 0), tuple(range(n - 1, -1, -1))):
        found = pettitt(np.array(order, dtype=np.float64))
        assert found is not None
        assert found.p == pytest.approx(np.mean([one >= found.k for one in statistics]))
