"""point.yaml: keys and values that a submission asks for, from what happened."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml
from run_folder import measured, resolved_run

from wholecurve.metrics import submission_block
from wholecurve.model.plan import PhaseKind, Plan, RulesPlan
from wholecurve.run.derive import Derived, derive
from wholecurve.run.point_file import point_yaml
from wholecurve.sim import FaultShare, SimOptions, profile_named, start

SEEDS = {
    "scheduler_rng_seed": "10487924139932647040",
    "sample_index_rng_seed": "586478644936801402",
    "model_seed": "9315206023656308754",
}
RULES = RulesPlan(
    version="v1_0", edition="E3", fingerprint="f", kind="single_turn", min_window_ns=600_000_000_000,
    min_super_passes=4, lead_super_passes=1, region="med_concurrency", c_min=1, c_max=512, seed_set="A", seeds=SEEDS,
    target_cohort="2026-11-C0",
)  # fmt: skip


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Four runs: with a salted warm-up of the measured rows, with another warm-up, without one, and offline."""
    root = tmp_path_factory.mktemp("points")
    other = root / "other.jsonl"
    other.write_text("".join(f'{{"prompt": "warm {row}", "max_tokens": 2}}\n' for row in range(3)))
    kinds: dict[str, dict[str, Any]] = {
        "salted": {"warmup": {"requests": 5, "concurrency": 2}, "stop": {"passes": 9}},
        "other": {"warmup": {"requests": 3, "dataset": {"path": str(other)}}},
        "none": {},
        "offline": {"load": {"pattern": "offline"}},
    }
    with start(SimOptions(profile=profile_named("flash"))) as sim:
        for name, sections in kinds.items():
            measured(root / name, sim, **sections)
    return {name: root / name / "out" for name in kinds}


def point_of(folder: Path) -> dict[str, Any]:
    found = yaml.safe_load((folder / "point.yaml").read_text())
    assert isinstance(found, dict)
    return found


def made(found: Derived, **changes: Any) -> dict[str, Any]:
    plan = replace(found.plan, **changes)
    read = yaml.safe_load(point_yaml(plan, found.summary))
    assert isinstance(read, dict)
    return read


def test_a_plain_run(folders: dict[str, Path]) -> None:
    point = point_of(folders["salted"])
    assert list(point) == [
        "schema", "concurrency", "region", "max_supported_concurrency", "model_name", "dataset", "dataset_name",
        "seed_set", "target_cohort", "offline", "runtime_settings", "warmup", "steady_state", "measured",
    ]  # fmt: skip
    assert (point["concurrency"], point["model_name"], point["dataset"], point["offline"]) == (4, "sim", "rows", "none")
    assert (point["region"], point["seed_set"], point["target_cohort"]) == (None, None, None)
    assert point["runtime_settings"]["load_pattern"] == "concurrency"
    assert point["runtime_settings"]["runtime"] == {
        "scheduler_rng_seed": 42, "sample_index_rng_seed": 42, "model_seed": None,
    }  # fmt: skip


def test_the_rules_place_the_point_and_seeds_beyond_63_bits_stay_exact(folders: dict[str, Path]) -> None:
    found = derive(folders["none"])
    point = made(found, rules=RULES)
    assert (point["region"], point["max_supported_concurrency"]) == ("med_concurrency", 512)
    assert (point["seed_set"], point["target_cohort"], point["offline"]) == ("A", "2026-11-C0", "none")
    assert point["runtime_settings"]["runtime"] == {name: int(text) for name, text in SEEDS.items()}
    assert "10487924139932647040\n" in point_yaml(replace(found.plan, rules=RULES), found.summary)
    assert made(found, rules=replace(RULES, offline="elected"))["offline"] == "elected"


def test_the_warmup_declaration_is_what_happened(folders: dict[str, Path]) -> None:
    point = point_of(folders["salted"])
    declared = point["warmup"]
    assert list(declared)[:6] == [
        "duration_s", "requests_issued", "requests_completed", "data_source", "concurrency", "initialization_steps",
    ]  # fmt: skip
    assert (declared["requests_issued"], declared["requests_completed"], declared["concurrency"]) == (5, 5, 2)
    assert 0 < declared["duration_s"] < 20
    assert declared["data_source"] == "performance_dataset_salted"
    started = derive(folders["salted"]).summary["started_at"]
    assert declared["initialization_steps"] == [
        f"5 of 5 warm-up requests answered before the measured phase began at {started}",
        "initialisation ended before the measured phase began: no warm-up request was still in flight",
    ]
    assert declared["logs_retained"] is True
    assert point["runtime_settings"]["warmup"] == {"salt": True}


def test_other_prompts_are_named_so(folders: dict[str, Path]) -> None:
    point = point_of(folders["other"])
    assert point["warmup"]["data_source"] == "other_dataset"
    assert point["runtime_settings"]["warmup"] == {"salt": False}


def test_no_warmup_is_an_explicit_zero(folders: dict[str, Path]) -> None:
    declared = point_of(folders["none"])["warmup"]
    numbers = ("duration_s", "requests_issued", "requests_completed", "concurrency")
    assert [declared[name] for name in numbers] == [0, 0, 0, 0]
    assert declared["data_source"] == "none"
    (step,) = declared["initialization_steps"]
    assert step.startswith("no warm-up request was sent before the measured phase began at 20")


def test_warmup_requests_that_failed_are_not_called_answered(tmp_path: Path) -> None:
    with start(SimOptions(profile=profile_named("flash"), faults=(FaultShare("reset", 1.0),))) as sim:
        measured(tmp_path, sim, warmup={"requests": 4})
    declared = point_of(tmp_path / "out")["warmup"]
    assert (declared["requests_issued"], declared["requests_completed"]) == (4, 0)
    assert declared["initialization_steps"][0].startswith("0 of 4 warm-up requests answered")


def test_the_steady_state_is_the_submission_block_and_figures_are_official(folders: dict[str, Path]) -> None:
    found = derive(folders["salted"])
    point, official = point_of(folders["salted"]), found.summary["official"]
    assert point["steady_state"] == submission_block(found.summary["steady_state"])
    assert set(point["steady_state"]["state"]) == {"tpot_p50", "tpot_p90"}
    for key, figure in official["figures"].items():
        assert point["measured"][key] == figure["value"]
        assert type(point["measured"][key]) is type(figure["value"])
    assert (point["measured"]["basis"], point["measured"]["flag"]) == (official["basis"], official["flag"])
    assert type(point["measured"]["ttft_p90_ns"]) is int


def test_a_window_has_the_whole_run_beside_it_and_a_drift_its_range(folders: dict[str, Path]) -> None:
    found = derive(folders["salted"])
    official = found.summary["official"]
    official["basis"], official["flag"] = "window", "drift"
    official["figures"]["tpot_p90_ns"] |= {"value": None, "low": 1.5, "high": 2.5}
    point = made(found)["measured"]
    assert point["tpot_p90_ns"] is None
    assert point["ranges"] == {"tpot_p90_ns": [1.5, 2.5]}
    assert point["total"] == {key: figure["total"] for key, figure in official["figures"].items()}


def test_offline_is_dedicated_and_has_no_steady_state(folders: dict[str, Path]) -> None:
    point = point_of(folders["offline"])
    assert (point["offline"], point["runtime_settings"]["load_pattern"]) == ("dedicated", "max_throughput")
    assert (point["concurrency"], point["steady_state"]) == (6, None)
    assert point["measured"]["basis"] == "total"
    summary = derive(folders["offline"]).summary
    assert summary["steady_state"]["reason"].startswith("offline: all requests are issued at once")


def test_salted_requests_repeat_nothing(tmp_path: Path) -> None:
    with start(SimOptions(profile=profile_named("flash"))) as sim:
        measured(tmp_path / "salted", sim, load={"concurrency": 4, "salt": "word"}, stop={"passes": 3})
        measured(tmp_path / "plain", sim, stop={"passes": 3})
    salted, plain = (derive(tmp_path / name / "out").summary["workload"]["prompts"] for name in ("salted", "plain"))
    assert (salted["requests"], salted["repeats"], plain["requests"], plain["repeats"]) == (18, 0, 18, 12)
    assert salted["warnings"] == []
    assert plain["warnings"]
    assert salted["prefix_of_two"] < plain["prefix_of_two"]


def test_the_plan_of_a_run_is_the_plan_on_disk(tmp_path: Path) -> None:
    """What is derived later is derived from the very plan that was measured."""
    with start(SimOptions(profile=profile_named("flash"))) as sim:
        resolved = resolved_run(tmp_path, sim, warmup={"requests": 2})
        result = measured(tmp_path, sim, warmup={"requests": 2})
    found: Plan = derive(result.folder).plan
    assert found == resolved.plan
    assert [one.kind for one in found.phases] == [PhaseKind.WARMUP, PhaseKind.PERFORMANCE]
