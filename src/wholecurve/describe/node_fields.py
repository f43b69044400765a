"""From captured facts to the fields of a node type in `system_desc.json`. Unknown is left out: never "N/A"."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

_GIB: Final = 1 << 30


def node_fields(node: Mapping[str, Any]) -> dict[str, Any]:
    """Fields of one node, without its number and without memory, which is stated for all nodes together."""
    processor = node["processor"]
    fields: dict[str, Any] = {
        "host_processor_model_name": processor["model"],
        "host_processors_per_node": processor["sockets"],
        **_cores(processor),
        "host_memory_configuration": _modules(node["memory"]["modules"]),
        "host_network_card_count": _cards(node),
        "host_networking": _protocols(node),
        "host_storage_capacity": _capacity(node["disks"]),
        "host_storage_type": _joined(row["kind"] for row in node["disks"]),
        "driver": _driver(node),
        "operating_system": _system(node),
        "filesystem": node["filesystem"],
        "accelerator_info": [_accelerator(row, node) for row in node["accelerators"]] if _known(node) else None,
    }
    return {name: value for name, value in fields.items() if value not in (None, "")}


def _known(node: Mapping[str, Any]) -> bool:
    """Whether the accelerators of a node, or that it has none, are known."""
    return bool(node["accelerators"]) or not node["bus_accelerators"]


def memory_words(size_bytes: int) -> str:
    """`2015 GiB`, as the kernel counts it."""
    return f"{size_bytes / _GIB:.0f} GiB"


def _cores(processor: Mapping[str, Any]) -> dict[str, Any]:
    """Cores of a processor; on a virtual machine, where cores are a fiction, virtual processors."""
    if processor["virtual"]:
        return {"host_processor_vcpu_count": processor["threads"]}
    return {"host_processor_core_count": processor["cores_per_socket"]}


def _modules(rows: Iterable[Mapping[str, Any]]) -> str:
    found = []
    for row in rows:
        size = memory_words(row["bytes"]) if row["bytes"] else ""
        words = [f"{row['count']}x", size, row["kind"], row["speed"]]
        found.append(" ".join(word for word in words if word))
    return _joined(found)


def _cards(node: Mapping[str, Any]) -> str:
    found = []
    for row in node["network_cards"]:
        name = row["model"] or " ".join(word for word in (row["driver"], row["kind"]) if word)
        found.append(" ".join(word for word in (f"{row['count']}x", name, _speed(row["speed_mbit"])) if word))
    if not found:
        ports = node["rdma_ports"]
        found = [" ".join(filter(None, (f"{row['count']}x", row["link_layer"], row["rate"]))) for row in ports]
    return _joined(found)


def _speed(mbit: int | None) -> str:
    if not mbit:
        return ""
    return f"{mbit / 1000:g} Gbit/s" if mbit >= 1000 else f"{mbit} Mbit/s"


def _protocols(node: Mapping[str, Any]) -> str:
    """Ethernet, InfiniBand; Ethernet ports of RDMA devices speak RoCE, unless they are Amazon's."""
    found = [row["kind"] for row in node["network_cards"]]
    for row in node["rdma_ports"]:
        efa = any(card["driver"] == "ena" for card in node["network_cards"])
        found.append({"Ethernet": "EFA" if efa else "RoCE"}.get(row["link_layer"], row["link_layer"]))
    return _joined(found)


def _capacity(rows: Iterable[Mapping[str, Any]]) -> str:
    total = sum(row["count"] * (row["bytes"] or 0) for row in rows)
    if not total:
        return ""
    return f"{total / 1e12:.3g} TB" if total >= 1e12 else f"{total / 1e9:.3g} GB"


def _driver(node: Mapping[str, Any]) -> str | None:
    if node["accelerator_driver"]:
        return str(node["accelerator_driver"])
    return None if node["accelerators"] or node["bus_accelerators"] else "none, there is no accelerator"


def _system(node: Mapping[str, Any]) -> str:
    kernel = f"Linux {node['kernel']}" if node["kernel"] else ""
    return _joined([node["operating_system"] or "", kernel])


def _accelerator(row: Mapping[str, Any], node: Mapping[str, Any]) -> dict[str, Any]:
    memory = row["memory_bytes"]
    fields = {
        "accelerator_model_name": row["model"],
        "accelerators_per_node": row["count"],
        "accelerator_memory_capacity": memory_words(memory) if memory else None,
        "accelerator_memory_type": row["memory_type"],
        "accelerator_interconnect": node["accelerator_interconnect"],
        "accelerator_host_interconnect": row["host_interconnect"],
    }
    return {name: value for name, value in fields.items() if value is not None}


def _joined(words: Iterable[str]) -> str:
    """Different words, in their order."""
    return ", ".join(dict.fromkeys(word for word in words if word))
