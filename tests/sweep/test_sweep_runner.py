"""What a campaign does about what happens to it: scripted faults, a real folder, a clock that only sleeping moves."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from sweep_build import FakeBench, Session, bad, campaign, conditions, disk_full, failed, good, result, tree

from wholecurve.curve import limits_of
from wholecurve.model.errors import InputError, InterruptedRun, MeasureError, SetupError
from wholecurve.model.record import RunState
from wholecurve.sweep import (
    CampaignState,
    Facts,
    Live,
    PointOrder,
    PointOutcome,
    Standing,
    Stopped,
    Trial,
    TrialStop,
    resume,
    run_search,
    stand,
    todo,
)

PLAN = campaign()
ORDER = [str(slot) for slot in PLAN.order]


@pytest.fixture
def session(tmp_path: Path) -> Session:
    return Session(tmp_path)


@pytest.mark.parametrize(
    ("steady", "words"),
    [
        ({"status": "windowable", "verdict": "STEADY STATE"}, "; steady state"),
        ({"status": "insufficient_duration", "verdict": "STEADY STATE"}, "; steady, window too short: whole run"),
        ({"status": "insufficient_passes", "verdict": "anomaly"}, "; anomaly, too few passes: whole run"),
        ({"status": "insufficient_passes", "verdict": "not found"}, "; not found"),
    ],
)
def test_a_fallback_to_the_whole_run_is_said(session: Session, steady: dict[str, str], words: str) -> None:
    def short(order: PointOrder, folder: Path) -> PointOutcome:
        return replace(good(order, folder), steady=steady)

    session.run(PLAN, FakeBench({"r4": [short]}))
    (line,) = [one for one in session.lines if one.startswith("r4: valid: ")]
    assert line.endswith(words)


def test_all_points_in_the_order_of_the_plan(session: Session) -> None:
    bench = FakeBench()
    outcome = session.run(PLAN, bench)
    assert (outcome.state, outcome.exit_code, outcome.reason) == (CampaignState.COMPLETE, 0, "")
    assert bench.slots == ORDER == list(outcome.done)
    assert sorted(ORDER) == ["offline", "r1", "r16", "r4"]
    assert tree(session.folder) == ["points/offline", "points/r1", "points/r16", "points/r4"]
    events = [entry["event"] for entry in session.events()]
    assert events == ["created", *["probe", "point_started", "point_ended"] * 4, "finished"]
    ended = session.events("point_ended")[0]
    assert {"at", "label", "attempt", "repeat", "folder", "state", "valid", "invalid", "figures", "steady"} <= set(
        ended
    )
    assert session.time.seconds == 3 * PLAN.idle_gap_s, "a rest between points, none before the first or after the last"


def test_a_second_call_measures_nothing(session: Session) -> None:
    session.run(PLAN, FakeBench())
    again = FakeBench()
    assert session.run(PLAN, again).exit_code == 0
    assert again.orders == []


def test_repeats_lie_beside_the_points_and_only_the_first_is_scored(session: Session) -> None:
    bench = FakeBench()
    outcome = session.run(campaign(repeats=2), bench)
    assert len(outcome.done) == 8
    assert "repeats/r16-2" in tree(session.folder)
    assert {order.accuracy for order in bench.orders if order.repeat == 2} == {False}
    assert any(order.accuracy for order in bench.orders)
    assert len({order.salt_word for order in bench.orders}) == 8, "WRM-1: no two runs share a salt"


def test_the_display_knows_the_curve_and_the_time_that_is_left(session: Session) -> None:
    session.run(PLAN, FakeBench())
    first, last = session.views[0], session.views[-1]
    assert (first.total, first.done, first.points) == (4, 0, ())
    assert (last.done, last.left_low_s) == (4, 0)
    assert last.points == ((1, 100.0, 100.0), (4, 400.0, 100.0), (16, 1200.0, 75.0)), "Offline is no level of the curve"
    left = [view.left_low_s for view in session.views]
    assert left == sorted(left, reverse=True)
    assert first.left_high_s is None
    assert any(view.live == {"done": 1} and view.doing == "measuring" for view in session.views)
    assert {"resting between two points", "asking the endpoint"} <= {view.doing for view in session.views}


def test_time_spent_in_a_point_is_no_time_left(session: Session) -> None:
    left: list[float] = []

    class Slow(FakeBench):
        def measure(self, order: PointOrder, folder: Path, show: Live) -> PointOutcome:
            for _ in range(3):
                show(None)
                left.append(session.views[-1].left_low_s)
                session.time.seconds += 1
            return good(order, folder)

    session.run(PLAN, Slow())
    assert [left[0] - left[1], left[1] - left[2]] == [1, 1]
    assert left == sorted(left, reverse=True)


def test_an_estimate_without_sense_is_not_known(session: Session) -> None:
    spans = {level.label: [float("nan"), 10**400] for level in PLAN.levels}
    assert session.run(replace(PLAN, estimate_s={"levels": spans}), FakeBench()).exit_code == 0
    assert session.views[0].left_high_s is None
    assert session.views[0].left_low_s == PLAN.idle_gap_s * (len(PLAN.order) - 1)


# The endpoint goes away


def test_it_dies_between_two_points_and_comes_back(session: Session) -> None:
    bench = FakeBench()

    def dies(order: PointOrder, folder: Path) -> PointOutcome:
        bench.up = False
        session.time.at[session.time.seconds + 70] = lambda: setattr(bench, "up", True)
        return good(order, folder)

    bench.script = {ORDER[1]: [dies]}
    outcome = session.run(PLAN, bench)
    assert outcome.exit_code == 0
    assert bench.slots == ORDER, "a point that was valid when the endpoint went is not measured again"
    gone, back = session.events("endpoint_gone", "endpoint_back")
    assert "nothing listens" in gone["why"]
    assert 60 <= back["after_s"] <= 100
    told = [line for line in session.lines if "still no answer" in line]
    assert 1 <= len(told) <= 4
    assert "giving up in" in told[0]


def test_it_dies_in_a_point_and_comes_back(session: Session) -> None:
    bench = FakeBench()

    def dies(order: PointOrder, folder: Path) -> PointOutcome:
        bench.up = False
        session.time.at[session.time.seconds + 20] = lambda: setattr(bench, "up", True)
        return failed(order, folder)

    bench.script = {ORDER[2]: [dies]}
    outcome = session.run(PLAN, bench)
    assert outcome.exit_code == 0
    assert bench.slots == [*ORDER[:3], ORDER[2], ORDER[3]]
    assert f"attempts/{ORDER[2]}-1" in tree(session.folder)
    again = [entry for entry in session.events("point_started") if entry["attempt"] == 2]
    assert [entry["label"] for entry in again] == [ORDER[2]]
    assert "closed every connection" in again[0]["again"]
    assert any("measured again, attempt 2" in line for line in session.lines)
    first, second = (order for order in bench.orders if order.label == ORDER[2])
    assert first.salt_word != second.salt_word


def test_it_dies_in_a_run_that_then_comes_to_its_end_with_failures(session: Session) -> None:
    """The endpoint is back before anyone looks: only the run itself knows."""
    bench = FakeBench({ORDER[0]: [lambda order, folder: replace(bad(order, folder), endpoint_lost=True)]})
    assert session.run(PLAN, bench).exit_code == 0
    assert bench.slots.count(ORDER[0]) == 2
    assert f"attempts/{ORDER[0]}-1" in tree(session.folder)


def test_it_never_comes_back(session: Session) -> None:
    bench = FakeBench()

    def dies(order: PointOrder, folder: Path) -> PointOutcome:
        bench.up = False
        return failed(order, folder)

    bench.script = {ORDER[1]: [dies]}
    outcome = session.run(PLAN, bench, wait_s=100)
    assert (outcome.state, outcome.exit_code) == (CampaignState.INTERRUPTED, 4)
    assert "did not come back within 100 s" in outcome.reason
    assert outcome.done == (ORDER[0],)
    assert outcome.missing == tuple(ORDER[1:])
    assert session.events()[-1]["event"] == "interrupted"
    assert session.time.seconds <= 2 * PLAN.idle_gap_s + 100 + 1
    bench.up = True
    assert session.run(PLAN, bench).exit_code == 0
    assert bench.slots.count(ORDER[0]) == 1


def test_a_point_that_kills_its_endpoint_twice_is_left_out_and_the_others_are_measured(session: Session) -> None:
    bench = FakeBench({ORDER[0]: [failed, failed]})
    outcome = session.run(PLAN, bench)
    assert (outcome.state, outcome.exit_code) == (CampaignState.INCOMPLETE, 1)
    assert outcome.missing == (ORDER[0],)
    assert len(outcome.done) == 3
    assert {f"attempts/{ORDER[0]}-1", f"attempts/{ORDER[0]}-2"} <= set(tree(session.folder))
    assert any("going on without it" in line for line in session.lines)


def test_setup_that_fails_before_any_load(session: Session) -> None:
    def refuses(order: PointOrder, folder: Path) -> PointOutcome:
        raise SetupError("wanted 16 connections at once, but there are 8 local ports")

    outcome = session.run(PLAN, FakeBench({"r16": [refuses, refuses]}))
    assert outcome.missing == ("r16",)
    assert outcome.exit_code == 1
    words = [entry["invalid"] for entry in session.events("point_ended") if not entry["valid"]]
    assert words == [["wanted 16 connections at once, but there are 8 local ports"]] * 2
    assert not list(session.folder.glob("attempts/*")), "nothing was made, so nothing is set aside"


# The endpoint becomes another one


def test_the_model_is_swapped_between_two_points(session: Session) -> None:
    bench = FakeBench()

    def swaps(order: PointOrder, folder: Path) -> PointOutcome:
        bench.facts = Facts(("other",), "engine 1.0")
        return good(order, folder)

    bench.script = {ORDER[1]: [swaps]}
    outcome = session.run(PLAN, bench)
    assert (outcome.state, outcome.exit_code) == (CampaignState.CHANGED, 4)
    assert "list of models was tiny, and is other now" in outcome.reason
    assert outcome.done == tuple(ORDER[:2])
    (changed,) = session.events("changed")
    assert changed["what"] == ["the endpoint's list of models was tiny, and is other now"]
    bench.facts = Facts(("tiny",), None)
    assert session.run(PLAN, bench).exit_code == 0


def test_another_version_of_the_server_is_another_server(session: Session) -> None:
    bench = FakeBench()
    bench.facts = Facts(("tiny",), "engine 1.1")
    outcome = session.run(PLAN, bench)
    assert outcome.state is CampaignState.CHANGED
    assert bench.orders == []


def test_facts_that_differ_between_points_are_told(session: Session) -> None:
    bench = FakeBench({ORDER[2]: [lambda order, folder: replace(good(order, folder), facts={"tool": "0.3"})]})
    outcome = session.run(PLAN, bench)
    assert outcome.exit_code == 0
    assert outcome.differences == (f"tool was 0.2 at {ORDER[0]}, and 0.3 at {ORDER[2]}",)
    assert session.events("finished")[0]["differences"] == list(outcome.differences)


# Points that are not valid


def test_a_point_that_is_not_valid_stays_until_it_is_resumed_and_then_only_it_is_measured(session: Session) -> None:
    outcome = session.run(PLAN, FakeBench({"r4": [bad]}))
    assert (outcome.state, outcome.exit_code, outcome.invalid) == (CampaignState.INCOMPLETE, 1, ("r4",))
    assert "points/r4" in tree(session.folder), "an invalid point is shown until there is a better one"
    again = FakeBench({"r4": [bad]})
    assert session.run(PLAN, again).exit_code == 1
    assert again.slots == ["r4"], "once per resume"
    third = FakeBench()
    assert session.run(PLAN, third).exit_code == 0
    assert third.orders[0].attempt == 3
    assert [path for path in tree(session.folder) if "r4" in path] == ["attempts/r4-1", "attempts/r4-2", "points/r4"]
    assert [entry["why"] for entry in session.events("set_aside")] == ["3 % of the requests failed"] * 2
    assert "measured again, attempt 3: 3 % of the requests failed" in "\n".join(session.lines)


def test_more_tries_in_one_session_when_asked_for(session: Session) -> None:
    bench = FakeBench({"r4": [bad, bad]})
    assert session.run(PLAN, bench, tries=3).exit_code == 0
    assert bench.slots.count("r4") == 3


def test_a_run_that_says_valid_but_left_no_result_is_not(session: Session) -> None:
    bench = FakeBench({"r4": [lambda order, folder: PointOutcome(RunState.COMPLETE, True)]})
    assert session.run(PLAN, bench).exit_code == 1
    ended = next(entry for entry in session.events("point_ended") if entry["label"] == "r4")
    assert (ended["valid"], ended["invalid"]) == (False, ["the run left no result"])


# The user, the disk, a crash


def test_the_user_stops_it_in_a_point(session: Session) -> None:
    def stops(order: PointOrder, folder: Path) -> PointOutcome:
        result(folder)
        return PointOutcome(RunState.INTERRUPTED, False, ("stopped by the user",), exit_code=130)

    outcome = session.run(PLAN, FakeBench({ORDER[1]: [stops]}))
    assert (outcome.state, outcome.exit_code) == (CampaignState.INTERRUPTED, 130)
    assert tree(session.folder) == [f"attempts/{ORDER[1]}-1", f"points/{ORDER[0]}"]
    assert [entry["event"] for entry in session.events()][-3:] == ["point_ended", "set_aside", "interrupted"]
    bench = FakeBench()
    assert session.run(PLAN, bench).exit_code == 0
    assert bench.slots == ORDER[1:]


@pytest.mark.parametrize("error", [KeyboardInterrupt(), InterruptedRun("stopped")])
def test_an_interrupt_that_the_bench_lets_through(session: Session, error: BaseException) -> None:
    def stops(order: PointOrder, folder: Path) -> PointOutcome:
        (folder / "records").mkdir(parents=True)
        raise error

    assert session.run(PLAN, FakeBench({ORDER[0]: [stops]})).exit_code == 130
    assert tree(session.folder) == [f"attempts/{ORDER[0]}-1"]


def test_the_user_stops_it_while_it_rests_or_waits(session: Session) -> None:
    bench = FakeBench()
    session.time.at[2.0] = lambda: setattr(session, "stop", True)
    assert session.run(PLAN, bench).exit_code == 130
    assert len(bench.orders) == 1
    assert session.time.seconds < 3
    session.stop, bench.up = False, False
    session.time.at[10.0] = lambda: setattr(session, "stop", True)
    assert session.run(PLAN, bench).exit_code == 130
    assert session.time.seconds < 12


def test_the_disk_is_full(session: Session) -> None:
    outcome = session.run(PLAN, FakeBench({ORDER[1]: [disk_full]}))
    assert (outcome.state, outcome.exit_code) == (CampaignState.FAILED, 4)
    assert "the disk is full" in outcome.reason
    assert "make room and go on with --resume" in outcome.reason
    assert outcome.done == (ORDER[0],)
    bench = FakeBench()
    assert session.run(PLAN, bench).exit_code == 0
    assert bench.slots == ORDER[1:]
    assert f"attempts/{ORDER[1]}-1" in tree(session.folder)


def test_a_run_that_could_not_write_its_records_ends_the_sweep(session: Session) -> None:
    """No other level would fare better: neither it nor the next one is tried."""
    words = "records could not be written: No space left on device"

    def full(order: PointOrder, folder: Path) -> PointOutcome:
        return replace(failed(order, folder), invalid=(words,), stop=words)

    bench = FakeBench({ORDER[1]: [full]})
    outcome = session.run(PLAN, bench)
    assert (outcome.state, outcome.exit_code) == (CampaignState.FAILED, 4)
    assert outcome.reason == f"{words}; everything measured before is kept; make room and go on with --resume"
    assert bench.slots == ORDER[:2]
    assert session.run(PLAN, bench).exit_code == 0
    assert bench.slots == [*ORDER[:2], *ORDER[1:]]


@pytest.mark.parametrize(("error", "code"), [(MeasureError("no room for records"), 4), (InputError("a row"), 2)])
def test_an_error_that_no_other_point_would_survive(session: Session, error: Exception, code: int) -> None:
    def raises(order: PointOrder, folder: Path) -> PointOutcome:
        raise error

    bench = FakeBench({ORDER[1]: [raises]})
    outcome = session.run(PLAN, bench)
    assert (outcome.state, outcome.exit_code, outcome.reason) == (CampaignState.FAILED, code, str(error))
    assert bench.slots == ORDER[:2]


def test_a_journal_that_cannot_be_written_ends_the_sweep_with_a_sentence(session: Session) -> None:
    def breaks(order: PointOrder, folder: Path) -> PointOutcome:
        path = session.folder / "journal.jsonl"
        path.rename(session.folder / "kept.jsonl")
        path.mkdir()
        return good(order, folder)

    outcome = session.run(PLAN, FakeBench({ORDER[1]: [breaks]}))
    assert outcome.exit_code == 4
    assert "journal.jsonl could not be written" in outcome.reason
    (session.folder / "journal.jsonl").rmdir()
    (session.folder / "kept.jsonl").rename(session.folder / "journal.jsonl")
    bench = FakeBench()
    assert session.run(PLAN, bench).exit_code == 0
    assert bench.slots == ORDER[1:], "what the journal does not know has not happened"


def test_a_point_that_was_cut_off_is_kept_and_measured_again(session: Session) -> None:
    session.run(PLAN, FakeBench({ORDER[3]: [bad]}))
    with session.journal() as journal:  # as a killed process leaves it
        journal.note("point_started", label=ORDER[3], repeat=1, attempt=2, folder=f"points/{ORDER[3]}")
    with session.journal() as journal:
        states = stand(PLAN, journal.entries, session.folder)
    assert states[3].standing is Standing.LOST
    (order,) = todo(PLAN, states)
    assert (order.label, order.attempt, order.salt_word) == (ORDER[3], 3, f"demo/{ORDER[3]}/3")
    bench = FakeBench()
    assert session.run(PLAN, bench).exit_code == 0
    assert session.events("set_aside")[-1]["why"] == "it was cut off"
    assert f"attempts/{ORDER[3]}-2" in tree(session.folder)


def test_files_that_are_gone_are_measured_again_and_said(session: Session) -> None:
    session.run(PLAN, FakeBench())
    (session.folder / "points/r4/performance/result_summary.json").unlink()
    bench = FakeBench()
    assert session.run(PLAN, bench).exit_code == 0
    assert bench.slots == ["r4"]
    assert session.events("point_started")[-1]["again"] == "its files are gone"
    assert "attempts/r4-1" in tree(session.folder)


def test_a_folder_that_the_journal_does_not_know_is_kept(session: Session) -> None:
    result(session.folder / "points/r4", '{"mine": 1}')
    assert session.run(PLAN, FakeBench()).exit_code == 0
    kept = session.folder / "attempts/r4-1/performance/result_summary.json"
    assert kept.read_text() == '{"mine": 1}'
    assert "does not know" in session.events("set_aside")[0]["why"]


def test_a_taken_name_in_attempts_is_not_overwritten(session: Session) -> None:
    result(session.folder / "attempts/r4-1", "old")
    session.run(PLAN, FakeBench({"r4": [failed]}))
    assert {"attempts/r4-1", "attempts/r4-1.2", "points/r4"} <= set(tree(session.folder))


def test_a_hostile_journal_line_moves_nothing(session: Session) -> None:
    session.run(PLAN, FakeBench())
    with session.journal() as journal:
        for label in ("../../etc", 5, None, ["r4"], "r999"):
            journal.note("point_started", label=label, repeat="x", attempt="y")
            journal.note("point_started", label=label, repeat=1, attempt=10**12)
    bench = FakeBench()
    assert session.run(PLAN, bench).exit_code == 0
    assert bench.orders == []


# The search


class SearchFake(FakeBench):
    """An endpoint that saturates at 40 in flight."""

    def __init__(self) -> None:
        super().__init__()
        self.tried: list[int] = []
        self.attempts: list[tuple[int, int]] = []
        self.stop_at: int | None = None
        self.lose_at: dict[int, int] = {}

    def trial(self, concurrency: int, attempt: int, stop: TrialStop, folder: Path, show: Live) -> Trial:
        assert not folder.exists()
        assert stop.requests >= 10 * concurrency
        result(folder)
        self.tried.append(concurrency)
        self.attempts.append((concurrency, attempt))
        if concurrency == self.stop_at:
            self.stop_at = None
            raise KeyboardInterrupt
        if self.lose_at.get(concurrency, 0):
            self.lose_at[concurrency] -= 1
            return Trial(concurrency, 1.0, invalid=("half of the requests failed",), endpoint_lost=True)
        tps = 10.0 * min(concurrency, 40)
        return Trial(concurrency, tps, tps / concurrency, 1e7, tps / 20, 2e9)


def search(session: Session, bench: SearchFake) -> object:
    with session.journal() as journal:
        return run_search(
            session.folder, bench, journal, conditions().endpoint, start=4, most=4096, limits=limits_of(), rest_s=2,
            show=session.views.append, around=session.around(),
        )  # fmt: skip


def test_a_search_is_journalled_and_not_made_twice(session: Session) -> None:
    bench = SearchFake()
    found, trials = search(session, bench)  # type: ignore[misc]
    assert found.c_max in range(36, 81)
    assert [trial.concurrency for trial in trials] == bench.tried
    assert len(session.events("trial")) == len(trials)
    assert session.events("c_max")[0]["c_max"] == found.c_max
    assert (session.folder / "search/c4").is_dir()
    assert session.views[-1].points[0] == (4, 40.0, 10.0)
    assert "search: 4 in flight; 10 answers in each of 4 slots" in session.lines[0]
    again = SearchFake()
    assert search(session, again) == (found, trials)
    assert again.tried == []
    assert len(session.events("c_max")) == 1


def test_a_search_that_was_stopped_goes_on(session: Session) -> None:
    bench = SearchFake()
    bench.stop_at = 16
    with pytest.raises(Stopped, match="by the user"):
        search(session, bench)
    assert [entry["concurrency"] for entry in session.events("trial")] == [4, 8]
    search(session, bench)
    assert bench.tried[:4] == [4, 8, 16, 16]
    assert session.events("set_aside")[0]["to"] == "attempts/search-c16"
    assert bench.attempts[:5] == [(4, 1), (8, 1), (16, 1), (16, 2), (32, 1)], "every one has a salt of its own"


def test_a_search_on_an_endpoint_that_goes_away(session: Session) -> None:
    bench = SearchFake()
    bench.up = False
    with pytest.raises(Stopped, match="did not come back") as caught:
        search(session, bench)
    assert caught.value.exit_code == 4
    assert bench.tried == []


def test_a_trial_that_the_endpoint_did_not_survive_is_no_evidence(session: Session) -> None:
    """It would end the search below what the endpoint can do."""
    bench = SearchFake()
    bench.lose_at = {16: 1}
    found, trials = search(session, bench)  # type: ignore[misc]
    assert found.c_max in range(36, 81)
    assert bench.tried[:4] == [4, 8, 16, 16]
    assert not any(trial.invalid for trial in trials)
    (aside,) = session.events("set_aside")
    assert (aside["to"], aside["why"]) == ("attempts/search-c16", "the endpoint went away under the trial")
    assert any("this trial is made once more" in line for line in session.lines)


def test_a_level_that_the_endpoint_does_not_survive_twice_is_too_much(session: Session) -> None:
    bench = SearchFake()
    bench.lose_at = {16: 2}
    found, trials = search(session, bench)  # type: ignore[misc]
    assert found.c_max in range(8, 16)
    assert bench.tried.count(16) == 2
    lost = [trial for trial in trials if trial.endpoint_lost]
    assert [trial.concurrency for trial in lost] == [16]
    assert search(session, SearchFake()) == (found, trials), "the journal knows it too"


def test_resume_goes_on_with_the_stored_plan(session: Session) -> None:
    session.run(PLAN, FakeBench({ORDER[3]: [bad]}))
    with session.journal() as journal:
        plan = resume(session.folder, journal, conditions(), tool="wholecurve 0.2")
    assert plan == PLAN
    assert session.run(plan, FakeBench()).exit_code == 0
