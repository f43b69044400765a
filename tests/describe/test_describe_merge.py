"""Captures and the submitter's values in one description, and what is still missing."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from describe_build import NO_TOOLS, cpu_capture, gpu_capture
from submitted_build import COMPLETE, NODE, TOP

from wholecurve.describe import LATER, Capture, merge, missing, read_submitted, reasons_of, template
from wholecurve.rules import Need
from wholecurve.rules.load import load_rules

RULES = load_rules()


def merged(captures: list[Capture], text: str = COMPLETE, **more: Any) -> dict[str, Any]:
    return merge(captures, read_submitted(text, "mine.yaml", RULES), RULES, **more)


def test_a_complete_description(tmp_path: Path) -> None:
    said: list[str] = []
    description = merged([gpu_capture(tmp_path)], say=said.append)
    assert said == []
    assert missing(description, RULES) == ()
    assert description["division"] == "Standardized"
    assert description["system_availability_status"] == "Available"
    assert description["shortened_system_name"] == "Example 8x H100"
    assert description["system_size"] == "8x NVIDIA H100 80GB HBM3"
    assert (description["system_node_ensemble_count"], description["system_node_ensemble_total"]) == (1, 1)
    assert description["config_summary"] == "TP=8"
    assert description["disaggregated"] is False
    (node,) = description["node_types"]
    assert node["system_node_ensemble_id"] == 1
    assert node["cooling"] == "air only"
    assert node["host_memory_capacity"] == "2016 GiB"
    assert "tps_utilization" not in description
    assert set(LATER) == {"tps_utilization"}


def test_every_required_field_is_there_or_missing(tmp_path: Path) -> None:
    description = merged([gpu_capture(tmp_path)], "")
    named = {row.field for row in missing(description, RULES)} | set(LATER)
    held = (
        set(description) | set(description["node_types"][0]) | set(description["node_types"][0]["accelerator_info"][0])
    )
    for field in RULES.fields.system.values():
        if field.need is Need.REQUIRED and field.id != "config_summary":
            assert (field.id in named) != (field.id in held), field.id


def test_identical_nodes_are_one_type(tmp_path: Path) -> None:
    nodes = [gpu_capture(tmp_path / str(n)) for n in range(3)]
    nodes.insert(1, gpu_capture(tmp_path / "other", **{"proc/meminfo": "MemTotal: 2113000000 kB"}))
    nodes.append(gpu_capture(tmp_path / "less", **{"proc/meminfo": "MemTotal: 1056000000 kB"}))
    nodes.append(cpu_capture(tmp_path / "cpu"))
    description = merged(nodes)
    assert [node["number_of_nodes"] for node in description["node_types"]] == [4, 1, 1]
    assert [node["system_node_ensemble_id"] for node in description["node_types"]] == [1, 2, 3]
    assert (description["system_node_ensemble_count"], description["system_node_ensemble_total"]) == (3, 6)
    assert description["system_size"] == "32x NVIDIA H100 80GB HBM3 + 8x NVIDIA H100 80GB HBM3 + 1x AMD EPYC"
    assert description["node_types"][0]["host_memory_capacity"] == "8062 GiB"
    assert all(node["cooling"] == "air only" for node in description["node_types"])


def test_the_submitters_values_stand_and_differences_are_said(tmp_path: Path) -> None:
    said: list[str] = []
    text = TOP + (
        "node_types:\n- number_of_nodes: 4\n  host_processor_model_name: Xeon 8468\n  driver: NVIDIA driver 550.54.15\n"
        "  accelerator_info:\n  - accelerator_memory_type: HBM3e\n"
    )
    served = {"serving_framework": "vLLM 0.10.0", "endpoint_url": "https://llm.vendor.example/v1"}
    description = merged([gpu_capture(tmp_path)], text, served=served, say=said.append)
    (node,) = description["node_types"]
    assert (node["number_of_nodes"], node["host_processor_model_name"]) == (4, "Xeon 8468")
    assert node["accelerator_info"][0]["accelerator_memory_type"] == "HBM3e"
    assert node["host_memory_capacity"] == "8062 GiB"
    assert description["system_size"] == "32x NVIDIA H100 80GB HBM3"
    assert description["serving_framework"] == "vLLM 0.11.0"
    assert len(said) == 4
    assert any(
        "accelerator_info[1].accelerator_memory_type: yours is `HBM3e`, captured is `HBM3`" in one for one in said
    )
    assert any("the endpoint says `vLLM 0.10.0`" in one for one in said)


def test_nodes_are_matched_by_id_then_by_place(tmp_path: Path) -> None:
    text = TOP + (
        "node_types:\n- {system_node_ensemble_id: 2, cooling: liquid}\n- {cooling: air only}\n"
        "- {number_of_nodes: 2, cooling: passive only, host_processor_model_name: By hand}\n"
    )
    description = merged([gpu_capture(tmp_path / "a"), cpu_capture(tmp_path / "b")], text)
    nodes = description["node_types"]
    assert [node["cooling"] for node in nodes] == ["air only", "liquid", "passive only"]
    assert nodes[2]["system_node_ensemble_id"] == 3
    assert nodes[2]["host_processor_model_name"] == "By hand"
    assert "accelerator_info" not in nodes[2]
    assert "system_size" not in description


def test_no_number_of_a_node_type_is_given_twice(tmp_path: Path) -> None:
    rows = "- {system_node_ensemble_id: 3, cooling: liquid}\n- {cooling: air only}\n- {cooling: passive only}\n"
    nodes = merged([gpu_capture(tmp_path)], f"{TOP}node_types:\n{rows}- {{cooling: liquid}}\n")["node_types"]
    assert [node["system_node_ensemble_id"] for node in nodes] == [1, 3, 2, 4]


def test_a_description_by_hand_alone() -> None:
    description = merged([], COMPLETE + "number_of_nodes: 2\naccelerator_model_name: TPU\naccelerators_per_node: 4\n")
    assert description["node_types"][0]["accelerator_info"] == [
        {"accelerator_model_name": "TPU", "accelerators_per_node": 4}
    ]
    assert description["system_size"] == "8x TPU"
    assert merged([], "")["node_types"] == []
    assert [row.field for row in missing(merged([], TOP), RULES)][-1] == "node_types"


def test_vcpus_instead_of_cores(tmp_path: Path) -> None:
    (node,) = merged([gpu_capture(tmp_path)], COMPLETE + "host_processor_vcpu_count: 384\n")["node_types"]
    assert node["host_processor_vcpu_count"] == 384
    assert "host_processor_core_count" not in node


@pytest.mark.parametrize(
    ("degrees", "summary"),
    [
        ({}, "TP=8"),
        ({"tensor_parallel": 1}, "no parallelism"),
        ({"disaggregated": True, "data_parallel": 2, "config_summary_notes": "2 prefill nodes"},
         "disaggregated, TP=8, DP=2; 2 prefill nodes"),
        ({"config_summary": "as given"}, "as given"),
        ({"batch": None}, "TP=8"),
        ({"expert_parallel": None}, None),
    ],
)  # fmt: skip
def test_summary_of_the_parallelism(degrees: dict[str, Any], summary: str | None) -> None:
    values = yaml.safe_load(COMPLETE) | degrees
    assert merged([], yaml.safe_dump(values)).get("config_summary") == summary


def test_missing_is_said_in_the_words_of_the_rules(tmp_path: Path) -> None:
    captured = gpu_capture(tmp_path, NO_TOOLS)
    rows = missing(merged([captured], TOP), RULES, reasons_of([captured]))
    by_place = {row.place: row for row in rows}
    assert by_place["node_types[1].cooling"].text == RULES.fields.system["cooling"].text
    assert by_place["node_types[1].host_memory_configuration"].why.startswith("dmidecode is not there")
    assert "availability_url" not in by_place


@pytest.mark.parametrize(
    ("status", "field"), [("Available", "availability_url"), ("Preview", "target_availability_date"), ("RDI", None)]
)
def test_conditions_on_availability(status: str, field: str | None) -> None:
    text = TOP.replace("system_availability_status: available", f"system_availability_status: {status}")
    text = text.replace("availability_url: https://vendor.example/h100\n", "")
    fields = [row.field for row in missing(merged([], text), RULES) if "availability" in row.field]
    assert fields == ([field] if field else [])


def test_one_accelerator_needs_no_interconnect() -> None:
    text = COMPLETE + "accelerator_model_name: X\naccelerators_per_node: "
    one, two = ([row.field for row in missing(merged([], f"{text}{n}\n"), RULES)] for n in (1, 2))
    assert set(two) - set(one) == {"accelerator_interconnect"}


def test_edition_e1_asks_for_the_model_and_not_for_an_address() -> None:
    rules = load_rules(edition="E1")
    text = COMPLETE.replace("availability_url: https://vendor.example/h100\n", "")
    fields = [row.field for row in missing(merge([], read_submitted(text, "x", rules), rules), rules)]
    assert "model_name" in fields
    assert "availability_url" not in fields


# -- the file to fill in -----------------------------------------------------------------------------------------------


def test_the_template_asks_for_what_is_missing_and_nothing_else(tmp_path: Path) -> None:
    captured = [gpu_capture(tmp_path / "a"), cpu_capture(tmp_path / "b")]
    description = merged(captured, TOP)
    text = template(description, RULES, reasons_of(captured))
    asked = yaml.safe_load(text)
    assert set(asked) == {"node_types"}
    assert set(asked["node_types"][0]) == {"system_node_ensemble_id", *yaml.safe_load(NODE)}
    wanted = {(row.path[0], row.field) for row in missing(description, RULES)}
    in_file = {(at, name) for at, row in enumerate(asked["node_types"]) for name in row} - {
        (0, "system_node_ensemble_id"), (1, "system_node_ensemble_id")}  # fmt: skip
    assert in_file == wanted
    assert "# liquid, air only, passive only\n    cooling:" in text
    assert "Not captured: dmidecode" in text


def test_an_unfilled_template_changes_nothing_and_a_filled_one_completes(tmp_path: Path) -> None:
    captured = [gpu_capture(tmp_path)]
    text = template(merged(captured, ""), RULES)
    assert "# availability_url:" in text
    assert merged(captured, text) == merged(captured, "")
    answers = yaml.safe_load(COMPLETE)
    answers["shortened_system_name"] = "H100 box"
    lines = []
    for line in text.splitlines():
        key = line.replace("# ", "", 1) if line.endswith(":") else line
        name = key.strip().removesuffix(":")
        lines.append(f"{key} {json.dumps(answers[name])}" if name in answers else line)
    filled = "\n".join(lines)
    assert missing(merged(captured, filled), RULES) == ()


def test_template_for_accelerators_that_were_not_seen(tmp_path: Path) -> None:
    files = {"sys/bus/pci/devices/0000:01:00.0/vendor": "0x1002", "sys/bus/pci/devices/0000:01:00.0/class": "0x120000"}
    captured = [gpu_capture(tmp_path, NO_TOOLS, **files)]
    asked = yaml.safe_load(template(merged(captured, COMPLETE), RULES, reasons_of(captured)))
    (card,) = asked["node_types"][0]["accelerator_info"]
    assert {"accelerator_model_name", "accelerators_per_node", "accelerator_memory_capacity"} <= set(card)


def test_hostile_names_stay_comments(tmp_path: Path) -> None:
    description = merged([gpu_capture(tmp_path)], "system_name: x\n")
    description["node_types"][0]["host_processor_model_name"] = "X\nevil: yes\x1b[2J"
    assert "evil" not in yaml.safe_load(template(description, RULES))
