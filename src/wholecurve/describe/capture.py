"""One host captured: what can be read without installing anything and without root, and why the rest is not there.

Never captured: names of hosts and people, addresses, serial numbers, UUIDs, paths, processes.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from wholecurve.describe.accelerators import TOOLS, Found, Tool, grouped
from wholecurve.describe.devices import bus_accelerators, disks, filesystem, network_cards, rdma_ports
from wholecurve.describe.processor import memory_bytes, memory_modules, numa_nodes, processors, words
from wholecurve.describe.tree import Run, Tree, run_tool

CAPTURE_SCHEMA: Final = "wholecurve.capture/1"
MODULES: Final = ("dmidecode", "-t", "17")

_CONTAINER_FILES: Final[Mapping[str, str]] = {".dockerenv": "docker", "run/.containerenv": "podman"}
_CONTAINER_WORDS: Final = re.compile(r"(docker|kubepods|containerd|crio|lxc|garden|podman|libpod)")
_NEURON_NAME: Final = "sys/devices/virtual/neuron_device/neuron0/info/architecture/device_name"


@dataclass(frozen=True, slots=True)
class Capture:
    """node: the facts of one host, as the capture file holds them. not_captured: field of the description to why."""

    node: Mapping[str, Any]
    not_captured: Mapping[str, str]


def capture(root: Path = Path("/"), run: Run = run_tool, *, model_path: str | None = None) -> Capture:
    """Captures the host whose files lie below `root`, with `run` for vendors' tools.

    model_path: where the model's files are; only the type of the file system there is kept. Takes a second or so, at
    most 10 s for each tool that hangs. Raises nothing for what is missing: it is said in `not_captured`.
    """
    tree = Tree(root)
    reasons: dict[str, str] = {}
    modules = memory_modules(run(MODULES) or "")
    if not modules:
        reasons["host_memory_configuration"] = "dmidecode is not there, or the firmware's list is for root only"
    facts = words(processors(tree, run), memory_bytes(tree), modules, numa_nodes(tree))
    facts |= _accelerators(tree, run, reasons)
    facts["network_cards"] = network_cards(tree)
    facts["rdma_ports"] = rdma_ports(tree)
    facts["disks"] = disks(tree)
    facts["filesystem"] = filesystem(tree, model_path) if model_path else None
    if facts["filesystem"] is None:
        why = "the path is in no mounted file system" if model_path else "give --model-path to have it looked up"
        reasons["filesystem"] = why
    facts["operating_system"] = _system_name(tree)
    facts["kernel"] = _kernel(tree)
    facts["container"] = _container(tree)
    return Capture(facts, reasons)


def capture_document(captured: Capture, version: str) -> dict[str, Any]:
    """The capture file. version: of this program."""
    return {
        "schema": CAPTURE_SCHEMA,
        "tool": f"wholecurve {version}",
        "node": dict(captured.node),
        "not_captured": dict(captured.not_captured),
    }


def _accelerators(tree: Tree, run: Run, reasons: dict[str, str]) -> dict[str, Any]:
    """What the first tool that knows accelerators says; else what the bus holds, and which tool would know more."""
    for tool in TOOLS:
        found = tool.ask(run)
        if found is not None:
            return _found(tool, found, tree, reasons)
    seen = bus_accelerators(tree)
    if seen:
        makers = ", ".join(f"{row['count']} {row['vendor']}" for row in seen)
        why = f"no vendor's tool answered; the bus holds {makers}"
        for field in ("accelerator_model_name", "accelerators_per_node", "accelerator_memory_capacity", "driver"):
            reasons[field] = why
    driver = _kernel_driver(tree)
    return {
        "accelerators": [],
        "bus_accelerators": seen,
        "accelerator_driver": driver,
        "accelerator_interconnect": None,
        "accelerator_tool": None,
    }


def _found(tool: Tool, found: Found, tree: Tree, reasons: dict[str, str]) -> dict[str, Any]:
    rows = grouped(found.accelerators)
    for row in rows:
        if row["model"] is None and tool.name == "neuron-ls":
            row["model"] = tree.text(_NEURON_NAME)
    if any(row["memory_type"] is None for row in rows):
        reasons["accelerator_memory_type"] = f"{tool.name} does not say"
    if any(row["host_interconnect"] is None for row in rows):
        reasons["accelerator_host_interconnect"] = f"{tool.name} does not say"
    if found.interconnect is None and len(found.accelerators) > 1:
        reasons["accelerator_interconnect"] = f"{tool.name} does not say"
    if found.driver is None:
        reasons["driver"] = f"{tool.name} does not say"
    return {
        "accelerators": rows,
        "bus_accelerators": [],
        "accelerator_driver": f"{tool.driver} {found.driver}" if found.driver else None,
        "accelerator_interconnect": found.interconnect,
        "accelerator_tool": tool.name,
    }


def _kernel_driver(tree: Tree) -> str | None:
    """The version of a loaded accelerator driver that shows itself without a tool."""
    match = re.search(r"Kernel Module(?: for \w+)?\s+(\d[\d.]+)", tree.text("proc/driver/nvidia/version") or "")
    if match:
        return f"NVIDIA driver {match[1]}"
    version = tree.text("sys/module/amdgpu/version")
    return f"amdgpu {version}" if version else None


def _system_name(tree: Tree) -> str | None:
    for name in ("etc/os-release", "usr/lib/os-release"):
        fields = dict(line.partition("=")[::2] for line in tree.lines(name) if "=" in line)
        text = fields.get("PRETTY_NAME") or fields.get("NAME") or ""
        if text.strip("\"'"):
            return text.strip("\"'")
    return None


def _kernel(tree: Tree) -> str | None:
    """The kernel's release. Of /proc/version only that word: the rest says who built it and where."""
    match = re.match(r"Linux version (\S+)", tree.text("proc/version") or "")
    return tree.text("proc/sys/kernel/osrelease") or (match[1] if match else None)


def _container(tree: Tree) -> str | None:
    """The kind of container that this runs in; None if nothing hints at one."""
    for name, kind in _CONTAINER_FILES.items():
        if tree.exists(name):
            return kind
    for name in ("proc/1/cgroup", "proc/self/cgroup"):
        match = _CONTAINER_WORDS.search(tree.text(name) or "")
        if match:
            return match[1]
    return None
