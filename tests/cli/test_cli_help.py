"""Help, version, the table of commands, and what is not imported before it is needed."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from cli_console import console, environment

from wholecurve import __version__
from wholecurve.cli import COMMANDS, EXIT_CODES
from wholecurve.cli.docs import commands_page, help_text
from wholecurve.cli.main import main
from wholecurve.model import errors

PAGE = Path(__file__).resolve().parents[2] / "docs" / "reference" / "commands.md"


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_explains_itself(name: str) -> None:
    text = help_text(name)
    assert text.startswith("Usage:")
    assert f"Example: {COMMANDS[name].example}" in text
    # The example uses only flags that exist.
    flags = [word for word in shlex.split(COMMANDS[name].example) if word.startswith("--")]
    assert all(re.search(rf"{flag}\b", text.partition("Parameters:")[2]) for flag in flags)
    # Every flag says what it is for.
    for line in text.partition("Parameters:")[2].splitlines():
        assert not re.fullmatch(r"  --\S+", line), f"no meaning: {line}"


@pytest.mark.parametrize("arguments", [["--help"], ["-h"], ["help"], []])
def test_overview(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(arguments) == 0
    text = capsys.readouterr().out
    assert all(f"  {name} " in text and row.help in text for name, row in COMMANDS.items())
    assert all(meaning in text for _, meaning in EXIT_CODES)


def test_exit_codes_are_those_of_the_errors() -> None:
    kinds = (errors.InputError, errors.SetupError, errors.MeasureError, errors.InterruptedRun)
    assert {code for code, _ in EXIT_CODES} == {0, 1, *(kind.exit_code for kind in kinds)}


def test_help_of_a_command_both_ways(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["help", "doctor"]) == 0
    first = capsys.readouterr().out
    assert main(["doctor", "--help"]) == 0
    assert capsys.readouterr().out == first != ""


def test_version(tmp_path: Path) -> None:
    done = console("--version", cwd=tmp_path)
    assert (done.code, done.out, done.err) == (0, f"wholecurve {__version__}\n", "")


def test_the_reference_page_is_current() -> None:
    assert PAGE.read_text(encoding="utf-8") == commands_page(), (
        "python -m wholecurve.cli.docs > docs/reference/commands.md"
    )


HEAVY = ("scipy", "pyarrow", "jinja2", "tokenizers", "transformers", "rich.live", "rich.console", "asyncio")


@pytest.mark.parametrize(
    ("code", "unwanted"),
    [
        ("from wholecurve.cli.main import main; main(['--help'])", (*HEAVY, "numpy", "cyclopts", "pydantic")),
        ("import wholecurve.cli.run", HEAVY),
        ("import wholecurve.cli.probe", HEAVY),
    ],
    ids=["help", "run", "probe"],
)
def test_what_a_start_does_not_wait_for(code: str, unwanted: tuple[str, ...]) -> None:
    script = f"{code}\nimport sys\nprint([name for name in {unwanted!r} if name in sys.modules], file=sys.stderr)"
    done = subprocess.run([sys.executable, "-c", script], env=environment(), capture_output=True, text=True, check=True)
    assert done.stderr.strip() == "[]"


def test_a_reader_that_had_enough_is_no_error(tmp_path: Path) -> None:
    """`wholecurve --help | head -1`."""
    script = f"{shlex.quote(sys.executable)} -m wholecurve run --help | head -1; echo ${{PIPESTATUS[0]}}"
    done = subprocess.run(
        ["bash", "-c", script], cwd=tmp_path, env=environment(), capture_output=True, text=True, check=True
    )
    assert done.stderr == ""
    assert done.stdout.splitlines()[-1] == "0"
