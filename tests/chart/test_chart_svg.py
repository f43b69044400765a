"""The figure: golden geometry on tiny inputs, hostile labels, empty data, refusals, size."""

from __future__ import annotations

import math
import re
import xml.etree.ElementTree as ET
from itertools import pairwise

import pytest

from wholecurve.chart import STYLESHEET, Axis, Bar, Bars, Dots, Figure, Line, Mark, Quantity, step_points

SVG = "{http://www.w3.org/2000/svg}"
HOSTILE = "<script>alert(1)</script>\"'>&]]>\x00\x1b\ud800"


def drawn(figure: Figure) -> ET.Element:
    return ET.fromstring(figure.svg())


def texts(root: ET.Element) -> list[str]:
    return [one.text or "" for one in root.iter(f"{SVG}text")]


def paths(root: ET.Element, kind: str) -> list[str]:
    return [one.get("d", "") for one in root.iter(f"{SVG}path") if kind in (one.get("class") or "").split()]


def test_a_line_lies_where_its_axes_say() -> None:
    figure = Figure("tiny", "Tiny", "A line.", Axis("x"), Axis("y"), [Line([(0, 0), (5, 10), (10, 10)])])
    root = drawn(figure)
    # Left: 12 + 6.4 for each of the two letters of "10"; right: 420 - 14. Top: 26 + 17; floor: 260 - 42.
    assert paths(root, "wc-line") == ["M24.8 218L215.4 43H406"]
    assert texts(root) == ["Tiny", "0", "2", "4", "6", "8", "10", "x", "0", "2", "4", "6", "8", "10", "y"]


def test_bars_stand_on_zero_and_the_axis_ends_at_a_whole_step() -> None:
    figure = Figure("h", "H", "Bars.", Axis("x"), Axis("n", zero=True), [Bars([Bar(0, 5, 7), Bar(5, 10, 0)])])
    root = drawn(figure)
    group = next(one for one in root.iter(f"{SVG}g") if "wc-fill" in (one.get("class") or ""))
    # One bar of 7 on an axis to 8: 218 - 7/8 * 175; a bar of nothing is not drawn.
    assert [one.get("d") for one in group] == ["M18.4 64.9h193.2V218h-193.2z"]
    assert [one.text for one in group.iter(f"{SVG}title")] == ["7: 0 to 5"]


def test_a_step_function_keeps_its_right_angles() -> None:
    points = step_points([0, 4, 8], [1, 3, 2], end=10)
    (path,) = paths(drawn(Figure("s", "S", "Steps.", Axis("x"), Axis("y", zero=True), [Line(points)])), "wc-line")
    assert re.fullmatch(r"M[\d.]+ [\d.]+(H[\d.]+V[\d.]+){2}H[\d.]+", path)


def test_dots_are_one_path() -> None:
    root = drawn(Figure("d", "D", "Dots.", Axis("x"), Axis("y"), [Dots([(0, 0), (10, 10)])]))
    assert paths(root, "wc-line") == ["M24.8 218h0M406 43h0"]


def test_labels_of_close_marks_do_not_overlap() -> None:
    marks = [Mark(at, f"P{k} {at} ms") for k, at in enumerate((50, 52, 54))]
    root = drawn(Figure("m", "M", "Marks.", Axis("x"), Axis("y"), [Line([(0, 0), (100, 1)])], marks))
    rows = [one.get("y") for one in root.iter(f"{SVG}text") if (one.text or "").startswith("P")]
    assert len(set(rows)) == 3
    right = drawn(Figure("m", "M", "Marks.", Axis("x"), Axis("y"), [Line([(0, 0), (54, 1)])], marks))
    ends = [one.get("text-anchor") for one in right.iter(f"{SVG}text") if (one.text or "").startswith("P")]
    assert ends == ["end", "end", "end"], "at the right edge labels stand to the left of their lines"


def test_labels_of_crowded_ticks_do_not_overlap() -> None:
    axis = Axis("t", Quantity.DURATION, log=True)
    root = drawn(Figure("c", "C", "Crowded.", axis, Axis("y"), [Line([(4.4e6, 0), (18e6, 1)])]))
    places = sorted(
        (float(one.get("x", "0")), one.text) for one in root.iter(f"{SVG}text") if " ms" in (one.text or "")
    )
    assert len(places) >= 3
    assert "10 ms" in [label for _, label in places], "the roundest stays"
    assert all(right - left >= 30 for (left, _), (right, _) in pairwise(places))


def test_a_mark_on_y_widens_the_axis_and_is_named() -> None:
    mark = Mark(64, "asked for: 64", "y")
    root = drawn(Figure("m", "M", "Marks.", Axis("t"), Axis("n", zero=True), [Line([(0, 1), (9, 3)])], [mark]))
    assert "asked for: 64" in texts(root)
    assert "80" in texts(root)


def test_units_are_in_axis_titles_or_at_the_ticks_of_a_log_axis() -> None:
    line = [Line([(1e6, 0), (1e9, 5e9)])]
    both = Figure("u", "U", "Units.", Axis("t", Quantity.DURATION, log=True), Axis("d", Quantity.DURATION), line)
    assert {"1 ms", "1 s", "t (log scale)", "d (s)"} <= set(texts(drawn(both)))


def test_several_series_have_a_legend_and_differ_by_dash() -> None:
    series = [Line([(0, 0), (1, 1)], "first", 0), Line([(0, 1), (1, 0)], "second", 1)]
    root = drawn(Figure("l", "L", "Legend.", Axis("x"), Axis("y"), series))
    assert {"first", "second"} <= set(texts(root))
    lines = [one for one in root.iter(f"{SVG}path") if "wc-line" in (one.get("class") or "")]
    assert {one.get("stroke-dasharray") for one in lines} == {None, "6 3"}


def test_every_text_is_escaped() -> None:
    axis = Axis(HOSTILE)
    figure = Figure(
        "x", HOSTILE, HOSTILE, axis, axis, [Line([(0, 0), (1, 1)], HOSTILE)],
        [Mark(0.5, HOSTILE), Mark(0.5, HOSTILE, "y")],
    )  # fmt: skip
    text = figure.svg()
    assert "<script" not in text
    assert not re.search("[\x00-\x08\x0b-\x1f\ud800-\udfff]", text)
    root = drawn(figure)
    assert {one.tag.removeprefix(SVG) for one in root.iter()} <= {"svg", "title", "desc", "text", "path", "g"}
    assert (root[0].text or "").startswith("<script>alert(1)</script>")


def test_a_figure_is_accessible_and_needs_no_script_or_style_attribute() -> None:
    root = drawn(Figure("fig", "Title", "What it shows.", Axis("x"), Axis("y"), [Line([(0, 0), (1, 1)])]))
    assert root.get("role") == "img"
    assert root.get("aria-labelledby") == "fig-title fig-desc"
    named = {one.get("id"): one.text for one in root if one.get("id")}
    assert named == {"fig-title": "Title", "fig-desc": "What it shows."}
    for one in root.iter():
        assert not any(name == "style" or name.startswith("on") or "href" in name for name in one.keys())  # noqa: SIM118


@pytest.mark.parametrize("series", [[], [Line([])], [Bars([]), Dots([])]])
def test_without_data_a_figure_says_so(series: list[Line | Bars | Dots]) -> None:
    assert texts(drawn(Figure("e", "Empty", "Nothing.", Axis("x"), Axis("y"), series))) == ["Empty", "no data"]
    figure = Figure("e", "Empty", "Nothing.", Axis("x"), Axis("y"), series, empty="not measured (why)")
    assert texts(drawn(figure)) == ["Empty", "not measured (why)"]


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
def test_what_is_no_number_is_refused(bad: float) -> None:
    for one in (Line([(0, bad), (1, 1)]), Dots([(bad, 0)]), Bars([Bar(0, 1, bad)])):
        with pytest.raises(ValueError):
            Figure("n", "N", "NaN.", Axis("x"), Axis("y"), [one]).svg()


def test_a_log_axis_with_zero_is_refused() -> None:
    for x, y in ((Axis("x", log=True), Axis("y")), (Axis("x"), Axis("y", log=True))):
        with pytest.raises(ValueError, match="logarithmic"):
            Figure("z", "Z", "Zero.", x, y, [Line([(0, 0), (1, 1)])]).svg()


@pytest.mark.parametrize("name", ["", "A", "a b", '"><script>', "1x"])
def test_a_name_that_is_no_identifier_is_refused(name: str) -> None:
    with pytest.raises(ValueError, match="figure name"):
        Figure(name, "T", "D", Axis("x"), Axis("y")).svg()


@pytest.mark.parametrize("series", [Line([(7, 7)]), Bars([Bar(128, 128, 4)]), Dots([(0, 0)])])
def test_one_value_is_drawn(series: Line | Bars | Dots) -> None:
    assert drawn(Figure("o", "O", "One.", Axis("x"), Axis("y", zero=True), [series]))


def test_a_long_series_stays_small_and_keeps_its_peak() -> None:
    points = [(float(k), 1000.0 if k == 54_321 else float(k % 7)) for k in range(100_000)]
    text = Figure("big", "Big", "Long.", Axis("x"), Axis("y", zero=True), [Line(points)]).svg()
    assert len(text) < 15_000
    (path,) = paths(ET.fromstring(text), "wc-line")
    assert re.search(r"[ V]43(?!\d|\.)", path), "the peak reaches the top of the axis"


def test_the_style_sheet_has_light_dark_and_print_and_loads_nothing() -> None:
    assert "prefers-color-scheme:dark" in STYLESHEET
    assert "@media print" in STYLESHEET
    assert "url(" not in STYLESHEET
    assert "@import" not in STYLESHEET
