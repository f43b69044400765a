"""What a report says of a whole curve, before anyone decides how it looks: page, text, terminal and PNG lay this out.

`campaign_view` takes plain values, so that a report can be made of whatever is on disk: an unfinished campaign, one
without power or accuracy, files of an older version. What is missing is not measured; only a curve is needed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from wholecurve.curve import Head, Row, ceiling, heads_of, rows_of
from wholecurve.metrics import Columns
from wholecurve.model.curve import Curve
from wholecurve.model.status import Status
from wholecurve.report.campaign_facts import Block, blocks_of, subject_of
from wholecurve.report.campaign_journal import Happened, Missing, happened, missing_levels, state_of
from wholecurve.report.campaign_keys import Card, Knee, cards_of, knee_of
from wholecurve.report.campaign_load import salted_of
from wholecurve.report.campaign_points import Around, PointView, accuracy_of, point_views
from wholecurve.report.campaign_regions import Stretch, stretches_of
from wholecurve.report.campaign_trust import Check, checks_of
from wholecurve.report.campaign_warnings import Warned, unread_files, warnings_of
from wholecurve.report.reading import at, clean, items
from wholecurve.report.view import Row as Pair

Entries = Sequence[Mapping[str, Any]]


class CampaignFiles(Protocol):
    """What `results.load_campaign` gives; anything with these will do."""

    @property
    def plan(self) -> Mapping[str, Any]: ...
    @property
    def entries(self) -> Entries: ...
    @property
    def curve(self) -> Curve: ...
    @property
    def plans(self) -> Mapping[str, Mapping[str, Any]]: ...
    @property
    def summaries(self) -> Mapping[str, Mapping[str, Any]]: ...
    @property
    def power(self) -> Mapping[str, Any] | None: ...
    @property
    def system(self) -> Mapping[str, Any] | None: ...
    @property
    def accuracy(self) -> Mapping[str, Mapping[str, Any]]: ...
    @property
    def missing(self) -> Sequence[str]: ...
    def columns_of(self, label: str, /) -> Columns: ...


@dataclass(frozen=True, slots=True)
class CampaignView:
    """Everything a reader may want to know of one curve. Every text is clean, and not escaped.

    rows, head: of curve.rows_of and heads_of. ceiling: of curve.ceiling. points: every measured point, in order of
    concurrency, Offline last. missing: levels of the plan without a point. stretches: regions of concurrency, in
    order. happened: what was done, in order. blocks: how it was measured, each a titled list of pairs. checks: what
    speaks for the figures and against them, in a few words each.
    """

    title: str
    model: str
    benchmark: str
    status: str
    state: str
    state_sentence: str
    missing: tuple[Missing, ...]
    subject: tuple[Pair, ...]
    warnings: tuple[Warned, ...]
    checks: tuple[Check, ...]
    cards: tuple[Card, ...]
    knee: Knee | None
    curve: Curve
    rows: tuple[Row, ...]
    head: Head
    ceiling: Mapping[str, Any]
    points: tuple[PointView, ...]
    stretches: tuple[Stretch, ...]
    happened: tuple[Happened, ...]
    blocks: tuple[Block, ...]
    accuracy: tuple[Pair, ...]
    columns_of: Callable[[str], Columns] | None = field(default=None, compare=False, repr=False)

    @property
    def complete(self) -> bool:
        """Whether all that was planned is there and counts."""
        return self.state == "complete"


def campaign_view(
    curve: Curve,
    *,
    plan: Mapping[str, Any],
    entries: Entries,
    summaries: Mapping[str, Mapping[str, Any]],
    accuracy: Mapping[str, Mapping[str, Any]] | None = None,
    power: Mapping[str, Any] | None = None,
    system: Mapping[str, Any] | None = None,
    plans: Mapping[str, Mapping[str, Any]] | None = None,
    columns_of: Callable[[str], Columns] | None = None,
    unread: Sequence[str] = (),
) -> CampaignView:
    """The view of one curve.

    plan: plan.yaml. entries: the journal, oldest first. summaries, accuracy: result_summary.json and
    accuracy_results.json by label of the point. plans: plan.json, likewise. power, system: system_power.json and
    system_desc.json. columns_of: the records of a point, asked only where a summary lacks its histograms. unread:
    sentences on files that are missing or damaged.
    """
    (head,), rows = heads_of([curve]), tuple(rows_of([curve]))
    stretches = stretches_of(plan, rows, curve.c_max_declared)
    levels = {str(at(one, "label")): one for one in items(plan, "levels") if isinstance(one, Mapping)}
    points = point_views(curve, rows, Around(summaries, accuracy or {}, levels, entries, stretches, columns_of))
    missing = missing_levels(plan, entries, points)
    state, sentence = state_of(entries, missing, measured=bool(points), planned=bool(levels))
    salted = salted_of(points, plans or {})
    asked = any(at(one, "accuracy") is True for one in levels.values()) and bool(at(plan, "settings", "accuracy"))
    shares = [at(summaries.get(one.label), "failures", "failed_share") for one in points]
    knee = knee_of(rows)
    return CampaignView(
        title=clean(curve.identity.system, 120),
        model=clean(curve.identity.model, 160),
        benchmark=clean(curve.identity.benchmark, 120),
        status=_status(curve),
        state=state,
        state_sentence=sentence,
        missing=missing,
        subject=subject_of(curve, plan),
        warnings=warnings_of(curve, rows, points, plan, entries, salted, unread_files(unread, missing)),
        checks=checks_of(curve, points, missing, shares, salted, asked),
        cards=cards_of(curve, rows, knee, points),
        knee=knee,
        curve=curve,
        rows=rows,
        head=head,
        ceiling=ceiling(rows),
        points=points,
        stretches=stretches,
        happened=happened(entries),
        blocks=blocks_of(curve, plan, entries, points, summaries, power, system, plans or {}, salted),
        accuracy=accuracy_of(points),
        columns_of=columns_of,
    )


def view_of(campaign: CampaignFiles) -> CampaignView:
    """The view of a campaign that was read from its folder."""
    return campaign_view(
        campaign.curve,
        plan=campaign.plan,
        entries=campaign.entries,
        summaries=campaign.summaries,
        accuracy=campaign.accuracy,
        plans=campaign.plans,
        power=campaign.power,
        system=campaign.system,
        columns_of=campaign.columns_of,
        unread=campaign.missing,
    )


def _status(curve: Curve) -> str:
    """The status that all points share; several are all named. A curve without points has no record of any kind."""
    found = sorted({clean(point.standing.words(), 120) for point in curve.points})
    return "; ".join(found) or f"{Status.UNVERIFIED.value}, local"
