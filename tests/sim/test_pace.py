"""A simulated engine whose speed changes: the factor in cases one can check in the head, and real steps."""

import itertools
import random
from dataclasses import replace
from typing import Any

import pytest

from wholecurve.model.errors import InputError
from wholecurve.sim import PROFILES, Engine, Job, Pace, SimOptions
from wholecurve.sim.pace import Captures

SECOND = 1_000_000_000
MINUTE = 60 * SECOND
STEADY = replace(PROFILES["small"], step_ns=10_000_000, decode_ns=0, prefill_ns=0, context_ns=0.0, jitter=0.0)


def test_no_pace_is_even() -> None:
    assert Pace().even
    assert Pace(ramp_ns=SECOND, ramp_times=1).even
    assert Pace().factor(since_first_ns=MINUTE, since_rest_ns=0) == 1
    assert not Pace(drift_per_min=0.1).even
    assert not Pace(ramp_ns=1).even
    assert Pace(shift_ns=SECOND).even
    assert not Pace(shift_times=2).even
    assert Pace(capture_steps=9, capture_times=1).even
    assert not Pace(capture_steps=1).even


@pytest.mark.parametrize(("minutes", "factor"), [(0, 1.0), (1, 1.5), (2, 2.0), (10, 6.0)])
def test_drift(minutes: int, factor: float) -> None:
    assert Pace(drift_per_min=0.5).factor(since_first_ns=minutes * MINUTE, since_rest_ns=MINUTE) == factor


def test_a_drift_that_makes_faster_has_an_end() -> None:
    pace = Pace(drift_per_min=-0.5)
    assert pace.factor(since_first_ns=MINUTE, since_rest_ns=MINUTE) == 0.5
    assert pace.factor(since_first_ns=99 * MINUTE, since_rest_ns=MINUTE) == 0.1


@pytest.mark.parametrize(("seconds", "factor"), [(0, 5.0), (1, 4.0), (2, 3.0), (4, 1.0), (9, 1.0)])
def test_ramp(seconds: int, factor: float) -> None:
    pace = Pace(ramp_ns=4 * SECOND, ramp_times=5)
    assert pace.factor(since_first_ns=seconds * SECOND, since_rest_ns=seconds * SECOND) == factor


@pytest.mark.parametrize(("seconds", "factor"), [(0, 1.0), (2.999, 1.0), (3, 0.5), (99, 0.5)])
def test_shift(seconds: float, factor: float) -> None:
    pace = Pace(shift_ns=3 * SECOND, shift_times=0.5)
    assert pace.factor(since_first_ns=round(seconds * SECOND), since_rest_ns=MINUTE) == factor


def test_all_multiply() -> None:
    pace = Pace(drift_per_min=1.0, ramp_ns=2 * SECOND, ramp_times=3, shift_times=5, capture_steps=1, capture_times=7)
    assert pace.factor(since_first_ns=MINUTE, since_rest_ns=SECOND) == 20.0
    assert pace.factor(since_first_ns=MINUTE, since_rest_ns=SECOND, capturing=True) == 140.0


# sequences of each step -> which of them are slow, with two slow steps for each padded size
CAPTURES = [
    ([1, 1, 1, 1], [True, True, False, False]),
    ([1, 1, 1, 2, 2, 2, 3, 3, 4], [True, True, False, True, True, False, True, True, False]),
    ([4] * 8, [True] * 6 + [False] * 2),  # 1, 2 and 4
    ([5, 1, 1, 1, 1, 1, 1, 1, 1, 8], [True] * 8 + [False] * 2),  # 8 is the padded size of 5
    ([2, 1, 1, 1, 0, 1], [True] * 4 + [False] * 2),
    ([0], [False]),
]


@pytest.mark.parametrize(("sequences", "slow"), CAPTURES)
def test_captures_of_new_batch_sizes(sequences: list[int], slow: list[bool]) -> None:
    captures = Captures(2)
    assert [captures.step(count) for count in sequences] == slow


@pytest.mark.parametrize(("at_once", "slow"), [(1, 3), (2, 6), (8, 12), (32, 18), (33, 21)])
def test_more_load_at_once_has_a_longer_ramp(at_once: int, slow: int) -> None:
    engine = Engine(STEADY, random.Random(1), Pace(capture_steps=3, capture_times=5))
    for number in range(at_once):
        engine.submit(Job(number, 1, 40), 0)
    steps = engine.advance(100 * SECOND)
    assert [step.end_ns - step.start_ns for step in steps] == [50_000_000] * slow + [10_000_000] * (40 - slow)


def test_what_was_captured_stays_so_through_a_rest_and_more_costs_again() -> None:
    engine = Engine(STEADY, random.Random(1), Pace(capture_steps=3, capture_times=5))
    took = []
    for number, (at, jobs) in enumerate([(0, 2), (100, 2), (200, 1), (300, 4)]):
        for job in range(jobs):
            engine.submit(Job(10 * number + job, 1, 20), at * SECOND)
        steps = engine.advance((at + 90) * SECOND)
        took.append(sum(step.end_ns - step.start_ns == 50_000_000 for step in steps))
    assert took == [6, 0, 0, 3]


def test_the_shift_is_one_step_of_time() -> None:
    times = step_times(Pace(shift_ns=SECOND, shift_times=2), [(0, 300)])
    assert [took for start, took in times if start < SECOND] == [10_000_000] * 100
    assert {took for start, took in times if start >= SECOND} == {20_000_000}


def step_times(pace: Pace, jobs: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """(start, ns) of every step, of jobs as (arrival ns, tokens)."""
    engine = Engine(STEADY, random.Random(1), pace)
    steps = []
    for number, (at, tokens) in enumerate(jobs):
        engine.submit(Job(number, 1, tokens), at)
        steps += engine.advance(at + 1000 * SECOND)
    return [(step.start_ns, step.end_ns - step.start_ns) for step in steps]


def test_steps_of_an_even_engine_are_equal() -> None:
    assert {took for _, took in step_times(Pace(), [(0, 50), (2000 * SECOND, 50)])} == {10_000_000}


def test_the_drift_counts_from_the_first_job_through_every_rest() -> None:
    first = 7 * MINUTE  # how long the server had been up does not matter
    times = step_times(Pace(drift_per_min=0.5), [(first, 3), (first + 20 * MINUTE, 3)])
    assert times[0][1] == 10_000_000
    assert times[3][1] == 110_000_000
    assert all(before[1] < after[1] for before, after in itertools.pairwise(times))


def test_the_ramp_starts_again_after_a_rest_and_only_then() -> None:
    pace = Pace(ramp_ns=SECOND, ramp_times=3)
    late = 2000 * SECOND
    times = step_times(pace, [(0, 100), (late, 100)])
    assert times[0] == (0, 30_000_000)
    assert times[99][1] == 10_000_000
    assert times[100] == (late, 30_000_000)
    engine = Engine(STEADY, random.Random(1), pace)
    engine.submit(Job(0, 1, 100), 0)
    ended = engine.advance(100 * SECOND)[-1].end_ns
    engine.submit(Job(1, 1, 2), ended + SECOND - 1)  # just no rest
    assert [step.end_ns - step.start_ns for step in engine.advance(200 * SECOND)] == [10_000_000] * 2


def test_throughput_is_lower_in_the_ramp() -> None:
    times = step_times(Pace(ramp_ns=2 * SECOND, ramp_times=4), [(0, 400)])
    early = sum(start < SECOND for start, _ in times)
    late = sum(2 * SECOND <= start < 3 * SECOND for start, _ in times)
    assert late == pytest.approx(100, abs=1)
    assert early < 40


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"drift_per_min": 1000}, "drift must be"),
        ({"drift_per_min": float("nan")}, "drift must be"),
        ({"ramp_ns": -1}, "ramp must be"),
        ({"ramp_times": 0.5}, "ramp times must be"),
        ({"ramp_times": float("inf")}, "ramp times must be"),
        ({"shift_ns": -1}, "shift must be"),
        ({"shift_times": 0}, "shift times must be"),
        ({"shift_times": float("nan")}, "shift times must be"),
        ({"capture_steps": -1}, "capture steps must be"),
        ({"capture_times": 0.9}, "capture times must be"),
    ],
)
def test_wrong_paces(values: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        Pace(**values)


def test_a_pace_travels_with_the_options() -> None:
    options = SimOptions(pace=Pace(0.5, SECOND, 3.0, 2 * SECOND, 1.5, 7, 2.0))
    assert SimOptions.from_json(options.to_json()) == options
