"""performance/result_summary.json as a whole."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from metrics_build import MS, S, answer, columns, failed, machine, phase, plan, worker

from wholecurve.metrics import METRICS, Columns, metrics_page, summarize
from wholecurve.model.names import NAMES
from wholecurve.model.plan import Limits, Pattern, PhaseKind, Plan, StopRule
from wholecurve.model.record import RunState
from wholecurve.model.strict_json import dumps_strict

REFERENCE_KEYS = [
    *("version", "git_sha", "test_started_at", "n_samples_issued", "n_samples_completed", "n_samples_failed"),
    *("duration_ns", "state", "complete", "ttft", "tpot", "latency", "output_sequence_lengths"),
    *(
        "input_sequence_lengths",
        "legacy_loadgen_window_duration_ns",
        "qps",
        "tps",
        "finish_reason_counts",
        "run_config",
    ),
]

STEADY = phase(Pattern.CONSTANT, rate_per_s=1.0)

FREE_KEYS = {
    "percentiles",
    "early_stopping_percentiles",
    "finish_reason_counts",
    "not_measured",
    "weighting",
    "workload",
    "state",
    "watched",
    "series",
}
"""Objects whose keys are values themselves: percentiles, reasons, metric names, gates."""


def answers(n: int = 100) -> list[dict[str, Any]]:
    counted = {"osl": 11, "osl_after_first": 10, "usage_output": 12, "isl": 5, "usage_input": 6, "connect_ns": MS}
    return [answer(i * S, 100 * MS, [20 * MS] * 10, end=MS, **counted) for i in range(n)]


def summary(cols: Columns, of: Plan | None = None, **more: Any) -> dict[str, Any]:
    settings: dict[str, Any] = {
        "state": RunState.COMPLETE,
        "workers": [worker()],
        "machine": machine(),
        "started_at": "2026-02-03T04:05:06+01:00",
        "version": "0.1.0",
        "git_sha": "0123abcd",
        "extra": {"dataset_sha256": "0" * 64},
    }
    return summarize(of or plan(STEADY), 0, cols, **(settings | more))


def keys(value: Any) -> set[str]:
    if isinstance(value, list):
        return set().union(*(keys(item) for item in value))
    if not isinstance(value, dict):
        return set()
    return set(value).union(*(keys(item) for name, item in value.items() if name not in FREE_KEYS))


def full() -> dict[str, Any]:
    """A summary in which every optional part is present."""
    rows = [row | {"turn": 1} for row in answers()] + [failed("http_status", status=429)]
    rows[0]["events"] = 1
    poisson = phase(Pattern.POISSON, rate_per_s=1.0)
    return summary(columns(rows), plan(poisson), workers=[worker(cpu_ns=9 * S)])


def test_every_key_has_a_name_and_a_unit_where_one_is_needed() -> None:
    assert keys(full()) - set(NAMES) == set()
    assert set(full()["not_measured"]) | set(summary(columns([]))["not_measured"]) <= set(NAMES)


def test_reference_keys_come_first_in_their_order() -> None:
    assert list(full())[: len(REFERENCE_KEYS) + 1] == ["schema", *REFERENCE_KEYS]
    assert list(summary(columns([]))) == [key for key in full() if not key.startswith(("e2e_", "output_tokens_per"))]


def test_figures_of_a_plain_run() -> None:
    found = summary(columns([*answers(), failed("http_protocol_error", 0, MS)]))
    assert found["test_started_at"] == 1770087906
    assert (found["n_samples_issued"], found["n_samples_completed"], found["n_samples_failed"]) == (101, 100, 1)
    assert found["duration_ns"] == 99 * S + 301 * MS
    assert found["ttft"]["percentiles"]["90.0"] == 100 * MS
    assert found["tpot"]["percentiles"]["90.0"] == 20 * MS
    assert found["tps_per_user"] == pytest.approx(50.0)
    assert found["system_tps"] == found["tps"] == pytest.approx(1100 / 99.301)
    assert found["system_tps"] == found["output_sequence_lengths"]["total"] * 1e9 / found["duration_ns"]
    assert found["token_source"] == "reference"
    assert (found["tokens"]["compared"], found["tokens"]["relative_mismatch"]) == (100, pytest.approx(1 / 11))
    assert found["outcomes"] == {"sent": 101, "succeeded": 100, "failed": 1, "cancelled": 0, "lost": 0, "unknown": 0}
    assert found["validity"] == {"valid": True, "invalid_reasons": []}
    assert found["health"]["verdict"] == "ok"
    assert found["stamp_source"] == "kernel"
    assert found["workload"] == {"dataset_sha256": "0" * 64}
    assert found["not_measured"] == {}
    assert found["violations"] == []


def test_usage_tokens_are_named_so() -> None:
    found = summary(columns([answer(0, MS, [20 * MS] * 10, usage_output=11)] * 2))
    assert (found["token_source"], found["tpot"]["max"]) == ("usage", 20 * MS)


def test_cli_8_a_fixed_latency_has_one_unit() -> None:
    found = summary(columns([answer(0, 2500 * MS, [])]))
    assert found["latency"]["median"] == 2_500_000_000
    assert NAMES["latency"].unit == "ns"


def test_sta_3_a_refused_run_has_no_figure_and_is_not_valid() -> None:
    found = summary(columns([failed("connect_refused", 0, MS)] * 10))
    for metric in METRICS:
        assert found[metric.key] == {}
        assert found["not_measured"][metric.key] == "no request succeeded"
    assert found["tps_per_user"] is None
    assert found["system_tps"] is None
    assert found["validity"]["valid"] is False
    assert "no request succeeded" in found["validity"]["invalid_reasons"]


def test_reasons_say_what_is_missing() -> None:
    assert summary(columns([answer(0, MS, [MS])]))["not_measured"]["tpot"] == (
        "no tokens were counted: no reference tokenizer, and the endpoint sent no usage"
    )
    whole = summary(columns(answers()), plan(phase(concurrency=1), stream=False))
    assert whole["not_measured"]["ttft"] == "answers were not streamed"
    single = summary(columns([answer(0, MS, [], osl=1, osl_after_first=0)]))["not_measured"]
    assert single["gaps"] == "no success has two or more output-bearing events"
    assert single["connect_time"] == "no success has connect_ns"


def test_rep_8_a_mostly_failed_run_is_not_valid() -> None:
    cols = columns([*answers(94), *[failed("http_protocol_error")] * 6])
    found = summary(cols, plan(STEADY, limits=Limits(max_failed_share=0.05)))
    assert found["validity"]["invalid_reasons"] == ["6 of 100 requests failed (6.00 %, limit 5.00 %)"]
    assert summary(cols, plan(STEADY, limits=Limits(max_failed_share=0.06)))["validity"]["valid"]


INVALID = [
    ([{"outcome": "lost"}], "1 requests were lost inside the client"),
    ([failed("client_ports_exhausted")], "1 failures are this machine's fault"),
    ([answer(0, MS, [MS], gaps_ns=[3])], "1 invariants of the records do not hold: see violations"),
]


@pytest.mark.parametrize(("rows", "reason"), INVALID)
def test_scl_5_what_makes_a_run_invalid(rows: list[dict[str, Any]], reason: str) -> None:
    found = summary(columns([*answers(200), *rows]))
    assert found["validity"] == {"valid": False, "invalid_reasons": [reason]}


def test_scl_5_a_run_that_lost_requests_is_not_complete() -> None:
    found = summary(columns([*answers(), {"outcome": "lost"}]))
    assert (found["state"], found["complete"]) == ("complete", False)
    assert found["health"]["verdict"] == "client-limited"


def test_an_interrupted_run_says_so_and_gives_no_early_stopping_estimates() -> None:
    found = summary(columns(answers()), state=RunState.INTERRUPTED)
    assert (found["state"], found["complete"]) == ("interrupted", False)
    assert found["validity"]["invalid_reasons"] == ["the run is interrupted"]
    assert "early_stopping_percentiles" not in found["ttft"]
    done = summary(columns(answers()))
    assert [name for name in found if "early_stopping_percentiles" in keys(done[name])] == ["ttft", "tpot", "latency"]


def test_legacy_figures_are_for_poisson_only() -> None:
    assert full()["legacy_loadgen_window_duration_ns"] == 99 * S + 301 * MS
    assert summary(columns(answers()))["legacy_loadgen_qps"] is None


def test_agentic_figures_can_be_derived_from_their_sums() -> None:
    found = full()
    sums = (found["output_tokens_per_turn_total"], found["e2e_turn_time_seconds_total"])
    assert sums == (1100, pytest.approx(30.1))
    assert found["e2e_avg_interactivity"] == sums[0] / sums[1]


def test_run_config_speaks_the_reference_clients_words() -> None:
    warm = phase(
        concurrency=4,
        kind=PhaseKind.WARMUP,
        name="warmup",
        order_seed=42,
        stop=StopRule(max_samples=8),
        salt="x",
    )
    offline = phase(Pattern.OFFLINE, arrival_seed=3)
    found = summarize(
        plan(warm, offline),
        1,
        columns(answers()),
        state=RunState.COMPLETE,
        workers=[],
        machine=machine(),
        started_at=None,
        version="0",
        git_sha=None,
        extra={},
    )
    assert found["run_config"] == {
        "load_pattern": {"type": "max_throughput", "target_qps": None, "target_concurrency": None},
        "warmup": {"enabled": True, "n_requests": 8, "salt": True, "drain": True, "warmup_random_seed": 42},
        "scheduler_random_seed": 3,
        "dataloader_random_seed": 7,
    }
    assert found["test_started_at"] is None
    assert summary(columns(answers()))["run_config"]["warmup"]["enabled"] is False


@pytest.mark.parametrize(
    ("stamps", "user", "wanted"), [(True, 0, "kernel"), (True, 1, "mixed"), (True, 12, "user"), (False, 12, "user")]
)
def test_stamp_source(stamps: bool, user: int, wanted: str) -> None:
    rows = columns([row | {"user_stamps": user} for row in answers()])
    assert summary(rows, machine=machine(kernel_stamps=stamps))["stamp_source"] == wanted


def test_rep_1_files_are_strict_json() -> None:
    for found in (full(), summary(columns([]))):
        text = dumps_strict(found)
        assert json.loads(text, parse_constant=pytest.fail) == found


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
def test_rep_1_numbers_that_json_has_not_are_refused_with_their_place(bad: float) -> None:
    with pytest.raises(ValueError, match=r"\$\.a\[1\]\.b is (nan|inf|-inf)"):
        dumps_strict({"a": [1, {"b": bad}]})


def test_numpy_values_are_refused() -> None:
    with pytest.raises(TypeError):
        dumps_strict({"a": np.int64(1)})


def test_metrics_page_is_current() -> None:
    """Write it again with: python -c 'from wholecurve.metrics import metrics_page; print(metrics_page(), end="")'."""
    page = Path(__file__).parents[2] / "docs" / "reference" / "metrics.md"
    assert page.read_text(encoding="utf-8") == metrics_page()
