"""What passes, what misses by how much, where a curve begins and ends. Plain data in, plain data out.

This file, front.py and rank.py hold every decision a buyer sees. They read rows (table.py) and nothing else, so that
a second implementation beside them can be held to the same answers. Nothing is ever interpolated (S7).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise
from typing import Any, Final

from wholecurve.curve.table import KEYS, Row
from wholecurve.curve.words import MOST_DIGITS, shown
from wholecurve.model.errors import InputError

Limit = dict[str, Any]
"""{"key": one of KEYS, "bound": "at most" or "at least", "value": number}; both bounds are inclusive (S2)."""

Miss = dict[str, Any]
"""{"key", "bound", "wanted", "got", "excess", "why"}. excess: share of the limit, None without a value."""

BOUNDS: Final[tuple[str, ...]] = ("at most", "at least")

MOST: Final = 1e18
"""Of a limit: nothing that is measured comes near it."""

NOT_REPORTED: Final = "not reported"
BARRED: Final = "does not count"
BEYOND: Final = "beyond the limit"


def limits_of(ttft_p90_ns: float | None = None, interactivity_tps: float | None = None) -> list[Limit]:
    """The two limits a buyer states most: TTFT P90 at most, tokens/s per user at least. None is no limit."""
    found: list[Limit] = []
    if ttft_p90_ns is not None:
        found.append({"key": "ttft_p90_ns", "bound": "at most", "value": ttft_p90_ns})
    if interactivity_tps is not None:
        found.append({"key": "interactivity_tps", "bound": "at least", "value": interactivity_tps})
    return found


def check_limits(limits: Sequence[Limit]) -> None:
    """InputError for an unknown key or bound, a limit that is no number, and limits that no value can meet."""
    lowest: dict[str, float] = {}
    highest: dict[str, float] = {}
    for limit in limits:
        key, bound, value = limit["key"], limit["bound"], limit["value"]
        if key not in KEYS:
            raise InputError(f"wanted a limit on one of {', '.join(KEYS)}, got {key!r}")
        if bound not in BOUNDS:
            raise InputError(f"wanted {' or '.join(BOUNDS)}, got {bound!r}", where=f"limit on {key}")
        number = isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
        if not number or not 0 <= value <= MOST or (value == 0 and bound == "at most"):
            raise InputError(
                f"wanted a finite limit above 0 and at most {MOST:g}, got {value!r}", where=f"{key} {bound}"
            )
        if bound == "at most":
            highest[key] = min(value, highest.get(key, value))
        else:
            lowest[key] = max(value, lowest.get(key, value))
    for key in lowest:
        if key in highest and lowest[key] > highest[key]:
            least, most = (shown(key, value, MOST_DIGITS) for value in (lowest[key], highest[key]))
            raise InputError(
                f"limits contradict each other: {KEYS[key]['label']} at least {least} and at most {most}",
                hint="no value can meet both; change one of them",
            )


def misses(row: Row, limits: Sequence[Limit]) -> list[Miss]:
    """The limits this point does not meet, in the order of the limits; empty when it passes.

    Values are compared as they were measured, not as they are shown. A missing value does not pass (S3). A point that
    counts for nothing misses with that reason.
    """
    found: list[Miss] = []
    if row["barred"]:
        found.append(_miss("barred", "", None, None, None, BARRED))
    for limit in limits:
        key, bound, wanted, got = limit["key"], limit["bound"], limit["value"], row.get(limit["key"])
        if got is None:
            found.append(_miss(key, bound, wanted, None, None, NOT_REPORTED))
        elif got > wanted if bound == "at most" else got < wanted:
            excess = (got - wanted if bound == "at most" else wanted - got) / wanted
            found.append(_miss(key, bound, wanted, got, excess, BEYOND))
    return found


def passes(row: Row, limits: Sequence[Limit]) -> bool:
    """True when the point counts and meets every limit, borders included."""
    return not misses(row, limits)


def nearest(rows: Sequence[Row], limits: Sequence[Limit]) -> dict[str, Any] | None:
    """The row whose worst miss is smallest, with its misses; of equal ones the lower concurrency. None without rows."""
    if not rows:
        return None
    found = [(row, misses(row, limits)) for row in rows]
    row, missed = min(found, key=lambda one: (distance(one[1]), one[0]["concurrency"], one[0]["id"]))
    return {"point": row["id"], "concurrency": row["concurrency"], "misses": missed}


def distance(missed: Sequence[Miss]) -> float:
    """The largest excess of these misses; infinite with a value missing; 0 without any."""
    return max((math.inf if one["excess"] is None else one["excess"] for one in missed), default=0.0)


def levels(rows: Sequence[Row]) -> list[Row]:
    """The rows that count and are levels of a curve, by concurrency. Offline is no level (S16)."""
    found = [row for row in rows if row["kind"] == "curve" and not row["barred"]]
    return sorted(found, key=lambda row: (row["concurrency"], row["curve"], row["id"]))


def c_bounds(rows: Sequence[Row], declared: int | None = None) -> dict[str, Any]:
    """{"c_min", "c_max", "declared", "highest_measured", "note"} of one curve's rows; None where nothing was measured.

    C_min is the lowest measured level, C_max the declared one. Without a declaration it is the highest measured
    level, and the note says so.
    """
    measured = [row["concurrency"] for row in levels(rows)]
    lowest, highest = (measured[0], measured[-1]) if measured else (None, None)
    note = ""
    if not measured:
        note = "no level was measured"
    elif declared is None:
        note = "no highest concurrency is declared; the highest measured level stands for it"
    elif declared < measured[0]:
        note = "the declared highest concurrency lies below every measured level"
    elif declared != highest:
        note = "the declared highest concurrency is not the highest measured level"
    return {
        "c_min": lowest,
        "c_max": highest if declared is None else declared,
        "declared": declared is not None,
        "highest_measured": highest,
        "note": note,
    }


def ceiling(rows: Sequence[Row]) -> dict[str, Any]:
    """The Offline result of one curve's rows, a horizontal line and never a part of the front (S16).

    {"system_tps", "point", "offline": "dedicated" or "elected", "why"}; system_tps None with the reason in `why`.
    """
    counted = [row for row in rows if not row["barred"]]
    dedicated = [row for row in counted if row["kind"] == "offline"]
    elected = [row for row in counted if row["kind"] == "curve" and row["elected_offline"]]
    for name, found in (("dedicated", dedicated), ("elected", elected)):
        for row in found:
            why = "" if row["system_tps"] is not None else row["reasons"].get("system_tps", NOT_REPORTED)
            return {"system_tps": row["system_tps"], "point": row["id"], "offline": name, "why": why}
    return {"system_tps": None, "point": None, "offline": None, "why": "no Offline result"}


def falls(rows: Sequence[Row]) -> list[dict[str, Any]]:
    """Where one curve's throughput falls from a level to the next: {"from", "to", "share"}; share lost, 0 to 1."""
    known = [row for row in levels(rows) if row["system_tps"] is not None]
    found = []
    for before, after in pairwise(known):
        if after["system_tps"] < before["system_tps"]:
            share = (before["system_tps"] - after["system_tps"]) / before["system_tps"]
            found.append({"from": before["concurrency"], "to": after["concurrency"], "share": share})
    return found


def _miss(key: str, bound: str, wanted: float | None, got: float | None, excess: float | None, why: str) -> Miss:
    return {"key": key, "bound": bound, "wanted": wanted, "got": got, "excess": excess, "why": why}
