"""The figures of a report: from summary and records to charts. Each figure exists always; without data it says so."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from wholecurve.chart import (
    Axis,
    Bar,
    Bars,
    Dots,
    Figure,
    Line,
    Mark,
    Point,
    Quantity,
    bars,
    ecdf,
    step_points,
)
from wholecurve.metrics import NULL, Columns, flight, percentile_of, timeline, window
from wholecurve.metrics.latency import input_tokens, latency, output_tokens, ttft
from wholecurve.model.names import NAMES
from wholecurve.model.units import NS_PER_S
from wholecurve.report.reading import at, clean, count, duration, items, mapping, number, unmeasured
from wholecurve.report.view import LENGTHS

Ints = NDArray[np.int64]

DISTRIBUTIONS: Final[tuple[tuple[str, str], ...]] = (
    ("ttft", "TTFT"),
    ("tpot", "TPOT"),
    ("gaps", "Gap between output events"),
    ("latency", "Request latency"),
    ("input_sequence_lengths", "Input length"),
    ("output_sequence_lengths", "Output length"),
)
MARKED: Final[tuple[tuple[str, str], ...]] = (("P50", "50.0"), ("P90", "90.0"), ("P99", "99.0"))
WIDE_RATIO: Final[float] = 4.0
"""From this ratio of largest to smallest bound, a logarithmic axis shows the shape better."""

BINS_MIN, BINS_MAX = 10, 300
SLICES: Final[int] = 2000
"""Far more than a chart has columns of dots, so that nothing visible is lost."""

ECDF_VALUES: Final[int] = 1000


def distribution_figures(summary: Mapping[str, Any]) -> list[Figure]:
    """A histogram per series with its P50, P90 and P99; from the summary's own buckets, so figure and file agree."""
    return [_distribution(summary, key, title) for key, title in DISTRIBUTIONS]


def time_figures(summary: Mapping[str, Any], columns: Columns) -> list[Figure]:
    """Concurrency, throughput and TTFT over the time since the first issued request."""
    bounds = window(columns)
    origin = bounds[0] if bounds else 0
    wanted = number(at(summary, "concurrency", "requested"))
    return [_in_flight(columns, origin, wanted), _throughput(columns), _ttft_over_time(columns, origin)]


def ecdf_figure(columns: Columns) -> Figure:
    """Share of requests whose first token came within a time, from issued and from schedule."""
    series = []
    for tone, (label, start) in enumerate((("from issued", "issued_ns"), ("from schedule", "scheduled_ns"))):
        usable = columns.succeeded & columns.known("first_output_ns", start)
        values = np.sort((columns["first_output_ns"] - columns[start])[usable])
        if len(values) > ECDF_VALUES:  # evenly spaced ranks: a quantile curve keeps its shape and both ends
            values = values[np.linspace(0, len(values) - 1, ECDF_VALUES).astype(np.int64)]
        if len(values):
            series.append(Line(ecdf(values.tolist()), label, tone))
    return Figure(
        name="ttft-ecdf",
        title="TTFT: share of requests within a time",
        description="Cumulative distribution of time to first token. Where the two lines part, requests waited inside "
        "the client before they were issued.",
        x=_log_axis("time to first token", [x for one in series for x, _ in one.points], Quantity.DURATION),
        y=Axis("requests", Quantity.SHARE, zero=True, high=1.0),
        series=series,
    )


def length_figures(columns: Columns) -> list[Figure]:
    """What a request's length costs: TTFT by input tokens, latency by output tokens, one dot per success."""
    waits, whole = ttft(columns), latency(columns)
    given, made = input_tokens(columns), output_tokens(columns)
    return [
        _against(columns, "ttft-by-input", "TTFT by input length", given, "input length", waits, "time to first token"),
        _against(columns, "latency-by-output", "Latency by output length", made, "output length", whole, "latency"),
    ]


def _against(columns: Columns, name: str, title: str, lengths: Ints, x_label: str, times: Ints, y_label: str) -> Figure:
    usable = columns.succeeded & (lengths != NULL) & (times != NULL)
    order = np.argsort(lengths[usable], kind="stable")
    xs, ys = extremes(lengths[usable][order], times[usable][order])
    dots: list[Point] = list(zip(xs.tolist(), ys.tolist(), strict=True))
    return Figure(
        name=name,
        title=title,
        description=f"One dot per success: {y_label} by {x_label}.",
        x=Axis(x_label, Quantity.TOKENS, zero=True),
        y=Axis(y_label, Quantity.DURATION, zero=True),
        series=[Dots(dots)] if dots else [],
        empty=unmeasured("no tokens were counted"),
    )


def _distribution(summary: Mapping[str, Any], key: str, title: str) -> Figure:
    quantity = Quantity.TOKENS if key in LENGTHS else Quantity.DURATION
    block = mapping(summary, key)
    plain = _bars(block, narrowest=1.0 if key in LENGTHS else 0.0)
    cut = _above_zero(plain)
    log = bool(cut) and cut[0].low > 0 and cut[-1].high / cut[0].low >= WIDE_RATIO
    found = cut if log else plain
    floor = found[0].low if log else -math.inf
    weak = {str(one) for one in items(block, "unsupported")}
    marks = [
        Mark(max(float(value), floor), f"{name} {_shown(key, value)}" + "*" * (where in weak))
        for name, where in MARKED
        if found and (value := number(at(block, "percentiles", where))) is not None
    ]
    says = ", ".join(mark.label for mark in marks)
    reason = clean(at(summary, "not_measured", key) or "", 60)
    kind = "gaps" if key == "gaps" else "requests"
    return Figure(
        name=f"distribution-{key.replace('_', '-')}",
        title=title,
        description=f"Histogram of {NAMES[key].label} over successes. {says or unmeasured(reason)}.",
        x=Axis(NAMES[key].label + ", first bar from 0" * (found != plain), quantity, log=log),
        y=Axis(kind, Quantity.REQUESTS if kind == "requests" else Quantity.NUMBER, zero=True),
        series=[Bars(found)] if found else [],
        marks=marks,
        empty=unmeasured(reason),
    )


def _shown(key: str, value: float) -> str:
    return count(value) if key in LENGTHS else duration(value)


def _above_zero(found: list[Bar]) -> list[Bar]:
    """A logarithmic axis has no zero: a first bar that reaches down to it is cut to the width of the second."""
    if len(found) < 2 or found[0].low != 0 or not 0 < found[1].low < found[1].high:
        return found
    first, second = found[0], found[1]
    return [Bar(first.high * second.low / second.high, first.high, first.height), *found[1:]]


def _bars(block: Mapping[str, Any], narrowest: float) -> list[Bar]:
    """Bars of a series block; none when its histogram is missing or damaged."""
    pairs = [(number(_item(one, 0)), number(_item(one, 1))) for one in items(block, "histogram", "buckets")]
    counts = [number(one) for one in items(block, "histogram", "counts")]
    usable = len(pairs) == len(counts) and None not in counts and not any(None in pair for pair in pairs)
    if not usable or not pairs:
        return []
    buckets = [(float(low or 0), float(high or 0)) for low, high in pairs]
    return bars(buckets, [float(one or 0) for one in counts], narrowest=narrowest)


def _item(value: object, place: int) -> object:
    """An item of a list, None when there is none."""
    return value[place] if isinstance(value, list | tuple) and len(value) > place else None


def _in_flight(columns: Columns, origin: int, wanted: float | None) -> Figure:
    steps = flight(columns)
    points: list[Point] = []
    if steps is not None:
        times, levels = extremes(steps.times - origin, steps.levels)
        points = step_points(times.tolist(), levels.tolist())
    asked = [] if wanted is None or not points else [Mark(float(wanted), f"asked for: {wanted:,.0f}", "y")]
    return Figure(
        name="in-flight",
        title="Requests in flight",
        description="Requests sent and not yet completed, over time; "
        + (asked[0].label if asked else "no limit asked for"),
        x=_time_axis(),
        y=Axis("requests", Quantity.REQUESTS, zero=True),
        series=[Line(points)] if points else [],
        marks=asked,
    )


def _throughput(columns: Columns) -> Figure:
    """Output tokens per second in bins of about a second: whole bins fill the window exactly."""
    bounds = window(columns)
    seconds = (bounds[1] - bounds[0]) / NS_PER_S if bounds else 0.0
    facts = timeline(columns, min(max(round(seconds), BINS_MIN), BINS_MAX))
    tokens, width = facts.get("output_tokens_by_bin"), facts.get("bin_ns", 0.0)
    points: list[Point] = []
    if tokens and width:
        speeds = [one * NS_PER_S / width for one in tokens]
        points = step_points([k * width for k in range(len(speeds))], speeds, end=len(speeds) * width)
    return Figure(
        name="throughput",
        title="Output tokens per second",
        description=f"Output tokens of successes per second, in bins of {duration(width)}; the tokens of an answer are "
        "spread evenly from its first to its last output.",
        x=_time_axis(),
        y=Axis(f"output, bins of {duration(width)}" if points else "output", Quantity.TOKENS_PER_S, zero=True),
        series=[Line(points)] if points else [],
        empty=unmeasured("no tokens were counted"),
    )


def _ttft_over_time(columns: Columns, origin: int) -> Figure:
    """A dot per request, and P50 and P90 of the requests issued in each of up to 20 equal spans."""
    values = ttft(columns)
    usable = columns.succeeded & (values != NULL)
    order = np.argsort(columns["issued_ns"][usable], kind="stable")
    times, values = (columns["issued_ns"][usable] - origin)[order], values[usable][order]
    few = extremes(times, values)
    dots: Sequence[Point] = list(zip(few[0].tolist(), few[1].tolist(), strict=True))
    lines = [_quantile_line(times, values, p, tone) for p, tone in ((50.0, 1), (90.0, 2))] if len(dots) >= 40 else []
    return Figure(
        name="ttft-over-time",
        title="TTFT over time",
        description="Time to first token of each success by the time it was issued, with P50 and P90 per span of time.",
        x=_time_axis(),
        y=_log_axis("time to first token", values.tolist(), Quantity.DURATION),
        series=[Dots(dots, "request"), *lines] if dots else [],
    )


def _quantile_line(times: Any, values: Any, percentile: float, tone: int) -> Line:
    spans = min(20, max(4, len(values) // 20))
    edges = np.linspace(0, float(times[-1]), spans + 1)
    places = np.clip(np.searchsorted(edges, times, side="right") - 1, 0, spans - 1)
    found = [(float(edges[k]), percentile_of(values[places == k], percentile)) for k in range(spans)]
    kept = [(start, float(value)) for start, value in found if value is not None]
    corners = step_points([start for start, _ in kept], [value for _, value in kept], end=float(times[-1]))
    return Line(corners, f"P{percentile:.0f}", tone)


def extremes(times: Ints, values: Ints) -> tuple[Ints, Ints]:
    """A long series cut to the first, lowest, highest and last value of each of `SLICES` equal spans; order stays."""
    if len(times) <= 4 * SLICES:
        return times, values
    edges = np.linspace(times[0], times[-1], SLICES + 1)[:-1]
    starts = np.unique(np.searchsorted(times, edges, side="left"))
    ends = np.append(starts[1:], len(times))
    ranked = np.lexsort((values, np.repeat(np.arange(len(starts)), ends - starts)))
    kept = np.unique(np.concatenate((starts, ends - 1, ranked[starts], ranked[ends - 1])))
    return times[kept], values[kept]


def _time_axis() -> Axis:
    return Axis("time since the first request", Quantity.DURATION, zero=True)


def _log_axis(label: str, values: Sequence[float], quantity: Quantity) -> Axis:
    """Logarithmic when the values spread over a wide ratio and none is zero or less."""
    low, high = (min(values), max(values)) if values else (0.0, 0.0)
    log = low > 0 and high / low >= WIDE_RATIO and math.isfinite(high)
    return Axis(label, quantity, log=log, zero=not log)
