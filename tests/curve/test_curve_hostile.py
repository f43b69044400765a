"""Numbers at the edge of what can be computed, and figures that repeat badly."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from curve_build import MS, curve, identity, plain, point

from wholecurve.curve import Price, accept, capacity, check_limits, compare, normalised, parse_price, rank, scope
from wholecurve.curve.words import brief, shown
from wholecurve.model.errors import InputError
from wholecurve.model.point import Figure, Power


@pytest.mark.parametrize(
    ("per", "price", "tps", "kw"),
    [
        ("kw", None, 1000, 1e-320),
        ("joule", None, 5e-324, 10),
        ("usd", "9/system/h", 5e-324, 10),
        ("usd", "0.000000001/system/h", 1e18, 10),
    ],
)
def test_a_quotient_that_cannot_be_meant_is_not_reported(per: str, price: str | None, tps: float, kw: float) -> None:
    rows = plain(curve(point(1, tps=tps, power=Power(kw, "declared total"))))[1]
    (row,), basis = normalised(rows, per, parse_price(price) if price else None)
    assert row[basis["column"]] is None
    assert row["reasons"][basis["column"]] == "too large or too small a number to be meant"


def test_no_tokens_per_kw_are_a_figure_all_the_same() -> None:
    (row,), _ = normalised(plain(curve(point(1, tps=0)))[1], "kw")
    assert row["system_tps_per_kw"] == 0


@pytest.mark.parametrize("text", ["9" * 20 + "/system/h", "9" * 400 + "/node/h", "1000000001/accelerator/h"])
def test_prices_of_no_size_are_refused(text: str) -> None:
    with pytest.raises(InputError, match="at most 1e"):
        parse_price(text)


def test_a_price_that_is_no_number_is_refused() -> None:
    with pytest.raises(InputError, match="above 0"):
        Price(float("nan"), "system")


def test_the_largest_plan_is_still_a_number() -> None:
    rows = plain(curve(point(1, power=Power(1e12, "declared total"))))[1]
    plan = capacity(rows, [], 10**12, price=Price(1e9, "system"))
    assert (plan["power_kw"], plan["usd_per_hour"]) == (1e24, 1e21)


def test_limits_that_contradict_are_shown_with_their_units() -> None:
    limits = [
        {"key": "ttft_p90_ns", "bound": "at most", "value": 30 * MS},
        {"key": "ttft_p90_ns", "bound": "at least", "value": 50 * MS},
    ]
    with pytest.raises(InputError, match="TTFT P90 at least 50 ms and at most 30 ms"):
        check_limits(limits)
    with pytest.raises(InputError, match="at most 1e"):
        check_limits([{"key": "system_tps", "bound": "at least", "value": 1e300}])


def rough(value: float, spread: float) -> Figure:
    return Figure(value, runs=3, spread=spread)


def two(ttft_spread: float, tps_spread: float) -> tuple[Any, Any]:
    made = []
    for name, ttft, tps in (("a", 100, 1000), ("b", 104, 970)):
        who = identity(name)
        base = point(1, who=who)
        more = {"ttft_p90_ns": rough(ttft * MS, ttft_spread), "system_tps": rough(tps, tps_spread)}
        made.append(curve(replace(base, figures={**base.figures, **more}), who=who))
    return made[0], made[1]


@pytest.mark.parametrize(
    ("ttft_spread", "tps_spread", "by", "close"),
    [
        (0.05, 0.001, "ttft_p90_ns", "tie"),  # TTFT repeats badly: 4 % apart are nothing
        (0.05, 0.001, "system_tps", ""),  # throughput repeats well: 3 % apart are something
        (0.001, 0.05, "ttft_p90_ns", ""),
        (0.001, 0.05, "system_tps", "tie"),
        (0.05, 0.001, "system_tps_per_kw", ""),  # made of throughput
    ],
)
def test_s12_the_spread_is_that_of_what_is_ranked_by(
    ttft_spread: float, tps_spread: float, by: str, close: str
) -> None:
    heads, rows = plain(*two(ttft_spread, tps_spread))
    rows, _ = normalised(rows, "kw")
    assert [one["close"] for one in rank(heads, rows, by=by)["places"]] == [close, close]


def test_a_level_that_was_asked_for_and_fails_is_not_said_to_be_all_there_is() -> None:
    heads, rows = plain(curve((16, 18), (64, 39)))
    limits = [{"key": "ttft_p90_ns", "bound": "at most", "value": 30 * MS}]
    (failed,) = rank(heads, rows, limits, at=17)["failed"]
    assert failed["why"] == "does not meet the limits at this concurrency"


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"model": "other"}, "The model differs: m-8b, other; tokens of one are not the work of the other."),
        ({"tokenizer_hash": "t2"}, "The tokenizer differs: t1, t2; their tokens are not of one size."),
        (
            {"definition_version": "2"},
            "The definition of the metrics differs: 1, 2; their figures do not mean the same.",
        ),
        ({"precision": "fp4"}, "The precision differs: fp4, fp8; answers may differ in quality."),
    ],
)
def test_what_may_differ_in_a_ranking_is_noted(change: dict[str, str], words: str) -> None:
    who = identity("b", **change)
    refused, notes = scope(*plain(curve((1,)), curve((1,), who=who)))
    assert (refused, notes) == ([], [words])


def test_a_data_set_that_nobody_states_is_noted() -> None:
    made = [curve((1,), who=identity(name, data_set_hash=None)) for name in ("a", "b")]
    assert scope(*plain(*made))[1] == ["No curve states its data set: whether it is one and the same, nobody can tell."]
    assert scope(*plain(made[0]))[1] == []


def test_a_hash_is_cut_short_and_a_name_is_not() -> None:
    assert brief("0123456789abcdef" * 4) == "0123456789ab…"
    assert brief("v1_0 E3") == "v1_0 E3"
    assert shown("system_tps_per_kw", 12.5) == "12.5 tokens/s/kW"


def test_one_measurement_is_not_two() -> None:
    made = curve((1,), (8,))
    words = "The figures are the very same on both sides, to the last digit: this is one measurement, not two."
    assert words in compare(made, made).cautions
    assert words in accept(made, made, "same system").cautions
    assert words not in compare(made, curve((1,), point(8, tps=1000.0000001))).cautions
    assert words not in accept(made, made, "same system", levels=[64]).cautions


def test_a_strained_client_and_an_unsteady_point_are_told() -> None:
    shaky = point(1, client="strained", source="b/r1")
    shaky = replace(shaky, provenance=replace(shaky.provenance, steady_verdict="drifting_up"))
    for cautions in (
        compare(curve((1,)), curve(shaky)).cautions,
        accept(curve(shaky), curve((1,)), "independent").cautions,
    ):
        assert cautions[-2:] == ("b/r1: the client was strained.", "b/r1: not steady, drifting up.")


def test_a_point_that_fell_back_to_the_whole_run_is_told() -> None:
    note = "figures over the whole run: the steady window spans 5 s of issue time, wanted 6 s: run longer"
    for verdict, count in (("STEADY STATE", 1), ("not found", 0), (None, 0)):
        short = replace(point(1, source="b/r1"), notes=(note,))
        short = replace(short, provenance=replace(short.provenance, steady_verdict=verdict))
        assert compare(curve((1,)), curve(short)).cautions.count(f"b/r1: {note}.") == count
