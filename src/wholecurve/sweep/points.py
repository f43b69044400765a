"""`--points 1,4,16,64`: the text of a list of levels. Duplicates are refused by name, nothing is dropped silently."""

from __future__ import annotations

import re
from collections import Counter
from itertools import count
from typing import Final

from wholecurve.model.errors import InputError

MOST_LEVELS: Final = 1000
"""Of one list; far beyond any cap of the rules, and a range that runs away is stopped here."""

HIGHEST: Final = 10_000_000

_NUMBER = re.compile(r"[0-9]{1,9}")
_RANGE = re.compile(r"([0-9]{1,9})\.\.([0-9]{1,9})(?:([x+])([0-9]{1,9}(?:\.[0-9]{1,6})?))?")
_EXAMPLE: Final = "wanted levels such as 1,4,16,64 or 1..256x2"


def parse_points(text: str) -> tuple[int, ...]:
    """Levels in rising order. `first..last` doubles (`x2`), or takes the factor or step given: `1..64x1.5`, `8..64+8`.

    A range never repeats a level: where rounding would, it takes the next whole number (LOD-6); it holds `last` only
    if it comes to it. InputError for an empty list, for what is no whole number of 1 or more, and for a level that
    stands there twice.
    """
    found: list[int] = []
    for part in (piece.strip() for piece in text.split(",")):
        found += _levels(part)
        if len(found) > MOST_LEVELS:
            raise InputError(f"wanted at most {MOST_LEVELS} levels, got more in {_short(text)}")
    twice = sorted(level for level, times in Counter(found).items() if times > 1)
    if twice:
        shown = ", ".join(map(str, twice))
        raise InputError(
            f"wanted each level once, got {shown} more than once in {_short(text)}",
            hint="use --repeats N to measure every level several times",
        )
    return tuple(sorted(found))


def _levels(part: str) -> list[int]:
    if _NUMBER.fullmatch(part):
        return [_level(part)]
    match = _RANGE.fullmatch(part)
    if match is None:
        raise InputError(f"{_EXAMPLE}, got {_short(part)}")
    first, last = _level(match.group(1)), _level(match.group(2))
    by, amount = match.group(3) or "x", float(match.group(4) or 2)
    if first > last or (by == "x" and amount <= 1) or (by == "+" and amount < 1):
        raise InputError(
            f"{_EXAMPLE}, got {_short(part)}", hint="a range rises: a factor above 1, or a step of 1 or more"
        )
    return _rising(first, last, by, amount)


def _rising(first: int, last: int, by: str, amount: float) -> list[int]:
    levels = [first]
    for step in count(1):
        exact = first * amount**step if by == "x" else first + amount * step
        level = max(levels[-1] + 1, round(exact))
        if level > last or len(levels) > MOST_LEVELS:
            return levels
        levels.append(level)
    raise AssertionError("a range has an end")


def _level(text: str) -> int:
    level = int(text)
    if not 1 <= level <= HIGHEST:
        raise InputError(f"wanted a level from 1 to {HIGHEST:,}, got {level}")
    return level


def _short(text: str) -> str:
    return repr(text if len(text) <= 60 else text[:57] + "...")
