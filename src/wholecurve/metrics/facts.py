"""What the workers and the machine report of themselves after a phase: input of the health verdict."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

LOG2_BUCKETS: Final[int] = 64


@dataclass(frozen=True, slots=True)
class WorkerFacts:
    """What one worker process says of itself for one phase.

    cpu_ns, wall_ns: CPU time used and wall time passed while the phase ran.
    read_lag_log2_ns: 64 counts of (user space saw a read - kernel stamp); slot b counts lags with `bit_length() == b`.
    gc_*: garbage collector pauses. resends: requests sent again before any byte of an answer.
    exit: `clean`, or why the process ended (`killed`, `crashed`, `signal 9`, ...).
    """

    worker: int
    cpu_ns: int
    wall_ns: int
    reads: int
    read_lag_log2_ns: tuple[int, ...]
    gc_pauses: int = 0
    gc_pause_max_ns: int = 0
    gc_pause_total_ns: int = 0
    connections_opened: int = 0
    resends: int = 0
    exit: str = "clean"


@dataclass(frozen=True, slots=True)
class MachineFacts:
    """What the machine says of itself. `None` where the system does not tell.

    running_before: other tasks that wanted a core just before the run (not the load average, which remembers a minute).
    ports_available: local ports times distinct destinations. descriptors_peak: the fullest worker's.
    clock_source: the kernel's clock source (`tsc`, ...). clock_steps: steps of wall time seen while measuring.
    """

    cores: int | None
    running_before: float | None
    descriptor_limit: int | None
    descriptors_peak: int | None
    ports_available: int | None
    ports_used: int | None
    kernel_stamps: bool
    clock_source: str | None
    clock_steps: int
