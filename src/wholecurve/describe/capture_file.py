"""Reads a capture file, which came from another machine and is checked value by value."""

from __future__ import annotations

from collections.abc import Mapping
from difflib import get_close_matches
from typing import Any, Final

from wholecurve.describe.capture import CAPTURE_SCHEMA, Capture
from wholecurve.model.errors import InputError
from wholecurve.model.plain_text import printable
from wholecurve.results.unique_keys import DuplicateKeyError, loads_unique

MOST_BYTES: Final = 1 << 20
MOST_TEXT: Final = 400
MOST_ROWS: Final = 4096
_MOST: Final = 1 << 60

_COUNT: Final = "count"
_ROW: Final = {_COUNT: int}
_SHAPE: Final[Mapping[str, Any]] = {
    "processor": {"model": str, "sockets": int, "cores_per_socket": int, "threads": int, "virtual": bool},
    "memory": {"bytes": int, "modules": [{**_ROW, "bytes": int, "kind": str, "speed": str}]},
    "numa_nodes": int,
    "accelerators": [{**_ROW, "model": str, "memory_bytes": int, "memory_type": str, "host_interconnect": str}],
    "bus_accelerators": [{**_ROW, "vendor": str, "model": str}],
    "accelerator_driver": str,
    "accelerator_interconnect": str,
    "accelerator_tool": str,
    "network_cards": [{**_ROW, "kind": str, "speed_mbit": int, "driver": str, "model": str}],
    "rdma_ports": [{**_ROW, "link_layer": str, "rate": str}],
    "disks": [{**_ROW, "bytes": int, "kind": str, "model": str}],
    "filesystem": str,
    "operating_system": str,
    "kernel": str,
    "container": str,
}
"""The facts of a node: a type, a mapping, or a list of mappings. Every value but a count may be null."""

_WORDS: Final[Mapping[type, str]] = {str: "text", int: "a whole number of zero or more", bool: "true or false"}


def read_capture(data: bytes, name: str) -> Capture:
    """A capture from the bytes of its file. Raises InputError for everything that `capture` would not have written."""
    if len(data) > MOST_BYTES:
        raise InputError(f"wanted a capture of at most {MOST_BYTES >> 20} MiB, got more", where=name)
    try:
        document = loads_unique(data)
    except DuplicateKeyError as error:
        raise InputError(str(error), where=name) from None
    except ValueError:
        raise InputError("not valid JSON", where=name, hint="wholecurve describe --capture FILE writes one") from None
    if not isinstance(document, Mapping) or document.get("schema") != CAPTURE_SCHEMA:
        hint = "wholecurve describe --capture FILE on each node writes one"
        raise InputError(f"wanted a capture file ({CAPTURE_SCHEMA}), got something else", where=name, hint=hint)
    node = _checked(document.get("node"), _SHAPE, "node", name)
    reasons = document.get("not_captured") or {}
    if not isinstance(reasons, Mapping) or len(reasons) > MOST_ROWS:
        raise InputError("not_captured: wanted an object", where=name)
    checked = {
        _text(key, "not_captured", name): _text(why, f"not_captured.{key}", name) for key, why in reasons.items()
    }
    return Capture(node, checked)


def _checked(value: Any, shape: Any, place: str, name: str) -> Any:
    if isinstance(shape, Mapping):
        return _mapping(value, shape, place, name)
    if value is None:
        return None
    if isinstance(shape, list):
        if not isinstance(value, list) or len(value) > MOST_ROWS:
            raise InputError(f"{place}: wanted a list", where=name)
        return [_mapping(row, shape[0], f"{place}[{at}]", name) for at, row in enumerate(value)]
    if shape is str:
        return _text(value, place, name)
    if type(value) is not shape or (shape is int and not 0 <= value < _MOST):
        raise InputError(f"{place}: wanted {_WORDS[shape]}", where=name)
    return value


def _mapping(value: Any, shape: Mapping[str, Any], place: str, name: str) -> dict[str, Any]:
    """All keys of the shape; those that are not there as null, lists as empty."""
    if not isinstance(value, Mapping):
        raise InputError(f"{place}: wanted an object", where=name)
    for key in value:
        if key not in shape:
            near = get_close_matches(str(key), shape, n=1)
            raise InputError(
                f"{place}: unknown key `{printable(str(key))[:60]}`",
                where=name,
                hint=f"did you mean `{near[0]}`?" if near else f"known: {', '.join(shape)}",
            )
    found = {}
    for key, kind in shape.items():
        inner = value.get(key)
        empty: Any = {} if isinstance(kind, Mapping) else [] if isinstance(kind, list) else None
        found[key] = _checked(empty if inner is None else inner, kind, f"{place}.{key}", name)
        if key == _COUNT and not found[key]:
            raise InputError(f"{place}.{key}: wanted a whole number of at least 1", where=name)
    return found


def _text(value: Any, place: str, name: str) -> str:
    if not isinstance(value, str) or len(value) > MOST_TEXT:
        raise InputError(f"{place}: wanted text of at most {MOST_TEXT} characters", where=name)
    return printable(value)
