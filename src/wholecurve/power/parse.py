"""Which of the two shapes a power file has, and the file read in that shape."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from wholecurve.power.flat import FLAT_KEYS, read_flat
from wholecurve.power.node_sets import read_node_sets
from wholecurve.power.problems import PowerRejected, Problem, reject_if_any
from wholecurve.power.sourced import PowerFile
from wholecurve.power.table import Reading, shown
from wholecurve.rules import PowerRules

_NODE_SETS: Final = "node_sets"
_FLAT: Final = "flat"
_OF_NODE_SETS: Final = ("node_sets", "scale_out", "declared_provisioned_power")


def parse_power(data: Mapping[str, Any], rules: PowerRules) -> PowerFile:
    """A `system_power.json` as parsed JSON, in either shape; `shape` of the result says which.

    Raises PowerRejected, an InputError that lists everything that is missing or wrong by itself. What only shows in the
    sums (a value that has no default, cooling that disagrees, derived figures that differ) `provisioned` rejects.
    """
    if not isinstance(data, Mapping):
        raise PowerRejected([Problem("", f"wanted a JSON object, got {shown(data)}")])
    shape = shape_of(data, rules)
    if shape not in rules.shapes_read:
        raise PowerRejected([Problem("", f"wanted the shape {' or '.join(rules.shapes_read)}, got {shape}")])
    reading = Reading(rules)
    file = read_flat(data, reading) if shape == _FLAT else read_node_sets(data, reading)
    reject_if_any(reading.problems)
    return file


def shape_of(data: Mapping[str, Any], rules: PowerRules) -> str:
    """`node_sets` or `flat`, by the keys that only one of them has; the edition's own where neither shows."""
    if any(key in data for key in _OF_NODE_SETS):
        return _NODE_SETS
    return _FLAT if any(key in data for key in FLAT_KEYS) else rules.shape
