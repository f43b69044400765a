"""Regions of the range of concurrencies: where they begin and end, which one a level lies in, which it fills.

With d = C_max - C_min and I = log2(d) / 3 the borders are C_min + 2^I and C_min + 2^(2I), rounded half to even, that is
d^(1/3) and d^(2/3). They are computed with whole numbers: no float can tip a border. A tie cannot occur: with
x = d^(k/n) exactly halfway, (2x)^n would be odd, and it is d^k 2^n. So half to even and half up are the same here.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from wholecurve.model.errors import InputError
from wholecurve.rules.ruleset import RegionRules


@dataclass(frozen=True, slots=True)
class Region:
    """Concurrencies first to last, both included; empty when last < first.

    exact_last: where the last one lies by exact arithmetic; other than `last` only in the margin, where the published
    routine multiplies binary floats and lands one higher for many multiples of ten.
    """

    id: str
    first: int
    last: int
    exact_last: int

    @property
    def empty(self) -> bool:
        return self.last < self.first

    def __contains__(self, concurrency: object) -> bool:
        return isinstance(concurrency, int) and self.first <= concurrency <= self.last

    def __str__(self) -> str:
        if self.empty:
            return "empty"
        return str(self.first) if self.first == self.last else f"{self.first}–{self.last}"


@dataclass(frozen=True, slots=True)
class Placement:
    """Where a level lies: a region or None (out of range), with the choice that decided it, if one did."""

    region: Region | None
    choice: str | None = None


def regions(c_max: int, c_min: int, rules: RegionRules) -> tuple[Region, ...]:
    """Ultra Low, Low, Medium, High and margin for a curve from C_min to C_max, in requests in flight.

    Raises InputError when C_min or C_max lies outside the bounds of the rules. Source: rules 5.4, 5.5.
    """
    _check_bounds(c_max, c_min, rules)
    spread = c_max - c_min
    low_last = c_min + rounded_root(spread, 1, rules.parts)
    medium_last = c_min + rounded_root(spread, 2, rules.parts)
    exact_margin = math.ceil(rules.margin * c_max)
    routine_margin = math.ceil(float(rules.margin) * c_max)
    return (
        _whole(rules.ultra_low, rules.c_min_lowest, c_min),
        _whole(rules.low, c_min + 1, low_last),
        _whole(rules.medium, low_last + 1, medium_last),
        _whole(rules.high, medium_last + 1, c_max),
        Region(rules.beyond, c_max + 1, routine_margin, exact_margin),
    )


def region_of(concurrency: int, cut: Sequence[Region], rules: RegionRules) -> Placement:
    """The region that the routine puts a level into, which is the label of a point. Source: rules 5.5."""
    region = next((part for part in cut if concurrency in part), None)
    if region is not None and concurrency > region.exact_last:
        return Placement(region, rules.margin_choice)
    return Placement(region)


def filled(concurrency: int, cut: Sequence[Region], rules: RegionRules) -> frozenset[str]:
    """Ids of the regions that a point at this level counts for.

    Ultra Low is filled by any level up to its fixed bound, whatever C_min is; an empty region by the level at its end.
    A level may so fill two regions; the margin fills none. Source: rules 5.3, 5.4.
    """
    found = set()
    if rules.c_min_lowest <= concurrency <= rules.ultra_low_highest:
        found.add(rules.ultra_low)
    for region in cut:
        if region.id in (rules.ultra_low, rules.beyond):
            continue
        if concurrency in region or (region.empty and concurrency == region.last):
            found.add(region.id)
    return frozenset(found)


def unfilled(levels: Iterable[int], cut: Sequence[Region], rules: RegionRules) -> tuple[str, ...]:
    """Ids of the regions that have fewer points than they need, in order. Source: rules 5.3."""
    found = [filled(level, cut, rules) for level in set(levels)]
    needed = ((row.id, row.required) for row in rules.region.values())
    return tuple(name for name, count in needed if sum(name in ids for ids in found) < count)


def must_notify(c_max: int, rules: RegionRules) -> bool:
    """Whether so small a C_max has to be announced to the working group in writing. Source: rules 5.4."""
    return c_max <= rules.notify_up_to_c_max


def rounded_root(number: int, power: int, parts: int) -> int:
    """number^(power / parts) to the nearest whole number, exactly; number >= 0, power and parts >= 1."""
    doubled = _floor_root(number**power << parts, parts)  # floor of twice the root
    return (doubled + 1) // 2


def _floor_root(number: int, degree: int) -> int:
    """Largest whole r with r^degree <= number."""
    low, high = 0, 1 << (number.bit_length() // degree + 1)
    while low < high:
        middle = (low + high + 1) // 2
        if middle**degree <= number:
            low = middle
        else:
            high = middle - 1
    return low


def _whole(name: str, first: int, last: int) -> Region:
    return Region(name, first, last, last)


def _check_bounds(c_max: int, c_min: int, rules: RegionRules) -> None:
    if not rules.c_min_lowest <= c_min <= rules.c_min_highest:
        raise InputError(
            f"wanted a lowest concurrency from {rules.c_min_lowest} to {rules.c_min_highest}, got {c_min}",
            hint=f"measure a point at {rules.c_min_highest} or below",
        )
    if c_max <= rules.c_max_above:
        raise InputError(
            f"wanted a declared highest concurrency above {rules.c_max_above}, got {c_max}",
            hint="regions cannot be computed for a smaller range: declare a higher C_max, or measure points with `run`",
        )
