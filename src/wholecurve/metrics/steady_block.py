"""The steady state as plain values: two blocks of result_summary.json, and the map of a submission's point.yaml.

Whole numbers stay whole: integers of the records (times since, counts) are never shown as floats.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from wholecurve.metrics.confidence import Interval
from wholecurve.metrics.official import HEADLINES, Figure, Headline
from wholecurve.metrics.plateau import Drift, LevelShift
from wholecurve.metrics.steady import SteadyState, SteadyWindow
from wholecurve.metrics.steady_words import shift_sentence
from wholecurve.metrics.superpass import PassCut
from wholecurve.metrics.table import METRICS
from wholecurve.model.units import NS_PER_S

_FRACTIONS = frozenset({"tpot"})
"""Metrics whose samples are quotients; those of all other headline metrics are whole nanoseconds."""
assert {row.metric for row in HEADLINES if row.metric} <= {metric.key for metric in METRICS}

Plain = dict[str, Any]


def steady_block(state: SteadyState) -> Plain:
    """`steady_state` of result_summary.json. Where it does not apply, status and verdict are None and `reason` says
    why."""
    return {
        "status": _word(state.status),
        "verdict": _word(state.verdict),
        "basis": str(state.basis),
        "flag": str(state.flag),
        "reason": state.reason,
        "window": None if state.window is None else _window(state.window),
        "state": {key: str(value) for key, value in state.state.items()},
        "watched": {key: str(value) for key, value in state.watched.items()},
        "drifts": [_drift(one) for one in state.drifts],
        "anomaly": None if state.anomaly is None or state.cut is None else _shift(state.anomaly, state.cut),
        "ramp_blocks": int(state.ramp_blocks),
        "drain_blocks": int(state.drain_blocks),
        "cut": None if state.cut is None else _cut(state.cut),
        "series": {key: [_sample(_metric(key), value) for value in values] for key, values in state.series.items()},
        "block_starts_ns": [int(start) for start in state.block_starts_ns],
        "cautions": list(state.cautions),
    }


def official_block(state: SteadyState) -> Plain:
    """`official` of result_summary.json: every headline figure on its basis, with window, whole run and interval."""
    rows = {row.key: row for row in HEADLINES}
    return {
        "basis": str(state.basis),
        "flag": str(state.flag),
        "figures": {figure.key: _figure(rows[figure.key], figure) for figure in state.figures},
    }


def submission_block(steady: Mapping[str, Any] | None) -> Plain | None:
    """The `steady_state` map of point.yaml from that of result_summary.json; None when a steady state does not apply.

    Keys as official-tools.md B.3: super-passes from 0, both ends included. Raises KeyError for a map that lacks any.
    """
    if steady is None or steady["status"] is None or steady["cut"] is None:
        return None
    block: Plain = {"status": steady["status"], "verdict": steady["verdict"], "state": dict(steady["state"])}
    window = steady["window"]
    if window is not None:
        ends = {key: window[key] for key in ("super_pass_start", "super_pass_end") if window[key] is not None}
        block["window"] = ends | {
            "super_pass_size": steady["cut"]["pass_size"],
            "n_samples": window["requests"],
            "duration_s": window["duration_ns"] / NS_PER_S,
        }
    if steady["anomaly"] is not None:
        block["anomaly"] = steady["anomaly"]["sentence"]
    return block


def _window(window: SteadyWindow) -> Plain:
    return {
        "super_pass_start": _whole(window.super_pass_start),
        "super_pass_end": _whole(window.super_pass_end),
        "super_passes": _exact(window.super_passes),
        "requests": int(window.requests),
        "succeeded": int(window.succeeded),
        "start_ns": int(window.start_ns),
        "end_ns": int(window.end_ns),
        "duration_ns": int(window.duration_ns),
        "low_confidence": bool(window.low_confidence),
        "completed_tps": _float(window.completed_tps),
    }


def _cut(cut: PassCut) -> Plain:
    return {
        "requests": int(cut.requests),
        "pass_size": int(cut.pass_size),
        "block_size": int(cut.block_size),
        "blocks": int(cut.blocks),
        "aligned": bool(cut.aligned),
        "passes": _exact(cut.passes),
    }


def _drift(drift: Drift) -> Plain:
    return {
        "key": drift.key,
        "state": str(drift.state),
        "n": int(drift.n),
        "p": float(drift.p),
        "change": float(drift.change),
        "low": _sample(_metric(drift.key), drift.low),
        "high": _sample(_metric(drift.key), drift.high),
    }


def _shift(shift: LevelShift, cut: PassCut) -> Plain:
    return {
        "key": shift.key,
        "block": int(shift.block),
        "change": float(shift.change),
        "p": float(shift.p),
        "sentence": shift_sentence(shift, cut),
    }


def _figure(row: Headline, figure: Figure) -> Plain:
    values = {name: _measured(row, getattr(figure, name)) for name in ("value", "window", "total", "low", "high")}
    value = values.pop("value")
    return {
        "value": value,
        "unit": figure.unit,
        "basis": str(figure.basis),
        **values,
        "interval": _interval(row, figure.interval),
        "reason": figure.reason,
    }


def _interval(row: Headline, interval: Interval) -> Plain:
    return {
        "low": _measured(row, interval.low),
        "high": _measured(row, interval.high),
        "level": float(interval.level),
        "n": int(interval.n),
        "method": interval.method,
        "reason": interval.reason,
    }


def _measured(row: Headline, value: float | None) -> int | float | None:
    return _float(value) if row.metric is None or row.per is not None else _sample(row.metric, value)


def _sample(metric: str, value: float | None) -> int | float | None:
    """A sample of a metric of whole nanoseconds is a whole number."""
    whole = value is not None and metric not in _FRACTIONS and float(value).is_integer()
    return int(value) if value is not None and whole else _float(value)


def _metric(gate: str) -> str:
    """The metric of a series `<metric>_p<percentile>`."""
    return gate.rpartition("_p")[0]


def _exact(value: float) -> int | float:
    """A count of super-passes: whole where it is."""
    return int(value) if float(value).is_integer() else float(value)


def _float(value: float | None) -> float | None:
    return None if value is None else float(value)


def _whole(value: int | None) -> int | None:
    return None if value is None else int(value)


def _word(value: str | None) -> str | None:
    return None if value is None else str(value)
