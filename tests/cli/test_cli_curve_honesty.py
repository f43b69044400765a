"""What `pick`, `compare` and `accept` must not keep to themselves, and what they must not do to a screen."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from cli_curves import RISING, WHO, around, curve, named, point, write
from rich.cells import cell_len

from wholecurve.cli.curve_files import folded, number_text
from wholecurve.cli.main import main
from wholecurve.model.curve import Curve
from wholecurve.model.point import Figure, Point, Power, Standing
from wholecurve.model.status import Status


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In an empty folder, on a terminal of 80 columns."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")


def put(name: str, *levels: Any, **more: Any) -> str:
    return write(Path(name), curve(*levels, **more))


def said(capsys: pytest.CaptureFixture[str], *arguments: str, code: int = 0) -> str:
    """On stdout, in one line; every line fits the terminal."""
    assert main(arguments) == code
    streams = capsys.readouterr()
    assert "Traceback" not in streams.err
    assert all(cell_len(line) <= 80 for line in streams.out.splitlines())
    return " ".join((streams.err if code == 2 else streams.out).split())


def from_usage(one: Point) -> Point:
    return replace(one, provenance=replace(one.provenance, token_source="usage"))


def unsteady(one: Point, verdict: str | None) -> Point:
    return replace(one, provenance=replace(one.provenance, steady_verdict=verdict))


# -- pick --------------------------------------------------------------------------------------------------------------


def test_counts_of_the_endpoint_itself_are_told(capsys: pytest.CaptureFixture[str]) -> None:
    one = put("a", (8, 80, 80, 640))
    assert "own count" not in said(capsys, "pick", one)
    own = put("b", from_usage(point(named("Beta"), 8, 80, 80, 700)), who=named("Beta"))
    assert "Tokens are the endpoints' own count, which is never official" in said(capsys, "pick", own)
    assert "Tokens of Beta are the endpoint's own count, the others" in said(capsys, "pick", one, own)


def test_answers_of_different_length_are_told(capsys: pytest.CaptureFixture[str]) -> None:
    one = put("a", point(WHO, 8, 80, 80, 640, length=500))
    other = put("b", point(named("Beta"), 8, 80, 80, 640, length=520), who=named("Beta"))
    assert "differ in length" not in said(capsys, "pick", one, other)
    other = put("b", point(named("Beta"), 8, 80, 80, 640, length=32), who=named("Beta"))
    words = (
        "Answers differ in length by more than 5 %, so token rates are not of the same work: Alpha 500, Beta 32 tokens"
    )
    assert words in said(capsys, "pick", one, other)


@pytest.mark.parametrize(
    ("verdict", "words"),
    [
        ("STEADY STATE", None),
        ("drifting_up", "not steady, drifting up"),
        ("not found", "no steady state found"),
        (None, "steady state not looked for"),
    ],
)
def test_a_winner_that_was_not_steady_says_so(
    capsys: pytest.CaptureFixture[str], verdict: str | None, words: str | None
) -> None:
    out = said(capsys, "pick", put("a", unsteady(point(WHO, 8, 80, 80, 640), verdict)))
    assert words is None or words in out
    assert (words is None) == ("stead" not in out)


def test_a_winner_whose_window_was_too_short_says_so(capsys: pytest.CaptureFixture[str]) -> None:
    one = unsteady(point(WHO, 8, 80, 80, 640), "STEADY STATE")
    assert "whole run" not in said(capsys, "pick", put("a", one))
    short = replace(one, notes=("figures over the whole run: the steady window spans 5 s of issue time, wanted 6 s",))
    assert "steady window too short: whole run" in said(capsys, "pick", put("b", short))


def test_what_all_curves_are_of_is_said(capsys: pytest.CaptureFixture[str]) -> None:
    who = named("Alpha", data_set_hash="0123456789abcdef" * 4, division=None)
    out = said(capsys, "pick", put("a", *RISING, who=who))
    assert "All of this is of: chat, rules v1_0 E3, division not stated, data set 0123456789ab…." in out


def test_power_shows_how_it_was_added_up(capsys: pytest.CaptureFixture[str]) -> None:
    name = put("a", *RISING, power=Power(12.5, "component sum; overhead 0.5", estimated=True))
    assert "12.5 kW (estimated, component sum; overhead 0.5)" in said(capsys, "pick", name, "--per", "kw")
    assert "12.5 kW" not in said(capsys, "pick", name)


def test_a_limit_on_a_derived_figure_needs_no_per_and_is_tagged(capsys: pytest.CaptureFixture[str]) -> None:
    """5120 tokens/s over 10 kW are 512, 2560 are 256."""
    name = put("a", *RISING)
    out = said(capsys, "pick", name, "--limit", "system_tps_per_kw>=256", "--limit", "ttft_p90_ns<=500ms")
    assert re.search(r"1 Alpha 64 150 ms 40\.0 2,560 ", out)
    assert "throughput per kW (system_tps_per_kw): official normalisation" in out
    out = said(capsys, "pick", name, "--limit", "usd_per_million_output_tokens<=1", "--price", "36/system/h", code=1)
    assert "derived, unverified" in out
    assert main(["pick", name, "--limit", "tps_per_node>=5000", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert [one["column"] for one in found["limits_normalised"]] == ["tps_per_node"]
    error = said(capsys, "pick", name, "--limit", "output_tokens_per_usd>=1", code=2)
    assert "--limit output_tokens_per_usd: wanted --price too" in error


@pytest.mark.parametrize(
    ("flags", "words"),
    [
        (["--ttft-p90", "-5ms"], "--ttft-p90: wanted a duration of zero or more, got '-5ms'"),
        (["--interactivity", "-5"], "--interactivity: wanted a number above 0"),
        (["--concurrency", "-3"], "--concurrency: wanted a whole number of 1 or more, got '-3'"),
        (["--users", "-3"], "--users: wanted a whole number"),
        (["--per", "usd", "--price", "-1/system/h"], "--price: wanted a price with its unit, got '-1/system/h'"),
        (["--per", "usd", "--price", "9" * 30 + "/system/h"], "at most 1e+09 $/h"),
        (["--limit", "system_tps>=1e300"], "at most 1e+18"),
        (["--ttft-p90", "30ms", "--limit", "ttft_p90_ns>=50ms"], "TTFT P90 at least 50 ms and at most 30 ms"),
    ],
)
def test_a_value_is_refused_for_what_it_is(capsys: pytest.CaptureFixture[str], flags: list[str], words: str) -> None:
    assert words in said(capsys, "pick", put("a", *RISING), *flags, code=2)


def test_a_curve_that_is_named_twice_is_found_out_however_it_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    put("shelf/a", *RISING)
    put("shelf/b", *RISING, who=named("Beta"))
    Path("link").symlink_to("shelf/a")
    for paths in (("shelf", "shelf/a"), ("shelf/a", "link"), ("shelf", "shelf/../shelf/b/curve.json")):
        assert "is there twice" in said(capsys, "pick", *paths, code=2)
    assert "got an empty text" in said(capsys, "pick", "shelf", "", code=2)


def test_systems_that_nobody_described_are_told_apart_by_folder(capsys: pytest.CaptureFixture[str]) -> None:
    for name, tps in (("one", 640), ("two", 960)):
        put(name, (8, 80, 80, tps), who=named("sim-curve", submission="sim-curve"))
    assert re.search(r"1 sim-curve \(two\) 8 80 ms .* 2 sim-curve \(one\) 8 80 ms", said(capsys, "pick", "one", "two"))


def test_users_are_planned_for_on_systems_without_a_place_too(capsys: pytest.CaptureFixture[str]) -> None:
    silent = put("a", *RISING, power=Power(None, reason="no system_power.json"))
    out = said(capsys, "pick", silent, "--per", "kw", "--users", "100", "--ttft-p90", "500ms", code=1)
    assert "Alpha: 2 at level 64, headroom 28.0 %" in out


def test_runs_that_differ_are_told_of_what_is_ranked_by(capsys: pytest.CaptureFixture[str]) -> None:
    name = put("a", (8, 80, around(80, 0.07), around(640, 0.02)))
    assert "runs differ by 2.0 %" in said(capsys, "pick", name)
    assert "runs differ by 7.0 %" in said(capsys, "pick", name, "--by", "interactivity_tps")


# -- compare, accept ---------------------------------------------------------------------------------------------------


def test_both_sides_show_where_they_are_and_how_they_stand(capsys: pytest.CaptureFixture[str]) -> None:
    verified = Standing(Status.VERIFIED, "1.0.3", "2026-10-21")
    one, other = put("one", (8, 80, 80, 640)), put("two", (8, 81, 80, 650), standing=verified)
    out = said(capsys, "compare", one, other)
    assert "first: s1/Alpha/chat (unverified, local), in one" in out
    assert "second: s1/Alpha/chat (verified (1.0.3, 2026-10-21)), in two" in out
    out = said(capsys, "accept", one, "--against", other)
    assert "published: s1/Alpha/chat (verified (1.0.3, 2026-10-21)), in two" in out
    assert "no registry was asked" in out
    assert "no registry was asked" not in said(capsys, "accept", other, "--against", one)


def test_what_changed_between_two_software_versions(capsys: pytest.CaptureFixture[str]) -> None:
    one, other = put("one", (8, 80, 80, 640)), put("two", (8, 81, 80, 650))
    assert "Neither side has system_desc.json" in said(capsys, "compare", one, other)
    Path("one/system_desc.json").write_text('{"serving_framework": "vLLM 0.10", "node_types": [{"driver": "570"}]}')
    assert "The second has no system_desc.json" in said(capsys, "compare", one, other)
    Path("two/system_desc.json").write_text('{"serving_framework": "vLLM 0.11\\u001b[2J", "node_types": [{}]}')
    out = said(capsys, "compare", one, "two/curve.json")
    assert "- serving_framework: vLLM 0.10, then vLLM 0.11?[2J" in out
    assert "- node_types[1].driver: 570, then not said" in out
    assert main(["compare", one, other, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["described"][1] == {
        "field": "node_types[1].driver", "before": "570", "after": None,
    }  # fmt: skip
    Path("two/system_desc.json").write_text(Path("one/system_desc.json").read_text())
    assert "Both descriptions say the same" in said(capsys, "compare", one, other)
    Path("two/system_desc.json").write_text("[" * 100_000)
    assert "The second has no system_desc.json" in said(capsys, "compare", one, other)


def test_a_copy_is_not_a_delivery(capsys: pytest.CaptureFixture[str]) -> None:
    one, other = put("one", (8, 80, 80, 640)), put("two", (8, 80, 80, 640))
    assert "one measurement, not two" in said(capsys, "accept", one, "--against", other)
    assert "one measurement, not two" in said(capsys, "compare", one, other)


def test_a_hair_beyond_the_margin_is_seen(capsys: pytest.CaptureFixture[str]) -> None:
    published = put("one", (8, 80, 80, 1000))
    out = said(capsys, "accept", put("two", (8, 80, 80, 949.9999)), "--against", published, code=1)
    assert "1,000 950 +5.00001 % fail" in out
    assert "+5.00 % pass" in said(capsys, "accept", put("two", (8, 80, 80, 950)), "--against", published)


# -- screens -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["\x1b[31mred\u202e\x9b2J", "漢字" * 30, "a\u0301" * 60, "x" * 300, "\n\r\t"])
def test_names_neither_move_the_screen_nor_leave_it(capsys: pytest.CaptureFixture[str], name: str) -> None:
    one, other = put("one", *RISING, who=named(name)), put("two", *RISING, who=named(name, data_set_hash="d2"))
    for arguments in (["pick", one, "--users", "9"], ["compare", one, one], ["accept", one, "--against", one]):
        said(capsys, *arguments)
    for arguments in (["pick", one, "two"], ["compare", one, other], ["accept", one, "--against", other]):
        assert main(arguments) == 2
        error = capsys.readouterr().err
        assert all(char.isprintable() or char == "\n" for char in error)
    assert main(["pick", one, "--json"]) == 0
    out = capsys.readouterr().out
    assert all(char.isprintable() or char == "\n" for char in out)
    assert json.loads(out)["curves"][0]["system"] == name


def test_a_number_keeps_its_unit_and_wide_letters_count_twice() -> None:
    assert folded("the headroom is 2.4 % of it", 20) == ["the headroom is", "2.4 % of it"]
    assert folded("漢字漢字漢字", 5) == ["漢字", "漢字", "漢字"]
    assert folded("a" * 25, 10, "- ", "  ") == ["- aaaaaaaa", "  aaaaaaaa", "  aaaaaaaa", "  a"]
    assert folded("", 10) == [""]
    assert all(cell_len(one) <= 20 for one in folded("漢 " * 40 + "x" * 50 + " 12 ms" * 9, 20, "", "    "))


def test_large_numbers_stay_in_their_column() -> None:
    assert (number_text(999_999_999_999), number_text(1e12), number_text(4.2e18)) == (
        "1,000,000,000,000", "1.00e+12", "4.20e+18",
    )  # fmt: skip
    assert number_text(None) == "-"


def test_the_curve_of_a_place_is_shown_and_no_other(capsys: pytest.CaptureFixture[str]) -> None:
    """Two points of one source once showed each other's figures."""
    made: Curve = curve((8, 80, 80, 640), point(WHO, 16, 90, 70, 900, source="points/r8"))
    name = write(Path("a"), made)
    assert "wanted each source once, got 'points/r8' twice" in said(capsys, "pick", name, code=2)


def test_figures_without_size_end_in_no_ranking(capsys: pytest.CaptureFixture[str]) -> None:
    name = put("a", (8, 80, 80, Figure(5e-324)), power=Power(1e-320, "declared total"))
    for per in (["--per", "usd", "--price", "2/system/h"], ["--per", "usd-total", "--price", "2/node/h"]):
        out = said(capsys, "pick", name, *per, code=1)
        assert "too large or too small a number to be meant" in out
        assert "inf" not in out
