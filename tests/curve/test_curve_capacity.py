"""Systems for so many users: whole numbers, the room left, and what breaks first."""

from __future__ import annotations

from typing import Any

import pytest
from curve_build import MS, RISING, curve, curves, offline, plain, point, some_limits
from hypothesis import given, settings
from hypothesis import strategies as st

from wholecurve.curve import ASSUMPTION, capacity, growth, limits_of, parse_price, room, sentence
from wholecurve.curve.decide import Limit
from wholecurve.model.curve import Curve
from wholecurve.model.errors import InputError
from wholecurve.model.point import Power

ROWS = plain(curve(*RISING))[1]


@pytest.mark.parametrize(
    ("users", "systems", "headroom"),
    [(1, 1, 63), (63, 1, 1 / 63), (64, 1, 0), (65, 2, 63 / 65), (128, 2, 0), (6400, 100, 0), (10**9, 15_625_000, 0)],
)
def test_systems_and_headroom(users: int, systems: int, headroom: float) -> None:
    plan = capacity(ROWS, limits_of(200 * MS), users)
    assert (plan["systems"], plan["concurrency"], plan["point"]) == (systems, 64, "a/r64")
    assert plan["headroom"] == pytest.approx(headroom, rel=1e-15)


def test_what_breaks_first_is_the_next_level_with_its_misses() -> None:
    """X23: TTFT reaches the limit at 512."""
    plan = capacity(ROWS, limits_of(200 * MS, 30), 100)
    assert plan["next"]["concurrency"] == 512
    assert [sentence(miss) for miss in plan["next"]["misses"]] == [
        "TTFT P90 900 ms > 200 ms",
        "interactivity 10 tokens/s < 30 tokens/s",
    ]
    assert capacity(ROWS, [], 100)["next"] is None


def test_power_and_price_are_for_all_systems() -> None:
    plan = capacity(ROWS, limits_of(200 * MS), 1000, price=parse_price("2.5/accelerator/h"))
    assert (plan["systems"], plan["power_kw"], plan["usd_per_hour"]) == (16, 160, 320)
    assert plan["assumption"] == ASSUMPTION
    unknown = plain(curve(point(8, power=Power(None, reason="not declared"))))[1]
    assert capacity(unknown, [], 9)["power_kw"] is None
    assert capacity(unknown, [], 9)["usd_per_hour"] is None


def test_tenths_of_a_kilowatt_stay_exact() -> None:
    rows = plain(curve(point(1, power=Power(0.1, "declared"))))[1]
    assert capacity(rows, [], 3)["power_kw"] == 0.3


def test_levels_that_fail_below_are_named() -> None:
    rows = plain(curve((1, 100), (8, 300), (64, 100)))[1]
    plan = capacity(rows, limits_of(200 * MS), 64)
    assert (plan["concurrency"], plan["failing_below"]) == (64, [8])


@pytest.mark.parametrize(
    ("levels", "why"),
    [(((1, 300), (8, 500)), "no level meets the limits"), ((), "no level was measured")],
)
def test_no_plan_is_an_answer_with_its_reason(levels: Any, why: str) -> None:
    plan = capacity(plain(curve(*levels, offline(9000)))[1], limits_of(200 * MS), 10)
    assert (plan["systems"], plan["headroom"], plan["why"]) == (None, None, why)
    assert plan["nearest"] is None or plan["nearest"]["concurrency"] == 1


def test_growth_is_three_single_plans() -> None:
    """X24: 5 users become 7.5 and are 8."""
    limits = limits_of(200 * MS)
    assert growth(ROWS, limits, 1000) == [capacity(ROWS, limits, users) for users in (1000, 1500, 2000, 3000)]
    assert [plan["users"] for plan in growth(ROWS, limits, 5)] == [5, 8, 10, 15]
    assert [plan["users"] for plan in growth(ROWS, limits, 10, factors=[1.1])] == [10, 11]


@pytest.mark.parametrize("users", [0, -1, 1.5, True, None, "8"])
def test_users_are_whole_and_at_least_one(users: Any) -> None:
    with pytest.raises(InputError, match="whole number of 1 or more"):
        capacity(ROWS, [], users)


@pytest.mark.parametrize("factor", [0, -1, float("nan"), float("inf"), True])
def test_growth_is_above_zero(factor: float) -> None:
    with pytest.raises(InputError, match="growth factor"):
        growth(ROWS, [], 5, factors=[factor])


def test_room_to_each_limit() -> None:
    found = room(ROWS[2], limits_of(200 * MS, 30))
    assert [(one["key"], one["share"]) for one in found] == [
        ("ttft_p90_ns", 0.25),
        ("interactivity_tps", pytest.approx(1 / 3)),
    ]
    assert room(ROWS[3], limits_of(600 * MS))[0]["share"] == -0.5
    assert room(ROWS[0], limits_of(interactivity_tps=0))[0]["share"] is None
    assert room(plain(curve((1, None)))[1][0], limits_of(200 * MS))[0]["share"] is None


@settings(max_examples=100, deadline=None)
@given(curves(), some_limits, st.integers(1, 10_000))
def test_the_systems_carry_the_users_and_one_less_would_not(made: Curve, limits: list[Limit], users: int) -> None:
    plan = capacity(plain(made)[1], limits, users)
    if plan["systems"] is None:
        assert plan["why"]
    else:
        assert plan["systems"] * plan["concurrency"] >= users > (plan["systems"] - 1) * plan["concurrency"]
        assert plan["headroom"] >= 0
