"""Readiness: epoll on Linux, poll elsewhere, behind one shape."""

from __future__ import annotations

import select
from typing import Protocol

READ, WRITE, GONE = 1, 4, 24  # POLLIN, POLLOUT, POLLERR | POLLHUP: the same numbers in poll and epoll


class Poller(Protocol):
    """What the engine needs of the operating system."""

    def register(self, descriptor: int, mask: int) -> None:
        """Begin to watch."""

    def modify(self, descriptor: int, mask: int) -> None:
        """Watch for something else."""

    def unregister(self, descriptor: int) -> None:
        """Stop watching."""

    def poll(self, timeout: float, maxevents: int = -1, /) -> list[tuple[int, int]]:
        """Ready descriptors with their masks, no more than asked for; waits whole milliseconds, rounded up."""


class _Poll:
    """`poll` in place of epoll, where there is none."""

    def __init__(self) -> None:
        self._poll = select.poll()
        self.register = self._poll.register
        self.modify = self._poll.modify
        self.unregister = self._poll.unregister

    def poll(self, timeout: float, _maxevents: int = -1, /) -> list[tuple[int, int]]:
        return self._poll.poll(timeout * 1000)


def make_pollers() -> tuple[Poller, Poller, int]:
    """(the one to wait on, an express lane within it, the lane's descriptor).

    Whatever waits in the express lane can be served before the rest of a long queue. Where there is no epoll, both are
    the same, and the descriptor is -1.
    """
    if not hasattr(select, "epoll"):
        both = _Poll()
        return both, both, -1
    main, express = select.epoll(), select.epoll()
    main.register(express.fileno(), READ)
    return main, express, express.fileno()
