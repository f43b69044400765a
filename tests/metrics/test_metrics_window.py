"""Steady state on runs with a known answer. T20 to T22 are test cases of rules.md section 22."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, fields, is_dataclass, replace
from time import perf_counter
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from metrics_build import MS, S
from metrics_runs import TOKENS, closed_loop, reordered, requests, shifted, steps

from wholecurve.metrics import (
    GATES,
    HEADLINES,
    METRICS,
    NULL,
    THRESHOLDS,
    Basis,
    Columns,
    Coverage,
    Figure,
    Flag,
    Gate,
    Movement,
    Plateau,
    Required,
    SteadyState,
    SteadyVerdict,
    WindowRules,
    percentile_of,
    rates,
    steady_block,
    steady_state,
    submission_block,
    tpot,
)
from wholecurve.metrics.plateau import choose, required
from wholecurve.metrics.steady import coverage, decide
from wholecurve.metrics.superpass import cut_run
from wholecurve.model.names import NAMES
from wholecurve.model.plan import Pattern
from wholecurve.model.strict_json import dumps_strict

PER = 50
RULES = WindowRules(min_duration_ns=190 * S)
"""Four super-passes of 50 requests, one each second, span 199 s."""
STEADY, UP, DOWN = SteadyVerdict.STEADY, SteadyVerdict.DRIFTING_UP, SteadyVerdict.DRIFTING_DOWN
ANOMALY, NOT_FOUND = SteadyVerdict.ANOMALY, SteadyVerdict.NOT_FOUND
OK, SHORT, FEW = Coverage.WINDOWABLE, Coverage.INSUFFICIENT_DURATION, Coverage.INSUFFICIENT_PASSES


def judge(columns: Columns, rules: WindowRules = RULES, **more: Any) -> SteadyState:
    given: dict[str, Any] = {"rows": PER, "pattern": Pattern.CONCURRENCY, "concurrency": 1}
    return steady_state(columns, rules, **(given | more))


def figure(found: SteadyState, key: str) -> Figure:
    return next(one for one in found.figures if one.key == key)


def span(found: SteadyState) -> tuple[int | None, int | None] | None:
    return None if found.window is None else (found.window.super_pass_start, found.window.super_pass_end)


def as_plain(value: Any) -> Any:
    """Tuples to lists and words to strings, as the writer of a file does; numbers as they are."""
    if is_dataclass(value) and not isinstance(value, type):
        return as_plain(asdict(value))
    if isinstance(value, Mapping):
        return {str(name): as_plain(item) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [as_plain(item) for item in value]
    return str(value) if isinstance(value, str) else value


def seen(found: SteadyState) -> tuple[Any, ...]:
    """All that may not depend on when a run was or in which order it was written."""
    window = found.window and replace(found.window, start_ns=0, end_ns=0)
    return (replace(found, window=window, block_starts_ns=()),)


def line(n: int, per_step: float) -> list[float]:
    return [20 * (1 + per_step * step) for step in range(n)]


# name: TPOT level in ms of each super-pass; coverage, verdict, window (first, last super-pass); ramp cropped.
# A run of few passes is cut into blocks of any mix, so its window has no super-passes.
KNOWN: dict[str, tuple[list[float], Coverage, SteadyVerdict, tuple[int | None, int | None] | None, int]] = {
    "flat": ([20.0] * 12, OK, STEADY, (1, 11), 1),
    "flat, fewest passes": ([20.0] * 5, OK, STEADY, (1, 4), 1),
    "ramp then flat": ([10, 13, 15, 17, 18.5, *[20.0] * 10], OK, STEADY, (5, 14), 5),
    "ramp from above": ([40, 30, 25, 22, *[20.0] * 10], OK, STEADY, (4, 13), 4),
    # the crop stops at half the run; six steps of 0.2 ms are 5 % of the level there, five are less
    "slow drift up": (line(30, 0.01), OK, UP, (15, 20), 15),
    "slow drift down": (line(24, -0.01), OK, DOWN, (12, 16), 12),
    "very slow drift": (line(40, 0.003), OK, UP, (12, 29), 12),
    "too fast for any plateau": (line(20, 0.2), FEW, NOT_FOUND, None, 10),
    "staircase": ([20.0] * 10 + [30.0] * 10, OK, ANOMALY, (1, 9), 1),
    "staircase, early step": ([20.0] * 6 + [30.0] * 14, OK, ANOMALY, (1, 5), 1),
    "staircase, shortest plateaus": ([20.0] * 5 + [30.0] * 4, OK, ANOMALY, (1, 4), 1),
    "staircase of three": ([20.0] * 6 + [30.0] * 6 + [40.0] * 6, OK, ANOMALY, (1, 5), 1),
    "staircase down": ([20.0] * 8 + [15.0] * 8, OK, ANOMALY, (1, 7), 1),
    "periodic, small": ([20, 20.5] * 8, OK, STEADY, (1, 15), 1),
    "periodic, large": ([20, 28.0] * 8, FEW, NOT_FOUND, None, 8),
    "one outlier": ([20.0] * 6 + [40.0] + [20.0] * 8, OK, STEADY, (1, 5), 1),
    "outlier first": ([90.0] + [20.0] * 8, OK, STEADY, (1, 8), 1),
    "flat, then a climb": ([20.0] * 8 + [20 + step for step in range(1, 11)], OK, UP, (1, 7), 1),
    "too short: four passes": ([20.0] * 4, FEW, STEADY, (None, None), 1),
    "too short: one pass": ([20.0], FEW, STEADY, (None, None), 1),
    "too short: a ramp and three passes": ([40, 30, *[20.0] * 3], FEW, NOT_FOUND, None, 2),
}


@pytest.mark.parametrize("name", KNOWN)
def test_known_answers(name: str) -> None:
    levels, status, verdict, window, ramp = KNOWN[name]
    found = judge(steps(levels, per=PER))
    assert (found.status, found.verdict, found.ramp_blocks) == (status, verdict, ramp)
    assert span(found) == window
    if found.window is not None:
        assert set(found.state.values()) == {Movement.PLATEAU}, "a window holds no drift"


def test_flat_run_in_every_detail() -> None:
    columns = steps([20.0] * 12, per=PER)
    found = judge(columns)
    assert found.window is not None
    assert found.cut is not None
    assert (found.basis, found.flag, found.reason, found.anomaly, found.cautions) == (
        *(Basis.WINDOW, Flag.NONE, None, None, ()),
    )
    assert (found.cut.pass_size, found.cut.blocks, found.cut.passes) == (PER, 12, 12.0)
    assert (found.window.start_ns, found.window.end_ns) == (PER * S, (12 * PER - 1) * S)
    assert (found.window.requests, found.window.super_passes) == (11 * PER, 11.0)
    assert found.window.plateau.bound == 0.03
    assert found.window.low_confidence is False
    assert set(found.series) == {gate.key for gate in GATES}
    assert found.series["tpot_p50"][3] == percentile_of(tpot(columns)[3 * PER : 4 * PER], 50.0)


def test_figures_are_over_the_window_with_total_beside_them() -> None:
    """WRM-5: ramp and drain dilute the whole run; both figures are there and say which they are."""
    columns = steps([10, 13, 15, 17, 18.5, *[20.0] * 10], per=PER)
    found = judge(columns)
    inside = np.arange(5 * PER, 15 * PER)
    p90 = percentile_of(tpot(columns)[inside], 90.0)
    assert p90 is not None
    assert figure(found, "tpot_p90_ns").value == p90
    assert figure(found, "tps_per_user").value == pytest.approx(S / p90)
    tps = figure(found, "system_tps")
    assert (tps.basis, tps.value, tps.total) == (Basis.WINDOW, tps.window, rates(columns).tps)
    # C14: tokens of what was issued in the window / its issue span; one request a second is one, however few there are
    assert tps.value == pytest.approx(TOKENS)
    assert figure(found, "qps").value == pytest.approx(1.0)
    assert figure(found, "tpot_p50_ns").total != figure(found, "tpot_p50_ns").value
    for one in found.figures:
        assert one.value is not None
        assert one.interval.low is not None
        assert one.interval.high is not None
        assert one.interval.low <= one.value <= one.interval.high
    assert found.window is not None
    # C14: beside it what was completed in the same span: the two answers cut off at either end differ
    assert found.window.completed_tps == pytest.approx(tps.value, rel=0.01)
    assert found.window.completed_tps != tps.value


def test_failures_count_in_no_rate() -> None:
    outcome = ["succeeded", "failed"] * (6 * PER)
    found = judge(steps([20.0] * 12, per=PER, outcome=outcome))
    assert found.verdict is STEADY
    assert found.window is not None
    assert (found.window.requests, found.window.succeeded) == (11 * PER, 11 * PER // 2)
    assert figure(found, "qps").value == pytest.approx(0.5)


def test_passes_that_are_smaller_than_what_is_in_flight_widen_no_interval() -> None:
    """24 slots whose answers all take the same time, passes of 16: blocks overlap, the rate is constant."""
    rules = replace(RULES, min_duration_ns=20 * S)
    found = judge(closed_loop(24, 16 * 120, lambda _: 20 * MS), rules, rows=16, concurrency=24)
    qps = figure(found, "qps")
    answer_s = 0.1 + 0.02 * (TOKENS - 1)
    assert qps.value == pytest.approx(24 / answer_s, rel=0.05)
    assert qps.interval.low is not None
    assert qps.interval.high is not None
    assert (qps.interval.high - qps.interval.low) / qps.value < 0.2


def test_a_super_pass_without_a_success_is_on_no_plateau() -> None:
    outcome = ["failed" if 6 * PER <= place < 7 * PER else "succeeded" for place in range(14 * PER)]
    found = judge(steps([20.0] * 14, per=PER, outcome=outcome))
    assert (span(found), found.verdict) == ((1, 5), STEADY)
    assert found.series["tpot_p50"][6] is None
    assert found.cautions == ("1 of 8 blocks after the window are on no plateau",)


def test_t20_low_point() -> None:
    """Four super-passes and 1,200.0 s; 1,199.9 s; three super-passes; 0.8 of one."""
    rules = WindowRules()
    # the crop takes one super-pass, the window has the other four: 200 requests, 199 times the pace from end to end
    for last_ns, status, basis in ((1200 * S, OK, Basis.WINDOW), (1199_900 * MS, SHORT, Basis.TOTAL)):
        issued = np.concatenate((np.arange(PER) * S, PER * S + np.linspace(0, last_ns, 4 * PER).astype(np.int64)))
        found = judge(requests(issued, np.full(5 * PER, 20 * MS)), rules)
        assert (found.status, found.basis, span(found)) == (status, basis, (1, 4))
        assert found.window is not None
        assert found.window.duration_ns == last_ns
        assert found.window.low_confidence is (status is SHORT)
    for passes, status in ((3.0, FEW), (0.8, Coverage.PARTIAL_DATASET)):
        n = round(passes * 400)
        found = judge(requests(np.arange(n) * 10 * S, np.full(n, 20 * MS)), rules, rows=400)
        assert (found.status, found.basis, found.flag) == (status, Basis.TOTAL, Flag.FALLBACK)
        assert found.reason is not None
        for one in found.figures:
            assert one.value == one.total


@pytest.mark.parametrize(
    ("passes", "window", "span_s", "wanted"),
    [
        (5, 4, 1200.0, OK),
        (5, 4, 1199.9, SHORT),
        (5, 3, 5000.0, FEW),
        (3, 3, 5000.0, FEW),
        (1, 0, 0.0, FEW),
        (0.8, 0, 0.0, Coverage.PARTIAL_DATASET),
        (0, 0, 0.0, Coverage.PARTIAL_DATASET),
    ],
)
def test_t20_coverage(passes: float, window: float, span_s: float, wanted: Coverage) -> None:
    cut = cut_run(round(passes * 100), 100, WindowRules())
    assert coverage(cut, window, round(span_s * S), WindowRules()) is wanted


def test_t21_drift_gives_a_range_and_no_point_value() -> None:
    found = judge(steps(line(30, 0.01), per=PER))
    assert (found.status, found.verdict, found.basis, found.flag) == (OK, UP, Basis.WINDOW, Flag.DRIFT)
    p90, speed = figure(found, "tpot_p90_ns"), figure(found, "tps_per_user")
    assert p90.value is None
    assert (p90.low, p90.high) == (pytest.approx(23 * MS, rel=0.03), pytest.approx(25.8 * MS, rel=0.03))
    assert p90.total is not None
    assert p90.reason is not None
    assert "a range, no point value" in p90.reason
    assert p90.interval.low is None
    assert speed.value is None
    assert (speed.low, speed.high) == (pytest.approx(S / p90.high), pytest.approx(S / p90.low))
    assert figure(found, "system_tps").value == figure(found, "system_tps").window, "what does not drift is official"
    drift = next(one for one in found.drifts if one.key == "tpot_p90")
    assert (drift.state, drift.p < 0.05) == (Movement.DRIFTING_UP, True)


def test_t22_a_staircase_reports_the_first_plateau_and_says_so() -> None:
    found = judge(steps([20.0] * 10 + [30.0] * 10, per=PER))
    assert (found.status, found.verdict, found.basis, found.flag) == (OK, ANOMALY, Basis.WINDOW, Flag.ANOMALY)
    assert found.anomaly is not None
    assert found.anomaly.block == 10
    assert found.anomaly.change == pytest.approx(0.5, abs=0.02)
    assert figure(found, "tpot_p50_ns").value == pytest.approx(20 * MS, rel=0.01)
    block = submission_block(steady_block(found))
    assert block is not None
    assert block["anomaly"].startswith("level shift at super-pass 10: tpot_p50 +49.8 %")


def test_every_pair_of_coverage_and_verdict_has_a_basis() -> None:
    for status in Coverage:
        for verdict in SteadyVerdict:
            assert decide(status, verdict, in_scope=False) == (Basis.TOTAL, Flag.OUT_OF_SCOPE)
            if status is not OK:
                assert decide(status, verdict, in_scope=True) == (Basis.TOTAL, Flag.FALLBACK)
            elif verdict is not NOT_FOUND:
                assert decide(status, verdict, in_scope=True)[0] is Basis.WINDOW
    with pytest.raises(ValueError, match="inconsistent"):
        decide(OK, NOT_FOUND, in_scope=True)


def test_the_first_plateau_that_is_long_enough_counts() -> None:
    """Four passes in two minutes are too short; the plateau after the step lasts."""
    columns = steps([20.0] * 5 + [30.0] * 12, per=PER)
    found = judge(columns, WindowRules(min_duration_ns=300 * S))
    assert found.window is not None
    assert (span(found), found.window.plateau_index, found.verdict) == ((5, 16), 1, STEADY)
    assert found.cautions == ("1 earlier plateaus were too short to count",)
    assert figure(found, "tpot_p50_ns").value == pytest.approx(30 * MS, rel=0.01)


def test_a_window_shorter_than_five_of_its_slow_latencies_is_said() -> None:
    found = judge(steps([600.0] * 6, per=PER))
    assert (found.status, found.verdict) == (OK, STEADY)
    assert found.cautions[-1].startswith("the window lasts 3.32 min, and should last 5.11 min by the slowest latencies")


def test_one_slow_request_moves_nothing() -> None:
    columns = steps([20.0] * 12, per=PER)
    columns["last_output_ns"][7 * PER + 3] += 1000 * S
    columns["completed_ns"][7 * PER + 3] += 1000 * S
    assert (judge(columns).verdict, span(judge(columns))) == (STEADY, (1, 11))


def test_heavy_tails_are_steady_but_their_drain_is_not_cut() -> None:
    """TPOT differs tenfold between requests, in the same way in every pass: that is the work, no movement."""
    mix = 20 * MS * np.random.default_rng(5).lognormal(0, 0.8, PER)
    paces = np.tile(mix, 12)
    found = judge(requests(np.arange(12 * PER) * S, paces))
    assert (found.verdict, span(found), found.cautions) == (STEADY, (1, 11), ())
    slow = requests(np.arange(12 * PER) * S, paces, completed_ns=10**13)
    kept = judge(slow)
    assert kept.drain_blocks == 0
    assert "are kept: TPOT depends on the request" in kept.cautions[0]


def test_drain_is_cut_where_tpot_is_the_same_for_every_request() -> None:
    """The last two passes run while the load falls, and faster; nearly all requests have one pace."""
    levels = [20.0] * 12 + [18.0] * 2
    issued = np.arange(14 * PER) * S
    done = np.where(np.arange(14 * PER) >= 12 * PER, 10**13, issued + 3 * S)
    found = judge(steps(levels, per=PER, completed_ns=done))
    assert (found.drain_blocks, span(found), found.verdict) == (2, (1, 11), STEADY)


def test_load_dependent_ramp() -> None:
    """40 slots open one after another and slow each other down: TPOT is 10 ms and 1 ms for each request in flight."""
    columns = closed_loop(40, 3000, lambda busy: (10 + busy) * MS, stagger_ns=3 * S)
    found = judge(columns, WindowRules(min_duration_ns=200 * S), rows=100, concurrency=40)
    assert (found.status, found.verdict) == (OK, STEADY)
    assert found.window is not None
    assert found.window.start_ns >= 39 * 3 * S, "the window begins when all slots are open"
    assert found.ramp_blocks > 3
    assert figure(found, "tpot_p50_ns").value == pytest.approx(50 * MS, rel=0.01)
    # Little's law: 40 requests of 5.1 s each
    assert figure(found, "qps").value == pytest.approx(40 / 5.1, rel=0.02)
    total = figure(found, "system_tps").total
    assert total is not None
    assert total < 0.95 * 40 / 5.1 * TOKENS, "ramp and drain dilute the whole run"


def test_a_target_that_was_never_in_flight_is_said() -> None:
    found = judge(steps([20.0] * 12, per=PER), concurrency=64)
    assert found.cautions[0] == "64 requests were never in flight at once: the end of the ramp is a guess"


def test_rising_ttft_only_warns() -> None:
    columns = steps([20.0] * 12 + [24.0] * 12, per=PER, ttft_ns=np.linspace(0.1, 2.0, 24 * PER) * S)
    found = judge(columns)
    assert found.verdict is ANOMALY
    assert any(one.startswith("ttft_p90 moves by +") for one in found.cautions)
    assert set(found.state) == {"tpot_p50", "tpot_p90"}
    assert found.watched["ttft_p50"] is Movement.DRIFTING_UP
    assert figure(found, "ttft_p90_ns").value is not None


@pytest.mark.parametrize("pattern", [Pattern.POISSON, Pattern.CONSTANT])
def test_open_loops_have_a_window_but_no_official_one(pattern: Pattern) -> None:
    gaps = np.random.default_rng(8).exponential(S, 12 * PER)
    columns = requests(np.cumsum(gaps).astype(np.int64), np.full(12 * PER, 20 * MS))
    found = judge(columns, pattern=pattern, concurrency=None)
    assert (found.status, found.verdict, found.basis, found.flag) == (OK, STEADY, Basis.TOTAL, Flag.OUT_OF_SCOPE)
    assert found.reason is not None
    assert "only at fixed concurrency" in found.reason
    tps = figure(found, "system_tps")
    assert (tps.value, tps.basis) == (tps.total, Basis.TOTAL)
    assert tps.window is not None


NOT_APPLICABLE: dict[str, tuple[Columns, dict[str, Any], str]] = {
    "offline": (steps([20.0] * 12, per=PER), {"pattern": Pattern.OFFLINE}, "offline: all requests are issued at once"),
    "agentic": (steps([20.0] * 12, per=PER), {"agentic": True}, "agentic: turns wait for each other"),
    "turns": (steps([20.0] * 12, per=PER, turn=np.arange(12 * PER) % 3), {}, "agentic: turns wait for each other"),
    "no tokens": (steps([20.0] * 12, per=PER, osl=NULL, osl_after_first=NULL), {}, "TPOT was not measured"),
    "no success": (steps([20.0] * 12, per=PER, outcome=["failed"] * (12 * PER)), {}, "no request succeeded"),
    "nothing": (requests(np.zeros(0), np.zeros(0)), {}, "no request was issued"),
}


@pytest.mark.parametrize("name", NOT_APPLICABLE)
def test_where_a_steady_state_does_not_apply_the_reason_is_given(name: str) -> None:
    columns, more, reason = NOT_APPLICABLE[name]
    found = judge(columns, **more)
    assert (found.status, found.verdict, found.window, found.basis) == (None, None, None, Basis.TOTAL)
    assert found.reason is not None
    assert found.reason.startswith(reason)
    assert submission_block(steady_block(found)) is None
    for one in found.figures:
        assert (one.window, one.value) == (None, one.total)
        assert one.reason == reason or one.reason == found.reason
    if columns.n and name not in ("no tokens", "no success"):
        assert figure(found, "system_tps").value == rates(columns).tps


def test_turns_that_the_benchmark_calls_single_shot_are_measured() -> None:
    assert judge(steps([20.0] * 12, per=PER, turn=1), agentic=False).verdict is STEADY


# requests, rows, rules; block size, blocks, aligned with passes
CUTS = [
    (600, 50, {}, 50, 12, True),
    (649, 50, {}, 50, 12, True),
    (250, 50, {}, 50, 5, True),
    # a pass too small for a P90 is joined with its neighbours
    (600, 4, {}, 12, 50, True),
    # more than 128 passes are joined
    (100_000, 50, {}, 800, 125, True),
    # without repetition: 16 blocks, of at least ten requests
    (249, 50, {}, 15, 16, False),
    (1000, 4388, {}, 62, 16, False),
    (30, 50, {}, 10, 3, False),
    (0, 50, {}, 10, 0, False),
    # the benchmark may say what a super-pass is
    (600, 50, {"super_pass_size": 100}, 100, 6, True),
    (600, 50, {"lead_super_passes": 0, "super_pass_size": 150}, 150, 4, True),
]


@pytest.mark.parametrize(("n", "rows", "more", "size", "blocks", "aligned"), CUTS)
def test_cut_into_blocks(n: int, rows: int, more: dict[str, Any], size: int, blocks: int, aligned: bool) -> None:
    cut = cut_run(n, rows, WindowRules(**more))
    assert (cut.block_size, cut.blocks, cut.aligned) == (size, blocks, aligned)
    assert cut.blocks * cut.block_size <= n


def test_a_run_of_few_passes_has_a_low_confidence_window_and_no_super_passes() -> None:
    found = judge(steps([20.0] * 2, per=200), rows=200)
    assert (found.status, found.verdict, found.basis) == (FEW, STEADY, Basis.TOTAL)
    assert found.reason == "the run has 2 passes of the data set, wanted at least 5"
    assert found.window is not None
    assert (found.window.low_confidence, found.window.super_pass_start) == (True, None)
    block = submission_block(steady_block(found))
    assert block is not None
    assert set(block["window"]) == {"super_pass_size", "n_samples", "duration_s"}


def test_joined_passes_are_counted_as_super_passes() -> None:
    found = judge(steps([20.0] * 100, per=4, every_ns=10 * S), rows=4)
    assert found.window is not None
    assert (span(found), found.window.super_passes, found.status) == ((3, 98), 96.0, OK)


def test_submission_block_in_the_words_of_the_rules() -> None:
    block = submission_block(steady_block(judge(steps([20.0] * 12, per=PER))))
    assert block == {
        "status": "windowable",
        "verdict": "STEADY STATE",
        "state": {"tpot_p50": "Plateau", "tpot_p90": "Plateau"},
        "window": {
            "super_pass_start": 1,
            "super_pass_end": 11,
            "super_pass_size": PER,
            "n_samples": 11 * PER,
            "duration_s": 11 * PER - 1.0,
        },
    }
    assert json.loads(json.dumps(block, allow_nan=False)) == block


@pytest.mark.parametrize("name", KNOWN)
def test_rep_1_a_steady_state_is_plain_values(name: str) -> None:
    """No NaN, no infinity, no numpy number, whatever was found."""
    plain = json.loads(dumps_strict(as_plain(judge(steps(KNOWN[name][0], per=PER)))))
    assert plain["status"] == KNOWN[name][1]
    assert {one["key"] for one in plain["figures"]} == {row.key for row in HEADLINES}


def test_every_threshold_is_in_the_table() -> None:
    assert [row.field for row in THRESHOLDS] == [field.name for field in fields(WindowRules)]
    for row in THRESHOLDS:
        assert row.meaning
        assert {part.split()[0] for part in row.source.split("; ")} <= {
            "TR",
            "detector",
            "wholecurve",
            "choice",
            "value",
            "for",
        }


def test_every_headline_figure_and_gate_is_named() -> None:
    for row in HEADLINES:
        assert NAMES[row.key].unit.split("/")[0] == row.unit.split("/")[0]
        assert bool(row.metric) != bool(row.count)
    known = {metric.key for metric in METRICS}
    for gate in GATES:
        assert gate.metric in known
        assert gate.key == f"{gate.metric}_p{gate.percentile:.0f}"


@pytest.mark.parametrize(
    "wrong",
    [
        {"min_super_passes": 1},
        {"lead_super_passes": -1},
        {"super_pass_size": 0},
        {"gates": ()},
        {"gates": (Gate("tpot_p50", "tpot", 50.0, False),)},
        {"gates": (Gate("tpot_p50", "tpot", 50.0, True, (0.08, 0.03)),)},
        {"gates": (Gate("tpot_p50", "tpot", 50.0, True),)},
    ],
)
def test_rules_that_nothing_satisfies_are_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="wanted"):
        WindowRules(**wrong)


# spans of plateaus in s; (floor, precision, relaxation) of each in s; place of the one to report
CHOICES = [
    ([], [], None),
    ([100, 300], [(200, 0, 0)] * 2, 1),
    ([300, 900], [(200, 0, 0)] * 2, 0),
    ([300, 900], [(200, 0, 500)] * 2, 1),
    ([300, 900], [(200, 500, 0), (200, 0, 0)], 1),
    # none lasts long enough for the detector: the first for the rules; none for the rules: the longest
    ([300, 400], [(200, 0, 500)] * 2, 0),
    ([100, 150, 150], [(200, 0, 0)] * 3, 1),
]


@pytest.mark.parametrize(("spans_s", "needs_s", "wanted"), CHOICES)
def test_choice_of_a_plateau(spans_s: list[int], needs_s: list[tuple[int, int, int]], wanted: int | None) -> None:
    needs = [Required(*(part * S for part in parts)) for parts in needs_s]
    assert choose([span_s * S for span_s in spans_s], needs) == wanted


@pytest.mark.parametrize(("variation", "precision_s"), [(0.0, 0), (0.05, 0), (0.06, 60), (0.08, 100)])
def test_a_noisy_plateau_should_last_longer(variation: float, precision_s: int) -> None:
    """k = ceil((1.96 variation / 0.05)^2) blocks of 10 s, and nothing up to four of them."""
    plateau = Plateau(0, 4, 0.08, {"tpot_p50": variation, "tpot_p90": variation}, {})
    need = required(plateau, 10 * S, 7 * S, WindowRules(min_duration_ns=1))
    assert (need.precision_ns, need.relaxation_ns) == (precision_s * S, 35 * S)
    assert need.ns == max(precision_s, 35) * S


def test_a_step_that_is_not_confirmed_is_a_caution() -> None:
    """Plateaus of four before and after a stretch that swings far above both: no single point parts them."""
    levels = [20.0] * 5 + [45, 20, 45, 20, 45, 20, 45, 20] + [22.0] * 4
    found = judge(steps(levels, per=PER))
    assert (found.anomaly, found.verdict, span(found)) == (None, STEADY, (1, 4))
    assert any("not confirmed" in one for one in found.cautions)


def test_a_watched_series_without_values_changes_nothing() -> None:
    gates = (*GATES[:2], Gate("connect_time_p50", "connect_time", 50.0, False))
    found = judge(steps([20.0] * 10 + [30.0] * 10, per=PER), replace(RULES, gates=gates))
    assert (found.verdict, found.watched) == (ANOMALY, {"connect_time_p50": Movement.PLATEAU})
    assert set(found.series["connect_time_p50"]) == {None}


def test_parameters_come_from_the_rules() -> None:
    """The same run under stricter bounds: nothing stands still any more."""
    columns = steps([20, 20.5] * 8, per=PER)
    strict = WindowRules(min_duration_ns=S, gates=tuple(replace(gate, cov_bounds=(0.001,)) for gate in GATES))
    assert (judge(columns).verdict, judge(columns, strict).verdict) == (STEADY, NOT_FOUND)


LEVELS = st.lists(st.floats(5, 50), min_size=1, max_size=24)


@settings(max_examples=60, deadline=None)
@given(LEVELS, st.integers(1, 30), st.sampled_from([Pattern.CONCURRENCY, Pattern.POISSON]))
def test_the_window_lies_in_the_run(levels: list[float], rows: int, pattern: Pattern) -> None:
    columns = steps(levels, per=20)
    found = judge(columns, WindowRules(min_duration_ns=10 * S), rows=rows, pattern=pattern)
    assert found.cut is not None
    if found.window is not None:
        issued = columns["issued_ns"]
        assert issued.min() <= found.window.start_ns < found.window.end_ns <= issued.max()
        assert found.ramp_blocks <= found.window.plateau.start
        assert found.window.plateau.end <= found.cut.blocks - found.drain_blocks
        assert 0 < found.window.requests <= columns.n
    assert (found.status is OK) <= (found.window is not None)
    assert (found.verdict is NOT_FOUND) == (found.window is None)


@settings(max_examples=30, deadline=None)
@given(LEVELS, st.integers(-(10**15), 10**15), st.randoms(use_true_random=False))
def test_time_and_order_in_the_file_change_nothing(levels: list[float], by_ns: int, random: Any) -> None:
    columns = steps(levels, per=20)
    found = judge(columns, rows=20)
    order = list(range(columns.n))
    random.shuffle(order)
    assert seen(judge(reordered(columns, np.array(order)), rows=20)) == seen(found)
    moved = judge(shifted(columns, by_ns), rows=20)
    assert seen(moved) == seen(found)
    if found.window is not None and moved.window is not None:
        assert moved.window.start_ns - found.window.start_ns == by_ns


@pytest.mark.parametrize("rows", [10, 1000, 4000])
def test_a_hundred_thousand_requests_take_no_time(rows: int) -> None:
    n = 100_000
    climb = np.linspace(20, 40, n) * MS
    columns = requests(np.arange(n) * 10 * MS, climb)
    begun = perf_counter()
    judge(columns, rows=rows)
    assert perf_counter() - begun < 2
