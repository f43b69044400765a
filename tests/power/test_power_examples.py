"""The worked examples of the rules that recompute, and test cases T25 to T27."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest
from power_build import (
    E1,
    E3,
    LINK,
    bandwidth,
    c1,
    default,
    fabric,
    node_set,
    part_of_rack,
    power_file,
    power_of,
    published,
    rack,
    sourced,
    sourced_kw,
    switches,
    units,
)

from wholecurve.model.errors import InputError
from wholecurve.power import Parallelism, engagement, point_power, tps_per_kw


def test_c1_and_its_throughputs() -> None:
    power = power_of(c1())
    assert power.kw == 13.05
    assert not power.estimated
    assert power.label is None
    assert [tps_per_kw(tps, power, E3) for tps in (26_100, 1100, 5400, 7830)] == [2000.0, 84.3, 413.8, 600.0]


def test_c2_as_one_rack_and_as_nodes() -> None:
    whole = power_file(node_set(units(36, 350), units(72, 1200), switches(9, 2000)), cooling="liquid")
    assert power_of(whole).kw == power_of(rack()).kw == 152.10


@pytest.mark.parametrize(
    ("tensor", "data", "nodes", "kw", "tps", "per_kw"),
    [(16, 4, 16, 135.20, 6000, 44.4), (8, 9, 18, 152.10, 60_000, 394.5), (4, 18, 18, 152.10, 91_260, 600.0)],
)
def test_c3_points_of_a_rack(tensor: int, data: int, nodes: int, kw: float, tps: float, per_kw: float) -> None:
    power, degrees = power_of(rack()), Parallelism(tensor, data=data)
    engaged = engagement(power, degrees)
    assert (engaged.fits, engaged.nodes) == (data, {1: nodes})
    point = point_power(power, engaged.nodes, parallelism=degrees)
    assert point.kw == kw
    assert tps_per_kw(tps, point, E3) == per_kw


def test_c3_without_a_declaration_all_nodes_are_charged() -> None:
    point = point_power(power_of(rack()), parallelism=Parallelism(16, data=4))
    assert point.kw == 152.10
    assert tps_per_kw(6000, point, E3) == 39.4
    assert any("16 of 18 nodes hold all replicas" in note for note in point.notes)


def test_c4_a_partly_filled_node_is_not_scaled_linearly() -> None:
    assert power_of(power_file(node_set(units(2, 350), units(4, 1000)))).kw == 7.05
    linear = power_of(c1()).exact_kw / 2
    assert float(linear) == 6.525
    assert (
        f"{float(1 - linear / power_of(power_file(node_set(units(2, 350), units(4, 1000)))).exact_kw):.3f}" == "0.074"
    )


@pytest.mark.parametrize("kw", [140, [132, 140], "132-140", "132 \u2013 140"])
def test_c5_part_of_a_rack_then_part_of_its_nodes(kw: Any) -> None:
    power = power_of(power_file(part_of_rack(kw, 6, 18)))
    assert power.kw == 46.67
    assert point_power(power, {1: 2}).kw == 15.56
    assert any("upper bound 140" in note for note in power.notes) == (kw != 140)


def test_c7_ethernet_fabric_by_its_bandwidth() -> None:
    fabric_of_one = {**switches(1, 0), "aggregate_bandwidth_tbps": 5.4, "tdp_per_switch": default(1750, "D.1")}
    power = power_of(power_file(node_set(units(0, 1), units(0, 1), fabric_of_one)))
    assert power.computed["major_components_w"] == 1750
    assert power.estimated
    fabric_of_one["tdp_per_switch"] = default(1000, "D.1")
    with pytest.raises(InputError, match="wanted the default, 1750 W"):
        power_of(power_file(node_set(units(0, 1), units(0, 1), fabric_of_one)))


def checked_node(
    cpu: tuple[int, float], accelerator: tuple[int, float], scale_up: dict[str, Any], kw: float
) -> dict[str, Any]:
    parts = node_set(units(*cpu), units(*accelerator), scale_up)["components"]
    return {**published(kw), "components": parts}


@pytest.mark.parametrize(
    ("node", "cooling", "formula", "share", "side"),
    [
        (checked_node((2, 350), (8, 1100), bandwidth(14.4), 14.5), "air", 15.114, "4.2 %", "over"),  # C.8
        (checked_node((36, 300), (72, 1400), bandwidth(130), 135), "liquid", 151.84, "12.5 %", "over"),  # C.9
        (checked_node((18, 500), (72, 2500), switches(12, 3500), 245), "liquid", 300.30, "22.6 %", "over"),  # C.10
    ],
)
def test_published_nodes_are_checked_by_the_formula(
    node: dict[str, Any], cooling: str, formula: float, share: str, side: str
) -> None:
    power = power_of(power_file(node, cooling=cooling))
    assert power.kw == node["published_power"]["value_kw"]
    (note,) = power.notes
    assert f"the formula gives {formula:.2f} kW, {share} {side} the published" in note
    by_formula = {**node, "power_method": "component_sum"}
    del by_formula["published_power"]
    assert float(power_of(power_file(by_formula, cooling=cooling)).exact_kw) == pytest.approx(formula)


@pytest.mark.parametrize(("processors", "kw"), [(36, 151.84), (72, 165.88), (144, 193.96)])
def test_c9_with_more_processors(processors: int, kw: float) -> None:
    one = node_set(units(processors, 300), units(72, 1400), bandwidth(130))
    assert power_of(power_file(one, cooling="liquid")).kw == kw


@pytest.mark.parametrize(
    ("model", "count", "tbit", "cabling", "kw"),
    [
        ("SN5610", 2, 51.2, "passive", 146.80),
        ("NVIDIA Spectrum-4 SN5610", 2, 51.2, "active_optical", 149.16),
        ("SN6810-LD", 1, 102.4, "passive", 146.96),
        ("SN6810-LD", 1, 102.4, "active_optical", 146.96),
    ],
)
def test_c11_switches_stand_outside_the_overhead(model: str, count: int, tbit: float, cabling: str, kw: float) -> None:
    network = fabric(model, count, tbit=tbit, cabling=cabling)
    power = power_of(power_file(published(14.5, 10), scale_out=network))
    assert power.kw == kw
    assert power.estimated
    assert power.label == "MLC Estimated Power"


def test_c11_nodes_by_formula_count_their_cards() -> None:
    """16.014 kW a node, not the 16.01 that is printed: rounding comes last."""
    network = fabric()
    network["nics"] |= {"counted": True, "tdp_per_nic": default(75, "D.4")}
    one = node_set(units(2, 350), units(8, 1100), bandwidth(14.4), nodes=10)
    power = power_of(power_file(one, scale_out=network))
    assert power.kw == 161.94
    assert float(power.sets[0].watts) == 160_140
    assert float(power.switches_w) == 1800


def test_e64_parts_of_two_racks() -> None:
    power = power_of(power_file(part_of_rack(120, 5, 8), part_of_rack(96, 3, 8, number=2)))
    assert power.kw == 111.00
    assert point_power(power, {1: 5}).kw == 111.00
    used = [{"system_node_ensemble_id": 1, "nodes": 1}, {"system_node_ensemble_id": 2, "nodes": 3}]
    assert point_power(power, used).kw == 51.00


def flat_groups() -> dict[str, Any]:
    return {
        "cpu": {"num_cpu": 2, "tdp_per_cpu": 350, "link": LINK},
        "accelerator": {"count": 8, "tdp_per_unit": 700, "link": LINK},
        "scale_up_network": {"num_switches": 1, "tdp_per_switch": 3500, "public_specification": "data sheet, page 2"},
    }


@pytest.mark.parametrize("rules", [E1, E3])
def test_d_page_in_the_flat_shape(rules: Any) -> None:
    power = power_of(flat_groups(), rules, "liquid")
    assert power.kw == 12.74
    assert tps_per_kw(25_000, power, rules) == 1962.3
    assert not power.estimated


def test_t25_cooling_that_disagrees() -> None:
    assert power_of(c1(), cooling="Air").kw == 13.05
    with pytest.raises(InputError, match="wanted the cooling described") as raised:
        power_of(c1(), cooling="liquid")
    assert "cooling" in raised.value.where


@pytest.mark.parametrize(
    ("used", "data", "kw", "per_kw"),
    [({1: 16}, 4, 135.20, 44.4), (None, 4, 152.10, 39.4), ({1: 15}, 4, None, None), ({1: 16}, 3, None, None)],
)
def test_t26(used: Any, data: int, kw: float | None, per_kw: float | None) -> None:
    power, degrees = power_of(rack()), Parallelism(16, data=data)
    if kw is None:
        with pytest.raises(InputError, match=r"nodes_used|data_parallel"):
            point_power(power, used, parallelism=degrees)
        return
    point = point_power(power, used, parallelism=degrees)
    assert (point.kw, tps_per_kw(6000, point, E3)) == (kw, per_kw)


@pytest.mark.parametrize(
    ("change", "kw"),
    [({}, 146.80), ({"cabling": "active_optical"}, 149.16), ({"count": 1}, None), ({"cabling": None}, None)],
)
def test_t27(change: dict[str, Any], kw: float | None) -> None:
    network = fabric(count=change.pop("count", 2), **change)
    data = power_file(published(14.5, 10), scale_out=network)
    if kw is None:
        with pytest.raises(InputError, match=r"wanted switches of at least 64|passive, active_optical"):
            power_of(data)
        return
    assert power_of(data).kw == kw


def test_declared_total_replaces_the_sum_and_is_checked_by_it() -> None:
    power = power_of({**c1(), "declared_provisioned_power": sourced_kw("12-12.5")})
    assert (power.kw, power.declared, power.basis) == (12.5, True, "declared total")
    assert any("13.05 kW, 4.4 % over the declared 12.50 kW" in note for note in power.notes)
    assert power.computed["total_system_power_w"] == 13_050


def test_e1_has_no_cards_switches_or_engaged_nodes_in_its_power() -> None:
    data = rack()
    data["node_sets"][0]["nodes_provisioned"] = 10
    network = fabric()
    network["nics"] = {**network["nics"], "count_per_node": 4, "counted": True, "tdp_per_nic": sourced(75)}
    network["switches"][0]["power_per_switch"] = sourced(900)
    data["scale_out"] = {**network, "required_bandwidth_tbps": 32}
    e1, e3 = power_of(data, E1), power_of(data, E3)
    assert e1.kw == 84.50
    assert e3.kw == float(Fraction("84.5") + Fraction("1.3") * 3 + Fraction("1.8"))
    assert point_power(e1, {1: 4}).kw == 84.50
    assert point_power(e3, {1: 4}).kw == 36.08
    assert any("reported only" in note for note in e1.notes)
