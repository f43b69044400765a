"""A simulated engine that starts slowly or drifts: the factor in cases one can check in the head, and real steps."""

import itertools
import random
from dataclasses import replace
from typing import Any

import pytest

from wholecurve.model.errors import InputError
from wholecurve.sim import PROFILES, Engine, Job, Pace, SimOptions

SECOND = 1_000_000_000
MINUTE = 60 * SECOND
STEADY = replace(PROFILES["small"], step_ns=10_000_000, decode_ns=0, prefill_ns=0, context_ns=0.0, jitter=0.0)


def test_no_pace_is_even() -> None:
    assert Pace().even
    assert Pace(ramp_ns=SECOND, ramp_times=1).even
    assert Pace().factor(since_first_ns=MINUTE, since_rest_ns=0) == 1
    assert not Pace(drift_per_min=0.1).even
    assert not Pace(ramp_ns=1).even


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


def test_both_multiply() -> None:
    pace = Pace(drift_per_min=1.0, ramp_ns=2 * SECOND, ramp_times=3)
    assert pace.factor(since_first_ns=MINUTE, since_rest_ns=SECOND) == 4.0


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
    ],
)
def test_wrong_paces(values: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        Pace(**values)


def test_a_pace_travels_with_the_options() -> None:
    options = SimOptions(pace=Pace(0.5, SECOND, 3.0))
    assert SimOptions.from_json(options.to_json()) == options
