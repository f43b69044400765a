"""The clock of the least duration starts when the sample after the lead is issued, for any number of workers."""

from __future__ import annotations

import contextlib
from random import Random
from types import SimpleNamespace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from run_build import NS, phase, prompts, run_load

from wholecurve.load import arrivals
from wholecurve.model.plan import Pattern, PhasePlan, StopRule
from wholecurve.run.control import Control, Global
from wholecurve.run.flight import Claims
from wholecurve.testing import TruthServer


class Workers:
    """Workers that only claim and issue, on a clock of their own: claims run ahead of issuing by up to `ahead`."""

    def __init__(self, one: PhasePlan, workers: int, ahead: int) -> None:
        self.now = 1_000
        self.control = Control(workers, 1)
        self.control.run[Global.PHASE_START] = self.now
        self.ahead = ahead
        self.issued: dict[int, int] = {}
        work = prompts(one.rows)
        self._claims = [
            Claims(one, work, self.control, contextlib.nullcontext(), lambda: self.now) for _ in range(workers)
        ]
        self._ready: list[list] = [[] for _ in range(workers)]
        self.over = [False] * workers

    def step(self, worker: int, gap: int) -> None:
        """Claim until `ahead` are ready or issuing has ended, then issue one."""
        while not self.over[worker] and len(self._ready[worker]) < self.ahead:
            unit = self._claims[worker].next_unit()
            if unit is None:
                self.over[worker] = True
            else:
                unit.first = SimpleNamespace(issued_ns=-1)
                self._ready[worker].append(unit)
        self.now += gap
        if self._ready[worker]:
            unit = self._ready[worker].pop(0)
            unit.first.issued_ns = self.issued[unit.number] = self.now

    def run(self, draw: Random, most_gap: int) -> None:
        for _ in range(20_000):
            busy = [w for w in range(len(self.over)) if not self.over[w] or self._ready[w]]
            if not busy:
                return
            self.step(draw.choice(busy), draw.randint(1, most_gap))
        raise AssertionError("issuing never ended")


@settings(max_examples=150, deadline=None)
@given(
    rows=st.integers(1, 9), lead=st.integers(1, 30), least=st.integers(1, 400), workers=st.integers(1, 4),
    ahead=st.integers(1, 6), whole=st.booleans(), seed=st.integers(0, 1_000),
)  # fmt: skip
def test_it_never_ends_before_the_lead_and_the_least_duration(rows, lead, least, workers, ahead, whole, seed):
    stop = StopRule(min_duration_ns=least, lead_samples=lead, whole_passes=whole)
    run = Workers(phase(rows=rows, stop=stop), workers, ahead)
    run.run(Random(seed), 20)
    assert sorted(run.issued) == list(range(len(run.issued)))  # no hole, none twice
    assert run.control.run[Global.LEAD_AT] == run.issued[lead]
    assert run.control.run[Global.CLOSED_AT] - run.issued[lead] >= least
    assert not whole or len(run.issued) % rows == 0
    assert len(run.issued) > lead


@settings(max_examples=60, deadline=None)
@given(most=st.integers(1, 40), lead=st.integers(1, 30), workers=st.integers(1, 3), seed=st.integers(0, 1_000))
def test_a_maximum_wins_over_lead_and_hold(most, lead, workers, seed):
    stop = StopRule(min_duration_ns=10, lead_samples=lead, max_samples=most)
    run = Workers(phase(rows=7, stop=stop), workers, 2)
    run.control.run[Global.HOLD] = 1
    run.run(Random(seed), 20)
    assert len(run.issued) == most


@settings(max_examples=60, deadline=None)
@given(rows=st.integers(1, 9), held=st.integers(0, 60), workers=st.integers(1, 3), seed=st.integers(0, 1_000))
def test_a_hold_goes_on_and_its_end_is_the_end_of_a_pass(rows, held, workers, seed):
    run = Workers(phase(rows=rows, stop=StopRule(min_samples=2 * rows, whole_passes=True)), workers, 2)
    shared, draw = run.control.run, Random(seed)
    shared[Global.HOLD] = 1
    for _ in range(2 * rows + held):
        run.step(draw.randrange(workers), 3)
    assert not any(run.over)
    met_ns, claimed = shared[Global.MET_AT], shared[Global.ISSUED]
    shared[Global.HOLD] = 0
    run.run(draw, 3)
    assert len(run.issued) == max(2, -(-claimed // rows)) * rows
    if met_ns:
        assert shared[Global.MET_AT] == met_ns <= shared[Global.CLOSED_AT]
    else:
        assert len(run.issued) == 2 * rows  # let go before it was met: as if there had been no hold


@pytest.mark.parametrize("workers", [1, 3])
def test_an_open_loop_counts_by_the_plans_offsets(workers):
    stop = StopRule(min_duration_ns=2 * NS, lead_samples=11)
    one = phase(rows=5, stop=stop, pattern=Pattern.POISSON, rate_per_s=20.0, concurrency=None, arrival_seed=3)
    offsets = arrivals(one, Random(3))
    times = [next(offsets) for _ in range(200)]
    wanted = next(place for place, offset in enumerate(times) if offset - times[11] >= 2 * NS)
    run = Workers(one, workers, 2)
    run.run(Random(1), 10)  # far faster than the plan's clock: lateness and haste change nothing
    assert len(run.issued) == wanted


@pytest.mark.parametrize("workers", [1, 3])
def test_against_a_server(tmp_path, workers):
    rows, lead, least_ns = 6, 12, NS // 2
    stop = StopRule(min_duration_ns=least_ns, whole_passes=True, lead_samples=lead)
    with TruthServer(first_s=0.02, gap_s=0.01) as server:
        load = run_load(tmp_path, server.url, phase(rows=rows, concurrency=4, stop=stop), workers=workers)
    issued = [row["issued_ns"] for row in load.rows]
    assert len(load.rows) % rows == 0
    # One answer takes 50 ms: the last pass is over soon after the least duration, and not before it.
    assert least_ns - 50_000_000 <= max(issued) - issued[lead] <= least_ns + NS // 2
    assert max(issued) - min(issued) >= least_ns + 2 * 40_000_000  # three waves of four come before the clock starts
