"""The one clock of measuring: CLOCK_MONOTONIC nanoseconds, and kernel receive stamps moved to it.

The kernel stamps a received segment in CLOCK_REALTIME (SO_TIMESTAMPNS). Both clocks are slewed alike, so their
difference only changes when somebody steps the wall clock: it is measured again on every `refresh`, and steps are
counted. A stamp that cannot be right (from the future, or older than a minute) is refused and the reader's own clock
is used and counted instead.
"""

from __future__ import annotations

import struct
import time

monotonic_ns = time.monotonic_ns
sleep_s = time.sleep

SO_TIMESTAMPNS = 35  # asm-generic/socket.h; the socket module has no name for it
SCM_TIMESTAMPNS = SO_TIMESTAMPNS
ANCILLARY_BYTES = 64
STEP_NS = 1_000_000
"""A change of the offset beyond this is a step of the wall clock, not the error of reading two clocks."""

unpack_timespec = struct.Struct("qq").unpack


def realtime_ns() -> int:
    """CLOCK_REALTIME, for anchors and names only; never for a duration."""
    return time.time_ns()


def measure_offset_ns() -> int:
    """CLOCK_MONOTONIC minus CLOCK_REALTIME: of five tries the one whose bracket was narrowest."""
    best = (1 << 62, 0)
    for _ in range(5):
        before = time.monotonic_ns()
        real = time.time_ns()
        after = time.monotonic_ns()
        best = min(best, (after - before, (before + after) // 2 - real))
    return best[1]


class StampClock:
    """Moves kernel stamps to CLOCK_MONOTONIC; `offset_ns` is read by the engine on every stamp."""

    __slots__ = ("offset_ns", "steps")

    def __init__(self) -> None:
        self.offset_ns = measure_offset_ns()
        self.steps: list[tuple[int, int]] = []

    def refresh(self) -> None:
        """Follow the wall clock. Call a few times a second; costs about two microseconds."""
        fresh = measure_offset_ns()
        if abs(fresh - self.offset_ns) > STEP_NS:
            self.steps.append((time.monotonic_ns(), fresh - self.offset_ns))
        self.offset_ns = fresh


def anchor() -> dict[str, int]:
    """A pair of readings that ties CLOCK_MONOTONIC to wall time, for clock.json."""
    offset = measure_offset_ns()
    now = time.monotonic_ns()
    return {"monotonic_ns": now, "realtime_ns": now - offset}


def sharpen_sleep() -> None:
    """Ask the kernel for 1 µs timer slack instead of 50 µs, so that due requests go out on time."""
    try:
        with open("/proc/self/timerslack_ns", "w", encoding="ascii") as file:
            file.write("1000")
    except OSError:
        return  # not Linux, or not permitted: sends are up to 50 µs later, which start lag shows


def cpu_ns() -> int:
    """CPU time of this process, user and system."""
    return time.process_time_ns()


def wall_iso(realtime: int) -> str:
    """UTC, ISO 8601 with milliseconds."""
    seconds, ns = divmod(realtime, 1_000_000_000)
    return time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(seconds)) + f".{ns // 1_000_000:03d}Z"


def ancillary_stamp(ancillary: list[tuple[int, int, bytes]]) -> int | None:
    """The kernel's CLOCK_REALTIME receive stamp in ns, or None."""
    for level, kind, data in ancillary:
        if level == 1 and kind == SCM_TIMESTAMPNS and len(data) >= 16:
            seconds, ns = unpack_timespec(data[:16])
            return int(seconds) * 1_000_000_000 + int(ns)
    return None


def clock_info() -> dict[str, str | float]:
    """Name and resolution of the clock, for clock.json and `doctor`."""
    info = time.get_clock_info("monotonic")
    return {"implementation": info.implementation, "resolution_s": info.resolution}
