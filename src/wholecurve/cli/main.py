"""The console command `wholecurve`: the table of commands, help, and how every error ends.

A command's module is imported when it is asked for, and only its flags are built: from process start to the first
request there is no time for the rest. Exit codes are those of `model/errors.py`; no traceback is shown unless
WHOLECURVE_DEBUG=1 is set.
"""

from __future__ import annotations

import contextlib
import importlib
import os
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any

from wholecurve import __version__
from wholecurve.model.errors import InputError, MeasureError, WholecurveError
from wholecurve.model.plain_text import printable

if TYPE_CHECKING:
    from cyclopts import App

INTERRUPTED = 130
MAX_SHOWN = 60


@dataclass(frozen=True, slots=True)
class Command:
    """One command: the module whose `command` runs it, one line of help, an example that works."""

    module: str
    help: str
    example: str


COMMANDS: dict[str, Command] = {
    "run": Command(
        "wholecurve.cli.run",
        "measure one point, from flags or a configuration file",
        "wholecurve run --endpoint http://localhost:8000 --model NAME --dataset prompts.jsonl --concurrency 32",
    ),
    "sweep": Command(
        "wholecurve.cli.sweep",
        "measure the whole curve; survives a crash and goes on with --resume",
        "wholecurve sweep --endpoint http://localhost:8000 --model NAME --dataset prompts.jsonl --c-max 256",
    ),
    "probe": Command(
        "wholecurve.cli.probe",
        "is the endpoint there, and what does it speak",
        "wholecurve probe http://localhost:8000 --model NAME",
    ),
    "doctor": Command(
        "wholecurve.cli.doctor",
        "can this machine measure: limits, ports, clocks, kernel stamps, other load",
        "wholecurve doctor --concurrency 1024",
    ),
    "describe": Command(
        "wholecurve.cli.describe",
        "describe the system behind the endpoint: capture its hosts, add what you know, list what is missing",
        "wholecurve describe --with my-system.yaml --out system_desc.json",
    ),
    "report": Command(
        "wholecurve.cli.report",
        "show a run again, and write its report anew",
        "wholecurve report results/my-run --html report.html",
    ),
    "pick": Command(
        "wholecurve.cli.pick",
        "which measured point of which system, under your limits",
        "wholecurve pick results/my-sweep --ttft-p90 500ms --interactivity 30",
    ),
    "compare": Command(
        "wholecurve.cli.compare",
        "two curves level by level, and what their difference proves",
        "wholecurve compare results/before results/after",
    ),
    "accept": Command(
        "wholecurve.cli.accept",
        "hold a delivered system to a published curve",
        "wholecurve accept results/delivered --against published/curve.json",
    ),
    "export": Command(
        "wholecurve.cli.export",
        "write the records of a run in another form",
        "wholecurve export requests results/my-run --format csv --out requests.csv",
    ),
    "sim": Command(
        "wholecurve.cli.sim",
        "serve a simulated endpoint",
        "wholecurve sim --port 8000 --profile small --fault reset=1%",
    ),
    "demo": Command(
        "wholecurve.cli.demo",
        "measure a simulated endpoint and show what comes out; needs nothing but this machine",
        "wholecurve demo",
    ),
}

EXIT_CODES: tuple[tuple[int, str], ...] = (
    (0, "done"),
    (1, "done, and the result is not valid or a rule failed"),
    (2, "bad input: a flag, a key, a file or a row"),
    (3, "set-up failed: the endpoint, the tokenizer or this machine is not ready"),
    (4, "measuring failed; what was recorded until then is on disk"),
    (INTERRUPTED, "interrupted; files are written and marked so"),
)


def entry() -> None:
    """The console script."""
    open_streams()
    sys.exit(main(sys.argv[1:]))


def main(arguments: Sequence[str]) -> int:
    """Run one command; returns the exit code and never raises for what a user or an endpoint can do."""
    try:
        return _flushed(_dispatch(arguments))
    except WholecurveError as error:
        return _fail(error)
    except KeyboardInterrupt:
        tell("interrupted")
        return INTERRUPTED
    except (BrokenPipeError, SystemExit):  # rich turns the first into the second
        drop_stdout()  # the reader of our output had enough, which is no error of ours
        return 0
    except Exception as error:  # noqa: BLE001 - the last place where a traceback can become a sentence
        return _fail(_unexpected(error))


def _flushed(code: int) -> int:
    """The code, which stands even if nobody reads the output any more."""
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        drop_stdout()
    return code


def tell(text: str) -> None:
    """A line on stderr; a closed stderr is nobody to tell."""
    with contextlib.suppress(OSError, ValueError):
        print(text, file=sys.stderr, flush=True)


def build_app(name: str) -> App:
    """The application with one command in it. Help goes to stdout as plain text; nothing is printed on errors."""
    from cyclopts import App, Parameter

    from wholecurve.cli.flag_values import as_written
    from wholecurve.cli.helptext import PlainHelp

    row = COMMANDS[name]
    app = App(
        name="wholecurve",
        help_formatter=PlainHelp(row.example),
        version_flags=[],
        default_parameter=Parameter(show_default=False, converter=as_written),
        result_action="return_value",
        exit_on_error=False,
        print_error=False,
    )
    function: Callable[..., int] = importlib.import_module(row.module).command
    app.command(function, name=name)
    return app


def _dispatch(arguments: Sequence[str]) -> int:
    first = arguments[0] if arguments else "--help"
    if first in ("--version", "-V"):
        print(f"wholecurve {__version__}")
        return 0
    if first in ("--help", "-h", "help"):
        if len(arguments) < 2 or arguments[1] not in COMMANDS:
            print(overview())
            return 0
        arguments = (arguments[1], "--help")
        first = arguments[0]
    if first not in COMMANDS:
        kind = "flag" if first.startswith("-") else "command"
        raise InputError(
            f"wanted a command, got the unknown {kind} {_shown(first.partition('=')[0])}",
            hint=_did_you_mean(first, COMMANDS) or f"commands: {', '.join(COMMANDS)}; see wholecurve --help",
        )
    return _call(first, arguments)


def _call(name: str, arguments: Sequence[str]) -> int:
    from cyclopts import CycloptsError

    app = build_app(name)
    try:
        code = app(list(arguments))
    except CycloptsError as error:
        raise parse_error(error, name) from None
    return code if isinstance(code, int) else 0  # None after --help


def overview() -> str:
    """What `wholecurve --help` prints."""
    width = max(map(len, COMMANDS))
    lines = ["Usage: wholecurve COMMAND [OPTIONS]", "", "Measure a served LLM endpoint, truthfully.", "", "Commands:"]
    lines += [f"  {name:{width}}  {row.help}" for name, row in COMMANDS.items()]
    lines += ["", "Options:", "  --help     this text; wholecurve COMMAND --help explains a command"]
    lines += ["  --version  the version", "", "Exit codes:"]
    lines += [f"  {code:3}  {meaning}" for code, meaning in EXIT_CODES]
    return "\n".join(lines)


# -- errors ------------------------------------------------------------------------------------------------------------


def parse_error(error: Any, name: str) -> InputError:
    """What the flag parser refused, in our words. Values are only shown where a closed list was wanted: any other may
    be a secret that landed in the wrong place."""
    kind = type(error).__name__
    see = f"see wholecurve {name} --help"
    token = getattr(error, "token", None)
    argument = getattr(error, "argument", None)
    flag = (getattr(token, "keyword", None) or getattr(error, "keyword", None) or getattr(argument, "name", "")) or ""
    flag = flag.partition("=")[0]
    if kind == "UnknownOptionError":
        flag = flag or str(getattr(token, "value", "")).partition("=")[0]  # after positional values it stands there
        known = [word for known in error.argument_collection for word in known.names]
        return InputError(f"unknown flag {_shown(flag)}", hint=_did_you_mean(flag, known) or see)
    if kind == "MissingArgumentError":
        return InputError(f"wanted a value for {flag}, got none", hint=see)
    if kind == "RepeatArgumentError":
        return InputError(f"wanted {flag} once, got it twice", hint=see)
    if kind == "CoercionError" and token is not None:
        return _wrong_value(error, flag, token.value, see)
    if kind == "UnusedCliTokensError":
        count = len(error.unused_tokens or ())
        words = "one value" if count == 1 else f"{count} values"
        return InputError(f"got {words} that no flag takes", hint=f"quote values with blanks in them; {see}")
    return InputError(f"the flags could not be read ({kind})", hint=see)


_TYPE_WORDS = {int: "a whole number", float: "a number", bool: "true or false"}


def _wrong_value(error: Any, flag: str, value: str, see: str) -> InputError:
    choices = _choices(error.target_type)
    if choices:
        hint = _did_you_mean(value, choices) or see
        return InputError(f"{flag}: wanted one of {', '.join(choices)}, got {_shown(value)}", hint=hint)
    wanted = _TYPE_WORDS.get(error.target_type, "another value")
    return InputError(f"{flag}: wanted {wanted}, got {_shown(value)}", hint=see)


def _choices(kind: Any) -> list[str]:
    """The words of an enumeration or a Literal; none for other types."""
    if hasattr(kind, "__members__"):
        return [str(member.value) for member in kind]
    return [word for word in getattr(kind, "__args__", ()) if isinstance(word, str)]


def _did_you_mean(word: str, known: Any) -> str:
    near = get_close_matches(word, list(known), n=1, cutoff=0.65)
    return f"did you mean {near[0]}?" if near else ""


def _shown(value: str) -> str:
    return repr(value if len(value) <= MAX_SHOWN else f"{value[: MAX_SHOWN - 3]}...")


def _fail(error: WholecurveError) -> int:
    if os.environ.get("WHOLECURVE_DEBUG") == "1":
        import traceback

        traceback.print_exc()
    lines = "\n".join(error.lines()).split("\n")  # a hint may have several; what others wrote must not act on a screen
    tell("\n".join(["error: " + printable(lines[0]), *map(printable, lines[1:])]))
    return error.exit_code


def _unexpected(error: Exception) -> WholecurveError:
    """A fault that nobody foresaw. Its message is not shown: it could hold anything, a header's value too."""
    if isinstance(error, OSError) and error.strerror:
        return MeasureError(f"the system refused: {error.strerror}", where=str(error.filename or ""))
    place = ""
    step = error.__traceback__
    while step is not None:
        name = step.tb_frame.f_globals.get("__name__", "")
        if name.startswith("wholecurve."):
            place = f"{name}, line {step.tb_lineno}"
        step = step.tb_next
    return MeasureError(
        f"wholecurve has a fault: {type(error).__name__}",
        where=place,
        hint="please report it, with what WHOLECURVE_DEBUG=1 prints",
    )


def open_streams() -> None:
    """Standard streams that were closed lead nowhere from here on: else the next file opened would take their number,
    and what is printed, by us or by a library, would be written into it."""
    for number, name, mode in ((0, "stdin", "r"), (1, "stdout", "w"), (2, "stderr", "w")):
        if getattr(sys, name) is None:
            opened = os.open(os.devnull, os.O_RDONLY if number == 0 else os.O_WRONLY)
            if opened != number:
                os.dup2(opened, number)
                os.close(opened)
            setattr(sys, name, os.fdopen(number, mode, encoding="utf-8", errors="replace"))


def drop_stdout() -> None:
    """Point stdout nowhere, so that its flush at exit does not fail again."""
    with contextlib.suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
