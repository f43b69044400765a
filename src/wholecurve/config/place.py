"""The place of a run on a curve, and the rules that hold there: shortest window, region, passes, seeds, cohort."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import TypeVar

from wholecurve.config.schema import RulesSettings, Settings
from wholecurve.model.errors import InputError
from wholecurve.model.plan import RulesPlan
from wholecurve.model.sample import Sample
from wholecurve.model.units import NS_PER_S
from wholecurve.rules import (
    Kind,
    Offline,
    RuleSet,
    SeedSet,
    cohort_number,
    later_cohort,
    parse_cohort,
    region_of,
    regions,
    seed_sets_for,
    shortest_s,
)
from wholecurve.rules.load import load_rules, versions

Found = TypeVar("Found")

SEED_FIELDS = ("seed", "sampling_seed")
"""Names of the sampling seed in a request; the second is SGLang's."""


@dataclass(frozen=True, slots=True)
class CurvePlace:
    """Where a point stands on its curve, and what that asks of its load; a plain run has none.

    - `c_min`, `c_max`: of the curve, requests in flight; both, or the regions are not known
    - `region`: id of the region; by default the one that the rules' routine puts the concurrency into
    - `offline`: dedicated, elected or none
    - `hold_ns`: a closed loop goes on for at most so long while its steady window is too short; None: it does not
    - `lead_passes`: passes of the data set before the clock of the duration starts; `passes`: least passes in all
    - `accuracy`: whether the accuracy phase follows, if `accuracy.dataset` is set

    `hold_ns` and `lead_passes` are for closed loops; other patterns have no steady window and ignore them.
    """

    c_min: int | None = None
    c_max: int | None = None
    region: str | None = None
    offline: str = "none"
    hold_ns: int | None = None
    lead_passes: int = 0
    passes: int = 0
    accuracy: bool = False


def rules_of(asked: RulesSettings) -> RuleSet:
    """The rules that were asked for. Raises InputError for a version or an edition that is not there."""
    if asked.version not in versions():
        raise InputError(
            f"rules.version: wanted a version of the rules, got {asked.version!r}",
            hint="versions: " + ", ".join(versions()),
        )
    return _keyed("rules.edition", lambda: load_rules(asked.version, asked.edition))


def rules_plan(
    settings: Settings,
    rules: RuleSet,
    *,
    concurrency: int | None,
    c_min: int | None = None,
    c_max: int | None = None,
    region: str | None = None,
    offline: str = "none",
) -> RulesPlan:
    """What the rules ask of a point at this concurrency (None: no fixed one), with seeds and cohort of `settings`.

    Raises InputError for a benchmark, seed set or cohort that the rules do not have or that do not go together, for a
    curve whose bounds the rules refuse, and for a concurrency beyond it.
    """
    asked = settings.rules
    name = asked.benchmark
    kind = Kind.SINGLE_TURN if name is None else _keyed("rules.benchmark", lambda: rules.benchmarks.of(name)).kind
    chosen = seed_set_of(asked, rules)
    shortest = _shortest_s(rules, kind, concurrency, c_min, c_max, region, Offline(offline))
    return RulesPlan(
        version=rules.version,
        edition=rules.edition,
        fingerprint=rules.fingerprint,
        kind=kind.value,
        min_window_ns=round(shortest * NS_PER_S),
        min_super_passes=rules.steady.least_super_passes,
        lead_super_passes=rules.steady.dropped_super_passes,
        benchmark=name,
        region=region or _region(rules, concurrency, c_min, c_max, Offline(offline)),
        offline=offline,
        c_min=c_min,
        c_max=c_max,
        seed_set=asked.seed_set,
        seeds={} if chosen is None else {each: str(getattr(chosen, each)) for each in rules.seeds.names},
        target_cohort=_cohort(asked, chosen, rules),
    )


def seed_set_of(asked: RulesSettings, rules: RuleSet) -> SeedSet | None:
    """The published seed set that was asked for. Raises InputError, with those there are."""
    if asked.seed_set is None:
        return None
    found = rules.seeds.sets.get(asked.seed_set)
    if found is None:
        raise InputError(
            f"rules.seed_set: wanted a seed set that is published in rules {rules.version}, got {asked.seed_set!r}",
            hint="seed sets: " + ", ".join(f"{each.id} ({each.cohort})" for each in rules.seeds.sets.values()),
        )
    return found


def with_seed_set(settings: Settings, rules: RuleSet) -> Settings:
    """The settings with the seeds of `rules.seed_set`, if there is one, in `seeds` and `request.sampling.seed`.

    Exact whole numbers; some are beyond 63 bits. Raises InputError for a seed that was given and is another one.
    """
    chosen = seed_set_of(settings.rules, rules)
    if chosen is None:
        return settings
    given = {f"seeds.{name}": getattr(settings.seeds, name) for name in settings.seeds.model_fields_set}
    for section in ("sampling", "extra_body"):
        fields = getattr(settings.request, section)
        given |= {f"request.{section}.{name}": fields[name] for name in SEED_FIELDS if name in fields}
    nested = settings.request.extra_body.get("sampling_params")
    if isinstance(nested, Mapping):
        given |= {f"request.extra_body.sampling_params.{name}": nested[name] for name in SEED_FIELDS if name in nested}
    wanted = {"seeds.order": chosen.sample_index_rng_seed, "seeds.arrivals": chosen.scheduler_rng_seed}
    for key, value in given.items():
        seed = chosen.model_seed if key.startswith("request.") else wanted.get(key, value)
        if value != seed:
            raise InputError(
                f"{key}: wanted {seed}, which rules.seed_set {chosen.id} says, got {value}",
                hint=f"leave out {key}, or rules.seed_set",
            )
    seeds = {"order": int(chosen.sample_index_rng_seed), "arrivals": int(chosen.scheduler_rng_seed)}
    sampling = {**settings.request.sampling, "seed": int(chosen.model_seed)}
    if "sampling_seed" in settings.request.sampling:
        del sampling["seed"]  # SGLang's own name for it was given, with the same value
    return settings.model_copy(
        update={
            "seeds": settings.seeds.model_copy(update=seeds),
            "request": settings.request.model_copy(update={"sampling": sampling}),
        }
    )


def check_row_seeds(dataset: str, samples: Iterable[Sample], settings: Settings) -> None:
    """Raises InputError for the first row with a seed of its own, which would win over that of `rules.seed_set`.

    `settings`: with the seeds filled in (`with_seed_set`).
    """
    if settings.rules.seed_set is None:
        return
    sampling = settings.request.sampling
    wanted = next(sampling[name] for name in SEED_FIELDS if name in sampling)
    for sample in samples:
        found = sample.body.get("seed", wanted)
        if found != wanted:
            raise InputError(
                f"row {sample.row} of {dataset}: wanted no seed but {wanted}, which rules.seed_set "
                f"{settings.rules.seed_set} says, got {found}",
                hint="take the column `seed` out of the file, or leave out rules.seed_set",
            )


def _cohort(asked: RulesSettings, chosen: SeedSet | None, rules: RuleSet) -> str | None:
    """The cohort that the result is meant for, checked against the seed set."""
    text = asked.target_cohort
    if text is None:
        return None
    cohort = _keyed("rules.target_cohort", lambda: parse_cohort(text))
    _keyed("rules.target_cohort", lambda: cohort_number(cohort, rules.cohorts))
    if chosen is not None and chosen not in seed_sets_for(cohort, rules):
        window = (later_cohort(chosen.cohort, step, rules.cohorts) for step in range(rules.seeds.adoption_cohorts))
        raise InputError(
            f"rules.target_cohort: wanted a cohort that may adopt seed set {chosen.id}, got {text}",
            hint=f"seed set {chosen.id} can be adopted for: {', '.join(map(str, window))}",
        )
    return str(cohort)


def _shortest_s(
    rules: RuleSet,
    kind: Kind,
    concurrency: int | None,
    c_min: int | None,
    c_max: int | None,
    region: str | None,
    offline: Offline,
) -> float:
    """Shortest steady duration in seconds. Where the curve is not known, the longest that could hold. Rules 6.2."""
    if offline is Offline.DEDICATED:
        return rules.durations.offline_s
    if concurrency is not None and c_min is not None and c_max is not None:
        return shortest_s(concurrency, regions(c_max, c_min, rules.regions), kind, rules)
    minimum = {**rules.durations.minimum_s, **((rules.durations.agentic_s or {}) if kind is Kind.AGENTIC else {})}
    ultra_low = rules.regions.ultra_low
    if concurrency is not None and concurrency <= rules.regions.ultra_low_highest:
        return minimum[ultra_low]
    if region is not None:
        return minimum.get(region, minimum[rules.regions.high])
    return max(seconds for name, seconds in minimum.items() if name != ultra_low)


def _region(
    rules: RuleSet, concurrency: int | None, c_min: int | None, c_max: int | None, offline: Offline
) -> str | None:
    """The region by the routine of the rules; None outside a curve and for a dedicated Offline run. Rules 5.5."""
    if concurrency is None or c_min is None or c_max is None or offline is Offline.DEDICATED:
        return None
    found = region_of(concurrency, regions(c_max, c_min, rules.regions), rules.regions).region
    return None if found is None else found.id


def _keyed(key: str, ask: Callable[[], Found]) -> Found:
    """What `ask` finds; its refusal begins with the key, so that file and line can be found for it."""
    try:
        return ask()
    except InputError as error:
        raise InputError(f"{key}: {error.message}", where=error.where, hint=error.hint) from None
