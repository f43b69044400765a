"""Scores of cases one can check in the head, what is missing, bounds, and records that do not fit."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from accuracy_cases import EXTRACT, PHASE, Reply, accuracy_plan, written

from wholecurve.accuracy import (
    EXPECTED_FILE,
    SCORERS,
    Answered,
    accuracy_results,
    check_expected,
    judge_folder,
    per_sample,
    read_expected,
    score_records,
)
from wholecurve.accuracy.gate import judge
from wholecurve.config.scorers import SCORERS as SCORER_RULES
from wholecurve.model.errors import InputError
from wholecurve.model.plan import Plan
from wholecurve.model.strict_json import dumps_strict

CAPITALS = {0: "Paris", 1: "Tokyo", 2: "Rome", 3: "Ottawa"}


def entry_of(results: Mapping[str, Any]) -> dict[str, Any]:
    (entry,) = results["accuracy_scores"]
    assert isinstance(entry, dict)
    return entry


def scored(folder: Path, replies: list[Reply], plan: Plan | None = None) -> dict[str, Any]:
    records = written(folder, replies) / "records"
    return entry_of(score_records(records, plan or accuracy_plan(4), PHASE, CAPITALS))


def answers(*texts: str | None) -> list[Reply]:
    return [Reply(row, text) for row, text in enumerate(texts)]


def test_all_right(tmp_path: Path) -> None:
    entry = scored(tmp_path, answers("Paris", "tokyo.", "**Rome**", " Ottawa "))
    assert entry["score"] == {"exact_match": 1.0}
    assert entry["metrics"]["exact_match"]["value"] == 100.0
    assert entry["complete"] is True


def test_three_of_four_right(tmp_path: Path) -> None:
    entry = scored(tmp_path, answers("Paris", "Kyoto", "Rome", "Ottawa"))
    assert entry["score"] == {"exact_match": 0.75}
    assert entry["metrics"]["exact_match"]["value"] == 75.0


def test_none_right(tmp_path: Path) -> None:
    entry = scored(tmp_path, answers("Rome", "Paris", "Ottawa", "Tokyo"))
    assert entry["score"] == {"exact_match": 0.0}


def test_rows_without_an_answer_score_nothing_and_are_counted(tmp_path: Path) -> None:
    replies = [
        Reply(0, "Paris"),
        Reply(1, "Tok", outcome="failed"),
        Reply(2, " \n", finish="length", reasoning="Rome"),
        Reply(3, "Ottawa", outcome="cancelled"),
    ]
    entry = scored(tmp_path, replies)
    assert entry["score"] == {"exact_match": 0.25}
    assert entry["response_counts"] == {
        "issued": 4, "scored": 1, "empty": 1, "missing": 2, "failed": 2, "no_answer_found": 0, "cut_at_limit": 1,
    }  # fmt: skip
    assert entry["complete"] is False
    assert entry["unit_samples"] == entry["total_samples"] == 4


def test_reasoning_is_not_the_answer(tmp_path: Path) -> None:
    entry = scored(tmp_path, [Reply(0, "Lyon", reasoning="Paris"), *answers("", "Tokyo", "Rome", "Ottawa")[1:]])
    assert entry["score"] == {"exact_match": 0.75}


def test_the_order_of_issue_does_not_matter(tmp_path: Path) -> None:
    right = [Reply(3, "Ottawa"), Reply(1, "Tokyo"), Reply(0, "no idea"), Reply(2, "Rome")]
    folder = written(tmp_path, right)
    marks = per_sample(folder / "records", accuracy_plan(4), PHASE, CAPITALS)
    assert [(mark["row"], mark["correct"]) for mark in marks] == [(0, False), (1, True), (2, True), (3, True)]
    assert marks[0] == {"row": 0, "expected": "paris", "extracted": "no idea", "correct": False}


def test_the_result_is_strict_json_in_the_form_that_the_checker_reads(tmp_path: Path) -> None:
    plan = accuracy_plan(4, least={"exact_match": 75.0})
    folder = written(tmp_path, answers("Paris", "Kyoto", "Rome", "Ottawa"), CAPITALS)
    results = accuracy_results(folder, plan, PHASE)
    again = json.loads(dumps_strict(results))
    entry = entry_of(again)
    assert again == results
    assert results["schema"] == "wholecurve.accuracy/1"
    assert entry["dataset_name"] == "quiz"
    assert entry["dataset_type"] == "accuracy"
    assert (entry["unit_samples"], entry["num_repeats"]) == (4, 1)
    assert entry["duration_s"] == 5.0  # issued at 10 s, the last one issued at 13 s and answered 2 s later
    assert (entry["scorer"], entry["options"]) == ("exact_match", EXTRACT)
    assert entry["gate"]["passed"] is True
    assert judge_folder(folder, plan, PHASE).results == results


def test_a_share_of_one_percent_is_not_written_as_1(tmp_path: Path) -> None:
    """The official checker takes any score up to 1 for a fraction."""
    expected = dict.fromkeys(range(100), "yes")
    folder = written(tmp_path, [Reply(row, "yes" if row == 50 else "no") for row in range(100)])
    entry = entry_of(score_records(folder / "records", accuracy_plan(100), PHASE, expected))
    assert entry["score"] == {"exact_match": 0.01}
    assert entry["metrics"]["exact_match"]["value"] == 1.0


# -- bounds ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("bound", "passed"), [(75.0, True), (75.0001, False), (0.0, True), (100.0, False)])
def test_a_bound_is_inclusive_and_has_no_tolerance(tmp_path: Path, bound: float, passed: bool) -> None:
    plan = accuracy_plan(4, least={"exact_match": bound})
    gate = scored(tmp_path, answers("Paris", "Kyoto", "Rome", "Ottawa"), plan)["gate"]
    (one,) = gate["metrics"]
    assert gate["passed"] is one["passed"] is passed
    assert (one["metric"], one["least"], one["value"]) == ("exact_match", bound, 75.0)
    assert f"{bound:g}" in gate["reason"]


def test_without_a_bound_nothing_is_judged(tmp_path: Path) -> None:
    gate = scored(tmp_path, answers("Paris", "Tokyo", "Rome", "Ottawa"))["gate"]
    assert gate == {"passed": None, "reason": "no bound is set", "metrics": []}


def test_an_interrupted_phase_is_not_judged(tmp_path: Path) -> None:
    plan = accuracy_plan(4, least={"exact_match": 25.0})
    entry = scored(tmp_path, [Reply(0, "Paris")], plan)
    assert entry["score"] == {"exact_match": 0.25}
    assert entry["gate"]["passed"] is None
    assert entry["gate"]["reason"] == "not judged: 3 of 4 rows were never asked"
    assert entry["response_counts"]["missing"] == 3


def test_failed_requests_are_judged(tmp_path: Path) -> None:
    """An endpoint that does not answer has not answered right."""
    plan = accuracy_plan(4, least={"exact_match": 80.0})
    replies = [*answers("Paris", "Tokyo", "Rome"), Reply(3, None, outcome="failed", finish=None)]
    assert scored(tmp_path, replies, plan)["gate"]["passed"] is False


def test_no_request_at_all(tmp_path: Path) -> None:
    plan = accuracy_plan(4, least={"exact_match": 80.0})
    entry = scored(tmp_path, [], plan)
    assert entry["duration_s"] is None
    assert entry["complete"] is False
    assert entry["gate"]["passed"] is None


def test_expected_answers_with_nothing_in_them_are_not_judged(tmp_path: Path) -> None:
    plan = accuracy_plan(2, least={"exact_match": 50.0}, options={"extract": "number"})
    folder = written(tmp_path, answers("4", "5"))
    entry = entry_of(score_records(folder / "records", plan, PHASE, {0: "4", 1: "five"}))
    assert entry["score"] == {"exact_match": 0.5}
    assert entry["gate"]["reason"] == "not judged: 1 of 2 expected answers hold nothing to compare"


def test_a_missed_bound_is_told_in_digits_that_differ() -> None:
    gate = judge({"exact_match": 72.36239999}, {"exact_match": 72.3624})
    assert gate["passed"] is False
    assert gate["reason"] == "exact_match of 72.36239999 is below the bound of 72.3624"


def test_one_failed_bound_of_two_fails() -> None:
    gate = judge({"a": 50.0, "b": 20.0}, {"a": 40.0, "b": 30.0})
    assert gate["passed"] is False
    assert [one["passed"] for one in gate["metrics"]] == [True, False]
    assert gate["reason"] == "b of 20 is below the bound of 30"


def test_a_metric_that_was_not_measured_does_not_pass() -> None:
    gate = judge({"a": 50.0}, {"a": 40.0, "b": 30.0})
    assert gate["passed"] is None
    assert gate["reason"] == "b was not measured"


# -- hostile output ----------------------------------------------------------------------------------------------------


def test_hostile_answers_are_scored_and_shown_short(tmp_path: Path) -> None:
    texts = ["\x1b[2J\x00\u202e" * 100_000, "9" * 3_000_000, "<script>alert(1)</script>\n" * 50_000, "Ottawa"]
    folder = written(tmp_path, answers(*texts), CAPITALS)
    judged = judge_folder(folder, accuracy_plan(4), PHASE)
    assert entry_of(judged.results)["score"] == {"exact_match": 0.25}
    text = dumps_strict(judged.samples).decode()
    assert len(text) < 4000
    assert "\\u001b" not in text
    assert [mark["correct"] for mark in judged.samples] == [False, False, False, True]
    assert entry_of(judged.results)["response_counts"]["scored"] == 4


# -- what does not fit -------------------------------------------------------------------------------------------------


def refused(folder: Path, plan: Plan, expected: Mapping[int, str], phase: int = PHASE) -> str:
    with pytest.raises(InputError) as error:
        score_records(folder / "records", plan, phase, expected)
    return str(error.value)


def test_records_of_another_data_set_are_refused(tmp_path: Path) -> None:
    folder = written(tmp_path, [Reply(0, "Paris"), Reply(9, "Oslo")])
    assert "row 9" in refused(folder, accuracy_plan(4), CAPITALS)


def test_a_row_sent_twice_is_refused(tmp_path: Path) -> None:
    folder = written(tmp_path, [Reply(0, "Lyon"), Reply(0, "Paris")])
    assert "every row once" in refused(folder, accuracy_plan(4), CAPITALS)


def test_answers_that_were_not_kept_are_missed(tmp_path: Path) -> None:
    folder = written(tmp_path, answers("Paris", "Tokyo", "Rome", "Ottawa"))
    (folder / "records" / "responses.parquet").unlink()
    assert "the answers were not kept" in refused(folder, accuracy_plan(4), CAPITALS)


def test_a_damaged_file_of_answers_is_named(tmp_path: Path) -> None:
    folder = written(tmp_path, answers("Paris", "Tokyo", "Rome", "Ottawa"))
    (folder / "records" / "responses.parquet").write_bytes(b"PAR1 nothing")
    assert "responses.parquet cannot be read" in refused(folder, accuracy_plan(4), CAPITALS)


def test_another_phase_is_refused(tmp_path: Path) -> None:
    folder = written(tmp_path, answers("Paris"))
    assert "no accuracy phase" in refused(folder, accuracy_plan(4), CAPITALS, phase=0)
    assert "no accuracy phase" in refused(folder, accuracy_plan(4), CAPITALS, phase=7)
    assert "got none" in refused(folder, accuracy_plan(4), {})


@pytest.mark.parametrize(
    "content", [b"", b"[]", b"{}", b'{"quiz": 4}', b'{"quiz": {}}', b'{"quiz": {"a": "x"}}', b'{"quiz": {"0": 4}}']
)
def test_a_damaged_file_of_expected_answers_is_refused(tmp_path: Path, content: bytes) -> None:
    (tmp_path / EXPECTED_FILE).write_bytes(content)
    with pytest.raises(InputError, match="expected answer of every row of 'quiz'"):
        read_expected(tmp_path, "quiz")


def test_expected_answers_that_cannot_be_read_are_named(tmp_path: Path) -> None:
    (tmp_path / EXPECTED_FILE).mkdir()
    with pytest.raises(InputError, match="cannot be read: Is a directory"):
        read_expected(tmp_path, "quiz")


def test_a_missing_file_of_expected_answers_is_named(tmp_path: Path) -> None:
    folder = written(tmp_path, answers("Paris"))
    with pytest.raises(InputError, match="nothing can be scored"):
        accuracy_results(folder, accuracy_plan(4), PHASE)


def test_expected_answers_that_cannot_be_compared_are_refused_beforehand() -> None:
    plan = accuracy_plan(2, options={"extract": "number"})
    check_expected(plan, {"quiz": {0: "4", 1: "about 5"}})
    with pytest.raises(InputError) as error:
        check_expected(plan, {"quiz": {0: "4", 1: "five"}})
    assert "row 1 of quiz" in str(error.value)
    assert "extract number" in str(error.value)


# -- the table ---------------------------------------------------------------------------------------------------------


def test_every_scorer_has_rules_and_gives_the_metrics_they_name() -> None:
    assert set(SCORERS) == set(SCORER_RULES)
    for name, scorer in SCORERS.items():
        defaults = {option: values[0] for option, values in SCORER_RULES[name].options.items()}
        assert scorer.name == name
        assert tuple(scorer.score([Answered(0, "4", "4")], defaults).metrics) == SCORER_RULES[name].metrics
        assert set(scorer.score([], defaults).metrics.values()) == {None}
