"""How the answers were delivered: events per token and per read, and whether gaps may be read at all.

A proxy that collects events and lets them go in clumps leaves TPOT right and makes gaps look tiny (NET-10).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np

from wholecurve.metrics.columns import NULL, Columns, Mask
from wholecurve.metrics.latency import output_tokens
from wholecurve.model.units import show_percent

BURSTY_ZERO_SHARE: Final[float] = 0.2
"""One gap in five is zero: where single tokens are sent one by one, hardly any is."""

BURSTY_MEDIAN_SHARE: Final[float] = 0.1
"""Median gap under a tenth of the mean gap: clumps with long waits. Exponential gaps would give 0.69."""

GAPS_NEEDED: Final[int] = 10
"""Fewer gaps cannot show a pattern."""


@dataclass(frozen=True, slots=True)
class Delivery:
    """Shares and ratios over successful requests; None where nothing was measured.

    tokens_per_event: output tokens / output-bearing events (1 when every event is a token; TIM-6).
    events_per_read: all events / socket reads that carried them; events of one read share one stamp.
    zero_gap_share: gaps of 0 ns / all gaps. user_stamp_share: reads stamped by the user-space clock / all reads.
    """

    output_events_total: int
    reads_total: int
    tokens_per_event: float | None
    events_per_read: float | None
    zero_gap_share: float | None
    user_stamp_share: float | None
    bursty: bool
    bursty_reason: str | None


def delivery(columns: Columns) -> Delivery:
    """Delivery facts of the successes of a phase."""
    succeeded = columns.succeeded
    gaps = columns.gaps_ns[columns.gap_mask(succeeded)]
    tokens = output_tokens(columns)
    counted = succeeded & (tokens != NULL) & columns.known("output_events")
    read = succeeded & columns.known("events", "reads")
    stamped = succeeded & columns.known("user_stamps", "reads")
    reason = _bursty(gaps)
    return Delivery(
        output_events_total=_total(columns, "output_events", succeeded & columns.known("output_events")),
        reads_total=_total(columns, "reads", succeeded & columns.known("reads")),
        tokens_per_event=_ratio(int(tokens[counted].sum()), _total(columns, "output_events", counted)),
        events_per_read=_ratio(_total(columns, "events", read), _total(columns, "reads", read)),
        zero_gap_share=_ratio(int((gaps == 0).sum()), len(gaps)),
        user_stamp_share=_ratio(_total(columns, "user_stamps", stamped), _total(columns, "reads", stamped)),
        bursty=reason is not None,
        bursty_reason=reason,
    )


def _bursty(gaps: np.ndarray[tuple[int, ...], np.dtype[np.int64]]) -> str | None:
    """Why gap percentiles must not be read; None when they may."""
    if len(gaps) < GAPS_NEEDED:
        return None
    zero = float((gaps == 0).mean())
    if zero >= BURSTY_ZERO_SHARE:
        return f"{show_percent(zero, 0)} of the gaps are zero: events arrive in clumps; read TPOT, not gap percentiles"
    middle, mean = float(np.median(gaps)), float(gaps.mean())
    if middle < BURSTY_MEDIAN_SHARE * mean:
        share = show_percent(middle / mean)
        return f"the median gap is {share} of the mean gap: events arrive in clumps; read TPOT, not gaps"
    return None


def _total(columns: Columns, name: str, mask: Mask) -> int:
    return int(columns[name][mask].sum())


def _ratio(part: int, whole: int) -> float | None:
    return part / whole if whole else None
