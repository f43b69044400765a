"""Values of the rules that stand in where a file gives none, and whether a value called a default is one."""

from __future__ import annotations

import re
from collections.abc import Iterable
from fractions import Fraction
from typing import Final

from wholecurve.power.exact import exact
from wholecurve.power.sourced import ScaleUp, Sourced, Switch, Units
from wholecurve.rules import PowerRules

ARCHITECTURES: Final = {
    "arm": re.compile(r"\b(?:arm|aarch64|grace|vera|neoverse|graviton\d*|ampere\w*|altra|axion|cobalt|kunpeng)\b"),
    "x86": re.compile(r"\b(?:x86|intel|amd|xeon|epyc|ryzen|core i\d)\b"),
}
_CORES: Final = re.compile(r"\b(\d{1,4})[- ]?cores?\b")
_DEFAULT: Final = "mlc_default"


def cpu_default(units: Units, cores: int | None, rules: PowerRules) -> Sourced | None:
    """Default of a processor by its architecture and cores (described, or in its name); None where there is none."""
    name = units.model.lower()
    architecture = next((word for word, pattern in ARCHITECTURES.items() if pattern.search(name)), None)
    stated = _CORES.search(name)
    number = cores if cores is not None else int(stated[1]) if stated else None
    if rules.defaults is None or architecture is None or number is None:
        return None
    row = rules.defaults.cpu_default(architecture, number)
    return None if row is None else _sourced(row.watts, row.source)


def accelerator_default(units: Units, rules: PowerRules) -> Sourced | None:
    """Default of an accelerator by its name; None where there is none."""
    row = None if rules.defaults is None else rules.defaults.accelerator_default(units.model)
    return None if row is None else _sourced(row.watts, row.source)


def nic_default(rules: PowerRules) -> Sourced | None:
    """Default of a scale-out network card."""
    return None if rules.defaults is None else _sourced(rules.defaults.nic_w, rules.defaults.nic_source)


def switch_default(switch: Switch, cabling: str, rules: PowerRules) -> Sourced | None:
    """Default of a switch, found by its id in the model's name, with this cabling; None where none is published."""
    if rules.defaults is None:
        return None
    plain = _plain(switch.model)
    rows = [row for row in rules.defaults.switch.values() if _plain(row.id) in plain]
    row = max(rows, key=lambda each: len(each.id), default=None)
    watts = None if row is None else rules.defaults.switch_w(row.id, cabling)
    return None if row is None or watts is None else _sourced(watts, row.source)


def per_bit_default(_fabric: ScaleUp, rules: PowerRules) -> Sourced | None:
    """Default energy per bit of an NVLink-type fabric. Never filled in: the file does not say what type a fabric is."""
    return None if rules.defaults is None else _sourced(rules.defaults.nvlink_pj_per_bit, rules.defaults.link_source)


def fabric_switch_default(fabric: ScaleUp, rules: PowerRules) -> Sourced | None:
    """Default of an Ethernet-type fabric by its bandwidth, as power of each of its switches."""
    if rules.defaults is None or fabric.tbyte_per_s is None or not fabric.switches:
        return None
    watts = rules.defaults.ethernet_fabric_w(float(fabric.tbyte_per_s)) / fabric.switches
    return _sourced(watts, rules.defaults.link_source)


def cpu_defaults(rules: PowerRules) -> Iterable[float]:
    """All default powers of processors."""
    return () if rules.defaults is None else (row.watts for row in rules.defaults.cpu.values())


def differs(stated: Sourced, default: Sourced) -> bool:
    """Whether a value that is called a default is another one, or of another table. Half a unit is rounding."""
    return stated.source != default.source or abs(stated.value - default.value) > Fraction(1, 2)


def _sourced(value: float, source: str) -> Sourced:
    return Sourced(exact(value), _DEFAULT, source, estimated=True)


def _plain(name: str) -> str:
    return re.sub(r"[^a-z0-9]", "", name.lower())
