"""The shared page between supervisor, workers and reducers: 64-bit cells in anonymous memory that forks inherit.

One writer per cell (but for the issue counter and what belongs to it, which the claim lock guards), so no cell needs a
lock to be read: an aligned 64-bit store is atomic on every machine this runs on.
"""

from __future__ import annotations

import mmap
from enum import IntEnum

UNDECIDED = (1 << 62) - 1


class Global(IntEnum):
    """Cells of the whole run."""

    STOP = 0  # 0 run, 1 stop issuing and drain, 2 stop now
    PHASE = 1  # phase that may run, -1 before the first
    PHASE_START = 2  # monotonic ns of the phase's start, 0 while workers prepare
    ISSUED = 3  # conversations claimed in this phase
    STOP_AT = 4  # conversations after which issuing ends, UNDECIDED until known
    FINISH = 5  # 1: workers are gone, reducers end when they have read everything
    PHASE_ISSUE_END = 6  # monotonic ns when the last claim was refused
    LEAD_AT = 7  # monotonic ns when the sample after the lead was issued, 0 before (closed loop)
    HOLD = 8  # 1: go on issuing although the minimums of the stop rule are met
    MET_AT = 9  # monotonic ns when the rule was first met and issuing held open, 0 before
    CLOSED_AT = 10  # monotonic ns when STOP_AT was decided, 0 before


FRESH_PHASE = (
    Global.ISSUED, Global.PHASE_START, Global.PHASE_ISSUE_END, Global.LEAD_AT, Global.HOLD, Global.MET_AT,
    Global.CLOSED_AT,
)  # fmt: skip
"""Cells that begin every phase at 0."""


class Worker(IntEnum):
    """Cells of one worker."""

    READY = 0  # phase this worker is ready for
    DONE = 1  # number of phases finished
    ISSUED = 2  # requests issued in this phase
    COMPLETED = 3  # requests ended in this phase, however
    OPEN = 4  # open connections
    FAULT = 5  # errno of a fault of this machine (disk full, ...), 0 if none
    UNSENT = 6  # claimed and given back because the phase had ended


class Reducer(IntEnum):
    """Cells of one reducer; TTFT_BUCKETS follows."""

    PHASE = 0  # phase the counters are of
    SUCCEEDED = 1
    FAILED = 2
    CANCELLED = 3
    OUTPUT_EVENTS = 4
    OUTPUT_TOKENS = 5  # as the server counts
    FAULT = 6


TTFT_BUCKETS = 512
"""Live TTFT histogram: bucket = 16 * log2(µs), so each is 4.4 % wide; for the screen only."""

GLOBAL_CELLS, WORKER_CELLS, FIRST_BUCKET = 16, 16, 16
REDUCER_CELLS = FIRST_BUCKET + TTFT_BUCKETS


class Control:
    """Typed views of the shared page."""

    def __init__(self, workers: int, reducers: int) -> None:
        cells = GLOBAL_CELLS + workers * WORKER_CELLS + reducers * REDUCER_CELLS
        self._memory = mmap.mmap(-1, cells * 8)
        view = memoryview(self._memory).cast("q")
        self.run = view[:GLOBAL_CELLS]
        at = GLOBAL_CELLS
        self.workers = [view[at + i * WORKER_CELLS : at + (i + 1) * WORKER_CELLS] for i in range(workers)]
        at += workers * WORKER_CELLS
        self.reducers = [view[at + i * REDUCER_CELLS : at + (i + 1) * REDUCER_CELLS] for i in range(reducers)]
        self.run[Global.PHASE] = -1
        self.run[Global.STOP_AT] = UNDECIDED
        for worker in self.workers:
            worker[Worker.READY] = -1

    def total(self, cell: Worker) -> int:
        """Sum of a cell over all workers."""
        return sum(worker[cell] for worker in self.workers)

    def reduced(self, cell: Reducer) -> int:
        """Sum of a cell over all reducers."""
        return sum(reducer[cell] for reducer in self.reducers)

    def ttft_counts(self) -> list[int]:
        """The live TTFT histogram over all reducers."""
        counts = [0] * TTFT_BUCKETS
        for reducer in self.reducers:
            for bucket, count in enumerate(reducer[FIRST_BUCKET:]):
                counts[bucket] += count
        return counts
