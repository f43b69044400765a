"""What must hold in every record, checked before anything is printed. A breach is shown, never repaired."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Final

import numpy as np

from wholecurve.metrics.columns import NULL, Columns, Mask
from wholecurve.metrics.failures import counts
from wholecurve.metrics.latency import difference
from wholecurve.model.record import Outcome

EVIDENCE: Final[int] = 5
"""Requests named per violation: enough to look them up, few enough to print."""

TWO_CLOCKS_NS: Final[int] = 2_000
"""`sent` is read from the monotonic clock, `first_byte` is a kernel stamp of wall time moved onto it. The move is
good to about a microsecond, so an answer may seem to begin this much before its request."""

STAMPS: Final[tuple[str, ...]] = (
    "scheduled_ns",
    "issued_ns",
    "sent_ns",
    "first_byte_ns",
    "first_output_ns",
    "last_output_ns",
    "completed_ns",
)
"""In this order on every row, as far as known."""


@dataclass(frozen=True, slots=True)
class Violation:
    """A broken invariant: code, sentence, how many requests break it, and `index` of the first few."""

    code: str
    sentence: str
    violations: int
    requests: tuple[int, ...]


def check(columns: Columns) -> tuple[Violation, ...]:
    """All violations in the records of a phase, in the order of `_ROW_CHECKS`; empty when all is well."""
    found = [_accounting(columns), _numbering(columns)]
    found += [
        _violation(columns, code, sentence, broken(columns)) for code, sentence, broken in _ROW_CHECKS if columns.n
    ]
    return tuple(one for one in found if one is not None)


def check_series(blocks: Mapping[str, Mapping[str, Any]]) -> tuple[Violation, ...]:
    """Violations inside finished series blocks: percentiles out of order or outside min and max, lost counts."""
    found = []
    for name, block in blocks.items():
        if not block:
            continue
        ladder = sorted((float(p), value) for p, value in block["percentiles"].items())
        values = [block["min"], *(value for _, value in ladder), block["max"]]
        if any(low > high for low, high in pairwise(values)):
            found.append(Violation("percentiles_ordered", f"{name}: percentiles are not in order", 1, ()))
        if sum(block["histogram"]["counts"]) != block["n"]:
            found.append(Violation("histogram_complete", f"{name}: histogram and n differ", 1, ()))
        if block["min"] < 0:
            found.append(Violation("not_negative", f"{name}: a value is negative", 1, ()))
    return tuple(found)


def _accounting(columns: Columns) -> Violation | None:
    found = counts(columns)
    if found.sent == found.succeeded + found.failed + found.cancelled + found.lost:
        return None
    return _violation(
        columns,
        "outcomes_add_up",
        "sent = succeeded + failed + cancelled + lost does not hold: rows without one of these outcomes",
        ~columns.outcome_is(*Outcome),
    )


def _numbering(columns: Columns) -> Violation | None:
    """Every place of the issue order has exactly one row, else an answer vanished or was counted twice (SCL-5)."""
    order = np.sort(columns["index"])
    twice = order[1:][np.diff(order) == 0]
    if len(twice):
        return Violation("index_unique", "requests recorded twice", len(twice), _first(twice))
    jumps = np.diff(order, prepend=-1)
    holes = int((jumps - 1).sum())
    if holes:
        before = order[jumps > 1] - jumps[jumps > 1] + 1
        return Violation("index_complete", "requests issued but not recorded", holes, _first(before))
    return None


def _in_order(early: str, late: str, slack_ns: int = 0) -> Callable[[Columns], Mask]:
    """True where both stamps are known and `late` lies before `early` by more than the slack."""

    def broken(columns: Columns) -> Mask:
        gap = difference(columns, late, early)
        result: Mask = (gap != NULL) & (gap < -slack_ns)
        return result

    return broken


def _negative(columns: Columns) -> Mask:
    """True where any count, size or duration is known and below zero."""
    broken = np.zeros(columns.n, dtype=np.bool_)
    for values in columns.numbers.values():
        broken |= (values < 0) & (values != NULL)
    own = columns.gap_mask(np.ones(columns.n, dtype=np.bool_)) & (columns.gaps_ns < 0)
    if own.any():
        owners = np.repeat(np.arange(columns.n), columns.gap_counts())
        broken[owners[own]] = True
    return broken


def _more(part: str, whole: str) -> Callable[[Columns], Mask]:
    """True where both are known and the part exceeds the whole."""

    def broken(columns: Columns) -> Mask:
        return columns.known(part, whole) & (columns[part] > columns[whole])

    return broken


def _gaps_count(columns: Columns) -> Mask:
    """True where gaps are not one fewer than the output-bearing events.

    Nothing is said when no gap was recorded at all (no events file), nor of failures without gaps: a failed answer
    need not be taken apart.
    """
    gaps = columns.gap_counts()
    known = columns.known("output_events")
    wanted = np.maximum(np.where(known, columns["output_events"], 0) - 1, 0)
    judged = (gaps > 0) | (columns.succeeded if len(columns.gaps_ns) else False)
    result: Mask = judged & (gaps != wanted)
    return result


def _gaps_sum(columns: Columns) -> Mask:
    """True where gaps are recorded and do not add up to last minus first output."""
    running = np.concatenate((np.zeros(1, dtype=np.int64), np.cumsum(columns.gaps_ns)))
    sums = running[columns.gap_offsets[1:]] - running[columns.gap_offsets[:-1]]
    span = difference(columns, "last_output_ns", "first_output_ns")
    result: Mask = (columns.gap_counts() > 0) & (span != NULL) & (sums != span)
    return result


def _success_incomplete(columns: Columns) -> Mask:
    """True where a success has no start or no end."""
    return columns.succeeded & ~columns.known("issued_ns", "sent_ns", "completed_ns")


def _failed_without_kind(columns: Columns) -> Mask:
    """True where a failure has no kind, or something else has one."""
    has_kind = np.fromiter((kind is not None for kind in columns.texts["failure"]), dtype=np.bool_, count=columns.n)
    result: Mask = has_kind != columns.outcome_is(Outcome.FAILED)
    return result


_ROW_CHECKS: Final[tuple[tuple[str, str, Callable[[Columns], Mask]], ...]] = (
    ("success_has_times", "successes without issued, sent or completed", _success_incomplete),
    ("failure_has_kind", "failures without a kind, or a kind without a failure", _failed_without_kind),
    ("not_negative", "a count, size or duration is negative", _negative),
    *(
        (
            f"{late}_after_{early}".replace("_ns", ""),
            f"{late} lies before {early}",
            _in_order(early, late, TWO_CLOCKS_NS if early == "sent_ns" else 0),
        )
        for early, late in pairwise(STAMPS)
    ),
    (
        "first_visible_after_first_output",
        "visible text before any output",
        _in_order("first_output_ns", "first_visible_ns"),
    ),
    ("completed_after_sent", "completed before sent", _in_order("sent_ns", "completed_ns", TWO_CLOCKS_NS)),
    ("completed_after_first_byte", "completed before the first byte", _in_order("first_byte_ns", "completed_ns")),
    ("output_events_in_events", "more output-bearing events than events", _more("output_events", "events")),
    ("user_stamps_in_reads", "more user-space stamps than reads", _more("user_stamps", "reads")),
    ("after_first_in_osl", "more tokens after the first event than in all", _more("osl_after_first", "osl")),
    ("reasoning_in_osl", "more reasoning tokens than output tokens", _more("osl_reasoning", "osl")),
    ("gaps_counted", "gaps are not one fewer than output-bearing events", _gaps_count),
    ("gaps_add_up", "gaps do not add up to last minus first output", _gaps_sum),
)


def _violation(columns: Columns, code: str, sentence: str, broken: Mask) -> Violation | None:
    rows = np.flatnonzero(broken)
    if not len(rows):
        return None
    return Violation(code, sentence, len(rows), _first(columns["index"][rows]))


def _first(values: np.ndarray[tuple[int, ...], np.dtype[np.int64]]) -> tuple[int, ...]:
    return tuple(int(value) for value in values[:EVIDENCE].tolist())
