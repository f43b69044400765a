"""A finished request as the columns of its row: from the worker's frames and the answer that was read."""

from __future__ import annotations

from array import array
from itertools import pairwise

import orjson

from wholecurve.run.spool import End, Issued
from wholecurve.wire import Answer


def issued_numbers(issued: Issued) -> dict[str, int | None]:
    """What was known when the request was issued."""
    return {
        "index": issued.place,
        "phase": issued.phase,
        "conversation": issued.conversation,
        "turn": issued.turn,
        "sample": issued.sample if issued.sample >= 0 else None,
        "scheduled_ns": issued.scheduled_ns,
        "issued_ns": issued.issued_ns,
    }


def end_numbers(end: End | None) -> dict[str, int | None]:
    """What the worker knew when it ended; nothing of a request that was lost."""
    if end is None:
        return {}
    return {
        "worker": end.worker,
        "address": _known(end.address),
        "connection": _known(end.connection),
        "reused": end.reused if end.connection >= 0 else None,
        "attempts": end.attempts,
        "sent_ns": _known(end.sent_ns),
        "connect_ns": _known(end.connect_ns),
        "bytes_sent": end.bytes_sent,
        "max_tokens": _known(end.max_tokens),
    }


def _known(value: int) -> int | None:
    return value if value >= 0 else None


def answer_numbers(answer: Answer | None) -> dict[str, int | None]:
    """What the answer itself tells."""
    if answer is None:
        return {"events": 0, "output_events": 0, "reads": 0, "bytes_received": 0}
    usage = answer.usage
    return {
        "status": answer.status,
        "first_byte_ns": answer.first_byte_ns,
        "first_output_ns": answer.first_output_ns,
        "first_visible_ns": answer.first_visible_ns,
        "last_output_ns": answer.last_output_ns,
        "events": answer.n_events,
        "output_events": answer.n_output_events,
        "first_shared": _first_shared(answer),
        "reads": answer.n_reads,
        "bytes_received": answer.bytes_received,
        "usage_input": usage.input if usage else None,
        "usage_output": usage.output if usage else None,
        "usage_reasoning": usage.reasoning if usage else None,
        "usage_cached": usage.cached if usage else None,
    }


def _first_shared(answer: Answer) -> int | None:
    """Events with the stamp of the first: more than one means that its TTFT is an upper bound."""
    stamps = answer.output_stamps
    if not stamps:
        return None
    return next((place for place, stamp in enumerate(stamps) if stamp != stamps[0]), len(stamps))


def gaps_of(answer: Answer | None) -> array[int]:
    """Times between output-bearing events, in ns."""
    if answer is None or len(answer.output_stamps) < 2:
        return array("q")
    stamps = answer.output_stamps
    return array("q", [after - before for before, after in pairwise(stamps)])


def response_of(answer: Answer) -> tuple[str | None, ...]:
    """The texts of an answer, in the order of records.RESPONSE_NAMES."""
    calls = orjson.dumps(answer.tool_calls).decode() if answer.tool_calls else None
    return (answer.text, answer.reasoning or None, calls, answer.first_text, answer.first_reasoning)
