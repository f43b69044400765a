"""The table of per-request metrics. One row: key in result_summary.json, function, unit, columns it needs.

To add one: a function, a row here, a row in model/names.py, three cases one can check in the head.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from wholecurve.metrics import latency
from wholecurve.metrics.columns import Columns, Floats, Ints


@dataclass(frozen=True, slots=True)
class Metric:
    """One value per request.

    needs: columns without which the metric is undefined; `|` separates columns of which one is enough.
    streaming: only a streamed answer has it.
    early_stopping: the reference client gives early-stopping estimates for it.
    """

    key: str
    function: Callable[[Columns], Ints | Floats]
    unit: str
    needs: tuple[str, ...]
    streaming: bool = False
    early_stopping: bool = False


_SPAN = ("first_output_ns", "last_output_ns")

METRICS: Final[tuple[Metric, ...]] = (
    Metric("ttft", latency.ttft, "ns", ("first_output_ns", "issued_ns"), True, True),
    Metric("tpot", latency.tpot, "ns", (*_SPAN, "osl_after_first|usage_output"), True, True),
    Metric("latency", latency.latency, "ns", ("completed_ns", "issued_ns"), False, True),
    Metric("output_sequence_lengths", latency.output_tokens, "tokens", ("osl|usage_output",)),
    Metric("input_sequence_lengths", latency.input_tokens, "tokens", ("isl|usage_input",)),
    Metric("ttft_from_sent", latency.ttft_from_sent, "ns", ("first_output_ns", "sent_ns"), True),
    Metric("ttft_from_scheduled", latency.ttft_from_scheduled, "ns", ("first_output_ns", "scheduled_ns"), True),
    Metric("time_to_first_visible", latency.time_to_first_visible, "ns", ("first_visible_ns", "issued_ns"), True),
    Metric("time_per_output_event", latency.time_per_output_event, "ns", (*_SPAN, "output_events"), True),
    Metric("time_to_last_output", latency.time_to_last_output, "ns", ("last_output_ns", "issued_ns"), True),
    Metric("latency_from_scheduled", latency.latency_from_scheduled, "ns", ("completed_ns", "scheduled_ns")),
    Metric("dispatch_delay", latency.dispatch_delay, "ns", ("sent_ns", "scheduled_ns")),
    Metric("start_lag", latency.start_lag, "ns", ("issued_ns", "scheduled_ns")),
    Metric("connect_time", latency.connect_time, "ns", ("connect_ns",)),
)
