"""Environment variables in values, in our syntax and in the reference client's."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wholecurve.config.interpolate import escaped, interpolate, own_template
from wholecurve.model.errors import InputError

ENV = {"A": "x", "EMPTY": "", "DOLLAR": "${A}"}

OWN = [
    ("${A}", "x"),
    ("p-${A}-q${A}", "p-x-qx"),
    ("${MISSING:-d e}", "d e"),
    ("${MISSING:-}", ""),
    ("${A:-d}", "x"),
    ("${EMPTY:-d}", ""),
    ("$A costs 5$", "$A costs 5$"),
    ("$$A", "$A"),
    ("$${A}", "${A}"),
    ("$$$$", "$$"),
    ("${DOLLAR}", "${A}"),
    ("", ""),
]


@pytest.mark.parametrize(("text", "wanted"), OWN)
def test_own(text: str, wanted: str) -> None:
    assert interpolate(text, ENV, key="k") == wanted


REFERENCE = [("$A", "x"), ("$A/${A}", "x/x"), ("$$A", "$A"), ("${MISSING:-$}", "$"), ("a$A-b", "ax-b")]


@pytest.mark.parametrize(("text", "wanted"), REFERENCE)
def test_reference(text: str, wanted: str) -> None:
    assert interpolate(text, ENV, key="k", reference=True) == wanted


def test_unset_names_key_and_variable_and_place() -> None:
    with pytest.raises(InputError) as caught:
        interpolate("${NOPE}", {"SECRET": "s3"}, key="endpoint.model", where="f.yaml:3")
    assert caught.value.lines() == [
        "endpoint.model wants the environment variable NOPE, which is not set",
        "  at f.yaml:3",
        "  set it, or write ${NOPE:-default}",
    ]


@pytest.mark.parametrize("text", ["${", "${A", "${}", "${1A}", "${A-b}", "${A B}"])
def test_malformed(text: str) -> None:
    with pytest.raises(InputError, match=r"wanted \$\{NAME\}"):
        interpolate(text, ENV, key="k")


@pytest.mark.parametrize("text", ["cost 5$", "$ 5", "$1"])
def test_reference_refuses_a_lone_dollar(text: str) -> None:
    with pytest.raises(InputError, match="write"):
        interpolate(text, ENV, key="k", reference=True)


@given(st.text(alphabet="$ {}:-A", max_size=20))
def test_escaped_text_comes_back(text: str) -> None:
    assert interpolate(escaped(text), {}, key="k") == text


def test_reference_template_in_our_syntax() -> None:
    assert own_template("$KEY") == "${KEY}"
    assert own_template("a-${KEY:-d}-$$") == "a-${KEY:-d}-$$"
