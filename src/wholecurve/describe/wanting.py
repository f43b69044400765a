"""What a system description still lacks, in the words of the rules, and a YAML file with only that."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from wholecurve.describe.submitted import ACCELERATORS, DEGREES, NODES, says_nothing
from wholecurve.model.plain_text import printable
from wholecurve.rules import Level, Need, RuleSet, SystemField

LATER: Final[Mapping[str, str]] = {"tps_utilization": "is worked out for each point when the curve is known"}
"""Fields that nobody is asked for here, and why."""

_SUMMARY: Final = "config_summary"
_STATUS: Final = "system_availability_status"


@dataclass(frozen=True, slots=True)
class Missing:
    """A field that is not there. place: as in the file, with lists counted from 1. text, condition: of the rules.

    path: the same for programs, from 0: (), (node,) or (node, accelerator). why: why it was not captured.
    """

    field: str
    place: str
    text: str
    condition: str = ""
    why: str = ""
    path: tuple[int, ...] = ()


Row = Mapping[str, Any]


def _status_is(word: str) -> Callable[[Row, Row], bool]:
    return lambda top, _row: str(top.get(_STATUS, "")).lower() == word.lower()


_HOLDS: Final[Mapping[str, Callable[[Row, Row], bool]]] = {
    "availability_url": _status_is("Available"),
    "target_availability_date": _status_is("Preview"),
    "host_processor_core_count": lambda _top, row: says_nothing(row.get("host_processor_vcpu_count")),
    "host_processor_vcpu_count": lambda _top, _row: False,  # said with the one before
    "accelerator_interconnect": lambda _top, row: (row.get("accelerators_per_node") or 2) > 1,
}
"""Whether the condition of a field holds; the words of the condition are the rules'."""


def missing(description: Row, rules: RuleSet, reasons: Mapping[str, str] | None = None) -> tuple[Missing, ...]:
    """Every field that must be there and is not, in the order of the rules. reasons: why fields were not captured."""
    found: list[Missing] = []

    def look(level: Level, row: Row, prefix: str, path: tuple[int, ...]) -> None:
        for field in rules.fields.system.values():
            if field.level is level and says_nothing(row.get(field.id)) and _wanted(field, description, row):
                why = (reasons or {}).get(field.id, "")
                found.append(Missing(field.id, prefix + field.id, field.text, field.condition, why, path))

    look(Level.TOP, description, "", ())
    nodes = _rows(description, NODES)
    if not nodes:
        found.append(Missing(NODES, NODES, "the kinds of nodes of the system"))
    for at, node in enumerate(nodes):
        look(Level.NODE, node, f"{NODES}[{at + 1}].", (at,))
        cards = _rows(node, ACCELERATORS)
        if node.get(ACCELERATORS) is None:
            cards = [{}]
        for inner, card in enumerate(cards):
            look(Level.ACCELERATOR, card, f"{NODES}[{at + 1}].{ACCELERATORS}[{inner + 1}].", (at, inner))
    return tuple(found)


def _wanted(field: SystemField, top: Row, row: Row) -> bool:
    if field.id in LATER:
        return False
    if field.id == _SUMMARY:  # follows from the degrees, which are asked for
        return all(top.get(name) is not None for name in (*DEGREES, "disaggregated"))
    if field.need is Need.REQUIRED:
        return True
    return field.need is Need.WHEN and (field.id not in _HOLDS or _HOLDS[field.id](top, row))


def _rows(row: Row, name: str) -> list[Row]:
    rows = row.get(name)
    return [each for each in rows if isinstance(each, Mapping)] if isinstance(rows, list | tuple) else []


_CHOICES: Final[Mapping[str, Callable[[RuleSet], Sequence[str]]]] = {
    "division": lambda rules: tuple(rules.vocabulary.divisions),
    _STATUS: lambda rules: rules.vocabulary.availability,
}
_DERIVED_WORDS: Final = frozenset({"system_size", "system_node_ensemble_count", "system_node_ensemble_total"})


def template(description: Row, rules: RuleSet, reasons: Mapping[str, str] | None = None) -> str:
    """A YAML file with the missing fields alone, each with the words of the rules; blank values stay missing."""
    rows = missing(description, rules, reasons)
    lines = [
        "# What could not be captured. Write each value after its colon; leave out what you do not know.",
        "# The words are those of the rules. Then: wholecurve describe --with THIS_FILE",
    ]
    top = [row for row in rows if not row.path and row.field not in _DERIVED_WORDS and row.field != NODES]
    lines += [line for row in top for line in _entry(row, "", rules)]
    if any(row.field == _STATUS for row in top):
        for name in ("availability_url", "target_availability_date"):
            field = rules.fields.system.get(name)
            if field is not None:
                lines += [f"# {field.text} (if {field.condition})", f"# {name}:"]
    nodes = sorted({row.path[0] for row in rows if row.path})
    if nodes:
        lines.append(f"{NODES}:")
    for at in nodes:
        lines += _node_lines(at, rows, description, rules)
    return "\n".join(lines) + "\n"


def _node_lines(at: int, rows: Sequence[Missing], description: Row, rules: RuleSet) -> list[str]:
    node = _rows(description, NODES)[at]
    lines = [f"  - system_node_ensemble_id: {node.get('system_node_ensemble_id', at + 1)}{_called(node)}"]
    for row in rows:
        if row.path == (at,) and row.field != "system_node_ensemble_id":
            lines += _entry(row, "    ", rules)
    cards = sorted({row.path[1] for row in rows if len(row.path) == 2 and row.path[0] == at})
    if cards:
        lines.append(f"    {ACCELERATORS}:" + ("" if node.get(ACCELERATORS) else "  # [] if there is none"))
    for inner in range(max(cards, default=-1) + 1):
        entries = [line for row in rows if row.path == (at, inner) for line in _entry(row, "        ", rules)]
        known = _rows(node, ACCELERATORS)
        name = known[inner].get("accelerator_model_name") if inner < len(known) else None
        lines.append(f"      -{f'  # {_comment(name)}' if name else ''}" if entries else "      - {}")
        lines += entries
    return lines


def _entry(row: Missing, indent: str, rules: RuleSet) -> list[str]:
    """Comment and key. Why it was not captured goes along."""
    words = row.text
    choices = _CHOICES[row.field](rules) if row.field in _CHOICES else ()
    if not all(word in words for word in choices):
        words += f" ({', '.join(choices)})"
    if row.condition:
        words += f" (if {row.condition})"
    if row.why:
        words += f". Not captured: {row.why}"
    return [f"{indent}# {_comment(words)}", f"{indent}{row.field}:"]


def _called(node: Row) -> str:
    name, number = node.get("host_processor_model_name"), node.get("number_of_nodes")
    words = [f"{number} of" if number else "", str(name or "")]
    text = " ".join(word for word in words if word)
    return f"  # {_comment(text)}" if name else ""


def _comment(text: str) -> str:
    """Text that stays a comment: on one line."""
    return " ".join(printable(text).split())
