"""Headline figures of a point: over the steady window where the rules allow it, with the whole run beside them.

Percentiles are over the successes issued in the window, with their whole lifetime. Rates divide what was issued in the
window by its issue-time span (rules.md choice C14), from its first issue to the first one after it: N requests fill N
gaps between issues, not N - 1. The drain is in neither part. Failures count in no rate.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from math import ceil
from typing import Final

import numpy as np

from wholecurve.metrics.columns import NULL, Columns, Floats, Ints, Mask
from wholecurve.metrics.confidence import (
    MIN_BATCHES,
    Interval,
    inverse,
    percentile_interval,
    rate_interval,
    time_batches,
)
from wholecurve.metrics.latency import latency, output_tokens
from wholecurve.metrics.plateau import Drift
from wholecurve.metrics.quantile import percentile_of
from wholecurve.metrics.rate import rates
from wholecurve.metrics.rate import window as run_window
from wholecurve.metrics.superpass import Blocks
from wholecurve.metrics.table import METRICS
from wholecurve.metrics.window_rules import Movement
from wholecurve.model.steadiness import Basis
from wholecurve.model.units import NS_PER_S, show_percent

TOTAL_BATCHES: Final[int] = 20
BATCH_LATENCIES: Final[float] = 5.0
"""A batch should last so many answers (P90), so that it forgets the one before; as `relaxation` in window_rules.py."""
REQUESTS_PER_BATCH: Final[int] = 10
_FUNCTIONS = {metric.key: metric.function for metric in METRICS}


@dataclass(frozen=True, slots=True)
class Headline:
    """One headline figure: key in model/names.py, unit, and what it is made of.

    metric, percentile: of a percentile figure; its drift is that of the gate `<metric>_p<percentile>`. count: what a
    rate counts. per: the figure is `per` / percentile instead of the percentile.
    """

    key: str
    unit: str
    metric: str | None = None
    percentile: float = 0.0
    count: str | None = None
    per: float | None = None

    @property
    def gate(self) -> str | None:
        """Key of the series whose drift makes this figure no single number."""
        return f"{self.metric}_p{self.percentile:.0f}" if self.metric else None


HEADLINES: Final[tuple[Headline, ...]] = (
    Headline("system_tps", "tokens/s", count="tokens"),
    Headline("qps", "requests/s", count="requests"),
    Headline("tps_per_user", "tokens/s", "tpot", 90.0, per=NS_PER_S),
    Headline("tpot_p50_ns", "ns", "tpot", 50.0),
    Headline("tpot_p90_ns", "ns", "tpot", 90.0),
    Headline("ttft_p50_ns", "ns", "ttft", 50.0),
    Headline("ttft_p90_ns", "ns", "ttft", 90.0),
    Headline("latency_p50_ns", "ns", "latency", 50.0),
    Headline("latency_p90_ns", "ns", "latency", 90.0),
)
"""Every headline figure. To add one: a row here, and a row in model/names.py."""


@dataclass(frozen=True, slots=True)
class Figure:
    """One headline figure of one run.

    value: official, on `basis`; None if not measured or drifting. window, total: over the steady window and over the
    whole run, whatever the basis; None where there is none. interval: of the official value. low, high: the range a
    drifting figure went through, from the window on. reason: why value or window is None.
    """

    key: str
    unit: str
    value: float | None
    basis: Basis
    window: float | None
    total: float | None
    interval: Interval
    low: float | None = None
    high: float | None = None
    reason: str | None = None


def figures(
    columns: Columns,
    blocks: Blocks | None,
    window: tuple[int, int] | None,
    *,
    basis: Basis,
    reason: str | None,
    drifts: Mapping[str, Drift],
) -> tuple[Figure, ...]:
    """All rows of `HEADLINES`.

    window: blocks [start, end) of the steady window, None without; then `reason` says why. drifts: by gate key.
    """
    succeeded = columns.succeeded
    members = np.zeros(columns.n, dtype=np.bool_)
    if blocks is not None and window is not None:
        members[blocks.members(*window)] = True
    return tuple(
        _figure(
            row,
            _rate_total(columns, row.count, succeeded) if row.count else _percentile(columns, row, succeeded),
            _in_window(columns, row, blocks, window, succeeded & members),
            basis,
            reason,
            drifts.get(row.gate) if row.gate else None,
        )
        for row in HEADLINES
    )


def completed_tokens_per_s(columns: Columns, blocks: Blocks, window: tuple[int, int]) -> float | None:
    """Output tokens of successes that were completed inside the window's issue-time span / that span.

    The other way to read a window's throughput (choice C14); in a steady window both agree but for its edges.
    """
    start, end = int(blocks.starts_ns[window[0]]), int(blocks.ends_ns[window[1] - 1])
    tokens = _counts(columns, "tokens", columns.succeeded & columns.known("completed_ns"))
    if tokens is None or end <= start:
        return None
    inside = (columns["completed_ns"] >= start) & (columns["completed_ns"] <= end)
    return float(tokens[inside].sum()) * NS_PER_S / (end - start)


_Measured = tuple[float | None, Interval | None]


def _figure(
    row: Headline, total: _Measured, window: _Measured, basis: Basis, reason: str | None, drift: Drift | None
) -> Figure:
    value, interval = window if basis is Basis.WINDOW else total
    why = None if value is not None and window[0] is not None else reason or "no request in it measured this"
    figure = Figure(row.key, row.unit, value, basis, window[0], total[0], interval or _none(row), reason=why)
    if drift is None or drift.state is Movement.PLATEAU or basis is Basis.TOTAL:
        return figure
    ends = sorted(_converted(row, one) for one in (drift.low, drift.high))
    change = show_percent(drift.change, sign=True)
    why = f"{drift.key} moves by {change} over the rest of the run: a range, no point value"
    return replace(figure, value=None, low=ends[0], high=ends[1], interval=_none(row, why), reason=why)


def _none(row: Headline, reason: str = "not measured") -> Interval:
    return replace(percentile_interval(np.empty(0), row.percentile or 50.0), reason=reason)


def _converted(row: Headline, value_ns: float) -> float:
    return row.per / value_ns if row.per else value_ns


def _in_window(
    columns: Columns, row: Headline, blocks: Blocks | None, window: tuple[int, int] | None, members: Mask
) -> _Measured:
    if blocks is None or window is None:
        return None, None
    return _rate_window(columns, row.count, blocks, window) if row.count else _percentile(columns, row, members)


def _percentile(columns: Columns, row: Headline, members: Mask) -> _Measured:
    assert row.metric is not None
    values = _FUNCTIONS[row.metric](columns)[members]
    found = percentile_of(values, row.percentile)
    if not found:
        return None, None
    interval = percentile_interval(values, row.percentile)
    return (row.per / found, inverse(interval, row.per)) if row.per else (float(found), interval)


def _counts(columns: Columns, what: str | None, members: Mask) -> Ints | None:
    """What each row adds to a rate, 0 outside the members; None if nothing was counted."""
    if what != "tokens":
        return members.astype(np.int64)
    tokens = output_tokens(columns)
    known = members & (tokens != NULL)
    return np.where(known, tokens, 0) if known.any() else None


def _rate_window(columns: Columns, what: str | None, blocks: Blocks, window: tuple[int, int]) -> _Measured:
    """Rate of the window, and its batch means. A batch lasts from its first issue to that of the next."""
    counts = _counts(columns, what, columns.succeeded)
    start, end = window
    until = blocks.next_issue_ns(end)
    edges = np.append(blocks.starts_ns[start:end], until)
    if counts is None or until <= edges[0]:
        return None, None
    members = blocks.members(start, end)
    per_block = counts[members].reshape(end - start, -1).sum(axis=1)
    memory = percentile_of(latency(columns)[members][columns.succeeded[members]], 90.0)
    batches = _long_batches(per_block, np.diff(edges), float(memory or 0))
    return float(per_block.sum()) * NS_PER_S / int(until - edges[0]), rate_interval(*batches)


def _long_batches(counts: Ints, spans_ns: Ints, memory_ns: float) -> tuple[Ints, Ints]:
    """Blocks joined into batches of BATCH_LATENCIES answers each, as far as MIN_BATCHES batches are left.

    Where a pass of the data set has fewer requests than are in flight, neighbouring blocks overlap in time: one is
    long where the other is short, and their spread would be taken for a doubt that is not there.
    """
    wanted = max(1, ceil(BATCH_LATENCIES * memory_ns / max(1.0, float(np.median(spans_ns)))))
    k = max(min(MIN_BATCHES, len(counts)), len(counts) // wanted)
    parts = (np.array_split(values, k) for values in (counts, spans_ns))
    joined = [np.array([part.sum() for part in each], dtype=np.int64) for each in parts]
    return joined[0], joined[1]


def _rate_total(columns: Columns, what: str | None, succeeded: Mask) -> _Measured:
    """Rate of the whole run as `rate.rates` gives it, and batch means over equal times, by completion."""
    speed, bounds = rates(columns), run_window(columns)
    value = speed.tps if what == "tokens" else speed.qps
    members = succeeded & columns.known("completed_ns")
    counts = _counts(columns, what, members)
    if value is None or bounds is None or counts is None:
        return None, None
    memory = percentile_of(latency(columns)[succeeded], 90.0)
    longest = int((bounds[1] - bounds[0]) / (BATCH_LATENCIES * memory)) if memory else TOTAL_BATCHES
    k = min(TOTAL_BATCHES, max(MIN_BATCHES, longest), int(members.sum()) // REQUESTS_PER_BATCH)
    batches: Floats = time_batches(columns["completed_ns"][members], counts[members], *bounds, k) if k else np.empty(0)
    return value, rate_interval(batches, np.full(k, (bounds[1] - bounds[0]) / max(k, 1)))
