"""What a scorer is: answers beside what was expected go in, metrics and a mark for every row come out."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Answered:
    """One row of the data set. `text`: the visible answer, None when none came."""

    row: int
    text: str | None
    expected: str


@dataclass(frozen=True, slots=True)
class Mark:
    """What a scorer made of one row. `extracted`: the answer found in the text, shortened; None if there was none."""

    row: int
    expected: str
    extracted: str | None
    correct: bool


@dataclass(frozen=True, slots=True)
class Scored:
    """`metrics`: 0 to 100, by name; None without any row. `marks`: one for every row, in the order given."""

    metrics: Mapping[str, float | None]
    marks: tuple[Mark, ...]


@dataclass(frozen=True, slots=True)
class Scorer:
    """One scorer. Both functions take its options as the second argument.

    `usable`: whether an expected answer is one that the scorer can compare with.
    """

    name: str
    score: Callable[[Iterable[Answered], Mapping[str, Any]], Scored]
    usable: Callable[[str, Mapping[str, Any]], bool]
