"""The power model's constants, and the values that stand in where no public source gives one. Watts unless named."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction

_BITS_PER_BYTE = 8


@dataclass(frozen=True, slots=True)
class Cooling:
    """One kind of cooling: words that name it in a description, and the overhead on major components.

    assumed: the fraction is our reading (see choice), to be said as a warning.
    """

    id: str
    words: tuple[str, ...]
    overhead: Fraction
    assumed: bool = False
    choice: str | None = None


@dataclass(frozen=True, slots=True)
class CpuDefault:
    """Default power of one processor of an architecture, for `cores_above` < cores <= `cores_to`."""

    id: str
    architecture: str
    watts: float
    source: str
    cores_above: int = 0
    cores_to: int | None = None


@dataclass(frozen=True, slots=True)
class AcceleratorDefault:
    """Default power of one accelerator; found in a model's name when both are stripped of punctuation."""

    id: str
    match: str
    watts: float
    source: str


@dataclass(frozen=True, slots=True)
class SwitchDefault:
    """Default wall power of a scale-out switch by cabling; None where the maker publishes none."""

    id: str
    bandwidth_tbit_per_s: float
    source: str
    passive_w: float | None = None
    active_optical_w: float | None = None


@dataclass(frozen=True, slots=True)
class PowerDefaults:
    """Values that may be used without a source of one's own; using one makes the figure an estimate."""

    nvlink_pj_per_bit: float
    ethernet_w: float
    ethernet_tbyte_per_s: float
    link_source: str
    nic_w: float
    nic_source: str
    cpu: Mapping[str, CpuDefault]
    accelerator: Mapping[str, AcceleratorDefault]
    switch: Mapping[str, SwitchDefault]

    def cpu_default(self, architecture: str, cores: int) -> CpuDefault | None:
        """The default of an architecture (`x86`, `arm`) with that many cores; None where there is none."""
        for row in self.cpu.values():
            in_range = row.cores_above < cores and (row.cores_to is None or cores <= row.cores_to)
            if row.architecture == architecture and in_range:
                return row
        return None

    def accelerator_default(self, name: str) -> AcceleratorDefault | None:
        """The default for a model name as written anywhere. The longest match wins: GB300 is not a B300."""
        plain = re.sub(r"[^a-z0-9]", "", name.lower())
        found = [row for row in self.accelerator.values() if row.match in plain]
        return max(found, key=lambda row: len(row.match), default=None)

    def switch_w(self, model: str, cabling: str) -> float | None:
        """Wall power of a switch with `passive` or `active_optical` cabling; None where no figure is published."""
        row = self.switch.get(model)
        if row is None:
            return None
        return {"passive": row.passive_w, "active_optical": row.active_optical_w}.get(cabling)

    def ethernet_fabric_w(self, tbyte_per_s: float) -> float:
        """Power of an Ethernet-type scale-up fabric, in proportion to its bandwidth per direction in TB/s."""
        return self.ethernet_w * tbyte_per_s / self.ethernet_tbyte_per_s


@dataclass(frozen=True, slots=True)
class PowerRules:
    """The power model of one edition.

    major: components that the overhead is put on. scale_out_switches: `outside_overhead` or `in_overhead`.
    denominator: `engaged_nodes` (per point) or `constant` (per curve). Decimals are applied once, at the end.
    """

    scope: Mapping[str, str]
    scope_choice: str
    tier: int
    major: tuple[str, ...]
    scale_out_switches: str
    denominator: str
    cooling: Mapping[str, Cooling]
    kw_decimals: int
    tps_per_kw_decimals: int
    kw_choice: str
    range_bound: str
    shape: str
    shapes_read: tuple[str, ...]
    methods: tuple[str, ...]
    scale_up_methods: tuple[str, ...]
    cabling: tuple[str, ...]
    source_types: tuple[str, ...]
    estimated_label: str
    proxies: tuple[str, ...]
    rack_choice: str
    engagement_choice: str
    defaults: PowerDefaults | None = None
    shortfall_fields: tuple[str, ...] = ()

    def cooling_named(self, text: str) -> Cooling | None:
        """The cooling that a description names, first row first; None when no word of any row occurs."""
        plain = text.lower()
        return next((row for row in self.cooling.values() if any(word in plain for word in row.words)), None)


def link_w(tbyte_per_s: float, pj_per_bit: float) -> float:
    """Power of a scale-up fabric: aggregate bandwidth in TB/s x 8 bit x pJ/bit. Source: rules 4.5.2."""
    return tbyte_per_s * _BITS_PER_BYTE * pj_per_bit
