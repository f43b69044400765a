"""A load without the command line: a plan from few words, run by the real supervisor, its rows as dictionaries."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from wholecurve.model.plan import (
    DatasetPlan,
    EndpointPlan,
    Limits,
    Order,
    Pattern,
    PhaseKind,
    PhasePlan,
    Plan,
    RequestOptions,
    Secrets,
    StopRule,
    Tls,
)
from wholecurve.model.sample import Conversation, Sample, single_shot
from wholecurve.records import NULL, NUMBER_NAMES, TEXT_NAMES
from wholecurve.records.write import rows_in_order
from wholecurve.run.addresses import resolve_addresses
from wholecurve.run.live import Live
from wholecurve.run.outgoing import Outgoing
from wholecurve.run.reduce import read_facts, recover
from wholecurve.run.supervise import LoadResult, Supervisor

NS = 1_000_000_000


@dataclass(frozen=True)
class Load:
    """What came out."""

    result: LoadResult
    rows: list[dict[str, Any]]
    facts: list[Any]

    def of(self, outcome: str) -> list[dict[str, Any]]:
        return [row for row in self.rows if row["outcome"] == outcome]


def prompts(count: int) -> tuple[Conversation, ...]:
    return tuple(single_shot(Sample(row=row, prompt=f"prompt {row}", body={"max_tokens": 4})) for row in range(count))


def phase(**changes: Any) -> PhasePlan:
    values: dict[str, Any] = {
        "kind": PhaseKind.PERFORMANCE,
        "name": "performance",
        "dataset": "set",
        "rows": 8,
        "order": Order.SEQUENTIAL,
        "order_seed": 42,
        "pattern": Pattern.CONCURRENCY,
        "stop": StopRule(min_samples=8, max_samples=8),
        "concurrency": 2,
        "drain_timeout_ns": 5 * NS,
    }
    return PhasePlan(**(values | changes))


def plan_for(
    urls: Sequence[str],
    phases: Sequence[PhasePlan],
    *,
    workers: int = 1,
    request: RequestOptions | None = None,
    limits: Limits | None = None,
    dialect: str = "openai-chat",
    tls: Tls | None = None,
    kernel_stamps: bool = True,
    proxy: str | None = None,
) -> Plan:
    return Plan(
        name="test",
        endpoint=EndpointPlan(tuple(urls), dialect, "model", tls=tls or Tls(), proxy=proxy),
        request=request or RequestOptions(),
        datasets=(DatasetPlan("set", "set.jsonl", phases[0].rows, "0" * 64),),
        phases=tuple(phases),
        limits=limits or Limits(),
        workers=workers,
        seed=42,
        kernel_stamps=kernel_stamps,
    )


def run_load(
    folder: Path,
    urls: str | Sequence[str],
    phases: PhasePlan | Sequence[PhasePlan],
    *,
    conversations: Sequence[Conversation] | None = None,
    headers: Sequence[tuple[str, str]] = (),
    show: Callable[[Live], None] = lambda live: None,
    during: Callable[[Supervisor], None] | None = None,
    **plan_options: Any,
) -> Load:
    """Run a load against real sockets and read its journal back."""
    listed = [phases] if isinstance(phases, PhasePlan) else list(phases)
    plan = plan_for([urls] if isinstance(urls, str) else urls, listed, **plan_options)
    outgoing = Outgoing(plan, Secrets(tuple(headers)))
    addresses = resolve_addresses(outgoing.targets, outgoing.proxy)
    folder.mkdir(parents=True, exist_ok=True)
    work = tuple(conversations) if conversations is not None else prompts(listed[0].rows)
    supervisor = Supervisor(plan, outgoing, {"set": work}, addresses, folder, show)
    if during is not None:
        during(supervisor)
    result = supervisor.run()
    recover(folder, plan)
    return Load(result, read_rows(folder), list(read_facts(folder)))


def read_rows(folder: Path) -> list[dict[str, Any]]:
    """All rows of the journals by (phase, index), missing values as None."""
    rows = []
    for row in rows_in_order(folder):
        numbers = {
            name: None if value == NULL else value for name, value in zip(NUMBER_NAMES, row.numbers, strict=True)
        }
        rows.append(numbers | dict(zip(TEXT_NAMES, row.texts, strict=True)) | {"gaps_ns": list(row.gaps_ns)})
    return rows


def ordered(row: dict[str, Any]) -> bool:
    """The stamps of a row are in the order in which things happen."""
    names = (
        "scheduled_ns",
        "issued_ns",
        "sent_ns",
        "first_byte_ns",
        "first_output_ns",
        "last_output_ns",
        "completed_ns",
    )
    times = [row[name] for name in names if row[name] is not None]
    return times == sorted(times)
