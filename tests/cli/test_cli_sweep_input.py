"""What a sweep refuses before anything is sent or made, and what it shows without doing it."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from cli_sweep import free_port

from wholecurve.cli.main import main

Run = Callable[..., tuple[int, str, list[str]]]


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    """The command in a folder with a data set of 40 rows, at an endpoint where nothing listens."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "rows.jsonl").write_text("".join(f'{{"prompt": "tell me of {row}"}}\n' for row in range(40)))
    url = f"http://127.0.0.1:{free_port()}"

    def start(*more: str) -> tuple[int, str, list[str]]:
        code = main(["sweep", "--endpoint", url, "--model", "m", "--dataset", "rows.jsonl", *more])
        said = capsys.readouterr()
        return code, said.out, said.err.splitlines()

    return start


REFUSED: dict[str, tuple[list[str], str]] = {
    "C_max below C_min": (["--c-min", "8", "--c-max", "4"], "got C_max 4 below C_min 8"),
    "C_max of one region": (["--c-max", "32"], "wanted a declared highest concurrency above 32, got 32"),
    "C_max 0": (["--c-max", "0"], "--c-max"),
    "C_min too high": (["--c-min", "100", "--c-max", "4096"], "100"),
    "C_min too high, C_max to be found": (["--c-min", "100"], "100"),
    "C_min beyond what is searched": (["--c-min", "100000"], "100000"),
    "a level twice": (["--points", "1,64,64,128"], "wanted each level once, got 64 more than once"),
    "a level twice by a range": (["--points", "1..64x2,16"], "wanted each level once, got 16 more than once"),
    "junk": (["--points", "1,two,64"], "wanted levels such as 1,4,16,64 or 1..256x2, got 'two'"),
    "empty": (["--points", ""], "sweep.points"),
    "a negative level": (["--points=-4,64"], "wanted levels such as 1,4,16,64 or 1..256x2, got '-4'"),
    "level 0": (["--points", "0,64"], "wanted a level from 1 to"),
    "a range that falls": (["--points", "64..1"], "got '64..1'"),
    "a range without end": (["--points", "1..10000000+1"], "wanted at most 1000 levels"),
    "points and another C_max": (["--points", "1,64", "--c-max", "128"], "128 was declared with --c-max"),
    "points and a count": (["--points", "1,64", "--count", "9"], "wanted either --count or --points, got both"),
    "more points than the cap": (["--c-max", "4096", "--count", "33"], "wanted 1 to 31 levels"),
    "more than the cap, C_max to be found": (["--count", "33"], "wanted 1 to 31 levels"),
    "count 0": (["--c-max", "256", "--count", "0"], "--count"),
    "TTFT 0": (["--ttft-p90", "0ms"], "--ttft-p90"),
    "TTFT below 0": (["--ttft-p90", "-5ms"], "--ttft-p90"),
    "TTFT of an unknown unit": (["--ttft-p90", "500 fortnights"], "--ttft-p90"),
    "interactivity 0": (["--interactivity", "0"], "--interactivity"),
    "interactivity below 0": (["--interactivity", "-1"], "--interactivity"),
    "interactivity that is no number": (["--interactivity", "nan"], "--interactivity"),
    "rules": (["--rules", "v9"], "v9"),
    "edition": (["--edition", "E9"], "E9"),
    "benchmark": (["--benchmark", "nothing"], "nothing"),
    "seed set": (["--seed-set", "Z"], "Z"),
    "cohort": (["--seed-set", "A", "--target-cohort", "2031-01-C9"], "2031-01-C9"),
    "cohort of another seed set": (["--seed-set", "A", "--target-cohort", "2029-03-C1"], "2029-03-C1"),
    "offline": (["--offline", "sometimes"], "--offline: wanted one of dedicated, elected, both, none"),
    "repeats": (["--repeats", "0"], "--repeats"),
    "idle gap": (["--idle-gap", "-1s"], "--idle-gap"),
    "data set": (["--dataset", "nowhere.jsonl"], "wanted --dataset once, got it twice"),
    "power that is no file": (["--power", "power.json"], "--power: power.json cannot be read"),
    "system that is no JSON": (["--system", "rows.jsonl"], "--system: rows.jsonl is not valid JSON"),
    "power that is no power": (["--power", "object.json"], "wanted"),
    "system with a key twice": (
        ["--system", "twice.json"],
        "--system: twice.json: the key 'system_name' is there twice",
    ),
    "accuracy without answers": (["--accuracy-dataset", "rows.jsonl"], "answer"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_refused_with_a_next_step_before_anything_is_made(case: str, run: Run, tmp_path: Path) -> None:
    more, words = REFUSED[case]
    (tmp_path / "object.json").write_text("{}")
    (tmp_path / "twice.json").write_text('{"system_name": "a", "system_name": "b"}')
    before = sorted(tmp_path.rglob("*"))
    code, out, lines = run(*more)
    assert (code, out) == (2, ""), lines
    lines = [line for line in lines if not line.startswith("note: ")]
    assert lines[0].startswith("error: ")
    assert words in " ".join(lines)
    assert 1 <= len(lines) <= 3 or all(line.startswith("  - ") for line in lines[1:]), "a list has a line each"
    assert all(len(line) < 200 for line in lines)
    assert sorted(tmp_path.rglob("*")) == before


def test_a_folder_that_holds_files(run: Run, tmp_path: Path) -> None:
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "mine.txt").write_text("mine")
    code, _out, lines = run("--c-max", "64", "--out", "full")
    assert code == 2, "before the endpoint is asked"
    assert lines[-2:] == [
        "error: --out: wanted a new or empty folder, got full, which holds files",
        "  results are never overwritten: name another folder",
    ]
    assert [path.name for path in (tmp_path / "full").iterdir()] == ["mine.txt"]


def test_nothing_listens(run: Run, tmp_path: Path) -> None:
    code, out, lines = run("--c-max", "64", "--out", "new")
    assert (code, out) == (3, "")
    assert "refused the connection" in lines[-2]
    assert not (tmp_path / "new").exists(), "nothing was measured, so nothing is left"


def dry(run: Run, *more: str) -> str:
    code, out, lines = run(*more, "--dry-run")
    assert (code, lines) == (0, [])
    return out


def test_dry_run_shows_the_plan_writes_nothing_and_opens_no_connection(run: Run, tmp_path: Path) -> None:
    before = sorted(tmp_path.rglob("*"))
    text = dry(run, "--c-max", "256")
    assert text.startswith("levels 1 to 256; C_max as given; rules v1_0, edition E3\n")
    assert "r256" in text
    assert "offline" in text
    assert "\norder: " in text
    assert "\ntime: at least " in text
    assert sorted(tmp_path.rglob("*")) == before
    assert max(map(len, text.splitlines())) <= 100


def test_dry_run_as_json_is_the_plan(run: Run) -> None:
    plan = json.loads(dry(run, "--c-max", "256", "--json"))
    assert plan["schema"] == "wholecurve.campaign/1"
    assert [level["label"] for level in plan["levels"]][-2:] == ["r256", "offline"]


def test_dry_run_of_a_search(run: Run) -> None:
    words = " ".join(dry(run, "--c-min", "2", "--ttft-p90", "500ms", "--interactivity", "30").split())
    assert "a search comes first: levels are doubled from 2 until throughput grows by less than 3 % or" in words
    assert "TTFT P90 is above 500 ms or one user gets less than 30 tokens/s" in words, "what was understood is said"
    plan = json.loads(dry(run, "--ttft-p90", "500ms", "--json"))
    assert plan["search"]["limits"] == [{"key": "ttft_p90_ns", "bound": "at most", "value": 5e8}]


def test_c_max_of_33_must_be_announced(run: Run) -> None:
    text = dry(run, "--c-max", "33")
    assert "note: C_max 33 is at most" in text
    assert "announced to the working group in writing" in " ".join(text.split())
    assert "announced" not in dry(run, "--c-max", "1024")


def test_c_max_of_100_000(run: Run) -> None:
    text = dry(run, "--c-max", "100000")
    assert "levels 1 to 100000" in text
    assert "r100000" in text
    assert "40 requests, fewer than C_max 100000" in " ".join(text.split()), "the dedicated Offline run is smaller"


@pytest.mark.parametrize(
    ("choice", "labels", "words"),
    [
        ("dedicated", ["r1", "r40", "offline"], "all 40 rows at once"),
        ("elected", ["r1", "r40"], "elected as the Offline result"),
        ("both", ["r1", "r40", "offline"], "Offline is measured and elected"),
        ("none", ["r1", "r40"], "no Offline result is measured: a submission needs one"),
    ],
)
def test_offline(choice: str, labels: list[str], words: str, run: Run) -> None:
    more = ("--points", "1,40", "--offline", choice)
    plan = json.loads(dry(run, *more, "--json"))
    assert [level["label"] for level in plan["levels"]] == labels
    elected = [level["label"] for level in plan["levels"] if level["offline"] == "elected"]
    assert elected == (["r40"] if choice in ("elected", "both") else [])
    assert words in " ".join(dry(run, *more).split())


def test_repeats_are_shuffled_anew_in_every_round(run: Run) -> None:
    plan = json.loads(dry(run, "--points", "1..40x2,40", "--repeats", "3", "--offline", "none", "--json"))
    labels = [level["label"] for level in plan["levels"]]
    rounds = [plan["order"][start : start + len(labels)] for start in range(0, 3 * len(labels), len(labels))]
    plain = [[slot.partition("-")[0] for slot in one] for one in rounds]
    assert [sorted(one) for one in plain] == [sorted(labels)] * 3
    assert len({tuple(one) for one in plain}) == 3
    assert all(slot.endswith("-3") for slot in rounds[2])
