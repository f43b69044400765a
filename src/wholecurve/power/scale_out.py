"""The fabric between nodes: cards that count as major components, and switches at wall power outside the overhead."""

from __future__ import annotations

from fractions import Fraction
from typing import Final

from wholecurve.power.defaults import differs, nic_default, switch_default
from wholecurve.power.node_sets import COMPONENT_SUM
from wholecurve.power.sourced import NodeSet, PowerFile, ScaleOut, Sourced, Switch
from wholecurve.power.table import Reading, is_default
from wholecurve.power.tally import Tally
from wholecurve.rules import PowerRules

_PLACE: Final = "scale_out"
_NICS_ARE_MAJOR: Final = "counted_scale_out_nics"
_OUTSIDE: Final = "outside_overhead"
_GBIT_PER_TBIT: Final = 1000


def carries_nics(each: NodeSet, scale_out: ScaleOut, rules: PowerRules) -> bool:
    """Whether cards are added to this set: built by formula, or published without them, as evidence says."""
    if not scale_out.nics.counted or _NICS_ARE_MAJOR not in rules.major:
        return False
    return each.method == COMPONENT_SUM or bool(scale_out.nics.excluded)


def add_nics(each: NodeSet, label: str, scale_out: ScaleOut, tally: Tally, reading: Reading) -> Fraction:
    """Adds the cards of a set as major components; their power with the overhead."""
    nics = scale_out.nics
    source = nics.each
    default = nic_default(reading.rules)
    place = f"{_PLACE}.nics.tdp_per_nic"
    if source is None and default is not None:
        reading.note(f"{place}: none given; the default {default.source}, {float(default.value):g} W each, is used")
        source = default
    if source is None:
        reading.problem(place, "wanted the power of one card with its source, and it is missing")
        return Fraction(0)
    _check_default(place, source, default, reading)
    watts = each.nodes * nics.per_node * source.value
    tally.major_w += watts
    tally.part(f"scale-out cards{label}", watts, source)
    return (1 + tally.overhead) * watts


def add_switches(file: PowerFile, tally: Tally, reading: Reading) -> None:
    """Adds the switches where the edition has them outside the overhead, and holds the fabric to the rules."""
    scale_out = file.scale_out
    nodes = sum(each.nodes for each in file.node_sets)
    if scale_out is None:
        if nodes > 1:
            reading.note("several nodes and no scale-out network: right only if the scale-up fabric joins them")
        return
    _check_fabric(file, scale_out, nodes, reading)
    if nodes == 1:
        reading.note("one node needs no scale-out network; what is declared is counted nevertheless")
    for switch in scale_out.switches:
        source = _switch_source(switch, scale_out.cabling, tally, reading)
        if source is None:
            continue
        watts = switch.count * source.value
        if reading.rules.scale_out_switches == _OUTSIDE:
            tally.switches_w += watts
            tally.part(f"{switch.count} scale-out switch{'es' if switch.count > 1 else ''}", watts, source)
        else:
            reading.note(f"{switch.model}: {float(watts):g} W reported only; this edition has it inside the overhead")


def _check_fabric(file: PowerFile, scale_out: ScaleOut, nodes: int, reading: Reading) -> None:
    """Bandwidth that is needed and offered; cards that must count, and cards that must not."""
    nics = scale_out.nics
    least = Fraction(nodes * nics.per_node) * nics.gbit_per_s / _GBIT_PER_TBIT
    needed = scale_out.required_tbit_per_s
    if needed < least:
        how = f"{nodes} nodes x {nics.per_node} cards x {float(nics.gbit_per_s):g} Gbit/s"
        message = f"wanted at least {float(least):g} Tbit/s ({how}), got {float(needed):g}"
        reading.problem(f"{_PLACE}.required_bandwidth_tbps", message)
    elif needed > least:
        reading.note(f"{float(needed):g} Tbit/s are required, more than the {float(least):g} of all cards")
    offered = sum((each.count * each.tbit_per_s for each in scale_out.switches), Fraction(0))
    if scale_out.switches and offered < max(needed, least):
        message = f"wanted switches of at least {float(max(needed, least)):g} Tbit/s, got {float(offered):g}"
        reading.problem(f"{_PLACE}.switches", message, "add switches")
    if _NICS_ARE_MAJOR not in reading.rules.major:
        return
    formula = any(each.method == COMPONENT_SUM for each in file.node_sets)
    if formula and not nics.counted and nodes > 1:
        message = "wanted true: nodes whose power is built by formula do not have the cards in it yet"
        reading.problem(f"{_PLACE}.nics.counted", message)
    if nics.counted and not formula and not nics.excluded:
        message = "wanted false, or evidence in `excluded_from_published_power`: published power has the cards in it"
        reading.problem(f"{_PLACE}.nics.counted", message)


def _switch_source(switch: Switch, cabling: str, tally: Tally, reading: Reading) -> Sourced | None:
    default = switch_default(switch, cabling, reading.rules)
    place = f"{switch.place}.power_per_switch"
    if switch.each is not None:
        if is_default(switch.each.source_type) and default is None:
            message = f"the rules have no default for {switch.model!r} with {cabling} cabling"
            reading.problem(place, message, "give a public source, or name another switch as reference")
        else:
            _check_default(place, switch.each, default, reading)
        return switch.each
    if default is not None:
        reading.note(f"{place}: none given; the default {default.source}, {float(default.value):g} W each, is used")
    elif tally.may_lack:
        tally.incomplete.append(f"{place}: no power given, and no default")
    else:
        message = f"wanted the wall power of one with its source: no default for {switch.model!r}, {cabling} cabling"
        reading.problem(place, message)
    return default


def _check_default(place: str, stated: Sourced, default: Sourced | None, reading: Reading) -> None:
    if default is not None and is_default(stated.source_type) and differs(stated, default):
        wanted = f"wanted the default, {float(default.value):g} W of {default.source}"
        reading.problem(place, f"{wanted}, got {float(stated.value):g} W of {stated.source}")
