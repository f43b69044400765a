"""Reads a configuration file: ours, or the MLPerf reference client's, told apart by its root key `endpoint_config`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path as FilePath
from typing import Any

from wholecurve.config.interpolate import interpolate_tree
from wholecurve.config.reference_schema import ReferenceConfig
from wholecurve.config.reference_yaml import from_reference, is_reference
from wholecurve.config.schema import Settings
from wholecurve.config.yaml_source import MAX_BYTES, Path, YamlSource, read_yaml
from wholecurve.model.errors import InputError

# Root keys that only one of the two kinds of file has. The reference client's single words (`type`, `timeout`, ...) are
# left out: they may as well be slips of ours.
_OURS = frozenset(Settings.model_fields) - frozenset(ReferenceConfig.model_fields)
_THEIRS = ("endpoint_config", "model_params", "datasets", "settings")


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
    _refuse_mixture(source)
    if is_reference(source.data):
        data, origins, warnings = from_reference(source, environ)
        return ConfigFile(data, origins, warnings)
    data = interpolate_tree(
        source.data, environ, keep=lambda path: path[:2] == ("endpoint", "headers"), where=source.where
    )
    return ConfigFile(data, {path: f"{name}:{line}" for path, line in source.lines.items()})


def _refuse_mixture(source: YamlSource) -> None:
    """Raises InputError for a file with sections of both kinds: neither would be read whole."""
    ours = [name for name in source.data if name in _OURS]
    theirs = [name for name in _THEIRS if name in source.data]
    if ours and theirs:
        listed = [", ".join(f"`{name}`" for name in names) for names in (ours, theirs)]
        fewer = min(theirs, ours, key=len)
        raise InputError(
            f"wanted sections of one kind of file, got {listed[0]} as wholecurve writes them, and {listed[1]} as the "
            "MLPerf reference client does",
            where=source.where((fewer[0],)),
            hint="keep one kind: a file of the reference client has endpoint_config and none of wholecurve's sections",
        )
    if theirs and not is_reference(source.data):
        raise InputError(
            f"wanted a root key `endpoint_config`, which a file of the MLPerf reference client has, got {theirs[0]} "
            "without it",
            where=source.where((theirs[0],)),
            hint="add endpoint_config, or write the file with wholecurve's own keys",
        )
