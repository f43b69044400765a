"""A look at a run that is not over: what it reads, and whether it foretells what the whole run will be judged to be."""

from __future__ import annotations

from array import array
from dataclasses import replace

import numpy as np
import pytest
from hold_build import RULES, WINDOW_NS, held_phase, rule
from hypothesis import given, settings
from hypothesis import strategies as st
from run_build import NS

from wholecurve.load import should_issue
from wholecurve.metrics import NULL, Coverage, steady_state, tpot, window_rules
from wholecurve.model.plan import Pattern
from wholecurve.records import Row, numbers_of, pack_row
from wholecurve.run import outlook
from wholecurve.run.outlook import Finished, Situation, Times, forecast, issue_end, look, project

MS = 1_000_000
WINDOW = window_rules(RULES)


def row_bytes(index, issued_ns=0, *, tpot_ns=10 * MS, tokens=9, usage=True, phase=0, outcome="succeeded", text="x"):
    first = issued_ns + 30 * MS
    last = first + (tokens - 1) * tpot_ns
    numbers = {
        "index": index, "phase": phase, "conversation": index, "turn": 0, "sample": index, "issued_ns": issued_ns,
        "sent_ns": issued_ns, "first_output_ns": first, "last_output_ns": last, "completed_ns": last,
        "output_events": tokens, "usage_output": tokens if usage else None,
    }  # fmt: skip
    return pack_row(Row(numbers_of(numbers), (outcome, None, None, "stop"), (text,) * 5, array("q", [tpot_ns] * 8)))


def finished_in(folder, data, *, phase=0, name="rows-000.journal"):
    (folder / name).write_bytes(data)
    found = Finished(folder, phase)
    found.read_on()
    return found


# -- what is read ----------------------------------------------------------------------------------------------------


def test_a_torn_row_is_read_when_it_is_whole(tmp_path):
    rows = [row_bytes(index) for index in range(3)]
    found = finished_in(tmp_path, rows[0] + rows[1][:50])
    assert found.beginning().n == 1
    (tmp_path / "rows-000.journal").write_bytes(b"".join(rows[:2]))
    found.read_on()
    assert found.beginning().n == 2
    (tmp_path / "rows-001.journal").write_bytes(rows[2])
    found.read_on()
    found.read_on()
    assert found.beginning()["index"].tolist() == [0, 1, 2]


@pytest.mark.parametrize("read_bytes", [16, 700, 5_000])
def test_a_row_larger_than_a_read_is_read(tmp_path, monkeypatch, read_bytes):
    monkeypatch.setattr(outlook, "READ_BYTES", read_bytes)
    data = b"".join(row_bytes(index, text="y" * (4_000 * (index % 3))) for index in range(20))
    assert finished_in(tmp_path, data).beginning().n == 20


def test_only_the_beginning_without_a_hole_and_only_this_phase(tmp_path):
    order = [4, 0, 1, 6, 2, 7]
    data = b"".join(row_bytes(index, index * MS) for index in order) + row_bytes(3, phase=1)
    assert finished_in(tmp_path, data).beginning()["issued_ns"].tolist() == [0, MS, 2 * MS]
    assert finished_in(tmp_path, data, phase=1).beginning().n == 0


def test_tokens_are_the_servers_or_else_output_events(tmp_path):
    with_usage = finished_in(tmp_path, row_bytes(0, tokens=5) + row_bytes(1, tokens=7, usage=False)).beginning()
    assert with_usage["usage_output"].tolist() == [5, NULL]
    without = finished_in(tmp_path, row_bytes(0, tokens=5, usage=False)).beginning()
    assert tpot(without).tolist() == [10 * MS]


# -- what is foretold ------------------------------------------------------------------------------------------------


def whole_run(folder, one, tpot_of, *, slots, answer_tokens=9, seed=0):
    """A closed loop of `slots` by the stop rule alone; rows as bytes by completion, and issue times by place."""
    free, rows, issued = [0] * slots, [], []
    draw = np.random.default_rng(seed)
    while True:
        at = min(free)
        lead = one.stop.lead_samples
        after = at - issued[lead] if len(issued) > lead else None
        if not should_issue(one.stop, len(issued), at, one.rows, after):
            return sorted(rows), issued
        pace = round(tpot_of(at) * draw.uniform(0.98, 1.02))
        rows.append((at + 30 * MS + (answer_tokens - 1) * pace, row_bytes(len(issued), at, tpot_ns=pace)))
        issued.append(at)
        free[free.index(at)] = rows[-1][0]


def seen_at(folder, now_ns, rows, issued, lead, *, lag_ns=300 * MS):
    """(columns of what was on disk at `now_ns`, the situation)."""
    data = b"".join(data for done_ns, data in rows if done_ns <= now_ns - lag_ns)
    sent = sum(at <= now_ns for at in issued)
    clock_ns = issued[lead] if len(issued) > lead and issued[lead] <= now_ns else None
    return finished_in(folder, data).beginning(), Situation(now_ns, sent + 1, sent, clock_ns)


def judged(folder, one, rows, rules=WINDOW):
    columns = finished_in(folder, b"".join(data for _, data in rows)).beginning()
    return steady_state(columns, rules, rows=one.rows, pattern=one.pattern, concurrency=one.concurrency)


@pytest.mark.parametrize("rows", [10, 24, 60])
@pytest.mark.parametrize("slots", [2, 8, 16])
@pytest.mark.parametrize("least_ns", [3 * WINDOW_NS, 5 * WINDOW_NS])
def test_a_steady_run_is_let_go_before_its_rule_is_met_and_has_its_window(tmp_path, rows, slots, least_ns):
    """The extension of a steady run is nothing, and what was foretold comes true."""
    rules = replace(WINDOW, min_duration_ns=least_ns)
    one = held_phase(rows=rows, concurrency=slots, stop=rule(rows, min_duration_ns=least_ns + 500 * MS))
    done, issued = whole_run(tmp_path, one, lambda _: 10 * MS, slots=slots)
    before_ns = issued[-1] - 20 * MS
    found = look(seen_at(tmp_path, before_ns, done, issued, rows)[0], one, rules,
                 seen_at(tmp_path, before_ns, done, issued, rows)[1])  # fmt: skip
    assert found.enough
    assert judged(tmp_path, one, done, rules).status is Coverage.WINDOWABLE


@settings(max_examples=40, deadline=None)
@given(
    rows=st.integers(10, 40), slots=st.integers(1, 24), before_ms=st.integers(5, 2_500), seed=st.integers(0, 99),
    spare_ms=st.integers(-800, 1_500),
)  # fmt: skip
def test_what_is_foretold_of_a_steady_run_comes_true(tmp_path_factory, rows, slots, before_ms, seed, spare_ms):
    """Whenever it says enough: the run that is then left to its rule is windowable."""
    folder = tmp_path_factory.mktemp("foretold")
    least_ns = 3 * NS
    rules = replace(WINDOW, min_duration_ns=least_ns)
    one = held_phase(rows=rows, concurrency=slots, stop=rule(rows, min_duration_ns=least_ns + spare_ms * MS))
    done, issued = whole_run(folder, one, lambda _: 10 * MS, slots=slots, seed=seed)
    columns, now = seen_at(folder, max(MS, issued[-1] - before_ms * MS), done, issued, rows)
    found = look(columns, one, rules, now)
    if found.enough:
        assert judged(folder, one, done, rules).status is Coverage.WINDOWABLE
    assert found.enough == (found.reason is None)
    assert found.missing_ns >= 0


@pytest.mark.parametrize("per_s", [0.1, -0.1, 0.3])
def test_a_drift_is_never_taken_for_a_window_to_come(tmp_path, per_s):
    one = held_phase(rows=12, concurrency=4, stop=rule(12, min_duration_ns=4 * NS))
    done, issued = whole_run(tmp_path, one, lambda at: 10 * MS * (1 + per_s) ** (at / NS), slots=4)
    for now_ns in range(NS, issued[-1], NS // 5):
        columns, now = seen_at(tmp_path, now_ns, done, issued, 12)
        found = look(columns, one, replace(WINDOW, min_duration_ns=2 * NS), now)
        assert not found.enough
        assert found.reason


def test_a_ramp_that_is_over_is_not_held_against_the_run(tmp_path):
    one = held_phase(rows=12, concurrency=4, stop=rule(12, min_duration_ns=6 * NS))
    done, issued = whole_run(tmp_path, one, lambda at: 10 * MS * (1.3 if at < NS else 1.0), slots=4)
    verdicts = []
    for now_ns in range(NS, issued[-1], NS // 5):
        columns, now = seen_at(tmp_path, now_ns, done, issued, 12)
        verdicts.append(look(columns, one, WINDOW, now).enough)
    assert verdicts[-1]
    assert not verdicts[0]


def test_before_a_pass_has_ended_it_asks_for_the_whole_window(tmp_path):
    one = held_phase(rows=12)
    columns = finished_in(tmp_path, b"".join(row_bytes(index) for index in range(11))).beginning()
    found = look(columns, one, WINDOW, Situation(NS, 15, 14, None))
    assert (found.passes, found.enough, found.settled, found.missing_ns) == (0, False, False, WINDOW_NS)
    assert found.reason == "no pass of the data set has ended yet"


@pytest.mark.parametrize(
    ("changes", "tokens", "reason"),
    [({"pattern": Pattern.OFFLINE, "concurrency": None}, 9, "offline"), ({}, 1, "TPOT was not measured")],
)
def test_what_no_longer_run_can_change_is_settled(tmp_path, changes, tokens, reason):
    one = held_phase(rows=12, **changes)
    columns = finished_in(tmp_path, b"".join(row_bytes(n, n * MS, tokens=tokens) for n in range(60))).beginning()
    found = look(columns, one, WINDOW, Situation(NS, 60, 60, 1))
    assert found.settled
    assert not found.enough
    assert found.reason.startswith(reason)


def test_far_from_the_end_nothing_is_foretold(tmp_path):
    one = held_phase(rows=12, stop=rule(12, min_samples=12_000))
    columns = finished_in(tmp_path, b"".join(row_bytes(n, n * MS) for n in range(60))).beginning()
    enough, missing_ns = forecast(columns, one, WINDOW, Situation(60 * MS, 60, 60, 1))
    assert not enough
    assert missing_ns == pytest.approx(5_940 * MS, rel=0.01)


# -- its parts -------------------------------------------------------------------------------------------------------


def test_issue_end_is_where_the_rule_ends_a_steady_load():
    one = held_phase(rows=12, stop=rule(12, min_samples=60, min_duration_ns=10 * NS))
    pace = 100.0 * MS
    assert (
        issue_end(one, Situation(2 * NS, 6, 5, None), pace, 0) == 96
    )  # 0.8 s of lead are left, then 10 s: 114 are due, 88 are sure
    assert issue_end(one, Situation(11 * NS, 111, 110, NS), pace, 0) == 120
    assert issue_end(one, Situation(12 * NS, 120, 118, NS), pace, 0) == 120
    assert issue_end(one, Situation(12 * NS, 121, 118, NS), pace, 0) == 132
    assert issue_end(one, Situation(10 * NS, 109, 108, NS), pace, 0) == 120
    assert issue_end(one, Situation(10 * NS, 108, 107, NS), pace, NS) == 108  # no slot may be free before 11 s
    most = replace(one, stop=replace(one.stop, max_samples=100))
    assert issue_end(most, Situation(11 * NS, 97, 95, NS), pace, 0) == 100
    single = replace(one, stop=replace(one.stop, whole_passes=False))
    assert issue_end(single, Situation(12 * NS, 121, 118, NS), pace, 0) == 121


def test_copies_of_the_last_pass_follow_at_the_pace_so_far(tmp_path):
    data = b"".join(row_bytes(n, n * 100 * MS, outcome="failed" if n == 20 else "succeeded") for n in range(24))
    done = finished_in(tmp_path, data).beginning()
    now = Situation(2_700 * MS, 30, 28, 1)
    times = Times(done, now)
    assert times.pace_ns == 100 * MS
    longer = project(done, 12, 36, times, 4)
    assert longer.n == 36
    assert longer["index"].tolist() == list(range(36))
    assert longer["issued_ns"][:24].tolist() == done["issued_ns"].tolist()
    assert longer["issued_ns"][27] == 2_700 * MS  # the last one that was sent, just now
    assert longer["issued_ns"][28:].tolist() == [(2_800 + 100 * k) * MS for k in range(8)]
    last_ns = 3_500 * MS
    assert (longer["completed_ns"] - longer["issued_ns"]).tolist()[:32] == [110 * MS] * 32
    assert longer["completed_ns"][32:].tolist() == [last_ns + 1, last_ns + 1, 3_510 * MS, 3_610 * MS]
    assert [place for place, text in enumerate(longer.texts["outcome"]) if text == "failed"] == [20, 32]
    assert project(done, 12, 24, times, 4) is done
