"""From the rows of a finished load to figures: token counts, Parquet, and the summary of each phase."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from wholecurve import __version__
from wholecurve.datasets import audit
from wholecurve.metrics import LOG2_BUCKETS, MachineFacts, WorkerFacts, summarize
from wholecurve.model.plan import PhaseKind, Plan
from wholecurve.model.record import Outcome, RunState
from wholecurve.model.sample import Conversation
from wholecurve.records import NUMBER_NAMES, TEXT_NAMES, Row
from wholecurve.records.read import read_columns
from wholecurve.records.write import write_parquet
from wholecurve.run.clock import wall_iso
from wholecurve.run.files import tool_commit
from wholecurve.run.supervise import LoadResult
from wholecurve.tokens import Mismatch, ResponseRow, Tokenizer, compare_counts, count_answers, count_prompts

_SAMPLE = NUMBER_NAMES.index("sample")
_PHASE = NUMBER_NAMES.index("phase")
_OUTCOME = TEXT_NAMES.index("outcome")

Say = Callable[[str], None]

TELL_EVERY = 100_000
"""Records between two words on the way: short runs need none."""


class TokenColumns:
    """Counts tokens of row groups with the reference tokenizer; remembers how it counted."""

    def __init__(
        self, plan: Plan, tokenizer: Tokenizer, conversations: Mapping[str, Sequence[Conversation]], say: Say
    ) -> None:
        self._tokenizer = tokenizer
        self._say = say
        self.methods: dict[str, int] = {}
        self.reasons: dict[str, int] = {}
        self._done = 0
        # The template belongs to chat; other dialects send the prompt as it is.
        templated = plan.endpoint.dialect == "openai-chat"
        self._isl: list[Mapping[int, int | None]] = []
        for phase in plan.phases:
            samples = [turn.sample for conversation in conversations[phase.dataset] for turn in conversation.turns]
            counted = count_prompts(
                samples, tokenizer, templated=templated, processes=_processes(),
                template_kwargs=plan.request.extra_body.get("chat_template_kwargs"),
            )  # fmt: skip
            self._isl.append({s.row: isl for s, isl in zip(samples, counted.isl, strict=True)})
            if phase.kind is PhaseKind.PERFORMANCE:
                self.input_methods, self.input_reasons = dict(counted.methods), dict(counted.reasons)

    def __call__(self, rows: Sequence[Row]) -> Mapping[str, Sequence[int | None]]:
        """Token columns of one group; output counts of successes only (a part of an answer has no length)."""
        good = [place for place, row in enumerate(rows) if row.texts[_OUTCOME] == Outcome.SUCCEEDED]
        counted = count_answers(
            [ResponseRow(*rows[place].response) for place in good], self._tokenizer, processes=_processes()
        )
        for method, count in counted.methods.items():
            self.methods[method] = self.methods.get(method, 0) + count
        isl = [self._isl[row.numbers[_PHASE]].get(row.numbers[_SAMPLE]) for row in rows]
        columns: dict[str, list[int | None]] = {
            name: [None] * len(rows) for name in ("osl", "osl_after_first", "osl_reasoning")
        }
        for place, osl, after, reasoning in zip(
            good, counted.osl, counted.osl_after_first, counted.osl_reasoning, strict=True
        ):
            columns["osl"][place] = osl
            columns["osl_after_first"][place] = after
            columns["osl_reasoning"][place] = reasoning
        self._done += len(rows)
        if len(rows) > 2_000:
            self._say(f"counted tokens of {self._done} answers")
        return columns | {"isl": isl}


def _processes() -> int:
    return max(1, len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else (os.cpu_count() or 1))


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
