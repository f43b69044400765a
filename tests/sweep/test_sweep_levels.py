"""Levels: parsing, counts, regions, Offline, accuracy, the knee. Numbers come from the rules data, never from here."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from wholecurve.model.errors import InputError
from wholecurve.rules import Kind, filled, region_of, regions, unfilled
from wholecurve.rules.load import load_rules
from wholecurve.sweep import (
    Levels,
    choose_levels,
    fewest_levels,
    knee_of,
    measuring_order,
    parse_points,
    slot_of,
    take_levels,
)

RULES = load_rules()
DEMO = load_rules("demo")
SINGLE = Kind.SINGLE_TURN


@pytest.mark.parametrize(
    ("text", "levels"),
    [
        ("1,4,16,64", (1, 4, 16, 64)),
        (" 64 , 1,8 ", (1, 8, 64)),
        ("1..64", (1, 2, 4, 8, 16, 32, 64)),
        ("1..100x3, 100", (1, 3, 9, 27, 81, 100)),
        ("8..32+8", (8, 16, 24, 32)),
        ("1..8x1.2", (1, 2, 3, 4, 5, 6, 7, 8)),  # LOD-6: rounding alone would repeat 1, 2 and 4
        ("7", (7,)),
    ],
)
def test_lists_and_ranges(text: str, levels: tuple[int, ...]) -> None:
    assert parse_points(text) == levels


def test_cli_10_a_level_given_twice_is_refused_by_name() -> None:
    with pytest.raises(InputError, match=r"each level once, got 2, 4 more than once in '1,2,4,2,4'") as caught:
        parse_points("1,2,4,2,4")
    assert "--repeats" in caught.value.hint
    with pytest.raises(InputError, match="got 16 more than once"):
        parse_points("1..32,16")


@pytest.mark.parametrize(
    "text",
    ["", ",", "1,,2", "0", "1,0", "-4", "1.5", "four", "1e3", "٣", "0x10", "8..1", "1..8x1", "1..8x0.5", "8..16+0",
     "1..", "99999999", "9999999999999999999999", "1..9000000x1.0001", "1;2", "1 2"],
)  # fmt: skip
def test_what_is_no_level_is_refused(text: str) -> None:
    with pytest.raises(InputError) as caught:
        parse_points(text)
    assert caught.value.message.startswith("wanted")
    assert len(caught.value.message) < 200


# Chosen levels


def plan(c_min: int, c_max: int, **more: object) -> Levels:
    return choose_levels(c_min, c_max, RULES, SINGLE, **{"rows": 100_000, "offline": "dedicated"} | more)  # type: ignore[arg-type]


def test_the_fewest_levels_of_the_rules() -> None:
    levels = plan(1, 256)
    assert levels.curve == (1, 2, 4, 8, 18, 68, 256)
    assert [one.label for one in levels.levels] == ["r1", "r2", "r4", "r8", "r18", "r68", "r256", "offline"]
    assert levels.levels[-1].concurrency == 100_000
    assert levels.levels[-1].region == "submitters_choice"
    assert levels.notes == ()
    assert "C_max" in levels.levels[-2].why


def test_the_demo_rules_give_the_same_make_up_with_small_numbers() -> None:
    levels = choose_levels(1, 24, DEMO, SINGLE, rows=32, offline="both")
    assert len(levels.curve) == 7
    assert not unfilled(levels.curve, regions(24, 1, DEMO.regions), DEMO.regions)
    assert levels.levels[-2].offline == "elected"
    assert levels.levels[-1].offline == "dedicated"
    assert "declares one of the two" in levels.notes[0]


@settings(max_examples=300, deadline=None, derandomize=True)
@given(
    c_min=st.integers(1, 32),
    c_max=st.integers(33, 100_000),
    more=st.integers(0, 24),
    offline=st.sampled_from(["dedicated", "elected", "both", "none"]),
    knee=st.none() | st.integers(1, 100_000),
)
def test_every_plan_fills_its_regions(c_min: int, c_max: int, more: int, offline: str, knee: int | None) -> None:
    known = [] if knee is None else [(2**n, float(min(2**n, knee)), None) for n in range(18)]
    count = fewest_levels(SINGLE, offline, RULES) + more  # type: ignore[arg-type]
    levels = plan(c_min, c_max, count=count, offline=offline, known=known)
    cut = regions(c_max, c_min, RULES.regions)
    curve = levels.curve
    assert len(set(curve)) == len(curve)
    assert list(curve) == sorted(curve)
    assert (curve[0], curve[-1]) == (c_min, c_max) == (levels.c_min, levels.c_max)
    assert len(curve) == min(count, c_max - c_min + 1)
    assert len(levels.levels) <= RULES.points.cap
    assert unfilled(curve, cut, RULES.regions) == ()
    for level in levels.levels:
        if not level.dedicated:
            region = region_of(level.concurrency, cut, RULES.regions).region
            assert region is not None
            assert level.region == region.id != RULES.regions.beyond
    scored = [level.concurrency for level in levels.levels if level.accuracy and not level.dedicated]
    served = frozenset[str]().union(*(filled(level, cut, RULES.regions) for level in scored))
    assert served >= {row.id for row in RULES.regions.region.values() if row.required}
    assert len(scored) <= 4
    dedicated = [level for level in levels.levels if level.dedicated]
    assert len(dedicated) == (offline in ("dedicated", "both"))
    elected = [level.concurrency for level in levels.levels if level.offline == "elected"]
    assert elected == ([c_max] if offline in ("elected", "both") else [])


def test_by_default_the_number_of_points_is_the_fewest_of_the_rules() -> None:
    for offline, wanted in (("dedicated", 8), ("elected", 7), ("both", 8)):
        assert len(plan(1, 1024, offline=offline).levels) == wanted
    agentic = choose_levels(1, 1024, RULES, Kind.AGENTIC, rows=100, offline="dedicated")
    assert len(agentic.levels) == RULES.points.fewest[next(k for k in RULES.points.fewest if k.value == "none")]
    assert agentic.notes == ("agentic curves have no Offline result: none is measured",)


def test_accuracy_runs_are_as_many_as_the_rules_count() -> None:
    dedicated = [level.label for level in plan(1, 1024).levels if level.accuracy]
    assert len(dedicated) == RULES.points.accuracy_runs[SINGLE] == 5
    assert dedicated[0] == "r1"
    assert dedicated[-2:] == ["r1024", "offline"]
    elected = plan(1, 1024, offline="elected").levels
    assert sum(level.accuracy for level in elected) == 4  # C7: the elected C_max serves High and Offline
    assert not any(level.accuracy for level in plan(1, 1024, accuracy=False).levels)


def test_points_cluster_around_the_knee() -> None:
    known = [(2**n, 10.0 * min(2**n, 100), None) for n in range(11)]
    knee = knee_of(known)
    assert knee in (64, 128)
    plain, dense = plan(1, 1024, count=16).curve, plan(1, 1024, count=16, known=known).curve
    assert knee in dense

    def around(levels: tuple[int, ...]) -> int:
        return sum(knee / 2 <= level <= knee * 2 for level in levels)

    assert around(dense) >= 2 * around(plain)


@pytest.mark.parametrize(
    "known",
    [
        [],
        [(1, 10.0, None), (2, 20.0, None)],
        [(1, 10.0, None), (2, 20.0, None), (4, 40.0, None)],  # a straight line
        [(1, None, None), (2, 0.0, None), (4, 40.0, None), (8, 80.0, None)],
    ],
)
def test_without_a_bend_there_is_no_knee(known: list[tuple[int, float | None, None]]) -> None:
    assert knee_of(known) is None


def test_the_knee_of_a_curve_that_falls_again_is_near_its_top() -> None:
    assert knee_of([(1, 10.0, None), (8, 80.0, None), (32, 310.0, None), (64, 330.0, None), (256, 150.0, None)]) == 32


# Borders and refusals


def test_c_max_33_is_to_be_announced_and_100_000_works() -> None:
    small = plan(1, 33)
    assert len(small.curve) == 7
    assert any("announced to the working group in writing" in note for note in small.notes)
    assert plan(1, 34).notes == ()
    large = plan(32, 100_000)
    assert large.curve[-1] == 100_000
    assert not unfilled(large.curve, regions(100_000, 32, RULES.regions), RULES.regions)


@pytest.mark.parametrize(
    ("c_min", "c_max", "curve"), [(32, 33, (32, 33)), (31, 33, (31, 32, 33)), (32, 34, (32, 33, 34))]
)
def test_empty_regions_are_filled_at_their_border(c_min: int, c_max: int, curve: tuple[int, ...]) -> None:
    levels = plan(c_min, c_max)
    assert levels.curve == curve
    assert unfilled(curve, regions(c_max, c_min, RULES.regions), RULES.regions) == ()
    assert f"holds {len(curve)} levels only, of 7 wanted" in levels.notes[0]


@pytest.mark.parametrize(
    ("c_min", "c_max", "words"),
    [(33, 256, "from 1 to 32"), (0, 256, "from 1 to 32"), (1, 32, "above 32"), (8, 4, "C_max 4 below C_min 8")],
)
def test_curves_that_the_rules_do_not_know(c_min: int, c_max: int, words: str) -> None:
    with pytest.raises(InputError, match=words) as caught:
        plan(c_min, c_max)
    assert caught.value.hint


def test_the_cap_is_refused_not_cut() -> None:
    assert len(plan(1, 1024, count=31).levels) == 32
    with pytest.raises(InputError, match="1 to 31 levels beside the dedicated Offline run, got 32"):
        plan(1, 1024, count=32)
    assert len(plan(1, 1024, count=32, offline="elected").levels) == 32
    with pytest.raises(InputError, match="wanted 1 to 32 levels"):
        plan(1, 1024, count=0, offline="none")


@pytest.mark.parametrize(("count", "curve"), [(1, (256,)), (2, (1, 256)), (3, (1, 18, 256)), (4, (1, 4, 18, 256))])
def test_fewer_than_the_rules_ask_for_is_said(count: int, curve: tuple[int, ...]) -> None:
    levels = plan(1, 256, count=count)
    assert levels.curve == curve
    assert f"the rules ask for 7 levels at least, these are {count}" in levels.notes[0]


def test_offline_with_fewer_rows_than_c_max_is_flagged_before_it_is_measured() -> None:
    (note,) = plan(1, 1024, rows=500).notes
    assert "500 requests, fewer than C_max 1024" in note
    assert "--offline elected" in note
    assert plan(1, 1024, rows=500, offline="elected").notes == ()
    assert "a submission needs one" in plan(1, 1024, offline="none").notes[0]


# Levels that were asked for


def take(*points: int, **more: object) -> Levels:
    return take_levels(points, RULES, SINGLE, **{"rows": 5000, "offline": "elected"} | more)  # type: ignore[arg-type]


def test_t10_levels_as_asked_for() -> None:
    levels = take(16, 24, 64, 96, 128, 256, 1024)
    assert levels.notes == ()
    assert (levels.c_min, levels.c_max) == (16, 1024)
    assert [one.region for one in levels.levels] == [
        "low_latency", "low_concurrency", *["med_concurrency"] * 2, *["high_concurrency"] * 3,
    ]  # fmt: skip
    assert [one.concurrency for one in levels.levels if one.accuracy] == [16, 24, 96, 1024]


def test_too_few_levels_and_unfilled_regions_are_notes() -> None:
    levels = take(1, 64)
    assert "these are 2" in levels.notes[0]
    assert [note.split(":")[0] for note in levels.notes[1:]] == ["no level in Low (2–5)", "no level in Medium (6–17)"]
    assert [one.concurrency for one in levels.levels if one.accuracy] == [1, 64]


@pytest.mark.parametrize(
    ("points", "more", "words"),
    [
        ((1, 4, 16), {}, "above 32, got 16"),
        ((64, 128), {}, "from 1 to 32, got 64"),
        ((1, 64, 64), {}, "each once"),
        ((), {}, "got none"),
        ((1, 64), {"c_max": 128}, "the highest level of --points is 64, but 128 was declared with --c-max"),
        ((2, 64), {"c_min": 1}, "--c-min"),
        (tuple(range(1, 34)), {}, "wanted 1 to 32 levels"),
    ],
)
def test_lists_that_are_refused(points: tuple[int, ...], more: dict[str, int], words: str) -> None:
    with pytest.raises(InputError, match=words):
        take(*points, **more)


# The order


def test_the_order_is_shuffled_seeded_and_round_by_round() -> None:
    labels = [level.label for level in plan(1, 256).levels]
    order = measuring_order(labels, 3, 42)
    assert order == measuring_order(labels, 3, 42)
    assert order != measuring_order(labels, 3, 43)
    rounds = [order[n : n + 8] for n in (0, 8, 16)]
    for number, one in enumerate(rounds, 1):
        assert {slot.repeat for slot in one} == {number}
        assert {slot.label for slot in one} == set(labels)
        assert [slot.label for slot in one] != labels
    assert len({tuple(slot.label for slot in one) for one in rounds}) == 3
    assert [slot_of(str(slot)) for slot in order] == list(order)
    assert (order[0].folder, str(order[8])) == (f"points/{order[0].label}", f"{order[8].label}-2")
    assert order[8].folder == f"repeats/{order[8].label}-2"


@pytest.mark.parametrize("text", ["", "r16-", "r16-1", "r16-x", "../r16", "r16/2", "r１６-２x", "r16-2-1"])
def test_a_slot_is_never_a_path(text: str) -> None:
    with pytest.raises(InputError):
        slot_of(text)
