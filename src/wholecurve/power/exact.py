"""Exact numbers: what a file says in decimals is added as fractions, and rounded once, half to even (choice C26)."""

from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction

Number = int | float | Decimal | Fraction


def exact(value: Number) -> Fraction:
    """The number as it is written: 0.1 is one tenth, not the nearest binary fraction. ValueError if not finite."""
    if isinstance(value, float):
        if not math.isfinite(value):
            raise ValueError(f"wanted a finite number, got {value}")
        return Fraction(repr(value))
    if isinstance(value, Decimal) and not value.is_finite():
        raise ValueError(f"wanted a finite number, got {value}")
    return Fraction(value)


def rounded(value: Fraction, decimals: int) -> float:
    """Rounded half to even in decimals, from the exact value. `round` of a Fraction is exact."""
    return float(round(value, decimals))


def shown_kw(watts: Fraction, decimals: int) -> str:
    """Watts as kW for people: `13.05 kW`."""
    return f"{rounded(watts / 1000, decimals):.{decimals}f} kW"
