"""The client's verdict on itself: did this run measure the endpoint, or the machine that asked?"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

import numpy as np

from wholecurve.metrics.columns import NULL, Columns, Ints
from wholecurve.metrics.delivery import delivery
from wholecurve.metrics.facts import LOG2_BUCKETS, MachineFacts, WorkerFacts
from wholecurve.metrics.flight import arrivals, concurrency
from wholecurve.metrics.latency import latency, start_lag
from wholecurve.metrics.limits import LIMITS, Limit
from wholecurve.metrics.quantile import index, percentile_of
from wholecurve.model.plan import Pattern, PhasePlan
from wholecurve.model.record import Outcome


class Verdict(StrEnum):
    """From good to bad."""

    OK = "ok"
    STRAINED = "strained"
    CLIENT_LIMITED = "client-limited"


@dataclass(frozen=True, slots=True)
class Reason:
    """One thing that is not well: code, what was found, where trouble begins, a sentence, what to do."""

    code: str
    verdict: Verdict
    figure: float
    limit: float
    sentence: str
    remedy: str


@dataclass(frozen=True, slots=True)
class HealthFigures:
    """What was judged; None where it was not measured or does not apply.

    start_lag_p99_ns: open loop: issued - scheduled; with a cap, from the moment a slot was free. refill_lag_p99_ns:
    closed loop: issued - slot free, without the first request of each slot; refill_share: that over the median answer
    time. read_lag_p99_ns: kernel stamp to user space, upper edge of its power of two. first_shared_share: successes
    whose first output-bearing event shares its stamp with a later one; None unless reads were late. cpu_share_max: CPU
    time / wall time of the busiest worker. level_share: mean in flight while issuing / requested concurrency.
    """

    start_lag_p99_ns: int | None
    refill_lag_p99_ns: int | None
    refill_share: float | None
    read_lag_p99_ns: int | None
    first_shared_share: float | None
    cpu_share_max: float | None
    gc_pause_max_ns: int | None
    descriptors_share: float | None
    ports_share: float | None
    lost_requests: int
    workers_not_clean: int
    concurrency_missing: int | None
    level_share: float | None
    user_stamp_share: float | None
    late_share: float | None
    clock_steps: int
    load_per_core: float | None


@dataclass(frozen=True, slots=True)
class Health:
    """The worst verdict of all reasons, the reasons from bad to less bad, and every figure that was judged."""

    verdict: Verdict
    reasons: tuple[Reason, ...]
    figures: HealthFigures


LATE_READ_NS: Final[int] = 2**20 - 1
"""An endpoint may send first tokens together; only where reads were late is a common stamp the client's doing."""

_ORDER: Final[dict[Verdict, int]] = {Verdict.OK: 0, Verdict.STRAINED: 1, Verdict.CLIENT_LIMITED: 2}


def judge(columns: Columns, phase: PhasePlan, workers: Sequence[WorkerFacts], machine: MachineFacts) -> Health:
    """The verdict for one phase, from its records, its workers and its machine."""
    figures = measure(columns, phase, workers, machine)
    reasons = [
        reason
        for limit in LIMITS
        if (reason := _reason(limit, getattr(figures, limit.code), machine.kernel_stamps)) is not None
    ]
    reasons.sort(key=lambda reason: -_ORDER[reason.verdict])
    return Health(reasons[0].verdict if reasons else Verdict.OK, tuple(reasons), figures)


def measure(columns: Columns, phase: PhasePlan, workers: Sequence[WorkerFacts], machine: MachineFacts) -> HealthFigures:
    """The figures `judge` looks at."""
    open_loop = phase.pattern in (Pattern.POISSON, Pattern.CONSTANT)
    closed = phase.pattern is Pattern.CONCURRENCY
    capped = open_loop and phase.concurrency is not None
    missing, level = _held(columns, phase) if closed else (None, None)
    refill = _p99(_refill_lag(columns, phase.concurrency or 0)) if closed else None
    read_lag = read_lag_ns(workers, 99.0)
    shares = [worker.cpu_ns / worker.wall_ns for worker in workers if worker.wall_ns > 0]
    return HealthFigures(
        start_lag_p99_ns=_p99(_open_lag(columns, phase.concurrency)) if open_loop else None,
        refill_lag_p99_ns=refill,
        refill_share=_of(refill, percentile_of(latency(columns)[columns.succeeded], 50.0)),
        read_lag_p99_ns=read_lag,
        first_shared_share=_first_shared_share(columns) if read_lag is not None and read_lag > LATE_READ_NS else None,
        cpu_share_max=max(shares, default=None),
        gc_pause_max_ns=max((worker.gc_pause_max_ns for worker in workers), default=None),
        descriptors_share=_of(machine.descriptors_peak, machine.descriptor_limit),
        ports_share=_of(machine.ports_used, machine.ports_available),
        lost_requests=int(columns.outcome_is(Outcome.LOST).sum()),
        workers_not_clean=sum(worker.exit != "clean" for worker in workers),
        concurrency_missing=missing,
        level_share=level,
        user_stamp_share=delivery(columns).user_stamp_share if machine.kernel_stamps else None,
        late_share=arrivals(columns, phase.rate_per_s).late_share if open_loop and not capped else None,
        clock_steps=machine.clock_steps if machine.kernel_stamps else 0,
        load_per_core=_of(machine.running_before, machine.cores),
    )


def read_lag_ns(workers: Sequence[WorkerFacts], percentile: float) -> int | None:
    """A percentile of the read lag over all workers: the largest value of its power-of-two slot; None without reads.

    The histograms are added, never their percentiles (STA-1). Slot b holds lags below 2**b ns.
    """
    merged = np.zeros(LOG2_BUCKETS, dtype=np.int64)
    for worker in workers:
        merged[: len(worker.read_lag_log2_ns)] += np.array(worker.read_lag_log2_ns, dtype=np.int64)
    total = int(merged.sum())
    if not total:
        return None
    slot = int(np.searchsorted(np.cumsum(merged), index(percentile, total), side="right"))
    return (1 << slot) - 1


def _open_lag(columns: Columns, cap: int | None) -> Ints:
    """Issued - scheduled; with a cap, issued - the later of scheduled and the moment a slot was free.

    Request k of the issue order can start when k - cap + 1 requests have ended: that wait is the plan's doing.
    """
    if cap is None:
        return start_lag(columns)
    known = columns.known("issued_ns", "scheduled_ns")
    order = np.argsort(columns["issued_ns"][known], kind="stable")
    issued = columns["issued_ns"][known][order]
    possible = columns["scheduled_ns"][known][order].copy()
    ends = np.sort(columns["completed_ns"][columns.known("completed_ns")])[: max(0, len(issued) - cap)]
    waiting = slice(cap, cap + len(ends))
    possible[waiting] = np.maximum(possible[waiting], ends)
    return issued - possible


def _refill_lag(columns: Columns, slots: int) -> Ints:
    """Issued - slot free, without the first request of each slot: those `slots` first in the issue order."""
    first = np.argsort(columns["index"], kind="stable")[:slots]
    lag = start_lag(columns).copy()
    lag[first] = NULL
    return lag


def _first_shared_share(columns: Columns) -> float | None:
    """Share of successes whose first output-bearing event came in one read with a later one."""
    shared = columns["first_shared"][columns.succeeded & columns.known("first_shared")]
    return float((shared > 1).mean()) if len(shared) else None


def _held(columns: Columns, phase: PhasePlan) -> tuple[int | None, float | None]:
    """(distance of the peak from the concurrency asked for, share of it held while issuing).

    None where a lower figure would not be the client's doing: requests that never reached a socket, turns that wait for
    their delay, fewer requests than slots.
    """
    wanted = phase.concurrency
    turns = columns["turn"][columns.known("turn")]
    if not wanted or columns.n < wanted or not columns.known("sent_ns", "completed_ns").all():
        return None, None
    if len(turns) and int(turns.max()) > 0:
        return None, None
    held = concurrency(columns, wanted)
    if held.peak is None:
        return None, None
    share = None if held.mean_while_issuing is None else held.mean_while_issuing / wanted
    return abs(wanted - held.peak), share


def _reason(limit: Limit, figure: float | None, kernel_stamps: bool) -> Reason | None:
    if figure is None:
        return None
    worse = limit.client_limited is not None and _beyond(limit, figure, limit.client_limited)
    spared = limit.spared_by_stamps and kernel_stamps
    if not worse and (spared or not _beyond(limit, figure, limit.strained)):
        return None
    verdict = Verdict.CLIENT_LIMITED if worse and not spared else Verdict.STRAINED
    crossed = limit.client_limited if verdict is Verdict.CLIENT_LIMITED or spared else limit.strained
    return Reason(
        code=limit.code,
        verdict=verdict,
        figure=figure,
        limit=limit.strained if crossed is None else crossed,
        sentence=limit.sentence.format(figure=limit.show(figure)),
        remedy=limit.remedy,
    )


def _beyond(limit: Limit, figure: float, bound: float) -> bool:
    return figure < bound if limit.falls else figure > bound


def _p99(values: Ints) -> int | None:
    found = percentile_of(values, 99.0)
    return None if found is None else int(found)


def _of(part: float | None, whole: float | None) -> float | None:
    return None if part is None or not whole else part / whole
