"""Cohorts: calendar arithmetic by rule, adoption of seed sets, lead time of drafters."""

from __future__ import annotations

from datetime import date, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wholecurve.model.errors import InputError
from wholecurve.rules import (
    Cohort,
    Drafter,
    cohort_date,
    cohort_number,
    cohort_on_or_after,
    drafter_usable,
    later_cohort,
    parse_cohort,
    seed_sets_for,
)
from wholecurve.rules.load import load_rules

RULES = load_rules()
CALENDAR = RULES.cohorts
DATES = [
    ("2026-10-C1", 0, date(2026, 10, 21)),
    ("2026-11-C0", 1, date(2026, 11, 4)),
    ("2026-11-C1", 2, date(2026, 11, 18)),
    ("2026-12-C0", 3, date(2026, 12, 2)),
    ("2026-12-C1", 4, date(2026, 12, 16)),
    ("2027-01-C0", 5, date(2027, 1, 6)),
    ("2027-03-C1", 10, date(2027, 3, 17)),
    ("2027-04-C0", 11, date(2027, 4, 7)),
    ("2027-06-C0", 15, date(2027, 6, 2)),
    ("2027-09-C0", 21, date(2027, 9, 1)),  # a month that begins on a Wednesday
    ("2027-09-C1", 22, date(2027, 9, 15)),
    ("2026-10-C0", -1, date(2026, 10, 7)),
]

cohorts = st.builds(Cohort, st.integers(2020, 2090), st.integers(1, 12), st.integers(0, 1))


@pytest.mark.parametrize(("name", "number", "day"), DATES)
def test_dates_and_numbers(name: str, number: int, day: date) -> None:
    cohort = parse_cohort(name)
    assert str(cohort) == name
    assert cohort_date(cohort, CALENDAR) == day
    assert cohort_number(cohort, CALENDAR) == number
    assert later_cohort(CALENDAR.first, number, CALENDAR) == cohort


@given(cohorts)
def test_every_cohort_is_the_first_or_third_wednesday(cohort: Cohort) -> None:
    day = cohort_date(cohort, CALENDAR)
    assert day.weekday() == 2
    assert (day.day - 1) // 7 == (0, 2)[cohort.place]
    assert (day.year, day.month) == (cohort.year, cohort.month)


@given(cohorts)
def test_the_gap_to_the_next_cohort_is_two_or_three_weeks(cohort: Cohort) -> None:
    after = later_cohort(cohort, 1, CALENDAR)
    gap = cohort_date(after, CALENDAR) - cohort_date(cohort, CALENDAR)
    assert gap in (timedelta(weeks=2), timedelta(weeks=3))
    assert cohort < after
    assert later_cohort(after, -1, CALENDAR) == cohort


@pytest.mark.parametrize(
    ("day", "name"),
    [
        (date(2026, 10, 12), "2026-10-C1"),
        (date(2026, 10, 21), "2026-10-C1"),
        (date(2026, 10, 22), "2026-11-C0"),
        (date(2026, 12, 17), "2027-01-C0"),
        (date(2025, 1, 1), "2026-10-C1"),
    ],
)
def test_the_cohort_of_a_day(day: date, name: str) -> None:
    assert str(cohort_on_or_after(day, CALENDAR)) == name


@pytest.mark.parametrize("text", ["2026-13-C0", "2026-00-C0", "2026-10-1", "26-10-C1", "2026-10-C1 ", "0000-01-C0", ""])
def test_another_shape_is_refused(text: str) -> None:
    with pytest.raises(InputError, match="wanted a cohort such as 2026-10-C1"):
        parse_cohort(text)


def test_a_third_cohort_of_a_month_is_refused() -> None:
    with pytest.raises(InputError, match="C0 to C1 of a month, got 2026-10-C2"):
        cohort_date(parse_cohort("2026-10-C2"), CALENDAR)


@pytest.mark.parametrize(
    ("target", "adoptable"),
    [
        ("2026-10-C0", []),
        ("2026-10-C1", ["A"]),
        ("2026-11-C0", ["A"]),
        ("2026-11-C1", ["A"]),
        ("2026-12-C0", ["A"]),
        ("2026-12-C1", []),
    ],
)
def test_t28_adoption_window_of_a_seed_set(target: str, adoptable: list[str]) -> None:
    assert [each.id for each in seed_sets_for(parse_cohort(target), RULES)] == adoptable


def test_seeds_are_exact() -> None:
    """As binary floats the first would end in 424, the second in 408, the third in 736."""
    seeds = RULES.seeds.sets["A"]
    assert seeds.scheduler_rng_seed == 10487924139932647040
    assert seeds.sample_index_rng_seed == 586478644936801402
    assert seeds.model_seed == 9315206023656308754
    assert int(float(seeds.sample_index_rng_seed)) != seeds.sample_index_rng_seed


@pytest.mark.parametrize(("target", "usable"), [("2026-11-C0", False), ("2026-11-C1", False), ("2026-12-C0", True)])
def test_t28_lead_time_of_a_drafter(target: str, usable: bool) -> None:
    drafter = Drafter("d", "gpt-oss-120b", "m", parse_cohort("2026-11-C0"), weight_checksum="git-sha1:0")
    assert drafter_usable(drafter, "gpt-oss-120b", parse_cohort(target), RULES) is usable
    assert not drafter_usable(drafter, "deepseek-r1", parse_cohort(target), RULES)


def test_listed_drafters_are_usable_from_the_first_cohort() -> None:
    assert len(RULES.drafters.list) == 9
    for drafter in RULES.drafters.list.values():
        assert drafter_usable(drafter, drafter.benchmark, CALENDAR.first, RULES)
    assert "llama3_1-8b" not in {drafter.benchmark for drafter in RULES.drafters.list.values()}


def test_the_demo_version_has_its_own_window_and_lead() -> None:
    demo = load_rules("demo")
    assert [each.id for each in seed_sets_for(parse_cohort("2026-11-C0"), demo)] == ["demo"]
    assert seed_sets_for(parse_cohort("2026-11-C1"), demo) == ()
    drafter = Drafter("d", "demo", "m", parse_cohort("2026-11-C0"))
    assert drafter_usable(drafter, "demo", parse_cohort("2026-11-C1"), demo)
