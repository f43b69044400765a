"""What times and rates mean: the pitfalls TIM, STA-4, LOD, WRM as hand-made columns."""

from __future__ import annotations

import pytest
from metrics_build import MS, S, answer, columns, failed, phase, plan

from wholecurve.metrics import arrivals, concurrency, legacy_rates, rates, series, timeline, token_counts, tpot, ttft
from wholecurve.metrics.latency import dispatch_delay, latency, latency_from_scheduled, tokens_after_first
from wholecurve.metrics.rate import e2e_interactivity
from wholecurve.metrics.summary import _series
from wholecurve.model.record import RunState


def blocks(cols, stream: bool = True):
    return _series(plan(phase(concurrency=1), stream=stream), cols, RunState.COMPLETE)


def test_tim_1_wait_for_a_slot_has_its_own_series() -> None:
    """10 requests/s, cap 1, 500 ms each, 8 requests."""
    rows = [answer(i * 500 * MS, 500 * MS, [], scheduled_ns=i * 100 * MS) for i in range(8)]
    cols = columns(rows)
    assert series(latency(cols))["avg"] == 500 * MS
    assert series(latency_from_scheduled(cols))["avg"] == 1900 * MS
    assert series(latency_from_scheduled(cols))["max"] == 3300 * MS
    assert series(dispatch_delay(cols))["avg"] == 1400 * MS


def test_tim_2_not_measured_is_not_zero() -> None:
    good = [answer(0, 30 * MS, [MS] * 3, osl=4, osl_after_first=3)] * 50
    found = blocks(columns(good + [failed("empty_output", end=MS, usage_output=0)] * 50))
    assert (found["ttft"]["n"], found["ttft"]["min"]) == (50, 30 * MS)
    assert found["tpot"]["n"] == 50


def test_tim_3_tpot_divides_by_tokens_that_came() -> None:
    cols = columns([answer(0, 0, [100 * MS] * 10, usage_output=11, max_tokens=1000)])
    assert tpot(cols).tolist() == [100 * MS]


def test_tim_4_one_token_answers_have_no_tpot() -> None:
    ones = [answer(0, MS, [], osl=1, osl_after_first=0)] * 10
    elevens = [answer(0, MS, [20 * MS] * 10, osl=11, osl_after_first=10)] * 10
    found = blocks(columns(ones + elevens))
    assert (found["tpot"]["n"], found["tpot"]["avg"]) == (10, 20 * MS)
    assert found["ttft"]["n"] == 20


def test_tim_5_usage_and_end_marker_are_not_decode_time() -> None:
    found = blocks(columns([answer(0, 500 * MS, [100 * MS] * 10, end=2 * S, usage_output=11)]))
    assert found["tpot"]["max"] == 100 * MS
    assert found["time_to_last_output"]["max"] == 1500 * MS
    assert found["latency"]["max"] == 3500 * MS


def test_tim_6_an_event_is_not_a_token() -> None:
    """25 events of 4 tokens, 40 ms apart; usage says 100 tokens."""
    found = blocks(columns([answer(0, 0, [40 * MS] * 24, usage_output=100)]))
    assert found["tpot"]["max"] == pytest.approx(960 * MS / 99)
    assert found["time_per_output_event"]["max"] == 40 * MS
    exact = columns([answer(0, 0, [40 * MS] * 24, osl=100, osl_after_first=96, usage_output=100)])
    assert tpot(exact).tolist() == [10 * MS]


def test_without_token_counts_tpot_is_undefined_not_counted_in_events() -> None:
    found = blocks(columns([answer(0, 0, [40 * MS] * 24)]))
    assert found["tpot"] == {}
    assert found["output_sequence_lengths"] == {}
    assert found["time_per_output_event"]["n"] == 1


def test_sources_are_never_mixed_within_a_series() -> None:
    cols = columns([answer(0, 0, [MS] * 9, osl=10, osl_after_first=9), answer(0, 0, [MS] * 9, usage_output=10)])
    assert blocks(cols)["tpot"]["n"] == 1
    assert token_counts(cols).uncounted == 1
    assert tokens_after_first(cols).tolist()[0] == 9


def test_answers_in_one_event_or_not_streamed_have_no_tpot() -> None:
    """rules.md section 3, rule 7."""
    assert blocks(columns([answer(0, MS, [], osl=100, osl_after_first=50)]))["tpot"] == {}
    found = blocks(columns([answer(0, MS, [MS], osl=9, osl_after_first=5)]), stream=False)
    assert [name for name in ("ttft", "tpot", "gaps", "time_per_output_event") if found[name]] == []
    assert found["latency"]["n"] == 1


def test_tim_7_streams_without_a_token_have_no_ttft() -> None:
    rows = [answer(10**18, 5 * MS, [MS]) if i % 10 else failed("truncated_stream", 10**18) for i in range(100)]
    found = blocks(columns(rows))
    assert found["ttft"]["n"] == 90
    assert all(block["min"] >= 0 for block in found.values() if block)


def test_tim_8_duration_is_first_issue_to_last_completion() -> None:
    rows = [answer(3 * S + i * S, 100 * MS, [], end=900 * MS, scheduled_ns=0) for i in range(10)]
    found = rates(columns(rows))
    assert (found.duration_ns, found.qps) == (10 * S, 1.0)
    late = failed("request_timeout", 3 * S, 23 * S)
    cut = {"outcome": "cancelled", "issued_ns": 3 * S, "sent_ns": 3 * S, "completed_ns": 99 * S}
    slower = rates(columns([*rows, late, cut]))
    assert (slower.duration_ns, slower.qps, slower.qps_all) == (20 * S, 0.5, 0.55)


def test_rates_without_anything() -> None:
    empty = rates(columns([]))
    assert (empty.duration_ns, empty.qps, empty.tps, empty.tps_per_user) == (None, None, None, None)
    refused = rates(columns([failed("connect_refused", 0, S)]))
    assert (refused.qps, refused.qps_all, refused.tps) == (0.0, 1.0, None)


def test_tim_9_reasoning_stops_ttft_visible_text_its_own_clock() -> None:
    found = blocks(columns([answer(0, 200 * MS, [5 * S], first_visible_ns=5200 * MS)]))
    assert found["ttft"]["max"] == 200 * MS
    assert found["time_to_first_visible"]["max"] == 5200 * MS


def test_sta_4_tpot_is_by_request_and_gaps_by_token() -> None:
    a = answer(0, MS, [100 * MS], osl=2, osl_after_first=1)
    b = answer(0, MS, [10 * MS] * 100, osl=101, osl_after_first=100)
    found = blocks(columns([a, b]))
    assert found["tpot"]["avg"] == 55 * MS
    assert (found["gaps"]["n"], round(found["gaps"]["avg"] / MS, 1)) == (101, 10.9)


def test_lod_3_a_stall_shows_from_schedule() -> None:
    """100 requests/s for 10 s, 1 ms each, frozen from 4 s to 6 s."""
    rows = []
    for i in range(1000):
        start = i * 10 * MS
        end = (6 * S if 4 * S <= start < 6 * S else start) + MS
        rows.append(answer(start, end - start, []))
    found = blocks(columns(rows))["latency_from_scheduled"]
    assert found["n"] == 1000
    assert found["percentiles"]["90.0"] == 1001 * MS
    assert found["percentiles"]["99.0"] == 1901 * MS
    assert found["max"] == 2001 * MS
    assert found["median"] == MS


def test_lod_8_bursts_show_in_the_arrivals() -> None:
    """Rate 50, cap 32, answers that end in lock-step every second."""
    rows = [answer((i // 32 + 1) * S, 900 * MS, [], scheduled_ns=i * 20 * MS) for i in range(320)]
    found = arrivals(columns(rows), 50.0)
    assert found.most_in_100_ms == 32
    assert found.late_share == 1.0
    assert found.achieved_rate_per_s == pytest.approx(319 / 9)
    smooth = arrivals(columns([answer(i * 20 * MS, MS, []) for i in range(320)]), 50.0)
    assert (smooth.most_in_100_ms, smooth.late_share, smooth.achieved_rate_per_s) == (5, 0.0, 50.0)


def wrm_5():
    waves = [answer(wave * S, 500 * MS, [], end=500 * MS, osl=10) for wave in range(3) for _ in range(8)]
    return columns([*waves, answer(3 * S, 500 * MS, [], end=9500 * MS, osl=10)])


def test_wrm_5_whole_run_figure_is_over_the_whole_time() -> None:
    found = rates(wrm_5())
    assert found.duration_ns == 13 * S
    assert found.qps == pytest.approx(25 / 13)
    assert found.tps == pytest.approx(250 / 13)


def test_concurrency_is_time_weighted() -> None:
    held = concurrency(wrm_5(), 8)
    assert (held.peak, held.mean_while_issuing, held.share_at_requested) == (8, 8.0, 1.0)
    assert held.mean == pytest.approx((8 * 3 + 10) / 13)
    assert concurrency(columns([]), 8).peak is None
    lone = concurrency(columns([answer(0, S, []), answer(2 * S, S, [])]), 2)
    assert (lone.peak, lone.share_at_requested) == (1, 0.0)
    assert lone.mean == pytest.approx(2 / 3)


def test_a_slot_that_frees_and_refills_at_once_is_not_two() -> None:
    assert concurrency(columns([answer(0, S, []), answer(S, S, [])]), 1).peak == 1


def test_timeline_adds_up() -> None:
    found = timeline(wrm_5(), bins=13)
    assert found["bin_ns"] == S
    assert found["in_flight"] == [8, 8, 8, *[1] * 10]
    assert sum(found["completions_ok"]) == 25
    assert sum(found["output_tokens_by_bin"]) == pytest.approx(250)
    ramps = columns([answer(0, 0, [S] * 10, osl=100), answer(0, S, [S] * 4, osl=40)])
    assert timeline(ramps, bins=10)["output_tokens_by_bin"] == pytest.approx([10, 20, 20, 20, 20, *[10] * 5])
    assert timeline(columns([])) == {}


def test_rates_of_tokens() -> None:
    rows = [answer(i * S, 0, [10 * MS] * 10, isl=5, osl=11, osl_after_first=10, usage_output=12) for i in range(10)]
    partial = failed("truncated_stream", 0, MS, osl=7)
    cols = columns([*rows, partial])
    found, counted = rates(cols), token_counts(cols)
    seconds = 9.1
    assert found.tps == pytest.approx(110 / seconds)
    assert found.total_tps == pytest.approx(160 / seconds)
    assert found.tps_per_user == pytest.approx(100.0)
    assert (counted.output, counted.partial_output, counted.input) == (110, 7, 50)
    assert (counted.compared, counted.different) == (10, 10)
    assert counted.relative_mismatch == pytest.approx(10 / 110)


def test_legacy_loadgen_rates() -> None:
    """The window ends with the success issued last, not with the last completion."""
    rows = [answer(0, 9 * S, [], osl=10), answer(S, 4 * S, [], osl=10), answer(2 * S, 2 * S, [], osl=10)]
    found = legacy_rates(columns(rows))
    assert (found.window_ns, found.qps, found.tps) == (4 * S, 0.5, 7.5)
    assert legacy_rates(columns(rows[:1])).qps is None


def test_agentic_speed_is_a_ratio_of_sums() -> None:
    turns = [answer(0, S, [], osl=10, turn=0), answer(S, 3 * S, [], osl=70, turn=1)]
    assert e2e_interactivity(columns(turns)) == (80, 4.0, 20.0)
    assert e2e_interactivity(columns(turns[:1])) is None
    assert e2e_interactivity(columns([row | {"osl": None} for row in turns])) is None


def test_ttft_is_from_issued() -> None:
    assert ttft(columns([answer(100, 50, [], sent_ns=120, scheduled_ns=10)])).tolist() == [50]
