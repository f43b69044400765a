"""The search for C_max on synthetic curves whose answer is known, and how long its trials are."""

from __future__ import annotations

import heapq
import math
from collections.abc import Callable
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from wholecurve.curve import limits_of
from wholecurve.model.errors import InputError
from wholecurve.rules.load import load_rules
from wholecurve.sweep import Found, Trial, check_found, next_trial, trial_faults, trial_stop
from wholecurve.sweep.search import GROWTH, TOLERANCE, trial_from_json

RULES = load_rules()
MOST = 1 << 17
CONTRADICTION = (("at most", 1e6), ("at least", 2e6))
WAYS = st.sampled_from(["ttft", "user", "invalid", "client"])


def search(make: Callable[[int], Trial], start: int = 1, most: int = MOST, **more: object) -> tuple[Found, list[int]]:
    """Run a search to its end; the levels it tried, none of them twice."""
    trials: list[Trial] = []
    while True:
        step = next_trial(trials, start=start, most=most, **more)  # type: ignore[arg-type]
        if isinstance(step, Found):
            return step, [trial.concurrency for trial in trials]
        assert 1 <= step <= most
        assert step not in {trial.concurrency for trial in trials}
        assert len(trials) < 60
        trials.append(make(step))


def curve(tps: Callable[[int], float]) -> Callable[[int], Trial]:
    return lambda level: Trial(level, tps(level), tps(level) / level, 2e7 * level)


def test_a_plateau_is_found_between_its_doublings() -> None:
    found, tried = search(curve(lambda level: 10.0 * min(level, 100)), start=4)
    assert tried == [4, 8, 16, 32, 64, 128, 256, 192, 160, 144, 136]
    assert found.c_max == 128
    assert found.knee == 64
    assert "throughput grows by 0.0 % only" in found.reason
    assert "less than 3 % per doubling" in found.reason


@settings(max_examples=200, deadline=None, derandomize=True)
@given(knee=st.integers(1, 60_000), start=st.integers(1, 64))
def test_plateaus(knee: int, start: int) -> None:
    found, _tried = search(curve(lambda level: 7.0 * min(level, knee)), start=start)
    assert found.c_max is not None
    # Throughput at C_max is the plateau's, and C_max is not beyond the doubling in which it was reached.
    assert min(found.c_max, knee) >= knee * (1 - TOLERANCE) - 1
    assert found.c_max <= max(2 * knee, 1)


@settings(max_examples=200, deadline=None, derandomize=True)
@given(peak=st.integers(1, 50_000), start=st.integers(1, 64), fall=st.floats(0.3, 3.0))
def test_curves_that_fall_again_end_at_their_best_level(peak: int, start: int, fall: float) -> None:
    def tps(level: int) -> float:
        return 5.0 * level if level <= peak else 5.0 * peak * (peak / level) ** fall

    found, tried = search(curve(tps), start=start)
    assert found.c_max is not None
    best = max(tried, key=tps)
    assert tps(found.c_max) >= tps(best) * (1 - 2 * GROWTH)
    assert found.c_max <= 2 * peak
    assert tps(found.c_max) >= tps(peak) * (1 - TOLERANCE) - 5


@settings(max_examples=100, deadline=None, derandomize=True)
@given(half=st.floats(0.5, 500), start=st.integers(1, 32), seed=st.integers(0, 10_000))
def test_curves_that_bend_slowly_and_are_noisy(half: float, start: int, seed: int) -> None:
    """T = c / (c + K) grows by less than 3 % over a doubling from c = 16 K on; noise of 0.5 % moves that a little."""
    noise = Random(seed)

    def tps(level: int) -> float:
        return 1000 * level / (level + half) * (1 + noise.uniform(-0.005, 0.005))

    found, _tried = search(curve(tps), start=start)
    assert found.c_max is not None
    exact = found.c_max / (found.c_max + half)
    assert exact >= 0.80, "the search must not end far below the plateau"
    assert found.c_max <= max(2, 64 * half)


def test_a_curve_that_only_falls_is_searched_downwards() -> None:
    found, tried = search(curve(lambda level: 100.0 / level), start=8)
    assert tried == [8, 16, 4, 2, 1]
    assert found.c_max == 1
    assert "throughput falls by 50.0 % from 1 to 2 in flight" in found.reason


def test_a_curve_that_grows_to_the_end_ends_at_the_highest_level_allowed() -> None:
    found, tried = search(curve(float), start=3, most=100)
    assert tried == [3, 6, 12, 24, 48, 96, 100]
    assert found.c_max == 100
    assert "still grows at 100" in found.reason


@settings(max_examples=200, deadline=None, derandomize=True)
@given(highest=st.integers(1, 5000), start=st.integers(1, 200), which=WAYS)
def test_a_limit_is_found_within_the_tolerance(highest: int, start: int, which: str) -> None:
    def trial(level: int) -> Trial:
        fine = level <= highest
        return Trial(
            level, 10.0 * level,
            tps_per_user=30.0 if fine or which != "user" else 29.9,
            ttft_p90_ns=5e8 if fine or which != "ttft" else 5e8 + 1,
            invalid=() if fine or which != "invalid" else ("half of the requests failed",),
            client_limited=not fine and which == "client",
        )  # fmt: skip

    found, _tried = search(trial, start=start, limits=limits_of(5e8, 30))  # borders are inside
    assert found.c_max is not None
    assert found.c_max <= highest
    assert highest - found.c_max <= max(1, TOLERANCE * found.c_max)
    words = {"ttft": "TTFT P90", "user": "one user", "invalid": "half of the requests", "client": "this machine"}
    assert words[which] in found.reason


def test_a_figure_that_was_not_measured_does_not_pass_its_limit() -> None:
    found, tried = search(lambda level: Trial(level, 10.0 * level), start=4, limits=limits_of(5e8, None))
    assert found.c_max is None
    assert tried == [4, 2, 1]
    assert "TTFT P90 was not measured" in found.reason


def test_a_search_is_resumed_from_its_trials() -> None:
    make = curve(lambda level: 10.0 * min(level, 100))
    _found, tried = search(make, start=4)
    for cut in range(1, len(tried)):
        assert next_trial([make(level) for level in tried[:cut]], start=4, most=MOST) == tried[cut]


@pytest.mark.parametrize(
    ("found", "words"),
    [
        (Found(None, "with 1 in flight no throughput could be measured"), "no level can be measured"),
        (Found(24, "throughput falls"), "ended at 24 requests in flight, but the rules ask for a C_max above 32"),
        (Found(32, "throughput falls"), "ended at 32"),
    ],
)
def test_a_c_max_that_carries_no_curve_has_a_next_step(found: Found, words: str) -> None:
    with pytest.raises(InputError, match=words) as caught:
        check_found(found, RULES)
    assert found.reason in caught.value.message
    assert caught.value.hint
    assert "--c-max 33" in caught.value.hint or found.c_max is None


def test_a_c_max_above_the_bound_of_the_rules_is_taken() -> None:
    assert check_found(Found(33, ""), RULES) == 33
    assert check_found(Found(5, ""), load_rules("demo")) == 5


@pytest.mark.parametrize(("start", "most"), [(0, 10), (11, 10), (-1, 10)])
def test_a_first_level_that_cannot_be(start: int, most: int) -> None:
    with pytest.raises(InputError, match="wanted a first level from 1"):
        next_trial([], start=start, most=most)


def test_contradictory_limits_are_refused_before_anything_is_sent() -> None:
    limits = [{"key": "ttft_p90_ns", "bound": bound, "value": value} for bound, value in CONTRADICTION]
    with pytest.raises(InputError, match="contradict"):
        next_trial([], start=1, most=10, limits=limits)


def test_a_trial_survives_its_journal_line() -> None:
    trial = Trial(8, 123.4, 15.0, 2.5e7, 3.0, 4e9, ("too short",), client_limited=True)
    assert trial_from_json({"at": "now", "event": "trial", "folder": "search/c8", **trial.to_json()}) == trial
    for damaged in ({}, {"concurrency": 0}, {"concurrency": True}, {"concurrency": 8, "system_tps": "many"}):
        with pytest.raises(InputError):
            trial_from_json(damaged)


# How long a trial is (LOD-7)


def closed_loop(concurrency: int, requests: int, least_s: float, vary_s: float) -> tuple[float, float]:
    """A server with 64 slots and answers of 2 s, give or take: (requests/s of the whole run, requests/s from the first
    answer to the end of issuing)."""
    lengths = Random(7)
    free = [0.0] * 64
    waiting = [0.0] * concurrency
    ends: list[float] = []
    issuing_ended = 0.0
    while waiting:
        at = heapq.heappop(waiting)
        if len(ends) >= requests and at >= least_s:
            continue
        issuing_ended = at
        end = max(at, heapq.heappop(free)) + lengths.uniform(2 - vary_s, 2 + vary_s)
        heapq.heappush(free, end)
        heapq.heappush(waiting, end)
        ends.append(end)
    first = min(ends)
    inside = sum(first < end <= issuing_ended for end in ends)
    return len(ends) / max(ends), inside / (issuing_ended - first) if issuing_ended > first else 0.0


@pytest.mark.parametrize("concurrency", [64, 96, 128, 256])
def test_lod_7_a_trial_is_long_enough_for_the_ceiling(concurrency: int) -> None:
    """64 slots and 2 s an answer carry 32 req/s; what ends in its own start or drain finds less."""
    stop = trial_stop(concurrency, [Trial(32, 1.0, latency_p90_ns=2.8e9)])
    assert f"{concurrency} slots" in stop.why
    assert "at least" in stop.why
    whole, _inside = closed_loop(concurrency, stop.requests, stop.least_s, 0)
    assert math.isclose(whole, 32, rel_tol=0.05)
    whole, inside = closed_loop(concurrency, stop.requests, stop.least_s, 1)  # answers of 1 to 3 s: a drain of 3 s
    assert math.isclose(inside, 32, rel_tol=0.05)
    assert math.isclose(whole, 32, rel_tol=0.10)
    assert closed_loop(concurrency, concurrency, 0, 1)[0] < 0.9 * whole, "one wave would not have been enough"


def test_trials_follow_the_slowest_answer_to_expect_up_to_a_bound() -> None:
    known = [Trial(8, 1.0, latency_p90_ns=4e9), Trial(16, 1.0, latency_p90_ns=10e9), Trial(4, 1.0)]
    assert trial_stop(2, known).least_s == 12  # no lower one is known: as at 8
    assert trial_stop(12, known).least_s == 18  # as at 8, longer in proportion to the load
    assert trial_stop(32, known).least_s == 60  # as at 16, not four times what it is at 8
    assert trial_stop(32, []).least_s == 10
    cut = trial_stop(1024, known)
    assert cut.least_s == cut.longest_s == 600
    assert "cut to the longest" in cut.why


def test_a_trial_that_was_cut_too_short_says_so() -> None:
    assert trial_faults(64, 192) == ()
    assert trial_faults(64, 191) == ("too short: 191 answers, and 192 are wanted at 64 in flight",)
