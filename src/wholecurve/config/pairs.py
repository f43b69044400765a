"""`key=value`, `target=source` and `Name: value` as they come from flags."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

from wholecurve.config.redact import secret_name
from wholecurve.config.types import shown
from wholecurve.model.errors import InputError


def json_pairs(texts: Iterable[str], flag: str) -> dict[str, Any]:
    """`temperature=0.5 id="007" stop=null` to JSON values with their types; what is no JSON is text.

    Raises InputError for a missing `=`, a repeated key, a value that begins as JSON but is none, and NaN or Infinity.
    """
    found: dict[str, Any] = {}
    for text in texts:
        name, value = _split(text, "=", flag, "key=value")
        if name in found:
            raise InputError(f"{flag}: the key {name!r} is given twice", where=flag)
        found[name] = json_value(value, f"{flag} {name}")
    return found


def json_value(text: str, where: str) -> Any:
    """A JSON value, or the text itself when it does not look like one."""

    def refuse(word: str) -> Any:
        raise InputError(f"wanted a finite number, got {word}", where=where)

    try:
        return json.loads(text, parse_constant=refuse)
    except ValueError:
        if text.lstrip()[:1] in ("{", "[", '"'):
            raise InputError(
                f"wanted a JSON value, got {shown(text)}",
                where=where,
                hint="check quotes and brackets; the shell takes away quotes that are not quoted themselves",
            ) from None
        return text
    except RecursionError:
        raise InputError("wanted a JSON value with fewer levels of nesting", where=where) from None


def text_pairs(texts: Iterable[str], flag: str, shape: str) -> dict[str, str]:
    """`prompt=question` to a mapping of texts."""
    found: dict[str, str] = {}
    for text in texts:
        name, value = _split(text, "=", flag, shape)
        if name in found:
            raise InputError(f"{flag}: {name!r} is given twice", where=flag)
        found[name] = value.strip()
    return found


def header_pairs(texts: Iterable[str], flag: str) -> dict[str, str]:
    """`Name: value` to a mapping; values may hold `${VARIABLE}`. An error never shows a value."""
    found: dict[str, str] = {}
    for text in texts:
        name, colon, value = text.partition(":")
        if not colon or not name.strip():
            raise InputError(f"{flag}: wanted 'Name: value', got a text without a name and a colon", where=flag)
        if name.strip().lower() in (other.lower() for other in found):
            raise InputError(f"{flag}: the header {name.strip()!r} is given twice", where=flag)
        found[name.strip()] = value.strip()
    return found


def typed_headers(texts: Iterable[str], flag: str) -> dict[str, str]:
    """`header_pairs` from the command line, which every process of the machine can read: no literal secrets."""
    headers = header_pairs(texts, flag)
    for name, value in headers.items():
        if secret_name(name) and "${" not in value:
            variable = name.upper().replace("-", "_")
            raise InputError(
                f"{flag} {name}: a secret on the command line can be read by everyone on this machine",
                where=flag,
                hint=f"put it into a variable: {flag} '{name}: ${{{variable}}}'",
            )
    return headers


def _split(text: str, mark: str, flag: str, shape: str) -> tuple[str, str]:
    name, found, value = text.partition(mark)
    if not found or not name.strip():
        raise InputError(f"{flag}: wanted {shape}, got {shown(text)}", where=flag)
    return name.strip(), value


def with_unit(text: str, flag: str) -> str:
    """A limit in the range of milliseconds: a bare number would be seconds, which nobody means. Raises InputError."""
    if text.strip().replace(".", "", 1).isdigit():
        raise InputError(f"{flag}: wanted a time with its unit, got {text!r}", hint=f"such as {text.strip()}ms")
    return text
