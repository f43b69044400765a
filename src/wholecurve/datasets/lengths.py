"""Length distributions of synthetic prompts and answers, with their exact meaning.

fixed: always `low`. uniform: whole numbers from `low` to `high`, both included, equally likely. normal: a normal
draw of `mean` and `std`, rounded; drawn again while outside `low` to `high`, so bounds near the mean move the mean.
"""

from __future__ import annotations

import random
import re
from dataclasses import dataclass
from enum import StrEnum

from wholecurve.model.errors import InputError

LONGEST = 10_000_000
_DRAWS = 10_000


class Kind(StrEnum):
    """Which distribution."""

    FIXED = "fixed"
    UNIFORM = "uniform"
    NORMAL = "normal"


@dataclass(frozen=True, slots=True)
class Lengths:
    """A distribution of lengths, in tokens (in words without a tokenizer). Made by `fixed`, `uniform`, `normal`."""

    kind: Kind
    low: int
    high: int
    mean: float = 0.0
    std: float = 0.0

    def __post_init__(self) -> None:
        if not 1 <= self.low <= self.high <= LONGEST:
            raise InputError(f"wanted lengths of at least 1, low before high; got {self.low} to {self.high}")
        if self.kind is Kind.NORMAL and not (self.low <= self.mean <= self.high and self.std >= 0):
            raise InputError(f"wanted a mean within {self.low} to {self.high} and a spread of at least 0; got {self}")

    def draw(self, rng: random.Random) -> int:
        """One length."""
        if self.kind is Kind.FIXED:
            return self.low
        if self.kind is Kind.UNIFORM:
            return rng.randint(self.low, self.high)
        for _ in range(_DRAWS):
            found = round(rng.gauss(self.mean, self.std))
            if self.low <= found <= self.high:
                return found
        raise InputError(f"no length within {self.low} to {self.high} in {_DRAWS} draws of {self}; widen the bounds")

    def __str__(self) -> str:
        if self.kind is Kind.FIXED:
            return str(self.low)
        if self.kind is Kind.UNIFORM:
            return f"uniform:{self.low}-{self.high}"
        bounds = "" if (self.low, self.high) == (1, LONGEST) else f",{self.low}-{self.high}"
        return f"normal:{self.mean:g},{self.std:g}{bounds}"


def fixed(length: int) -> Lengths:
    """Always `length`."""
    return Lengths(Kind.FIXED, length, length)


def uniform(low: int, high: int) -> Lengths:
    """Whole numbers from `low` to `high`, both included."""
    return Lengths(Kind.UNIFORM, low, high)


def normal(mean: float, std: float, low: int = 1, high: int = LONGEST) -> Lengths:
    """Rounded normal draws within `low` to `high`."""
    return Lengths(Kind.NORMAL, low, high, mean, std)


_FORM = re.compile(
    r"(?:fixed:)?(?P<fixed>\d+)\Z"
    r"|uniform:(?P<low>\d+)-(?P<high>\d+)\Z"
    r"|normal:(?P<mean>\d+(?:\.\d+)?),(?P<std>\d+(?:\.\d+)?)(?:,(?P<least>\d+)-(?P<most>\d+))?\Z"
)


def parse_lengths(text: str | int) -> Lengths:
    """`512`, `uniform:100-200`, `normal:512,50` or `normal:512,50,100-1000`. Raises InputError."""
    match = _FORM.match(str(text).strip())
    if match is None:
        raise InputError(
            f"wanted lengths as 512, uniform:100-200, normal:512,50 or normal:512,50,100-1000; got {str(text)[:60]!r}"
        )
    found = match.groupdict()
    if found["fixed"]:
        return fixed(int(found["fixed"]))
    if found["low"]:
        return uniform(int(found["low"]), int(found["high"]))
    return normal(float(found["mean"]), float(found["std"]), int(found["least"] or 1), int(found["most"] or LONGEST))
