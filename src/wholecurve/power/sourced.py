"""A power file as frozen data: both of its shapes, every value with where it comes from. Watts, exact."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Final

SOURCED_KEYS: Final = ("value_w", "value_kw", "value_pj", "source_type", "source")


@dataclass(frozen=True, slots=True)
class Sourced:
    """A value and its source. value: W, or pJ per bit. estimated: a default of the rules, or a proxy."""

    value: Fraction
    source_type: str
    source: str
    estimated: bool = False


@dataclass(frozen=True, slots=True)
class Units:
    """Processors or accelerators of one node. rated_w, evidence: where they run below their rated power."""

    model: str
    per_node: int
    each: Sourced | None
    rated_w: Fraction | None = None
    evidence: str = ""


@dataclass(frozen=True, slots=True)
class ScaleUp:
    """The fabric inside one node. tbyte_per_s: its aggregate bandwidth, counted once. each: of a switch, W."""

    method: str
    switches: int | None = None
    each: Sourced | None = None
    tbyte_per_s: Fraction | None = None
    per_bit: Sourced | None = None


@dataclass(frozen=True, slots=True)
class Components:
    """Parts of one node. combined: processors and accelerators together, in one published value."""

    cpu: Units | None
    accelerator: Units | None
    combined: Sourced | None
    scale_up: ScaleUp | None


@dataclass(frozen=True, slots=True)
class NodeSet:
    """Identical nodes. place: where in the file. published: of one node, or of a whole rack of `rack_nodes` nodes."""

    place: str
    id: int
    ensemble_id: int
    nodes: int
    method: str
    published: Sourced | None = None
    rack_nodes: int | None = None
    components: Components | None = None


@dataclass(frozen=True, slots=True)
class Nics:
    """Scale-out cards. counted: their power is added. excluded: evidence that published power leaves them out."""

    per_node: int
    gbit_per_s: Fraction
    counted: bool
    each: Sourced | None = None
    excluded: str = ""


@dataclass(frozen=True, slots=True)
class Switch:
    """Scale-out switches of one model; wall power each."""

    place: str
    model: str
    count: int
    tbit_per_s: Fraction
    each: Sourced | None = None


@dataclass(frozen=True, slots=True)
class ScaleOut:
    """The fabric between nodes."""

    cabling: str
    required_tbit_per_s: Fraction
    nics: Nics
    switches: tuple[Switch, ...]


@dataclass(frozen=True, slots=True)
class FlatGroup:
    """One group of the flat shape: how many, W of each, and where that comes from. proxy: without a source."""

    name: str
    label: str
    count: int
    each_w: Fraction
    source: str
    proxy: bool = False


@dataclass(frozen=True, slots=True)
class Flat:
    """The flat shape of the earlier file. rack: W of a whole rack, its nodes, the nodes submitted."""

    total: Sourced | None = None
    rack: tuple[Sourced, int, int] | None = None
    groups: tuple[FlatGroup, ...] = ()
    overhead: Fraction | None = None
    proxies: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class PowerFile:
    """A `system_power.json` that was read. shape: `node_sets` or `flat`, whichever it is in.

    stated: the derived figures that the file itself holds, to be compared. notes: what a reader of it should know.
    """

    shape: str
    system: str = ""
    cooling: str = ""
    node_sets: tuple[NodeSet, ...] = ()
    scale_out: ScaleOut | None = None
    declared: Sourced | None = None
    flat: Flat | None = None
    stated: Mapping[str, Any] | None = None
    stated_kw: Fraction | None = None
    stated_estimated: bool | None = None
    notes: tuple[str, ...] = ()
