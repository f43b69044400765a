"""Incremental reading of one HTTP/1.1 response: bytes in, items out, no socket.

Theory of operation. One response is read by one reader; the state says what the next byte belongs to, and each
state has one step in `_STEPS`, which consumes what it can and returns the new position:

    HEAD -> LENGTH | CHUNK_LINE | CLOSE | DONE         (by the table in head.py; 1xx goes back to HEAD)
    CHUNK_LINE -> CHUNK_BODY -> CHUNK_END -> CHUNK_LINE ... -> TRAILER -> DONE

The same steps serve two users. `ResponseReader` hands out the data; `EndFinder` passes no list to put items into,
so that nothing is copied and only the end is found. That both agree is therefore not a matter of luck. `EndFinder`
adds one loop for the case of the hot path: whole small chunks, jumped over by arithmetic.

No length that the peer claims is ever allocated: bodies are counted down, heads and lines are bounded.
Heads may end their lines with LF alone; chunk lines must have CR LF.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple, TypeAlias

from wholecurve.model.record import FailureKind
from wholecurve.wire.errors import WireError, protocol_error
from wholecurve.wire.head import Framing, Head, lines_of, parse_head, parse_headers

MAX_CHUNK_LINE = 16 << 10
SMALL_LINE = 10  # a chunk-size line this short, CR LF included, is worth remembering

(HEAD, LENGTH, CHUNK_LINE, CHUNK_BODY, CHUNK_END, TRAILER, CLOSE, DONE) = range(8)

_BLANK_LINE = re.compile(rb"\n\r?\n")
_CHUNK_LINE = re.compile(rb"([0-9a-fA-F]{1,15})[ \t]*(?:;[^\x00\r\n]*)?")


class Data(NamedTuple):
    """Body bytes, coding undone; `end_offset` counts fed bytes up to just behind them. (A tuple: it is made often.)"""

    data: bytes
    end_offset: int


@dataclass(frozen=True, slots=True)
class End:
    """The message is complete. `surplus` bytes were fed beyond it: such a connection must not be used again."""

    trailers: tuple[tuple[str, str], ...] = ()
    surplus: int = 0


Item: TypeAlias = Head | Data | End


def parse_chunk_size(line: bytes) -> int:
    """The size in a chunk line (without CR LF); extensions are passed over. Raises WireError."""
    match = _CHUNK_LINE.fullmatch(line)
    if match is None:
        raise protocol_error("a chunk has no valid size")
    return int(match[1], 16)


# Sizes repeat from event to event. Only lines of at most SMALL_LINE bytes are asked for here, so this stays small.
small_chunk_size = lru_cache(maxsize=4096)(parse_chunk_size)


class _Framer:
    """The state machine. `out` is None when nobody wants the items."""

    __slots__ = ("_buffer", "_left", "_max_head", "_method", "_offset", "_state", "head", "surplus")

    def __init__(self, *, head_method: str = "POST", max_head_bytes: int = 65536) -> None:
        self._method = head_method
        self._max_head = max_head_bytes
        self._state = HEAD
        self._buffer = bytearray()
        self._left = 0
        self._offset = 0
        self.head: Head | None = None
        self.surplus = 0

    @property
    def ended(self) -> bool:
        """The message is complete."""
        return self._state == DONE

    @property
    def keep_alive(self) -> bool:
        """The message is complete and the connection may carry another one."""
        return self._state == DONE and self.head is not None and self.head.keep_alive and not self.surplus

    @property
    def at_chunk(self) -> bool:
        """The next byte is the first of a chunk line."""
        return self._state == CHUNK_LINE and not self._buffer

    def bytes_to_boundary(self, data: bytes, position: int) -> int:
        """How many bytes from `position` on end the head or the chunk that is read or begins there; 0 if not known."""
        if self._state == CHUNK_BODY:
            return self._left + 2
        if self._state == HEAD:
            blank = data.find(b"\r\n\r\n", position)
            return blank + 4 - position if blank >= 0 else 0
        if not self.at_chunk:
            return 0
        newline = data.find(b"\r\n", position, position + SMALL_LINE)
        try:
            size = small_chunk_size(data[position:newline]) if newline >= 0 else 0
        except WireError:
            return 0
        return newline + size + 4 - position if size else 0

    def feed_into(self, data: bytes, out: list[Item] | None) -> None:
        """Consume `data`, append items to `out`: what came before a WireError is in it."""
        position, size = 0, len(data)
        while position < size:
            position = _STEPS[self._state](self, data, position, out)
        self._offset += size

    def _finish(self, out: list[Item] | None, trailers: tuple[tuple[str, str], ...], surplus: int) -> None:
        self._state = DONE
        if out is not None:
            out.append(End(trailers, surplus))

    def _collect(self, data: bytes, position: int, what: str) -> tuple[bytes, int] | None:
        """Gather up to a blank line: (the block before it, the position behind it), or None when more is needed."""
        buffer = self._buffer
        before = len(buffer)
        buffer += data[position : position + self._max_head + 1 - before]
        match = _BLANK_LINE.search(buffer, max(0, before - 2))
        if match is None:
            if len(buffer) > self._max_head:
                raise protocol_error(f"the {what} is larger than {self._max_head} bytes")
            return None
        block = bytes(buffer[: match.start()])
        buffer.clear()
        return block, position + match.end() - before

    def _step_head(self, data: bytes, position: int, out: list[Item] | None) -> int:
        if not self._buffer:
            while position < len(data) and data[position] in b"\r\n":
                position += 1
            if position == len(data):
                return position
        start = bytes(self._buffer[:5]) + data[position : position + 5]
        if not b"HTTP/".startswith(start[:5]):
            tls = " (it looks like TLS: is this an https address?)" if start[0] in (0x15, 0x16) else ""
            raise protocol_error(f"the answer does not begin with HTTP/{tls}")
        found = self._collect(data, position, "head")
        if found is None:
            return len(data)
        head = parse_head(found[0], self._method)
        if head.status < 200:
            if head.status == 101:
                raise protocol_error("the peer switches protocols, which was not asked for")
            return found[1]
        self.head = head
        if out is not None:
            out.append(head)
        self._left = head.length or 0
        self._state = _AFTER_HEAD[head.framing]
        if self._state == DONE or (self._state == LENGTH and not self._left):
            self._finish(out, (), len(data) - found[1])
        return found[1]

    def _step_length(self, data: bytes, position: int, out: list[Item] | None) -> int:
        end = min(len(data), position + self._left)
        self._left -= end - position
        if out is not None:
            out.append(Data(data[position:end], self._offset + end))
        if not self._left:
            self._finish(out, (), len(data) - end)
        return end

    def _step_chunk_line(self, data: bytes, position: int, _out: list[Item] | None) -> int:
        newline = data.find(b"\n", position, position + MAX_CHUNK_LINE)
        stop = len(data) if newline < 0 else newline + 1
        if stop - position + len(self._buffer) > MAX_CHUNK_LINE:
            raise protocol_error("a chunk line is too long")
        self._buffer += data[position:stop]
        if newline < 0:
            return stop
        line = bytes(self._buffer)
        self._buffer.clear()
        if not line.endswith(b"\r\n"):
            raise protocol_error("a chunk line does not end with CR LF")
        self._left = parse_chunk_size(line[:-2])
        self._state = CHUNK_BODY
        if not self._left:
            self._state = TRAILER
            self._buffer += b"\n"  # so that "no trailers" is a blank line like any other
        return stop

    def _step_chunk_body(self, data: bytes, position: int, out: list[Item] | None) -> int:
        end = min(len(data), position + self._left)
        self._left -= end - position
        if out is not None:
            out.append(Data(data[position:end], self._offset + end))
        if not self._left:
            self._state, self._left = CHUNK_END, 2
        return end

    def _step_chunk_end(self, data: bytes, position: int, _out: list[Item] | None) -> int:
        if data[position] != b"\n\r"[self._left - 1]:
            raise protocol_error("a chunk is longer than its size says")
        self._left -= 1
        if not self._left:
            self._state = CHUNK_LINE
        return position + 1

    def _step_trailer(self, data: bytes, position: int, out: list[Item] | None) -> int:
        found = self._collect(data, position, "trailer")
        if found is None:
            return len(data)
        trailers = parse_headers([line for line in lines_of(found[0]) if line])
        self._finish(out, trailers, len(data) - found[1])
        return found[1]

    def _step_close(self, data: bytes, position: int, out: list[Item] | None) -> int:
        if out is not None:
            out.append(Data(data[position:], self._offset + len(data)))
        return len(data)

    def _step_done(self, data: bytes, position: int, _out: list[Item] | None) -> int:
        self.surplus += len(data) - position
        return len(data)


_STEPS: tuple[Callable[[_Framer, bytes, int, list[Item] | None], int], ...] = (
    _Framer._step_head,
    _Framer._step_length,
    _Framer._step_chunk_line,
    _Framer._step_chunk_body,
    _Framer._step_chunk_end,
    _Framer._step_trailer,
    _Framer._step_close,
    _Framer._step_done,
)
_AFTER_HEAD = {Framing.NONE: DONE, Framing.LENGTH: LENGTH, Framing.CHUNKED: CHUNK_LINE, Framing.CLOSE: CLOSE}


class ResponseReader(_Framer):
    """Reads one response into items. `head_method` is the method of the request, which decides about a body."""

    __slots__ = ()

    def feed(self, data: bytes | memoryview) -> list[Item]:
        """Items completed by these bytes. Raises WireError (PROTOCOL); the reader is then of no further use."""
        out: list[Item] = []
        self.feed_into(bytes(data), out)
        return out

    def eof(self) -> list[Item]:
        """The peer closed. Raises WireError: CLOSED_EARLY before a whole head, TRUNCATED inside a body."""
        if self._state == DONE:
            return []
        if self._state == CLOSE:
            out: list[Item] = []
            self._finish(out, (), 0)
            return out
        if self._state == HEAD:
            raise WireError(FailureKind.CLOSED_EARLY, "the connection closed before a whole answer head came")
        missing = f", {self._left} bytes short" if self._state == LENGTH else ""
        raise WireError(FailureKind.TRUNCATED, f"the connection closed in the middle of the answer{missing}")


class EndFinder(_Framer):
    """Finds the end of one response and never looks at the data; for the process that measures."""

    __slots__ = ()

    def feed(self, data: bytes) -> bool:
        """True when the message has ended. Raises WireError (PROTOCOL)."""
        state = self._state
        if (state == CHUNK_LINE and not self._buffer) or state == CHUNK_BODY:
            position, size = 0, len(data)
            if state == CHUNK_BODY:
                position = self._left + 2
                if position > size or data[position - 2 : position] != b"\r\n":
                    self.feed_into(data, None)
                    return False
                self._state = CHUNK_LINE
            while position < size:
                newline = data.find(b"\r\n", position, position + SMALL_LINE)
                if newline < 0:
                    break
                try:
                    length = small_chunk_size(data[position:newline])
                except WireError:
                    break
                after = newline + length + 4
                if not length or after > size or data[after - 2 : after] != b"\r\n":
                    break
                position = after
            else:
                return False
            if position:
                data = data[position:]
        self.feed_into(data, None)
        return self._state == DONE

    def eof(self) -> bool:
        """The peer closed: True when the message had ended, or ends thereby."""
        if self._state == CLOSE:
            self._state = DONE
        return self._state == DONE
