"""Times of one request: each function takes columns and gives one value per request, NULL or NaN where undefined.

Differences of stamps are int64 ns with NULL; quotients are float64 ns with NaN. Neither leaves this package: series
are made of the measured values only. Formulas: DESIGN section 2; rules.md section 8; pitfalls TIM-1 to TIM-9.
"""

from __future__ import annotations

from enum import StrEnum

import numpy as np

from wholecurve.metrics.columns import NULL, Columns, Floats, Ints


class TokenSource(StrEnum):
    """Who counted the tokens of a run. One run has one source; sources are never mixed within a series."""

    REFERENCE = "reference"
    USAGE = "usage"


def difference(columns: Columns, end: str, start: str) -> Ints:
    """Column `end` minus column `start` in ns, NULL where either is missing; shape (n,)."""
    both = columns.known(end, start)
    return np.where(both, np.where(both, columns[end], 0) - np.where(both, columns[start], 0), NULL)


def ttft(columns: Columns) -> Ints:
    """First output-bearing event - issued (DESIGN section 2). The headline."""
    return difference(columns, "first_output_ns", "issued_ns")


def ttft_from_sent(columns: Columns) -> Ints:
    """First output-bearing event - sent: without what the client did between deciding and sending."""
    return difference(columns, "first_output_ns", "sent_ns")


def ttft_from_scheduled(columns: Columns) -> Ints:
    """First output-bearing event - scheduled: with every wait inside the client (TIM-1)."""
    return difference(columns, "first_output_ns", "scheduled_ns")


def time_to_first_visible(columns: Columns) -> Ints:
    """First event with visible text - issued; later than TTFT when the model reasons first (TIM-9)."""
    return difference(columns, "first_visible_ns", "issued_ns")


def latency(columns: Columns) -> Ints:
    """Completed - issued."""
    return difference(columns, "completed_ns", "issued_ns")


def latency_from_scheduled(columns: Columns) -> Ints:
    """Completed - scheduled: a stall of the server shows in full (LOD-3)."""
    return difference(columns, "completed_ns", "scheduled_ns")


def time_to_last_output(columns: Columns) -> Ints:
    """Last output-bearing event - issued; usage and end marker come later and do not count (TIM-5)."""
    return difference(columns, "last_output_ns", "issued_ns")


def dispatch_delay(columns: Columns) -> Ints:
    """Sent - scheduled: how long a request waited inside the client, for whatever reason (TIM-1)."""
    return difference(columns, "sent_ns", "scheduled_ns")


def start_lag(columns: Columns) -> Ints:
    """Issued - scheduled: how late the client decided."""
    return difference(columns, "issued_ns", "scheduled_ns")


def connect_time(columns: Columns) -> Ints:
    """Time to open the connection; NULL when an open one was used."""
    return columns["connect_ns"]


def token_source(columns: Columns) -> TokenSource | None:
    """Who counted output tokens: the reference tokenizer if it counted any success, else usage, else nobody."""
    return _source(columns, "osl", "usage_output")


def input_token_source(columns: Columns) -> TokenSource | None:
    """Who counted input tokens, as `token_source`."""
    return _source(columns, "isl", "usage_input")


def _source(columns: Columns, reference: str, usage: str) -> TokenSource | None:
    succeeded = columns.succeeded
    if bool(np.any(succeeded & columns.known(reference))):
        return TokenSource.REFERENCE
    return TokenSource.USAGE if bool(np.any(succeeded & columns.known(usage))) else None


def output_tokens(columns: Columns) -> Ints:
    """Output tokens by the run's source; NULL where it did not count."""
    return columns["usage_output"] if token_source(columns) is TokenSource.USAGE else columns["osl"]


def input_tokens(columns: Columns) -> Ints:
    """Input tokens by the run's source; NULL where it did not count."""
    return columns["usage_input"] if input_token_source(columns) is TokenSource.USAGE else columns["isl"]


def tokens_after_first(columns: Columns) -> Ints:
    """Output tokens after the first output-bearing event, the divisor of TPOT; NULL where unknown.

    Reference tokenizer: `osl_after_first`. Usage: `usage_output` - 1, since the server does not tell how many tokens
    its first event held. Never the requested length (TIM-3), never a count of events (TIM-6).
    """
    if token_source(columns) is not TokenSource.USAGE:
        return columns["osl_after_first"]
    known = columns.known("usage_output")
    return np.where(known, np.where(known, columns["usage_output"], 1) - 1, NULL)


def tpot(columns: Columns) -> Floats:
    """(Last output-bearing event - first) / tokens after the first event, in ns.

    NaN without such tokens (TIM-4), without a count, or when the quotient is not positive: an answer that came in one
    event has no pace (rules.md section 3, rule 7).
    """
    span = difference(columns, "last_output_ns", "first_output_ns")
    return _quotient(span, tokens_after_first(columns), above=0)


def time_per_output_event(columns: Columns) -> Floats:
    """(Last output-bearing event - first) / (output-bearing events - 1), in ns; NaN below two. An event is no token."""
    events = columns["output_events"]
    known = columns.known("output_events")
    steps = np.where(known, np.where(known, events, 1) - 1, NULL)
    return _quotient(difference(columns, "last_output_ns", "first_output_ns"), steps, above=-1)


def _quotient(span: Ints, count: Ints, *, above: int) -> Floats:
    usable = (span != NULL) & (count != NULL) & (count > 0) & (span > above)
    result = np.full(len(span), np.nan)
    np.divide(span, count, out=result, where=usable)
    return result
