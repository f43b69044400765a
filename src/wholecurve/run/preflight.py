"""Can this machine hold the load? The refusals before a run.

Descriptors and local ports are the two limits that would otherwise show up half-way, as errors of the endpoint. What
else decides how true a machine's figures are is looked at by examination.py, for `wholecurve doctor`.
"""

from __future__ import annotations

import os
import resource
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from wholecurve.load import planned_total, slots_of
from wholecurve.model.errors import SetupError
from wholecurve.model.plan import PhasePlan, Plan
from wholecurve.run.clock import sleep_s
from wholecurve.run.conn import Address

SPARE_DESCRIPTORS = 64
"""Of every process: standard streams, spool, records, epoll, libraries."""

PORT_RANGE = Path("/proc/sys/net/ipv4/ip_local_port_range")
LOADAVG = Path("/proc/loadavg")
LOOKS, LOOK_PAUSE_S = 4, 0.01
CLOCK_SOURCE = Path("/sys/devices/system/clocksource/clocksource0/current_clocksource")


@dataclass(frozen=True, slots=True)
class Preflight:
    """What was found before a run. The first six are inputs of the health verdict; None where the system does not tell.

    descriptor_limit: the soft limit of one process, after it was raised. ports_available: local ports times distinct
    destinations. notes: sentences for the user about what was changed.
    """

    cores: int
    running_before: float | None
    descriptor_limit: int | None
    ports_available: int | None
    kernel_stamps: bool
    clock_source: str | None
    notes: tuple[str, ...] = ()


def check_limits(plan: Plan, addresses: Sequence[Address], *, port_range: Path = PORT_RANGE) -> Preflight:
    """Raise the descriptor limit if that helps; refuse a concurrency that this machine cannot hold (NET-2, 3, 11).

    Raises SetupError naming what is needed and what is there, before anything is sent.
    """
    in_flight = max((most_in_flight(phase) for phase in plan.phases), default=0)
    limit, notes = ensure_descriptors(max(slots_of(in_flight, plan.workers)) if in_flight else 0)
    destinations = len({address.sockaddr for address in addresses})
    ports = local_ports(port_range)
    available = None if ports is None else ports * max(1, destinations)
    if available is not None and in_flight > available:
        raise SetupError(
            f"wanted {in_flight} connections at once, but there are {ports} local ports to each of "
            f"{destinations} endpoint address{'es' if destinations != 1 else ''}",
            where="net.ipv4.ip_local_port_range",
            hint="widen it (sysctl -w net.ipv4.ip_local_port_range='1024 65535'), give more --endpoint addresses, "
            f"or a concurrency of at most {available}",
        )
    return Preflight(
        cores=usable_cores(),
        running_before=running_tasks(),
        descriptor_limit=limit,
        ports_available=available,
        kernel_stamps=plan.kernel_stamps and sys.platform == "linux",
        clock_source=clock_source(),
        notes=notes,
    )


def most_in_flight(phase: PhasePlan) -> int:
    """Most requests that can be in flight as far as the plan says; 0 for an open loop without a cap or a count."""
    total = planned_total(phase.stop, phase.rows)
    if phase.concurrency is not None:
        return phase.concurrency if total is None else min(phase.concurrency, total)
    return 0 if total is None or phase.rate_per_s is not None else total


def ensure_descriptors(connections: int) -> tuple[int, tuple[str, ...]]:
    """Make room for so many connections in one process: (soft limit, notes). Raises SetupError if there is none."""
    needed = connections + SPARE_DESCRIPTORS
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if fits(needed, soft):
        return finite(soft), ()
    if not fits(needed, hard):
        raise SetupError(
            f"wanted {needed} file descriptors ({connections} connections in one process, {SPARE_DESCRIPTORS} more), "
            f"but the hard limit is {hard}",
            where="RLIMIT_NOFILE",
            hint=f"raise it (ulimit -Hn {needed}, or LimitNOFILE= of the service), or use more --workers "
            f"or a concurrency of at most {max(1, hard - SPARE_DESCRIPTORS)} for each worker",
        )
    try:
        resource.setrlimit(resource.RLIMIT_NOFILE, (needed, hard))
    except (OSError, ValueError) as error:
        raise SetupError(
            f"wanted {needed} file descriptors, but the soft limit is {soft} and cannot be raised ({error})",
            where="RLIMIT_NOFILE",
            hint=f"ulimit -n {needed}",
        ) from None
    return needed, (f"raised the limit of open files from {soft} to {needed} for this run",)


def fits(needed: int, limit: int) -> bool:
    """Whether a resource limit allows so many."""
    return limit == resource.RLIM_INFINITY or needed <= limit


def finite(limit: int) -> int:
    """A limit as a number; no limit is a very large one."""
    return 1 << 30 if limit == resource.RLIM_INFINITY else limit


def local_ports(path: Path = PORT_RANGE) -> int | None:
    """Local ports that can be used towards one destination; None where the system does not tell."""
    words = _read(path).split()
    if len(words) != 2 or not all(word.isdecimal() for word in words):
        return None
    return max(0, int(words[1]) - int(words[0]) + 1)


def usable_cores() -> int:
    """Cores that this process may run on."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def running_tasks(path: Path = LOADAVG) -> int | None:
    """Other tasks that want a core now: the least of a few looks, since a passing task is no load."""
    looks: list[int] = []
    for look in range(LOOKS):
        if look:
            sleep_s(LOOK_PAUSE_S)
        try:
            looks.append(int(_read(path).split()[3].partition("/")[0]) - 1)  # one of them is this process
        except (IndexError, ValueError):
            return None
    return max(0, min(looks))


def load_average() -> float | None:
    """Mean number of runnable tasks over the last minute."""
    try:
        return os.getloadavg()[0]
    except OSError:
        return None


def clock_source(path: Path = CLOCK_SOURCE) -> str | None:
    """The kernel's clock source, such as `tsc`."""
    return _read(path).strip() or None


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="ascii")
    except (OSError, UnicodeDecodeError):
        return ""
