"""Hosts captured from fixture trees, and this one."""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from typing import Any

import pytest
import tool_outputs as outputs
from describe_build import (
    H100_TOOLS,
    NO_TOOLS,
    PRIVATE,
    cpu_capture,
    cpu_files,
    gpu_capture,
    gpu_server,
    make_tree,
    tools,
)

from wholecurve.describe import capture, capture_document, read_capture, run_tool
from wholecurve.describe.accelerators import NEURON, NVIDIA_QUERY
from wholecurve.describe.node_fields import node_fields
from wholecurve.describe.processor import memory_modules
from wholecurve.describe.tree import Tree
from wholecurve.model.errors import InputError
from wholecurve.model.strict_json import dumps_strict


def test_a_gpu_server(tmp_path: Path) -> None:
    captured = gpu_capture(tmp_path)
    assert captured.node["processor"] == {
        "model": "Intel(R) Xeon(R) Platinum 8468",
        "sockets": 2,
        "cores_per_socket": 48,
        "threads": 192,
        "virtual": False,
    }
    assert captured.node["numa_nodes"] == 2
    assert captured.node["filesystem"] == "nfs4"
    assert captured.node["container"] is None
    assert captured.not_captured == {}
    fields = node_fields(captured.node)
    assert fields == {
        "host_processor_model_name": "Intel(R) Xeon(R) Platinum 8468",
        "host_processors_per_node": 2,
        "host_processor_core_count": 48,
        "host_memory_configuration": "24x 96 GiB DDR5 4800 MT/s",
        "host_network_card_count": "2x Mellanox Technologies MT2910 Family [ConnectX-7] 400 Gbit/s, "
        "1x bnxt_en Ethernet 25 Gbit/s",
        "host_networking": "InfiniBand, Ethernet",
        "host_storage_capacity": "15.4 TB",
        "host_storage_type": "NVMe SSD",
        "driver": "NVIDIA driver 550.54.15",
        "operating_system": "Ubuntu 22.04.5 LTS, Linux 6.8.0-45-generic",
        "filesystem": "nfs4",
        "accelerator_info": [
            {
                "accelerator_model_name": "NVIDIA H100 80GB HBM3",
                "accelerators_per_node": 8,
                "accelerator_memory_capacity": "80 GiB",
                "accelerator_memory_type": "HBM3",
                "accelerator_interconnect": "NVLink, 18 links a pair",
                "accelerator_host_interconnect": "PCIe 5.0 x16",
            }
        ],
    }


def test_nothing_private_is_captured(tmp_path: Path) -> None:
    text = json.dumps(capture_document(gpu_capture(tmp_path), "1"))
    assert "H100" in text
    assert [word for word in (*PRIVATE, str(tmp_path), "nvme0n1", "eth0", "mlx5_0") if word in text] == []


def test_without_the_makers_tool_the_bus_tells_what_is_missed(tmp_path: Path) -> None:
    files = {f"sys/bus/pci/devices/0000:{n}:00.0/{name}": text for n in range(8)
             for name, text in (("vendor", "0x10de\n"), ("device", "0x2330\n"), ("class", "0x030200\n"))}  # fmt: skip
    files["sys/bus/pci/devices/0000:99:00.0/vendor"] = "0x8086\n"
    files["sys/bus/pci/devices/0000:99:00.0/class"] = "0x030000\n"
    files["proc/driver/nvidia/version"] = (
        "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  570.86.10  Release\n"
    )
    captured = gpu_capture(tmp_path, NO_TOOLS, **files)
    model = "NVIDIA Corporation GH100 [H100 SXM5 80GB]"
    assert captured.node["bus_accelerators"] == [{"count": 8, "vendor": "NVIDIA", "model": model}]
    assert captured.not_captured["accelerator_model_name"] == "no vendor's tool answered; the bus holds 8 NVIDIA"
    assert "host_memory_configuration" in captured.not_captured
    fields = node_fields(captured.node)
    assert "accelerator_info" not in fields
    assert fields["driver"] == "NVIDIA driver 570.86.10"


def test_a_virtual_machine_without_accelerators(tmp_path: Path) -> None:
    fields = node_fields(cpu_capture(tmp_path).node)
    assert fields["host_processor_vcpu_count"] == 8
    assert "host_processor_core_count" not in fields
    assert fields["accelerator_info"] == []
    assert fields["driver"] == "none, there is no accelerator"
    assert "N/A" not in json.dumps(fields)


@pytest.mark.parametrize(
    ("files", "answers", "model"),
    [
        ({"proc/cpuinfo": "processor\t: 0\nCPU implementer\t: 0x41\nCPU part\t: 0xd4f\n"}, {}, "Arm Neoverse-V2"),
        ({"proc/cpuinfo": "processor\t: 0\nCPU implementer\t: 0x99\nCPU part\t: 0x1\n"},
         {("lscpu",): "Architecture: aarch64\nModel name:            Somebody's Core\n"}, "Somebody's Core"),
        ({}, {("lscpu",): "Model name: -\n"}, None),
        ({}, {}, None),
    ],
)  # fmt: skip
def test_names_of_processors(tmp_path: Path, files: dict[str, str], answers: Any, model: str | None) -> None:
    assert capture(make_tree(tmp_path, files), tools(answers)).node["processor"]["model"] == model


def test_cpuinfo_alone_tells_sockets(tmp_path: Path) -> None:
    files = {"proc/cpuinfo": cpu_files(2, 4, "X")["proc/cpuinfo"].replace("flags", "core id\t: 0\nflags")}
    found = capture(make_tree(tmp_path, files), NO_TOOLS).node["processor"]
    assert (found["sockets"], found["threads"]) == (2, 16)


def test_neuron_devices_get_their_name_from_the_kernel(tmp_path: Path) -> None:
    name = "sys/devices/virtual/neuron_device/neuron0/info/architecture/device_name"
    captured = gpu_capture(tmp_path, tools({NEURON: outputs.NEURON}), **{name: "Trainium1\n"})
    assert node_fields(captured.node)["accelerator_info"][0]["accelerator_model_name"] == "Trainium1"
    assert captured.not_captured["driver"] == "neuron-ls does not say"


@pytest.mark.parametrize(
    ("files", "kind"),
    [
        ({".dockerenv": ""}, "docker"),
        ({"run/.containerenv": ""}, "podman"),
        ({"proc/1/cgroup": "0::/kubepods.slice/kubepods-burstable.slice/x\n"}, "kubepods"),
        ({"proc/1/cgroup": "0::/init.scope\n"}, None),
    ],
)
def test_containers(tmp_path: Path, files: dict[str, str], kind: str | None) -> None:
    assert capture(make_tree(tmp_path, files), NO_TOOLS).node["container"] == kind


def test_an_empty_host_says_so_and_raises_nothing(tmp_path: Path) -> None:
    captured = capture(tmp_path, NO_TOOLS)
    assert captured.node["memory"] == {"bytes": None, "modules": []}
    assert captured.node["disks"] == captured.node["network_cards"] == []
    assert captured.not_captured["filesystem"] == "give --model-path to have it looked up"
    assert read_capture(dumps_strict(capture_document(captured, "1")), "x").node == captured.node


def test_hostile_files_are_skipped(tmp_path: Path) -> None:
    files = gpu_server() | {
        "proc/meminfo": "MemTotal: 99999999999999999999 kB",
        "sys/block/sdb/size": "\x00\xff",
        "etc/os-release": "=\n=",
    }
    tree = make_tree(tmp_path, files)
    (tree / "proc/cpuinfo").unlink()
    (tree / "proc/cpuinfo").mkdir()
    captured = capture(tree, H100_TOOLS)
    assert captured.node["memory"]["bytes"] is None
    assert captured.node["operating_system"] is None
    assert captured.node["processor"]["sockets"] == 2


def test_memory_modules_are_counted_by_kind() -> None:
    (row,) = memory_modules(outputs.DMIDECODE)
    assert (row.count, row.size_bytes, row.kind, row.speed) == (24, 96 << 30, "DDR5", "4800 MT/s")
    assert memory_modules("/dev/mem: Permission denied\n") == []


@pytest.mark.parametrize(
    ("path", "kind"),
    [("/data/x y/z", "xfs"), ("/data/x", "ext4"), ("/database", "ext4"), ("/", "ext4"), ("relative", None)],
)
def test_the_file_system_is_that_of_the_nearest_mount(tmp_path: Path, path: str, kind: str | None) -> None:
    mounts = "/dev/a / ext4 rw 0 0\n/dev/b /data/x\\040y xfs rw 0 0\nbroken\n"
    captured = capture(make_tree(tmp_path, {"proc/mounts": mounts}), NO_TOOLS, model_path=path)
    assert captured.node["filesystem"] == kind


# -- the real thing ----------------------------------------------------------------------------------------------------


def test_this_host_is_captured_quickly_and_without_its_names() -> None:
    start = time.monotonic()
    captured = capture()
    assert time.monotonic() - start < 9
    assert captured.node["processor"]["threads"] >= 1
    assert captured.node["memory"]["bytes"] > 1 << 28
    assert captured.node["kernel"] == Path("/proc/sys/kernel/osrelease").read_text().strip()
    text = json.dumps(capture_document(captured, "1"))
    host = Path("/proc/sys/kernel/hostname").read_text().strip()
    assert len(host) < 4 or host not in text
    again = read_capture(text.encode(), "own")
    assert again == captured


def test_tools_run_with_a_bare_environment_and_never_too_long(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MY_API_KEY", "hidden")
    monkeypatch.setattr("wholecurve.describe.tree.TIMEOUT_S", 1)
    shown = run_tool([sys.executable, "-c", "import os; print(sorted(os.environ))"]) or ""
    assert "MY_API_KEY" not in shown
    assert "LC_ALL" in shown
    assert run_tool(["a-tool-that-is-not-there"]) is None
    assert run_tool([sys.executable, "-c", "raise SystemExit(1)"]) is None
    start = time.monotonic()
    assert run_tool([sys.executable, "-c", "import time; time.sleep(60)"]) is None
    assert time.monotonic() - start < 10


def test_large_files_are_not_read(tmp_path: Path) -> None:
    (tmp_path / "big").write_bytes(b"x" * (5 << 20))
    assert Tree(tmp_path).text("big") is None


# -- capture files -----------------------------------------------------------------------------------------------------


def test_a_capture_comes_back_as_it_was(tmp_path: Path) -> None:
    captured = gpu_capture(tmp_path)
    assert read_capture(dumps_strict(capture_document(captured, "1")), "node1.json") == captured


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda d: d.update(schema="other/1"), "wanted a capture file"),
        (lambda d: d.pop("node"), "node: wanted an object"),
        (lambda d: d["node"].update(procesor={}), "unknown key `procesor`"),
        (lambda d: d["node"]["memory"].update(bytes="1"), "node.memory.bytes: wanted a whole number"),
        (lambda d: d["node"]["memory"].update(bytes=-1), "wanted a whole number"),
        (lambda d: d["node"]["memory"].update(bytes=True), "wanted a whole number"),
        (lambda d: d["node"].update(kernel="x" * 500), "node.kernel: wanted text"),
        (lambda d: d["node"].update(disks={}), "node.disks: wanted a list"),
        (lambda d: d["node"].update(disks=[3]), r"node.disks\[0\]: wanted an object"),
        (lambda d: d.update(not_captured=[1]), "not_captured: wanted an object"),
    ],
)
def test_a_capture_that_was_not_written_by_us(tmp_path: Path, change: Any, words: str) -> None:
    document = capture_document(gpu_capture(tmp_path), "1")
    document = json.loads(json.dumps(document))
    change(document)
    with pytest.raises(InputError, match=words) as raised:
        read_capture(json.dumps(document).encode(), "node1.json")
    assert raised.value.where == "node1.json"


@pytest.mark.parametrize("data", [b"", b"\xff\xfe", b"[" * 100_000, b"null", b"{}", b"x" * (2 << 20)])
def test_bytes_that_are_no_capture(data: bytes) -> None:
    with pytest.raises(InputError):
        read_capture(data, "node1.json")


def test_control_characters_of_a_capture_do_not_reach_the_screen(tmp_path: Path) -> None:
    document = json.loads(
        json.dumps(capture_document(gpu_capture(tmp_path, tools({NVIDIA_QUERY: outputs.NVIDIA_H100})), "1"))
    )
    document["node"]["kernel"] = "6.1\x1b[2J"
    assert read_capture(json.dumps(document).encode(), "x").node["kernel"] == "6.1?[2J"


def leaves(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    if isinstance(value, dict):
        return [leaf for key, inner in value.items() for leaf in leaves(inner, (*path, key))]
    if isinstance(value, list):
        return [leaf for at, inner in enumerate(value) for leaf in leaves(inner, (*path, at))]
    return [path]


def test_any_fact_but_a_count_may_be_unknown(tmp_path: Path) -> None:
    document = json.loads(json.dumps(capture_document(gpu_capture(tmp_path), "1")))
    nulled = 0
    for path in leaves(document["node"]):
        changed = json.loads(json.dumps(document))
        here = changed["node"]
        for part in path[:-1]:
            here = here[part]
        here[path[-1]] = None
        if path[-1] == "count":
            with pytest.raises(InputError, match="at least 1"):
                read_capture(json.dumps(changed).encode(), "x")
            continue
        fields = node_fields(read_capture(json.dumps(changed).encode(), "x").node)
        assert "None" not in json.dumps(fields)
        assert "0 GiB" not in fields.get("host_memory_configuration", "")
        nulled += 1
    assert nulled > 25
