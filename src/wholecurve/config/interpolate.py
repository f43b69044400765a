"""Environment variables in values: `${NAME}`, `${NAME:-default}` and `$$` for one dollar.

In our own files nothing else is special: a lone dollar is a dollar. The MLPerf reference client's files also know
`$NAME` and refuse any other dollar. A variable that is set but empty counts as set, in both.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

from wholecurve.model.errors import InputError

_NAME = r"[A-Za-z_][A-Za-z0-9_]*"
_OWN = re.compile(r"\$\$|\$\{(?P<braced>[^}]*)(?P<end>\}?)")
_REFERENCE = re.compile(rf"\$\$|\$\{{(?P<braced>[^}}]*)(?P<end>\}}?)|\$(?P<bare>{_NAME})|\$")
_BRACED = re.compile(rf"(?P<name>{_NAME})(?::-(?P<default>.*))?", re.DOTALL)


def interpolate(text: str, environ: Mapping[str, str], *, key: str, where: str = "", reference: bool = False) -> str:
    """The text with its variables put in. Raises InputError naming `key` and the variable; never shows a value."""

    def put(match: re.Match[str]) -> str:
        if match[0] == "$$":
            return "$"
        name, default = _parse(match, key, where)
        if name in environ:
            return environ[name]
        if default is None:
            raise InputError(
                f"{key} wants the environment variable {name}, which is not set",
                where=where,
                hint=f"set it, or write ${{{name}:-default}}",
            )
        return default

    return (_REFERENCE if reference else _OWN).sub(put, text)


def _parse(match: re.Match[str], key: str, where: str) -> tuple[str, str | None]:
    """Name and default of one variable."""
    groups = match.groupdict()
    if groups.get("bare"):
        return groups["bare"], None
    inner = _BRACED.fullmatch(groups["braced"] or "")
    if not inner or not groups["end"]:
        raise InputError(
            f"{key}: wanted ${{NAME}} or ${{NAME:-default}}, got a dollar sign that is neither",
            where=where,
            hint="write $$ for one dollar",
        )
    return inner["name"], inner["default"]


def own_template(text: str) -> str:
    """The reference client's `$NAME` written our way, so that a secret can be put in later."""

    def put(match: re.Match[str]) -> str:
        bare = match.groupdict().get("bare")
        return f"${{{bare}}}" if bare else match[0]

    return _REFERENCE.sub(put, text)


def escaped(text: str) -> str:
    """Text that `interpolate` turns back into `text`."""
    return text.replace("$", "$$") if "$$" in text or "${" in text else text


def interpolate_tree(
    value: Any,
    environ: Mapping[str, str],
    *,
    keep: Callable[[tuple[str | int, ...]], bool],
    where: Callable[[tuple[str | int, ...]], str],
    reference: bool = False,
    path: tuple[str | int, ...] = (),
) -> Any:
    """Every string of a tree interpolated, except where `keep(path)` says that it is a template for later."""
    if isinstance(value, str):
        if "$" not in value or keep(path):
            return value
        return interpolate(value, environ, key=dotted(path), where=where(path), reference=reference)
    if isinstance(value, dict):
        return {
            name: interpolate_tree(inner, environ, keep=keep, where=where, reference=reference, path=(*path, name))
            for name, inner in value.items()
        }
    if isinstance(value, list):
        return [
            interpolate_tree(inner, environ, keep=keep, where=where, reference=reference, path=(*path, place))
            for place, inner in enumerate(value)
        ]
    return value


def dotted(path: tuple[str | int, ...]) -> str:
    """`endpoint.urls[0]`."""
    text = ""
    for part in path:
        text += f"[{part}]" if isinstance(part, int) else f".{part}" if text else part
    return text
