"""From the paths a user typed to curves, and what pick, compare and accept show alike."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, Any

from wholecurve.cli.main import printable
from wholecurve.model.curve import Curve
from wholecurve.model.errors import InputError
from wholecurve.results import distinct, find_curves, moved

if TYPE_CHECKING:
    from rich.console import Console

CURVE_FILE = "curve.json"
MOST_NOTES = 12
MOST_NAMED = 4


@dataclass(frozen=True, slots=True)
class Gathered:
    """curves: each under a name of its own; sources of points begin with the path that was typed. skipped: sentences
    on what looked like a result and could not be read."""

    curves: tuple[Curve, ...]
    skipped: tuple[str, ...]


def gather(paths: Sequence[str]) -> Gathered:
    """The curves of all these paths. Raises InputError if one has none, or if a curve is named twice."""
    if not paths:
        raise InputError("wanted one path or more, got none", hint="name a campaign folder, a curve.json or a run")
    found: list[tuple[str, Curve]] = []
    seen: list[tuple[str, Curve]] = []
    skipped: list[str] = []
    for text, base in zip(paths, _bases(paths), strict=True):
        here = find_curves(Path(text))
        skipped += [f"{base}/{one}" if base else one for one in here.skipped]
        for curve, place in zip(here.curves, here.places, strict=True):
            twice = next((where for where, known in seen if known == curve), None)
            if twice is not None:
                raise InputError(
                    f"the curve {curve.id} is there twice", where=f"{twice} and {text}", hint="name it once"
                )
            seen.append((text, curve))
            where = "/".join(one for one in (base, "" if place == "." else place) if one)
            found.append((where or ".", moved(curve, base)))
    return Gathered(distinct(found), tuple(skipped))


def one_curve(path: str) -> tuple[Curve, tuple[str, ...]]:
    """The only curve of a path, and what was skipped. Raises InputError if it has several."""
    found = gather([path])
    if len(found.curves) > 1:
        raise InputError(
            f"wanted one curve in {path}, found {len(found.curves)}: {listed(one.id for one in found.curves)}",
            hint="name the folder of one campaign or run, or one curve.json",
        )
    return found.curves[0], found.skipped


def listed(names: Iterable[str]) -> str:
    """Names in one sentence, the first few of many."""
    every = list(names)
    more = f" and {len(every) - MOST_NAMED} more" if len(every) > MOST_NAMED else ""
    return ", ".join(every[:MOST_NAMED]) + more


def _bases(paths: Sequence[str]) -> list[str]:
    """What stands before the sources of each path, none twice: the path as typed if it leads down from here, so that
    the evidence can be opened; else its last name, for no output shows where on a machine it is."""
    found: list[str] = []
    for text in paths:
        path = PurePath(os.path.normpath(text))
        if path.name == CURVE_FILE:
            path = path.parent
        down = not path.is_absolute() and ".." not in path.parts
        name = path.as_posix() if down else Path(text).resolve().name or "root"
        unique, number = "" if name == "." else name, 2
        while unique in found:
            unique, number = f"{name}-{number}", number + 1
        found.append(unique)
    return found


# -- showing -----------------------------------------------------------------------------------------------------------


def console_for_stdout() -> Console:
    """As wide as the terminal."""
    from rich.console import Console

    return Console(file=sys.stdout, highlight=False)


def say(console: Console, text: str = "", style: str = "", *, indent: int = 0) -> None:
    """A paragraph, folded at the terminal's width; later lines stand under the first one's text."""
    import textwrap

    from rich.text import Text

    pad = " " * indent
    room = max(20, console.width)
    lines = textwrap.wrap(
        printable(text), room, initial_indent=pad, subsequent_indent=pad + ("  " if indent else ""),
        break_on_hyphens=False,
    ) or [""]  # fmt: skip
    for line in lines:
        console.print(Text(line, style=style), soft_wrap=True)


def say_notes(console: Console, title: str, notes: Sequence[str], style: str = "") -> None:
    """A list under a title; the first MOST_NOTES of many. Nothing for an empty one."""
    if not notes:
        return
    say(console)
    say(console, title, "bold")
    for note in notes[:MOST_NOTES]:
        say(console, f"- {note}", style, indent=2)
    if len(notes) > MOST_NOTES:
        say(console, f"  {len(notes) - MOST_NOTES} more with --json", "dim")


def fit(text: str, width: int) -> str:
    """A text in exactly this many columns, cut in its middle so that its end stays readable."""
    from rich.cells import cell_len, set_cell_size

    plain = printable(text)
    if cell_len(plain) <= width:
        return set_cell_size(plain, width)
    head = max(1, (width - 1) // 2)
    tail = plain[-(width - 1 - head) :] if width - 1 - head > 0 else ""
    return set_cell_size(f"{set_cell_size(plain, head)}…{tail}", width)


def number_text(value: float | None) -> str:
    """A value for a table: three significant digits, thousands apart; a dash for what was not measured."""
    if value is None:
        return "-"
    if abs(value) >= 999.5:
        return f"{float(f'{value:.3g}'):,.0f}"
    return f"{value:#.3g}".rstrip(".")


def write_json(value: Any) -> None:
    """One strict JSON document on stdout."""
    from wholecurve.model.strict_json import dumps_strict

    sys.stdout.write(dumps_strict(value).decode())
