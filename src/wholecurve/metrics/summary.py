"""performance/result_summary.json: every figure of one phase, in one dict of plain values.

First the keys of the reference client (reference-client.md section 6.6: times in ns, lengths in tokens), then ours. A
series without samples is `{}`, a figure without a value is None, and `not_measured` says why.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from typing import Any, Final

from wholecurve.metrics.cautions import cautions, prompt_cache
from wholecurve.metrics.columns import Columns
from wholecurve.metrics.delivery import Delivery, delivery
from wholecurve.metrics.facts import MachineFacts, WorkerFacts
from wholecurve.metrics.failures import Counts, FailureFacts, counts, failure_facts, finish_reasons
from wholecurve.metrics.flight import arrivals, concurrency, timeline
from wholecurve.metrics.health import judge
from wholecurve.metrics.invariants import Violation, check, check_series
from wholecurve.metrics.latency import input_token_source, token_source
from wholecurve.metrics.quantile import series
from wholecurve.metrics.rate import LegacyRates, e2e_interactivity, legacy_rates, rates, token_counts
from wholecurve.metrics.steady import steady_state
from wholecurve.metrics.steady_block import official_block, steady_block
from wholecurve.metrics.table import METRICS
from wholecurve.metrics.window_rules import window_rules
from wholecurve.model.plan import Pattern, PhaseKind, PhasePlan, Plan
from wholecurve.model.record import RunState
from wholecurve.model.status import Status
from wholecurve.model.units import show_percent

SUMMARY_SCHEMA: Final[str] = "wholecurve.result_summary/1"

REFERENCE_SERIES: Final[tuple[str, ...]] = (
    "ttft",
    "tpot",
    "latency",
    "output_sequence_lengths",
    "input_sequence_lengths",
)

REFERENCE_PATTERNS: Final[Mapping[Pattern, str]] = {Pattern.OFFLINE: "max_throughput"}
"""Load patterns that the reference client calls otherwise."""

DECIDED_DIFFERENTLY: Final[tuple[str, ...]] = (
    "n_samples_completed counts successes only; the reference client counts failures as completed too.",
    "qps and tps count successes only, over first issued to last completion; qps_all counts failures too.",
    "qps and tps are never LoadGen's older figures; those are legacy_loadgen_qps and legacy_loadgen_tps.",
    "Every series is over successes only; the reference client has latency samples of failures too.",
    "A truncated stream and an answer without output are failures.",
    "TPOT ends at the last output-bearing event; the reference client ends it at the end of the answer.",
    "complete is true only if the state is complete and no request was lost; a stop by the user never is.",
    "Top-level figures are always over the whole run; those that count officially are in `official`, with their basis.",
    "finish_reason_counts has `missing` for successes without a finish reason.",
    "test_started_at is seconds since 1970; the reference client writes 0.",
)


def summarize(
    plan: Plan,
    phase: int,
    columns: Columns,
    *,
    state: RunState,
    workers: Sequence[WorkerFacts],
    machine: MachineFacts,
    started_at: str | None,
    version: str,
    git_sha: str | None,
    extra: Mapping[str, Any],
) -> dict[str, Any]:
    """The summary of one phase, ready for `dumps_strict`.

    columns: the requests of this phase only. started_at: wall time of the first issue, ISO 8601 with its offset.
    extra: facts of the workload (lengths, data set, mismatch of tokenizers ...), JSON-ready; passed through as
    `workload`, and read for `cautions`.
    """
    this = plan.phases[phase]
    legacy = legacy_rates(columns) if this.pattern is Pattern.POISSON else LegacyRates(None, None, None)
    by_outcome, blocks, speed = counts(columns), _series(plan, columns, state), rates(columns)
    failures, delivered = failure_facts(columns, plan.limits), delivery(columns)
    violations = (*check(columns), *check_series(blocks))
    agentic = e2e_interactivity(columns)
    held, cache = concurrency(columns, this.concurrency), prompt_cache(columns)
    sources = {"token_source": token_source(columns), "input_token_source": input_token_source(columns)}
    reference = {
        "version": version,
        "git_sha": git_sha,
        "test_started_at": _epoch_s(started_at),
        "n_samples_issued": by_outcome.sent,
        "n_samples_completed": by_outcome.succeeded,
        "n_samples_failed": by_outcome.failed,
        "duration_ns": speed.duration_ns,
        "state": str(state),
        "complete": state is RunState.COMPLETE and by_outcome.lost == 0,
        **{name: blocks[name] for name in REFERENCE_SERIES},
        "legacy_loadgen_window_duration_ns": legacy.window_ns,
        "qps": speed.qps,
        "tps": speed.tps,
        "finish_reason_counts": finish_reasons(columns),
        "run_config": _run_config(plan, phase),
    }
    ours = {
        "status": Status.UNVERIFIED,
        "phase_name": this.name,
        "started_at": started_at,
        "validity": _validity(state, by_outcome, failures, violations),
        "cautions": list(cautions(cache, delivered, extra, salted=this.salt is not None)),
        "outcomes": asdict(by_outcome),
        "system_tps": speed.tps,
        "total_tps": speed.total_tps,
        "tps_per_user": speed.tps_per_user,
        "qps_all": speed.qps_all,
        "legacy_loadgen_qps": legacy.qps,
        "legacy_loadgen_tps": legacy.tps,
        **({} if agentic is None else dict(zip(_AGENTIC, agentic, strict=True))),
        **{name: None if source is None else str(source) for name, source in sources.items()},
        "tokens": asdict(token_counts(columns)),
        **{name: block for name, block in blocks.items() if name not in REFERENCE_SERIES},
        **_steady(plan, this, columns),
        "weighting": dict(_WEIGHTING),
        "prompt_cache": asdict(cache),
        "concurrency": asdict(held),
        "arrivals": asdict(arrivals(columns, this.rate_per_s)),
        "timeline": timeline(columns),
        "delivery": asdict(delivered),
        "failures": asdict(failures),
        "health": _plain(asdict(judge(columns, this, workers, machine))),
        "machine": asdict(machine),
        "workers": [_worker(worker) for worker in workers],
        "stamp_source": _stamp_source(machine, delivered),
        "violations": [asdict(violation) for violation in violations],
        "not_measured": _reasons(plan, columns, blocks),
        "decided_differently": list(DECIDED_DIFFERENTLY),
        "workload": dict(extra),
    }
    summary = _plain({"schema": SUMMARY_SCHEMA} | reference | ours)
    assert isinstance(summary, dict)
    return summary


def _steady(plan: Plan, phase: PhasePlan, columns: Columns) -> dict[str, Any]:
    """`steady_state` and `official`; None for a phase that feeds no performance figure.

    A super-pass is one pass of the phase's data set; what a window needs is said by the plan's rules.
    """
    if phase.kind is not PhaseKind.PERFORMANCE:
        return {"steady_state": None, "official": None}
    state = steady_state(
        columns,
        window_rules(plan.rules),
        rows=phase.rows,
        pattern=phase.pattern,
        concurrency=phase.concurrency,
    )
    return {"steady_state": steady_block(state), "official": official_block(state)}


_AGENTIC: Final[tuple[str, ...]] = (
    "output_tokens_per_turn_total",
    "e2e_turn_time_seconds_total",
    "e2e_avg_interactivity",
)

_WEIGHTING: Final[Mapping[str, str]] = {
    "tpot": "one value per request: every request weighs the same",
    "gaps": "one value per gap: long answers weigh more",
}


def _series(plan: Plan, columns: Columns, state: RunState) -> dict[str, dict[str, Any]]:
    """Every series over successes, by key: the rows of `METRICS`, then the gaps."""
    succeeded = columns.succeeded
    stream = plan.request.stream
    blocks = {
        metric.key: series(
            metric.function(columns)[succeeded],
            early_stopping=metric.early_stopping and state is RunState.COMPLETE,
        )
        if stream or not metric.streaming
        else {}
        for metric in METRICS
    }
    blocks["gaps"] = series(columns.gaps_ns[columns.gap_mask(succeeded)]) if stream else {}
    return blocks


def _reasons(plan: Plan, columns: Columns, blocks: Mapping[str, Mapping[str, Any]]) -> dict[str, str]:
    """Why each empty series is empty."""
    streaming = {metric.key for metric in METRICS if metric.streaming} | {"gaps"}
    needs = {metric.key: metric.needs for metric in METRICS} | {"gaps": ("two or more output-bearing events",)}
    nobody = "no tokens were counted: no reference tokenizer, and the endpoint sent no usage"
    counted = {
        "tpot": token_source(columns),
        "output_sequence_lengths": token_source(columns),
        "input_sequence_lengths": input_token_source(columns),
    }
    found = {}
    for name, block in blocks.items():
        if block:
            continue
        if not columns.succeeded.any():
            found[name] = "no request succeeded"
        elif name in streaming and not plan.request.stream:
            found[name] = "answers were not streamed"
        elif name in counted and counted[name] is None:
            found[name] = nobody
        else:
            found[name] = "no success has " + " and ".join(need.replace("|", " or ") for need in needs[name])
    return found


def _validity(
    state: RunState, by_outcome: Counts, failures: FailureFacts, violations: Sequence[Violation]
) -> dict[str, Any]:
    """Whether these figures may be used as a result, and every reason against it."""
    checks = (
        (state is not RunState.COMPLETE, f"the run is {state}"),
        (by_outcome.sent == 0, "no request was sent"),
        (by_outcome.sent > 0 and by_outcome.succeeded == 0, "no request succeeded"),
        (by_outcome.lost > 0, f"{by_outcome.lost} requests were lost inside the client"),
        (failures.client_side_failures > 0, f"{failures.client_side_failures} failures are this machine's fault"),
        (failures.exceeded, _failed_sentence(by_outcome, failures)),
        (bool(violations), f"{len(violations)} invariants of the records do not hold: see violations"),
    )
    against = [sentence for broken, sentence in checks if broken]
    return {"valid": not against, "invalid_reasons": against}


def _failed_sentence(by_outcome: Counts, failures: FailureFacts) -> str:
    ended = by_outcome.sent - by_outcome.cancelled
    share = failures.failed_share or 0.0
    return (
        f"{by_outcome.failed + by_outcome.lost} of {ended} requests failed "
        f"({show_percent(share, 2)}, limit {show_percent(failures.max_failed_share, 2)})"
    )


def _run_config(plan: Plan, phase: int) -> dict[str, Any]:
    """The reference client's `run_config`, from the plan."""
    this = plan.phases[phase]
    warmup = next((one for one in plan.phases if one.kind is PhaseKind.WARMUP), None)
    return {
        "load_pattern": {
            "type": REFERENCE_PATTERNS.get(this.pattern, str(this.pattern)),
            "target_qps": this.rate_per_s,
            "target_concurrency": this.concurrency,
        },
        "warmup": {
            "enabled": warmup is not None,
            "n_requests": None if warmup is None else warmup.stop.max_samples or warmup.stop.min_samples or None,
            "salt": warmup is not None and warmup.salt is not None,
            "drain": warmup is not None,
            "warmup_random_seed": None if warmup is None else warmup.order_seed,
        },
        "scheduler_random_seed": this.arrival_seed,
        "dataloader_random_seed": this.order_seed,
    }


def _worker(worker: WorkerFacts) -> dict[str, Any]:
    """A worker's facts; the lag histogram without its empty tail."""
    facts = asdict(worker)
    lags = list(worker.read_lag_log2_ns)
    while lags and lags[-1] == 0:
        lags.pop()
    return facts | {"read_lag_log2_ns": lags}


def _stamp_source(machine: MachineFacts, delivered: Delivery) -> str:
    """`kernel`, `user`, or `mixed` when some reads had no kernel stamp."""
    if not machine.kernel_stamps or delivered.user_stamp_share == 1.0:
        return "user"
    return "mixed" if delivered.user_stamp_share else "kernel"


def _epoch_s(started_at: str | None) -> int | None:
    """Whole seconds since 1970; a time without an offset is taken as UTC, never as this machine's zone."""
    if started_at is None:
        return None
    moment = datetime.fromisoformat(started_at)
    return int((moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp())


def _plain(value: Any) -> Any:
    """Tuples to lists and enum strings to strings, all the way down: the values a JSON reader will see."""
    if isinstance(value, Mapping):
        return {str(name): _plain(item) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    return str(value) if isinstance(value, str) else value
