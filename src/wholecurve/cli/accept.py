"""`wholecurve accept`: a delivered system against a published curve, level by level."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

from wholecurve.cli.compare import LABELS, level_name
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
from wholecurve.cli.pick_text import say_line
from wholecurve.curve import MARGIN_PERCENT, Acceptance, Check, CheckResult, LevelCheck, accept
from wholecurve.model.curve import Curve
from wholecurve.model.errors import InputError
from wholecurve.model.units import show_duration, show_percent

if TYPE_CHECKING:
    from rich.console import Console

ACCEPTANCE_SCHEMA = "wholecurve.acceptance/1"
STYLES = {CheckResult.PASS: "green", CheckResult.FAIL: "bold red", CheckResult.NOT_TESTED: "yellow"}
VERDICTS = {
    CheckResult.PASS: "ACCEPTED: every level is within the margin.",
    CheckResult.FAIL: "NOT ACCEPTED: a level is outside the margin.",
    CheckResult.NOT_TESTED: "NOT ACCEPTED: no level fails, but not every one was tested.",
}
LABEL, CELL, SHORT = 18, 13, 12
DECIMALS, MOST_DECIMALS = 2, 9


def command(
    delivered: Annotated[str, Parameter(help="what was measured on the delivered system")],
    /,
    *,
    against: Annotated[str, Parameter(name="--against", help="the published curve it is held to")],
    independent: Annotated[
        bool,
        Parameter(
            name="--independent",
            negative="",
            help=f"an independent system: {MARGIN_PERCENT['independent']} % margin instead of "
            f"{MARGIN_PERCENT['same system']} %",
        ),
    ] = False,
    levels: Annotated[
        str | None, Parameter(name="--levels", help="only these levels, such as 1,16,offline; by default all published")
    ] = None,
    json: Annotated[bool, Parameter(name="--json", negative="", help="print the acceptance as JSON")] = False,
) -> int:
    """Hold a delivered system to a published curve, at equal concurrency.

    Throughput and interactivity may fall short by the margin of the rules, and TTFT is held to the same. A level that
    was not measured is `not tested`, never a pass. Exit code 0 if every level passes, else 1.
    """
    asked = None if levels is None else _levels(levels)
    measured, published = one_curve(delivered), one_curve(against)
    relation = "independent" if independent else "same system"
    found = accept(measured.curve, published.curve, relation, levels=asked)
    if found.outcome is CheckResult.REFUSED:
        raise InputError(
            f"these curves cannot be compared. {' '.join(found.refused)}",
            where=f"{measured.title} and {published.title}",
        )
    if json:
        write_json(document(found, measured.curve, published.curve))
    else:
        print_acceptance(found, measured, published)
        say_notes(console_for_stdout(), NOT_READ, [*measured.skipped, *published.skipped], "yellow")
    return 0 if found.outcome is CheckResult.PASS else 1


def _levels(text: str) -> list[int]:
    """Concurrencies, and 0 for Offline."""
    found = []
    for word in text.split(","):
        plain = word.strip().lower()
        if plain == "offline":
            found.append(0)
        elif plain.isascii() and plain.isdecimal() and int(plain[:18]) > 0 and len(plain) < 18:
            found.append(int(plain))
        else:
            raise InputError(f"--levels: wanted concurrencies such as 1,16,offline, got {word.strip()[:60]!r}")
    return found


def document(found: Acceptance, delivered: Curve, published: Curve) -> dict[str, Any]:
    """The acceptance as plain values."""
    return {
        "schema": ACCEPTANCE_SCHEMA,
        "accepted": found.outcome is CheckResult.PASS,
        "delivered": delivered.id,
        "published": published.id,
    } | asdict(found)


def print_acceptance(found: Acceptance, delivered: OneCurve, published: OneCurve) -> None:
    """The whole sheet on stdout."""
    console = console_for_stdout()
    say(console, VERDICTS[found.outcome], STYLES[found.outcome])
    say(console, f"delivered: {delivered.title}")
    say(console, f"published: {published.title}")
    say(
        console,
        f"margin: {found.margin_percent} % ({found.relation}); TTFT has none in the rules and is held to the same",
    )
    for level in found.levels:
        _level(console, level, found.margin_percent)
    extra = ", ".join("Offline" if one == 0 else f"{one:,}" for one in found.unpublished)
    say_notes(console, "Delivered, but not published", [extra] if extra else [])
    say_notes(console, "Read with care", found.cautions, "yellow")
    if any(not point.standing.local for point in published.curve.points):
        say(console)
        say(console, "A status is as its file says; no registry was asked.", "dim")


def _level(console: Console, level: LevelCheck, margin_percent: int) -> None:
    say(console)
    head = level_name(level.kind, level.concurrency)
    outcome = str(level.outcome.value) + (f": {level.why}" if level.why else "")
    say(console, f"{head}: {outcome}", STYLES[level.outcome])
    if level.checks:
        heads = f"{'':{LABEL}}{'published':>{CELL}}{'delivered':>{CELL}}{'shortfall':>{SHORT}}"
        say_line(console, heads, "dim")
    for check in level.checks:
        _check(console, check, margin_percent)


def _check(console: Console, check: Check, margin_percent: int) -> None:
    cells = "".join(f"{_value(check.key, one):>{CELL}}" for one in (check.published, check.delivered))
    shortfall = "" if check.shortfall is None else _shortfall(check, margin_percent)
    label = f"  {LABELS.get(check.key, check.key)}"
    line = f"{label:{LABEL}}{cells}{shortfall:>{SHORT}}  {check.outcome.value}"
    say_line(console, line, STYLES[check.outcome] if check.outcome is not CheckResult.PASS else "")
    if check.why:
        say(console, check.why, "dim", indent=4)


def _shortfall(check: Check, margin_percent: int) -> str:
    """With as many decimals as it takes to see that a failing one is beyond the margin."""
    assert check.shortfall is not None
    decimals = DECIMALS
    if check.outcome is CheckResult.FAIL:
        while decimals < MOST_DECIMALS and round(check.shortfall * 100, decimals) <= margin_percent:
            decimals += 1
    return show_percent(check.shortfall, decimals, sign=True)


def _value(key: str, value: float | None) -> str:
    if value is None:
        return "-"
    return show_duration(value) if key.endswith("_ns") else number_text(value)
