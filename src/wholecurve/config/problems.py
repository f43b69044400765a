"""Schema violations in words: key, what was wanted, what came, where it stands, and what to do."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from difflib import get_close_matches
from typing import Any

from pydantic import BaseModel, ValidationError

from wholecurve.config.interpolate import dotted
from wholecurve.config.types import shown
from wholecurve.config.yaml_source import Path
from wholecurve.model.errors import InputError

# A message that begins with a key: `stop.requests: ...`, `endpoint.headers.X-A wants ...`.
_KEY = re.compile(r"([a-z_]+(?:\.[A-Za-z0-9_-]+|\[\d+\])*)(?=:? )")

# Values under these keys may be secrets: they are never shown.
_SECRET = {"headers", "api_key"}

_WANTED = {
    "int_parsing": "a whole number",
    "int_type": "a whole number",
    "int_from_float": "a whole number",
    "int_parsing_size": "a whole number of at most 64 bits",
    "float_parsing": "a number",
    "float_type": "a number",
    "finite_number": "a finite number",
    "bool_parsing": "true or false",
    "bool_type": "true or false",
    "string_type": "text (put quotes around numbers and words such as on and no)",
    "string_unicode": "text in UTF-8 (is the locale a UTF-8 one, such as LC_ALL=C.UTF-8?)",
    "string_too_short": "text that is not empty",
    "model_type": "a section of `key: value` lines",
    "model_attributes_type": "a section of `key: value` lines",
    "dict_type": "a mapping of `name: value`",
    "tuple_type": "a list",
    "list_type": "a list",
    "too_short": "at least one value",
}


def input_error(error: ValidationError, schema: type[BaseModel], origins: Mapping[Path, str]) -> InputError:
    """The first violation as an InputError, and how many more there are.

    `origins` says for a key's path where it was given: `file:line` or a flag; parents stand in for missing ones.
    """
    faults = error.errors(include_url=False)
    first = faults[0]
    path: Path = tuple(part for part in first["loc"] if part != "[key]")
    message, hint = _words(first, path, schema)
    if len(faults) > 1:
        rest = ", ".join(dict.fromkeys(dotted(fault["loc"]) or "the file" for fault in faults[1:4]))
        hint = f"{hint}; " * bool(hint) + f"also wrong: {rest}" + " and more" * (len(faults) > 4)
    return InputError(message, where=origin_of(path, origins), hint=hint)


def origin_of(path: Path, origins: Mapping[Path, str]) -> str:
    """Where the key, or the nearest parent that was given, stands."""
    while path not in origins and path:
        path = path[:-1]
    return origins.get(path, "")


def located(error: InputError, origins: Mapping[Path, str]) -> InputError:
    """The error with the place of the key that its message begins with, unless it has a place already."""
    match = _KEY.match(error.message)
    if error.where or not match:
        return error
    path: Path = tuple(int(part) if part.isdecimal() else part for part in re.split(r"[.\[\]]+", match[1]) if part)
    return InputError(error.message, where=origin_of(path, origins), hint=error.hint)


def _words(fault: Mapping[str, Any], path: Path, schema: type[BaseModel]) -> tuple[str, str]:
    """Message and hint of one violation."""
    kind, context = fault["type"], fault.get("ctx", {})
    name = dotted(path) or "the settings"
    if kind == "extra_forbidden":
        return f"unknown key `{name}`", _did_you_mean(path, schema)
    if kind == "missing":
        flag = _meaning(path, schema)
        return f"wanted a value for `{name}`{f' ({flag})' if flag else ''}, got none", ""
    secret = bool(_SECRET & {str(part).lower() for part in path})
    if kind == "value_error":
        return f"{name}: {context['error']}" if path else str(context["error"]), ""
    if kind in ("literal_error", "enum"):
        wanted = f"one of {context['expected']}"
    elif kind in ("greater_than_equal", "less_than_equal", "greater_than", "less_than"):
        word = {"ge": "at least", "le": "at most", "gt": "more than", "lt": "less than"}
        wanted = ", ".join(f"{word[bound]} {limit}" for bound, limit in context.items() if bound in word)
    else:
        wanted = _WANTED.get(kind, fault["msg"])
    hint = "write none for no limit" if kind == "greater_than" and name.endswith("_timeout") else ""
    got = "a value that is not shown" if secret else shown(fault["input"])
    return f"{name}: wanted {wanted}, got {got}", hint


def _did_you_mean(path: Path, schema: type[BaseModel]) -> str:
    """The nearest key of the same section, else the section in which the key does exist, else all keys."""
    section = _section(schema, path[:-1])
    known = list(section.model_fields) if section else []
    name = str(path[-1])
    near = get_close_matches(name, known, n=1, cutoff=0.7)
    if near:
        return f"did you mean `{dotted((*path[:-1], near[0]))}`?"
    elsewhere = [other for other in key_paths(schema) if other[-1] == name]
    if elsewhere:
        return f"did you mean {' or '.join(f'`{dotted(other)}`' for other in elsewhere[:3])}?"
    far = get_close_matches(name, (str(other[-1]) for other in key_paths(schema)), n=1, cutoff=0.8)
    places = [other for other in key_paths(schema) if far and other[-1] == far[0]]
    if places:
        return f"did you mean `{dotted(places[0])}`?"
    return f"known keys here: {', '.join(known)}"


def _meaning(path: Path, schema: type[BaseModel]) -> str:
    section = _section(schema, path[:-1])
    field = section.model_fields.get(str(path[-1])) if section else None
    return (field.description or "") if field else ""


def _section(schema: type[BaseModel], path: Path) -> type[BaseModel] | None:
    """The model at a path; list places are passed over."""
    here: type[BaseModel] | None = schema
    for part in path:
        if isinstance(part, int) or here is None:
            continue
        field = here.model_fields.get(part)
        here = section_type(field.annotation) if field else None
    return here


def section_type(annotation: Any) -> type[BaseModel] | None:
    """The model inside an annotation such as `X | None` or `tuple[X, ...]`."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    found = (section_type(inner) for inner in getattr(annotation, "__args__", ()))
    return next((inner for inner in found if inner), None)


def key_paths(schema: type[BaseModel], prefix: Path = ()) -> Iterable[Path]:
    """Every key of a schema, sections included, in the order in which it is written down."""
    for name, field in schema.model_fields.items():
        yield (*prefix, name)
        inner = section_type(field.annotation)
        if inner:
            yield from key_paths(inner, (*prefix, name))
