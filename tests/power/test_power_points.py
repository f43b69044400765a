"""The power of a point, rounding, and the starting file."""

from __future__ import annotations

import json
from decimal import Decimal
from fractions import Fraction
from typing import Any

import pytest
from power_build import E3, c1, fabric, part_of_rack, power_file, power_of, published, rack, sourced_kw

from wholecurve.model.errors import InputError
from wholecurve.power import (
    Parallelism,
    PowerRejected,
    engagement,
    exact,
    parallelism_of,
    parse_power,
    point_power,
    template,
    tps_per_kw,
)


def ten_nodes() -> Any:
    return power_of(power_file(published(14.5, 10), scale_out=fabric()))


def test_switches_are_charged_by_the_share_of_nodes() -> None:
    assert point_power(ten_nodes(), {1: 5}).kw == 73.40
    assert point_power(ten_nodes(), {1: 10}).kw == 146.80


def test_a_type_that_is_not_named_counts_in_full() -> None:
    power = power_of(power_file(part_of_rack(120, 5, 8), part_of_rack(96, 3, 8, number=2)))
    point = point_power(power, {2: 1})
    assert (point.kw, point.nodes_used) == (87.0, {1: 5, 2: 1})
    assert any("does not name count in full: 1" in note for note in point.notes)
    assert point_power(power).nodes_used == {1: 5, 2: 3}


def test_sets_of_one_type_cannot_be_told_apart_and_count_in_full() -> None:
    second = {**part_of_rack(96, 3, 8, number=2), "system_node_ensemble_id": 1}
    power = power_of(power_file(part_of_rack(120, 5, 8), second, part_of_rack(80, 2, 8, number=3)))
    assert point_power(power, {3: 1}).kw == 121.0
    with pytest.raises(InputError, match="2 node sets are of that type"):
        point_power(power, {1: 2})


def test_a_declared_total_is_scaled_by_the_largest_share() -> None:
    data = power_file(part_of_rack(120, 4, 8), part_of_rack(96, 2, 8, number=2))
    power = power_of({**data, "declared_provisioned_power": sourced_kw(100)})
    point = point_power(power, {1: 1, 2: 1})
    assert point.kw == 50.0
    assert any("largest share" in note for note in point.notes)


@pytest.mark.parametrize(
    ("used", "words"),
    [
        ({1: 0}, "wanted 1 to 18"),
        ({1: 19}, "wanted 1 to 18 nodes of type 1, got 19"),
        ({2: 1}, "node sets are of type 1"),
        ([], "at least one"),
        ([{"system_node_ensemble_id": 1, "nodes": 1}] * 2, "once"),
        ([{"system_node_ensemble_id": 1}], "as whole numbers"),
        ([{"system_node_ensemble_id": 1, "nodes": True}], "as whole numbers"),
        ([3], "wanted objects"),
        ("all", "wanted a list"),
        (3, "wanted a list"),
    ],
)
def test_nodes_used_that_cannot_be(used: Any, words: str) -> None:
    with pytest.raises(InputError, match=words):
        point_power(power_of(rack()), used)


def test_numbers_in_quotes_are_taken_as_the_official_tool_does() -> None:
    assert point_power(power_of(rack()), [{"system_node_ensemble_id": "1", "nodes": "9"}]).kw == 76.05


SHORTFALL = {"dp_actual": 3, "dp_formula": 4, "reason": "host memory"}


@pytest.mark.parametrize(
    ("shortfall", "words"),
    [
        (SHORTFALL, None),
        ({"reason": "host memory"}, None),
        ({**SHORTFALL, "dp_actual": 2}, "dp_actual: wanted 3, got 2"),
        ({**SHORTFALL, "dp_formula": "x"}, "dp_formula: wanted 4, got 'x'"),
        ({**SHORTFALL, "reason": "  "}, "why fewer replicas run"),
        ({"dp_actual": 3}, "why fewer replicas run"),
        (None, "wanted the 4 replicas that fit, got 3"),
        ({}, "wanted the 4 replicas that fit, got 3"),
        ("host memory", "wanted an object"),
    ],
)
def test_fewer_replicas_need_a_reason(shortfall: Any, words: str | None) -> None:
    power, degrees = power_of(rack()), Parallelism(16, data=3)
    if words is None:
        point = point_power(power, {1: 12}, parallelism=degrees, shortfall=shortfall)
        assert point.kw == 101.40
        assert any("3 of 4 replicas run: host memory" in note for note in point.notes)
        return
    with pytest.raises(InputError, match=words):
        point_power(power, {1: 12}, parallelism=degrees, shortfall=shortfall)


def test_notes_of_a_point() -> None:
    power = power_of(rack())
    assert "fewer nodes" in " ".join(point_power(power, {1: 18}, parallelism=Parallelism(16, data=4)).notes)
    assert "assumed" in " ".join(point_power(power, {1: 16}, parallelism=Parallelism(16)).notes)
    assert "not checked" in " ".join(point_power(power, {1: 16}).notes)
    unneeded = point_power(power, {1: 16}, parallelism=Parallelism(16, data=4), shortfall=SHORTFALL)
    assert "all replicas that fit are run" in " ".join(unneeded.notes)


def test_degrees_that_share_accelerators_are_noted_not_rejected() -> None:
    """Choice C16: eight-way tensor and expert parallelism on the same eight accelerators."""
    power = power_of(c1())
    point = point_power(power, {1: 1}, parallelism=Parallelism(8, expert=8, data=1))
    assert point.kw == 13.05
    assert any("choice C16" in note for note in point.notes)
    assert engagement(power, Parallelism(8, expert=8)).nodes is None


def test_accelerators_from_the_description_where_power_is_published() -> None:
    description = {"node_types": [{"system_node_ensemble_id": 1, "accelerator_info": [{"accelerators_per_node": 8}]}]}
    data = power_file(published(14.5, 10), scale_out=fabric())
    known = power_of(data, description=description)
    assert engagement(known, Parallelism(42)).nodes == {1: 6}
    assert engagement(known, Parallelism(24)).accelerators == 72
    assert engagement(ten_nodes(), Parallelism(42)).reason == "accelerators of a node are not known"
    assert any("not checked" in note for note in point_power(ten_nodes(), {1: 6}, parallelism=Parallelism(42)).notes)


def test_rules_text_examples_of_engagement() -> None:
    description = {"node_types": [{"system_node_ensemble_id": 1, "accelerator_info": [{"accelerators_per_node": 8}]}]}
    power = power_of(power_file(published(14.5, 8)), description=description)
    engaged = engagement(power, Parallelism(24))
    assert (engaged.fits, engaged.accelerators, engaged.nodes) == (2, 48, {1: 6})
    assert engagement(power, Parallelism(42)).nodes == {1: 6}


def test_several_sets_leave_the_nodes_open() -> None:
    description = {"node_types": [{"accelerator_info": [{"accelerators_per_node": 8}]} for _ in range(2)]}
    data = power_file(part_of_rack(120, 5, 8), part_of_rack(96, 3, 8, number=2))
    engaged = engagement(power_of(data, description=description), Parallelism(8))
    assert (engaged.fits, engaged.nodes) == (8, None)
    assert "several node sets" in engaged.reason


@pytest.mark.parametrize(
    ("description", "found"),
    [
        ({}, None),
        ({"tensor_parallel": 8, "data_parallel": "2"}, Parallelism(8, data=2)),
        ({"tensor_parallel": 8, "batch": 3}, Parallelism(8)),
    ],
)
def test_parallelism_of_a_description(description: dict[str, Any], found: Parallelism | None) -> None:
    assert parallelism_of(description) == found


@pytest.mark.parametrize("value", [0, -1, 1.5, "x", True])
def test_degrees_below_one(value: Any) -> None:
    with pytest.raises(InputError, match="tensor_parallel"):
        parallelism_of({"tensor_parallel": value})


# -- rounding ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("kw", "shown"),
    [("13.045", 13.04), ("13.055", 13.06), ("13.0450001", 13.05), ("2.675", 2.68), ("1.005", 1.0), ("1.015", 1.02)],
)
def test_ties_go_to_the_even_digit_of_the_decimal(kw: str, shown: float) -> None:
    assert power_of(power_file(published(float(kw)))).kw == shown


def test_throughput_per_kw_is_rounded_once_from_exact_values() -> None:
    power = power_of(power_file(part_of_rack(140, 6, 18)))
    assert power.exact_kw == Fraction(140, 3)
    assert tps_per_kw(4_664.32, power, E3) == 99.9
    assert tps_per_kw(4_664.32, power.kw, E3) == 99.9
    assert tps_per_kw(2.25, Fraction(9), E3) == 0.2
    assert tps_per_kw(Decimal("3.15"), 9, E3) == 0.4
    assert tps_per_kw(0, 9, E3) == 0.0
    assert tps_per_kw(100, 0, E3) is None


def test_exact_numbers() -> None:
    assert exact(0.1) == Fraction(1, 10)
    assert exact(Decimal("0.30")) == Fraction(3, 10)
    for value in (float("inf"), float("nan"), Decimal("NaN")):
        with pytest.raises(ValueError, match="finite"):
            exact(value)


# -- the starting file -------------------------------------------------------------------------------------------------

NODE = {
    "system_node_ensemble_id": 1,
    "number_of_nodes": 1,
    "host_processor_model_name": "Intel Xeon",
    "host_processors_per_node": 2,
    "host_processor_core_count": 32,
    "cooling": "air only",
    "accelerator_info": [{"accelerator_model_name": "NVIDIA B200", "accelerators_per_node": 8}],
}


def test_the_template_has_counts_and_no_powers() -> None:
    data = template({"system_name": "box", "node_types": [NODE]}, E3)
    assert (data["system_desc_id"], data["cooling"], data["scale_out"]) == ("box", "air", {"present": False})
    parts = data["node_sets"][0]["components"]
    assert (parts["cpu"]["count_per_node"], parts["accelerator"]["count_per_node"]) == (2, 8)
    with pytest.raises(PowerRejected) as raised:
        parse_power(data, E3)
    assert {problem.place.rpartition(".")[0] for problem in raised.value.problems} == {
        "node_sets[0].components.cpu",
        "node_sets[0].components.cpu.tdp_per_unit",
        "node_sets[0].components.accelerator",
        "node_sets[0].components.accelerator.tdp_per_unit",
        "node_sets[0].components.scale_up_network",
    }


def test_the_template_filled_in_is_a_power_file() -> None:
    description = {"system_name": "box", "node_types": [NODE]}
    data = json.loads(json.dumps(template(description, E3)))
    parts = data["node_sets"][0]["components"]
    del parts["cpu"]["tdp_per_unit"]
    parts["accelerator"]["tdp_per_unit"] = {
        "value_w": 1000,
        "source_type": "vendor_spec",
        "source": "https://v.example",
    }
    parts["scale_up_network"]["method"] = "none"
    power = power_of(data, description=description)
    assert (power.kw, power.estimated) == (13.05, True)


def test_the_template_of_several_nodes_asks_for_the_fabric() -> None:
    nodes = [{**NODE, "number_of_nodes": 4}, {**NODE, "system_node_ensemble_id": 2, "cooling": "liquid"}, {}]
    data = template({"node_types": nodes}, E3)
    assert data["scale_out"]["cabling"] is None
    assert data["cooling"] == ""
    assert [row["nodes_provisioned"] for row in data["node_sets"]] == [4, 1, None]
    assert template({"node_types": nodes[:2]}, E3)["cooling"] == "air"
    assert template({}, E3)["node_sets"] == []
    assert template({"node_types": "x"}, E3)["node_sets"] == []


def test_the_template_without_accelerators() -> None:
    data = template({"node_types": [{**NODE, "accelerator_info": []}]}, E3)
    parts = data["node_sets"][0]["components"]
    assert parts["accelerator"] == {"model": "none", "count_per_node": 0}
    assert parts["scale_up_network"] == {"method": "none"}
