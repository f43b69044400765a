"""The page: one HTML file that asks nothing of any network, needs no script, and escapes every value."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import orjson
from markupsafe import Markup

from wholecurve.chart import STYLESHEET, Figure
from wholecurve.metrics import Columns
from wholecurve.model.names import NAMES, Group, Name
from wholecurve.report.build import build_view
from wholecurve.report.figures import distribution_figures, ecdf_figure, length_figures, time_figures
from wholecurve.report.page import content_policy, environment, template_text
from wholecurve.report.reading import at, clean, flat, mapping, redacted
from wholecurve.report.steady_figures import steady_figures
from wholecurve.report.view import EARLY_HEADS, SERIES_HEADS, VERDICTS

EXAMPLE_LIMIT: Final[int] = 4000
SIGNS: Final[Mapping[str, str]] = {"ok": "✓", "strained": "!", "client-limited": "✕"}
"""A shape beside the colour of each verdict."""


def report_html(summary: Mapping[str, Any], columns: Columns, extra: Mapping[str, Any]) -> str:
    """One offline page of result_summary.json and the records of the same phase.

    extra, all optional: `plan` (plan.json), `request` (an example request body: mapping, text or bytes; secrets are
    redacted by name), anything else is shown as provenance. What is missing is `not measured`; nothing raises.
    """
    plan = mapping(extra, "plan") or None
    style = template_text("report.css") + STYLESHEET
    view = build_view(summary, plan)
    shapes = (*distribution_figures(summary), ecdf_figure(columns), *length_figures(columns))
    more = {key: value for key, value in extra.items() if key not in ("plan", "request")}
    return environment().get_template("report.html.j2").render(
        view=view,
        sentence=VERDICTS.get(view.verdict, ""),
        sign=SIGNS.get(view.verdict, "?"),
        signs=SIGNS,
        tone=view.verdict if view.verdict in VERDICTS else "unknown",
        style=Markup(style),
        policy=content_policy(style),
        heads=SERIES_HEADS,
        early_heads=EARLY_HEADS,
        steady_charts=[_drawn(one) for one in steady_figures(summary, view.steady)],
        over_time=[_drawn(one) for one in time_figures(summary, columns)],
        distributions=[_drawn(one) for one in shapes],
        provenance=(*view.provenance, *flat(more, "extra")),
        example=_example(at(extra, "request")),
        names=_names(),
    )  # fmt: skip


def _names() -> list[Name]:
    """What a reader of the page meets: metrics, figures, and how a series block is made."""
    return [name for name in NAMES.values() if name.group in (Group.METRIC, Group.FIGURE, Group.BLOCK)]


def _drawn(figure: Figure) -> Markup:
    """The figure's SVG, in which chart/ has escaped every text."""
    return Markup(figure.svg())


def _example(body: object) -> str:
    """A request body as indented JSON, redacted and bounded; a text that is no JSON is left out rather than trusted."""
    if isinstance(body, str | bytes):
        try:
            body = orjson.loads(body)
        except orjson.JSONDecodeError:
            return ""
    if not isinstance(body, Mapping):
        return ""
    text = orjson.dumps(redacted(body), option=orjson.OPT_INDENT_2, default=str).decode()
    lines = [clean(line, EXAMPLE_LIMIT) for line in text[:EXAMPLE_LIMIT].split("\n")]
    return "\n".join(lines) + ("\n…" if len(text) > EXAMPLE_LIMIT else "")
