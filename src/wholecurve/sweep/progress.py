"""What the display of a sweep is told: the time that is left, and the curve so far. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

from wholecurve.model.units import show_duration
from wholecurve.sweep.campaign import CampaignPlan
from wholecurve.sweep.order import Slot
from wholecurve.sweep.state import SlotState, Standing

Measured = tuple[int, float | None, float | None]

MOST: Final = 1e15
"""Of a number in a plan or a journal that can be meant; in ns more than a week."""


def time_left(
    plan: CampaignPlan, states: Iterable[SlotState], current: Slot, spent_s: float
) -> tuple[float, float | None]:
    """(low, high) seconds of everything not valid yet, by the plan's estimate; high None where it is not known.

    spent_s: already measured at the current point, which shortens what is left of it.
    """
    spans = plan.estimate_s.get("levels")
    low, high, gaps = 0.0, 0.0, -1
    known = True
    for state in states:
        if state.standing is Standing.VALID:
            continue
        gaps += 1
        span = spans.get(state.slot.label) if isinstance(spans, Mapping) else None
        ends = span if isinstance(span, list) and len(span) == 2 else [0.0, None]
        spent = spent_s if state.slot == current else 0.0
        low += max(0.0, (_number(ends[0]) or 0.0) - spent)
        most = _number(ends[1])
        known = known and most is not None
        high += max(0.0, (most or 0.0) - spent)
    rest = max(0, gaps) * plan.idle_gap_s
    return low + rest, high + rest if known else None


def measured(plan: CampaignPlan, states: Iterable[SlotState]) -> tuple[Measured, ...]:
    """The valid levels so far by concurrency: (concurrency, system tokens/s, tokens/s per user). First runs only."""
    found = []
    for state in states:
        level = plan.level(state.slot.label)
        if state.standing is Standing.VALID and state.slot.repeat == 1 and not level.dedicated:
            figures = (state.ended or {}).get("figures")
            figures = figures if isinstance(figures, Mapping) else {}
            user = _number(figures.get(plan.interactivity_key))
            found.append((level.concurrency, _number(figures.get("system_tps")), user))
    return tuple(sorted(found, key=lambda one: one[0]))


def figures_words(figures: Mapping[str, Any]) -> str:
    """What a run measured, for a line on the screen; "no figures" if nothing."""
    tps, user, ttft = (_number(figures.get(key)) for key in ("system_tps", "tps_per_user", "ttft_p90_ns"))
    found = [] if tps is None else [f"{tps:,.0f} tokens/s"]
    found += [] if user is None else [f"{user:,.0f} per user"]
    found += [] if ttft is None else [f"TTFT P90 {show_duration(ttft)}"]
    return ", ".join(found) or "no figures"


def _number(value: Any) -> float | None:
    known = isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < MOST  # NaN is not
    return float(value) if known else None
