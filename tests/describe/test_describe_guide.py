"""The worked example of the guide, held to the code."""

from __future__ import annotations

import json
import re
from pathlib import Path

from describe_build import gpu_capture

from wholecurve.describe import merge, missing, read_submitted
from wholecurve.power import parse_power, provisioned
from wholecurve.rules.load import load_rules

GUIDE = Path(__file__).resolve().parents[2] / "docs" / "guide" / "describe-your-system.md"
RULES = load_rules()


def block(language: str) -> str:
    (body,) = re.findall(rf"^```{language}\n(.*?)^```$", GUIDE.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
    return str(body)


def test_the_yaml_of_the_guide_completes_a_captured_server(tmp_path: Path) -> None:
    submitted = read_submitted(block("yaml"), "guide", RULES)
    captures = [gpu_capture(tmp_path / str(at)) for at in range(2)]
    description = merge(captures, submitted, RULES)
    assert missing(description, RULES) == ()
    assert description["config_summary"] == "TP=8, DP=2"
    assert "`TP=8, DP=2`" in GUIDE.read_text(encoding="utf-8")


def test_the_power_of_the_guide_is_what_it_says() -> None:
    nics = {"count_per_node": 8, "bandwidth_per_nic_gbps": 400, "counted": True}
    switch = {"model": "SN4700", "count": 1, "bandwidth_tbps": 12.8}
    per_bit = {"value_pj": 5, "source_type": "mlc_default", "source": "D.1"}
    parts = {
        "cpu": {"model": "Intel Xeon 6960P", "count_per_node": 2, "tdp_per_unit": json.loads(block("json"))},
        "accelerator": {"model": "NVIDIA B200", "count_per_node": 8},
        "scale_up_network": {
            "method": "bandwidth_estimate",
            "aggregate_bandwidth_tbps": 14.4,
            "energy_per_bit_pj": per_bit,
        },
    }
    node = {"node_set_id": 1, "system_node_ensemble_id": 1, "nodes_provisioned": 2, "power_method": "component_sum"}
    data = {
        "system_desc_id": "Example 2x8 B200",
        "cooling": "air",
        "node_sets": [{**node, "components": parts}],
        "scale_out": {
            "present": True,
            "cabling": "passive",
            "required_bandwidth_tbps": 6.4,
            "nics": nics,
            "switches": [switch],
        },
    }
    power = provisioned(parse_power(data, RULES.power), RULES.power, "air only")
    text = GUIDE.read_text(encoding="utf-8")
    assert f"Provisioned power {power.kw:.2f} kW ({power.label}): {power.basis}" in text
    for part in power.parts:
        assert re.search(
            rf"^  {re.escape(part.label)} +{part.watts:,.0f} W  {re.escape(part.source)}$", text, re.MULTILINE
        )
    assert all(note in text for note in power.notes)
