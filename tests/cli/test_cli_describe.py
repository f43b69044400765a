"""`wholecurve describe` as it is typed: this host, captures of others, the submitter's file, an engine."""

from __future__ import annotations

import json
import socket
from pathlib import Path
from typing import Any

import pytest
import yaml
from cli_console import console

from wholecurve.cli.main import main
from wholecurve.describe import CAPTURE_SCHEMA
from wholecurve.sim import SimOptions, start

MINE = """\
division: RDI
system_name: Two-core box
system_availability_status: RDI
max_supported_concurrency: 64
endpoint_url: https://llm.vendor.example
serving_framework: llama.cpp
node_config: one server
disaggregated: false
tensor_parallel: 1
pipeline_parallel: 1
expert_parallel: 1
data_parallel: 1
batch: 4
"""
CARD = {
    "count": 8,
    "model": "NVIDIA B200",
    "memory_bytes": 192 << 30,
    "memory_type": "HBM3e",
    "host_interconnect": "PCIe 6.0 x16",
}
NODE: dict[str, Any] = {
    "processor": {"model": "Intel Xeon 6960P", "sockets": 2, "cores_per_socket": 72, "threads": 288, "virtual": False},
    "memory": {"bytes": 2 << 40, "modules": [{"count": 32, "bytes": 64 << 30, "kind": "DDR5", "speed": "6400 MT/s"}]},
    "numa_nodes": 2,
    "accelerators": [CARD],
    "bus_accelerators": [],
    "accelerator_driver": "NVIDIA driver 570.86.10",
    "accelerator_interconnect": "NVLink, 18 links a pair",
    "accelerator_tool": "nvidia-smi",
    "network_cards": [{"count": 8, "kind": "InfiniBand", "speed_mbit": 400_000, "driver": "mlx5_core", "model": None}],
    "rdma_ports": [],
    "disks": [{"count": 4, "bytes": 3_840_755_982_336, "kind": "NVMe SSD", "model": None}],
    "filesystem": "ext4",
    "operating_system": "Ubuntu 24.04.1 LTS",
    "kernel": "6.8.0-45-generic",
    "container": None,
}
OWN_NODE = "cooling: air only\ninference_backend: TensorRT-LLM\ncontainer_link: https://vendor.example/image\n"


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def write(name: str, text: str) -> str:
    Path(name).write_text(text, encoding="utf-8")
    return name


def captures(*changes: dict[str, Any]) -> list[str]:
    return [
        write(f"node{at}.json", json.dumps({"schema": CAPTURE_SCHEMA, "node": NODE | change, "not_captured": {}}))
        for at, change in enumerate(changes, start=1)
    ]


def test_this_host_then_the_file_then_complete(tmp_path: Path) -> None:
    first = console("describe", "--template", "mine.yaml", "--model-path", "/", cwd=tmp_path)
    assert (first.code, first.err) == (1, "")
    assert "Still missing, in the words of the rules" in first.out
    assert "liquid, air only, passive only" in first.out
    asked = yaml.safe_load(Path("mine.yaml").read_text())
    assert "host_memory_capacity" not in asked
    answers = yaml.safe_load(MINE + OWN_NODE)
    node = {name: answers.get(name, "as far as it is known") for name in asked.pop("node_types")[0]}
    node["system_node_ensemble_id"] = 1
    filled = {name: answers.get(name, "box") for name in asked} | {"node_types": [node]}
    write("filled.yaml", yaml.safe_dump(filled))
    done = console("describe", "--with", "filled.yaml", "--model-path", "/", "--out", "system_desc.json", cwd=tmp_path)
    assert (done.code, done.err) == (0, "")
    assert "Complete: every field that the rules ask for is there" in done.out
    description = json.loads(Path("system_desc.json").read_text())
    assert description["division"] == "RDI"
    assert description["disaggregated"] is False
    assert description["node_types"][0]["filesystem"]
    host = socket.gethostname()
    assert len(host) < 4 or host not in Path("system_desc.json").read_text()


def test_the_file_system_is_that_of_the_files_and_not_of_a_link_to_them(tmp_path: Path) -> None:
    (tmp_path / "model").symlink_to("/proc")
    found = console("describe", "--json", "--model-path", "model", cwd=tmp_path)
    (node,) = json.loads(found.out)["description"]["node_types"]
    assert node["filesystem"] == "proc"
    assert str(tmp_path) not in found.out


def test_several_nodes_are_merged(capsys: pytest.CaptureFixture[str]) -> None:
    names = captures({}, {}, {"accelerators": [{**CARD, "count": 4}]})
    own = write("mine.yaml", MINE + OWN_NODE)
    code = main(["describe", "--merge", *names, "--with", own, "--out", "d.json", "--power-template", "p.json"])
    assert code == 0
    assert "Described from 3 captures" in capsys.readouterr().out
    description = json.loads(Path("d.json").read_text())
    assert [node["number_of_nodes"] for node in description["node_types"]] == [2, 1]
    assert description["system_size"] == "16x NVIDIA B200 + 4x NVIDIA B200"
    power = json.loads(Path("p.json").read_text())
    assert [row["nodes_provisioned"] for row in power["node_sets"]] == [2, 1]
    assert power["cooling"] == "air"


def test_a_capture_of_this_host_can_be_merged(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["describe", "--capture", "here.json"]) == 1
    here = capsys.readouterr().out
    assert main(["describe", "--merge", "here.json"]) == 1
    assert capsys.readouterr().out.splitlines()[2:8] == here.splitlines()[2:8]


def test_json_is_one_object(capsys: pytest.CaptureFixture[str]) -> None:
    own = write("mine.yaml", MINE + OWN_NODE + "host_processor_model_name: Xeon\n")
    assert main(["describe", "--merge", *captures({}), "--with", own, "--json"]) == 0
    data = json.loads(capsys.readouterr().out)
    assert (data["schema"], data["complete"], data["missing"]) == ("wholecurve.describe/1", True, [])
    assert data["description"]["system_name"] == "Two-core box"
    assert len(data["notes"]) == 1
    assert main(["describe", "--merge", "node1.json", "--json"]) == 1
    rows = json.loads(capsys.readouterr().out)["missing"]
    assert {"field": "division", "text": "division of the submission", "condition": None, "not_captured": None} in rows


def test_an_engine_is_asked(capsys: pytest.CaptureFixture[str]) -> None:
    with start(SimOptions()) as server:
        code = main(["describe", "--merge", *captures({}), "--endpoint", server.url, "--json"])
    assert code == 1
    data = json.loads(capsys.readouterr().out)
    assert data["description"]["endpoint_url"] == server.url
    assert any("no page there names the engine" in note for note in data["notes"])


def test_an_engine_that_is_not_there(capsys: pytest.CaptureFixture[str]) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    code = main(["describe", "--merge", *captures({}), "--endpoint", f"http://127.0.0.1:{port}", "--out", "d.json"])
    assert code == 3
    assert "refused the connection" in capsys.readouterr().err
    assert not Path("d.json").exists()


SOURCED = {"value_w": 500, "source_type": "vendor_spec", "source": "https://vendor.example/cpu"}


def filled_power(name: str) -> dict[str, Any]:
    data: dict[str, Any] = json.loads(Path(name).read_text())
    data["node_sets"][0]["components"]["cpu"]["tdp_per_unit"] = SOURCED
    del data["node_sets"][0]["components"]["accelerator"]["tdp_per_unit"]
    data["node_sets"][0]["components"]["scale_up_network"]["method"] = "none"
    return data


def test_power_is_filled_in_checked_and_shown(capsys: pytest.CaptureFixture[str]) -> None:
    own = write("mine.yaml", MINE + OWN_NODE)
    asked = ["describe", "--merge", *captures({}), "--with", own]
    assert main([*asked, "--power-template", "p.json"]) == 0
    capsys.readouterr()
    assert main([*asked, "--power", "p.json"]) == 2
    assert "things keep system_power.json from being used" in capsys.readouterr().err
    write("p.json", json.dumps(filled_power("p.json")))
    assert main([*asked, "--power", "p.json"]) == 0
    shown = capsys.readouterr().out
    assert "Provisioned power 13.50 kW (MLC Estimated Power): component sum" in shown
    assert "8,000 W  default D.3" in shown
    assert main([*asked, "--power", "p.json", "--json"]) == 0
    power = json.loads(capsys.readouterr().out)["power"]
    assert (power["provisioned_power_kw"], power["mlc_estimated_power"]) == (13.5, True)
    write("liquid.yaml", MINE + OWN_NODE.replace("air only", "direct liquid"))
    assert main([*asked[:-1], "liquid.yaml", "--power", "p.json"]) == 2
    assert "wanted the cooling described" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--with", "none.yaml"], "cannot read none.yaml"),
        (["--merge", "none.json"], "cannot read none.json"),
        (["--merge", "mine.yaml"], "not valid JSON"),
        (["--with", "bad.yaml"], "unknown key `colling`"),
        (["--with", "mine.yaml", "--out", "mine.yaml"], "another file than those that are read"),
        (["--out", "a.json", "--capture", "./a.json"], "a file of its own"),
        (["--template", "mine.yaml"], "mine.yaml is there already"),
        (["--power-template", "mine.yaml"], "mine.yaml is there already"),
        (["--out", "."], "wanted a file, got the folder"),
        (["--merge", "node1.json", "--capture", "b.json"], "--capture of this host or --merge of others"),
        (["--with", "large.yaml"], "at most 1 MiB"),
        (["--power", "none.json"], "cannot read none.json"),
        (["--power", "mine.yaml"], "--power: not valid JSON"),
        (["--endpoint", "not an address"], "URL"),
    ],
)
def test_bad_input(arguments: list[str], words: str, capsys: pytest.CaptureFixture[str]) -> None:
    captures({})
    write("mine.yaml", MINE)
    write("bad.yaml", "node_types:\n- colling: air\n")
    write("large.yaml", "#" * (2 << 20))
    before = sorted(path.name for path in Path().iterdir())
    assert main(["describe", *arguments]) == 2
    shown = capsys.readouterr()
    assert words in shown.err
    assert shown.out == ""
    assert sorted(path.name for path in Path().iterdir()) == before


def test_unwritable_output(capsys: pytest.CaptureFixture[str]) -> None:
    write("file", "")
    assert main(["describe", "--merge", *captures({}), "--out", "file/d.json"]) == 2
    assert "cannot write file/d.json" in capsys.readouterr().err
    Path("folder.part").mkdir()
    assert main(["describe", "--merge", "node1.json", "--out", "folder"]) == 2
    assert "cannot write folder: folder could not be written" in capsys.readouterr().err


def test_control_characters_of_a_capture_stay_off_the_screen(capsys: pytest.CaptureFixture[str]) -> None:
    main(["describe", "--merge", *captures({"kernel": "6.1\x1b[2J", "container": "dock\x1ber"})])
    assert "\x1b" not in capsys.readouterr().out
