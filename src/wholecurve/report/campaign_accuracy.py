"""What accuracy a point was found to have, from its accuracy_results.json, as shown text."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from wholecurve.report.reading import at, clean, count, items, known, mapping, number

PASSED, FAILED, NOT_JUDGED, NO_BOUND = "passed", "NOT passed", "not judged", "no bound"
_WORST_FIRST: Final = (FAILED, NOT_JUDGED, NO_BOUND, PASSED)
_COUNTS: Final = (
    ("failed", "failed"), ("missing", "not answered"), ("empty", "empty"), ("no_answer_found", "without an answer"),
    ("cut_at_limit", "cut at the output limit"),
)  # fmt: skip
"""Of `response_counts`, what a reader should know of when it is not 0."""


@dataclass(frozen=True, slots=True)
class Score:
    """One metric on one data set. verdict: one of those above. said: value, verdict and bound in words. rows: how many
    were scored, and what did not go well."""

    label: str
    value: str
    verdict: str
    bound: str
    said: str
    rows: str


def scores_of(scores: Mapping[str, Any]) -> tuple[Score, ...]:
    """Every metric of accuracy_results.json, in our own form and in those of the reference client."""
    listed = scores.get("accuracy_scores", scores)
    if isinstance(listed, Mapping):
        listed = [{"dataset_name": name, **one} for name, one in listed.items() if isinstance(one, Mapping)]
    return tuple(score for one in items({"found": listed}, "found") for score in _of_entry(one))


def _of_entry(entry: object) -> Iterator[Score]:
    name, rows, gate = known(at(entry, "dataset_name")), _rows(entry), at(entry, "gate")
    metrics = mapping(entry, "metrics")
    if metrics:
        judged = {str(at(one, "metric")): one for one in items(gate, "metrics")}
        for metric, found in metrics.items():
            unit = at(found, "unit")
            value = _value(at(found, "value")) + (f" {clean(unit, 20)}" if unit else "")
            own = judged.get(str(metric))
            reason = at(own, "reason") or at(gate, "reason")
            yield _score(f"{name} {clean(metric, 40)}", value, at(own, "least"), at(own, "passed"), reason, rows)
        return
    score = at(entry, "score")
    for metric, found in (score if isinstance(score, Mapping) else {"": score}).items():
        bound = gate.get(str(metric)) if isinstance(gate, Mapping) else gate
        label = f"{name} {clean(metric, 40)}".rstrip()
        yield _score(label, _value(found), bound, at(entry, "passed"), None, rows)


def _score(label: str, value: str, bound: object, passed: object, reason: object, rows: str) -> Score:
    """passed: true, false or anything else for "not judged"; without a bound there is nothing to judge."""
    if bound is None:
        verdict = NO_BOUND if not isinstance(passed, bool) else PASSED if passed else FAILED
    else:
        verdict = NOT_JUDGED if not isinstance(passed, bool) else PASSED if passed else FAILED
    least = "" if bound is None else _value(bound)
    told = clean(reason).removeprefix(f"{NOT_JUDGED}: ") if reason else ""
    why = f": {told}" if verdict == NOT_JUDGED and told else f", bound {least}" if least else ""
    return Score(label, value, verdict, least, f"{value}, {verdict}{why}", rows)


def _value(value: object) -> str:
    found = number(value)
    return known(value) if found is None else f"{found:.4g}"


def _rows(entry: object) -> str:
    """`20 rows; 1 failed, 2 empty`; empty where the file does not say."""
    total, counts = number(at(entry, "total_samples")), mapping(entry, "response_counts")
    if total is None:
        return ""
    odd = [f"{count(counts[key])} {words}" for key, words in _COUNTS if number(counts.get(key))]
    return f"{count(total)} rows" + (f"; {', '.join(odd)}" if odd else "")


def worst(scores: Sequence[Score]) -> str:
    """The worst verdict of these scores, empty without any."""
    verdicts = {one.verdict for one in scores}
    return next((word for word in _WORST_FIRST if word in verdicts), "")
