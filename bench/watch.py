"""Runs a client on its core and watches it from outside: CPU time, memory and processes, without its help.

CPU time is that of a control group made for the client where one can be made (all processes, exact to the
nanosecond, also those that ended); else the sum over the process tree of the scheduler's run times, in which a process
that came and went between two looks is missing. Memory is PSS (pages shared by n processes count 1/n each), looked at
ten times a second. Both are sampled and read off at the moments that the server's log gives afterwards.
"""

from __future__ import annotations

import os
import signal
import subprocess
import threading
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import numpy as np

CPU_PERIOD_S = 0.01
MEMORY_EVERY = 10  # of the CPU's looks
GROUP = "wholecurve-bench"
# Run by the shell that becomes the client: into its control group, ahead of other work on its core (where the machine
# groups work by session and allows it), onto its core. All of it is inherited by the client's own processes.
PREPARE = """
echo 0 >"$1"
{ echo -15 >/proc/self/autogroup; } 2>/dev/null
core=$2
shift 2
exec taskset -c "$core" "$@"
"""


class Group:
    """A control group that counts CPU time (version 1 `cpuacct`, else version 2), or None from `make`."""

    def __init__(self, folder: Path, usage: Path, scale: int, key: str | None) -> None:
        self.folder, self.usage, self.scale, self.key = folder, usage, scale, key
        self.procs = folder / "cgroup.procs"

    @classmethod
    def make(cls) -> Group | None:
        for root, file, scale, key in (
            (Path("/sys/fs/cgroup/cpuacct"), "cpuacct.usage", 1, None),
            (Path("/sys/fs/cgroup"), "cpu.stat", 1000, "usage_usec"),
        ):
            folder = root / f"{GROUP}-{os.getpid()}"
            try:
                folder.mkdir(exist_ok=True)
                group = cls(folder, folder / file, scale, key)
                group.cpu_ns()
            except OSError:
                continue
            return group
        return None

    def cpu_ns(self) -> int:
        text = self.usage.read_text()
        if self.key is None:
            return int(text)
        return next(int(line.split()[1]) for line in text.splitlines() if line.startswith(self.key)) * self.scale

    def pids(self) -> list[int]:
        return [int(pid) for pid in self.procs.read_text().split()]

    def remove(self) -> None:
        for _ in range(50):
            try:
                self.folder.rmdir()
            except OSError:
                time.sleep(0.1)  # its last processes are still being reaped
            else:
                return


def descendants(root: int) -> list[int]:
    """The process and everything below it that still has its parent."""
    children: dict[int, list[int]] = {}
    for entry in os.scandir("/proc"):
        if entry.name.isdigit():
            try:
                fields = Path(entry.path, "stat").read_text().rpartition(")")[2].split()
            except OSError:
                continue  # it ended while we looked
            children.setdefault(int(fields[1]), []).append(int(entry.name))
    found, todo = [], [root]
    while todo:
        pid = todo.pop()
        found.append(pid)
        todo += children.get(pid, [])
    return found


def pss_kb(pid: int) -> int:
    """Proportional set size in KiB; 0 for a process that is gone."""
    try:
        for line in Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines():
            if line.startswith("Pss:"):
                return int(line.split()[1])
    except OSError:
        pass  # it ended while we looked
    return 0


class TreeCpu:
    """CPU time of a process tree by /proc, for machines where no control group can be made."""

    def __init__(self) -> None:
        self.seen: dict[str, int] = {}

    def cpu_ns(self, pids: Sequence[int]) -> int:
        for pid in pids:
            try:
                threads = os.listdir(f"/proc/{pid}/task")
                for thread in threads:
                    path = f"/proc/{pid}/task/{thread}/schedstat"
                    self.seen[path] = int(Path(path).read_text().split()[0])
            except OSError:
                continue  # it ended while we looked; what it had is kept
        return sum(self.seen.values())


@dataclass(frozen=True, slots=True)
class Watched:
    """One run of a client: when it started and ended (ns, CLOCK_MONOTONIC), its exit code, and the samples."""

    start_ns: int
    end_ns: int
    exit_code: int
    timed_out: bool
    cpu_source: str
    cpu_at_ns: tuple[int, ...]
    cpu_ns: tuple[int, ...]
    pss_peak_mb: float
    processes_peak: int

    def cpu_between_ns(self, low: int, high: int) -> float:
        """CPU time used between two moments, by linear interpolation between samples 10 ms apart."""
        at_low, at_high = np.interp([low, high], self.cpu_at_ns, self.cpu_ns)
        return float(at_high - at_low)


def run(command: Sequence[str], *, core: int, env: Mapping[str, str], log: Path, cwd: Path, limit_s: float) -> Watched:
    """Runs one client to its end (or `limit_s`), pinned to one core with all its children."""
    group = Group.make()

    at: list[int] = []
    used: list[int] = []
    peak = [0, 0]
    stop = threading.Event()
    tree = TreeCpu()

    def look() -> None:
        turn = 0
        while True:
            pids = group.pids() if group else descendants(process.pid)
            used.append(group.cpu_ns() if group else tree.cpu_ns(pids))
            at.append(time.monotonic_ns())
            if turn % MEMORY_EVERY == 0:
                peak[0] = max(peak[0], sum(map(pss_kb, pids)))
                peak[1] = max(peak[1], len(pids))
            turn += 1
            if stop.wait(CPU_PERIOD_S):
                return

    joined = str(group.procs) if group else "/dev/null"
    line = ["sh", "-c", PREPARE, "sh", joined, str(core), *command]
    timed_out = False
    with log.open("wb") as file:
        start = time.monotonic_ns()
        process = subprocess.Popen(
            line, stdout=file, stderr=file, stdin=subprocess.DEVNULL, env=dict(env), cwd=cwd, start_new_session=True
        )
        watcher = threading.Thread(target=look, daemon=True)
        watcher.start()
        try:
            process.wait(timeout=limit_s)
        except subprocess.TimeoutExpired:
            timed_out = True
        end = time.monotonic_ns()
        stop.set()
        watcher.join()
        _end_all(process, group)
    return Watched(
        start, end, process.returncode, timed_out, "control group" if group else "process tree",
        tuple(at), tuple(used), peak[0] / 1024, peak[1],
    )  # fmt: skip


def _end_all(process: subprocess.Popen[bytes], group: Group | None) -> None:
    """Ends what the client left running: only processes of its own group, by id."""
    left = group.pids() if group else [pid for pid in descendants(process.pid) if pid != process.pid]
    if process.poll() is None:
        left.append(process.pid)
    for pid in left:
        with suppress(ProcessLookupError):  # it may end by itself
            os.kill(pid, signal.SIGKILL)
    process.wait()
    if group:
        group.remove()
