"""Decisions in words: three significant digits for people, more where two values would look alike."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from wholecurve.curve.table import KEYS

if TYPE_CHECKING:
    from wholecurve.curve.decide import Miss

MOST_DIGITS: Final = 17
"""Enough to tell any two different values apart."""


HASH_SHOWN: Final = 12
"""Characters of a hash that people are shown."""


def brief(text: str) -> str:
    """A hash cut short, any other text as it is."""
    is_hash = len(text) in (40, 64, 128) and all(char in "0123456789abcdef" for char in text)
    return f"{text[:HASH_SHOWN]}…" if is_hash else text


def three_digits(value: float, digits: int = 3) -> str:
    """A value with three significant digits, without an exponent: 3721.6 is `3720`, 0.04999 is `0.05` (S17)."""
    rounded = float(f"{value:.{digits}g}")
    if rounded == int(rounded):
        return str(int(rounded))
    text = f"{rounded:.{digits}g}"
    return text if "e" not in text else f"{rounded:.20f}".rstrip("0")


def shown(key: str, value: float, digits: int = 3) -> str:
    """A value with its unit. TTFT is shown in ms."""
    if KEYS[key]["unit"] == "ns":
        return f"{three_digits(value / 1e6, digits)} ms"
    unit = KEYS[key]["unit"]
    return f"{three_digits(value, digits)} {unit}".rstrip()


def sentence(miss: Miss, detail: str = "") -> str:
    """A miss as a person reads it: `TTFT P90 240 ms > 200 ms`; `TTFT P90 not reported`. detail: why it is missing."""
    if miss["key"] == "barred":
        return f"{miss['why']}: {detail}" if detail else str(miss["why"])
    label = KEYS[miss["key"]]["label"]
    if miss["got"] is None:
        return f"{label} {miss['why']}" + (f" ({detail})" if detail and detail != miss["why"] else "")
    sign = ">" if miss["bound"] == "at most" else "<"
    for digits in range(3, MOST_DIGITS + 1):
        got, wanted = (shown(miss["key"], miss[name], digits) for name in ("got", "wanted"))
        if got != wanted:
            break
    return f"{label} {got} {sign} {wanted}"
