"""What `wholecurve pick` was asked: limits, counts and a price as they were typed, checked."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass

from wholecurve.curve import KEYS, RECIPROCALS, Limit, Price, check_limits, limits_of, parse_price
from wholecurve.model.errors import InputError
from wholecurve.model.units import parse_duration_ns

_LIMIT = re.compile(r"\s*([a-z0-9_]+)\s*(<=|>=)\s*(\S.*?)\s*")
LIMIT_HINT = "write a column, <= or >=, and a value: 'concurrency>=16' or 'ttft_p90_ns<=500ms'"
MOST_DIGITS = 12
BOUND = {"<=": "at most", ">=": "at least"}
_PRICED = {*RECIPROCALS, *RECIPROCALS.values()}


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


def limits_typed(ttft_p90: str | None, interactivity: float | None, more: Sequence[str]) -> list[Limit]:
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


def count_typed(value: str | None, flag: str) -> int | None:
    """A count as typed: read here, because a flag parser would round 1.5."""
    if value is None:
        return None
    plain = value.strip().replace(",", "")
    if not (plain.isascii() and plain.isdecimal() and len(plain) <= MOST_DIGITS and int(plain) > 0):
        raise InputError(f"{flag}: wanted a whole number of 1 or more, got {value[:60]!r}")
    return int(plain)


def price_typed(text: str | None, per: str | None, users: str | None, limits: Sequence[Limit]) -> Price | None:
    priced = [f"--limit {limit['key']}" for limit in limits if limit["key"] in _PRICED]
    if per in ("usd", "usd-total"):
        priced.append(f"--per {per}")
    if text is None:
        if priced:
            raise InputError(f"{priced[-1]}: wanted --price too, got none", hint="such as --price 2.5/accelerator/h")
        return None
    if not priced and users is None:
        raise InputError("--price: nothing is priced", hint="add --per usd, or --users for a price of the systems")
    try:
        return parse_price(text)
    except InputError as error:
        raise InputError(f"--price: {error.message}", hint=error.hint) from None
