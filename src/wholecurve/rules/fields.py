"""Fields of the description files, as the rules list them: what must be declared, where, and what it means."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum


class Need(StrEnum):
    """Whether a field must be there. `free`: may be empty. `when`: under the condition that the row states."""

    REQUIRED = "required"
    WHEN = "when"
    FREE = "free"
    OPTIONAL = "optional"


class Level(StrEnum):
    """Where in `system_desc.json` a field stands: at the top, per node type, or per accelerator of a node type."""

    TOP = "top"
    NODE = "node"
    ACCELERATOR = "accelerator"


@dataclass(frozen=True, slots=True)
class PointField:
    """One field of `point.yaml`; dots in the id lead into mappings."""

    id: str
    type: str
    need: Need
    text: str
    condition: str = ""


@dataclass(frozen=True, slots=True)
class SystemField:
    """One field of `system_desc.json`."""

    id: str
    level: Level
    type: str
    need: Need
    text: str
    condition: str = ""


@dataclass(frozen=True, slots=True)
class FieldRules:
    """All fields. `shared_by_curve_except`: what may differ between the descriptions of one curve."""

    system: Mapping[str, SystemField]
    point: Mapping[str, PointField]
    short_name_longest: int
    shared_by_curve_except: tuple[str, ...]
    names_choice: str
    disclosure_choice: str

    def required_system(self) -> tuple[SystemField, ...]:
        """Fields of `system_desc.json` that must be there under all conditions, in the order of the rules."""
        return tuple(field for field in self.system.values() if field.need is Need.REQUIRED)

    def required_point(self) -> tuple[PointField, ...]:
        """Fields of `point.yaml` that must be there under all conditions, in the order of the rules."""
        return tuple(field for field in self.point.values() if field.need is Need.REQUIRED)
