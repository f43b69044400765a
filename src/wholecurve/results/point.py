"""From a finished run folder to a Point: official figures with their intervals, and everything the run holds against
itself. What was not measured stays None with the reason the run gives."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from wholecurve.model.errors import InputError
from wholecurve.model.point import (
    CLIENT_VERDICTS,
    FIGURE_KEYS,
    INTERACTIVITY_KEYS,
    OVER_WHOLE_RUN,
    TOKEN_SOURCES,
    Figure,
    Identity,
    Point,
    PointKind,
    Power,
    Provenance,
    Standing,
)
from wholecurve.model.record import RunState
from wholecurve.model.status import Status
from wholecurve.model.units import show_duration
from wholecurve.results.identity import identity_of_run, interactivity_of
from wholecurve.results.run_folder import RunFiles, read_run
from wholecurve.results.values import at, count, mapping, number, text, texts

LOCAL: Final = Standing(Status.UNVERIFIED, local=True)
"""Of every figure that comes from a folder: no registry was asked."""

NO_POWER: Final = Power(None, reason="no system_power.json")

WHOLE_RUN: Final[Mapping[str, tuple[str, ...]]] = {
    "system_tps": ("system_tps",),
    "ttft_p90_ns": ("ttft", "percentiles", "90.0"),
    "output_length_mean": ("output_sequence_lengths", "avg"),
    "tps_per_user": ("tps_per_user",),
    "e2e_avg_interactivity": ("e2e_avg_interactivity",),
    "total_tps": ("total_tps",),
    "tpot_p90_ns": ("tpot", "percentiles", "90.0"),
    "qps": ("qps",),
}
"""Where a figure over the whole run stands in a summary."""

REASONS: Final[Mapping[str, str]] = {
    "ttft_p90_ns": "ttft",
    "tpot_p90_ns": "tpot",
    "tps_per_user": "tpot",
    "system_tps": "output_sequence_lengths",
    "output_length_mean": "output_sequence_lengths",
}
"""The series whose reason in `not_measured` is that of the figure."""

NEVER_ZERO: Final = ("tps_per_user", "tpot_p90_ns", "e2e_avg_interactivity")
ONLY_AGENTIC: Final = "e2e_avg_interactivity"
OPEN_LOOP: Final = "open loop: the concurrency is the mean number of requests in flight, nobody asked for it"


def point_of_run(
    folder: Path, *, identity: Identity | None = None, source: str | None = None, power: Power = NO_POWER
) -> Point:
    """The point of a finished run folder. identity: of the curve it belongs to, by default the run's own. source: its
    relative path. Raises InputError for a folder that is no finished run, or whose files are damaged."""
    run = read_run(folder)
    found = identity or identity_of_run(run, name=folder.resolve().name)
    return point_of(run, found, source=source or folder.resolve().name, power=power)


def point_of(
    run: RunFiles,
    identity: Identity,
    *,
    source: str,
    power: Power = NO_POWER,
    foreign: str = "",
    elected: bool = False,
) -> Point:
    """The point of a run that was read. foreign: why it does not belong to the curve of this identity, if so. elected:
    the campaign's plan says that it stands for Offline too.

    A run that is not valid, did not complete, or is foreign keeps its figures and says why it counts for nothing.
    Raises InputError if concurrency or figures are not what a point can hold.
    """
    kind = PointKind.OFFLINE if run.phase.get("pattern") == "offline" else PointKind.CURVE
    asked_rate = number(run.phase.get("rate_per_s"))
    notes = _notes(run, open_loop=asked_rate is not None)
    return Point(
        identity=identity,
        provenance=_provenance(run, source, foreign),
        standing=LOCAL,
        concurrency=_concurrency(run, kind, source),
        kind=kind,
        figures=figures_of(run.summary, offline=kind is PointKind.OFFLINE, kind=run.rules.get("kind")),
        power=power,
        elected_offline=kind is PointKind.CURVE and (elected or _offline_role(run) == "elected"),
        asked_rate_per_s=asked_rate,
        notes=notes,
    )


def foreign_of(run: RunFiles, identity: Identity, model: str | None) -> str:
    """Why a run cannot be a point of this curve, or an empty text. model: that all its points were asked of."""
    pairs = (
        ("data set", run.data_set_hash, identity.data_set_hash),
        ("tokenizer", run.tokenizer_hash, identity.tokenizer_hash),
        ("model", run.model, model),
    )
    differing = [name for name, own, wanted in pairs if own != wanted]
    return f"measured with another {' and '.join(differing)} than the campaign" if differing else ""


def figures_of(summary: Mapping[str, Any], *, offline: bool, kind: object) -> dict[str, Figure]:
    """Every figure of a point by key of FIGURE_KEYS, official where the summary has it so, else of the whole run."""
    official = mapping(summary, "official", "figures")
    keys = [key for key in FIGURE_KEYS if key != ONLY_AGENTIC or interactivity_of(kind) == ONLY_AGENTIC]
    found = {}
    for key in keys:
        stated = official.get(key)
        figure = _official(key, stated) if isinstance(stated, Mapping) else _whole(key, summary)
        if figure.value is None and offline and key in ("ttft_p90_ns", *INTERACTIVITY_KEYS):
            figure = Figure(None, "not applicable to Offline")
        found[key] = figure
    return found


def _official(key: str, stated: Mapping[str, Any]) -> Figure:
    value = number(stated.get("value"))
    if value is None or (value == 0 and key in NEVER_ZERO):
        return Figure(None, (text(stated.get("reason")) or "not measured") + _range(key, stated))
    low, high = number(at(stated, "interval", "low")), number(at(stated, "interval", "high"))
    if low is None or high is None or not low <= value <= high:
        return Figure(value)
    return Figure(value, low=low, high=high)


def _range(key: str, stated: Mapping[str, Any]) -> str:
    """What a drifting figure went through, in words."""
    low, high = number(stated.get("low")), number(stated.get("high"))
    if low is None or high is None:
        return ""
    if key.endswith("_ns"):
        return f" ({show_duration(low)} to {show_duration(high)})"
    return f" ({low:.4g} to {high:.4g})"


def _whole(key: str, summary: Mapping[str, Any]) -> Figure:
    value = number(at(summary, *WHOLE_RUN[key]))
    if value is None or (value == 0 and key in NEVER_ZERO):
        reason = text(at(summary, "not_measured", key)) or text(at(summary, "not_measured", REASONS.get(key, key)))
        return Figure(None, reason or "not measured")
    return Figure(value)


def _provenance(run: RunFiles, source: str, foreign: str) -> Provenance:
    summary = run.summary
    client = text(at(summary, "health", "verdict"))
    tokens = text(summary.get("token_source"))
    stated = text(summary.get("state")) or ""
    state = RunState(stated) if stated in [one.value for one in RunState] else RunState.FAILED
    return Provenance(
        source=source,
        run_state=state,
        token_source=tokens if tokens in TOKEN_SOURCES else None,
        client_verdict=client if client in CLIENT_VERDICTS else None,
        steady_verdict=text(at(summary, "steady_state", "verdict")),
        invalid="; ".join(filter(None, (foreign, *_invalid(summary)))),
    )


def _invalid(summary: Mapping[str, Any]) -> tuple[str, ...]:
    """What the run says against its own figures. A summary that says nothing of it is not taken as valid."""
    if at(summary, "validity", "valid") is True:
        return ()
    return texts(summary, "validity", "invalid_reasons") or ("its summary does not say that it is valid",)


def _concurrency(run: RunFiles, kind: PointKind, source: str) -> int:
    """Asked for; Offline: the samples of the data set; open loop: the mean in flight, for nobody asked for one."""
    if kind is PointKind.OFFLINE:
        found = count(run.phase.get("rows"))
    elif number(run.phase.get("rate_per_s")) is not None:
        mean = number(at(run.summary, "concurrency", "mean_while_issuing"))
        found = None if mean is None else max(1, round(mean))
    else:
        found = count(run.phase.get("concurrency"))
    if found is None:
        raise InputError("the run does not say its concurrency", where=source)
    return found


def _offline_role(run: RunFiles) -> str | None:
    return text(run.rules.get("offline")) or text(run.point.get("offline"))


def _notes(run: RunFiles, *, open_loop: bool) -> tuple[str, ...]:
    """What a reader should know: where the official figures come from, cautions, how the load was made."""
    summary = run.summary
    official = mapping(summary, "official")
    found = [OPEN_LOOP] if open_loop else []
    if not official:
        found.append(f"{OVER_WHOLE_RUN}: no steady window was looked for")
    elif official.get("basis") == "total":
        why = text(at(summary, "steady_state", "reason"))
        found.append(OVER_WHOLE_RUN + (f": {why}" if why else ""))
    flag = text(official.get("flag"))
    if flag not in (None, "none"):
        found.append(f"flag of the official figures: {flag}")
    return tuple(dict.fromkeys((*found, *texts(summary, "steady_state", "cautions"), *texts(summary, "cautions"))))
