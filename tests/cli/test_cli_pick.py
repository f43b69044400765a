"""`wholecurve pick` as a buyer types it."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from cli_console import console
from cli_curves import RISING, WHO, around, curve, named, point, write

from wholecurve.cli.main import main
from wholecurve.curve import DERIVED, OFFICIAL
from wholecurve.model.point import PointKind, Power, Standing
from wholecurve.model.status import Status

FASTER = tuple((level, ttft, speed, tps * 1.5) for level, ttft, speed, tps in RISING)


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In an empty folder, on a terminal of 80 columns."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")


@pytest.fixture
def two(tmp_path: Path) -> list[str]:
    """alpha, and beta with half as much again."""
    return [
        write(tmp_path / "alpha", curve()),
        write(tmp_path / "beta", curve(*FASTER, who=named("Beta"))),
    ]


def picked(capsys: pytest.CaptureFixture[str], *arguments: str, code: int = 0) -> dict[str, Any]:
    def refuse(word: str) -> None:
        raise AssertionError(f"{word} in JSON")

    assert main(["pick", *arguments, "--json"]) == code
    found: dict[str, Any] = json.loads(capsys.readouterr().out, parse_constant=refuse)
    assert found["schema"] == "wholecurve.pick/1"
    return found


def shown(capsys: pytest.CaptureFixture[str], *arguments: str, code: int = 0) -> str:
    assert main(["pick", *arguments]) == code
    out = capsys.readouterr().out
    assert max(map(len, out.splitlines())) <= 80, "a line is wider than the terminal"
    return out


def refused(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    assert main(["pick", *arguments]) == 2
    streams = capsys.readouterr()
    assert streams.out == ""
    assert streams.err.startswith("error: ")
    assert "Traceback" not in streams.err
    return streams.err


def test_the_best_measured_point_within_the_limits(two: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    found = picked(capsys, *two, "--ttft-p90", "150ms", "--interactivity", "40")
    assert [(one["place"], one["point"], one["value"]) for one in found["places"]] == [
        (1, "beta/points/r64", 3840), (2, "alpha/points/r64", 2560),
    ]  # fmt: skip
    # A hair below the border, and the level goes: no value between two levels is made up.
    found = picked(capsys, *two, "--ttft-p90", "149.999ms", "--interactivity", "40")
    assert [(one["point"], one["value"]) for one in found["places"]] == [
        ("beta/points/r8", 960), ("alpha/points/r8", 640),
    ]  # fmt: skip
    assert found["counts"] == {"points": 8, "passing_points": 4, "curves": 2, "passing_curves": 2}


def test_the_table_shows_point_status_and_single_runs(two: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    out = shown(capsys, *two, "--ttft-p90", "500ms", "--interactivity", "30")
    assert re.search(r"1 +Beta +64 +150 ms +40\.0 +3,840\n +beta/points/r64 · unverified, local · one run\n", out)
    assert re.search(r"2 +Alpha +64 +150 ms +40\.0 +2,560\n", out)
    assert "TTFT P90 at most 500 ms; interactivity at least 30 tokens/s" in out
    assert "verified" not in out.replace("unverified", "")
    assert "no registry" not in out


def test_a_concurrency_is_read_as_at_least(two: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    found = picked(capsys, *two, "--concurrency", "9")
    assert {one["concurrency"] for one in found["places"]} == {64}
    assert found["reading"] == "at least"
    found = picked(capsys, *two, "--concurrency", "100", "--ttft-p90", "200ms", "--reading", "systems")
    assert [(one["systems"], one["concurrency"]) for one in found["places"]] == [(2, 64), (2, 64)]
    out = shown(capsys, *two, "--concurrency", "100", "--ttft-p90", "200ms", "--reading", "systems")
    assert "systems needed" in out
    out = shown(capsys, *two, "--concurrency", "600", code=1)
    assert "not measured at this concurrency" in out


def test_nothing_passes_and_by_how_much(two: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    out = shown(capsys, *two, "--ttft-p90", "40ms", code=1)
    assert "Nothing passes" in out
    assert "TTFT P90 50 ms > 40 ms, off by 25.0 %" in " ".join(out.split())
    found = picked(capsys, *two, "--ttft-p90", "40ms", code=1)
    assert found["places"] == []
    assert [one["nearest"]["concurrency"] for one in found["failed"]] == [1, 1]
    out = shown(capsys, *two, "--ttft-p90", "1us", code=1)
    assert "50,000 times the limit" in out


@pytest.mark.parametrize(
    ("per", "more", "column", "value", "tag"),
    [
        ("kw", [], "system_tps_per_kw", 512.0, OFFICIAL),
        ("accelerator", [], "tps_per_accelerator", 640.0, DERIVED),
        ("node", [], "tps_per_node", 5120.0, DERIVED),
        ("joule", [], "joules_per_output_token", 10_000 / 5120, DERIVED),
        ("usd", ["--price", "2.5/accelerator/h"], "usd_per_million_output_tokens", 20 / (5120 * 3600) * 1e6, DERIVED),
        ("usd-total", ["--price", "$36/system/h"], "usd_per_million_total_tokens", 36 / (15360 * 3600) * 1e6, DERIVED),
    ],
)
def test_every_way_to_divide_is_tagged(
    two: list[str], capsys: pytest.CaptureFixture[str], per: str, more: list[str], column: str, value: float, tag: str
) -> None:
    found = picked(capsys, two[0], "--per", per, *more)
    (place,) = found["places"]
    assert place["row"][column] == place["value"] == pytest.approx(value)
    assert found["normalised"]["tag"] == tag
    assert tag in " ".join(shown(capsys, two[0], "--per", per, *more).split())


def test_what_a_system_does_not_report_is_left_out_and_never_last(
    two: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    silent = curve(*RISING, who=named("Silent"), power=Power(None, reason="no system_power.json"))
    out = shown(capsys, *two, write(tmp_path / "silent", silent), "--per", "kw")
    words = "- Silent: throughput per kW not reported (provisioned_power_kw: no system_power.json)"
    assert words in " ".join(out.split())
    assert len(re.findall(r"^\d ", out, re.MULTILINE)) == 2


def test_an_estimated_power_is_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    name = write(tmp_path / "a", curve(power=Power(12.5, "component sum", estimated=True)))
    assert "estimated power in it" in " ".join(shown(capsys, name, "--per", "kw").split())


def test_systems_for_users(two: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    limits = ["--ttft-p90", "500ms", "--users", "1000", "--price", "36/system/h"]
    found = picked(capsys, two[0], *limits)
    (plan,) = found["capacity"]
    today = plan["today"]
    assert (today["systems"], today["concurrency"], today["power_kw"], today["usd_per_hour"]) == (16, 64, 160.0, 576.0)
    assert today["headroom"] == pytest.approx(0.024)
    assert [one["systems"] for one in plan["growth"]] == [24, 32, 47]
    out = shown(capsys, two[0], *limits)
    for words in ("16 at level 64, headroom 2.4 %, 160 kW, 576 $/h", "TTFT P90 900 ms > 500 ms", DERIVED, "evenly"):
        assert words in out


def test_points_that_do_not_count_are_listed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    name = write(
        tmp_path / "a",
        curve(
            (1, 50, 100, 100),
            point(WHO, 8, 80, 80, 9999, invalid="9 of 32 requests failed"),
            point(WHO, 16, 80, 80, 9999, client="client-limited"),
            point(WHO, 32, 80, 80, 90, client="strained"),
        ),
    )
    out = shown(capsys, name)
    assert "a/points/r8: not valid: 9 of 32 requests failed" in out
    assert "a/points/r16: client-limited" in out
    assert "9,999" not in out
    assert "client strained" in shown(capsys, name, "--concurrency", "32")


def test_offline_is_never_ranked(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    offline = point(WHO, 4000, None, None, 99_999, kind=PointKind.OFFLINE)
    found = picked(capsys, write(tmp_path / "a", curve(*RISING, offline)))
    assert [one["concurrency"] for one in found["places"]] == [512]


def test_ties_and_repeats(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    one = write(tmp_path / "a", curve((8, 80, 80, around(1000, 0.02))))
    other = write(tmp_path / "b", curve((8, 80, 80, around(1010, 0.02)), who=named("Beta")))
    found = picked(capsys, one, other)
    assert [(place["place"], place["close"], place["single_run"]) for place in found["places"]] == [
        (1, "tie", False), (1, "tie", False),
    ]  # fmt: skip
    assert "runs differ by 2.0 % · tie" in shown(capsys, one, other)


def test_a_status_from_a_file_is_said_to_be_just_that(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    record = Standing(Status.VERIFIED, "1.0.3", "2026-10-21")
    name = write(tmp_path / "a", curve(*RISING, standing=record))
    out = shown(capsys, name)
    assert "verified (1.0.3, 2026-10-21)" in out
    assert "no registry was asked" in out
    gone = write(tmp_path / "b", curve(*RISING, standing=replace(record, withdrawn=True)))
    assert "withdrawn" in shown(capsys, gone, code=1)
    assert "withdrawn" in shown(capsys, gone, "--withdrawn")


def test_other_keys_to_rank_by(two: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    found = picked(capsys, *two, "--by", "ttft_p90_ns", "--limit", "concurrency>=8")
    assert [one["concurrency"] for one in found["places"]] == [8, 8]
    assert found["better"] == "low"
    assert "in+out tok/s" in shown(capsys, *two, "--by", "total_tps")
    assert "request rate not reported" in " ".join(shown(capsys, *two, "--by", "qps", code=1).split())


def test_mixed_benchmarks_are_refused_and_can_be_chosen(
    two: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write(tmp_path / "code", curve(*RISING, who=named("Coder", benchmark="code", data_set_hash="d2")))
    error = refused(capsys, *two, "code")
    assert "The benchmark differs: chat, code." in error
    assert "--benchmark 'chat'" in error
    assert len(picked(capsys, *two, "code", "--benchmark", "chat")["places"]) == 2
    assert "there are: chat, code" in refused(capsys, *two, "code", "--benchmark", "poetry")
    write(tmp_path / "open", curve(*RISING, who=named("Open", division="Serviced")))
    assert "--division 'Serviced'" in refused(capsys, *two, "open")
    assert len(picked(capsys, *two, "open", "--division", "Standardized")["places"]) == 2
    write(tmp_path / "other", curve(*RISING, who=named("Other", data_set_hash="d9")))
    assert "The data set differs: d1, d9." in refused(capsys, *two, "other")


@pytest.mark.parametrize(
    ("flags", "words"),
    [
        (["--ttft-p90", "500"], "wanted a duration with its unit, got '500'"),
        (["--ttft-p90", "fast"], "such as 500ms"),
        (["--ttft-p90", "0ms"], "--ttft-p90: wanted a number above 0"),
        (["--ttft-p90=-5ms"], "--ttft-p90: wanted a duration of zero or more"),
        (["--ttft-p90", "5parsecs"], "--ttft-p90"),
        (["--interactivity=-1"], "--interactivity: wanted a number above 0, got -1"),
        (["--interactivity", "nan"], "--interactivity: wanted a number above 0, got nan"),
        (["--interactivity", "inf"], "--interactivity"),
        (["--interactivity", "quick"], "--interactivity: wanted a number"),
        (["--limit", "concurrency>=16", "--limit", "concurrency<=8"], "limits contradict each other"),
        (["--limit", "system_tps>=x"], "--limit system_tps: wanted a number"),
        (["--limit", "system_tps>=nan"], "finite"),
        (["--limit", "joy>=1"], "--limit: wanted one of"),
        (["--limit", "system_tps"], "'concurrency>=16'"),
        (["--ttft-p90", "500ms", "--limit", "ttft_p90_ns>=1s"], "contradict"),
        (["--concurrency", "0"], "--concurrency: wanted a whole number of 1 or more"),
        (["--concurrency", "1.5"], "--concurrency: wanted a whole number"),
        (["--users=-4"], "--users: wanted"),
        (["--per", "usd"], "wanted --price too"),
        (["--per", "usd", "--price", "2.5"], "2.5/accelerator/h"),
        (["--per", "usd", "--price", "2.5/moon/h"], "wanted a price for accelerator, node, system"),
        (["--per", "usd", "--price", "2,5/accelerator/h"], "--price: wanted a price with its unit"),
        (["--per", "usd", "--price", "0/system/h"], "above 0"),
        (["--per", "usd", "--price=-1/system/h"], "--price"),
        (["--price", "2/system/h"], "nothing is priced"),
        (["--per", "watt"], "--per: wanted one of kw, accelerator"),
        (["--by", "beauty"], "--by: wanted one of"),
        (["--reading", "systems"], "wanted --concurrency too"),
        (["--perr", "kw"], "did you mean --per"),
    ],
    ids=lambda one: " ".join(one)[:40] if isinstance(one, list) else "",
)
def test_what_cannot_be_meant_is_refused(
    two: list[str], capsys: pytest.CaptureFixture[str], flags: list[str], words: str
) -> None:
    assert words in refused(capsys, *two, *flags)


def test_paths_that_hold_nothing(two: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert "wanted one path or more" in refused(capsys)
    assert "found nothing at away" in refused(capsys, "away")
    (tmp_path / "empty").mkdir()
    assert "found no curve in empty/" in refused(capsys, *two, "empty")
    assert "found nothing at" in refused(capsys, "x" * 300)
    assert "found nothing at" in refused(capsys, "a\0b")
    assert "is there twice" in refused(capsys, "alpha", "alpha/curve.json")
    (tmp_path / "empty" / "curve.json").write_text("{}")
    assert "wholecurve.curve/1" in refused(capsys, "empty/curve.json")


def test_a_shelf_with_something_broken_on_it(
    two: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "broken").mkdir()
    (tmp_path / "broken" / "curve.json").write_text('{"schema": "x"}')
    out = shown(capsys, ".")
    assert "Could not be read" in out
    assert "broken/curve.json: wanted the schema" in " ".join(out.split())
    assert len(picked(capsys, ".")["skipped"]) == 1


def test_folders_of_one_name_are_told_apart(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write(tmp_path / "x" / "camp", curve())
    write(tmp_path / "y" / "camp", curve(*FASTER))
    found = picked(capsys, "x/camp", "./y/camp/")
    assert [one["point"] for one in found["places"]] == ["y/camp/points/r512", "x/camp/points/r512"]
    assert [head["submission"] for head in found["curves"]] == ["s1 (x/camp)", "s1 (y/camp)"]
    assert "Alpha (s1 (x/camp))" in " ".join(shown(capsys, "x/camp", "y/camp", "--users", "5").split())


def test_no_output_shows_where_on_the_machine_it_is(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    write(tmp_path / "x" / "camp", curve())
    write(tmp_path / "y" / "camp", curve(*FASTER))
    (tmp_path / "x" / "deep").mkdir()
    monkeypatch.chdir(tmp_path / "x" / "deep")
    found = picked(capsys, str(tmp_path / "x" / "camp"), "../../y/camp")
    assert [one["point"] for one in found["places"]] == ["camp-2/points/r512", "camp/points/r512"]
    assert str(tmp_path) not in json.dumps(found)
    monkeypatch.chdir(tmp_path / "x")
    assert [one["point"] for one in picked(capsys, ".")["places"]] == ["camp/points/r512"]
    monkeypatch.chdir(tmp_path / "x" / "camp")
    assert [one["point"] for one in picked(capsys, ".")["places"]] == ["points/r512"]


def test_two_files_in_one_folder_keep_their_points_apart(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name, found in (("a", curve((8, 80, 80, 640), client="strained")), ("b", curve(*FASTER, who=named("Beta")))):
        write(tmp_path, found)
        (tmp_path / "curve.json").rename(tmp_path / f"{name}.curve.json")
    for paths in (["."], ["a.curve.json", "b.curve.json"]):
        places = picked(capsys, *paths, "--limit", "concurrency<=8")["places"]
        assert [(one["point"], one["client_verdict"]) for one in places] == [
            ("b.curve.json/points/r8", "ok"), ("a.curve.json/points/r8", "strained"),
        ]  # fmt: skip


def test_hostile_names_stay_text(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    hostile = "<b>\x1b[31mred\u202e[bold]" + "x" * 300
    name = write(tmp_path / "a", curve(*RISING, who=named(hostile)))
    out = shown(capsys, name)
    assert "\x1b" not in out
    assert "\u202e" not in out
    assert picked(capsys, name)["curves"][0]["system"] == hostile


def test_the_example_of_the_help_works(tmp_path: Path) -> None:
    write(tmp_path / "results" / "my-sweep", curve())
    done = console(
        "pick", "results/my-sweep", "--ttft-p90", "500ms", "--interactivity", "30", cwd=tmp_path, env={"COLUMNS": "60"}
    )
    assert (done.code, done.err) == (0, "")
    assert "my-sweep/points/r64" in done.out
