"""`wholecurve compare` and `wholecurve accept`: what is refused, what is proven, what is not tested."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from cli_console import console
from cli_curves import RISING, WHO, around, curve, named, point, write

from wholecurve.cli.main import main
from wholecurve.model.point import Figure, PointKind, Standing
from wholecurve.model.status import Status


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In an empty folder, on a terminal of 80 columns."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")


def put(name: str, *levels: Any, **more: Any) -> str:
    return write(Path(name), curve(*levels, **more))


def done(capsys: pytest.CaptureFixture[str], *arguments: str, code: int = 0) -> str:
    assert main(arguments) == code
    streams = capsys.readouterr()
    assert "Traceback" not in streams.err
    if code == 2:
        assert streams.out == ""
        return streams.err
    assert streams.err == ""
    if "--json" not in arguments:
        assert max(map(len, streams.out.splitlines())) <= 80, "a line is wider than the terminal"
    return streams.out


def as_json(capsys: pytest.CaptureFixture[str], *arguments: str, code: int = 0) -> dict[str, Any]:
    def refuse(word: str) -> None:
        raise AssertionError(f"{word} in JSON")

    found: dict[str, Any] = json.loads(done(capsys, *arguments, "--json", code=code), parse_constant=refuse)
    return found


# -- compare -----------------------------------------------------------------------------------------------------------


def test_better_worse_and_no_difference(capsys: pytest.CaptureFixture[str]) -> None:
    before = put("before", (8, Figure(80e6, low=79e6, high=81e6, runs=3), around(80), around(640)))
    after = put("after", (8, Figure(90e6, low=89e6, high=91e6, runs=3), around(80.4), around(704)))
    out = done(capsys, "compare", before, after)
    assert re.search(r"tokens/s +640 +704 +\+10\.0 %  better$", out, re.MULTILINE)
    assert re.search(r"tokens/s/user +80\.0 +80\.4 +\+0\.5 %  no difference$", out, re.MULTILINE)
    assert re.search(r"TTFT P90 +80 ms +90 ms +\+12\.5 %  worse$", out, re.MULTILINE)
    assert "634 … 646" in out
    assert "before/points/r8 and after/points/r8" in out
    assert "one run" not in out
    found = as_json(capsys, "compare", before, after)
    assert found["schema"] == "wholecurve.comparison/1"
    (level,) = found["levels"]
    assert [row["words"] for row in level["differences"]] == ["better", "no difference", "worse"]
    assert [row["better"] for row in level["differences"]] == [True, None, False]


def test_a_single_run_proves_nothing_and_is_marked(capsys: pytest.CaptureFixture[str]) -> None:
    out = done(capsys, "compare", put("before"), put("after", (8, 80, 80, 700), (64, 150, 40, 2561)))
    assert re.search(r"tokens/s +640 +700 +\+9\.4 %  not proven\*$", out, re.MULTILINE)
    assert re.search(r"tokens/s +2,560 +2,560 +\+0\.0 %  about equal\*$", out, re.MULTILINE)
    assert "* one run on a side" in out
    assert "first: 1, 512" in out


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"benchmark": "code"}, "The benchmark differs: chat and code."),
        ({"data_set_hash": "d2"}, "The data set differs: d1 and d2."),
        ({"data_set_hash": None}, "The data set is not known on one side."),
        ({"tokenizer_hash": "t2"}, "The tokenizer differs: t1 and t2."),
        ({"definition_version": "2"}, "The definition of the metrics differs: 1 and 2."),
        ({"benchmark": "code", "data_set_hash": "d2"}, "chat and code. The data set differs"),
    ],
)
def test_what_cannot_be_compared_is_refused_with_each_reason(
    capsys: pytest.CaptureFixture[str], changes: dict[str, Any], words: str
) -> None:
    error = done(capsys, "compare", put("before"), put("after", who=named("Alpha", **changes)), code=2)
    assert error.startswith("error: these curves cannot be compared. ")
    assert words in error
    error = done(capsys, "accept", "after", "--against", "before", code=2)
    assert words.split(".")[0].split(":")[0] in error


def test_levels_with_other_output_lengths_are_not_compared(capsys: pytest.CaptureFixture[str]) -> None:
    long = curve((1, 50, 100, 100), point(WHO, 8, 80, 80, 700, length=600))
    write(Path("after"), long)
    out = done(capsys, "compare", put("before"), "after")
    assert "Realised output lengths differ by more than 5 %" in " ".join(out.split())
    assert "about equal" in out


def test_what_was_not_measured_and_what_does_not_count(capsys: pytest.CaptureFixture[str]) -> None:
    put("before", (1, 50, 100, 100), (8, None, 80, 640))
    write(Path("after"), curve(point(WHO, 1, 50, 100, 100, invalid="lost"), (8, 80, 80, 640)))
    out = done(capsys, "compare", "before", "after")
    assert "not compared: after/points/r1: not valid: lost" in out
    assert re.search(r"TTFT P90 +- +80 ms +not measured", out)
    assert "answers were not streamed" in out


def test_no_level_in_common_and_where_the_lead_changes(capsys: pytest.CaptureFixture[str]) -> None:
    assert "no level in common" in done(capsys, "compare", put("a", (1, 9, 9, 9)), put("b", (2, 9, 9, 9)))
    rows = [(level, 50, 50, around(tps)) for level, tps in ((1, 100), (8, 400))]
    others = [(level, 50, 50, around(tps)) for level, tps in ((1, 120), (8, 300))]
    assert "between 1 and 8" in done(capsys, "compare", put("c", *rows), put("d", *others))


def test_several_curves_in_a_path_are_refused(capsys: pytest.CaptureFixture[str]) -> None:
    write(Path("shelf/one"), curve())
    write(Path("shelf/two"), curve(who=named("Beta")))
    error = done(capsys, "compare", "shelf", "shelf/one", code=2)
    assert "wanted one curve in shelf, found 2: s1/Alpha/chat, s1/Beta/chat" in error
    assert "found nothing at away" in done(capsys, "compare", "shelf/one", "away", code=2)


# -- accept ------------------------------------------------------------------------------------------------------------


def scaled(name: str, factor: float, *, levels: int = 4, **more: Any) -> str:
    """A delivery with this share of the published throughput."""
    return put(name, *[(level, ttft, speed, tps * factor) for level, ttft, speed, tps in RISING[:levels]], **more)


@pytest.mark.parametrize(
    ("factor", "flags", "code"),
    [
        (1.0, [], 0),
        (1.3, [], 0),
        (0.95, [], 0),
        (0.9499, [], 1),
        (0.9499, ["--independent"], 0),
        (0.9, ["--independent"], 0),
        (0.8999, ["--independent"], 1),
    ],
)
def test_the_margin_holds_its_border(
    capsys: pytest.CaptureFixture[str], factor: float, flags: list[str], code: int
) -> None:
    put("published")
    out = done(capsys, "accept", scaled("delivered", factor), "--against", "published", *flags, code=code)
    assert out.startswith("ACCEPTED" if code == 0 else "NOT ACCEPTED")
    found = as_json(capsys, "accept", "delivered", "--against", "published", *flags, code=code)
    assert found["schema"] == "wholecurve.acceptance/1"
    assert found["accepted"] is (code == 0)
    assert found["margin_percent"] == (10 if flags else 5)


def test_the_failing_figure_is_shown(capsys: pytest.CaptureFixture[str]) -> None:
    put("published")
    put("delivered", (1, 60, 100, 100), *RISING[1:])
    out = done(capsys, "accept", "delivered", "--against", "published", code=1)
    assert re.search(r"TTFT P90 +50 ms +60 ms +\+20\.00 %  fail", out)
    assert re.search(r"^concurrency 1: fail$", out, re.MULTILINE)
    assert re.search(r"^concurrency 8: pass$", out, re.MULTILINE)


def test_a_missing_level_is_not_tested_and_never_a_pass(capsys: pytest.CaptureFixture[str]) -> None:
    put("published")
    out = done(capsys, "accept", scaled("delivered", 1, levels=3), "--against", "published", code=1)
    assert "NOT ACCEPTED: no level fails, but not every one was tested." in out
    assert "concurrency 512: not tested: not delivered" in out
    only = ["accept", "delivered", "--against", "published", "--levels"]
    assert "ACCEPTED" in done(capsys, *only, "1, 64")
    assert "concurrency 2: not tested: not published" in done(capsys, *only, "1,2", code=1)
    assert "Offline: not tested" in done(capsys, *only, "1,OFFLINE", code=1)


def test_offline_is_held_to_throughput_alone(capsys: pytest.CaptureFixture[str]) -> None:
    for name, tps in (("published", 9000.0), ("delivered", 8000.0)):
        write(Path(name), curve((1, 50, 100, 100), point(WHO, 4000, None, None, tps, kind=PointKind.OFFLINE)))
    out = done(capsys, "accept", "delivered", "--against", "published", code=1)
    assert re.search(r"Offline: fail\n.*\n +tokens/s +9,000 +8,000 +\+11\.11 %  fail\n", out)


def test_a_level_that_does_not_count_is_not_tested(capsys: pytest.CaptureFixture[str]) -> None:
    put("published", (1, 50, 100, 100))
    write(Path("delivered"), curve(point(WHO, 1, 50, 100, 100, client="client-limited"), (2, 5, 5, 5)))
    out = done(capsys, "accept", "delivered", "--against", "published", code=1)
    assert "not tested: client-limited" in out
    assert "Delivered, but not published\n  - 2" in out


def test_the_standing_of_the_published_curve_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    put("published", standing=Standing(Status.PROVISIONAL, "1.0.3", "2026-10-21"))
    out = done(capsys, "accept", scaled("delivered", 1), "--against", "published")
    assert "(provisional (1.0.3, 2026-10-21))" in " ".join(out.split())


@pytest.mark.parametrize("levels", ["", "0", "one", "1;2", "-4", "9" * 30, "1,,2", "²"])
def test_levels_that_are_none(capsys: pytest.CaptureFixture[str], levels: str) -> None:
    put("published")
    error = done(capsys, "accept", "published", "--against", "published", f"--levels={levels}", code=2)
    assert "--levels: wanted concurrencies such as 1,16,offline" in error


def test_without_a_published_curve_nothing_is_accepted(capsys: pytest.CaptureFixture[str]) -> None:
    assert "--against" in done(capsys, "accept", put("delivered"), code=2)


def test_the_examples_of_the_help_work(tmp_path: Path) -> None:
    for name in ("results/before", "results/after", "results/delivered", "published"):
        write(tmp_path / name, curve())
    for words in (
        ["compare", "results/before", "results/after"],
        ["accept", "results/delivered", "--against", "published/curve.json"],
    ):
        ended = console(*words, cwd=tmp_path)
        assert (ended.code, ended.err) == (0, "")
