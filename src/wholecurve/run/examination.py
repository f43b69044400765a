"""The examination of `wholecurve doctor`: everything about this machine that decides how true its figures are.

Each check measures, says what was wanted, and what to do. It takes about a second.
"""

from __future__ import annotations

import os
import platform
import resource
import socket
import sys
import tempfile
from collections.abc import Callable, Iterable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from shutil import disk_usage

from wholecurve.model.units import NS_PER_MS, NS_PER_S, show_bytes, show_duration
from wholecurve.run.clock import (
    ANCILLARY_BYTES,
    SO_TIMESTAMPNS,
    ancillary_stamp,
    clock_info,
    measure_offset_ns,
    monotonic_ns,
    sleep_s,
)
from wholecurve.run.preflight import (
    SPARE_DESCRIPTORS,
    clock_source,
    finite,
    fits,
    load_average,
    local_ports,
    usable_cores,
)

GOOD_CLOCK_SOURCES = ("tsc", "arch_sys_counter", "kvm-clock", "hyperv_clocksource_tsc_page")
SAMPLES = 200
EARLY_NS = 50_000
"""A stamp this much in the future is more than the error of reading two clocks."""


class Grade(StrEnum):
    """From good to bad."""

    OK = "ok"
    WARNING = "warning"
    PROBLEM = "problem"


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that was looked at. `value` is the figure in `unit`, None if it could not be measured."""

    name: str
    grade: Grade
    figure: str
    wanted: str
    remedy: str = ""
    value: float | None = None
    unit: str = ""


def examine(concurrency: int, out: Path) -> tuple[Finding, ...]:
    """Look at everything once; takes about a second. `out`: folder that runs would be written to."""
    stamps = receive_stamps()
    checks: tuple[Callable[[], Iterable[Finding]], ...] = (
        lambda: (_descriptors(concurrency), _ports(concurrency, local_ports())),
        lambda: (_cores(concurrency, usable_cores()), _load(load_average(), usable_cores())),
        lambda: (_clock(clock_source()), _stamp_use(stamps), _stamp_lag(stamps)),
        lambda: (_timer(timer_errors_ns()),),
        lambda: _disk(out),
        lambda: (_system(),),
    )
    return tuple(finding for check in checks for finding in check())


def _descriptors(concurrency: int) -> Finding:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    needed = concurrency + SPARE_DESCRIPTORS
    wanted = f"{needed} for {concurrency} connections in one process"
    figure = f"{_limit(soft)}, hard limit {_limit(hard)}"
    if not fits(needed, hard):
        return Finding("file descriptors", Grade.PROBLEM, figure, wanted, f"ulimit -Hn {needed}", float(hard))
    remedy = "" if fits(needed, soft) else "none needed: a run raises the soft limit itself"
    return Finding("file descriptors", Grade.OK, figure, wanted, remedy, float(finite(soft)))


def _limit(value: int) -> str:
    return "unlimited" if value == resource.RLIM_INFINITY else str(value)


def _ports(concurrency: int, ports: int | None) -> Finding:
    wanted = f"{concurrency} to each endpoint address, and as many again where the endpoint closes connections"
    widen = "sysctl -w net.ipv4.ip_local_port_range='1024 65535'"
    if ports is None:
        return Finding("local ports", Grade.WARNING, "not known on this system", wanted)
    if ports < concurrency:
        return Finding("local ports", Grade.PROBLEM, str(ports), wanted, widen, float(ports))
    grade, remedy = (Grade.WARNING, widen) if ports < 2 * concurrency else (Grade.OK, "")
    return Finding("local ports", grade, str(ports), wanted, remedy, float(ports))


def _cores(concurrency: int, cores: int) -> Finding:
    needed = 1 + max(1, -(-concurrency // 512))
    grade = Grade.OK if cores >= needed else Grade.WARNING
    remedy = "" if grade is Grade.OK else "use a machine with more cores; the run's health verdict says if it mattered"
    return Finding("cores", grade, str(cores), f"{needed}: one for each 512 streams and one more", remedy, float(cores))


def _load(average: float | None, cores: int) -> Finding:
    wanted = "below half of the cores: nothing else is running"
    if average is None:
        return Finding("other load", Grade.WARNING, "not known on this system", wanted)
    grade = Grade.OK if average < cores / 2 else Grade.WARNING
    remedy = "" if grade is Grade.OK else "stop other programs, or wait until they have ended"
    return Finding("other load", grade, f"{average:.2f} tasks for {cores} cores", wanted, remedy, average, "tasks")


def _clock(source: str | None) -> Finding:
    wanted = f"one of {', '.join(GOOD_CLOCK_SOURCES)}"
    resolution = f"resolution {float(clock_info()['resolution_s']) * 1e9:.0f} ns"
    if source is None:
        return Finding("clock source", Grade.WARNING, f"not known, {resolution}", wanted)
    grade = Grade.OK if source in GOOD_CLOCK_SOURCES else Grade.WARNING
    remedy = "" if grade is Grade.OK else "reading it is slow; boot with clocksource=tsc if the machine allows it"
    return Finding("clock source", grade, f"{source}, {resolution}", wanted, remedy)


def receive_stamps() -> list[int]:
    """Lags in ns from the kernel's receive stamp to user space, tried over loopback TCP; empty without stamps."""
    lags: list[int] = []
    try:
        with ExitStack() as stack:
            listener = stack.enter_context(socket.create_server(("127.0.0.1", 0)))
            sender = stack.enter_context(socket.create_connection(listener.getsockname(), timeout=2.0))
            receiver = stack.enter_context(listener.accept()[0])
            receiver.settimeout(2.0)
            sender.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            receiver.setsockopt(socket.SOL_SOCKET, SO_TIMESTAMPNS, 1)
            sender.send(b"x")
            receiver.recvmsg(16, ANCILLARY_BYTES)  # the kernel turns stamping on a moment after it was asked to
            sleep_s(0.01)
            offset = measure_offset_ns()
            for _ in range(SAMPLES):
                sender.send(b"x")
                _data, ancillary, _flags, _address = receiver.recvmsg(16, ANCILLARY_BYTES)
                now = monotonic_ns()
                stamp = ancillary_stamp(ancillary)
                if stamp is not None:
                    lags.append(now - (stamp + offset))
    except OSError:
        return lags
    return lags


def _stamp_use(lags: Sequence[int]) -> Finding:
    share = len(lags) / SAMPLES
    grade = Grade.OK if share >= 0.99 else Grade.WARNING
    remedy = "" if grade is Grade.OK else "measure on Linux: without stamps a busy client delays its own clock"
    figure = f"on {100 * share:.0f} % of {SAMPLES} reads over loopback"
    return Finding("kernel stamps", grade, figure, "a stamp on every read", remedy, share)


def _stamp_lag(lags: Sequence[int]) -> Finding:
    name, wanted = "stamp to user space", "P99 below 1 ms, and never before the clock"
    if not lags:
        return Finding(name, Grade.WARNING, "not measured: no stamps", wanted)
    late = _percentile(lags, 99)
    figure = f"P50 {show_duration(_percentile(lags, 50))}, P99 {show_duration(late)}, least {show_duration(min(lags))}"
    if min(lags) < -EARLY_NS:
        remedy = "the wall clock is being moved: let it settle (chronyc tracking), then try again"
        return Finding(name, Grade.PROBLEM, figure, wanted, remedy, float(late), "ns")
    grade = Grade.OK if late < NS_PER_MS else Grade.WARNING
    remedy = "" if grade is Grade.OK else "stop other programs; stamps stay right, but the loop reads late"
    return Finding(name, grade, figure, wanted, remedy, float(late), "ns")


def timer_errors_ns(count: int = SAMPLES) -> list[int]:
    """How much later than asked a sleep of 100 µs ends, in ns."""
    errors = []
    for _ in range(count):
        start = monotonic_ns()
        sleep_s(100e-6)
        errors.append(monotonic_ns() - start - 100_000)
    return errors


def _timer(errors: Sequence[int]) -> Finding:
    late = _percentile(errors, 99)
    grade = Grade.OK if late < NS_PER_MS else Grade.WARNING
    remedy = "" if grade is Grade.OK else "stop other programs; arrivals of an open loop will be late"
    figure = f"P50 {show_duration(_percentile(errors, 50))}, P99 {show_duration(late)} late"
    return Finding("timer", grade, figure, "a sleep of 100 µs ends less than 1 ms late", remedy, float(late), "ns")


def _disk(out: Path, size: int = 16 << 20) -> Iterable[Finding]:
    """Free space, and the speed of a real, synced write."""
    folder = next((path for path in (out, *out.absolute().parents) if path.is_dir()), Path("/"))
    free = disk_usage(folder).free
    grade = Grade.OK if free >= 1 << 30 else Grade.WARNING if free >= 128 << 20 else Grade.PROBLEM
    remedy = "" if grade is Grade.OK else "free space, or choose another --out"
    yield Finding("disk free", grade, show_bytes(free), "1 GiB for long runs", remedy, float(free), "B")
    block = b"\0" * (1 << 20)
    try:
        with tempfile.TemporaryFile(dir=folder) as file:
            start = monotonic_ns()
            for _ in range(size >> 20):
                file.write(block)
            file.flush()
            os.fsync(file.fileno())
            speed = size / (monotonic_ns() - start) * NS_PER_S
    except OSError as error:
        words = f"cannot be written: {error.strerror}"
        yield Finding("disk speed", Grade.PROBLEM, words, "a folder that can be written", "choose another --out")
        return
    grade = Grade.OK if speed >= 20e6 else Grade.WARNING
    remedy = "" if grade is Grade.OK else "write to a local disk, not over the network"
    yield Finding("disk speed", grade, f"{show_bytes(speed)}/s", "20 MB/s", remedy, speed, "B/s")


def _system() -> Finding:
    libc = " ".join(platform.libc_ver()).strip() or "libc not known"
    figure = f"{platform.system()} {platform.release()}, Python {platform.python_version()}, {libc}"
    if sys.platform == "linux":
        return Finding("system", Grade.OK, figure, "Linux and Python 3.11 or newer")
    remedy = "kernel stamps and epoll need Linux; figures elsewhere are less true"
    return Finding("system", Grade.WARNING, figure, "Linux and Python 3.11 or newer", remedy)


def _percentile(values: Sequence[int], percent: int) -> int:
    """Lower order statistic, as everywhere here."""
    ordered = sorted(values)
    return ordered[max(0, -(-len(ordered) * percent // 100) - 1)]
