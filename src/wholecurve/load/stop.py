"""When a phase stops issuing. Rules combine; see `model.plan.StopRule`.

Minimums (samples, duration, whole passes) must all be met; either maximum ends the phase at once. A rule without
any minimum runs to its maximum; a rule with neither is one pass of the data set.
"""

from __future__ import annotations

from wholecurve.model.errors import InputError
from wholecurve.model.plan import StopRule


def should_issue(rule: StopRule, issued: int, elapsed_ns: int, rows: int) -> bool:
    """Whether one more unit of work is to be issued.

    `issued`: conversations issued in this phase so far; `elapsed_ns`: since the start of the phase; `rows`: of its
    data set. Under whole passes at least one pass is issued, unless a maximum comes first.
    """
    if rule.max_samples is not None and issued >= rule.max_samples:
        return False
    if rule.max_duration_ns is not None and elapsed_ns >= rule.max_duration_ns:
        return False
    floor = sample_floor(rule, rows)
    if floor is None:
        return True
    if issued < floor or elapsed_ns < rule.min_duration_ns:
        return True
    return rule.whole_passes and issued % rows != 0


def sample_floor(rule: StopRule, rows: int) -> int | None:
    """Fewest samples that satisfy the minimums; None when only a maximum ends the phase.

    Raises InputError for a data set without rows.
    """
    if rows < 1:
        raise InputError(f"wanted a data set with at least one row, got {rows}")
    if rule.min_samples == 0 and rule.min_duration_ns == 0:
        if rule.max_samples is None and rule.max_duration_ns is None:
            return rows
        return None
    if rule.whole_passes:
        return max(1, -(-rule.min_samples // rows)) * rows
    return rule.min_samples


def planned_total(rule: StopRule, rows: int) -> int | None:
    """How many will be issued if nothing goes wrong; None when a clock has a say in it."""
    if rule.max_duration_ns is not None:
        return None
    floor = sample_floor(rule, rows)
    if floor is None:
        return rule.max_samples
    if rule.max_samples is not None and rule.max_samples <= floor:
        return rule.max_samples
    return floor if rule.min_duration_ns == 0 else None
