"""The answer of `wholecurve describe` on a terminal: what is known, what is missing, what the power comes to."""

from __future__ import annotations

import shutil
from collections.abc import Mapping, Sequence
from typing import Any

from wholecurve.cli.curve_files import folded
from wholecurve.describe import Capture, Missing
from wholecurve.model.plain_text import printable
from wholecurve.power import Provisioned
from wholecurve.rules import RuleSet

LEAST_WIDTH = 60
NAME_WIDTH = 34
LEAST_TEXT = 24


def row(name: str, text: str, *, indent: int = 2, width: int = NAME_WIDTH) -> None:
    """A name and what is said of it in two columns, folded at the terminal's width; a long name has a line alone."""
    room = max(LEAST_WIDTH, shutil.get_terminal_size().columns)
    pad = " " * indent
    if len(name) > width:
        print(pad + name)
        name = ""
    head = f"{pad}{name:{width}} "
    for number, line in enumerate(folded(printable(text), max(LEAST_TEXT, room - len(head)))):
        print(((head if number == 0 else " " * len(head)) + line).rstrip())


def line(text: str, *, indent: int = 0) -> None:
    """A sentence, folded at the terminal's width."""
    room = max(LEAST_WIDTH, shutil.get_terminal_size().columns)
    for one in folded(printable(text), room, " " * indent, " " * (indent + 2)):
        print(one)


def print_description(
    captures: Sequence[Capture],
    merged: Sequence[str],
    description: Mapping[str, Any],
    rows: Sequence[Missing],
    notes: Sequence[str],
    rules: RuleSet,
) -> None:
    """Every field, what is to be known of it, and what is missing."""
    what = "this host" if not merged else "1 capture" if len(captures) == 1 else f"{len(captures)} captures"
    print(f"Described from {what}, by the rules {rules.version}, edition {rules.edition}\n")
    for name, value in description.items():
        if not isinstance(value, list):
            row(name, _shown(value))
    for at, node in enumerate(description.get("node_types", []), start=1):
        print(f"\n  node type {at}")
        for name, value in node.items():
            if not isinstance(value, list):
                row(name, _shown(value), indent=4, width=NAME_WIDTH - 2)
        for inner, card in enumerate(node.get("accelerator_info", []), start=1):
            print(f"    accelerator {inner}")
            for name, value in card.items():
                row(name, _shown(value), indent=6, width=NAME_WIDTH - 4)
        if node.get("accelerator_info") == []:
            print("    no accelerator was seen")
    _print_asides(captures, notes)
    _print_missing(rows)


def print_next(rows: Sequence[Missing], written: Sequence[str]) -> None:
    """What was written, and what to do next."""
    for name in written:
        line(f"Written: {name}")
    if rows and not any(name.endswith((".yaml", ".yml")) for name in written):
        line("Next: --template FILE.yaml writes what is missing as a file to fill in; then give it with --with")


def print_power(found: Provisioned) -> None:
    """The provisioned power, and what it consists of."""
    label = f" ({found.label})" if found.label else ""
    line(f"Provisioned power {found.kw:.{found.rules.kw_decimals}f} kW{label}: {found.basis}")
    width = max((len(part.label) for part in found.parts), default=0)
    for part in found.parts:
        row(part.label, f"{part.watts:10,.0f} W  {part.source}", width=width)
    print()


def _shown(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _print_asides(captures: Sequence[Capture], notes: Sequence[str]) -> None:
    kinds = sorted({str(each.node["container"]) for each in captures if each.node["container"]})
    said = list(notes)
    if kinds:
        said.append(f"captured in a container ({', '.join(kinds)}): operating system and files are the container's")
    if said:
        print("\nNotes")
    for note in said:
        line(note, indent=2)


def _print_missing(rows: Sequence[Missing]) -> None:
    print()
    if not rows:
        print("Complete: every field that the rules ask for is there")
        return
    print(f"Still missing, in the words of the rules ({len(rows)})")
    for one in rows:
        condition = f" (if {one.condition})" if one.condition else ""
        row(one.place, f"{one.text}{condition}")
        if one.why:
            row("", f"not captured: {one.why}")
    print()
