"""The plan: everything that will be done, resolved and frozen before a byte is sent; written first, as plan.json.

A plan holds no secret: header values, keys and passwords travel beside it in `Secrets`, which is never written.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields, is_dataclass
from enum import StrEnum
from types import UnionType
from typing import Any, get_args, get_origin, get_type_hints

from wholecurve.model.errors import InputError

PLAN_SCHEMA = "wholecurve.plan/1"


class PhaseKind(StrEnum):
    """Which figures a phase may feed: only `performance` feeds performance figures."""

    WARMUP = "warmup"
    PERFORMANCE = "performance"
    ACCURACY = "accuracy"


class Order(StrEnum):
    """Sample order (load/order.py)."""

    SHUFFLED = "shuffled"
    SEQUENTIAL = "sequential"
    REPLACEMENT = "replacement"


class Pattern(StrEnum):
    """Load pattern (load/table.py)."""

    CONCURRENCY = "concurrency"
    OFFLINE = "offline"
    POISSON = "poisson"
    CONSTANT = "constant"


@dataclass(frozen=True, slots=True)
class Tls:
    """TLS towards the endpoint. `verify` false is written into every result. Paths are names only in files."""

    verify: bool = True
    ca_file: str | None = None
    client_cert: str | None = None
    client_key: str | None = None


@dataclass(frozen=True, slots=True)
class EndpointPlan:
    """The system under test as the client reaches it. `urls` carry no user info."""

    urls: tuple[str, ...]
    dialect: str
    model: str
    header_names: tuple[str, ...] = ()
    tls: Tls = Tls()
    proxy: str | None = None


@dataclass(frozen=True, slots=True)
class RequestOptions:
    """Fields of every request body. `None` means: not sent, the server's default holds."""

    stream: bool = True
    include_usage: bool = True
    max_tokens: int | None = None
    max_tokens_field: str = "max_tokens"
    min_tokens: int | None = None
    ignore_eos: bool | None = None
    n: int | None = None
    sampling: Mapping[str, Any] = field(default_factory=dict)
    extra_body: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class StopRule:
    """When issuing ends; rules combine.

    Issuing ends at `max_samples` or `max_duration_ns`, whichever comes first. Otherwise it ends as soon as at least
    `min_samples` are issued and `min_duration_ns` has passed and, with `whole_passes`, the count is a multiple of the
    data set's rows. All `None` and no minimum: one pass. `min_duration_ns` counts from the issue of sample number
    `lead_samples`: what comes before it is ramp, and no steady window may hold it.
    """

    min_samples: int = 0
    max_samples: int | None = None
    min_duration_ns: int = 0
    max_duration_ns: int | None = None
    whole_passes: bool = False
    lead_samples: int = 0


@dataclass(frozen=True, slots=True)
class HoldRule:
    """Go on issuing after the stop rule is met, until the steady window is long enough or the extra time is used up.

    The window is looked for beside the load with the thresholds of `Plan.rules`. `max_extra_ns` counts from when the
    stop rule was met. A run that ends on this limit is complete; its window then says what it lacks.
    """

    max_extra_ns: int


@dataclass(frozen=True, slots=True)
class PhasePlan:
    """One phase. `rate_per_s` for Poisson and constant; `concurrency` for closed loop, and as a cap for open loop.

    `salt`: the word that the salt of every request is made of, with the phase and the place in the issue order
    (config/salt.py); None sends the rows as they are. No salt is stored: whoever has the plan can make each again.
    """

    kind: PhaseKind
    name: str
    dataset: str
    rows: int
    order: Order
    order_seed: int
    pattern: Pattern
    stop: StopRule
    concurrency: int | None = None
    rate_per_s: float | None = None
    arrival_seed: int = 0
    ramp_ns: int = 0
    salt: str | None = None
    drain_timeout_ns: int | None = None
    hold: HoldRule | None = None


@dataclass(frozen=True, slots=True)
class RulesPlan:
    """The rules that a run is held to, and its place on a curve.

    `fingerprint`: of the rules data. `min_super_passes`, `lead_super_passes`, `min_window_ns`: what an official steady
    window needs. `region`: id of the region, None outside a curve. `offline`: dedicated, elected or none. `c_min`,
    `c_max`: of the curve. Seeds as text: two of the published ones are beyond 63 bits, and no JSON reader may round.
    """

    version: str
    edition: str
    fingerprint: str
    kind: str
    min_window_ns: int
    min_super_passes: int
    lead_super_passes: int
    benchmark: str | None = None
    region: str | None = None
    offline: str = "none"
    c_min: int | None = None
    c_max: int | None = None
    seed_set: str | None = None
    seeds: Mapping[str, str] = field(default_factory=dict)
    target_cohort: str | None = None


@dataclass(frozen=True, slots=True)
class AccuracyPlan:
    """How the accuracy phase is scored. `least`: bounds by metric name, on the scale of the rules (0 to 100)."""

    scorer: str
    dataset: str
    least: Mapping[str, float] = field(default_factory=dict)
    options: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class DatasetPlan:
    """A data set as it was read: file name (never a path), rows, SHA-256 of the file, what was skipped."""

    name: str
    file: str
    rows: int
    sha256: str
    skipped_rows: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class TokenizerPlan:
    """The reference tokenizer: how it was named, and SHA-256 of its files."""

    name: str
    sha256: str
    vocab_size: int
    trust_remote_code: bool = False


@dataclass(frozen=True, slots=True)
class Limits:
    """Client-side limits. `None` means no limit. `max_event_bytes` fails one request only."""

    request_timeout_ns: int | None = None
    silence_timeout_ns: int | None = None
    run_timeout_ns: int | None = None
    connect_timeout_ns: int = 10_000_000_000
    drain_timeout_ns: int | None = 240_000_000_000
    max_event_bytes: int = 64 << 20
    max_connects_at_once: int = 128
    max_failed_share: float = 0.01
    retries: int = 0


@dataclass(frozen=True, slots=True)
class Plan:
    """One run: one point. `workers` is resolved (never 0). `keep_responses` writes answers to disk.

    Answers of an accuracy phase are always written: they are what is scored.
    """

    name: str
    endpoint: EndpointPlan
    request: RequestOptions
    datasets: tuple[DatasetPlan, ...]
    phases: tuple[PhasePlan, ...]
    limits: Limits
    workers: int
    seed: int
    tokenizer: TokenizerPlan | None = None
    keep_responses: bool = False
    kernel_stamps: bool = True
    notes: tuple[str, ...] = ()
    rules: RulesPlan | None = None
    accuracy: AccuracyPlan | None = None

    def to_json(self) -> dict[str, Any]:
        """Plain values for plan.json, with the schema key first. Files are named without their folders."""
        plain: dict[str, Any] = {"schema": PLAN_SCHEMA} | asdict(self)
        tls = plain["endpoint"]["tls"]
        for key in ("ca_file", "client_cert", "client_key"):
            tls[key] = tls[key] and tls[key].replace("\\", "/").rsplit("/", 1)[-1]
        return plain


def plan_from_json(data: Mapping[str, Any]) -> Plan:
    """A plan from plan.json. Raises InputError for another schema or a damaged file."""
    if data.get("schema") != PLAN_SCHEMA:
        raise InputError(f"wanted plan.json with schema {PLAN_SCHEMA}, got {data.get('schema')!r}")
    try:
        plan = _revive(Plan, data)
    except (TypeError, KeyError, ValueError) as error:
        raise InputError(f"plan.json is damaged: {error}") from None
    assert isinstance(plan, Plan)
    return plan


def _revive(kind: Any, value: Any) -> Any:
    """A JSON value as the annotated type: data classes, enums, tuples and optional values; others as they are."""
    if get_origin(kind) is UnionType:
        if value is None:
            return None
        return _revive(next(part for part in get_args(kind) if part is not type(None)), value)
    if is_dataclass(kind):
        hints = get_type_hints(kind)
        return kind(**{one.name: _revive(hints[one.name], value[one.name]) for one in fields(kind)})  # type: ignore[operator]
    if get_origin(kind) is tuple:
        return tuple(_revive(get_args(kind)[0], item) for item in value)
    if isinstance(kind, type) and issubclass(kind, StrEnum):
        return kind(value)
    return value


@dataclass(frozen=True, slots=True, repr=False)
class Secrets:
    """Header values by name, in sending order. Never written, never shown: `repr` has names only."""

    headers: tuple[tuple[str, str], ...] = ()

    def __repr__(self) -> str:
        return f"Secrets({', '.join(name for name, _ in self.headers)})"
