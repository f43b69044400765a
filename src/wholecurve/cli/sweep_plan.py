"""What a sweep will do, before it does it: conditions, levels, the order, an honest time; and how that is shown."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import yaml

from wholecurve import __version__
from wholecurve.cli.sweep_bench import RunBench
from wholecurve.cli.sweep_outcome import options_digest
from wholecurve.config import Settings, dump_settings
from wholecurve.curve import Limit, limits_of
from wholecurve.model.errors import InputError
from wholecurve.model.plan import PhaseKind
from wholecurve.model.units import NS_PER_S, show_duration, show_percent
from wholecurve.rules import Kind, RuleSet
from wholecurve.sweep import (
    CAMPAIGN_SCHEMA,
    GROWTH,
    CampaignPlan,
    Conditions,
    Estimate,
    Facts,
    Levels,
    Trial,
    Work,
    choose_levels,
    estimate,
    known_of,
    measuring_order,
    parse_points,
    take_levels,
)

TOOL = f"wholecurve {__version__}"
HIGHEST_TRIAL = 65_536
WIDEST = 100
INTERACTIVITY: Mapping[Kind, str] = {Kind.SINGLE_TURN: "tps_per_user", Kind.AGENTIC: "e2e_avg_interactivity"}
REFUSED: Mapping[str, str] = {
    "concurrency": "the sweep chooses levels: --points 1,4,16 names them",
    "rate": "a curve is measured at fixed concurrency",
    "pattern": "a curve is measured at fixed concurrency",
    "ramp": "the steady window leaves the start out by itself",
    "salt": "the sweep salts every point by itself",
}


def check_settings(settings: Settings) -> list[str]:
    """Notes on settings of a single run that a sweep replaces. Raises InputError for an order without whole passes."""
    if settings.load.order.value == "replacement":
        raise InputError(
            "load.order: wanted shuffled or sequential, got replacement: a draw with replacement has no whole passes, "
            "and a steady window is made of them",
            hint="leave load.order out",
        )
    given = settings.load.model_fields_set
    notes = [f"load.{name} is ignored: {why}" for name, why in REFUSED.items() if name in given]
    if settings.stop.model_fields_set:
        keys = ", ".join(f"stop.{name}" for name in sorted(settings.stop.model_fields_set))
        notes.append(f"{keys} ignored: the rules say how long a point lasts")
    return notes


def conditions_of(bench: RunBench, facts: Facts) -> Conditions:
    """Under which conditions this sweep measures."""
    plan, settings, rules = bench.plan, bench.resolved_settings, bench.rules
    return Conditions(
        settings=yaml.safe_load(dump_settings(settings)),
        rules={
            "version": rules.version, "edition": rules.edition, "fingerprint": rules.fingerprint,
            "benchmark": settings.rules.benchmark, "kind": bench.kind.value,
        },
        endpoint={
            "urls": list(plan.endpoint.urls), "model": plan.endpoint.model,
            "models": None if facts.models is None else list(facts.models), "server": facts.server,
            "request_options_sha256": options_digest(plan),
        },
        datasets=[{"name": one.name, "rows": one.rows, "sha256": one.sha256} for one in plan.datasets],
        tokenizer=None if plan.tokenizer is None else {"name": plan.tokenizer.name, "sha256": plan.tokenizer.sha256},
        seed_set=settings.rules.seed_set,
        target_cohort=settings.rules.target_cohort,
    )  # fmt: skip


def rows_of_plan(bench: RunBench) -> int:
    """Rows of the measured data set."""
    return next(phase.rows for phase in bench.plan.phases if phase.kind is PhaseKind.PERFORMANCE)


def levels_of(settings: Settings, bench: RunBench, c_max: int, trials: Sequence[Trial]) -> Levels:
    """The levels that were asked for, else those that the rules ask for."""
    sweep = settings.sweep
    accuracy = settings.accuracy.dataset is not None
    rows, known = rows_of_plan(bench), known_of(trials)
    offline = sweep.offline if bench.kind is Kind.SINGLE_TURN else "none"
    if sweep.points is not None:
        if sweep.count is not None:
            raise InputError("sweep.count: wanted either --count or --points, got both")
        return take_levels(
            parse_points(sweep.points), bench.rules, bench.kind, rows=rows, offline=offline, c_min=sweep.c_min,
            c_max=sweep.c_max, known=known, accuracy=accuracy,
        )  # fmt: skip
    return choose_levels(
        sweep.c_min or 1, c_max, bench.rules, bench.kind, rows=rows, offline=offline, count=sweep.count, known=known,
        accuracy=accuracy,
    )  # fmt: skip


def search_limits(settings: Settings) -> tuple[Limit, ...]:
    """The stated limits at which a search for C_max ends."""
    sweep = settings.sweep
    return tuple(
        limits_of(
            ttft_p90_ns=None if sweep.ttft_p90 is None else float(sweep.ttft_p90),
            interactivity_tps=sweep.interactivity,
        )
    )


def search_words(bench: RunBench, first: int) -> str:
    """What a search does, where no plan can be shown yet."""
    settings = bench.settings.sweep
    stated = []
    if settings.ttft_p90 is not None:
        stated.append(f"TTFT P90 is above {show_duration(settings.ttft_p90)}")
    if settings.interactivity is not None:
        stated.append(f"one user gets less than {settings.interactivity:g} tokens/s")
    ends = " or ".join([f"throughput grows by less than {show_percent(GROWTH, 0)}", *stated])
    text = (
        f"C_max is not given, so a search comes first: levels are doubled from {first} until {ends}, then the bracket "
        "is halved; a trial takes ten answers per slot and 10 s at least. The levels follow from it. With --c-max N or "
        "--points the plan can be shown now."
    )
    return textwrap.fill(text, WIDEST)


def search_json(bench: RunBench, first: int) -> dict[str, Any]:
    """The same for `--json`."""
    search = {"first": first, "highest": HIGHEST_TRIAL, "limits": list(search_limits(bench.settings))}
    return {"schema": CAMPAIGN_SCHEMA, "search": search}


def work_of(settings: Settings, bench: RunBench) -> Work:
    """What every point has to do, for the estimate."""
    warmup = settings.warmup
    rows = rows_of_plan(bench)
    scored = next((phase.rows for phase in bench.plan.phases if phase.kind is PhaseKind.ACCURACY), 0)
    extra = settings.sweep.max_extra
    return Work(
        rows=rows,
        window_passes=bench.rules.steady.least_super_passes,
        lead_passes=bench.rules.steady.dropped_super_passes,
        warmup=max(warmup.requests or 0, (warmup.passes or 0) * rows),
        accuracy=scored,
        idle_gap_s=settings.sweep.idle_gap / NS_PER_S,
        max_extra_s=None if extra is None else extra / NS_PER_S,
        repeats=settings.sweep.repeats,
    )


def campaign_plan(
    name: str, created: str, bench: RunBench, conditions: Conditions, levels: Levels, time: Estimate, *,
    c_max_found: bool, c_max_why: str,
) -> CampaignPlan:  # fmt: skip
    """Everything the sweep does, frozen."""
    settings = bench.settings
    work = work_of(settings, bench)
    sweep = settings.sweep
    return CampaignPlan(
        name=name, created=created, tool=TOOL, conditions=conditions, c_min=levels.c_min, c_max=levels.c_max,
        c_max_found=c_max_found, c_max_why=c_max_why, levels=levels.levels,
        order=measuring_order((level.label for level in levels.levels), sweep.repeats, sweep.order_seed),
        order_seed=sweep.order_seed, repeats=sweep.repeats, salt_word=bench.salt_base,
        idle_gap_s=work.idle_gap_s, max_extra_s=work.max_extra_s, estimate_s=time.to_json(),
        interactivity_key=INTERACTIVITY[bench.kind], knee=levels.knee, notes=levels.notes,
    )  # fmt: skip


def time_of(levels: Levels, bench: RunBench, trials: Sequence[Trial]) -> Estimate:
    """How long the levels take, with repeats, accuracy runs and idle gaps."""
    return estimate(levels, bench.rules, bench.kind, work_of(bench.settings, bench), trials)


def plan_lines(plan: CampaignPlan, rules: RuleSet, words: str, width: int = WIDEST) -> Iterator[str]:
    """The plan for people, at most `width` columns wide."""
    why = f"{plan.c_max_why}; rules {rules.version}, edition {rules.edition}"
    yield _wrapped(f"levels {plan.c_min} to {plan.c_max};", why, width)
    titles = {row.id: row.title for row in rules.regions.region.values()}
    spans: Any = plan.estimate_s.get("levels") or {}
    for level in plan.levels:
        low, high = spans.get(level.label, (None, None))
        region = titles.get(level.region, "Offline" if level.dedicated else level.region)
        scored = "accuracy" if level.accuracy else ""
        yield _wrapped(f"  {level.label:>8}  {region:<18} {_time(low, high):<18} {scored:<9}", level.why, width)
    yield _wrapped("order:", " ".join(map(str, plan.order)), width)
    yield _wrapped(
        "      ", f"shuffled with seed {plan.order_seed}: a slow change must not look like an effect of load", width
    )
    if plan.repeats > 1:
        yield f"every level {plan.repeats} times; the first run is the point, all of them give its spread"
    for note in plan.notes:
        yield _wrapped("note:", note, width)
    yield _wrapped("time:", words, width)


def _wrapped(head: str, text: str, width: int) -> str:
    """Text after its head, with further lines below the text."""
    return textwrap.fill(
        text, width, initial_indent=f"{head} ", subsequent_indent=" " * (len(head) + 1), break_long_words=False
    )


def _time(low: float | None, high: float | None) -> str:
    if low is None:
        return ""
    if high is None:
        return f">= {show_duration(low * NS_PER_S)}"
    if high <= 1.1 * low:
        return f"~ {show_duration(low * NS_PER_S)}"
    return f"{show_duration(low * NS_PER_S)} - {show_duration(high * NS_PER_S)}"
