"""Reads a configuration file: ours, or the MLPerf reference client's, told apart by its root key `endpoint_config`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path as FilePath
from typing import Any

from wholecurve.config.interpolate import interpolate_tree
from wholecurve.config.reference_yaml import from_reference, is_reference
from wholecurve.config.yaml_source import MAX_BYTES, Path, read_yaml
from wholecurve.model.errors import InputError


@dataclass(frozen=True, slots=True)
class ConfigFile:
    """Values in our own vocabulary, not validated yet; where each key was given; what to tell the user.

    Header values are still templates: their variables are put in when the plan is made, so that they never reach a
    file.
    """

    data: Mapping[str, Any] = field(repr=False)
    origins: Mapping[Path, str]
    warnings: tuple[str, ...] = ()


def read_config(path: str, environ: Mapping[str, str]) -> ConfigFile:
    """Raises InputError for a file that is missing, too large, not UTF-8, not YAML, or names an unset variable."""
    file = FilePath(path)
    try:
        with file.open("rb") as stream:
            raw = stream.read(MAX_BYTES + 1)
    except FileNotFoundError:
        raise InputError(
            f"wanted a configuration file, found none at {path}", where="--config", hint="check the path"
        ) from None
    except OSError as error:
        raise InputError(f"cannot read the configuration file: {error.strerror}", where=path) from None
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InputError(f"wanted UTF-8, got other bytes at byte {error.start}", where=path) from None
    return parse_config(text, path, environ)


def parse_config(text: str, name: str, environ: Mapping[str, str]) -> ConfigFile:
    """The same from text; `name` stands in messages."""
    source = read_yaml(text, name)
    if is_reference(source.data):
        data, origins, warnings = from_reference(source, environ)
        return ConfigFile(data, origins, warnings)
    data = interpolate_tree(
        source.data, environ, keep=lambda path: path[:2] == ("endpoint", "headers"), where=source.where
    )
    return ConfigFile(data, {path: f"{name}:{line}" for path, line in source.lines.items()})
