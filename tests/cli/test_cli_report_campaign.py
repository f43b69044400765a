"""`wholecurve report` of a campaign: shown again, its files made anew, every figure computed again from the records.

One real campaign is measured by the real command; every test that changes files works on a copy.
"""

from __future__ import annotations

import json
import os
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from cli_console import console, files_of

from wholecurve import __version__
from wholecurve.cli.campaign_recompute import line_differences
from wholecurve.cli.main import main
from wholecurve.model.errors import InputError
from wholecurve.results import find_curves, load_campaign
from wholecurve.run.derive import ABSENT, numbers_in
from wholecurve.sim import SimOptions, start

QUESTIONS = [(f"What is {n} + {n + 2}? Answer with the number only.", str(2 * n + 2)) for n in range(16)]
POWER = {
    "system_desc_id": "node", "cooling": "air", "scale_out": {"present": False},
    "node_sets": [
        {
            "node_set_id": 1, "system_node_ensemble_id": 1, "nodes_provisioned": 1,
            "power_method": "published_system",
            "published_power": {"value_kw": 10.2, "source_type": "publication", "source": "https://example.org/node"},
        }
    ],
}  # fmt: skip


def measure(folder: Path, points: str, *more: str) -> Path:
    """A campaign in folder/c, with accuracy and power."""
    rows = [json.dumps({"prompt": f"Say {k} words about the sea."}) for k in range(16)]
    (folder / "rows.jsonl").write_text("\n".join(rows) + "\n")
    known = [json.dumps({"prompt": prompt, "answer": answer}) for prompt, answer in QUESTIONS]
    (folder / "known.jsonl").write_text("\n".join(known) + "\n")
    (folder / "power.json").write_text(json.dumps(POWER))
    with start(SimOptions(seed=1, speed=4.0, answers=dict(QUESTIONS))) as sim:
        flags = [
            "--endpoint", sim.url, "--model", "sim", "--dataset", "rows.jsonl", "--max-tokens", "8",
            "--rules", "demo", "--benchmark", "demo", "--seed-set", "demo", "--points", points, "--offline", "elected",
            "--idle-gap", "0s", "--max-extra", "1s", "--accuracy-dataset", "known.jsonl", "--power", "power.json",
        ]  # fmt: skip
        done = console("sweep", *flags, "--quiet", "--out", "c", *more, cwd=folder)
    assert done.code in (0, 1), done.err  # 1: this machine was busy with something else
    return folder / "c"


@pytest.fixture(scope="module")
def measured(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return measure(tmp_path_factory.mktemp("measured"), "1,5")


@pytest.fixture
def campaign(measured: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return Path(shutil.copytree(measured, tmp_path / "c"))


def report(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    capsys.readouterr()
    code = main(["report", *arguments])
    said = capsys.readouterr()
    assert "Traceback" not in said.err
    return code, said.out, said.err


def contents(folder: Path) -> dict[str, bytes]:
    return {name: (folder / name).read_bytes() for name in files_of(folder)}


def edit(path: Path, change: Callable[[dict[str, Any]], object]) -> None:
    found = json.loads(path.read_text())
    change(found)
    path.write_text(json.dumps(found))


def edit_records(path: Path, column: str, row: int, value: object) -> None:
    """Change one value of a Parquet file, as nobody would do by accident."""
    table = pq.read_table(path)
    kept = table.column(column).to_pylist()
    kept[row] = value
    place = table.schema.get_field_index(column)
    pq.write_table(table.set_column(place, table.schema.field(place), pa.array(kept, table.schema.types[place])), path)


# -- shown again -------------------------------------------------------------------------------------------------------


def test_a_campaign_is_shown_and_its_files_are_the_same_again(
    campaign: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = contents(campaign)
    code, out, err = report(capsys, "c")
    complete = "Campaign: COMPLETE" in out
    assert code == (0 if complete else 1)
    for words in ("Highest system throughput", "Lowest TTFT P90", "Highest per provisioned kW", "of 10.2 kW",
                  "accuracy passed at 2 of 2 points", "every prompt salted", "Files: c/"):  # fmt: skip
        assert words in out
    assert err == ""
    assert contents(campaign) == before, "no report holds the time at which it was made"


def test_hash_seeds_of_processes_change_no_report(campaign: Path) -> None:
    made = []
    for seed in ("1", "2"):
        console("report", "c", cwd=campaign.parent, env={"PYTHONHASHSEED": seed})
        made.append(contents(campaign))
    assert made[0] == made[1]


def test_lost_reports_are_made_anew(campaign: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = contents(campaign)
    for name in ("curve.json", "report.html", "report.txt", "report.png"):
        (campaign / name).unlink()
    report(capsys, "c")
    assert contents(campaign) == before


def test_page_and_picture_go_where_asked(campaign: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = contents(campaign)
    (campaign / "report.html").write_text("mine")
    (campaign / "report.png").write_text("mine")
    report(capsys, "c", "--html", "page.html", "--png", "curve.png")
    assert Path("curve.png").read_bytes() == before["report.png"]
    page = Path("page.html").read_text()
    assert "Highest system throughput" in page
    assert 'href="points/' not in page, "from there these addresses lead nowhere"
    assert (campaign / "report.html").read_text() == (campaign / "report.png").read_text() == "mine"
    report(capsys, "c", "--html", "c/other.html")
    assert (campaign / "other.html").read_bytes() == before["report.html"]


@pytest.mark.parametrize("flag", ["--html", "--png"])
def test_a_place_that_cannot_be_written_is_named(campaign: Path, capsys: pytest.CaptureFixture[str], flag: str) -> None:
    code, _, err = report(capsys, "c", flag, "nowhere/file")
    assert code == 4
    assert err.splitlines() == [
        "error: nowhere/file cannot be written: No such file or directory",
        "  name another file",
    ]


def test_as_json(campaign: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = report(capsys, "c", "--json")
    found = json.loads(out)
    assert found["schema"] == "wholecurve.campaign_report/1"
    assert found["curve"] == json.loads((campaign / "curve.json").read_text())
    assert found["complete"] is (code == 0)
    assert found["accuracy"]["r1"]["accuracy_scores"][0]["gate"]["passed"] is True
    assert {"tone": "ok", "what": "no request failed"} in found["checks"]
    assert (found["missing"] == []) is found["complete"]
    assert found["unfinished"] == []


def test_runs_inside_are_reported_as_any_run(campaign: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for group in ("search", "attempts"):
        (campaign / group).mkdir()
        shutil.copytree(campaign / "points" / "r1", campaign / group / "c1")
        code, out, _ = report(capsys, f"c/{group}/c1")
        assert code == 0
        assert "TTFT" in out
        assert report(capsys, f"c/{group}/c1", "--recompute")[0] == 0
    code, _, err = report(capsys, "c/points/r1", "--png", "x.png")
    assert code == 2
    assert "--png: the report of a single run has no picture" in err
    assert not Path("x.png").exists()


# -- what is not whole -------------------------------------------------------------------------------------------------


def test_a_run_that_was_killed_is_said_and_left_alone(campaign: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (campaign / "attempts").mkdir()
    shutil.copytree(campaign / "points" / "r5", campaign / "attempts" / "r5-1")
    for place in ("points/r5", "attempts/r5-1"):
        shutil.rmtree(campaign / place / "performance")
    entries = (campaign / "journal.jsonl").read_text().splitlines()
    started = max(place for place, line in enumerate(entries) if '"point_started"' in line)
    (campaign / "journal.jsonl").write_text("\n".join(entries[: started + 1]) + "\n")
    code, out, err = report(capsys, "c")
    assert code == 1
    assert "Campaign: UNFINISHED" in out
    assert err.splitlines() == [
        "points/r5 was cut off, or still measured; it goes on with: wholecurve sweep --resume c",
        "attempts/r5-1 was cut off and set aside; finish one with: wholecurve report c/attempts/r5-1",
    ]
    assert not (campaign / "points" / "r5" / "performance").exists()
    code, out, _ = report(capsys, "c", "--recompute")
    assert re.search(r"points/r5 +did not come to its end", out)
    assert json.loads(report(capsys, "c", "--json")[1])["unfinished"] == ["points/r5", "attempts/r5-1"]


def test_a_campaign_without_a_point(campaign: Path, capsys: pytest.CaptureFixture[str]) -> None:
    shutil.rmtree(campaign / "points")
    (campaign / "journal.jsonl").unlink()
    code, out, _ = report(capsys, "c")
    assert code == 1
    assert "No point was measured." in out
    assert "r1: not measured" in out
    assert (campaign / "report.html").stat().st_size > 10_000
    assert report(capsys, "c", "--recompute")[0] == 0


def test_a_sweep_that_was_stopped_in_its_search(campaign: Path, capsys: pytest.CaptureFixture[str]) -> None:
    shutil.rmtree(campaign / "points")
    for name in ("plan.yaml", "curve.json", "report.png"):
        (campaign / name).unlink()
    created = (campaign / "journal.jsonl").read_text().splitlines()[0]
    trial = {
        "at": "2026-12-01T12:00:00Z", "event": "trial", "concurrency": 4, "system_tps": 607.0, "tps_per_user": 161.0,
        "ttft_p90_ns": 13_956_062, "invalid": [], "client_limited": False,
    }  # fmt: skip
    (campaign / "journal.jsonl").write_text(f"{created}\n{json.dumps(trial)}\n")
    code, out, err = report(capsys, "c", "--png", "x.png")
    assert code == 1
    assert "Campaign: UNFINISHED  The search for C_max has not come to its end" in out
    assert "trial at 4" in out
    assert "607 tokens/s, 161 tokens/s per user, TTFT P90 14.0 ms" in " ".join(out.split())
    assert err == "note: no picture: there is no curve yet\n"
    assert not (campaign / "curve.json").exists()
    found = json.loads(report(capsys, "c", "--json")[1])
    assert (found["curve"], len(found["trials"]), found["state"]) == (None, 1, "unfinished")
    code, _, err = report(capsys, "c", "--recompute")
    assert code == 2
    assert "holds no curve yet" in err
    with pytest.raises(InputError, match="stopped before its levels were chosen"):
        find_curves(campaign)


@pytest.mark.parametrize("text", ["", "not JSON\n", "[]\n", '{"event": "created"}\n', '{"at": 5, "event": []}\n'])
def test_a_journal_that_says_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str], text: str) -> None:
    (tmp_path / "c").mkdir()
    (tmp_path / "c" / "journal.jsonl").write_text(text)
    code, out, _ = report(capsys, str(tmp_path / "c"))
    assert code == 1
    assert "No point was measured." in out
    assert str(tmp_path) not in (tmp_path / "c" / "report.html").read_text()


def test_damage_is_named_with_relative_names(campaign: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (campaign / "points" / "r1" / "accuracy" / "accuracy_results.json").write_text("{")
    (campaign / "points" / "r5" / "point.yaml").write_text("- 1\n")
    (campaign / "system_power.json").write_text("{}")
    (campaign / "system_desc.json").write_text("[")
    told = load_campaign(campaign.resolve()).missing
    assert any(one.startswith("points/r1/accuracy/accuracy_results.json: ") for one in told)
    assert any(one.startswith("points/r5: point.yaml, line 1: ") for one in told), told
    assert any(one.startswith("system_power.json: ") for one in told)
    assert any(one.startswith("system_desc.json: ") for one in told)
    code, out, _ = report(capsys, "c")
    assert code == 1
    page = (campaign / "report.html").read_text()
    for text in (*told, page, (campaign / "report.txt").read_text(), out):
        assert str(campaign.parent) not in text


def test_a_missing_repeat_is_missing(campaign: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = campaign / "journal.jsonl"
    lines = path.read_text().splitlines()
    last = json.loads(lines[-1])
    assert last["event"] == "finished"
    path.write_text("\n".join([*lines[:-1], json.dumps(last | {"missing": ["r5-2"]})]) + "\n")
    code, out, _ = report(capsys, "c")
    assert code == 1
    assert "r5-2: not measured" in out


# -- what the report says ----------------------------------------------------------------------------------------------


def test_the_report_says_how_the_load_was_made(campaign: Path, capsys: pytest.CaptureFixture[str]) -> None:
    summary = campaign / "points" / "r5" / "performance" / "result_summary.json"
    edit(summary, lambda found: found["workload"].update(extended_ns=3_700_000_000))
    path = campaign / "journal.jsonl"
    lines = path.read_text().splitlines()
    differing = ["the source of stamps was kernel at r1, and user at r5"]
    path.write_text("\n".join([*lines[:-1], json.dumps(json.loads(lines[-1]) | {"differences": differing})]) + "\n")
    report(capsys, "c")
    text = " ".join((campaign / "report.txt").read_text().split())
    assert "extended by 3.70 s" in text
    assert "every request of the performance phase is salted with 64 bits from seed set demo" in text
    assert re.search(r"made from the words demo-[\d-]+/[\dTZ:.-]+/r1/1, and 1 more", text)
    assert "accuracy phase unsalted" in text
    assert "every point none: no warm-up request was sent" in text
    assert "known exact_match 100 of 100, passed, bound 50 (16 rows)" in text
    assert "not the same configuration: The source of stamps was kernel at r1, and user at r5." in text
    assert re.search(r"r5 started \S+, took [^,]+, extended by 3.70 s", text)


def test_a_level_without_salt_is_told(campaign: Path, capsys: pytest.CaptureFixture[str]) -> None:
    edit(campaign / "points" / "r5" / "plan.json", lambda plan: plan["phases"][0].update(salt=None))
    out = report(capsys, "c")[1]
    assert "! no salt at 5" in out
    assert "from seed set demo, but for concurrency 5" in " ".join((campaign / "report.txt").read_text().split())


# -- computed again ----------------------------------------------------------------------------------------------------


def again(capsys: pytest.CaptureFixture[str]) -> tuple[int, dict[str, Any]]:
    code, out, _ = report(capsys, "c", "--recompute", "--json")
    return code, json.loads(out)


def paths(found: dict[str, Any]) -> dict[str, list[str]]:
    """Paths of differences by run or file."""
    rows = {run["run"]: run["differences"] for run in found["runs"]} | {"curve.json": found["curve"]["differences"]}
    rows |= {name: one["differences"] for name, one in found["reports"].items()}
    return {name: [one["path"] for one in differences] for name, differences in rows.items() if differences}


def test_everything_is_as_stored(campaign: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = contents(campaign)
    code, out, err = report(capsys, "c", "--recompute")
    assert (code, err) == (0, "")
    lines = out.splitlines()
    assert [line.split()[0] for line in lines[:-1]] == [
        "points/r1", "points/r5", "curve.json", "report.txt", "report.html", "report.png",
    ]  # fmt: skip
    assert lines[-1].endswith(": all as stored, digit by digit, and the reports byte for byte")
    _, found = again(capsys)
    document = json.loads((campaign / "curve.json").read_text())
    assert (found["schema"], found["same"]) == ("wholecurve.recomputed_campaign/1", True)
    assert found["figures"] == sum(run["figures"] for run in found["runs"]) + found["curve"]["figures"]
    assert all(run["figures"] > 1000 and run["curve_figures"] > 15 for run in found["runs"])
    assert {run["measured_by"] for run in found["runs"]} == {__version__}
    assert found["curve"]["figures"] == numbers_in(document)
    assert paths(found) == {}
    assert contents(campaign) == before, "nothing is written"


@pytest.mark.parametrize(
    ("key", "path"),
    [("value", "figures.system_tps.value"), ("low", "figures.system_tps.low"), ("high", "figures.system_tps.high")],
)
def test_one_number_of_the_curve(campaign: Path, capsys: pytest.CaptureFixture[str], key: str, path: str) -> None:
    def change(found: dict[str, Any]) -> None:
        found["points"][1]["figures"]["system_tps"][key] *= 1.0000000001

    edit(campaign / "curve.json", change)
    code, found = again(capsys)
    assert code == 1
    assert paths(found) == {"curve.json": [f"points[1] (points/r5).{path}"]}


def test_the_power_of_a_point(campaign: Path, capsys: pytest.CaptureFixture[str]) -> None:
    edit(campaign / "curve.json", lambda found: found["points"][0]["power"].update(kw=9.1))
    assert paths(again(capsys)[1]) == {"curve.json": ["points[0] (points/r1).power.kw"]}


def test_one_number_of_a_summary(campaign: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = campaign / "points" / "r5" / "performance" / "result_summary.json"
    edit(path, lambda found: found["official"]["figures"]["system_tps"].update(value=1e6))
    code, out, _ = report(capsys, "c", "--recompute")
    assert code == 1
    assert "  official.figures.system_tps.value\n    stored  1000000.0\n" in out
    assert "1 differs" in out.splitlines()[-1]
    assert list(paths(again(capsys)[1])) == ["points/r5"], "curve and report are those of the records"


def test_a_summary_and_all_that_is_made_of_it(campaign: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Whoever changes a figure and has every file made anew is found out by the records."""
    path = campaign / "points" / "r5" / "performance" / "result_summary.json"
    edit(path, lambda found: found["official"]["figures"]["system_tps"].update(value=1e6, interval=None))
    report(capsys, "c")
    report(capsys, "c/points/r5")
    code, found = again(capsys)
    assert code == 1
    assert {"points/r5", "curve.json", "report.txt", "report.html"} <= set(paths(found))
    assert "points[1] (points/r5).figures.system_tps.value" in paths(found)["curve.json"]


def test_one_record(campaign: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = campaign / "points" / "r1" / "records" / "requests.parquet"
    table = pq.read_table(path)
    row = pc.index(table.column("outcome").cast(pa.string()), "succeeded").as_py()
    edit_records(path, "completed_ns", row, table.column("completed_ns")[row].as_py() + 1_000_000)
    code, found = again(capsys)
    assert code == 1
    assert any(path.startswith("latency.") for path in paths(found)["points/r1"])


def test_one_word_of_a_report(campaign: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name, word, other in (("report.txt", "Highest", "Biggest"), ("report.html", "Lowest TTFT", "Least TTFT")):
        text = (campaign / name).read_text()
        assert word in text
        (campaign / name).write_text(text.replace(word, other, 1))
    (campaign / "points" / "r1" / "report.txt").write_text("all is well\n")
    code, out, _ = report(capsys, "c", "--recompute")
    assert code == 1
    assert "Biggest" in out
    assert "report.txt and report.html are not what the figures make" in out.splitlines()[-1]
    found = paths(again(capsys)[1])
    assert set(found) == {"points/r1", "report.txt", "report.html"}
    assert re.fullmatch(r"report\.txt line \d+", found["report.txt"][0])
    assert len(found["report.txt"]) == len(found["report.html"]) == 1


def test_reports_alone_are_made_anew_by_the_command_that_is_named(
    campaign: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (campaign / "report.txt").write_text("old\n")
    (campaign / "report.html").unlink()
    code, out, _ = report(capsys, "c", "--recompute")
    assert code == 1
    assert out.splitlines()[-1] == "  made anew by: wholecurve report c"
    report(capsys, "c")
    assert report(capsys, "c", "--recompute")[0] == 0


def test_a_score_of_the_accuracy_phase(campaign: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = campaign / "points" / "r5" / "accuracy" / "accuracy_results.json"
    edit(path, lambda found: found["accuracy_scores"][0]["metrics"]["exact_match"].update(value=12.5))
    code, found = again(capsys)
    assert code == 1
    assert paths(found) == {"points/r5": ["accuracy_results.accuracy_scores[0].metrics.exact_match.value"]}


def test_the_spread_of_repeats_is_computed_again(campaign: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (campaign / "repeats").mkdir()
    shutil.copytree(campaign / "points" / "r5", campaign / "repeats" / "r5-2")
    report(capsys, "c")
    code, found = again(capsys)
    assert code == 0
    assert [run["run"] for run in found["runs"]] == ["points/r1", "points/r5", "repeats/r5-2"]
    edit(campaign / "curve.json", lambda curve: curve["points"][1]["figures"]["system_tps"].update(spread=0.5))
    assert paths(again(capsys)[1]) == {"curve.json": ["points[1] (points/r5).figures.system_tps.spread"]}


@pytest.mark.parametrize("text", [None, "{", "[1]"])
def test_a_curve_that_is_not_there_or_none(
    campaign: Path, capsys: pytest.CaptureFixture[str], text: str | None
) -> None:
    if text is None:
        (campaign / "curve.json").unlink()
    else:
        (campaign / "curve.json").write_text(text)
    code, found = again(capsys)
    assert code == 1
    assert paths(found) == {"curve.json": ["curve.json"]}
    assert (found["curve"]["differences"][0]["stored"] == ABSENT) is (text is None)


def test_a_run_without_its_records_cannot_be_computed_again(campaign: Path, capsys: pytest.CaptureFixture[str]) -> None:
    shutil.rmtree(campaign / "points" / "r1" / "records")
    code, out, _ = report(capsys, "c", "--recompute")
    assert code == 1
    assert re.search(r"points/r1 +cannot be computed again: ", out)
    assert re.search(r"points/r5 +[\d,]+ figures", out), "the others are computed all the same"


@pytest.mark.parametrize("flag", ["--html", "--png"])
def test_nothing_is_written_beside_a_comparison(campaign: Path, capsys: pytest.CaptureFixture[str], flag: str) -> None:
    code, _, err = report(capsys, "c", "--recompute", flag, "x")
    assert code == 2
    assert f"--recompute: wanted no {flag}, got both" in err
    assert not Path("x").exists()


def test_where_texts_part(tmp_path: Path) -> None:
    path = tmp_path / "report.txt"
    path.write_text("a\n" + "x" * 300 + "1" + "y" * 300 + "\nb\n")
    (one,) = line_differences(path, "a\n" + "x" * 300 + "2" + "y" * 300 + "\nb\n")
    assert one.path == "report.txt line 2"
    assert (one.stored.strip("…xy"), one.found.strip("…xy")) == ("1", "2")
    assert len(one.stored) < 130
    assert [one.found for one in line_differences(path, "a\nb\n")] == [ABSENT]
    (line,) = line_differences(tmp_path / "none.txt", "a")
    assert line.stored == ABSENT
    path.write_bytes(b"a\xff\n")
    (line,) = line_differences(path, "a\n")
    assert line.stored == "a\\xff"
    path.write_text("\n".join(map(str, range(9000))))
    (line,) = line_differences(path, "0")
    assert line.stored == "9000 lines"
    assert not list(line_differences(path, path.read_text()))


@pytest.mark.slow
def test_a_larger_campaign_with_repeats(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Four levels measured twice: every figure again, and each kind of tampering found."""
    folder = measure(tmp_path, "1,3,6,12", "--repeats", "2")
    monkeypatch.chdir(tmp_path)
    assert len(list((folder / "repeats").iterdir())) == 4
    assert main(["report", "c", "--recompute"]) == 0
    before = contents(folder)
    main(["report", "c"])
    assert contents(folder) == before
    edit(folder / "curve.json", lambda curve: curve["points"][3]["figures"]["ttft_p90_ns"].update(spread=0.0))
    assert main(["report", "c", "--recompute"]) == 1


@pytest.mark.parametrize("flag", ["--html", "--png"])
def test_a_device_or_a_pipe_is_never_replaced_by_a_file(campaign: Path, flag: str, tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    done = console("report", str(campaign), flag, str(pipe), cwd=tmp_path)
    assert (done.code, done.errors()[-2:]) == (
        2, [f"error: wanted an ordinary file, got {pipe}, which is none", "  name another file"],
    )  # fmt: skip
    assert pipe.is_fifo()
