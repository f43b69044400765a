"""Intervals: ranks against the binomial distribution, coverage on known processes, and refusals of too few values."""

from __future__ import annotations

import math

import numpy as np
import pytest
import scipy.stats
from hypothesis import given
from hypothesis import strategies as st

from wholecurve.metrics import NULL, Interval, between_runs, percentile_interval, percentile_of, rate_interval
from wholecurve.metrics.confidence import inverse, order_ranks, student_t, time_batches

S = 1_000_000_000


def bounds(interval: Interval) -> tuple[float, float]:
    assert interval.low is not None
    assert interval.high is not None
    return interval.low, interval.high


@pytest.mark.parametrize("percentile", [1.0, 50.0, 90.0, 99.0])
@pytest.mark.parametrize("n", [1, 6, 36, 100, 1000, 100_000])
def test_ranks_are_the_tightest_the_binomial_allows(n: int, percentile: float) -> None:
    low, high = order_ranks(n, percentile)
    below = scipy.stats.binom(n, percentile / 100)
    assert low == 0 or below.cdf(low - 1) <= 0.025
    assert low == n or below.cdf(low) > 0.025, "the next rank would be too high"
    assert high == n + 1 or below.sf(high - 1) <= 0.025
    assert below.sf(high - 2) > 0.025, "the rank before would be too low"


@pytest.mark.parametrize(("percentile", "wanted"), [(50.0, 6), (90.0, 36), (99.0, 368), (10.0, 36)])
def test_too_few_samples_give_a_reason_and_no_number(percentile: float, wanted: int) -> None:
    few = percentile_interval(np.arange(wanted - 1), percentile)
    assert (few.low, few.high, few.n) == (None, None, wanted - 1)
    assert few.reason == f"wanted at least {wanted} samples for an interval of P{percentile:g}, got {wanted - 1}"
    enough = percentile_interval(np.arange(wanted), percentile)
    assert enough.reason is None
    assert bounds(enough)[0] < bounds(enough)[1]


def test_what_was_not_measured_is_no_sample() -> None:
    values = np.array([NULL, *range(100), NULL], dtype=np.int64)
    assert percentile_interval(values, 50.0) == percentile_interval(np.arange(100), 50.0)
    assert percentile_interval(np.array([math.nan] * 50), 50.0).n == 0


@given(st.lists(st.integers(0, 1000), min_size=40, max_size=200), st.sampled_from([50.0, 90.0]))
def test_the_percentile_lies_in_its_interval(values: list[int], percentile: float) -> None:
    low, high = bounds(percentile_interval(np.array(values), percentile))
    middle = percentile_of(np.array(values), percentile)
    assert middle is not None
    assert min(values) <= low <= middle <= high <= max(values)


def test_percentile_intervals_cover_whatever_the_distribution() -> None:
    """400 heavy-tailed series of 200: at least 95 % hold the true P90; 0.93 leaves room for three standard errors."""
    draws = np.random.default_rng(3).pareto(1.1, size=(400, 200))
    truth = scipy.stats.lomax(1.1).ppf(0.9)
    held = [low <= truth <= high for low, high in (bounds(percentile_interval(one, 90.0)) for one in draws)]
    assert np.mean(held) >= 0.93


def test_rate_of_equal_batches_has_no_doubt() -> None:
    found = rate_interval(np.full(5, 300), np.full(5, 3 * S))
    assert bounds(found) == (pytest.approx(100.0), pytest.approx(100.0))
    assert found.method == "batch means"


def test_rate_interval_by_hand() -> None:
    """Rates 90, 110, 90, 110 over 1 s each: errors of 10, s = sqrt(400 / 12), t with 3 degrees of freedom 3.1824."""
    low, high = bounds(rate_interval(np.array([90, 110, 90, 110]), np.full(4, S)))
    reach = 3.182446305 * math.sqrt(400 / 12)
    assert (low, high) == (pytest.approx(100 - reach), pytest.approx(100 + reach))


def test_batches_of_different_length_weigh_by_their_time() -> None:
    """The rate is the ratio of sums, not the mean of ratios; with one pace it has no doubt at all."""
    low, high = bounds(rate_interval(np.array([100, 200, 300, 1000]), np.array([1, 2, 3, 10]) * S))
    assert (low, high) == (pytest.approx(100.0), pytest.approx(100.0))


def test_batch_means_cover_a_noisy_rate() -> None:
    draws = np.random.default_rng(4).poisson(500, size=(400, 10))
    held = [low <= 500 <= high for low, high in (bounds(rate_interval(one, np.full(10, S))) for one in draws)]
    assert 0.92 <= np.mean(held) <= 0.98


@pytest.mark.parametrize(("k", "span"), [(0, S), (1, S), (3, S), (8, 0)])
def test_too_few_batches_give_a_reason(k: int, span: int) -> None:
    found = rate_interval(np.ones(k), np.full(k, span))
    assert (found.low, found.high) == (None, None)
    assert found.reason is not None
    assert "wanted at least 4 batches" in found.reason


def test_a_rate_is_never_below_zero() -> None:
    assert bounds(rate_interval(np.array([0, 0, 0, 100]), np.full(4, S)))[0] == 0.0


def test_inverse_swaps_the_ends() -> None:
    found = inverse(Interval(2.0, 4.0, 0.95, 9, "order statistics"), 8.0)
    assert bounds(found) == (2.0, 4.0)
    assert bounds(inverse(Interval(1.0, 4.0, 0.95, 9, "x"), 8.0)) == (2.0, 8.0)
    nothing = Interval(None, None, 0.95, 1, "x", "few")
    assert inverse(nothing, 8.0) == nothing
    assert inverse(Interval(0.0, 4.0, 0.95, 9, "x"), 8.0).reason == "the interval of its divisor reaches 0"


@pytest.mark.parametrize("degrees", [1, 2, 3, 4, 7, 10, 19, 100])
@pytest.mark.parametrize("level", [0.5, 0.95, 0.99])
def test_student_t_equals_scipy(degrees: int, level: float) -> None:
    assert student_t(degrees, level) == pytest.approx(scipy.stats.t.ppf((1 + level) / 2, degrees), rel=1e-9)


def test_between_runs() -> None:
    found = between_runs([100.0, 102.0, 98.0])
    assert (found.n, found.mean, found.minimum, found.maximum) == (3, 100.0, 98.0, 102.0)
    assert (found.std_dev, found.relative_range) == (pytest.approx(2.0), pytest.approx(0.04))
    reach = scipy.stats.t.ppf(0.975, 2) * 2 / math.sqrt(3)
    assert bounds(found.interval) == (pytest.approx(100 - reach), pytest.approx(100 + reach))
    assert found.reason is None


def test_two_runs_have_a_spread_but_no_interval() -> None:
    found = between_runs([100.0, 104.0])
    assert found.relative_range == pytest.approx(4 / 102)
    assert (found.interval.low, found.interval.reason) == (None, "wanted at least 3 runs for an interval, got 2")


def test_one_run_has_no_spread_and_none_has_nothing() -> None:
    one, none = between_runs([7.0]), between_runs([])
    assert (one.mean, one.std_dev, one.relative_range) == (7.0, None, None)
    assert one.reason == "wanted at least 2 runs for a spread, got 1"
    assert (none.n, none.mean, none.interval.low) == (0, None, None)


def test_runs_that_did_not_measure_it_are_said() -> None:
    assert between_runs([1.0, None, 1.0, 1.0]).reason == "1 of 4 runs did not measure it"
    assert (
        between_runs([1.0, None]).reason == "wanted at least 2 runs for a spread, got 1; 1 of 2 runs did not measure it"
    )


@given(st.lists(st.tuples(st.integers(0, 1000), st.integers(0, 9)), min_size=1, max_size=50), st.integers(1, 20))
def test_time_batches_lose_no_weight(found: list[tuple[int, int]], k: int) -> None:
    at, weights = (np.array(part, dtype=np.int64) for part in zip(*found, strict=True))
    batches = time_batches(at + 5 * S, weights, 5 * S, 5 * S + 1000, k)
    assert len(batches) == k
    assert batches.sum() == weights.sum()
