"""records/facts.json: what only the run itself could know, and no record holds.

What workers and machine said of themselves, how the run ended, how tokens were counted, what the prompts were like, and
which client measured. Nothing that can be computed from the records is in it, so summary and reports can be derived
again from plan.json, clock.json and records/ alone (run/derive.py). What was not known is null.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from typing import Any, Final

from wholecurve.config import Resolved, salt_of
from wholecurve.datasets import audit, salted
from wholecurve.metrics import LOG2_BUCKETS, MachineFacts, WorkerFacts
from wholecurve.model.errors import InputError
from wholecurve.model.plan import PhaseKind, Plan
from wholecurve.model.record import RunState
from wholecurve.run.preflight import Preflight
from wholecurve.run.supervise import LoadResult

FACTS_SCHEMA: Final[str] = "wholecurve.facts/1"
FACTS_FILE: Final[str] = "facts.json"
DAMAGED: Final[str] = "The folder is damaged; restore it, or measure again."


@dataclass(frozen=True, slots=True)
class PhaseFacts:
    """One phase: what each worker said of it, and facts on its prompts (datasets/audit.py; None if not at hand)."""

    workers: tuple[WorkerFacts, ...]
    prompts: Mapping[str, Any] | None


@dataclass(frozen=True, slots=True)
class RunFacts:
    """Content of facts.json.

    version, git_sha: of the client that measured. tokens: how the reference tokenizer counted, None if none did.
    request: an example body without the prompt's text. phases: in the plan's order.
    """

    version: str
    git_sha: str | None
    state: RunState
    reason: str | None
    machine: MachineFacts
    phases: tuple[PhaseFacts, ...]
    tokens: Mapping[str, Any] | None
    request: str | None

    def to_json(self) -> dict[str, Any]:
        """Plain values, the schema key first; histograms without their empty tails."""
        plain: dict[str, Any] = {"schema": FACTS_SCHEMA} | asdict(self) | {"state": self.state.value}
        for worker in (worker for phase in plain["phases"] for worker in phase["workers"]):
            lags = list(worker["read_lag_log2_ns"])
            while lags and not lags[-1]:
                lags.pop()
            worker["read_lag_log2_ns"] = lags
        return plain


def facts_from_json(data: Mapping[str, Any]) -> RunFacts:
    """Facts from facts.json. Raises InputError for another schema or a damaged file."""
    if data.get("schema") != FACTS_SCHEMA:
        raise InputError(f"wanted facts.json with schema {FACTS_SCHEMA}, got {data.get('schema')!r}", hint=DAMAGED)
    try:
        return RunFacts(
            version=_text(data["version"]),
            git_sha=None if data["git_sha"] is None else _text(data["git_sha"]),
            state=RunState(data["state"]),
            reason=None if data["reason"] is None else _text(data["reason"]),
            machine=MachineFacts(**_numbers(data["machine"], MachineFacts, "clock_source")),
            phases=tuple(_phase(one) for one in data["phases"]),
            tokens=None if data["tokens"] is None else dict(data["tokens"]),
            request=None if data["request"] is None else _text(data["request"]),
        )
    except (TypeError, KeyError, ValueError, AttributeError) as error:
        raise InputError(f"facts.json is damaged: {error}", hint=DAMAGED) from None


def _phase(data: Mapping[str, Any]) -> PhaseFacts:
    prompts = data["prompts"]
    return PhaseFacts(
        workers=tuple(_worker(one) for one in data["workers"]),
        prompts=None if prompts is None else dict(prompts),
    )


def _worker(data: Mapping[str, Any]) -> WorkerFacts:
    lags = tuple(data["read_lag_log2_ns"])
    if len(lags) > LOG2_BUCKETS or not all(type(count) is int for count in lags):
        raise ValueError(f"wanted at most {LOG2_BUCKETS} counts of read lags for worker {data['worker']}")
    lags += (0,) * (LOG2_BUCKETS - len(lags))
    rest = {name: value for name, value in data.items() if name != "read_lag_log2_ns"}
    return WorkerFacts(**_numbers(rest, WorkerFacts, "exit"), read_lag_log2_ns=lags)


def _numbers(data: Mapping[str, Any], kind: type, *texts: str) -> dict[str, Any]:
    """The values as they are: numbers, flags and null, texts only where named. TypeError or ValueError otherwise."""
    known = {field.name for field in fields(kind)}
    for name, value in data.items():
        if name not in known:
            raise ValueError(f"{name!r} is not known")
        if value is not None and not isinstance(value, str if name in texts else int | float):
            raise ValueError(f"{name} is {value!r}")
    return dict(data)


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError(f"wanted a text, got {value!r}")
    return value


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


def machine_facts(
    plan: Plan, preflight: Preflight | None, facts: Sequence[Mapping[str, Any]], clock_steps: int
) -> MachineFacts:
    """The machine before (preflight; unknown when a killed run is finished later) and during the load (workers)."""
    open_now = [fact["connections_open"] for fact in facts]
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


def prompt_facts(resolved: Resolved | None, phase: int, records: Path) -> dict[str, Any] | None:
    """Facts on the prompts of a phase as they were sent; None when the prompts are not at hand.

    Every request of a salted phase has a salt of its own, so none repeats another, and prompts share no more than what
    stands before the salt.
    """
    if resolved is None:
        return None
    from wholecurve.records.read import sent_rows

    this = resolved.plan.phases[phase]
    samples = [turn.sample for one in resolved.conversations[this.dataset] for turn in one.turns]
    sent = sent_rows(records, phase)
    if this.salt is None:
        facts = audit(samples, sent=sent)
    else:
        ids = resolved.salting.get(this.dataset)
        once = [salted(sample, salt_of(this.salt, phase, place), ids) for place, sample in enumerate(samples)]
        facts = replace(audit(once), requests=len(sent), repeats=0)
    return asdict(facts) | {"warnings": list(facts.warnings)}


def example_request(resolved: Resolved | None) -> str | None:
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
