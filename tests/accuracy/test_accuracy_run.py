"""The demo's questions, asked of a simulated model that knows them by the real client, and scored from its files."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from wholecurve import datasets
from wholecurve.accuracy import accuracy_results, check_expected, judge_folder
from wholecurve.cli import demo
from wholecurve.config import Resolved, RunFlags, parse_config, resolve, settings_from
from wholecurve.model.plan import PhaseKind, plan_from_json
from wholecurve.records.read import read_columns
from wholecurve.run.measure import measure
from wholecurve.sim import FaultShare, RunningSim, SimOptions, profile_named, read_answers, start

QUIZ = Path(demo.__file__).with_name("demo_accuracy.jsonl")
ROWS = len(QUIZ.read_text().splitlines())
FILE = """\
endpoint: {{urls: "{url}", model: sim}}
dataset: {{path: speed.jsonl}}
load: {{concurrency: 4, salt: word}}
accuracy: {{dataset: {{path: {quiz}}}}}
rules: {{version: demo, benchmark: demo}}
"""


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with eight prompts that no model knows an answer to."""
    monkeypatch.chdir(tmp_path)
    rows = [{"prompt": f"tell a tale of {n} winds", "max_tokens": 8} for n in range(8)]
    (tmp_path / "speed.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return tmp_path


def knowing(**changes: Any) -> Iterator[RunningSim]:
    answers = read_answers(str(QUIZ))
    with start(SimOptions(profile=profile_named("flash"), answers=answers, **changes)) as sim:
        yield sim


def resolved_for(sim: RunningSim) -> Resolved:
    settings = settings_from(RunFlags(), parse_config(FILE.format(url=sim.url, quiz=QUIZ), "run.yaml", {}))
    return resolve(settings, environ={}, read_dataset=datasets.load, cores=2)


def measured(folder: Path, sim: RunningSim) -> Path:
    resolved = resolved_for(sim)
    check_expected(resolved.plan, resolved.expected)
    measure(resolved, folder / "out", show=lambda _live: None, say=lambda _text: None)
    return folder / "out"


def plan_of(folder: Path) -> Any:
    return plan_from_json(json.loads((folder / "plan.json").read_bytes()))


def entry_of(folder: Path) -> dict[str, Any]:
    (entry,) = json.loads((folder / "accuracy" / "accuracy_results.json").read_bytes())["accuracy_scores"]
    assert isinstance(entry, dict)
    return entry


@pytest.mark.parametrize(("wrong_share", "right", "passed"), [(0.0, 20, True), (0.25, 15, True), (0.75, 5, False)])
def test_what_the_model_gets_right_is_the_score(here: Path, wrong_share: float, right: int, passed: bool) -> None:
    assert ROWS == 20
    for sim in knowing(wrong_share=wrong_share):
        folder = measured(here, sim)
    entry = entry_of(folder)
    assert entry["score"] == {"exact_match": right / 20}
    assert entry["gate"]["passed"] is passed
    assert entry["gate"]["metrics"][0]["least"] == 50.0
    assert entry["response_counts"]["scored"] == entry["unit_samples"] == 20
    assert entry["complete"] is True
    assert entry["duration_s"] > 0


def test_scores_are_made_again_from_the_records_alone(here: Path) -> None:
    for sim in knowing(wrong_share=0.25):
        folder = measured(here, sim)
    (here / "speed.jsonl").unlink()
    plan = plan_of(folder)
    phase = len(plan.phases) - 1
    stored = json.loads((folder / "accuracy" / "accuracy_results.json").read_bytes())
    assert accuracy_results(folder, plan, phase) == stored
    marks = judge_folder(folder, plan, phase).samples
    assert [mark["row"] for mark in marks] == list(range(20))
    assert sum(mark["correct"] for mark in marks) == 15
    assert [mark["extracted"] for mark in marks if mark["correct"]] == [
        mark["expected"] for mark in marks if mark["correct"]
    ]


def test_the_phase_comes_last_at_the_measured_load_and_feeds_no_performance_figure(here: Path) -> None:
    for sim in knowing():
        folder = measured(here, sim)
    plan = plan_of(folder)
    assert [phase.kind for phase in plan.phases] == [PhaseKind.PERFORMANCE, PhaseKind.ACCURACY]
    assert plan.phases[1].concurrency == plan.phases[0].concurrency == 4
    assert (plan.phases[0].salt, plan.phases[1].salt) == ("word", None)
    first, second = (read_columns(folder / "records", phase) for phase in (0, 1))
    assert sorted(second["sample"].tolist()) == list(range(20))
    assert int(second["issued_ns"].min()) >= int(first["completed_ns"].max())
    summary = json.loads((folder / "performance" / "result_summary.json").read_bytes())
    assert summary["n_samples_issued"] == 8


def test_requests_that_fail_score_nothing(here: Path) -> None:
    for sim in knowing(faults=(FaultShare("server_error", 0.4),), seed=5):
        folder = measured(here, sim)
    counts = entry_of(folder)["response_counts"]
    assert counts["failed"] == counts["missing"] > 0
    assert counts["issued"] == 20
    assert entry_of(folder)["score"] == {"exact_match": (20 - counts["failed"]) / 20}
    assert entry_of(folder)["complete"] is False


def test_a_reasoning_model_is_scored_by_what_it_says(here: Path) -> None:
    for sim in knowing(reasoning_share=0.5):
        folder = measured(here, sim)
    assert entry_of(folder)["score"] == {"exact_match": 1.0}


def test_the_demo_asks_as_much_as_its_benchmark_wants_and_every_answer_can_be_compared(here: Path) -> None:
    loaded = datasets.load(QUIZ, answer="answer")
    for sim in knowing():
        resolved = resolved_for(sim)
    check_expected(resolved.plan, resolved.expected)
    assert not [note for note in resolved.plan.notes if "accuracy" in note]
    assert len({sample.prompt for sample in loaded.samples}) == len(loaded.samples)
