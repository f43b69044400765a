"""Adds up the flat shape: a stated total, or a part of a rack, or groups of units with the overhead on top."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Final

from wholecurve.power.sourced import Flat, FlatGroup, Sourced
from wholecurve.power.table import Reading
from wholecurve.power.tally import Tally
from wholecurve.rules import PowerRules

_COMPONENT: Final[Mapping[str, tuple[str, ...]]] = {
    "cpu": ("cpu",),
    "accelerator": ("accelerator",),
    "compute": ("cpu", "accelerator"),
    "scale_up_network": ("scale_up",),
    "scale_out_nics": ("counted_scale_out_nics",),
}
"""Which components of the rules a group stands for; switches of the scale-out network are none of the major ones."""

_SWITCHES: Final = "scale_out_network"


def add_flat(flat: Flat, tally: Tally, reading: Reading) -> None:
    """Adds what counts: of several ways the first of total, rack, groups; the others are said to be unused."""
    ways = [name for name, way in (("the total", flat.total), ("the rack", flat.rack), ("groups", flat.groups)) if way]
    if len(ways) > 1:
        reading.note(f"{ways[0]} counts; {' and '.join(ways[1:])} are not used")
    if flat.total is not None:
        tally.basis = "flat shape: stated total"
        _published(tally, "stated total", flat.total.value, flat.total)
    elif flat.rack is not None:
        power, nodes, used = flat.rack
        tally.basis = f"flat shape: {used} of {nodes} nodes of a rack"
        _published(tally, f"{used} of {nodes} nodes of a rack", power.value * used / nodes, power)
    else:
        tally.basis = "flat shape: sum of groups"
        _groups(flat.groups, tally, reading)


def _published(tally: Tally, label: str, watts: Fraction, source: Sourced) -> None:
    tally.published_w += watts
    tally.part(label, watts, Sourced(source.value, source.source_type, source.source or "no source", source.estimated))


def _groups(groups: tuple[FlatGroup, ...], tally: Tally, reading: Reading) -> None:
    names = {group.name for group in groups}
    for group in groups:
        if "compute" in names and group.name in ("cpu", "accelerator"):
            reading.note(f"`compute` counts; `{group.name}` is not added")
            continue
        watts = group.count * group.each_w
        source = Sourced(group.each_w, "publication", group.source or "proxy", estimated=group.proxy)
        if _is_major(group.name, reading.rules):
            tally.major_w += watts
        elif group.name == _SWITCHES and reading.rules.scale_out_switches == "outside_overhead":
            tally.switches_w += watts
        else:
            reading.note(f"{group.label}: {float(watts):g} W reported only; this edition has them inside the overhead")
            continue
        tally.part(group.label, watts, source)
    tally.overhead_part()


def _is_major(name: str, rules: PowerRules) -> bool:
    return name in _COMPONENT and set(_COMPONENT[name]) <= set(rules.major)
