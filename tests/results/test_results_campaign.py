"""A campaign folder as a sweep leaves it, whole, unfinished and damaged."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from result_runs import copy_of, edit_plan, edit_summary, summary_of, write_journal, write_plan

from wholecurve.curve import rows_of
from wholecurve.curve.table import barred
from wholecurve.model.errors import InputError
from wholecurve.model.point import PointKind
from wholecurve.results import CAMPAIGN_SCHEMA, load_campaign, load_curves, write_curve


def tps(folder: Path) -> float:
    """The official throughput of a run, as its own file says it."""
    summary = summary_of(folder)
    figures = (summary.get("official") or {}).get("figures") or {}
    found: float = figures["system_tps"]["value"] if "system_tps" in figures else summary["system_tps"]
    return found


def test_a_whole_campaign(campaign: Path) -> None:
    found = load_campaign(campaign)
    assert found.missing == ()
    assert found.finished
    assert found.name == "autumn"
    assert [entry["event"] for entry in found.entries] == ["created", "finished"]
    assert list(found.points) == list(found.summaries) == list(found.plans) == ["r1", "r4", "r16", "offline"]
    curve = found.curve
    assert curve.id == "autumn/autumn/own workload: prompts"
    assert [(point.concurrency, point.kind.value) for point in curve.points] == [
        (1, "curve"), (4, "curve"), (16, "curve"), (8, "offline"),
    ]  # fmt: skip
    assert [point.provenance.source for point in curve.points] == [
        "points/r1", "points/r4", "points/r16", "points/offline",
    ]  # fmt: skip
    assert (curve.c_max_declared, curve.interactivity_key) == (16, "tps_per_user")
    assert curve.identity.rules_version == "demo E3"
    assert (found.power, found.system, dict(found.accuracy)) == (None, None, {})


def test_the_records_of_a_level_are_read_when_asked_for(campaign: Path) -> None:
    found = load_campaign(campaign)
    assert found.columns_of("r16").n == summary_of(campaign / "points" / "r16")["n_samples_issued"]
    with pytest.raises(InputError, match="r64"):
        found.columns_of("r64")
    shutil.rmtree(campaign / "points" / "r16" / "records")
    assert load_campaign(campaign).curve == found.curve  # nothing but columns_of needs them
    with pytest.raises(InputError, match=r"requests\.parquet"):
        found.columns_of("r16")


def test_repeats_give_runs_and_spread_and_leave_the_value(campaign: Path) -> None:
    first, second = tps(campaign / "points" / "r4"), tps(campaign / "repeats" / "r4-2")
    by_level = {point.concurrency: point.figure("system_tps") for point in load_campaign(campaign).curve.points}
    assert (by_level[4].value, by_level[4].runs) == (first, 2)
    assert by_level[4].spread == pytest.approx(abs(first - second) / first)
    assert (by_level[16].runs, by_level[16].spread) == (1, None)
    rows = {row["concurrency"]: row["single_run"] for row in rows_of([load_campaign(campaign).curve])}
    assert (rows[4], rows[16]) == (False, True)


def test_an_interval_is_widened_to_what_the_runs_did(campaign: Path) -> None:
    def stated(value: float, low: float, high: float) -> dict[str, Any]:
        figures = {"system_tps": {"value": value, "interval": {"low": low, "high": high}}}
        return {"official": {"basis": "window", "flag": "none", "figures": figures}}

    edit_summary(campaign / "points" / "r4", lambda summary: summary.update(stated(100.0, 98.0, 103.0)))
    edit_summary(campaign / "repeats" / "r4-2", lambda summary: summary.update(stated(90.0, 89.0, 91.0)))
    figure = load_campaign(campaign).points["r4"].figure("system_tps")
    assert (figure.value, figure.low, figure.high, figure.spread) == (100.0, 90.0, 103.0, 0.1)


@pytest.mark.parametrize(
    "change", [{"state": "interrupted"}, {"validity": {"valid": False, "invalid_reasons": ["9 failed"]}}]
)
def test_a_repeat_that_does_not_count_is_no_repeat(campaign: Path, change: dict[str, Any]) -> None:
    edit_summary(campaign / "repeats" / "r4-2", lambda summary: summary.update(change))
    assert load_campaign(campaign).points["r4"].figure("system_tps").runs == 1


def test_trials_and_set_aside_attempts_are_no_points(campaign: Path) -> None:
    before = load_campaign(campaign).curve
    copy_of(campaign / "points" / "r16", campaign / "search" / "c8")
    copy_of(campaign / "points" / "r16", campaign / "attempts" / "r16-1")
    assert load_campaign(campaign).curve == before


def test_an_unfinished_campaign_is_read_and_says_what_is_missing(campaign: Path) -> None:
    shutil.rmtree(campaign / "points" / "r16")
    (campaign / "points" / "offline" / "performance" / "result_summary.json").unlink()
    with (campaign / "journal.jsonl").open("w") as file:
        file.write('{"at": "x", "event": "created"}\nnot JSON\n[1]\n{"at": "x", "event": "point_st')
    found = load_campaign(campaign)
    assert [point.concurrency for point in found.curve.points] == [1, 4]
    assert [entry["event"] for entry in found.entries] == ["created"]
    assert not found.finished
    said = "\n".join(found.missing)
    for words in (
        "line 2 is damaged", "line 3 is damaged", "line 4 is torn", "the journal has no end",
        "points/r16: not measured", "points/offline: the run did not come to its end",
    ):  # fmt: skip
        assert words in said


def test_a_campaign_without_any_point(campaign: Path) -> None:
    shutil.rmtree(campaign / "points")
    (campaign / "journal.jsonl").unlink()
    write_plan(campaign, datasets=[{"name": "chat", "rows": 5, "sha256": "ab" * 32}], tokenizer={"sha256": "cd" * 32})
    found = load_campaign(campaign)
    who = found.curve.identity
    assert found.curve.points == ()
    assert (who.benchmark, who.data_set_hash, who.tokenizer_hash) == ("own workload: chat", "ab" * 32, "cd" * 32)
    assert who.model == "sim"
    assert "journal.jsonl is missing" in found.missing


def test_an_invalid_point_stays_on_the_curve_and_counts_for_nothing(campaign: Path) -> None:
    edit_summary(
        campaign / "points" / "r16",
        lambda summary: summary.update(validity={"valid": False, "invalid_reasons": ["too many failed"]}),
    )
    point = load_campaign(campaign).points["r16"]
    assert point in load_campaign(campaign).curve.points
    assert barred(point) == "not valid: too many failed"


def test_points_measured_otherwise_count_for_nothing(campaign: Path) -> None:
    edit_plan(campaign / "points" / "r16", lambda plan: plan["datasets"][0].update(sha256="00" * 32))
    edit_plan(campaign / "points" / "r4", lambda plan: plan["endpoint"].update(model="other"))
    points = load_campaign(campaign).points
    assert barred(points["r16"]) == "not valid: measured with another data set than the campaign"
    assert barred(points["r4"]) == "not valid: measured with another model than the campaign"
    assert barred(points["r1"]) == ""


def test_a_first_level_of_another_model_does_not_speak_for_the_others(campaign: Path) -> None:
    model = json.loads((campaign / "points" / "r4" / "plan.json").read_bytes())["endpoint"]["model"]
    write_plan(campaign, endpoint={"model": model})
    edit_plan(campaign / "points" / "r1", lambda plan: plan["endpoint"].update(model="other"))
    points = load_campaign(campaign).points
    assert barred(points["r1"]) == "not valid: measured with another model than the campaign"
    assert barred(points["r4"]) == ""
    assert barred(points["r16"]) == ""


def test_the_data_set_of_the_plan_is_the_one_that_counts(campaign: Path) -> None:
    write_plan(campaign, datasets=[{"name": "prompts", "rows": 8, "sha256": "11" * 32}])
    found = load_campaign(campaign)
    assert found.curve.identity.data_set_hash == "11" * 32
    assert all("another data set" in barred(point) for point in found.points.values())


def test_two_folders_of_one_level_are_settled_and_listed(campaign: Path) -> None:
    copy_of(campaign / "points" / "r4", campaign / "points" / "r4b")
    found = load_campaign(campaign)
    assert len(found.points) == 5
    assert [point.concurrency for point in found.curve.points] == [1, 4, 16, 8]
    (aside,) = found.curve.set_aside
    assert "was measured again" in aside.reason


def test_elected_and_declared_come_from_the_plan(campaign: Path) -> None:
    levels = [{"label": "r16", "concurrency": 16, "offline": "elected"}]
    write_plan(campaign, levels=levels, c_max=None, c_max_found=20, interactivity_key="e2e_avg_interactivity")
    found = load_campaign(campaign)
    assert next(iter(found.points)) == "r16"
    assert found.points["r16"].elected_offline
    assert not found.points["r4"].elected_offline
    assert found.curve.interactivity_key == "e2e_avg_interactivity"


def test_the_description_names_the_system(campaign: Path) -> None:
    described = {
        "system_name": "Rack 7",
        "division": "Standardized",
        "node_types": [{"number_of_nodes": 2, "accelerator_info": [{"accelerators_per_node": 4}]}],
    }
    (campaign / "system_desc.json").write_text(json.dumps(described))
    found = load_campaign(campaign)
    who = found.curve.identity
    assert (who.system, who.division, who.accelerators, who.nodes) == ("Rack 7", "Standardized", 8, 2)
    assert found.system == described
    (campaign / "system_desc.json").write_text("{")
    assert "system_desc.json is not valid JSON" in "".join(load_campaign(campaign).missing)


def test_accuracy_results_are_found(campaign: Path) -> None:
    for label, text in (("r1", '{"score": 51.5}'), ("r4", "oops")):
        folder = campaign / "points" / label / "accuracy"
        folder.mkdir(exist_ok=True)
        (folder / "accuracy_results.json").write_text(text)
    found = load_campaign(campaign)
    assert dict(found.accuracy) == {"r1": {"score": 51.5}}
    assert any("accuracy_results.json" in one for one in found.missing)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("schema: other/1", CAMPAIGN_SCHEMA),
        ("name: x", CAMPAIGN_SCHEMA),
        ("schema: [", "not valid YAML"),
        ("- 1", "wanted a mapping"),
        ("a: &a [1]\nb: !!python/object:os.system {}", "tagged"),
    ],
)
def test_a_plan_that_is_none_is_refused(campaign: Path, text: str, words: str) -> None:
    (campaign / "plan.yaml").write_text(text)
    with pytest.raises(InputError, match=words) as refused:
        load_campaign(campaign)
    assert str(campaign.parent) not in str(refused.value)


def test_odd_values_in_a_plan_are_not_known(campaign: Path) -> None:
    write_plan(
        campaign, name=7, c_max="many", levels=[{"label": "../../etc"}, {"label": 3}, "r1"], rules=[], datasets="no",
        tokenizer=1, endpoint={"models": {}}, interactivity_key="speed",
    )  # fmt: skip
    found = load_campaign(campaign)
    assert found.name == "campaign"  # of the folder
    assert sorted(found.points) == ["offline", "r1", "r16", "r4"]
    assert not any("etc" in one for one in found.missing)
    assert (found.curve.c_max_declared, found.curve.interactivity_key) == (None, "tps_per_user")


def test_a_folder_that_is_no_campaign(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"no plan\.yaml"):
        load_campaign(tmp_path)


def test_curve_json_is_written_from_the_runs_and_read_back(campaign: Path) -> None:
    written = write_curve(campaign)
    assert load_curves(campaign / "curve.json") == (written,)
    assert load_campaign(campaign).curve == written
    assert not list(campaign.glob("*.part"))
    before = (campaign / "curve.json").read_bytes()
    assert str(campaign.parent).encode() not in before
    assert b"\n" in before
    shutil.rmtree(campaign / "points" / "r1")
    assert len(write_curve(campaign).points) == 3
    assert (campaign / "curve.json").read_bytes() != before


def test_a_finished_campaign_with_points_of_no_plan(campaign: Path) -> None:
    write_plan(campaign, levels=[])
    write_journal(campaign, "created", "finished", "resumed")
    found = load_campaign(campaign)
    assert list(found.points) == ["offline", "r1", "r16", "r4"]
    assert not found.finished
    assert found.curve.points[-1].kind is PointKind.OFFLINE


# -- power -------------------------------------------------------------------------------------------------------------

POWER = {
    "system_desc_id": "rack",
    "cooling": "air",
    "node_sets": [
        {
            "node_set_id": 1,
            "system_node_ensemble_id": 1,
            "nodes_provisioned": 2,
            "power_method": "component_sum",
            "components": {
                "cpu": {
                    "model": "Xeon",
                    "count_per_node": 2,
                    "tdp_per_unit": {"value_w": 350, "source_type": "vendor_spec", "source": "https://example.org/cpu"},
                },
                "accelerator": {
                    "model": "Accelerator",
                    "count_per_node": 8,
                    "tdp_per_unit": {
                        "value_w": 1000, "source_type": "vendor_spec", "source": "https://example.org/accelerator",
                    },
                },
                "scale_up_network": {"method": "none"},
            },
        }
    ],
    "scale_out": {"present": False},
}  # fmt: skip


def test_power_of_the_points(campaign: Path) -> None:
    (campaign / "system_power.json").write_text(json.dumps(POWER))
    point = campaign / "points" / "r4" / "point.yaml"
    point.write_text(point.read_text() + "nodes_used:\n- system_node_ensemble_id: 1\n  nodes: 1\n")
    found = load_campaign(campaign)
    assert found.missing == ()
    assert found.power == POWER
    # (2 x 350 + 8 x 1000) W x 1.5 for air cooling is 13.05 kW a node (rules 4.5.2, example C.1).
    assert found.points["r16"].power.kw == pytest.approx(26.1)
    assert found.points["r4"].power.kw == pytest.approx(13.05)
    assert not found.points["r16"].power.estimated
    assert "1 of 2 nodes" in found.points["r4"].power.basis


@pytest.mark.parametrize(
    ("data", "words"),
    [("{", "not valid JSON"), ("{}", "wanted"), (json.dumps({**POWER, "node_sets": []}), "wanted")],
)
def test_power_that_does_not_hold_is_none_with_its_reason(campaign: Path, data: str, words: str) -> None:
    (campaign / "system_power.json").write_text(data)
    found = load_campaign(campaign)
    power = found.points["r4"].power
    assert power.kw is None
    assert words in power.reason
    assert "\n" not in power.reason
    assert any(one.startswith("system_power.json: ") for one in found.missing)


def test_nodes_that_cannot_be_leave_one_point_without_power(campaign: Path) -> None:
    (campaign / "system_power.json").write_text(json.dumps(POWER))
    point = campaign / "points" / "r4" / "point.yaml"
    point.write_text(point.read_text() + "nodes_used:\n- system_node_ensemble_id: 1\n  nodes: 3\n")
    found = load_campaign(campaign)
    assert found.points["r4"].power.kw is None
    assert "nodes_used" in found.points["r4"].power.reason
    assert found.points["r16"].power.kw == pytest.approx(26.1)
