"""Accuracy: answers of a phase against the expected ones, by a scorer, under the bounds of the plan."""

from wholecurve.accuracy.extract import EXTRACTORS
from wholecurve.accuracy.score import (
    ACCURACY_SCHEMA,
    EXPECTED_FILE,
    Judgement,
    accuracy_results,
    judge_folder,
    judge_records,
    per_sample,
    read_expected,
    score_records,
    write_expected,
)
from wholecurve.accuracy.scorer import Answered, Mark, Scored, Scorer
from wholecurve.accuracy.table import SCORERS, check_expected

__all__ = [
    "ACCURACY_SCHEMA",
    "EXPECTED_FILE",
    "EXTRACTORS",
    "SCORERS",
    "Answered",
    "Judgement",
    "Mark",
    "Scored",
    "Scorer",
    "accuracy_results",
    "check_expected",
    "judge_folder",
    "judge_records",
    "per_sample",
    "read_expected",
    "score_records",
    "write_expected",
]
