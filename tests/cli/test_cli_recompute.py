"""`wholecurve report --recompute`: the same digits, or what differs; and exit codes of `report`."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from cli_console import USAGE, console, files_of, run_flags, summary

from wholecurve import __version__
from wholecurve.cli.main import main
from wholecurve.cli.report import recomputed_lines
from wholecurve.run.derive import Difference, Recomputed
from wholecurve.testing import ScriptedServer, error_answer, sse_answer

GOOD = sse_answer(["a", "b", "c"], gap_s=0.002, usage=USAGE)


@pytest.fixture(scope="module")
def original(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("recompute")
    with ScriptedServer(GOOD) as server:
        assert console(*run_flags(server.url, folder, rows=8), cwd=folder).code == 0
    return folder / "out"


@pytest.fixture
def run(original: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    shutil.copytree(original, tmp_path / "run")
    return tmp_path / "run"


def change(run: Path, **values: Any) -> None:
    path = run / "performance" / "result_summary.json"
    path.write_text(json.dumps(summary(run) | values))


def test_the_same_digits(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = {name: (run / name).read_bytes() for name in files_of(run)}
    assert main(["report", "run", "--recompute"]) == 0
    out = capsys.readouterr().out
    figures = out.split()[0].replace(",", "")
    assert int(figures) > 500
    assert out == f"{int(figures):,} figures recomputed from run/records: all as stored, digit by digit\n"
    assert {name: (run / name).read_bytes() for name in files_of(run)} == before


def test_a_changed_number_is_listed(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    true = summary(run)["system_tps"]
    change(run, system_tps=true + 1, state="\x1b[31mfailed")
    assert main(["report", "run", "--recompute"]) == 1
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].endswith("figures recomputed from run/records: 2 values differ from what is stored")
    assert "\x1b" not in "".join(lines)
    at = lines.index("  system_tps")
    assert lines[at + 1 : at + 3] == [f"    stored  {true + 1}", f"    found   {true}"]


def test_as_json(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["report", "run", "--recompute", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["schema"], found["same"], found["differences"]) == ("wholecurve.recomputed/1", True, [])
    assert found["measured_by"] == found["recomputed_by"] == __version__
    change(run, qps=0.5)
    true = json.loads((run / "metrics" / "final_snapshot.json").read_text())
    assert true["metrics"]
    assert main(["report", "run", "--recompute", "--json"]) == 1
    found = json.loads(capsys.readouterr().out)
    (difference,) = found["differences"]
    assert (difference["path"], difference["stored"]) == ("qps", 0.5)
    assert found["same"] is False


def test_many_differences_are_cut_and_another_version_is_told(tmp_path: Path) -> None:
    many = tuple(Difference(f"x[{place}]", place, "y" * 200) for place in range(30))
    lines = list(recomputed_lines(Recomputed({}, 40, many, "0.0.1"), tmp_path))
    assert "30 values differ" in lines[0]
    assert lines[-2] == "  10 more: see --json"
    assert lines[-1].startswith("  measured by version 0.0.1, recomputed by ")
    assert max(map(len, lines[1:])) < 100
    (one, *_) = recomputed_lines(Recomputed({}, 40, many[:1], __version__), tmp_path)
    assert one.endswith("1 value differs from what is stored")


@pytest.mark.parametrize(
    ("flags", "words"),
    [
        (["--html", "page.html"], "--recompute: wanted no --html, got both"),
        ([], "has no performance/result_summary.json"),
    ],
)
def test_what_is_refused(run: Path, capsys: pytest.CaptureFixture[str], flags: list[str], words: str) -> None:
    if not flags:
        shutil.rmtree(run / "performance")
    assert main(["report", "run", "--recompute", *flags]) == 2
    assert words in capsys.readouterr().err
    assert not Path("page.html").exists()


def test_a_missing_record_file_is_a_user_error(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (run / "records" / "facts.json").unlink()
    assert main(["report", "run", "--recompute"]) == 2
    assert capsys.readouterr().err.splitlines()[:2] == [
        "error: no facts.json in records/",
        "  at run/records/facts.json",
    ]


def test_report_of_a_run_that_is_not_valid_exits_with_1(tmp_path: Path) -> None:
    with ScriptedServer(lambda request: error_answer(500, "no") if request.number < 3 else GOOD) as server:
        assert console(*run_flags(server.url, tmp_path, rows=8), cwd=tmp_path).code == 1
    assert console("report", "out", cwd=tmp_path).code == 1
    assert console("report", "out", "--json", cwd=tmp_path).code == 1
    assert console("report", "out", "--recompute", cwd=tmp_path).code == 0, "it is as stored, and that was asked"


def test_the_report_written_anew_has_the_example_request(run: Path) -> None:
    before = (run / "report.html").read_text()
    assert "An example request body" in before
    assert main(["report", "run"]) == 0
    assert "An example request body" in (run / "report.html").read_text()
