"""From the rows of a finished load to figures: token counts, Parquet, and the summary of each phase."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from wholecurve import __version__
from wholecurve.datasets import audit
from wholecurve.metrics import LOG2_BUCKETS, MachineFacts, WorkerFacts, summarize
from wholecurve.model.plan import Plan
from wholecurve.model.record import RunState
from wholecurve.model.sample import Conversation
from wholecurve.records.read import read_columns
from wholecurve.records.write import write_parquet
from wholecurve.run.clock import wall_iso
from wholecurve.run.counting import TokenColumns
from wholecurve.run.files import tool_commit
from wholecurve.run.supervise import LoadResult
from wholecurve.tokens import Mismatch, Tokenizer, compare_counts

Say = Callable[[str], None]

TELL_EVERY = 100_000
"""Records between two words on the way: short runs need none."""


def write_records(
    records: Path,
    plan: Plan,
    tokenizer: Tokenizer | None,
    conversations: Mapping[str, Sequence[Conversation]] | None,
    say: Say,
) -> dict[str, Any]:
    """Parquet files from the journals, with token columns if there is a tokenizer. Returns facts on the counting."""
    counter = None
    if tokenizer is not None and conversations is not None:
        counter = TokenColumns(plan, tokenizer, conversations, say)
    write_parquet(
        records, keep_responses=plan.keep_responses, count_tokens=counter,
        progress=lambda written: None if written % TELL_EVERY else say(f"{written:,} records written"),
    )  # fmt: skip
    if counter is None:
        return {}
    return {
        "output_count_methods": counter.methods,
        "input_count_methods": counter.input_methods,
        "input_count_reasons": counter.input_reasons,
    }


def worker_facts(facts: Sequence[Mapping[str, Any]], phase: int, result: LoadResult, workers: int) -> list[WorkerFacts]:
    """What each worker said of a phase; a worker that died says how instead."""
    found: dict[int, WorkerFacts] = {}
    for fact in facts:
        if fact["phase"] == phase:
            found[fact["worker"]] = WorkerFacts(
                worker=fact["worker"],
                cpu_ns=fact["cpu_ns"],
                wall_ns=max(1, fact["wall_ns"]),
                reads=fact["reads"],
                read_lag_log2_ns=tuple(fact["read_lag_log2_ns"]),
                connections_opened=fact["connections_opened"],
                resends=fact["resends"],
                exit=result.worker_exits.get(fact["worker"], "clean"),
            )
    for worker in range(workers):
        if worker not in found:
            ended = result.worker_exits.get(worker, "unknown")
            found[worker] = WorkerFacts(worker, 0, 1, 0, (0,) * LOG2_BUCKETS, exit=ended)
    return [found[worker] for worker in sorted(found)]


def phase_summary(
    folder: Path,
    plan: Plan,
    phase: int,
    *,
    state: RunState,
    reason: str | None,
    workers: Sequence[WorkerFacts],
    machine: MachineFacts,
    clock: Mapping[str, Any],
    conversations: Mapping[str, Sequence[Conversation]] | None,
    token_facts: Mapping[str, Any],
) -> tuple[dict[str, Any], Any]:
    """(summary of one phase, its columns)."""
    columns = read_columns(folder / "records", phase)
    extra: dict[str, Any] = {"state_reason": reason, "datasets": [asdict(one) for one in plan.datasets]}
    extra["endpoint"] = {
        "urls": list(plan.endpoint.urls),
        "model": plan.endpoint.model,
        "dialect": plan.endpoint.dialect,
        "tls_verified": plan.endpoint.tls.verify if any(u.startswith("https") for u in plan.endpoint.urls) else None,
        "proxy": plan.endpoint.proxy,
        "addresses": clock.get("addresses"),
        "requests_by_address": clock.get("requests_by_address"),
    }
    extra["tokenizer"] = asdict(plan.tokenizer) if plan.tokenizer else None
    extra |= token_facts
    if plan.tokenizer is not None:
        good = columns.succeeded
        extra["token_mismatch"] = {
            what: _mismatch(what, compare_counts(_maybe(columns, reference, good), _maybe(columns, usage, good)))
            for what, reference, usage in (("input", "isl", "usage_input"), ("output", "osl", "usage_output"))
        }
    if conversations is not None:
        samples = [turn.sample for c in conversations[plan.phases[phase].dataset] for turn in c.turns]
        facts = audit(samples, sent=[row for row in columns["sample"].tolist() if row >= 0])
        extra["prompts"] = asdict(facts) | {"warnings": list(facts.warnings)}
    issued = columns["issued_ns"][columns.known("issued_ns")]
    first = issued.min() if len(issued) else None
    anchor = clock["anchors"][0]
    started = None if first is None else wall_iso(int(first) - anchor["monotonic_ns"] + anchor["realtime_ns"])
    summary = summarize(
        plan, phase, columns, state=state, workers=workers, machine=machine, started_at=started, version=__version__,
        git_sha=tool_commit(), extra=extra,
    )  # fmt: skip
    return summary, columns


def _mismatch(what: str, found: Mismatch) -> dict[str, Any]:
    return asdict(found) | {"flagged": found.flagged, "sentence": found.sentence(what)}


def _maybe(columns: Any, name: str, mask: Any) -> list[int | None]:
    values = columns[name][mask]
    return [None if value < 0 else value for value in values.tolist()]
