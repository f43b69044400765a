"""Single values out of files that others may have written: right in type and bounded, or None."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

MAX_TEXT: Final = 500
MAX_LIST: Final = 50
MAX_COUNT: Final = 10**12
_MOST: Final = 1 << 63


def at(value: object, *keys: str) -> Any:
    """The value under nested keys; None where one is missing or what holds it is no mapping."""
    for key in keys:
        value = value.get(key) if isinstance(value, Mapping) else None
    return value


def mapping(value: object, *keys: str) -> Mapping[str, Any]:
    """The mapping under nested keys, empty when there is none."""
    found = at(value, *keys)
    return found if isinstance(found, Mapping) else {}


def mappings(value: object, *keys: str) -> list[Mapping[str, Any]]:
    """The mappings of the list under nested keys."""
    found = at(value, *keys)
    return [one for one in found if isinstance(one, Mapping)] if isinstance(found, list | tuple) else []


def number(value: object) -> float | int | None:
    """A number of 0 or more that is less than 2^63, else None."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return value if 0 <= value < _MOST else None  # NaN is neither


def count(value: object) -> int | None:
    """A whole number from 1 to MAX_COUNT, else None."""
    found = number(value)
    return found if isinstance(found, int) and 1 <= found <= MAX_COUNT else None


def text(value: object) -> str | None:
    """A text with something in it, cut at MAX_TEXT characters, else None."""
    if not isinstance(value, str):
        return None
    return value.strip()[:MAX_TEXT] or None


def texts(value: object, *keys: str) -> tuple[str, ...]:
    """The texts of the list under nested keys, at most MAX_LIST."""
    found = at(value, *keys)
    if not isinstance(found, list | tuple):
        return ()
    return tuple(one for one in map(text, found[:MAX_LIST]) if one)
