"""The page of a whole curve: one HTML file that asks nothing of any network and needs no script."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Final

from markupsafe import Markup

from wholecurve.chart import STYLESHEET, Figure, Quantity, spark, spark_axis
from wholecurve.model.names import NAMES
from wholecurve.report.campaign_accuracy import FAILED, NOT_JUDGED, PASSED
from wholecurve.report.campaign_facts import RECOMPUTE
from wholecurve.report.campaign_figures import campaign_figures, curve_figure
from wholecurve.report.campaign_points import PointView
from wholecurve.report.campaign_shapes import Shape, common_ends
from wholecurve.report.campaign_table import heads_with_values, table_rows
from wholecurve.report.campaign_trust import SIGNS as TRUST_SIGNS
from wholecurve.report.campaign_view import CampaignView
from wholecurve.report.campaign_warnings import placeless
from wholecurve.report.html import SIGNS
from wholecurve.report.page import content_policy, environment, template_text

SHAPES_SHOWN: Final[int] = 33
"""Points whose small distributions are drawn: the most a curve may have, and one more."""

NARROW: Final = (420, 340)
"""Width and height of the primary chart on a narrow page, where the letters of the wide one would be too small."""

ACCURACY_TONES: Final[Mapping[str, str]] = {PASSED: "ok", FAILED: "client-limited", NOT_JUDGED: "strained"}
"""Classes of the style sheet for verdicts on accuracy."""

DEFINED: Final[tuple[str, ...]] = (
    "system_tps", "ttft", "tpot", "tps_per_user", "e2e_avg_interactivity", "requested", "percentiles",
)  # fmt: skip
"""Names whose definitions the page carries."""


@dataclass(frozen=True, slots=True)
class Drawn:
    """One point with its small distributions as SVG; None where there is none."""

    point: PointView
    ttft: Markup | None
    tpot: Markup | None


def campaign_html(view: CampaignView, *, links: bool = True) -> str:
    """One offline page of a whole curve. It links to the reports of its points by relative address only; links: false
    for a page that does not lie in the campaign's folder, from where these addresses lead nowhere."""
    style = template_text("report.css") + template_text("campaign.css") + STYLESHEET
    rows = list(table_rows(view))
    return environment().get_template("campaign.html.j2").render(
        view=view,
        links=links,
        grave=any(one.tone == "bad" for one in view.warnings),  # such warnings come before the answer
        trust_signs=TRUST_SIGNS,
        accuracy_tones=ACCURACY_TONES,
        style=Markup(style),
        policy=content_policy(style),
        signs=SIGNS,
        primary=_svg(curve_figure(view)),
        narrow=_svg(replace(curve_figure(view, width=NARROW[0], height=NARROW[1]), name="curve-narrow")),
        charts=[(figure.title, _svg(figure)) for figure in campaign_figures(view)],
        not_drawn=placeless(view.rows),
        drawn=list(_drawn(view)),
        axes=_axes(view),
        heads=heads_with_values(rows),
        table=rows,
        recompute=RECOMPUTE,
        names=[NAMES[key] for key in DEFINED],
    )  # fmt: skip


def _svg(figure: Figure) -> Markup:
    """The figure's SVG, in which chart/ has escaped every text."""
    return Markup(figure.svg())


def _drawn(view: CampaignView) -> Iterator[Drawn]:
    points = view.points[:SHAPES_SHOWN]
    ends = {key: common_ends([getattr(one, f"{key}_shape") for one in points]) for key in ("ttft", "tpot")}
    for place, one in enumerate(points):
        cells = {
            key: _cell(f"{key}-{place}", f"{key.upper()} at {one.name}", shape, ends[key])
            for key, shape in (("ttft", one.ttft_shape), ("tpot", one.tpot_shape))
        }
        yield Drawn(one, cells["ttft"], cells["tpot"])


def _cell(name: str, what: str, shape: Shape | None, ends: tuple[float, float] | None) -> Markup | None:
    if shape is None or ends is None:
        return None
    marks = [(value, tone) for value, tone in ((shape.p50, 2), (shape.p90, 1)) if value is not None and value > 0]
    return Markup(spark(name, f"{what}: {shape.said}", shape.bars, ends, marks))


def _axes(view: CampaignView) -> dict[str, Markup | None]:
    found: dict[str, Markup | None] = {}
    for key in ("ttft", "tpot"):
        ends = common_ends([getattr(one, f"{key}_shape") for one in view.points[:SHAPES_SHOWN]])
        found[key] = None if ends is None else Markup(spark_axis(ends, Quantity.DURATION))
    return found
