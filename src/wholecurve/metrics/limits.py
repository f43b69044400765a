"""Where a client is strained, and where it measures itself: one table, each row with its why."""
# ruff: noqa: E501 - a row is a line, so that the table can be read as one

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from wholecurve.model.units import NS_PER_MS, show_duration, show_percent


@dataclass(frozen=True, slots=True)
class Limit:
    """One row: the figure is `strained` above one limit and `client-limited` above the other (None: never).

    falls: trouble lies below the limit, not above. spared_by_stamps: kernel stamps are right however late user space
    reads, so with them this is `strained` above the second limit and never more.
    """

    code: str
    strained: float
    client_limited: float | None
    show: Callable[[float], str]
    sentence: str
    remedy: str
    falls: bool = False
    spared_by_stamps: bool = False


def _share(value: float) -> str:
    return show_percent(value)


def _count(value: float) -> str:
    return f"{value:.0f}"


def _number(value: float) -> str:
    return f"{value:.2f}"


# fmt: off
LIMITS: Final[tuple[Limit, ...]] = (
    # A request that starts a millisecond late is no longer the arrival process that was asked for.
    Limit("start_lag_p99_ns", 0.5 * NS_PER_MS, NS_PER_MS, show_duration, "1 % of the requests were issued more than {figure} after their schedule", "use more workers, a lower rate, or free cores"),
    # A slot that stays empty lowers the load: by 2 % where the worst of a hundred refills takes that long every time.
    Limit("refill_share", 0.02, 0.20, _share, "1 % of the free slots waited more than {figure} of an answer's time for their next request", "use more workers or free cores"),
    # 2**20 - 1 ns: the histogram knows powers of two. Without kernel stamps this goes straight into every time.
    Limit("read_lag_p99_ns", 2**20 - 1, 4 * (2**20) - 1, show_duration, "1 % of the reads were picked up late, by as much as {figure}", "use more workers or free cores", spared_by_stamps=True),
    # Only asked when reads were late. At 1 % the TTFT P99 is an upper bound, at 10 % the P90 is.
    Limit("first_shared_share", 0.01, 0.10, _share, "reads were late, and {figure} of the first tokens share the stamp of a later one: their TTFT is too long", "use more workers or free cores"),
    # Queueing grows steeply above 80 %; above 95 % there is no time left in which the process waits for the server.
    Limit("cpu_share_max", 0.80, 0.95, _share, "the busiest worker used {figure} of a core", "use more workers or a faster machine"),
    # A pause of a few milliseconds is as long as a token of a fast server.
    Limit("gc_pause_max_ns", 5 * NS_PER_MS, 50 * NS_PER_MS, show_duration, "the garbage collector stopped a worker for {figure}", "use more workers, so that each holds less", spared_by_stamps=True),
    # Above 90 % the next burst fails; at 100 % requests have failed here and not at the endpoint.
    Limit("descriptors_share", 0.90, 0.999, _share, "{figure} of the file descriptors were in use", "raise the limit (ulimit -n)"),
    Limit("ports_share", 0.90, 0.999, _share, "{figure} of the local ports were in use", "widen net.ipv4.ip_local_port_range or use several endpoint addresses"),
    # A lost answer is in no statistic, so every figure is in doubt.
    Limit("lost_requests", 0, 0, _count, "{figure} requests were lost inside the client", "look at the worker's exit, the kernel log and the free disk space, then measure again"),
    Limit("workers_not_clean", 0, 0, _count, "{figure} workers did not end cleanly", "look at the worker's exit and the kernel log, then measure again"),
    # Another concurrency than asked for is another point of the curve.
    Limit("concurrency_missing", 0, 0, _count, "the peak in flight was {figure} away from the concurrency asked for", "raise descriptors, ports or workers; see the other reasons"),
    # Below 95 % the throughput belongs to a visibly lower concurrency; below 80 % to another point.
    Limit("level_share", 0.95, 0.80, _share, "while issuing, only {figure} of the concurrency asked for was held", "use more workers or free cores; very short answers need both", falls=True),
    # Two clocks in one series: the slower one decides the tail.
    Limit("user_stamp_share", 0.01, None, _share, "{figure} of the reads have no kernel stamp", "measure over plain TCP on Linux, or read tails with care"),
    # 1 % late sends reach P99; 10 % reach P90.
    Limit("late_share", 0.01, 0.10, _share, "{figure} of the sends were more than 10 ms late", "use more workers, a lower rate, or free cores"),
    # Kernel stamps are wall time moved to the monotonic clock; a step in between moves them wrongly.
    Limit("clock_steps", 0, None, _count, "the wall clock was set {figure} times while measuring", "stop time jumps (step-free NTP) and measure again"),
    # Other programs wait for cores already: the measurement shares them.
    Limit("load_per_core", 1.0, None, _number, "the machine was busy before the run: load {figure} per core", "stop other programs"),
)
# fmt: on
