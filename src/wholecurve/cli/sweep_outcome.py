"""What a sweep has to know of a finished run: is it valid, did the endpoint or the disk fail under it, its figures."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from wholecurve import __version__
from wholecurve.model.plan import Plan
from wholecurve.model.record import FailureKind, RunState
from wholecurve.model.strict_json import dumps_strict
from wholecurve.run import RunResult
from wholecurve.run.files import tool_commit
from wholecurve.sweep import PointOutcome, Trial, trial_faults

JOURNAL_FIGURES = ("system_tps", "ttft_p90_ns", "tps_per_user", "qps")
LOST_KINDS = frozenset(
    kind.value for kind in (FailureKind.CONNECT_REFUSED, FailureKind.CONNECT_TIMEOUT, FailureKind.CONNECT_FAILED)
)
"""Failures that say the endpoint was not there, rather than that it refused."""
DISK_FAULT = "records could not be written"
"""What the reason of a run that a full disk ended begins with (run/supervise.py)."""


def outcome_of(result: RunResult) -> PointOutcome:
    """What a sweep has to know of a finished run. A run that measured this machine is no valid point."""
    summary = result.summary
    invalid = [*result.invalid]
    if (summary.get("health") or {}).get("verdict") == "client-limited":
        reasons = [one["sentence"] for one in summary["health"]["reasons"] if one["verdict"] == "client-limited"]
        invalid.append("client-limited: " + "; ".join(reasons))
    official = (summary.get("official") or {}).get("figures") or {}
    steady = summary.get("steady_state")
    return PointOutcome(
        state=result.state,
        valid=not invalid and result.state is RunState.COMPLETE,
        invalid=tuple(invalid),
        figures={key: _figure(official.get(key)) for key in JOURNAL_FIGURES},
        steady=None if steady is None else {key: steady.get(key) for key in ("status", "verdict", "basis", "reason")},
        exit_code=result.exit_code,
        endpoint_lost=endpoint_lost(result, invalid),
        facts=facts_of(summary),
        stop=fault_of_disk(result) or "",
    )


def endpoint_lost(result: RunResult, invalid: Sequence[str]) -> bool:
    """Whether a run is not valid because the endpoint went away under it."""
    kinds = {kind["kind"] for kind in (result.summary.get("failures") or {}).get("kinds") or ()}
    gone = result.state is RunState.FAILED and "endpoint is gone" in (result.reason or "")
    return gone or (bool(invalid) and bool(kinds & LOST_KINDS))


def fault_of_disk(result: RunResult) -> str | None:
    """Why records could not be written, if that ended a run: no other run would fare better."""
    reason = result.reason or ""
    return reason if result.state is RunState.FAILED and reason.startswith(DISK_FAULT) else None


def facts_of(summary: Mapping[str, Any]) -> dict[str, str]:
    """What has to be the same at every point of a curve."""
    workload = summary.get("workload") or {}
    endpoint = workload.get("endpoint") or {}
    return {
        "the tool": f"wholecurve {__version__}" + (f" ({commit[:12]})" if (commit := tool_commit()) else ""),
        "the dialect": str(endpoint.get("dialect")),
        "where the endpoint is": ", ".join(sorted(endpoint.get("addresses") or ())),
        "the source of stamps": str(summary.get("stamp_source")),
        "the source of token counts": str(summary.get("token_source")),
    }


def options_digest(plan: Plan) -> str:
    """SHA-256 of everything that every request carries, but for its prompt."""
    return hashlib.sha256(dumps_strict(asdict(plan.request))).hexdigest()


def trial_of(concurrency: int, result: RunResult) -> Trial:
    """The figures of a trial, over the whole short run."""
    summary = result.summary
    official = (summary.get("official") or {}).get("figures") or {}
    total = {key: (official.get(key) or {}).get("total") for key in (*JOURNAL_FIGURES, "latency_p90_ns")}
    invalid = result.invalid or trial_faults(concurrency, summary["n_samples_completed"])
    return Trial(
        concurrency, total["system_tps"], total["tps_per_user"], total["ttft_p90_ns"], total["qps"],
        total["latency_p90_ns"], tuple(invalid), (summary.get("health") or {}).get("verdict") == "client-limited",
        endpoint_lost(result, invalid),
    )  # fmt: skip


def _figure(figure: Mapping[str, Any] | None) -> float | None:
    """The official value; of a drifting figure, which has none, that of the whole run."""
    if not figure:
        return None
    return figure["value"] if figure.get("value") is not None else figure.get("total")
