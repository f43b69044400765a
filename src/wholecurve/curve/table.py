"""Curves as plain data: one row a point, one head a curve. What the decisions read, and what a browser is given.

A row and a head hold texts, numbers, truth values and None only, so that JSON carries them without loss. Values are
the measured ones in full; rounding is for screens.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

from wholecurve.model.curve import Curve
from wholecurve.model.point import Point, PointKind
from wholecurve.model.record import RunState

Row = dict[str, Any]
"""A point. Columns: COLUMNS, and those that cost.normalised adds."""

Head = dict[str, Any]
"""A curve. Columns: HEAD_COLUMNS."""

COLUMNS: Final[Mapping[str, str]] = {
    "id": "where the evidence is found",
    "curve": "id of the curve",
    "kind": "curve or offline",
    "elected_offline": "this level also stands for Offline",
    "barred": "why the point counts for nothing, else empty",
    "status": "status in words, with its record",
    "concurrency": "requests in flight asked for; Offline: samples of the data set",
    "ttft_p90_ns": "time to first token, 90th percentile",
    "interactivity_tps": "tokens/s of one user; which measure, says the head",
    "system_tps": "output tokens/s of the whole system",
    "total_tps": "input and output tokens/s of the whole system",
    "qps": "achieved requests/s",
    "asked_rate_per_s": "requests/s asked for; a note, never an axis",
    "output_length_mean": "realised mean output length in tokens",
    "provisioned_power_kw": "provisioned power behind this point",
    "power_basis": "how the power was added up",
    "power_estimated": "a default or proxy is in the power",
    "accelerators": "all provisioned accelerators",
    "nodes": "all provisioned nodes",
    "spread": "declared run-to-run spread of system_tps as a share",
    "spreads": "by column, its declared run-to-run spread as a share; only columns that have one",
    "single_run": "the figures rest on one run",
    "reasons": "by column, why it is None",
}

HEAD_COLUMNS: Final[tuple[str, ...]] = (
    "id",
    "system",
    "submission",
    "model",
    "benchmark",
    "division",
    "rules_version",
    "data_set_hash",
    "tokenizer_hash",
    "definition_version",
    "precision",
    "accelerators",
    "nodes",
    "traffic",
    "interactivity_key",
    "c_max_declared",
)

KEYS: Final[Mapping[str, Mapping[str, str]]] = {
    "concurrency": {"label": "concurrency", "unit": "", "better": "high", "step": "after"},
    "ttft_p90_ns": {"label": "TTFT P90", "unit": "ns", "better": "low", "step": "after"},
    "interactivity_tps": {"label": "interactivity", "unit": "tokens/s", "better": "high", "step": "before"},
    "system_tps": {"label": "system throughput", "unit": "tokens/s", "better": "high", "step": "before"},
    "total_tps": {"label": "input and output token rate", "unit": "tokens/s", "better": "high", "step": "before"},
    "qps": {"label": "request rate", "unit": "requests/s", "better": "high", "step": "before"},
    "provisioned_power_kw": {"label": "provisioned power", "unit": "kW", "better": "low", "step": "after"},
    "system_tps_per_kw": {"label": "throughput per kW", "unit": "tokens/s/kW", "better": "high", "step": "before"},
    "tps_per_accelerator": {
        "label": "throughput per accelerator",
        "unit": "tokens/s",
        "better": "high",
        "step": "before",
    },
    "tps_per_node": {"label": "throughput per node", "unit": "tokens/s", "better": "high", "step": "before"},
    "usd_per_million_output_tokens": {"label": "price", "unit": "$/1e6 tokens", "better": "low", "step": "after"},
    "usd_per_million_total_tokens": {"label": "price", "unit": "$/1e6 tokens", "better": "low", "step": "after"},
    "output_tokens_per_usd": {"label": "tokens per $", "unit": "tokens/$", "better": "high", "step": "before"},
    "total_tokens_per_usd": {"label": "tokens per $", "unit": "tokens/$", "better": "high", "step": "before"},
    "joules_per_output_token": {"label": "energy", "unit": "J/token, upper bound", "better": "low", "step": "after"},
}
"""What can be limited, ranked by and drawn. step, with the key on the x axis: on an "at most" axis a value holds until
the next point (after), on an "at least" axis back to the point before (S6); concurrency holds until the next level."""

_FIGURES: Final[tuple[str, ...]] = ("ttft_p90_ns", "system_tps", "total_tps", "qps", "output_length_mean")


def barred(point: Point, *, withdrawn_too: bool = False) -> str:
    """Why a point may count for nothing, or an empty text: not complete, not valid, measured the client, withdrawn.

    withdrawn_too: withdrawn points count, for a reader who asked for them (S13).
    """
    if point.provenance.run_state is not RunState.COMPLETE:
        return f"run {point.provenance.run_state.value}"
    if point.provenance.invalid:
        return f"not valid: {point.provenance.invalid}"
    if point.provenance.client_verdict == "client-limited":
        return "client-limited: the client was measured, not the endpoint"
    if point.standing.withdrawn and not withdrawn_too:
        return "withdrawn"
    return ""


def rows_of(curves: Iterable[Curve], *, withdrawn_too: bool = False) -> list[Row]:
    """One row for every point of the curves, in their order."""
    return [_row(curve, point, withdrawn_too) for curve in curves for point in curve.points]


def heads_of(curves: Iterable[Curve]) -> list[Head]:
    """One head for every curve, in their order."""
    return [_head(curve) for curve in curves]


def _row(curve: Curve, point: Point, withdrawn_too: bool) -> Row:
    figures = {key: point.figure(key) for key in _FIGURES}
    figures["interactivity_tps"] = point.figure(curve.interactivity_key)
    found: Row = {
        "id": point.provenance.source,
        "curve": curve.id,
        "kind": point.kind.value,
        "elected_offline": point.elected_offline,
        "barred": barred(point, withdrawn_too=withdrawn_too),
        "status": point.standing.words(),
        "concurrency": point.concurrency,
        **{key: figure.value for key, figure in figures.items()},
        "asked_rate_per_s": point.asked_rate_per_s,
        "provisioned_power_kw": point.power.kw,
        "power_basis": point.power.basis,
        "power_estimated": point.power.estimated,
        "accelerators": point.identity.accelerators,
        "nodes": point.identity.nodes,
        "spread": figures["system_tps"].spread,
        "spreads": {key: figure.spread for key, figure in figures.items() if figure.spread is not None},
        "single_run": figures["system_tps"].runs == 1,
    }
    found["reasons"] = {key: figure.reason for key, figure in figures.items() if figure.value is None}
    if point.power.kw is None:
        found["reasons"]["provisioned_power_kw"] = point.power.reason
    if point.kind is PointKind.OFFLINE:
        for key in ("ttft_p90_ns", "interactivity_tps"):
            if found[key] is None and found["reasons"][key] == "not reported":
                found["reasons"][key] = "not applicable to Offline"
    return {key: found[key] for key in COLUMNS}


def _head(curve: Curve) -> Head:
    named = {
        "id": curve.id,
        "interactivity_key": curve.interactivity_key,
        "c_max_declared": curve.c_max_declared,
    }
    return {key: named[key] if key in named else getattr(curve.identity, key) for key in HEAD_COLUMNS}
