"""From the records of an accuracy phase to accuracy/accuracy_results.json; can be run again by anyone.

Every row of the data set counts once: a row whose answer failed, was lost, or was never asked for scores 0. Visible
text is scored, never reasoning or tool calls, and no thought that a server left in the text.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import orjson

from wholecurve.accuracy.extract import spoken
from wholecurve.accuracy.gate import judge
from wholecurve.accuracy.scorer import Answered, Mark, Scored
from wholecurve.accuracy.table import SCORERS, unusable_rows
from wholecurve.config.scorers import scorer_named
from wholecurve.model.errors import InputError
from wholecurve.model.plan import AccuracyPlan, PhaseKind, Plan
from wholecurve.model.record import FinishReason, Outcome

ACCURACY_SCHEMA = "wholecurve.accuracy/1"
EXPECTED_FILE = "expected.json"
"""In records/: data set -> row -> expected answer, so that scores can be made again without the data set."""


@dataclass(frozen=True, slots=True)
class Judgement:
    """`results`: content of accuracy/accuracy_results.json. `samples`: of accuracy/scores.json, one for every row."""

    results: dict[str, Any]
    samples: list[dict[str, Any]]


@dataclass(frozen=True, slots=True)
class _Asked:
    """The requests of the phase: row by place in the issue order, and counts of what happened."""

    row_of: Mapping[int, int]
    answered: frozenset[int]
    issued: int
    failed: int
    cut: int
    duration_s: float | None


def accuracy_results(folder: Path, plan: Plan, phase: int) -> dict[str, Any]:
    """Content of accuracy/accuracy_results.json of a run folder, from its records/. Raises InputError."""
    return judge_folder(folder, plan, phase).results


def judge_folder(folder: Path, plan: Plan, phase: int) -> Judgement:
    """Results and marks of a run folder, from its records/ alone. Raises InputError for what is missing or damaged."""
    records = folder / "records"
    return judge_records(records, plan, phase, read_expected(records, plan.phases[phase].dataset))


def score_records(records: Path, plan: Plan, phase: int, expected: Mapping[int, str]) -> dict[str, Any]:
    """Content of accuracy/accuracy_results.json: phase number `phase` of `plan` against row -> expected answer."""
    return judge_records(records, plan, phase, expected).results


def per_sample(records: Path, plan: Plan, phase: int, expected: Mapping[int, str]) -> list[dict[str, Any]]:
    """Content of accuracy/scores.json: row, expected, extracted, correct; shortened texts, in order of rows."""
    return judge_records(records, plan, phase, expected).samples


def judge_records(records: Path, plan: Plan, phase: int, expected: Mapping[int, str]) -> Judgement:
    """Score a phase once, for both files.

    Raises InputError for a plan without an accuracy phase of that number, and for records that do not fit `expected`.
    """
    accuracy = plan.accuracy
    if accuracy is None or not 0 <= phase < len(plan.phases) or plan.phases[phase].kind is not PhaseKind.ACCURACY:
        raise InputError(f"phase {phase} of the plan is no accuracy phase")
    if not expected:
        raise InputError(f"wanted the expected answers of {accuracy.dataset!r}, got none")
    scorer_named(accuracy.scorer)
    asked = _asked(records, phase, expected)
    counts = {"scored": 0, "empty": 0}
    scored = SCORERS[accuracy.scorer].score(_answers(records, phase, asked, expected, counts), accuracy.options)
    marks = sorted(scored.marks, key=lambda mark: mark.row)
    unusable = len(unusable_rows(accuracy, expected))
    entry = _entry(accuracy, asked, scored, marks, counts | {"unusable": unusable})
    return Judgement({"schema": ACCURACY_SCHEMA, "accuracy_scores": [entry]}, [asdict(mark) for mark in marks])


def write_expected(expected: Mapping[str, Mapping[int, str]]) -> bytes:
    """Content of records/expected.json."""
    plain = {name: {str(row): answer for row, answer in rows.items()} for name, rows in expected.items()}
    return orjson.dumps(plain, option=orjson.OPT_APPEND_NEWLINE)


def read_expected(records: Path, dataset: str) -> dict[int, str]:
    """Row -> expected answer of a data set. Raises InputError if the file is missing or is not what it should be."""
    where = f"{records.parent.name}/{records.name}/{EXPECTED_FILE}"
    try:
        rows = orjson.loads((records / EXPECTED_FILE).read_bytes())[dataset]
        found = {int(row): answer for row, answer in rows.items()}
    except FileNotFoundError:
        raise InputError("the expected answers are not there: nothing can be scored", where=where) from None
    except OSError as error:
        raise InputError(f"the expected answers cannot be read: {error.strerror}", where=where) from None
    except (ValueError, KeyError, TypeError, AttributeError):
        found = {}
    if not found or min(found) < 0 or not all(isinstance(answer, str) for answer in found.values()):
        raise InputError(f"wanted the expected answer of every row of {dataset!r}, got something else", where=where)
    return found


def _asked(records: Path, phase: int, expected: Mapping[int, str]) -> _Asked:
    """What was sent and how it ended. Raises InputError for a row that is not expected, or was sent twice."""
    from wholecurve.records.read import read_columns

    columns = read_columns(records, phase)
    indices = columns["index"].tolist()
    # A request that was lost before it was written down has no row; it counts as issued, and its row as missing.
    row_of = {index: row for index, row in zip(indices, columns["sample"].tolist(), strict=True) if row >= 0}
    strangers = sorted(set(row_of.values()) - set(expected))
    if strangers:
        raise InputError(
            f"the records hold row {strangers[0]}, for which no answer is expected",
            where=records.parent.name,
            hint="records and expected answers are of different runs",
        )
    if len(set(row_of.values())) < len(row_of):
        raise InputError("wanted every row once, got a row that was sent again", where=records.parent.name)
    outcomes = zip(indices, columns.texts["outcome"], strict=True)
    answered = frozenset(index for index, outcome in outcomes if outcome == Outcome.SUCCEEDED and index in row_of)
    reasons = zip(indices, columns.texts["finish_reason"], strict=True)
    cut = sum(index in answered and reason == FinishReason.LENGTH for index, reason in reasons)
    began = columns["issued_ns"][columns.known("issued_ns")]
    ended = columns["completed_ns"][columns.known("completed_ns")]
    took = (int(ended.max()) - int(began.min())) / 1e9 if len(began) and len(ended) else None
    return _Asked(row_of, answered, len(indices), len(indices) - len(answered), cut, took)


def _answers(
    records: Path, phase: int, asked: _Asked, expected: Mapping[int, str], counts: dict[str, int]
) -> Iterator[Answered]:
    """Every expected row with its text, one group of records in memory at a time; `counts` is filled on the way."""
    left = dict(expected)
    for index, text in _texts(records, phase) if asked.answered else ():
        if index not in asked.answered:
            continue
        row = asked.row_of[index]
        if left.pop(row, None) is None:
            continue
        text = text and spoken(text)
        counts["scored" if text and text.strip() else "empty"] += 1
        yield Answered(row, text, expected[row])
    found = {row for index, row in asked.row_of.items() if index in asked.answered}
    for row in sorted(left):
        if row in found:
            raise InputError(f"responses.parquet lacks the answer to row {row}", where=records.parent.name)
        yield Answered(row, None, expected[row])


def _texts(records: Path, phase: int) -> Iterator[tuple[int, str | None]]:
    """(place in the issue order, visible text) of a phase's answers. Raises InputError if the file is not readable."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    path = records / "responses.parquet"
    try:
        with pq.ParquetFile(path) as file:
            for batch in file.iter_batches(batch_size=256, columns=["phase", "index", "text"], use_threads=False):
                phases = batch.column("phase").to_pylist()
                if phase not in phases:
                    continue
                indices, texts = batch.column("index"), batch.column("text")
                for place, number in enumerate(phases):
                    if number == phase:
                        yield indices[place].as_py(), texts[place].as_py()
    except FileNotFoundError:
        raise InputError(
            f"no {path.name} in {records.name}/: the answers were not kept", where=records.parent.name
        ) from None
    except (pa.ArrowInvalid, OSError, KeyError) as error:
        raise InputError(f"{path.name} cannot be read: {error}", where=records.parent.name) from None


def _entry(
    accuracy: AccuracyPlan, asked: _Asked, scored: Scored, marks: list[Mark], counts: Mapping[str, int]
) -> dict[str, Any]:
    """One entry of `accuracy_scores`: the keys that the official checker reads, and ours behind them.

    `score` holds fractions, because the checker takes any value up to 1 for one: a score of 1 % would read as 100 %.
    """
    rows = len(marks)
    missing = rows - counts["scored"] - counts["empty"]
    never = rows - asked.issued
    not_judged = None
    if never:
        not_judged = f"not judged: {never} of {rows} rows were never asked"
    elif counts["unusable"]:
        not_judged = f"not judged: {counts['unusable']} of {rows} expected answers hold nothing to compare"
    return {
        "dataset_name": accuracy.dataset,
        "dataset_type": "accuracy",
        "extractor": accuracy.options.get("extract"),
        "score": {name: None if value is None else value / 100 for name, value in scored.metrics.items()},
        "unit_samples": rows,
        "num_repeats": 1,
        "total_samples": rows,
        "duration_s": asked.duration_s,
        "complete": not never and not missing,
        "response_counts": {
            "issued": asked.issued,
            "scored": counts["scored"],
            "empty": counts["empty"],
            "missing": missing,
            "failed": asked.failed,
            "no_answer_found": sum(mark.extracted is None for mark in marks) - missing - counts["empty"],
            "cut_at_limit": asked.cut,
        },
        "scorer": accuracy.scorer,
        "options": dict(accuracy.options),
        "metrics": {name: {"value": value, "unit": "of 100"} for name, value in scored.metrics.items()},
        "gate": judge(scored.metrics, accuracy.least, not_judged=not_judged),
    }
