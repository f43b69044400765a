"""What the rules ask of a curve and its points in numbers: counts, durations, passes, Offline, seeds, drafters.

Answers, not judgements: each function returns a number or whether one requirement is met. Which clause that is, and
what follows from it, stands in the clauses.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction

from wholecurve.model.errors import InputError
from wholecurve.model.steadiness import Coverage, SteadyVerdict
from wholecurve.rules.cohorts import Cohort, adoptable, has_lead
from wholecurve.rules.regions import Region, region_of
from wholecurve.rules.ruleset import BasisRow, RuleSet
from wholecurve.rules.seeds import Drafter, SeedSet
from wholecurve.rules.words import Kind, Offline


def fewest_points(kind: Kind, offline: Offline, rules: RuleSet) -> int:
    """Smallest number of points of a curve, Offline included, given how its Offline result is made. Rules 5.3."""
    wanted = Offline.NONE if kind is Kind.AGENTIC else offline
    if kind is Kind.SINGLE_TURN and offline is Offline.NONE:
        raise InputError(
            "wanted a dedicated or an elected Offline result, got none", hint="only agentic curves have no Offline"
        )
    return rules.points.fewest[wanted]


def offline_allowed(kind: Kind, declared: Iterable[tuple[int, Offline]], c_max: int, rules: RuleSet) -> bool:
    """Whether a curve has the right number of Offline results, and an elected one lies at C_max. Rules 5.7.

    declared: concurrency and declaration of every point.
    """
    marked = [(level, how) for level, how in declared if how is not Offline.NONE]
    if len(marked) != rules.offline.results[kind]:
        return False
    return all(how is Offline.DEDICATED or level == c_max for level, how in marked)


def offline_in_order(
    offline_tps: float, offline_concurrency: int, c_max_tps: float, c_max: int, rules: RuleSet
) -> bool:
    """Whether a dedicated Offline run is as concurrent as C_max and (but for a small share) as fast. Rules 5.7.2.

    Throughputs in tokens per second; compared exactly, so that 0.98 x 50,000 is 49,000.
    """
    fast_enough = Fraction(offline_tps) >= rules.offline.least_share * Fraction(c_max_tps)
    return fast_enough and offline_concurrency >= c_max


def shortest_s(concurrency: int, cut: Sequence[Region], kind: Kind, rules: RuleSet) -> float:
    """Shortest steady duration of a point in seconds, by its level; up to the fixed bound it is Ultra Low's. Rules 6.2.

    A level in the margin takes High's. Raises InputError for a level that lies in no region and no margin.
    """
    minimum = {**rules.durations.minimum_s, **((rules.durations.agentic_s or {}) if kind is Kind.AGENTIC else {})}
    if concurrency <= rules.regions.ultra_low_highest:
        return minimum[rules.regions.ultra_low]
    region = region_of(concurrency, cut, rules.regions).region
    if region is None:
        raise InputError(f"wanted a concurrency up to {cut[-1].last}, got {concurrency}", hint="declare a higher C_max")
    return minimum[rules.regions.high if region.id == rules.regions.beyond else region.id]


def duration_choice(concurrency: int, span_s: float, cut: Sequence[Region], rules: RuleSet) -> str | None:
    """Id of the choice that lets a point pass whose span would be too short for the region of its label; else None."""
    region = region_of(concurrency, cut, rules.regions).region
    if region is None or region.id not in rules.durations.minimum_s:
        return None
    by_label = rules.durations.minimum_s[region.id]
    by_level = shortest_s(concurrency, cut, Kind.SINGLE_TURN, rules)
    return rules.regions.ultra_low_choice if by_level <= span_s < by_label else None


def enough_completed(completed: int, dataset_size: int, rules: RuleSet) -> bool:
    """Whether at least the needed passes of the data set were completed. Rules 6.4."""
    return completed >= rules.queries.least_passes * dataset_size


def whole_passes(issued: int, dataset_size: int, rules: RuleSet) -> bool:
    """Whether the issued requests are a positive whole number of passes. Rules 6.4."""
    least = rules.queries.least_passes * dataset_size
    return issued >= least and (not rules.queries.whole_passes or issued % dataset_size == 0)


def window_status(super_passes: float, window_passes: int, span_s: float, shortest: float, rules: RuleSet) -> Coverage:
    """What a window can carry. Rules 4.4.

    super_passes: of the whole run; window_passes and span_s (issue time, seconds): of the steady window.
    """
    if super_passes < 1:
        return Coverage.PARTIAL_DATASET
    if window_passes < rules.steady.least_super_passes:
        return Coverage.INSUFFICIENT_PASSES
    return Coverage.WINDOWABLE if span_s >= shortest else Coverage.INSUFFICIENT_DURATION


def basis_of(status: Coverage, verdict: SteadyVerdict, rules: RuleSet) -> BasisRow:
    """The row of the decision for a status and a verdict; its basis is None for a combination that is inconsistent."""
    for row in rules.steady.decision.values():
        if status in row.statuses and verdict in row.verdicts:
            return row
    raise InputError(f"wanted a status and a verdict that the decision has a row for, got {status} with {verdict}")


def warmup_short_enough(duration_s: float, rules: RuleSet) -> bool:
    """Whether a warm-up is no longer than allowed. Rules 6.3."""
    return duration_s <= rules.warmup.longest_s


def missing_warmup_fields(declared: Mapping[str, object], rules: RuleSet) -> tuple[str, ...]:
    """Names of the declaration that are absent or null. Rules 6.3.3."""
    return tuple(name for name in rules.warmup.fields if declared.get(name) is None)


def seed_sets_for(target: Cohort, rules: RuleSet) -> tuple[SeedSet, ...]:
    """Published seed sets that a submission to this cohort may adopt, oldest first. Rules 9.1."""
    window = rules.seeds.adoption_cohorts
    found = (each for each in rules.seeds.sets.values() if adoptable(each.cohort, target, window, rules.cohorts))
    return tuple(sorted(found, key=lambda each: each.cohort))


def drafter_usable(drafter: Drafter, benchmark: str, target: Cohort, rules: RuleSet) -> bool:
    """Whether a listed drafter is for this benchmark and was approved in time for the target cohort. Rules 2.9.4."""
    lead = rules.drafters.lead_cohorts
    return drafter.benchmark == benchmark and has_lead(drafter.approved, target, lead, rules.cohorts)
