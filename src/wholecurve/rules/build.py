"""Plain tables to frozen dataclasses, and nothing silently: unknown keys, missing keys and wrong types are refused.

`build` walks a dataclass's type hints. A mapping of dataclasses that have an `id` gets it from the key. Every refusal
is an InputError that says what was wanted, what came, and at which key; `Place` turns that key into a file.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import MISSING, Field, fields, is_dataclass
from datetime import date, time
from enum import StrEnum
from fractions import Fraction
from types import MappingProxyType, NoneType, UnionType
from typing import Any, Final, NewType, TypeVar, get_args, get_origin, get_type_hints

from wholecurve.model.errors import InputError
from wholecurve.rules.cohorts import Cohort, parse_cohort

U64 = NewType("U64", int)
"""An unsigned 64-bit number. Written as text in the data: TOML promises only 63 bits, and a float would lose some."""

T = TypeVar("T")
Key = tuple[str, ...]
Place = Callable[[Key], str]
"""From a key (its parts) to where it stands, for the message."""

_PLAIN: Final[dict[type, str]] = {
    str: "text",
    bool: "true or false",
    int: "a whole number",
    float: "a number",
    date: "a date",
    time: "a time of day",
}


def build(kind: type[T], table: object, place: Place, key: Key = ()) -> T:
    """A dataclass from a table. Raises InputError for unknown and missing keys and for values of another type."""
    found = _wanted_table(table, key, place)
    hints = get_type_hints(kind)
    own = {field.name: field for field in fields(kind)}  # type: ignore[arg-type]
    for name in found:
        if name not in own:
            known = ", ".join(own)
            raise InputError(
                f"unknown key `{'.'.join((*key, name))}`; wanted one of: {known}", where=place((*key, name))
            )
    values = {}
    for name, field in own.items():
        if name in found:
            values[name] = _value(hints[name], found[name], place, (*key, name))
        elif _is_required(field):
            wanted = f"wanted `{'.'.join((*key, name))}` ({describe(hints[name])}), and it is missing"
            raise InputError(wanted, where=place(key))
    return kind(**values)


def describe(hint: Any) -> str:
    """What a type asks for, in words."""
    if hint in _PLAIN:
        return _PLAIN[hint]
    if hint is Fraction:
        return 'a decimal in quotes, such as "1.10"'
    if hint is U64:
        return "a number from 0 to 2^64 - 1 in quotes"
    if hint is Cohort:
        return "a cohort such as 2026-10-C1"
    if isinstance(hint, type) and issubclass(hint, StrEnum):
        return "one of " + ", ".join(hint)
    origin = get_origin(hint)
    if origin is tuple:
        return f"a list, each item {describe(get_args(hint)[0])}"
    if origin is UnionType:
        return describe(_some(hint))
    return "a table"


def _value(hint: Any, value: object, place: Place, key: Key) -> Any:
    origin = get_origin(hint)
    if origin is UnionType:
        return _value(_some(hint), value, place, key)
    if origin is tuple:
        if not isinstance(value, list):
            raise _refusal(hint, value, place, key)
        item = get_args(hint)[0]
        return tuple(_value(item, entry, place, (*key, str(at))) for at, entry in enumerate(value))
    if is_dataclass(hint) and isinstance(hint, type) and hint is not Cohort:
        return build(hint, value, place, key)
    if origin is not None:
        return _mapping(hint, value, place, key)
    return _scalar(hint, value, place, key)


def _mapping(hint: Any, value: object, place: Place, key: Key) -> Mapping[Any, Any]:
    """A table with free keys; a key is text or a word of an enumeration."""
    key_type, item = get_args(hint)
    table = _wanted_table(value, key, place)
    has_id = is_dataclass(item) and any(field.name == "id" for field in fields(item))
    built = {}
    for name, entry in table.items():
        here = (*key, name)
        if has_id:
            if "id" in _wanted_table(entry, here, place):
                raise InputError(f"unknown key `{'.'.join(here)}.id`; the id is the table's name", where=place(here))
            entry = {"id": name, **_wanted_table(entry, here, place)}
        built[_scalar(key_type, name, place, here)] = _value(item, entry, place, here)
    return MappingProxyType(built)


def _scalar(hint: Any, value: object, place: Place, key: Key) -> Any:
    if hint is float and type(value) in (int, float):
        number = float(value)  # type: ignore[arg-type]
        if number == number and abs(number) != float("inf"):
            return number
        raise _refusal(hint, value, place, key)
    if hint in _PLAIN and type(value) is hint:
        return value
    if isinstance(value, str):
        try:
            return _from_text(hint, value)
        except (ValueError, ZeroDivisionError, InputError):
            raise _refusal(hint, value, place, key) from None
    raise _refusal(hint, value, place, key)


def _from_text(hint: Any, text: str) -> Any:
    if hint is Fraction:
        return Fraction(text)
    if hint is U64:
        number = int(text)
        if not (text.isascii() and text.isdigit() and number < 1 << 64):
            raise ValueError
        return number
    if hint is Cohort:
        return parse_cohort(text)
    if isinstance(hint, type) and issubclass(hint, StrEnum):
        return hint(text)
    raise ValueError


def _some(hint: Any) -> Any:
    (kind,) = (part for part in get_args(hint) if part is not NoneType)
    return kind


def _is_required(field: Field[Any]) -> bool:
    return field.default is MISSING and field.default_factory is MISSING


def _wanted_table(value: object, key: Key, place: Place) -> Mapping[str, object]:
    if isinstance(value, dict):
        return value
    raise InputError(f"wanted a table at `{'.'.join(key)}`, got {value!r}", where=place(key))


def _refusal(hint: Any, value: object, place: Place, key: Key) -> InputError:
    return InputError(f"wanted {describe(hint)} at `{'.'.join(key)}`, got {value!r}", where=place(key))
