"""The running sum of a system's power: what is major, what is published, what stands outside the overhead."""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction

from wholecurve.power.sourced import Sourced
from wholecurve.power.table import is_default


@dataclass(frozen=True, slots=True)
class Part:
    """One addend of the total. watts: of all units together. source: an address, a table of defaults, or a rule."""

    label: str
    watts: float
    source: str
    estimated: bool


@dataclass(frozen=True, slots=True)
class SetPower:
    """The power of one set of nodes with its overhead, exact. accelerators: of one node; None where not known."""

    set_id: int
    ensemble_id: int
    nodes: int
    watts: Fraction
    accelerators: int | None = None


@dataclass(slots=True)
class Tally:
    """What was added until now, in watts.

    may_lack: a declared total replaces the sum, so a value that is missing only leaves it unchecked (`incomplete`).
    """

    overhead: Fraction
    may_lack: bool = False
    basis: str = ""
    major_w: Fraction = Fraction(0)
    published_w: Fraction = Fraction(0)
    switches_w: Fraction = Fraction(0)
    parts: list[Part] = field(default_factory=list)
    sets: list[SetPower] = field(default_factory=list)
    incomplete: list[str] = field(default_factory=list)

    @property
    def other_w(self) -> Fraction:
        """What the overhead adds to the major components."""
        return self.overhead * self.major_w

    @property
    def total_w(self) -> Fraction:
        """The sum of everything."""
        return self.major_w + self.other_w + self.published_w + self.switches_w

    @property
    def estimated(self) -> bool:
        """Whether anything that is in the sum is a default or a proxy."""
        return any(part.estimated for part in self.parts)

    def part(self, label: str, watts: Fraction, source: Sourced) -> None:
        """One addend; one of no power is left out, and then marks nothing as estimated."""
        if watts:
            words = f"default {source.source}" if is_default(source.source_type) else source.source
            self.parts.append(Part(label, float(watts), words, source.estimated))

    def overhead_part(self) -> None:
        """What the overhead adds, as a part of its own."""
        if self.other_w:
            words = f"overhead {float(self.overhead):g} of the rules"
            self.parts.append(Part("other components", float(self.other_w), words, False))
