"""A whole curve for people at a terminal: the answer, the table, the plot; colour only where words say the same."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from textwrap import wrap
from typing import Final

from rich.console import Console
from rich.text import Text

from wholecurve.report.campaign_facts import SEARCH
from wholecurve.report.campaign_table import HEADS, table_rows
from wholecurve.report.campaign_trust import BAD, CARE, OK, SIGNS
from wholecurve.report.campaign_view import CampaignView
from wholecurve.report.plot import CURVE, plot_text
from wholecurve.report.reading import NOT_MEASURED, clean

STYLES: Final[Mapping[str, str]] = {"bad": "bold red", "care": "yellow"}
TONES: Final[Mapping[str, str]] = {OK: "green", CARE: "yellow", BAD: "bold red"}
ASCII_SIGNS: Final[Mapping[str, str]] = {OK: "+", CARE: "!", BAD: "x"}
VERDICTS: Final[Mapping[str, str]] = {"ok": "green", "strained": "yellow", "client-limited": "red"}
COLUMNS: Final[tuple[tuple[str, int], ...]] = (
    ("concurrency", 0), ("ttft", 0), ("speed", 0), ("system", 0), ("client", 3), ("steady", 3), ("failed", 4),
    ("accuracy", 5), ("region", 6), ("interval", 7), ("per_kw", 8), ("requests", 9), ("taken", 10), ("extension", 11),
    ("spread", 12), ("attempts", 13),
)  # fmt: skip
"""Columns by key, and how soon each is left out where the terminal is narrow: the highest first, 0 never."""

WARNINGS: Final[int] = 6
"""Most warnings on the screen; the files have all of them."""

LABEL: Final[int] = 28
TRIAL: Final[int] = 18
PLOT_HEIGHT: Final[int] = 16
_NAMES: Final = {"client": "health"}


def show_campaign(view: CampaignView, console: Console, path: str = "") -> None:
    """Prints headline, table and plot; `path` is where the files are. Fits 80 columns; narrower ones get fewer."""
    unicode = "utf" in console.encoding.lower()
    for line in (
        *_head(view),
        *_checks(view, console.width, SIGNS if unicode else ASCII_SIGNS),
        *(_cards(view, console.width) if view.points else _search(view)),
        Text(),
        *_table(view, console.width),
        Text(),
        *_warnings(view),
    ):
        console.print(line if unicode else _plain(line), highlight=False, soft_wrap=False)
    for line in () if not view.points else _plot(view, min(console.width, 100), unicode):
        console.print(line, highlight=False, no_wrap=True, overflow="crop")
    if path:
        console.print(Text(f"Files: {clean(path, 4000)}"), highlight=False, no_wrap=True, overflow="ignore", crop=False)


def _plain(line: Text) -> Text:
    """For a terminal that knows no Unicode: near letters, then `?`, so that printing never raises."""
    near = line.plain.replace("µ", "u").replace("–", "-").replace("…", "~").replace("·", "-")
    line.plain = near.encode("ascii", "replace").decode("ascii")
    return line


def _head(view: CampaignView) -> Iterator[Text]:
    yield Text.assemble((view.title, "bold"), (f"  {view.status}", "dim"))
    subject = dict(view.subject)
    yield Text(f"{view.model} · {subject['benchmark']} · rules {subject['rules']}", style="dim")
    tone = "bold green" if view.complete else "bold red"
    yield Text.assemble(("Campaign: ", "bold"), (view.state.upper(), tone), f"  {view.state_sentence}")
    for one in view.missing:
        yield Text(f"  - {one.label}: {one.why}", style="red")
    yield Text()


def _checks(view: CampaignView, width: int, signs: Mapping[str, str]) -> Iterator[Text]:
    """What speaks for the figures and against them, as many checks on a line as fit."""
    line = Text()
    for one in view.checks:
        said = Text.assemble((f"{signs[one.tone]} {one.what}", TONES[one.tone]))
        if line.cell_len and line.cell_len + 3 + said.cell_len > width:
            yield line
            line = Text()
        line.append("   " if line.cell_len else "").append_text(said)
    if line.cell_len:
        yield line
        yield Text()


def _search(view: CampaignView) -> Iterator[Text]:
    """What the search for C_max came to so far, of a campaign without a point."""
    for block in view.blocks:
        if block.title == SEARCH:
            yield from (Text.assemble((f"{label:{TRIAL}}", "dim"), value) for label, value in block.pairs)


def _cards(view: CampaignView, width: int) -> Iterator[Text]:
    """A line each; a note that has no room stands below."""
    for one in view.cards:
        measured = one.value not in (NOT_MEASURED, "none")
        value = " ".join(part for part in (one.value, one.unit) if part)
        line = Text.assemble((f"{one.label:{LABEL}}", "dim"), (value, "bold" if measured else ""))
        if not one.note or line.cell_len + 2 + len(one.note) <= width:
            yield line.append(f"  {one.note}" if one.note else "", style="dim")
        else:
            yield line
            yield from (Text(" " * LABEL + part, style="dim") for part in wrap(one.note, max(20, width - LABEL)))


def _table(view: CampaignView, width: int) -> Iterator[Text]:
    """As many columns as fit, those left out last that matter most."""
    rows = list(table_rows(view))
    if not rows:
        yield Text("No point was measured.", style="dim")
        return
    by_key = {head.key: place for place, head in enumerate(HEADS)}
    shown = [(by_key[_NAMES.get(key, key)], rank) for key, rank in COLUMNS]
    empty = {place for place, _ in shown if all(row.cells[place] == "–" for row in rows)}
    shown = [one for one in shown if one[0] not in empty or one[1] == 0]
    widths = {place: max(len(HEADS[place].short), *(len(row.cells[place]) for row in rows)) for place, _ in shown}
    while sum(widths[place] + 2 for place, _ in shown) - 2 > width and any(rank for _, rank in shown):
        shown.remove(max(shown, key=lambda one: one[1]))
    yield Text("  ".join(_cell(HEADS[place].short, place, widths[place]) for place, _ in shown), style="dim")
    for row in rows:
        line = Text(style="dim" if row.reason else "")
        for number, (place, _) in enumerate(shown):
            style = VERDICTS.get(row.cells[place], "") if HEADS[place].key == "health" else ""
            line.append("  " if number else "").append(_cell(row.cells[place], place, widths[place]), style=style)
        yield line
        if row.reason:
            yield Text(f"  not on the curve: {row.reason}", style="red")


def _cell(text: str, place: int, width: int) -> str:
    return text.rjust(width) if HEADS[place].number else text.ljust(width)


def _warnings(view: CampaignView) -> Iterator[Text]:
    for one in view.warnings[:WARNINGS]:
        yield Text.assemble((f"{one.what}: ", STYLES[one.tone]), one.said)
    if len(view.warnings) > WARNINGS:
        yield Text(f"{len(view.warnings) - WARNINGS} more of these in report.txt", style="yellow")
    if view.warnings:
        yield Text()


def _plot(view: CampaignView, width: int, unicode: bool) -> Iterator[Text]:
    for line in plot_text(view.rows, width, PLOT_HEIGHT, ascii_only=not unicode).split("\n"):
        text = Text(line)
        text.highlight_regex(CURVE, "cyan")
        yield text
