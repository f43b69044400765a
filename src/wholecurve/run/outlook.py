"""Looking for the steady window beside the load: what has ended so far, and what it will be when issuing ends.

Runs in a child of the supervisor at the lowest priority (run/hold.py). It follows the row journals, takes the longest
beginning of the issue order in which every request has ended, cut to whole passes, and asks `metrics.steady_state`.

The reference tokenizer runs after the load only. So TPOT is looked at with the server's usage, as far as the answers
have one, and else with the output events after the first as its divisor. Either moves its level, hardly ever its
steadiness; official figures never come from here.
"""

from __future__ import annotations

import io
import os
from array import array
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from math import sqrt
from pathlib import Path

import numpy as np

from wholecurve.load import sample_floor
from wholecurve.metrics import (
    NULL,
    NUMBER_COLUMNS,
    TEXT_COLUMNS,
    Columns,
    Coverage,
    SteadyState,
    WindowRules,
    steady_state,
    window_rules,
)
from wholecurve.metrics.columns import Ints
from wholecurve.metrics.trend import relative_change
from wholecurve.model.plan import PhasePlan, Plan
from wholecurve.model.units import NS_PER_S
from wholecurve.records import NUMBER_NAMES, TEXT_NAMES, journal_files, places, read_row
from wholecurve.run.clock import cpu_ns, monotonic_ns, sleep_s
from wholecurve.run.control import Control, Global, Worker
from wholecurve.run.hold import Look

READ_BYTES = 4 << 20
LOOK_EVERY_NS = NS_PER_S // 4
COST_SHARE = 0.1
"""Most of one core's time that looks may take."""
MISSING_SHARE = 0.25
"""The next look comes after so much of the time that the window lacks."""
FEWEST_SEEN = 3
"""Blocks of the window that must have been seen before it is taken to go on."""
SEEN_SHARE = 0.5
"""Share of its least duration that must have been seen."""
SLACK = 0.05
"""How much faster or slower than so far the rest may go,"""
SPREAD = 2.0
"""and by how many standard deviations a count of independent answers may be off besides (the root of the count)."""
NOT_FOR_LONG = "the steady window would not last until the end of what is under way"

_KEPT = (
    "index", "turn", "issued_ns", "sent_ns", "first_output_ns", "last_output_ns", "completed_ns", "output_events",
    "usage_output",
)  # fmt: skip
"""Columns that a look reads. The others stay empty: a long run has many rows."""
_STAMPS = tuple(name for name in _KEPT if name.endswith("_ns"))
_PLACES = tuple(NUMBER_NAMES.index(name) for name in _KEPT)
_OUTCOME = TEXT_NAMES.index("outcome")


@dataclass(frozen=True, slots=True)
class Situation:
    """The load at the time of a look. claimed: places of the issue order given out, issued: sent of them.

    clock_ns: when the clock of the stop rule's least duration started, None while the lead is not over.
    """

    now_ns: int
    claimed: int
    issued: int
    clock_ns: int | None


class Finished:
    """Rows of one phase in the journals, read on as they grow. A row that is not whole yet is read the next time."""

    def __init__(self, records: Path, phase: int) -> None:
        self._records = records
        self._phase = phase
        self._read: dict[Path, int] = {}
        self._numbers = {name: array("q") for name in _KEPT}
        self._outcomes: list[str | None] = []

    def read_on(self) -> None:
        """Read what is new."""
        for path in journal_files(self._records):
            with path.open("rb") as file:
                size = READ_BYTES
                while True:
                    file.seek(self._read.get(path, 0))
                    data = file.read(size)
                    used = self._take(data)
                    self._read[path] = self._read.get(path, 0) + used
                    if len(data) < size:
                        break
                    size = READ_BYTES if used else 2 * size  # one row larger than a read

    def _take(self, data: bytes) -> int:
        """Keep the whole rows of `data`; the bytes they took."""
        used, file = 0, io.BytesIO(data)
        phase_place = NUMBER_NAMES.index("phase")
        for place in list(places(file)):
            row = read_row(file, place.offset)
            used = file.tell()
            if row.numbers[phase_place] == self._phase:
                for name, at in zip(_KEPT, _PLACES, strict=True):
                    self._numbers[name].append(row.numbers[at])
                self._outcomes.append(row.texts[_OUTCOME])
        return used

    def beginning(self) -> Columns:
        """The longest beginning of the issue order in which every request has ended, in issue order."""
        index = np.array(self._numbers["index"], dtype=np.int64)
        found, rows = np.unique(index, return_index=True)
        holes = np.flatnonzero(found != np.arange(len(found)))
        rows = rows[: holes[0]] if len(holes) else rows
        numbers = {name: np.array(values, dtype=np.int64)[rows] for name, values in self._numbers.items()}
        nothing = np.full(len(rows), NULL, dtype=np.int64)
        if not (numbers["usage_output"] != NULL).any():
            numbers["usage_output"] = numbers["output_events"]
        outcomes = [self._outcomes[row] for row in rows.tolist()]
        return Columns(
            numbers={name: numbers.get(name, nothing) for name in NUMBER_COLUMNS},
            texts={name: outcomes if name == "outcome" else [None] * len(rows) for name in TEXT_COLUMNS},
            gaps_ns=np.zeros(0, dtype=np.int64),
            gap_offsets=np.zeros(len(rows) + 1, dtype=np.int64),
        )


def follow(records: Path, plan: Plan, number: int, control: Control, tell: Callable[[Look], object]) -> None:
    """Look again and again and tell what was found, until the process is ended, its parent is gone or all is said."""
    phase, rules = plan.phases[number], window_rules(plan.rules)
    finished, parent = Finished(records, number), os.getppid()
    while os.getppid() == parent:
        spent_ns = cpu_ns()
        finished.read_on()
        columns = finished.beginning()
        found = look(columns, phase, rules, _situation(control, phase))
        tell(found)
        if found.settled:
            return
        cost_ns = cpu_ns() - spent_ns
        pause_ns = max(LOOK_EVERY_NS, round(cost_ns / COST_SHARE), round(MISSING_SHARE * found.missing_ns))
        again_ns = monotonic_ns() + pause_ns
        while monotonic_ns() < again_ns and os.getppid() == parent:
            sleep_s(0.05)


def _situation(control: Control, phase: PhasePlan) -> Situation:
    run = control.run
    clock_ns = run[Global.LEAD_AT] if phase.stop.lead_samples else run[Global.PHASE_START]
    return Situation(monotonic_ns(), run[Global.ISSUED], control.total(Worker.ISSUED), clock_ns or None)


def look(columns: Columns, phase: PhasePlan, rules: WindowRules, now: Situation) -> Look:
    """Judge what has ended (as of `Finished.beginning`), and what the window will be where issuing ends by itself."""
    whole = columns.n // (size := rules.super_pass_size or phase.rows)
    if not whole:
        return Look(0, False, False, rules.min_duration_ns, "no pass of the data set has ended yet")
    done = columns.where(np.arange(columns.n) < whole * size)
    state = _state(done, phase, rules)
    if state.status is None:
        return Look(whole, False, True, 0, state.reason)
    enough, missing_ns = forecast(done, phase, rules, now)
    return Look(whole, enough, False, missing_ns, None if enough else state.reason or NOT_FOR_LONG)


def _state(columns: Columns, phase: PhasePlan, rules: WindowRules) -> SteadyState:
    return steady_state(columns, rules, rows=phase.rows, pattern=phase.pattern, concurrency=phase.concurrency)


def forecast(done: Columns, phase: PhasePlan, rules: WindowRules, now: Situation) -> tuple[bool, int]:
    """(whether the window will be long enough where issuing ends if it is not held, ns until it can be long enough).

    done: whole passes that have ended. What is under way is taken to be like the last of them, and the whole judged as
    it will be after the run. That is believed if a good part of the window has been seen, and no trend in that part
    would come to count if it went on.
    """
    size = rules.super_pass_size or phase.rows
    times = Times(done, now)
    end = max(done.n, issue_end(phase, now, times.pace_ns, times.lump_ns))
    if end > 2 * done.n:
        return False, max(0, times.of(end // 2) - now.now_ns)
    slack_ns = times.slack_ns(end)
    strict = replace(rules, min_duration_ns=rules.min_duration_ns + slack_ns)
    state = _state(project(done, size, end, times, phase.concurrency or 0), phase, strict)
    assert state.cut is not None
    block, least_ns = state.cut.block_size, strict.min_duration_ns
    least_ns = max(least_ns, round(rules.min_super_passes * block * times.pace_ns))
    if state.status is not Coverage.WINDOWABLE or state.window is None:
        last = state.cut.blocks - state.drain_blocks
        open_end = state.plateaus[-1] if state.plateaus and state.plateaus[-1].end == last else None
        start_ns = times.of((open_end.start if open_end and state.cut.aligned else last) * block)
        return False, max(0, start_ns + least_ns + round(state.drain_blocks * block * times.pace_ns) - now.now_ns)
    plateau = state.window.plateau
    seen = min(plateau.end, done.n // block) - plateau.start
    seen_ns = times.of((plateau.start + seen) * block - 1) - times.of(plateau.start * block) if seen > 0 else 0
    if seen < min(FEWEST_SEEN, plateau.end - plateau.start) or seen_ns < SEEN_SHARE * rules.min_duration_ns:
        return False, max(0, round(SEEN_SHARE * rules.min_duration_ns) - seen_ns)
    growth = (plateau.end - plateau.start) / seen
    level = all(_is_level(state.series[key][plateau.start :][:seen], growth, rules) for key in plateau.levels)
    return level, 0 if level else round(size * times.pace_ns)


def _is_level(values: Sequence[float | None], growth: float, rules: WindowRules) -> bool:
    """True if the trend of a gating series, carried on until it is `growth` times as long, stays below what counts.

    Without growth the rules themselves have judged it.
    """
    change = relative_change(np.array(values, dtype=np.float64))
    return growth <= 1 or (change is not None and abs(change) * growth < rules.min_change)


def project(done: Columns, size: int, end: int, times: Times, slots: int) -> Columns:
    """`done` and behind it, up to place `end`, copies of its last pass that are issued when `times` says.

    The last `slots` of them end after the last issue: that many are under way then, and count as drain.
    """
    if end <= done.n:
        return done
    later = np.arange(done.n, end)
    rows = np.concatenate((np.arange(done.n), done.n - size + (later - done.n) % size))
    moved = np.zeros(end, dtype=np.int64)
    moved[done.n :] = times.at(later) - done["issued_ns"][rows[done.n :]]
    numbers = {name: values[rows] for name, values in done.numbers.items()}
    for name in _STAMPS:
        numbers[name] = np.where(numbers[name] == NULL, NULL, np.where(numbers[name] == NULL, 0, numbers[name]) + moved)
    numbers["index"] = np.arange(end)
    last = slice(max(done.n, end - slots), end)
    numbers["completed_ns"][last] = np.maximum(numbers["completed_ns"][last], numbers["issued_ns"].max() + 1)
    return Columns(
        numbers=numbers,
        texts={name: [values[row] for row in rows.tolist()] for name, values in done.texts.items()},
        gaps_ns=np.zeros(0, dtype=np.int64),
        gap_offsets=np.zeros(end + 1, dtype=np.int64),
    )


class Times:
    """When each place of the issue order was or will be issued: recorded, between, or by the pace so far.

    pace_ns: mean time between issues over the later half of what has ended, where the ramp is over; lump_ns: the
    longest. Where slots refill together, a pass begins and ends with a lump, so much earlier than its pace says.
    """

    def __init__(self, done: Columns, now: Situation) -> None:
        self._issued_ns, self._now = done["issued_ns"], now
        half = self._issued_ns[done.n // 2 :] if done.n > 2 else self._issued_ns
        self.pace_ns = max(1.0, float(half[-1] - half[0]) / max(1, len(half) - 1))
        self.lump_ns = int(np.diff(np.sort(half)).max()) if len(half) > 1 else 0

    def at(self, places: Ints) -> Ints:
        """Monotonic ns of each place; of what is not issued yet, as the pace says."""
        known, now = len(self._issued_ns), self._now
        result = now.now_ns + (places - now.issued + 1) * self.pace_ns
        if now.issued > known:
            last_ns = int(self._issued_ns[-1])
            per_place = (now.now_ns - last_ns) / (now.issued - known)
            result = np.where(places < now.issued, last_ns + (places - known + 1) * per_place, result)
        recorded = self._issued_ns[np.minimum(places, known - 1)]
        times: Ints = np.where(places < known, recorded, result.astype(np.int64))
        return times

    def slack_ns(self, end: int) -> int:
        """How much earlier than `at` says the last of `end` places may be issued."""
        if end <= len(self._issued_ns):
            return 0
        count = max(0, end - self._now.issued)
        return self.lump_ns + round((SLACK * count + SPREAD * sqrt(count)) * self.pace_ns)

    def of(self, place: int) -> int:
        """`at` for one place."""
        return int(self.at(np.array([place]))[0])


def issue_end(phase: PhasePlan, now: Situation, pace_ns: float, lump_ns: int) -> int:
    """Requests that will have been issued when issuing ends by the stop rule, if it is not held: rather too few.

    The clock of the rule runs on while no slot is free, so nothing may be issued for as long as `lump_ns`.
    """
    rule, rows = phase.stop, phase.rows
    least = max(now.claimed, sample_floor(rule, rows) or 0)
    if rule.min_duration_ns:
        lead_ns = round((rule.lead_samples - now.issued + 1) * pace_ns) if now.clock_ns is None else 0
        clock_ns = now.now_ns + max(0, lead_ns) if now.clock_ns is None else now.clock_ns
        left_ns = clock_ns + rule.min_duration_ns - now.now_ns - lump_ns
        count = max(0.0, left_ns / pace_ns)
        least = max(least, now.claimed + int(count / (1 + SLACK) - SPREAD * sqrt(count)))
    if rule.whole_passes:
        least = -(-least // rows) * rows
    return least if rule.max_samples is None else min(least, rule.max_samples)
