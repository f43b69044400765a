"""The ranking: stable, monotone in its limits, with evidence; and limits that make no sense."""

from __future__ import annotations

from typing import Any

import pytest
from curve_build import MS, RISING, curve, curves, identity, maybe, offline, plain, point, some_limits
from hypothesis import given, settings
from hypothesis import strategies as st

from wholecurve.curve import (
    READINGS,
    check_limits,
    limits_of,
    misses,
    normalised,
    parse_price,
    passes,
    rank,
    speed_table,
)
from wholecurve.curve.decide import Limit
from wholecurve.model.curve import Curve
from wholecurve.model.errors import InputError
from wholecurve.model.point import Figure, Power
from wholecurve.model.record import RunState

three_curves = st.tuples(curves("a"), curves("b"), curves("c"))


@settings(max_examples=100, deadline=None)
@given(three_curves, some_limits, st.sampled_from(sorted(READINGS)), st.randoms(use_true_random=False))
def test_the_ranking_does_not_depend_on_any_order(
    made: tuple[Curve, ...], limits: list[Limit], reading: str, shuffle: Any
) -> None:
    heads, rows = plain(*made)
    expected = rank(heads, rows, limits, at=4, reading=reading)
    mixed_heads, mixed_rows, mixed_limits = list(heads), list(rows), list(limits)
    for each in (mixed_heads, mixed_rows):
        shuffle.shuffle(each)
    assert rank(mixed_heads, mixed_rows, mixed_limits, at=4, reading=reading) == expected
    assert len(expected["places"]) + len(expected["failed"]) == 3


@settings(max_examples=150, deadline=None)
@given(three_curves, maybe, maybe, st.integers(0, 3), st.integers(0, 3), st.sampled_from(sorted(READINGS)))
def test_relaxing_a_limit_never_removes_a_curve(
    made: tuple[Curve, ...], ttft: int | None, speed: int | None, more: int, less: int, reading: str
) -> None:
    heads, rows = plain(*made)
    strict = limits_of(None if ttft is None else ttft * MS, speed)
    relaxed = limits_of(None if ttft is None else (ttft + more) * MS, None if speed is None else max(0, speed - less))
    assert all(passes(row, relaxed) for row in rows if passes(row, strict))
    before, after = (
        {one["curve"] for one in rank(heads, rows, each, at=3, reading=reading)["places"]} for each in (strict, relaxed)
    )
    assert before <= after


@settings(max_examples=100, deadline=None)
@given(three_curves, some_limits, st.sampled_from(sorted(READINGS)))
def test_every_place_stands_on_a_measured_point_that_passes(
    made: tuple[Curve, ...], limits: list[Limit], reading: str
) -> None:
    heads, rows = plain(*made)
    answer = rank(heads, rows, limits, at=3, reading=reading)
    by_id = {row["id"]: row for row in rows}
    for one in answer["places"]:
        row = by_id[one["point"]]
        assert passes(row, limits)
        assert row["concurrency"] == one["concurrency"]
        assert one["value"] == (one["systems"] if reading == "systems" else row["system_tps"])
    for one in answer["failed"]:
        assert one["nearest"] is None or one["nearest"]["misses"]
    values = [one["value"] for one in answer["places"]]
    assert values == sorted(values, reverse=reading != "systems")


BAD_LIMITS: list[tuple[list[Limit], str]] = [
    ([{"key": "latency", "bound": "at most", "value": 1}], "wanted a limit on one of"),
    ([{"key": "qps", "bound": "below", "value": 1}], "at most or at least"),
    ([{"key": "qps", "bound": "at most", "value": 0}], "above 0"),
    ([{"key": "qps", "bound": "at least", "value": -1}], "above 0"),
    ([{"key": "qps", "bound": "at least", "value": float("nan")}], "above 0"),
    ([{"key": "qps", "bound": "at most", "value": float("inf")}], "above 0"),
    ([{"key": "qps", "bound": "at most", "value": True}], "above 0"),
    ([{"key": "qps", "bound": "at most", "value": "5"}], "above 0"),
    (
        [{"key": "qps", "bound": "at most", "value": 5}, {"key": "qps", "bound": "at least", "value": 6}],
        "contradict each other: request rate at least 6 requests/s and at most 5 requests/s",
    ),
]


@pytest.mark.parametrize(("limits", "says"), BAD_LIMITS)
def test_limits_that_make_no_sense_are_refused(limits: list[Limit], says: str) -> None:
    with pytest.raises(InputError, match=says):
        check_limits(limits)
    with pytest.raises(InputError, match=says):
        rank([], [], limits)


def test_limits_that_meet_in_one_value_are_fine() -> None:
    limits: list[Limit] = [
        {"key": "concurrency", "bound": "at most", "value": 8},
        {"key": "concurrency", "bound": "at least", "value": 8},
        {"key": "interactivity_tps", "bound": "at least", "value": 0},
    ]
    check_limits(limits)
    assert [row["concurrency"] for row in plain(curve(*RISING))[1] if passes(row, limits)] == [8]


def test_limits_that_nobody_meets_are_an_answer() -> None:
    answer = rank(*plain(curve(*RISING)), limits_of(1 * MS, 5000))
    assert answer["places"] == []
    assert [miss["key"] for miss in answer["failed"][0]["nearest"]["misses"]] == ["ttft_p90_ns", "interactivity_tps"]


@pytest.mark.parametrize(
    ("more", "says"),
    [
        ({"by": "speed"}, "wanted a ranking by one of"),
        ({"at": 4, "reading": "about"}, "any, at least, systems"),
        ({"at": 0}, "1 or more"),
        ({"at": 1.5}, "1 or more"),
        ({"at": True}, "1 or more"),
    ],
)
def test_unknown_words_are_refused(more: dict[str, Any], says: str) -> None:
    with pytest.raises(InputError, match=says):
        rank(*plain(curve(*RISING)), **more)


def test_a_curve_that_is_there_twice_is_refused() -> None:
    with pytest.raises(InputError, match="s1/a/chat twice"):
        rank(*plain(curve((1,)), curve((2,))))


def test_the_nearest_miss_is_the_smallest_worst_excess() -> None:
    """8: 20 % over TTFT. 64: 10 % over TTFT but half the speed. 1: no TTFT at all."""
    heads, rows = plain(curve((1, None, 50), (8, 240, 50), (64, 220, 20)))
    nearest = rank(heads, rows, limits_of(200 * MS, 40))["failed"][0]["nearest"]
    assert (nearest["concurrency"], nearest["misses"][0]["excess"]) == (8, pytest.approx(0.2))


def test_of_equally_near_misses_the_lower_concurrency_is_shown() -> None:
    heads, rows = plain(curve((8, 240), (64, 240)))
    assert rank(heads, rows, limits_of(200 * MS))["failed"][0]["nearest"]["concurrency"] == 8


def test_what_does_not_count_is_never_ranked_and_says_why() -> None:
    broken = [point(1, state=RunState.INTERRUPTED), point(8, client="client-limited")]
    heads, rows = plain(curve(*broken, offline(9000)))
    (failed,) = rank(heads, rows)["failed"]
    assert failed["why"] == (
        "does not count: client-limited: the client was measured, not the endpoint; run interrupted"
    )
    assert misses(rows[0], [])[0]["key"] == "barred"


def test_missing_power_is_not_reported_and_not_last() -> None:
    """X16: the system without power is named among the failures, with its reason."""
    unknown = point(1, tps=9000, who=identity("b"), power=Power(None, reason="no system_power.json"))
    heads, rows = plain(curve((1, 100, 50, 1000)), curve(unknown, who=identity("b")))
    powered, _ = normalised(rows, "kw")
    answer = rank(heads, powered, by="system_tps_per_kw")
    assert [(one["curve"], one["value"]) for one in answer["places"]] == [("s1/a/chat", 100)]
    (failed,) = answer["failed"]
    assert (failed["curve"], failed["why"]) == ("s1/b/chat", "not reported")
    assert powered[1]["reasons"]["system_tps_per_kw"] == "provisioned_power_kw: no system_power.json"


def test_the_cheapest_is_first_by_price_and_by_tokens_for_a_dollar() -> None:
    made = [
        curve((1, 100, 50, tps), who=identity(name, accelerators=count))
        for name, tps, count in (("a", 1000, 8), ("b", 900, 4))
    ]
    heads, rows = plain(*made)
    priced, _ = normalised(rows, "usd", parse_price("2/accelerator/h"))
    for key in ("usd_per_million_output_tokens", "output_tokens_per_usd"):
        answer = rank(heads, priced, by=key)
        assert [one["curve"] for one in answer["places"]] == ["s1/b/chat", "s1/a/chat"]


def test_single_runs_are_marked() -> None:
    repeated = Figure(1000.0, runs=3, spread=0.02)
    answer = rank(*plain(curve((1, 100, 50, repeated)), curve((1, 100, 50, 500), who=identity("b"))))
    assert [one["single_run"] for one in answer["places"]] == [False, True]


def test_equal_numbers_of_systems_are_ties_and_others_are_not() -> None:
    """100 users: 64 and 80 at a time need 2 systems each, 512 at a time 1."""
    levels = {"a": 64, "b": 80, "c": 512}
    made = [curve((level,), who=identity(name)) for name, level in levels.items()]
    answer = rank(*plain(*made), at=100, reading="systems")
    assert [(one["place"], one["systems"], one["close"]) for one in answer["places"]] == [
        (1, 1, ""),
        (2, 2, "tie"),
        (2, 2, "tie"),
    ]


def test_a_single_user_is_a_concurrency() -> None:
    assert rank(*plain(curve(*RISING)), at=1)["places"][0]["concurrency"] == 1


def test_fixed_speeds_against_a_baseline() -> None:
    """X12: at 40 tokens/s a has 2,560 and b 3,200, a quarter more; nobody holds 101."""
    other = curve((1, 50, 100, 80), (64, 150, 40, 3200), who=identity("b"))
    heads, rows = plain(curve(*RISING), other)
    a, b = speed_table(heads, rows, [40, 90, 101], baseline="s1/a/chat")
    assert [cell["value"] for cell in a["cells"]] == [2560, 100, None]
    assert [cell["percent"] for cell in b["cells"]] == [pytest.approx(25), pytest.approx(-20), None]
    assert [cell["point"] for cell in b["cells"]] == ["b/r64", "b/r1", None]
    assert all(cell["percent"] is None for each in speed_table(heads, rows, [40]) for cell in each["cells"])
    with pytest.raises(InputError, match="above 0"):
        speed_table(heads, rows, [-1])
