"""From the raw bytes of one answer, read by read, to what the request's record says of it.

Theory of operation. Bytes go through three layers, each of which works on its own and is tested on its own:

    http1.ResponseReader -> sse.EventStream -> Dialect.delta -> output.Output

Beside this general path stands a quick one for what nearly all reads of a stream are: whole chunks with one whole
`data:` event each, while both decoders are at a boundary. It tests exactly that, with few calls, and hands everything
else to the general path, chunk by chunk; where a template fits (template.py) it needs no JSON parser either. Tests
show that both paths give the same answer for every recorded stream, however it is cut.

Time. All events completed by one read get the stamp of that read. An event is output-bearing when it has visible text
(or a refusal), reasoning text, or the name or arguments of a tool call; roles, usage, comments and [DONE] are not.
A whole, non-streamed answer has no output times at all: its bytes arrive when everything is done, so calling that
moment a first token would make a wait for the last token look like a TTFT.
"""

from __future__ import annotations

from wholecurve.model.record import FailureKind
from wholecurve.wire.delta import excerpt
from wholecurve.wire.dialects import Dialect
from wholecurve.wire.errors import WireError
from wholecurve.wire.head import Head
from wholecurve.wire.http1 import SMALL_LINE, Data, Item, ResponseReader, small_chunk_size
from wholecurve.wire.output import Output
from wholecurve.wire.result import Answer
from wholecurve.wire.sse import Event, EventStream
from wholecurve.wire.template import Template, learn
from wholecurve.wire.verdict import PAGE_BYTES, Facts, judge

HEADERS_KEPT = frozenset({"content-type", "server", "x-request-id", "openai-processing-ms", "retry-after"})
# A stream whose events all differ must not pay for learning again and again: so many templates may be in vain, where
# one that served for PAID_OFF events was not.
TEMPLATES_IN_VAIN = 6
PAID_OFF = 8


class AnswerReader:
    """Reads one answer. `stream`: whether one was asked for. `max_event_bytes` also bounds a whole answer's body."""

    __slots__ = (
        "_body",
        "_body_bytes",
        "_body_limit",
        "_dead",
        "_dialect",
        "_done",
        "_events",
        "_first_ns",
        "_http",
        "_is_stream",
        "_last_ns",
        "_learn_left",
        "_learnt_at",
        "_max_event",
        "_output",
        "_problems",
        "_quick",
        "_reads",
        "_received",
        "_sse",
        "_stream",
        "_template",
    )

    def __init__(self, dialect: Dialect, *, stream: bool, max_event_bytes: int) -> None:
        self._dialect = dialect
        self._stream = stream
        self._max_event = max_event_bytes
        self._http = ResponseReader()
        self._sse = EventStream(max_event_bytes)
        self._output = Output(cumulative=dialect.cumulative)
        self._template: Template | None = None
        self._learn_left = 0 if dialect.cumulative else TEMPLATES_IN_VAIN
        self._learnt_at = 0
        self._is_stream: bool | None = None
        self._quick = False
        self._dead = False
        self._done = False
        self._body: list[bytes] = []
        self._body_bytes = 0
        self._body_limit = max_event_bytes
        self._problems: dict[FailureKind, str] = {}
        self._first_ns: int | None = None
        self._last_ns: int | None = None
        self._events = 0
        self._reads = 0
        self._received = 0

    def feed(self, data: bytes, stamp_ns: int) -> None:
        """The bytes of one socket read and its stamp. Never raises for anything that a peer can send."""
        size = len(data)
        if not size:
            return
        self._reads += 1
        self._received += size
        self._last_ns = stamp_ns
        if self._first_ns is None:
            self._first_ns = stamp_ns
        position = 0
        while position < size:
            if self._quick:
                position = self._feed_quick(data, position, stamp_ns)
                if position == size:
                    return
            if self._dead:
                return
            part = data[position : position + (self._http.bytes_to_boundary(data, position) or size)]
            position += len(part)
            self._feed_general(part, stamp_ns)

    def _feed_quick(self, data: bytes, position: int, stamp_ns: int) -> int:
        """Whole chunks of one event each, from a boundary on; returns where something else begins."""
        size = len(data)
        template = self._template
        output = self._output
        while position < size:
            newline = data.find(b"\r\n", position, position + SMALL_LINE)
            if newline < 0:
                break
            try:
                length = small_chunk_size(data[position:newline])
            except WireError:
                break
            start = newline + 2
            stop = start + length + 2
            if length < 9 or stop > size or length > self._max_event:
                break
            if template is not None and data.startswith(template.prefix, start):
                begin = start + len(template.prefix)
                end = stop - len(template.suffix)
                if begin < end and data.startswith(template.suffix, end):
                    try:
                        text = data[begin:end].decode()
                    except UnicodeDecodeError:
                        break
                    if text.isprintable() and '"' not in text and "\\" not in text:
                        (output.texts if template.is_text else output.reasonings).append(text)
                        output.stamps.append(stamp_ns)
                        self._events += 1
                        position = stop
                        continue
            if (
                not data.startswith(b"data: ", start)
                or not data.startswith(b"\n\n\r\n", stop - 4)
                or data.find(b"\n", start, stop) != stop - 4
                or data.find(b"\r", start, stop) != stop - 2
            ):
                break
            self._take(data[start + 6 : stop - 4], stamp_ns)
            template = self._template
            position = stop
        return position

    def _feed_general(self, data: bytes, stamp_ns: int) -> None:
        items: list[Item] = []
        try:
            self._http.feed_into(data, items)
        except WireError as error:
            self._note(error.kind, error.message)
            self._dead = True
        for item in items:
            if type(item) is Data:
                self._take_body(item.data, stamp_ns)
            elif type(item) is Head:
                self._begin(item)
        self._quick = bool(self._is_stream) and self._http.at_chunk and self._sse.at_boundary and not self._dead

    def _begin(self, head: Head) -> None:
        """What the head says about the body: a stream, no stream, or not known before its first byte."""
        kind = (head.header("content-type") or "").partition(";")[0].strip().lower()
        coding = (head.header("content-encoding") or "identity").strip().lower()
        if not 200 <= head.status < 300:
            self._is_stream = False
            self._body_limit = PAGE_BYTES
        elif coding != "identity":
            self._note(FailureKind.PROTOCOL, f"content-encoding {coding} was not asked for")
            self._is_stream = False
            self._body_limit = 0
        elif kind == "text/event-stream":
            self._is_stream = True
        elif not self._stream or kind in ("application/json", "text/html"):
            self._is_stream = False

    def _take_body(self, data: bytes, stamp_ns: int) -> None:
        if self._is_stream is None:
            # No telling content type: an event stream cannot begin with these, and nothing else is likely to.
            data = data.lstrip()
            if not data:
                return
            self._is_stream = data[:1] not in (b"{", b"[", b"<")
        if self._is_stream:
            for event in self._sse.feed(data):
                self._take_event(event, stamp_ns)
            return
        room = self._body_limit - self._body_bytes
        self._body_bytes += len(data)
        if room > 0:
            self._body.append(data[:room])

    def _take_event(self, event: Event, stamp_ns: int) -> None:
        over = self._done
        self._take(event.data, stamp_ns)
        if event.too_large and not over:
            message = f"an event of {event.size} bytes, the limit is {self._max_event}"
            self._note(FailureKind.EVENT_TOO_LARGE, message)
        elif event.name == "error" and not over:
            self._note(FailureKind.STREAM_ERROR, excerpt(event.data))

    def _take(self, payload: bytes, stamp_ns: int) -> None:
        """One event's data. Empty data is a keep-alive; what follows [DONE] is not part of the answer."""
        self._events += 1
        if self._done:
            return
        try:
            delta = self._dialect.delta(payload)
        except WireError as error:
            if payload.strip():
                self._note(error.kind, error.message)
            return
        if delta.done:
            self._done = True
            self._template = None
            self._learn_left = 0
            return
        if delta.error is not None:
            self._note(FailureKind.STREAM_ERROR, delta.error)
        output = self._output
        count = len(output.stamps)
        output.add(delta, stamp_ns)
        if self._learn_left and len(output.stamps) > count:
            if self._events - self._learnt_at < PAID_OFF:
                self._learn_left -= 1
            self._learnt_at = self._events
            self._template = learn(payload, delta, self._dialect.delta) or self._template

    def _note(self, kind: FailureKind, detail: str) -> None:
        """Keep the first detail of each kind."""
        self._problems.setdefault(kind, detail)

    def finish(self, *, eof: bool) -> Answer:
        """The message ended (`eof` false), or the connection was closed or cut (`eof` true): the answer, judged."""
        if eof and not self._dead:
            try:
                self._http.eof()
            except WireError as error:
                self._note(error.kind, error.message)
        body = b"".join(self._body)
        if self._is_stream:
            self._take_last()
        elif body and self._http.ended:
            self._take_whole(body)
        answer = self._result()
        found = judge(self._facts(body, eof))
        if found is not None:
            answer.failure, answer.detail = found
        return answer

    def _take_last(self) -> None:
        """The event whose closing blank line is missing: many servers forget it. Half an event is no event."""
        last = self._sse.flush()
        if last is None or self._last_ns is None:
            return
        if not last.too_large and last.name != "error":
            try:
                self._dialect.delta(last.data)
            except WireError:
                return
        self._take_event(last, self._last_ns)

    def _take_whole(self, body: bytes) -> None:
        """A body that is no stream: a whole answer, an error object, or anything else."""
        head = self._http.head
        if head is None or not 200 <= head.status < 300:
            return
        if self._body_bytes > self._body_limit:
            message = f"a body of {self._body_bytes} bytes, the limit is {self._body_limit}"
            self._note(FailureKind.EVENT_TOO_LARGE, message)
            return
        try:
            delta = self._dialect.answer(body)
        except WireError as error:
            self._note(error.kind, error.message)
            return
        if delta.error is not None:
            self._note(FailureKind.STREAM_ERROR, delta.error)
        self._output.add(delta, None)

    def _facts(self, body: bytes, eof: bool) -> Facts:
        head, output = self._http.head, self._output
        return Facts(
            status=head.status if head else None,
            reason=head.reason if head else "",
            content_type=(head.header("content-type") or "") if head else "",
            location=(head.header("location") or "") if head else "",
            asked_stream=self._stream,
            is_stream=bool(self._is_stream),
            ended=self._http.ended,
            eof=eof,
            body=body,
            events=self._events,
            has_output=output.first is not None,
            finish_reason=output.finish_reason,
            saw_done=self._done,
            usage_output=output.usage.output if output.usage else None,
            problems=self._problems,
        )

    def _result(self) -> Answer:
        head, output = self._http.head, self._output
        headers = reversed(head.headers) if head else ()  # of two values the first one stays
        first_text, first_reasoning, first_tool = output.first or ("", "", "")
        stamps = output.stamps
        return Answer(
            status=head.status if head else None,
            headers={name: value for name, value in headers if name in HEADERS_KEPT},
            ended=self._http.ended,
            first_byte_ns=self._first_ns,
            first_output_ns=stamps[0] if stamps else None,
            first_visible_ns=output.first_visible_ns,
            last_output_ns=stamps[-1] if stamps else None,
            last_byte_ns=self._last_ns,
            output_stamps=stamps,
            n_events=self._events,
            n_output_events=len(stamps),
            n_reads=self._reads,
            bytes_received=self._received,
            text="".join(output.texts),
            reasoning="".join(output.reasonings),
            tool_calls=output.calls.result(),
            refusal="".join(output.refusals),
            first_text=first_text,
            first_reasoning=first_reasoning,
            first_tool=first_tool,
            finish_reason=output.finish_reason,
            usage=output.usage,
            choices_seen=output.choices,
            saw_done=self._done,
        )
