"""The overhead on major components: from the cooling that the file states, held against the cooling described."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Final

from wholecurve.model.plain_text import printable
from wholecurve.power.sourced import PowerFile
from wholecurve.power.table import Reading, shown
from wholecurve.rules import Cooling, PowerRules

_MIXED: Final = "mixed"
_PASSIVE: Final = "passive"


def overhead_of(file: PowerFile, words: Sequence[str], reading: Reading) -> Fraction:
    """The fraction. words: the cooling of each node type, as described; none known: the file's own word counts.

    What disagrees is a problem in `reading`; what the rules leave open (mixed, passive) is a note.
    """
    described = _described(words, reading)
    if file.flat is not None:
        return _flat_overhead(file, described, reading)
    stated = reading.rules.cooling.get(file.cooling)
    if stated is None:
        return Fraction(0)
    if described is not None and described.overhead != stated.overhead:
        reading.problem(
            "cooling",
            f"wanted the cooling described ({described.id}: {_words(words)}), got {file.cooling}",
            "say the same in both files",
        )
    return stated.overhead


def _flat_overhead(file: PowerFile, described: Cooling | None, reading: Reading) -> Fraction:
    assert file.flat is not None
    own = _described([file.cooling], reading) if file.cooling else None
    if own is not None and described is not None and own.overhead != described.overhead:
        reading.problem("cooling", f"wanted the cooling described ({described.id}), got {shown(file.cooling)}")
    if file.flat.overhead is not None:
        row = described or own
        if row is not None and not row.assumed and row.overhead != file.flat.overhead:
            wanted = f"wanted {float(row.overhead):g} ({row.id} cooling), got {float(file.flat.overhead):g}"
            reading.problem("overhead_fraction", wanted)
        return file.flat.overhead
    row = described or own
    if row is not None:
        return row.overhead
    if file.flat.groups and not (file.flat.total or file.flat.rack):
        hint = "give `overhead_fraction`, or `cooling` in the system description"
        reading.problem("overhead_fraction", "wanted the overhead or the cooling, and neither is known", hint)
    return Fraction(0)


def _described(words: Sequence[str], reading: Reading) -> Cooling | None:
    """The row of the rules for what is described. Node types that differ are mixed."""
    rows: dict[str, Cooling] = {}
    for text in words:
        row = reading.rules.cooling_named(text)
        if row is None:
            known = ", ".join(word for each in reading.rules.cooling.values() for word in each.words)
            reading.note(f"cooling {shown(text)} names none of: {known}")
        else:
            rows[row.id] = row
    if not rows:
        return None
    row = next(iter(rows.values())) if len(rows) == 1 else _mixed(reading.rules, rows)
    if row.assumed:
        ask = "; the rules state no fraction for it: ask the benchmark's group" if row.id == _PASSIVE else ""
        choice = f" (choice {row.choice})" if row.choice else ""
        reading.note(f"{row.id} cooling is counted with an overhead of {float(row.overhead):g}, as air{choice}{ask}")
    return row


def _mixed(rules: PowerRules, rows: dict[str, Cooling]) -> Cooling:
    return rules.cooling.get(_MIXED) or max(rows.values(), key=lambda row: row.overhead)


def _words(words: Sequence[str]) -> str:
    return printable(", ".join(dict.fromkeys(words)))[:80]
