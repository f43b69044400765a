"""`wholecurve describe`: the description of the system, captured on its hosts and completed by the submitter."""

from __future__ import annotations

import json as json_module
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Annotated, Any

from cyclopts import Parameter

from wholecurve import __version__
from wholecurve.cli.main import printable
from wholecurve.describe import (
    Capture,
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
from wholecurve.model.strict_json import dumps_strict
from wholecurve.power import Provisioned, computed_block, parse_power, provisioned
from wholecurve.power import template as power_template
from wholecurve.rules import RuleSet
from wholecurve.rules.load import load_rules
from wholecurve.run.files import write_atomically

SCHEMA = "wholecurve.describe/1"
INCOMPLETE = 1
MOST_BYTES = 1 << 20


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
    _check_targets(out, fill_in, capture_to, power_to, (*merged, *(name for name in (submitted, power) if name)))
    own = read_submitted(_read(submitted, "--with").decode("utf-8", "replace"), submitted, rules) if submitted else {}
    captures = [read_capture(_read(name, "--merge"), name) for name in merged] or [capture(model_path=model_path)]
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
        _print(captures, merged, description, rows, [*notes, *(found.notes if found else ())], rules)
        if found:
            _print_power(found)
        _print_next(rows, written)
    return INCOMPLETE if rows else 0


def _check_targets(
    out: str | None, fill_in: str | None, capture_to: str | None, power_to: str | None, inputs: tuple[str, ...]
) -> None:
    """Refuses to write over an input, twice into one file, or over a file that people fill in."""
    names = {"--out": out, "--template": fill_in, "--capture": capture_to, "--power-template": power_to}
    given = {flag: Path(name) for flag, name in names.items() if name is not None}
    for flag, path in given.items():
        if path.is_dir():
            raise InputError(f"{flag}: wanted a file, got the folder {path}")
        if any(path.resolve() == Path(name).resolve() for name in inputs):
            raise InputError(f"{flag}: wanted another file than those that are read, got {path}")
        if any(path.resolve() == other.resolve() for name, other in given.items() if name != flag):
            raise InputError(f"{flag}: wanted a file of its own, got {path} twice")
        if flag in ("--template", "--power-template") and path.exists():
            raise InputError(f"{flag}: {path} is there already and may be filled in", hint="name another file")
    if capture_to is not None and inputs and any(name.endswith(".json") for name in inputs):
        raise InputError("wanted --capture of this host or --merge of others, got both")


def _read(name: str, flag: str) -> bytes:
    try:
        with Path(name).open("rb") as file:
            data = file.read(MOST_BYTES + 1)
    except OSError as error:
        raise InputError(f"{flag}: cannot read {name}: {error.strerror}") from None
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
        data = json_module.loads(_read(name, "--power"))
    except (ValueError, RecursionError):
        raise InputError("--power: not valid JSON", where=name) from None
    return provisioned(parse_power(data, rules.power), rules.power, description=description)


# -- what is shown -----------------------------------------------------------------------------------------------------


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


def _print(
    captures: list[Capture],
    merged: tuple[str, ...],
    description: Mapping[str, Any],
    rows: tuple[Missing, ...],
    notes: list[str],
    rules: RuleSet,
) -> None:
    what = f"{len(captures)} captures" if merged else "this host"
    print(f"Described from {what}, by the rules {rules.version}, edition {rules.edition}\n")
    for name, value in description.items():
        if not isinstance(value, list):
            print(f"  {name:34} {_shown(value)}")
    for at, node in enumerate(description.get("node_types", []), start=1):
        print(f"\n  node type {at}")
        for name, value in node.items():
            if not isinstance(value, list):
                print(f"    {name:32} {_shown(value)}")
        for inner, card in enumerate(node.get("accelerator_info", []), start=1):
            print(f"    accelerator {inner}")
            for name, value in card.items():
                print(f"      {name:30} {_shown(value)}")
        if node.get("accelerator_info") == []:
            print("    no accelerator was seen")
    _print_asides(captures, notes)
    _print_missing(rows)


def _print_next(rows: tuple[Missing, ...], written: list[str]) -> None:
    for name in written:
        print(f"Written: {name}")
    if rows and not any(name.endswith((".yaml", ".yml")) for name in written):
        print("Next: --template FILE.yaml writes what is missing as a file to fill in; then give it with --with")


def _print_power(found: Provisioned) -> None:
    """The provisioned power, and what it consists of."""
    label = f" ({found.label})" if found.label else ""
    print(f"Provisioned power {found.kw:.{found.rules.kw_decimals}f} kW{label}: {found.basis}")
    width = max(len(part.label) for part in found.parts) if found.parts else 0
    for part in found.parts:
        print(f"  {part.label:{width}}  {part.watts:10,.0f} W  {printable(part.source)}")
    print()


def _shown(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else printable(str(value))


def _print_asides(captures: list[Capture], notes: list[str]) -> None:
    kinds = sorted({str(each.node["container"]) for each in captures if each.node["container"]})
    if kinds:
        notes = [
            *notes,
            f"captured in a container ({', '.join(kinds)}): operating system and files are the container's",
        ]
    if notes:
        print("\nNotes")
        for note in notes:
            print(f"  {printable(note)}")


def _print_missing(rows: tuple[Missing, ...]) -> None:
    print()
    if not rows:
        print("Complete: every field that the rules ask for is there")
        return
    print(f"Still missing, in the words of the rules ({len(rows)})")
    width = max(len(row.place) for row in rows)
    for row in rows:
        condition = f" (if {row.condition})" if row.condition else ""
        print(f"  {row.place:{width}}  {row.text}{condition}")
        if row.why:
            print(f"  {'':{width}}  not captured: {printable(row.why)}")
    print()
