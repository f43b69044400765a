"""Reads the shape of Appendix E: sets of identical nodes, a fabric between them, an optional declared total."""

from __future__ import annotations

from typing import Any, Final

from wholecurve.power.sourced import Components, Nics, NodeSet, PowerFile, ScaleOut, ScaleUp, Switch, Units
from wholecurve.power.table import Reading, Table

COMPONENT_SUM: Final = "component_sum"
PUBLISHED: Final = "published_system"
SCALING: Final = "node_scaling"
DECLARED_TDP: Final = "declared_tdp"
BANDWIDTH: Final = "bandwidth_estimate"

COMPUTED_KEYS: Final = (
    "major_components_w",
    "overhead_fraction",
    "other_components_w",
    "published_node_power_w",
    "scale_out_switch_power_w",
    "total_system_power_w",
)


def read_node_sets(data: Any, reading: Reading) -> PowerFile:
    """The file; what is wrong with it is in `reading.problems`, and then the value is not to be used."""
    table = Table(data, "", reading)
    system = table.text("system_desc_id", "which system description this belongs to")
    known = [name for name, row in reading.rules.cooling.items() if not row.assumed]
    cooling = table.word("cooling", known)
    sets = [_node_set(each, reading) for each in table.tables("node_sets", "sets of identical nodes")]
    complete = tuple(each for each in sets if each is not None)
    for number in sorted({each.id for each in complete}):
        if sum(each.id == number for each in complete) > 1:
            table.problem("node_sets", f"wanted each node_set_id once, got {number} more than once")
    scale_out = _scale_out(table, reading)
    declared = table.sourced("declared_provisioned_power", "the provisioned power of the whole system")
    stated, stated_kw, estimated = _derived(table)
    table.say_unknown()
    return PowerFile(
        shape="node_sets",
        system=system,
        cooling=cooling,
        node_sets=complete,
        scale_out=scale_out,
        declared=declared,
        stated=stated,
        stated_kw=stated_kw,
        stated_estimated=estimated,
        notes=tuple(reading.notes),
    )


def _derived(table: Table) -> tuple[dict[str, Any] | None, Any, bool | None]:
    """Figures that the file holds and that the rules derive."""
    stated: dict[str, Any] | None = None
    inner = table.table("computed", "the derived figures", required=False)
    if inner is not None:
        stated = {}
        for key in COMPUTED_KEYS:
            value = inner.number(key, "a derived figure", required=False)
            if value is not None:
                stated[key] = value
        inner.say_unknown()
    stated_kw = table.number("provisioned_power_kw", "kW", required=False)
    estimated = table.flag("mlc_estimated_power", "derived", required=False)
    table.text("notes", "text", required=False)
    return stated, stated_kw, estimated


def _node_set(table: Table, reading: Reading) -> NodeSet | None:
    number = table.count("node_set_id", "its own", least=0)
    ensemble = table.count("system_node_ensemble_id", "the node type of the system description", least=0)
    nodes = table.count("nodes_provisioned", "nodes of this set")
    method = table.word("power_method", reading.rules.methods)
    published = table.sourced("published_power", "the published power", required=method in (PUBLISHED, SCALING))
    rack = table.count("nodes_in_published_rack", "nodes of the published rack", required=method == SCALING)
    if method == SCALING and rack is not None and nodes is not None and rack <= nodes:
        hint = (
            f"a whole rack is one unit: one node with power_method {PUBLISHED} and the rack's power, or a declared "
            f"total (choice {reading.rules.rack_choice})"
            if rack == nodes
            else "split what stands in several racks into a set for each"
        )
        table.problem("nodes_in_published_rack", f"wanted more than the {nodes} nodes provisioned, got {rack}", hint)
    components = table.table("components", "the parts of one node", required=method == COMPONENT_SUM)
    parts = None if components is None else _components(components, reading, required=method == COMPONENT_SUM)
    table.say_unknown()
    if number is None or ensemble is None or nodes is None or not method:
        return None
    return NodeSet(table.place, number, ensemble, nodes, method, published, rack, parts)


def _components(table: Table, reading: Reading, *, required: bool) -> Components:
    combined = table.sourced("combined_cpu_accelerator", "the power of processors and accelerators of one node")
    needed = required and combined is None
    cpu = _units(table, "cpu", "processors", reading, required=needed)
    accelerator = _units(table, "accelerator", "accelerators", reading, required=needed)
    if combined is not None and any(each is not None and each.each is not None for each in (cpu, accelerator)):
        reading.note(f"{table.place}: the combined value counts; that of processors or accelerators is not added")
    scale_up = _scale_up(table, reading, required=required)
    table.say_unknown()
    return Components(cpu, accelerator, combined, scale_up)


def _units(table: Table, name: str, label: str, reading: Reading, *, required: bool) -> Units | None:
    inner = table.table(name, f"the {label} of one node", required=required)
    if inner is None:
        return None
    model = inner.text("model", f"the model of the {label}", required=required)
    count = inner.count("count_per_node", f"{label} installed in one node", least=0)
    each = inner.sourced("tdp_per_unit", f"the power of one of the {label}")
    rated, evidence = None, ""
    capped = inner.table("below_rated_tdp", "that they run below their rated power", required=False)
    if capped is not None:
        rated = capped.number("rated_tdp_w", "W of one, as rated", above_zero=True)
        evidence = capped.text("evidence", "auditable evidence, or the publicly listed mode")
        if rated is not None and each is not None and rated <= each.value:
            capped.problem("rated_tdp_w", f"wanted more than the {float(each.value):g} W used, got {float(rated):g}")
    inner.say_unknown()
    return None if count is None else Units(model, count, each, rated, evidence)


def _scale_up(table: Table, reading: Reading, *, required: bool) -> ScaleUp | None:
    inner = table.table("scale_up_network", "the fabric inside one node, or its method `none`", required=required)
    if inner is None:
        return None
    method = inner.word("method", reading.rules.scale_up_methods)
    by_switch, by_bandwidth = method == DECLARED_TDP, method == BANDWIDTH
    switches = inner.count("switch_count", "switches of one node", required=by_switch, least=0)
    each = inner.sourced("tdp_per_switch", "the power of one switch", required=by_switch)
    bandwidth = inner.number(
        "aggregate_bandwidth_tbps", "terabytes per second of one node's whole fabric, once", required=by_bandwidth
    )
    per_bit = inner.sourced("energy_per_bit_pj", "energy per bit", "pJ", required=by_bandwidth)
    inner.say_unknown()
    return ScaleUp(method, switches, each, bandwidth, per_bit) if method else None


def _scale_out(table: Table, reading: Reading) -> ScaleOut | None:
    inner = table.table("scale_out", "whether a fabric joins nodes: `present` true or false")
    if inner is None or not inner.flag("present", "whether a fabric joins nodes"):
        return None
    hint = ", ".join(reading.rules.cabling)
    cabling = inner.word("cabling", reading.rules.cabling)
    required = inner.number("required_bandwidth_tbps", f"terabits per second that are needed; cabling {hint}")
    nics = inner.table("nics", "the scale-out network cards")
    cards = None if nics is None else _nics(nics)
    switches = [_switch(each) for each in inner.tables("switches", "the scale-out switches")]
    inner.say_unknown()
    if cards is None or required is None or not cabling:
        return None
    return ScaleOut(cabling, required, cards, tuple(each for each in switches if each is not None))


def _nics(table: Table) -> Nics | None:
    per_node = table.count("count_per_node", "scale-out network cards of one node")
    speed = table.number("bandwidth_per_nic_gbps", "gigabits per second of one card", above_zero=True)
    counted = table.flag("counted", "whether the power of the cards is added")
    each = table.sourced("tdp_per_nic", "the power of one card")
    excluded = table.text("excluded_from_published_power", "evidence", required=False)
    table.say_unknown()
    if per_node is None or speed is None or counted is None:
        return None
    return Nics(per_node, speed, counted, each, excluded)


def _switch(table: Table) -> Switch | None:
    model = table.text("model", "the model of the switch")
    count = table.count("count", "switches of this model")
    bandwidth = table.number("bandwidth_tbps", "terabits per second of one switch", above_zero=True)
    each = table.sourced("power_per_switch", "the wall power of one switch")
    table.say_unknown()
    if not model or count is None or bandwidth is None:
        return None
    return Switch(table.place, model, count, bandwidth, each)
