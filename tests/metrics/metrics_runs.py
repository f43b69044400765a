"""Whole runs made by formula, for the tests of the steady state: columns without a server."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from metrics_build import MS, S

from wholecurve.metrics import NULL, NUMBER_COLUMNS, TEXT_COLUMNS, Columns

TOKENS = 101
"""Output tokens of every request; 100 of them after the first event."""


def requests(issued_ns: Any, tpot_ns: Any, *, ttft_ns: Any = 100 * MS, **more: Any) -> Columns:
    """Successes issued at these times, each with its TPOT; `more` sets columns by name."""
    n = len(issued_ns)
    first = np.asarray(issued_ns, dtype=np.int64) + np.asarray(ttft_ns, dtype=np.int64)
    last = first + np.rint(np.asarray(tpot_ns) * (TOKENS - 1)).astype(np.int64)
    numbers = {name: np.full(n, NULL, dtype=np.int64) for name in NUMBER_COLUMNS}
    known = {
        **dict.fromkeys(("scheduled_ns", "issued_ns", "sent_ns"), issued_ns),
        "first_output_ns": first,
        "last_output_ns": last,
        "completed_ns": last,
        "index": np.arange(n),
        "turn": 0,
        "osl": TOKENS,
        "osl_after_first": TOKENS - 1,
    }
    texts: dict[str, list[str | None]] = {name: [None] * n for name in TEXT_COLUMNS}
    texts["outcome"] = ["succeeded"] * n
    for name, values in (known | more).items():
        if name in texts:
            texts[name] = list(values)
        else:
            numbers[name] = np.broadcast_to(np.asarray(values, dtype=np.int64), n).copy()
    return Columns(numbers, texts, np.zeros(0, dtype=np.int64), np.zeros(n + 1, dtype=np.int64))


def steps(levels_ms: Sequence[float], *, per: int = 50, every_ns: int = S, noise: float = 0.01, **more: Any) -> Columns:
    """One super-pass of `per` requests at each TPOT level, one request each `every_ns`, with a little noise."""
    n = len(levels_ms) * per
    spread = 1 + noise * np.random.default_rng(11).standard_normal(n)
    return requests(np.arange(n) * every_ns, np.repeat(levels_ms, per) * MS * spread, **more)


def closed_loop(slots: int, n: int, tpot_ns: Callable[[int], float], *, stagger_ns: int = 0) -> Columns:
    """A closed loop in which slot k opens at k * stagger; TPOT depends on the requests in flight at the issue."""
    free = [(slot * stagger_ns, slot) for slot in range(slots)]
    heapq.heapify(free)
    busy: list[int] = []
    issued, paces = [], []
    for _ in range(n):
        now, slot = heapq.heappop(free)
        while busy and busy[0] <= now:
            heapq.heappop(busy)
        pace = tpot_ns(len(busy) + 1)
        end = now + 100 * MS + round(pace * (TOKENS - 1))
        heapq.heappush(busy, end)
        heapq.heappush(free, (end, slot))
        issued.append(now)
        paces.append(pace)
    return requests(np.array(issued), np.array(paces))


def reordered(columns: Columns, order: Any) -> Columns:
    """The same requests, written in another order."""
    return Columns(
        {name: values[order] for name, values in columns.numbers.items()},
        {name: [values[place] for place in order] for name, values in columns.texts.items()},
        columns.gaps_ns,
        columns.gap_offsets,
    )


def shifted(columns: Columns, by_ns: int) -> Columns:
    """The same requests at another time."""
    stamps = [name for name in columns.numbers if name.endswith("_ns") and name != "connect_ns"]
    moved = {name: np.where(columns[name] == NULL, NULL, columns[name] + by_ns) for name in stamps}
    return Columns({**columns.numbers, **moved}, columns.texts, columns.gaps_ns, columns.gap_offsets)
