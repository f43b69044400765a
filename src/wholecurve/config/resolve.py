"""From settings to a frozen plan. Everything that can be refused is refused here, before a byte is sent."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from wholecurve.config.access import endpoint_of
from wholecurve.config.accuracy import accuracy_phase, check_accuracy
from wholecurve.config.body_fields import limits_of, request_options
from wholecurve.config.inputs import LoadedTokenizer, LoadTokenizer, ReadDataset
from wholecurve.config.phases import check_warmup, in_flight, performance_phase, warmup_phase
from wholecurve.config.place import CurvePlace, check_row_seeds, rules_of, rules_plan, with_seed_set
from wholecurve.config.problems import located
from wholecurve.config.rows import PREFERRED_INPUT, rows_of, warmup_rows
from wholecurve.config.salt import SALT_BITS, check_salt
from wholecurve.config.schema import Settings
from wholecurve.config.workers import default_workers
from wholecurve.config.yaml_source import Path
from wholecurve.datasets import TokenSalt
from wholecurve.model.errors import InputError
from wholecurve.model.plan import AccuracyPlan, DatasetPlan, PhaseKind, PhasePlan, Plan, RequestOptions, Secrets
from wholecurve.model.sample import Conversation, Sample, single_shot
from wholecurve.rules import RuleSet
from wholecurve.wire import DIALECTS


@dataclass(frozen=True, slots=True)
class Resolved:
    """A run, ready to start.

    - `conversations`: what each phase's `dataset` names, as read; a salt goes in when a request is built
    - `salting`: for data sets of token ids in a salted phase, how their rows take a salt
    - `expected`: by data set and row, the answers that an accuracy phase is scored against
    - `settings`: those asked for, with the worker count and the seeds of a seed set filled in
    - `tokenizer`: the loaded one or None
    """

    plan: Plan
    secrets: Secrets
    conversations: Mapping[str, tuple[Conversation, ...]]
    settings: Settings
    tokenizer: LoadedTokenizer | None = None
    salting: Mapping[str, TokenSalt] = field(default_factory=dict)
    expected: Mapping[str, Mapping[int, str]] = field(default_factory=dict)


@dataclass(slots=True)
class _Parts:
    """What the phases of a run bring with them, gathered phase by phase."""

    phases: list[PhasePlan]
    sets: dict[str, tuple[DatasetPlan, tuple[Sample, ...]]]
    notes: list[str]
    salting: dict[str, TokenSalt] = field(default_factory=dict)
    expected: dict[str, Mapping[int, str]] = field(default_factory=dict)
    accuracy: AccuracyPlan | None = None

    def salted(self, phase: PhasePlan, ids: TokenSalt | None) -> None:
        """Says that a phase is salted, and keeps how its rows of token ids take a salt."""
        if ids is not None:
            self.salting[phase.dataset] = ids
        if phase.salt is not None:
            self.notes.append(
                f"{phase.name} requests are salted: {SALT_BITS} bits each, from the word {phase.salt!r}, the phase and "
                "the place in the issue order"
            )


def resolve(
    settings: Settings,
    *,
    environ: Mapping[str, str],
    read_dataset: ReadDataset,
    load_tokenizer: LoadTokenizer | None = None,
    cores: int | None = None,
    warnings: tuple[str, ...] = (),
    origins: Mapping[Path, str] | None = None,
    say: Callable[[str], None] | None = None,
    place: CurvePlace | None = None,
) -> Resolved:
    """The plan of a run. Reads data sets, tokenizer and key files; opens no connection.

    `cores`: those this process may use; by default the system is asked. `warnings` (of a configuration file) go into
    the plan's notes. `origins` (of `origins_of`) put file and line, or the flag, into messages. `place`: of a point
    of a curve; None for a run on its own. Raises InputError, or SetupError from the tokenizer. `say` is told how far
    a long preparation is.
    """
    try:
        return _resolve(settings, environ, read_dataset, load_tokenizer, cores, warnings, say, place)
    except InputError as error:
        raise located(error, origins or {}) from None


def _resolve(
    settings: Settings,
    environ: Mapping[str, str],
    read_dataset: ReadDataset,
    load_tokenizer: LoadTokenizer | None,
    cores: int | None,
    warnings: tuple[str, ...],
    say: Callable[[str], None] | None,
    place: CurvePlace | None,
) -> Resolved:
    endpoint, secrets = endpoint_of(settings.endpoint, environ)
    rules = rules_of(settings.rules)
    settings = with_seed_set(settings, rules)
    options = request_options(settings.request)
    check_warmup(settings.warmup)
    check_accuracy(settings.accuracy)
    here = place or CurvePlace()
    # The pattern, the stop rule and the rules are checked on one row before a large file is read.
    first = performance_phase(settings, "", 1, here)
    held_to = rules_plan(
        settings, rules, concurrency=first.concurrency, c_min=here.c_min, c_max=here.c_max, region=here.region,
        offline=here.offline,
    )  # fmt: skip
    tokenizer = _tokenizer(settings, load_tokenizer)
    parts = _phases(settings, read_dataset, tokenizer, warnings, say, here)
    if settings.accuracy.dataset is not None and (place is None or place.accuracy):
        _add_accuracy(parts, settings, read_dataset, rules)
    if not (options.sampling or settings.request.extra_body):
        parts.notes.append("no sampling field is sent: the server's defaults hold")
    _check_rows(parts, options, settings)
    workers = settings.workers or _workers(parts.phases, cores)
    plan = Plan(
        name=settings.name,
        endpoint=endpoint,
        request=options,
        datasets=tuple(entry for entry, _ in parts.sets.values()),
        phases=tuple(parts.phases),
        limits=limits_of(settings),
        workers=workers,
        seed=settings.seeds.order,
        tokenizer=tokenizer.plan if tokenizer else None,
        keep_responses=settings.output.keep_responses,
        kernel_stamps=settings.kernel_stamps,
        notes=tuple(parts.notes),
        rules=held_to,
        accuracy=parts.accuracy,
    )
    conversations = {key: tuple(single_shot(sample) for sample in rows) for key, (_, rows) in parts.sets.items()}
    settings = settings.model_copy(update={"workers": workers})
    return Resolved(plan, secrets, conversations, settings, tokenizer, parts.salting, parts.expected)


def _phases(
    settings: Settings,
    read_dataset: ReadDataset,
    tokenizer: LoadedTokenizer | None,
    warnings: tuple[str, ...],
    say: Callable[[str], None] | None,
    place: CurvePlace,
) -> _Parts:
    """Warm-up, if there is one, and measurement."""
    measured = rows_of(settings.dataset, "dataset", settings, read_dataset, tokenizer, say)
    name = measured.plan.name
    phase = performance_phase(settings, name, len(measured.samples), place)
    parts = _Parts([phase], {name: (measured.plan, measured.samples)}, [*warnings, *getattr(measured, "notes", ())])
    ids = None
    if phase.salt is not None:
        remedy = (
            "leave load.salt out, use text prompts, or name the tokenizer of token ids (tokenizer.path, --tokenizer)"
        )
        ids = check_salt(measured.samples, tokenizer, remedy)
    parts.salted(phase, ids)
    if settings.warmup.wanted:
        warm = warmup_rows(settings, measured, read_dataset, tokenizer, say)
        before = warmup_phase(settings, warm.dataset.name, len(warm.samples), warm.salt)
        parts.sets[before.dataset] = (warm.dataset, warm.samples)
        parts.phases.insert(0, before)
        parts.salted(before, warm.ids)
        parts.notes.extend(warm.notes)
    return parts


def _add_accuracy(parts: _Parts, settings: Settings, read_dataset: ReadDataset, rules: RuleSet) -> None:
    """The phase whose answers are scored, after all others and at the measured load."""
    part = accuracy_phase(
        settings, parts.phases[-1], read_dataset, rules, prefer=PREFERRED_INPUT[settings.endpoint.dialect]
    )
    parts.phases.append(part.phase)
    parts.sets[part.phase.dataset] = (part.dataset, part.samples)
    parts.expected[part.phase.dataset] = part.expected
    parts.accuracy = part.plan
    parts.notes.extend(part.notes)


def _tokenizer(settings: Settings, load_tokenizer: LoadTokenizer | None) -> LoadedTokenizer | None:
    path = settings.tokenizer.path
    if path is None:
        if settings.tokenizer.trust_remote_code:
            raise InputError("tokenizer.trust_remote_code: wanted tokenizer.path too, got none")
        return None
    if load_tokenizer is None:
        raise InputError(f"tokenizer.path: this command loads no tokenizer, got {path}", hint="leave it out")
    return load_tokenizer(path, trust_remote_code=settings.tokenizer.trust_remote_code)


def _check_rows(parts: _Parts, options: RequestOptions, settings: Settings) -> None:
    """Every request is built once, so that none can turn out to be impossible in mid-run; seeds are the seed set's."""
    dialect = DIALECTS[settings.endpoint.dialect]
    for _, rows in parts.sets.values():
        for sample in rows:
            dialect.body(sample, options, settings.endpoint.model)
    for phase in parts.phases:
        if phase.kind is not PhaseKind.WARMUP:
            dataset, rows = parts.sets[phase.dataset]
            check_row_seeds(dataset.file, rows, settings)


def _workers(phases: list[PhasePlan], cores: int | None) -> int:
    count = cores or _cores()
    return max(default_workers(in_flight(phase), phase.rate_per_s, count) for phase in phases)


def _cores() -> int:
    """Cores this process may use; fewer than the machine's in a container or under taskset."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
