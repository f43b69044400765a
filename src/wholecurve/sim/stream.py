"""One answer under way in the simulated endpoint, and one peer's connection."""

from __future__ import annotations

import selectors
import socket
from collections.abc import Iterator

from wholecurve.sim.answer import Answer
from wholecurve.sim.ask import Ask
from wholecurve.sim.events import Envelope, Form, token_events
from wholecurve.sim.faults import Fault, FaultKind
from wholecurve.sim.http1 import RequestParser
from wholecurve.sim.options import SimOptions
from wholecurve.sim.stamps import enable_stamps
from wholecurve.sim.truthlog import TruthLine
from wholecurve.sim.words import WordSequence

MERGED_TOKENS = 4


class Peer:
    """One connection. `stream` is the request being answered, `out` what its socket did not take yet."""

    __slots__ = ("closing", "number", "open", "out", "parser", "sock", "stream", "watch")

    def __init__(self, sock: socket.socket, number: int) -> None:
        sock.setblocking(False)
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        enable_stamps(sock)
        self.sock = sock
        self.number = number
        self.parser = RequestParser()
        self.out = bytearray()
        self.stream: Stream | None = None
        self.closing = False
        self.open = True
        self.watch = selectors.EVENT_READ


class Stream:
    """One answer: `place` tokens are out; at `fault_at` of them it breaks, if it is to break.

    `apart`: its tokens need more than to be sent one by one.
    """

    __slots__ = ("answer", "apart", "ask", "cached", "envelope", "events", "fault", "fault_at", "line", "peer", "place")

    def __init__(
        self,
        peer: Peer,
        ask: Ask,
        answer: Answer,
        fault: Fault | None,
        line: TruthLine,
        form: Form,
        words: WordSequence,
        created: int,
    ) -> None:
        self.peer = peer
        self.ask = ask
        self.answer = answer
        self.fault = fault
        self.line = line
        self.place = 0
        self.cached = 0
        self.fault_at = -1
        if fault is not None and fault.kind is FaultKind.BREAK:
            self.fault_at = answer.tokens // 2
        kind = "chatcmpl" if ask.chat else "cmpl"
        ident = f"{kind}-{line.request_id}"
        self.envelope = Envelope(ask, answer, form, ident, created, words, lambda: self.cached)
        self.apart = not ask.stream or fault is not None or form.tokens_per_event > 1
        self.events: Iterator[bytes] = token_events(self.envelope)

    def has(self, fault: str) -> bool:
        """Whether this is the answer's fault."""
        return self.fault is not None and self.fault.name == fault


def form_for(options: SimOptions, fault: Fault | None) -> Form:
    """The form of the events under these options and this fault."""
    name = fault.name if fault is not None else ""
    return Form(
        crlf=name == "crlf",
        tokens_per_event=max(options.tokens_per_event, MERGED_TOKENS if name == "merged" else 1),
        done=name != "no_done",
        usage=name != "no_usage",
        finish_in_last=name == "finish_in_last",
        comments=name == "comments",
        reasoning_field=options.reasoning_field,
    )
