"""Failures, delivery, health and invariants."""

from __future__ import annotations

from typing import Any

import pytest
from metrics_build import MS, S, answer, columns, failed, machine, phase, worker

from wholecurve.metrics import (
    LIMITS,
    Health,
    HealthFigures,
    check,
    check_series,
    counts,
    delivery,
    failure_facts,
    finish_reasons,
    judge,
    read_lag_ns,
    series,
)
from wholecurve.model.plan import Limits, Pattern
from wholecurve.model.record import CLIENT_SIDE, FailureKind

CLOSED = phase(concurrency=2)
POISSON = phase(Pattern.POISSON, rate_per_s=10.0)


# Failures


def test_failures_are_counted_by_kind_and_status() -> None:
    rows = [
        failed("http_status", status=429, detail="slow down"),
        failed("http_status", status=429, detail="again"),
        failed("http_status", status=502),
        failed("idle_timeout", status=200),
        answer(0, MS, []),
    ]
    found = failure_facts(columns(rows), Limits())
    assert [(one.kind, one.count, one.example) for one in found.kinds] == [
        ("http_429", 2, "slow down"),
        ("http_502", 1, None),
        ("idle_timeout", 1, None),
    ]
    assert found.kinds[0].sentence == "the endpoint answered with an error status 429"
    assert found.kinds[2].sentence == FailureKind.IDLE_TIMEOUT.sentence


@pytest.mark.parametrize("kind", sorted(FailureKind))
def test_blame_follows_the_kind(kind: FailureKind) -> None:
    """NET-3: a limit of this machine is never booked on the endpoint."""
    found = failure_facts(columns([failed(kind)]), Limits())
    assert found.kinds[0].client_side == (kind in CLIENT_SIDE)
    assert found.client_side_failures == (kind in CLIENT_SIDE)


def test_rep_8_limit_of_the_failed_share() -> None:
    rows = columns([answer(0, MS, [])] * 94 + [failed("http_protocol_error")] * 6)
    assert failure_facts(rows, Limits(max_failed_share=0.05)).exceeded
    assert not failure_facts(rows, Limits(max_failed_share=0.06)).exceeded
    assert failure_facts(rows, Limits()).failed_share == 0.06


def test_cancelled_requests_are_no_failures_lost_ones_are() -> None:
    rows = columns([{"outcome": "cancelled"}] * 5 + [{"outcome": "lost"}] + [answer(0, MS, [])] * 4)
    assert failure_facts(rows, Limits()).failed_share == 0.2
    assert failure_facts(columns([{"outcome": "cancelled"}]), Limits()).failed_share is None


def test_net_5_cut_values_are_counted_with_the_limit_that_cut_them() -> None:
    rows = columns([failed("request_timeout"), failed("idle_timeout"), failed("idle_timeout"), answer(0, 310 * S, [])])
    limits = Limits(request_timeout_ns=300 * S, silence_timeout_ns=2 * S, drain_timeout_ns=None)
    assert [(cut.limit_name, cut.limit_ns, cut.values_cut) for cut in failure_facts(rows, limits).cut] == [
        ("request_timeout", 300 * S, 1),
        ("silence_timeout", 2 * S, 2),
        ("drain_timeout", None, 0),
    ]


def test_finish_reasons_of_successes() -> None:
    reasons = ["stop", "stop", "length", "tool_calls", "content_filter", "function_call", "eos", "missing", "", None]
    rows = [answer(0, MS, [], finish_reason=reason) for reason in reasons]
    assert finish_reasons(columns([*rows, failed("http_protocol_error", finish_reason="stop")])) == {
        "stop": 2,
        "length": 1,
        "tool_calls": 1,
        "content_filter": 1,
        "function_call": 1,
        "other": 2,
        "missing": 2,
    }


# Delivery


def test_net_10_clumps_are_flagged() -> None:
    """64 events at once every second, 128 in all."""
    found = delivery(columns([answer(0, S, [0] * 63 + [S] + [0] * 63, osl=128, events=128, reads=2)]))
    assert found.bursty
    assert found.zero_gap_share == pytest.approx(126 / 127)
    assert (found.events_per_read, found.tokens_per_event) == (64.0, 1.0)
    assert found.bursty_reason is not None
    assert "99 %" in found.bursty_reason


def test_net_10_clumps_with_tiny_gaps_are_flagged_too() -> None:
    assert delivery(columns([answer(0, S, ([5000] * 63 + [S]) * 2)])).bursty


def test_steady_delivery_is_not_flagged() -> None:
    assert not delivery(columns([answer(0, S, [20 * MS, 25 * MS] * 30)])).bursty
    assert not delivery(columns([answer(0, S, [0] * 3)])).bursty
    empty = delivery(columns([]))
    assert (empty.tokens_per_event, empty.events_per_read, empty.zero_gap_share) == (None, None, None)


# Health


def codes(health: Health) -> dict[str, str]:
    return {reason.code: str(reason.verdict) for reason in health.reasons}


def healthy(n: int = 40) -> list[dict[str, Any]]:
    """Closed loop at 2: each slot refilled 0.1 ms after its answer ended."""
    step = 100 * MS
    return [
        answer(i // 2 * step, step - 200_000, [], scheduled_ns=max(0, i // 2 * step - MS // 10), worker=i % 2)
        for i in range(n)
    ]


def test_a_healthy_run_is_ok_and_shows_every_figure() -> None:
    found = judge(columns(healthy()), CLOSED, [worker(), worker()], machine())
    assert (found.verdict, found.reasons) == ("ok", ())
    assert found.figures.refill_lag_p99_ns == MS // 10
    assert found.figures.start_lag_p99_ns is None
    assert found.figures.cpu_share_max == 0.2
    assert found.figures.level_share == pytest.approx(0.998)


WORKERS = [
    ("cpu_share_max", {"cpu_ns": 9 * S}, "strained"),
    ("cpu_share_max", {"cpu_ns": 96 * 10**8}, "client-limited"),
    ("read_lag_p99_ns", {"lags": ((14, 900), (24, 100))}, "strained"),
    ("gc_pause_max_ns", {"gc_pause_max_ns": 60 * MS}, "strained"),
    ("workers_not_clean", {"exit": "signal 9"}, "client-limited"),
]


@pytest.mark.parametrize(("code", "facts", "verdict"), WORKERS)
def test_scl_1_worker_limits(code: str, facts: dict[str, Any], verdict: str) -> None:
    found = judge(columns(healthy()), CLOSED, [worker(), worker(**facts)], machine())
    assert codes(found) == {code: verdict}
    assert found.verdict == verdict
    assert found.reasons[0].remedy


MACHINES = [
    ("descriptors_share", {"descriptors_peak": 1000}, "strained"),
    ("descriptors_share", {"descriptors_peak": 1024}, "client-limited"),
    ("ports_share", {"ports_used": 28_000}, "client-limited"),
    ("clock_steps", {"clock_steps": 1}, "strained"),
    ("load_per_core", {"running_before": 5.0}, "strained"),
]


@pytest.mark.parametrize(("code", "facts", "verdict"), MACHINES)
def test_machine_limits(code: str, facts: dict[str, Any], verdict: str) -> None:
    assert codes(judge(columns(healthy()), CLOSED, [worker()], machine(**facts))) == {code: verdict}


def test_late_reads_are_worse_without_kernel_stamps() -> None:
    late = worker(lags=((14, 900), (24, 100)), gc_pause_max_ns=60 * MS)
    with_stamps = judge(columns(healthy()), CLOSED, [late], machine())
    without = judge(columns(healthy()), CLOSED, [late], machine(kernel_stamps=False))
    assert codes(with_stamps) == {"read_lag_p99_ns": "strained", "gc_pause_max_ns": "strained"}
    assert codes(without) == {"read_lag_p99_ns": "client-limited", "gc_pause_max_ns": "client-limited"}


def test_read_lag_adds_histograms_never_percentiles() -> None:
    """STA-1: 990 small and 10 large lags on two workers; the pooled P99 is small, P99.9 large."""
    workers = [worker(lags=((10, 990),)), worker(lags=((30, 10),))]
    assert read_lag_ns(workers, 99.0) == 2**10 - 1
    assert read_lag_ns(workers, 99.9) == 2**30 - 1
    assert read_lag_ns([worker(lags=((0, 5),))], 50.0) == 0
    assert read_lag_ns([worker(lags=())], 99.0) is None
    assert read_lag_ns([], 99.0) is None


@pytest.mark.parametrize(
    ("lag", "wanted"),
    [
        (400_000, {}),
        (900_000, {"start_lag_p99_ns": "strained"}),
        (2 * MS, {"start_lag_p99_ns": "client-limited"}),
    ],
)
def test_open_loop_start_lag(lag: int, wanted: dict[str, str]) -> None:
    rows = [answer(i * 100 * MS + lag, MS, [], scheduled_ns=i * 100 * MS) for i in range(50)]
    assert codes(judge(columns(rows), POISSON, [worker()], machine())) == wanted


def test_waiting_for_the_cap_is_not_the_clients_lag() -> None:
    """TIM-1's load: 10 requests/s, cap 1, 500 ms each; issued 0.1 ms after the slot is free."""
    rows = [answer(i * 501 * MS, 500_900_000, [], scheduled_ns=i * 100 * MS) for i in range(8)]
    capped = phase(Pattern.CONSTANT, rate_per_s=10.0, concurrency=1)
    found = judge(columns(rows), capped, [worker()], machine())
    assert found.figures.start_lag_p99_ns == MS // 10
    assert found.verdict == "ok"
    uncapped = judge(columns(rows), phase(Pattern.CONSTANT, rate_per_s=10.0), [worker()], machine())
    assert codes(uncapped) == {"start_lag_p99_ns": "client-limited", "late_share": "client-limited"}


def test_refill_lag_leaves_out_the_first_request_of_each_slot() -> None:
    rows = healthy()
    for row in rows[:2]:
        row["scheduled_ns"] = -S
    assert judge(columns(rows), CLOSED, [worker()], machine()).figures.refill_lag_p99_ns == MS // 10


@pytest.mark.parametrize(("lag_ns", "verdict"), [(2 * MS, "ok"), (5 * MS, "strained"), (25 * MS, "client-limited")])
def test_refill_lag_is_judged_by_the_answer_time(lag_ns: int, verdict: str) -> None:
    """Answers of 100 ms: 2 ms between two of them is 2 % of the load, 25 ms a quarter of it."""
    rows = [answer(i * 200 * MS, 100 * MS, [], scheduled_ns=i * 200 * MS - lag_ns) for i in range(100)]
    found = judge(columns(rows), phase(concurrency=1), [worker()], machine())
    assert found.figures.refill_share == pytest.approx(lag_ns / (100 * MS))
    assert {code: said for code, said in codes(found).items() if code == "refill_share"} == (
        {} if verdict == "ok" else {"refill_share": verdict}
    )


@pytest.mark.parametrize(("shared", "verdict"), [(0, None), (5, "strained"), (20, "client-limited")])
def test_first_tokens_that_share_a_stamp_count_only_when_reads_were_late(shared: int, verdict: str | None) -> None:
    rows = healthy()
    for place, row in enumerate(rows):
        row["first_shared"] = 3 if place < shared * len(rows) // 100 else 1
    late, prompt = worker(lags=((14, 900), (21, 100))), worker(lags=((14, 1000),))
    assert codes(judge(columns(rows), CLOSED, [late], machine())).get("first_shared_share") == verdict
    assert "first_shared_share" not in codes(judge(columns(rows), CLOSED, [prompt], machine()))


def test_net_1_concurrency_that_is_not_reached_is_said() -> None:
    found = judge(columns(healthy()), phase(concurrency=3), [worker()], machine())
    assert codes(found) == {"concurrency_missing": "client-limited", "level_share": "client-limited"}
    assert found.figures.concurrency_missing == 1


def test_slots_that_stay_empty_are_said() -> None:
    rows = [answer(i // 2 * 100 * MS, 90 * MS, [], scheduled_ns=i // 2 * 100 * MS) for i in range(40)]
    assert codes(judge(columns(rows), CLOSED, [worker()], machine())) == {"level_share": "strained"}


def test_concurrency_is_not_judged_where_the_client_cannot_help_it() -> None:
    turns = [row | {"turn": i % 2} for i, row in enumerate(healthy())]
    assert judge(columns(turns), phase(concurrency=3), [worker()], machine()).verdict == "ok"
    unsent = [*healthy(), failed("connect_refused", sent_ns=None)]
    assert judge(columns(unsent), phase(concurrency=3), [worker()], machine()).verdict == "ok"
    assert judge(columns(healthy(2)), phase(concurrency=3), [worker()], machine()).verdict == "ok"


def test_user_stamps_among_kernel_stamps_are_said() -> None:
    rows = [row | {"reads": 10, "user_stamps": 1} for row in healthy()]
    assert codes(judge(columns(rows), CLOSED, [worker()], machine())) == {"user_stamp_share": "strained"}
    assert judge(columns(rows), CLOSED, [worker()], machine(kernel_stamps=False)).verdict == "ok"


def test_scl_5_lost_requests_make_the_client_the_suspect() -> None:
    rows = [*healthy(), {"outcome": "lost", "issued_ns": 0}]
    found = judge(columns(rows), CLOSED, [worker(exit="signal 9")], machine())
    assert codes(found) == {"lost_requests": "client-limited", "workers_not_clean": "client-limited"}


def test_every_limit_is_a_figure_and_every_row_can_be_read() -> None:
    shown_only = {"refill_lag_p99_ns"}  # judged as a share of the answer time: refill_share
    assert {limit.code for limit in LIMITS} == set(HealthFigures.__dataclass_fields__) - shown_only
    for limit in LIMITS:
        assert limit.sentence.count("{figure}") == 1
        assert limit.remedy
        assert limit.show(1.0)
        if limit.client_limited is not None:
            assert (limit.client_limited <= limit.strained) if limit.falls else (limit.client_limited >= limit.strained)


# Invariants

GOOD = answer(100, 50, [10, 0, 20], end=5, osl=9, osl_after_first=8, osl_reasoning=3)

BROKEN: list[tuple[str, dict[str, Any]]] = [
    ("success_has_times", {"sent_ns": None}),
    ("failure_has_kind", {"failure": "http_protocol_error"}),
    ("not_negative", {"usage_output": -1}),
    ("issued_after_scheduled", {"scheduled_ns": 101}),
    ("sent_after_issued", {"sent_ns": 99}),
    ("first_byte_after_sent", {"sent_ns": 2151, "issued_ns": 100}),
    ("first_output_after_first_byte", {"first_byte_ns": 151}),
    ("last_output_after_first_output", {"last_output_ns": 149}),
    ("completed_after_last_output", {"completed_ns": 179}),
    ("first_visible_after_first_output", {"first_visible_ns": 149}),
    ("completed_after_sent", {"sent_ns": 10_000}),
    ("completed_after_first_byte", {"first_byte_ns": 9_000}),
    ("output_events_in_events", {"events": 3}),
    ("user_stamps_in_reads", {"user_stamps": 99}),
    ("after_first_in_osl", {"osl_after_first": 10}),
    ("reasoning_in_osl", {"osl_reasoning": 10}),
    ("gaps_counted", {"output_events": 3}),
    ("gaps_counted", {"gaps_ns": []}),
    ("gaps_add_up", {"gaps_ns": [10, 0, 21]}),
    ("not_negative", {"gaps_ns": [-10, 20, 20]}),
    ("outcomes_add_up", {"outcome": "unheard"}),
]


def test_good_records_have_no_violation() -> None:
    rows = [GOOD, failed("connect_refused", sent_ns=None), {"outcome": "cancelled"}, {"outcome": "lost"}]
    assert check(columns([*rows, failed("truncated_stream", output_events=3)])) == ()
    assert check(columns([])) == ()


@pytest.mark.parametrize(("code", "change"), BROKEN)
def test_each_invariant_is_found_with_its_request(code: str, change: dict[str, Any]) -> None:
    found = {one.code: one for one in check(columns([GOOD, GOOD | change]))}
    assert code in found
    assert (found[code].violations, found[code].requests) == (1, (1,))


def test_two_clocks_may_differ_by_a_microsecond() -> None:
    assert check(columns([GOOD | {"sent_ns": 1151, "issued_ns": 100, "completed_ns": 1200}])) == ()


def test_records_without_events_are_not_judged_by_gaps() -> None:
    assert check(columns([GOOD | {"gaps_ns": []}])) == ()


def test_scl_5_every_place_of_the_issue_order_has_one_row() -> None:
    holes = check(columns([GOOD | {"index": place} for place in (0, 1, 4, 5, 8)]))
    assert [(one.code, one.violations, one.requests) for one in holes] == [("index_complete", 4, (2, 6))]
    twice = check(columns([GOOD | {"index": place} for place in (0, 1, 1)]))
    assert [(one.code, one.violations, one.requests) for one in twice] == [("index_unique", 1, (1,))]


def test_outcomes_add_up() -> None:
    found = counts(
        columns([GOOD, failed("http_protocol_error"), {"outcome": "cancelled"}, {"outcome": "lost"}, {"outcome": None}])
    )
    assert (found.sent, found.succeeded, found.failed, found.cancelled, found.lost, found.unknown) == (5, 1, 1, 1, 1, 1)


def test_series_with_percentiles_out_of_order_are_found() -> None:
    block = series(columns([GOOD])["issued_ns"])
    assert check_series({"ttft": block, "tpot": {}}) == ()
    bad = block | {"percentiles": block["percentiles"] | {"90.0": 99}}
    assert [one.code for one in check_series({"ttft": bad})] == ["percentiles_ordered"]
    assert [one.code for one in check_series({"ttft": block | {"n": 2}})] == ["histogram_complete"]
    negative = series(columns([GOOD | {"issued_ns": -5}])["issued_ns"])
    assert [one.code for one in check_series({"ttft": negative})] == ["not_negative"]
