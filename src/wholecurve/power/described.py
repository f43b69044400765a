"""What a system description says that the power of a system depends on. Everything may be missing."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from wholecurve.model.plain_text import printable


@dataclass(frozen=True, slots=True)
class NodeType:
    """One node type of `system_desc.json`. None where it does not say."""

    ensemble_id: int
    nodes: int | None
    cores: int | None
    accelerators: int | None
    cooling: str


def node_types(description: Mapping[str, Any] | None) -> tuple[NodeType, ...]:
    """The node types of a description; values of another type are taken as not said, ids default to the place."""
    rows = (description or {}).get("node_types")
    found = []
    for place, row in enumerate(rows if isinstance(rows, list | tuple) else (), start=1):
        if isinstance(row, Mapping):
            number = whole(row.get("system_node_ensemble_id"))
            cooling = row.get("cooling")
            found.append(
                NodeType(
                    ensemble_id=place if number is None else number,
                    nodes=whole(row.get("number_of_nodes")),
                    cores=whole(row.get("host_processor_core_count")),
                    accelerators=_accelerators(row),
                    cooling=printable(cooling) if isinstance(cooling, str) else "",
                )
            )
    return tuple(found)


def cooling_words(given: str | Iterable[str] | None, types: Iterable[NodeType]) -> tuple[str, ...]:
    """The words for cooling: those given, else those of the node types."""
    if given is not None:
        given = (given,) if isinstance(given, str) else tuple(given)
    else:
        given = tuple(row.cooling for row in types)
    return tuple(word for word in given if word.strip())


def whole(value: Any) -> int | None:
    """A whole number of zero or more, also in quotes; None for anything else."""
    if isinstance(value, bool):
        return None
    if isinstance(value, str) and value.isascii() and value.isdecimal() and len(value) < 13:
        return int(value)
    return value if isinstance(value, int) and 0 <= value < 10**12 else None


def _accelerators(row: Mapping[str, Any]) -> int | None:
    entries = row.get("accelerator_info")
    rows = [each for each in entries if isinstance(each, Mapping)] if isinstance(entries, list) else [row]
    counts = [whole(each.get("accelerators_per_node")) for each in rows]
    if entries == []:
        return 0  # said to have none
    return None if not counts or None in counts else sum(count for count in counts if count is not None)
