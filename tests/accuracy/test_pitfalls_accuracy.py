"""Faults that scoring tools have had, by their ids in tests/pitfalls.py: runs against servers that provoke them."""

from __future__ import annotations

import json
from collections import Counter
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from accuracy_cases import PHASE, Reply, accuracy_plan, written

from wholecurve import datasets
from wholecurve.accuracy import EXTRACTORS, check_expected, judge_folder
from wholecurve.config import RunFlags, parse_config, resolve, settings_from
from wholecurve.model.errors import InputError
from wholecurve.run import RunResult, measure, recover_run
from wholecurve.run.derive import derive
from wholecurve.sim import SimOptions, profile_named, start
from wholecurve.testing import Request, ScriptedServer, error_answer, sse_answer, sse_event, stream_answer


def quiet(_said: object) -> None:
    """Nobody listens."""


def measured(folder: Path, url: str, quiz: list[dict[str, Any]], **sections: Any) -> RunResult:
    """Eight prompts measured at four at a time, then the quiz; into `folder`/out."""
    (folder / "speed.jsonl").write_text("".join(f'{{"prompt": "tale {row}", "max_tokens": 4}}\n' for row in range(8)))
    (folder / "quiz.jsonl").write_text("".join(json.dumps(row) + "\n" for row in quiz))
    given: dict[str, Any] = {
        "endpoint": {"urls": url, "model": "sim"},
        "dataset": {"path": str(folder / "speed.jsonl")},
        "load": {"concurrency": 4},
        "accuracy": {"dataset": {"path": str(folder / "quiz.jsonl")}},
        "rules": {"version": "demo"},
    } | sections
    settings = settings_from(RunFlags(), parse_config(json.dumps(given), "run.yaml", {}))
    resolved = resolve(settings, environ={}, read_dataset=datasets.load, cores=2)
    return measure(resolved, folder / "out", show=quiet, say=quiet)


def entry_of(folder: Path) -> Any:
    return json.loads((folder / "out" / "accuracy" / "accuracy_results.json").read_bytes())["accuracy_scores"][0]


def marks_of(folder: Path, replies: list[Reply], expected: dict[int, str], **plan: Any) -> tuple[Any, list[Any]]:
    """Entry and marks of answers that were recorded as a run records them."""
    found = judge_folder(written(folder, replies, expected), accuracy_plan(len(expected), **plan), PHASE)
    return found.results["accuracy_scores"][0], found.samples


def numbered(count: int) -> list[dict[str, Any]]:
    return [{"prompt": f"question {row}", "answer": f"answer {row}"} for row in range(count)]


def test_acc_1_a_broken_grader_gives_no_score(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its own error comes out, nothing is written that could be taken for a score, and mended it scores the records."""

    def broken(_text: str) -> str:
        raise ModuleNotFoundError("No module named 'grader_needs_it'", name="grader_needs_it")

    with ScriptedServer(lambda request: sse_answer([request.json()["messages"][0]["content"][9:]])) as server:
        quiz = [{"prompt": f"question {row}", "answer": str(row)} for row in range(6)]
        with monkeypatch.context() as patched:
            # Only when the answers are scored: what is checked beforehand would refuse the run before the load.
            patched.setattr(import_module("wholecurve.run.measure"), "check_expected", lambda _plan, _expected: None)
            patched.setitem(EXTRACTORS, "text", broken)  # type: ignore[arg-type]
            with pytest.raises(ModuleNotFoundError, match="grader_needs_it"):
                measured(tmp_path, server.url, quiz)
        assert not (tmp_path / "out" / "accuracy").exists()
        recover_run(tmp_path / "out", quiet)
    assert entry_of(tmp_path)["score"] == {"exact_match": 1.0}
    assert entry_of(tmp_path)["complete"] is True


def test_acc_1_expected_answers_that_cannot_be_compared_are_not_wrong_answers(tmp_path: Path) -> None:
    """Before the load they are refused; in records they leave the score unjudged."""
    options = {"extract": "number"}
    replies, expected = [Reply(0, "7"), Reply(1, "8")], {0: "7", 1: "none"}
    entry, _ = marks_of(tmp_path, replies, expected, options=options, least={"exact_match": 90.0})
    assert entry["gate"]["passed"] is None
    assert "1 of 2 expected answers hold nothing to compare" in entry["gate"]["reason"]
    with pytest.raises(InputError, match="row 1 of quiz: wanted an expected answer that exact_match can compare"):
        check_expected(accuracy_plan(2, options=options), {"quiz": expected})


def test_acc_2_failed_requests_stay_in_the_denominator(tmp_path: Path) -> None:
    """Of 100 rows 60 are right, 20 wrong and 20 refused with 429: 60 of 100, 80 scored, and the run is not valid."""

    def handler(request: Request) -> Any:
        kind, _, row = request.json()["messages"][0]["content"].partition(" ")
        if kind == "question" and int(row) >= 80:
            return error_answer(429, "slow down")
        return sse_answer([f"answer {row}" if int(row) < 60 else "no idea"])

    with ScriptedServer(handler) as server:
        measured(tmp_path, server.url, numbered(100))
    entry = entry_of(tmp_path)
    assert entry["score"] == {"exact_match": 0.6}
    assert entry["unit_samples"] == 100
    counts = entry["response_counts"]
    assert (counts["issued"], counts["scored"], counts["missing"], counts["failed"]) == (100, 80, 20, 20)
    assert entry["complete"] is False
    marks = json.loads((tmp_path / "out" / "accuracy" / "scores.json").read_bytes())
    assert len(marks) == 100
    assert Counter(mark["correct"] for mark in marks if mark["row"] < 80) == {True: 60, False: 20}
    phase = derive(tmp_path / "out").phases[1]
    assert [(one["kind"], one["count"]) for one in phase["failures"]["kinds"]] == [("http_429", 20)]
    assert phase["validity"]["valid"] is False
    assert "20 of 100 requests failed (20.00 %, limit 1.00 %)" in phase["validity"]["invalid_reasons"]


def test_acc_3_thinking_that_uses_up_the_answer_is_told_and_not_asked_again(tmp_path: Path) -> None:
    """The finish reason is `length` and the content null: empty, wrong, counted as cut, and sent once."""
    long = [{"delta": {"content": None, "reasoning_content": f"hmm {step} "}} for step in range(40)]
    cut = stream_answer(
        [sse_event({"choices": [{"index": 0, "finish_reason": None, **delta}]}) for delta in long]
        + [sse_event({"choices": [{"index": 0, "delta": {"content": None}, "finish_reason": "length"}]})]
        + [sse_event("[DONE]")]
    )
    with ScriptedServer(cut) as server:
        measured(tmp_path, server.url, numbered(10))
        sent = Counter(request.json()["messages"][0]["content"] for request in server.requests)
    entry = entry_of(tmp_path)
    counts = entry["response_counts"]
    assert (counts["issued"], counts["empty"], counts["cut_at_limit"], counts["scored"]) == (10, 10, 10, 0)
    assert (entry["score"], entry["complete"]) == ({"exact_match": 0.0}, True)
    assert set(sent.values()) == {1}, "nothing was sent again"
    assert len(sent) == 18


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("<think>maybe 42 or 17", None),
        ("<think>maybe 42 or 17</think>", None),
        ("<think>maybe 42 or 17</think>It is 5.", "5"),
        ("maybe 42 or 17</think>5", "5"),  # the template has opened it
        ("<thinking>42</thinking>5<think>17", "5"),
        ("5 <think>or 17?</think>", "5"),
        ("5 < 17", "17"),
        ("<think>42</think>5 </think>", "5"),
    ],
)
def test_acc_4_half_a_thought_is_no_answer(tmp_path: Path, text: str, found: str | None) -> None:
    replies = [Reply(0, text, finish="length")]
    entry, (mark,) = marks_of(tmp_path, replies, {0: "17"}, options={"extract": "number"})
    assert mark["extracted"] == found
    assert mark["correct"] is (found == "17")
    counts = entry["response_counts"]
    assert counts["empty"] == (found is None)
    assert counts["cut_at_limit"] == 1


@pytest.mark.parametrize(
    ("extract", "expected", "text"),
    [
        ("number", "70", r"and therefore 7 * 10 = 70, so \boxed{70}\).</answer>"),
        ("number", "1,234.50", "The total is **$1234.5**."),
        ("number", "-3", "x = \u22123"),
        ("choice", "B", "The answer is (B)."),
        ("choice", "b", "Both A and C fail. Answer: **B**"),
        ("text", "Paris", " **paris.**\n"),
    ],
)
def test_acc_5_right_answers_are_recognised(tmp_path: Path, extract: str, expected: str, text: str) -> None:
    entry, (mark,) = marks_of(tmp_path, [Reply(0, text)], {0: expected}, options={"extract": extract})
    assert mark["correct"], mark
    assert entry["response_counts"]["no_answer_found"] == 0


def test_acc_5_answers_in_which_nothing_was_found_are_counted_apart_from_wrong_ones(tmp_path: Path) -> None:
    replies = [Reply(0, "no number here"), Reply(1, "8"), Reply(2, "9")]
    entry, _ = marks_of(tmp_path, replies, {0: "7", 1: "8", 2: "8"}, options={"extract": "number"})
    assert entry["score"] == {"exact_match": pytest.approx(1 / 3)}
    assert entry["response_counts"]["no_answer_found"] == 1
    assert entry["extractor"] == "number"


def test_acc_6_accuracy_has_the_measured_load_and_sampling(tmp_path: Path) -> None:
    """As many in flight, and the same sampling in every body; a row that has its own says so in its own body."""
    with start(SimOptions(profile=profile_named("small"), speed=4.0)) as sim:
        quiz = [row | {"max_tokens": 12} for row in numbered(24)]
        measured(tmp_path, sim.url, quiz, request={"sampling": {"temperature": 0.6, "top_p": 0.9}})
    found = derive(tmp_path / "out")
    held = [found.phases[number]["concurrency"] for number in (0, 1)]
    assert [one["requested"] for one in held] == [4, 4]
    assert [one["peak"] for one in held] == [4, 4]
    assert found.plan.request.sampling == {"temperature": 0.6, "top_p": 0.9}
    assert [phase.pattern for phase in found.plan.phases] == ["concurrency", "concurrency"]


def test_acc_6_sampling_is_in_the_bodies_of_both_phases(tmp_path: Path) -> None:
    with ScriptedServer(sse_answer(["answer 1"])) as server:
        measured(tmp_path, server.url, numbered(6), request={"sampling": {"temperature": 0.6, "seed": 5}})
        bodies = [request.json() for request in server.requests]
    kinds = Counter((body["messages"][0]["content"].split()[0], body["temperature"], body["seed"]) for body in bodies)
    assert kinds == {("tale", 0.6, 5): 8, ("question", 0.6, 5): 6}


@pytest.mark.parametrize(
    ("benchmark", "bound", "passed"), [("gpt-oss-120b", 82.2987, False), ("deepseek-r1", 80.544618, True)]
)
def test_acc_7_every_model_has_a_bound_of_its_own(tmp_path: Path, benchmark: str, bound: float, passed: bool) -> None:
    """A score of 81.5 is enough for one model and too little for the other; the words name score and bound."""
    answers = {row: f"answer {row}" for row in range(200)}

    def handler(request: Request) -> Any:
        row = request.json()["messages"][0]["content"].rpartition(" ")[2]
        return sse_answer([f"answer {row}" if int(row) < 163 else "no idea"])

    with ScriptedServer(handler) as server:
        measured(tmp_path, server.url, numbered(len(answers)), rules={"version": "v1_0", "benchmark": benchmark})
    gate = entry_of(tmp_path)["gate"]
    assert gate["passed"] is passed
    assert gate["reason"] == f"exact_match of 81.5 {'reaches' if passed else 'is below'} the bound of {bound:.4g}"
    assert gate["metrics"][0]["least"] == bound
    plan = derive(tmp_path / "out").plan
    assert plan.rules is not None
    assert plan.rules.benchmark == benchmark, "the bound is that of the benchmark, and the plan says which"
