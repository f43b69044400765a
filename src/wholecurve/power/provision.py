"""From a power file to the provisioned power of a system. Source of the model: rules 4.5.2, appendices C to E.

    E3  (1 + overhead) x (processors + accelerators + scale-up + counted cards) + published nodes + scale-out switches
    E1  (1 + overhead) x (processors + accelerators + scale-up) + published nodes

All sums are exact; kW are rounded once. A declared total replaces the sum, which then only checks it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, Final

from wholecurve.power.computed import compare_stated, computed_figures
from wholecurve.power.cooling import overhead_of
from wholecurve.power.described import NodeType, cooling_words, node_types
from wholecurve.power.exact import rounded, shown_kw
from wholecurve.power.problems import reject_if_any
from wholecurve.power.sourced import PowerFile
from wholecurve.power.sum_flat import add_flat
from wholecurve.power.sum_sets import add_node_sets
from wholecurve.power.table import MOST, Reading
from wholecurve.power.tally import Part, SetPower, Tally
from wholecurve.rules import PowerRules

CROSS_CHECK_NOTE: Final = Fraction(1, 1000)
"""A sum that differs from a published figure by more than this share is worth a note."""


@dataclass(frozen=True, slots=True)
class Provisioned:
    """The provisioned power of one system.

    kw: rounded as the rules say. parts: what was added, W. estimated: a default or a proxy reached the total. basis:
    how the figure came about, in words. computed: the derived block of the file. watts, sets, switches_w: exact, for
    the power of a point. declared: a declared total replaced the sum.
    """

    kw: float
    parts: tuple[Part, ...]
    estimated: bool
    basis: str
    notes: tuple[str, ...]
    computed: Mapping[str, float]
    watts: Fraction
    sets: tuple[SetPower, ...]
    switches_w: Fraction
    declared: bool
    rules: PowerRules = field(repr=False)

    @property
    def label(self) -> str | None:
        """How the rules label an estimate; None for a figure that is none."""
        return self.rules.estimated_label if self.estimated else None

    @property
    def exact_kw(self) -> Fraction:
        """kW before rounding: what throughput is divided by (choice C27)."""
        return self.watts / 1000

    @property
    def nodes(self) -> int | None:
        """Nodes provisioned; None where the file does not say."""
        return sum(each.nodes for each in self.sets) if self.sets else None


def provisioned(
    file: PowerFile,
    rules: PowerRules,
    cooling_words: str | Iterable[str] | None = None,
    *,
    description: Mapping[str, Any] | None = None,
) -> Provisioned:
    """The provisioned power. cooling_words: the cooling described, of one or of each node type.

    description: `system_desc.json`; gives the cooling where no words are given, and the cores that defaults of
    processors depend on. Raises PowerRejected, an InputError, with every reason: disagreeing cooling, a value that is
    neither given nor a default, cards or switches that break the rules, derived figures that differ.
    """
    reading = Reading(rules)
    reading.notes += file.notes
    types = node_types(description)
    overhead = overhead_of(file, _cooling(cooling_words, types), reading)
    tally = Tally(overhead, may_lack=file.declared is not None)
    if file.flat is not None:
        add_flat(file.flat, tally, reading)
    else:
        add_node_sets(file, types, tally, reading)
    declared = file.declared
    watts = tally.total_w if declared is None else declared.value
    if watts > MOST:
        reading.problem("", f"wanted a total of at most {MOST:.0e} W, and these parts add up to {float(watts):.3g} W")
    reject_if_any(reading.problems)
    computed = computed_figures(tally)
    compare_stated(file, tally, watts, reading)
    reject_if_any(reading.problems)
    if declared is not None:
        _cross_check(watts, tally, reading)
    estimated = tally.estimated if declared is None else declared.estimated
    if file.stated_estimated is not None and file.stated_estimated != estimated:
        reading.note(f"mlc_estimated_power in the file is not used; it is {str(estimated).lower()}")
    parts = tuple(tally.parts) if declared is None else (_declared_part(file),)
    return Provisioned(
        kw=rounded(watts / 1000, rules.kw_decimals),
        parts=parts,
        estimated=estimated,
        basis=_basis(file, tally),
        notes=tuple(reading.notes),
        computed=computed,
        watts=watts,
        sets=tuple(tally.sets),
        switches_w=tally.switches_w,
        declared=declared is not None,
        rules=rules,
    )


def _cooling(given: str | Iterable[str] | None, types: tuple[NodeType, ...]) -> tuple[str, ...]:
    return cooling_words(given, types)


def _declared_part(file: PowerFile) -> Part:
    assert file.declared is not None
    return Part("declared total", float(file.declared.value), file.declared.source, file.declared.estimated)


def _basis(file: PowerFile, tally: Tally) -> str:
    """How the figure came about, in words."""
    if file.declared is not None:
        return "declared total"
    fraction = f"overhead {float(tally.overhead):g} on major components"
    return f"{tally.basis}; {fraction}" if tally.major_w else tally.basis


def _cross_check(watts: Fraction, tally: Tally, reading: Reading) -> None:
    """How far the sum of parts lies from the declared total: a material difference must be reported, either way."""
    decimals = reading.rules.kw_decimals
    if tally.incomplete:
        reading.note(f"the declared total could not be checked: {'; '.join(tally.incomplete)}")
    elif watts and abs(tally.total_w - watts) > CROSS_CHECK_NOTE * watts:
        share = float((tally.total_w - watts) / watts) * 100
        side = "over" if share > 0 else "under"
        reading.note(
            f"the sum of parts is {shown_kw(tally.total_w, decimals)}, {abs(share):.1f} % {side} the declared "
            f"{shown_kw(watts, decimals)}"
        )
