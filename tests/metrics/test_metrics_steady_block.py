"""Steady state and official figures as they stand in result_summary.json and point.yaml."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from metrics_build import MS, S, machine, phase, plan, worker
from metrics_runs import steps

from wholecurve.metrics import HEADLINES, NULL, Columns, WindowRules, submission_block, summarize, window_rules
from wholecurve.model.plan import Pattern, PhaseKind, PhasePlan, RulesPlan
from wholecurve.model.record import RunState
from wholecurve.model.strict_json import dumps_strict

PER = 50
RULES = RulesPlan(
    version="v1_0", edition="E3", fingerprint="f", kind="single_turn", min_window_ns=190 * S, min_super_passes=4,
    lead_super_passes=1,
)  # fmt: skip
FLAT = steps([20.0] * 12, per=PER)
DRIFTING = steps([20.0] * 8 + [20.0 + step for step in range(1, 11)], per=PER)
STEPPED = steps([20.0] * 8 + [30.0] * 8, per=PER)


def summary_of(columns: Columns, rules: RulesPlan | None = RULES, **more: Any) -> dict[str, Any]:
    this: PhasePlan = phase(**({"concurrency": 1, "rows": PER} | more))
    return summarize(
        replace(plan(this), rules=rules), 0, columns, state=RunState.COMPLETE, workers=[worker()], machine=machine(),
        started_at=None, version="0", git_sha=None, extra={},
    )  # fmt: skip


def test_the_rules_of_a_plan_are_those_of_the_window() -> None:
    assert window_rules(None) == WindowRules()
    assert window_rules(RULES) == WindowRules(min_duration_ns=190 * S)
    asked = replace(RULES, min_super_passes=6, lead_super_passes=0, min_window_ns=1)
    assert window_rules(asked) == WindowRules(min_super_passes=6, min_duration_ns=1, lead_super_passes=0)
    with pytest.raises(ValueError, match="at least 2 super-passes"):
        window_rules(replace(RULES, min_super_passes=1))


def test_every_key_and_every_value_of_a_steady_run() -> None:
    found = summary_of(FLAT)["steady_state"]
    assert list(found) == [
        "status", "verdict", "basis", "flag", "reason", "window", "state", "watched", "drifts", "anomaly",
        "ramp_blocks", "drain_blocks", "cut", "series", "block_starts_ns", "cautions",
    ]  # fmt: skip
    assert (found["status"], found["verdict"], found["basis"], found["flag"], found["reason"]) == (
        "windowable", "STEADY STATE", "window", "none", None,
    )  # fmt: skip
    window = found["window"]
    assert {key: window[key] for key in ("super_pass_start", "super_pass_end", "super_passes", "requests")} == {
        "super_pass_start": 1, "super_pass_end": 11, "super_passes": 11, "requests": 11 * PER,
    }  # fmt: skip
    assert (window["start_ns"], window["end_ns"], window["duration_ns"]) == (50 * S, 599 * S, 549 * S)
    assert window["low_confidence"] is False
    assert found["cut"] == {
        "requests": 600, "pass_size": 50, "block_size": 50, "blocks": 12, "aligned": True, "passes": 12,
    }  # fmt: skip
    assert found["block_starts_ns"] == [place * 50 * S for place in range(12)]
    assert {key: len(values) for key, values in found["series"].items()} == dict.fromkeys(
        ("tpot_p50", "tpot_p90", "ttft_p50", "ttft_p90"), 12
    )


def test_whole_nanoseconds_stay_whole() -> None:
    found = summary_of(FLAT)
    figures = found["official"]["figures"]
    assert list(figures) == [row.key for row in HEADLINES]
    for key in ("ttft_p50_ns", "ttft_p90_ns", "latency_p50_ns", "latency_p90_ns"):
        assert {type(figures[key][part]) for part in ("value", "window", "total")} == {int}
        assert type(figures[key]["interval"]["low"]) is int
    for key in ("system_tps", "tps_per_user", "tpot_p90_ns"):
        assert type(figures[key]["value"]) is float
    assert {type(value) for value in found["steady_state"]["series"]["ttft_p90"]} == {int}
    assert json.loads(dumps_strict(found)) == found, "plain values, and none that JSON changes"


def test_official_figures_are_of_the_window_and_top_level_ones_of_the_whole_run() -> None:
    columns = steps([30.0, *[20.0] * 11], per=PER)
    found = summary_of(columns)
    figure = found["official"]["figures"]["tpot_p90_ns"]
    assert found["official"]["basis"] == figure["basis"] == "window"
    assert figure["value"] == figure["window"] < figure["total"]
    assert figure["total"] == found["tpot"]["percentiles"]["90.0"]
    assert found["official"]["figures"]["system_tps"]["total"] == found["system_tps"]
    assert any("`official`" in sentence for sentence in found["decided_differently"])


def test_without_rules_the_defaults_hold_and_the_basis_says_why_it_is_the_whole_run() -> None:
    found = summary_of(FLAT, None)
    assert (found["steady_state"]["status"], found["official"]["basis"]) == ("insufficient_duration", "total")
    assert (
        found["steady_state"]["reason"] == "the steady window spans 9.15 min of issue time, wanted 20 min: run longer"
    )
    assert found["steady_state"]["window"]["low_confidence"] is True
    for figure in found["official"]["figures"].values():
        assert figure["value"] == figure["total"]


def test_a_super_pass_is_a_pass_of_the_phases_data_set() -> None:
    assert summary_of(FLAT, rows=25)["steady_state"]["cut"]["pass_size"] == 25
    assert summary_of(FLAT, rows=700)["steady_state"]["status"] == "partial_dataset"


def test_a_drift_is_a_range_and_a_step_is_told() -> None:
    drifting = summary_of(DRIFTING)
    figure = drifting["official"]["figures"]["tpot_p90_ns"]
    assert figure["value"] is None
    assert 19 * MS < figure["low"] < 21 * MS
    assert 29 * MS < figure["high"] < 31.5 * MS
    drift = next(one for one in drifting["steady_state"]["drifts"] if one["key"] == "tpot_p90")
    assert (drift["state"], type(drift["n"])) == ("Drifting Up", int)
    shift = summary_of(STEPPED)["steady_state"]["anomaly"]
    assert (shift["block"], shift["sentence"][:29]) == (8, "level shift at super-pass 8: ")


def test_offline_agentic_and_empty_phases_say_why_not() -> None:
    offline = summary_of(FLAT, pattern=Pattern.OFFLINE, concurrency=None)
    state = offline["steady_state"]
    assert (state["status"], state["verdict"], state["window"], state["cut"]) == (None, None, None, None)
    assert state["reason"].startswith("offline: all requests are issued at once")
    assert offline["official"]["figures"]["system_tps"]["value"] == offline["system_tps"]
    turns = Columns(
        {**FLAT.numbers, "turn": np.ones(FLAT.n, dtype=np.int64)}, FLAT.texts, FLAT.gaps_ns, FLAT.gap_offsets
    )
    assert summary_of(turns)["steady_state"]["reason"].startswith("agentic: ")
    nothing = FLAT.where(FLAT["index"] == NULL)
    assert summary_of(nothing)["steady_state"]["reason"] == "no request was issued"
    assert summary_of(nothing)["official"]["figures"]["ttft_p90_ns"]["value"] is None
    assert submission_block(state) is None


@pytest.mark.parametrize("kind", [PhaseKind.WARMUP, PhaseKind.ACCURACY])
def test_only_a_performance_phase_has_them(kind: PhaseKind) -> None:
    found = summary_of(FLAT, kind=kind)
    assert (found["steady_state"], found["official"]) == (None, None)
    assert submission_block(found["steady_state"]) is None


def test_the_submission_block_comes_from_the_file() -> None:
    read = json.loads(dumps_strict(summary_of(STEPPED)))["steady_state"]
    block = submission_block(read)
    assert block is not None
    assert (block["status"], block["verdict"]) == ("windowable", "anomaly")
    assert block["anomaly"] == read["anomaly"]["sentence"]
    assert block["window"] == {
        "super_pass_start": 1, "super_pass_end": 7, "super_pass_size": PER, "n_samples": 350, "duration_s": 349.0,
    }  # fmt: skip
