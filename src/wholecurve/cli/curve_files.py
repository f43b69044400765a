"""From the paths a user typed to curves, and what pick, compare and accept show alike."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, Any

from wholecurve.model.curve import Curve
from wholecurve.model.errors import InputError
from wholecurve.model.plain_text import printable
from wholecurve.results import distinct, find_curves, moved

if TYPE_CHECKING:
    from rich.console import Console

CURVE_FILE = "curve.json"
MOST_NOTES = 12
MOST_NAMED = 4
MOST_WRITTEN_OUT = 1e12
NOT_READ = "Could not be read, or is missing"


@dataclass(frozen=True, slots=True)
class Gathered:
    """curves: each under a name of its own; sources of points begin with the path that was typed. places: of each
    curve, where it is. skipped: sentences on what looked like a result and could not be read, or is not there."""

    curves: tuple[Curve, ...]
    places: tuple[str, ...]
    skipped: tuple[str, ...]


def gather(paths: Sequence[str]) -> Gathered:
    """The curves of all these paths. Raises InputError if one has none, or if a curve is named twice."""
    if not paths or not all(text.strip() for text in paths):
        got = "an empty text" if paths else "none"
        raise InputError(f"wanted one path or more, got {got}", hint="name a campaign folder, a curve.json or a run")
    found: list[tuple[str, Curve]] = []
    seen: list[tuple[str, str, Curve]] = []
    skipped: list[str] = []
    for text, base in zip(paths, _bases(paths), strict=True):
        here = find_curves(Path(text))
        joint = ": " if here.places == (".",) else "/"  # of the campaign itself, or of something inside this folder
        skipped += [f"{base}{joint}{one}" if base else one for one in here.skipped]
        for curve, place in zip(here.curves, here.places, strict=True):
            home = _home(Path(text) / place)
            twice = next((where for where, its_home, known in seen if its_home == home or known == curve), None)
            if twice is not None:
                raise InputError(
                    f"the curve {curve.id} is there twice", where=f"{twice} and {text}", hint="name it once"
                )
            seen.append((text, home, curve))
            where = "/".join(one for one in (base, "" if place == "." else place) if one)
            found.append((where or ".", moved(curve, base)))
    return Gathered(distinct(found), tuple(place for place, _ in found), tuple(skipped))


def _home(path: Path) -> str:
    """Where a curve really is, however it was named: the folder of a curve.json stands for both."""
    real = os.path.realpath(path)
    return os.path.dirname(real) if os.path.basename(real) == CURVE_FILE else real


@dataclass(frozen=True, slots=True)
class OneCurve:
    """The only curve of a path. title: where it is, its name and its status. skipped: as Gathered."""

    curve: Curve
    title: str
    skipped: tuple[str, ...]


def one_curve(path: str) -> OneCurve:
    """The only curve of a path. Raises InputError if it has several."""
    found = gather([path])
    if len(found.curves) > 1:
        raise InputError(
            f"wanted one curve in {path}, found {len(found.curves)}: {listed(one.id for one in found.curves)}",
            hint="name the folder of one campaign or run, or one curve.json",
        )
    curve, place = found.curves[0], found.places[0]
    where = f", in {place}" if place != "." else ""
    standings = ", ".join(sorted({point.standing.words() for point in curve.points})) or "no point"
    return OneCurve(curve, f"{curve.id} ({standings}){where}", found.skipped)


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
    from rich.text import Text

    for line in folded(printable(text), max(20, console.width), " " * indent, " " * (indent + 2 if indent else 0)):
        console.print(Text(line, style=style), soft_wrap=True)


_UNIT = re.compile(r"(?<=\d) (?=(?:%|µs|ms|ns|s|min|h|W|kW|\$|tokens|requests|J)(?:[^\w]|$))")
_GLUE = "\0"


def folded(text: str, room: int, pad: str = "", later: str = "") -> list[str]:
    """The lines of a paragraph, none wider than `room` columns of a terminal; a number keeps its unit beside it.

    pad, later: what the first line and the others begin with. A word that is wider than a line is cut.
    """
    from rich.cells import cell_len, set_cell_size

    lines: list[str] = []
    line, begun = pad, False
    for glued in _UNIT.sub(_GLUE, text).split(" "):
        word = glued.replace(_GLUE, " ")
        if begun and cell_len(line) + 1 + cell_len(word) > room:
            lines.append(line.rstrip())
            line, begun = later, False
            if not word:
                continue
        line = f"{line} {word}" if begun else line + word
        begun = True
        while cell_len(line) > room:
            head = set_cell_size(line, room)  # has a blank where a wide character would be cut in two
            head = head if line.startswith(head) else head[:-1]
            lines.append(head)
            line = later + line[len(head) :]
    return [*lines, line.rstrip()]


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
    if abs(value) >= MOST_WRITTEN_OUT:
        return f"{value:.2e}"
    if abs(value) >= 999.5:
        return f"{float(f'{value:.3g}'):,.0f}"
    return f"{value:#.3g}".rstrip(".")


def write_json(value: Any) -> None:
    """One strict JSON document on stdout. What would move the cursor or turn the direction of text is escaped, which
    a JSON reader turns back."""
    import json

    from wholecurve.model.strict_json import dumps_strict

    text = dumps_strict(value).decode()
    if not text.replace("\n", "").isprintable():
        text = "".join(char if char.isprintable() or char == "\n" else json.dumps(char)[1:-1] for char in text)
    sys.stdout.write(text)
