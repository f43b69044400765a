"""One finished run folder as a point: what is official, what is not measured and why, what does not count."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from result_runs import edit_plan, edit_summary, summary_of

from wholecurve.curve import rows_of
from wholecurve.curve.table import barred
from wholecurve.model.curve import curve_of
from wholecurve.model.errors import InputError
from wholecurve.model.point import PointKind
from wholecurve.model.record import RunState
from wholecurve.results import point_of_run


@pytest.fixture
def run(campaign: Path) -> Path:
    return campaign / "points" / "r4"


def official(**figures: dict[str, Any]) -> dict[str, Any]:
    return {"basis": "window", "flag": "none", "figures": figures}


def test_a_real_run(run: Path) -> None:
    summary, point = summary_of(run), point_of_run(run)
    assert (point.concurrency, point.kind, point.provenance.source) == (4, PointKind.CURVE, "r4")
    figures = (summary.get("official") or {}).get("figures") or {}
    for key in ("system_tps", "tps_per_user", "qps"):
        stated = figures[key]["value"] if key in figures else summary[key]
        assert point.figure(key).value == stated > 0
    assert point.figure("output_length_mean").value == summary["output_sequence_lengths"]["avg"]
    assert point.figure("total_tps").value == summary["total_tps"]
    assert point.provenance.run_state is RunState.COMPLETE
    assert point.provenance.token_source == summary["token_source"] == "usage"
    assert point.provenance.client_verdict == "ok"
    assert point.provenance.invalid == barred(point) == ""
    assert point.standing.words() == "unverified, local"
    assert point.power.kw is None
    assert point.power.reason == "no system_power.json"
    assert set(summary["cautions"]) <= set(point.notes)
    assert point.identity.benchmark == "own workload: prompts"
    assert len(point.identity.data_set_hash or "") == 64
    assert (point.identity.model, point.identity.tokenizer_hash) == ("sim", None)


def test_official_figures_come_before_those_of_the_whole_run(run: Path) -> None:
    stated = {"value": 90.0, "interval": {"low": 80.0, "high": 95.0}, "reason": None}
    edit_summary(run, lambda summary: summary.update(official=official(system_tps=stated)))
    figure = point_of_run(run).figure("system_tps")
    assert (figure.value, figure.low, figure.high, figure.runs, figure.spread) == (90.0, 80.0, 95.0, 1, None)
    # A figure that the block lacks is that of the whole run.
    assert point_of_run(run).figure("qps").value == summary_of(run)["qps"]


@pytest.mark.parametrize(
    "interval",
    [None, {}, {"low": None, "high": None}, {"low": 95.0, "high": 99.0}, {"low": -1.0, "high": 99.0}, "80 to 95"],
)
def test_an_interval_that_does_not_hold_the_value_is_left_out(run: Path, interval: Any) -> None:
    stated = {"value": 90.0, "interval": interval}
    edit_summary(run, lambda summary: summary.update(official=official(system_tps=stated)))
    figure = point_of_run(run).figure("system_tps")
    assert (figure.value, figure.low, figure.high) == (90.0, None, None)


def test_a_drifting_figure_is_a_range_and_no_value(run: Path) -> None:
    stated = {"value": None, "low": 2e6, "high": 3e6, "reason": "ttft_p90 moves by +50.0 %"}
    edit_summary(run, lambda summary: summary.update(official=official(ttft_p90_ns=stated)))
    figure = point_of_run(run).figure("ttft_p90_ns")
    assert (figure.value, figure.reason) == (None, "ttft_p90 moves by +50.0 % (2 ms to 3 ms)")


def test_what_was_not_measured_keeps_the_reason_of_the_run(run: Path) -> None:
    def change(summary: dict[str, Any]) -> None:
        summary.pop("official", None)
        summary.update(ttft={}, tps_per_user=None, total_tps=None)
        summary["not_measured"] = {"ttft": "answers were not streamed"}

    edit_summary(run, change)
    point = point_of_run(run)
    assert (point.figure("ttft_p90_ns").value, point.figure("ttft_p90_ns").reason) == (
        None,
        "answers were not streamed",
    )
    assert point.figure("tps_per_user").reason == point.figure("total_tps").reason == "not measured"
    assert point.notes[0] == "figures over the whole run: no steady window was looked for"


@pytest.mark.parametrize("value", ["fast", True, -1.0, [], {}])
def test_values_that_are_no_figures_are_not_measured(run: Path, value: Any) -> None:
    edit_summary(run, lambda summary: (summary.pop("official", None), summary.update(system_tps=value)))
    assert point_of_run(run).figure("system_tps").value is None


def test_a_number_beyond_every_reader_is_refused(run: Path) -> None:
    edit_summary(run, lambda summary: summary.update(system_tps=10**400))
    with pytest.raises(InputError, match="not valid JSON"):
        point_of_run(run)


def test_interactivity_of_zero_is_not_measured(run: Path) -> None:
    edit_summary(run, lambda summary: (summary.pop("official", None), summary.update(tps_per_user=0)))
    assert point_of_run(run).figure("tps_per_user").value is None


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"validity": {"valid": False, "invalid_reasons": ["9 of 32 requests failed"]}}, "not valid: 9 of 32"),
        ({"validity": {"valid": False}}, "not valid: its summary does not say"),
        ({"validity": None}, "not valid: its summary does not say"),
        ({"validity": {"valid": "true"}}, "not valid"),
        ({"state": "interrupted"}, "run interrupted"),
        ({"state": "splendid"}, "run failed"),
        ({"state": None}, "run failed"),
        ({"health": {"verdict": "client-limited"}}, "client-limited"),
    ],
)
def test_a_run_that_is_no_result_counts_for_nothing_and_says_why(run: Path, change: dict[str, Any], words: str) -> None:
    edit_summary(run, lambda summary: summary.update(change))
    point = point_of_run(run)
    assert words in barred(point)
    assert point.figure("system_tps").value is not None
    (row,) = rows_of([curve_of(point.identity, "tps_per_user", [point])])
    assert row["barred"] == barred(point)


def test_unknown_words_are_not_known(run: Path) -> None:
    edit_summary(run, lambda summary: summary.update(health={"verdict": "superb"}, token_source="guess"))
    point = point_of_run(run)
    assert (point.provenance.client_verdict, point.provenance.token_source) == (None, None)


def test_steady_verdict_and_flag_are_told(run: Path) -> None:
    def change(summary: dict[str, Any]) -> None:
        summary["official"] = {"basis": "total", "flag": "fallback", "figures": {}}
        summary["steady_state"] = {"verdict": "not found", "reason": "2 super-passes, wanted 10", "cautions": ["few"]}

    edit_summary(run, change)
    point = point_of_run(run)
    assert point.provenance.steady_verdict == "not found"
    assert point.notes[:3] == (
        "figures over the whole run: 2 super-passes, wanted 10",
        "flag of the official figures: fallback",
        "few",
    )


def test_offline_is_no_level(campaign: Path) -> None:
    point = point_of_run(campaign / "points" / "offline")
    assert (point.kind, point.concurrency, point.elected_offline) == (PointKind.OFFLINE, 8, False)
    assert point.figure("system_tps").value


def test_an_elected_level_stands_for_offline_too(run: Path) -> None:
    rules = {"version": "demo", "edition": "E3", "kind": "single_turn", "benchmark": "demo", "offline": "elected"}
    edit_plan(run, lambda plan: plan.update(rules=rules))
    point = point_of_run(run)
    assert point.elected_offline
    assert (point.identity.benchmark, point.identity.rules_version) == ("demo", "demo E3")


def test_an_agentic_run_has_its_own_speed_and_traffic(run: Path) -> None:
    rules = {"version": "demo", "edition": "E3", "kind": "agentic", "benchmark": "demo-agentic"}
    edit_plan(run, lambda plan: plan.update(rules=rules))
    edit_summary(run, lambda summary: summary.update(e2e_avg_interactivity=41.5))
    point = point_of_run(run)
    assert point.figure("e2e_avg_interactivity").value == 41.5
    assert point.identity.traffic == "demo_agentic"
    edit_plan(run, lambda plan: plan.update(rules={**rules, "version": "v9"}))
    assert point_of_run(run).identity.traffic is None  # rules that nobody knows share nothing


def test_an_open_loop_run_says_that_nobody_asked_for_its_concurrency(run: Path) -> None:
    def change(plan: dict[str, Any]) -> None:
        plan["phases"][-1].update(pattern="poisson", rate_per_s=50.0, concurrency=None)

    edit_plan(run, change)
    edit_summary(run, lambda summary: summary["concurrency"].update(mean_while_issuing=6.6))
    point = point_of_run(run)
    assert (point.concurrency, point.asked_rate_per_s) == (7, 50.0)
    assert "nobody asked for it" in point.notes[0]
    edit_summary(run, lambda summary: summary.update(concurrency=None))
    with pytest.raises(InputError, match="does not say its concurrency"):
        point_of_run(run)


def test_counts_of_the_described_system(run: Path) -> None:
    types = [
        {"number_of_nodes": 2, "accelerator_info": [{"accelerators_per_node": 8}]},
        {"number_of_nodes": 1, "accelerator_info": [{"accelerators_per_node": 4}, {"accelerators_per_node": 1}]},
    ]

    def described(**fields: Any) -> tuple[str, int | None, int | None]:
        import json

        (run / "system_desc.json").write_text(json.dumps({"system_name": "Box", **fields}))
        who = point_of_run(run).identity
        return who.system, who.accelerators, who.nodes

    assert described(node_types=types) == ("Box", 21, 3)
    assert described() == ("Box", None, None)
    assert described(node_types=[{"number_of_nodes": 2}]) == ("Box", None, 2)
    assert described(node_types=[*types, {}]) == ("Box", None, None)
    assert described(node_types=[{"number_of_nodes": 2, "accelerator_info": [{}]}]) == ("Box", None, 2)
    assert described(node_types="two", system_name="") == ("r4", None, None)


@pytest.mark.parametrize(
    ("file", "data", "words"),
    [
        ("plan.json", '{"schema": "wholecurve.plan/9"}', "wholecurve.plan/1"),
        ("plan.json", '{"schema": "wholecurve.plan/1", "phases": [1]}', "no performance phase"),
        ("plan.json", "{", "not valid JSON"),
        ("performance/result_summary.json", '{"schema": "other"}', "result_summary/1"),
        ("performance/result_summary.json", None, "did not come to its end"),
        ("plan.json", None, "no plan.json"),
        ("point.yaml", "a: [", "not valid YAML"),
        ("point.yaml", "- 1", "wanted a mapping"),
        ("system_desc.json", "[]", "wanted an object"),
    ],
)
def test_a_damaged_folder_is_refused_without_its_path(run: Path, file: str, data: str | None, words: str) -> None:
    if data is None:
        (run / file).unlink()
    else:
        (run / file).write_text(data)
    with pytest.raises(InputError, match=words) as refused:
        point_of_run(run)
    assert str(run.parent) not in str(refused.value)


def test_a_minimal_summary_is_read_and_counts_for_nothing(run: Path) -> None:
    (run / "performance" / "result_summary.json").write_text('{"schema": "wholecurve.result_summary/1"}')
    (run / "point.yaml").unlink()
    (run / "system_desc.json").unlink()
    point = point_of_run(run)
    assert all(figure.value is None and figure.reason for figure in point.figures.values())
    assert barred(point) == "run failed"
