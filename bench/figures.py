"""Figures from the server's log and from a client's report, and how far the second is from the first.

Percentiles are lower order statistics, the value at index floor(p / 100 * (n - 1)), as wholecurve reports them; the
peers interpolate between two neighbours, which at these sample sizes differs by less than the errors shown.
All times are nanoseconds of CLOCK_MONOTONIC; figures are milliseconds, seconds and per-second rates, named so.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

sys.path.insert(0, str(Path(__file__).resolve().parent / "truth-server"))

import truthlog

PERCENTILES = (50, 90, 99)
Percentiles = dict[int, float]


def lower_percentiles(values: Sequence[float] | NDArray[Any]) -> Percentiles:
    """P50, P90 and P99 as lower order statistics; empty without values."""
    ordered = np.sort(np.asarray(values, dtype=np.float64))
    if not len(ordered):
        return {}
    return {p: float(ordered[p * (len(ordered) - 1) // 100]) for p in PERCENTILES}


@dataclass(frozen=True, slots=True)
class Truth:
    """What really happened, from the server's log. `t0_ns`: first arrival; `t1_ns`: end of the last answer."""

    answers: int
    complete: int
    events: int
    t0_ns: int
    t1_ns: int
    ttft_ms: Percentiles
    tpot_ms: Percentiles
    gap_ms: Percentiles
    tokens_per_s: float
    middle_events_per_s: float
    in_flight_peak: int
    in_flight_middle: float
    late_p99_us: float
    by_number: dict[int, tuple[int, int]] = field(repr=False)
    """Per request number: arrival and first token."""


@dataclass(frozen=True, slots=True)
class Reported:
    """What a client says: percentiles in ms, tokens/s, and its own verdict on itself where it has one."""

    ttft_ms: Percentiles = field(default_factory=dict)
    tpot_ms: Percentiles = field(default_factory=dict)
    gap_ms: Percentiles = field(default_factory=dict)
    tokens_per_s: float | None = None
    verdict: str | None = None
    in_flight_peak: int | None = None
    request_ttft_ms: dict[int, float] = field(default_factory=dict, repr=False)
    """Per request number: the client's TTFT."""
    scheduled_ns: dict[int, int] = field(default_factory=dict, repr=False)
    start_lag_p99_ms: float | None = None


def read_truth(log: Path, late_p99_us: float) -> Truth:
    """The truth of one run. Raises `ValueError` when no answer was finished."""
    records = truthlog.read(log)
    done = [r for r in records if r["flags"] & truthlog.F_DONE and (not _streamed(r) or r["n_sent"] == r["n_chunks"])]
    if not done:
        raise ValueError(f"{len(records)} requests reached the server and none was answered to the end")
    start = np.array([r["t_arrive"] or r["t_read"] for r in done], dtype=np.int64)
    end = np.array([r["t_end"] for r in done], dtype=np.int64)
    t0, t1 = int(start.min()), int(end.max())
    streamed = [(s, r["tok"].astype(np.int64)) for s, r in zip(start, done, strict=True) if _streamed(r)]
    events = int(sum(r["n_chunks"] for r in done))
    low, high = t0 + (t1 - t0) // 4, t1 - (t1 - t0) // 4
    middle = sum(int(((t >= low) & (t < high)).sum()) for _, t in streamed)
    overlap = np.clip(np.minimum(end, high) - np.maximum(start, low), 0, None).sum()
    several = [t for _, t in streamed if len(t) > 1]
    first = [r["tok"][0] if _streamed(r) else r["t_head"] for r in done]
    return Truth(
        answers=len(records),
        complete=len(done),
        events=events,
        t0_ns=t0,
        t1_ns=t1,
        ttft_ms=lower_percentiles([(t[0] - s) / 1e6 for s, t in streamed]),
        tpot_ms=lower_percentiles([(t[-1] - t[0]) / 1e6 / (len(t) - 1) for t in several]),
        gap_ms=lower_percentiles(np.concatenate([np.diff(t) for t in several]) / 1e6 if several else []),
        tokens_per_s=events * 1e9 / (t1 - t0),
        middle_events_per_s=middle * 1e9 / max(1, high - low),
        in_flight_peak=peak_in_flight(start, end),
        in_flight_middle=float(overlap / max(1, high - low)),
        late_p99_us=late_p99_us,
        by_number=_numbered(zip((r["xid"] for r in done), start, first, strict=True)),
    )


def request_number(xid: str) -> int:
    """The number that an x-request-id ends with, the request's place in its client's order; -1 without one."""
    digits = re.search(r"\d+$", xid)
    return int(digits.group()) if digits else -1


def _numbered(rows: Iterable[tuple[str, int, int]]) -> dict[int, tuple[int, int]]:
    """Arrival and first token by request number. Numbers that occur twice (random ids) are left out."""
    found: dict[int, tuple[int, int]] = {}
    twice = {-1}
    for xid, start, first in rows:
        number = request_number(xid)
        if number in found:
            twice.add(number)
        found[number] = (int(start), int(first))
    return {number: times for number, times in found.items() if number not in twice}


def _streamed(record: Mapping[str, Any]) -> bool:
    return bool(record["flags"] & truthlog.F_STREAM)


def peak_in_flight(start: NDArray[np.int64], end: NDArray[np.int64]) -> int:
    """Most requests under way at once; one that ends as another starts counts once."""
    times = np.concatenate([start, end])
    steps = np.concatenate([np.ones(len(start), np.int64), -np.ones(len(end), np.int64)])
    order = np.lexsort((steps, times))
    return int(np.cumsum(steps[order]).max(initial=0))


def errors_ms(reported: Percentiles, true: Percentiles) -> Percentiles:
    """Reported minus true, in ms."""
    return {p: reported[p] - true[p] for p in PERCENTILES if p in reported and p in true}


def errors_percent(reported: Percentiles, true: Percentiles) -> Percentiles:
    """Reported minus true in percent of the true; a true value of 0 has none."""
    return {p: 100 * (reported[p] / true[p] - 1) for p in PERCENTILES if p in reported and true.get(p)}


def single_request_errors_ms(reported: Mapping[int, float], truth: Truth) -> Percentiles:
    """Percentiles of |TTFT reported - TTFT true| over the requests matched by their number."""
    known = truth.by_number
    return lower_percentiles([abs(ms - (known[n][1] - known[n][0]) / 1e6) for n, ms in reported.items() if n in known])


def true_start_lag_ms(scheduled_ns: Mapping[int, int], truth: Truth) -> Percentiles:
    """Percentiles of arrival at the server minus scheduled time: the start lag and the way to the server."""
    known = truth.by_number
    return lower_percentiles([(known[n][0] - at) / 1e6 for n, at in scheduled_ns.items() if n in known])
