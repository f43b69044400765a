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

    def poll(self, timeout_s: float) -> list[tuple[int, int]]:
        """Ready descriptors with their masks; waits whole milliseconds, rounded up."""


class _Poll:
    """`poll` in place of epoll, where there is none."""

    def __init__(self) -> None:
        self._poll = select.poll()
        self.register = self._poll.register
        self.modify = self._poll.modify
        self.unregister = self._poll.unregister

    def poll(self, timeout_s: float) -> list[tuple[int, int]]:
        return self._poll.poll(timeout_s * 1000)


def make_poller() -> Poller:
    """The best there is on this system."""
    if hasattr(select, "epoll"):
        return select.epoll()
    return _Poll()
