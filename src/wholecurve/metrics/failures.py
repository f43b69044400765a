"""Failures by kind, finish reasons, and values cut by a limit of ours: what a figure over successes leaves out."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Any, Final

from wholecurve.metrics.columns import NULL, Columns
from wholecurve.model.plan import Limits
from wholecurve.model.record import FailureKind, FinishReason, Outcome

_COUNTED = frozenset(reason.value for reason in FinishReason) - {FinishReason.OTHER, FinishReason.MISSING}
_CODES: Final[frozenset[str]] = frozenset(kind.value for kind in FailureKind)


@dataclass(frozen=True, slots=True)
class Counts:
    """sent = succeeded + failed + cancelled + lost, always. `unknown` counts rows with none of these: a fault."""

    sent: int
    succeeded: int
    failed: int
    cancelled: int
    lost: int
    unknown: int = 0


@dataclass(frozen=True, slots=True)
class Failure:
    """One kind of failure. kind: the code of model/record.py, or `http_429` and so on for error statuses."""

    kind: str
    count: int
    sentence: str
    client_side: bool
    example: str | None


@dataclass(frozen=True, slots=True)
class FailureFacts:
    """failed_share: (failed + lost) / (sent - cancelled), None when nothing ended; exceeded: above the limit (REP-8).

    cut: how many values each limit of the client took out of the series, with the limit (NET-5).
    """

    kinds: tuple[Failure, ...]
    client_side_failures: int
    empty_outputs: int
    failed_share: float | None
    max_failed_share: float
    exceeded: bool
    cut: tuple[Cut, ...]


@dataclass(frozen=True, slots=True)
class Cut:
    """Values missing from the series because a limit of the client ended the request. limit_ns None: no limit."""

    limit_name: str
    limit_ns: int | None
    values_cut: int


def counts(columns: Columns) -> Counts:
    """Requests by outcome."""
    by = Counter(columns.texts["outcome"])
    known = {outcome.value: by.pop(outcome.value, 0) for outcome in Outcome}
    return Counts(sent=columns.n, **known, unknown=sum(by.values()))


def finish_reasons(columns: Columns) -> dict[str, int]:
    """Successes by finish reason, in the order of `FinishReason`; unknown words are `other`, none is `missing`."""
    found = dict.fromkeys((reason.value for reason in FinishReason), 0)
    for ok, reason in zip(columns.succeeded.tolist(), columns.texts["finish_reason"], strict=True):
        if ok:
            found[_reason(reason)] += 1
    return found


def failure_facts(columns: Columns, limits: Limits) -> FailureFacts:
    """Everything about what went wrong, most frequent kind first."""
    kinds = _kinds(columns)
    by_outcome = counts(columns)
    ended = by_outcome.sent - by_outcome.cancelled
    share = (by_outcome.failed + by_outcome.lost) / ended if ended else None
    by_code = Counter(columns.texts["failure"])
    return FailureFacts(
        kinds=kinds,
        client_side_failures=sum(one.count for one in kinds if one.client_side),
        empty_outputs=by_code[FailureKind.EMPTY],
        failed_share=share,
        max_failed_share=limits.max_failed_share,
        exceeded=share is not None and share > limits.max_failed_share,
        cut=(
            Cut("request_timeout", limits.request_timeout_ns, by_code[FailureKind.REQUEST_TIMEOUT]),
            Cut("silence_timeout", limits.silence_timeout_ns, by_code[FailureKind.IDLE_TIMEOUT]),
            Cut("drain_timeout", limits.drain_timeout_ns, by_outcome.cancelled),
        ),
    )


def _reason(reason: str | None) -> str:
    if not reason:
        return FinishReason.MISSING
    return reason if reason in _COUNTED else FinishReason.OTHER


def _kinds(columns: Columns) -> tuple[Failure, ...]:
    """Failures grouped by kind and, for error statuses, by status; one bounded example of the detail each."""
    groups: Counter[tuple[str, int]] = Counter()
    examples: dict[tuple[str, int], str] = {}
    rows = zip(columns.texts["failure"], columns["status"].tolist(), columns.texts["detail"], strict=True)
    for failure, status, detail in rows:
        if failure is None:
            continue
        group = (failure, status if failure == FailureKind.HTTP_STATUS else NULL)
        groups[group] += 1
        if detail and group not in examples:
            examples[group] = detail
    ordered = sorted(groups.items(), key=lambda item: (-item[1], item[0]))
    return tuple(_failure(group, count, examples.get(group)) for group, count in ordered)


def _failure(group: tuple[str, int], count: int, example: str | None) -> Failure:
    code, status = group
    if code not in _CODES:
        return Failure(code, count, f"an unknown failure kind {code!r}", False, example)
    kind = FailureKind(code)
    name: Any = f"http_{status}" if status != NULL else code
    sentence = f"{kind.sentence} {status}" if status != NULL else kind.sentence
    return Failure(str(name), count, sentence, kind.client_side, example)
