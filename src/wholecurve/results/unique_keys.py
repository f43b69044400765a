"""JSON in which each key stands once. Of two equal keys readers take the first or the last, and so would show, or
check, another value than the next reader does."""

from __future__ import annotations

import json
from typing import Any, Final, NoReturn

MAX_SHOWN: Final = 60


class DuplicateKeyError(ValueError):
    """A key that one object has twice."""


def loads_unique(data: bytes | str) -> Any:
    """The JSON value. Raises DuplicateKeyError, with the key, and ValueError for what is no strict JSON: NaN, a
    number beyond a double, text that is not UTF-8, or deeper nesting than a reader can follow."""
    try:
        text = data if isinstance(data, str) else data.decode("utf-8")
        return json.loads(text, object_pairs_hook=_object, parse_constant=_refuse, parse_float=_number)
    except RecursionError:
        raise ValueError("nested too deep") from None


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        seen: set[str] = set()
        for key, _ in pairs:
            if key in seen:
                raise DuplicateKeyError(f"the key {key[:MAX_SHOWN]!r} is there twice")
            seen.add(key)
    return found


def _refuse(word: str) -> NoReturn:
    raise ValueError(f"{word} is no number")


def _number(text: str) -> float:
    found = float(text)
    if found in (float("inf"), float("-inf")):
        raise ValueError("a number is beyond a double")
    return found
