"""Records are enough: the summary is derived from plan, clock and records, and anyone gets the same digits."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from run_build import phase, plan_for, run_load
from run_folder import measured, summary_of

from wholecurve.cli import demo
from wholecurve.model.errors import InputError
from wholecurve.model.plan import PhaseKind, StopRule
from wholecurve.model.record import RunState
from wholecurve.model.strict_json import dumps_strict
from wholecurve.run import recover_run
from wholecurve.run.derive import ABSENT, Difference, compared, derive, recompute
from wholecurve.sim import SimOptions, profile_named, read_answers, start
from wholecurve.testing import ScriptedServer, sse_answer

QUIZ = Path(demo.__file__).with_name("demo_accuracy.jsonl")


def files_of(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.fixture(scope="module")
def original(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A warm-up, nine passes of six prompts, and twenty questions that the model knows."""
    folder = tmp_path_factory.mktemp("derive")
    with start(SimOptions(profile=profile_named("flash"), answers=read_answers(str(QUIZ)))) as sim:
        result = measured(
            folder, sim, warmup={"requests": 5}, stop={"passes": 9}, accuracy={"dataset": {"path": str(QUIZ)}},
            rules={"version": "demo", "benchmark": "demo"},
        )  # fmt: skip
    assert (result.state, result.invalid) == (RunState.COMPLETE, ())
    return folder / "out"


@pytest.fixture
def run(original: Path, tmp_path: Path) -> Path:
    """A copy elsewhere, under another name."""
    return Path(shutil.copytree(original, tmp_path / "somewhere" / "else"))


def test_the_summary_on_disk_is_what_the_records_say(run: Path) -> None:
    found = derive(run)
    assert json.loads(dumps_strict(found.summary)) == summary_of(run)
    assert [found.phases[number]["phase_name"] for number in range(3)] == ["warmup", "performance", "accuracy"]
    assert found.columns.n == 54
    assert found.phases[0]["outcomes"]["sent"] == 5
    assert found.phases[2]["outcomes"]["sent"] == 20


def test_recompute_finds_the_same_digits_and_writes_nothing(run: Path) -> None:
    before = files_of(run)
    found = recompute(run)
    assert found.differences == ()
    assert found.figures > 1_000
    assert files_of(run) == before


def test_nothing_but_plan_clock_and_records_is_needed(run: Path) -> None:
    stored = summary_of(run)
    for path in sorted(run.rglob("*"), reverse=True):
        kept = path.name in ("plan.json", "clock.json") or "records" in path.relative_to(run).parts
        if path.is_file() and not kept:
            path.unlink()
    assert json.loads(dumps_strict(derive(run).summary)) == stored


def test_facts_hold_no_figure_of_the_records(run: Path) -> None:
    facts = json.loads((run / "records" / "facts.json").read_bytes())
    assert list(facts) == [
        "schema", "version", "git_sha", "state", "reason", "machine", "phases", "tokens", "request",
    ]  # fmt: skip
    assert facts["schema"] == "wholecurve.facts/1"
    assert [set(one) for one in facts["phases"]] == [{"workers", "prompts"}] * 3
    assert facts["phases"][1]["prompts"]["requests"] == 54
    assert "tell a tale" not in json.dumps(facts), "no prompt is kept"


NUMBERS = [
    ("ttft", "percentiles", "90.0"),
    ("system_tps",),
    ("official", "figures", "tpot_p90_ns", "value"),
    ("official", "figures", "system_tps", "interval", "high"),
    ("steady_state", "series", "tpot_p50", 3),
    ("steady_state", "block_starts_ns", 0),
    ("outcomes", "succeeded"),
    ("latency", "histogram", "counts", 0),
    ("workload", "prompts", "distinct"),
    ("workload", "warmup", "duration_s"),
    ("machine", "cores"),
    ("workers", 0, "cpu_ns"),
]


@pytest.mark.parametrize("place", NUMBERS, ids=lambda place: ".".join(map(str, place)))
def test_one_changed_number_is_found(run: Path, place: tuple[str | int, ...]) -> None:
    summary = summary_of(run)
    holder: Any = summary
    for key in place[:-1]:
        holder = holder[key]
    true = holder[place[-1]]
    false = true + 1 if isinstance(true, int) else float(np.nextafter(true, np.inf))
    holder[place[-1]] = false
    (run / "performance" / "result_summary.json").write_bytes(dumps_strict(summary))
    (difference,) = recompute(run).differences
    assert difference[1:] == (false, true)
    keys = (f'["{key}"]' if key == "90.0" else f"[{key}]" if isinstance(key, int) else f".{key}" for key in place)
    assert difference.path == "".join(keys).removeprefix(".")


def test_missing_and_added_keys_words_and_kinds_of_number_are_found(run: Path) -> None:
    summary = summary_of(run)
    del summary["ttft"]
    summary["better"] = 1
    summary["state"] = "failed"
    summary["complete"] = 1
    summary["outcomes"]["failed"] = 0.0
    summary["violations"] = {}
    (run / "performance" / "result_summary.json").write_bytes(dumps_strict(summary))
    found = {one.path: one[1:] for one in recompute(run).differences}
    assert found.pop("ttft")[0] == ABSENT
    assert found == {
        "better": (1, ABSENT), "state": ("failed", "complete"), "complete": (1, True), "outcomes.failed": (0.0, 0),
        "violations": ({}, []),
    }  # fmt: skip


def test_paths_of_lists_and_odd_keys() -> None:
    stored, found = {"a": [1, {"b c": 2}, 3]}, {"a": [1, {"b c": 5}]}
    assert list(compared(stored, found)) == [Difference('a[1]["b c"]', 2, 5), Difference("a[2]", 3, ABSENT)]
    assert list(compared({"x": []}, {"x": None})) == [Difference("x", [], None)]


def change_column(run: Path, table: str, name: str, change: Any) -> None:
    path = run / "records" / f"{table}.parquet"
    read = pq.read_table(path)
    values = read[name].to_pylist()
    place = next(n for n, number in enumerate(read["phase"].to_pylist()) if number == 1)
    values[place] = change(values[place])
    field = read.schema.field(name)
    pq.write_table(read.set_column(read.schema.names.index(name), field, pa.array(values, type=field.type)), path)


@pytest.mark.parametrize(
    ("table", "name", "change", "path"),
    [
        ("requests", "completed_ns", lambda value: value + 1_000, "latency.total"),
        ("requests", "first_output_ns", lambda value: value - 1_000, "ttft.total"),
        ("requests", "usage_output", lambda value: value + 1, "tokens.output"),
        ("requests", "outcome", lambda _: "failed", "outcomes.succeeded"),
        ("events", "gaps_ns", lambda value: [value[0] + 1_000, *value[1:]], "gaps.total"),
    ],
)
def test_one_changed_record_is_found(run: Path, table: str, name: str, change: Any, path: str) -> None:
    change_column(run, table, name, change)
    assert path in {one.path for one in recompute(run).differences}


def test_scores_are_compared_too(run: Path) -> None:
    path = run / "accuracy" / "accuracy_results.json"
    results = json.loads(path.read_bytes())
    assert results["accuracy_scores"][0]["score"] == {"exact_match": 1.0}
    expected = json.loads((run / "records" / "expected.json").read_bytes())
    rows = next(iter(expected.values()))
    rows["0"] = "something else"
    (run / "records" / "expected.json").write_bytes(dumps_strict(expected))
    found = {one.path: one[1:] for one in recompute(run).differences}
    assert found["accuracy_results.accuracy_scores[0].score.exact_match"] == (1.0, 0.95)


def test_answers_are_kept_of_the_accuracy_phase_only(run: Path) -> None:
    kept = pq.read_table(run / "records" / "responses.parquet")
    assert set(kept["phase"].to_pylist()) == {2}
    assert len(json.loads((run / "accuracy" / "scores.json").read_bytes())) == kept.num_rows == 20


DAMAGE = [
    ("plan.json", None, "no plan.json"),
    ("plan.json", b"{}", "wanted plan.json with schema"),
    ("plan.json", b"{", "plan.json is not valid JSON"),
    ("clock.json", None, "no clock.json"),
    ("clock.json", b'{"schema": "wholecurve.clock/1", "anchors": [], "phase_spans_ns": []}', "clock.json is damaged"),
    ("clock.json", b"[]", "clock.json: wanted an object"),
    ("records/facts.json", None, "no facts.json"),
    ("records/facts.json", b'{"schema": "wholecurve.facts/2"}', "wanted facts.json with schema"),
    ("records/facts.json", b'{"schema": "wholecurve.facts/1"}', "facts.json is damaged"),
    ("records/requests.parquet", None, r"no requests\.parquet"),
    ("records/events.parquet", b"PAR1", r"events\.parquet cannot be read"),
    ("records/responses.parquet", None, r"no responses\.parquet"),
    ("records/expected.json", None, "expected answers are not there"),
    ("performance/result_summary.json", None, "has no performance/result_summary.json"),
    ("performance/result_summary.json", b"nothing", "result_summary.json is not valid JSON"),
    ("accuracy/accuracy_results.json", None, r"no accuracy_results\.json"),
]


@pytest.mark.parametrize(("name", "content", "message"), DAMAGE)
def test_missing_and_damaged_files_are_refused(run: Path, name: str, content: bytes | None, message: str) -> None:
    if content is None:
        (run / name).unlink()
    else:
        (run / name).write_bytes(content)
    with pytest.raises(InputError, match=message):
        recompute(run)


FACTS = [
    (("phases",), [], "does not belong to plan.json"),
    (("state",), "fine", "damaged"),
    (("version",), 3, "damaged"),
    (("machine", "cores"), "many", "damaged"),
    (("machine", "speed"), 1, "'speed' is not known"),
    (("phases", 0, "workers", 0, "read_lag_log2_ns"), [1] * 65, "damaged"),
    (("phases", 0, "workers", 0, "reads"), {}, "damaged"),
    (("phases", 0, "workers", 0), 7, "damaged"),
]


@pytest.mark.parametrize(("place", "odd", "message"), FACTS)
def test_odd_facts_are_refused(run: Path, place: tuple[str | int, ...], odd: object, message: str) -> None:
    path = run / "records" / "facts.json"
    facts = json.loads(path.read_bytes())
    holder: Any = facts
    for key in place[:-1]:
        holder = holder[key]
    holder[place[-1]] = odd
    path.write_bytes(dumps_strict(facts))
    with pytest.raises(InputError, match=message):
        derive(run)


def test_rules_that_no_window_can_satisfy_are_refused(run: Path) -> None:
    plan = json.loads((run / "plan.json").read_bytes())
    plan["rules"]["min_super_passes"] = 0
    (run / "plan.json").write_bytes(dumps_strict(plan))
    with pytest.raises(InputError, match=r"plan\.json is damaged: wanted at least 2 super-passes"):
        derive(run)


def killed(folder: Path) -> Path:
    """What a run leaves that is killed when its load is over: plan and journals."""
    warmup = phase(kind=PhaseKind.WARMUP, name="warmup", stop=StopRule(min_samples=3, max_samples=3))
    phases = [warmup, phase()]
    with ScriptedServer(sse_answer(["a", "b", "c"], usage={"prompt_tokens": 3, "completion_tokens": 3})) as server:
        run_load(folder / "records", server.url, phases)
        plan = plan_for([server.url], phases)
    (folder / "plan.json").write_bytes(dumps_strict(plan.to_json()))
    return folder


def test_a_killed_run_is_recovered_and_recomputed(tmp_path: Path) -> None:
    folder = killed(tmp_path / "run")
    with pytest.raises(InputError, match=r"has no performance/result_summary\.json"):
        recompute(folder)
    told: list[str] = []
    result = recover_run(folder, told.append)
    assert (result.state, result.exit_code) == (RunState.INTERRUPTED, 130)
    assert told == ["recovering run"]
    summary = summary_of(folder)
    assert summary["outcomes"]["succeeded"] == 8
    assert summary["workload"]["state_reason"].startswith("the run did not come to its end")
    assert summary["machine"]["cores"] is None
    assert "prompts" not in summary["workload"]
    warmup = summary["workload"]["warmup"]
    assert (warmup["requests_issued"], warmup["requests_completed"]) == (3, 3)
    assert 0 < warmup["duration_s"] < 5
    assert not recompute(Path(shutil.copytree(folder, tmp_path / "copy"))).differences


def test_a_run_killed_while_it_wrote_results_is_as_complete_as_it_was(run: Path) -> None:
    stored = summary_of(run)
    for name in ("performance", "metrics", "accuracy"):
        shutil.rmtree(run / name)
    told: list[str] = []
    result = recover_run(run, told.append)
    assert (result.state, told) == (RunState.COMPLETE, ["finishing else"])
    assert summary_of(run) == stored
    assert not recompute(run).differences


@pytest.mark.parametrize(
    ("file", "before", "after", "path"),
    [
        ("point.yaml", "requests_completed: 5", "requests_completed: 4", "point.warmup.requests_completed"),
        ("metrics/final_snapshot.json", '"state": "complete"', '"state": "failed"', "final_snapshot.state"),
        ("sample_idx_map.json", "-1-0\": ", "-1-0\": 9", "sample_idx_map.performance"),
    ],
)  # fmt: skip
def test_files_beside_the_summary_are_held_to_the_records_too(
    run: Path, tmp_path: Path, file: str, before: str, after: str, path: str
) -> None:
    copy = tmp_path / "copy"
    shutil.copytree(run, copy)
    assert recompute(copy).differences == ()
    text = (copy / file).read_text()
    assert before in text
    (copy / file).write_text(text.replace(before, after, 1))
    (difference,) = recompute(copy).differences
    assert difference.path.startswith(path)


def test_what_the_submitter_says_in_point_yaml_is_his(run: Path, tmp_path: Path) -> None:
    copy = tmp_path / "copy"
    shutil.copytree(run, copy)
    with (copy / "point.yaml").open("a") as file:
        file.write("division: Standardized\nmodel_precision: fp8\n")
    assert recompute(copy).differences == ()
