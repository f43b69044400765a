"""The order in which points are measured, so that it does not flatter. Pure.

Rising order would let everything that changes with time look like an effect of load: a server that warms up or heats
up, a machine that others begin to use. So the levels are shuffled with a stated seed, anew for every round of repeats:
a slow change becomes spread between repeats instead of a bend of the curve. A dedicated Offline run is shuffled with
the others: its burst leaves no advantage behind, since every point is salted anew and rests an idle gap, and at the
end of every sweep it would always meet the server at its warmest. An accuracy run belongs to its point and follows it
at once.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from random import Random
from typing import Final

from wholecurve.model.errors import InputError

MOST_TEXT: Final = 40
"""Characters of a slot; no label and no number of repeats comes near it."""


@dataclass(frozen=True, slots=True, order=True)
class Slot:
    """One run that the plan wants: a level's label, and which of its repeats, from 1."""

    label: str
    repeat: int = 1

    def __str__(self) -> str:
        return self.label if self.repeat == 1 else f"{self.label}-{self.repeat}"

    @property
    def folder(self) -> str:
        """Where its run folder lies in the campaign."""
        return f"points/{self.label}" if self.repeat == 1 else f"repeats/{self.label}-{self.repeat}"


def slot_of(text: str) -> Slot:
    """A slot as the plan writes it: `r16`, or `r16-2` for its second run. InputError for anything else."""
    label, dash, repeat = text.partition("-")
    known = label.isalnum() and text.isascii() and len(text) <= MOST_TEXT
    if not known or (dash and not (repeat.isdecimal() and int(repeat) > 1)):
        raise InputError(f"wanted a point such as r16 or r16-2, got {text[:60]!r}")
    return Slot(label, int(repeat) if dash else 1)


def measuring_order(labels: Iterable[str], repeats: int, seed: int) -> tuple[Slot, ...]:
    """All runs of a sweep: every level once, shuffled, then the next round. Equal seeds give equal orders."""
    names = list(labels)
    generator = Random(seed)
    order: list[Slot] = []
    for repeat in range(1, repeats + 1):
        generator.shuffle(names)
        order += [Slot(label, repeat) for label in names]
    return tuple(order)
