"""A translation in the making: our values, where each came from in the other file, and warnings said once."""

from __future__ import annotations

from typing import Any

from wholecurve.config.yaml_source import Path, YamlSource


class Translation:
    """Collects values of our vocabulary together with the place in the file that each was read from."""

    def __init__(self, source: YamlSource) -> None:
        self.source = source
        self.data: dict[str, Any] = {}
        self.origins: dict[Path, str] = {(): f"{source.name}:1"}
        self.warnings: list[str] = []

    def put(self, path: Path, value: Any, origin: Path) -> None:
        """Sets a value; None leaves our default."""
        if value is None:
            return
        self.put_null_too(path, value, origin)

    def put_null_too(self, path: Path, value: Any, origin: Path) -> None:
        """Sets a value, and None as such: "no limit"."""
        here = self.data
        for part in path[:-1]:
            here = here.setdefault(str(part), {})
        here[str(path[-1])] = value
        self.origins[path] = self.source.where(origin)

    def warn(self, text: str) -> None:
        """Adds a warning once."""
        if text not in self.warnings:
            self.warnings.append(text)
