"""Parts of run/ on their own: frames, reducing after a crash, the clock, the pool, the shared page."""

from __future__ import annotations

import os
import signal
import threading
import time
from dataclasses import replace

import pytest
from run_build import NS, phase, plan_for, read_rows, run_load

from wholecurve.model.errors import MeasureError
from wholecurve.model.plan import Plan, StopRule, plan_from_json
from wholecurve.model.record import RunState
from wholecurve.run import clock as clock_module
from wholecurve.run import supervise
from wholecurve.run.clock import StampClock, ancillary_stamp, wall_iso
from wholecurve.run.conn import Address
from wholecurve.run.control import FIRST_BUCKET, Control, Reducer, Worker
from wholecurve.run.live import live_view
from wholecurve.run.pool import Pool
from wholecurve.run.recorder import Recorder
from wholecurve.run.reduce import Reducer as SpoolReducer
from wholecurve.run.reduce import recover
from wholecurve.run.spool import End, How, Issued, Kind, end_frame, frame, issued_frame, split_frames
from wholecurve.testing import At, ScriptedServer, sse_answer

from array import array  # isort: skip


def answer(text: str) -> bytes:
    event = b'data: {"choices":[{"index":0,"delta":{"content":"%s"},"finish_reason":"stop"}]}\n\n' % text.encode()
    head = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nContent-Length: %d\r\n\r\n" % len(event)
    return head + event


def record(recorder: Recorder, serial: int, *, parts: int = 1, end: bool = True) -> None:
    recorder.append(issued_frame(Issued(serial, 0, serial, serial, 0, serial, 100, 101)))
    data = answer(f"word {serial}")
    cuts = [len(data) * step // parts for step in range(parts + 1)]
    for step in range(parts):
        recorder.part(serial, array("q", [200 + step]), [data[cuts[step] : cuts[step + 1]]])
    if end:
        recorder.append(end_frame(End(serial, How.ENDED, 0, 150, -1, 300, 0, 0, 0, 1, 50, 9)))


def test_frames_cut_anywhere_come_out_whole():
    frames = [frame(Kind.FACTS, b"{}"), issued_frame(Issued(1, 2, 3, 4, 5, 6, 7, 8)), frame(Kind.RESET, b"\1" * 8)]
    data = b"".join(frames)
    for cut in range(len(data) + 1):
        first, used = split_frames(memoryview(data)[:cut])
        rest, more = split_frames(memoryview(data)[used:])
        assert used + more == len(data)
        assert [kind for kind, _ in first + rest] == [Kind.FACTS, Kind.ISSUED, Kind.RESET]


@pytest.mark.parametrize("parts", [1, 2, 7])
def test_an_answer_in_parts_is_one_row(tmp_path, parts):
    recorder = Recorder(tmp_path, 0)
    record(recorder, 0, parts=parts)
    recorder.close()
    assert recover(tmp_path, plan_for(["http://h"], [phase()])) == 1
    (row,) = read_rows(tmp_path)
    assert (row["outcome"], row["output_events"], row["reads"]) == ("succeeded", 1, parts)
    assert row["first_output_ns"] == 199 + parts
    assert not list(tmp_path.glob("spool-*"))


def test_a_crash_between_reading_and_writing_loses_and_doubles_nothing(tmp_path, monkeypatch):
    """A reducer that dies at any moment leaves spool and journal that together hold each request once."""
    monkeypatch.setattr("wholecurve.run.recorder.SPOOL_BYTES", 600)  # a new file every few requests
    plan = plan_for(["http://h"], [phase()])
    recorder = Recorder(tmp_path, 0)
    reducer = SpoolReducer(tmp_path, [0], plan)
    for serial in range(40):
        record(recorder, serial, end=serial != 5)
        recorder.flush()
        if serial % 7 == 0:
            reducer.step()
    assert len(list(tmp_path.glob("spool-*"))) > 5, "request 5 is not over, so what came after its begin is kept"
    recorder.close()
    reducer.close()  # as if killed: what it knew of request 5 is gone
    recover(tmp_path, plan)
    rows = read_rows(tmp_path)
    assert [row["index"] for row in rows] == list(range(40))
    assert {row["index"] for row in rows if row["outcome"] == "lost"} == {5}
    assert recover(tmp_path, plan) == 0


def test_spool_files_go_when_their_requests_are_rows(tmp_path, monkeypatch):
    monkeypatch.setattr("wholecurve.run.recorder.SPOOL_BYTES", 600)
    recorder = Recorder(tmp_path, 0)
    reducer = SpoolReducer(tmp_path, [0], plan_for(["http://h"], [phase()]))
    for serial in range(40):
        record(recorder, serial)
        recorder.flush()
        while reducer.step():
            pass
    assert len(list(tmp_path.glob("spool-*"))) <= 2
    recorder.close()
    reducer.close()


def test_a_step_of_the_wall_clock_is_followed_and_counted(monkeypatch):
    offsets = iter([100, 150, 5_000_000_150])
    monkeypatch.setattr(clock_module, "measure_offset_ns", lambda: next(offsets))
    clock = StampClock()
    clock.refresh()
    assert (clock.offset_ns, clock.steps) == (150, [])
    clock.refresh()
    assert clock.offset_ns == 5_000_000_150
    assert [size for _, size in clock.steps] == [5_000_000_000]


def test_stamps_and_wall_time():
    assert ancillary_stamp([(1, 35, (7).to_bytes(8, "little") + (9).to_bytes(8, "little"))]) == 7 * NS + 9
    assert ancillary_stamp([]) is None
    assert wall_iso(1_796_110_372_034_199_999) == "2026-12-01T07:32:52.034Z"


class _Conn:
    def __init__(self, address):
        self.address = address


def test_pool_sends_to_the_address_that_had_fewest():
    addresses = [Address(number, number, 2, ("127.0.0.1", number), "h", 1, False, False, "") for number in range(3)]
    pool = Pool(addresses, 0, 8)
    for address in addresses:
        pool.put_idle(_Conn(address))
    pool.issued[:] = [5, 2, 9]
    assert [pool.take_idle().address.number for _ in range(3)] == [1, 0, 2]
    assert pool.take_idle() is None


def test_pool_stops_reusing_where_reuse_does_not_work():
    address = Address(0, 0, 2, ("127.0.0.1", 1), "h", 1, False, False, "")
    pool = Pool([address], 0, 8)
    pool.issued[0] = 20
    for _ in range(2):
        pool.note_resend(address)
    assert pool.reuses(address)
    pool.note_resend(address)
    assert not pool.reuses(address)
    pool.issued[0] = 1000  # three in a thousand is the ordinary race, not a habit
    assert pool.reuses(address)


def test_live_view_before_anything_and_with_figures():
    control = Control(2, 1)
    empty = live_view(control, phase(), 0, 5, RunState.COMPLETE)
    assert (empty.issued, empty.ttft_p90_ns, empty.left_ns) == (0, None, None)
    for worker in control.workers:
        worker[Worker.ISSUED], worker[Worker.COMPLETED] = 4, 2
    control.reducers[0][Reducer.SUCCEEDED] = 4
    control.reducers[0][FIRST_BUCKET + 16 * 10] = 4  # 2**10 µs
    control.run[2] = 1
    live = live_view(control, phase(), 0, 1 + 2 * NS, RunState.COMPLETE)
    assert (live.issued, live.ended, live.in_flight, live.share_done) == (8, 4, 4, 0.5)
    assert live.left_ns == pytest.approx(2 * NS)
    assert live.ttft_p90_ns == pytest.approx(1.024e6, rel=0.05)


@pytest.mark.parametrize(
    ("total", "least_s", "most_s", "share"),
    [
        (None, 4, None, 0.5),
        (16, 4, None, 0.25),
        (16, 1, None, 0.25),
        (16, 4, 600, 0.25),  # a cap that is far away does not make the end look far
        (None, 4, 3, 2 / 3),
        (16, 4, 3, 2 / 3),
        (None, 0, 4, 0.5),
        (None, 0, None, None),
    ],
)
def test_the_share_that_is_done(total: int | None, least_s: float, most_s: float | None, share: float | None) -> None:
    """After 2 s and 4 answers: both minimums must be met, but the longest time ends a phase anyway."""
    live = replace(
        live_view(Control(1, 1), phase(), 0, 0, RunState.COMPLETE),
        elapsed_ns=2 * NS, ended=4, total=total, min_duration_ns=round(least_s * NS),
        max_duration_ns=None if most_s is None else round(most_s * NS),
    )  # fmt: skip
    assert live.share_done == (None if share is None else pytest.approx(share))


def test_plan_comes_back_from_its_file():
    plan = plan_for(["http://h"], [phase()], limits=None)
    again = plan_from_json(plan.to_json())
    assert again == plan
    assert isinstance(again, Plan)


def test_plan_file_names_no_folder_of_this_machine():
    from wholecurve.model.plan import Tls

    plan = plan_for(["https://h"], [phase()], tls=Tls(ca_file="/somewhere/ca.pem", client_key="/secret/k.pem"))
    assert plan.to_json()["endpoint"]["tls"]["ca_file"] == "ca.pem"
    assert plan.to_json()["endpoint"]["tls"]["client_key"] == "k.pem"


def test_a_claim_lock_held_by_a_dead_worker_is_an_error(monkeypatch):
    monkeypatch.setattr(supervise, "CLAIM_TIMEOUT_S", 0.05)
    lock = supervise.ClaimLock()
    lock.__enter__()
    with pytest.raises(MeasureError, match="worker that died"), lock:
        pass


def test_a_worker_that_does_not_react_is_killed_after_a_while(tmp_path, monkeypatch):
    """Ctrl-C always ends a run, even if a worker hangs."""
    monkeypatch.setattr(supervise, "KILL_AFTER_NS", NS // 2)

    def freeze(supervisor):
        def later():
            time.sleep(0.4)
            os.kill(supervisor._workers[0], signal.SIGSTOP)
            os.kill(os.getpid(), signal.SIGTERM)

        threading.Thread(target=later, daemon=True).start()

    with ScriptedServer([At(0.05), *sse_answer(["a"])]) as server:
        load = run_load(tmp_path, server.url, phase(stop=StopRule(max_duration_ns=60 * NS)), during=freeze)
    assert load.result.state is RunState.INTERRUPTED
    assert load.of("succeeded")
