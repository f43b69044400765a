"""Known pitfalls of load, processes and limits, over real sockets and real processes."""

from __future__ import annotations

import ctypes
import fcntl
import os
import resource
import signal
import socket
import struct
import threading
import time
from collections import Counter
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from run_build import NS, phase, run_load
from run_figures import figures

from wholecurve.model.plan import Limits, Pattern, PhaseKind, StopRule
from wholecurve.model.record import FailureKind, RunState
from wholecurve.model.sample import Conversation, Sample, Turn
from wholecurve.records.read import read_columns
from wholecurve.run.live import Live
from wholecurve.run.supervise import Supervisor
from wholecurve.sim import SimOptions, profile_named, start
from wholecurve.testing import At, Close, Hang, ScriptedServer, Send, Wait, chunk, error_answer, head_bytes, sse_answer

ANSWER = sse_answer(["a", "b"], usage={"prompt_tokens": 3, "completion_tokens": 2})


def exactly(count: int) -> StopRule:
    return StopRule(min_samples=count, max_samples=count)


# -- arrivals ----------------------------------------------------------------------------------------------------------


def test_a_rate_does_not_drift(tmp_path: Path) -> None:
    """LOD-1: 200 requests/s for two seconds: 1 % at most away, and the last send no later than the first ones."""
    one = phase(rows=400, pattern=Pattern.CONSTANT, rate_per_s=200.0, concurrency=None, stop=exactly(400))
    with ScriptedServer(ANSWER) as server:
        load = run_load(tmp_path, server.url, one)
    found = figures(tmp_path, one, state=load.result.state)
    assert found["n_samples_completed"] == 400
    assert found["arrivals"]["achieved_rate_per_s"] == pytest.approx(200.0, rel=0.01)
    assert found["start_lag"]["median"] < 10_000_000
    lags = [row["issued_ns"] - row["scheduled_ns"] for row in load.rows]
    assert sorted(lags[-100:])[50] < 10_000_000, "lateness does not pile up"
    assert found["health"]["figures"]["start_lag_p99_ns"] is not None, "and it is judged"


def test_slots_that_free_at_once_release_a_burst_that_is_shown(tmp_path: Path) -> None:
    """LOD-8: rate 50, cap 16, answers that all end on the same quarter of a second."""
    began = time.monotonic()

    def script(_request: Any) -> list[Any]:
        now = time.monotonic() - began
        return [At(0.5 - now % 0.5), *ANSWER]

    one = phase(rows=75, pattern=Pattern.CONSTANT, rate_per_s=50.0, concurrency=16, stop=exactly(75))
    with ScriptedServer(script) as server:
        load = run_load(tmp_path, server.url, one)
        assert server.peak_requests <= 16
    went = figures(tmp_path, one, state=load.result.state)["arrivals"]
    assert went["requested_rate_per_s"] == 50.0
    assert went["most_in_100_ms"] >= 10, "5 would be the rate that was asked for"
    assert went["late_share"] > 0.3
    assert went["achieved_rate_per_s"] is not None


def test_endless_data_and_two_scheduled_sends(tmp_path: Path) -> None:
    """LOD-9: rows without end, one worker: exactly two requests, and the run ends."""
    one = phase(rows=5, pattern=Pattern.CONSTANT, rate_per_s=20.0, concurrency=None, stop=exactly(2))
    with ScriptedServer(ANSWER) as server:
        load = run_load(tmp_path, server.url, one)
        assert len(server.requests) == 2
    assert load.result.state is RunState.COMPLETE


def test_the_run_lasts_from_first_issue_to_last_completion(tmp_path: Path) -> None:
    """TIM-8: a warm-up before, a drain after: neither is in the duration or the rate."""
    phases = [
        phase(kind=PhaseKind.WARMUP, name="warmup", stop=exactly(3), concurrency=1),
        phase(rows=4, concurrency=1, stop=exactly(4)),
    ]
    with ScriptedServer([At(0.1), *ANSWER]) as server:
        load = run_load(tmp_path, server.url, phases)
        first, last = server.exchanges[3].request.arrived_ns, server.exchanges[6].sent_ns[-1]
    found = figures(tmp_path, phases, number=1, state=load.result.state)
    assert abs(found["duration_ns"] - (last - first)) < 30_000_000
    assert found["qps"] == pytest.approx(4 * NS / found["duration_ns"])


# -- warm-up and drain -------------------------------------------------------------------------------------------------


def test_the_time_budget_begins_after_the_warm_up(tmp_path: Path) -> None:
    """WRM-3: warm-up of 0.6 s, then half a second measured from its own start; answers of the two are apart."""
    phases = [
        phase(kind=PhaseKind.WARMUP, name="warmup", stop=exactly(3), concurrency=1),
        phase(concurrency=2, stop=StopRule(max_duration_ns=NS // 2)),
    ]
    with ScriptedServer([At(0.2), *ANSWER]) as server:
        load = run_load(tmp_path, server.url, phases)
        asked = len(server.requests)
    found = [figures(tmp_path, phases, number=number, state=load.result.state) for number in (0, 1)]
    assert [one["n_samples_completed"] for one in found] == [3, asked - 3]
    measured = [row["issued_ns"] for row in load.rows if row["phase"] == 1]
    assert max(measured) - min(measured) >= 0.3 * NS, "issued until the end of the half second"
    assert len(measured) >= 4


def test_a_full_stage_that_never_ends_gives_way_to_the_next(tmp_path: Path) -> None:
    """SCL-4, WRM-6: 64 requests hang at the end of a stage; the next one starts within the drain bound."""
    phases = [
        phase(kind=PhaseKind.WARMUP, name="warmup", rows=64, concurrency=64, drain_timeout_ns=NS // 2,
              stop=StopRule(max_duration_ns=NS // 4)),
        phase(rows=64, concurrency=64, stop=exactly(200)),
    ]  # fmt: skip
    with ScriptedServer(lambda request: ANSWER if _measured(request) else [Hang()]) as server:
        load = run_load(tmp_path, server.url, phases, workers=4)
    assert load.result.state is RunState.COMPLETE
    warm = [row for row in load.rows if row["phase"] == 0]
    after = [row for row in load.rows if row["phase"] == 1]
    assert Counter(row["outcome"] for row in warm) == {"cancelled": 64}
    assert Counter(row["outcome"] for row in after) == {"succeeded": 200}
    waited = min(row["issued_ns"] for row in after) - min(row["issued_ns"] for row in warm)
    assert 0.7 * NS < waited < 2.5 * NS
    assert figures(tmp_path, phases, number=0, state=load.result.state)["failures"]["cut"][2]["values_cut"] == 64


def _measured(request: Any) -> bool:
    return str(request.header("x-request-id")).split("-")[1] == "1"


# -- connections -------------------------------------------------------------------------------------------------------


def test_a_resent_request_keeps_its_clock_and_is_counted(tmp_path: Path) -> None:
    """NET-4: now and then a connection that was in use before is closed without a byte: nothing is lost."""
    one = phase(rows=30, concurrency=1, stop=exactly(30))
    with ScriptedServer(lambda request: [Wait(0.03), Close()] if request.number % 12 == 11 else ANSWER) as server:
        load = run_load(tmp_path, server.url, one)
        asked = len(server.requests)
    assert len(load.of("succeeded")) == 30
    again = [row for row in load.rows if row["attempts"] > 1]
    assert len(again) == asked - 30 == sum(fact["resends"] for fact in load.facts) == 2
    assert all(row["first_output_ns"] - row["sent_ns"] > 0.028 * NS for row in again), "from the first try"
    assert sum(fact["connections_opened"] for fact in load.facts) == server.connections


def test_a_thousand_error_pages(tmp_path: Path) -> None:
    """NET-7: all 1,000, each with its status and a bounded excerpt; the last ten succeed on the same 8 connections."""
    page = "<html><body>" + "<p>bad gateway</p>" * 400 + "</body></html>"

    def script(request: Any) -> list[Any]:
        html = error_answer(502, page, [("Content-Type", "text/html")])
        return html if request.number < 1000 else ANSWER

    one = phase(rows=1010, concurrency=8, stop=exactly(1010))
    with ScriptedServer(script) as server:
        load = run_load(tmp_path, server.url, one)
        assert server.peak_connections <= 8
        assert server.connections <= 8
    found = figures(tmp_path, one, state=load.result.state)
    kinds = [(kind["kind"], kind["count"]) for kind in found["failures"]["kinds"]]
    assert kinds == [("http_502", 1000)]
    assert found["n_samples_completed"] == 10
    assert all(len(row["detail"]) <= 300 for row in load.of("failed"))


CLONE_NEWNET, CLONE_NEWUSER, SIOCSIFFLAGS, IFF_UP = 0x40000000, 0x10000000, 0x8914, 1


def _own_network() -> bool:
    """Move this process into a network of its own with 100 local ports; False where the system forbids it."""
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.unshare(CLONE_NEWNET) != 0 and libc.unshare(CLONE_NEWUSER | CLONE_NEWNET) != 0:
        return False
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        try:
            fcntl.ioctl(any_socket, SIOCSIFFLAGS, struct.pack("16sh14x", b"lo", IFF_UP))
            Path("/proc/sys/net/ipv4/ip_local_port_range").write_text("40000 40099")
        except OSError:
            return False
    return True


def _few_ports(folder: Path) -> int:
    """In a process of its own: 150 requests at once where there are 100 ports to a destination. 0: as it should."""
    if not _own_network():
        return 77
    one = phase(rows=150, concurrency=150, stop=exactly(150))
    held = [At(0.4), *ANSWER, Close()]
    with ScriptedServer(held) as server:
        load = run_load(folder / "one", server.url, one)
    found = figures(folder / "one", one, state=load.result.state)
    kinds = {kind["kind"]: kind for kind in found["failures"]["kinds"]}
    assert set(kinds) == {FailureKind.CLIENT_PORTS.value}, kinds
    assert kinds["client_ports_exhausted"]["client_side"]
    assert kinds["client_ports_exhausted"]["count"] + found["n_samples_completed"] == 150
    assert [reason for reason in found["validity"]["invalid_reasons"] if "this machine's fault" in reason]
    with ScriptedServer(held) as left, ScriptedServer(held) as right:
        load = run_load(folder / "two", [left.url, right.url], one)
    assert len(load.of("succeeded")) == 150, "two destinations have twice the ports"
    return 0


def test_local_ports_that_run_out_are_this_machines_fault(tmp_path: Path) -> None:
    """NET-3: 100 ports in a network of its own and 150 requests at once; the run is not valid. Two endpoints suffice.

    Where the system permits no such network, the kind of failure is still held against this machine.
    """
    child = os.fork()
    if child == 0:
        code = 1
        try:
            code = _few_ports(tmp_path)
        except BaseException as error:  # noqa: BLE001 - the process ends here
            (tmp_path / "error.txt").write_text(f"{type(error).__name__}: {error}")
        finally:
            os._exit(code)
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    error = tmp_path / "error.txt"
    assert code in (0, 77), error.read_text() if error.exists() else code
    assert FailureKind.CLIENT_PORTS.client_side


# -- processes ---------------------------------------------------------------------------------------------------------


def test_a_killed_worker_among_eight(tmp_path: Path) -> None:
    """SCL-5: thousands of fast requests, one worker killed: every place of the order has one row, lost ones say so."""

    def kill_one(supervisor: Supervisor) -> None:
        def later() -> None:
            time.sleep(1.0)
            os.kill(supervisor._workers[3], signal.SIGKILL)

        threading.Thread(target=later, daemon=True).start()

    one = phase(rows=50, concurrency=32, stop=StopRule(max_duration_ns=20 * NS))
    with start(SimOptions(profile=profile_named("flash"), models=())) as server:
        load = run_load(tmp_path, server.url, one, workers=8, during=kill_one)
    found = figures(tmp_path, one, state=load.result.state)
    assert load.result.state is RunState.FAILED
    assert found["outcomes"]["sent"] > 500
    assert found["outcomes"]["sent"] == sum(
        found["outcomes"][name] for name in ("succeeded", "failed", "cancelled", "lost")
    )
    assert not found["complete"]
    assert not found["validity"]["valid"]
    # What the dead worker had claimed and not written down leaves a hole in the order, and a hole is told too.
    codes = {one["code"] for one in found["violations"]}
    assert codes <= {"index_complete"}
    assert found["outcomes"]["lost"] or codes
    columns = read_columns(tmp_path, 0)
    assert len(set(columns["index"].tolist())) == columns.n


def _memory_kib(pid: int) -> int:
    """Private memory of a process in KiB; 0 when it is gone."""
    try:
        lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    except OSError:
        return 0
    return next((int(line.split()[1]) for line in lines if line.startswith("RssAnon:")), 0)


def test_memory_does_not_grow_with_tokens(tmp_path: Path) -> None:
    """SCL-3: 60 answers of 4,000 events each (30 MB): workers and reducers keep less than a fifth of it."""
    event = b'data: {"choices":[{"index":0,"delta":{"content":"word of text"}}]}\n\n'
    part, rest = chunk(event * 500), [Send(chunk(b"data: [DONE]\n\n") + b"0\r\n\r\n")]
    head = Send(head_bytes(200, [("Content-Type", "text/event-stream"), ("Transfer-Encoding", "chunked")]))
    seen: list[dict[int, int]] = []
    family: list[int] = []

    def show(live: Live) -> None:
        if live.ended >= 10:
            seen.append({pid: _memory_kib(pid) for pid in family})

    def during(supervisor: Supervisor) -> None:
        fork = supervisor._fork

        def remembered() -> None:
            fork()
            family.extend([*supervisor._workers.values(), *supervisor._reducers.values()])

        supervisor._fork = remembered  # type: ignore[method-assign]

    finish = Send(chunk(b'data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}\n\n'))
    with ScriptedServer([At(0.05), head, *[Send(part)] * 8, finish, *rest]) as server:
        load = run_load(tmp_path, server.url, phase(rows=60, concurrency=2, stop=exactly(60)), show=show, during=during)
    assert len(load.of("succeeded")) == 60
    assert sum(row["output_events"] for row in load.rows) == 240_000
    assert len(seen) >= 3
    growth = {pid: max(one[pid] for one in seen) - seen[0][pid] for pid in family}
    assert max(growth.values()) < 6 * 1024, growth
    assert not list(tmp_path.glob("spool-*.bin")), "what was read is gone"


def test_no_collector_runs_in_a_worker(tmp_path: Path) -> None:
    """SCL-2: nothing stops the loop that reads: the garbage collector is off where answers are timed."""
    import gc

    told = tmp_path / "told"

    def during(supervisor: Supervisor) -> None:
        outgoing = supervisor._outgoing
        request = outgoing.request

        class Spy:
            def __getattr__(self, name: str) -> Any:
                return getattr(outgoing, name)

            def request(self, *arguments: Any) -> Any:
                told.write_text(f"{os.getpid()} {gc.isenabled()}")
                return request(*arguments)

        supervisor._outgoing = Spy()  # type: ignore[assignment]

    with ScriptedServer(ANSWER) as server:
        run_load(tmp_path / "records", server.url, phase(), during=during)
    pid, enabled = told.read_text().split()
    assert int(pid) != os.getpid()
    assert enabled == "False"


# -- limits ------------------------------------------------------------------------------------------------------------


@pytest.fixture
def many_descriptors() -> Any:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, 8192) if hard > 0 else 8192, hard))
    yield
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def test_1600_at_once(many_descriptors: None, tmp_path: Path) -> None:
    """NET-2, NET-1: no hidden limit of a thousand; asked for and measured are both in the summary."""
    with ScriptedServer([At(2.5), *ANSWER]) as server:
        one = phase(rows=1600, concurrency=1600, stop=exactly(1600))
        load = run_load(tmp_path, server.url, one, workers=2)
        assert server.peak_requests == 1600
    held = figures(tmp_path, one, state=load.result.state)["concurrency"]
    assert (held["requested"], held["peak"]) == (1600, 1600)
    assert len(load.of("succeeded")) == 1600


# -- conversations -----------------------------------------------------------------------------------------------------


def test_pauses_between_turns_are_kept_and_in_no_latency(tmp_path: Path) -> None:
    """MT-6: the next turn comes its pause after the end of the one before; MT-4: the slot is not blocked by it."""
    talk = (
        Conversation("a", tuple(Turn(Sample(row=turn, prompt=f"a{turn}"), 200_000_000) for turn in range(3))),
        Conversation("b", (Turn(Sample(row=3, prompt="b0"), 0),)),
    )
    one = phase(rows=2, stop=exactly(2))
    with ScriptedServer([At(0.03), *ANSWER]) as server:
        load = run_load(tmp_path, server.url, one, conversations=talk)
    turns = [row for row in load.rows if row["conversation"] == load.rows[0]["conversation"]]
    assert len(turns) == 3
    for before, after in pairwise(turns):
        assert after["scheduled_ns"] - before["completed_ns"] == 200_000_000
        assert 0 <= after["sent_ns"] - after["scheduled_ns"] < NS // 10
    found = figures(tmp_path, one, state=load.result.state)
    assert found["latency"]["max"] < 150_000_000
    assert found["ttft_from_scheduled"]["max"] < 150_000_000


def test_no_time_limit_unless_asked_for() -> None:
    """NET-5: an answer of any length is waited for by default."""
    assert Limits().request_timeout_ns is None
