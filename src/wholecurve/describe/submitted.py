"""The submitter's part of a system description: YAML in the field names of `system_desc.json`, checked key by key.

A field of a node type or of an accelerator may also stand at the top: it is then meant for all of them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import date
from difflib import get_close_matches
from typing import Any, Final

from wholecurve.config.yaml_source import Path, YamlSource, read_yaml
from wholecurve.model.errors import InputError
from wholecurve.model.plain_text import printable
from wholecurve.rules import Level, RuleSet, SystemField

NODES: Final = "node_types"
ACCELERATORS: Final = "accelerator_info"
_ID: Final = "system_node_ensemble_id"
MOST_TEXT: Final = 4000
MOST: Final = 10**9
SHORTEST_SUMMARY: Final = 4

DEGREES: Final = ("tensor_parallel", "pipeline_parallel", "expert_parallel", "data_parallel")
AT_LEAST_ONE: Final = (*DEGREES, "batch", "number_of_nodes", "system_node_ensemble_id")

EXTRA_TOP: Final = (
    "submitter_org_names",
    "submitter_contact",
    "submission_id",
    "submission_date",
    "publish_date",
    "system_category",
    "model_precision",
    "link_to_model",
    "model_notes",
)
"""Keys that the official checker reads and the rules do not list. Taken over as text."""

SAYS_NOTHING: Final = frozenset({"", "n/a", "na", "tbd", "changeme", "unknown", "not detected", "?", "todo", "null"})
"""Words that stand where nothing is known. A description has no such words: the field is missing then."""

_LISTED: Final = 8


@dataclass(slots=True)
class _Faults:
    source: YamlSource
    found: list[tuple[str, str, str]] = field(default_factory=list)

    def add(self, path: Path, message: str, hint: str = "") -> None:
        self.found.append((message, self.source.where(path), hint))

    def raise_if_any(self) -> None:
        if not self.found:
            return
        message, where, hint = self.found[0]
        more = [f"- {text} ({place})" for text, place, _ in self.found[1:_LISTED]]
        if len(self.found) > _LISTED:
            more.append(f"- and {len(self.found) - _LISTED} more")
        raise InputError(message, where=where, hint="\n  ".join([*([hint] if hint else []), *more]))


def read_submitted(text: str, name: str, rules: RuleSet) -> dict[str, Any]:
    """The values of a YAML file, checked. Fields that are blank or say nothing (`N/A`) are left out.

    Raises InputError with file and line for unknown keys (with the nearest known one), wrong types and values that the
    rules do not allow; all of them at once.
    """
    source = read_yaml(text, name)
    faults = _Faults(source)
    by_level = {level: _of(rules, level) for level in Level}
    accelerator = by_level[Level.ACCELERATOR]
    node = {**by_level[Level.NODE], **accelerator}
    top = {**by_level[Level.TOP], **node}
    values = _section(source.data, (), top, (*EXTRA_TOP, NODES), rules, faults)
    rows: list[dict[str, Any]] = []
    for place, row in enumerate(_rows(source.data, (NODES,), faults)):
        path: Path = (NODES, place)
        fields = _section(row, path, node, (ACCELERATORS,), rules, faults)
        if row.get(ACCELERATORS) is not None:
            inner_rows = _rows(row, (*path, ACCELERATORS), faults)
            fields[ACCELERATORS] = [
                _section(inner, (*path, ACCELERATORS, at), accelerator, (), rules, faults)
                for at, inner in enumerate(inner_rows)
            ]
        if fields.get(_ID) in [other[_ID] for other in rows if _ID in other]:
            faults.add((*path, _ID), f"{_ID}: wanted each number once, got {fields[_ID]} twice")
        rows.append(fields)
    faults.raise_if_any()
    return {**values, NODES: rows} if rows else values


def says_nothing(value: Any) -> bool:
    """Whether a value is none, or a word that stands for none."""
    return value is None or (isinstance(value, str) and value.strip().lower() in SAYS_NOTHING)


def _of(rules: RuleSet, level: Level) -> dict[str, SystemField]:
    return {row.id: row for row in rules.fields.system.values() if row.level is level}


def _rows(data: Mapping[str, Any], path: Path, faults: _Faults) -> list[Mapping[str, Any]]:
    rows = data.get(str(path[-1]))
    if rows is None:
        return []
    if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
        faults.add(path, f"{path[-1]}: wanted a list of sections, each begun with a dash")
        return []
    return rows


def _section(
    data: Mapping[str, Any],
    path: Path,
    known: Mapping[str, SystemField],
    others: Iterable[str],
    rules: RuleSet,
    faults: _Faults,
) -> dict[str, Any]:
    found = {}
    names = [*known, *others]
    for key, value in data.items():
        here = (*path, key)
        if key not in names:
            near = get_close_matches(key, names, n=1, cutoff=0.6)
            hint = f"did you mean `{near[0]}`?" if near else "see the fields of system_desc.json in the rules"
            faults.add(here, f"unknown key `{printable(key)[:60]}`", hint)
            continue
        if key in (NODES, ACCELERATORS) or says_nothing(value):
            continue
        kind = known[key].type if key in known else "text"
        problem, checked = _value(key, kind, value, rules)
        if problem:
            faults.add(here, f"{key}: {problem}")
        else:
            found[key] = checked
    return found


def _value(key: str, kind: str, value: Any, rules: RuleSet) -> tuple[str, Any]:
    """(what is wrong, the value as it is written into the description)."""
    if key in _OWN:
        return _OWN[key](value, rules)
    if kind == "integer":
        return _whole(value, 1 if key in AT_LEAST_ONE else 0)
    if kind == "number":
        is_number = isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < MOST
        return ("", value) if is_number else (f"wanted a number, got {_shown(value)}", None)
    problem, text = _text(value)
    if problem:
        return problem, None
    if kind == "URL" and not re.fullmatch(r"https?://[^\s/?#]+\S*", text):
        return f"wanted a web address (http:// or https://), got {_shown(value)}", None
    if kind == "date":
        try:
            date.fromisoformat(text)
        except ValueError:
            return f"wanted a date such as 2026-12-31, got {_shown(value)}", None
    return "", text


def _text(value: Any) -> tuple[str, str]:
    if not isinstance(value, str):
        return f"wanted text, got {_shown(value)} (put quotes around it)", ""
    if len(value) > MOST_TEXT:
        return f"wanted at most {MOST_TEXT} characters, got {len(value)}", ""
    return "", printable(" ".join(value.split()))


def _whole(value: Any, least: int) -> tuple[str, Any]:
    if isinstance(value, bool) or not isinstance(value, int) or not least <= value < MOST:
        more = " (1 for none)" if least else ""
        return f"wanted a whole number of at least {least}{more}, got {_shown(value)}", None
    return "", value


def _word_of(words: Callable[[RuleSet], Iterable[str]]) -> Callable[[Any, RuleSet], tuple[str, Any]]:
    """A word of a list of the rules, in any case; written as the rules write it."""

    def check(value: Any, rules: RuleSet) -> tuple[str, Any]:
        known = list(words(rules))
        for word in known:
            if str(value).lower() == word.lower():
                return "", word
        return f"wanted one of {', '.join(known)}, got {_shown(value)}", None

    return check


def _disaggregated(value: Any, _rules: RuleSet) -> tuple[str, Any]:
    """true or false, as the official checker reads it; the rules call it a number and do not define it."""
    if isinstance(value, bool) or value in (0, 1):
        return "", bool(value)
    return f"wanted true or false, got {_shown(value)}", None


def _short_name(value: Any, rules: RuleSet) -> tuple[str, Any]:
    problem, text = _text(value)
    longest = rules.fields.short_name_longest
    if not problem and len(text) > longest:
        problem = f"wanted at most {longest} characters, got {len(text)}"
    return problem, text


def _c_max(value: Any, rules: RuleSet) -> tuple[str, Any]:
    problem, number = _whole(value, 1)
    if not problem and number <= rules.regions.c_max_above:
        problem = f"wanted more than {rules.regions.c_max_above}, got {number}"
    return problem, number


def _summary(value: Any, _rules: RuleSet) -> tuple[str, Any]:
    problem, text = _text(value)
    if not problem and len(text) < SHORTEST_SUMMARY:
        problem = f"wanted at least {SHORTEST_SUMMARY} characters, got {_shown(value)}"
    return problem, text


_OWN: Final[Mapping[str, Callable[[Any, RuleSet], tuple[str, Any]]]] = {
    "division": _word_of(lambda rules: rules.vocabulary.divisions),
    "system_availability_status": _word_of(lambda rules: rules.vocabulary.availability),
    "disaggregated": _disaggregated,
    "shortened_system_name": _short_name,
    "max_supported_concurrency": _c_max,
    "config_summary": _summary,
}
"""Fields whose values have rules of their own: what is wrong, and the value."""


def _shown(value: Any) -> str:
    if isinstance(value, dict | list):
        return "a section" if isinstance(value, dict) else "a list"
    text = printable(repr(value))
    return text if len(text) <= 60 else text[:57] + "..."
