"""Captures of nodes and the submitter's values, merged into one `system_desc.json`.

Identical nodes become one node type with their number. Where capture and submitter both say something, the submitter's
value stands and a difference is said. What follows from other fields is worked out unless it was given.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from wholecurve.describe.capture import Capture
from wholecurve.describe.node_fields import memory_words, node_fields
from wholecurve.describe.submitted import ACCELERATORS, DEGREES, NODES, says_nothing
from wholecurve.rules import Level, RuleSet

_SAME_MEMORY: Final = 0.01
"""Two hosts with the same modules differ by what firmware keeps for itself."""

_DEGREE_WORDS: Final = dict(zip(DEGREES, ("TP", "PP", "EP", "DP"), strict=True))
_ID: Final = "system_node_ensemble_id"
_NUMBER: Final = "number_of_nodes"
_MEMORY: Final = "host_memory_capacity"


@dataclass(slots=True)
class _Group:
    """Identical nodes: their fields, how many, memory of one."""

    fields: dict[str, Any]
    memory: int | None
    count: int = 1
    memories: int = field(default=0)

    def takes(self, fields: Mapping[str, Any], memory: int | None) -> bool:
        if self.fields != fields or (self.memory is None) != (memory is None):
            return False
        if self.memory is None or memory is None:
            return True
        return abs(self.memory - memory) <= _SAME_MEMORY * self.memory


def merge(
    captures: Sequence[Capture],
    submitted: Mapping[str, Any],
    rules: RuleSet,
    *,
    served: Mapping[str, Any] | None = None,
    say: Callable[[str], None] = lambda _text: None,
) -> dict[str, Any]:
    """The description, keys in the order of the rules; what nobody said is not in it.

    submitted: what `read_submitted` gives. served: top fields that the endpoint told. say: takes a sentence for every
    value of the submitter that differs from what was captured.
    """
    top_fields = [row.id for row in rules.fields.system.values() if row.level is Level.TOP]
    nodes = _nodes(_grouped(captures), submitted, rules, say)
    values = dict(served or {})
    for name, value in submitted.items():
        if name == NODES or _level(name, rules) not in (None, Level.TOP):
            continue
        if name in values and values[name] != value:
            say(f"{name}: yours is {_shown(value)}, the endpoint says {_shown(values[name])}; yours stands")
        values[name] = value
    for name, value in _derived(values, nodes, rules).items():
        if name not in values:
            values[name] = value
        elif values[name] != value and name in _COUNTS:
            say(f"{name}: yours is {_shown(values[name])}, the nodes give {_shown(value)}; yours stands")
    ordered = {name: values[name] for name in top_fields if name in values}
    rest = {name: value for name, value in values.items() if name not in ordered}
    return {**ordered, **rest, NODES: nodes}


def reasons_of(captures: Sequence[Capture]) -> dict[str, str]:
    """Field to why it was not captured; the first node that has a reason speaks."""
    found: dict[str, str] = {}
    for each in captures:
        for name, why in each.not_captured.items():
            found.setdefault(name, why)
    return found


def _grouped(captures: Sequence[Capture]) -> list[_Group]:
    groups: list[_Group] = []
    for each in captures:
        fields, memory = node_fields(each.node), each.node["memory"]["bytes"]
        group = next((one for one in groups if one.takes(fields, memory)), None)
        if group is None:
            groups.append(_Group(fields, memory))
            group = groups[-1]
        else:
            group.count += 1
        group.memories += memory or 0
    return groups


def _level(name: str, rules: RuleSet) -> Level | None:
    row = rules.fields.system.get(name)
    return None if row is None else row.level


def _nodes(
    groups: Sequence[_Group], submitted: Mapping[str, Any], rules: RuleSet, say: Callable[[str], None]
) -> list[dict[str, Any]]:
    """The node types: captured ones first, then those that only the submitter names."""
    rows = list(submitted.get(NODES) or [])
    by_id = {row[_ID]: row for row in rows if _ID in row}
    unnamed = [row for row in rows if _ID not in row]
    for_all = {
        name: value for name, value in submitted.items() if _level(name, rules) in (Level.NODE, Level.ACCELERATOR)
    }
    found = []
    for number, group in enumerate(groups, start=1):
        row = by_id.pop(number, None)
        if row is None and unnamed:
            row = unnamed.pop(0)
        found.append(_node(number, group, {**for_all, **(row or {})}, rules, say))
    for row in [*by_id.values(), *unnamed]:
        taken = {one[_ID] for one in found}
        number = row.get(_ID) or next(free for free in range(1, len(taken) + 2) if free not in taken)
        found.append(_node(number, _Group({}, None), {**for_all, **row}, rules, say))
    if not found and for_all:
        found.append(_node(1, _Group({}, None), for_all, rules, say))
    return found


def _node(
    number: int, group: _Group, own: Mapping[str, Any], rules: RuleSet, say: Callable[[str], None]
) -> dict[str, Any]:
    place = f"{NODES}[{number}]"
    captured = {_ID: number, **({_NUMBER: group.count} if group.fields else {}), **group.fields}
    values = {name: value for name, value in captured.items() if name != ACCELERATORS}
    for name, value in own.items():
        if _level(name, rules) is not Level.NODE:
            continue
        if name in values and values[name] != value:
            say(f"{place}.{name}: yours is {_shown(value)}, captured is {_shown(values[name])}; yours stands")
        values[name] = value
    if "host_processor_vcpu_count" in own and "host_processor_core_count" not in own:
        values.pop("host_processor_core_count", None)
    if "host_processor_core_count" in own and "host_processor_vcpu_count" not in own:
        values.pop("host_processor_vcpu_count", None)
    if _MEMORY not in values and group.memory is not None:
        total = group.memories if values.get(_NUMBER) == group.count else group.memory * (values.get(_NUMBER) or 1)
        values[_MEMORY] = memory_words(total)
    cards = _accelerators(group.fields, own, rules, place, say)
    order = [row.id for row in rules.fields.system.values() if row.level is Level.NODE]
    ordered = {name: values[name] for name in order if name in values}
    return ordered | ({} if cards is None else {ACCELERATORS: cards})


def _accelerators(
    captured: Mapping[str, Any],
    own: Mapping[str, Any],
    rules: RuleSet,
    place: str,
    say: Callable[[str], None],
) -> list[dict[str, Any]] | None:
    """Entries by place. None where neither side says anything, so that it is not taken for "has none"."""
    entries = [dict(row) for row in captured.get(ACCELERATORS) or []]
    given = own.get(ACCELERATORS)
    for_all = {name: value for name, value in own.items() if _level(name, rules) is Level.ACCELERATOR}
    if not entries and given is None and not for_all:
        return [] if ACCELERATORS in captured else None
    rows = [dict(row) for row in given or []]
    while len(entries) < max(len(rows), 1 if for_all else 0):
        entries.append({})
    for at, entry in enumerate(entries):
        for name, value in {**for_all, **(rows[at] if at < len(rows) else {})}.items():
            if name in entry and entry[name] != value:
                where = f"{place}.{ACCELERATORS}[{at + 1}].{name}"
                say(f"{where}: yours is {_shown(value)}, captured is {_shown(entry[name])}; yours stands")
            entry[name] = value
    return entries


_COUNTS: Final = ("system_size", "system_node_ensemble_count", "system_node_ensemble_total")


def _derived(values: Mapping[str, Any], nodes: Sequence[Mapping[str, Any]], rules: RuleSet) -> dict[str, Any]:
    """What follows from other fields: counts, size, summary of the parallelism, a short name if the name is short."""
    found: dict[str, Any] = {}
    numbers = [node.get(_NUMBER) for node in nodes]
    if nodes:
        found["system_node_ensemble_count"] = len(nodes)
    if nodes and None not in numbers:
        found["system_node_ensemble_total"] = sum(number for number in numbers if number is not None)
    size = system_size(nodes)
    if size:
        found["system_size"] = size
    name = values.get("system_name")
    if isinstance(name, str) and len(name) <= rules.fields.short_name_longest:
        found["shortened_system_name"] = name
    summary = config_summary(values)
    if summary:
        found["config_summary"] = summary
    return found


def system_size(nodes: Sequence[Mapping[str, Any]]) -> str:
    """Accelerators of each node type joined by plus: `16x NVIDIA H100 + 8x NVIDIA L4`; processors where there are none.

    Empty as long as a number or a name is not known.
    """
    found: list[str] = []
    for node in nodes:
        number, cards = node.get(_NUMBER), node.get(ACCELERATORS)
        if number is None or cards is None:
            return ""
        rows = [(card.get("accelerators_per_node"), card.get("accelerator_model_name")) for card in cards]
        if not rows:
            rows = [(node.get("host_processors_per_node"), node.get("host_processor_model_name"))]
        if any(count is None or says_nothing(name) for count, name in rows):
            return ""
        found += [f"{number * count}x {name}" for count, name in rows if count is not None]
    return " + ".join(found)


def config_summary(values: Mapping[str, Any]) -> str:
    """Disaggregation and the degrees above 1, with the notes; empty as long as one of them is not known."""
    if any(values.get(name) is None for name in (*DEGREES, "disaggregated")):
        return ""
    words = ["disaggregated"] if values["disaggregated"] else []
    words += [f"{short}={values[name]}" for name, short in _DEGREE_WORDS.items() if values[name] > 1]
    text = ", ".join(words) or "no parallelism"
    notes = values.get("config_summary_notes")
    return f"{text}; {notes}" if notes else text


def _shown(value: Any) -> str:
    text = f"`{value}`"
    return text if len(text) <= 80 else text[:76] + "...`"
