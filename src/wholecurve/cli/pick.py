"""`wholecurve pick`: which measured point of which system, under limits."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any, Literal

from cyclopts import Parameter

from wholecurve.cli.curve_files import Gathered, gather, listed, write_json
from wholecurve.cli.pick_text import print_pick
from wholecurve.curve import (
    KEYS,
    Limit,
    Price,
    check_limits,
    growth,
    heads_of,
    limits_of,
    normalised,
    parse_price,
    rank,
    rows_of,
    scope,
)
from wholecurve.model.curve import Curve
from wholecurve.model.errors import InputError
from wholecurve.model.units import parse_duration_ns

PICK_SCHEMA = "wholecurve.pick/1"

Per = Literal["kw", "accelerator", "node", "usd", "usd-total", "joule"]
By = Literal["system_tps", "concurrency", "ttft_p90_ns", "interactivity_tps", "total_tps", "qps"]
Reading = Literal["at-least", "any", "systems"]

_LIMIT = re.compile(r"\s*([a-z0-9_]+)\s*(<=|>=)\s*(\S.*?)\s*")
LIMIT_HINT = "write a column, <= or >=, and a value: 'concurrency>=16' or 'ttft_p90_ns<=500ms'"
MOST_DIGITS = 12
BOUND = {"<=": "at most", ">=": "at least"}


def _flag(name: str, text: str) -> Any:
    return Parameter(name=name, help=text, negative="", negative_iterable="")


def command(
    *paths: Annotated[str, Parameter(help="campaign folders, curve.json files, run folders, or folders of these")],
    ttft_p90: Annotated[str | None, _flag("--ttft-p90", "TTFT P90 at most this, such as 500ms")] = None,
    interactivity: Annotated[float | None, _flag("--interactivity", "at least so many tokens/s for one user")] = None,
    limit: Annotated[
        tuple[str, ...], _flag("--limit", "another limit, such as 'system_tps>=1000'; may be given several times")
    ] = (),
    concurrency: Annotated[str | None, _flag("--concurrency", "the load you run, in requests in flight")] = None,
    reading: Annotated[
        Reading,
        _flag(
            "--reading",
            "what --concurrency means: the smallest measured level at or above it, any level that passes, or as many "
            "equal systems as it takes",
        ),
    ] = "at-least",
    by: Annotated[By | None, _flag("--by", "rank by this; by default what --per divides, else system_tps")] = None,
    per: Annotated[Per | None, _flag("--per", "divide by provisioned power, accelerators, nodes or price")] = None,
    price: Annotated[
        str | None, _flag("--price", "of --per usd: a number, what it is for, per hour: 2.5/accelerator/h")
    ] = None,
    users: Annotated[str | None, _flag("--users", "how many systems so many users at a time need")] = None,
    benchmark: Annotated[str | None, _flag("--benchmark", "only curves of this benchmark")] = None,
    division: Annotated[str | None, _flag("--division", "only curves of this division")] = None,
    withdrawn: Annotated[bool, _flag("--withdrawn", "let withdrawn results count")] = False,
    json: Annotated[bool, _flag("--json", "print the ranking as JSON")] = False,
) -> int:
    """Rank measured points under limits: which system, at which concurrency, and how sure that is.

    Limits take away points, borders included. Every place is one measured point, never a value between two, and is
    shown with its evidence; what was left out is shown with what it missed by. Exit code 1 if nothing passes.
    """
    question = Question(
        limits=tuple(_limits(ttft_p90, interactivity, limit)),
        at=_count(concurrency, "--concurrency"),
        reading=reading.replace("-", " "),
        by=by,
        per=None if per is None else per.replace("-", "_"),
        price=_price(price, per, users),
        users=_count(users, "--users"),
        withdrawn=withdrawn,
    )
    if question.reading == "systems" and question.at is None:
        raise InputError(
            "--reading systems: wanted --concurrency too, got none", hint="it says how many users there are"
        )
    found = gather(paths)
    chosen = replace(found, curves=_chosen(found.curves, benchmark, division))
    answer = pick(chosen, question)
    if json:
        write_json(answer)
    else:
        print_pick(answer)
    return 0 if answer["places"] else 1


@dataclass(frozen=True, slots=True)
class Question:
    """What was asked, checked. reading: one of curve.READINGS. per: one of curve.NORMALISATIONS or None."""

    limits: tuple[Limit, ...]
    at: int | None = None
    reading: str = "at least"
    by: str | None = None
    per: str | None = None
    price: Price | None = None
    users: int | None = None
    withdrawn: bool = False


def pick(found: Gathered, question: Question) -> dict[str, Any]:
    """The answer as plain values, ready for JSON. Raises InputError for curves that cannot be ranked together."""
    heads, rows = heads_of(found.curves), rows_of(found.curves, withdrawn_too=question.withdrawn)
    refused, _ = scope(heads, rows)
    if refused:
        raise _mixed(found.curves, refused)
    basis = None
    by = question.by or "system_tps"
    if question.per is not None:
        rows, basis = normalised(rows, question.per, question.price)
        by = question.by or basis["column"]
    ranked = rank(heads, rows, question.limits, by=by, at=question.at, reading=question.reading)
    by_id = {(row["curve"], row["id"]): row for row in rows}
    points = {(curve.id, point.provenance.source): point for curve in found.curves for point in curve.points}
    for place in ranked["places"]:
        point = points[place["curve"], place["point"]]
        place["row"] = by_id[place["curve"], place["point"]]
        place["client_verdict"] = point.provenance.client_verdict
        place["steady_verdict"] = point.provenance.steady_verdict
        place["notes"] = list(point.notes)
    return {
        "schema": PICK_SCHEMA,
        "limits": list(question.limits),
        "ranked_by": by,
        **ranked,
        "normalised": basis,
        "capacity": _capacity(ranked, rows, question),
        "barred": [{"curve": row["curve"], "point": row["id"], "why": row["barred"]} for row in rows if row["barred"]],
        "set_aside": [
            {"curve": curve.id, "point": one.point.provenance.source, "why": one.reason}
            for curve in found.curves
            for one in curve.set_aside
        ],
        "skipped": list(found.skipped),
        "curves": heads,
        "reasons": {
            head["id"]: {row["id"]: row["reasons"] for row in rows if row["curve"] == head["id"] and row["reasons"]}
            for head in heads
        },
    }


def _capacity(ranked: dict[str, Any], rows: list[dict[str, Any]], question: Question) -> list[dict[str, Any]]:
    """For each curve of the ranking, the systems that the users of today and of tomorrow need."""
    if question.users is None:
        return []
    found = []
    for place in ranked["places"]:
        own = [row for row in rows if row["curve"] == place["curve"]]
        plans = growth(own, question.limits, question.users, price=question.price)
        found.append({"curve": place["curve"], "today": plans[0], "growth": plans[1:]})
    return found


# -- what was typed ----------------------------------------------------------------------------------------------------


def _limits(ttft_p90: str | None, interactivity: float | None, more: Sequence[str]) -> list[Limit]:
    """All limits, checked: each possible, none against another."""
    ttft_ns = None if ttft_p90 is None else _duration_ns(ttft_p90, "--ttft-p90")
    for value, flag in ((ttft_ns, "--ttft-p90"), (interactivity, "--interactivity")):
        if value is not None and not (math.isfinite(value) and value > 0):
            raise InputError(f"{flag}: wanted a number above 0, got {value}", hint="leave it out for no limit")
    found = [*limits_of(ttft_ns, interactivity), *map(_limit, more)]
    check_limits(found)
    return found


def _limit(text: str) -> Limit:
    match = _LIMIT.fullmatch(text)
    if match is None:
        raise InputError(f"--limit: wanted a limit, got {text[:60]!r}", hint=LIMIT_HINT)
    key, sign, value = match.groups()
    if key not in KEYS:
        raise InputError(f"--limit: wanted one of {', '.join(KEYS)}, got {key[:60]!r}", hint=LIMIT_HINT)
    if KEYS[key]["unit"] == "ns":
        return {"key": key, "bound": BOUND[sign], "value": _duration_ns(value, f"--limit {key}")}
    try:
        return {"key": key, "bound": BOUND[sign], "value": float(value)}
    except ValueError:
        raise InputError(f"--limit {key}: wanted a number, got {value[:60]!r}", hint=LIMIT_HINT) from None


def _duration_ns(text: str, flag: str) -> int:
    """A duration with its unit: `500` alone could mean milliseconds to one reader and seconds to another."""
    try:
        found = parse_duration_ns(text)
    except InputError as error:
        raise InputError(f"{flag}: {error.message}", hint="write it with its unit, such as 500ms") from None
    if not text.strip()[-1:].isalpha():
        raise InputError(f"{flag}: wanted a duration with its unit, got {text!r}", hint=f"such as {text.strip()}ms")
    return found


def _count(value: str | None, flag: str) -> int | None:
    """A count as typed: read here, because a flag parser would round 1.5."""
    if value is None:
        return None
    plain = value.strip().replace(",", "")
    if not (plain.isascii() and plain.isdecimal() and len(plain) <= MOST_DIGITS and int(plain) > 0):
        raise InputError(f"{flag}: wanted a whole number of 1 or more, got {value[:60]!r}")
    return int(plain)


def _price(text: str | None, per: str | None, users: str | None) -> Price | None:
    if text is None:
        if per in ("usd", "usd-total"):
            raise InputError(f"--per {per}: wanted --price too, got none", hint="such as --price 2.5/accelerator/h")
        return None
    if per not in ("usd", "usd-total") and users is None:
        raise InputError("--price: nothing is priced", hint="add --per usd, or --users for a price of the systems")
    try:
        return parse_price(text)
    except InputError as error:
        raise InputError(f"--price: {error.message}", hint=error.hint) from None


def _chosen(curves: Sequence[Curve], benchmark: str | None, division: str | None) -> tuple[Curve, ...]:
    """The curves of the benchmark and division that were asked for."""
    for flag, name, wanted in (("--benchmark", "benchmark", benchmark), ("--division", "division", division)):
        if wanted is None:
            continue
        known = sorted({str(getattr(one.identity, name) or "not stated") for one in curves})
        curves = [one for one in curves if (getattr(one.identity, name) or "not stated") == wanted]
        if not curves:
            raise InputError(f"{flag}: no curve of {wanted[:60]!r}", hint=f"there are: {listed(known)}")
    return tuple(curves)


def _mixed(curves: Sequence[Curve], refused: Sequence[str]) -> InputError:
    """Curves that must not stand in one ranking, and how to choose."""
    flags = []
    for flag, name in (("--benchmark", "benchmark"), ("--division", "division")):
        values = sorted({getattr(one.identity, name) for one in curves} - {None})
        if len(values) > 1:
            flags.append(f"{flag} {values[0]!r}")
    hint = f"choose with {' and '.join(flags)}" if flags else "name only the folders that belong together"
    return InputError(f"these curves cannot be ranked together. {' '.join(refused)}", hint=hint)
