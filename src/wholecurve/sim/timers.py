"""Calls to be made at a time, earliest first. No clock of its own."""

from __future__ import annotations

import heapq
from collections.abc import Callable


class Timers:
    """A heap of calls. Calls due at the same time are made in the order in which they were set."""

    __slots__ = ("_heap", "_serial")

    def __init__(self) -> None:
        self._heap: list[tuple[int, int, Callable[[], None]]] = []
        self._serial = 0

    def at(self, due_ns: int, action: Callable[[], None]) -> None:
        """Call `action` at `due_ns`."""
        self._serial += 1
        heapq.heappush(self._heap, (due_ns, self._serial, action))

    def next_ns(self) -> int | None:
        """The earliest due time."""
        return self._heap[0][0] if self._heap else None

    def run(self, now_ns: int) -> None:
        """Make all calls that are due."""
        while self._heap and self._heap[0][0] <= now_ns:
            heapq.heappop(self._heap)[2]()
