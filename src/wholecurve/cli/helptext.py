"""The help of a command as plain text in two columns: readable on any terminal, by any screen reader, in any file."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from cyclopts.help import HelpEntry, HelpPanel
    from rich.console import Console, ConsoleOptions

LABEL_WIDTH = 28
MAX_WIDTH = 110


class PlainHelp:
    """Writes usage, example, description and panels; the protocol is cyclopts' `HelpFormatter`."""

    def __init__(self, example: str) -> None:
        self._example = example

    def __call__(self, console: Console, options: ConsoleOptions, panel: HelpPanel) -> None:
        """A panel: its title, then an entry per flag or argument."""
        if not panel.entries:
            return
        lines = [f"{_plain(panel.title)}:"]
        for entry in panel.entries:
            lines += entry_lines(", ".join(entry.display_labels_with_metavar), _meaning(entry), _width(console))
        _print(console, "\n".join(lines))

    def render_usage(self, console: Console, options: ConsoleOptions, usage: Any) -> None:
        """The first lines: what may be typed, and what one would type."""
        usual = _plain(usage).removeprefix("Usage:").strip()
        _print(console, f"Usage:   {usual}\nExample: {self._example}")

    def render_description(self, console: Console, options: ConsoleOptions, description: Any) -> None:
        """What the command does."""
        paragraphs = _plain(description).split("\n\n")
        _print(console, "\n\n".join(textwrap.fill(" ".join(part.split()), _width(console)) for part in paragraphs))


def entry_lines(label: str, meaning: str, width: int) -> list[str]:
    """Label and meaning side by side; a long label has its meaning below."""
    wrapped = textwrap.wrap(meaning, max(20, width - LABEL_WIDTH - 4)) or [""]
    pad = " " * (LABEL_WIDTH + 4)
    if len(label) > LABEL_WIDTH:
        return [f"  {label}", *(pad + line for line in wrapped)]
    return [f"  {label:{LABEL_WIDTH}}  {wrapped[0]}".rstrip(), *(pad + line for line in wrapped[1:])]


def _meaning(entry: HelpEntry) -> str:
    words = _plain(entry.description)
    if entry.choices:
        words += f" ({', '.join(entry.choices)})"
    if entry.required:
        words += " (required)"
    return words


def _plain(value: Any) -> str:
    """The text of a string or of anything that rich can print."""
    if value is None or isinstance(value, str):
        return value or ""
    if hasattr(value, "plain"):
        return str(value.plain).strip()
    from io import StringIO

    from rich.console import Console

    console = Console(file=StringIO(), width=10_000, force_terminal=False, color_system=None)
    with console.capture() as capture:
        console.print(value)
    return "\n".join(line.rstrip() for line in capture.get().strip().splitlines())


def _width(console: Console) -> int:
    return min(console.width, MAX_WIDTH)


def _print(console: Console, text: str) -> None:
    if text:
        console.print(text + "\n", highlight=False, markup=False, soft_wrap=True)
