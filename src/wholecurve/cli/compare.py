"""`wholecurve compare`: two curves level by level, with what their intervals prove."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

from wholecurve.cli.curve_files import (
    NOT_READ,
    OneCurve,
    console_for_stdout,
    number_text,
    one_curve,
    say,
    say_notes,
    write_json,
)
from wholecurve.cli.described import Change, changes, undescribed
from wholecurve.cli.pick_text import say_line
from wholecurve.curve import Comparison, Difference, Found, Level, compare
from wholecurve.model.errors import InputError
from wholecurve.model.point import Figure, PointKind
from wholecurve.model.units import show_duration, show_percent

if TYPE_CHECKING:
    from rich.console import Console

COMPARISON_SCHEMA = "wholecurve.comparison/1"

LABELS: Mapping[str, str] = {
    "system_tps": "tokens/s",
    "tps_per_user": "tokens/s/user",
    "e2e_avg_interactivity": "tokens/s/user",
    "ttft_p90_ns": "TTFT P90",
}
LABEL = 15
CELL = 19
CHANGE = 9
SINGLE = "* one run on a side: it says nothing of how far runs lie apart"


def command(
    before: Annotated[str, Parameter(help="the first curve: a campaign folder, a curve.json or a run folder")],
    after: Annotated[str, Parameter(help="the second curve")],
    /,
    *,
    json: Annotated[bool, Parameter(name="--json", negative="", help="print the comparison as JSON")] = False,
) -> int:
    """Compare two curves at each concurrency that both have measured.

    A difference is a difference only where the 95 % intervals do not overlap; without intervals it is not proven.
    Curves of other benchmarks, data sets, tokenizers or metrics are refused, with each reason.
    """
    one, other = one_curve(before), one_curve(after)
    found = compare(one.curve, other.curve)
    if found.refused:
        raise InputError(
            f"these curves cannot be compared. {' '.join(found.refused)}", where=f"{one.title} and {other.title}"
        )
    described = changes(before, after)
    if json:
        write_json(document(found, described))
    else:
        print_comparison(found, one, other)
        words = [change.sentence() for change in described] or undescribed(before, after)
        say_notes(console_for_stdout(), "What the descriptions of the systems say", words)
        say_notes(console_for_stdout(), NOT_READ, [*one.skipped, *other.skipped], "yellow")
    return 0


def document(found: Comparison, described: Sequence[Change]) -> dict[str, Any]:
    """The comparison as plain values. described: what differs between the two descriptions of the systems."""
    plain = {"schema": COMPARISON_SCHEMA} | asdict(found) | {"described": [asdict(change) for change in described]}
    for level, own in zip(plain["levels"], found.levels, strict=True):
        for row, difference in zip(level["differences"], own.differences, strict=True):
            row["words"] = words_of(difference)
    return plain


def words_of(difference: Difference) -> str:
    """What the second side is, in words: `better`, `worse`, or why nothing can be said."""
    if difference.better is not None:
        return "better" if difference.better else "worse"
    return str(difference.found.value)


def print_comparison(found: Comparison, before: OneCurve, after: OneCurve) -> None:
    """The whole comparison on stdout."""
    console = console_for_stdout()
    say(console, "Level by level, the second curve against the first", "bold")
    say(console, f"first:  {before.title}")
    say(console, f"second: {after.title}")
    for level in found.levels:
        _level(console, level)
    if not found.levels:
        say(console)
        say(console, "They have no level in common.", "bold yellow")
    if any(one.single_run for level in found.levels for one in level.differences):
        say(console)
        say(console, SINGLE, "dim")
    say_notes(console, "Only one side has", list(_only(found)))
    say_notes(console, "Where the lead changes", [f"between {one} and {other}" for one, other in found.crossings])
    say_notes(console, "Read with care", found.cautions, "yellow")


def level_name(kind: PointKind, concurrency: int) -> str:
    """A level as people call it."""
    return "Offline" if kind is PointKind.OFFLINE else f"concurrency {concurrency:,}"


def _level(console: Console, level: Level) -> None:
    say(console)
    head = level_name(level.kind, level.concurrency)
    say_line(console, f"{head:{LABEL}}{'first':>{CELL}}{'second':>{CELL}}{'change':>{CHANGE}}", "bold")
    for reason in dict.fromkeys(level.refused):
        say(console, f"not compared: {reason}", "yellow", indent=2)
    for difference in level.differences:
        cells = "".join(f"{value_text(difference.key, one):>{CELL}}" for one in (difference.before, difference.after))
        change = "" if difference.change is None else show_percent(difference.change, sign=True)
        mark = "*" if difference.single_run else ""
        label = f"  {LABELS.get(difference.key, difference.key)}"
        line = f"{label:{LABEL}}{cells}{change:>{CHANGE}}  {words_of(difference)}{mark}"
        say_line(console, line, _style(difference))
        ranges = [_range(difference.key, one) for one in (difference.before, difference.after)]
        if any(ranges):
            say_line(console, f"{'':{LABEL}}" + "".join(f"{one:>{CELL}}" for one in ranges), "dim")
        if difference.why and difference.found is Found.NOT_MEASURED:
            say(console, difference.why, "dim", indent=4)
    say(console, f"{level.before} and {level.after}", "dim", indent=2)


def _style(difference: Difference) -> str:
    return {True: "green", False: "red", None: ""}[difference.better]


def value_text(key: str, figure: Figure) -> str:
    """A figure in a table cell."""
    if figure.value is None:
        return "-"
    return show_duration(figure.value) if key.endswith("_ns") else number_text(figure.value)


def _range(key: str, figure: Figure) -> str:
    if figure.low is None or figure.high is None:
        return ""
    if key.endswith("_ns"):
        return f"{show_duration(figure.low)} … {show_duration(figure.high)}".replace(" ms …", " …")
    return f"{number_text(figure.low)} … {number_text(figure.high)}"


def _only(found: Comparison) -> Iterator[str]:
    for name, levels in (("first", found.only_before), ("second", found.only_after)):
        if levels:
            yield f"{name}: {_listed(levels)}"


def _listed(levels: Sequence[int]) -> str:
    return ", ".join("Offline" if level == 0 else f"{level:,}" for level in levels)
