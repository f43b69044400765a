"""Measured points, region bands, the ceiling and the small charts of a table: golden places, and no two labels on
each other."""

from __future__ import annotations

import math
import re
import xml.etree.ElementTree as ET
from itertools import combinations, pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from wholecurve.chart import (
    Axis,
    Band,
    Bar,
    Figure,
    Line,
    Mark,
    Quantity,
    Scale,
    Spot,
    Spots,
    spark,
    spark_axis,
)
from wholecurve.chart.spots import LABEL_CHAR, Box, place_labels

SVG = "{http://www.w3.org/2000/svg}"
HOSTILE = "<script>alert(1)</script>\"'>&]]>\x00\x1b\ud800"


def drawn(figure: Figure) -> ET.Element:
    return ET.fromstring(figure.svg())


def circles(root: ET.Element) -> list[tuple[float, float, bool]]:
    """(x, y, filled) of every point, the samples of a legend among them."""
    return [
        (float(one.get("cx", "nan")), float(one.get("cy", "nan")), "wc-fill" in (one.get("class") or ""))
        for one in root.iter(f"{SVG}circle")
    ]


def texts(root: ET.Element) -> list[str]:
    return [one.text or "" for one in root.iter(f"{SVG}text")]


def chart(spots: list[Spot], **more: object) -> Figure:
    return Figure("s", "S", "Points.", Axis("x"), Axis("y"), [Spots(spots)], **more)  # type: ignore[arg-type]


def test_points_lie_where_the_axes_say_and_rings_are_not_filled() -> None:
    root = drawn(chart([Spot(0, 0, "a"), Spot(10, 10, "b", hollow=True)]))
    # As for dots: left 24.8, right 406, floor 218, top 43.
    assert circles(root) == [(24.8, 218, True), (406, 43, False)]
    assert {"a", "b"} <= set(texts(root))


def test_whiskers_end_at_the_interval_and_widen_the_axis() -> None:
    root = drawn(chart([Spot(0, 0), Spot(10, 5, y_ends=(0, 10), x_ends=(8, 12))]))
    path = next(one.get("d") or "" for one in root.iter(f"{SVG}path") if "L" in (one.get("d") or ""))
    strokes = [tuple(map(float, re.findall(r"[\d.]+", part))) for part in path.split("M")[1:]]
    up, across = strokes[0], strokes[3]
    x = Scale(0, 12, 24.8, 406)
    assert up == pytest.approx((x(10), 218, x(10), 43), abs=0.06)
    assert (across[0], across[2]) == pytest.approx((x(8), x(12)), abs=0.06)


def test_each_point_says_what_it_is() -> None:
    root = drawn(chart([Spot(1, 2, "16", says="concurrency 16: " + HOSTILE)]))
    (title,) = [one.text or "" for circle in root.iter(f"{SVG}circle") for one in circle.iter(f"{SVG}title")]
    assert title.startswith("concurrency 16: <script>")
    assert "\x1b" not in title


def test_a_legend_shows_a_ring_for_points_that_do_not_count() -> None:
    series = [Spots([Spot(0, 0)], "measured"), Spots([Spot(1, 1, hollow=True)], "not on the curve", 4)]
    root = drawn(Figure("s", "S", "Points.", Axis("x"), Axis("y"), series))
    assert [filled for _, _, filled in circles(root)] == [True, False, True, False]
    assert {"measured", "not on the curve"} <= set(texts(root))


@given(
    st.lists(st.tuples(st.floats(0, 400), st.floats(0, 200)), min_size=1, max_size=33),
    st.lists(st.integers(1, 100_000), min_size=33, max_size=33),
)
@settings(max_examples=60, deadline=None)
def test_labels_lie_on_no_label_no_point_and_inside(places: list[tuple[float, float]], names: list[int]) -> None:
    spots = [Spot(x, y, f"{name:,}") for (x, y), name in zip(places, names, strict=False)]
    room, taken = Box(0, 0, 420, 220), Box(300, 0, 420, 12)
    found = place_labels(spots, Scale(0, 400, 10, 410), Scale(0, 200, 210, 10), room=room, taken=[taken])
    boxes = []
    for one in found:
        width = LABEL_CHAR * len(one.text)
        left = one.x - {"start": 0, "middle": width / 2, "end": width}[one.anchor]
        boxes.append(Box(left, one.y - 9, left + width, one.y + 2))
    assert not any(one.meets(other) for one, other in combinations(boxes, 2))
    assert not any(one.meets(taken) for one in boxes)
    assert all(box.left >= -0.01 and box.right <= 420.01 and box.top >= -0.01 and box.bottom <= 220.01 for box in boxes)
    points = [(10 + x, 210 - y) for x, y in places]
    assert not any(box.left < x < box.right and box.top < y < box.bottom for box in boxes for x, y in points)


def test_a_label_keeps_off_the_line_where_it_can() -> None:
    spot = [Spot(50, 50, "16")]
    scales = Scale(0, 100, 0, 100), Scale(0, 100, 100, 0)
    room = Box(0, 0, 100, 100)
    (free,) = place_labels(spot, *scales, room=room)
    (moved,) = place_labels(spot, *scales, room=room, strokes=[((50, 45), (100, 45))])
    assert (free.x, free.y) == (56, 45)
    assert moved.anchor == "end"


def test_first_and_last_are_labelled_before_the_rest() -> None:
    crowded = [Spot(k * 0.01, 50, f"{k}") for k in range(30)]
    found = place_labels(crowded, Scale(0, 1, 0, 100), Scale(0, 100, 100, 0), room=Box(-40, 0, 140, 100))
    assert {"0", "29"} <= {one.text for one in found}
    assert len(found) < 30, "labels without room are left out"


def test_a_ceiling_is_broken_spans_the_chart_and_is_named() -> None:
    line = Line([(0, 10), (5, 10), (5, 20), (10, 20)])
    figure = Figure("c", "C", "A ceiling.", Axis("x"), Axis("y", zero=True), [line], [Mark(30, "Offline 30", "y")])
    root = drawn(figure)
    ceiling = [one for one in root.iter(f"{SVG}path") if one.get("stroke-dasharray")]
    assert len(ceiling) == 1
    assert re.fullmatch(r"M[\d.]+ [\d.]+H406", ceiling[0].get("d") or "")
    assert "Offline 30" in texts(root)
    steps = next(one for one in root.iter(f"{SVG}path") if "wc-t0" in (one.get("class") or ""))
    assert not steps.get("stroke-dasharray"), "the ceiling is drawn otherwise than the steps"


def test_the_name_of_a_ceiling_at_the_top_stands_below_it() -> None:
    def baseline(top: float) -> tuple[float, float]:
        figure = Figure("c", "C", "C.", Axis("x"), Axis("y", zero=True, high=100), [Line([(0, 1), (1, 1)])],
                        [Mark(top, "Offline", "y")])  # fmt: skip
        root = drawn(figure)
        path = next(one.get("d") or "" for one in root.iter(f"{SVG}path") if one.get("stroke-dasharray"))
        line = float(re.findall(r"[\d.]+", path)[1])
        return line, float(next(one.get("y", "0") for one in root.iter(f"{SVG}text") if one.text == "Offline"))

    line, text = baseline(99.5)
    assert text > line
    line, text = baseline(50)
    assert text < line


def test_bands_are_named_where_there_is_room_and_clipped_to_the_axis() -> None:
    bands = [
        Band(0.5, 1.4, "Ultra Low", "UL"),
        Band(1.4, 8, "Low", "L"),
        Band(8, 500, "High", "H"),
        Band(900, 990, "x"),
    ]
    axis = Axis("concurrency", log=True, low=1, high=128, ticks=(1, 8, 128))
    root = drawn(Figure("b", "B", "Bands.", axis, Axis("y"), [Line([(1, 1), (128, 2)])], bands=bands))
    shapes = [one.get("d") or "" for one in root.iter(f"{SVG}path") if one.get("class") == "wc-band"]
    assert len(shapes) == 2, "every other one is shaded, and one beyond the axis is not drawn"
    assert all(20 <= float(x) <= 406 for shape in shapes for x in re.findall(r"[MH]([\d.]+)", shape))
    assert {"UL", "Low", "High"} <= set(texts(root))
    assert "x" not in texts(root)


def test_ticks_stand_at_the_measured_levels() -> None:
    axis = Axis("concurrency", log=True, ticks=(1, 4, 24, 32, 1024))
    found = texts(drawn(Figure("t", "T", "Ticks.", axis, Axis("y"), [Line([(1, 1), (1024, 2)])])))
    assert {"1", "4", "1,024"} <= set(found)
    assert len({"24", "32"} & set(found)) == 1, "of two that would touch one stays"
    assert "10" not in found


def test_a_spark_has_its_bars_on_the_shared_range() -> None:
    root = ET.fromstring(spark("a-1", "TTFT at 16", [Bar(10, 20, 5), Bar(20, 40, 10)], (10, 1000), [(100, 1)]))
    (fill,) = [one for one in root.iter(f"{SVG}path") if "wc-fill" in (one.get("class") or "")]
    starts = [float(x) for x in re.findall(r"M([\d.]+) ", fill.get("d") or "")]
    x = Scale(10, 1000, 4, 166, log=True)
    assert starts == pytest.approx([4, x(20)], abs=0.06)
    assert root.find(f"{SVG}title").text == "TTFT at 16"  # type: ignore[union-attr]
    (mark,) = [one.get("d") or "" for one in root.iter(f"{SVG}path") if "wc-t1" in (one.get("class") or "")]
    assert float(re.findall(r"M([\d.]+)", mark)[0]) == pytest.approx(x(100), abs=0.06)


def test_a_spark_without_bars_and_with_values_off_its_range_is_still_drawn() -> None:
    root = ET.fromstring(spark("a", HOSTILE, [], (1, 10), [(0.1, 1), (99, 2)]))
    assert "<script>" in (root.find(f"{SVG}title").text or "")  # type: ignore[union-attr]
    places = [float(x) for one in root.iter(f"{SVG}path") for x in re.findall(r"M([\d.]+)", one.get("d") or "")]
    assert all(0 <= place <= 170 for place in places)


@pytest.mark.parametrize("ends", [(1e6, 1e9), (10.5e6, 11.9e6), (1.0, 2.0), (4e7, 3e8)])
def test_the_axis_of_sparks_has_ticks_that_do_not_touch(ends: tuple[float, float]) -> None:
    root = ET.fromstring(spark_axis(ends, Quantity.DURATION))
    found = [(float(one.get("x", "nan")), one.text or "") for one in root.iter(f"{SVG}text")]
    assert found
    spans = [(at - 3 * len(text), at + 3 * len(text)) for at, text in found]
    assert all(a[1] <= b[0] for a, b in pairwise(spans))
    assert all(left >= -1 and right <= 171 for left, right in spans)


def test_nothing_that_cannot_be_placed_is_drawn() -> None:
    with pytest.raises(ValueError, match="finite"):
        chart([Spot(0, 0), Spot(1, math.nan)]).svg()
    with pytest.raises(ValueError, match="logarithmic"):
        Figure("s", "S", "S.", Axis("x", log=True), Axis("y"), [Spots([Spot(0, 1)])]).svg()


def test_the_label_of_a_horizontal_line_goes_to_the_end_where_nothing_is_in_its_way() -> None:
    """Points at the right end of a ceiling: its label stands at the left."""

    def anchors(values: list[float]) -> list[str]:
        spots = Spots([Spot(at, 100.0) for at in values])
        axes = Axis("x", zero=True), Axis("y", zero=True)
        drawn = Figure("a", "a", "a", *axes, [spots], [Mark(100.0, "Offline 100", "y")]).svg()
        return re.findall(r'text-anchor="(\w+)"[^>]*>Offline 100<', drawn)

    assert anchors([9.0, 9.5, 10.0]) == ["start"]
    assert anchors([0.0, 0.5, 1.0, 10.0]) == ["end"], "one point at the right, three at the left"
