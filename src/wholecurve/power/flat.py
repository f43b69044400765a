"""Reads the flat shape of the earlier edition: a total, a part of a rack, or groups of units with a link each.

Its field names: rules facts 11.11 and 11.12. The overhead comes from the file or from the cooling described.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Final

from wholecurve.power.sourced import Flat, FlatGroup, PowerFile, Sourced
from wholecurve.power.table import Reading, Table, default_ids, is_address, shown


@dataclass(frozen=True, slots=True)
class _Kind:
    """What a group is called, and its own names for count and power; `count` and `tdp_per_unit` go for all."""

    label: str
    count: str
    each: str


GROUPS: Final[Mapping[str, _Kind]] = {
    "cpu": _Kind("processors", "num_cpu", "tdp_per_cpu"),
    "accelerator": _Kind("accelerators", "num_accelerator", "tdp_per_accelerator"),
    "compute": _Kind("processors and accelerators", "count", "tdp_per_unit"),
    "scale_up_network": _Kind("scale-up switches", "num_switches", "tdp_per_switch"),
    "scale_out_network": _Kind("scale-out switches", "num_switches", "tdp_per_switch"),
}
NICS: Final = _Kind("scale-out network cards", "num_nics", "tdp_per_nic")
FLAT_KEYS: Final = ("provisioned_power_w", "rack_power_w", *GROUPS)
_TOP: Final = "link"


def read_flat(data: Any, reading: Reading) -> PowerFile:
    """The file; what is wrong with it is in `reading.problems`, and then the value is not to be used."""
    table = Table(data, "", reading)
    source, proxy = _source(table, "the whole", reading, required=False)
    proxies: list[str] = []
    total = _total(table, "provisioned_power_w", source, proxy, reading, proxies)
    rack = _rack(table, source, proxy, reading, proxies)
    groups = tuple(group for name in GROUPS for group in _groups(table, name, reading))
    proxies += [group.label for group in groups if group.proxy]
    names = {group.name for group in groups}
    if groups and not total and not rack and "compute" not in names:
        for name in sorted({"cpu", "accelerator"} - names):
            table.problem(name, f"wanted the group of {GROUPS[name].label} (or `compute` for both), and it is missing")
    if not (groups or total or rack or reading.problems):
        table.problem(FLAT_KEYS[0], "wanted a total, a part of a rack or groups of units, and there is none")
    overhead = table.number("overhead_fraction", "a share of the major components", required=False)
    if overhead is not None and overhead >= 10:
        table.problem("overhead_fraction", f"wanted a share such as 0.3, got {shown(data['overhead_fraction'])}")
    stated_kw = table.number("provisioned_power_kw", "kW", required=False)
    system = table.text("system_desc_id", "the system description", required=False)
    cooling = table.text("cooling", "the cooling", required=False)
    table.text("notes", "text", required=False)
    table.say_unknown()
    flat = Flat(total, rack, groups, overhead, tuple(proxies))
    return PowerFile("flat", system, cooling, flat=flat, stated_kw=stated_kw, notes=tuple(reading.notes))


def _total(table: Table, name: str, source: str, proxy: bool, reading: Reading, proxies: list[str]) -> Sourced | None:
    """A power that is stated as a whole; needs the source at the top of the file."""
    value: Fraction | None = table.number(name, "W", required=False, above_zero=True)
    if value is None:
        return None
    if not source and not proxy:
        _demand_source(table, name, reading)
        return None
    if proxy:
        proxies.append(name)
    return Sourced(value, "publication", source, estimated=proxy)


def _rack(
    table: Table, source: str, proxy: bool, reading: Reading, proxies: list[str]
) -> tuple[Sourced, int, int] | None:
    power = _total(table, "rack_power_w", source, proxy, reading, proxies)
    asked = table.has("rack_power_w")
    nodes = table.count("rack_nodes", "nodes of the whole rack", required=asked)
    used = table.count("submitted_nodes", "nodes of the submission", required=asked)
    if power is None or nodes is None or used is None:
        return None
    if used > nodes:
        table.problem("submitted_nodes", f"wanted at most the {nodes} nodes of the rack, got {used}")
    return power, nodes, used


def _groups(table: Table, name: str, reading: Reading) -> list[FlatGroup]:
    """The group, and for the scale-out network its cards too."""
    inner = table.table(name, f"the {GROUPS[name].label}", required=False)
    if inner is None:
        return []
    found = [_group(inner, name, GROUPS[name], reading)]
    if name == "scale_out_network" and (inner.has(NICS.count) or inner.has(NICS.each)):
        found.append(_group(inner, "scale_out_nics", NICS, reading))
    inner.text("evidence", "evidence", required=False)
    inner.text("model", "the model", required=False)
    inner.say_unknown((NICS.count, NICS.each))
    return [group for group in found if group is not None]


def _group(table: Table, name: str, kind: _Kind, reading: Reading) -> FlatGroup | None:
    count_name = kind.count if table.has(kind.count) or not table.has("count") else "count"
    each_name = kind.each if table.has(kind.each) or not table.has("tdp_per_unit") else "tdp_per_unit"
    count = table.count(count_name, f"how many {kind.label}", least=0)
    each = table.number(each_name, f"W of one of the {kind.label}")
    source, proxy = _source(table, kind.label, reading, required=True)
    if count is None or each is None or not (source or proxy):
        return None
    return FlatGroup(name, kind.label, count, each, source, proxy)


def _source(table: Table, label: str, reading: Reading, *, required: bool) -> tuple[str, bool]:
    """(source, proxy). Without a source the value is a proxy where the edition knows proxies, else a problem."""
    link = table.text("link", "a web address", required=False)
    specification = table.text("public_specification", "a public specification", required=False)
    source = link or specification
    if not source:
        if not reading.rules.proxies:
            if required:
                _demand_source(table, _TOP, reading)
            return "", False
        if required:
            reading.note(f"{label}: no public source, so it is a proxy and the figure an estimate")
        return "", True
    if link and not (is_address(link) or link in default_ids(reading.rules)):
        table.problem("link", f"wanted a web address (http:// or https://), got {shown(link)}")
    return source, link in default_ids(reading.rules)


def _demand_source(table: Table, name: str, reading: Reading) -> None:
    hint = "give `link` or `public_specification`"
    table.problem(name, "wanted a public source of this power, and it is missing", hint)
