"""How many replicas fit, how many nodes they take, and whether what is declared agrees. Source: rules 4.5.3."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from wholecurve.model.errors import InputError
from wholecurve.model.plain_text import printable
from wholecurve.power.described import whole
from wholecurve.power.provision import Provisioned
from wholecurve.power.table import shown

_FIELDS: Final = {
    "tensor": "tensor_parallel",
    "pipeline": "pipeline_parallel",
    "expert": "expert_parallel",
    "data": "data_parallel",
}


@dataclass(frozen=True, slots=True)
class Parallelism:
    """Degrees of one replica, 1 for none, and how many replicas run. data None: not declared.

    Raises InputError for a degree below 1.
    """

    tensor: int = 1
    pipeline: int = 1
    expert: int = 1
    data: int | None = None

    def __post_init__(self) -> None:
        for name, field in _FIELDS.items():
            value = getattr(self, name)
            if value is not None and value < 1:
                raise InputError(f"{field}: wanted at least 1 (1 for none), got {value}")

    @property
    def replica(self) -> int:
        """Accelerators of one replica, by the formula also where degrees share accelerators (choice C16)."""
        return self.tensor * self.pipeline * self.expert


def parallelism_of(description: Mapping[str, Any]) -> Parallelism | None:
    """What a system description declares; None if nothing. InputError for what is no whole number from 1."""
    found: dict[str, int] = {}
    for name, field in _FIELDS.items():
        value = description.get(field)
        if value is None:
            continue
        degree = whole(value)
        if degree is None:
            raise InputError(f"{field}: wanted a whole number of at least 1, got {shown(value)}")
        found[name] = degree
    return Parallelism(**found) if found else None


@dataclass(frozen=True, slots=True)
class Engagement:
    """What a parallelism engages at most.

    fits: replicas that fit; 0 where one alone is larger than the system. nodes: by node type; None with the reason
    where nodes of several types, or accelerators that are not known, leave it open.
    """

    replica: int
    fits: int
    accelerators: int
    nodes: Mapping[int, int] | None
    reason: str = ""


def engagement(provisioned: Provisioned, parallelism: Parallelism) -> Engagement:
    """Replicas that fit into all provisioned accelerators, and the whole nodes that they take."""
    replica = parallelism.replica
    total = _accelerators(provisioned)
    if total is None:
        return Engagement(replica, 0, 0, None, "accelerators of a node are not known")
    fits = total // replica
    engaged = fits * replica
    if fits == 0:
        return Engagement(replica, 0, 0, None, f"one replica of {replica} accelerators is more than all {total}")
    if len(provisioned.sets) != 1:
        return Engagement(replica, fits, engaged, None, "several node sets: only a declaration can say which are used")
    (only,) = provisioned.sets
    assert only.accelerators
    return Engagement(replica, fits, engaged, {only.ensemble_id: -(-engaged // only.accelerators)})


def check_engagement(
    provisioned: Provisioned,
    parallelism: Parallelism,
    used: Mapping[int, int] | None,
    shortfall: Mapping[str, Any] | None,
) -> list[str]:
    """Notes. InputError for too few replicas without a reason, for more than fit, and for too few nodes."""
    total = _accelerators(provisioned)
    if total is None:
        return ["accelerators of a node are not known: replicas and nodes were not checked"]
    fits = total // parallelism.replica
    running = fits if parallelism.data is None else parallelism.data
    degrees = f"TP x PP x EP = {parallelism.replica} accelerators a replica, {total} provisioned"
    if running * parallelism.replica > total:
        return [
            f"{running} replicas take more accelerators than there are ({degrees}); the rules do not say how degrees "
            f"that share accelerators count (choice {provisioned.rules.engagement_choice})"
        ]
    notes = [] if parallelism.data is not None else ["data_parallel is not declared; as many replicas as fit assumed"]
    notes += _check_shortfall(running, fits, degrees, shortfall, provisioned.rules.shortfall_fields)
    if used is not None:
        notes += _check_capacity(provisioned, used, running * parallelism.replica)
    return notes


def _check_shortfall(
    running: int, fits: int, degrees: str, shortfall: Mapping[str, Any] | None, fields: tuple[str, ...]
) -> list[str]:
    if running == fits:
        return ["dp_shortfall is declared, and all replicas that fit are run"] if shortfall else []
    hint = f"declare dp_shortfall with dp_actual {running}, dp_formula {fits} and the reason"
    if not shortfall:
        raise InputError(f"data_parallel: wanted the {fits} replicas that fit, got {running} ({degrees})", hint=hint)
    if not isinstance(shortfall, Mapping):
        raise InputError(f"dp_shortfall: wanted an object, got {shown(shortfall)}", hint=hint)
    for name, wanted in (("dp_actual", running), ("dp_formula", fits)):
        given = shortfall.get(name)
        if (given is not None or name in fields) and whole(given) != wanted:
            raise InputError(f"dp_shortfall.{name}: wanted {wanted}, got {shown(given)}", hint=hint)
    reason = shortfall.get("reason")
    if not isinstance(reason, str) or not reason.strip():
        raise InputError(f"dp_shortfall.reason: wanted why fewer replicas run, got {shown(reason)}", hint=hint)
    return [f"{running} of {fits} replicas run: {printable(reason.strip())[:200]}"]


def _check_capacity(provisioned: Provisioned, used: Mapping[int, int], needed: int) -> list[str]:
    """Whether the nodes used hold the accelerators of all replicas; a note if fewer nodes would."""
    rows = [(each, used.get(each.ensemble_id, each.nodes)) for each in provisioned.sets]
    held = sum(count * (each.accelerators or 0) for each, count in rows)
    if held < needed:
        nodes = sum(count for _, count in rows)
        raise InputError(
            f"nodes_used: wanted nodes with {needed} accelerators for all replicas, got {nodes} nodes with {held}",
            hint="count every node that holds weights and can serve",
        )
    spare = [each for each, count in rows if count > 1 and each.accelerators and held - each.accelerators >= needed]
    return ["fewer nodes would hold all replicas"] if spare else []


def _accelerators(provisioned: Provisioned) -> int | None:
    """All accelerators provisioned; None where a set does not say, or there are none."""
    counts = [None if each.accelerators is None else each.nodes * each.accelerators for each in provisioned.sets]
    return None if None in counts else sum(count for count in counts if count is not None) or None
