"""Borders of the regions: the quick-reference table, the worked examples and the test cases of the rules."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wholecurve.model.errors import InputError
from wholecurve.rules import filled, must_notify, region_of, regions, unfilled
from wholecurve.rules.load import load_rules
from wholecurve.rules.regions import rounded_root

CUT = load_rules().regions

# C_max, C_min, and the last level of Low, Medium, High and margin.
QUICK_REFERENCE = [  # T04
    (64, 2, 6, 18, 71),
    (128, 2, 7, 27, 141),
    (256, 2, 8, 42, 282),
    (256, 8, 14, 47, 282),
    (512, 8, 16, 71, 564),
    (1024, 8, 18, 109, 1127),
    (512, 16, 24, 79, 564),
    (1024, 16, 26, 117, 1127),
    (2048, 16, 29, 176, 2253),
    (1024, 32, 42, 131, 1127),
    (2048, 32, 45, 192, 2253),
    (4096, 32, 48, 287, 4506),
    (8192, 32, 52, 437, 9012),
    (16384, 32, 57, 676, 18023),
]
EDGES = [
    (33, 1, "2–4", "5–11", "12–33"),
    (34, 31, "32", "33", "34"),
    (34, 32, "33", "34", "empty"),
    (33, 32, "33", "empty", "empty"),
    (33, 31, "32", "33", "empty"),
    (35, 32, "33", "34", "35"),
    (150, 3, "4–8", "9–31", "32–150"),
    (100_000, 32, "33–78", "79–2186", "2187–100000"),
    (8192, 32, "33–52", "53–437", "438–8192"),  # T03, example A
    (256, 1, "2–7", "8–41", "42–256"),  # T02, example B
    (1024, 16, "17–26", "27–117", "118–1024"),  # T01; the text's example C prints three borders one too low
    (100, 1, "2–6", "7–22", "23–100"),  # T05
]
EXAMPLE_SETS = {
    "A": (8192, 32, [32, 40, 200, 500, 1000, 2000, 4096]),
    "B": (256, 1, [1, 4, 16, 32, 64, 128, 256]),
    "C": (1024, 16, [16, 24, 64, 96, 128, 256, 1000]),
}


def routine(c_max: int, c_min: int) -> list[int]:
    """The published computation, with floats: last levels of Low, Medium and margin."""
    interval = math.log2(c_max - c_min) / 3
    return [round(c_min + 2**interval), round(c_min + 2 ** (2 * interval)), math.ceil(1.10 * c_max)]


@pytest.mark.parametrize(("c_max", "c_min", "low", "medium", "margin"), QUICK_REFERENCE)
def test_quick_reference(c_max: int, c_min: int, low: int, medium: int, margin: int) -> None:
    found = [(part.id, part.first, part.last) for part in regions(c_max, c_min, CUT)]
    assert found == [
        ("low_latency", 1, c_min),
        ("low_concurrency", c_min + 1, low),
        ("med_concurrency", low + 1, medium),
        ("high_concurrency", medium + 1, c_max),
        ("margin", c_max + 1, margin),
    ]


@pytest.mark.parametrize(("c_max", "c_min", "low", "medium", "high"), EDGES)
def test_edge_computations(c_max: int, c_min: int, low: str, medium: str, high: str) -> None:
    assert [str(part) for part in regions(c_max, c_min, CUT)[1:4]] == [low, medium, high]


@given(st.integers(1, 32), st.integers(33, 200_000))
def test_regions_are_those_of_the_published_routine_and_leave_no_gap(c_min: int, c_max: int) -> None:
    cut = regions(c_max, c_min, CUT)
    assert [cut[1].last, cut[2].last, cut[4].last] == routine(c_max, c_min)
    assert cut[0].first == 1
    assert [part.first for part in cut[1:]] == [part.last + 1 for part in cut[:-1]]
    assert all(part.exact_last == part.last for part in cut[:4])


def test_only_three_ranges_have_an_empty_region() -> None:
    found = {
        (c_max, c_min)
        for c_min in range(1, 33)
        for c_max in range(33, 80)
        if any(part.empty for part in regions(c_max, c_min, CUT))
    }
    assert found == {(33, 31), (33, 32), (34, 32)}


@given(st.integers(0, 10**9), st.integers(1, 3), st.integers(1, 5))
def test_rounded_root_is_the_nearest_whole_number(number: int, power: int, parts: int) -> None:
    root = rounded_root(number, power, parts)
    value = 2**parts * number**power  # (2 x)^parts
    assert (2 * root + 1) ** parts > value
    assert root == 0 or (2 * root - 1) ** parts < value or (number == 0 and root == 0)


@pytest.mark.parametrize(("c_max", "routine_last", "exact"), [(100, 111, 110), (200, 221, 220), (1500, 1651, 1650)])
def test_margin_by_floats_is_told_from_the_exact_one(c_max: int, routine_last: int, exact: int) -> None:
    margin = regions(c_max, 1, CUT)[-1]
    assert (margin.last, margin.exact_last) == (routine_last, exact)


def test_how_often_the_float_margin_is_off() -> None:
    off = [c_max for c_max in range(40, 20_001) if (m := regions(c_max, 1, CUT)[-1]).last != m.exact_last]
    assert len(off) == 925
    assert all(c_max % 10 == 0 for c_max in off)


def test_t05_a_point_at_the_float_margin_is_in_range_with_a_note() -> None:
    cut = regions(100, 1, CUT)
    at_111, at_110, at_112 = (region_of(level, cut, CUT) for level in (111, 110, 112))
    assert (at_111.region and at_111.region.id, at_111.choice) == ("margin", "C5")
    assert (at_110.region and at_110.region.id, at_110.choice) == ("margin", None)
    assert at_112.region is None


def test_t06_one_point_at_the_border_fills_an_empty_region() -> None:
    cut = regions(34, 32, CUT)
    assert filled(34, cut, CUT) == {"med_concurrency", "high_concurrency"}
    assert unfilled([32, 33, 34], cut, CUT) == ()
    assert not must_notify(34, CUT)
    assert filled(33, regions(33, 32, CUT), CUT) == {"low_concurrency", "med_concurrency", "high_concurrency"}


def test_t07_small_ranges() -> None:
    assert must_notify(33, CUT)
    with pytest.raises(InputError, match="above 32, got 32"):
        regions(32, 1, CUT)


@pytest.mark.parametrize("c_min", [0, -1, 33])
def test_t08_a_lowest_point_outside_its_bounds_is_refused(c_min: int) -> None:
    with pytest.raises(InputError, match=f"from 1 to 32, got {c_min}"):
        regions(1024, c_min, CUT)


def test_t08_without_a_point_up_to_32_ultra_low_stays_open() -> None:
    assert "low_latency" in unfilled([33, 64, 128, 512], regions(1024, 32, CUT), CUT)


@pytest.mark.parametrize("name", EXAMPLE_SETS)
def test_t09_example_sets_cover_the_four_regions(name: str) -> None:
    c_max, c_min, levels = EXAMPLE_SETS[name]
    assert unfilled(levels, regions(c_max, c_min, CUT), CUT) == ()


def test_example_b_counts_low_levels_twice() -> None:
    """4, 16 and 32 are Low and Medium by the routine, and inside the fixed Ultra Low."""
    cut = regions(256, 1, CUT)
    assert filled(4, cut, CUT) == {"low_latency", "low_concurrency"}
    assert filled(16, cut, CUT) == {"low_latency", "med_concurrency"}
    assert filled(64, cut, CUT) == {"high_concurrency"}


def test_t15_the_margin_fills_no_region() -> None:
    cut = regions(1024, 16, CUT)
    assert unfilled([16, 24, 64, 117, 1100], cut, CUT) == ("high_concurrency",)
    assert (place := region_of(1100, cut, CUT).region) is not None
    assert place.id == "margin"
    assert region_of(1128, cut, CUT).region is None


def test_a_level_measured_twice_is_one_level() -> None:
    assert unfilled([16, 24, 24, 24], regions(1024, 16, CUT), CUT) == ("med_concurrency", "high_concurrency")


def test_every_level_of_the_range_lies_in_exactly_one_region() -> None:
    cut = regions(300, 7, CUT)
    for level in range(1, 331):
        assert sum(level in part for part in cut) == 1
    assert region_of(0, cut, CUT).region is None


def test_other_data_give_other_regions() -> None:
    """The demo version has other bounds and another margin: nothing is hard-coded."""
    demo = load_rules("demo").regions
    assert [str(part) for part in regions(12, 2, demo)] == ["1–2", "3–4", "5–7", "8–12", "13–15"]
    with pytest.raises(InputError, match="from 1 to 4, got 5"):
        regions(12, 5, demo)
    with pytest.raises(InputError, match="above 4, got 4"):
        regions(4, 1, demo)
