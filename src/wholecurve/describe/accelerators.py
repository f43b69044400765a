"""Accelerators by their makers' own tools: which tool, what to ask it, and how to read what it says.

Every reader takes only the named fields of the answer: serial numbers, UUIDs, bus addresses and processes, which some
tools print along, are never looked at. A reader returns None for what it does not understand.
"""

from __future__ import annotations

import csv
import io
import json
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from wholecurve.describe.tree import Run

_MIB: Final = 1 << 20


@dataclass(frozen=True, slots=True)
class Accelerator:
    """One accelerator as its tool describes it. None where it does not say."""

    model: str | None
    memory_bytes: int | None = None
    memory_type: str | None = None
    host_interconnect: str | None = None


@dataclass(frozen=True, slots=True)
class Found:
    """What a tool said: the accelerators, the driver's version, the link between them."""

    accelerators: tuple[Accelerator, ...]
    driver: str | None = None
    interconnect: str | None = None


@dataclass(frozen=True, slots=True)
class Tool:
    """A maker's tool. driver: what its version is called. ask: runs it and reads what it says; None if nothing."""

    name: str
    driver: str
    ask: Callable[[Run], Found | None]


# -- NVIDIA ------------------------------------------------------------------------------------------------------------

NVIDIA_QUERY: Final = (
    "nvidia-smi",
    "--query-gpu=name,memory.total,driver_version,pcie.link.gen.max,pcie.link.width.max",
    "--format=csv,noheader,nounits",
)
NVIDIA_LINKS: Final = ("nvidia-smi", "topo", "-m")
_NVIDIA_MEMORY: Final = re.compile(r"\b(HBM\w*|GDDR\w*|LPDDR\w*)", re.IGNORECASE)


def nvidia(run: Run) -> Found | None:
    """`nvidia-smi`: names, memory, driver, bus; links between cards by its matrix."""
    listed = run(NVIDIA_QUERY)
    found = None if listed is None else nvidia_query(listed)
    if found is None or len(found.accelerators) < 2:
        return found
    return Found(found.accelerators, found.driver, nvidia_links(run(NVIDIA_LINKS) or ""))


def nvidia_query(text: str) -> Found | None:
    """The answer of NVIDIA_QUERY: a line for each card; `[N/A]` and the like are not told."""
    cards, drivers = [], set()
    for row in csv.reader(io.StringIO(text), skipinitialspace=True):
        if len(row) != 5 or _told(row[0]) is None:
            continue
        name, memory, driver, generation, width = (_told(cell) for cell in row)
        kind = _NVIDIA_MEMORY.search(name or "")
        cards.append(Accelerator(name, _mib(memory), kind[1] if kind else None, _pcie(generation, width)))
        drivers.add(driver)
    return Found(tuple(cards), _one(drivers)) if cards else None


def nvidia_links(text: str) -> str | None:
    """The answer of NVIDIA_LINKS: `NV18` between two cards is 18 NVLinks; PCIe where no link is."""
    plain = re.sub(r"\x1b\[[0-9;]*m", "", text)
    rows = [line.split() for line in plain.splitlines() if re.match(r"GPU\d+\s", line)]
    count = len(rows)
    cells = {cell for row in rows for cell in row[1 : count + 1]}
    links = {int(cell[2:]) for cell in cells if re.fullmatch(r"NV\d{1,3}", cell)}
    if links:
        fewest, most = min(links), max(links)
        number = str(most) if fewest == most else f"{fewest} to {most}"
        others = "" if all(re.fullmatch(r"NV\d+|X", cell) for cell in cells) else ", PCIe between some"
        return f"NVLink, {number} links a pair{others}"
    return "PCIe" if count > 1 and cells <= {"X", "PIX", "PXB", "PHB", "NODE", "SYS"} else None


# -- AMD ---------------------------------------------------------------------------------------------------------------

AMD_STATIC: Final = ("amd-smi", "static", "--asic", "--bus", "--driver", "--vram", "--json")
ROCM: Final = ("rocm-smi", "--showproductname", "--showmeminfo", "vram", "--showdriverversion", "--json")


def amd(run: Run) -> Found | None:
    """`amd-smi static` as JSON."""
    listed = run(AMD_STATIC)
    return None if listed is None else amd_static(listed)


def amd_static(text: str) -> Found | None:
    """The answer of AMD_STATIC: a list of cards, in newer versions inside `gpu_data`."""
    data = _json(text)
    rows = data.get("gpu_data") if isinstance(data, Mapping) else data
    cards, drivers = [], set()
    for row in _mappings(rows):
        asic, memory, bus, driver = (_mapping(row.get(name)) for name in ("asic", "vram", "bus", "driver"))
        model = _told(asic.get("market_name"))
        if model is None:
            continue
        size = memory.get("size")
        size = size.get("value") if isinstance(size, Mapping) else re.sub(r" ?MB$", "", str(size))
        generation = re.sub(r"\D", "", str(bus.get("pcie_interface_version") or ""))
        link = _pcie(generation, _told(bus.get("max_pcie_width")))
        cards.append(Accelerator(model, _mib(_told(size)), _told(memory.get("type")), link))
        drivers.add(_told(driver.get("version", driver.get("driver_version"))))
    return Found(tuple(cards), _one(drivers)) if cards else None


def rocm(run: Run) -> Found | None:
    """`rocm-smi` as JSON, for systems without amd-smi."""
    listed = run(ROCM)
    return None if listed is None else rocm_json(listed)


def rocm_json(text: str) -> Found | None:
    """The answer of ROCM: `card0`, `card1`, ... and `system`. Names of keys changed their case between versions."""
    data = _mapping(_json(text))
    cards = []
    for name, row in data.items():
        if not re.fullmatch(r"card\d+", str(name)):
            continue
        fields = {str(key).lower(): value for key, value in _mapping(row).items()}
        model = _told(fields.get("card series")) or _told(fields.get("card model"))
        if model is not None:
            cards.append(Accelerator(model, _whole(fields.get("vram total memory (b)"))))
    driver = _told(_mapping(data.get("system")).get("Driver version"))
    return Found(tuple(cards), driver) if cards else None


# -- Intel, Habana -----------------------------------------------------------------------------------------------------

XPU_LIST: Final = ("xpu-smi", "discovery", "-j")
HABANA_QUERY: Final = ("hl-smi", "-Q", "name,memory.total,driver_version", "-f", "csv,noheader,nounits")


def xpu(run: Run) -> Found | None:
    """`xpu-smi discovery`: a list, then the details of each device."""
    listed = run(XPU_LIST)
    if listed is None:
        return None
    cards, drivers = [], set()
    for row in _mappings(_mapping(_json(listed)).get("device_list")):
        number = _whole(row.get("device_id"))
        details = run((*XPU_LIST[:2], "-d", str(number), "-j")) if number is not None else None
        more = _mapping(_json(details or ""))
        model = _told(row.get("device_name"))
        if model is not None:
            generation, width = _told(more.get("pcie_generation")), _told(more.get("pcie_max_link_width"))
            cards.append(
                Accelerator(model, _whole(more.get("memory_physical_size_byte")), None, _pcie(generation, width))
            )
            drivers.add(_told(more.get("driver_version")))
    return Found(tuple(cards), _one(drivers)) if cards else None


def habana(run: Run) -> Found | None:
    """`hl-smi` as CSV."""
    listed = run(HABANA_QUERY)
    return None if listed is None else habana_query(listed)


def habana_query(text: str) -> Found | None:
    """The answer of HABANA_QUERY: a line for each card."""
    cards, drivers = [], set()
    for row in csv.reader(io.StringIO(text), skipinitialspace=True):
        memory = _mib(_told(re.sub(r" ?MiB$", "", row[1]))) if len(row) == 3 else None
        if memory is not None and _told(row[0]) is not None:
            cards.append(Accelerator(_told(row[0]), memory))
            drivers.add(_told(row[2]))
    return Found(tuple(cards), _one(drivers)) if cards else None


# -- AWS Neuron, Google TPU --------------------------------------------------------------------------------------------

NEURON: Final = ("neuron-ls", "--json-output")
TPU: Final = ("tpu-info",)


def neuron(run: Run) -> Found | None:
    """`neuron-ls` as JSON. The processes that it lists are not read."""
    listed = run(NEURON)
    return None if listed is None else neuron_json(listed)


def neuron_json(text: str) -> Found | None:
    """The answer of NEURON: a list of devices with memory and neighbours; it holds no product name."""
    data = _json(text)
    rows = [row for row in _mappings(_mapping(data).get("mlas", data)) if _whole(row.get("memory_size"))]
    cards = tuple(Accelerator(None, _whole(row.get("memory_size"))) for row in rows)
    linked = any(row.get("connected_to") for row in rows)
    return Found(cards, None, "NeuronLink" if linked else None) if cards else None


def tpu(run: Run) -> Found | None:
    """`tpu-info`: its table of chips."""
    listed = run(TPU)
    return None if listed is None else tpu_table(listed)


def tpu_table(text: str) -> Found | None:
    """The answer of TPU: rows such as `| /dev/vfio/0 | TPU v6e chip | 1 | ... |`, with any kind of line."""
    names = re.findall(r"^[^\w/]*/dev/\S+\s*\W\s*(TPU v\w+)(?: chip)?\s*\W", text, re.MULTILINE)
    return Found(tuple(Accelerator(name) for name in names)) if names else None


TOOLS: Final[tuple[Tool, ...]] = (
    Tool("nvidia-smi", "NVIDIA driver", nvidia),
    Tool("amd-smi", "amdgpu", amd),
    Tool("rocm-smi", "amdgpu", rocm),
    Tool("xpu-smi", "Intel GPU driver", xpu),
    Tool("hl-smi", "Habana driver", habana),
    Tool("neuron-ls", "Neuron driver", neuron),
    Tool("tpu-info", "TPU driver", tpu),
)
"""In the order in which they are asked; the first that knows accelerators answers."""


def grouped(cards: Sequence[Accelerator]) -> list[dict[str, Any]]:
    """Equal accelerators together, as the capture file holds them."""
    counts = Counter(cards)
    return [
        {
            "count": count,
            "model": card.model,
            "memory_bytes": card.memory_bytes,
            "memory_type": card.memory_type,
            "host_interconnect": card.host_interconnect,
        }
        for card, count in counts.items()
    ]


def _told(value: Any) -> str | None:
    """A value as text, unless it is one of the ways of tools to say nothing."""
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        return None
    text = re.sub(r"\s+", " ", str(value)).strip()
    return None if text.strip("[]").lower() in ("", "n/a", "unknown", "not supported", "none", "-") else text


def _whole(value: Any) -> int | None:
    text = _told(value)
    return int(text) if text is not None and text.isascii() and text.isdecimal() and len(text) < 16 else None


def _mib(text: str | None) -> int | None:
    number = _whole(text)
    return None if number is None else number * _MIB


def _pcie(generation: str | None, width: str | None) -> str | None:
    """`PCIe 5.0 x16`; None unless both are numbers."""
    if _whole(generation) is None or _whole(width) is None:
        return None
    return f"PCIe {generation}.0 x{width}"


def _one(values: Iterable[str | None]) -> str | None:
    """All that were told, together."""
    return ", ".join(sorted({value for value in values if value})) or None


def _json(text: str) -> Any:
    """The first JSON value of an answer; some tools print a warning before it. None if there is none."""
    match = re.search(r"[\[{]", text)
    try:
        return json.JSONDecoder().raw_decode(text[match.start() :])[0] if match else None
    except (ValueError, RecursionError):
        return None


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _mappings(value: Any) -> list[Mapping[str, Any]]:
    return [row for row in value if isinstance(row, Mapping)] if isinstance(value, list) else []
