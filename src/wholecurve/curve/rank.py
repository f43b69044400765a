"""Who wins under these limits: measured points only, each place with its point, each failure with its miss."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

from wholecurve.curve.decide import BARRED, NOT_REPORTED, Limit, check_limits, levels, misses, nearest, passes
from wholecurve.curve.table import COLUMNS, KEYS, Head, Row
from wholecurve.curve.words import brief
from wholecurve.model.errors import InputError

READINGS: Final[dict[str, str]] = {
    "any": "the best passing point of each curve",
    "at least": "the smallest measured concurrency at or above the one asked for",
    "systems": "as many equal systems as the users need, each at its largest passing concurrency",
}
"""Readings of "at my concurrency N" (S8). The one that was used is named in every answer."""

_MADE_OF: Final[dict[str, str]] = {"usd_per_million_total_tokens": "total_tps", "total_tokens_per_usd": "total_tps"}
"""Derived figures that are not made of system_tps."""

ABOUT_EQUAL_SHARE: Final = 0.01
"""Without a declared spread, values closer than this share are about equal (S12)."""

SCOPE: Final[tuple[tuple[str, str], ...]] = (
    ("benchmark", "benchmark"),
    ("division", "division"),
    ("rules_version", "rules version"),
    ("data_set_hash", "data set"),
    ("interactivity_key", "measure of interactivity"),
)
"""What must not differ inside one ranking (S14)."""

NOTED: Final[tuple[tuple[str, str, str], ...]] = (
    ("model", "model", "tokens of one are not the work of the other"),
    ("precision", "precision", "answers may differ in quality"),
    ("tokenizer_hash", "tokenizer", "their tokens are not of one size"),
    ("definition_version", "definition of the metrics", "their figures do not mean the same"),
)
"""What may differ inside one ranking, and what that means for it."""

SHARED_BY_TRAFFIC: Final[tuple[str, ...]] = ("benchmark", "data_set_hash")
"""What may differ between models on the same agentic traffic (S15)."""


def rank(
    heads: Sequence[Head],
    rows: Sequence[Row],
    limits: Sequence[Limit] = (),
    *,
    by: str = "system_tps",
    at: int | None = None,
    reading: str = "at least",
) -> dict[str, Any]:
    """The ranking of the curves, best first.

    by: one of KEYS. at: concurrency or users asked for; without it every curve stands with its best passing point.
    Returns {"by", "better", "reading", "at", "refused", "notes", "places", "failed", "counts"}. refused: sentences why
    these curves cannot be ranked together; places and failed are empty then. A place is {"place", "curve", "point",
    "concurrency", "value", "systems", "close", "status", "single_run"}; curves that are about equal share one. A
    failure is {"curve", "why", "nearest"}. InputError for bad limits and unknown words.
    """
    reading = "any" if at is None else reading
    _check(heads, limits, by, at, reading)
    refused, notes = scope(heads, rows)
    answer: dict[str, Any] = {
        "by": "systems_needed" if reading == "systems" else by,
        "better": "low" if reading == "systems" else KEYS[by]["better"],
        "reading": reading,
        "at": at,
        "refused": refused,
        "notes": notes,
        "places": [],
        "failed": [],
        "counts": _counts(heads, rows, limits),
    }
    if not refused:
        chosen = [_choose(head["id"], rows, limits, by, at, reading) for head in heads]
        answer["places"] = _placed([one for one in chosen if "value" in one], by, exact=reading == "systems")
        answer["failed"] = sorted((one for one in chosen if "why" in one), key=lambda one: str(one["curve"]))
    return answer


def scope(heads: Sequence[Head], rows: Sequence[Row] = ()) -> tuple[list[str], list[str]]:
    """(refusals, notes): sentences on what differs between these curves and must not, and what to keep in mind."""
    traffic = {head["traffic"] for head in heads}
    shared = len(traffic) == 1 and None not in traffic
    refused, notes = [], []
    for key, label in SCOPE:
        values = sorted({head[key] for head in heads if head[key] is not None})
        if len(values) > 1 and not (shared and key in SHARED_BY_TRAFFIC):
            refused.append(f"The {label} differs: " + ", ".join(map(brief, values)) + ".")
        unknown = sorted(head["id"] for head in heads if head[key] is None)
        if unknown and values:
            notes.append(f"The {label} is not stated by " + ", ".join(unknown) + ".")
    if len(heads) > 1 and all(head["data_set_hash"] is None for head in heads):
        notes.append("No curve states its data set: whether it is one and the same, nobody can tell.")
    for key, label, meaning in NOTED:
        values = sorted({head[key] for head in heads if head[key] is not None})
        if len(values) > 1 and not (shared and key == "model"):
            notes.append(f"The {label} differs: {', '.join(map(brief, values))}; {meaning}.")
    if shared and len({head["model"] for head in heads}) > 1:
        notes.append(_traffic_note(heads, rows))
    return refused, notes


def spread_of(row: Row, by: str) -> float | None:
    """The declared run-to-run spread of what is ranked by; a derived figure has that of the rate that it is made of."""
    found: float | None = row["spreads"].get(by if by in COLUMNS else _MADE_OF.get(by, "system_tps"))
    return found


def closeness(one: Row, other: Row, value: float, other_value: float, by: str) -> str:
    """`tie` within the declared run-to-run spread, `about equal` within 1 % where one is missing, else empty (S12).

    The spread is that of the figure compared: throughput repeats better than TTFT does. The larger spread of the two
    counts; shares are taken of the larger value.
    """
    largest = max(value, other_value)
    share = abs(value - other_value) / largest if largest else 0.0
    spreads = [found for found in (spread_of(row, by) for row in (one, other)) if found is not None]
    if spreads and share <= max(spreads):
        return "tie" if len(spreads) == 2 else "about equal"
    return "about equal" if len(spreads) < 2 and share < ABOUT_EQUAL_SHARE else ""


def systems_needed(users: int, concurrency: int) -> int:
    """ceil(users / concurrency) in whole numbers (S9)."""
    return -(-users // concurrency)


def speed_table(
    heads: Sequence[Head],
    rows: Sequence[Row],
    speeds: Sequence[float],
    *,
    key: str = "interactivity_tps",
    by: str = "system_tps",
    baseline: str | None = None,
) -> list[dict[str, Any]]:
    """The best measured value of each curve at fixed speeds: {"curve", "cells": [{"value", "point", "percent"}]}.

    key: what is held, at least or at most as its direction wants. percent: change against the curve `baseline`. Where
    no measured point holds the speed all three are None: never a value between two points.
    """
    bound = "at least" if KEYS[key]["better"] == "high" else "at most"
    held: list[list[Limit]] = [[{"key": key, "bound": bound, "value": speed}] for speed in speeds]
    for limits in held:
        check_limits(limits)
    table = [
        {"curve": head["id"], "cells": [_cell(_best(_own(rows, head["id"]), limits, by), by) for limits in held]}
        for head in heads
    ]
    against = next((line["cells"] for line in table if line["curve"] == baseline), None)
    if against is not None:
        for line in table:
            for cell, reference in zip(line["cells"], against, strict=True):
                if cell["value"] is not None and reference["value"]:
                    cell["percent"] = (cell["value"] / reference["value"] - 1) * 100
    return table


def _check(heads: Sequence[Head], limits: Sequence[Limit], by: str, at: int | None, reading: str) -> None:
    check_limits(limits)
    if by not in KEYS:
        raise InputError(f"wanted a ranking by one of {', '.join(KEYS)}, got {by!r}")
    if reading not in READINGS:
        raise InputError(f"wanted one of {', '.join(READINGS)}, got {reading!r}")
    if at is not None and (isinstance(at, bool) or not isinstance(at, int) or at < 1):
        raise InputError(f"wanted a concurrency of 1 or more, got {at!r}")
    ids = [head["id"] for head in heads]
    twice = sorted({one for one in ids if ids.count(one) > 1})
    if twice:
        raise InputError(f"wanted each curve once, got {', '.join(twice)} twice")


def _choose(
    curve: str, rows: Sequence[Row], limits: Sequence[Limit], by: str, at: int | None, reading: str
) -> dict[str, Any]:
    """The point a curve stands with, as a place without its number; else a failure with its evidence."""
    own = _own(rows, curve)
    measured = levels(own)
    if not measured:
        return {"curve": curve, "why": _nothing(own), "nearest": None}
    if reading == "at least" and at is not None:
        measured = [row for row in measured if row["concurrency"] >= at][:1]
        if not measured:
            wish: list[Limit] = [{"key": "concurrency", "bound": "at least", "value": at}]
            return {"curve": curve, "why": "not measured at this concurrency", "nearest": nearest(levels(own), wish)}
    passing = [row for row in measured if passes(row, limits)]
    if not passing:
        return {"curve": curve, "why": _unmet(reading, at), "nearest": nearest(measured, limits)}
    needed = None
    row: Row | None
    if reading == "systems" and at is not None:
        row = passing[-1]
        needed = systems_needed(at, row["concurrency"])
        value: float = needed
    else:
        row = _best(passing, (), by)
        if row is None:
            wish = [{"key": by, "bound": "at least", "value": 0}]
            return {"curve": curve, "why": NOT_REPORTED, "nearest": nearest(passing, wish)}
        value = row[by]
    return {"curve": curve, "row": row, "value": value, "systems": needed}


def _placed(chosen: list[dict[str, Any]], by: str, *, exact: bool) -> list[dict[str, Any]]:
    """Places in order. Every curve of a group is close to the best one of it, and shares its number."""
    sign = 1 if exact or KEYS[by]["better"] == "low" else -1
    chosen.sort(key=lambda one: (sign * one["value"], one["curve"]))
    found: list[dict[str, Any]] = []
    leader: dict[str, Any] | None = None
    for index, one in enumerate(chosen):
        close = ""
        if leader is not None:
            equal = "tie" if one["value"] == leader["value"] else ""
            close = equal if exact else closeness(leader["row"], one["row"], leader["value"], one["value"], by)
        if leader is None or not close:
            leader = one
        place = found[-1]["place"] if close else index + 1
        if close and not found[-1]["close"]:
            found[-1]["close"] = close
        found.append(_place(one, place, close))
    return found


def _place(one: dict[str, Any], place: int, close: str) -> dict[str, Any]:
    row = one["row"]
    return {
        "place": place,
        "curve": one["curve"],
        "point": row["id"],
        "concurrency": row["concurrency"],
        "value": one["value"],
        "systems": one["systems"],
        "close": close,
        "status": row["status"],
        "single_run": row["single_run"],
    }


def _best(rows: Sequence[Row], limits: Sequence[Limit], by: str) -> Row | None:
    """The passing level with the best value; of equal ones the lower concurrency."""
    pick: Callable[..., Row] = max if KEYS[by]["better"] == "high" else min
    found = [row for row in levels(rows) if row.get(by) is not None and passes(row, limits)]
    return pick(found, key=lambda row: row[by]) if found else None


def _cell(row: Row | None, by: str) -> dict[str, Any]:
    return {"value": row and row[by], "point": row and row["id"], "percent": None}


def _unmet(reading: str, at: int | None) -> str:
    """At a concurrency that was asked for, only one level stands: others may well meet the limits."""
    if reading == "at least" and at is not None:
        return "does not meet the limits at this concurrency"
    return "no level meets the limits"


def _own(rows: Sequence[Row], curve: str) -> list[Row]:
    return [row for row in rows if row["curve"] == curve]


def _nothing(own: Sequence[Row]) -> str:
    set_aside = sorted({row["barred"] for row in own if row["kind"] == "curve" and row["barred"]})
    return f"{BARRED}: " + "; ".join(set_aside) if set_aside else "no level was measured"


def _counts(heads: Sequence[Head], rows: Sequence[Row], limits: Sequence[Limit]) -> dict[str, int]:
    """How many levels and curves there are, and how many of them pass."""
    ids = {head["id"] for head in heads}
    own = [row for row in rows if row["kind"] == "curve" and row["curve"] in ids]
    passing = [row for row in own if not misses(row, limits)]
    return {
        "points": len(own),
        "passing_points": len(passing),
        "curves": len(ids),
        "passing_curves": len({row["curve"] for row in passing}),
    }


def _traffic_note(heads: Sequence[Head], rows: Sequence[Row]) -> str:
    """S15: models differ in tokens for the same task, so turns per hour stand beside tokens per second."""
    said = []
    for head in sorted(heads, key=lambda head: str(head["id"])):
        rates = [row["qps"] for row in levels(_own(rows, head["id"])) if row["qps"] is not None]
        said.append(f"{head['id']} " + (f"{max(rates) * 3600:.0f} at most" if rates else NOT_REPORTED))
    return "Models differ in tokens for the same task. Turns per hour: " + ", ".join(said) + "."
