"""Test case T17 of the rules (section 22): tokens of an answer are those of its text less those of the empty one."""

from __future__ import annotations

import pytest

from wholecurve.tokens import AnswerCounter, ResponseRow, Tokenizer, TokenizerSpec
from wholecurve.tokens.template import compile_templates


def templated(tokenizer: Tokenizer, rendered: str, empty: str) -> Tokenizer:
    """The tokenizer under a template that writes `rendered` for an answer and `empty` for an empty message."""
    source = "{% for m in messages %}{% if m.role == 'assistant' %}{{ ('" + rendered + "' if m.content else '" + empty
    templates = compile_templates({"default": source + "') }}{% endif %}{% endfor %}"}, {}, where="test")
    return Tokenizer(tokenizer.plan, TokenizerSpec(""), tokenizer.backend, templates)


def words(tokenizer: Tokenizer, count: int) -> str:
    """A text of exactly so many tokens."""
    text = " ".join(["the"] * count)
    while tokenizer.count(text) > count:
        text = text.rpartition(" ")[0]
    while tokenizer.count(text) < count:
        text += " the"
    assert tokenizer.count(text) == count
    return text


@pytest.mark.parametrize(("full", "empty", "tokens"), [(142, 9, 133), (5, 9, 0)])
def test_t17_an_answer_is_counted_less_the_empty_message_and_never_below_zero(
    trained: Tokenizer, full: int, empty: int, tokens: int
) -> None:
    counter = AnswerCounter(templated(trained, words(trained, full), words(trained, empty)))
    (found,) = counter.count_many([ResponseRow(text="the", first_text="the")])
    assert found.osl == tokens
