"""Adds up sets of nodes and the fabric between them, with defaults where the rules have them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import Final

from wholecurve.power.defaults import (
    accelerator_default,
    cpu_default,
    cpu_defaults,
    differs,
    fabric_switch_default,
    per_bit_default,
)
from wholecurve.power.described import NodeType
from wholecurve.power.exact import exact, shown_kw
from wholecurve.power.node_sets import BANDWIDTH, COMPONENT_SUM, DECLARED_TDP, PUBLISHED
from wholecurve.power.scale_out import add_nics, add_switches, carries_nics
from wholecurve.power.sourced import Components, NodeSet, PowerFile, ScaleUp, Sourced, Units
from wholecurve.power.table import Reading, is_default
from wholecurve.power.tally import SetPower, Tally

_BITS: Final = 8
_CROSS_CHECK: Final = Fraction(1, 1000)


def add_node_sets(file: PowerFile, types: tuple[NodeType, ...], tally: Tally, reading: Reading) -> None:
    """Adds every set, the cards where they count, and the switches; says what disagrees with the description."""
    by_id = {row.ensemble_id: row for row in types}
    _compare_description(file, by_id, reading)
    several = len(file.node_sets) > 1
    for each in file.node_sets:
        label = f", set {each.id}" if several else ""
        row = by_id.get(each.ensemble_id)
        watts = _add_set(each, label, row.cores if row else None, tally, reading)
        if file.scale_out is not None and carries_nics(each, file.scale_out, reading.rules):
            watts += add_nics(each, label, file.scale_out, tally, reading)
        tally.sets.append(SetPower(each.id, each.ensemble_id, each.nodes, watts, _accelerators(each, row)))
    tally.overhead_part()
    add_switches(file, tally, reading)
    tally.basis = ", ".join(_METHOD_WORDS[method] for method in dict.fromkeys(one.method for one in file.node_sets))


_METHOD_WORDS: Final[Mapping[str, str]] = {
    COMPONENT_SUM: "component sum",
    PUBLISHED: "published node power",
    "node_scaling": "part of a published rack",
}


def _accelerators(each: NodeSet, row: NodeType | None) -> int | None:
    """Accelerators of one node: as the power file counts them, else as the description does."""
    group = each.components.accelerator if each.components else None
    return group.per_node if group is not None else row.accelerators if row is not None else None


def _compare_description(file: PowerFile, by_id: Mapping[int, NodeType], reading: Reading) -> None:
    for each in file.node_sets if by_id else ():
        row = by_id.get(each.ensemble_id)
        if row is None:
            reading.note(f"{each.place}: the system description has no node type {each.ensemble_id}")
            continue
        group = each.components.accelerator if each.components else None
        if group is not None and row.accelerators is not None and group.per_node != row.accelerators:
            reading.note(f"{each.place}: {group.per_node} accelerators a node; described are {row.accelerators}")
        nodes = sum(one.nodes for one in file.node_sets if one.ensemble_id == each.ensemble_id)
        if row.nodes is not None and row.nodes != nodes:
            reading.note(f"node type {each.ensemble_id}: {nodes} nodes provisioned; described are {row.nodes}")


def _add_set(each: NodeSet, label: str, cores: int | None, tally: Tally, reading: Reading) -> Fraction:
    """Power of the set with its overhead. A published figure has its overhead inside."""
    if each.method == COMPONENT_SUM:
        before = tally.major_w
        assert each.components is not None
        for name, watts, source in _node_parts(each, each.components, cores, tally, reading):
            tally.major_w += watts * each.nodes
            tally.part(name + label, watts * each.nodes, source)
        return (1 + tally.overhead) * (tally.major_w - before)
    assert each.published is not None
    if each.method == PUBLISHED:
        watts = each.published.value * each.nodes
        name = f"{each.nodes} published node{'s' if each.nodes > 1 else ''}"
    else:
        assert each.rack_nodes is not None
        watts = each.published.value * each.nodes / each.rack_nodes
        name = f"{each.nodes} of {each.rack_nodes} nodes of a rack"
    tally.published_w += watts
    tally.part(name + label, watts, each.published)
    _cross_check(each, watts, cores, tally.overhead, reading)
    return watts


def _cross_check(each: NodeSet, watts: Fraction, cores: int | None, overhead: Fraction, reading: Reading) -> None:
    """What the formula gives for nodes whose power is published, as a note. Defaults in it mark nothing."""
    if each.components is None or not watts:
        return
    aside, silent = Tally(overhead, may_lack=True), Reading(reading.rules)
    parts = _node_parts(each, each.components, cores, aside, silent)
    formula = (1 + overhead) * each.nodes * sum((part[1] for part in parts), Fraction(0))
    if aside.incomplete or silent.problems or not formula or abs(formula - watts) <= _CROSS_CHECK * watts:
        return
    share = float((formula - watts) / watts) * 100
    side = "over" if share > 0 else "under"
    decimals = reading.rules.kw_decimals
    reading.note(
        f"{each.place}: the formula gives {shown_kw(formula, decimals)}, {abs(share):.1f} % {side} the published "
        f"{shown_kw(watts, decimals)}"
    )


_NodePart = tuple[str, Fraction, Sourced]


def _node_parts(
    each: NodeSet, components: Components, cores: int | None, tally: Tally, reading: Reading
) -> list[_NodePart]:
    """What one node consists of: (label, watts, source). A value that is missing and has no default is a problem."""
    place = f"{each.place}.components"
    parts: list[_NodePart] = []
    if components.combined is not None:
        parts.append(("processors and accelerators", components.combined.value, components.combined))
    else:
        rules = reading.rules
        parts += _units("processors", f"{place}.cpu", components.cpu, lambda one: cpu_default(one, cores, rules),
                        tally, reading)  # fmt: skip
        parts += _units("accelerators", f"{place}.accelerator", components.accelerator,
                        lambda one: accelerator_default(one, rules), tally, reading)  # fmt: skip
    if components.scale_up is not None:
        parts += _scale_up(f"{place}.scale_up_network", components.scale_up, reading)
    return parts


def _units(
    label: str,
    place: str,
    units: Units | None,
    default_of: Callable[[Units], Sourced | None],
    tally: Tally,
    reading: Reading,
) -> list[_NodePart]:
    if units is None or units.per_node == 0:
        return []
    default = default_of(units)
    each = units.each
    if each is None and default is not None:
        reading.note(f"{place}: no power given; the default {default.source}, {float(default.value):g} W each, is used")
        each = default
    if each is None:
        message = f"wanted the power of one with its source: there is no default for {units.model!r}"
        if tally.may_lack:
            tally.incomplete.append(f"{place}: no power given, and no default")
        else:
            reading.problem(f"{place}.tdp_per_unit", message)
        return []
    if is_default(each.source_type):
        _check_default(f"{place}.tdp_per_unit", label, each, default, reading)
    return [(label, units.per_node * each.value, each)]


def _check_default(place: str, label: str, stated: Sourced, default: Sourced | None, reading: Reading) -> None:
    """A value that is called a default must be the default: neither a better nor a worse one has a source."""
    known = label == "processors" and any(exact(watts) == stated.value for watts in cpu_defaults(reading.rules))
    if default is None and known:
        reading.note(f"{place}: whether this default is that of the processor, its name and cores do not tell")
        return
    if default is None:
        reading.problem(place, "the rules have no default for this model", "give a public source")
    elif differs(stated, default):
        wanted = f"wanted the default, {float(default.value):g} W of {default.source}"
        reading.problem(place, f"{wanted}, got {float(stated.value):g} W of {stated.source}")


def _scale_up(place: str, fabric: ScaleUp, reading: Reading) -> list[_NodePart]:
    """Power of the fabric inside one node: switches, or aggregate bandwidth x energy per bit (TB/s x 8 x pJ/bit)."""
    label = "scale-up network"
    if fabric.method == DECLARED_TDP and fabric.each is not None and fabric.switches is not None:
        default = fabric_switch_default(fabric, reading.rules)
        if is_default(fabric.each.source_type) and default is not None and differs(fabric.each, default):
            wanted = f"{float(default.value):g} W of {default.source} for this bandwidth"
            reading.problem(
                f"{place}.tdp_per_switch", f"wanted the default, {wanted}, got {float(fabric.each.value):g} W"
            )
        return [(label, fabric.switches * fabric.each.value, fabric.each)]
    if fabric.method == BANDWIDTH and fabric.per_bit is not None and fabric.tbyte_per_s is not None:
        default = per_bit_default(fabric, reading.rules)
        if is_default(fabric.per_bit.source_type) and default is not None and fabric.per_bit.value != default.value:
            wanted = f"wanted the default, {float(default.value):g} pJ per bit"
            reading.problem(f"{place}.energy_per_bit_pj", f"{wanted}, got {float(fabric.per_bit.value):g}")
        return [(label, fabric.tbyte_per_s * _BITS * fabric.per_bit.value, fabric.per_bit)]
    return []
