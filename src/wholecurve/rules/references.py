"""References inside the data: `{section.key}` in texts, choices that are named, clauses that changes point at."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import fields, is_dataclass, replace
from fractions import Fraction
from types import MappingProxyType
from typing import Any, Final

from wholecurve.model.errors import InputError
from wholecurve.rules.build import Key, Place
from wholecurve.rules.clauses import Clause
from wholecurve.rules.ruleset import RuleSet
from wholecurve.rules.words import Kind, Offline

_REFERENCE: Final = re.compile(r"\{([^{}]*)\}")


def with_values(rules: RuleSet, place: Place) -> RuleSet:
    """The rules with `{section.key}` replaced by values in texts and thresholds of clauses, and in field texts.

    Raises InputError for a reference that leads nowhere.
    """

    def filled(text: str, key: Key) -> str:
        return _REFERENCE.sub(lambda found: _shown(_value(rules, found.group(1), key, place)), text)

    clauses: dict[str, Clause] = {}
    for name, clause in rules.clauses.items():
        text = filled(clause.text, ("clauses", name, "text"))
        threshold = filled(clause.threshold, ("clauses", name, "threshold"))
        clauses[name] = replace(clause, text=text, threshold=threshold)
    system = {
        name: replace(field, text=filled(field.text, ("fields", "system", name, "text")))
        for name, field in rules.fields.system.items()
    }
    fields_ = replace(rules.fields, system=MappingProxyType(system))
    return replace(rules, clauses=MappingProxyType(clauses), fields=fields_)


def check_references(rules: RuleSet, all_clauses: frozenset[str], place: Place) -> None:
    """Raises InputError for a choice, region, benchmark or clause that is named and not there.

    all_clauses: ids of the clauses of every edition, because a change may name one that only another edition has.
    """
    for key, name in _choices_named(rules, ()):
        _wanted(name, rules.choices, "a choice", key, place)
    regions = rules.regions
    for role in ("ultra_low", "low", "medium", "high", "beyond"):
        _wanted(getattr(regions, role), regions.region, "a region", ("regions", role), place)
    for role in ("ultra_low", "low", "medium", "high"):
        name = getattr(regions, role)
        _wanted(name, rules.durations.minimum_s, "a region with a duration", ("regions", role), place)
    for name in (*rules.durations.minimum_s, *(rules.durations.agentic_s or {})):
        _wanted(name, regions.region, "a region", ("durations", "minimum_s"), place)
    for name, drafter in rules.drafters.list.items():
        key = ("drafters", "list", name, "benchmark")
        _wanted(drafter.benchmark, rules.benchmarks.benchmark, "a benchmark", key, place)
    for name, clause in rules.clauses.items():
        for division in clause.divisions:
            _wanted(division, rules.vocabulary.divisions, "a division", ("clauses", name, "divisions"), place)
    for name, change in rules.about.changes.items():
        for clause_id in change.clauses:
            _wanted(clause_id, all_clauses, "a clause", ("about", "changes", name, "clauses"), place)
        for edition in change.says:
            _wanted(edition, rules.about.editions, "an edition", ("about", "changes", name, "says"), place)
    for role, table, words in (
        ("points.fewest", rules.points.fewest, Offline),
        ("points.accuracy_runs", rules.points.accuracy_runs, Kind),
        ("offline.results", rules.offline.results, Kind),
        ("offline.fills_region", rules.offline.fills_region, Offline),
        ("queries.load_patterns", rules.queries.load_patterns, Kind),
    ):
        for word in words:
            _wanted(word, table, f"`{role}.{word}`", tuple(role.split(".")), place)


def _choices_named(node: Any, key: Key) -> Iterator[tuple[Key, str]]:
    """Every key `choice` or `..._choice` of the rules with the id that it names."""
    if isinstance(node, Mapping):
        for name, value in node.items():
            yield from _choices_named(value, (*key, str(name)))
    elif is_dataclass(node) and key[:1] != ("choices",):
        for field in fields(node):
            value = getattr(node, field.name)
            if (field.name == "choice" or field.name.endswith("_choice")) and value is not None:
                yield (*key, field.name), value
            else:
                yield from _choices_named(value, (*key, field.name))


def _wanted(name: str, known: Any, what: str, key: Key, place: Place) -> None:
    if name not in known:
        raise InputError(f"wanted {what} that exists at `{'.'.join(key)}`, got {name!r}", where=place(key))


def _value(rules: RuleSet, path: str, key: Key, place: Place) -> Any:
    node: Any = rules
    for part in path.split("."):
        if isinstance(node, Mapping) and part in node:
            node = node[part]
        elif is_dataclass(node) and part in {field.name for field in fields(node)}:
            node = getattr(node, part)
        else:
            raise InputError(f"wanted a key of the rules in braces, got {{{path}}}", where=place(key))
    if node is None:
        raise InputError(f"wanted a key that has a value in this edition, got {{{path}}}", where=place(key))
    return node


def _shown(value: Any) -> str:
    """A value for people: lists with commas; of a table its keys, with the values where these are plain."""
    if isinstance(value, Fraction | float):
        return f"{float(value):g}" if float(value) < 1e6 else f"{float(value):.0f}"
    if isinstance(value, tuple):
        return ", ".join(_shown(item) for item in value)
    if isinstance(value, Mapping):
        plain = all(isinstance(item, str | int | float) for item in value.values())
        return ", ".join(f"{name}: {_shown(item)}" if plain else str(name) for name, item in value.items())
    return str(value)
