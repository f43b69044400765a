"""The power of one point: nodes that hold weights and can serve. Source: rules 4.5.3.

replica = TP x PP x EP accelerators         replicas that fit = floor(accelerators / replica)
engaged nodes = ceil(engaged accelerators / accelerators of a node)
power = sum of P_s x Y_s / N_s, and the switches by their share of all nodes
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import Any, Final

from wholecurve.model.errors import InputError
from wholecurve.power.described import whole
from wholecurve.power.engagement import Parallelism, check_engagement, engagement
from wholecurve.power.exact import exact, rounded
from wholecurve.power.provision import Provisioned
from wholecurve.power.table import shown
from wholecurve.rules import PowerRules

_CONSTANT: Final = "constant"

NodesUsed = Mapping[int, int] | Iterable[Mapping[str, Any]]


@dataclass(frozen=True, slots=True)
class PointPower:
    """kw: rounded. exact_kw: what throughput is divided by. nodes_used: by node type; empty where nodes are not known.

    basis: why this power and no other. notes: what a reader should know.
    """

    kw: float
    exact_kw: Fraction
    nodes_used: Mapping[int, int]
    basis: str
    notes: tuple[str, ...] = ()


def point_power(
    provisioned: Provisioned,
    nodes_used: NodesUsed | None = None,
    *,
    parallelism: Parallelism | None = None,
    shortfall: Mapping[str, Any] | None = None,
) -> PointPower:
    """The power of a point.

    nodes_used: as in `point.yaml` (a list of `system_node_ensemble_id` and `nodes`) or node type to nodes; None: all
    nodes, also where fewer would do; then a note says so. parallelism: checked against nodes and accelerators.
    shortfall: `dp_shortfall` of the point. Raises InputError for what the rules reject.
    """
    notes: list[str] = []
    if provisioned.rules.denominator == _CONSTANT:
        return _all(provisioned, "constant for the whole curve in this edition", notes)
    if not provisioned.sets:
        if nodes_used is not None:
            notes.append("nodes_used is not used: this power file does not say how many nodes there are")
        return _all(provisioned, "all that is provisioned: the file names no nodes", notes)
    used = None if nodes_used is None else _checked_nodes(provisioned, nodes_used)
    if parallelism is not None:
        notes += check_engagement(provisioned, parallelism, used, shortfall)
    elif used is not None:
        notes.append("no parallelism declared: whether these nodes hold the replicas was not checked")
    if used is None:
        _say_fewer(provisioned, parallelism, notes)
        return _all(provisioned, "all nodes: nodes_used is not declared", notes)
    return _scaled(provisioned, used, notes)


def tps_per_kw(
    tps: float | Fraction | Decimal, kw: PointPower | Provisioned | float | Fraction, rules: PowerRules
) -> float | None:
    """Throughput per kW, rounded once, from exact values where there are (choice C27). None without power."""
    divisor = kw.exact_kw if isinstance(kw, PointPower | Provisioned) else exact(kw)
    if divisor <= 0:
        return None
    return rounded(exact(tps) / divisor, rules.tps_per_kw_decimals)


def _all(provisioned: Provisioned, basis: str, notes: list[str]) -> PointPower:
    nodes = {each.ensemble_id: 0 for each in provisioned.sets}
    for each in provisioned.sets:
        nodes[each.ensemble_id] += each.nodes
    return PointPower(provisioned.kw, provisioned.exact_kw, nodes, basis, tuple(notes))


def _say_fewer(provisioned: Provisioned, parallelism: Parallelism | None, notes: list[str]) -> None:
    """That a declaration would charge fewer nodes."""
    if parallelism is None:
        return
    engaged = engagement(provisioned, parallelism)
    if engaged.nodes is not None and sum(engaged.nodes.values()) < (provisioned.nodes or 0):
        needed = sum(engaged.nodes.values())
        notes.append(f"{needed} of {provisioned.nodes} nodes hold all replicas: nodes_used would charge only these")


def _checked_nodes(provisioned: Provisioned, nodes_used: NodesUsed) -> dict[int, int]:
    """Node type to nodes, each named once, each with one set, 1 to all of its nodes. InputError otherwise."""
    used: dict[int, int] = {}
    for number, nodes in _pairs(nodes_used):
        sets = [each for each in provisioned.sets if each.ensemble_id == number]
        if len(sets) != 1:
            known = ", ".join(str(each.ensemble_id) for each in provisioned.sets)
            why = f"{len(sets)} node sets are of that type" if sets else f"node sets are of type {known}"
            raise InputError(f"nodes_used: wanted a node type with one node set, got {number}; {why}")
        if number in used:
            raise InputError(f"nodes_used: wanted each node type once, got {number} twice")
        if not 1 <= nodes <= sets[0].nodes:
            raise InputError(f"nodes_used: wanted 1 to {sets[0].nodes} nodes of type {number}, got {nodes}")
        used[number] = nodes
    if not used:
        raise InputError("nodes_used: wanted at least one node type, got none", hint="leave it out for all nodes")
    return used


def _pairs(nodes_used: NodesUsed) -> list[tuple[int, int]]:
    if isinstance(nodes_used, Mapping):
        raw: list[tuple[Any, Any]] = list(nodes_used.items())
    elif isinstance(nodes_used, str) or not isinstance(nodes_used, Iterable):
        raise InputError(f"nodes_used: wanted a list, got {shown(nodes_used)}")
    else:
        raw = []
        for entry in nodes_used:
            if not isinstance(entry, Mapping):
                raise InputError(f"nodes_used: wanted objects in the list, got {shown(entry)}")
            raw.append((entry.get("system_node_ensemble_id"), entry.get("nodes")))
    pairs = []
    for number, nodes in raw:
        whole_number, whole_nodes = whole(number), whole(nodes)
        if whole_number is None or whole_nodes is None:
            wanted = "`system_node_ensemble_id` and `nodes` as whole numbers"
            raise InputError(f"nodes_used: wanted {wanted}, got {shown(number)} and {shown(nodes)}")
        pairs.append((whole_number, whole_nodes))
    return pairs


def _scaled(provisioned: Provisioned, used: Mapping[int, int], notes: list[str]) -> PointPower:
    """Each set by its share of nodes, switches by the share of all nodes. A node type that is not named counts in full:
    what is not declared is not taken off. A declared total has no sets: it is scaled by the largest share of any.
    """
    engaged = [(each, used.get(each.ensemble_id, each.nodes)) for each in provisioned.sets]
    shares = [Fraction(nodes, each.nodes) for each, nodes in engaged]
    unnamed = sorted({each.ensemble_id for each in provisioned.sets} - set(used))
    if unnamed:
        notes.append(f"node types that nodes_used does not name count in full: {', '.join(map(str, unnamed))}")
    if provisioned.declared:
        if len(shares) > 1:
            notes.append("a declared total is scaled by the largest share of any node type")
        watts = provisioned.watts * max(shares)
    else:
        parts = zip(engaged, shares, strict=True)
        watts = sum((each.watts * share for (each, _), share in parts), Fraction(0))
        watts += provisioned.switches_w * Fraction(sum(nodes for _, nodes in engaged), provisioned.nodes or 1)
    kw = watts / 1000
    counts: dict[int, int] = {}
    for each, nodes in engaged:
        counts[each.ensemble_id] = counts.get(each.ensemble_id, 0) + nodes
    words = f"{sum(counts.values())} of {provisioned.nodes} nodes"
    return PointPower(rounded(kw, provisioned.rules.kw_decimals), kw, counts, words, tuple(notes))
