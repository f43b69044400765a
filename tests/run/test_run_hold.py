"""Extending a point while it runs, against real servers: when it ends, what it says, and who may end it sooner."""

from __future__ import annotations

import os
import signal
import threading
import time
from dataclasses import replace

import pytest
from hold_build import WINDOW_NS, Drifting, held_phase, held_plan, rule, run_held
from run_build import NS, run_load

from wholecurve.cli.progress import rates
from wholecurve.metrics import Coverage
from wholecurve.model.plan import Limits
from wholecurve.model.record import RunState
from wholecurve.run import hold as hold_module
from wholecurve.run.control import Control, Global, Worker
from wholecurve.run.hold import Hold, Look, rule_met_at_ns
from wholecurve.run.live import live_view
from wholecurve.sim import SimOptions, profile_named, start
from wholecurve.testing import At, ScriptedServer, TruthServer, sse_answer


def no_children() -> bool:
    """True if this process has no child left that it did not wait for."""
    try:
        return os.waitpid(-1, os.WNOHANG) == (0, 0)
    except ChildProcessError:
        return True


# -- a steady endpoint -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("workers", [1, 2])
def test_a_steady_run_ends_soon_after_its_rule_with_a_window_that_is_long_enough(tmp_path, workers):
    with TruthServer(first_s=0.02, gap_s=0.02) as server:
        held = run_held(tmp_path, server.url, held_phase(), workers=workers)
    assert held.result.state is RunState.COMPLETE
    assert held.state.status is Coverage.WINDOWABLE
    assert held.passes == int(held.passes)
    pass_ns = 16 // 4 * (20 + 7 * 20) * NS // 1000
    assert held.result.extended_ns[0] <= 3 * pass_ns
    assert no_children()


def test_the_simulated_engine_with_its_ramp(tmp_path):
    """Its TPOT depends on how many answers are under way, so it settles only after the first wave."""
    with start(SimOptions(profile=profile_named("small"), models=(), to_limit=True)) as server:
        held = run_held(tmp_path, server.url, held_phase(rows=24, concurrency=12), tokens=30, workers=2)
    assert held.result.state is RunState.COMPLETE
    assert held.state.status is Coverage.WINDOWABLE
    assert held.passes == int(held.passes)


def test_a_run_that_settles_late_is_extended_until_its_window_is_long_enough(tmp_path):
    with Drifting(per_s=0.25, lasts_s=1.5, first_s=0.02, gap_s=0.015) as server:
        held = run_held(tmp_path, server.url, held_phase(extra_s=6.0))
    assert held.result.state is RunState.COMPLETE
    assert held.result.extended_ns[0] > 0
    assert held.state.status is Coverage.WINDOWABLE
    assert "until the steady window was long enough" in held.note


# -- one that is not -------------------------------------------------------------------------------------------------


def test_a_drifting_run_ends_on_the_limit_and_is_complete(tmp_path):
    with Drifting(per_s=0.2, first_s=0.02, gap_s=0.008) as server:
        held = run_held(tmp_path, server.url, held_phase(rows=12, extra_s=2.0))
    assert held.result.state is RunState.COMPLETE
    assert held.state.status is not Coverage.WINDOWABLE
    assert held.passes == int(held.passes)
    assert 2 * NS <= held.result.extended_ns[0] < 3 * NS  # the pass under way is finished
    assert held.note.startswith("performance: extended by 2.")
    assert "all the extra time there is; still no steady window that is long enough (" in held.note


@pytest.mark.parametrize(
    "limit", [{"max_duration_ns": 3 * NS}, {"max_samples": 150}], ids=["most time", "most samples"]
)
def test_a_maximum_of_the_stop_rule_wins(tmp_path, limit):
    with Drifting(per_s=0.2, first_s=0.02, gap_s=0.008) as server:
        held = run_held(tmp_path, server.url, held_phase(rows=12, extra_s=60.0, stop=rule(12, **limit)))
    assert held.result.state is RunState.COMPLETE
    assert held.result.extended_ns[0] > 0
    assert "to the most that its stop rule allows; still no steady window" in held.note
    if "max_samples" in limit:
        assert len(held.rows) == 150
    else:
        assert max(row["issued_ns"] for row in held.rows) - min(row["issued_ns"] for row in held.rows) <= 3 * NS


def test_where_no_steady_window_applies_nothing_is_extended(tmp_path):
    """Answers in one event have no TPOT: no longer run can change that."""
    with ScriptedServer([At(0.02), *sse_answer(["a"])]) as server:
        held = run_held(tmp_path, server.url, held_phase(rows=8, extra_s=30.0))
    assert held.result.state is RunState.COMPLETE
    assert "not extended further: TPOT was not measured" in held.note
    assert held.result.extended_ns[0] < 5 * NS


# -- what ends a load ends an extended one too -----------------------------------------------------------------------


def when_extended(act):
    """A `show` that calls `act` once, as soon as the run is being extended, and keeps what was shown."""
    seen, done = [], []

    def show(live):
        seen.append(live)
        if live.extending and not done:
            done.append(time.monotonic())
            act()

    return show, seen


def test_ctrl_c_while_extended(tmp_path):
    show, seen = when_extended(lambda: os.kill(os.getpid(), signal.SIGINT))
    with Drifting(per_s=0.2, first_s=0.02, gap_s=0.008) as server:
        held = run_held(tmp_path, server.url, held_phase(rows=12, extra_s=60.0), show=show)
    assert held.result.state is RunState.INTERRUPTED
    assert {row["outcome"] for row in held.rows} == {"succeeded"}
    assert "when it was stopped" in held.note
    assert no_children()
    extended = next(live for live in seen if live.extending)
    assert extended.total is None
    assert rates(extended).endswith(", extended: the steady window is not long enough yet")
    assert not seen[-1].extending


def test_the_endpoint_goes_while_extended(tmp_path):
    with start(SimOptions(profile=profile_named("small"), models=())) as server:
        show, _ = when_extended(lambda: os.kill(server.pid, signal.SIGKILL))
        one = held_phase(rows=50, concurrency=16, extra_s=60.0, stop=rule(50, min_duration_ns=NS // 2))
        held = run_held(tmp_path, server.url, one, tokens=2, show=show, limits=Limits(run_timeout_ns=30 * NS))
    assert held.result.state is RunState.FAILED
    assert "gone" in held.result.reason
    assert no_children()


def test_a_worker_dies_while_extended(tmp_path):
    workers = []
    show, _ = when_extended(lambda: os.kill(workers[0]._workers[0], signal.SIGKILL))
    with Drifting(per_s=0.2, first_s=0.02, gap_s=0.008) as server:
        held = run_held(
            tmp_path, server.url, held_phase(rows=12, extra_s=60.0), workers=2, show=show, during=workers.append
        )
    assert held.result.state is RunState.FAILED
    assert "worker 0 ended early" in held.result.reason


def test_run_time_limit_while_extended(tmp_path):
    with Drifting(per_s=0.2, first_s=0.02, gap_s=0.008) as server:
        held = run_held(tmp_path, server.url, held_phase(rows=12, extra_s=60.0), limits=Limits(run_timeout_ns=3 * NS))
    assert held.result.state is RunState.FAILED
    assert "time limit" in held.result.reason


def test_nobody_looks_any_more(tmp_path):
    """The process that looks is killed: the run ends by its rule and says why it was not extended."""

    def kill_looker(supervisor):
        def later():
            for _ in range(400):
                hold = supervisor._hold
                if hold is not None and hold._pid is not None:
                    os.kill(hold._pid, signal.SIGKILL)
                    return
                time.sleep(0.01)

        threading.Thread(target=later, daemon=True).start()

    with Drifting(per_s=0.2, first_s=0.02, gap_s=0.008) as server:
        held = run_held(tmp_path, server.url, held_phase(rows=12, extra_s=60.0), during=kill_looker)
    assert held.result.state is RunState.COMPLETE
    assert held.result.extended_ns == [0]
    assert "could not be looked for (the process that looks ended: signal SIGKILL)" in held.note


def test_a_look_that_crashes_leaves_its_traceback(tmp_path, monkeypatch):
    monkeypatch.setattr("wholecurve.run.outlook.look", lambda *_: 1 / 0)
    with TruthServer(first_s=0.02, gap_s=0.005) as server:
        held = run_held(tmp_path, server.url, held_phase(rows=12, extra_s=60.0))
    assert held.result.state is RunState.COMPLETE
    assert "could not be looked for" in held.note
    assert "ZeroDivisionError" in (tmp_path / "crash-hold.txt").read_text()


def test_without_a_hold_nobody_looks(tmp_path, monkeypatch):
    monkeypatch.setattr(hold_module.Hold, "__init__", lambda *_: pytest.fail("a hold was made"))
    with TruthServer(first_s=0.01, gap_s=0.002) as server:
        load = run_load(tmp_path, server.url, replace(held_phase(rows=8, stop=rule(8, min_duration_ns=1)), hold=None))
    assert load.result.extended_ns == [0]
    assert load.result.notes == []
    assert len(load.rows) == 40


def test_only_the_phase_that_has_a_hold_is_extended(tmp_path):
    warmup = replace(held_phase(rows=12, stop=rule(12, min_duration_ns=1, min_samples=12)), name="warmup", hold=None)
    with Drifting(per_s=0.3, first_s=0.02, gap_s=0.005) as server:
        load = run_load(tmp_path, server.url, [warmup, held_phase(rows=12, extra_s=0.5, stop=rule(12, min_samples=12))])
    assert load.result.extended_ns[0] == 0
    assert load.result.extended_ns[1] > 0


# -- the supervisor's side alone -------------------------------------------------------------------------------------


def hold_for(tmp_path, **changes):
    plan = held_plan(["http://127.0.0.1:9"], [held_phase(**changes)])
    control = Control(1, 1)
    return Hold(plan, 0, control, tmp_path), control


def test_it_holds_from_the_start_and_looks_only_when_the_rule_can_be_met_soon(tmp_path):
    stop = rule(16, min_duration_ns=600 * NS)
    hold, control = hold_for(tmp_path, stop=stop)
    assert control.run[Global.HOLD] == 1
    control.run[Global.PHASE_START] = NS
    control.workers[0][Worker.ISSUED] = 100
    for now_ns, lead_at_ns in ((5 * NS, 0), (5 * NS, 2 * NS), (500 * NS, 2 * NS)):
        control.run[Global.LEAD_AT] = lead_at_ns
        hold.step(now_ns)
        assert hold._pid is None
    hold.step(545 * NS)
    assert hold._pid is not None
    control.run[Global.STOP] = 1
    hold.step(546 * NS)
    assert hold._pid is None
    assert hold.end() == (0, None)
    assert no_children()


def test_when_the_rule_can_be_met():
    def at(stop, **changes):
        values = {"start_ns": 0, "lead_at_ns": None, "issued": 10, "now_ns": 5 * NS}
        return rule_met_at_ns(stop, 16, **(values | changes))

    by_count = rule(16, min_duration_ns=0)
    assert at(by_count) == 40 * NS  # 80 at 2 a second
    assert at(by_count, issued=80) == 5 * NS
    assert at(by_count, issued=0) is None
    assert at(rule(16)) is None  # the lead is not over
    assert at(rule(16), lead_at_ns=4 * NS, issued=80) == 4 * NS + WINDOW_NS
    assert at(rule(16, lead_samples=0, min_samples=0), issued=80) == 5 * NS
    assert at(rule(16, min_samples=0, min_duration_ns=0, max_samples=9)) is None  # only a maximum ends it


def test_the_last_word_of_a_look_counts_and_half_a_line_waits(tmp_path):
    hold, control = hold_for(tmp_path)
    reading, writing = os.pipe()
    os.set_blocking(reading, False)
    hold._pipe, hold._pid = reading, os.posix_spawn("/bin/sleep", ["sleep", "30"], {})
    enough, not_enough = Look(5, True, False, 0), Look(4, False, False, NS, "too short")
    line = enough.line()
    os.write(writing, not_enough.line() + line[:10])
    hold._take()
    assert (hold._last, control.run[Global.HOLD]) == (not_enough, 1)
    os.write(writing, line[10:])
    hold._take()
    assert (hold._last, control.run[Global.HOLD]) == (enough, 0)
    os.write(writing, not_enough.line())  # the run is not over, and it is not as it seemed
    hold._take()
    assert control.run[Global.HOLD] == 1
    control.run[Global.PHASE_START], control.run[Global.MET_AT] = 1, NS
    hold.step(NS + 4 * NS)
    assert control.run[Global.HOLD] == 0
    control.run[Global.CLOSED_AT] = NS + 5 * NS
    words = "performance: extended by 5 s, all the extra time there is; still no steady window that is long enough "
    words += "(too short); without one the figures are of the whole run"
    assert hold.end() == (5 * NS, words)
    os.close(writing)
    assert no_children()


def test_what_a_look_said_before_it_ended_counts(tmp_path):
    hold, control = hold_for(tmp_path)
    reading, writing = os.pipe()
    os.set_blocking(reading, False)
    child = os.posix_spawn("/bin/true", ["true"], {})
    os.waitid(os.P_PID, child, os.WEXITED | os.WNOWAIT)
    hold._pipe, hold._pid = reading, child
    os.write(writing, Look(5, False, True, 0, "no steady window applies").line())
    hold._take()
    assert control.run[Global.HOLD] == 0
    assert hold.end() == (0, "performance: not extended further: no steady window applies")
    os.close(writing)
    assert no_children()


def test_the_live_view_counts_the_lead_and_drops_a_total_that_no_longer_holds():
    control, one = Control(1, 1), held_phase(stop=rule(16))
    control.run[Global.PHASE_START] = NS

    def view(now_ns):
        return live_view(control, one, 0, now_ns, RunState.COMPLETE)

    assert view(5 * NS).min_duration_ns == 4 * NS + WINDOW_NS  # the lead has taken 4 s, and is not over
    control.run[Global.LEAD_AT] = 3 * NS
    assert view(5 * NS).min_duration_ns == 2 * NS + WINDOW_NS
    counted = replace(one, stop=rule(16, min_duration_ns=0))
    assert live_view(control, counted, 0, 5 * NS, RunState.COMPLETE).total == 80
    control.run[Global.MET_AT] = 5 * NS
    extended = live_view(control, counted, 0, 6 * NS, RunState.COMPLETE)
    assert (extended.total, extended.extending) == (None, True)
    control.run[Global.PHASE_ISSUE_END] = 7 * NS
    assert not view(7 * NS).extending
