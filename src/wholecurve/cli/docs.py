"""docs/reference/commands.md, made from the table of commands and the commands' own help.

`python -m wholecurve.cli.docs` prints the page; a test compares it with the file.
"""

from __future__ import annotations

import io
import re
import sys

from wholecurve.cli.main import COMMANDS, EXIT_CODES, build_app

WIDTH = 100


def help_text(name: str) -> str:
    """What `wholecurve NAME --help` prints, at a fixed width and without colours."""
    from rich.console import Console

    stream = io.StringIO()
    console = Console(file=stream, width=WIDTH, force_terminal=False, color_system=None, legacy_windows=False)
    build_app(name)([name, "--help"], console=console)
    text = re.sub(r"\x1b\[[0-9;]*m", "", stream.getvalue())
    return "\n".join(line.rstrip() for line in text.strip().splitlines())


def commands_page() -> str:
    """The whole page."""
    lines = [
        "# Commands",
        "",
        "Made from the commands' own help by `python -m wholecurve.cli.docs`; do not edit.",
        "",
        "| Command | Does |",
        "| --- | --- |",
    ]
    lines += [f"| [`{name}`](#{name}) | {row.help} |" for name, row in COMMANDS.items()]
    lines += ["", "| Exit code | Means |", "| --- | --- |"]
    lines += [f"| {code} | {meaning} |" for code, meaning in EXIT_CODES]
    lines += ["", "`WHOLECURVE_DEBUG=1` shows where an error comes from."]
    for name in COMMANDS:
        lines += ["", f"## {name}", "", "```text", help_text(name), "```"]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    sys.stdout.write(commands_page())
