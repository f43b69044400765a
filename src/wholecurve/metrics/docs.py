"""docs/reference/metrics.md, generated from model/names.py, so that page and figures cannot part."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from wholecurve.model.names import NAMES, Group, Name

_TITLES: Final[dict[Group, tuple[str, str]]] = {
    Group.METRIC: (
        "Metrics of one request",
        "One value per request, over successes. In `result_summary.json` each is a series block.",
    ),
    Group.BLOCK: ("A series block", "`{}` when nothing was measured. All values in the unit of the metric."),
    Group.FIGURE: ("Figures of a phase", "One value per phase in `result_summary.json`; null when not measured."),
    Group.FACT: ("Facts beside the figures", "Settings, counts and evidence that tell how to read the figures."),
    Group.CURVE: ("Points and curves", "What a point carries, and what is derived from several of them."),
    Group.COLUMN: ("Columns of the records", "`records/requests.parquet` and `records/events.parquet`."),
}


def metrics_page() -> str:
    """The page as Markdown: one table per group, in the order of NAMES."""
    parts = [
        "# Metrics and fields",
        "",
        "Generated from `src/wholecurve/model/names.py`; change it there. Every metric and field has one name,",
        "one unit and one meaning. *Not measured* is null (or an empty block) with a reason, never 0.",
    ]
    for group, (title, lead) in _TITLES.items():
        parts += ["", f"## {title}", "", lead, ""]
        parts += _table(name for name in NAMES.values() if name.group is group)
    return "\n".join(parts) + "\n"


def _table(names: Iterable[Name]) -> list[str]:
    rows = ["| Key | Label | Unit | Type | Definition | Source |", "| --- | --- | --- | --- | --- | --- |"]
    for name in names:
        cells = (f"`{name.key}`", name.label, name.unit, name.type, name.definition, name.source)
        rows.append("| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |")
    return rows
