"""Columns, plans and facts made by hand, for the tests of metrics."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from wholecurve.metrics import LOG2_BUCKETS, NULL, NUMBER_COLUMNS, TEXT_COLUMNS, Columns, MachineFacts, WorkerFacts
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
    StopRule,
)

MS = 1_000_000
S = 1_000_000_000

Row = Mapping[str, Any]


def columns(rows: Sequence[Row]) -> Columns:
    """Columns from rows; what a row does not name is missing. `index` counts up, `outcome` is succeeded."""
    filled = [{"index": place, "outcome": "succeeded"} | dict(row) for place, row in enumerate(rows)]
    gaps = [list(row.get("gaps_ns", ())) for row in filled]
    known = {*NUMBER_COLUMNS, *TEXT_COLUMNS, "gaps_ns"}
    assert all(name in known for row in filled for name in row), "a test names a column that does not exist"
    return Columns(
        numbers={
            name: np.array([NULL if row.get(name) is None else int(row[name]) for row in filled], dtype=np.int64)
            for name in NUMBER_COLUMNS
        },
        texts={name: [row.get(name) for row in filled] for name in TEXT_COLUMNS},
        gaps_ns=np.array([gap for one in gaps for gap in one], dtype=np.int64),
        gap_offsets=np.concatenate(([0], np.cumsum([len(one) for one in gaps], dtype=np.int64))).astype(np.int64),
    )


def answer(start: int, first: int, gaps: Sequence[int], *, end: int = 0, **more: Any) -> dict[str, Any]:
    """A streamed success: first output `first` ns after `start`, then gaps; completed `end` ns after the last."""
    last = start + first + sum(gaps)
    return {
        "scheduled_ns": start,
        "issued_ns": start,
        "sent_ns": start,
        "first_byte_ns": start + first,
        "first_output_ns": start + first,
        "first_visible_ns": start + first,
        "last_output_ns": last,
        "completed_ns": last + end,
        "output_events": len(gaps) + 1,
        "events": len(gaps) + 2,
        "reads": len(gaps) + 2,
        "user_stamps": 0,
        "gaps_ns": list(gaps),
        "finish_reason": "stop",
        "turn": 0,
    } | more


def failed(kind: str, start: int = 0, end: int | None = None, **more: Any) -> dict[str, Any]:
    """A failed request."""
    return {
        "outcome": "failed",
        "failure": kind,
        "scheduled_ns": start,
        "issued_ns": start,
        "sent_ns": start,
        "completed_ns": start if end is None else end,
    } | more


def phase(pattern: Pattern = Pattern.CONCURRENCY, **more: Any) -> PhasePlan:
    """A performance phase."""
    settings: dict[str, Any] = {
        "kind": PhaseKind.PERFORMANCE,
        "name": "performance",
        "dataset": "data",
        "rows": 10,
        "order": Order.SHUFFLED,
        "order_seed": 7,
        "pattern": pattern,
        "stop": StopRule(),
    }
    return PhasePlan(**(settings | more))


def plan(
    *phases: PhasePlan,
    stream: bool = True,
    limits: Limits = Limits(),  # noqa: B008 - a frozen value
) -> Plan:
    """A plan of these phases."""
    return Plan(
        name="test",
        endpoint=EndpointPlan(("http://127.0.0.1:8000",), "openai-chat", "model"),
        request=RequestOptions(stream=stream),
        datasets=(DatasetPlan("data", "data.jsonl", 10, "0" * 64),),
        phases=phases or (phase(concurrency=1),),
        limits=limits,
        workers=1,
        seed=7,
    )


def worker(**more: Any) -> WorkerFacts:
    """A worker in good health; `lags` gives (bit length, count) pairs of read lags."""
    lags = [0] * LOG2_BUCKETS
    for bits, count in more.pop("lags", ((14, 1000),)):
        lags[bits] += count
    facts: dict[str, Any] = {"worker": 0, "cpu_ns": 2 * S, "wall_ns": 10 * S, "reads": sum(lags)}
    return WorkerFacts(**(facts | {"read_lag_log2_ns": tuple(lags)} | more))


def machine(**more: Any) -> MachineFacts:
    """A machine in good health."""
    facts: dict[str, Any] = {
        "cores": 2,
        "running_before": 0.1,
        "descriptor_limit": 1024,
        "descriptors_peak": 40,
        "ports_available": 28_000,
        "ports_used": 32,
        "kernel_stamps": True,
        "clock_source": "tsc",
        "clock_steps": 0,
    }
    return MachineFacts(**(facts | more))
