"""S2 to S18, each with a case one can check in the head (S1 is in test_curve_model.py)."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from curve_build import MS, RISING, curve, figure, identity, offline, plain, point

from wholecurve.curve import (
    COLUMNS,
    DERIVED,
    HEAD_COLUMNS,
    KEYS,
    NORMALISATIONS,
    OFFICIAL,
    READINGS,
    capacity,
    ceiling,
    falls,
    front,
    limits_of,
    line,
    misses,
    normalised,
    parse_price,
    passes,
    rank,
    sentence,
    speed_table,
    steps,
    three_digits,
    value_at,
)
from wholecurve.model.curve import curve_of
from wholecurve.model.names import NAMES
from wholecurve.model.point import Figure, Standing
from wholecurve.model.status import Status
from wholecurve.model.strict_json import dumps_strict


def places(answer: dict[str, Any]) -> list[tuple[int, str, float]]:
    return [(one["place"], one["curve"].split("/")[1], one["value"]) for one in answer["places"]]


def test_s2_limits_are_inclusive_and_compared_in_full() -> None:
    _, rows = plain(curve((1, 199.9, 30.001), (2, 200.0, 30.0), (3, 200.1, 30.0), (4, 200.0, 29.999)))
    assert [row["concurrency"] for row in rows if passes(row, limits_of(200 * MS, 30))] == [1, 2]
    assert [row["concurrency"] for row in rows if passes(row, limits_of(200 * MS))] == [1, 2, 4]
    assert [row["concurrency"] for row in rows if passes(row, limits_of(interactivity_tps=30))] == [1, 2, 3]
    assert all(passes(row, limits_of()) for row in rows)


def test_s3_a_missing_value_fails_as_not_reported_and_is_nowhere_zero() -> None:
    heads, rows = plain(curve((1, None, 50, 1000)))
    (miss,) = misses(rows[0], limits_of(200 * MS, 30))
    assert (miss["key"], miss["got"], miss["excess"], miss["why"]) == ("ttft_p90_ns", None, None, "not reported")
    assert rows[0]["ttft_p90_ns"] is None
    assert rows[0]["reasons"]["ttft_p90_ns"] == "no answer was streamed"
    assert sentence(miss, rows[0]["reasons"]["ttft_p90_ns"]) == "TTFT P90 not reported (no answer was streamed)"
    assert front(rows, "ttft_p90_ns", "system_tps") == []
    assert rank(heads, rows, limits_of(200 * MS))["places"] == []
    assert places(rank(heads, rows)) == [(1, "a", 1000)]


def test_s4_a_curve_without_a_point_left_stays_with_its_nearest_miss() -> None:
    heads, rows = plain(curve((1, 240, 100, 100), (8, 300, 80, 640)), curve(*RISING, who=identity("b")))
    answer = rank(heads, rows, limits_of(200 * MS))
    assert places(answer) == [(1, "b", 2560)]
    (failed,) = answer["failed"]
    assert (failed["curve"], failed["why"]) == ("s1/a/chat", "no level meets the limits")
    assert (failed["nearest"]["point"], failed["nearest"]["concurrency"]) == ("a/r1", 1)
    assert [sentence(miss) for miss in failed["nearest"]["misses"]] == ["TTFT P90 240 ms > 200 ms"]
    assert answer["counts"] == {"points": 6, "passing_points": 3, "curves": 2, "passing_curves": 1}


def test_s5_equal_points_keep_the_lower_concurrency_and_their_count() -> None:
    _, rows = plain(curve((4, 100, 50, 1000), (8, 100, 50, 1000), (2, 100, 50, 1000), (1, 90, 60, 200)))
    found = front(rows, "interactivity_tps", "system_tps")
    assert [(one["concurrency"], one["x"], one["y"], one["count"]) for one in found] == [
        (2, 50, 1000, 3),
        (1, 60, 200, 1),
    ]


def test_s5_the_front_is_made_of_what_passes() -> None:
    _, rows = plain(curve(*RISING))
    found = front(rows, "interactivity_tps", "system_tps", limits_of(150 * MS))
    assert [(one["x"], one["y"]) for one in found] == [(40, 2560), (80, 640), (100, 100)]


def test_s6_steps_hold_back_at_least_and_forward_at_most() -> None:
    _, rows = plain(curve((1, 50, 100, 100), (8, 80, 80, 640)))
    assert line(rows, "interactivity_tps", "system_tps") == [[(80, 640), (80, 100), (100, 100)]]
    assert line(rows, "ttft_p90_ns", "system_tps") == [[(50 * MS, 100), (80 * MS, 100), (80 * MS, 640)]]
    assert line(rows, "concurrency", "system_tps") == [[(1, 100), (8, 100), (8, 640)]]


@pytest.mark.parametrize(
    ("step", "x", "expected"),
    [
        ("before", 80, 640),
        ("before", 80.1, 100),
        ("before", 100, 100),
        ("after", 80, 640),
        ("after", 99.9, 640),
        ("after", 100, 100),
        ("after", 79.9, None),
        ("before", 100.1, None),
    ],
)
def test_s6_nothing_is_there_outside_the_measured_range(step: str, x: float, expected: float | None) -> None:
    assert value_at([(100, 100), (80, 640)], step, x) == expected


def test_s6_a_gap_is_never_bridged() -> None:
    points: list[tuple[float, float | None]] = [(1, 10), (2, None), (4, 40)]
    assert steps(points, "after") == [[(1, 10), (2, 10)], [(4, 40)]]
    assert steps(points, "before") == [[(1, 10)], [(2, 40), (4, 40)]]
    assert value_at(points, "after", 3) is None
    assert value_at(points, "before", 1.5) is None
    assert steps([], "after") == []
    assert value_at([], "after", 1) is None
    with pytest.raises(ValueError, match="each x once"):
        steps([(1, 1), (1, 2)], "after")


def test_s7_a_ranking_takes_measured_values_only() -> None:
    heads, rows = plain(curve((1, 50, 100, 100), (100, 500, 20, 2000)))
    answer = rank(heads, rows, limits_of(interactivity_tps=60))
    assert places(answer) == [(1, "a", 100)]  # not the 1,000 or so between the two
    (cells,) = speed_table(heads, rows, [20, 60, 101])
    assert [cell["value"] for cell in cells["cells"]] == [2000, 100, None]


def test_s8_the_three_readings_of_my_concurrency() -> None:
    heads, rows = plain(curve(*RISING))
    found = {reading: rank(heads, rows, limits_of(200 * MS), at=10, reading=reading) for reading in READINGS}
    assert {
        reading: (answer["places"][0]["concurrency"], answer["places"][0]["value"]) for reading, answer in found.items()
    } == {
        "at least": (64, 2560),
        "any": (64, 2560),
        "systems": (64, 1),
    }
    assert rank(heads, rows, at=9)["reading"] == "at least"
    assert rank(heads, rows)["reading"] == "any"
    assert rank(heads, rows, at=8)["places"][0]["concurrency"] == 8
    systems = rank(heads, rows, limits_of(200 * MS), at=1000, reading="systems")
    assert (systems["by"], systems["better"], systems["places"][0]["systems"]) == ("systems_needed", "low", 16)


def test_s8_a_level_above_the_one_asked_for_does_not_stand_in_for_it() -> None:
    """64 misses, 128 passes: at 50 users the smallest level at or above is 64, and it fails."""
    heads, rows = plain(curve((64, 300), (128, 100)))
    (failed,) = rank(heads, rows, limits_of(200 * MS), at=50)["failed"]
    assert failed["nearest"]["concurrency"] == 64
    assert rank(heads, rows, limits_of(200 * MS), at=65)["places"][0]["concurrency"] == 128


def test_s8_beyond_the_measured_range_is_said() -> None:
    heads, rows = plain(curve(*RISING))
    (failed,) = rank(heads, rows, at=513)["failed"]
    assert failed["why"] == "not measured at this concurrency"
    assert [sentence(miss) for miss in failed["nearest"]["misses"]] == ["concurrency 512 < 513"]


def test_s9_systems_and_headroom() -> None:
    _, rows = plain(curve((256, 100, 50, 1000)))
    plan = capacity(rows, limits_of(200 * MS), 1000)
    assert (plan["systems"], plan["concurrency"], plan["headroom"]) == (4, 256, 0.024)
    assert "perfectly evenly" in plan["assumption"]
    assert plan["tag"] == DERIVED


def test_s10_only_power_is_official() -> None:
    assert {per for per, how in NORMALISATIONS.items() if how.tag == OFFICIAL} == {"kw"}
    assert {how.tag for how in NORMALISATIONS.values()} == {OFFICIAL, DERIVED}
    _, rows = plain(curve((1, 100, 50, 1000)))  # 10 kW, 8 accelerators, 1 node
    values = {per: normalised(rows, per)[0][0][NORMALISATIONS[per].column] for per in ("kw", "accelerator", "node")}
    assert values == {"kw": 100, "accelerator": 125, "node": 1000}


def test_s11_price_and_its_reciprocal_are_one_number() -> None:
    """7.20 $/h at 1,000 tokens/s: 3.6 million tokens an hour, so 2.00 $ per million."""
    _, rows = plain(curve((1, 100, 50, 1000)))
    (row,), _ = normalised(rows, "usd", parse_price("7.20/system/h"))
    assert row["usd_per_million_output_tokens"] == pytest.approx(2.0, rel=1e-12)
    assert row["usd_per_million_output_tokens"] * row["output_tokens_per_usd"] == pytest.approx(1e6, rel=1e-12)


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [
        (1000, 991, ["about equal", "about equal"]),
        (1000, 990, ["", ""]),  # 1 % is not under 1 %
        (1000, 1000, ["about equal", "about equal"]),
        (Figure(1000, runs=3, spread=0.05), Figure(950, runs=3, spread=0.01), ["tie", "tie"]),
        (Figure(1000, runs=3, spread=0.04), Figure(950, runs=3, spread=0.01), ["", ""]),
        (Figure(1000, runs=3, spread=0.001), Figure(995, runs=3, spread=0.001), ["", ""]),
        (Figure(1000, runs=3, spread=0.05), 950, ["about equal", "about equal"]),
        (Figure(1000, runs=3, spread=0.001), 995, ["about equal", "about equal"]),
        (0, 0, ["about equal", "about equal"]),
    ],
)
def test_s12_ties(one: Any, other: Any, expected: list[str]) -> None:
    a, b = curve((1, 100, 50, figure(one))), curve((1, 100, 50, figure(other)), who=identity("b"))
    answer = rank(*plain(a, b))
    assert [place["close"] for place in answer["places"]] == expected
    assert [place["place"] for place in answer["places"]] == ([1, 1] if expected[0] else [1, 2])


def test_s12_closeness_is_to_the_best_of_the_group_and_does_not_creep() -> None:
    made = [
        curve((1, 100, 50, tps), who=identity(name)) for name, tps in (("a", 1000), ("b", 993), ("c", 986), ("d", 980))
    ]
    assert [one[:2] for one in places(rank(*plain(*made)))] == [(1, "a"), (1, "b"), (3, "c"), (3, "d")]


def test_s13_status_is_copied_and_withdrawn_results_are_off_by_default() -> None:
    published = Standing(Status.VERIFIED, "1.0.3", "2026-10-21")
    gone = replace(published, withdrawn=True)
    made = curve(point(1, tps=100, standing=published), point(8, tps=800, standing=gone))
    assert places(rank(*plain(made))) == [(1, "a", 100)]
    assert places(rank(*plain(made, withdrawn_too=True))) == [(1, "a", 800)]
    assert rank(*plain(made))["places"][0]["status"] == "verified (1.0.3, 2026-10-21)"
    assert rank(*plain(curve((1,))))["places"][0]["status"] == "unverified, local"


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"benchmark": "code"}, "The benchmark differs: chat, code."),
        ({"division": "rdi"}, "The division differs: rdi, standardized."),
        ({"rules_version": "1.1"}, "The rules version differs: 1.0, 1.1."),
        ({"data_set_hash": "d2"}, "The data set differs: d1, d2."),
    ],
)
def test_s14_a_mixed_ranking_is_refused_with_what_differs(change: dict[str, str], says: str) -> None:
    answer = rank(*plain(curve((1,)), curve(point(1, who=identity("b", **change)), who=identity("b", **change))))
    assert answer["refused"] == [says]
    assert (answer["places"], answer["failed"]) == ([], [])


def test_s14_what_a_side_does_not_state_is_noted() -> None:
    answer = rank(*plain(curve((1,)), curve((1,), who=identity("b", division=None))))
    assert answer["refused"] == []
    assert answer["notes"] == ["The division is not stated by s1/b/chat."]


def test_s15_models_on_the_same_agentic_traffic_may_stand_together() -> None:
    traffic = [
        identity("a", benchmark="agent-a", model="a", data_set_hash="da", traffic="swe"),
        identity("b", benchmark="agent-b", model="b", data_set_hash="db", traffic="swe"),
    ]
    one, other = curve(point(1, who=traffic[0], qps=0.5), who=traffic[0]), curve((1,), who=traffic[1])
    answer = rank(*plain(one, other))
    assert answer["refused"] == []
    assert len(answer["places"]) == 2
    assert answer["notes"] == [
        "Models differ in tokens for the same task. "
        "Turns per hour: s1/a/agent-a 1800 at most, s1/b/agent-b not reported."
    ]
    assert rank(*plain(one))["notes"] == []
    elsewhere = replace(traffic[1], traffic="web")
    assert len(rank(*plain(one, curve((1,), who=elsewhere)))["refused"]) == 2
    rdi = replace(traffic[1], division="rdi")
    assert rank(*plain(one, curve((1,), who=rdi)))["refused"] == ["The division differs: rdi, standardized."]


def test_s16_offline_is_a_ceiling_and_never_on_the_front() -> None:
    heads, rows = plain(curve(*RISING, offline(9000)))
    assert ceiling(rows) == {"system_tps": 9000, "point": "a/roffline", "offline": "dedicated", "why": ""}
    assert max(one["y"] for one in front(rows, "interactivity_tps", "system_tps")) == 5120
    assert places(rank(heads, rows)) == [(1, "a", 5120)]
    assert line(rows, "concurrency", "system_tps")[0][-1] == (512, 5120)
    elected = curve(*RISING[:-1], point(512, tps=5120, elected_offline=True))
    assert ceiling(plain(elected)[1])["offline"] == "elected"
    assert ceiling(plain(curve(*RISING))[1])["why"] == "no Offline result"
    assert ceiling(plain(curve(offline(None)))[1])["why"] == "no answer was streamed"


def test_s17_units_are_in_the_names_and_values_in_full() -> None:
    for key in KEYS:
        assert key in NAMES, key
    for key, suffix in (("ttft_p90_ns", "ns"), ("provisioned_power_kw", "kW"), ("asked_rate_per_s", "requests/s")):
        assert key in COLUMNS
        assert key not in KEYS or KEYS[key]["unit"] == suffix
    _, rows = plain(curve((1, 123.456789, 1 / 3, 3721.6)))
    assert (rows[0]["interactivity_tps"], rows[0]["system_tps"]) == (1 / 3, 3721.6)
    assert [three_digits(value) for value in (3721.6, 0.04999, 1 / 3, 12, 1e-7, 0, 99.95)] == [
        "3720",
        "0.05",
        "0.333",
        "12",
        "0.0000001",
        "0",
        "100",
    ]


def test_s17_two_values_that_look_alike_get_more_digits() -> None:
    _, rows = plain(curve((1, 200.1)))
    (miss,) = misses(rows[0], limits_of(200 * MS))
    assert sentence(miss) == "TTFT P90 200.1 ms > 200 ms"


def test_s18_the_measure_of_interactivity_is_given_not_guessed() -> None:
    both = point(1, speed=50, e2e_avg_interactivity=32)
    for key, expected in (("tps_per_user", 50), ("e2e_avg_interactivity", 32)):
        made = curve_of(both.identity, key, [both])
        heads, rows = plain(made)
        assert (heads[0]["interactivity_key"], rows[0]["interactivity_tps"]) == (key, expected)
    missing = plain(curve_of(both.identity, "e2e_avg_interactivity", [point(1)]))[1]
    assert missing[0]["interactivity_tps"] is None


def test_cmp_2_no_value_is_hidden_by_its_size() -> None:
    _, rows = plain(curve((1, 50, 100, 100), (8, 120_000, 1, 200)))
    assert [row["ttft_p90_ns"] for row in rows] == [50 * MS, 120_000 * MS]
    assert [one["x"] for one in front(rows, "ttft_p90_ns", "system_tps")] == [50 * MS, 120_000 * MS]


def test_cmp_3_the_axis_is_the_achieved_rate() -> None:
    _, rows = plain(curve(point(8, tps=600, qps=30, asked_rate_per_s=50)))
    assert (rows[0]["qps"], rows[0]["asked_rate_per_s"]) == (30, 50)
    assert front(rows, "qps", "interactivity_tps")[0]["x"] == 30
    assert "asked_rate_per_s" not in KEYS


def test_a_curve_whose_throughput_falls_with_load() -> None:
    heads, rows = plain(curve((1, 50, 100, 100), (64, 100, 40, 2500), (128, 400, 15, 2000), (256, 900, 8, 1500)))
    assert falls(rows) == [{"from": 64, "to": 128, "share": 0.2}, {"from": 128, "to": 256, "share": 0.25}]
    assert [one["concurrency"] for one in front(rows, "interactivity_tps", "system_tps")] == [64, 1]
    best = rank(heads, rows)["places"][0]
    assert (best["concurrency"], best["value"]) == (64, 2500)
    assert capacity(rows, [], 256)["concurrency"] == 256
    assert falls(plain(curve(*RISING))[1]) == []
    assert falls(plain(curve((1, 50, 100, 100), (2, 60, 50, 100)))[1]) == []


def test_rows_and_heads_are_plain_data() -> None:
    heads, rows = plain(curve(*RISING, offline(9000)), curve(who=identity("b")))
    assert all(tuple(row) == tuple(COLUMNS) for row in rows)
    assert all(tuple(head) == HEAD_COLUMNS for head in heads)
    answer = rank(heads, rows, limits_of(200 * MS, 30), at=8)
    for value in (rows, heads, answer, capacity(rows, limits_of(1 * MS), 5), front(rows, "ttft_p90_ns", "system_tps")):
        assert dumps_strict(value)
