"""`exact_match`: the share of rows whose answer is the expected one, after the same extraction of both."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from wholecurve.accuracy.extract import EXTRACTORS
from wholecurve.accuracy.scorer import Answered, Mark, Scored

SHOWN = 200
"""Characters of an answer that a mark keeps."""


def score(answers: Iterable[Answered], options: Mapping[str, Any]) -> Scored:
    """100 * right rows / all rows. A row without an answer is wrong, and so is one whose answer cannot be found.

    `options`: `extract`, a name of `EXTRACTORS`.
    """
    extract = EXTRACTORS[options["extract"]]
    marks = []
    for one in answers:
        wanted = extract(one.expected)
        found = None if one.text is None else extract(one.text)
        correct = found is not None and found == wanted
        marks.append(Mark(one.row, short(wanted or one.expected), None if found is None else short(found), correct))
    right = sum(mark.correct for mark in marks)
    # Whole numbers are divided once, so that 583 of 1,000 is the 58.3 that a bound says, and not a hair below it.
    return Scored({"exact_match": 100 * right / len(marks) if marks else None}, tuple(marks))


def usable(expected: str, options: Mapping[str, Any]) -> bool:
    """Whether there is something to compare in the expected answer."""
    return EXTRACTORS[options["extract"]](expected) is not None


def short(text: str) -> str:
    """The text, or its beginning and how long it is."""
    return text if len(text) <= SHOWN else f"{text[:SHOWN]}… ({len(text):,} characters)"
