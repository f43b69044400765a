"""How many systems carry so many users within the limits, how much room is left, and what breaks first (S9)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Any, Final

from wholecurve.curve.cost import DERIVED, Price, total_usd_per_hour
from wholecurve.curve.decide import Limit, check_limits, levels, misses, nearest, passes
from wholecurve.curve.rank import systems_needed
from wholecurve.curve.table import Row
from wholecurve.model.errors import InputError

ASSUMPTION: Final = (
    "Users spread perfectly evenly over equal systems, and each system behaves as the one that was measured."
)

GROWTH: Final[tuple[float, ...]] = (1.5, 2.0, 3.0)


def capacity(rows: Sequence[Row], limits: Sequence[Limit], users: int, *, price: Price | None = None) -> dict[str, Any]:
    """The plan for one curve's rows and this many users at a time.

    {"users", "systems", "concurrency", "point", "headroom", "power_kw", "usd_per_hour", "tag", "assumption", "why",
    "nearest", "next", "failing_below"}. concurrency: the largest measured level that passes. headroom: systems x
    concurrency / users - 1. next: the next level up with its misses, None when nothing was measured above.
    failing_below: levels below that do not pass. Without a passing level `systems` is None and `why` and `nearest` say
    what is missing. InputError for bad limits or users.
    """
    check_limits(limits)
    if isinstance(users, bool) or not isinstance(users, int) or users < 1:
        raise InputError(f"wanted users as a whole number of 1 or more, got {users!r}")
    measured = levels(rows)
    passing = [row for row in measured if passes(row, limits)]
    plan: dict[str, Any] = {"users": users, "tag": DERIVED, "assumption": ASSUMPTION}
    if not passing:
        empty = dict.fromkeys(("systems", "concurrency", "point", "headroom", "power_kw", "usd_per_hour", "next"))
        why = "no level meets the limits" if measured else "no level was measured"
        return {**plan, **empty, "why": why, "nearest": nearest(measured, limits), "failing_below": []}
    row = passing[-1]
    systems = systems_needed(users, row["concurrency"])
    power_kw = row["provisioned_power_kw"]
    return {
        **plan,
        "systems": systems,
        "concurrency": row["concurrency"],
        "point": row["id"],
        "headroom": float(Fraction(systems * row["concurrency"], users) - 1),
        "power_kw": None if power_kw is None else float(Fraction(str(power_kw)) * systems),
        "usd_per_hour": None if price is None else total_usd_per_hour(row, price, systems),
        "why": "",
        "nearest": None,
        "next": _next_up(measured, row, limits),
        "failing_below": [
            one["concurrency"]
            for one in measured
            if one["concurrency"] < row["concurrency"] and not passes(one, limits)
        ],
    }


def growth(
    rows: Sequence[Row],
    limits: Sequence[Limit],
    users: int,
    *,
    factors: Sequence[float] = GROWTH,
    price: Price | None = None,
) -> list[dict[str, Any]]:
    """The plan for the users of today and for each factor of them, as `capacity` gives it; users rounded up."""
    for factor in factors:
        if isinstance(factor, bool) or not (math.isfinite(factor) and factor > 0):
            raise InputError(f"wanted a growth factor above 0, got {factor!r}")
    counts = [users, *(math.ceil(Fraction(str(factor)) * users) for factor in factors)]
    return [capacity(rows, limits, count, price=price) for count in counts]


def room(row: Row, limits: Sequence[Limit]) -> list[dict[str, Any]]:
    """How far a point is from each limit: {"key", "limit", "got", "share"}, share of the limit; None if not reported.

    Positive is room, 0 is the border, negative is beyond it.
    """
    found = []
    for limit in limits:
        got, wanted = row.get(limit["key"]), limit["value"]
        share = None
        if got is not None and wanted:
            share = (wanted - got) / wanted if limit["bound"] == "at most" else (got - wanted) / wanted
        found.append({"key": limit["key"], "limit": wanted, "got": got, "share": share})
    return found


def _next_up(measured: Sequence[Row], row: Row, limits: Sequence[Limit]) -> dict[str, Any] | None:
    above = next((one for one in measured if one["concurrency"] > row["concurrency"]), None)
    if above is None:
        return None
    return {"point": above["id"], "concurrency": above["concurrency"], "misses": misses(above, limits)}
