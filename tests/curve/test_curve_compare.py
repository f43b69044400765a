"""Comparison and acceptance: refused where it must be, no difference where none is shown, never a pass untested."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

import pytest
from curve_build import RISING, curve, identity, offline, point
from hypothesis import given, settings
from hypothesis import strategies as st

from wholecurve.curve import CheckResult, Found, accept, compare, difference, figure_of_runs
from wholecurve.curve.accept import check
from wholecurve.model.curve import Curve
from wholecurve.model.errors import InputError
from wholecurve.model.point import Figure
from wholecurve.model.record import RunState
from wholecurve.model.strict_json import dumps_strict

OTHER = identity("b")


def ranged(value: float, low: float, high: float, runs: int = 5) -> Figure:
    return Figure(value, low=low, high=high, runs=runs)


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"benchmark": "code"}, "The benchmark differs: chat and code."),
        ({"data_set_hash": "d2"}, "The data set differs: d1 and d2."),
        ({"data_set_hash": None}, "The data set is not known on one side."),
        ({"tokenizer_hash": "t2"}, "The tokenizer differs: t1 and t2."),
        ({"definition_version": "2"}, "The definition of the metrics differs: 1 and 2."),
    ],
)
def test_what_is_not_comparable_is_refused(change: dict[str, Any], says: str) -> None:
    other = curve((1,), who=identity("b", **change))
    found = compare(curve((1,)), other)
    assert found.refused == (says,)
    assert found.levels == ()
    assert accept(other, curve((1,)), "same system").outcome is CheckResult.REFUSED
    assert accept(other, curve((1,)), "same system").refused


def test_not_known_on_both_sides_is_not_equal() -> None:
    unknown = identity(data_set_hash=None)
    made = curve(point(1, who=unknown), who=unknown)
    assert compare(made, made).refused == ("The data set is not known on both sides.",)


def test_different_ways_to_count_are_refused() -> None:
    found = compare(curve(point(1, tokens="usage")), curve(point(1, who=OTHER), who=OTHER))
    assert found.refused == ("Tokens are counted differently: usage and reference.",)


def test_the_endpoints_own_counts_need_no_tokenizer_and_are_a_caution() -> None:
    who = identity(tokenizer_hash=None)
    made = curve(point(1, who=who, tokens="usage"), who=who)
    found = compare(made, made)
    assert found.refused == ()
    assert found.cautions[0].startswith("Tokens are counted by the endpoints themselves")


def test_what_may_differ_is_said() -> None:
    other = identity("b", precision="fp4", division=None, nodes=2)
    found = compare(curve((1,)), curve(point(1, who=other, tps=990), who=other))
    assert found.cautions == (
        "The division differs: standardized and not stated.",
        "The precision differs: fp8 and fp4.",
        "The number of nodes differs: 1 and 2.",
    )


@pytest.mark.parametrize(
    ("lengths", "refused"),
    [((63, 1024), True), ((1000, 950), False), ((950, 1000), False), ((1000, 949.9), True), ((None, 500), True)],
)
def test_cmp_4_output_lengths_more_than_5_percent_apart(lengths: tuple[Any, Any], refused: bool) -> None:
    one = curve(point(8, length=lengths[0]))
    other = curve(point(8, length=lengths[1], who=OTHER), who=OTHER)
    (level,) = compare(one, other).levels
    assert bool(level.refused) is refused
    assert bool(level.differences) is not refused
    (checked,) = accept(other, one, "independent").levels
    assert (checked.outcome is CheckResult.NOT_TESTED) is refused


def test_cmp_5_ten_equal_runs_in_two_groups_show_no_difference() -> None:
    runs = [1000, 1012, 995, 1008, 990, 1003, 1010, 992, 1006, 998]
    one, other = figure_of_runs(runs[:5]), figure_of_runs(runs[5:])
    assert (one.value, one.runs, one.spread) == (1000, 5, 0.022)
    assert one.low is not None
    assert one.high is not None
    assert one.low < 990 < 1012 < one.high
    found = difference("system_tps", one, other)
    assert (found.found, found.better, found.single_run) == (Found.NO_DIFFERENCE, None, False)


def test_cmp_5_single_runs_are_marked_and_prove_nothing() -> None:
    found = difference("system_tps", figure_of_runs([1000]), figure_of_runs([1100]))
    assert (found.found, found.single_run, found.change) == (Found.NOT_PROVEN, True, pytest.approx(0.1))
    assert difference("system_tps", Figure(1000, low=990, high=1010), ranged(1100, 1090, 1110)).single_run


def test_the_interval_of_repeats_is_the_one_of_the_table() -> None:
    """Runs 8, 10, 12: s = 2, t(0.975, 2) = 4.3027: 10 +- 4.3027 x 1.2533 x 2 / sqrt(3) = 10 +- 6.227."""
    found = figure_of_runs([12, 8, 10])
    assert (found.value, found.low, found.high) == (10, pytest.approx(3.773, abs=1e-3), pytest.approx(16.227, abs=1e-3))
    assert figure_of_runs([1, 100]).low == 0
    assert figure_of_runs([7]) == Figure(7)
    assert figure_of_runs([0, 0]).spread is None
    with pytest.raises(InputError, match="one run or more"):
        figure_of_runs([])


DIFFERENCES: list[tuple[str, Figure, Figure, Found, bool | None]] = [
    ("system_tps", ranged(100, 98, 102), ranged(110, 108, 112), Found.HIGHER, True),
    ("system_tps", ranged(110, 108, 112), ranged(100, 98, 102), Found.LOWER, False),
    ("ttft_p90_ns", ranged(100, 98, 102), ranged(110, 108, 112), Found.HIGHER, False),
    ("ttft_p90_ns", ranged(110, 108, 112), ranged(100, 98, 102), Found.LOWER, True),
    ("tps_per_user", ranged(100, 98, 102), ranged(110, 108, 112), Found.HIGHER, True),
    ("system_tps", ranged(100, 98, 104), ranged(106, 104, 108), Found.NO_DIFFERENCE, None),
    ("system_tps", ranged(100, 98, 102), Figure(110), Found.NOT_PROVEN, None),
    ("system_tps", Figure(1000), Figure(1009), Found.ABOUT_EQUAL, None),
    ("system_tps", Figure(1000), Figure(990), Found.NOT_PROVEN, None),
    ("system_tps", Figure(0), Figure(0), Found.ABOUT_EQUAL, None),
    ("system_tps", Figure(0), Figure(5), Found.NOT_PROVEN, None),
    ("system_tps", Figure(None, "lost"), Figure(5), Found.NOT_MEASURED, None),
]


@pytest.mark.parametrize(("key", "before", "after", "found", "better"), DIFFERENCES)
def test_what_two_figures_say(key: str, before: Figure, after: Figure, found: Found, better: bool | None) -> None:
    got = difference(key, before, after)
    assert (got.found, got.better) == (found, better)
    assert (got.change is None) == (not before.value or after.value is None)


@settings(max_examples=100, deadline=None)
@given(st.lists(st.integers(1, 50), min_size=2, max_size=6), st.lists(st.integers(1, 50), min_size=2, max_size=6))
def test_swapping_the_sides_swaps_the_answer(one: list[int], other: list[int]) -> None:
    swapped = {Found.HIGHER: Found.LOWER, Found.LOWER: Found.HIGHER}
    forth = difference("system_tps", figure_of_runs(one), figure_of_runs(other))
    back = difference("system_tps", figure_of_runs(other), figure_of_runs(one))
    assert back.found is swapped.get(forth.found, forth.found)
    assert difference("system_tps", figure_of_runs(one), figure_of_runs(one)).found is Found.NO_DIFFERENCE


def test_levels_are_paired_by_concurrency_and_the_rest_is_listed() -> None:
    one = curve((1,), (8,), offline(9000))
    other = curve((8,), (64,), offline(9100, who=OTHER, concurrency=77), who=OTHER)
    found = compare(one, other)
    assert [(level.concurrency, len(level.differences)) for level in found.levels] == [(8, 3), (4000, 1)]
    assert (found.only_before, found.only_after) == ((1,), (64,))
    assert compare(curve(), curve(who=OTHER)).levels == ()


def test_what_does_not_count_is_not_compared() -> None:
    other = curve(point(8, who=OTHER, state=RunState.INTERRUPTED), who=OTHER)
    (level,) = compare(curve((8,)), other).levels
    assert level.refused == ("b/r8: run interrupted.",)


def test_where_two_curves_cross() -> None:
    """X14: b leads at 1 and 8, nobody is proven to lead at 64, a leads at 512."""
    lead = {1: (100, 120), 8: (640, 700), 64: (2560, 2560), 512: (5120, 4000)}

    def made(place: int, who: Any) -> Curve:
        return curve(
            *[point(n, tps=ranged(v[place], v[place] * 0.99, v[place] * 1.01), who=who) for n, v in lead.items()],
            who=who,
        )

    found = compare(made(0, identity()), made(1, OTHER))
    assert found.crossings == ((8, 512),)
    assert dumps_strict(asdict(found))


# Acceptance


def delivered(*levels: Any) -> Curve:
    return curve(*levels, who=identity("delivered"))


@pytest.mark.parametrize(
    ("tps", "relation", "expected"),
    [
        (950, "same system", "pass"),
        (949.9, "same system", "fail"),
        (949.9, "independent", "pass"),
        (900, "independent", "pass"),
        (899.9, "independent", "fail"),
        (2000, "same system", "pass"),
    ],
)
def test_the_margin_includes_its_border(tps: float, relation: str, expected: str) -> None:
    found = accept(delivered((8, 100, 50, tps)), curve((8, 100, 50, 1000)), relation)
    assert (found.outcome, found.levels[0].checks[0].outcome) == (expected, expected)
    assert found.levels[0].checks[0].shortfall == pytest.approx((1000 - tps) / 1000)


@settings(max_examples=200, deadline=None)
@given(st.integers(1, 10**6), st.integers(0, 4), st.sampled_from([5, 10]))
def test_exactly_on_the_border_passes_in_every_decimal(units: int, decimals: int, margin: int) -> None:
    published = units * 100 / 10**decimals
    on_it = units * (100 - margin) / 10**decimals
    assert check("system_tps", Figure(published), Figure(on_it), margin).outcome is CheckResult.PASS
    assert (
        check("ttft_p90_ns", Figure(published), Figure(units * (100 + margin) / 10**decimals), margin).outcome == "pass"
    )


def test_each_figure_is_held_to_its_own_direction_and_says_on_what_ground() -> None:
    found = accept(delivered((8, 106, 47.4, 1000)), curve((8, 100, 50, 1000)), "same system")
    checks = {one.key: one for one in found.levels[0].checks}
    assert {key: one.outcome.value for key, one in checks.items()} == {
        "system_tps": "pass",
        "tps_per_user": "fail",
        "ttft_p90_ns": "fail",
    }
    assert checks["ttft_p90_ns"].shortfall == pytest.approx(0.06)
    assert checks["system_tps"].basis == "margin of the rules"
    assert checks["ttft_p90_ns"].basis.startswith("no margin in the rules")
    assert found.margin_percent == 5


def test_a_gain_in_one_figure_does_not_pay_for_another() -> None:
    """LC-63: 94.9 % of the throughput and 110 % of the speed fails."""
    assert accept(delivered((8, 100, 55, 949)), curve((8, 100, 50, 1000)), "same system").outcome == "fail"


def test_a_missing_level_is_not_tested_and_never_a_pass() -> None:
    found = accept(delivered(*RISING[:3]), curve(*RISING), "same system")
    assert [one.outcome.value for one in found.levels] == ["pass", "pass", "pass", "not tested"]
    assert (found.outcome, found.levels[3].why) == (CheckResult.NOT_TESTED, "not delivered")
    agreed = accept(delivered(*RISING[:3]), curve(*RISING), "same system", levels=[1, 8])
    assert agreed.outcome == "pass"


@pytest.mark.parametrize("state", [RunState.INTERRUPTED, RunState.FAILED])
def test_a_run_that_does_not_count_tests_nothing(state: RunState) -> None:
    who = identity("delivered")
    broken = point(8, who=who, state=state)
    found = accept(curve(broken, who=who), curve((8,)), "same system")
    assert (found.outcome, found.levels[0].why) == (CheckResult.NOT_TESTED, f"run {state.value}")


def test_a_figure_that_is_missing_is_not_tested() -> None:
    found = accept(delivered((8, None, 50, 1000)), curve((8, 100, 50, 1000)), "same system")
    assert [one.outcome.value for one in found.levels[0].checks] == ["pass", "pass", "not tested"]
    assert found.levels[0].checks[2].why == "delivered: no answer was streamed"
    assert found.outcome == "not tested"
    nothing = accept(delivered((8,)), curve((8, None, 50, 0)), "same system").levels[0].checks
    assert [one.why for one in nothing] == ["published: is 0", "", "published: no answer was streamed"]


def test_a_failure_outweighs_what_is_not_tested() -> None:
    assert accept(delivered((1, 50, 100, 10)), curve(*RISING), "same system").outcome == "fail"


def test_offline_and_levels_nobody_published() -> None:
    who = identity("delivered")
    found = accept(curve((8,), (9,), offline(8600, who=who), who=who), curve((8,), offline(9000)), "same system")
    assert [(one.kind.value, one.outcome.value) for one in found.levels] == [("curve", "pass"), ("offline", "pass")]
    assert len(found.levels[1].checks) == 1
    assert found.unpublished == (9,)
    asked = accept(delivered((9,)), curve((8,)), "same system", levels=[9])
    assert (asked.outcome, asked.levels[0].why) == (CheckResult.NOT_TESTED, "not published")
    assert dumps_strict(asdict(found))


def test_nothing_published_or_delivered_is_not_a_pass() -> None:
    for one, other in ((delivered(), curve()), (delivered((1,)), curve()), (delivered(), curve((1,)))):
        assert accept(one, other, "same system").outcome == "not tested"


def test_the_relation_must_be_said() -> None:
    with pytest.raises(InputError, match="same system, independent"):
        accept(delivered(), curve(), "similar")
