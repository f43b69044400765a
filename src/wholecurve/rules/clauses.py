"""What the rules say in words: editions and how they differ, clauses, and choices made where a text is open."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date

from wholecurve.rules.words import Action, Kind, Origin, Scope, Severity


@dataclass(frozen=True, slots=True)
class Edition:
    """One text of the rules. `base`: the edition that this one is written on top of."""

    id: str
    what: str
    source: str
    standing: str
    base: str | None = None
    source_commit: str | None = None
    content_sha256: str | None = None
    no_digest_because: str | None = None
    characters: int | None = None
    captured: date | None = None


@dataclass(frozen=True, slots=True)
class Change:
    """One difference between editions: edition id to what it says, and the clauses that carry it."""

    id: str
    topic: str
    sections: str
    says: Mapping[str, str]
    clauses: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class About:
    """Which rules these are. `official`: whether a result under them can be submitted."""

    title: str
    version_line: str
    official: bool
    default_edition: str
    editions: Mapping[str, Edition]
    changes: Mapping[str, Change]
    tentative_until: date | None = None


@dataclass(frozen=True, slots=True)
class Choice:
    """An unsettled question of the text, and what is done here about it."""

    id: str
    question: str
    choice: str
    sections: str


@dataclass(frozen=True, slots=True)
class Clause:
    """One requirement. `{section.key}` in text and threshold is replaced by the value of the data when loaded."""

    id: str
    text: str
    source: str
    scope: Scope
    severity: Severity
    action: Action
    threshold: str = ""
    origin: Origin = Origin.RULES
    kinds: tuple[Kind, ...] = (Kind.SINGLE_TURN, Kind.AGENTIC)
    divisions: tuple[str, ...] = ()
    choice: str | None = None
