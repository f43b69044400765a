"""Reads `data/<version>/*.toml` into a RuleSet. The only module of the rules that touches files.

`durations.toml` fills the field `durations` of RuleSet; `clauses.run.toml` is one of several that fill `clauses`. A
version may stand on another (`_version.toml`: `base`); it then holds only what differs, unless it `replaces` a section.
Editions are data too: see `overlay`.
"""

from __future__ import annotations

import hashlib
import json
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from functools import lru_cache
from importlib import resources
from importlib.resources.abc import Traversable
from typing import Any, Final

from wholecurve.model.errors import InputError
from wholecurve.rules.build import Key, build
from wholecurve.rules.overlay import chain_of, for_edition, merged
from wholecurve.rules.references import check_references, with_values
from wholecurve.rules.ruleset import RuleSet

DEFAULT_VERSION: Final = "v1_0"
DEFAULT_EDITION: Final = "E3"
_HEAD: Final = "_version.toml"
_SUFFIX: Final = ".toml"
_OWN: Final = ("version", "edition", "fingerprint")
_SECTIONS: Final = tuple(field.name for field in fields(RuleSet) if field.name not in _OWN)


@dataclass(frozen=True, slots=True)
class _File:
    """One data file: its name for messages, the section it fills, and its table."""

    name: str
    section: str
    table: dict[str, Any]


@dataclass(frozen=True, slots=True)
class _Head:
    """`_version.toml`: the version that this one stands on, and the sections that it does not take over from it."""

    base: str | None = None
    replaces: tuple[str, ...] = ()


def versions(root: Traversable | None = None) -> tuple[str, ...]:
    """Versions of the rules that are there, sorted. `root`: another folder of data than the package's."""
    folder = _data(root)
    return tuple(sorted(part.name for part in folder.iterdir() if part.is_dir() and (part / _HEAD).is_file()))


@lru_cache(maxsize=16)
def load_rules(
    version: str = DEFAULT_VERSION, edition: str = DEFAULT_EDITION, root: Traversable | None = None
) -> RuleSet:
    """One edition of one version of the rules; read once. Raises InputError with file, key and what was wanted."""
    files = _read(version, root)
    tables = _sections(files)
    chain = chain_of(edition, tables.get("about", {}).get("editions"), f"{version}/about{_SUFFIX}")
    selected = {name: for_edition(table, chain) for name, table in tables.items()}
    content = {"version": version, "edition": edition, "fingerprint": "", **selected}
    rules = build(RuleSet, content, lambda key: _place(key, files, version))
    check_references(rules, _clause_ids(tables), lambda key: _place(key, files, version))
    return replace(with_values(rules, lambda key: _place(key, files, version)), fingerprint=_digest(selected))


def _data(root: Traversable | None) -> Traversable:
    return resources.files("wholecurve.rules") / "data" if root is None else root


def _read(version: str, root: Traversable | None) -> list[_File]:
    """Files of a version; before them those of the version it stands on, without the sections that it replaces."""
    known = versions(root)
    if version not in known:
        raise InputError(f"wanted a version of the rules, got {version!r}", hint="versions: " + ", ".join(known))
    folder = _data(root) / version
    head = build(_Head, _parse(folder / _HEAD, f"{version}/{_HEAD}"), lambda key: f"{version}/{_HEAD}")
    wrong = sorted(set(head.replaces) - set(_SECTIONS))
    if wrong:
        raise InputError(f"wanted sections of the rules at `replaces`, got {wrong[0]!r}", where=f"{version}/{_HEAD}")
    files: list[_File] = []
    if head.base is not None:
        if head.base not in known or _base_of(head.base, root) is not None:
            raise InputError(
                f"wanted at `base` a version that stands on no other, got {head.base!r}", where=f"{version}/{_HEAD}"
            )
        files = [file for file in _read(head.base, root) if file.section not in head.replaces]
    for part in sorted(folder.iterdir(), key=lambda each: each.name):
        if part.name.endswith(_SUFFIX) and part.name != _HEAD:
            name = f"{version}/{part.name}"
            section = part.name.removesuffix(_SUFFIX).split(".")[0]
            if section not in _SECTIONS:
                raise InputError(f"unknown file; wanted one of: {', '.join(_SECTIONS)}", where=name)
            files.append(_File(name, section, _parse(part, name)))
    return files


def _base_of(version: str, root: Traversable | None) -> object:
    return _parse(_data(root) / version / _HEAD, f"{version}/{_HEAD}").get("base")


def _parse(file: Traversable, name: str) -> dict[str, Any]:
    try:
        return tomllib.loads(file.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise InputError(f"not valid TOML: {error}", where=name) from None


def _sections(files: list[_File]) -> dict[str, dict[str, Any]]:
    """Tables by section. Within one version a section's files share no key; a later version's keys win."""
    tables: dict[str, dict[str, Any]] = {}
    seen: dict[tuple[str, str, str], str] = {}
    for file in files:
        for key in file.table.keys() - {"edition"}:
            first = seen.setdefault((file.name.split("/")[0], file.section, key), file.name)
            if first != file.name:
                raise InputError(f"wanted each key once, got `{key}` in {first} too", where=file.name)
        tables[file.section] = merged(tables.get(file.section, {}), file.table)
    return tables


def _place(key: Key, files: list[_File], version: str) -> str:
    """The file that a key of RuleSet comes from: the last one that has it, else the last of its section."""
    of_section = [file for file in files if key and file.section == key[0]]
    for file in reversed(of_section):
        for table in (file.table, *file.table.get("edition", {}).values()):
            if _holds(table, key[1:]):
                return file.name
    return of_section[-1].name if of_section else f"{version}/{key[0]}{_SUFFIX}" if key else version


def _holds(table: object, key: Key) -> bool:
    for part in key:
        if isinstance(table, list) and part.isdecimal() and int(part) < len(table):
            table = table[int(part)]
        elif isinstance(table, Mapping) and part in table:
            table = table[part]
        else:
            return False
    return True


def _clause_ids(tables: Mapping[str, Mapping[str, Any]]) -> frozenset[str]:
    """Ids of the clauses of all editions."""
    return frozenset(tables.get("clauses", {})) - {"edition"}


def _digest(selected: Mapping[str, object]) -> str:
    text = json.dumps(selected, sort_keys=True, default=str, ensure_ascii=False, allow_nan=False)
    return hashlib.sha256(text.encode("utf-8")).hexdigest()
