"""The table of known pitfalls is complete, and each test it names is there and says which pitfall it is about."""

from __future__ import annotations

import ast
import re
from collections import Counter
from functools import cache
from pathlib import Path

import pytest

from pitfalls import PITFALLS, Later

TESTS = Path(__file__).parent

GROUPS = {
    "SSE": 10, "NET": 11, "TIM": 9, "TOK": 9, "LOD": 9, "WRM": 6, "MT": 10, "DAT": 8, "ACC": 7, "STA": 6, "REP": 10,
    "CLI": 10, "SCL": 7, "SEC": 5, "CMP": 7,
}  # fmt: skip
"""How many there are of each group; they are numbered from 1."""

MEASURING = {"SSE", "NET", "TIM", "TOK", "DAT", "STA", "SEC", "WRM", "SCL"}
"""Groups that measuring one point is about as a whole: none of them may wait."""


@cache
def functions(file: str) -> dict[str, str]:
    """Test functions of a file: name and what is written in it, decorators and comments included."""
    source = (TESTS / file).read_text(encoding="utf-8")
    lines = source.splitlines()
    found = {}
    for node in ast.parse(source).body:
        if isinstance(node, ast.FunctionDef) and node.name.startswith("test_"):
            first = min([node.lineno, *(one.lineno for one in node.decorator_list)])
            found[node.name] = "\n".join(lines[first - 1 : node.end_lineno])
    return found


def says(name: str, text: str, number: str) -> bool:
    """Whether a test is about a pitfall: `NET-1` in its text, or `net_1` in its name (and never `NET-10`)."""
    spelled = number.lower().replace("-", "_")
    in_name = re.search(rf"(?<![a-z]){spelled}(?!\d)", name)
    return bool(in_name or re.search(rf"\b{number}\b", text))


def test_every_pitfall_is_in_the_table_once() -> None:
    wanted = [f"{group}-{number}" for group, count in GROUPS.items() for number in range(1, count + 1)]
    assert len(wanted) == 124
    assert [number for number, count in Counter(row[0] for row in PITFALLS).items() if count > 1] == []
    assert [row[0] for row in PITFALLS] == wanted
    assert len({title for _, title, _ in PITFALLS}) == len(PITFALLS)


@pytest.mark.parametrize(("number", "where"), [(row[0], row[2]) for row in PITFALLS if not isinstance(row[2], Later)])
def test_the_test_is_there_and_names_its_pitfall(number: str, where: str) -> None:
    file, _, name = where.partition("::")
    assert (TESTS / file).is_file(), file
    assert name in functions(file), where
    assert says(name, functions(file)[name], number)


def test_what_waits_waits_for_something_that_is_not_measuring_a_point() -> None:
    waiting = {row[0]: row[2] for row in PITFALLS if isinstance(row[2], Later)}
    assert not [number for number in waiting if number.partition("-")[0] in MEASURING]
    assert set(waiting.values()) == set(Later)


def test_nothing_waits_that_has_a_test() -> None:
    """An entry leaves the waiting list when its test is written."""
    texts = {
        f"{path.name}::{name}": (name, text)
        for path in sorted(TESTS.rglob("test_*.py"))
        if path != Path(__file__)
        for name, text in functions(str(path.relative_to(TESTS))).items()
    }
    both = {
        number: test
        for number, _, where in PITFALLS
        if isinstance(where, Later)
        for test, (name, text) in texts.items()
        if says(name, text, number)
    }
    assert both == {}, "the test is there: write it into the table"
