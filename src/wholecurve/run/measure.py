"""One run from a resolved plan to a folder of results: check, load, collect, count, judge, write."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from wholecurve import __version__
from wholecurve.accuracy import EXPECTED_FILE, check_expected, write_expected
from wholecurve.config import Resolved, dump_settings
from wholecurve.model.errors import InputError, InterruptedRun, MeasureError
from wholecurve.model.plan import Plan, plan_from_json
from wholecurve.model.record import RunState
from wholecurve.model.strict_json import dumps_strict
from wholecurve.records import journal_files
from wholecurve.run.addresses import check_reachable, resolve_addresses
from wholecurve.run.clock import clock_info, monotonic_ns
from wholecurve.run.conn import Address
from wholecurve.run.files import (
    CLOCK_SCHEMA,
    final_snapshot,
    prepare_folder,
    read_object,
    system_description,
    tool_commit,
    write_atomically,
)
from wholecurve.run.hide import Hide
from wholecurve.run.live import Live
from wholecurve.run.outgoing import Outgoing
from wholecurve.run.preflight import Preflight, check_limits
from wholecurve.run.supervise import LoadResult, Supervisor

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
    check_expected(plan, resolved.expected)
    outgoing = Outgoing(plan, resolved.secrets, resolved.salting)
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
    if resolved.expected:
        # Before the load, so that a run that is killed can still be scored.
        write_atomically(records / EXPECTED_FILE, write_expected(resolved.expected))
    supervisor = Supervisor(plan, outgoing, resolved.conversations, addresses, records, show)
    result = supervisor.run()
    for note in result.notes:
        say(note)
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
        "extended_ns": list(result.extended_ns),
        "notes": list(result.notes),
    }
    write_atomically(out / "clock.json", dumps_strict(clock))


def finish(
    out: Path, plan: Plan, result: LoadResult, preflight: Preflight | None, say: Say, resolved: Resolved | None
) -> RunResult:
    """Everything after the load; also how a killed run is finished later (then without prompts: `resolved` None)."""
    # Imported here, not at the top: numpy and Arrow would delay the first request by a third of a second.
    from wholecurve.run.facts import (
        FACTS_FILE,
        PhaseFacts,
        RunFacts,
        example_request,
        machine_facts,
        prompt_facts,
        worker_facts,
    )
    from wholecurve.run.figures import write_records
    from wholecurve.run.reduce import read_facts, recover

    records = out / "records"
    recover(records, plan, Hide(resolved.secrets) if resolved else None)
    tokenizer: Any = resolved.tokenizer if resolved else None
    tokens = write_records(records, plan, tokenizer, resolved.conversations if resolved else None, say)
    told: list[Any] = list(read_facts(records))
    steps = _complete_clock(out, told)
    facts = RunFacts(
        version=__version__,
        git_sha=tool_commit(),
        state=result.state,
        reason=result.reason,
        machine=machine_facts(plan, preflight, told, steps),
        phases=tuple(
            PhaseFacts(
                workers=tuple(worker_facts(told, number, result, plan.workers)),
                prompts=prompt_facts(resolved, number, records),
            )
            for number in range(len(plan.phases))
        ),
        tokens=tokens,
        request=example_request(resolved),
    )
    write_atomically(records / FACTS_FILE, dumps_strict(facts.to_json()))
    return _write_results(out)


def _complete_clock(out: Path, told: Sequence[Mapping[str, Any]]) -> int:
    """Add to clock.json what workers said of clocks and addresses; returns the steps of wall time."""
    clock = read_object(out / "clock.json")
    clock["requests_by_address"] = _by_address(told, len(clock["addresses"]))
    clock["clock_steps"] = [step for fact in told for step in fact["clock_steps"]]
    write_atomically(out / "clock.json", dumps_strict(clock))
    return len(clock["clock_steps"])


def _write_results(out: Path) -> RunResult:
    """Every file that is made of the records, then the journals go. The figures are those of `derive`, no others."""
    from wholecurve.report import report_html, report_text
    from wholecurve.run.beside import sample_map
    from wholecurve.run.derive import derive, derive_accuracy
    from wholecurve.run.point_file import point_yaml

    records = out / "records"
    found = derive(out)
    plan, summary = found.plan, found.summary
    write_atomically(out / "performance" / "result_summary.json", dumps_strict(summary))
    write_atomically(out / "metrics" / "final_snapshot.json", dumps_strict(final_snapshot(summary, monotonic_ns())))
    write_atomically(out / "sample_idx_map.json", dumps_strict(sample_map(plan, found.clock, found.columns)))
    write_atomically(out / "system_desc.json", dumps_strict(system_description(plan, found.clock)))
    write_atomically(out / "point.yaml", point_yaml(plan, summary).encode())
    extra = {"plan": plan.to_json(), "clock": found.clock, "request": found.facts.request}
    write_atomically(out / "report.txt", report_text(summary, plan.to_json()).encode())
    write_atomically(out / "report.html", report_html(summary, found.columns, extra).encode())
    judgement = derive_accuracy(out, plan)
    if judgement is not None:
        write_atomically(out / "accuracy" / "accuracy_results.json", dumps_strict(judgement.results))
        write_atomically(out / "accuracy" / "scores.json", dumps_strict(judgement.samples))
    for path in [*journal_files(records), *records.glob("facts-*.jsonl")]:
        path.unlink()
    invalid = tuple(summary["validity"]["invalid_reasons"])
    return RunResult(found.facts.state, found.facts.reason, summary, out, invalid)


def _by_address(facts: Sequence[Mapping[str, Any]], count: int) -> list[int]:
    """Requests sent to each address over the whole run: a worker's last word counts, since its counters run on."""
    last: dict[int, Sequence[int]] = {}
    for fact in facts:
        last[fact["worker"]] = fact["requests_by_address"]
    return [sum(counts[place] for counts in last.values()) for place in range(count)]


def recover_run(folder: Path, say: Say) -> RunResult:
    """Finish the folder of a run that was killed: what is on disk becomes a summary marked interrupted.

    A run that was killed only while its results were written is as complete as it was. Raises InputError if the folder
    is no run, or has nothing to recover.
    """
    from wholecurve.run.facts import FACTS_FILE

    plan = plan_from_json(read_object(folder / "plan.json"))
    records = folder / "records"
    if (records / FACTS_FILE).exists():
        say(f"finishing {folder.name}")
        return _write_results(folder)
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


def facts_of(result: RunResult) -> dict[str, Any]:
    """For `--json`."""
    return asdict(result) | {"folder": result.folder.name}
