"""Value types of the settings: how a duration, a size, a count or a JSON object is written, checked and shown again.

Each type carries a `Kind`, the word the reference documentation shows. Validators raise ValueError, which the schema
turns into an error with key and place (problems.py).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from math import isfinite
from typing import Annotated, Any

from pydantic import BeforeValidator, Field, PlainSerializer

from wholecurve.datasets import parse_lengths
from wholecurve.model.errors import InputError
from wholecurve.model.units import BYTES, NS_PER_MS, NS_PER_S, parse_duration_ns

MOST = 10**12
"""Of anything that is counted. Far above what a run can do, and its product with a data set's rows fits 64 bits."""

MOST_WORKERS = 256
"""Processes. One fills a core; thousands would stop the machine before they sent anything."""

INT64_MAX = (1 << 63) - 1
UINT64_MAX = (1 << 64) - 1


@dataclass(frozen=True, slots=True)
class Kind:
    """What the documentation calls a type."""

    name: str


def _duration(value: Any) -> Any:
    """Seconds or text with a unit to ns."""
    if not isinstance(value, str | int | float):
        raise ValueError(f"wanted a duration such as 500ms, 30s or 10m, got {shown(value)}")
    try:
        return parse_duration_ns(value)
    except InputError as error:
        raise ValueError(error.message) from None


def _duration_or_none(value: Any) -> Any:
    if value is None or (isinstance(value, str) and value.strip().lower() == "none"):
        return None
    return _duration(value)


def write_duration(value_ns: int | None) -> str | None:
    """The shortest exact text `parse_duration_ns` reads back to the same ns."""
    if value_ns is None:
        return None
    for unit, size in (("s", NS_PER_S), ("ms", NS_PER_MS), ("us", 1_000)):
        if value_ns % size == 0:
            return f"{value_ns // size}{unit}"
    return f"{value_ns}ns"


def _size(value: Any) -> Any:
    """Bytes, or text with a unit, to bytes."""
    if isinstance(value, str):
        digits = value.strip().rstrip("KMGiB ")
        unit = value.strip()[len(digits) :].strip() or "B"
        if unit not in BYTES or not digits.isdecimal():
            raise ValueError(f"wanted a size such as 64MiB, in {', '.join(BYTES)}, got {value!r}")
        return int(digits) * BYTES[unit]
    return _no_bool("a size such as 64MiB")(value)


def _no_bool(wanted: str) -> Callable[[Any], Any]:
    """Refuses true and false where a number belongs; YAML's `yes` would otherwise become 1."""

    def check(value: Any) -> Any:
        if isinstance(value, bool):
            raise ValueError(f"wanted {wanted}, got {str(value).lower()}")
        return value

    return check


def _names(value: Any) -> Any:
    """A single text stands for a list of one."""
    return (value,) if isinstance(value, str) else value


def _lengths(value: Any) -> Any:
    """Text that datasets/ reads as a distribution of lengths."""
    try:
        return str(parse_lengths(_no_bool("a number of tokens")(value)))
    except InputError as error:
        raise ValueError(error.message) from None


def _json_object(value: Any) -> Any:
    if value is None:
        return {}
    if not isinstance(value, Mapping):
        raise ValueError(f"wanted a mapping of field: value, got {shown(value)}")
    _check_json(value, "")
    return value


def _check_json(value: Any, path: str) -> None:
    """Only what strict JSON can hold."""
    if isinstance(value, Mapping):
        for name, inner in value.items():
            if not isinstance(name, str):
                raise ValueError(f"wanted text as a field name, got {name!r}{path and f' in {path}'}")
            _check_json(inner, f"{path}.{name}" if path else name)
    elif isinstance(value, list | tuple):
        for place, inner in enumerate(value):
            _check_json(inner, f"{path}[{place}]")
    elif isinstance(value, float) and not isfinite(value):
        raise ValueError(f"wanted a finite number for {path}, got {value}")
    elif isinstance(value, int) and not -(1 << 63) <= value < 1 << 64:
        raise ValueError(f"wanted a whole number of at most 64 bits for {path}, got {shown(value)}")
    elif not isinstance(value, str | int | float | bool | None):
        raise ValueError(f"wanted a JSON value for {path}, got {type(value).__name__}")


def shown(value: Any) -> str:
    """A value in an error message: short, on one line."""
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."


Duration = Annotated[int, BeforeValidator(_duration), PlainSerializer(write_duration), Kind("duration")]
PositiveDuration = Annotated[Duration, Field(gt=0)]
OptionalDuration = Annotated[
    int | None, BeforeValidator(_duration_or_none), PlainSerializer(write_duration), Kind("duration or `none`")
]
# A limit of zero would fail everything; who wants no limit writes so.
OptionalLimit = Annotated[
    Annotated[int, Field(gt=0)] | None,
    BeforeValidator(_duration_or_none),
    PlainSerializer(write_duration),
    Kind("duration above 0, or `none`"),
]
Bytes = Annotated[int, BeforeValidator(_size), Field(ge=1 << 16), Kind("size")]
Count = Annotated[
    int, BeforeValidator(_no_bool("a whole number")), Field(ge=1, le=MOST), Kind("whole number, at least 1")
]
Natural = Annotated[
    int, BeforeValidator(_no_bool("a whole number")), Field(ge=0, le=INT64_MAX), Kind("whole number, at least 0")
]
# Published seeds are unsigned 64-bit numbers.
Seed = Annotated[
    int,
    BeforeValidator(_no_bool("a whole number")),
    Field(ge=0, le=UINT64_MAX),
    Kind("whole number from 0 to 2^64 - 1"),
]
Workers = Annotated[Count, Field(le=MOST_WORKERS)]
Rate = Annotated[float, BeforeValidator(_no_bool("a number")), Field(gt=0, allow_inf_nan=False), Kind("number above 0")]
LengthsText = Annotated[str, BeforeValidator(_lengths), Kind("number, `uniform:100-200` or `normal:512,50`")]
Share = Annotated[
    float, BeforeValidator(_no_bool("a number")), Field(ge=0, le=1, allow_inf_nan=False), Kind("number from 0 to 1")
]
Text = Annotated[str, Field(min_length=1), Kind("text")]
Names = Annotated[tuple[str, ...], BeforeValidator(_names), Field(min_length=1), Kind("text or list of texts")]
JsonObject = Annotated[dict[str, Any], BeforeValidator(_json_object), Kind("mapping of JSON values")]
