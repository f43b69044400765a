"""Units: one table for durations, one for byte sizes; parse and print. Names elsewhere end in `_ns`, `_ms`, `_s`."""

from __future__ import annotations

from wholecurve.model.errors import InputError

NS_PER_S = 1_000_000_000
NS_PER_MS = 1_000_000

DURATION_NS = {
    "ns": 1,
    "us": 1_000,
    "ms": NS_PER_MS,
    "s": NS_PER_S,
    "m": 60 * NS_PER_S,
    "min": 60 * NS_PER_S,
    "h": 3600 * NS_PER_S,
}

MAX_DURATION_NS = 100 * 365 * 24 * 3600 * NS_PER_S
"""100 years: added to any clock's time it still fits 64 bits."""

BYTES = {"B": 1, "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30}


def parse_duration_ns(text: str | int | float, *, bare_unit: str = "s") -> int:
    """`"500ms"`, `"1.5 s"`, `"10m"` or a bare number in `bare_unit` to whole nanoseconds.

    Raises InputError for anything else, and for negative durations.
    """
    if isinstance(text, bool):
        raise InputError(f"wanted a duration such as 500ms, 30s or 10m, got {text!r}")
    if isinstance(text, int | float):
        number, unit = float(text), bare_unit
    else:
        stripped = text.strip()
        digits = stripped.rstrip("abcdefghijklmnopqrstuvwxyz ")
        unit = stripped[len(digits) :].strip() or bare_unit
        try:
            number = float(digits)
        except ValueError:
            raise InputError(f"wanted a duration such as 500ms, 30s or 10m, got {text!r}") from None
    if unit not in DURATION_NS:
        raise InputError(f"wanted a duration in {', '.join(DURATION_NS)}, got {text!r}")
    if not number >= 0 or number == float("inf"):
        raise InputError(f"wanted a duration of zero or more, got {text!r}")
    value_ns = number * DURATION_NS[unit]
    if value_ns > MAX_DURATION_NS:
        raise InputError(f"wanted a duration of at most 100 years, got {text!r}")
    return round(value_ns)


def show_duration(value_ns: float) -> str:
    """A duration with three significant digits and its unit, for people: `250 ms`, `1.25 s`, `10 min`."""
    size = abs(value_ns)
    if round(size) < 1_000:
        return f"{value_ns:.0f} ns"
    if size < 999.5e3:  # from here on three digits would say 1000 µs
        return f"{value_ns / 1e3:.3g} µs"
    if size < 999.5e6:
        return f"{value_ns / 1e6:.3g} ms"
    if size < 119.5 * NS_PER_S:
        return f"{value_ns / 1e9:.3g} s"
    minutes = value_ns / (60 * NS_PER_S)
    return f"{_three(minutes)} min" if abs(minutes) < 119.5 else f"{_three(minutes / 60)} h"


def _three(value: float) -> str:
    """Three significant digits without an exponent: 999.6 is `1000`, not `1e+03`."""
    return f"{value:.3g}" if abs(value) < 999.5 else f"{value:.0f}"


def show_bytes(count: float) -> str:
    """A byte size for people: `1.5 MiB`."""
    for unit in reversed(BYTES):
        if abs(count) >= BYTES[unit]:
            return f"{count / BYTES[unit]:.3g} {unit}"
    return f"{count:.0f} B"


def show_percent(share: float, decimals: int = 1, *, sign: bool = False) -> str:
    """A share as a percentage for people, with a space before the sign: 0.125 is `12.5 %`."""
    return f"{share * 100:{'+' if sign else ''}.{decimals}f} %"
