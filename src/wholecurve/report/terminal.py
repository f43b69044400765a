"""The same report for people at a terminal: one screen, colour only where words or signs say the same."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from rich.console import Console
from rich.text import Text

from wholecurve.report.build import build_view
from wholecurve.report.reading import NOT_MEASURED, clean
from wholecurve.report.view import VERDICTS, Row, SeriesRow, View

STYLES: Final[Mapping[str, str]] = {"ok": "bold green", "strained": "bold yellow", "client-limited": "bold red"}
SHOWN: Final[tuple[str, ...]] = (
    "ttft", "tpot", "gaps", "latency", "input_sequence_lengths", "output_sequence_lengths",
)  # fmt: skip
COLUMNS: Final[tuple[tuple[str, int], ...]] = (("P50", 2), ("P90", 3), ("P99", 5), ("max", 7))
"""Columns of the table of series and their places in `SERIES_HEADS`."""

TONES: Final[Mapping[str, str]] = {"good": "bold green", "warn": "bold yellow", "bad": "bold red", "quiet": "dim"}
LABEL: Final[int] = 21
VALUE, INTERVAL = 17, 20
"""Widths of a primary figure and of its interval."""
CELL: Final[int] = 10
NARROW: Final[int] = 9
"""Width of a column where the terminal has no more to give."""
HANGING: Final[int] = 2
"""How much further the rest of an indented line is indented."""
REASONS, FAILURES, CAUTIONS = 3, 3, 2
"""Most reasons, kinds of failure and cautions on the screen; the files have all of them."""


def show(summary: Mapping[str, Any], console: Console, path: str = "", plan: Mapping[str, Any] | None = None) -> None:
    """Prints the report; `path` is where the files are. Fits 80 x 40; narrower terminals get fewer columns."""
    view = build_view(summary, plan)
    for line in _lines(view, console.width):
        _print(console, line)
    if path:
        # Never cut or broken: it is there to be copied.
        place = _fit(console, Text(f"Files: {clean(path, 4000)}"))
        console.print(place, no_wrap=True, overflow="ignore", crop=False)


def _print(console: Console, line: Text) -> None:
    """A line, wrapped where the terminal is narrower; what an indented line goes on with is indented too."""
    line = _fit(console, line)
    indent = len(line.plain) - len(line.plain.lstrip(" "))
    if not indent or line.cell_len <= console.width:
        console.print(line, highlight=False)
        return
    for number, part in enumerate(line[indent:].wrap(console, max(1, console.width - indent - HANGING))):
        console.print(Text(" " * (indent + (HANGING if number else 0))) + part, highlight=False)


def _fit(console: Console, line: Text) -> Text:
    """For a terminal that knows no Unicode: near letters, then `?`, so that printing never raises."""
    if "utf" not in console.encoding.lower():
        near = line.plain.replace("µ", "u").replace("–", "-").replace("…", "~").replace("·", "-")
        line.plain = near.encode("ascii", "replace").decode("ascii")
    return line


def _lines(view: View, width: int) -> Iterator[Text]:
    subject = dict(view.subject)
    yield Text(view.title, style="bold")
    yield Text(f"{subject['endpoint']} · {subject['dialect']}", style="dim")
    yield Text(f"{subject['data set']} · {subject['load']} · {subject['duration']}", style="dim")
    yield Text(f"concurrency: {subject['concurrency']}", style="dim")
    yield Text()
    yield from _verdict(view)
    yield from _state(view)
    yield Text()
    yield from _primary(view)
    yield from _steady(view)
    yield Text()
    yield from _table([row for row in view.series if row.key in SHOWN], width)
    yield Text()
    yield from _failures(view)
    yield from (_pair(label, value) for label, value in _facts(view))


def _verdict(view: View) -> Iterator[Text]:
    yield Text.assemble(("Client: ", "bold"), (view.verdict.upper(), STYLES.get(view.verdict, "")))
    if view.verdict in VERDICTS:
        yield Text(f"  {VERDICTS[view.verdict]}")
    for reason in view.reasons[:REASONS]:
        yield Text(f"  - {reason.sentence}")
        if reason.remedy:
            yield Text(f"    {reason.remedy}", style="dim")
    if len(view.reasons) > REASONS:
        yield Text(f"  - {len(view.reasons) - REASONS} more in report.txt")


def _state(view: View) -> Iterator[Text]:
    good = view.state == "complete" and not view.invalid
    yield Text.assemble(("Run: ", "bold"), (view.state.upper(), "bold green" if good else "bold red"))
    yield Text(f"  {view.accounting}")
    yield Text(f"  status: {view.status}", style="dim")
    if view.invalid:
        yield Text(f"  NOT VALID as a result: {'; '.join(view.invalid)}", style="red")
    if view.violations:
        yield Text(f"  BROKEN INVARIANTS: {'; '.join(view.violations)}", style="red")
    for one in view.cautions[:CAUTIONS]:
        yield Text(f"  Read with care: {one}", style="yellow")
    if len(view.cautions) > CAUTIONS:
        yield Text(f"  {len(view.cautions) - CAUTIONS} more of these in report.txt", style="yellow")


def _primary(view: View) -> Iterator[Text]:
    """The five figures; beside each its interval and, where it is another one, the figure of the whole run."""
    for one in view.primary:
        shown = " ".join(part for part in (one.value, one.unit) if part)
        if one.reason or one.value == NOT_MEASURED:
            yield _pair(one.label, shown, "", one.reason)
            continue
        unit = f" {one.unit}" if one.unit else ""
        interval, total = one.interval.removesuffix(unit), one.total.removesuffix(unit)
        room = INTERVAL if len(shown) < VALUE else 0
        beside = f"{interval:{room}}  whole run {total}" if total else interval
        head = f"{shown:{VALUE - 2}}  " if beside else shown
        yield Text.assemble((f"{one.label:{LABEL}}", "dim"), (head, "bold"), (beside, "dim"))


def _steady(view: View) -> Iterator[Text]:
    """Where the figures stand still, in a few lines; one line if nowhere."""
    steady = view.steady
    if steady is None:
        return
    if steady.none:
        yield Text(steady.none, style=TONES.get(steady.tone, "dim"))
        return
    yield Text()
    yield Text.assemble(("Steady state: ", "bold"), (steady.headline, TONES.get(steady.tone, "")))
    yield Text(f"  {steady.place}")
    yield Text(f"  figures {dict(steady.rows)['official figures']}", style="dim")
    for one in steady.cautions[:1]:
        yield Text(f"  {one}", style="yellow")
    if len(steady.cautions) > 1:
        yield Text(f"  {len(steady.cautions) - 1} more of these in report.txt", style="yellow")


def _table(rows: list[SeriesRow], width: int) -> Iterator[Text]:
    """As many columns as fit; P90 stays longest."""
    room = max(1, min(len(COLUMNS), (width - LABEL) // CELL - 1))
    shown = COLUMNS if room == len(COLUMNS) else COLUMNS[1:2] if room == 1 else COLUMNS[:room]
    cell = min(CELL, max(NARROW, (width - LABEL) // (1 + len(shown))))
    head = "".join(f"{name:>{cell}}" for name, _ in shown)
    yield Text(f"{'':{LABEL}}{'n':>{cell}}{head}", style="dim")
    for row in rows:
        if row.cells:
            cells = "".join(f"{row.cells[at].text + '*' * row.cells[at].weak:>{cell}}" for _, at in shown)
            yield Text(f"{row.label:{LABEL}}{row.n:>{cell}}{cells}")
        else:
            yield _pair(row.label, NOT_MEASURED, "", row.reason)
    if any(row.cells and row.cells[at].weak for row in rows for _, at in shown):
        yield Text("* n is too small for this percentile", style="dim")


def _failures(view: View) -> Iterator[Text]:
    for one in view.failures[:FAILURES]:
        whose = " (this machine)" if one.client_side else ""
        yield Text.assemble(("failed", "red"), (f"{one.count:>12}   {one.sentence}{whose}", ""))
    if len(view.failures) > FAILURES:
        yield Text(f"{'':{LABEL}}{len(view.failures) - FAILURES} more kinds in report.txt")


def _facts(view: View) -> Iterator[Row]:
    tokens, delivery = dict(view.tokens), dict(view.delivery)
    yield "finish reasons", ", ".join(f"{found} {name}" for name, found in view.finish) or NOT_MEASURED
    yield "tokens counted by", tokens["output tokens by"]
    yield "usage vs. reference", tokens["usage against reference"]
    yield "time stamps", view.stamps
    if delivery["delivered in clumps"] not in ("no", NOT_MEASURED, *view.cautions):
        yield "delivery", delivery["delivered in clumps"]


def _pair(label: str, value: str, style: str = "", reason: str = "") -> Text:
    return Text.assemble((f"{label:{LABEL}}", "dim"), (value, style), (f" ({reason})" if reason else "", "dim"))
