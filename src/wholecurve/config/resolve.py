"""From settings to a frozen plan. Everything that can be refused is refused here, before a byte is sent."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from wholecurve.config.access import endpoint_of
from wholecurve.config.inputs import Loaded, LoadedTokenizer, LoadTokenizer, ReadDataset
from wholecurve.config.phases import check_warmup, in_flight, performance_phase, warmup_phase
from wholecurve.config.problems import located
from wholecurve.config.redact import secret_body_field
from wholecurve.config.salt import shared_row, with_salt
from wholecurve.config.schema import DatasetSettings, RequestSettings, Settings, SyntheticSettings
from wholecurve.config.workers import default_workers
from wholecurve.config.yaml_source import Path
from wholecurve.datasets import parse_lengths, synthetic
from wholecurve.model.errors import InputError
from wholecurve.model.plan import DatasetPlan, Limits, PhasePlan, Plan, RequestOptions, Secrets
from wholecurve.model.sample import Conversation, Sample, single_shot
from wholecurve.wire import DIALECTS

WARMUP_DATASET = "warmup"

# The input a dialect sends as it is, where a row has several.
PREFERRED_INPUT = {"openai-chat": None, "openai-completions": "input_ids", "sglang-generate": "input_ids"}


@dataclass(frozen=True, slots=True)
class Resolved:
    """A run, ready to start.

    `conversations` has what each phase's `dataset` names, salted already: nothing is changed in it later. `settings`
    are those asked for with the worker count filled in; `tokenizer` is the loaded one or None.
    """

    plan: Plan
    secrets: Secrets
    conversations: Mapping[str, tuple[Conversation, ...]]
    settings: Settings
    tokenizer: LoadedTokenizer | None = None


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
) -> Resolved:
    """The plan of a run. Reads data sets, tokenizer and key files; opens no connection.

    `cores`: those this process may use; by default the system is asked. `warnings` (of a configuration file) go into
    the plan's notes. `origins` (of `origins_of`) put file and line, or the flag, into messages. Raises InputError, or
    SetupError from the tokenizer. `say` is told how far a long preparation is.
    """
    try:
        return _resolve(settings, environ, read_dataset, load_tokenizer, cores, warnings, say)
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
) -> Resolved:
    endpoint, secrets = endpoint_of(settings.endpoint, environ)
    options = request_options(settings.request)
    check_warmup(settings.warmup)
    # The pattern and the stop rule are checked on one row before a large file is read.
    performance_phase(settings, "", 1)
    tokenizer = _tokenizer(settings, load_tokenizer)
    measured = _dataset(settings.dataset, "dataset", settings, read_dataset, tokenizer, say)
    samples = measured.samples
    if settings.load.salt is not None:
        samples = with_salt(samples, settings.load.salt, "leave load.salt out, or use a data set of text prompts")
    name = measured.plan.name
    phases = [performance_phase(settings, name, len(samples))]
    sets = {name: (measured.plan, samples)}
    notes = [*warnings, *getattr(measured, "notes", ())]
    if not (options.sampling or settings.request.extra_body):
        notes.append("no sampling field is sent: the server's defaults hold")
    if settings.warmup.wanted:
        warm, warm_samples, salt, note = _warmup(settings, measured, samples, read_dataset, tokenizer, say)
        sets[warm.name] = (warm, warm_samples)
        phases.insert(0, warmup_phase(settings, warm.name, len(warm_samples), salt))
        notes.extend(note)
    for _, rows in sets.values():
        _check_bodies(rows, options, settings)
    workers = settings.workers or _workers(phases, cores)
    plan = Plan(
        name=settings.name,
        endpoint=endpoint,
        request=options,
        datasets=tuple(entry for entry, _ in sets.values()),
        phases=tuple(phases),
        limits=limits_of(settings),
        workers=workers,
        seed=settings.seeds.order,
        tokenizer=tokenizer.plan if tokenizer else None,
        keep_responses=settings.output.keep_responses,
        kernel_stamps=settings.kernel_stamps,
        notes=tuple(notes),
    )
    conversations = {key: tuple(single_shot(sample) for sample in rows) for key, (_, rows) in sets.items()}
    return Resolved(plan, secrets, conversations, settings.model_copy(update={"workers": workers}), tokenizer)


def request_options(request: RequestSettings) -> RequestOptions:
    """Body fields. Raises InputError for a field that has a key of its own, or that is a secret."""
    if request.min_tokens is not None and request.max_tokens is not None and request.min_tokens > request.max_tokens:
        raise InputError(
            f"request.min_tokens: wanted at most request.max_tokens ({request.max_tokens}), got {request.min_tokens}"
        )
    own = {
        "model": "endpoint.model",
        "stream": "request.stream",
        "stream_options": "request.include_usage",
        "messages": "the data set",
        "prompt": "the data set",
        "input_ids": "the data set",
    }
    for section, fields in (("sampling", request.sampling), ("extra_body", request.extra_body)):
        for name in fields:
            if name in own:
                raise InputError(f"request.{section}.{name}: this field is set by {own[name]}")
            if secret_body_field(name):
                raise InputError(
                    f"request.{section}.{name}: looks like a secret, and body fields are written into results",
                    hint="send it as a header: endpoint.headers",
                )
    return RequestOptions(
        stream=request.stream,
        include_usage=request.include_usage,
        max_tokens=request.max_tokens,
        max_tokens_field=request.max_tokens_field,
        min_tokens=request.min_tokens,
        ignore_eos=request.ignore_eos,
        n=request.n,
        sampling=request.sampling,
        extra_body=request.extra_body,
    )


def limits_of(settings: Settings) -> Limits:
    """Client-side limits of a run."""
    limits = settings.limits
    return Limits(
        request_timeout_ns=limits.request_timeout,
        silence_timeout_ns=limits.silence_timeout,
        run_timeout_ns=limits.run_timeout,
        connect_timeout_ns=limits.connect_timeout,
        drain_timeout_ns=limits.drain_timeout,
        max_event_bytes=limits.max_event_bytes,
        max_connects_at_once=limits.max_connects_at_once,
        max_failed_share=limits.max_failed_share,
        retries=limits.retries,
    )


def _tokenizer(settings: Settings, load_tokenizer: LoadTokenizer | None) -> LoadedTokenizer | None:
    path = settings.tokenizer.path
    if path is None:
        if settings.tokenizer.trust_remote_code:
            raise InputError("tokenizer.trust_remote_code: wanted tokenizer.path too, got none")
        return None
    if load_tokenizer is None:
        raise InputError(f"tokenizer.path: this command loads no tokenizer, got {path}", hint="leave it out")
    return load_tokenizer(path, trust_remote_code=settings.tokenizer.trust_remote_code)


def _dataset(
    dataset: DatasetSettings,
    key: str,
    settings: Settings,
    read_dataset: ReadDataset,
    tokenizer: LoadedTokenizer | None,
    say: Callable[[str], None] | None,
) -> Loaded:
    """Rows of a file, or synthetic ones."""
    if (dataset.path is None) == (dataset.synthetic is None):
        found = "none" if dataset.path is None else "both"
        raise InputError(f"{key}: wanted {key}.path or {key}.synthetic, got {found}", hint="give --dataset FILE")
    if dataset.path is not None:
        return read_dataset(
            dataset.path,
            format=dataset.format,
            columns=dataset.columns or None,
            limit=dataset.limit,
            skip_bad_rows=dataset.skip_bad_rows,
            prefer=PREFERRED_INPUT[settings.endpoint.dialect],
        )
    for name in ("format", "columns", "limit", "skip_bad_rows"):
        if getattr(dataset, name):
            raise InputError(f"{key}.{name}: belongs to a file, and {key}.synthetic reads none")
    assert dataset.synthetic is not None
    return _made(dataset.synthetic, tokenizer, say)


def _made(asked: SyntheticSettings, tokenizer: LoadedTokenizer | None, say: Callable[[str], None] | None) -> Loaded:
    """Synthetic prompts, measured by the tokenizer if there is one. Of a long work every tenth is told."""
    tenth = max(1, asked.rows // 10)
    told = [0]

    def progress(done: int) -> None:
        if say is not None and done // tenth > told[0]:
            told[0] = done // tenth
            say(f"made {done:,} of {asked.rows:,} prompts")

    return synthetic(
        asked.rows,
        parse_lengths(asked.input_tokens),
        seed=asked.seed,
        tokenizer=tokenizer,
        prefix_share=asked.shared_prefix_share,
        output=parse_lengths(asked.output_tokens) if asked.output_tokens else None,
        progress=progress,
    ).dataset


def _warmup(
    settings: Settings,
    measured: Loaded,
    measured_samples: tuple[Sample, ...],
    read_dataset: ReadDataset,
    tokenizer: LoadedTokenizer | None,
    say: Callable[[str], None] | None,
) -> tuple[DatasetPlan, tuple[Sample, ...], str | None, list[str]]:
    """(data set, samples, salt, notes) of the warm-up: never a measured prompt, unless that was asked for (WRM-2)."""
    warmup = settings.warmup
    loaded = measured
    if warmup.dataset is not None:
        loaded = _dataset(warmup.dataset, "warmup.dataset", settings, read_dataset, tokenizer, say)
    if loaded is measured and settings.load.salt is None:
        same: tuple[int, int] | None = (0, 0)
    else:
        same = shared_row(loaded.samples, measured_samples)
    plan = replace(loaded.plan, name=WARMUP_DATASET if measured.plan.name != WARMUP_DATASET else "warmup-2")
    if warmup.salt is False or (warmup.salt is None and same is None):
        notes = []
        if same is not None:
            notes.append(
                f"warm-up row {same[0]} is the same prompt as measured row {same[1]}: "
                "a prefix cache may know measured prompts, because warmup.salt is false"
            )
        return plan, loaded.samples, None, notes
    word = f"warmup-{settings.seeds.warmup}"
    remedy = "give the warm-up its own text prompts (warmup.dataset), or set warmup.salt: false (--no-salt-warmup)"
    return plan, with_salt(loaded.samples, word, remedy), word, []


def _check_bodies(samples: tuple[Sample, ...], options: RequestOptions, settings: Settings) -> None:
    """Every request is built once, so that none can turn out to be impossible in mid-run."""
    dialect = DIALECTS[settings.endpoint.dialect]
    for sample in samples:
        dialect.body(sample, options, settings.endpoint.model)


def _workers(phases: list[PhasePlan], cores: int | None) -> int:
    count = cores or _cores()
    return max(default_workers(in_flight(phase), phase.rate_per_s, count) for phase in phases)


def _cores() -> int:
    """Cores this process may use; fewer than the machine's in a container or under taskset."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
