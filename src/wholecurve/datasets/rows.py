"""Rows to samples: pure, one row at a time, with the columns already resolved."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from wholecurve.datasets.columns import BODY, BY_NAME, CONTEXT, INPUTS, ColumnMap
from wholecurve.datasets.values import shown
from wholecurve.model.sample import Sample

WHOLE_BELOW = 1 << 53
"""Above this a float of a table no longer holds every whole number."""


@dataclass(frozen=True, slots=True)
class RowReader:
    """Turns the records of one file into samples.

    `inputs` are (target, source) in the order in which they are tried; the first with a value makes the request.
    """

    inputs: tuple[tuple[str, str], ...]
    context: tuple[tuple[str, str], ...]
    body: tuple[tuple[str, str], ...]

    def sample(self, record: Mapping[str, Any], row: int) -> Sample:
        """The sample of one record; `row` counts from 0. Raises ValueError naming the column and what was wanted."""
        given = _present(record, self.inputs)
        if not given:
            wanted = " or ".join(repr(source) for _, source in self.inputs)
            raise ValueError(f"wanted a value in column {wanted}, got nothing")
        target, source = given[0]
        found = _checked(target, source, record[source])
        context = {name: _checked(name, column, record[column]) for name, column in _present(record, self.context)}
        body = {name: _checked(name, column, record[column]) for name, column in _present(record, self.body)}
        return _assembled(row, target, found, context, body)


def row_reader(columns: ColumnMap, *, prefer: str | None = None) -> RowReader:
    """A reader for resolved columns; `prefer` names the input target that is tried first."""
    order = sorted(INPUTS, key=lambda name: name != prefer)
    source = columns.source
    return RowReader(
        tuple((name, source[name]) for name in order if name in source),
        tuple((name, column) for name, column in source.items() if BY_NAME[name].kind == CONTEXT),
        tuple((name, column) for name, column in source.items() if BY_NAME[name].kind == BODY),
    )


def expected_answer(record: Mapping[str, Any], column: str) -> str:
    """The expected answer of a record as text; a whole number of a table (`3.0`) is `3`.

    Raises ValueError naming the column.
    """
    value = record.get(column)
    if isinstance(value, str) and value.strip():
        return value
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, int | float) and math.isfinite(value):
        return str(int(value)) if value == int(value) and abs(value) < WHOLE_BELOW else str(value)
    got = "nothing" if value is None or isinstance(value, str) else shown(value)
    raise ValueError(f"column {column!r}: wanted the expected answer as text or a number, got {got}")


def _missing(value: Any) -> bool:
    # Absent cells of a CSV are empty text; an empty prompt is then reported as a missing one, which it is.
    return value is None or value == ""


def _present(record: Mapping[str, Any], pairs: tuple[tuple[str, str], ...]) -> list[tuple[str, str]]:
    return [(name, column) for name, column in pairs if not _missing(record.get(column))]


def _checked(target: str, source: str, value: Any) -> Any:
    try:
        return BY_NAME[target].check(value)
    except ValueError as error:
        raise ValueError(f"column {source!r}: {error}") from None


def _assembled(row: int, target: str, value: Any, context: dict[str, Any], body: dict[str, Any]) -> Sample:
    system, tools, images = context.get("system"), context.get("tools"), context.get("image")
    if target == "input_ids":
        if system or tools or images:
            named = next(name for name in ("system", "tools", "image") if context.get(name))
            raise ValueError(f"column {named!r}: cannot go along with token ids; wanted a prompt or messages")
        return Sample(row, input_ids=value, body=body)
    if target == "prompt":
        if not images:
            return Sample(row, prompt=value, system=system, tools=tools, body=body)
        value = ({"role": "user", "content": value},)
    if system and value[0]["role"] not in ("system", "developer"):
        value = ({"role": "system", "content": system}, *value)
    return Sample(row, messages=_with_images(value, images) if images else value, tools=tools, body=body)


def _with_images(messages: tuple[Mapping[str, Any], ...], urls: tuple[str, ...]) -> tuple[Mapping[str, Any], ...]:
    """Images as URL parts behind the text of the last message of the user."""
    places = [place for place, message in enumerate(messages) if message["role"] == "user"]
    if not places:
        raise ValueError("column 'image': wanted a message of the user to add the image to, got none")
    message = messages[places[-1]]
    content = message["content"]
    parts = [{"type": "text", "text": content}] if isinstance(content, str) else list(content)
    parts += [{"type": "image_url", "image_url": {"url": url}} for url in urls]
    return (*messages[: places[-1]], {**message, "content": parts}, *messages[places[-1] + 1 :])
