"""report.txt of a whole curve: everything of it as plain text, 100 columns, readable in any editor and in a diff."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from textwrap import wrap
from typing import Final

from wholecurve.report.campaign_facts import RECOMPUTE
from wholecurve.report.campaign_table import Head, TableRow, heads_with_values, table_rows
from wholecurve.report.campaign_trust import BAD, CARE, OK
from wholecurve.report.campaign_view import CampaignView
from wholecurve.report.campaign_warnings import placeless
from wholecurve.report.plot import plot_text
from wholecurve.report.view import Row as Pair

WIDTH: Final[int] = 100
LABEL: Final[int] = 30
PLOT_HEIGHT: Final[int] = 20
MARKS: Final[Mapping[str, str]] = {OK: "+", CARE: "!", BAD: "x"}
"""What stands before a check: for it, with care, against it."""

TABLES: Final[tuple[tuple[str, ...], ...]] = (
    ("concurrency", "region", "ttft", "speed", "system", "interval", "per_kw"),
    ("concurrency", "requests", "failed", "health", "taken", "extension", "attempts"),
    ("concurrency", "steady", "basis", "accuracy", "spread"),
)
"""The columns of the table, cut so that each part fits the width."""


def campaign_text(view: CampaignView) -> str:
    """The text of report.txt of a whole curve. What is not there is `not measured`."""
    title = f"wholecurve: {view.title}"[:WIDTH]
    lines = [title, "=" * len(title)]
    for head, body in _sections(view):
        found = list(body)
        if found:
            lines += ["", head, "-" * len(head), *found]
    return "\n".join(line.rstrip() for line in lines) + "\n"


def _sections(view: CampaignView) -> Iterator[tuple[str, Iterable[str]]]:
    yield "Campaign", _state(view)
    yield "What was measured", _pairs((("status", view.status), *view.subject))
    yield "What speaks for it", _checks(view)
    yield "Read with care", (line for one in view.warnings for line in _bullet(f"{one.what}: {one.said}"))
    yield "The answer", _cards(view)
    yield "Points", _tables(view)
    yield "System throughput against concurrency", _plot(view, "concurrency")
    yield "System throughput against interactivity", _plot(view, "interactivity_tps")
    yield "Accuracy", _pairs(view.accuracy)
    yield "Notes of the points", _pairs((one.name, "; ".join(one.notes)) for one in view.points if one.notes)
    for block in view.blocks:
        yield block.title, _pairs(block.pairs)
    yield "Journal", _journal(view)


def _state(view: CampaignView) -> Iterator[str]:
    yield from _wrapped(f"{view.state.upper()}  {view.state_sentence}", "")
    for one in view.missing:
        yield from _bullet(f"{one.label}: {one.why}")
    yield from _wrapped(f"To compute every figure again from the records: {RECOMPUTE}", "")


def _checks(view: CampaignView) -> Iterator[str]:
    for one in view.checks:
        yield from _wrapped(one.what, f"{MARKS[one.tone]} ", "  ")


def _cards(view: CampaignView) -> Iterator[str]:
    for one in view.cards:
        shown = " ".join(part for part in (one.value, one.unit) if part)
        yield from _pairs([(one.label, shown + (f" ({one.note})" if one.note else ""))])


def _tables(view: CampaignView) -> Iterator[str]:
    rows = list(table_rows(view))
    if not rows:
        yield "No point was measured."
        return
    heads = heads_with_values(rows)
    for place, keys in enumerate(TABLES):
        if place:
            yield ""
        yield from grid(rows, [head for head in heads if head.key in keys])
    for row in rows:
        if row.reason:
            yield from _wrapped(f"{row.point.label} is not on the curve: {row.reason}", "")
    for missing in placeless(view.rows):
        yield from _wrapped(f"Not on the chart: {missing}", "")


def grid(rows: Sequence[TableRow], heads: Sequence[Head], gap: int = 2) -> Iterator[str]:
    """Columns as wide as what is in them."""
    cells = [[head.title for head in heads], *([row.cell(head) for head in heads] for row in rows)]
    widths = [max(len(line[k]) for line in cells) for k in range(len(heads))]
    for line in cells:
        shown = (
            cell.rjust(width) if head.number else cell.ljust(width)
            for cell, width, head in zip(line, widths, heads, strict=True)
        )
        yield (" " * gap).join(shown)[:WIDTH]


def _plot(view: CampaignView, x: str) -> Iterator[str]:
    yield from plot_text(view.rows, WIDTH - 10, PLOT_HEIGHT, x=x).split("\n")


def _journal(view: CampaignView) -> Iterator[str]:
    for one in view.happened:
        parts = [part for part in (one.event, one.label, one.said) if part]
        yield from _wrapped(", ".join(parts), f"{one.at:26}", " " * 26)


def _pairs(rows: Iterable[Pair]) -> Iterator[str]:
    """Label and value in two columns; long values hang under themselves, and under labels that are too long."""
    for name, value in rows:
        if len(name) < LABEL:
            yield from _wrapped(value, f"{name:{LABEL - 1}} ", " " * LABEL)
        elif len(name) + 1 + len(value) <= WIDTH:
            yield f"{name} {value}"
        else:
            yield from _wrapped(name, "", "  ")
            yield from _wrapped(value, " " * LABEL)


def _bullet(text: str) -> list[str]:
    return _wrapped(text, "- ", "  ")


def _wrapped(text: str, first: str, rest: str | None = None) -> list[str]:
    """Lines of at most `WIDTH` columns; a word longer than a line is cut, so no line is ever wider."""
    found = wrap(
        text, WIDTH, initial_indent=first, subsequent_indent=first if rest is None else rest, break_on_hyphens=False
    )
    return found or [first]
