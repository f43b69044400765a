"""Every reason of appendix E.7 to reject a power file, and what is only said."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from typing import Any

import pytest
from power_build import (
    E1,
    E3,
    LINK,
    c1,
    default,
    fabric,
    node_set,
    part_of_rack,
    power_file,
    power_of,
    published,
    sourced,
    sourced_kw,
    units,
)

from wholecurve.power import PowerRejected, computed_block, parse_power, provisioned

Change = Callable[[dict[str, Any]], object]


def rejected(data: Any, rules: Any = E3, **more: Any) -> PowerRejected:
    with pytest.raises(PowerRejected) as raised:
        power_of(data, rules, **more)
    return raised.value


def the_set(data: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = data["node_sets"][0]
    return found


def parts(data: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = the_set(data)["components"]
    return found


def tdp(data: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = parts(data)["accelerator"]["tdp_per_unit"]
    return found


ONE_NODE: list[tuple[str, Change, str, str]] = [
    ("system", lambda d: d.pop("system_desc_id"), "system_desc_id", "and it is missing"),
    ("cooling", lambda d: d.pop("cooling"), "cooling", "wanted one of liquid, air, and it is missing"),
    ("cooling word", lambda d: d.update(cooling="Liquid"), "cooling", "got 'Liquid'"),
    ("no sets", lambda d: d.update(node_sets=[]), "node_sets", "at least one entry"),
    ("sets no list", lambda d: d.update(node_sets={"a": 1}), "node_sets", "wanted a list"),
    ("set no object", lambda d: d.update(node_sets=[1]), "node_sets[0]", "wanted an object, got 1"),
    ("no scale_out", lambda d: d.pop("scale_out"), "scale_out", "and it is missing"),
    ("present missing", lambda d: d.update(scale_out={}), "scale_out.present", "and it is missing"),
    ("present word", lambda d: d.update(scale_out={"present": "no"}), "scale_out.present", "wanted true or false"),
    ("set id", lambda d: the_set(d).pop("node_set_id"), "node_sets[0].node_set_id", "and it is missing"),
    ("nodes zero", lambda d: the_set(d).update(nodes_provisioned=0), "node_sets[0].nodes_provisioned", "at least 1"),
    ("nodes half", lambda d: the_set(d).update(nodes_provisioned=1.5), "node_sets[0].nodes_provisioned", "got 1.5"),
    ("nodes text", lambda d: the_set(d).update(nodes_provisioned="2"), "node_sets[0].nodes_provisioned", "got '2'"),
    ("nodes true", lambda d: the_set(d).update(nodes_provisioned=True), "node_sets[0].nodes_provisioned", "got true"),
    ("method", lambda d: the_set(d).update(power_method="declared"), "node_sets[0].power_method", "got 'declared'"),
    ("no components", lambda d: the_set(d).pop("components"), "node_sets[0].components", "and it is missing"),
    ("no cpu", lambda d: parts(d).pop("cpu"), "node_sets[0].components.cpu", "and it is missing"),
    ("no fabric", lambda d: parts(d).pop("scale_up_network"), "node_sets[0].components.scale_up_network", "missing"),
    ("fabric switch", lambda d: parts(d).update(scale_up_network={"method": "declared_tdp"}),
     "node_sets[0].components.scale_up_network.switch_count", "missing"),
    ("fabric energy", lambda d: parts(d).update(scale_up_network={"method": "bandwidth_estimate"}),
     "node_sets[0].components.scale_up_network.energy_per_bit_pj", "missing"),
    ("no source", lambda d: tdp(d).pop("source"), "node_sets[0].components.accelerator.tdp_per_unit.source", "missing"),
    ("no type", lambda d: tdp(d).pop("source_type"),
     "node_sets[0].components.accelerator.tdp_per_unit.source_type", "missing"),
    ("foreign type", lambda d: tdp(d).update(source_type="self_declared"),
     "node_sets[0].components.accelerator.tdp_per_unit.source_type", "got 'self_declared'"),
    ("no address", lambda d: tdp(d).update(source="the data sheet"),
     "node_sets[0].components.accelerator.tdp_per_unit.source", "wanted a web address"),
    ("two values", lambda d: tdp(d).update(value_kw=1),
     "node_sets[0].components.accelerator.tdp_per_unit", "exactly one"),
    ("no value", lambda d: tdp(d).pop("value_w"), "node_sets[0].components.accelerator.tdp_per_unit", "got none"),
    ("other unit", lambda d: tdp(d).update(value_pj=tdp(d).pop("value_w")),
     "node_sets[0].components.accelerator.tdp_per_unit", "got value_pj"),
    ("extra key", lambda d: tdp(d).update(note="x"),
     "node_sets[0].components.accelerator.tdp_per_unit.note", "unknown key"),
    ("negative", lambda d: tdp(d).update(value_w=-1), "node_sets[0].components.accelerator.tdp_per_unit.value_w", "-1"),
    ("nan", lambda d: tdp(d).update(value_w=float("nan")),
     "node_sets[0].components.accelerator.tdp_per_unit.value_w", "not finite"),
    ("huge", lambda d: tdp(d).update(value_w=10**400),
     "node_sets[0].components.accelerator.tdp_per_unit.value_w", "a very large number"),
    ("bad range", lambda d: tdp(d).update(value_w=["a", 2]),
     "node_sets[0].components.accelerator.tdp_per_unit.value_w", "a number or a range"),
    ("wrong table", lambda d: tdp(d).update(source_type="mlc_default", source="D.2"),
     "node_sets[0].components.accelerator.tdp_per_unit", "1000 W of D.3"),
    ("no table", lambda d: tdp(d).update(source_type="mlc_default", source="D.9"),
     "node_sets[0].components.accelerator.tdp_per_unit.source", "D.1, D.2, D.3, D.4"),
    ("not the default", lambda d: tdp(d).update(source_type="mlc_default", source="D.3", value_w=900),
     "node_sets[0].components.accelerator.tdp_per_unit", "wanted the default, 1000 W of D.3, got 900 W"),
    ("no default", lambda d: parts(d).update(accelerator={**units(8, None), "model": "NVIDIA H100"}),
     "node_sets[0].components.accelerator.tdp_per_unit", "no default for 'NVIDIA H100'"),
    ("default of nothing",
     lambda d: parts(d).update(accelerator={"model": "H100", "count_per_node": 8, "tdp_per_unit": default(700, "D.3")}),
     "node_sets[0].components.accelerator.tdp_per_unit", "no default for this model"),
    ("cap without evidence", lambda d: parts(d)["accelerator"].update(below_rated_tdp={"rated_tdp_w": 1200}),
     "node_sets[0].components.accelerator.below_rated_tdp.evidence", "missing"),
    ("cap that is none",
     lambda d: parts(d)["accelerator"].update(below_rated_tdp={"rated_tdp_w": 900, "evidence": LINK}),
     "node_sets[0].components.accelerator.below_rated_tdp.rated_tdp_w", "more than the 1000 W"),
    ("computed", lambda d: d.update(computed={"major_components_w": 8701}),
     "computed.major_components_w", "wanted 8700"),
    ("computed zero", lambda d: d.update(computed={"total_system_power_w": 0}),
     "computed.total_system_power_w", "wanted 13050"),
    ("computed fraction", lambda d: d.update(computed={"overhead_fraction": 0.5001}),
     "computed.overhead_fraction", "wanted 0.5"),
    ("stated kW", lambda d: d.update(provisioned_power_kw=13.06), "provisioned_power_kw", "wanted 13.05"),
    ("computed no object", lambda d: d.update(computed=3), "computed", "wanted an object"),
]  # fmt: skip


@pytest.mark.parametrize(("change", "place", "words"), [row[1:] for row in ONE_NODE], ids=[row[0] for row in ONE_NODE])
def test_one_node(change: Change, place: str, words: str) -> None:
    data = c1()
    change(data)
    problems = rejected(data).problems
    assert place in [problem.place for problem in problems]
    assert any(words in problem.message for problem in problems)


def ten_nodes(*, formula: bool = False) -> dict[str, Any]:
    one = node_set(units(2, 350), units(8, 1100), nodes=10) if formula else published(14.5, 10)
    return power_file(one, scale_out=fabric())


SEVERAL: list[tuple[str, bool, Change, str, str]] = [
    ("cabling", False, lambda s: s.pop("cabling"), "scale_out.cabling", "and it is missing"),
    ("cabling word", False, lambda s: s.update(cabling="copper"), "scale_out.cabling", "passive, active_optical"),
    ("bandwidth", False, lambda s: s.update(required_bandwidth_tbps=63.9), "scale_out.required_bandwidth_tbps",
     "at least 64 Tbit/s (10 nodes x 8 cards x 800 Gbit/s), got 63.9"),
    ("too few switches", False, lambda s: s["switches"][0].update(count=1), "scale_out.switches", "at least 64"),
    ("more is required", False, lambda s: s.update(required_bandwidth_tbps=110), "scale_out.switches", "at least 110"),
    ("no switches", False, lambda s: s.update(switches=[]), "scale_out.switches", "at least one entry"),
    ("no cards", False, lambda s: s.pop("nics"), "scale_out.nics", "and it is missing"),
    ("counted missing", False, lambda s: s["nics"].pop("counted"), "scale_out.nics.counted", "and it is missing"),
    ("counted twice", False, lambda s: s["nics"].update(counted=True), "scale_out.nics.counted", "wanted false"),
    ("not counted", True, lambda s: s, "scale_out.nics.counted", "wanted true"),
    ("unknown switch", False, lambda s: s["switches"][0].update(model="X1"), "scale_out.switches[0].power_per_switch",
     "no default for 'X1'"),
    ("no optical figure", False, lambda s: (s.update(cabling="active_optical"),
     s["switches"][0].update(model="SN5400", bandwidth_tbps=25.6, count=3)),
     "scale_out.switches[0].power_per_switch", "active_optical cabling"),
    ("optical default for passive", False, lambda s: s["switches"][0].update(power_per_switch=default(2080, "D.4")),
     "scale_out.switches[0].power_per_switch", "900 W of D.4, got 2080 W"),
    ("default of no switch", False,
     lambda s: s["switches"][0].update(model="X1", power_per_switch=default(900, "D.4")),
     "scale_out.switches[0].power_per_switch", "no default for 'X1'"),
    ("card default", True, lambda s: s["nics"].update(counted=True, tdp_per_nic=default(50, "D.4")),
     "scale_out.nics.tdp_per_nic", "75 W of D.4, got 50 W"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("formula", "change", "place", "words"), [row[1:] for row in SEVERAL], ids=[row[0] for row in SEVERAL]
)
def test_several_nodes(formula: bool, change: Change, place: str, words: str) -> None:
    data = ten_nodes(formula=formula)
    change(data["scale_out"])
    problems = rejected(data).problems
    assert place in [problem.place for problem in problems]
    assert any(words in problem.message for problem in problems)


@pytest.mark.parametrize(("rack", "words"), [(6, "declared total (choice C24)"), (5, "split"), (None, "")])
def test_node_scaling_needs_a_larger_rack(rack: int | None, words: str) -> None:
    one = part_of_rack(140, 6, rack or 1)
    if rack is None:
        del one["nodes_in_published_rack"]
    (problem,) = rejected(power_file(one)).problems
    assert problem.place == "node_sets[0].nodes_in_published_rack"
    assert words in problem.hint


def test_a_published_method_needs_its_power() -> None:
    one = published(14.5)
    del one["published_power"]
    assert rejected(power_file(one)).problems[0].place == "node_sets[0].published_power"


def test_set_ids_are_unique() -> None:
    second = {**published(2, 1, number=2), "node_set_id": 1}
    assert "got 1 more than once" in rejected(power_file(published(1), second)).message


@pytest.mark.parametrize("data", [None, [], "x", 3, {}])
def test_what_is_no_power_file(data: Any) -> None:
    with pytest.raises(PowerRejected):
        parse_power(data, E3)


def test_a_file_of_nulls_is_rejected_in_full() -> None:
    """As the second file of E.6.2: null sources, no values, zeros where figures are derived."""
    data = c1()
    data["node_sets"][0]["power_method"] = "declared"
    for part in ("cpu", "accelerator"):
        parts(data)[part]["tdp_per_unit"] = {"value_w": None, "source_type": None, "source": None}
    data["computed"] = {"total_system_power_w": 0}
    found = rejected(data)
    assert len(found.problems) >= 6
    assert found.message == f"{len(found.problems)} things keep system_power.json from being used"
    lines = "\n".join(found.lines())
    assert all(problem.place in lines for problem in found.problems[:12])


def test_one_problem_has_its_place_and_several_are_listed() -> None:
    data = c1()
    data["cooling"] = "water"
    one = rejected(data)
    assert one.where == "system_power.json: cooling"
    assert one.exit_code == 2
    del data["scale_out"]
    assert rejected(data).lines()[1].count("- ") >= 1


# -- cooling -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("stated", "described", "kw"),
    [
        ("air", "air only", 13.05),
        ("liquid", "direct liquid", 11.31),
        ("liquid", "warm water", 11.31),
        ("air", "passive only", 13.05),
        ("air", ["liquid", "air only"], 13.05),
        ("air", "mixed", 13.05),
        ("air", "geothermal", 13.05),
        ("liquid", ["liquid", "immersion"], 11.31),
        ("air", None, 13.05),
        ("liquid", "air only", None),
        ("air", "immersion", None),
        ("liquid", ["liquid", "air only"], None),
        ("liquid", "passive", None),
    ],
)
def test_cooling_and_what_is_described(stated: str, described: Any, kw: float | None) -> None:
    data = {**c1(), "cooling": stated}
    if kw is None:
        assert rejected(data, cooling=described).problems[0].place == "cooling"
    else:
        assert power_of(data, cooling=described).kw == kw


@pytest.mark.parametrize(
    ("described", "words"),
    [
        ("passive only", "choice C29); the rules state no fraction"),
        (["liquid", "air"], "choice C30)"),
        ("odd", "names none"),
    ],
)
def test_assumed_cooling_is_said(described: Any, words: str) -> None:
    assert any(words.replace(")", "") in note.replace(")", "") for note in power_of(c1(), cooling=described).notes)


def test_the_description_gives_cooling_cores_and_counts() -> None:
    data = c1()
    del parts(data)["cpu"]["tdp_per_unit"]
    parts(data)["cpu"]["model"] = "AMD EPYC 9654"
    node = {"host_processor_core_count": 96, "cooling": "air only", "number_of_nodes": 2,
            "accelerator_info": [{"accelerators_per_node": 4}]}  # fmt: skip
    power = power_of(data, description={"node_types": [node]})
    assert power.kw == (2 * 500 + 8000) * 1.5 / 1000
    assert power.estimated
    assert {
        "node_sets[0]: 8 accelerators a node; described are 4",
        "node type 1: 1 nodes provisioned; described are 2",
    } <= set(power.notes)
    assert any(
        "no node type 1" in note
        for note in power_of(c1(), description={"node_types": [{"system_node_ensemble_id": 7}]}).notes
    )
    assert rejected(c1(), description={"node_types": [{"cooling": "liquid"}]}).problems[0].place == "cooling"


# -- estimates ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("change", "estimated"),
    [
        (lambda d: parts(d)["accelerator"].pop("tdp_per_unit"), True),
        (lambda d: parts(d)["cpu"].pop("tdp_per_unit"), True),
        (lambda d: parts(d)["accelerator"].update(tdp_per_unit=default(1000, "D.3")), True),
        (lambda d: parts(d)["cpu"].update(count_per_node=0, tdp_per_unit=default(350, "D.2")), False),
        (lambda d: d.update(declared_provisioned_power=sourced_kw(12)) or parts(d)["cpu"].pop("tdp_per_unit"), False),
        (lambda d: d.update(mlc_estimated_power=True), False),
        (lambda d: None, False),
    ],
)
def test_a_default_marks_the_figure_only_if_it_reaches_the_total(change: Change, estimated: bool) -> None:
    data = c1()
    change(data)
    power = power_of(data)
    assert power.estimated is estimated
    assert computed_block(power)["mlc_estimated_power"] is estimated


def test_a_default_in_a_superseded_cross_check_marks_nothing() -> None:
    one = {**published(14.5), "components": parts(c1())}
    del one["components"]["accelerator"]["tdp_per_unit"]
    power = power_of(power_file(one))
    assert not power.estimated
    assert any("the formula gives 13.05 kW, 10.0 % under the published" in note for note in power.notes)


def test_a_declared_total_needs_no_complete_parts() -> None:
    data = {**c1(), "declared_provisioned_power": sourced_kw(12)}
    parts(data)["accelerator"] = {"model": "H100", "count_per_node": 8}
    power = power_of(data)
    assert (power.kw, power.estimated) == (12.0, False)
    assert any("could not be checked" in note for note in power.notes)


def test_a_processor_default_that_cannot_be_told_is_noted() -> None:
    data = c1()
    parts(data)["cpu"] = {"model": "Own design", "count_per_node": 2, "tdp_per_unit": default(350, "D.2")}
    assert any("do not tell" in note for note in power_of(data).notes)
    parts(data)["cpu"]["tdp_per_unit"] = default(340, "D.2")
    assert "no default for this model" in rejected(data).message


def test_e1_has_no_defaults() -> None:
    data = c1()
    parts(data)["cpu"]["tdp_per_unit"] = default(350, "D.2")
    assert "this edition of the rules has no default values" in rejected(data, E1).message


# -- computed ----------------------------------------------------------------------------------------------------------


def test_what_is_written_is_accepted_again() -> None:
    for data in (
        c1(),
        ten_nodes(),
        power_file(part_of_rack(140, 6, 18)),
        {**c1(), "declared_provisioned_power": sourced_kw(12)},
    ):
        first = power_of(data)
        again = power_of(json.loads(json.dumps({**data, **computed_block(first)})))
        assert (again.kw, again.computed) == (first.kw, first.computed)


@pytest.mark.parametrize(
    ("total", "kw", "ok"), [(13050.4, 13.05, True), (13050.6, 13.05, False), (13050, 13.054, True)]
)
def test_tolerances_of_stated_figures(total: float, kw: float, ok: bool) -> None:
    data = {**c1(), "computed": {"total_system_power_w": total, "major_components_w": None}, "provisioned_power_kw": kw}
    if ok:
        assert power_of(data).kw == 13.05
    else:
        rejected(data)


def test_the_block_has_every_figure() -> None:
    block = computed_block(power_of(ten_nodes()))
    assert block == {
        "computed": {
            "major_components_w": 0.0,
            "overhead_fraction": 0.5,
            "other_components_w": 0.0,
            "published_node_power_w": 145_000.0,
            "scale_out_switch_power_w": 1800.0,
            "total_system_power_w": 146_800.0,
        },
        "provisioned_power_kw": 146.8,
        "mlc_estimated_power": True,
    }


def test_parts_add_up_to_the_total() -> None:
    data = ten_nodes(formula=True)
    data["scale_out"]["nics"].update(counted=True, tdp_per_nic=sourced(75))
    power = power_of(data)
    assert sum(part.watts for part in power.parts) == pytest.approx(float(power.watts))
    assert [part.label for part in power.parts] == [
        "processors", "accelerators", "scale-out cards", "other components", "2 scale-out switches"]  # fmt: skip
    assert power.basis == "component sum; overhead 0.5 on major components"


def test_slips_in_keys_are_said() -> None:
    data = {**c1(), "declared_provisoned_power": sourced_kw(1)}
    (note,) = power_of(data).notes
    assert note == "`declared_provisoned_power` is not read; did you mean `declared_provisioned_power`?"


def test_nothing_is_changed_in_the_data() -> None:
    data = ten_nodes()
    before = copy.deepcopy(data)
    provisioned(parse_power(data, E3), E3)
    assert data == before


# -- the flat shape ----------------------------------------------------------------------------------------------------


def test_flat_total_rack_and_overhead() -> None:
    assert power_of({"provisioned_power_w": 13_050, "link": LINK}).kw == 13.05
    rack = {"rack_power_w": 140_000, "rack_nodes": 18, "submitted_nodes": 6, "link": LINK}
    assert power_of(rack).kw == 46.67
    assert power_of({**rack, "submitted_nodes": 18}).kw == 140.0
    groups = {"compute": {"count": 2, "tdp_per_unit": 5000, "link": LINK}, "overhead_fraction": 0.3}
    assert power_of(groups).kw == 13.0
    assert power_of(groups, cooling="liquid").kw == 13.0
    both = power_of({**groups, "provisioned_power_w": 12_000, "link": LINK})
    assert both.kw == 12.0
    assert any("the total counts; groups are not used" in note for note in both.notes)


def test_flat_passive_cooling_asks_for_the_fraction() -> None:
    groups = {"compute": {"count": 2, "tdp_per_unit": 5000, "link": LINK}}
    assert power_of(groups, cooling="passive only").kw == 15.0
    power = power_of({**groups, "overhead_fraction": 0.2}, cooling="passive only")
    assert power.kw == 12.0
    assert any("passive" in note for note in power.notes)


def test_flat_scale_out_follows_the_edition() -> None:
    network = {"num_switches": 2, "tdp_per_switch": 900, "num_nics": 8, "tdp_per_nic": 75, "link": LINK}
    data = {"compute": {"count": 1, "tdp_per_unit": 1000, "link": LINK}, "scale_out_network": network}
    assert power_of(data, E1, "air").kw == 1.5
    assert power_of(data, E3, "air").kw == 1.5 + 0.9 + 1.8


@pytest.mark.parametrize(
    ("data", "place", "words"),
    [
        ({"cpu": {"num_cpu": 2, "tdp_per_cpu": 350, "link": LINK}}, "accelerator", "and it is missing"),
        ({"provisioned_power_w": 0, "link": LINK}, "provisioned_power_w", "above 0"),
        ({"provisioned_power_w": 10}, "provisioned_power_w", "public source"),
        ({"rack_power_w": 10, "link": LINK}, "rack_nodes", "missing"),
        ({"rack_power_w": 10, "rack_nodes": 2, "submitted_nodes": 3, "link": LINK}, "submitted_nodes", "at most the 2"),
        ({"compute": {"count": 1, "tdp_per_unit": 10, "link": "a page"}}, "compute.link", "web address"),
        ({"compute": {"count": 1, "tdp_per_unit": 10}}, "compute.link", "public source"),
        ({"compute": {"count": 1.5, "tdp_per_unit": 10, "link": LINK}}, "compute.count", "whole number"),
        ({"compute": {"count": 1, "tdp_per_unit": 10, "link": LINK}}, "overhead_fraction", "neither is known"),
        (
            {"compute": {"count": 1, "tdp_per_unit": 10, "link": LINK}, "overhead_fraction": 30},
            "overhead_fraction",
            "0.3",
        ),
    ],
)
def test_flat_rejections(data: dict[str, Any], place: str, words: str) -> None:
    problems = rejected(data).problems
    assert place in [problem.place for problem in problems]
    assert any(words in problem.message for problem in problems)


def test_flat_overhead_that_disagrees_with_the_cooling() -> None:
    groups = {"compute": {"count": 1, "tdp_per_unit": 10, "link": LINK}, "overhead_fraction": 0.3}
    assert "wanted 0.5 (air cooling), got 0.3" in rejected(groups, cooling="air").message


def test_e1_takes_values_without_a_source_as_proxies() -> None:
    groups = {"compute": {"count": 1, "tdp_per_unit": 1000}}
    power = power_of(groups, E1, "air")
    assert (power.kw, power.estimated) == (1.5, True)
    assert power.label == "MLC Estimated Power"
    assert any("proxy" in note for note in power.notes)
