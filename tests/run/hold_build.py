"""Loads that may be extended: short windows, a phase with a hold, servers whose speed is known."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from run_build import NS, phase, plan_for, read_rows

from wholecurve.metrics import SteadyState, steady_state, window_rules
from wholecurve.model.plan import HoldRule, Order, PhasePlan, Plan, RulesPlan, Secrets, StopRule
from wholecurve.model.sample import Conversation, Sample, single_shot
from wholecurve.run.addresses import resolve_addresses
from wholecurve.run.live import Live
from wholecurve.run.outgoing import Outgoing
from wholecurve.run.outlook import Finished
from wholecurve.run.reduce import recover
from wholecurve.run.supervise import LoadResult, Supervisor
from wholecurve.testing import TruthServer

WINDOW_NS = 3 * NS // 2
RULES = RulesPlan("demo", "E3", "0" * 16, "demo", min_window_ns=WINDOW_NS, min_super_passes=4, lead_super_passes=1)


@dataclass(frozen=True)
class Held:
    """What came out of a load: `state` is judged as after the run, over every request."""

    result: LoadResult
    rows: list[dict[str, Any]]
    state: SteadyState

    @property
    def passes(self) -> float:
        assert self.state.cut is not None
        return self.state.cut.passes

    @property
    def note(self) -> str:
        return " ".join(self.result.notes)


class Drifting(TruthServer):
    """Its gap between tokens grows by `per_s` a second, for `lasts_s` from the first request on."""

    def __init__(self, *, per_s: float, lasts_s: float = 60.0, **options: Any) -> None:
        super().__init__(**options)
        self._per_s, self._lasts_s, self._began = per_s, lasts_s, 0.0

    def times_s(self, number: int, count: int) -> list[float]:
        self._began = self._began or time.monotonic()
        grown = (1 + self._per_s) ** min(self._lasts_s, time.monotonic() - self._began)
        return [self.first_s + place * self.gap_s * grown for place in range(count)]


def rule(rows: int, **changes: Any) -> StopRule:
    """The duration rule: a lead of one pass, the window after it, whole passes."""
    values: dict[str, Any] = {"min_samples": 5 * rows, "min_duration_ns": WINDOW_NS, "whole_passes": True}
    return StopRule(**(values | {"lead_samples": rows} | changes))


def held_phase(*, rows: int = 16, extra_s: float = 4.0, **changes: Any) -> PhasePlan:
    values = {"rows": rows, "concurrency": 4, "order": Order.SHUFFLED, "stop": rule(rows)}
    return phase(**(values | {"hold": HoldRule(round(extra_s * NS))} | changes))


def held_plan(urls: list[str], phases: list[PhasePlan], **options: Any) -> Plan:
    return replace(plan_for(urls, phases, **options), rules=RULES)


def talk(rows: int, tokens: int) -> tuple[Conversation, ...]:
    return tuple(single_shot(Sample(row, prompt=f"prompt {row}", body={"max_tokens": tokens})) for row in range(rows))


def run_held(
    folder: Path,
    url: str,
    one: PhasePlan,
    *,
    tokens: int = 8,
    show: Callable[[Live], None] = lambda live: None,
    during: Callable[[Supervisor], None] | None = None,
    **options: Any,
) -> Held:
    """Run one phase against a real server."""
    plan = held_plan([url], [one], **options)
    outgoing = Outgoing(plan, Secrets())
    addresses = resolve_addresses(outgoing.targets, outgoing.proxy)
    supervisor = Supervisor(plan, outgoing, {"set": talk(one.rows, tokens)}, addresses, folder, show)
    if during is not None:
        during(supervisor)
    result = supervisor.run()
    recover(folder, plan)
    finished = Finished(folder, 0)
    finished.read_on()
    state = steady_state(
        finished.beginning(), window_rules(RULES), rows=one.rows, pattern=one.pattern, concurrency=one.concurrency
    )
    return Held(result, read_rows(folder), state)
