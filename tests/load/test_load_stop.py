"""Stop rules: a table of single rules, and properties of their combinations."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wholecurve.load import planned_total, reached_maximum, sample_floor, should_issue
from wholecurve.model.errors import InputError
from wholecurve.model.plan import StopRule

S = 1_000_000_000


def issued_at_end(rule: StopRule, rows: int, gap_ns: int) -> int:
    """Issue one every `gap_ns` until the rule says no."""
    issued = 0
    while should_issue(rule, issued, issued * gap_ns, rows, since_lead(rule, issued, gap_ns)):
        issued += 1
        assert issued < 100_000
    return issued


def since_lead(rule: StopRule, issued: int, gap_ns: int) -> int | None:
    """Place k is issued at k gaps: time since place `lead_samples`, None while it is not issued."""
    return (issued - rule.lead_samples) * gap_ns if issued > rule.lead_samples else None


# rule, rows, ns per request, issued, planned
TABLE = [
    ("nothing set is one pass", StopRule(), 7, S, 7, 7),
    ("whole passes alone is one pass", StopRule(whole_passes=True), 7, S, 7, 7),
    ("at least 10", StopRule(min_samples=10), 7, S, 10, 10),
    ("at least 10, whole passes", StopRule(min_samples=10, whole_passes=True), 7, S, 14, 14),
    ("a multiple stays", StopRule(min_samples=14, whole_passes=True), 7, S, 14, 14),
    ("at most 3", StopRule(max_samples=3), 7, S, 3, 3),
    ("at most 3 wins over at least 10", StopRule(min_samples=10, max_samples=3), 7, S, 3, 3),
    ("at least 600 s", StopRule(min_duration_ns=600 * S), 7, S, 600, None),
    ("600 s and whole passes", StopRule(min_duration_ns=600 * S, whole_passes=True), 7, S, 602, None),
    ("600 s and whole passes, fast", StopRule(min_duration_ns=600 * S, whole_passes=True), 7, S // 10, 6006, None),
    ("slow: one pass at least", StopRule(min_duration_ns=S, whole_passes=True), 7, 60 * S, 7, None),
    ("600 s and 1000", StopRule(min_samples=1000, min_duration_ns=600 * S), 7, S, 1000, None),
    ("at most 60 s", StopRule(max_duration_ns=60 * S), 7, S, 60, None),
    ("at most 5 s cuts a pass", StopRule(max_duration_ns=5 * S, whole_passes=True), 7, S, 5, None),
    ("at most 5 s cuts a minimum", StopRule(min_samples=100, max_duration_ns=5 * S), 7, S, 5, None),
    ("count before the clock", StopRule(min_samples=9, max_samples=9, min_duration_ns=99 * S), 7, S, 9, 9),
    ("maximum of a minimum by time", StopRule(min_duration_ns=99 * S, max_samples=50), 7, S, 50, None),
    ("600 s after a lead of 7", StopRule(min_duration_ns=600 * S, lead_samples=7), 7, S, 607, None),
    ("that in whole passes", StopRule(min_duration_ns=600 * S, lead_samples=7, whole_passes=True), 7, S, 609, None),
    ("a lead and one slow request", StopRule(min_duration_ns=S, lead_samples=7), 7, 60 * S, 8, None),
    ("a lead and one slow pass", StopRule(min_duration_ns=S, lead_samples=7, whole_passes=True), 7, 60 * S, 14, None),
    ("a lead alone asks for nothing", StopRule(min_samples=3, lead_samples=7), 7, S, 3, 3),
    ("a lead longer than the maximum", StopRule(min_duration_ns=S, max_samples=5, lead_samples=7), 7, S, 5, 5),
    ("at most 5 s, all of it lead", StopRule(min_duration_ns=S, max_duration_ns=5 * S, lead_samples=7), 7, S, 5, None),
]


@pytest.mark.parametrize(
    ("rule", "rows", "gap", "issued", "planned"), [row[1:] for row in TABLE], ids=[r[0] for r in TABLE]
)
def test_table(rule: StopRule, rows: int, gap: int, issued: int, planned: int | None) -> None:
    assert issued_at_end(rule, rows, gap) == issued
    assert planned_total(rule, rows) == planned


RULES = st.builds(
    StopRule,
    min_samples=st.integers(0, 300),
    max_samples=st.none() | st.integers(1, 300),
    min_duration_ns=st.integers(0, 300),
    max_duration_ns=st.none() | st.integers(1, 300),
    whole_passes=st.booleans(),
    lead_samples=st.just(0) | st.integers(1, 100),
)


@given(rule=RULES, rows=st.integers(1, 40), gap=st.integers(1, 7))
def test_minimums_hold_unless_a_maximum_came_first(rule: StopRule, rows: int, gap: int) -> None:
    issued = issued_at_end(rule, rows, gap)
    elapsed = issued * gap
    cut = issued == rule.max_samples or (rule.max_duration_ns is not None and elapsed >= rule.max_duration_ns)
    if not cut:
        assert issued >= rule.min_samples
        assert elapsed >= rule.min_duration_ns
        assert not rule.min_duration_ns or elapsed >= rule.lead_samples * gap + rule.min_duration_ns
        assert issued >= (sample_floor(rule, rows) or 0)
        assert not rule.whole_passes or issued % rows == 0
    assert issued >= 1
    assert rule.max_samples is None or issued <= rule.max_samples


@given(rule=RULES, rows=st.integers(1, 40), gap=st.integers(1, 7))
def test_a_planned_total_is_what_happens_at_any_speed(rule: StopRule, rows: int, gap: int) -> None:
    planned = planned_total(rule, rows)
    assert planned is None or issued_at_end(rule, rows, gap) == planned


@given(rule=RULES, rows=st.integers(1, 40), gap=st.integers(1, 7))
def test_it_stops_no_later_than_one_pass_after_the_minimums(rule: StopRule, rows: int, gap: int) -> None:
    issued = issued_at_end(rule, rows, gap)
    lead = rule.lead_samples + 1 if rule.min_duration_ns else 0
    longest = max(rule.min_samples, lead + -(-rule.min_duration_ns // gap), rows) + rows
    if rule.min_samples or rule.min_duration_ns:
        assert issued <= longest


@given(rule=RULES, rows=st.integers(1, 40), gap=st.integers(1, 7))
def test_only_a_maximum_ends_a_phase_before_its_minimums(rule: StopRule, rows: int, gap: int) -> None:
    """What `run/flight.py` asks to tell one end from the other, at the place where issuing ends."""
    issued = issued_at_end(rule, rows, gap)
    without = StopRule(rule.min_samples, None, rule.min_duration_ns, None, rule.whole_passes, rule.lead_samples)
    goes_on = should_issue(without, issued, issued * gap, rows, since_lead(rule, issued, gap))
    if goes_on and sample_floor(rule, rows) is not None:
        assert reached_maximum(rule, issued, issued * gap)


def test_no_rows_is_refused() -> None:
    with pytest.raises(InputError, match="at least one row"):
        should_issue(StopRule(), 0, 0, 0)
