"""point.yaml: what a submission asks of a point, as far as one run knows it. The rest is the submitter's to say.

Keys as official-tools.md B.3. Whole numbers of the rules stay whole: the published seeds do not fit 63 bits.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

import yaml

from wholecurve.metrics import submission_block
from wholecurve.model.plan import Pattern, PhaseKind, PhasePlan, Plan
from wholecurve.model.status import Status
from wholecurve.model.units import NS_PER_MS, NS_PER_S

if TYPE_CHECKING:
    from wholecurve.metrics import Columns

POINT_SCHEMA: Final[str] = "wholecurve.point/1"
NOTE: Final[str] = "# What only the submitter knows (division, precision, links, power) is not in this file yet.\n"
WARMUP_FIELDS: Final[tuple[str, ...]] = (
    "duration_s", "requests_issued", "requests_completed", "data_source", "concurrency", "initialization_steps",
    "logs_retained",
)  # fmt: skip
"""The declaration of rules.md section 13.3, in its order, and whether the records are kept."""


def point_yaml(plan: Plan, summary: Mapping[str, Any]) -> str:
    """The text of point.yaml from result_summary.json."""
    phase = next(one for one in plan.phases if one.kind is PhaseKind.PERFORMANCE)
    rules, offline = plan.rules, phase.pattern is Pattern.OFFLINE
    warmup = summary["workload"].get("warmup") or _no_warmup(summary)
    point = {
        "schema": POINT_SCHEMA,
        "concurrency": phase.rows if offline else phase.concurrency,
        "region": rules.region if rules else None,
        "max_supported_concurrency": rules.c_max if rules else None,
        "model_name": plan.endpoint.model,
        "dataset": phase.dataset,
        "dataset_name": phase.dataset,
        "seed_set": rules.seed_set if rules else None,
        "target_cohort": rules.target_cohort if rules else None,
        "offline": rules.offline if rules and rules.offline != "none" else "dedicated" if offline else "none",
        "runtime_settings": {
            "load_pattern": "max_throughput" if offline else phase.pattern.value,
            "min_duration_ms": phase.stop.min_duration_ns // NS_PER_MS,
            "min_sample_count": phase.stop.min_samples,
            "stream_all_chunks": plan.request.stream,
            "runtime": _seeds(plan, phase),
            "warmup": {"salt": bool(warmup.get("salt"))},
        },
        "warmup": {key: warmup[key] for key in WARMUP_FIELDS},
        "steady_state": submission_block(summary["steady_state"]),
        "measured": _measured(summary),
    }
    return NOTE + yaml.safe_dump(point, sort_keys=False, allow_unicode=True, width=120)


def _seeds(plan: Plan, phase: PhasePlan) -> dict[str, int | None]:
    """The seeds of the published set if the run used one, exactly; else those of the phase."""
    own = {
        "scheduler_rng_seed": phase.arrival_seed,
        "sample_index_rng_seed": phase.order_seed,
        "model_seed": plan.request.sampling.get("seed"),
    }
    published = plan.rules.seeds if plan.rules else {}
    return {name: int(published[name]) if name in published else seed for name, seed in own.items()}


def _measured(summary: Mapping[str, Any]) -> dict[str, Any]:
    """The official figures on their basis. A drifting one has no value but a range; `total` is the whole run."""
    official = summary["official"]
    figures: Mapping[str, Mapping[str, Any]] = official["figures"]
    found: dict[str, Any] = {"basis": official["basis"], "flag": official["flag"]}
    found |= {key: figure["value"] for key, figure in figures.items()}
    drifting = {key: one for key, one in figures.items() if one["value"] is None and one["low"] is not None}
    if drifting:
        found["ranges"] = {key: [figure["low"], figure["high"]] for key, figure in drifting.items()}
    if official["basis"] != "total":
        found["total"] = {key: figure["total"] for key, figure in figures.items()}
    return found | {
        "system_tps_per_kw": None,
        "state": summary["state"],
        "status": summary.get("status", Status.UNVERIFIED.value),
        "health": summary["health"]["verdict"],
    }


def warmup_declaration(
    plan: Plan,
    phases: Mapping[int, Mapping[str, Any]],
    columns: Mapping[int, Columns],
    measured: int,
    clock: Mapping[str, Any],
) -> dict[str, Any] | None:
    """The warm-up declaration from what happened, None without a warm-up phase.

    phases, columns: summaries and requests, by number of the phase. Its time is that of the supervisor, drain included;
    of a run that was killed, from its first request to its last answer.
    """
    number = next((n for n, one in enumerate(plan.phases) if one.kind is PhaseKind.WARMUP), None)
    if number is None:
        return None
    phase, summary, spans = plan.phases[number], phases[number], clock["phase_spans_ns"]
    took = (spans[number][1] - spans[number][0]) / NS_PER_S if number < len(spans) else None
    if took is None and summary["duration_ns"] is not None:
        took = summary["duration_ns"] / NS_PER_S
    return {
        "duration_s": took,
        "requests_issued": summary["n_samples_issued"],
        "requests_completed": summary["n_samples_completed"],
        "data_source": _data_source(plan, phase),
        "concurrency": phase.concurrency or summary["concurrency"]["peak"] or 0,
        "initialization_steps": _steps(summary, phases[measured], columns[number], columns[measured]),
        "salt": phase.salt is not None,
        "logs_retained": True,
    }


def _steps(warm: Mapping[str, Any], main: Mapping[str, Any], before: Columns, after: Columns) -> list[str]:
    """Sentences on what happened before the test began, and whether it had ended by then."""
    issued = after["issued_ns"][after.known("issued_ns")]
    if not len(issued):
        return ["the measured phase did not begin"]
    start = int(issued.min())
    ended = before["completed_ns"][before.known("completed_ns")]
    answered = int((before.succeeded & before.known("completed_ns") & (before["completed_ns"] <= start)).sum())
    steps = [
        f"{answered} of {warm['n_samples_issued']} warm-up requests answered before the measured phase began at "
        f"{main['started_at']}"
    ]
    late = int((ended > start).sum()) + before.n - len(ended)
    if late:
        steps.append(f"{late} warm-up requests had not ended by then")
    else:
        steps.append("initialisation ended before the measured phase began: no warm-up request was still in flight")
    return steps


def _no_warmup(summary: Mapping[str, Any]) -> dict[str, Any]:
    """The explicit zero declaration of a run without a warm-up."""
    began = summary["started_at"]
    step = f"no warm-up request was sent before the measured phase began at {began}" if began else "nothing was sent"
    return {
        "duration_s": 0,
        "requests_issued": 0,
        "requests_completed": 0,
        "data_source": "none",
        "concurrency": 0,
        "initialization_steps": [step],
        "logs_retained": True,
    }


def _data_source(plan: Plan, phase: PhasePlan) -> str:
    """Where warm-up prompts came from, in the words of the rules (section 6.3.1); equal files have equal hashes."""
    hashes = {one.name: one.sha256 for one in plan.datasets}
    files = {one.name: one.file for one in plan.datasets}
    same = {
        other.kind for other in plan.phases if other is not phase and hashes[other.dataset] == hashes[phase.dataset]
    }
    if PhaseKind.PERFORMANCE in same:
        return "performance_dataset_salted" if phase.salt is not None else "performance_dataset"
    if PhaseKind.ACCURACY in same:
        return "accuracy_dataset"
    return "other_dataset" if files[phase.dataset] else "synthetic"
