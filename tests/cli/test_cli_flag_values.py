"""A number on the command line is the number that was typed, in every command, or it is refused."""

from __future__ import annotations

from typing import Any, get_args, get_type_hints

import pytest

from wholecurve.cli.main import COMMANDS, build_app, main


def number_flags(kind: type) -> list[tuple[str, str]]:
    """(command, flag) of every flag of all commands whose value is of this kind."""
    found = []
    for command in COMMANDS:
        for argument in build_app(command)[command].assemble_argument_collection():
            members = get_args(argument.hint) or (argument.hint,)
            if kind in members:
                found.append((command, argument.name))
    return found


WHOLE = number_flags(int)
REAL = number_flags(float)


def test_the_flags_are_found() -> None:
    assert {("run", "--concurrency"), ("sweep", "--c-max"), ("sim", "--port"), ("doctor", "--concurrency")} <= set(
        WHOLE
    )
    assert {("run", "--rate"), ("pick", "--interactivity"), ("sim", "--speed")} <= set(REAL)
    assert get_type_hints(main)["return"] is int


def refused(capsys: pytest.CaptureFixture[str], command: str, *arguments: str) -> str:
    values: dict[str, list[str]] = {"probe": ["http://127.0.0.1:9"], "pick": ["away"], "report": ["away"]}
    assert main([command, *values.get(command, []), *arguments]) == 2
    return capsys.readouterr().err


@pytest.mark.parametrize(("command", "flag"), WHOLE, ids=lambda one: one)
@pytest.mark.parametrize("value", ["1.5", "1.0", "2.", "0x10", "1_0", "1e2", "null", "none", "-", "\u0663"])
def test_a_whole_number_is_whole(capsys: pytest.CaptureFixture[str], command: str, flag: str, value: str) -> None:
    assert f"{flag}: wanted a whole number" in refused(capsys, command, f"{flag}={value}")


@pytest.mark.parametrize(("command", "flag"), REAL, ids=lambda one: one)
@pytest.mark.parametrize("value", ["null", "none", "1_0", "1,5", "0x10"])
def test_a_number_is_a_number(capsys: pytest.CaptureFixture[str], command: str, flag: str, value: str) -> None:
    assert f"{flag}: wanted a number, got '{value}'" in refused(capsys, command, f"{flag}={value}")


@pytest.mark.parametrize("value", ["null", "None"])
def test_a_choice_is_never_taken_as_not_given(capsys: pytest.CaptureFixture[str], value: str) -> None:
    assert "--dialect: wanted one of openai-chat" in refused(capsys, "run", "--dialect", value)
    assert "--per: wanted one of kw" in refused(capsys, "pick", "--per", value)


@pytest.mark.parametrize(
    ("arguments", "name", "value"),
    [
        (["run", "--concurrency", "+8"], "concurrency", 8),
        (["run", "--seed", str(2**63)], "seed", 2**63),
        (["run", "--rate", "1e2"], "rate", 100.0),
        (["run", "--rate", ".5"], "rate", 0.5),
        (["run", "--usage"], "usage", True),
        (["run", "--no-usage"], "usage", False),
        (["run", "--endpoint", "http://a", "--endpoint", "http://b"], "endpoint", ("http://a", "http://b")),
        (["run", "--name", "null"], "name", "null"),
        (["sweep", "--offline", "none"], "offline", "none"),
        (["run", "--pattern", "offline"], "pattern", "offline"),
    ],
)
def test_everything_else_is_read_as_ever(arguments: list[str], name: str, value: Any) -> None:
    _, bound, _ = build_app(arguments[0]).parse_args(arguments, print_error=False, exit_on_error=False)
    (flags,) = (one for one in bound.arguments.values() if hasattr(one, name))
    assert getattr(flags, name) == value


def test_an_error_never_acts_on_the_screen(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["pick", "\x1b[31mred\u202e\x9b0m"]) == 2
    error = capsys.readouterr().err
    assert all(char.isprintable() or char == "\n" for char in error)
    assert "found nothing at ?[31mred" in error
