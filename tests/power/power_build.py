"""Power files and descriptions for tests, in the words of the file formats."""

from __future__ import annotations

import copy
from typing import Any

from wholecurve.power import Provisioned, parse_power, provisioned
from wholecurve.rules import PowerRules
from wholecurve.rules.load import load_rules

E1: PowerRules = load_rules(edition="E1").power
E3: PowerRules = load_rules(edition="E3").power
LINK = "https://vendor.example/datasheet"


def sourced(watts: float, **more: Any) -> dict[str, Any]:
    return {"value_w": watts, "source_type": "vendor_spec", "source": LINK, **more}


def sourced_kw(kw: Any) -> dict[str, Any]:
    return {"value_kw": kw, "source_type": "publication", "source": LINK}


def default(watts: float, table: str) -> dict[str, Any]:
    return {"value_w": watts, "source_type": "mlc_default", "source": table}


def units(count: int, watts: float | None, model: str = "part") -> dict[str, Any]:
    found: dict[str, Any] = {"model": model, "count_per_node": count}
    return found if watts is None else {**found, "tdp_per_unit": sourced(watts)}


def switches(count: int, watts: float) -> dict[str, Any]:
    return {"method": "declared_tdp", "switch_count": count, "tdp_per_switch": sourced(watts)}


def bandwidth(tbyte_per_s: float, pj_per_bit: float = 5) -> dict[str, Any]:
    energy = {"value_pj": pj_per_bit, "source_type": "publication", "source": LINK}
    return {"method": "bandwidth_estimate", "aggregate_bandwidth_tbps": tbyte_per_s, "energy_per_bit_pj": energy}


def node_set(
    cpu: dict[str, Any], accelerator: dict[str, Any], scale_up: dict[str, Any] | None = None, *, nodes: int = 1
) -> dict[str, Any]:
    parts = {"cpu": cpu, "accelerator": accelerator, "scale_up_network": scale_up or {"method": "none"}}
    return {
        "node_set_id": 1,
        "system_node_ensemble_id": 1,
        "nodes_provisioned": nodes,
        "power_method": "component_sum",
        "components": parts,
    }


def published(kw: Any, nodes: int = 1, *, number: int = 1) -> dict[str, Any]:
    return {
        "node_set_id": number,
        "system_node_ensemble_id": number,
        "nodes_provisioned": nodes,
        "power_method": "published_system",
        "published_power": sourced_kw(kw),
    }


def part_of_rack(kw: Any, nodes: int, rack: int, *, number: int = 1) -> dict[str, Any]:
    return {**published(kw, nodes, number=number), "power_method": "node_scaling", "nodes_in_published_rack": rack}


def fabric(model: str = "SN5610", count: int = 2, *, tbit: float = 51.2, **more: Any) -> dict[str, Any]:
    """Ten nodes with 8 cards of 800 Gbit/s each."""
    return {
        "present": True,
        "cabling": "passive",
        "required_bandwidth_tbps": 64,
        "nics": {"count_per_node": 8, "bandwidth_per_nic_gbps": 800, "counted": False},
        "switches": [{"model": model, "count": count, "bandwidth_tbps": tbit}],
        **more,
    }


def power_file(*sets: dict[str, Any], cooling: str = "air", **more: Any) -> dict[str, Any]:
    return {
        "system_desc_id": "system",
        "cooling": cooling,
        "node_sets": copy.deepcopy(list(sets)),
        "scale_out": {"present": False},
        **more,
    }


def c1() -> dict[str, Any]:
    """Example C.1: two processors of 350 W, eight accelerators of 1000 W, air."""
    return power_file(node_set(units(2, 350, "Intel Xeon 32-Core"), units(8, 1000, "NVIDIA B200")))


def rack() -> dict[str, Any]:
    """Example C.2 as 18 nodes of 4 accelerators, so that points can be scaled: 152.10 kW, liquid."""
    one = node_set(units(2, 350), units(4, 1200, "NVIDIA GB200"), switches(1, 1000), nodes=18)
    return power_file(one, cooling="liquid")


def power_of(data: dict[str, Any], rules: PowerRules = E3, cooling: Any = None, **more: Any) -> Provisioned:
    return provisioned(parse_power(data, rules), rules, cooling, **more)
