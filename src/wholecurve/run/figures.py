"""From the rows of a finished load to Parquet, and from records and facts to the summary of each phase."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from wholecurve.metrics import Columns, summarize
from wholecurve.model.plan import PhaseKind, Plan
from wholecurve.model.sample import Conversation
from wholecurve.records.write import write_parquet
from wholecurve.run.clock import wall_iso
from wholecurve.run.counting import TokenColumns
from wholecurve.run.facts import RunFacts
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
) -> dict[str, Any] | None:
    """Parquet files from the journals, with token columns if there is a tokenizer.

    Answers are kept of accuracy phases, which are scored from them, and of all phases with `plan.keep_responses`.
    Returns facts on the counting; None if no reference tokenizer counted.
    """
    counter = None
    if tokenizer is not None and conversations is not None:
        counter = TokenColumns(plan, tokenizer, conversations, say)
    kept = {
        number for number, phase in enumerate(plan.phases) if plan.keep_responses or phase.kind is PhaseKind.ACCURACY
    }
    write_parquet(
        records, keep_responses=kept, count_tokens=counter,
        progress=lambda written: None if written % TELL_EVERY else say(f"{written:,} records written"),
    )  # fmt: skip
    if counter is None:
        return None
    return {
        "output_count_methods": counter.methods,
        "input_count_methods": counter.input_methods,
        "input_count_reasons": counter.input_reasons,
    }


def phase_summary(
    plan: Plan, phase: int, columns: Columns, facts: RunFacts, clock: Mapping[str, Any]
) -> dict[str, Any]:
    """The summary of one phase, from its records and from what is known of the run; nothing else is looked at."""
    issued = columns["issued_ns"][columns.known("issued_ns")]
    first = int(issued.min()) if len(issued) else None
    return summarize(
        plan, phase, columns, state=facts.state, workers=facts.phases[phase].workers, machine=facts.machine,
        started_at=None if first is None else wall_time(clock, first), version=facts.version, git_sha=facts.git_sha,
        extra=_workload(plan, phase, columns, facts, clock),
    )  # fmt: skip


def wall_time(clock: Mapping[str, Any], monotonic: int) -> str:
    """A time of the records as wall time, ISO 8601."""
    anchor = clock["anchors"][0]
    return wall_iso(monotonic - anchor["monotonic_ns"] + anchor["realtime_ns"])


def _workload(plan: Plan, phase: int, columns: Columns, facts: RunFacts, clock: Mapping[str, Any]) -> dict[str, Any]:
    """What the summary passes through: data sets, endpoint, tokenizer, prompts, and how far token counts differ."""
    urls = plan.endpoint.urls
    counted = facts.tokens is not None
    found: dict[str, Any] = {
        "state_reason": facts.reason,
        "extended_ns": _item(clock.get("extended_ns"), phase),
        "notes": list(clock.get("notes") or ()),
        "datasets": [asdict(one) for one in plan.datasets],
        "endpoint": {
            "urls": list(urls),
            "model": plan.endpoint.model,
            "dialect": plan.endpoint.dialect,
            "tls_verified": plan.endpoint.tls.verify if any(url.startswith("https") for url in urls) else None,
            "proxy": plan.endpoint.proxy,
            "addresses": clock["addresses"],
            "requests_by_address": clock["requests_by_address"],
        },
        "tokenizer": asdict(plan.tokenizer) if plan.tokenizer is not None and counted else None,
    }
    if counted:
        if plan.phases[phase].kind is PhaseKind.PERFORMANCE:
            found |= facts.tokens or {}
        good = columns.succeeded
        found["token_mismatch"] = {
            what: _mismatch(what, compare_counts(_maybe(columns, reference, good), _maybe(columns, usage, good)))
            for what, reference, usage in (("input", "isl", "usage_input"), ("output", "osl", "usage_output"))
        }
    prompts = facts.phases[phase].prompts
    return found if prompts is None else found | {"prompts": dict(prompts)}


def _item(values: object, place: int) -> Any:
    """One value of a list; None where there is none."""
    return values[place] if isinstance(values, list) and place < len(values) else None


def _mismatch(what: str, found: Mismatch) -> dict[str, Any]:
    return asdict(found) | {"flagged": found.flagged, "sentence": found.sentence(what)}


def _maybe(columns: Any, name: str, mask: Any) -> list[int | None]:
    values = columns[name][mask]
    return [None if value < 0 else value for value in values.tolist()]
