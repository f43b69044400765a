"""Scales: from a value to a place on an axis, linear or logarithmic.

A chart that hides a value is worse than none, so a scale refuses (ValueError) what it cannot place: NaN, Infinity,
zero or less on a logarithmic axis, an empty span.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass


def finite(value: float) -> float:
    """The value, if it is a finite number; ValueError otherwise."""
    if not math.isfinite(value):
        raise ValueError(f"wanted a finite number to draw, got {value}")
    return float(value)


@dataclass(frozen=True, slots=True)
class Scale:
    """Places `low` at `start` and `high` at `end`; `end` may lie before `start`. `log`: equal ratios, equal lengths."""

    low: float
    high: float
    start: float
    end: float
    log: bool = False

    def __post_init__(self) -> None:
        """ValueError for a span that cannot be drawn."""
        if not finite(self.low) < finite(self.high):
            raise ValueError(f"wanted low < high, got {self.low} and {self.high}")
        if self.log and self.low <= 0:
            raise ValueError(f"a logarithmic axis starts above zero, got {self.low}")

    def __call__(self, value: float) -> float:
        """The place of a value; outside `start` to `end` when the value lies outside `low` to `high`."""
        finite(value)
        if not self.log:
            share = (value - self.low) / (self.high - self.low)
        elif value <= 0:
            raise ValueError(f"a logarithmic axis has no place for {value}")
        else:
            share = math.log(value / self.low) / math.log(self.high / self.low)
        return self.start + share * (self.end - self.start)


def span(values: Iterable[float], *, log: bool = False, zero: bool = False) -> tuple[float, float]:
    """(low, high) that holds all values and is never empty. `zero`: a linear span reaches down to zero.

    One distinct value gets room on both sides. ValueError without values, for NaN, and for zero or less with `log`.
    """
    found = [finite(value) for value in values]
    if not found:
        raise ValueError("no values to span")
    low, high = min(found), max(found)
    if log and low <= 0:
        raise ValueError(f"a logarithmic axis has no place for {low}")
    if zero and not log:
        low, high = min(low, 0.0), max(high, 0.0)
    if low < high:
        return low, high
    if log:
        return low / 2, high * 2
    room = abs(low) / 10 or 1.0
    return low - room, high + room
