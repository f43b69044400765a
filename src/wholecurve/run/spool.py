"""The spool: what a worker appends while it measures, and a reducer reads a moment later.

`records/spool-<worker>-<number>.bin`, a new number every SPOOL_BYTES. Frames, little-endian: u8 kind, u32 length of
what follows the head, then

- ISSUED   the request exists: serial, phase, index, scheduled, issued. Written before it is sent.
- PART     raw answer bytes of one request: serial, reads, then int64 stamps, uint32 lengths, the bytes.
- END      the request is over: serial, how, and everything the worker knows.
- RESET    forget the answer so far, the request is sent again: serial.
- FACTS    JSON: what the worker says of itself after a phase.

A stamp taken by the user-space clock is stored negated.
"""

from __future__ import annotations

import struct
from enum import IntEnum
from typing import NamedTuple

SPOOL_BYTES = 64 << 20


class Kind(IntEnum):
    """Frame kinds."""

    ISSUED = 1
    PART = 2
    END = 3
    FACTS = 4
    RESET = 5


class How(IntEnum):
    """How a request ended, as the worker saw it."""

    ENDED = 0  # the HTTP message ended
    CLOSED = 1  # the connection closed, reset or broke after it was sent
    CANCELLED = 2  # stopped by the user or a limit of the run
    FAILED = 3  # never answered: `failure` says why
    REQUEST_TIMEOUT = 4
    IDLE_TIMEOUT = 5


HEAD = struct.Struct("<BI")
ISSUED = struct.Struct("<qiqqiqqq")  # serial phase index conversation turn sample scheduled issued
PART = struct.Struct("<qI")  # serial reads
END = struct.Struct("<qBhqqqhihhqq")


class Issued(NamedTuple):
    """Payload of ISSUED. `place` is the record's `index` (a name that tuples have for something else)."""

    serial: int
    phase: int
    place: int
    conversation: int
    turn: int
    sample: int
    scheduled_ns: int
    issued_ns: int


class End(NamedTuple):
    """Payload of END; -1 where there is none. The failure's code and detail follow as UTF-8, parted by a NUL."""

    serial: int
    how: int
    worker: int
    sent_ns: int
    connect_ns: int
    completed_ns: int
    address: int
    connection: int
    reused: int
    attempts: int
    bytes_sent: int
    max_tokens: int


def frame(kind: Kind, *pieces: bytes) -> bytes:
    """One frame."""
    body = b"".join(pieces)
    return HEAD.pack(kind, len(body)) + body


def issued_frame(value: Issued) -> bytes:
    """An ISSUED frame."""
    return HEAD.pack(Kind.ISSUED, ISSUED.size) + ISSUED.pack(*value)


def end_frame(value: End, failure: str = "", detail: str = "") -> bytes:
    """An END frame."""
    return frame(Kind.END, END.pack(*value), failure.encode(), b"\0", detail.encode("utf-8", "replace"))


def split_frames(data: memoryview) -> tuple[list[tuple[int, memoryview]], int]:
    """Whole frames at the start of `data` as (kind, body), and the bytes they took."""
    frames: list[tuple[int, memoryview]] = []
    at = 0
    size = len(data)
    head = HEAD.size
    while at + head <= size:
        kind, length = HEAD.unpack_from(data, at)
        end = at + head + length
        if end > size:
            break
        frames.append((kind, data[at + head : end]))
        at = end
    return frames, at
