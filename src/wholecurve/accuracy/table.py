"""The scorers: one row each. Adding one is a file beside this, a row here, and one in `config/scorers.py`."""

from __future__ import annotations

from collections.abc import Mapping

from wholecurve.accuracy import exact_match
from wholecurve.accuracy.scorer import Scorer
from wholecurve.config.scorers import scorer_named
from wholecurve.model.errors import InputError
from wholecurve.model.plan import AccuracyPlan, Plan

SCORERS: Mapping[str, Scorer] = {
    "exact_match": Scorer("exact_match", exact_match.score, exact_match.usable),
}


def check_expected(plan: Plan, expected: Mapping[str, Mapping[int, str]]) -> None:
    """Refuse expected answers with nothing in them that the scorer could compare, before anything is sent.

    `expected`: data set -> row -> answer, as of `Resolved.expected`. Raises InputError with the row.
    """
    if plan.accuracy is None:
        return
    row = next(iter(unusable_rows(plan.accuracy, expected.get(plan.accuracy.dataset, {}))), None)
    if row is not None:
        words = ", ".join(f"{name} {value}" for name, value in plan.accuracy.options.items())
        raise InputError(
            f"row {row} of {plan.accuracy.dataset}: wanted an expected answer that {plan.accuracy.scorer} can compare "
            f"({words}), got {expected[plan.accuracy.dataset][row][:60]!r}",
            hint="correct the row, or choose another extraction",
        )


def unusable_rows(accuracy: AccuracyPlan, expected: Mapping[int, str]) -> list[int]:
    """Rows whose expected answer the scorer cannot compare with."""
    scorer_named(accuracy.scorer)
    usable = SCORERS[accuracy.scorer].usable
    return [row for row, answer in sorted(expected.items()) if not usable(answer, accuracy.options)]
