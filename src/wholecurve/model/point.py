"""One measured concurrency with its figures, its power and where it comes from.

Every value that was not measured is None with a reason. A point is checked when it is made, so that nothing behind it
needs to ask again whether a figure is finite, an interval holds its value or a status has a record.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from enum import StrEnum
from types import MappingProxyType
from typing import Final

from wholecurve.model.errors import InputError
from wholecurve.model.record import RunState
from wholecurve.model.status import Status


class PointKind(StrEnum):
    """A level of the curve, or a dedicated Offline run, which is a ceiling and no level."""

    CURVE = "curve"
    OFFLINE = "offline"


INTERACTIVITY_KEYS: Final[tuple[str, ...]] = ("tps_per_user", "e2e_avg_interactivity")
"""The two measures of speed for one user; the rules data say which one a benchmark uses."""

FIGURE_KEYS: Final[Mapping[str, bool]] = MappingProxyType(
    {
        "system_tps": True,
        "ttft_p90_ns": True,
        "output_length_mean": True,
        "tps_per_user": False,
        "e2e_avg_interactivity": False,
        "total_tps": False,
        "tpot_p90_ns": False,
        "qps": False,
    }
)
"""Figures a point may carry, and whether each point must say something of it; meanings are in model/names.py."""

CLIENT_VERDICTS: Final[tuple[str, ...]] = ("ok", "strained", "client-limited")
TOKEN_SOURCES: Final[tuple[str, ...]] = ("reference", "usage")


def _number(value: float | None) -> float:
    return math.nan if value is None else value


def _check_number(value: float | None, name: str, *, where: str = "") -> None:
    if value is None:
        return
    fine = isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value) and value >= 0
    if not fine:
        raise InputError(f"wanted a finite {name} of 0 or more, or None with a reason, got {value!r}", where=where)


def _check_count(value: int | None, name: str, *, where: str = "") -> None:
    if value is not None and (not isinstance(value, int) or isinstance(value, bool) or value < 1):
        raise InputError(f"wanted {name} as a whole number of 1 or more, got {value!r}", where=where)


@dataclass(frozen=True, slots=True)
class Figure:
    """A value of zero or more, or None with a reason.

    low, high: 95 % interval, both or neither. runs: measurements it rests on. spread: (largest - smallest) / value over
    the runs, if there are several. InputError for anything else.
    """

    value: float | None
    reason: str = ""
    low: float | None = None
    high: float | None = None
    runs: int = 1
    spread: float | None = None

    def __post_init__(self) -> None:
        for name in ("value", "low", "high", "spread"):
            _check_number(getattr(self, name), name)
        if (self.value is None) != bool(self.reason):
            raise InputError(
                f"wanted a value or a reason why it was not measured, got {self.value} and {self.reason!r}"
            )
        if (self.low is None) != (self.high is None):
            raise InputError(f"wanted both ends of an interval or none, got {self.low} and {self.high}")
        if self.low is not None and self.high is not None and not self.low <= _number(self.value) <= self.high:
            raise InputError(f"wanted a value inside its interval, got {self.value} in {self.low} to {self.high}")
        if not isinstance(self.runs, int) or self.runs < 1:
            raise InputError(f"wanted one run or more, got {self.runs}")
        if self.spread is not None and self.runs < 2:
            raise InputError("wanted no spread for a single run: it takes two or more")


NOT_REPORTED: Final = Figure(None, "not reported")


@dataclass(frozen=True, slots=True)
class Power:
    """Provisioned kW and how they were added up, or None with a reason. estimated: a default or proxy is in it."""

    kw: float | None
    basis: str = ""
    reason: str = ""
    estimated: bool = False

    def __post_init__(self) -> None:
        _check_number(self.kw, "power in kW")
        if self.kw == 0:
            raise InputError("wanted a power above 0 kW, or None with a reason")
        if (self.kw is None) != bool(self.reason) or (self.kw is None) == bool(self.basis):
            raise InputError(
                f"wanted a power with its basis or a reason, got {self.kw}, {self.basis!r}, {self.reason!r}"
            )


@dataclass(frozen=True, slots=True)
class Standing:
    """The status, and the registry record (id and date) it was copied from. `local`: never left this machine."""

    status: Status
    record: str = ""
    date: str = ""
    local: bool = False
    withdrawn: bool = False

    def __post_init__(self) -> None:
        if bool(self.record) != bool(self.date):
            raise InputError(f"wanted a registry record with its date, got {self.record!r} and {self.date!r}")
        if self.status is not Status.UNVERIFIED and not self.record:
            raise InputError(f"wanted a registry record behind the status {self.status.value}, got none")
        if self.local and self.record:
            raise InputError(f"wanted local data without a registry record, got {self.record!r}")

    def words(self) -> str:
        """As every screen and file says it: `verified (1.0.3, 2026-10-21)`, `unverified, local`."""
        said = self.status.value + (", local" if self.local else "") + (", withdrawn" if self.withdrawn else "")
        return f"{said} ({self.record}, {self.date})" if self.record else said


@dataclass(frozen=True, slots=True)
class Identity:
    """What all points of one curve share. None is "not known", and is never taken as equal.

    accelerators, nodes: everything provisioned, parts that only prefill included. accelerator_parts: (name, count) of
    a split deployment, adding up to `accelerators`. traffic: name of a shared agentic traffic.
    """

    system: str
    benchmark: str
    submission: str
    model: str
    definition_version: str
    data_set_hash: str | None
    tokenizer_hash: str | None
    division: str | None = None
    rules_version: str | None = None
    precision: str | None = None
    accelerators: int | None = None
    nodes: int | None = None
    accelerator_parts: tuple[tuple[str, int], ...] = ()
    traffic: str | None = None

    def __post_init__(self) -> None:
        for name in ("system", "benchmark", "submission", "model", "definition_version"):
            if not getattr(self, name):
                raise InputError(f"wanted a {name.replace('_', ' ')}, got none")
        for one in fields(self):
            if getattr(self, one.name) == "":
                raise InputError(f"wanted {one.name} or None for not known, got an empty text")
        for name in ("accelerators", "nodes"):
            _check_count(getattr(self, name), name)
        for part, count in self.accelerator_parts:
            _check_count(count, f"accelerators of {part}")
        if self.accelerator_parts and sum(count for _, count in self.accelerator_parts) != self.accelerators:
            raise InputError(
                f"wanted parts that add up to {self.accelerators} accelerators, got {self.accelerator_parts}"
            )


@dataclass(frozen=True, slots=True)
class Provenance:
    """Where the figures come from and what the run says of itself. None: not reported.

    source: id or relative path by which the evidence is found. token_source: `reference` or `usage`. invalid: why the
    run itself says that its figures are no result; empty for a valid one.
    """

    source: str
    run_state: RunState
    token_source: str | None
    client_verdict: str | None
    steady_verdict: str | None
    invalid: str = ""

    def __post_init__(self) -> None:
        if not self.source:
            raise InputError("wanted the source of a point, got none")
        for value, known in ((self.token_source, TOKEN_SOURCES), (self.client_verdict, CLIENT_VERDICTS)):
            if value is not None and value not in known:
                raise InputError(f"wanted one of {', '.join(known)}, got {value!r}", where=self.source)


OVER_WHOLE_RUN: Final = "figures over the whole run"
"""How the note of a point begins whose official figures are not those of a steady window; the reason may follow."""


@dataclass(frozen=True, slots=True)
class Point:
    """One measured run (or several of the same) at one concurrency.

    figures: by key of FIGURE_KEYS; the required keys must be there, measured or with a reason; one of
    INTERACTIVITY_KEYS too, but for Offline. elected_offline: this curve point also stands for Offline.
    asked_rate_per_s: a note beside the achieved rate, never an axis. InputError, with the source, if it does not hold.
    """

    identity: Identity
    provenance: Provenance
    standing: Standing
    concurrency: int
    kind: PointKind
    figures: Mapping[str, Figure]
    power: Power
    elected_offline: bool = False
    asked_rate_per_s: float | None = None
    notes: tuple[str, ...] = field(default=())

    def __post_init__(self) -> None:
        where = self.provenance.source
        _check_count(self.concurrency, "concurrency", where=where)
        _check_number(self.asked_rate_per_s, "asked rate", where=where)
        missing = [key for key, required in FIGURE_KEYS.items() if required and key not in self.figures]
        foreign = sorted(set(self.figures) - set(FIGURE_KEYS))
        if missing or foreign:
            raise InputError(f"figures missing: {missing}; unknown: {foreign}", where=where)
        if self.kind is PointKind.CURVE and not set(INTERACTIVITY_KEYS) & set(self.figures):
            raise InputError(f"wanted one of {', '.join(INTERACTIVITY_KEYS)}, got neither", where=where)
        for key in ("tps_per_user", "tpot_p90_ns", "e2e_avg_interactivity"):
            if key in self.figures and self.figures[key].value == 0:
                raise InputError(f"wanted {key} above 0, or None with a reason", where=where)
        if self.elected_offline and self.kind is PointKind.OFFLINE:
            raise InputError("wanted Offline dedicated or elected, got both", where=where)
        object.__setattr__(self, "figures", MappingProxyType(dict(self.figures)))

    def figure(self, key: str) -> Figure:
        """The figure of this key; one that is absent is not measured: "not reported"."""
        return self.figures.get(key, NOT_REPORTED)
