"""Requests in flight over time, and how they arrived: what load the endpoint really had.

A request is in flight from `sent` to `completed`; the number in flight is a step function of time.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from wholecurve.metrics.columns import NULL, Columns, Floats, Ints, Mask
from wholecurve.metrics.latency import dispatch_delay, output_tokens
from wholecurve.metrics.rate import window
from wholecurve.model.record import Outcome
from wholecurve.model.units import NS_PER_MS, NS_PER_S

ARRIVAL_WINDOW_NS: Final[int] = 100 * NS_PER_MS
LATE_SEND_NS: Final[int] = 10 * NS_PER_MS
"""A send this long after its schedule is late: timers of a healthy client are a hundred times better."""


@dataclass(frozen=True, slots=True)
class Flight:
    """The step function: from `times[i]` until `times[i + 1]`, `levels[i]` requests are in flight.

    times: int64 ns, sorted, shape (2k,); levels: int64, shape (2k,); last_sent: the last arrival.
    """

    times: Ints
    levels: Ints
    last_sent: int


@dataclass(frozen=True, slots=True)
class Concurrency:
    """Concurrency held. `requested` None in an open loop without a cap.

    mean: over first sent to last completed. mean_while_issuing, share_at_requested: from the moment the requested level
    was first reached (else from the first sent) to the last sent, so neither ramp nor drain lowers them.
    """

    requested: int | None
    peak: int | None
    mean: float | None
    mean_while_issuing: float | None
    share_at_requested: float | None


@dataclass(frozen=True, slots=True)
class Arrivals:
    """How requests went out (LOD-8). late_share: sends more than 10 ms after their schedule."""

    requested_rate_per_s: float | None
    achieved_rate_per_s: float | None
    most_in_100_ms: int | None
    late_share: float | None


def flight(columns: Columns) -> Flight | None:
    """The step function of requests in flight; None if no request was sent and completed.

    Where one ends and another starts at the same time, the end comes first: a peak is never invented.
    """
    known = columns.known("sent_ns", "completed_ns")
    starts, ends = np.sort(columns["sent_ns"][known]), np.sort(columns["completed_ns"][known])
    if not len(starts):
        return None
    times = np.concatenate((ends, starts))
    steps = np.repeat(np.array((-1, 1), dtype=np.int64), len(starts))
    order = np.argsort(times, kind="stable")
    return Flight(times[order], np.cumsum(steps[order]), int(starts[-1]))


def concurrency(columns: Columns, requested: int | None) -> Concurrency:
    """Concurrency reached and held."""
    steps = flight(columns)
    if steps is None:
        return Concurrency(requested, None, None, None, None)
    first, last = int(steps.times[0]), int(steps.times[-1])
    reached = np.flatnonzero(steps.levels >= requested) if requested else np.empty(0, dtype=np.int64)
    begin = int(steps.times[reached[0]]) if len(reached) else first
    at_level = (steps.levels == requested).astype(np.int64)
    return Concurrency(
        requested=requested,
        peak=int(steps.levels.max()),
        mean=_mean(steps, steps.levels, first, last),
        mean_while_issuing=_mean(steps, steps.levels, begin, steps.last_sent),
        share_at_requested=_mean(steps, at_level, begin, steps.last_sent) if requested else None,
    )


def arrivals(columns: Columns, requested_rate_per_s: float | None) -> Arrivals:
    """The arrival process achieved, not only its mean."""
    sent = np.sort(columns["sent_ns"][columns.known("sent_ns")])
    if not len(sent):
        return Arrivals(requested_rate_per_s, None, None, None)
    ends = np.searchsorted(sent, sent + ARRIVAL_WINDOW_NS, side="left")
    span = int(sent[-1] - sent[0])
    delays = dispatch_delay(columns)
    delays = delays[delays != NULL]
    return Arrivals(
        requested_rate_per_s=requested_rate_per_s,
        achieved_rate_per_s=(len(sent) - 1) * NS_PER_S / span if span else None,
        most_in_100_ms=int((ends - np.arange(len(sent))).max()),
        late_share=float(np.mean(delays > LATE_SEND_NS)) if len(delays) else None,
    )


def timeline(columns: Columns, bins: int = 60) -> dict[str, Any]:
    """The phase cut into equal bins over its window; `{}` without a window.

    `bin_ns`, then one number per bin: `in_flight` (time-weighted mean), `completions_ok`, `completions_failed`, and
    `output_tokens_by_bin`: tokens of successes spread evenly between first and last output, None without token counts.
    """
    bounds, steps = window(columns), flight(columns)
    if bounds is None or steps is None or bounds[0] == bounds[1]:
        return {}
    edges = np.linspace(0.0, bounds[1] - bounds[0], bins + 1)
    times = (steps.times - bounds[0]).astype(np.float64)
    area = np.concatenate(([0.0], np.cumsum(steps.levels[:-1] * np.diff(times))))
    in_flight = np.diff(np.interp(edges, times, area)) / np.diff(edges)
    known = columns.known("completed_ns")
    tokens = _tokens_by_bin(columns, edges, bounds[0])
    return {
        "bin_ns": (bounds[1] - bounds[0]) / bins,
        "in_flight": [round(value, 3) for value in in_flight.tolist()],
        "completions_ok": _completions(columns, known & columns.succeeded, edges, bounds[0]),
        "completions_failed": _completions(columns, known & columns.outcome_is(Outcome.FAILED), edges, bounds[0]),
        "output_tokens_by_bin": tokens,
    }


def _mean(steps: Flight, values: Ints, begin: int, end: int) -> float | None:
    """Time-weighted mean of a step function between two times; None for an empty span."""
    if end <= begin:
        return None
    cut = np.clip(steps.times, begin, end)
    return float(np.sum(values[:-1] * np.diff(cut)) / (end - begin))


def _completions(columns: Columns, mask: Mask, edges: Floats, origin: int) -> list[int]:
    counts, _ = np.histogram(columns["completed_ns"][mask] - origin, bins=edges)
    found: list[int] = counts.tolist()
    return found


def _tokens_by_bin(columns: Columns, edges: Floats, origin: int) -> list[float] | None:
    """Tokens per bin: the difference of the running total, which is a sum of ramps, at the edges."""
    tokens = output_tokens(columns)
    usable = columns.succeeded & columns.known("first_output_ns", "last_output_ns") & (tokens != NULL)
    if not usable.any():
        return None
    weight = tokens[usable].astype(np.float64)
    start = (columns["first_output_ns"][usable] - origin).astype(np.float64)
    end = (columns["last_output_ns"][usable] - origin).astype(np.float64)
    # An answer in one event, or nearly so, has no ramp: all its tokens fall into one bin. Very steep ramps would also
    # cost the prefix sums their precision.
    ramp = end - start > (edges[1] - edges[0]) / 100
    found, _ = np.histogram(end[~ramp], bins=edges, weights=weight[~ramp])
    pace = weight[ramp] / (end[ramp] - start[ramp])
    total = _ramps(edges, start[ramp], pace) - _ramps(edges, end[ramp], pace)
    return [round(value, 3) for value in np.maximum(found + np.diff(total), 0.0).tolist()]


def _ramps(at: Floats, start: Floats, pace: Floats) -> Floats:
    """Sum over i of pace_i * max(at - start_i, 0), by prefix sums over sorted starts; shape of `at`."""
    order = np.argsort(start)
    begun = np.searchsorted(start[order], at, side="right")
    paces = np.concatenate(([0.0], np.cumsum(pace[order])))
    moments = np.concatenate(([0.0], np.cumsum(pace[order] * start[order])))
    result: Floats = at * paces[begun] - moments[begun]
    return result
