"""Constants of the power model: default values, overheads, and what E1 has instead."""

from __future__ import annotations

from fractions import Fraction

import pytest

from wholecurve.rules import PowerDefaults, link_w
from wholecurve.rules.load import load_rules

POWER = load_rules().power


def defaults() -> PowerDefaults:
    assert POWER.defaults is not None
    return POWER.defaults


@pytest.mark.parametrize(
    ("architecture", "cores", "watts"),
    [("x86", 1, 350), ("x86", 64, 350), ("x86", 65, 500), ("x86", 192, 500), ("arm", 128, 300),
     ("arm", 129, None), ("riscv", 8, None)],
)  # fmt: skip
def test_processors(architecture: str, cores: int, watts: float | None) -> None:
    found = defaults().cpu_default(architecture, cores)
    assert (found.watts if found else None) == watts
    assert found is None or found.source == "D.2"


@pytest.mark.parametrize(
    ("name", "watts"),
    [
        ("NVIDIA GB300 NVL72", 1400),  # not a B300
        ("NVIDIA B300-SXM", 1100),
        ("GB-200", 1200),
        ("nvidia b200 180GB", 1000),
        ("AMD Instinct MI455X", 2500),
        ("MI355X", 1400),
        ("MI350X", 1000),
        ("TPU v7", 1000),
        ("Trainium Tn3", 700),
        ("NVIDIA H100 80GB", None),
        ("NVIDIA H200", None),
    ],
)
def test_accelerators(name: str, watts: float | None) -> None:
    found = defaults().accelerator_default(name)
    assert (found.watts if found else None) == watts


@pytest.mark.parametrize(
    ("model", "passive", "optical"),
    [
        ("SN4700", 630, None),
        ("SN5400", 670, None),
        ("SN5610", 900, 2080),
        ("SN6810-LD", 1960, 1960),
        ("SN0000", None, None),
    ],
)
def test_switches(model: str, passive: float | None, optical: float | None) -> None:
    assert defaults().switch_w(model, "passive") == passive
    assert defaults().switch_w(model, "active_optical") == optical
    assert defaults().switch_w(model, "copper") is None


def test_worked_examples_of_links() -> None:
    assert defaults().ethernet_fabric_w(5.4) == pytest.approx(1750)  # C.7
    assert link_w(14.4, defaults().nvlink_pj_per_bit) == pytest.approx(576)  # C.8
    assert link_w(130, defaults().nvlink_pj_per_bit) == pytest.approx(5200)  # C.9
    assert defaults().nic_w == 75


@pytest.mark.parametrize(
    ("text", "overhead", "assumed"),
    [
        ("direct liquid", Fraction(3, 10), False),
        ("warm Water loop", Fraction(3, 10), False),
        ("immersion", Fraction(3, 10), False),
        ("air only", Fraction(1, 2), False),
        ("mixed: liquid and air", Fraction(1, 2), True),  # C30
        ("passive only", Fraction(1, 2), True),  # C29
    ],
)
def test_cooling(text: str, overhead: Fraction, assumed: bool) -> None:
    cooling = POWER.cooling_named(text)
    assert cooling is not None
    assert (cooling.overhead, cooling.assumed) == (overhead, assumed)
    assert (cooling.choice is not None) == assumed


def test_unknown_cooling_has_no_overhead() -> None:
    assert POWER.cooling_named("geothermal") is None


def test_editions_differ_in_model_denominator_and_defaults() -> None:
    e1 = load_rules(edition="E1").power
    assert e1.major == ("cpu", "accelerator", "scale_up")
    assert POWER.major == (*e1.major, "counted_scale_out_nics")
    assert (e1.scale_out_switches, POWER.scale_out_switches) == ("in_overhead", "outside_overhead")
    assert (e1.denominator, POWER.denominator) == ("constant", "engaged_nodes")
    assert (e1.shape, POWER.shape) == ("flat", "node_sets")
    assert e1.defaults is None
    assert e1.proxies
    assert not POWER.proxies


def test_only_standardized_must_report_power() -> None:
    assert POWER.scope == {"Standardized": "mandatory", "Serviced": "deferred", "RDI": "optional"}
