"""Rates over the whole phase: requests and tokens per second, and the speed one user sees.

Window (TIM-8): from the first issued request to the last completion of a request that succeeded or failed. Loading,
connecting ahead, and shutting down lie outside. Only successes count; what failed or was cut is counted apart.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from wholecurve.metrics.columns import NULL, Columns, Mask
from wholecurve.metrics.latency import input_tokens, output_tokens, token_source, tpot
from wholecurve.metrics.quantile import percentile_of
from wholecurve.model.record import Outcome
from wholecurve.model.units import NS_PER_S


@dataclass(frozen=True, slots=True)
class Rates:
    """Rates of one phase; None where nothing was measured.

    qps, tps, total_tps: successes only. qps_all: failures too. tps is `system_tps`.
    """

    duration_ns: int | None
    qps: float | None
    qps_all: float | None
    tps: float | None
    total_tps: float | None
    tps_per_user: float | None


@dataclass(frozen=True, slots=True)
class LegacyRates:
    """LoadGen's older server figures (reference-client.md 6.1), for comparison with old results only."""

    window_ns: int | None
    qps: float | None
    tps: float | None


@dataclass(frozen=True, slots=True)
class TokenCounts:
    """Tokens by the run's source, and how far the server's own count is away.

    partial_output: tokens of requests that did not succeed; in no rate. uncounted: successes without an output count.
    compared: successes counted by both; different: of these, where the counts differ.
    relative_mismatch: (usage - reference) / reference over the compared ones.
    """

    output: int | None
    input: int | None
    partial_output: int | None
    uncounted: int
    compared: int
    different: int
    reference_total: int | None
    usage_total: int | None
    relative_mismatch: float | None


def window(columns: Columns) -> tuple[int, int] | None:
    """First issued, last completed (succeeded or failed), in monotonic ns; None without both."""
    issued = columns["issued_ns"][columns.known("issued_ns")]
    ended = columns.known("completed_ns") & columns.outcome_is(Outcome.SUCCEEDED, Outcome.FAILED)
    if not len(issued) or not ended.any():
        return None
    return int(issued.min()), int(columns["completed_ns"][ended].max())


def rates(columns: Columns) -> Rates:
    """All rates of a phase over `window`."""
    bounds = window(columns)
    duration = bounds[1] - bounds[0] if bounds else None
    succeeded = columns.succeeded
    answered = columns.outcome_is(Outcome.SUCCEEDED, Outcome.FAILED)
    output = _sum(columns, "output", succeeded)
    given = _sum(columns, "input", succeeded)
    p90 = percentile_of(tpot(columns)[succeeded], 90.0)
    return Rates(
        duration_ns=duration or None,
        qps=_per_s(int(succeeded.sum()), duration),
        qps_all=_per_s(int(answered.sum()), duration),
        tps=_per_s(output, duration),
        total_tps=_per_s(None if output is None or given is None else output + given, duration),
        tps_per_user=NS_PER_S / p90 if p90 else None,
    )


def legacy_rates(columns: Columns) -> LegacyRates:
    """(Successes - 1) / T and output tokens / T; T = first issue to completion of the success that was issued last."""
    done = columns.succeeded & columns.known("issued_ns", "completed_ns")
    count = int(done.sum())
    if count < 2:
        return LegacyRates(None, None, None)
    first = int(columns["issued_ns"][columns.known("issued_ns")].min())
    latest = int(np.argmax(np.where(done, columns["issued_ns"], NULL)))
    span = int(columns["completed_ns"][latest]) - first
    return LegacyRates(span or None, _per_s(count - 1, span), _per_s(_sum(columns, "output", done), span))


def token_counts(columns: Columns) -> TokenCounts:
    """Token sums of a phase; see TokenCounts."""
    succeeded = columns.succeeded
    counted = output_tokens(columns) != NULL
    both = succeeded & columns.known("osl", "usage_output")
    reference, usage = columns["osl"][both], columns["usage_output"][both]
    ours, theirs = int(reference.sum()), int(usage.sum())
    return TokenCounts(
        output=_sum(columns, "output", succeeded),
        input=_sum(columns, "input", succeeded),
        partial_output=_sum(columns, "output", ~succeeded),
        uncounted=int((succeeded & ~counted).sum()),
        compared=len(reference),
        different=int((reference != usage).sum()),
        reference_total=ours if len(reference) else None,
        usage_total=theirs if len(reference) else None,
        relative_mismatch=(theirs - ours) / ours if ours else None,
    )


def e2e_interactivity(columns: Columns) -> tuple[int, float, float] | None:
    """Agentic speed: (sum of output tokens, sum of turn seconds, their ratio) over successful turns; a ratio of sums.

    None for single-shot work (no turn after the first) and without token counts. Source: rules.md section 8.
    """
    turns = columns["turn"][columns.known("turn")]
    usable = columns.succeeded & columns.known("issued_ns", "completed_ns") & (output_tokens(columns) != NULL)
    if not len(turns) or int(turns.max()) < 1 or token_source(columns) is None or not usable.any():
        return None
    tokens = int(output_tokens(columns)[usable].sum())
    seconds = int((columns["completed_ns"][usable] - columns["issued_ns"][usable]).sum()) / NS_PER_S
    return (tokens, seconds, tokens / seconds) if seconds > 0 else None


def _sum(columns: Columns, which: str, mask: Mask) -> int | None:
    """Sum of the tokens known in the mask; None when none is known."""
    values = output_tokens(columns) if which == "output" else input_tokens(columns)
    known = values[mask & (values != NULL)]
    return int(known.sum()) if len(known) else None


def _per_s(count: int | None, duration_ns: int | None) -> float | None:
    return None if count is None or not duration_ns else count * NS_PER_S / duration_ns
