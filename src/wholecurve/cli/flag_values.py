"""From the text of a flag to its value, for every command: a number is the number that was typed, or it is refused."""

from __future__ import annotations

import re
from typing import Any, Final, get_args

from cyclopts import CoercionError, convert

_WRITTEN: Final = {
    int: re.compile(r"[+-]?[0-9]{1,4000}"),
    float: re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)(e[+-]?[0-9]+)?|[+-]?(nan|inf)", re.IGNORECASE),
}
"""How a number is written. What a command can do with it, such as with nan, it says itself."""


def as_written(kind: Any, tokens: Any) -> Any:
    """The value of a flag, never another one than was typed: the flag parser alone would make 2 of 1.5, 16 of 0x10,
    and "not given" of null. Raises cyclopts.CoercionError."""
    members = [one for one in get_args(kind) if one is not type(None)]
    inner = members[0] if len(members) == 1 and type(None) in get_args(kind) else kind
    pattern = _WRITTEN.get(inner)
    wrong = pattern is not None and not all(pattern.fullmatch(token.value) for token in tokens)
    value = None if wrong else convert(kind, tokens)
    if value is None:
        raise CoercionError(token=tokens[0], target_type=inner)
    return value
