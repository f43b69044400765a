"""The accuracy phase: its load, its rows and answers, its bounds, and what is refused before anything is sent."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from config_cases import BASE, settings

from wholecurve import datasets
from wholecurve.config import Settings
from wholecurve.config.accuracy import AccuracyPart, accuracy_phase, check_accuracy
from wholecurve.config.phases import pattern_of
from wholecurve.config.scorers import SCORERS, scorer_options
from wholecurve.load import planned_total
from wholecurve.load.order import sample_order
from wholecurve.model.errors import InputError
from wholecurve.model.plan import Order, Pattern, PhaseKind, PhasePlan, StopRule
from wholecurve.rules.load import load_rules

QUIZ = [{"prompt": f"what is {n} and {n}", "answer": 2 * n} for n in range(20)]
NS = 1_000_000_000


@pytest.fixture
def quiz(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """quiz.jsonl with twenty rows, in the current folder."""
    monkeypatch.chdir(tmp_path)
    return rows_in(tmp_path / "quiz.jsonl", QUIZ)


def rows_in(path: Path, rows: list[dict[str, Any]]) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def measured_phase(asked: Settings, dataset: str = "prompts") -> PhasePlan:
    load, pattern = asked.load, pattern_of(asked.load)
    return PhasePlan(
        PhaseKind.PERFORMANCE, "performance", dataset, 3, Order.SHUFFLED, 42, pattern, StopRule(),
        concurrency=load.concurrency, rate_per_s=load.rate,
    )  # fmt: skip


def part_of(
    text: str = "", *, base: str = BASE, measured: PhasePlan | None = None, version: str = "demo", **options: Any
) -> AccuracyPart:
    """The accuracy part of a YAML text; the measured phase comes from its load unless given."""
    asked = settings(base + text)
    measured = measured or measured_phase(asked)
    return accuracy_phase(asked, measured, datasets.load, load_rules(version), **options)


WITH_QUIZ = "accuracy: {dataset: {path: quiz.jsonl}}\n"


def refused(text: str, **options: Any) -> str:
    with pytest.raises(InputError) as error:
        part_of(text, **options)
    return str(error.value)


def test_each_row_is_sent_once_in_order_and_unsalted(quiz: Path) -> None:
    phase = part_of(WITH_QUIZ).phase
    assert (phase.kind, phase.name, phase.order) == (PhaseKind.ACCURACY, "accuracy", Order.SEQUENTIAL)
    assert planned_total(phase.stop, phase.rows) == phase.rows == 20
    assert (phase.salt, phase.hold, phase.ramp_ns) == (None, None, 0)
    assert phase.drain_timeout_ns == settings(BASE).limits.drain_timeout


def test_the_order_is_that_of_the_file_whatever_the_seed(quiz: Path) -> None:
    from random import Random

    phase = part_of(WITH_QUIZ).phase
    order = sample_order(phase.order, phase.rows, Random(phase.order_seed))
    assert [next(order) for _ in range(20)] == list(range(20))


def test_answers_stand_by_row(quiz: Path) -> None:
    part = part_of(WITH_QUIZ)
    assert part.expected == {row: str(2 * row) for row in range(20)}
    assert [sample.row for sample in part.samples] == list(range(20))
    assert part.dataset.rows == 20
    assert part.dataset.name == part.phase.dataset == part.plan.dataset == "quiz"


LOADS = [
    ("load: {concurrency: 7}\n", Pattern.CONCURRENCY, 7, None),
    ("load: {pattern: offline}\n", Pattern.OFFLINE, None, None),
    ("load: {pattern: offline, concurrency: 5}\n", Pattern.OFFLINE, 5, None),
    ("load: {rate: 3}\n", Pattern.POISSON, None, 3.0),
    ("load: {rate: 3, concurrency: 9, pattern: constant}\n", Pattern.CONSTANT, 9, 3.0),
]


@pytest.mark.parametrize(("load", "pattern", "concurrency", "rate"), LOADS)
def test_the_load_is_the_measured_one(
    quiz: Path, load: str, pattern: Pattern, concurrency: int | None, rate: float | None
) -> None:
    base = BASE.replace("load: {concurrency: 4}\n", load)
    phase = part_of(WITH_QUIZ, base=base).phase
    assert (phase.pattern, phase.concurrency, phase.rate_per_s) == (pattern, concurrency, rate)


def test_the_ramp_and_the_salt_of_the_measured_phase_stay_there(quiz: Path) -> None:
    asked = settings(BASE)
    measured = replace(measured_phase(asked), ramp_ns=NS, salt="word")
    phase = part_of(WITH_QUIZ, measured=measured).phase
    assert (phase.ramp_ns, phase.salt, phase.concurrency) == (0, None, 4)


def test_the_measured_file_may_be_scored_too_under_a_name_of_its_own(quiz: Path) -> None:
    measured = measured_phase(settings(BASE), "quiz")
    part = part_of(WITH_QUIZ, measured=measured)
    assert part.dataset.name == part.phase.dataset == part.plan.dataset == "quiz-accuracy"
    rows_in(quiz.with_name("warmup.jsonl"), QUIZ)
    assert part_of("accuracy: {dataset: {path: warmup.jsonl}}").dataset.name == "warmup-accuracy"


def test_another_column_and_a_limit(quiz: Path) -> None:
    rows_in(quiz, [{"q": "one", "solution": "I"}, {"q": "two", "solution": "II"}])
    text = "accuracy: {dataset: {path: quiz.jsonl, columns: {prompt: q}, limit: 1}, answer: solution}"
    part = part_of(text)
    assert part.expected == {0: "I"}
    assert part.samples[0].prompt == "one"


def test_a_row_without_an_answer_is_refused(quiz: Path) -> None:
    rows_in(quiz, [*QUIZ, {"prompt": "what is nothing"}])
    said = refused(WITH_QUIZ)
    assert "line 21" in said
    assert "column 'answer'" in said


def test_no_file_is_refused(quiz: Path) -> None:
    assert "wanted a file with a column 'answer', got none" in refused("")
    made = "accuracy: {dataset: {synthetic: {rows: 3, input_tokens: 4}}}"
    assert "made-up prompts, which have no right answer" in refused(made)


def test_an_unknown_scorer_is_refused_with_the_nearest_one(quiz: Path) -> None:
    said = refused("accuracy: {dataset: {path: quiz.jsonl}, scorer: exactmatch}")
    assert "wanted one of exact_match, got 'exactmatch'" in said
    assert "did you mean `exact_match`?" in said


# -- bounds ------------------------------------------------------------------------------------------------------------


def test_bounds_come_from_the_benchmark(quiz: Path) -> None:
    part = part_of(WITH_QUIZ + "rules: {version: demo, benchmark: demo}\n")
    assert part.plan.least == {"exact_match": 50.0}
    assert part.notes == ()


def test_a_bound_that_is_set_wins(quiz: Path) -> None:
    text = (
        "accuracy: {dataset: {path: quiz.jsonl}, least: {exact_match: 87.5}}\nrules: {version: demo, benchmark: demo}"
    )
    assert part_of(text).plan.least == {"exact_match": 87.5}


def test_without_a_bound_there_is_no_gate_and_it_is_said(quiz: Path) -> None:
    part = part_of(WITH_QUIZ)
    assert part.plan.least == {}
    assert "judged by no bound" in part.notes[0]


def test_bounds_on_metrics_that_the_scorer_lacks_are_said(quiz: Path) -> None:
    rules = load_rules("v1_0")
    name = next(name for name, one in rules.benchmarks.benchmark.items() if "exact_match" not in one.targets)
    part = part_of(WITH_QUIZ + f"rules: {{benchmark: {json.dumps(name)}}}\n", version="v1_0")
    assert "exact_match" not in part.plan.least
    assert any(f"benchmark {name} has bounds on" in note for note in part.notes)


def test_the_bound_of_answers_measured_inline_is_not_taken(quiz: Path) -> None:
    part = part_of(WITH_QUIZ + "rules: {version: demo, benchmark: demo-agentic}\n")
    assert part.plan.least == {}
    assert "no score of an accuracy data set" in part.notes[0]


@pytest.mark.parametrize("bound", ["-1", "100.5", "true", "half", "[50]"])
def test_a_bound_that_is_none_is_refused(quiz: Path, bound: str) -> None:
    said = refused(f"accuracy: {{dataset: {{path: quiz.jsonl}}, least: {{exact_match: {bound}}}}}")
    assert "accuracy.least.exact_match: wanted a number from 0 to 100" in said


def test_a_bound_on_another_metric_is_refused(quiz: Path) -> None:
    said = refused("accuracy: {dataset: {path: quiz.jsonl}, least: {exact_macth: 50}}")
    assert "wanted a metric of exact_match" in said
    assert "did you mean `exact_match`?" in said


def test_too_few_rows_for_the_benchmark_are_said(quiz: Path) -> None:
    rows_in(quiz, QUIZ[:15])
    part = part_of(WITH_QUIZ + "rules: {version: demo, benchmark: demo}\n")
    assert part.notes == ("the accuracy data set has 15 rows: benchmark demo wants at least 20",)


def test_answers_that_cannot_end_are_said(quiz: Path) -> None:
    text = WITH_QUIZ + "rules: {version: demo, benchmark: demo}\nrequest: {ignore_eos: true, min_tokens: 5}\n"
    assert [note.split()[0] for note in part_of(text).notes] == ["request.ignore_eos", "request.min_tokens"]


# -- options -----------------------------------------------------------------------------------------------------------


def test_options_have_defaults_and_may_be_given(quiz: Path) -> None:
    assert part_of(WITH_QUIZ).plan.options == {"extract": "text"}
    assert part_of(WITH_QUIZ, options={"extract": "number"}).plan.options == {"extract": "number"}
    assert all(scorer_options(name, {}).keys() == rules.options.keys() for name, rules in SCORERS.items())


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"extrct": "text"}, "did you mean `extract`?"),
        ({"extract": "letters"}, "wanted one of text, number, choice, got 'letters'"),
        ({"extract": ["text"]}, "wanted one of text"),
    ],
)
def test_other_options_are_refused(quiz: Path, options: dict[str, Any], said: str) -> None:
    assert said in refused(WITH_QUIZ, options=options)


def test_a_phase_that_is_described_but_not_asked_for_is_refused() -> None:
    check_accuracy(settings(BASE).accuracy)
    check_accuracy(settings(BASE + WITH_QUIZ).accuracy)
    with pytest.raises(InputError, match=r"accuracy.least is set, but there is no accuracy data set"):
        check_accuracy(settings(BASE + "accuracy: {least: {exact_match: 50}}").accuracy)
