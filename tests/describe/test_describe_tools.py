"""What the makers' tools answer, and what is taken from it."""

from __future__ import annotations

import dataclasses

import pytest
import tool_outputs as outputs
from describe_build import NO_TOOLS, tools

from wholecurve.describe.accelerators import (
    AMD_STATIC,
    HABANA_QUERY,
    NEURON,
    NVIDIA_LINKS,
    NVIDIA_QUERY,
    ROCM,
    TOOLS,
    TPU,
    XPU_LIST,
    Accelerator,
    Found,
    grouped,
    nvidia_links,
)
from wholecurve.describe.tree import Run

GIB = 1 << 30
MIB = 1 << 20
ALL: Run = tools(
    {
        NVIDIA_QUERY: outputs.NVIDIA_H100,
        NVIDIA_LINKS: outputs.NVIDIA_TOPO,
        AMD_STATIC: outputs.AMD_STATIC,
        ROCM: outputs.ROCM,
        XPU_LIST: outputs.XPU_LIST,
        ("xpu-smi", "discovery", "-d", "0", "-j"): outputs.XPU_DEVICE,
        ("xpu-smi", "discovery", "-d", "1", "-j"): outputs.XPU_DEVICE,
        HABANA_QUERY: outputs.HABANA,
        NEURON: outputs.NEURON,
        TPU: outputs.TPU,
    }
)


def ask(name: str, run: Run = ALL) -> Found:
    (tool,) = [tool for tool in TOOLS if tool.name == name]
    found = tool.ask(run)
    assert found is not None
    return found


@pytest.mark.parametrize(
    ("name", "count", "card", "driver", "link"),
    [
        ("nvidia-smi", 8, Accelerator("NVIDIA H100 80GB HBM3", 81559 * MIB, "HBM3", "PCIe 5.0 x16"), "550.54.15",
         "NVLink, 18 links a pair"),
        ("amd-smi", 8, Accelerator("AMD Instinct MI300X", 196592 * MIB, "HBM3", "PCIe 5.0 x16"), "6.8.5", None),
        ("rocm-smi", 2, Accelerator("AMD Instinct MI250X", 68702699520), "6.3.6", None),
        ("xpu-smi", 2, Accelerator("Intel(R) Data Center GPU Max 1550", 128 * GIB, None, "PCIe 5.0 x16"),
         "I915_23.8.20", None),
        ("hl-smi", 8, Accelerator("HL-225", 96 * GIB), "1.16.0-fc3a2b1", None),
        ("neuron-ls", 2, Accelerator(None, 32 * GIB), None, "NeuronLink"),
        ("tpu-info", 2, Accelerator("TPU v6e"), None, None),
    ],
)  # fmt: skip
def test_every_tool(name: str, count: int, card: Accelerator, driver: str | None, link: str | None) -> None:
    found = ask(name)
    assert found.accelerators == (card,) * count
    assert (found.driver, found.interconnect) == (driver, link)
    assert outputs.SECRET not in repr(dataclasses.asdict(found))
    (row,) = grouped(found.accelerators)
    assert row["count"] == count


def test_the_table_has_no_other_tool() -> None:
    assert len(TOOLS) == 7
    assert all(tool.ask(NO_TOOLS) is None for tool in TOOLS)


def test_newer_amd_answers_have_a_key_more() -> None:
    assert ask("amd-smi", tools({AMD_STATIC: outputs.AMD_STATIC_NEW})) == ask("amd-smi")


def test_different_cards_in_one_host() -> None:
    found = ask("nvidia-smi", tools({NVIDIA_QUERY: outputs.NVIDIA_MIXED}))
    assert [card.model for card in found.accelerators] == ["NVIDIA L40S", "NVIDIA A10"]
    assert found.accelerators[1].host_interconnect is None
    assert found.interconnect is None
    assert len(grouped(found.accelerators)) == 2


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (outputs.NVIDIA_TOPO, "NVLink, 18 links a pair"),
        (outputs.NVIDIA_TOPO_PCIE, "PCIe"),
        (outputs.NVIDIA_TOPO_BRIDGE, "NVLink, 4 links a pair, PCIe between some"),
        ("", None),
        ("GPU0\t X \n", None),
        ("GPU0\tX\tQQ\nGPU1\tQQ\tX\n", None),
    ],
)
def test_links_between_nvidia_cards(text: str, words: str | None) -> None:
    assert nvidia_links(text) == words


HOSTILE = [
    "", "\x00\xff", "[" * 50_000, "{}", "[]", "null", '[{"asic": 3}]', '{"card0": "x"}', "a,b,c\n",
    '{"device_list": 1}', '[{"memory_size": -1}]', "No devices were found\n", '{"gpu_data": {"a": 1}}',
    "[N/A], [N/A], [N/A], [N/A], [N/A]\n",
]  # fmt: skip


@pytest.mark.parametrize("answer", HOSTILE)
@pytest.mark.parametrize("tool", TOOLS, ids=lambda tool: tool.name)
def test_answers_that_say_nothing(tool: object, answer: str) -> None:
    assert tool.ask(lambda _argv: answer) is None  # type: ignore[attr-defined]
