"""What a report says, before anyone decides how it looks: text, terminal and page all lay out this one view."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

Row = tuple[str, str]
"""Label and shown value."""


@dataclass(frozen=True, slots=True)
class Primary:
    """One of the five primary figures. value: with its unit, or `not measured`, then `reason` says why.

    basis: what an official figure is made of. interval: of 95 % confidence, or why there is a range. total: the figure
    over the whole run where it is another one. All three may be empty.
    """

    label: str
    value: str
    unit: str
    reason: str
    definition: str
    basis: str = ""
    interval: str = ""
    total: str = ""


@dataclass(frozen=True, slots=True)
class Cell:
    """A value of a series; `weak` when n samples cannot support that percentile."""

    text: str
    weak: bool


@dataclass(frozen=True, slots=True)
class SeriesRow:
    """One series: cells in the order of `SERIES_HEADS`; empty when not measured, then `reason` says why."""

    key: str
    label: str
    n: str
    cells: tuple[Cell, ...]
    reason: str


@dataclass(frozen=True, slots=True)
class Steady:
    """The steady state. none: why there is no window, in one line; then a run of too few passes has nothing more.

    tone: good, warn, bad or quiet. headline: the verdict; meaning: a sentence on it. place: where the window is.
    """

    none: str
    tone: str
    headline: str
    meaning: str
    place: str
    rows: tuple[Row, ...]
    cautions: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Reason:
    """One thing the client holds against itself, and what to do about it."""

    verdict: str
    sentence: str
    remedy: str


@dataclass(frozen=True, slots=True)
class Judged:
    """One figure of client health with the limits it was held to. verdict: ok, strained, client-limited, or empty."""

    label: str
    value: str
    strained: str
    limited: str
    verdict: str


@dataclass(frozen=True, slots=True)
class Failed:
    """One kind of failure."""

    kind: str
    count: str
    sentence: str
    client_side: bool
    example: str


@dataclass(frozen=True, slots=True)
class View:
    """Everything a reader may want to know of one phase, as shown text. Every string is clean but not escaped."""

    title: str
    subject: tuple[Row, ...]
    verdict: str
    reasons: tuple[Reason, ...]
    state: str
    state_sentence: str
    status: str
    invalid: tuple[str, ...]
    cautions: tuple[str, ...]
    accounting: str
    primary: tuple[Primary, ...]
    steady: Steady | None
    series: tuple[SeriesRow, ...]
    early: tuple[SeriesRow, ...]
    failures: tuple[Failed, ...]
    failure_facts: tuple[Row, ...]
    finish: tuple[Row, ...]
    tokens: tuple[Row, ...]
    prompts: tuple[Row, ...]
    delivery: tuple[Row, ...]
    load: tuple[Row, ...]
    health: tuple[Judged, ...]
    provenance: tuple[Row, ...]
    violations: tuple[str, ...]
    different: tuple[str, ...]
    stamps: str

    @property
    def weak(self) -> bool:
        """Whether any percentile is marked as not supported."""
        return any(cell.weak for row in self.series for cell in row.cells)


SERIES_HEADS: Final[tuple[str, ...]] = ("mean", "min", "P50", "P90", "P95", "P99", "P99.9", "max")
EARLY_HEADS: Final[tuple[str, ...]] = ("P50", "P90", "P95", "P97", "P99", "P99.9")
PERCENTILES: Final[Mapping[str, str]] = {
    "P50": "50.0", "P90": "90.0", "P95": "95.0", "P97": "97.0", "P99": "99.0", "P99.9": "99.9",
}  # fmt: skip

SERIES: Final[Mapping[str, str]] = {
    "ttft": "TTFT",
    "tpot": "TPOT",
    "gaps": "gap between events",
    "latency": "latency",
    "input_sequence_lengths": "input tokens",
    "output_sequence_lengths": "output tokens",
    "ttft_from_sent": "TTFT from sent",
    "ttft_from_scheduled": "TTFT from schedule",
    "time_to_first_visible": "first visible token",
    "time_per_output_event": "time per event",
    "time_to_last_output": "last output",
    "latency_from_scheduled": "latency from sched.",
    "dispatch_delay": "dispatch delay",
    "start_lag": "start lag",
    "connect_time": "connect time",
}
"""Short labels of the series, in the order shown."""

LENGTHS: Final[frozenset[str]] = frozenset({"input_sequence_lengths", "output_sequence_lengths"})

VERDICTS: Final[Mapping[str, str]] = {
    "ok": "The client was not the limit: the figures are the endpoint's.",
    "strained": "The client was near a limit of its own: read the tails with care.",
    "client-limited": "The client was the limit: these figures are not the endpoint's.",
}
STATES: Final[Mapping[str, str]] = {
    "complete": "everything planned was done",
    "interrupted": "the run was stopped before its end; the figures hold what was recorded until then",
    "failed": "measuring failed; the figures hold what was recorded until then",
}
STATUSES: Final[Mapping[str, str]] = {
    "verified": "verified, by the record of a registry",
    "provisional": "provisional, by the record of a registry",
    "unverified": "unverified: no registry has a record of it",
}
STAMPS: Final[Mapping[str, str]] = {
    "kernel": "kernel: every read was stamped on arrival",
    "mixed": "mixed: some reads were stamped by the kernel, some by the user-space clock",
    "user": "user-space clock: times hold the client's own reading delay",
}
TOKEN_SOURCES: Final[Mapping[str, str]] = {
    "reference": "reference tokenizer",
    "usage": "the endpoint's own count (usage); never official",
}
POWER_REASON: Final[str] = "no power description belongs to a single run"
