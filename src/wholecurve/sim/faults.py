"""Everything a simulated endpoint can do wrong on demand, by share of requests or by request."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from wholecurve.model.errors import InputError

FAULT_HEADER = "x-sim-fault"
FAULT_FIELD = "sim_fault"


class FaultKind(StrEnum):
    """Where a fault shows: in place of an answer, in the middle of one, or in the form of a right one."""

    REFUSE = "refuse"
    BREAK = "break"
    SHAPE = "shape"


@dataclass(frozen=True, slots=True)
class Fault:
    """One fault: its name in options, the header or the body field, and what a client sees."""

    name: str
    kind: FaultKind
    meaning: str
    status: int = 200  # 0: no answer begins


FAULTS: dict[str, Fault] = {
    fault.name: fault
    for fault in (
        Fault("rate_limited", FaultKind.REFUSE, "429 with a JSON error and retry-after", 429),
        Fault("server_error", FaultKind.REFUSE, "500 with a JSON error", 500),
        Fault("unavailable", FaultKind.REFUSE, "503 with a JSON error and retry-after", 503),
        Fault("html_error", FaultKind.REFUSE, "502 with an HTML page, as a gateway sends it", 502),
        Fault("html_ok", FaultKind.REFUSE, "200 with an HTML page"),
        Fault("reset_early", FaultKind.REFUSE, "connection reset before any answer", 0),
        Fault("close_early", FaultKind.REFUSE, "connection closed before any answer", 0),
        Fault("empty_stream", FaultKind.REFUSE, "200 and no output: only the end marker, or empty content"),
        Fault("stream_error_first", FaultKind.REFUSE, "200 with an error object as the only event"),
        Fault("reset", FaultKind.BREAK, "connection reset in the middle of the answer"),
        Fault("truncated", FaultKind.BREAK, "connection closed in the middle of an event"),
        Fault("cut", FaultKind.BREAK, "body ends in order after half of the answer: no finish reason, no end marker"),
        Fault("stalled", FaultKind.BREAK, "nothing more after half of the answer; the connection stays open"),
        Fault("stream_error", FaultKind.BREAK, "error object in the middle of a 200 stream, then the end marker"),
        Fault("slow", FaultKind.SHAPE, "every token comes later and later"),
        Fault("role_early", FaultKind.SHAPE, "role-only event at once with the head"),
        Fault("crlf", FaultKind.SHAPE, "lines end with CR LF"),
        Fault("merged", FaultKind.SHAPE, "four tokens an event"),
        Fault("comments", FaultKind.SHAPE, "comment lines before and between events"),
        Fault("no_done", FaultKind.SHAPE, "no end marker"),
        Fault("no_usage", FaultKind.SHAPE, "no usage even if asked for"),
        Fault("finish_in_last", FaultKind.SHAPE, "finish reason in the event of the last token"),
    )
}


@dataclass(frozen=True, slots=True)
class FaultShare:
    """This fault for this share (0 to 1) of the requests."""

    name: str
    share: float


def parse_fault(text: str) -> FaultShare:
    """`NAME` or `NAME=SHARE` (a fraction or a percentage). Raises InputError."""
    name, equals, amount = text.partition("=")
    percent = amount.endswith("%")
    try:
        share = float(amount.rstrip("%")) / (100 if percent else 1) if equals else 1.0
    except ValueError:
        raise InputError(f"wanted a fault as NAME=SHARE such as reset=5%, got {text!r}") from None
    checked = FaultShare(name.strip(), share)
    check_faults([checked])
    return checked


def check_faults(shares: Sequence[FaultShare]) -> None:
    """Raises InputError for an unknown name, a share outside 0..1, or shares that add up to more than 1."""
    for fault in shares:
        if fault.name not in FAULTS:
            raise InputError(f"unknown fault {fault.name!r}", hint=f"known: {', '.join(FAULTS)}")
        if not 0 <= fault.share <= 1:
            raise InputError(f"share of fault {fault.name} must be between 0 and 1, got {fault.share}")
    if sum(fault.share for fault in shares) > 1 + 1e-9:
        raise InputError("shares of faults add up to more than 1")


def choose_fault(shares: Sequence[FaultShare], asked: str | None, draw: random.Random) -> Fault | None:
    """The fault of one request: the one it asks for, else one drawn by share. Raises InputError for an unknown one."""
    if asked is not None:
        check_faults([FaultShare(asked, 1.0)])
        return FAULTS[asked]
    if not shares:
        return None
    point = draw.random()
    for fault in shares:
        point -= fault.share
        if point < 0:
            return FAULTS[fault.name]
    return None
