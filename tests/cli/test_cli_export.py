"""`report` and `export` over a real run folder: valid in their formats, and the same figures."""

from __future__ import annotations

import csv
import json
import shutil
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from cli_console import USAGE, console, run_flags, summary

from wholecurve.cli.main import main
from wholecurve.cli.reference_events import sample_uuid
from wholecurve.model.record import REQUEST_COLUMNS
from wholecurve.testing import ScriptedServer, error_answer, sse_answer

ROWS = 6


@pytest.fixture(scope="module")
def original(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Six requests, of which the fourth failed; answers are kept."""
    folder = tmp_path_factory.mktemp("measured")
    good = sse_answer(["first ", "second, ", 'third "\n'], gap_s=0.002, usage=USAGE)
    with ScriptedServer(lambda request: error_answer(500, "a,b") if request.number == 3 else good) as server:
        flags = run_flags(server.url, folder, "--keep-responses", "--max-failed-share", "0.5", rows=ROWS)
        assert console(*flags, cwd=folder).code == 0
    return folder / "out"


@pytest.fixture
def run(original: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    shutil.copytree(original, tmp_path / "run")
    return tmp_path / "run"


def test_report_shows_it_again_and_writes_it_anew(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name in ("report.txt", "report.html"):
        (run / name).unlink()
    assert main(["report", "run"]) == 0
    out = capsys.readouterr().out
    assert "6 sent = 5 succeeded + 1 failed + 0 cancelled + 0 lost" in out
    assert "6 sent = 5 succeeded" in (run / "report.txt").read_text()
    assert "<html" in (run / "report.html").read_text()
    assert not list(run.rglob("*.part"))


def test_report_as_json_and_to_another_file(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = (run / "report.html").read_bytes()
    assert main(["report", "run", "--html", "mine.html", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == summary(run)
    assert "<html" in Path("mine.html").read_text()
    assert (run / "report.html").read_bytes() == before


def test_report_of_a_damaged_folder(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (run / "performance" / "result_summary.json").write_text("{")
    assert main(["report", "run"]) == 2
    assert capsys.readouterr().err.splitlines() == [
        "error: result_summary.json is not valid JSON",
        "  at run/performance/result_summary.json",
        "  the folder is damaged",
    ]


def records(run: Path, name: str = "requests") -> list[dict[str, Any]]:
    return pq.read_table(run / "records" / f"{name}.parquet").to_pylist()


def test_csv_has_one_header_and_blanks(run: Path) -> None:
    """REP-2, REP-5."""
    assert main(["export", "requests", "run", "--out", "r.csv"]) == 0
    with Path("r.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert list(rows[0]) == [column.name for column in REQUEST_COLUMNS]
    assert len(rows) == ROWS
    for row, record in zip(rows, records(run), strict=True):
        assert None not in row, "no value without a column"
        for name, value in record.items():
            wanted = "" if value is None else str(value).lower() if isinstance(value, bool) else str(value)
            assert row[name] == wanted
    failed = next(row for row in rows if row["outcome"] == "failed")
    assert failed["detail"].endswith("a,b")
    assert failed["first_output_ns"] == ""


def test_jsonl_and_parquet_say_the_same(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """REP-5: each valid in its format, whatever the name of the file says when the format is given."""
    assert main(["export", "requests", "run", "--format", "jsonl"]) == 0
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert lines == records(run)
    assert main(["export", "requests", "run", "--format", "parquet", "--out", "r.bin"]) == 0
    assert pq.read_table("r.bin").to_pylist() == records(run)
    assert main(["export", "requests", "run", "--out", "r.parquet"]) == 0
    assert pq.read_table("r.parquet").to_pylist() == records(run)


def test_gaps(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["export", "gaps", "run"]) == 0
    rows = list(csv.DictReader(capsys.readouterr().out.splitlines()))
    wanted = [
        (str(row["index"]), str(number), str(gap))
        for row in records(run, "events")
        for number, gap in enumerate(row["gaps_ns"])
    ]
    assert [(row["index"], row["number"], row["gap_ns"]) for row in rows] == wanted
    assert len(wanted) == 10, "two for each of five answers"


def test_events_of_the_reference_client(run: Path) -> None:
    assert main(["export", "events", "run", "--out", "events.jsonl"]) == 0
    events = [json.loads(line) for line in Path("events.jsonl").read_text().splitlines()]
    types = [event["event_type"] for event in events]
    assert types[:2] == ["session.started", "session.start_performance_tracking"]
    assert types[-2:] == ["session.stop_performance_tracking", "session.ended"]
    assert types.count("sample.issued") == types.count("sample.complete") == ROWS
    assert types.count("sample.recv_first") == 5
    assert types.count("error.generic") == 1
    times = [event["timestamp_ns"] for event in events]
    assert times == sorted(times)
    for event in events:
        assert list(event)[:6] == ["event_type", "timestamp_ns", "sample_uuid", "conversation_id", "turn", "data"]
        session = event["event_type"].startswith("session.")
        assert (event["sample_uuid"] == "") == session
        assert session or len(bytes.fromhex(event["sample_uuid"])) == 16


def test_events_of_each_request_are_in_order(run: Path) -> None:
    assert main(["export", "events", "run", "--out", "events.jsonl"]) == 0
    by_sample: dict[str, list[dict[str, Any]]] = {}
    for line in Path("events.jsonl").read_text().splitlines():
        event = json.loads(line)
        by_sample.setdefault(event["sample_uuid"], []).append(event)
    del by_sample[""]
    ids = json.loads(Path("events.sample_idx_map.json").read_text())["performance"]
    assert ids.keys() == by_sample.keys()
    assert sorted(ids.values()) == list(range(ROWS))
    run_id = json.loads((run / "clock.json").read_text())["request_id_prefix"]
    for row in records(run):
        events = by_sample[sample_uuid(run_id, row["phase"], row["index"])]
        types = [event["event_type"] for event in events]
        if row["outcome"] == "failed":
            assert types == ["sample.issued", "error.generic", "sample.complete"]
            assert events[1]["data"] == ["ErrorData", "http_status", row["detail"]]
            continue
        assert types == ["sample.issued", "sample.recv_first", "sample.complete"]
        assert [event["timestamp_ns"] for event in events] == [
            row[name] for name in ("issued_ns", "first_output_ns", "completed_ns")
        ]
        assert events[-1]["data"] == ["TextModelOutput", ["first ", 'second, third "\n']]
        assert events[-1]["finish_reason"] == "stop"
        assert events[0]["worker_id"] == 0


@pytest.mark.parametrize(
    ("arguments", "first"),
    [
        (["requests", "run", "--out", "run/plan.json"], "--out: wanted a new file, got run/plan.json, which exists"),
        (["requests", "run", "--out", "no/r.csv"], "--out: there is no folder for no/r.csv"),
        (["requests", "run", "--format", "parquet"], "--format parquet: wanted --out FILE too, got none"),
        (["events", "run", "--format", "csv"], "--format: events are written as jsonl, got csv"),
        (["requests", "nix"], "wanted a run folder, found none at nix"),
    ],
)
def test_what_export_refuses(arguments: list[str], first: str, run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run.is_dir()
    assert main(["export", *arguments]) == 2
    assert capsys.readouterr().err.splitlines()[0] == f"error: {first}"


def test_an_unfinished_run_says_how_to_finish_it(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (run / "records" / "requests.parquet").unlink()
    assert main(["export", "requests", "run"]) == 2
    assert capsys.readouterr().err.splitlines() == [
        "error: run has no records/requests.parquet",
        "  a run that was killed is finished by: wholecurve report run",
    ]
