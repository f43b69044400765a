"""A starting `system_power.json` for a system description: counts are filled in, powers and sources are not."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from wholecurve.power.described import NodeType, cooling_words, node_types
from wholecurve.power.node_sets import COMPONENT_SUM
from wholecurve.rules import PowerRules


def template(description: Mapping[str, Any], rules: PowerRules) -> dict[str, Any]:
    """The file in the shape of node sets, one set for each node type. What is null or empty is the submitter's to say.

    `parse_power` rejects it until that is done, with the places. One node has no scale-out network; for several the
    block is there, and `present` false takes its place if the scale-up fabric joins them.
    """
    types = node_types(description)
    rows = description.get("node_types")
    nodes = sum(row.nodes or 1 for row in types)
    return {
        "system_desc_id": str(description.get("system_name") or ""),
        "cooling": _cooling(types, rules),
        "node_sets": [
            _node_set(place, row, raw)
            for place, (row, raw) in enumerate(zip(types, _mappings(rows), strict=True), start=1)
        ],
        "scale_out": {"present": False} if nodes <= 1 else _scale_out(),
    }


def _cooling(types: tuple[NodeType, ...], rules: PowerRules) -> str:
    """The word of the file for the cooling described; empty where none is."""
    found = [rules.cooling_named(text) for text in cooling_words(None, types)]
    known = [row for row in found if row is not None]
    if not known or len(known) < len(types):
        return ""
    most = max(row.overhead for row in known)
    return next((name for name, row in rules.cooling.items() if not row.assumed and row.overhead == most), "")


def _mappings(rows: Any) -> list[Mapping[str, Any]]:
    return [row for row in rows if isinstance(row, Mapping)] if isinstance(rows, list | tuple) else []


def _node_set(place: int, row: NodeType, raw: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "node_set_id": place,
        "system_node_ensemble_id": row.ensemble_id,
        "nodes_provisioned": row.nodes,
        "power_method": COMPONENT_SUM,
        "components": {
            "cpu": {
                "model": raw.get("host_processor_model_name") or "",
                "count_per_node": raw.get("host_processors_per_node"),
                "tdp_per_unit": _empty(),
            },
            "accelerator": {"model": _models(raw), "count_per_node": row.accelerators, **_power_of(row)},
            "scale_up_network": {"method": None if (row.accelerators or 0) > 1 else "none"},
        },
    }


def _power_of(row: NodeType) -> dict[str, Any]:
    return {} if row.accelerators == 0 else {"tdp_per_unit": _empty()}


def _models(raw: Mapping[str, Any]) -> str:
    entries = _mappings(raw.get("accelerator_info"))
    names = [str(each.get("accelerator_model_name") or "") for each in entries]
    return ", ".join(dict.fromkeys(name for name in names if name)) or "none"


def _empty(name: str = "value_w") -> dict[str, Any]:
    return {name: None, "source_type": None, "source": ""}


def _scale_out() -> dict[str, Any]:
    return {
        "present": True,
        "cabling": None,
        "required_bandwidth_tbps": None,
        "nics": {"count_per_node": None, "bandwidth_per_nic_gbps": None, "counted": True, "tdp_per_nic": _empty()},
        "switches": [{"model": "", "count": None, "bandwidth_tbps": None, "power_per_switch": _empty()}],
    }
