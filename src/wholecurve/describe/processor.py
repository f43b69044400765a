"""Processors, memory and NUMA nodes of a host, from /proc and /sys; memory modules from the firmware where readable."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from wholecurve.describe.tree import Run, Tree

_CPUS: Final = "sys/devices/system/cpu"
_NODES: Final = "sys/devices/system/node"
_KIB: Final = 1024

ARM_PARTS: Final[Mapping[tuple[int, int], str]] = {
    (0x41, 0xD0C): "Arm Neoverse-N1",
    (0x41, 0xD40): "Arm Neoverse-V1",
    (0x41, 0xD49): "Arm Neoverse-N2",
    (0x41, 0xD4F): "Arm Neoverse-V2",
    (0x41, 0xD84): "Arm Neoverse-V3",
    (0x41, 0xD8E): "Arm Neoverse-N3",
    (0xC0, 0xAC3): "Ampere-1",
    (0xC0, 0xAC4): "Ampere-1a",
}
"""Names of implementer and part number in /proc/cpuinfo, which on Arm holds no name."""


@dataclass(frozen=True, slots=True)
class Processors:
    """Processors of one host. cores: of one processor. threads: of the whole host. None where not told."""

    model: str | None
    sockets: int | None
    cores: int | None
    threads: int | None
    virtual: bool = False


@dataclass(frozen=True, slots=True)
class Module:
    """Memory modules of one kind: how many, bytes of each, kind such as DDR5, transfers in MT/s."""

    count: int
    size_bytes: int
    kind: str
    speed: str


def processors(tree: Tree, run: Run) -> Processors:
    """What the kernel says; `lscpu` only for a name that the kernel does not have."""
    blocks = cpuinfo_blocks(tree.text("proc/cpuinfo") or "")
    flags = f"{blocks[0].get('flags', '')} " if blocks else ""
    sockets, cores, threads = _topology(tree)
    if sockets is None and blocks:
        sockets, cores, threads = _by_cpuinfo(blocks)
    model = _model(blocks)
    if model is None and (listed := run(["lscpu"])):
        model = lscpu_model(listed)
    return Processors(model, sockets, cores, threads, virtual=" hypervisor " in flags)


def cpuinfo_blocks(text: str) -> list[dict[str, str]]:
    """/proc/cpuinfo: one mapping for each logical processor."""
    blocks = []
    for part in re.split(r"\n\s*\n", text):
        fields = (line.partition(":") for line in part.splitlines() if ":" in line)
        block = {name.strip().lower(): value.strip() for name, _, value in fields}
        if "processor" in block:
            blocks.append(block)
    return blocks


def lscpu_model(text: str) -> str | None:
    """The model name in the output of `lscpu`, unless it is a dash."""
    match = re.search(r"^\s*Model name:\s*(\S.*)$", text, re.MULTILINE)
    return match[1].strip() if match and match[1].strip() != "-" else None


def memory_bytes(tree: Tree) -> int | None:
    """MemTotal: what the kernel has; a little less than what is installed."""
    for line in tree.lines("proc/meminfo"):
        match = re.fullmatch(r"MemTotal:\s*(\d{1,15}) kB", line.strip())
        if match:
            return int(match[1]) * _KIB
    return None


def memory_modules(text: str) -> list[Module]:
    """Modules in the output of `dmidecode -t 17`, equal ones together, largest first. Serial numbers are not read."""
    found: Counter[tuple[int, str, str]] = Counter()
    for part in re.split(r"\n\s*\n", text):
        if "Memory Device" not in part:
            continue
        fields = {name.strip(): value.strip() for name, _, value in (x.partition(":") for x in part.splitlines())}
        size = _size_bytes(fields.get("Size", ""))
        if size is None:
            continue
        speed = fields.get("Configured Memory Speed") or fields.get("Speed") or ""
        kind = fields.get("Type", "")
        known = [word if "unknown" not in word.lower() else "" for word in (kind, speed)]
        found[(size, known[0], known[1])] += 1
    rows = [Module(count, *key) for key, count in found.items()]
    return sorted(rows, key=lambda row: (-row.size_bytes, row.kind, row.speed))


def numa_nodes(tree: Tree) -> int | None:
    """How many NUMA nodes have memory or processors; None where the kernel does not tell."""
    return sum(re.fullmatch(r"node\d+", name) is not None for name in tree.names(_NODES)) or None


def words(processor: Processors, memory: int | None, modules: list[Module], numa: int | None) -> dict[str, Any]:
    """The captured facts, as the capture file holds them."""
    rows = [{"count": m.count, "bytes": m.size_bytes, "kind": m.kind, "speed": m.speed} for m in modules]
    return {
        "processor": {
            "model": processor.model,
            "sockets": processor.sockets,
            "cores_per_socket": processor.cores,
            "threads": processor.threads,
            "virtual": processor.virtual,
        },
        "memory": {"bytes": memory, "modules": rows},
        "numa_nodes": numa,
    }


def _topology(tree: Tree) -> tuple[int | None, int | None, int | None]:
    """(sockets, cores of one, threads of all) by the kernel's topology files."""
    packages: dict[int, set[int]] = {}
    threads = 0
    for name in tree.names(_CPUS):
        if not re.fullmatch(r"cpu\d+", name):
            continue
        package = tree.number(f"{_CPUS}/{name}/topology/physical_package_id")
        core = tree.number(f"{_CPUS}/{name}/topology/core_id")
        if package is None or core is None:
            continue
        threads += 1
        packages.setdefault(max(0, package), set()).add(core)
    if not packages:
        return None, None, None
    return len(packages), max(len(cores) for cores in packages.values()), threads


def _by_cpuinfo(blocks: list[dict[str, str]]) -> tuple[int | None, int | None, int | None]:
    packages: dict[str, set[str]] = {}
    for block in blocks:
        if "physical id" in block:
            packages.setdefault(block["physical id"], set()).add(block.get("core id", block["processor"]))
    if not packages:
        return None, None, len(blocks)
    return len(packages), max(len(cores) for cores in packages.values()), len(blocks)


def _model(blocks: list[dict[str, str]]) -> str | None:
    for block in blocks:
        if block.get("model name"):
            return re.sub(r"\s+", " ", block["model name"])
        try:
            key = (int(block["cpu implementer"], 0), int(block["cpu part"], 0))
        except (KeyError, ValueError):
            continue
        if key in ARM_PARTS:
            return ARM_PARTS[key]
    return None


def _size_bytes(text: str) -> int | None:
    match = re.fullmatch(r"(\d{1,9}) (MB|GB|TB|MiB|GiB|TiB)", text)
    if match is None:
        return None
    return int(match[1]) << {"M": 20, "G": 30, "T": 40}[match[2][0]]
