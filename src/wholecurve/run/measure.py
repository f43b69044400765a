"""One run from a resolved plan to a folder of results: check, load, collect, count, judge, write."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from wholecurve.config import Resolved, dump_settings
from wholecurve.model.errors import InputError, InterruptedRun, MeasureError
from wholecurve.model.plan import PhaseKind, Plan, plan_from_json
from wholecurve.model.record import RunState
from wholecurve.model.strict_json import dumps_strict
from wholecurve.records import journal_files
from wholecurve.run.addresses import check_reachable, resolve_addresses
from wholecurve.run.clock import clock_info, monotonic_ns
from wholecurve.run.conn import Address
from wholecurve.run.files import (
    CLOCK_SCHEMA,
    final_snapshot,
    point_yaml,
    prepare_folder,
    system_description,
    write_atomically,
)
from wholecurve.run.hide import Hide
from wholecurve.run.live import Live
from wholecurve.run.outgoing import Outgoing
from wholecurve.run.preflight import Preflight, check_limits
from wholecurve.run.supervise import LoadResult, Supervisor

if TYPE_CHECKING:
    from wholecurve.metrics import MachineFacts

Say = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class RunResult:
    """What a run came to. `summary` is performance/result_summary.json; `invalid` says why it is no valid result."""

    state: RunState
    reason: str | None
    summary: Mapping[str, Any]
    folder: Path
    invalid: tuple[str, ...]

    @property
    def exit_code(self) -> int:
        """0 done, 1 done but not valid, 4 failed, 130 interrupted (model/errors.py)."""
        if self.state is RunState.INTERRUPTED:
            return InterruptedRun.exit_code
        if self.state is RunState.FAILED:
            return MeasureError.exit_code
        return 1 if self.invalid else 0


def measure(resolved: Resolved, out: Path, *, show: Callable[[Live], None], say: Say) -> RunResult:
    """Measure one point and write its folder. Nothing that was measured is lost, whatever happens after.

    Raises InputError and SetupError before any load; MeasureError if results cannot be written.
    """
    plan = resolved.plan
    outgoing = Outgoing(plan, resolved.secrets)
    addresses = resolve_addresses(outgoing.targets, outgoing.proxy)
    check_reachable(
        addresses, outgoing.tls, outgoing.proxy_authorization, what="proxy" if outgoing.proxy else "endpoint"
    )
    preflight = check_limits(plan, addresses)
    for note in preflight.notes:
        say(note)
    prepare_folder(out)
    write_atomically(out / "plan.json", dumps_strict(plan.to_json()))
    write_atomically(out / "config.yaml", dump_settings(resolved.settings).encode())
    records = out / "records"
    supervisor = Supervisor(plan, outgoing, resolved.conversations, addresses, records, show)
    result = supervisor.run()
    _write_clock(out, plan, result, addresses, outgoing.run_id)
    return finish(out, plan, result, preflight, say, resolved)


def _write_clock(out: Path, plan: Plan, result: LoadResult, addresses: Sequence[Address], run_id: str | None) -> None:
    clock = {
        "schema": CLOCK_SCHEMA,
        "clock": "CLOCK_MONOTONIC",
        **clock_info(),
        "stamps": "kernel receive stamps (SO_TIMESTAMPNS)" if plan.kernel_stamps else "user-space clock after the read",
        "anchors": result.anchors,
        "phase_spans_ns": result.phase_spans_ns,
        "addresses": [address.shown for address in addresses],
        "request_id_prefix": run_id,
        "state": result.state.value,
        "reason": result.reason,
        "worker_exits": {str(worker): words for worker, words in result.worker_exits.items()},
        "claimed_not_sent": result.unsent,
    }
    write_atomically(out / "clock.json", dumps_strict(clock))


def finish(
    out: Path, plan: Plan, result: LoadResult, preflight: Preflight | None, say: Say, resolved: Resolved | None
) -> RunResult:
    """Everything after the load; also how a killed run is finished later (then without prompts: `resolved` None)."""
    # Imported here, not at the top: numpy and Arrow would delay the first request by a third of a second.
    import orjson

    from wholecurve.report import report_html, report_text
    from wholecurve.run.figures import phase_summary, worker_facts, write_records
    from wholecurve.run.reduce import read_facts, recover

    records = out / "records"
    recover(records, plan, Hide(resolved.secrets) if resolved else None)
    conversations = resolved.conversations if resolved else None
    tokenizer: Any = resolved.tokenizer if resolved else None
    token_facts = write_records(records, plan, tokenizer, conversations, say)
    facts: list[Any] = list(read_facts(records))
    clock = orjson.loads((out / "clock.json").read_bytes())
    clock["requests_by_address"] = _by_address(facts, len(clock["addresses"]))
    clock["clock_steps"] = [step for fact in facts for step in fact["clock_steps"]]
    write_atomically(out / "clock.json", dumps_strict(clock))
    machine = _machine(plan, preflight, facts, len(clock["clock_steps"]))
    summaries: dict[int, dict[str, Any]] = {}
    measured = next(n for n, phase in enumerate(plan.phases) if phase.kind is PhaseKind.PERFORMANCE)
    columns: Any = None
    for number in range(len(plan.phases)):
        summary, found = phase_summary(
            out, plan, number, state=result.state, reason=result.reason,
            workers=worker_facts(facts, number, result, plan.workers), machine=machine, clock=clock,
            conversations=conversations, token_facts=token_facts if number == measured else {},
        )  # fmt: skip
        summaries[number] = summary
        if number == measured:
            columns = found
    summary = summaries[measured]
    warmup = _warmup_facts(plan, summaries, result)
    if warmup is not None:
        summary["workload"]["warmup"] = warmup
    write_atomically(out / "performance" / "result_summary.json", dumps_strict(summary))
    write_atomically(out / "metrics" / "final_snapshot.json", dumps_strict(final_snapshot(summary, monotonic_ns())))
    write_atomically(out / "sample_idx_map.json", dumps_strict(_sample_map(plan, measured, columns, clock)))
    write_atomically(out / "system_desc.json", dumps_strict(system_description(plan, clock)))
    write_atomically(out / "point.yaml", point_yaml(plan, summary, warmup).encode())
    extra = {"plan": plan.to_json(), "clock": clock, "request": _example_request(resolved)}
    write_atomically(out / "report.txt", report_text(summary, plan.to_json()).encode())
    write_atomically(out / "report.html", report_html(summary, columns, extra).encode())
    for path in [*journal_files(records), *records.glob("facts-*.jsonl")]:
        path.unlink()
    invalid = tuple(summary["validity"]["invalid_reasons"])
    return RunResult(result.state, result.reason, summary, out, invalid)


def _by_address(facts: Sequence[Mapping[str, Any]], count: int) -> list[int]:
    """Requests sent to each address over the whole run: a worker's last word counts, since its counters run on."""
    last: dict[int, Sequence[int]] = {}
    for fact in facts:
        last[fact["worker"]] = fact["requests_by_address"]
    return [sum(counts[place] for counts in last.values()) for place in range(count)]


def _warmup_facts(plan: Plan, summaries: Mapping[int, Mapping[str, Any]], result: LoadResult) -> dict[str, Any] | None:
    """The warm-up declaration, from what happened."""
    for number, phase in enumerate(plan.phases):
        if phase.kind is PhaseKind.WARMUP and number in summaries:
            spans = result.phase_spans_ns
            took = (spans[number][1] - spans[number][0]) / 1e9 if number < len(spans) else None
            return {
                "duration_s": took,
                "requests_issued": summaries[number]["n_samples_issued"],
                "requests_completed": summaries[number]["n_samples_completed"],
                "data_source": phase.dataset,
                "concurrency": phase.concurrency,
                "salt": phase.salt,
                "logs_retained": True,
            }
    return None


def _sample_map(plan: Plan, phase: int, columns: Any, clock: Mapping[str, Any]) -> dict[str, dict[str, int]]:
    """Request id to data-set row, as in the reference client's sample_idx_map.json."""
    prefix = clock.get("request_id_prefix") or ""
    rows = zip(columns["index"].tolist(), columns["sample"].tolist(), strict=True)
    return {plan.phases[phase].name: {f"{prefix}-{phase}-{index}": sample for index, sample in rows if sample >= 0}}


def _example_request(resolved: Resolved | None) -> str | None:
    """Body of the first measured row with the prompt's own text left out: settings, never prompts (SEC-5, CLI-4)."""
    if resolved is None:
        return None
    import orjson

    from wholecurve.wire import DIALECTS

    plan = resolved.plan
    phase = next(one for one in plan.phases if one.kind is PhaseKind.PERFORMANCE)
    sample = resolved.conversations[phase.dataset][0].turns[0].sample
    body = orjson.loads(DIALECTS[plan.endpoint.dialect].body(sample, plan.request, plan.endpoint.model))
    for key in ("messages", "prompt", "input_ids", "text"):
        if key in body:
            body[key] = f"({key} of the data set)"
    return orjson.dumps(body, option=orjson.OPT_INDENT_2).decode()


def recover_run(folder: Path, say: Say) -> RunResult:
    """Finish the folder of a run that was killed: what is on disk becomes a summary marked interrupted.

    Raises InputError if the folder is no run, or is finished already.
    """
    import orjson

    try:
        plan = plan_from_json(orjson.loads((folder / "plan.json").read_bytes()))
    except FileNotFoundError:
        raise InputError(f"{folder} is no run folder: it has no plan.json") from None
    records = folder / "records"
    unfinished = journal_files(records) or list(records.glob("spool-*.bin"))
    if not unfinished:
        raise InputError(f"{folder} has no records to recover", hint="It was stopped before anything was sent.")
    result = LoadResult(
        state=RunState.INTERRUPTED,
        reason="the run did not come to its end (killed, or the disk was full); recovered from its records",
    )
    if not (folder / "clock.json").exists():
        from wholecurve.run.clock import anchor

        result.anchors.append(anchor())
        _write_clock(folder, plan, result, (), None)
    # The prompts and the tokenizer are not loaded again, so token figures come from the server's usage.
    plan = replace(plan, tokenizer=None)
    with contextlib.suppress(OSError):
        say(f"recovering {folder.name}")
    return finish(folder, plan, result, None, say, None)


def _machine(
    plan: Plan, preflight: Preflight | None, facts: Sequence[Mapping[str, Any]], clock_steps: int
) -> MachineFacts:
    """The machine before (preflight; unknown when a killed run is finished later) and during the load (workers)."""
    open_now = [fact["connections_open"] for fact in facts]
    from wholecurve.metrics import MachineFacts

    return MachineFacts(
        cores=preflight.cores if preflight else None,
        running_before=preflight.running_before if preflight else None,
        descriptor_limit=preflight.descriptor_limit if preflight else None,
        descriptors_peak=max(open_now) if open_now else None,
        ports_available=preflight.ports_available if preflight else None,
        ports_used=sum(open_now) if open_now else None,
        kernel_stamps=preflight.kernel_stamps if preflight else plan.kernel_stamps,
        clock_source=preflight.clock_source if preflight else None,
        clock_steps=clock_steps,
    )


def facts_of(result: RunResult) -> dict[str, Any]:
    """For `--json`."""
    return asdict(result) | {"folder": result.folder.name}
