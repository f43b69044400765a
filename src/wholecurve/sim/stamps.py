"""Times of a server's loop: kernel receive stamps, and waiting for sockets with more than millisecond resolution."""

from __future__ import annotations

import contextlib
import select
import selectors
import socket
import struct
import sys
import time
from collections.abc import Iterable
from pathlib import Path

_SO_TIMESTAMPNS = 35
_TIMESPEC = struct.Struct("qq")
ANCILLARY_BYTES = 64


def enable_stamps(sock: socket.socket) -> None:
    """Ask the kernel for receive stamps, where it has them."""
    if sys.platform == "linux":
        with contextlib.suppress(OSError):
            sock.setsockopt(socket.SOL_SOCKET, _SO_TIMESTAMPNS, 1)


def arrival_ns(ancillary: Iterable[tuple[int, int, bytes]]) -> int:
    """The kernel's receive stamp, moved from CLOCK_REALTIME to CLOCK_MONOTONIC; else the clock now."""
    now = time.monotonic_ns()
    for level, kind, data in ancillary:
        if level == socket.SOL_SOCKET and kind == _SO_TIMESTAMPNS and len(data) >= _TIMESPEC.size:
            seconds, nanoseconds = _TIMESPEC.unpack_from(data)
            stamp: int = seconds * 1_000_000_000 + nanoseconds + now - time.time_ns()
            return min(stamp, now)
    return now


def fine_timers() -> None:
    """Let this process sleep to the microsecond where the system allows it."""
    with contextlib.suppress(OSError):
        Path("/proc/self/timerslack_ns").write_text("1000")


class Waiter:
    """Waits on a selector until a socket is ready or a time has come.

    A selector's own time-out is rounded up to a millisecond; `select` on its descriptor is not.
    """

    def __init__(self, selector: selectors.BaseSelector) -> None:
        self._selector = selector
        number = getattr(selector, "fileno", lambda: -1)()
        self._descriptors = [number] if 0 <= number < 1024 else []

    def wait(self, until_ns: int | None) -> list[tuple[selectors.SelectorKey, int]]:
        """Ready sockets; an empty list at `until_ns`. None waits without end."""
        if until_ns is None:
            return self._selector.select(None)
        left = until_ns - time.monotonic_ns()
        if left <= 0:
            return self._selector.select(0)
        if not self._descriptors:
            return self._selector.select(left / 1e9)
        ready, _, _ = select.select(self._descriptors, [], [], left / 1e9)
        return self._selector.select(0) if ready else []
