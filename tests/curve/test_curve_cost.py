"""Prices with their unit, divisors that hold everything provisioned, and a basis on every figure."""

from __future__ import annotations

import pytest
from curve_build import curve, identity, plain, point
from hypothesis import given, settings
from hypothesis import strategies as st

from wholecurve.curve import (
    DERIVED,
    KEYS,
    NORMALISATIONS,
    OFFICIAL,
    Price,
    Row,
    break_even,
    normalised,
    parse_price,
    per_part,
    system_usd_per_hour,
    total_usd_per_hour,
)
from wholecurve.model.errors import InputError
from wholecurve.model.names import NAMES
from wholecurve.model.point import Power

SPLIT = identity(accelerators=16, nodes=2, accelerator_parts=(("prefill", 4), ("decode", 12)))


def one_row(tps: float | None = 1000, **more: float) -> Row:
    return plain(curve(point(8, tps=tps, **more)))[1][0]


@pytest.mark.parametrize(
    ("text", "usd", "per"),
    [
        ("2.5/accelerator/h", 2.5, "accelerator"),
        ("$2.5/accelerator/h", 2.5, "accelerator"),
        (" 2.5 / Accelerators / hour ", 2.5, "accelerator"),
        (".5/node/h", 0.5, "node"),
        ("36/system/h", 36.0, "system"),
    ],
)
def test_prices_that_are_read(text: str, usd: float, per: str) -> None:
    found = parse_price(text, source="quote 17", date="2026-11-30")
    assert (found.usd_per_hour, found.per, found.source, found.date) == (usd, per, "quote 17", "2026-11-30")


@pytest.mark.parametrize(
    "text",
    [
        "",
        "2.5",
        "2.5/h",
        "2.5/accelerator",
        "accelerator/h",
        "2.5/accelerator/month",
        "2.5/gpu/h",
        "2,5/accelerator/h",
        "1,000/system/h",
        "-2/accelerator/h",
        "0/accelerator/h",
        "nan/accelerator/h",
        "1e3/accelerator/h",
        "9" * 400 + "/system/h",
        "2.5/accelerator/h/h",
        "2.5€/accelerator/h",
    ],
)
def test_a_price_without_its_unit_or_out_of_range_is_refused_with_an_example(text: str) -> None:
    with pytest.raises(InputError, match="price") as caught:
        parse_price(text)
    assert "2.5/accelerator/h" in caught.value.hint


def test_a_price_is_for_something_that_is_counted() -> None:
    with pytest.raises(InputError, match="accelerator, node, system"):
        Price(1.0, "rack")


def test_cmp_1_a_split_deployment_is_divided_by_everything() -> None:
    """4 that prefill and 12 that decode, 8,000 tokens/s: 500 for each of 16; 667 only under its own name."""
    _, rows = plain(curve(point(8, tps=8000, who=SPLIT), who=SPLIT))
    (row,), said = normalised(rows, "accelerator")
    assert row["tps_per_accelerator"] == 500
    assert said["basis"] == "output tokens/s of the system / all provisioned accelerators"
    part = per_part(row, SPLIT, "decode")
    assert (part["column"], part["value"]) == ("tps_per_decode_accelerator", pytest.approx(666.67, abs=0.01))
    assert part["basis"] == "output tokens/s / the 12 accelerators that decode, of 16 provisioned"
    assert part["column"] not in KEYS  # cannot be ranked or drawn beside the others
    with pytest.raises(InputError, match="prefill, decode"):
        per_part(row, SPLIT, "route")


def test_cmp_7_price_basis_and_token_basis_are_kept_apart() -> None:
    """36 $/h for the system and 10,000 total tokens/s: 36 million tokens an hour, 1.00 $ per million of them."""
    price = parse_price("36/system/h", source="list price", date="2026-10-01")
    (row,), said = normalised([one_row(2500, total_tps=10_000)], "usd_total", price)
    assert row["usd_per_million_total_tokens"] == pytest.approx(1.0, rel=1e-12)
    assert row["total_tokens_per_usd"] == pytest.approx(1e6, rel=1e-12)
    assert said["tag"] == DERIVED
    assert said["basis"] == (
        "price of the system an hour / (input and output tokens/s x 3600) x 1e6; "
        "36 $ per system and hour (list price, 2026-10-01)"
    )
    (row,), said = normalised([one_row(2500, total_tps=10_000)], "usd", price)
    assert row["usd_per_million_output_tokens"] == pytest.approx(4.0, rel=1e-12)
    assert "(output tokens/s x 3600)" in said["basis"]
    assert "usd_per_million_total_tokens" not in row


@pytest.mark.parametrize(("price", "usd"), [("36/system/h", 36), ("2.5/accelerator/h", 20), ("7/node/h", 7)])
def test_a_price_is_multiplied_by_all_it_is_for(price: str, usd: float) -> None:
    assert system_usd_per_hour(one_row(), parse_price(price)) == usd
    assert total_usd_per_hour(one_row(), parse_price(price), 3) == 3 * usd


@settings(max_examples=100, deadline=None)
@given(st.floats(0.01, 1e6), st.floats(0.01, 1e4))
def test_price_times_tokens_for_a_dollar_is_a_million(tps: float, usd: float) -> None:
    (row,), _ = normalised([one_row(tps)], "usd", Price(usd, "accelerator"))
    assert row["usd_per_million_output_tokens"] * row["output_tokens_per_usd"] == pytest.approx(1e6, rel=1e-9)


def test_energy_is_an_upper_bound() -> None:
    """10 kW over 1,000 tokens/s are 10 J a token."""
    (row,), said = normalised([one_row()], "joule")
    assert row["joules_per_output_token"] == 10
    assert "upper bound" in said["basis"]
    assert "upper bound" in KEYS["joules_per_output_token"]["unit"]


def test_the_rules_own_power_examples() -> None:
    """13.05 kW: 1,100, 5,400 and 7,830 tokens/s give 84.3, 413.8 and 600.0 per kW (TR appendix C.3)."""
    made = [point(n, tps=tps, power=Power(13.05, "C.1")) for n, tps in ((1, 1100), (2, 5400), (3, 7830))]
    rows, said = normalised(plain(curve(*made))[1], "kw")
    assert [round(row["system_tps_per_kw"], 1) for row in rows] == [84.3, 413.8, 600.0]
    assert (said["tag"], said["basis"]) == (OFFICIAL, "output tokens/s of the system / provisioned kW")


def test_power_may_differ_from_point_to_point() -> None:
    """TR C.3: 6,000 tokens/s on 135.20 kW of engaged nodes are 44.4 per kW, on all 152.10 kW 39.4."""
    made = [
        point(n, tps=6000, power=Power(kw, "engaged nodes", estimated=True)) for n, kw in ((1, 135.20), (2, 152.10))
    ]
    rows, said = normalised(plain(curve(*made))[1], "kw")
    assert [round(row["system_tps_per_kw"], 1) for row in rows] == [44.4, 39.4]
    assert said["basis"].endswith("; estimated power in it")


@pytest.mark.parametrize("per", NORMALISATIONS)
def test_every_way_to_divide_has_a_name_a_basis_and_an_answer_for_nothing(per: str) -> None:
    how = NORMALISATIONS[per]
    assert how.column in KEYS
    assert how.column in NAMES
    assert how.basis
    price = parse_price("1/system/h") if how.priced else None
    unknown = point(8, tps=None, power=Power(None, reason="not declared"))
    (row,), _ = normalised(plain(curve(unknown))[1], per, price)
    assert row[how.column] is None
    assert (
        "no answer was streamed" in row["reasons"][how.column]
        or "total_tps: not reported" in row["reasons"][how.column]
    )


def test_zero_throughput_costs_nothing_that_can_be_written() -> None:
    for per in ("usd", "joule"):
        (row,), _ = normalised([one_row(0)], per, parse_price("1/system/h"))
        assert row[NORMALISATIONS[per].column] is None
        assert row["reasons"][NORMALISATIONS[per].column] == "system_tps is 0: nothing to divide by"
    (row,), _ = normalised([one_row(0)], "kw")
    assert row["system_tps_per_kw"] == 0


def test_a_count_that_is_not_known_is_a_reason() -> None:
    who = identity(accelerators=None, nodes=None)
    _, rows = plain(curve(point(8, who=who), who=who))
    for per in ("accelerator", "node"):
        (row,), _ = normalised(rows, per)
        assert row[NORMALISATIONS[per].column] is None
    (row,), _ = normalised(rows, "usd", parse_price("2/accelerator/h"))
    assert row["usd_per_million_output_tokens"] is None
    assert row["reasons"]["output_tokens_per_usd"] == "accelerators: not reported"
    assert total_usd_per_hour(rows[0], parse_price("2/node/h"), 2) is None


def test_a_price_must_be_there_and_the_way_known() -> None:
    with pytest.raises(InputError, match="wanted a price, got none"):
        normalised([one_row()], "usd")
    with pytest.raises(InputError, match="kw, accelerator, node"):
        normalised([one_row()], "rack")


def test_rows_are_copied_not_changed() -> None:
    row = one_row()
    normalised([row], "kw")
    assert "system_tps_per_kw" not in row


def test_break_even() -> None:
    """X20. a: 8 $/h for 1,000 tokens/s. b: 1,500 tokens/s from 8 accelerators: equal at 12 $/h, 1.50 $ each."""
    a, b = one_row(1000), one_row(1500)
    assert break_even(a, b, parse_price("8/system/h"), parse_price("2/accelerator/h")) == pytest.approx(1.5)
    assert break_even(a, one_row(None), parse_price("8/system/h"), parse_price("2/system/h")) is None
    assert break_even(one_row(0), b, parse_price("8/system/h"), parse_price("2/system/h")) is None
