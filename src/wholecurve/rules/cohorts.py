"""Cohorts of publication: two a month, on the first and third Wednesday when the data say so. Calendar arithmetic only.

Nothing here adds fourteen days: from one month to the next the gap is two or three weeks, so a date is always computed
from year, month and place in the month.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import date, time, timedelta

from wholecurve.model.errors import InputError

_SHAPE = re.compile(r"(\d{4})-(0[1-9]|1[0-2])-C(\d)")
_MONTHS = 12
_WEEK = 7


@dataclass(frozen=True, slots=True, order=True)
class Cohort:
    """`2026-10-C1`: the cohort of that place (from 0) in that month. Orders by time."""

    year: int
    month: int
    place: int

    def __str__(self) -> str:
        return f"{self.year:04}-{self.month:02}-C{self.place}"


@dataclass(frozen=True, slots=True)
class CohortRules:
    """The calendar. `weekday` counts from Monday = 0; `occurrences` are the weeks of that weekday, from 1."""

    weekday: int
    occurrences: tuple[int, ...]
    local_time: time
    zone: str
    first: Cohort


def parse_cohort(text: str) -> Cohort:
    """`YYYY-MM-Cn` to a cohort. Raises InputError for another shape."""
    match = _SHAPE.fullmatch(text)
    if match is None or match.group(1) == "0000":
        raise InputError(f"wanted a cohort such as 2026-10-C1, got {text!r}")
    return Cohort(*(int(part) for part in match.groups()))


def cohort_number(cohort: Cohort, rules: CohortRules) -> int:
    """Cohorts from the first one of this version to this one: the first is 0, earlier ones are negative.

    Raises InputError for a place that a month does not have.
    """
    return _ordinal(cohort, rules) - _ordinal(rules.first, rules)


def later_cohort(cohort: Cohort, count: int, rules: CohortRules) -> Cohort:
    """The cohort `count` places after this one (before it, when negative)."""
    per_month = len(rules.occurrences)
    months, place = divmod(_ordinal(cohort, rules) + count, per_month)
    year, month = divmod(months, _MONTHS)
    return Cohort(year, month + 1, place)


def cohort_date(cohort: Cohort, rules: CohortRules) -> date:
    """The day of a cohort, in the calendar of `rules.zone`."""
    _ordinal(cohort, rules)
    first = date(cohort.year, cohort.month, 1)
    days = (rules.weekday - first.weekday()) % _WEEK
    return first + timedelta(days=days, weeks=rules.occurrences[cohort.place] - 1)


def cohort_on_or_after(day: date, rules: CohortRules) -> Cohort:
    """The first cohort of this version whose day is `day` or later."""
    candidate = max(Cohort(day.year, day.month, 0), rules.first)
    while cohort_date(candidate, rules) < day:
        candidate = later_cohort(candidate, 1, rules)
    return candidate


def adoptable(published: Cohort, target: Cohort, window: int, rules: CohortRules) -> bool:
    """Whether seeds published for one cohort may be used by a submission to another: that one and `window - 1` more."""
    return 0 <= cohort_number(target, rules) - cohort_number(published, rules) < window


def has_lead(approved: Cohort, target: Cohort, lead: int, rules: CohortRules) -> bool:
    """Whether the target lies at least `lead` cohorts after the approval."""
    return cohort_number(target, rules) - cohort_number(approved, rules) >= lead


def _ordinal(cohort: Cohort, rules: CohortRules) -> int:
    per_month = len(rules.occurrences)
    if not 0 <= cohort.place < per_month:
        last = per_month - 1
        raise InputError(f"wanted a cohort C0 to C{last} of a month, got {cohort}", hint="a month has no other cohorts")
    return (cohort.year * _MONTHS + cohort.month - 1) * per_month + cohort.place
