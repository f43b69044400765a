"""How data differ by edition and version: tables laid over tables.

- `[edition.E1]` at the root of a file is laid over the rest for edition E1: tables merge, anything else is replaced.
- A table with `editions = ["E3"]` exists in those editions only.
- An edition with a `base` is that edition first, then its own overlay; what exists in the base exists in it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from wholecurve.model.errors import InputError

_OVERLAY: Final = "edition"
_LIMIT: Final = "editions"


def chain_of(edition: str, known: object, where: str) -> tuple[str, ...]:
    """The editions that one is made of, the base first. Raises InputError for an unknown one or a circle."""
    if not isinstance(known, dict) or not known:
        raise InputError("wanted a table `editions`, and it is missing", where=where)
    chain: list[str] = []
    name: object = edition
    while name is not None:
        if name not in known or not isinstance(known[name], dict):
            raise InputError(f"wanted an edition of the rules, got {name!r}", hint="editions: " + ", ".join(known))
        if name in chain:
            raise InputError(f"wanted a base that does not lead back to {name!r}", where=where)
        chain.append(str(name))
        name = known[name].get("base")
    return tuple(reversed(chain))


def for_edition(table: Mapping[str, Any], chain: Sequence[str]) -> dict[str, Any]:
    """A section's table as it is in the last edition of the chain."""
    overlays = table.get(_OVERLAY, {})
    selected = _limited({name: value for name, value in table.items() if name != _OVERLAY}, chain)
    for edition in chain:
        selected = merged(selected, _limited(overlays.get(edition, {}), chain))
    return selected


def merged(under: Mapping[str, Any], over: Mapping[str, Any]) -> dict[str, Any]:
    """`over` laid over `under`: tables merge, anything else is replaced. Neither is changed."""
    result = dict(under)
    for name, value in over.items():
        there = result.get(name)
        result[name] = merged(there, value) if isinstance(there, dict) and isinstance(value, dict) else value
    return result


def _limited(table: Mapping[str, Any], chain: Sequence[str]) -> dict[str, Any]:
    """The table without the tables that other editions have, and without the lists that say so."""
    kept = {}
    for name, value in table.items():
        if not isinstance(value, dict):
            kept[name] = value
            continue
        limit = value.get(_LIMIT)
        if isinstance(limit, list):
            if not set(limit) & set(chain):
                continue
            value = {inner: entry for inner, entry in value.items() if inner != _LIMIT}
        kept[name] = _limited(value, chain)
    return kept
