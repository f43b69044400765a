"""Where chat templates run: jinja2's immutable sandbox, as published templates expect it.

Trimmed blocks, loop controls, a `tojson` that does not escape HTML, `raise_exception`, `strftime_now`, and
`generation` blocks (which mark training text and render as their content). Imported when a template is compiled.
"""

from __future__ import annotations

import json
from datetime import datetime
from typing import Any

from jinja2 import nodes
from jinja2.exceptions import TemplateError
from jinja2.ext import Extension, loopcontrols
from jinja2.parser import Parser
from jinja2.sandbox import ImmutableSandboxedEnvironment

__all__ = ["TemplateError", "environment"]


class _GenerationBlocks(Extension):
    """`{% generation %}...{% endgeneration %}` renders as its content."""

    tags = {"generation"}  # noqa: RUF012 - the name and type are jinja2's

    def parse(self, parser: Parser) -> list[nodes.Node]:
        next(parser.stream)
        return parser.parse_statements(("name:endgeneration",), drop_needle=True)


def _tojson(
    value: Any,
    ensure_ascii: bool = False,
    indent: int | None = None,
    separators: tuple[str, str] | None = None,
    sort_keys: bool = False,
) -> str:
    return json.dumps(value, ensure_ascii=ensure_ascii, indent=indent, separators=separators, sort_keys=sort_keys)


def _raise(message: str) -> None:
    raise TemplateError(message)


def _strftime_now(form: str) -> str:
    # The date of the client's machine, as servers use theirs; only templates that print a date ask for it.
    return datetime.now().strftime(form)


def environment() -> ImmutableSandboxedEnvironment:
    """A new environment for templates from outside."""
    made = ImmutableSandboxedEnvironment(
        trim_blocks=True, lstrip_blocks=True, extensions=[_GenerationBlocks, loopcontrols]
    )
    made.filters["tojson"] = _tojson
    made.globals["raise_exception"] = _raise
    made.globals["strftime_now"] = _strftime_now
    return made
