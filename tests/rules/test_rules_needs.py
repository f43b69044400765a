"""What the rules ask of a curve in numbers: counts, durations, passes, Offline, warm-up, the basis of figures."""

from __future__ import annotations

import pytest

from wholecurve.model.errors import InputError
from wholecurve.model.steadiness import Basis, Coverage, SteadyVerdict
from wholecurve.rules import (
    Action,
    Kind,
    Offline,
    Severity,
    basis_of,
    duration_choice,
    enough_completed,
    fewest_points,
    missing_warmup_fields,
    offline_allowed,
    offline_in_order,
    regions,
    shortest_s,
    warmup_short_enough,
    whole_passes,
    window_status,
)
from wholecurve.rules.load import load_rules

RULES = load_rules()
TOOL = load_rules(edition="T")
DEMO = load_rules("demo")
CUT = regions(1024, 16, RULES.regions)


def declared(levels: list[int], **how: Offline) -> list[tuple[int, Offline]]:
    """Levels as they are declared; `l1024=Offline.ELECTED` marks one."""
    return [(level, how.get(f"l{level}", Offline.NONE)) for level in levels]


@pytest.mark.parametrize(
    ("kind", "offline", "count"),
    [
        (Kind.SINGLE_TURN, Offline.DEDICATED, 8),
        (Kind.SINGLE_TURN, Offline.ELECTED, 7),
        (Kind.AGENTIC, Offline.NONE, 7),
        (Kind.AGENTIC, Offline.DEDICATED, 7),  # not allowed there, and no excuse for fewer or need of more
    ],
)
def test_fewest_points(kind: Kind, offline: Offline, count: int) -> None:
    assert fewest_points(kind, offline, RULES) == count


def test_t09_a_single_turn_curve_needs_an_offline_result() -> None:
    levels = [16, 24, 64, 96, 128, 256, 1000]
    assert not offline_allowed(Kind.SINGLE_TURN, declared(levels), 1024, RULES)
    assert RULES.clauses["offline-point-present"].action is Action.REJECT_SUBMISSION
    with pytest.raises(InputError, match="got none"):
        fewest_points(Kind.SINGLE_TURN, Offline.NONE, RULES)


def test_t10_seven_points_with_an_elected_one_pass() -> None:
    levels = [16, 24, 64, 96, 128, 256, 1024]
    assert offline_allowed(Kind.SINGLE_TURN, declared(levels, l1024=Offline.ELECTED), 1024, RULES)
    assert len(levels) >= fewest_points(Kind.SINGLE_TURN, Offline.ELECTED, RULES)


@pytest.mark.parametrize(
    ("tps", "in_order"), [(49_000, True), (48_999, False), (49_000.0001, True), (48_999.9999, False)]
)
def test_t11_a_dedicated_offline_run_may_be_two_percent_slower(tps: float, in_order: bool) -> None:
    assert offline_in_order(tps, 4388, 50_000, 1024, RULES) is in_order
    assert RULES.clauses["offline-ordering"].action is Action.FLAG_SUBMISSION


def test_t12_a_dedicated_offline_run_below_c_max_is_out_of_order() -> None:
    assert not offline_in_order(60_000, 4388, 50_000, 8192, RULES)
    assert RULES.benchmarks.of("deepseek-r1").offline_concurrency == 4388


@pytest.mark.parametrize(
    ("kind", "marks", "allowed"),
    [
        (Kind.SINGLE_TURN, {"l512": Offline.ELECTED}, False),  # T13
        (Kind.SINGLE_TURN, {"l1024": Offline.ELECTED, "l512": Offline.DEDICATED}, False),
        (Kind.SINGLE_TURN, {"l512": Offline.DEDICATED}, True),
        (Kind.AGENTIC, {"l1024": Offline.DEDICATED}, False),  # T14
        (Kind.AGENTIC, {"l1024": Offline.ELECTED}, False),
        (Kind.AGENTIC, {}, True),  # T14
    ],
)
def test_offline_declarations(kind: Kind, marks: dict[str, Offline], allowed: bool) -> None:
    levels = [16, 24, 64, 128, 256, 512, 1024]
    assert offline_allowed(kind, declared(levels, **marks), 1024, RULES) is allowed


def test_t16_the_cap_counts_all_points_and_chooses_none() -> None:
    assert RULES.points.cap == 32
    clause = RULES.clauses["point-cap"]
    assert (clause.action, clause.choice) == (Action.REJECT_POINTS, "C22")
    assert RULES.choices["C22"].choice.startswith("none chosen")


@pytest.mark.parametrize(
    ("level", "seconds"),
    [(1, 600), (16, 600), (17, 600), (32, 600), (33, 1200), (117, 1200), (1024, 1200), (1127, 1200)],
)
def test_shortest_duration_by_level(level: int, seconds: float) -> None:
    assert shortest_s(level, CUT, Kind.SINGLE_TURN, RULES) == seconds
    assert shortest_s(level, CUT, Kind.AGENTIC, RULES) == seconds


def test_a_level_out_of_range_has_no_duration() -> None:
    with pytest.raises(InputError, match="up to 1127, got 1128"):
        shortest_s(1128, CUT, Kind.SINGLE_TURN, RULES)


@pytest.mark.parametrize(("level", "seconds"), [(32, 600), (33, 2400), (1024, 2400)])
def test_c32_longer_agentic_runs_are_known_to_the_tool_only(level: int, seconds: float) -> None:
    assert shortest_s(level, CUT, Kind.AGENTIC, TOOL) == seconds
    assert shortest_s(level, CUT, Kind.SINGLE_TURN, TOOL) == (600 if level <= 32 else 1200)


@pytest.mark.parametrize(
    ("level", "span_s", "choice"),
    [(24, 600, "C4"), (24, 1199.9, "C4"), (24, 1200, None), (24, 599, None), (16, 600, None)],
)
def test_c4_a_level_above_c_min_passes_as_ultra_low(level: int, span_s: float, choice: str | None) -> None:
    assert duration_choice(level, span_s, CUT, RULES) == choice


@pytest.mark.parametrize(("completed", "enough"), [(4387, False), (4388, True), (8776, True)])
def test_t24_completed(completed: int, enough: bool) -> None:
    assert enough_completed(completed, 4388, RULES) is enough
    assert RULES.clauses["min-query-count"].action is Action.FLAG_POINTS


@pytest.mark.parametrize(("issued", "whole"), [(8776, True), (9000, False), (4388, True), (0, False), (4387, False)])
def test_t24_issued(issued: int, whole: bool) -> None:
    assert whole_passes(issued, 4388, RULES) is whole


@pytest.mark.parametrize(
    ("run", "window", "span_s", "status", "basis"),
    [
        (6, 4, 1200.0, Coverage.WINDOWABLE, Basis.WINDOW),
        (6, 4, 1199.9, Coverage.INSUFFICIENT_DURATION, Basis.TOTAL),
        (3, 3, 1500.0, Coverage.INSUFFICIENT_PASSES, Basis.TOTAL),
        (0.8, 0, 1500.0, Coverage.PARTIAL_DATASET, Basis.TOTAL),
    ],
)
def test_t20_status_and_basis(run: float, window: int, span_s: float, status: Coverage, basis: Basis) -> None:
    shortest = shortest_s(40, CUT, Kind.SINGLE_TURN, RULES)
    assert window_status(run, window, span_s, shortest, RULES) is status
    row = basis_of(status, SteadyVerdict.STEADY, RULES)
    assert (row.basis, row.flag) == (basis, None if basis is Basis.WINDOW else "fallback")


@pytest.mark.parametrize(
    ("verdict", "basis", "flag", "accepted"),
    [
        (SteadyVerdict.STEADY, Basis.WINDOW, None, True),
        (SteadyVerdict.DRIFTING_UP, Basis.WINDOW, "drift", True),  # T21
        (SteadyVerdict.DRIFTING_DOWN, Basis.WINDOW, "drift", True),
        (SteadyVerdict.ANOMALY, Basis.WINDOW, "anomaly", True),  # T22
        (SteadyVerdict.NOT_FOUND, None, None, False),
    ],
)
def test_decision_for_a_window(verdict: SteadyVerdict, basis: Basis | None, flag: str | None, accepted: bool) -> None:
    row = basis_of(Coverage.WINDOWABLE, verdict, RULES)
    assert (row.basis, row.flag, row.accepted) == (basis, flag, accepted)


@pytest.mark.parametrize("status", Coverage)
@pytest.mark.parametrize("verdict", SteadyVerdict)
def test_every_status_and_verdict_has_exactly_one_row(status: Coverage, verdict: SteadyVerdict) -> None:
    rows = [row for row in RULES.steady.decision.values() if status in row.statuses and verdict in row.verdicts]
    assert rows == [basis_of(status, verdict, RULES)]


def test_t23_warmup() -> None:
    assert warmup_short_enough(86_400, RULES)
    assert not warmup_short_enough(86_401, RULES)
    whole = dict.fromkeys(RULES.warmup.fields, 0)
    assert len(whole) == 6
    assert missing_warmup_fields(whole, RULES) == ()
    assert missing_warmup_fields({**whole, "data_source": None}, RULES) == ("data_source",)
    assert missing_warmup_fields({}, RULES) == RULES.warmup.fields
    assert RULES.clauses["warmup-present"].action is Action.FLAG_POINTS


def test_accuracy_runs() -> None:
    assert RULES.points.accuracy_runs == {Kind.SINGLE_TURN: 5, Kind.AGENTIC: 4}
    assert RULES.clauses["accuracy-gate"].severity is Severity.ERROR
    assert not RULES.points.accuracy_elsewhere
    assert load_rules(edition="E1").points.accuracy_elsewhere


def test_the_demo_version_counts_in_seconds() -> None:
    cut = regions(32, 1, DEMO.regions)
    assert [shortest_s(level, cut, Kind.SINGLE_TURN, DEMO) for level in (1, 4, 5, 32)] == [3, 3, 6, 6]
    assert offline_in_order(45_000, 32, 50_000, 32, DEMO)
    assert not warmup_short_enough(61, DEMO)
    assert DEMO.points.cap == 16
