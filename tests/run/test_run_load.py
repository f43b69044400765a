"""The engine against real sockets: timing, order, concurrency, connections, timeouts, faults."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections import Counter
from random import Random

import pytest
from run_build import NS, ordered, phase, plan_for, prompts, run_load

from wholecurve.load import sample_order
from wholecurve.model.plan import Limits, Order, Pattern, PhaseKind, RequestOptions, Secrets, StopRule
from wholecurve.model.record import FailureKind, RunState
from wholecurve.model.sample import Conversation, Sample, Turn, single_shot
from wholecurve.run.conn import Address, Broken
from wholecurve.run.control import Global
from wholecurve.run.outgoing import Outgoing
from wholecurve.run.recorder import Recorder
from wholecurve.run.transport import Transport
from wholecurve.sim import SimOptions, profile_named, start
from wholecurve.testing import (
    At,
    Close,
    Hang,
    Reset,
    ScriptedServer,
    Send,
    TruthServer,
    Wait,
    chunk,
    error_answer,
    head_bytes,
    json_answer,
    sse_answer,
    sse_event,
)

ANSWER = sse_answer(["a", "b", "c", "d"])


def test_every_figure_matches_the_server_that_knows_the_truth(tmp_path):
    with TruthServer(tokens=6, first_s=0.03, gap_s=0.01) as server:
        load = run_load(tmp_path, server.url, phase(concurrency=4))
        truth = server.truth()
    assert load.result.state is RunState.COMPLETE
    assert len(load.rows) == 8
    for row in load.rows:
        record = next(r for name, r in truth.items() if name.endswith(f"-0-{row['index']}"))
        assert row["outcome"] == "succeeded"
        assert row["output_events"] == len(record.token_ns) == 4  # max_tokens of the row
        assert ordered(row)
        # The kernel stamps an event while the server is in its send: no later than a scheduling hiccup after it.
        assert -20_000 <= row["first_output_ns"] - record.token_ns[0] < 20_000_000
        # Two processes convert the kernel's stamps, each with its own reading of the two clocks: a few microseconds.
        assert -20_000 <= record.arrived_ns - row["sent_ns"] < 20_000_000
        assert row["user_stamps"] == 0
        for ours, theirs in zip(row["gaps_ns"], record.gaps_ns, strict=True):
            assert abs(ours - theirs) < 10_000_000


def test_without_kernel_stamps_every_read_says_so(tmp_path):
    with ScriptedServer(ANSWER) as server:
        load = run_load(tmp_path, server.url, phase(), kernel_stamps=False)
    assert all(row["user_stamps"] == row["reads"] > 0 for row in load.rows)
    assert all(ordered(row) for row in load.rows)


@pytest.mark.parametrize("workers", [1, 3])
def test_order_is_the_seeds_whatever_the_workers(tmp_path, workers):
    """LOD-4, LOD-5: each place of the order is sent exactly once, by whichever worker."""
    with ScriptedServer(ANSWER) as server:
        load = run_load(
            tmp_path, server.url,
            phase(rows=7, order=Order.SHUFFLED, stop=StopRule(max_samples=40, min_samples=40), concurrency=5),
            workers=workers,
        )  # fmt: skip
        sent = Counter(request.header("x-request-id").split("-", 1)[1] for request in server.requests)
    order = sample_order(Order.SHUFFLED, 7, Random(42))
    assert [row["sample"] for row in load.rows] == [next(order) for _ in range(40)]
    assert [row["index"] for row in load.rows] == list(range(40))
    assert sent == Counter({f"0-{index}": 1 for index in range(40)})


@pytest.mark.parametrize(("concurrency", "workers"), [(8, 8), (9, 8), (5, 8), (1, 4), (32, 3)])
def test_concurrency_is_exact_for_any_number_of_workers(tmp_path, concurrency, workers):
    """LOD-2, NET-1: the server's own count of requests at once."""
    with ScriptedServer([At(0.15), *ANSWER]) as server:
        load = run_load(
            tmp_path, server.url,
            phase(rows=64, concurrency=concurrency, stop=StopRule(min_samples=64, max_samples=64)), workers=workers,
        )  # fmt: skip
        assert server.peak_requests == concurrency
    assert len(load.of("succeeded")) == 64
    assert sum(fact["peak_in_flight"] for fact in load.facts) == concurrency


def test_300_at_once(tmp_path):
    """NET-1: no hidden cap of a connection pool."""
    with ScriptedServer([At(1.0), *ANSWER]) as server:
        run_load(
            tmp_path, server.url, phase(rows=300, concurrency=300, stop=StopRule(min_samples=300, max_samples=300))
        )
        assert server.peak_requests == 300


def test_connections_are_reused(tmp_path):
    with ScriptedServer(ANSWER) as server:
        load = run_load(tmp_path, server.url, phase(rows=30, stop=StopRule(min_samples=30, max_samples=30)))
        assert server.connections == 2
    assert [row["reused"] for row in load.rows].count(0) == 2


def test_server_that_closes_after_each_answer(tmp_path):
    with ScriptedServer([*ANSWER, Close()]) as server:
        load = run_load(tmp_path, server.url, phase(rows=20, stop=StopRule(min_samples=20, max_samples=20)))
        assert server.connections > 10
    assert len(load.of("succeeded")) == 20
    assert sum(row["connect_ns"] is not None for row in load.rows) > 10


def test_idle_connection_closed_just_as_it_is_reused(tmp_path):
    """NET-4: no request is lost; the clock runs from the first try; the resend is counted."""
    with ScriptedServer(ANSWER, idle_close_s=0.03) as server:
        load = run_load(
            tmp_path, server.url,
            phase(rows=30, concurrency=1, pattern=Pattern.CONSTANT, rate_per_s=30.0,
                  stop=StopRule(min_samples=30, max_samples=30)),
        )  # fmt: skip
    assert len(load.of("succeeded")) == 30


def test_request_is_sent_again_only_before_any_byte_of_an_answer(tmp_path):
    """A reused connection that dies silently is replaced once; one that dies after a byte is a failure."""

    def script(request):
        if request.number == 0:
            return ANSWER
        if request.number == 1:
            return [Reset()]  # reused, nothing answered: sent again
        if request.number == 2:
            return ANSWER  # the second try
        if request.number == 3:
            return [Send(b"HTTP/1.1 200 OK\r\n"), Wait(0.02), Close()]
        return ANSWER

    with ScriptedServer(script) as server:
        load = run_load(tmp_path, server.url, phase(rows=4, concurrency=1, stop=StopRule(min_samples=4, max_samples=4)))
        assert len(server.requests) == 5
    assert [row["outcome"] for row in load.rows] == ["succeeded", "succeeded", "failed", "succeeded"]
    assert load.rows[1]["attempts"] == 2
    assert load.rows[2]["failure"] == "closed_without_answer"
    assert load.facts[0]["resends"] == 1


def test_several_urls_share_the_load(tmp_path):
    slow = [At(0.05), *ANSWER]
    with ScriptedServer(slow) as one, ScriptedServer(slow) as two:
        load = run_load(
            tmp_path, [one.url, two.url], phase(rows=40, concurrency=4, stop=StopRule(min_samples=40, max_samples=40))
        )
        assert one.peak_requests == two.peak_requests == 2
        assert load.facts[0]["requests_by_address"] == [len(one.requests), len(two.requests)]
    assert Counter(row["address"] for row in load.rows) == {0: len(one.requests), 1: len(two.requests)}


# -- open loop -------------------------------------------------------------------------------------------------------


def test_constant_rate_keeps_its_absolute_schedule(tmp_path):
    """LOD-1, LOD-6: offsets are multiples of the gap; the count is the plan's, not the clock's."""
    with ScriptedServer(ANSWER) as server:
        load = run_load(
            tmp_path, server.url,
            phase(rows=50, pattern=Pattern.CONSTANT, rate_per_s=100.0, concurrency=None,
                  stop=StopRule(max_duration_ns=NS // 2)),
        )  # fmt: skip
    assert len(load.rows) == 50
    start = load.rows[0]["scheduled_ns"]
    assert [row["scheduled_ns"] - start for row in load.rows] == [k * 10_000_000 for k in range(50)]
    assert all(row["issued_ns"] >= row["scheduled_ns"] for row in load.rows)


def test_slot_wait_is_its_own_figure(tmp_path):
    """TIM-1: with a rate and a cap, from sent and from scheduled are two series."""
    with ScriptedServer([At(0.1), *ANSWER]) as server:
        load = run_load(
            tmp_path, server.url,
            phase(rows=8, pattern=Pattern.CONSTANT, rate_per_s=50.0, concurrency=1),
        )  # fmt: skip
        assert server.peak_requests == 1
    waits = [(row["issued_ns"] - row["scheduled_ns"]) / 1e6 for row in load.rows]
    assert waits == sorted(waits)
    assert waits[-1] > 7 * 75  # each next one waits 80 ms longer
    assert all(row["first_output_ns"] - row["sent_ns"] < 0.2 * NS for row in load.rows)


def test_stall_shows_from_schedule(tmp_path):
    """LOD-3: an open loop keeps sending while the endpoint is frozen."""
    began = time.monotonic()

    def script(_request):
        frozen = began + 0.6 - time.monotonic()
        return [Wait(frozen), *ANSWER] if time.monotonic() - began > 0.2 and frozen > 0 else ANSWER

    with ScriptedServer(script) as server:
        load = run_load(
            tmp_path, server.url,
            phase(rows=100, pattern=Pattern.CONSTANT, rate_per_s=100.0, concurrency=None,
                  stop=StopRule(min_samples=100, max_samples=100)),
        )  # fmt: skip
    assert len(load.of("succeeded")) == 100
    slow = [row for row in load.rows if row["first_output_ns"] - row["scheduled_ns"] > 0.1 * NS]
    assert len(slow) > 10


def test_offline_sends_everything_at_once(tmp_path):
    with ScriptedServer([At(0.3), *ANSWER]) as server:
        load = run_load(
            tmp_path, server.url,
            phase(rows=60, pattern=Pattern.OFFLINE, concurrency=None, stop=StopRule(min_samples=60, max_samples=60)),
        )  # fmt: skip
        assert server.peak_requests == 60
    assert len(load.of("succeeded")) == 60


# -- phases and stop rules -------------------------------------------------------------------------------------------


def test_warmup_is_a_phase_of_its_own(tmp_path):
    """WRM-3: it ends, drained, before the measured phase begins."""
    warmup = phase(kind=PhaseKind.WARMUP, name="warmup", stop=StopRule(min_samples=3, max_samples=3))
    with ScriptedServer([At(0.05), *ANSWER]) as server:
        load = run_load(tmp_path, server.url, [warmup, phase()])
    before = [row for row in load.rows if row["phase"] == 0]
    after = [row for row in load.rows if row["phase"] == 1]
    assert (len(before), len(after)) == (3, 8)
    assert max(row["completed_ns"] for row in before) <= min(row["issued_ns"] for row in after)


def test_at_least_a_time_and_whole_passes(tmp_path):
    with ScriptedServer([At(0.02), *ANSWER]) as server:
        load = run_load(
            tmp_path, server.url,
            phase(rows=5, concurrency=2, stop=StopRule(min_duration_ns=NS // 2, whole_passes=True)), workers=2,
        )  # fmt: skip
    assert len(load.rows) % 5 == 0
    assert load.rows[-1]["issued_ns"] - load.rows[0]["issued_ns"] > 0.4 * NS
    assert load.result.state is RunState.COMPLETE


def test_duration_drains_what_is_in_flight(tmp_path):
    with ScriptedServer([At(0.2), *ANSWER]) as server:
        load = run_load(tmp_path, server.url, phase(rows=5, concurrency=3, stop=StopRule(max_duration_ns=NS // 2)))
    assert len(load.of("succeeded")) == len(load.rows) >= 6
    assert max(row["issued_ns"] for row in load.rows) - load.rows[0]["scheduled_ns"] < 0.5 * NS


def test_drain_is_bounded(tmp_path):
    """WRM-6, NET-6: one request that never ends is cancelled when the drain time is over."""
    with ScriptedServer(lambda request: [Hang()] if request.number == 3 else ANSWER) as server:
        load = run_load(tmp_path, server.url, phase(drain_timeout_ns=NS // 5))
    assert Counter(row["outcome"] for row in load.rows) == {"succeeded": 7, "cancelled": 1}
    assert load.of("cancelled")[0]["detail"] == "drain timeout"


def test_turns_of_a_conversation_follow_one_another(tmp_path):
    """MT-4, MT-6: a turn waits for the one before it and its pause; a failed turn ends its conversation only."""
    talk = tuple(
        Conversation(f"c{c}", tuple(Turn(Sample(row=3 * c + t, prompt=f"c{c} t{t}"), 50_000_000) for t in range(3)))
        for c in range(2)
    )

    def script(request):
        return error_answer(500, "no") if b"c0 t1" in request.body else ANSWER

    with ScriptedServer(script) as server:
        load = run_load(
            tmp_path, server.url, phase(rows=2, stop=StopRule(min_samples=2, max_samples=2)), conversations=talk
        )
        assert len(server.requests) == 5
    first, second = load.rows[:3], load.rows[3:]
    assert [row["failure"] for row in first] == [None, "http_status", "prior_turn_failed"]
    assert first[2]["sent_ns"] is None
    assert [row["outcome"] for row in second] == ["succeeded"] * 3
    assert second[1]["scheduled_ns"] - second[0]["completed_ns"] == 50_000_000


# -- failures ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("script", "failure"),
    [
        (error_answer(429, '{"error":{"message":"slow down"}}'), "http_status"),
        ([Send(b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nabc"), Close()], "truncated_stream"),
        ([Close()], "closed_without_answer"),
        ([Reset()], "closed_without_answer"),
        ([Send(b"SSH-2.0-x\r\n\r\n"), Close()], "http_protocol_error"),
        (json_answer({"choices": [{"message": {"content": "x"}, "finish_reason": "stop"}]}), "not_an_event_stream"),
    ],
)
def test_failures_have_a_kind(tmp_path, script, failure):
    with ScriptedServer(script) as server:
        load = run_load(tmp_path, server.url, phase(rows=2, stop=StopRule(min_samples=2, max_samples=2)))
    assert [row["failure"] for row in load.rows] == [failure] * 2
    assert load.result.state is RunState.COMPLETE


def test_1000_error_pages_leak_no_connection(tmp_path):
    """NET-7"""

    def script(request):
        return ANSWER if request.number >= 200 else error_answer(502, "<html>bad gateway</html>")

    with ScriptedServer(script) as server:
        load = run_load(
            tmp_path, server.url, phase(rows=210, concurrency=8, stop=StopRule(min_samples=210, max_samples=210))
        )
        assert server.peak_connections <= 8
    assert Counter(row["outcome"] for row in load.rows) == {"failed": 200, "succeeded": 10}
    assert all("bad gateway" in row["detail"] for row in load.of("failed"))


def test_silent_stream_hits_the_silence_timeout(tmp_path):
    """NET-6"""
    silent = [*sse_answer(["a"])[:-1], Hang()]
    with ScriptedServer(lambda request: silent if request.number == 1 else ANSWER) as server:
        load = run_load(
            tmp_path, server.url, phase(rows=3, stop=StopRule(min_samples=3, max_samples=3)),
            limits=Limits(silence_timeout_ns=NS // 3),
        )  # fmt: skip
    assert Counter(row["failure"] for row in load.rows) == {None: 2, "idle_timeout": 1}


def test_request_timeout_cuts_a_stream_that_never_ends(tmp_path):
    """NET-5: no limit by default; with one, the cut request is a failure with its kind."""
    with ScriptedServer(sse_answer(["x"] * 200, gap_s=0.05)) as server:
        load = run_load(
            tmp_path, server.url, phase(rows=2, stop=StopRule(min_samples=2, max_samples=2)),
            limits=Limits(request_timeout_ns=NS // 3),
        )  # fmt: skip
    assert [row["failure"] for row in load.rows] == ["request_timeout"] * 2
    assert all(row["output_events"] > 2 for row in load.rows)


def test_a_limit_below_the_workers_tick_still_holds(tmp_path):
    """NET-5: an answer that took longer than the limit is cut in the records, even if no timer saw it."""
    with ScriptedServer([At(0.01), *ANSWER]) as server:
        load = run_load(tmp_path, server.url, phase(), limits=Limits(request_timeout_ns=NS // 1000))
    assert [row["failure"] for row in load.rows] == ["request_timeout"] * 8
    assert all("the whole answer came after" in row["detail"] for row in load.rows if row["detail"])


def test_a_fault_of_the_answer_is_named_before_the_timeout_that_cut_it(tmp_path):
    error = [Send(head_bytes(200, [("Content-Type", "text/event-stream"), ("Transfer-Encoding", "chunked")])),
             Send(chunk(sse_event({"error": {"message": "out of cache"}}))), Hang()]  # fmt: skip
    with ScriptedServer(error) as server:
        load = run_load(
            tmp_path, server.url, phase(rows=2, stop=StopRule(min_samples=2, max_samples=2)),
            limits=Limits(silence_timeout_ns=NS // 4),
        )  # fmt: skip
    assert [row["failure"] for row in load.rows] == ["server_stream_error"] * 2


def test_a_reset_in_mid_stream_says_so(tmp_path):
    with ScriptedServer([*sse_answer(["a", "b"])[:2], Wait(0.05), Reset()]) as server:
        load = run_load(tmp_path, server.url, phase(rows=1, stop=StopRule(min_samples=1, max_samples=1)))
    assert load.rows[0]["failure"] == "truncated_stream"
    assert "reset" in load.rows[0]["detail"].lower()


def test_no_retry_unless_asked_for(tmp_path):
    """NET-9"""

    def script(request):
        return error_answer(429, "busy", headers=[("Retry-After", "0.1")]) if request.number % 2 == 0 else ANSWER

    stop = StopRule(min_samples=2, max_samples=2)
    with ScriptedServer(script) as server:
        once = run_load(tmp_path / "a", server.url, phase(rows=2, concurrency=1, stop=stop))
    with ScriptedServer(script) as server:
        again = run_load(tmp_path / "b", server.url, phase(rows=2, concurrency=1, stop=stop), limits=Limits(retries=1))
    assert [row["outcome"] for row in once.rows] == ["failed", "succeeded"]
    assert [row["outcome"] for row in again.rows] == ["succeeded", "succeeded"]
    assert [row["attempts"] for row in again.rows] == [2, 2]
    assert all(row["first_output_ns"] - row["issued_ns"] > 0.1 * NS for row in again.rows)


def test_refused_connections_are_failures_and_the_run_ends(tmp_path):
    with ScriptedServer(ANSWER) as server:
        url = server.url
    load = run_load(tmp_path, url, phase(rows=4, stop=StopRule(min_samples=4, max_samples=4)))
    assert [row["failure"] for row in load.rows] == ["connect_refused"] * 4
    assert all(row["sent_ns"] is None for row in load.rows)


def test_endpoint_that_dies_ends_the_run_early(tmp_path):
    # A server of its own process: one in this process would lend its listening socket to the forked workers.
    with start(SimOptions(profile=profile_named("flash"), models=())) as server:
        timer = threading.Timer(0.7, server.stop)
        timer.start()
        load = run_load(
            tmp_path, server.url, phase(rows=50, concurrency=4, stop=StopRule(max_duration_ns=60 * NS)),
            limits=Limits(run_timeout_ns=30 * NS),
        )  # fmt: skip
        timer.join()
    assert load.result.state is RunState.FAILED
    assert "gone" in load.result.reason
    assert len(load.of("succeeded")) > 10
    assert {row["failure"] for row in load.of("failed")} <= {
        "connect_refused",
        "closed_without_answer",
        "truncated_stream",
    }


def test_run_time_limit(tmp_path):
    with ScriptedServer([At(0.05), *ANSWER]) as server:
        load = run_load(
            tmp_path, server.url, phase(stop=StopRule(max_duration_ns=60 * NS)), limits=Limits(run_timeout_ns=NS // 2)
        )
    assert load.result.state is RunState.FAILED
    assert "time limit" in load.result.reason
    assert load.of("succeeded")


# -- signals, crashes ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("signals", "cancelled"),
    [([signal.SIGINT], False), ([signal.SIGINT, signal.SIGINT], True), ([signal.SIGTERM], True)],
)
def test_signals(tmp_path, signals, cancelled):
    """Once: stop issuing and drain. Twice, or SIGTERM: stop now. Every request has an outcome."""
    with ScriptedServer([At(0.6), *ANSWER]) as server:
        for place, number in enumerate(signals):
            threading.Timer(0.3 + 0.05 * place, os.kill, (os.getpid(), number)).start()
        load = run_load(tmp_path, server.url, phase(rows=50, concurrency=3, stop=StopRule(max_duration_ns=30 * NS)))
    assert load.result.state is RunState.INTERRUPTED
    assert len(load.rows) == 3
    assert {row["outcome"] for row in load.rows} == ({"cancelled"} if cancelled else {"succeeded"})


def test_killed_worker_loses_nothing_silently(tmp_path):
    """SCL-5: what was in flight in the dead worker is lost, and said to be."""

    def kill_first(supervisor):
        def later():
            time.sleep(0.5)
            os.kill(supervisor._workers[0], signal.SIGKILL)

        threading.Thread(target=later, daemon=True).start()

    with ScriptedServer([At(0.1), *ANSWER]) as server:
        load = run_load(
            tmp_path, server.url, phase(rows=50, concurrency=6, stop=StopRule(max_duration_ns=20 * NS)), workers=2,
            during=kill_first,
        )  # fmt: skip
        asked = len(server.requests)
    assert load.result.state is RunState.FAILED
    assert "worker 0 ended early (signal SIGKILL)" in load.result.reason
    kinds = Counter(row["outcome"] for row in load.rows)
    assert kinds["succeeded"] > 5
    assert kinds["lost"] >= 1
    assert asked - sum(kinds.values()) <= 15  # issued after the dead worker's last write, at most 0.25 s before
    assert set(kinds) <= {"succeeded", "lost", "cancelled"}


def test_full_disk_stops_the_run_and_keeps_what_was_written(tmp_path, monkeypatch):
    """The engine's own view of ENOSPC; a real full disk is tried in tests/cli."""
    monkeypatch.setattr("wholecurve.run.recorder.os.write", _full_after(20))
    with ScriptedServer([At(0.02), *ANSWER]) as server:
        load = run_load(tmp_path, server.url, phase(rows=50, concurrency=2, stop=StopRule(max_duration_ns=20 * NS)))
    assert load.result.state is RunState.FAILED
    assert load.result.reason == "records could not be written: No space left on device"
    assert load.of("succeeded")


def _full_after(writes):
    real, count = os.write, [0]

    def write(descriptor, data):
        count[0] += 1
        if count[0] > writes:
            raise OSError(28, "No space left on device")
        return real(descriptor, data)

    return write


def test_stop_flag_before_the_start_sends_nothing(tmp_path):
    def stop_at_once(supervisor):
        supervisor._control.run[Global.STOP] = 2

    with ScriptedServer(ANSWER) as server:
        load = run_load(tmp_path, server.url, phase(), during=stop_at_once)
        assert not server.requests
    assert load.rows == []


def test_not_streamed_answers(tmp_path):
    body = {"choices": [{"message": {"content": "hi"}, "finish_reason": "stop"}], "usage": {"completion_tokens": 1}}
    with ScriptedServer(json_answer(body)) as server:
        load = run_load(tmp_path, server.url, phase(), request=RequestOptions(stream=False))
        assert server.requests[0].json()["stream"] is False
    assert len(load.of("succeeded")) == 8
    assert all(row["first_output_ns"] is None and row["usage_output"] == 1 for row in load.rows)


def test_long_answers_are_on_disk_while_they_run(tmp_path):
    """A hard kill loses at most two seconds: the bytes of a stream under way are in the spool."""
    seen = []

    def look(live):
        if live.elapsed_ns > 2.3 * NS and not seen:
            seen.append(sum(path.stat().st_size for path in tmp_path.glob("spool-*.bin")))

    with ScriptedServer(sse_answer(["word"] * 30, gap_s=0.1)) as server:
        load = run_load(
            tmp_path, server.url, phase(rows=1, stop=StopRule(min_samples=1, max_samples=1), concurrency=1), show=look
        )
    assert seen
    assert seen[0] > 1000
    assert load.rows[0]["output_events"] == 30
    assert prompts(1)


def test_gathering_reads_changes_no_stamp(tmp_path, monkeypatch):
    """Read a millisecond at a time, tokens keep the kernel's stamps, first tokens are read at once, nothing is lost."""
    monkeypatch.setattr("wholecurve.run.transport.GATHER_READS_PER_S", 0)
    monkeypatch.setattr("wholecurve.run.transport.GATHER_ANSWER_NS", 0)
    with TruthServer(tokens=60, first_s=0.02, gap_s=0.02) as server:
        talk = tuple(single_shot(Sample(row=row, prompt=f"p {row}", body={"max_tokens": 60})) for row in range(8))
        load = run_load(tmp_path, server.url, phase(concurrency=4), conversations=talk)
        truth = server.truth()
    assert len(load.of("succeeded")) == 8
    assert sum(load.facts[0]["read_lag_log2_ns"][18:]) > 50, "most reads waited for a part of a millisecond"
    for row in load.rows:
        record = next(r for name, r in truth.items() if name.endswith(f"-0-{row['index']}"))
        assert row["output_events"] == 60
        assert row["first_shared"] == 1
        assert -20_000 <= row["first_output_ns"] - record.token_ns[0] < 5_000_000
        late = [abs(ours - theirs) for ours, theirs in zip(row["gaps_ns"], record.gaps_ns, strict=True)]
        assert sorted(late)[len(late) // 2] < 500_000


@pytest.mark.parametrize(
    ("reads", "ended", "in_flight", "gathers"),
    [
        (5_000, 50, 256, True),  # 10,000 reads/s, answers of 2.56 s
        (3_000, 50, 256, False),  # too few reads to save anything
        (5_000, 2_000, 256, False),  # answers of 64 ms: a millisecond between two of them is load
        (5_000, 0, 256, True),  # nothing ended in half a second: long answers
    ],
)
def test_when_reads_are_gathered(tmp_path, reads, ended, in_flight, gathers):
    plan = plan_for(["http://127.0.0.1:1"], [phase()])
    recorder = Recorder(tmp_path, 0)
    address = Address(0, 0, 2, ("127.0.0.1", 1), "h", 1, False, False, "")
    transport = Transport(0, plan, recorder, Outgoing(plan, Secrets()), [address], lambda *_: None, lambda *_: None)
    transport._served = reads
    transport.decide_gathering(NS // 2, ended, in_flight)
    assert transport._gathering is gathers
    recorder.close()


def test_a_send_that_fails_at_once_is_a_failure_and_not_lost(tmp_path, monkeypatch):
    """The request is in the spool before anything can end it."""

    def broken(_conn, _data):
        raise Broken(FailureKind.CLOSED_EARLY, "EPIPE: Broken pipe")

    monkeypatch.setattr("wholecurve.run.conn.Connection.send", broken)
    with ScriptedServer(ANSWER) as server:
        load = run_load(tmp_path, server.url, phase(rows=4, stop=StopRule(min_samples=4, max_samples=4)))
    assert [row["outcome"] for row in load.rows] == ["failed"] * 4
    assert {row["failure"] for row in load.rows} == {"closed_without_answer"}
