"""`wholecurve describe`: the description of the system, captured on its hosts and completed by the submitter."""

from __future__ import annotations

import json as json_module
import os
import stat
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Annotated, Any

from cyclopts import Parameter

from wholecurve import __version__
from wholecurve.cli.describe_text import print_description, print_next, print_power
from wholecurve.describe import (
    Missing,
    capture,
    capture_document,
    merge,
    missing,
    read_capture,
    read_submitted,
    reasons_of,
    template,
)
from wholecurve.model.errors import InputError, MeasureError
from wholecurve.model.plain_text import printable
from wholecurve.model.strict_json import dumps_strict
from wholecurve.power import Provisioned, computed_block, parse_power, provisioned
from wholecurve.power import template as power_template
from wholecurve.results.unique_keys import DuplicateKeyError, loads_unique
from wholecurve.rules import RuleSet
from wholecurve.rules.load import load_rules
from wholecurve.run.files import write_atomically

SCHEMA = "wholecurve.describe/1"
INCOMPLETE = 1
MOST_BYTES = 1 << 20
MOST_NAME = 200
INPUTS = ("--merge", "--with", "--power")


def _flag(name: str, text: str, **more: Any) -> Parameter:
    return Parameter(name=name, help=text, negative="", negative_iterable="", **more)


def command(
    *,
    out: Annotated[str | None, _flag("--out", "write the description here, such as system_desc.json")] = None,
    submitted: Annotated[str | None, _flag("--with", "your part: YAML with what cannot be captured")] = None,
    fill_in: Annotated[
        str | None, _flag("--template", "write a YAML file with only what is still missing, to be filled in")
    ] = None,
    capture_to: Annotated[str | None, _flag("--capture", "write what this host shows, to be merged elsewhere")] = None,
    merged: Annotated[
        tuple[str, ...],
        _flag("--merge", "captures of the nodes, in the place of this host's", consume_multiple=True),
    ] = (),
    endpoint: Annotated[str | None, _flag("--endpoint", "ask the engine there what it is and how it is split")] = None,
    model_path: Annotated[
        str | None, _flag("--model-path", "where the model's files are; only the type of file system is kept")
    ] = None,
    power_to: Annotated[
        str | None, _flag("--power-template", "write a system_power.json to be filled in, with the counts in it")
    ] = None,
    power: Annotated[
        str | None, _flag("--power", "a filled-in system_power.json: check it, and show what it comes to")
    ] = None,
    json: Annotated[bool, _flag("--json", "print JSON")] = False,
) -> int:
    """Describe the system behind the endpoint: run it on the server's host, not on this client's.

    Reads processors, memory, accelerators, network, storage and software without installing anything and without root,
    merges that with your YAML, where yours wins, and lists what is still missing in the words of the rules. For several
    nodes: --capture on each, then --merge. Exit code 1 while something is missing.
    """
    rules = load_rules()
    _check_inputs(merged, submitted, power)
    _check_targets(out, fill_in, capture_to, power_to, (*merged, *(name for name in (submitted, power) if name)))
    own = read_submitted(_text(submitted, "--with"), submitted, rules) if submitted else {}
    place = _real(model_path) if model_path else None  # where the files are, not where a link to them is
    captures = [read_capture(_read(name, "--merge"), name) for name in merged] or [capture(model_path=place)]
    notes: list[str] = []
    served = _served(endpoint, notes.append) if endpoint else {}
    description = merge(captures, own, rules, served=served, say=notes.append)
    reasons = reasons_of(captures)
    rows = missing(description, rules, reasons)
    found = _provisioned(power, description, rules) if power else None
    texts: list[tuple[str | None, Callable[[], bytes]]] = [
        (capture_to, lambda: dumps_strict(capture_document(captures[0], __version__))),
        (out, lambda: dumps_strict(description)),
        (fill_in, lambda: template(description, rules, reasons).encode()),
        (power_to, lambda: dumps_strict(power_template(description, rules.power))),
    ]
    written = [name for name, make in texts if name is not None and _write(name, make())]
    if json:
        _print_json(description, rows, notes, found)
    else:
        print_description(captures, merged, description, rows, [*notes, *(found.notes if found else ())], rules)
        if found:
            print_power(found)
        print_next(rows, written)
    return INCOMPLETE if rows else 0


def _check_targets(
    out: str | None, fill_in: str | None, capture_to: str | None, power_to: str | None, inputs: tuple[str, ...]
) -> None:
    """Refuses to write over an input, twice into one file, or over a file that people fill in."""
    names = {"--out": out, "--template": fill_in, "--capture": capture_to, "--power-template": power_to}
    given = {flag: Path(name) for flag, name in names.items() if name is not None}
    for flag, path in given.items():
        there = _there(names[flag] or "", flag)
        if there is not None and stat.S_ISDIR(there.st_mode):
            raise InputError(f"{flag}: wanted a file, got the folder {path}")
        if there is not None and not stat.S_ISREG(there.st_mode):
            raise InputError(f"{flag}: wanted a file, got {path}, which is none", hint="--json prints instead")
        if any(_real(path) == _real(name) for name in inputs):
            raise InputError(f"{flag}: wanted another file than those that are read, got {path}")
        if any(_real(path) == _real(other) for name, other in given.items() if name != flag):
            raise InputError(f"{flag}: wanted a file of its own, got {path} twice")
        if flag in ("--template", "--power-template") and there is not None:
            raise InputError(f"{flag}: {path} is there already and may be filled in", hint="name another file")
    if capture_to is not None and inputs and any(name.endswith(".json") for name in inputs):
        raise InputError("wanted --capture of this host or --merge of others, got both")


def _check_inputs(merged: tuple[str, ...], submitted: str | None, power: str | None) -> None:
    """Refuses what is no file, before anything is read from it, and a capture that would be counted twice."""
    given = [("--merge", name) for name in merged]
    given += [(flag, name) for flag, name in (("--with", submitted), ("--power", power)) if name is not None]
    for flag, name in given:
        there = _there(name, flag)
        if there is not None and not stat.S_ISREG(there.st_mode):
            raise InputError(f"{flag}: wanted a file, got {_short(name)}, which is none")
    twice = [name for at, name in enumerate(merged) if _real(name) in map(_real, merged[:at])]
    if twice:
        raise InputError(
            f"--merge: got {_short(twice[0])} twice: its node would be counted twice",
            hint="capture each node in a file of its own",
        )


def _there(name: str, flag: str) -> os.stat_result | None:
    """What is at a path; None where nothing is. Raises InputError for a name that cannot be one."""
    if not name.strip():
        raise InputError(f"{flag}: wanted a file's name, got an empty text")
    try:
        return os.stat(name)
    except FileNotFoundError:
        return None
    except (OSError, ValueError) as error:
        why = error.strerror if isinstance(error, OSError) else "not a name of a file"
        verb = "read" if flag in INPUTS else "write"
        raise InputError(f"{flag}: cannot {verb} {_short(name)}: {why}") from None


def _real(name: str | Path) -> str:
    return os.path.realpath(name)


def _short(name: str) -> str:
    return name if len(name) <= MOST_NAME else name[: MOST_NAME - 1] + "…"


def _text(name: str, flag: str) -> str:
    try:
        return _read(name, flag).decode("utf-8")
    except UnicodeDecodeError:
        raise InputError(f"{flag}: wanted UTF-8 text, got other bytes", where=name) from None


def _read(name: str, flag: str) -> bytes:
    try:
        with Path(name).open("rb") as file:
            data = file.read(MOST_BYTES + 1)
    except OSError as error:
        raise InputError(f"{flag}: cannot read {_short(name)}: {error.strerror}") from None
    if len(data) > MOST_BYTES:
        raise InputError(f"{flag}: wanted a file of at most {MOST_BYTES >> 20} MiB, got {name}, which is larger")
    return data


def _write(name: str, data: bytes) -> bool:
    try:
        write_atomically(Path(name), data)
    except (OSError, MeasureError) as error:
        why = error.strerror if isinstance(error, OSError) else error.message
        raise InputError(f"cannot write {name}: {why}", hint="name another file") from None
    return True


def _served(url: str, say: Callable[[str], None]) -> dict[str, Any]:
    """What the engine says about itself, and the address. An engine that says nothing is a note, not an error."""
    from wholecurve.cli.describe_endpoint import ask_engine

    found = ask_engine(url)
    if not found:
        say(f"endpoint: no page there names the engine; {printable(url)} is taken as the address only")
    return {"endpoint_url": url, **found}


def _provisioned(name: str, description: Mapping[str, Any], rules: RuleSet) -> Provisioned:
    """The power file held against the rules and the description. Raises InputError with every reason to reject it."""
    try:
        data = loads_unique(_read(name, "--power"))
    except DuplicateKeyError as error:
        raise InputError(f"--power: {error}", where=name) from None
    except ValueError:
        raise InputError("--power: not valid JSON", where=name) from None
    return provisioned(parse_power(data, rules.power), rules.power, description=description)


def _print_json(
    description: Mapping[str, Any], rows: tuple[Missing, ...], notes: list[str], power: Provisioned | None
) -> None:
    listed = [
        {"field": row.place, "text": row.text, "condition": row.condition or None, "not_captured": row.why or None}
        for row in rows
    ]
    data = {"schema": SCHEMA, "complete": not rows, "description": description, "missing": listed, "notes": notes}
    if power is not None:
        data["power"] = {**computed_block(power), "basis": power.basis, "notes": list(power.notes)}
    sys.stdout.write(json_module.dumps(data, indent=2, ensure_ascii=False, allow_nan=False) + "\n")
