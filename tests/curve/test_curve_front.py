"""The front and the step function: no member is beaten, nothing is invented, axes are chosen anew each time."""

from __future__ import annotations

import itertools
from typing import Any

import pytest
from curve_build import MS, RISING, curve, curves, figure, plain, point, some_limits
from hypothesis import given, settings
from hypothesis import strategies as st

from wholecurve.curve import KEYS, Row, c_bounds, front, left_out, line, passes, rank, steps, value_at
from wholecurve.curve.decide import Limit, limits_of
from wholecurve.model.curve import Curve
from wholecurve.model.errors import InputError
from wholecurve.model.record import RunState

AXES = ("concurrency", "ttft_p90_ns", "interactivity_tps", "system_tps")


def beats(one: Row, other: Row, x: str, y: str) -> bool:
    sign = {key: 1 if KEYS[key]["better"] == "high" else -1 for key in (x, y)}
    gains = [sign[key] * (one[key] - other[key]) for key in (x, y)]
    return min(gains) >= 0 and max(gains) > 0


@settings(max_examples=150, deadline=None)
@given(curves(), curves("b"), st.permutations(AXES), some_limits)
def test_front_members_are_not_beaten_and_everything_else_is(
    one: Curve, other: Curve, axes: list[str], limits: list[Limit]
) -> None:
    x, y = axes[:2]
    _, rows = plain(one, other)
    found = front(rows, x, y, limits)
    placed = [row for row in rows if passes(row, limits) and row[x] is not None and row[y] is not None]
    kept = [row for row in placed if any(member["id"] == row["id"] for member in found)]
    assert not any(beats(row, member, x, y) for row in placed for member in kept)
    for row in placed:
        equal = any((row[x], row[y]) == (member["x"], member["y"]) for member in found)
        assert equal or any(beats(member, row, x, y) for member in kept)
    not_beaten = [row for row in placed if not any(beats(other_row, row, x, y) for other_row in placed)]
    assert sum(member["count"] for member in found) == len(not_beaten)
    assert [member["x"] for member in found] == sorted({member["x"] for member in found})


@settings(max_examples=100, deadline=None)
@given(curves(), st.permutations(AXES), some_limits, st.randoms(use_true_random=False))
def test_the_front_does_not_depend_on_the_order_of_rows(
    one: Curve, axes: list[str], limits: list[Limit], shuffle: Any
) -> None:
    _, rows = plain(one)
    mixed = list(rows)
    shuffle.shuffle(mixed)
    assert front(mixed, axes[0], axes[1], limits) == front(rows, axes[0], axes[1], limits)
    assert line(mixed, axes[0], axes[1], limits) == line(rows, axes[0], axes[1], limits)


@settings(max_examples=150, deadline=None)
@given(
    st.dictionaries(st.integers(0, 8), st.one_of(st.none(), st.integers(0, 5)), max_size=6),
    st.sampled_from(["before", "after"]),
    st.floats(-1, 9),
)
def test_a_step_function_has_measured_values_only(values: dict[int, int | None], step: str, x: float) -> None:
    points: list[tuple[float, float | None]] = list(values.items())
    got = value_at(points, step, x)
    assert got is None or got in values.values()
    if x in values:
        assert got == values[int(x)]
    for stretch in steps(points, step):
        assert all(corner[1] in values.values() and corner[0] in values for corner in stretch)
        for before, after in itertools.pairwise(stretch):
            assert (before[0] == after[0]) or (before[1] == after[1])  # never a slope


def test_cmp_6_the_front_is_worked_out_again_for_other_axes() -> None:
    """The level at 8 is best in speed for its throughput, and beaten where TTFT counts."""
    _, rows = plain(curve((1, 50, 100, 100), (8, 300, 80, 640), (64, 150, 40, 2560)))
    speed = [one["concurrency"] for one in front(rows, "interactivity_tps", "system_tps")]
    first = front(rows, "ttft_p90_ns", "system_tps")
    assert speed == [64, 8, 1]
    assert [one["concurrency"] for one in first] == [1, 64]
    assert [one["y"] for one in first] == sorted(one["y"] for one in first)


def test_a_point_without_a_value_is_listed_not_lost() -> None:
    _, rows = plain(curve((1, None, 50, 1000), (8, 80, 40, None), (64, 90, 30, 3000)))
    assert [one["concurrency"] for one in front(rows, "ttft_p90_ns", "system_tps")] == [64]
    assert left_out(rows, "ttft_p90_ns", "system_tps") == [
        {"id": "a/r1", "key": "ttft_p90_ns", "why": "no answer was streamed"},
        {"id": "a/r8", "key": "system_tps", "why": "no answer was streamed"},
    ]
    assert left_out(rows, "tps_per_node", "system_tps")[0]["why"] == "not reported"
    assert front(rows, "tps_per_node", "system_tps") == []


def test_the_line_over_concurrency_breaks_where_a_level_fails() -> None:
    _, rows = plain(curve(*RISING[:2], (16, 500, 60, 900), *RISING[2:]))
    assert line(rows, "concurrency", "system_tps", limits_of(200 * MS)) == [
        [(1, 100), (8, 100), (8, 640), (16, 640)],
        [(64, 2560), (512, 2560)],
    ]


@pytest.mark.parametrize(("x", "y"), [("latency", "system_tps"), ("system_tps", "asked_rate_per_s"), ("qps", "qps")])
def test_unknown_and_equal_axes_are_refused(x: str, y: str) -> None:
    with pytest.raises(InputError, match=r"wanted (an axis|two different axes)"):
        front([], x, y)
    with pytest.raises(InputError, match=r"wanted (an axis|two different axes)"):
        left_out([], x, y)


@pytest.mark.parametrize(
    ("levels", "declared", "expected", "note"),
    [
        ((), None, (None, None), "no level was measured"),
        ((), 64, (None, 64), "no level was measured"),
        ((4, 64), None, (4, 64), "no highest concurrency is declared; the highest measured level stands for it"),
        ((4, 64), 64, (4, 64), ""),
        ((4, 64), 60, (4, 60), "the declared highest concurrency is not the highest measured level"),
        ((4, 64), 4, (4, 4), "the declared highest concurrency is not the highest measured level"),
        ((4, 64), 2, (4, 2), "the declared highest concurrency lies below every measured level"),
        ((1, 33), 33, (1, 33), ""),
        ((1, 100_000), 100_000, (1, 100_000), ""),
    ],
)
def test_c_min_and_c_max(levels: tuple[int, ...], declared: int | None, expected: Any, note: str) -> None:
    _, rows = plain(curve(*[(level,) for level in levels]))
    found = c_bounds(rows, declared)
    assert ((found["c_min"], found["c_max"]), found["note"]) == (expected, note)
    assert found["declared"] is (declared is not None)


def test_c_bounds_count_neither_offline_nor_what_does_not_count() -> None:
    broken = point(1, state=RunState.FAILED)
    _, rows = plain(curve(broken, point(2), point(8), point(64, client="client-limited")))
    found = c_bounds(rows)
    assert (found["c_min"], found["c_max"]) == (2, 8)
    assert [row["barred"] for row in rows] == [
        "run failed",
        "",
        "",
        "client-limited: the client was measured, not the endpoint",
    ]


def test_an_empty_curve_answers_everything_honestly() -> None:
    heads, rows = plain(curve())
    assert (rows, front(rows, "ttft_p90_ns", "system_tps"), line(rows, "concurrency", "system_tps")) == ([], [], [])
    assert rank(heads, rows)["failed"] == [{"curve": "s1/a/chat", "why": "no level was measured", "nearest": None}]
    assert rank([], [])["places"] == []


def test_all_null_figures_are_reasons_not_numbers() -> None:
    heads, rows = plain(curve(*[point(level, None, None, figure(None), length=None) for level in (1, 8)]))
    assert front(rows, "interactivity_tps", "system_tps") == []
    (failed,) = rank(heads, rows)["failed"]
    assert failed["why"] == "not reported"
    assert failed["nearest"]["misses"][0]["got"] is None
    assert line(rows, "concurrency", "system_tps") == []
