"""`sim`, `demo`, `doctor` and `probe` as a user starts them."""

from __future__ import annotations

import json
import re
import signal
import urllib.parse
import urllib.request
from collections import Counter
from pathlib import Path

import pytest
from cli_console import begin, console, end, summary

from wholecurve.cli.demo import PROMPTS, as_typed
from wholecurve.cli.main import main
from wholecurve.testing import ScriptedServer, error_answer


@pytest.mark.parametrize("stop", [signal.SIGINT, signal.SIGTERM], ids=["Ctrl-C", "SIGTERM"])
def test_sim_serves_until_it_is_stopped(stop: signal.Signals, tmp_path: Path) -> None:
    child = begin("sim", "--port", "0", "--profile", "flash", "--model", "one", "--model", "two", cwd=tmp_path)
    assert child.stdout is not None
    url = child.stdout.readline().strip()
    assert re.fullmatch(r"http://127\.0\.0\.1:\d+", url)
    with urllib.request.urlopen(f"{url}/v1/models", timeout=10) as answer:
        assert [row["id"] for row in json.load(answer)["data"]] == ["one", "two"]
    child.send_signal(stop)
    done = end(child)
    assert done.code == 0
    assert done.errors() == ["serving; stop with Ctrl-C"]


def test_sim_with_a_key(tmp_path: Path) -> None:
    flags = ["sim", "--port", "0", "--profile", "flash", "--api-key-env", "SIM_KEY"]
    child = begin(*flags, cwd=tmp_path, env={"SIM_KEY": "sk-1"})
    assert child.stdout is not None
    url = child.stdout.readline().strip()
    refused = console("probe", url, cwd=tmp_path)
    taken = console("probe", url, "--api-key-env", "SIM_KEY", "--json", cwd=tmp_path, env={"SIM_KEY": "sk-1"})
    child.send_signal(signal.SIGINT)
    end(child)
    assert refused.code == 3
    assert "problem  key" in refused.out
    assert "give a key: --api-key-env VARIABLE" in refused.out
    assert taken.code == 0
    assert json.loads(taken.out)["ready"] is True


def test_sim_refuses_a_port_in_use(tmp_path: Path) -> None:
    with ScriptedServer([]) as server:
        done = console("sim", "--port", str(server.port), cwd=tmp_path)
    assert done.code == 3
    assert done.errors()[0].startswith(f"error: cannot listen on 127.0.0.1:{server.port}: Address already in use")


def test_sim_without_its_key(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NO_SUCH_KEY", raising=False)
    assert main(["sim", "--api-key-env", "NO_SUCH_KEY"]) == 2
    assert "NO_SUCH_KEY is not set" in capsys.readouterr().err


@pytest.mark.slow
def test_demo_measures_a_whole_curve_and_says_what_next(tmp_path: Path) -> None:
    """Two levels instead of seven, and the Offline run; all else as a user gets it. Half a minute."""
    done = console("demo", "--points", "4,8", cwd=tmp_path, timeout_s=120)
    assert done.code == 0, done.err
    (folder,) = (tmp_path / "results").iterdir()
    made = {path.name for path in folder.iterdir()}
    assert {"plan.yaml", "journal.jsonl", "curve.json", "report.html", "report.txt", "config.yaml", "points"} <= made
    for label in ("r4", "r8", "offline"):
        run = folder / "points" / label
        found = summary(run)
        assert found["validity"]["valid"], found["validity"]
        assert found["outcomes"]["succeeded"] == found["outcomes"]["sent"] > 0
    scores = json.loads((folder / "points" / "r8" / "accuracy" / "accuracy_results.json").read_text())
    (entry,) = scores["accuracy_scores"]
    assert entry["score"] == {"exact_match": 0.9}, "two of twenty questions are answered wrong"
    assert entry["gate"]["passed"] is True
    address = re.search(r"file://\S+", done.out)
    assert address is not None
    assert Path(urllib.parse.unquote(urllib.parse.urlsplit(address.group()).path)) == folder / "report.html"
    next_steps = done.out.partition("What next:\n")[2].splitlines()
    assert len(next_steps) == 4
    assert all(line.startswith("  wholecurve ") for line in next_steps)
    again = console("report", str(folder / "points" / "r8"), "--recompute", cwd=tmp_path)
    assert again.code == 0, again.err


def test_the_demo_repeats_no_prompt_and_shares_few_beginnings() -> None:
    """DAT-2: with more rows than a demo sends, nothing it shows was served from a prompt cache."""
    rows = [json.loads(line)["prompt"] for line in PROMPTS.read_text(encoding="utf-8").splitlines()]
    assert len(set(rows)) == len(rows) >= 512
    assert max(Counter(row.partition(":")[0] for row in rows).values()) == 8


@pytest.mark.parametrize(
    ("started", "on_path", "typed"),
    [
        (".venv/bin/wholecurve", None, ".venv/bin/wholecurve"),
        (".venv/bin/wholecurve", "other/wholecurve", ".venv/bin/wholecurve"),
        (".venv/bin/wholecurve", ".venv/bin/wholecurve", "wholecurve"),
        ("wholecurve/__main__.py", None, "wholecurve"),
    ],
    ids=["make demo", "another one is found", "activated", "python -m"],
)
def test_what_next_names_the_program_as_it_can_be_typed(
    started: str, on_path: str | None, typed: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in {started, on_path} - {None}:
        place = tmp_path / str(name)
        place.parent.mkdir(parents=True)
        place.touch(mode=0o755)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("sys.argv", [str(tmp_path / started), "demo"])
    monkeypatch.setenv("PATH", str((tmp_path / on_path).parent) if on_path else str(tmp_path))
    assert as_typed("wholecurve") == typed


def test_doctor(tmp_path: Path) -> None:
    done = console("doctor", "--concurrency", "8", "--out", ".", "--json", cwd=tmp_path)
    found = json.loads(done.out)
    names = [finding["name"] for finding in found["findings"]]
    assert found["ready"] is (done.code == 0)
    assert {"file descriptors", "local ports", "cores", "other load", "clock source", "kernel stamps"} <= set(names)
    assert {"stamp to user space", "timer", "disk free", "disk speed", "system"} <= set(names)
    assert list(tmp_path.iterdir()) == [], "nothing is left behind"


def test_doctor_that_finds_a_problem(tmp_path: Path) -> None:
    done = console("doctor", "--concurrency", "100000000", cwd=tmp_path)
    assert done.code == 3
    assert re.search(r"^problem  file descriptors", done.out, re.MULTILINE)
    assert re.search(r"^ +wanted: 100000064 for 100000000 connections in one process$", done.out, re.MULTILINE)
    assert re.search(r"^not ready: 2 problems at concurrency 100000000$", done.out, re.MULTILINE)


def test_an_endpoint_cannot_draw_on_the_screen(tmp_path: Path) -> None:
    with ScriptedServer(error_answer(500, "\x1b[2Jgone\x07")) as server:
        done = console("probe", server.url, "--model", "m", cwd=tmp_path)
    assert "\x1b" not in done.out + done.err
    assert "\x07" not in done.out + done.err
