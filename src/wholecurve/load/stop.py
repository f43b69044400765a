"""When a phase stops issuing. Rules combine; see `model.plan.StopRule`.

Minimums (samples, duration, whole passes) must all be met; either maximum ends the phase at once. A rule without
any minimum runs to its maximum; a rule with neither is one pass of the data set. The clock of the least duration
starts when sample number `lead_samples` is issued; without lead samples it is that of the phase.
"""

from __future__ import annotations

from wholecurve.model.errors import InputError
from wholecurve.model.plan import StopRule


def should_issue(rule: StopRule, issued: int, elapsed_ns: int, rows: int, after_lead_ns: int | None = None) -> bool:
    """Whether one more unit of work is to be issued.

    `issued`: conversations issued in this phase so far; `elapsed_ns`: since the start of the phase; `rows`: of its
    data set; `after_lead_ns`: since sample number `lead_samples` was issued, None while it was not (read only if the
    rule has lead samples). Under whole passes at least one pass is issued, unless a maximum comes first.
    """
    if reached_maximum(rule, issued, elapsed_ns):
        return False
    floor = sample_floor(rule, rows)
    if floor is None or issued < floor:
        return True
    if rule.min_duration_ns:
        since_ns = after_lead_ns if rule.lead_samples else elapsed_ns
        if since_ns is None or since_ns < rule.min_duration_ns:
            return True
    return rule.whole_passes and issued % rows != 0


def reached_maximum(rule: StopRule, issued: int, elapsed_ns: int) -> bool:
    """Whether a maximum of the rule ends the phase, whatever its minimums say."""
    if rule.max_samples is not None and issued >= rule.max_samples:
        return True
    return rule.max_duration_ns is not None and elapsed_ns >= rule.max_duration_ns


def sample_floor(rule: StopRule, rows: int) -> int | None:
    """Fewest samples that satisfy the minimums; None when only a maximum ends the phase.

    A least duration after lead samples needs these and the one whose issue starts its clock. Raises InputError for a
    data set without rows.
    """
    if rows < 1:
        raise InputError(f"wanted a data set with at least one row, got {rows}")
    if rule.min_samples == 0 and rule.min_duration_ns == 0:
        if rule.max_samples is None and rule.max_duration_ns is None:
            return rows
        return None
    least = rule.min_samples
    if rule.lead_samples and rule.min_duration_ns:
        least = max(least, rule.lead_samples + 1)
    if rule.whole_passes:
        return max(1, -(-least // rows)) * rows
    return least


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
