"""Incremental decoding of an event stream (`text/event-stream`): bytes in, events out.

Theory of operation. Bytes are cut into lines at CR LF, CR or LF; a CR ends a line at once and an LF right behind it is
passed over, also when it comes with the next bytes. Lines are cut before anything is decoded, so a character or a
field may be cut anywhere. A blank line ends the block of an event:

    : anything          comment, no part of any event
    data: value         one line of data; lines are joined with LF; exactly one space behind the colon is removed
    event: name         the event's name
    id: / retry:        kept as `last_id` and `retry_ms` of the stream
    anything else       ignored, as the format says

A block without data is no event. A block larger than the limit is counted but not kept, and comes out as an event
marked `too_large` with its size, so that events before it in the same bytes are not lost.
"""

from __future__ import annotations

import re
from typing import NamedTuple

_LINE_END = re.compile(rb"\r\n|\n|\r")
_BOM = b"\xef\xbb\xbf"


class Event(NamedTuple):
    """One event. `end_offset`: fed bytes up to just behind what completed it. `size`: bytes of its block."""

    data: bytes
    name: str | None
    end_offset: int
    size: int
    too_large: bool = False


class EventStream:
    """One event stream; `max_event_bytes` bounds a block of lines and the memory kept for it."""

    __slots__ = ("_after_cr", "_data", "_fresh", "_max", "_name", "_offset", "_parts", "_size", "last_id", "retry_ms")

    def __init__(self, max_event_bytes: int) -> None:
        self._max = max_event_bytes
        self._parts: list[bytes] = []
        self._data: list[bytes] = []
        self._name: str | None = None
        self._size = 0
        self._offset = 0
        self._after_cr = False
        self._fresh = True
        self.last_id: str | None = None
        self.retry_ms: int | None = None

    @property
    def at_boundary(self) -> bool:
        """Nothing is pending: the next byte begins a block, and not the first one of the stream."""
        return not (self._size or self._after_cr or self._fresh)

    def feed(self, data: bytes) -> list[Event]:
        """Events completed by these bytes, in order."""
        events: list[Event] = []
        if not data:
            return events
        position = 1 if self._after_cr and data[0] == 10 else 0
        self._after_cr = data[-1] == 13
        for match in _LINE_END.finditer(data, position):
            stop = match.start()
            line = data[position:stop]
            self._size += stop + 1 - position  # the LF of a CR LF may come later and is never counted
            position = match.end()
            if self._parts:
                self._parts.append(line)
                line = b"".join(self._parts)
                self._parts.clear()
            if self._fresh:
                self._fresh = False
                line = line.removeprefix(_BOM)
            if not line:
                event = self._close_block(self._offset + stop + 1)
                if event is not None:
                    events.append(event)
            elif self._size <= self._max:
                self._field(line)
        if position < len(data):
            self._keep(data[position:])
        self._offset += len(data)
        return events

    def flush(self) -> Event | None:
        """The stream is over: the event whose closing blank line is missing, if there is one."""
        line = b"".join(self._parts)
        self._parts.clear()
        if line and self._size <= self._max:
            self._field(line.removeprefix(_BOM) if self._fresh else line)
        return self._close_block(self._offset)

    def _keep(self, rest: bytes) -> None:
        """Keep the beginning of a line; beyond the limit only a mark that makes the line a comment."""
        self._size += len(rest)
        if self._size > self._max:
            self._parts[:] = [b":"]
            self._data.clear()
        else:
            self._parts.append(rest)

    def _field(self, line: bytes) -> None:
        field, _, value = line.partition(b":")
        if value[:1] == b" ":
            value = value[1:]
        if field == b"data":
            self._data.append(value)
        elif field == b"event":
            self._name = value.decode("utf-8", "replace") or None
        elif field == b"id" and b"\0" not in value:
            self.last_id = value.decode("utf-8", "replace")
        elif field == b"retry" and value.isdigit() and len(value) <= 15:
            self.retry_ms = int(value)

    def _close_block(self, end_offset: int) -> Event | None:
        data, name, size = self._data, self._name, self._size
        self._data, self._name, self._size = [], None, 0
        if size > self._max:
            return Event(b"", name, end_offset, size, True)
        return Event(b"\n".join(data), name, end_offset, size) if data else None
