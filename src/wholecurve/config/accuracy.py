"""The accuracy phase: its rows with the expected answers, its load, and the bounds that the score is held to."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from wholecurve.config.inputs import ReadDataset
from wholecurve.config.schema import AccuracySettings, Settings
from wholecurve.config.scorers import bounds_of, scorer_named, scorer_options
from wholecurve.model.errors import InputError
from wholecurve.model.plan import AccuracyPlan, DatasetPlan, Order, PhaseKind, PhasePlan, StopRule
from wholecurve.model.sample import Sample
from wholecurve.rules import RuleSet

ACCURACY_PHASE = "accuracy"

_INLINE = "performance"
"""Targets on this data set are scores of the measured answers themselves, not of an accuracy phase."""


@dataclass(frozen=True, slots=True)
class AccuracyPart:
    """What an accuracy phase adds to a plan. `expected`: row -> expected answer. `notes` go into the plan's notes."""

    phase: PhasePlan
    dataset: DatasetPlan
    samples: tuple[Sample, ...]
    expected: Mapping[int, str]
    plan: AccuracyPlan
    notes: tuple[str, ...] = ()


def check_accuracy(accuracy: AccuracySettings) -> None:
    """Raises InputError for an accuracy phase that was described but not asked for, and for an unknown scorer."""
    described = accuracy.model_fields_set - {"dataset"}
    if accuracy.dataset is None and described:
        raise InputError(
            f"accuracy.{sorted(described)[0]} is set, but there is no accuracy data set",
            hint="set accuracy.dataset.path (--accuracy-dataset FILE)",
        )
    scorer_named(accuracy.scorer)


def accuracy_phase(
    settings: Settings,
    measured: PhasePlan,
    read_dataset: ReadDataset,
    rules: RuleSet,
    *,
    prefer: str | None = None,
    options: Mapping[str, Any] | None = None,
) -> AccuracyPart:
    """The accuracy phase that follows `measured`: each row once, in file order, unsalted, under the measured load.

    The load is the measured one whatever its pattern: the same requests in flight, or for an open loop the same rate
    and cap, without its ramp. `prefer`: as for `read_dataset`. `options`: of the scorer. Raises InputError for no data
    set, an unknown scorer, metric or option, and, naming the row, for a row without an expected answer.
    """
    asked = settings.accuracy
    if asked.dataset is None or asked.dataset.path is None:
        got = "made-up prompts, which have no right answer" if asked.dataset is not None else "none"
        raise InputError(
            f"accuracy.dataset: wanted a file with a column {asked.answer!r}, got {got}",
            hint="set accuracy.dataset.path (--accuracy-dataset FILE)",
        )
    chosen = scorer_options(asked.scorer, options or {})
    least, bound_note = _bounds(asked, settings.rules.benchmark, rules)
    loaded = read_dataset(
        asked.dataset.path,
        format=asked.dataset.format,
        columns=asked.dataset.columns or None,
        limit=asked.dataset.limit,
        skip_bad_rows=asked.dataset.skip_bad_rows,
        prefer=prefer,
        answer=asked.answer,
    )
    rows = len(loaded.samples)
    name = _own_name(loaded.plan.name, {measured.dataset, "warmup", "warmup-2"})
    phase = PhasePlan(
        kind=PhaseKind.ACCURACY,
        name=ACCURACY_PHASE,
        dataset=name,
        rows=rows,
        order=Order.SEQUENTIAL,
        order_seed=measured.order_seed,
        pattern=measured.pattern,
        stop=StopRule(min_samples=rows, max_samples=rows),
        concurrency=measured.concurrency,
        rate_per_s=measured.rate_per_s,
        arrival_seed=measured.arrival_seed,
        drain_timeout_ns=settings.limits.drain_timeout,
    )
    expected = {sample.row: answer for sample, answer in zip(loaded.samples, loaded.answers, strict=True)}
    plan = AccuracyPlan(asked.scorer, name, least, chosen)
    dataset = DatasetPlan(name, loaded.plan.file, rows, loaded.plan.sha256, loaded.plan.skipped_rows)
    notes = (*bound_note, *_cautions(settings, rows, rules))
    return AccuracyPart(phase, dataset, loaded.samples, expected, plan, notes)


def _own_name(name: str, taken: set[str]) -> str:
    """A name that no other data set of the plan has: they are told apart by it."""
    return f"{name}-accuracy" if name in taken else name


def _bounds(asked: AccuracySettings, benchmark: str | None, rules: RuleSet) -> tuple[dict[str, float], tuple[str, ...]]:
    """(bounds by metric, notes): those that were set, else those of the benchmark."""
    metrics = scorer_named(asked.scorer).metrics
    if asked.least:
        return bounds_of(asked.scorer, asked.least), ()
    if benchmark is None:
        return {}, ("accuracy is scored and judged by no bound: neither accuracy.least nor rules.benchmark is set",)
    targets = [one for one in rules.benchmarks.of(benchmark).targets.values() if one.dataset != _INLINE]
    found = {target.id: target.least for target in targets if target.id in metrics}
    missing = [target.id for target in targets if target.id not in metrics]
    if found and not missing:
        return found, ()
    lacks = f"benchmark {benchmark} has bounds on {', '.join(missing) or 'no score of an accuracy data set'}"
    return found, (f"{lacks}, which the scorer {asked.scorer} does not give: accuracy is not judged by them",)


def _cautions(settings: Settings, rows: int, rules: RuleSet) -> tuple[str, ...]:
    """What makes the score worth less than it could be."""
    found = []
    if settings.request.ignore_eos:
        found.append("request.ignore_eos is set: accuracy answers go on after their end, and are scored as they come")
    if settings.request.min_tokens:
        found.append("request.min_tokens is set: short accuracy answers go on after their end")
    if settings.rules.benchmark is not None:
        wanted = rules.benchmarks.of(settings.rules.benchmark).accuracy_samples
        if rows < wanted:
            found.append(
                f"the accuracy data set has {rows} rows: benchmark {settings.rules.benchmark} wants at least {wanted}"
            )
    return tuple(found)
