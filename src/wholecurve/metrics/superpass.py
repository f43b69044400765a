"""A run as blocks in issue order: the series that trend tests read, and where ramp and drain lie.

A super-pass is one data-set size of requests in issue order, so every block holds the same mix of work and differences
between blocks are the system's. The window is cut on issue time: what was issued in it belongs to it, whole.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import ceil, nan

import numpy as np

from wholecurve.metrics.columns import NULL, Columns, Floats, Ints, Mask
from wholecurve.metrics.flight import flight
from wholecurve.metrics.quantile import percentile_of
from wholecurve.metrics.table import METRICS
from wholecurve.metrics.window_rules import Gate, WindowRules

_FUNCTIONS = {metric.key: metric.function for metric in METRICS}


@dataclass(frozen=True, slots=True)
class PassCut:
    """How a run is cut. pass_size: requests of a super-pass. block_size: requests of a block; blocks: how many are
    whole, the rest of the requests belongs to none. aligned: a block is a whole number of super-passes."""

    requests: int
    pass_size: int
    block_size: int
    blocks: int
    aligned: bool

    @property
    def passes(self) -> float:
        """Super-passes issued."""
        return self.requests / self.pass_size


@dataclass(frozen=True, slots=True)
class Ramp:
    """Leading blocks: [0, lead) are ramp by the load, [lead, settled) by their TPOT. reached: the load got there.

    level: the median of the back half, NaN without values.
    """

    lead: int
    settled: int
    level: float
    reached: bool


@dataclass(frozen=True, slots=True, eq=False)
class Blocks:
    """Blocks of one run, all arrays of shape (cut.blocks,) unless said.

    rows: rows of the columns in issue order, shape (requests,). starts_ns, ends_ns: first and last issue of each block.
    after_ns: issue of the first request behind the last block; what it would have been where there is none.
    series: by gate key, one percentile per block over its successes, NaN where nothing was measured.
    in_flight: share of each block that was not completed when the last request of the run was issued.
    """

    cut: PassCut
    rows: Ints
    starts_ns: Ints
    ends_ns: Ints
    series: Mapping[str, Floats]
    in_flight: Floats
    after_ns: int = 0

    def next_issue_ns(self, end: int) -> int:
        """First issue behind block `end` - 1."""
        return int(self.starts_ns[end]) if end < len(self.starts_ns) else self.after_ns

    def members(self, start: int, end: int) -> Ints:
        """Rows of the columns that were issued in blocks [start, end)."""
        return self.rows[start * self.cut.block_size : end * self.cut.block_size]

    def span_ns(self, start: int, end: int) -> int:
        """Issue-time span of blocks [start, end): first to last issue."""
        return int(self.ends_ns[start:end].max() - self.starts_ns[start:end].min())


def cut_run(requests: int, rows: int, rules: WindowRules) -> PassCut:
    """Block size of a run of `requests` over a data set of `rows`.

    With repetition (enough passes for a window) a block is one super-pass, or several where one has too few requests
    for a P90 or the run too many of them. Without, the run is cut into a fixed number of blocks of any mix: good enough
    to see a trend, never official.
    """
    size = rules.super_pass_size or max(1, rows)
    whole = requests // size
    if whole >= rules.passes_needed:
        joined = max(1, ceil(rules.min_block_requests / size), ceil(whole / rules.max_blocks))
        return PassCut(requests, size, size * joined, whole // joined, True)
    block = max(rules.min_block_requests, requests // rules.blocks_without_repetition)
    return PassCut(requests, size, block, requests // block, False)


def cut_blocks(columns: Columns, rows: int, rules: WindowRules) -> Blocks:
    """The blocks of a run. Order is `index`, the place in the issue order, whatever the order of the rows."""
    issued = np.flatnonzero(columns.known("issued_ns"))
    ordered = issued[np.argsort(columns["index"][issued], kind="stable")]
    cut = cut_run(len(ordered), rows, rules)
    shape = (cut.blocks, cut.block_size)
    grid = ordered[: cut.blocks * cut.block_size].reshape(shape)
    times, done = columns["issued_ns"][grid], columns["completed_ns"][grid]
    last = int(columns["issued_ns"][ordered].max()) if len(ordered) else 0
    values, usable = {gate.metric: _FUNCTIONS[gate.metric](columns) for gate in rules.gates}, columns.succeeded
    return Blocks(
        cut=cut,
        rows=ordered,
        starts_ns=times.min(axis=1),
        ends_ns=times.max(axis=1),
        series={gate.key: _series(values[gate.metric], usable, grid, gate) for gate in rules.gates},
        in_flight=((done == NULL) | (done > last)).mean(axis=1),
        after_ns=_after_ns(columns["issued_ns"][ordered], cut.blocks * cut.block_size),
    )


def _after_ns(issued_ns: Ints, inside: int) -> int:
    """Issue of the first request behind the first `inside` ones; where there is none, one mean gap after the last."""
    if inside < len(issued_ns):
        return int(issued_ns[inside:].min())
    if not len(issued_ns):
        return 0
    first, last = int(issued_ns.min()), int(issued_ns.max())
    return last + round((last - first) / max(1, len(issued_ns) - 1))


def ramp_blocks(columns: Columns, blocks: Blocks, rules: WindowRules, concurrency: int | None) -> Ramp:
    """Blocks that began before the load stood, and those after them whose TPOT is not yet where it ends up.

    The first are the lead of the rules and, in a closed loop, every further block that began before the target was in
    flight. The second are blocks whose driver, the first gating series, is further than a band from the median of the
    back half. Neither is more than a share of the run.
    """
    cut = blocks.cut
    most = int(cut.blocks * rules.max_ramp_share)
    lead = ceil(rules.lead_super_passes * cut.pass_size / cut.block_size) if cut.aligned else rules.lead_super_passes
    steps = flight(columns) if concurrency is not None else None
    at_target = np.flatnonzero(steps.levels >= concurrency) if steps is not None and concurrency else np.empty(0)
    if steps is not None and len(at_target):
        early = np.flatnonzero(blocks.starts_ns[1:] < steps.times[int(at_target[0])])
        lead = max(lead, int(early[-1]) + 2 if len(early) else 0)
    lead = min(lead, most)
    driver = next((blocks.series[gate.key] for gate in rules.gates if gate.gates), np.empty(0))
    back = driver[len(driver) // 2 :]
    settled, level = lead, nan
    if np.isfinite(back).any():
        level = float(np.nanmedian(back))
        steady = np.flatnonzero(np.abs(driver[lead:] - level) <= rules.ramp_band * level)
        settled = min(most, lead + int(steady[0]) if len(steady) else most)
    return Ramp(lead, settled, level, concurrency is None or len(at_target) > 0)


def drain_blocks(blocks: Blocks, start: int, rules: WindowRules) -> int:
    """Trailing blocks, after `start`, that mostly ran while no new requests came: at most half of what is left."""
    drained = blocks.in_flight[start:] > rules.tail_share
    steady = np.flatnonzero(~drained)
    trailing = len(drained) - 1 - int(steady[-1]) if len(steady) else len(drained)
    return min(trailing, len(drained) // 2)


def invariant(samples: Floats, rules: WindowRules) -> tuple[float, float, bool]:
    """(sigma / mu, |mu - median| / mu, both within the rules): whether cutting some samples leaves TPOT as it is."""
    found = samples[np.isfinite(samples)]
    mean = float(found.mean()) if len(found) else 0.0
    if mean <= 0:
        return nan, nan, False
    spread, skew = float(found.std()) / mean, abs(mean - float(np.median(found))) / mean
    return spread, skew, spread <= rules.tail_spread and skew <= rules.tail_skew


def _series(values: Ints | Floats, usable: Mask, grid: Ints, gate: Gate) -> Floats:
    found = (percentile_of(values[block][usable[block]], gate.percentile) for block in grid)
    return np.array([nan if value is None else value for value in found], dtype=np.float64)
