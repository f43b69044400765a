"""Percentiles, series blocks and early-stopping estimates."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from wholecurve.metrics import GRID, NULL, check_series, estimate, overs_allowed, percentile_of, series, supported
from wholecurve.metrics.quantile import index, key

MS = 1_000_000
VALUES = st.lists(st.integers(0, 10**13), min_size=1, max_size=60)


def array(*values: int) -> np.ndarray:
    return np.array(values, dtype=np.int64)


@pytest.mark.parametrize(
    ("percentile", "n", "wanted"),
    [(0, 5, 0), (100, 5, 4), (50, 4, 1), (90, 11, 9), (90, 10, 8), (99, 101, 99), (99.9, 1001, 999), (97, 101, 97)],
)
def test_index_is_the_lower_order_statistic(percentile: float, n: int, wanted: int) -> None:
    assert index(percentile, n) == wanted


def test_sta_1_percentiles_are_over_pooled_samples() -> None:
    """990 of 10 ms on one worker, 10 of 1,000 ms on another: the lower order statistic is 10, the next sample 1,000."""
    pooled = np.concatenate((np.full(990, 10 * MS), np.full(10, 1000 * MS))).astype(np.int64)
    block = series(pooled)
    assert block["percentiles"]["99.0"] == 10 * MS
    assert block["percentiles"]["99.9"] == 1000 * MS
    assert block["n"] == 1000


def test_sta_2_tails_that_n_cannot_support_are_marked() -> None:
    assert [supported(p, 20) for p in (99.9, 99, 95, 90, 50, 5, 1)] == [False, False, True, True, True, True, False]
    assert (supported(99, 99), supported(99, 100)) == (False, True)
    assert (supported(99.9, 999), supported(99.9, 1000)) == (False, True)
    block = series(np.arange(20))
    assert (block["n"], block["unsupported"]) == (20, ["99.9", "99.0", "97.0", "1.0"])


def test_sta_3_empty_series_are_empty_never_zero() -> None:
    assert series(array()) == {}
    assert series(array(NULL, NULL), early_stopping=True) == {}
    assert series(np.array([math.nan])) == {}
    assert percentile_of(array(NULL), 50.0) is None


def test_sta_5_keys_are_one_text_on_the_scale_0_to_100() -> None:
    keys = ["99.9", "99.0", "97.0", "95.0", "90.0", "80.0", "75.0", "50.0", "25.0", "10.0", "5.0", "1.0"]
    assert [key(p) for p in GRID] == keys
    assert list(series(array(1, 2))["percentiles"]) == keys


@given(VALUES)
def test_sta_6_no_percentile_lies_outside_the_samples(values: list[int]) -> None:
    block = series(array(*values))
    assert percentile_of(array(*values), 100) == max(values)
    assert all(value in values for value in block["percentiles"].values())
    assert check_series({"x": block}) == ()


@given(VALUES, st.sampled_from(GRID))
def test_percentile_equals_numpy_lower(values: list[int], percentile: float) -> None:
    assert percentile_of(array(*values), percentile) == np.percentile(values, percentile, method="lower")


def test_series_of_known_values() -> None:
    block = series(array(4, NULL, 1, 3, 2))
    assert {name: block[name] for name in ("total", "min", "max", "median", "avg", "n")} == {
        "total": 10,
        "min": 1,
        "max": 4,
        "median": 2,
        "avg": 2.5,
        "n": 4,
    }
    assert block["std_dev"] == pytest.approx(math.sqrt(5 / 3))
    assert list(block) == [
        *("total", "min", "max", "median", "avg", "std_dev", "percentiles", "histogram", "n", "unsupported")
    ]
    assert series(array(5))["std_dev"] is None


def test_totals_do_not_overflow() -> None:
    assert series(np.full(10, 2**62))["total"] == 10 * 2**62


@given(st.lists(st.integers(0, 10**6), min_size=2, max_size=80))
def test_histogram_holds_every_sample_between_minimum_and_maximum(values: list[int]) -> None:
    found = series(array(*values))["histogram"]
    buckets, counts = found["buckets"], found["counts"]
    assert sum(counts) == len(values)
    assert (buckets[0][0], buckets[-1][1]) == (min(values), max(values))
    assert len(buckets) == (1 if len({*values} - {0}) < 2 else 30)
    for place, ((low, high), count) in enumerate(zip(buckets, counts, strict=True)):
        last = place == len(buckets) - 1
        assert count == sum(low <= v < high or (last and v == high) for v in values)


def test_histogram_is_log_spaced() -> None:
    edges = [low for low, _ in series(array(1, 2**30))["histogram"]["buckets"]]
    assert edges == pytest.approx([2.0**power for power in range(30)])


FLOORS = [(50, 11), (75, 24), (80, 31), (90, 64), (95, 130), (97, 219), (99, 662), (99.9, 6636), (99.99, 66381)]


@pytest.mark.parametrize(("percentile", "floor"), FLOORS)
def test_early_stopping_floors_are_loadgens(percentile: float, floor: int) -> None:
    assert estimate(np.arange(floor - 1), percentile) is None
    assert estimate(np.arange(floor), percentile) == floor - 1


@pytest.mark.parametrize("percentile", [50.0, 90.0, 99.0])
@pytest.mark.parametrize("n", [11, 64, 100, 160])
def test_early_stopping_equals_the_search_it_is_defined_by(n: int, percentile: float) -> None:
    """LoadGen: the largest t with n >= h(t) + t, h(t) the smallest count whose binomial tail is below 1 %."""
    p = percentile / 100

    def tail(h: int, t: int) -> float:
        """The chance that at least h of h + t lie under the bound."""
        return sum(math.comb(h + t, k) * p**k * (1 - p) ** (h + t - k) for k in range(h, h + t + 1))

    found = 0
    for t in range(1, n):
        h = next((h for h in range(1, n - t + 1) if tail(h, t) < 0.01), None)
        if h is None:
            break
        found = t
    assert overs_allowed(n, percentile) == found


def test_early_stopping_is_above_the_percentile_and_nears_it() -> None:
    few, many = np.arange(1000), np.arange(1_000_000)
    assert percentile_of(few, 99.0) < estimate(few, 99.0) <= 999
    assert percentile_of(many, 99.0) == 989_999
    assert 990_000 < estimate(many, 99.0) < 990_300
    block = series(few, early_stopping=True)
    assert list(block["early_stopping_percentiles"]) == [key(p) for p in GRID if p >= 50]
    assert block["early_stopping_percentiles"]["99.9"] is None
