"""The rules as frozen data: RuleSet holds one edition of them all, with one field per file of `data/<version>/`.

Field by field, the types are the keys of the TOML files; `build` refuses a file that has others. A number of the rules
stands in the data and nowhere else. Mappings keep the order of the file and cannot be changed.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction

from wholecurve.model.steadiness import Basis, Coverage, SteadyVerdict
from wholecurve.rules.benchmarks import BenchmarkRules
from wholecurve.rules.clauses import About, Choice, Clause
from wholecurve.rules.cohorts import CohortRules
from wholecurve.rules.fields import FieldRules
from wholecurve.rules.power import PowerRules
from wholecurve.rules.seeds import DrafterRules, SeedRules
from wholecurve.rules.words import Kind, Offline


@dataclass(frozen=True, slots=True)
class RegionRow:
    """One region. `required`: points that it needs; `choice_points`: whether points of choice may lie in it."""

    id: str
    title: str
    number: int
    required: int
    choice_points: bool


@dataclass(frozen=True, slots=True)
class RegionRules:
    """How the range of concurrencies is cut. `margin`: factor on C_max, exact. Concurrencies are requests in flight."""

    c_min_lowest: int
    c_min_highest: int
    c_max_above: int
    notify_up_to_c_max: int
    ultra_low_highest: int
    parts: int
    margin: Fraction
    declared_c_min: bool
    ultra_low: str
    low: str
    medium: str
    high: str
    beyond: str
    margin_choice: str
    empty_choice: str
    ultra_low_choice: str
    region: Mapping[str, RegionRow]


@dataclass(frozen=True, slots=True)
class PointRules:
    """How many points a curve has. `fewest` is by kind of Offline result: dedicated, elected, none (agentic)."""

    fewest: Mapping[Offline, int]
    cap: int
    cap_choice: str
    choice_points: int
    accuracy_runs: Mapping[Kind, int]
    accuracy_elsewhere: bool
    accuracy_combine: Mapping[Kind, str]
    accuracy_same_concurrency: Mapping[Kind, bool]
    accuracy_salted: bool
    accuracy_choice: str


@dataclass(frozen=True, slots=True)
class OfflineRules:
    """The Offline result. `least_share`: of the throughput at C_max, for a dedicated run."""

    results: Mapping[Kind, int]
    least_share: Fraction
    load_pattern: str
    concurrency: str
    region_label: str
    reorder: str
    ttft_required: bool
    tpot_required: bool
    streaming_required: bool
    fills_region: Mapping[Offline, bool]
    concurrency_choice: str
    label_choice: str
    basis: Basis
    basis_choice: str
    election_choice: str


@dataclass(frozen=True, slots=True)
class DurationRules:
    """Shortest steady durations in seconds, by region; `agentic_s` overrides them for agentic curves."""

    minimum_s: Mapping[str, float]
    offline_s: float
    measured_on: str
    choice: str
    agentic_s: Mapping[str, float] | None = None


@dataclass(frozen=True, slots=True)
class QueryRules:
    """What is asked, and how. Streaming: which setting must have which value."""

    least_passes: int
    whole_passes: bool
    pass_choice: str
    load_patterns: Mapping[Kind, str]
    performance_draw: str
    accuracy_draw: str
    ultra_low_subset: str
    subset_choice: str
    streaming_setting: str
    streaming_value: str
    streaming_offline_exempt: bool
    stream_interval: bool
    salt_bits: int
    salt_place: str
    salt_seeded: bool
    salt_stored: bool


@dataclass(frozen=True, slots=True)
class WarmupRules:
    """Warm-up of a point: how long at most (s), from what, and what is declared about it."""

    longest_s: float
    fields: tuple[str, ...]
    from_performance_set: str
    sources: tuple[str, ...]
    records_kept: bool
    in_metrics: bool
    ends_at: str
    records_field: str | None = None


@dataclass(frozen=True, slots=True)
class BasisRow:
    """One row of the decision: status and verdict to the basis of the official figures."""

    id: str
    verdicts: tuple[SteadyVerdict, ...]
    statuses: tuple[Coverage, ...]
    accepted: bool
    flag: str | None = None
    basis: Basis | None = None


@dataclass(frozen=True, slots=True)
class SteadyRules:
    """The steady window. Gating metrics are `metric_percentile`; super-passes are passes of the data set."""

    gating: tuple[str, ...]
    advisory: tuple[str, ...]
    gating_choice: str
    least_super_passes: int
    floor_choice: str
    trend_alpha: float
    variation_bounds: tuple[float, ...]
    dropped_super_passes: int
    trend_test: str
    step_test: str
    span: str
    covers: tuple[str, ...]
    not_covered: tuple[str, ...]
    decision: Mapping[str, BasisRow]
    decision_choice: str


@dataclass(frozen=True, slots=True)
class Tolerances:
    """How far a stored figure may lie from the recomputed one; `_share` is relative."""

    stored_figure_share: float
    utilization: float
    computed_w: float
    power_kw: float
    percentile: str
    percentile_choice: str
    rounding_choice: str


@dataclass(frozen=True, slots=True)
class Division:
    """One division: what it asks of a submission."""

    id: str
    scenarios: tuple[str, ...]
    openness: str
    model_equivalence: str
    power: str
    audited: bool
    publicly_available: bool
    disclosures: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """Word lists that files of a submission are held to."""

    divisions: Mapping[str, Division]
    availability: tuple[str, ...]
    regions: tuple[str, ...]
    offline: tuple[str, ...]
    dataset_types: tuple[str, ...]
    steady_status: tuple[str, ...]
    steady_verdict: tuple[str, ...]
    steady_state: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class RuleSet:
    """One edition of one version of the rules.

    fingerprint: SHA-256 of the data that this was built from; equal fingerprints are equal rules.
    """

    version: str
    edition: str
    fingerprint: str
    about: About
    regions: RegionRules
    points: PointRules
    offline: OfflineRules
    durations: DurationRules
    queries: QueryRules
    warmup: WarmupRules
    steady: SteadyRules
    tolerances: Tolerances
    cohorts: CohortRules
    seeds: SeedRules
    drafters: DrafterRules
    benchmarks: BenchmarkRules
    power: PowerRules
    vocabulary: Vocabulary
    fields: FieldRules
    choices: Mapping[str, Choice]
    clauses: Mapping[str, Clause]
