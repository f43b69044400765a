"""Arrivals: first times for a seed, exactness of constant rates, ramps, and the table of patterns."""

from __future__ import annotations

from itertools import islice, pairwise
from math import inf, nan, sqrt
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wholecurve.load import PATTERNS, arrivals, constant, offline, poisson, ramped
from wholecurve.model.errors import InputError
from wholecurve.model.plan import Order, Pattern, PhaseKind, PhasePlan, StopRule

S = 1_000_000_000


def phase(pattern: Pattern, **changes: object) -> PhasePlan:
    base: dict[str, object] = {
        "kind": PhaseKind.PERFORMANCE,
        "name": "performance",
        "dataset": "d",
        "rows": 10,
        "order": Order.SHUFFLED,
        "order_seed": 42,
        "pattern": pattern,
        "stop": StopRule(),
    }
    return PhasePlan(**(base | changes))  # type: ignore[arg-type]


def test_poisson_first_times_for_seed_42() -> None:
    wanted = [10200602, 10453890, 13670130, 16195991, 29531917, 40823647]
    assert list(islice(poisson(100, Random(42)), 6)) == wanted


def test_poisson_mean_and_spread_over_10000() -> None:
    offsets = list(islice(poisson(250, Random(1)), 10_000))
    gaps = [b - a for a, b in zip([0, *offsets], offsets)]
    mean = sum(gaps) / len(gaps)
    spread = sqrt(sum((gap - mean) ** 2 for gap in gaps) / len(gaps))
    assert mean == pytest.approx(4e6, rel=0.03)
    assert spread == pytest.approx(4e6, rel=0.05)


def test_poisson_gaps_are_at_least_one_ns() -> None:
    offsets = list(islice(poisson(5e9, Random(3)), 2_000))
    assert all(b > a for a, b in pairwise(offsets))
    assert offsets[0] >= 1


CONSTANT = [
    (0.5, [0, 2 * S, 4 * S, 6 * S]),
    (3, [0, 333333333, 666666667, S]),
    (1.1, [0, 909090909, 1818181818]),
    (2e9, [0, 0, 1, 2, 2]),
]


@pytest.mark.parametrize(("rate", "wanted"), CONSTANT)
def test_lod_6_constant_rates_may_be_fractional(rate: float, wanted: list[int]) -> None:
    assert list(islice(constant(rate), len(wanted))) == wanted


def test_lod_6_half_a_request_per_second_for_20_s_is_10_requests() -> None:
    assert sum(1 for offset in islice(constant(0.5), 100) if offset < 20 * S) == 10


def test_lod_1_constant_schedule_is_absolute() -> None:
    """10,000 requests at 200/s end at 49.995 s exactly, and at a rate of 1/3 nothing has drifted after 30,000."""
    assert list(islice(constant(200), 10_000))[-1] == 9_999 * 5_000_000
    assert list(islice(constant(3), 30_001))[-1] == 10_000 * S


@given(rate=st.floats(1e-3, 1e6), place=st.integers(0, 300))
def test_constant_error_never_grows(rate: float, place: int) -> None:
    offset = next(islice(constant(rate), place, None))
    assert abs(offset - place * S / rate) <= 0.5 + 1e-9 * offset


def test_offline_is_all_at_once() -> None:
    assert list(islice(offline(), 3)) == [0, 0, 0]


@pytest.mark.parametrize("rate", [0, -1, nan, inf])
def test_rates_must_be_finite_and_positive(rate: float) -> None:
    with pytest.raises(InputError, match="rate above 0"):
        constant(rate)
    with pytest.raises(InputError, match="rate above 0"):
        poisson(rate, Random(0))


def test_ramp_rises_linearly() -> None:
    """100/s under a ramp of 10 s: 500 requests in the ramp instead of 1,000, a quarter of them in its first half."""
    offsets = list(islice(ramped(constant(100), 10 * S), 700))
    assert sum(1 for offset in offsets if offset < 10 * S) == 500
    assert sum(1 for offset in offsets if offset < 5 * S) == 125
    late = [offset for offset in offsets if offset > 10 * S]
    assert {b - a for a, b in pairwise(late)} == {S // 100}


@given(seed=st.integers(0, 1000), ramp=st.integers(0, 20 * S), rate=st.floats(0.1, 1e5))
def test_ramp_keeps_order_and_only_ever_delays(seed: int, ramp: int, rate: float) -> None:
    plain = list(islice(poisson(rate, Random(seed)), 50))
    late = list(islice(ramped(poisson(rate, Random(seed)), ramp), 50))
    assert late == sorted(late)
    assert all(0 <= after - before <= (ramp + 1) // 2 + 1 for before, after in zip(plain, late))


def test_negative_ramp_is_refused() -> None:
    with pytest.raises(InputError, match="ramp"):
        ramped(offline(), -1)


FIRST_OFFSET = {
    Pattern.CONCURRENCY: None,
    Pattern.OFFLINE: 0,
    Pattern.POISSON: 10200602,
    Pattern.CONSTANT: 0,
}


@pytest.mark.parametrize("pattern", list(Pattern))
def test_every_pattern_has_a_row_a_description_and_arrivals(pattern: Pattern) -> None:
    row = PATTERNS[pattern]
    assert len(row.description) > 20
    fields = set(PhasePlan.__dataclass_fields__)
    assert set(row.needs) | set(row.allows) <= fields
    assert not set(row.needs) & set(row.allows)
    made = arrivals(phase(pattern, rate_per_s=100.0), Random(42))
    assert (None if made is None else next(made)) == FIRST_OFFSET[pattern]


def test_the_table_has_no_row_too_many() -> None:
    assert set(PATTERNS) == set(Pattern)


@pytest.mark.parametrize("pattern", [Pattern.POISSON, Pattern.CONSTANT])
def test_a_missing_rate_is_named(pattern: Pattern) -> None:
    with pytest.raises(InputError, match=f"rate for the pattern {pattern.value}"):
        arrivals(phase(pattern), Random(0))


def test_arrivals_apply_the_ramp() -> None:
    made = arrivals(phase(Pattern.CONSTANT, rate_per_s=1.0, ramp_ns=4 * S), Random(0))
    assert made is not None
    assert list(islice(made, 4)) == [0, 2828427124, 4 * S, 5 * S]
