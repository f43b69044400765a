"""YAML with places: safe tags only, bounded size and expansion, no duplicate keys, and the line of every key.

`compose` gives nodes, which know their lines; values are built here, so that an alias bomb is counted and refused
before it grows.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import yaml

from wholecurve.model.errors import InputError

MAX_BYTES = 1 << 20
MAX_VALUES = 100_000
MAX_DEPTH = 60

Path = tuple[str | int, ...]

_SCALARS = {
    f"tag:yaml.org,2002:{name}" for name in ("null", "bool", "int", "float", "str", "timestamp", "value", "merge")
}


@dataclass(frozen=True, slots=True)
class YamlSource:
    """Plain values, and the line (from 1) where each of them stands."""

    name: str
    data: dict[str, Any]
    lines: dict[Path, int]

    def where(self, path: Path) -> str:
        """`file:line` of a path, or of the nearest parent that has a line."""
        while path not in self.lines and path:
            path = path[:-1]
        return f"{self.name}:{self.lines.get(path, 1)}"


def read_yaml(text: str, name: str) -> YamlSource:
    """Parses one YAML document whose root is a mapping. Raises InputError with file and line."""
    if len(text.encode("utf-8", "surrogatepass")) > MAX_BYTES:
        raise InputError(f"wanted a file of at most {MAX_BYTES >> 20} MiB of settings, got more", where=name)
    try:
        loader = yaml.SafeLoader(text)
        node = loader.get_single_node()
        builder = _Builder(loader, name)
        data = {} if node is None else builder.value(node, ())
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        place = f"{name}:{mark.line + 1}" if mark else name
        raise InputError(f"not valid YAML: {error.problem or error.context}", where=place) from None
    except yaml.YAMLError as error:
        raise InputError(f"not valid YAML: {str(error).splitlines()[0]}", where=name) from None
    except RecursionError:
        raise InputError(f"wanted at most {MAX_DEPTH} levels of nesting, got more", where=name) from None
    if not isinstance(data, dict):
        raise InputError(f"wanted a mapping of `key: value` lines, got {type(data).__name__}", where=f"{name}:1")
    return YamlSource(name, data, builder.lines)


class _Builder:
    """Builds plain values from nodes and counts them."""

    def __init__(self, loader: yaml.SafeLoader, name: str) -> None:
        self.loader = loader
        self.name = name
        self.lines: dict[Path, int] = {}
        self.count = 0

    def value(self, node: yaml.Node, path: Path) -> Any:
        line = node.start_mark.line + 1
        self.lines.setdefault(path, line)
        self.count += 1
        if self.count > MAX_VALUES or len(path) > MAX_DEPTH:
            raise InputError(
                f"wanted at most {MAX_VALUES} values, {MAX_DEPTH} levels deep, with aliases expanded; got more",
                where=f"{self.name}:{line}",
            )
        if isinstance(node, yaml.MappingNode):
            return self.mapping(node, path)
        if isinstance(node, yaml.SequenceNode):
            self.plain(node, "seq")
            return [self.value(inner, (*path, place)) for place, inner in enumerate(node.value)]
        return self.scalar(node, line)

    def scalar(self, node: yaml.Node, line: int) -> Any:
        if node.tag not in _SCALARS:
            raise InputError(f"wanted a plain value, got one tagged {node.tag}", where=f"{self.name}:{line}")
        if node.tag.endswith((":timestamp", ":value", ":merge")):
            return node.value
        try:
            return self.loader.construct_object(node)
        except ValueError:
            raise InputError(f"not a number: {node.value[:60]}", where=f"{self.name}:{line}") from None

    def plain(self, node: yaml.Node, kind: str) -> None:
        """Refuses a tag that asks for more than a plain list or mapping."""
        if node.tag != f"tag:yaml.org,2002:{kind}":
            where = f"{self.name}:{node.start_mark.line + 1}"
            raise InputError(f"wanted a plain value, got one tagged {node.tag}", where=where)

    def mapping(self, node: yaml.MappingNode, path: Path) -> dict[str, Any]:
        self.plain(node, "map")
        own: dict[str, Any] = {}
        merged: dict[str, Any] = {}
        for key_node, value_node in node.value:
            line = key_node.start_mark.line + 1
            if not isinstance(key_node, yaml.ScalarNode):
                raise InputError("wanted text as a key", where=f"{self.name}:{line}")
            if key_node.tag == "tag:yaml.org,2002:merge":
                merged = self.merged(value_node, path) | merged
                continue
            # The text as it was written: YAML would read the key `on` as true, and `50256` as a number.
            name = str(key_node.value)
            if name in own:
                first = self.lines[(*path, name)]
                raise InputError(f"the key `{name}` is given twice, first on line {first}", where=f"{self.name}:{line}")
            self.lines[(*path, name)] = line
            own[name] = self.value(value_node, (*path, name))
        return merged | own

    def merged(self, node: yaml.Node, path: Path) -> dict[str, Any]:
        """The value of a `<<` key: a mapping, or a list of them of which the first wins."""
        parts = node.value if isinstance(node, yaml.SequenceNode) else [node]
        found: dict[str, Any] = {}
        for part in parts:
            if not isinstance(part, yaml.MappingNode):
                raise InputError("wanted a mapping after `<<`", where=f"{self.name}:{node.start_mark.line + 1}")
            self.count += 1
            # Merged keys stand elsewhere; an own key of the same name must not find its line taken.
            own_lines, self.lines = self.lines, {}
            values = self.value(part, path)
            self.lines = own_lines
            found = values | found
        return found
