"""The page of a whole curve: offline, without scripts, accessible, and safe with hostile values everywhere."""

from __future__ import annotations

import base64
import hashlib
import re
import xml.etree.ElementTree as ET
from itertools import pairwise
from typing import Any

import pytest
from campaign_build import made, offline_at, point_at
from report_build import HOSTILE
from test_report_html import Reader

from wholecurve.curve import line
from wholecurve.model.point import Figure, Provenance
from wholecurve.model.record import RunState
from wholecurve.report import campaign_html
from wholecurve.report.campaign_figures import bands_of, campaign_figures, curve_figure
from wholecurve.report.campaign_regions import Stretch

SVG = "{http://www.w3.org/2000/svg}"
MADE = made()
PAGE = campaign_html(MADE.view())


def safe(page: str) -> Reader:
    """What holds of every page: nothing runs, nothing is loaded, links stay in the campaign's own folder."""
    found = Reader(page)
    assert not found.unbalanced
    assert not found.open
    assert not {tag for tag, _ in found.tags} & {"script", "iframe", "object", "embed", "img", "image", "use", "form"}
    for tag, attributes in found.tags:
        for name, value in attributes.items():
            assert not name.startswith("on")
            assert name not in ("style", "src", "srcset", "action", "xlink:href", "ping")
            if name == "href":
                assert re.fullmatch(r"data:,|#[a-z]+|[a-z]+/[A-Za-z0-9_.-]+/report\.html", value or ""), (tag, value)
    ids = [attributes["id"] for _, attributes in found.tags if "id" in attributes]
    assert len(ids) == len(set(ids))
    return found


def test_the_page_is_safe_and_its_policy_allows_its_own_style_only() -> None:
    found = safe(PAGE)
    policy = next(a["content"] or "" for tag, a in found.tags if a.get("http-equiv") == "Content-Security-Policy")
    style = re.search(r"<style>(.*?)</style>", PAGE, re.DOTALL)
    assert style
    digest = base64.b64encode(hashlib.sha256(style[1].encode()).digest()).decode()
    assert f"style-src 'sha256-{digest}'" in policy
    assert policy.startswith("default-src 'none'")
    assert "url(" not in style[1]
    assert "@import" not in style[1]
    outside = {one for one in re.findall(r"https?://[^\s\"<)]+", PAGE) if one != "http://www.w3.org/2000/svg"}
    assert outside == {"http://10.0.0.7:8000/v1"}, "only the endpoint is named, as text"


def test_headings_landmarks_tables_and_charts_can_be_reached() -> None:
    found = Reader(PAGE)
    levels = [int(tag[1]) for tag, _ in found.tags if re.fullmatch(r"h[1-6]", tag)]
    assert levels.count(1) == 1
    assert all(after - before <= 1 for before, after in pairwise(levels))
    names = [tag for tag, _ in found.tags]
    assert names.count("table") == names.count("caption")
    assert {"main", "header", "nav"} <= set(names)
    figures = [attributes for tag, attributes in found.tags if tag == "figure"]
    assert len(figures) == 4
    assert all(one.get("tabindex") == "0" and one.get("aria-label") for one in figures)
    scrolled = [a for tag, a in found.tags if tag == "div" and "scroll" in (a.get("class") or "").split()]
    assert all(one.get("tabindex") == "0" and one.get("role") == "region" and one.get("aria-label") for one in scrolled)
    targets = {a["id"] for _, a in found.tags if "id" in a}
    assert {a["href"][1:] for tag, a in found.tags if tag == "a" and (a["href"] or "").startswith("#")} <= targets  # type: ignore[index]
    assert ("a", {"class": "skip", "href": "#answer"}) in found.tags


def test_every_point_is_in_the_table_with_its_link_and_the_status_is_said() -> None:
    found = Reader(PAGE)
    assert "unverified, local" in found.text
    for word in ("verified ", "official result", "provisional"):
        assert f" {word}" not in found.text
    for label in MADE.summaries:
        assert PAGE.count(f'href="points/{label}/report.html"') == 2
    rows = re.search(r'id="table".*?<tbody>(.*?)</tbody>', PAGE, re.DOTALL)
    assert rows
    assert rows[1].count("<tr") == len(MADE.summaries)


def path_corners(path: str) -> list[tuple[float, float]]:
    """The corners of a path of M, H, V and L."""
    at = (0.0, 0.0)
    found = []
    for command, rest in re.findall(r"([MHVL])([^MHVL]*)", path):
        numbers = [float(one) for one in rest.split()]
        at = {"M": lambda n, _: (n[0], n[1]), "L": lambda n, _: (n[0], n[1]), "H": lambda n, a: (n[0], a[1]),
              "V": lambda n, a: (a[0], n[0])}[command](numbers, at)  # fmt: skip
        found.append(at)
    return found


def test_the_primary_chart_is_a_step_function_through_the_measured_points() -> None:
    """S6, S7: right angles only, each corner at a measured x and a measured y, no step beyond the measured range."""
    root = ET.fromstring(curve_figure(MADE.view()).svg())
    (path,) = [
        one.get("d") or "" for one in root.iter(f"{SVG}path")
        if (one.get("class") or "") == "wc-line wc-t0" and one.get("stroke-width") != "1"
    ]  # fmt: skip
    corners = path_corners(path)
    spots = {(float(one.get("cx", "0")), float(one.get("cy", "0"))) for one in root.iter(f"{SVG}circle")}
    assert all(a[0] == b[0] or a[1] == b[1] for a, b in pairwise(corners)), "no slopes"
    assert {x for x, _ in corners} <= {x for x, _ in spots}
    assert {y for _, y in corners} <= {y for _, y in spots}
    (wanted,) = line(MADE.view().rows, "interactivity_tps", "system_tps")
    assert len(corners) == len(wanted)


def test_offline_is_a_ceiling_and_no_point() -> None:
    view = MADE.view()
    root = ET.fromstring(curve_figure(view).svg())
    named = [one for one in root.iter(f"{SVG}circle") if one.find(f"{SVG}title") is not None]
    assert len(named) == len(view.points) - 1
    assert [one for one in root.iter(f"{SVG}path") if one.get("stroke-dasharray")]
    assert any((one.text or "").startswith("Offline ") for one in root.iter(f"{SVG}text"))
    elected = made((1, 8, 64), offline=False)
    elected.points[2] = point_at(64, elected_offline=True)
    root = ET.fromstring(curve_figure(elected.view()).svg())
    assert not [one for one in root.iter(f"{SVG}path") if one.get("stroke-dasharray")]
    assert "64 · Offline" in [one.text for one in root.iter(f"{SVG}text")]


def test_a_point_that_counts_for_nothing_is_a_ring_with_its_reason_and_bends_no_step() -> None:
    made_up = made((1, 8, 64), offline=False)
    made_up.points[1] = point_at(8, provenance=Provenance("points/r8", RunState.FAILED, "reference", "ok", None))
    page = campaign_html(made_up.view())
    root = ET.fromstring(curve_figure(made_up.view()).svg())
    rings = [
        one for one in root.iter(f"{SVG}circle") if one.get("fill") == "none" and one.find(f"{SVG}title") is not None
    ]
    assert len(rings) == 1
    assert "not on the curve: run failed" in (rings[0].find(f"{SVG}title").text or "")  # type: ignore[union-attr]
    assert "r8 is not on the curve: run failed" in Reader(page).text
    for figure in campaign_figures(made_up.view()):
        (path,) = [
            one.get("d") or "" for one in ET.fromstring(figure.svg()).iter(f"{SVG}path")
            if (one.get("class") or "") == "wc-line wc-t0" and one.get("stroke-width") == "1.6"
        ]  # fmt: skip
        assert len({x for x, _ in path_corners(path)}) == 2, "from the first level to the last"


def test_regions_meet_between_their_levels() -> None:
    first, second = bands_of([Stretch("a", "Low", 2, 8), Stretch("b", "High", 9, 64)])
    assert first.high == second.low == pytest.approx((8 * 9) ** 0.5)
    assert first.low < 2
    assert second.high > 64


def case(name: str) -> Any:
    """A campaign that is not an ordinary one."""
    none = Figure(None, HOSTILE)
    bare = {"system_tps": none, "ttft_p90_ns": none, "tps_per_user": none, "output_length_mean": none}
    empty = made((), offline=False)
    if name == "33 points":
        return made([*range(1, 31), 64, 512])
    if name == "no figures":
        found = made((1, 8), offline=False)
        found.points = [point_at(level, figures=bare) for level in (1, 8)]
        return found
    if name == "falling":
        found = made((1, 8, 64), offline=False)
        values = ((1, 900.0), (8, 400.0), (64, 100.0))
        found.points = [
            point_at(k, figures={**bare, "system_tps": Figure(v), "tps_per_user": Figure(v)}) for k, v in values
        ]
        return found
    if name == "zero throughput":
        found = made((1, 8), offline=False)
        found.points = [point_at(k, figures={**bare, "system_tps": Figure(0.0)}) for k in (1, 8)]
        return found
    if name == "offline only":
        empty.points = [offline_at(50.0)]
        return empty
    return {
        "empty": empty, "one": made((16,), offline=False), "hostile": made((1, 4, 16), text=HOSTILE),
        "long": made((1, 4), text="n" * 300),
    }[name]  # fmt: skip


CASES = ("33 points", "no figures", "falling", "zero throughput", "offline only", "empty", "one", "hostile", "long")


@pytest.mark.parametrize("name", CASES)
def test_odd_campaigns_make_whole_and_safe_pages(name: str) -> None:
    view = case(name).view()
    page = campaign_html(view)
    found = safe(page)
    assert "nan" not in re.sub(r"<style>.*?</style>", "", page, flags=re.DOTALL).lower().replace("finance", "")
    assert len(page) < 400_000
    assert "None" not in found.text
    for figure in (curve_figure(view), *campaign_figures(view)):
        ET.fromstring(figure.svg())


def test_hostile_names_are_text() -> None:
    page = campaign_html(made((1, 4, 16), text=HOSTILE).view())
    assert "<script>alert" not in page
    assert "&lt;script&gt;alert(1)" in page
    assert not any(mark in page for mark in "\u202e\u2066\x1b\x07\u2028")
    assert "secret-in-a-file" not in page


def test_the_same_campaign_makes_the_same_page() -> None:
    assert campaign_html(made().view()) == PAGE
