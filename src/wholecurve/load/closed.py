"""Closed loop: a fixed number of slots, each sending its next unit of work as soon as the last one ended.

Slots are dealt to workers like cards, so the sum is exact for any number of workers and a worker without a slot
sends nothing. The same slots cap the concurrency of an open loop.
"""

from __future__ import annotations

from collections.abc import Iterable
from heapq import heapify, heappop, heappush

from wholecurve.model.errors import InputError


def slots_of(concurrency: int, workers: int) -> tuple[int, ...]:
    """Slots of each worker; the sum is `concurrency`. 0 means none, never "no limit"."""
    return tuple(len(worker_slots(concurrency, workers, worker)) for worker in range(workers))


def worker_slots(concurrency: int, workers: int, worker: int) -> range:
    """Global slot numbers of one worker: slot s belongs to worker s mod `workers`."""
    if concurrency < 1:
        raise InputError(f"wanted a concurrency of at least 1, got {concurrency}")
    if workers < 1:
        raise InputError(f"wanted at least 1 worker, got {workers}")
    if not 0 <= worker < workers:
        raise InputError(f"wanted a worker in 0..{workers - 1}, got {worker}")
    return range(worker, concurrency, workers)


def slot_start_ns(slot: int, concurrency: int, ramp_ns: int) -> int:
    """When a slot sends its first request: spread evenly over the ramp, slot 0 at once."""
    return slot * ramp_ns // concurrency


def start_offsets(concurrency: int, ramp_ns: int) -> tuple[int, ...]:
    """Start of every slot in ns from the start of the phase; all 0 without a ramp."""
    return tuple(slot_start_ns(slot, concurrency, ramp_ns) for slot in range(concurrency))


class SlotPool:
    """The slots of one worker: which are free, and since when.

    `take` gives the slot that has been free longest, with the time it became free: that is what the plan wanted,
    so it is the request's scheduled time. `release` gives it back once, whatever the outcome was.
    """

    __slots__ = ("_busy", "_free")

    def __init__(self, starts_ns: Iterable[tuple[int, int]]) -> None:
        """`starts_ns`: pairs (time in ns from which the slot may be used, slot number)."""
        self._free = list(starts_ns)
        heapify(self._free)
        self._busy: set[int] = set()

    @classmethod
    def of_worker(cls, concurrency: int, workers: int, worker: int, ramp_ns: int) -> SlotPool:
        """The slots of one worker of a closed loop, with their starts under a ramp."""
        slots = worker_slots(concurrency, workers, worker)
        return cls((slot_start_ns(slot, concurrency, ramp_ns), slot) for slot in slots)

    @property
    def busy(self) -> int:
        """Slots in use."""
        return len(self._busy)

    def next_free_ns(self) -> int | None:
        """From when on a slot can be taken; None when all are busy (or there is none)."""
        return self._free[0][0] if self._free else None

    def take(self, elapsed_ns: int) -> tuple[int, int] | None:
        """(slot, time it became free), or None when no slot is free at `elapsed_ns`."""
        if not self._free or self._free[0][0] > elapsed_ns:
            return None
        free_since_ns, slot = heappop(self._free)
        self._busy.add(slot)
        return slot, free_since_ns

    def release(self, slot: int, elapsed_ns: int) -> None:
        """The slot's work ended at `elapsed_ns`. Raises ValueError for a slot that is not in use (a caller's bug)."""
        if slot not in self._busy:
            raise ValueError(f"slot {slot} is not in use")
        self._busy.remove(slot)
        heappush(self._free, (elapsed_ns, slot))
