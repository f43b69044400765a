"""Checks of a JSON document that anyone may have written: each value of the right type and bounded, each key known.

A check takes (value, key path) and returns the value as a dataclass wants it; InputError names the key path.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from enum import StrEnum
from typing import Any, Final, TypeVar

from wholecurve.model.errors import InputError

MAX_TEXT: Final = 10_000
MAX_ITEMS: Final = 10_000
MAX_SHOWN: Final = 60
MAX_NUMBER: Final = 1e19
"""More than 100 years in nanoseconds; nothing that is measured comes near it, and sums of it stay finite."""

MAX_COUNT: Final = 10**12

Check = Callable[[object, str], Any]
T = TypeVar("T")


def shown(value: object) -> str:
    """A value for a message: its text cut short, or its type."""
    if value is None or isinstance(value, bool | int | float | str):
        found = repr(value)
        return found if len(found) <= MAX_SHOWN else found[: MAX_SHOWN - 1] + "…"
    return {"dict": "an object", "list": "a list"}.get(type(value).__name__, type(value).__name__)


def refusal(wanted: str, value: object, key: str) -> InputError:
    """The error for a value that is not what was wanted."""
    return InputError(f"wanted {wanted}, got {shown(value)}", where=key)


def a_text(value: object, key: str) -> str:
    """A text of at most MAX_TEXT characters; it may be empty."""
    if not isinstance(value, str):
        raise refusal("a text", value, key)
    if len(value) > MAX_TEXT:
        raise InputError(f"wanted a text of at most {MAX_TEXT} characters, got {len(value)}", where=key)
    return value


def a_number(value: object, key: str) -> float:
    """A finite number of a size that can be meant."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise refusal("a finite number", value, key)
    if abs(value) > MAX_NUMBER:
        raise refusal(f"a number of at most {MAX_NUMBER:g}", value, key)
    return value


def an_integer(value: object, key: str) -> int:
    """A whole number of a size that can be meant."""
    if isinstance(value, bool) or not isinstance(value, int):
        raise refusal("a whole number", value, key)
    if abs(value) > MAX_COUNT:
        raise refusal(f"a whole number of at most {MAX_COUNT:.0e}", value, key)
    return value


def a_flag(value: object, key: str) -> bool:
    """true or false."""
    if not isinstance(value, bool):
        raise refusal("true or false", value, key)
    return value


def maybe(check: Check) -> Check:
    """null, or what the check wants."""
    return lambda value, key: None if value is None else check(value, key)


def a_word(kind: type[StrEnum]) -> Check:
    """A word of an enumeration."""

    def checked(value: object, key: str) -> StrEnum:
        words = [one.value for one in kind]
        if not isinstance(value, str) or value not in words:
            raise refusal("one of " + ", ".join(words), value, key)
        return kind(value)

    return checked


def a_list(check: Check) -> Check:
    """A list of at most MAX_ITEMS, as a tuple."""

    def checked(value: object, key: str) -> tuple[Any, ...]:
        if not isinstance(value, list):
            raise refusal("a list", value, key)
        if len(value) > MAX_ITEMS:
            raise InputError(f"wanted at most {MAX_ITEMS} items, got {len(value)}", where=key)
        return tuple(check(item, f"{key}[{place}]") for place, item in enumerate(value))

    return checked


def an_object(value: object, key: str) -> Mapping[str, Any]:
    """An object."""
    if not isinstance(value, Mapping):
        raise refusal("an object", value, key)
    return value


def a_record(checks: Mapping[str, Check]) -> Check:
    """An object with exactly these keys."""

    def checked(value: object, key: str) -> dict[str, Any]:
        found = an_object(value, key)
        foreign = [shown(name) for name in found if name not in checks]
        missing = [name for name in checks if name not in found]
        if foreign:
            raise InputError(f"unknown key {foreign[0]}; known: {', '.join(checks)}", where=key)
        if missing:
            raise InputError(f"wanted the key {missing[0]!r}, and it is missing", where=key)
        return {name: check(found[name], f"{key}.{name}" if key else name) for name, check in checks.items()}

    return checked


def made(kind: Callable[..., T], values: Mapping[str, Any], key: str) -> T:
    """A dataclass of checked values; what it refuses itself is said with the key path too."""
    try:
        return kind(**values)
    except InputError as error:
        raise InputError(error.message, where=key, hint=error.hint) from None
