"""Ticks at round values, and how to write them: one table of quantities with their units."""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import StrEnum
from typing import Final


class Quantity(StrEnum):
    """What an axis counts. Durations come in nanoseconds, shares as 0 to 1."""

    DURATION = "duration"
    TOKENS = "tokens"
    TOKENS_PER_S = "tokens per second"
    REQUESTS = "requests"
    SHARE = "share"
    NUMBER = "number"


@dataclass(frozen=True, slots=True)
class Unit:
    """A unit: how it is written, its size in the values' own unit, and from which size on it is the one to use."""

    symbol: str
    size: float
    above: float = 0.0


UNITS: Final[dict[Quantity, tuple[Unit, ...]]] = {
    Quantity.DURATION: (
        Unit("h", 3600e9, 4 * 3600e9),
        Unit("min", 60e9, 600e9),
        Unit("s", 1e9, 1e9),
        Unit("ms", 1e6, 1e6),
        Unit("µs", 1e3, 1e3),
        Unit("ns", 1.0),
    ),
    Quantity.TOKENS: (Unit("tokens", 1.0),),
    Quantity.TOKENS_PER_S: (Unit("tokens/s", 1.0),),
    Quantity.REQUESTS: (Unit("requests", 1.0),),
    Quantity.SHARE: (Unit("%", 0.01),),
    Quantity.NUMBER: (Unit("", 1.0),),
}
"""Units of a quantity, largest first; the last one always fits."""

_ROUND: Final[tuple[float, ...]] = (1.0, 2.0, 5.0, 10.0)


def unit_for(quantity: Quantity, largest: float) -> Unit:
    """The unit in which an axis up to `largest` reads well."""
    return next(unit for unit in UNITS[quantity] if abs(largest) >= unit.above)


def linear_ticks(low: float, high: float, about: int = 5, *, whole: bool = False) -> list[float]:
    """Multiples of 1, 2 or 5 times a power of ten from `low` to `high`; no more than `about` + 1 of them.

    whole: never a step below one, for things that are counted.
    """
    raw = (high - low) / max(about, 1)
    power = 10.0 ** math.floor(math.log10(raw))
    step = power * next(factor for factor in _ROUND if factor * power >= raw * (1 - 1e-9))
    if whole:
        step = max(step, 1.0)
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    return [place * step for place in range(first, last + 1)]


def log_ticks(low: float, high: float, about: int = 6) -> list[float]:
    """Round values on a logarithmic axis: as many of 1 to 9 in each decade as fit, else powers of ten, thinned."""
    decades = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    for factors in (range(1, 10), (1, 2, 3, 5, 7), (1, 2, 5), (1, 3), (1,)):
        found = [factor * 10.0**decade for decade in decades for factor in factors]
        found = [value for value in found if low * (1 - 1e-9) <= value <= high * (1 + 1e-9)]
        if len(found) <= about:
            break
    return found[:: math.ceil(len(found) / about)] if found else []


def unit_ticks(low: float, high: float, quantity: Quantity, about: int = 5) -> list[tuple[float, str]]:
    """Ticks of a linear axis as (value, label), round in the axis' unit; the unit itself stands in the axis' title."""
    unit = unit_for(quantity, max(abs(low), abs(high)))
    whole = quantity in (Quantity.TOKENS, Quantity.REQUESTS)
    found = linear_ticks(low / unit.size, high / unit.size, about, whole=whole)
    step = found[1] - found[0] if len(found) > 1 else 1.0
    return [(value * unit.size, number(value, step, largest=found[-1])) for value in found]


def number(value: float, step: float = 0.0, largest: float = 0.0) -> str:
    """A number as short as its step (1, 2 or 5 times a power of ten) allows: `0.4`, `4,000`, `12k`, `1.5M`.

    Without a step: three significant digits.
    largest: the largest of the numbers beside it, so that all are written in one scale.
    """
    if value == 0:
        return "0"
    size = max(abs(value), abs(largest))
    for symbol, scale in (("G", 1e9), ("M", 1e6), ("k", 1e3)):
        if size >= 10 * scale or (size >= scale and scale > 1e3):
            return _plain(value / scale, step / scale) + symbol
    return _plain(value, step)


def measure(value: float, quantity: Quantity) -> str:
    """A single value with its unit: `250 ms`, `1.25 s`, `40 %`, `128 tokens`."""
    unit = unit_for(quantity, abs(value))
    return f"{number(value / unit.size)} {unit.symbol}".rstrip()


def _plain(value: float, step: float) -> str:
    if step > 0:
        digits = max(0, -math.floor(math.log10(step) + 1e-9))
    else:
        digits = max(0, 2 - math.floor(math.log10(abs(value)) + 1e-9)) if value else 0
    text = f"{value:,.{min(digits, 9)}f}"
    return text.rstrip("0").rstrip(".") if "." in text else text
