"""Reading a summary that may lack anything, and showing what is in it: safe access, clean text, figures with units.

A report is written of interrupted and failed runs too, and of files of older versions, so nothing here raises for a
missing or odd value: it is not measured.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

from wholecurve.config import secret_name
from wholecurve.model.units import NS_PER_MS, NS_PER_S

NOT_MEASURED: Final[str] = "not measured"
TEXT_LIMIT: Final[int] = 500
LIST_LIMIT: Final[int] = 8
_DURATIONS: Final[tuple[tuple[str, float, float], ...]] = (
    ("h", 3600 * NS_PER_S, 120 * 60 * NS_PER_S),
    ("min", 60 * NS_PER_S, 120 * NS_PER_S),
    ("s", NS_PER_S, 0.9995 * NS_PER_S),
    ("ms", NS_PER_MS, 0.9995 * NS_PER_MS),
    ("µs", 1e3, 999.5),
)
"""Unit, its size in ns, and the duration from which it is used."""

REDACTED: Final[str] = "(redacted)"

# Controls (terminal escapes), bidi overrides and isolates, zero-width characters, line and paragraph separators, lone
# surrogates, tags: whatever makes a text look like another or moves a terminal's cursor.
_UNSAFE = re.compile(
    "[\x00-\x1f\x7f-\x9f\u00ad\u061c\u115f\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\uffff"
    "\ud800-\udfff\U000e0000-\U000e0fff]"
)


def clean(value: object, limit: int = TEXT_LIMIT) -> str:
    """One line of harmless text: unsafe characters as visible escapes (`\\u202e`), cut at `limit` characters."""
    text = str(value).replace("\r\n", " ").replace("\n", " ").replace("\t", " ")
    if len(text) > limit:
        text = text[: limit - 1] + "…"
    return _UNSAFE.sub(lambda found: _escaped(ord(found[0])), text)


def _escaped(code: int) -> str:
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def at(value: object, *keys: str) -> Any:
    """The value under nested keys; None where one is missing or what holds it is no mapping."""
    for key in keys:
        value = value.get(key) if isinstance(value, Mapping) else None
    return value


def mapping(value: object, *keys: str) -> Mapping[str, Any]:
    """The mapping under nested keys, empty when there is none."""
    found = at(value, *keys)
    return found if isinstance(found, Mapping) else {}


def items(value: object, *keys: str) -> list[Any]:
    """The list under nested keys, empty when there is none."""
    found = at(value, *keys)
    return list(found) if isinstance(found, list | tuple) else []


def texts(value: object, *keys: str) -> tuple[str, ...]:
    """The list under nested keys as clean texts."""
    return tuple(clean(one) for one in items(value, *keys))


def number(value: object) -> float | int | None:
    """A finite number, else None."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        return None
    return value


def unmeasured(reason: object = None) -> str:
    """`not measured (reason)`."""
    return f"{NOT_MEASURED} ({clean(reason)})" if reason else NOT_MEASURED


def count(value: object, reason: object = None) -> str:
    """A whole number with separators; other numbers with one decimal."""
    found = number(value)
    if found is None:
        return unmeasured(reason)
    return f"{found:,.0f}" if found == int(found) else f"{found:,.1f}"


def duration(value: object, reason: object = None) -> str:
    """Nanoseconds for people, always three digits, so that the figures of a table can be compared: `11.0 ms`."""
    found = number(value)
    if found is None:
        return unmeasured(reason)
    for unit, size, from_ns in _DURATIONS:
        if abs(found) >= from_ns:
            return f"{_three(found / size)} {unit}"
    return f"{found:.0f} ns"


def rate(value: object, unit: str, reason: object = None) -> str:
    """Something per second: four digits or more as whole numbers."""
    found = number(value)
    if found is None:
        return unmeasured(reason)
    return f"{_three(found)} {unit}" if found else f"0 {unit}"


def share(value: object, reason: object = None) -> str:
    """A share of one as per cent: `0.58 %`, `99.9 %`."""
    found = number(value)
    if found is None:
        return unmeasured(reason)
    return f"{100 * found:.0f} %" if found in (0, 1) else f"{_three(100 * found)} %"


def ratio(value: object, reason: object = None) -> str:
    """A plain quotient with three digits."""
    found = number(value)
    return unmeasured(reason) if found is None else _three(found)


def _three(value: float) -> str:
    """Three significant digits, zeros kept; whole numbers with separators from 1,000 up."""
    return f"{value:,.0f}" if abs(value) >= 999.5 else f"{value:#.3g}".rstrip(".")


def known(value: object, reason: object = None) -> str:
    """A text, number or flag as clean text."""
    if value is None or value == "":
        return unmeasured(reason)
    return ("yes" if value else "no") if isinstance(value, bool) else clean(value)


def flat(value: object, path: str = "") -> Iterator[tuple[str, str]]:
    """Nested plain values as (dotted path, clean text), secrets by name redacted; None is left out, long lists cut."""
    if isinstance(value, Mapping):
        for key, inner in value.items():
            name = clean(key, 80)
            yield from flat(REDACTED if _secret(key, inner) else inner, f"{path}.{name}" if path else name)
    elif isinstance(value, list | tuple):
        more = f"… {len(value)} in all" if len(value) > LIST_LIMIT else ""
        first = value[:LIST_LIMIT]
        if any(isinstance(one, Mapping | list | tuple) for one in first):
            for place, inner in enumerate(first):
                yield from flat(inner, f"{path}[{place}]")
            if more:
                yield path, more
        else:
            yield path, ", ".join([*(clean(one) for one in first), *([more] if more else [])]) or "none"
    elif value is not None:
        yield path, known(value)


def redacted(value: object) -> object:
    """A nested plain value with every secret, by the name of its field, replaced."""
    if isinstance(value, Mapping):
        return {key: REDACTED if _secret(key, inner) else redacted(inner) for key, inner in value.items()}
    return [redacted(inner) for inner in value] if isinstance(value, list | tuple) else value


def _secret(name: object, value: object) -> bool:
    return isinstance(value, str | bytes) and bool(value) and secret_name(str(name))
