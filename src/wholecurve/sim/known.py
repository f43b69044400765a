"""Questions that a simulated model knows the answer to, right or wrong. Reads a file; everything else is pure."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any

from wholecurve.datasets import load
from wholecurve.model.errors import InputError
from wholecurve.sim.words import WORD_CHARACTERS, message_text

_SALT_LINE = re.compile(r"\s*\[[0-9a-f]{8,128}\]\s+")
_PIECE = re.compile(rf"\s*\S{{1,{WORD_CHARACTERS}}}")
_NO_OTHER = ("none of them", "something else")


@dataclass(frozen=True, slots=True)
class Known:
    """An answer in tokens, as they are sent, and whether it is the right one."""

    pieces: tuple[str, ...]
    right: bool


def answer_pieces(text: str) -> tuple[str, ...]:
    """The tokens of an answer with the white space before them; as many as the engine counts in a prompt."""
    return tuple(_PIECE.findall(text.strip()))


def question_key(text: str) -> str:
    """What two ways to write a question share: a salt line before it and the white space in it do not matter."""
    return " ".join(_SALT_LINE.sub("", text, count=1).split() if _SALT_LINE.match(text) else text.split())


def known_answers(answers: Mapping[str, str], *, wrong_share: float, seed: int) -> dict[str, Known]:
    """By `question_key`. The nearest whole number to `wrong_share` of the questions is answered wrong.

    Which ones, follows from the seed and the question: a wrong answer is the right one to another question.
    """
    by_key = {question_key(question): answer.strip() for question, answer in answers.items()}
    order = sorted(by_key, key=lambda key: _draw(seed, key))
    wrong = set(order[: round(wrong_share * len(order))])
    found = {}
    for place, key in enumerate(order):
        text = by_key[key]
        if key in wrong:
            text = _another(text, [by_key[other] for other in (*order[place + 1 :], *order[:place])])
        found[key] = Known(answer_pieces(text), key not in wrong)
    return found


def read_answers(path: str) -> dict[str, str]:
    """Question -> answer from the columns of a data set: a prompt or messages, and `answer`.

    Raises InputError for a file that cannot be read, a row without a question in text, and two answers to one.
    """
    loaded = load(path, answer="answer")
    found: dict[str, str] = {}
    for sample, answer in zip(loaded.samples, loaded.answers, strict=True):
        question = sample.prompt if sample.messages is None else last_user_text(sample.messages)
        if not question or not question.strip():
            raise InputError("wanted a question in text, got none", where=f"{path}, row {sample.row}")
        if found.setdefault(question, answer) != answer:
            raise InputError("wanted one answer to a question, got another before", where=f"{path}, row {sample.row}")
    return found


def last_user_text(messages: Any) -> str | None:
    """The text of the last message of the user, None without one."""
    for message in reversed(messages):
        if message["role"] == "user":
            return message_text(message.get("content"))
    return None


def _draw(seed: int, key: str) -> bytes:
    return blake2b(f"{seed}:{key}".encode("utf-8", "surrogatepass"), digest_size=8).digest()


def _another(text: str, others: list[str]) -> str:
    """One of the other answers that no comparison can take for `text`."""
    return next(other for other in (*others, *_NO_OTHER) if _bare(other) != _bare(text))


def _bare(text: str) -> str:
    return "".join(letter for letter in text.casefold() if letter.isalnum())
