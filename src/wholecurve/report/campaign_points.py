"""One measured point of a curve as shown text: what the table, the small distributions and the verdicts are made of."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from wholecurve.curve import Row
from wholecurve.metrics import Columns
from wholecurve.model.curve import Curve
from wholecurve.model.point import Figure, Point, PointKind
from wholecurve.report.campaign_accuracy import Score, scores_of
from wholecurve.report.campaign_journal import attempts_of, number_of_extension
from wholecurve.report.campaign_regions import Stretch, region_title
from wholecurve.report.campaign_shapes import Shape, shape_of
from wholecurve.report.reading import (
    NOT_MEASURED,
    at,
    clean,
    count,
    duration,
    items,
    known,
    mapping,
    number,
    ratio,
    share,
    texts,
)  # fmt: skip
from wholecurve.report.view import Row as Pair

STATUSES: Final[Mapping[str, str]] = {
    "windowable": "the steady window is long enough",
    "insufficient_duration": "the steady window is too short",
    "insufficient_passes": "too few passes of the data set",
    "partial_dataset": "less than one pass of the data set",
}
"""Coverage of a steady state (metrics.window_rules.Coverage) in words."""

STEADY: Final = "steady"
VERDICTS: Final[Mapping[str, str]] = {
    "STEADY STATE": STEADY,
    "drifting_up": "drifts up",
    "drifting_down": "drifts down",
    "anomaly": "steady, then another level",
    "not found": "no steady state",
}
_PLAIN: Final = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]*")
NOT_LOOKED_FOR: Final = "not looked for"
DOES_NOT_APPLY: Final = "does not apply"
WHOLE_RUN, WINDOW, NO_WINDOW = "whole run", "window", "whole run, not judged"


@dataclass(frozen=True, slots=True)
class Strain:
    """A reason against the client. code: its kind. beyond: how far the figure lies past its limit, in its own unit."""

    code: str
    beyond: float
    sentence: str


@dataclass(frozen=True, slots=True)
class PointView:
    """A point. name: `16` or `Offline`. barred: why it counts for nothing, empty if it is on the curve.

    figures of model.point; per_kw: tokens/s per provisioned kW. steady: verdict, its words, status in words, window.
    link: relative address of its own report. scores: what accuracy was found, with its gate where one was stated.
    """

    label: str
    name: str
    concurrency: int
    offline: bool
    elected: bool
    region: str
    barred: str
    ttft: Figure
    speed: Figure
    system: Figure
    per_kw: Figure
    requests: str
    failed: str
    health: str
    health_reasons: tuple[Strain, ...]
    steady: str
    steady_status: str
    steady_reason: str
    window: str
    basis: str
    interval: str
    spread: str
    taken: str
    extension: str
    attempts: str
    invalid: tuple[str, ...]
    notes: tuple[str, ...]
    scores: tuple[Score, ...]
    link: str
    ttft_shape: Shape | None
    tpot_shape: Shape | None

    @property
    def windowable(self) -> bool:
        """Whether the steady window is as long as it has to be."""
        return self.steady_status == STATUSES["windowable"]

    @property
    def fell_back(self) -> bool:
        """Whether a steady state was looked for and its window cannot carry the figures."""
        return bool(self.steady_status) and not self.windowable

    @property
    def counts(self) -> bool:
        """Whether it is on the curve, or its ceiling."""
        return not self.barred


def listed(names: Sequence[str]) -> str:
    """`1`, `1 and 8`, `1, 8 and 16`."""
    return " and ".join(part for part in (", ".join(names[:-1]), *names[-1:]) if part)


def label_of(point: Point, summaries: Mapping[str, Any]) -> str:
    """The label of a point: the last part of where it was found, else made of its concurrency."""
    plain = "offline" if point.kind is PointKind.OFFLINE else f"r{point.concurrency}"
    last = point.provenance.source.rstrip("/").rsplit("/", 1)[-1]
    return last if last in summaries else plain


@dataclass(frozen=True, slots=True)
class Around:
    """What is known beside the curve itself: files by label of the point, the plan's levels by label, the journal."""

    summaries: Mapping[str, Mapping[str, Any]]
    accuracy: Mapping[str, Mapping[str, Any]]
    levels: Mapping[str, Mapping[str, Any]]
    entries: Sequence[Mapping[str, Any]]
    stretches: Sequence[Stretch]
    columns_of: Callable[[str], Columns] | None


def point_views(curve: Curve, rows: Sequence[Row], around: Around) -> tuple[PointView, ...]:
    """The points in the order of the curve; rows: of the same curve."""
    return tuple(
        _point(point, row, curve.interactivity_key, label_of(point, around.summaries), around)
        for point, row in zip(curve.points, rows, strict=True)
    )


def _point(point: Point, row: Row, speed_key: str, label: str, around: Around) -> PointView:
    offline = point.kind is PointKind.OFFLINE
    summary, level = mapping(around.summaries.get(label)), mapping(around.levels.get(label))
    system, attempts = point.figure("system_tps"), attempts_of(clean(label, 60), around.entries)
    verdict, status, reason = _steady(point, mapping(summary, "steady_state"))
    return PointView(
        label=clean(label, 60),
        name="Offline" if offline else f"{point.concurrency:,}",
        concurrency=point.concurrency,
        offline=offline,
        elected=point.elected_offline,
        region="" if offline else region_title(at(level, "region"), point.concurrency, around.stretches),
        barred=clean(row["barred"]),
        ttft=_reasoned(point, "ttft_p90_ns", row),
        speed=_reasoned(point, speed_key, row, "interactivity_tps"),
        system=system,
        per_kw=_per_kw(point, system),
        requests=_requests(summary),
        failed=share(at(summary, "failures", "failed_share")),
        health=known(point.provenance.client_verdict),
        health_reasons=tuple(map(_strain, items(summary, "health", "reasons"))),
        steady=verdict,
        steady_status=status,
        steady_reason=reason,
        window=_window(mapping(summary, "steady_state")),
        basis=_basis(summary),
        interval=interval_of(system),
        spread=_spread(system),
        taken=duration(at(summary, "duration_ns")),
        extension=_extension(summary, label, around.entries),
        attempts=NOT_MEASURED if attempts is None else count(attempts),
        invalid=texts(summary, "validity", "invalid_reasons"),
        notes=tuple(clean(note) for note in point.notes),
        scores=scores_of(mapping(around.accuracy.get(label))),
        link=link_of(point.provenance.source, label),
        ttft_shape=shape_of(summary, "ttft", label, around.columns_of),
        tpot_shape=shape_of(summary, "tpot", label, around.columns_of),
    )


def _steady(point: Point, steady: Mapping[str, Any]) -> tuple[str, str, str]:
    """(verdict, coverage, reason) in words. A point whose files have no verdict says why."""
    verdict = at(steady, "verdict") or point.provenance.steady_verdict
    shown = VERDICTS.get(str(verdict), clean(verdict)) if verdict else DOES_NOT_APPLY if steady else NOT_LOOKED_FOR
    return shown, STATUSES.get(str(at(steady, "status")), ""), clean(at(steady, "reason") or "")


def _strain(reason: Mapping[str, Any]) -> Strain:
    figure, limit = number(at(reason, "figure")), number(at(reason, "limit"))
    beyond = 0.0 if figure is None or limit is None else abs(figure - limit)
    return Strain(clean(at(reason, "code") or "", 60), beyond, known(at(reason, "sentence")))


def _reasoned(point: Point, key: str, row: Row, column: str = "") -> Figure:
    """A figure, with the reason that the row gives where it has a better one."""
    figure = point.figure(key)
    reason = row["reasons"].get(column or key)
    return Figure(None, reason) if figure.value is None and reason else figure


def _per_kw(point: Point, system: Figure) -> Figure:
    if point.power.kw is None:
        return Figure(None, point.power.reason)
    return Figure(system.value / point.power.kw) if system.value is not None else Figure(None, system.reason)


def _requests(summary: Mapping[str, Any]) -> str:
    """Those of the steady window of those sent, if the window is the basis."""
    sent = at(summary, "outcomes", "sent")
    inside = number(at(summary, "steady_state", "window", "requests"))
    windowed = at(summary, "official", "basis") == "window" and inside is not None
    issued = sent if sent is not None else at(summary, "n_samples_issued")
    return f"{count(inside)} of {count(issued)}" if windowed else count(issued)


def _window(steady: Mapping[str, Any]) -> str:
    found = mapping(steady, "window")
    if number(found.get("duration_ns")) is None:
        return ""
    passes = number(found.get("super_passes"))
    of = f", {ratio(passes)} passes of the data set" if passes is not None else ""
    weak = ", low confidence" if found.get("low_confidence") is True else ""
    return f"{duration(found['duration_ns'])}{of}, {count(found.get('requests'))} requests{weak}"


def _basis(summary: Mapping[str, Any]) -> str:
    return {"window": WINDOW, "total": WHOLE_RUN}.get(str(at(summary, "official", "basis")), NO_WINDOW)


def interval_of(figure: Figure) -> str:
    """The 95 % interval as per cent of the value on both sides: `-2.1 to +1.8 %`; empty without one."""
    if figure.value is None or figure.low is None or figure.high is None or not figure.value:
        return ""
    low, high = (100 * (end - figure.value) / figure.value for end in (figure.low, figure.high))
    return f"{low:+.1f} to {high:+.1f} %"


def _spread(figure: Figure) -> str:
    if figure.spread is None:
        return "" if figure.runs == 1 else f"{figure.runs} runs"
    return f"{share(figure.spread)}, {figure.runs} runs"


def _extension(summary: Mapping[str, Any], label: str, entries: Sequence[Mapping[str, Any]]) -> str:
    """How much longer than planned it went on; empty if it did not, or nobody said so."""
    ended = [one for one in entries if at(one, "event") == "point_ended" and at(one, "label") == label]
    for holder in (summary, mapping(summary, "workload"), *reversed(ended)):
        found = number_of_extension(holder)
        if found:
            return duration(found)
    return ""


def accuracy_of(points: Sequence[PointView]) -> tuple[Pair, ...]:
    """(point and data set, score with what it is of) of every point that has any."""
    return tuple(
        (f"{point.name}: {one.label}", f"{one.said}{f' ({one.rows})' if one.rows else ''}")
        for point in points
        for one in point.scores
    )


def link_of(source: str, label: str) -> str:
    """Relative address of a point's own report; empty where its place is no plain relative path."""
    path = source if "/" in source else f"points/{label}"
    parts = path.split("/")
    plain = path.isascii() and all(_PLAIN.fullmatch(part) for part in parts)
    return f"{path}/report.html" if plain else ""
