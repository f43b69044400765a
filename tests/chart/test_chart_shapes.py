"""Scales, ticks and shapes: values one can check in the head, and refusals."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wholecurve.chart import (
    Bar,
    Quantity,
    Scale,
    bars,
    ecdf,
    linear_ticks,
    log_ticks,
    measure,
    number,
    span,
    step_points,
    thin,
    unit_ticks,
)


@pytest.mark.parametrize(
    ("scale", "value", "place"),
    [
        (Scale(0, 10, 100, 200), 0, 100),
        (Scale(0, 10, 100, 200), 2.5, 125),
        (Scale(0, 10, 200, 100), 10, 100),
        (Scale(0, 10, 0, 100), 20, 200),
        (Scale(1, 100, 0, 100, log=True), 10, 50),
        (Scale(0.1, 1000, 0, 80, log=True), 1, 20),
    ],
)
def test_scale_places_values(scale: Scale, value: float, place: float) -> None:
    assert scale(value) == pytest.approx(place)


@pytest.mark.parametrize(
    ("low", "high", "log"),
    [(0, 10, True), (-1, 10, True), (5, 5, False), (6, 5, False), (math.nan, 5, False), (0, math.inf, False)],
)
def test_scale_refuses_spans_it_cannot_draw(low: float, high: float, log: bool) -> None:
    with pytest.raises(ValueError):
        Scale(low, high, 0, 100, log)


@pytest.mark.parametrize(("log", "value"), [(True, 0), (True, -3), (False, math.nan), (False, -math.inf)])
def test_scale_refuses_values_it_cannot_place(log: bool, value: float) -> None:
    with pytest.raises(ValueError):
        Scale(1, 10, 0, 100, log)(value)


@pytest.mark.parametrize(
    ("values", "log", "zero", "wanted"),
    [
        ([3, 1, 2], False, False, (1, 3)),
        ([3, 1, 2], False, True, (0, 3)),
        ([7], False, True, (0, 7)),
        ([50], False, False, (45, 55)),
        ([0], False, True, (-1, 1)),
        ([8], True, False, (4, 16)),
        ([8, 2], True, True, (2, 8)),
    ],
)
def test_span_holds_all_values_and_is_never_empty(
    values: list[float], log: bool, zero: bool, wanted: tuple[float, float]
) -> None:
    assert span(values, log=log, zero=zero) == wanted


@pytest.mark.parametrize(("values", "log"), [([], False), ([1, math.nan], False), ([0, 1], True)])
def test_span_refuses(values: list[float], log: bool) -> None:
    with pytest.raises(ValueError):
        span(values, log=log)


@pytest.mark.parametrize(
    ("low", "high", "wanted"),
    [
        (0, 10, [0, 2, 4, 6, 8, 10]),
        (0, 64, [0, 20, 40, 60]),
        (0, 1, [0, 0.2, 0.4, 0.6, 0.8, 1.0]),
        (15.5, 19.4, [16, 17, 18, 19]),
        (-5, 5, [-4, -2, 0, 2, 4]),
    ],
)
def test_linear_ticks_are_round(low: float, high: float, wanted: list[float]) -> None:
    assert linear_ticks(low, high) == pytest.approx(wanted)


def test_counted_things_have_no_half_ticks() -> None:
    assert linear_ticks(0, 2, whole=True) == [0, 1, 2]
    assert [label for _, label in unit_ticks(0, 1, Quantity.REQUESTS)] == ["0", "1"]


@given(st.floats(1e-3, 1e12), st.floats(1e-3, 1e12))
def test_linear_ticks_lie_inside_and_are_few(a: float, b: float) -> None:
    low, high = min(a, b), max(a, b) * 1.01
    found = linear_ticks(low, high)
    assert len(found) <= 6
    assert all(low - 1e-6 * high <= tick <= high * (1 + 1e-6) for tick in found)


@pytest.mark.parametrize(
    ("low", "high", "wanted"),
    [
        (95, 421, [100, 200, 300, 400]),
        (1, 10, [1, 2, 3, 5, 7, 10]),
        (1, 100, [1, 3, 10, 30, 100]),
        (1, 1e6, [1, 100, 10_000, 1e6]),
        (5.1, 5.9, []),
    ],
)
def test_log_ticks(low: float, high: float, wanted: list[float]) -> None:
    assert log_ticks(low, high) == pytest.approx(wanted)


@pytest.mark.parametrize(
    ("value", "quantity", "wanted"),
    [
        (0, Quantity.DURATION, "0 ns"),
        (45_300, Quantity.DURATION, "45.3 µs"),
        (250e6, Quantity.DURATION, "250 ms"),
        (1.25e9, Quantity.DURATION, "1.25 s"),
        (900e9, Quantity.DURATION, "15 min"),
        (5 * 3600e9, Quantity.DURATION, "5 h"),
        (0.4, Quantity.SHARE, "40 %"),
        (128, Quantity.TOKENS, "128 tokens"),
        (3075, Quantity.TOKENS_PER_S, "3,075 tokens/s"),
        (12_000, Quantity.NUMBER, "12k"),
    ],
)
def test_measure_writes_value_and_unit(value: float, quantity: Quantity, wanted: str) -> None:
    assert measure(value, quantity) == wanted


@pytest.mark.parametrize(
    ("value", "step", "largest", "wanted"),
    [
        (0.4, 0.2, 0, "0.4"), (4000, 1000, 0, "4,000"), (5000, 5000, 25_000, "5k"), (1_500_000, 500_000, 0, "1.5M"),
        (0, 1, 0, "0"),
    ],
)  # fmt: skip
def test_number(value: float, step: float, largest: float, wanted: str) -> None:
    assert number(value, step, largest) == wanted


def test_ticks_of_an_axis_share_one_unit() -> None:
    assert unit_ticks(0, 2e9, Quantity.DURATION) == [
        (0, "0"), (0.5e9, "0.5"), (1e9, "1"), (1.5e9, "1.5"), (2e9, "2"),
    ]  # fmt: skip


def test_step_points_hold_each_level_until_the_next_time() -> None:
    assert step_points([0, 5, 9], [1, 3, 2], end=10) == [(0, 1), (5, 1), (5, 3), (9, 3), (9, 2), (10, 2)]
    assert step_points([], []) == []


def test_ecdf_is_a_share_at_or_below() -> None:
    assert ecdf([4, 1, 4, 2]) == [(1, 0), (1, 0.25), (2, 0.25), (2, 0.5), (4, 0.5), (4, 1)]
    assert ecdf([]) == []


def test_bars_narrower_than_one_token_are_joined() -> None:
    buckets = [(1.0, 1.5), (1.5, 2.2), (2.2, 4.0), (4.0, 4.3)]
    assert bars(buckets, [5, 1, 7, 2], narrowest=1) == [Bar(1.0, 2.2, 6), Bar(2.2, 4.3, 9)]
    assert [bar.height for bar in bars(buckets, [5, 1, 7, 2])] == [5, 1, 7, 2]


@pytest.mark.parametrize("bad", [math.nan, math.inf])
def test_shapes_refuse_what_is_no_number(bad: float) -> None:
    for shape in (lambda: step_points([0, bad], [1, 1]), lambda: ecdf([1, bad]), lambda: bars([(0, 1)], [bad])):
        with pytest.raises(ValueError):
            shape()


def test_shapes_refuse_lists_of_different_lengths() -> None:
    with pytest.raises(ValueError, match="as many levels"):
        step_points([0, 1], [1])
    with pytest.raises(ValueError, match="as many counts"):
        bars([(0, 1)], [])


@given(st.lists(st.tuples(st.floats(0, 1e6), st.floats(-1e6, 1e6)), max_size=300), st.integers(4, 60))
def test_thinning_keeps_extremes_ends_and_order(raw: list[tuple[float, float]], limit: int) -> None:
    points = sorted(raw)
    kept = thin(points, limit)
    assert len(kept) <= max(limit, 4)
    assert all(one in points for one in kept)
    assert [x for x, _ in kept] == sorted(x for x, _ in kept)
    if points:
        heights = [y for _, y in kept]
        assert (min(heights), max(heights)) == (min(y for _, y in points), max(y for _, y in points))
        assert (kept[0], kept[-1]) == (points[0], points[-1])
