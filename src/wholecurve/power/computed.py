"""The derived figures of `system_power.json`: written, and compared with what a file holds."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Final

from wholecurve.power.exact import exact, rounded
from wholecurve.power.sourced import PowerFile
from wholecurve.power.table import Reading
from wholecurve.power.tally import Tally

if TYPE_CHECKING:
    from wholecurve.power.provision import Provisioned

WATT_TOLERANCE: Final = Fraction(1, 2)
WATT_DECIMALS: Final = 3
OVERHEAD: Final = "overhead_fraction"


def computed_figures(tally: Tally) -> dict[str, float]:
    """The `computed` object: watts, to a thousandth."""
    figures = {name: rounded(value, WATT_DECIMALS) for name, value in _exact_figures(tally).items()}
    return figures | {OVERHEAD: float(tally.overhead)}


def computed_block(provisioned: Provisioned) -> dict[str, Any]:
    """What the rules derive, as keys of the file: `computed`, `provisioned_power_kw`, `mlc_estimated_power`."""
    return {
        "computed": dict(provisioned.computed),
        "provisioned_power_kw": provisioned.kw,
        "mlc_estimated_power": provisioned.estimated,
    }


def compare_stated(file: PowerFile, tally: Tally, watts: Fraction, reading: Reading) -> None:
    """A problem for each figure that differs by over half a watt or half a unit of kW; the fraction must be equal."""
    if not tally.incomplete:
        _compare_computed(file.stated or {}, _exact_figures(tally), reading)
    decimals = reading.rules.kw_decimals
    kw = exact(rounded(watts / 1000, decimals))
    half = Fraction(1, 2 * 10**decimals)
    if file.stated_kw is not None and abs(file.stated_kw - kw) > half:
        reading.problem("provisioned_power_kw", f"wanted {float(kw):.{decimals}f}, got {float(file.stated_kw):g}")


def _compare_computed(stated: Mapping[str, Any], found: Mapping[str, Fraction], reading: Reading) -> None:
    for name, value in stated.items():
        tolerance = Fraction(0) if name == OVERHEAD else WATT_TOLERANCE
        if abs(value - found[name]) > tolerance:
            wanted = f"wanted {float(rounded(found[name], WATT_DECIMALS)):g}, got {float(value):g}"
            reading.problem(f"computed.{name}", wanted, "leave `computed` out, or write what `wholecurve` derives")


def _exact_figures(tally: Tally) -> dict[str, Fraction]:
    return {
        "major_components_w": tally.major_w,
        OVERHEAD: tally.overhead,
        "other_components_w": tally.other_w,
        "published_node_power_w": tally.published_w,
        "scale_out_switch_power_w": tally.switches_w,
        "total_system_power_w": tally.total_w,
    }
