"""A made run with plausible figures, and the same run with hostile text in every place that others write."""

from __future__ import annotations

from typing import Any

import numpy as np

from wholecurve.metrics import (
    LOG2_BUCKETS,
    NULL,
    NUMBER_COLUMNS,
    TEXT_COLUMNS,
    Columns,
    MachineFacts,
    WorkerFacts,
    summarize,
)
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
    TokenizerPlan,
)
from wholecurve.model.record import RunState

MS = 1_000_000
S = 1_000_000_000
HOSTILE = "<script>alert(1)</script>\"'><img src=http://evil.example/x onerror=x>\u202e\u2066\x1b[31m\x07\u2028[red]"


def made_columns(requests: int = 600, slots: int = 16, *, tokens: bool = True, detail: str = "") -> Columns:
    """A closed loop: `slots` conversations of requests behind each other; every 97th fails with status 503."""
    rng = np.random.default_rng(11)
    numbers = {name: np.full(requests, NULL, dtype=np.int64) for name in NUMBER_COLUMNS}
    texts: dict[str, list[str | None]] = {name: [None] * requests for name in TEXT_COLUMNS}
    free = np.full(slots, 5_000 * S, dtype=np.int64)
    gaps: list[np.ndarray[Any, np.dtype[np.int64]]] = []
    for i in range(requests):
        slot = int(np.argmin(free))
        issued = int(free[slot]) + int(rng.integers(4_000, 60_000))
        first = int(rng.lognormal(4.6, 0.35) * MS) + slots * MS
        length = int(np.clip(rng.lognormal(4.3, 0.6), 2, 700))
        pace = rng.gamma(24, (9 + slots / 8) / 24, length - 1) * MS
        steps = pace.astype(np.int64)
        failed = i % 97 == 50
        done = issued + first + (0 if failed else int(steps.sum()) + 80_000)
        times = {"scheduled_ns": int(free[slot]), "issued_ns": issued, "sent_ns": issued + 9_000, "completed_ns": done}
        if not failed:
            times |= {
                "first_byte_ns": issued + first - 30_000, "first_output_ns": issued + first,
                "first_visible_ns": issued + first, "last_output_ns": issued + first + int(steps.sum()),
                "events": length + 2, "output_events": length, "reads": length + 1, "user_stamps": 0,
                "usage_input": int(rng.integers(80, 2_000)), "usage_output": length + int(rng.integers(0, 2)),
            }  # fmt: skip
            if tokens:
                times |= {"isl": times["usage_input"] + 3, "osl": length, "osl_after_first": length - 1}
        for name, value in ({"index": i, "turn": 0, "worker": 0, "status": 503 if failed else 200} | times).items():
            numbers[name][i] = value
        texts["outcome"][i] = "failed" if failed else "succeeded"
        texts["failure"][i] = "http_status" if failed else None
        texts["detail"][i] = (detail or '{"error": "overloaded"}') if failed else None
        texts["finish_reason"][i] = None if failed else "length" if length == 700 else "stop"
        gaps.append(np.empty(0, dtype=np.int64) if failed else steps)
        free[slot] = done
    offsets = np.concatenate(([0], np.cumsum([len(one) for one in gaps]))).astype(np.int64)
    return Columns(numbers, texts, np.concatenate(gaps), offsets)


def made_plan(slots: int = 16, *, text: str = "") -> Plan:
    """The plan of that run; `text` goes into every name."""
    phase = PhasePlan(
        PhaseKind.PERFORMANCE, "performance", text or "chat", 500, Order.SHUFFLED, 42, Pattern.CONCURRENCY,
        StopRule(min_samples=600), concurrency=slots,
    )  # fmt: skip
    return Plan(
        name=text or "r16",
        endpoint=EndpointPlan((text or "http://10.0.0.7:8000/v1",), "openai-chat", text or "meta-llama/Llama-3.1-8B"),
        request=RequestOptions(max_tokens=700, sampling={"temperature": 0}, extra_body={"note": text} if text else {}),
        datasets=(DatasetPlan(text or "chat", text or "chat.jsonl", 500, "3f" * 32),),
        phases=(phase,),
        limits=Limits(),
        workers=1,
        seed=42,
        tokenizer=TokenizerPlan(text or "meta-llama/Llama-3.1-8B", "ab" * 32, 128_256),
        notes=(text,) if text else (),
    )


def made_worker(**more: Any) -> WorkerFacts:
    """A worker in good health."""
    lags = [0] * LOG2_BUCKETS
    lags[15], lags[17] = 40_000, 300
    facts: dict[str, Any] = {"worker": 0, "cpu_ns": 9 * S, "wall_ns": 60 * S, "reads": 40_300}
    return WorkerFacts(**(facts | {"read_lag_log2_ns": tuple(lags)} | more))


MACHINE = MachineFacts(
    cores=2, running_before=0.2, descriptor_limit=1024, descriptors_peak=40, ports_available=28_000,
    ports_used=16, kernel_stamps=True, clock_source="tsc", clock_steps=0,
)  # fmt: skip


def made_summary(columns: Columns | None = None, plan: Plan | None = None, **more: Any) -> dict[str, Any]:
    """result_summary.json of the made run."""
    settings: dict[str, Any] = {
        "state": RunState.COMPLETE,
        "workers": (made_worker(),),
        "machine": MACHINE,
        "started_at": "2026-03-01T10:00:00+00:00",
        "version": "1.0.0",
        "git_sha": "0123abcd",
        "extra": {},
    }
    return summarize(plan or made_plan(), 0, columns or made_columns(), **(settings | more))
