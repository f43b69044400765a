"""Each row of the table of metrics: three cases one can check in the head, and no data."""

from __future__ import annotations

import math
from typing import Any

import pytest
from metrics_build import MS, columns

from wholecurve.metrics import METRICS, NULL, NUMBER_COLUMNS, Metric
from wholecurve.model.names import NAMES, Group

SPAN = {"first_output_ns": 0, "last_output_ns": 100}

CASES: dict[str, list[tuple[dict[str, Any], float]]] = {
    "ttft": [
        ({"issued_ns": 10, "first_output_ns": 30}, 20),
        ({"issued_ns": 10, "sent_ns": 15, "first_output_ns": 10}, 0),
        ({"issued_ns": 0, "scheduled_ns": 0, "first_output_ns": 5 * MS}, 5 * MS),
    ],
    "ttft_from_sent": [
        ({"sent_ns": 10, "first_output_ns": 30}, 20),
        ({"issued_ns": 0, "sent_ns": 15, "first_output_ns": 16}, 1),
        ({"sent_ns": 0, "first_output_ns": 7}, 7),
    ],
    "ttft_from_scheduled": [
        ({"scheduled_ns": 10, "first_output_ns": 30}, 20),
        ({"scheduled_ns": 1, "issued_ns": 50, "first_output_ns": 101}, 100),
        ({"scheduled_ns": 0, "first_output_ns": 7}, 7),
    ],
    "time_to_first_visible": [
        ({"issued_ns": 10, "first_output_ns": 20, "first_visible_ns": 90}, 80),
        ({"issued_ns": 10, "first_visible_ns": 10}, 0),
        ({"issued_ns": 0, "first_visible_ns": 3}, 3),
    ],
    "tpot": [
        (SPAN | {"osl": 11, "osl_after_first": 10}, 10.0),
        (SPAN | {"usage_output": 11}, 10.0),
        # reference wins over usage
        (SPAN | {"osl": 5, "osl_after_first": 4, "usage_output": 11}, 25.0),
    ],
    "time_per_output_event": [
        (SPAN | {"output_events": 11}, 10.0),
        (SPAN | {"output_events": 2}, 100.0),
        ({"first_output_ns": 5, "last_output_ns": 5, "output_events": 3}, 0.0),
    ],
    "latency": [
        ({"issued_ns": 10, "completed_ns": 30}, 20),
        ({"issued_ns": 10, "sent_ns": 15, "completed_ns": 110}, 100),
        ({"issued_ns": 0, "completed_ns": 0}, 0),
    ],
    "latency_from_scheduled": [
        ({"scheduled_ns": 10, "completed_ns": 30}, 20),
        ({"scheduled_ns": 10, "issued_ns": 20, "completed_ns": 110}, 100),
        ({"scheduled_ns": 0, "completed_ns": 1}, 1),
    ],
    "time_to_last_output": [
        ({"issued_ns": 10, "last_output_ns": 30, "completed_ns": 99}, 20),
        ({"issued_ns": 10, "last_output_ns": 11}, 1),
        ({"issued_ns": 0, "last_output_ns": 0}, 0),
    ],
    "dispatch_delay": [
        ({"scheduled_ns": 10, "sent_ns": 30}, 20),
        ({"scheduled_ns": 10, "issued_ns": 20, "sent_ns": 25}, 15),
        ({"scheduled_ns": 0, "sent_ns": 0}, 0),
    ],
    "start_lag": [
        ({"scheduled_ns": 10, "issued_ns": 30}, 20),
        ({"scheduled_ns": 10, "issued_ns": 10, "sent_ns": 99}, 0),
        ({"scheduled_ns": 0, "issued_ns": 1}, 1),
    ],
    "connect_time": [({"connect_ns": 1}, 1), ({"connect_ns": 0}, 0), ({"connect_ns": 3 * MS}, 3 * MS)],
    "output_sequence_lengths": [
        ({"osl": 7}, 7),
        ({"usage_output": 9}, 9),
        ({"osl": 7, "usage_output": 9}, 7),
    ],
    "input_sequence_lengths": [
        ({"isl": 7}, 7),
        ({"usage_input": 9}, 9),
        ({"isl": 7, "usage_input": 9}, 7),
    ],
}


def test_every_metric_has_cases_a_name_and_real_columns() -> None:
    assert set(CASES) == {metric.key for metric in METRICS}
    for metric in METRICS:
        assert len(CASES[metric.key]) >= 3
        assert NAMES[metric.key].group is Group.METRIC
        assert NAMES[metric.key].unit.split("/")[0] == metric.unit
        assert {name for need in metric.needs for name in need.split("|")} <= set(NUMBER_COLUMNS)


@pytest.mark.parametrize("metric", METRICS, ids=lambda metric: metric.key)
def test_three_cases(metric: Metric) -> None:
    for row, wanted in CASES[metric.key]:
        assert metric.function(columns([row])).tolist() == [wanted]


@pytest.mark.parametrize("metric", METRICS, ids=lambda metric: metric.key)
def test_no_data_is_never_a_number(metric: Metric) -> None:
    """TIM-7: arithmetic with a missing value gives a missing value, whichever one is missing."""
    assert metric.function(columns([])).tolist() == []
    row = CASES[metric.key][0][0]
    for missing in row:
        if any(missing in need.split("|") for need in metric.needs):
            value = metric.function(columns([row | {missing: None}])).tolist()[0]
            assert value == NULL or math.isnan(value)
