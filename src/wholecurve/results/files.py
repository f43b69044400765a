"""Files in and out: bounded, checked and read as strictly as they were written. No message shows a machine's path."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any, Final

import orjson

from wholecurve.model.errors import InputError, MeasureError
from wholecurve.model.strict_json import dumps_strict
from wholecurve.results.unique_keys import loads_unique

MAX_BYTES: Final = 64 << 20
"""Of one file. A summary of a long run with all its series has less than a tenth of it."""


def place_of(path: Path) -> str:
    """A file as messages name it: its folder and its name."""
    return f"{path.parent.name}/{path.name}" if path.parent.name else path.name


def is_file(path: Path) -> bool:
    """Whether there is a regular file; what cannot be looked at (permissions, a name too long) is none."""
    try:
        return path.is_file()
    except (OSError, ValueError):
        return False


def is_folder(path: Path) -> bool:
    """Whether there is a folder, as is_file."""
    try:
        return path.is_dir()
    except (OSError, ValueError):
        return False


def read_bytes(path: Path) -> bytes:
    """A regular file of at most MAX_BYTES. Raises InputError."""
    try:
        if not is_file(path):
            raise InputError(f"wanted a file {path.name}, found none", where=path.parent.name)
        with path.open("rb") as file:
            data = file.read(MAX_BYTES + 1)
    except OSError as error:
        raise InputError(f"{path.name} cannot be read: {error.strerror}", where=place_of(path)) from None
    if len(data) > MAX_BYTES:
        raise InputError(f"wanted a file of at most {MAX_BYTES >> 20} MiB, got more", where=place_of(path))
    return data


def read_object(path: Path) -> dict[str, Any]:
    """A JSON object. Raises InputError for anything else: NaN, a list, a key twice, text that is no JSON."""
    data = read_bytes(path)
    try:
        found = orjson.loads(data)
        loads_unique(data)
    except orjson.JSONDecodeError as error:
        raise InputError(f"{path.name} is not valid JSON: {error.msg}", where=place_of(path)) from None
    except ValueError as error:  # a key twice, or nested deeper than Python goes
        raise InputError(f"{path.name}: {error}", where=place_of(path)) from None
    if not isinstance(found, dict):
        raise InputError(f"{path.name}: wanted an object, got {type(found).__name__}", where=place_of(path))
    return found


def read_optional(path: Path) -> dict[str, Any] | None:
    """A JSON object, None if there is no such file. Raises InputError as read_object."""
    return read_object(path) if is_file(path) else None


def read_mapping(path: Path) -> dict[str, Any]:
    """A YAML file whose root is a mapping, keys as they are written. Raises InputError with file and line."""
    from wholecurve.config import read_yaml

    try:
        text = read_bytes(path).decode("utf-8")
    except UnicodeDecodeError:
        raise InputError(f"{path.name} is not UTF-8", where=place_of(path)) from None
    return read_yaml(text, place_of(path)).data


def read_journal(path: Path) -> tuple[tuple[dict[str, Any], ...], tuple[str, ...]]:
    """(objects of a file with one a line, what is wrong with it). A torn or damaged line is left out and named."""
    if not is_file(path):
        return (), (f"{path.name} is missing",)
    found: list[dict[str, Any]] = []
    wrong: list[str] = []
    lines = read_bytes(path).split(b"\n")
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            entry = orjson.loads(line)
        except orjson.JSONDecodeError:
            entry = None
        if isinstance(entry, dict):
            found.append(entry)
        else:
            how = "is torn" if number == len(lines) else "is damaged"
            wrong.append(f"{path.name}: line {number} {how} and is left out")
    return tuple(found), tuple(wrong)


def write_strict(path: Path, value: object) -> None:
    """Strict JSON under a temporary name, synced, then renamed. Raises MeasureError with the system's reason."""
    data = dumps_strict(value)
    part = path.with_name(path.name + ".part")
    try:
        part.unlink(missing_ok=True)
        with part.open("xb") as file:  # a link that somebody left under this name is not followed
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        part.replace(path)
    except OSError as error:
        raise MeasureError(f"{path.name} could not be written: {error.strerror}", where=path.parent.name) from None
