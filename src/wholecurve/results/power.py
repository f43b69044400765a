"""Provisioned power of the points of a campaign, from its system_power.json and the power model of its rules."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from wholecurve.model.errors import InputError
from wholecurve.model.point import Power
from wholecurve.results.files import is_file, read_object
from wholecurve.results.run_folder import RunFiles
from wholecurve.results.values import mapping, text

POWER_FILE: Final = "system_power.json"

PowerOfRun = Callable[[RunFiles], tuple[Power, tuple[str, ...]]]
"""A run's power, and what a reader should know of it."""


@dataclass(frozen=True, slots=True)
class PowerOfCampaign:
    """data: the file, None if it is not there or damaged. wrong: sentences on what is wrong with it. of: of a run."""

    data: Mapping[str, Any] | None
    wrong: tuple[str, ...]
    of: PowerOfRun


def power_of_campaign(folder: Path, plan: Mapping[str, Any], system: Mapping[str, Any] | None) -> PowerOfCampaign:
    """The power of a campaign's points. system: its system_desc.json, which has cooling, cores and parallelism.

    A file that the power model rejects gives no power, with its faults as the reason.
    """
    if not is_file(folder / POWER_FILE):
        return PowerOfCampaign(None, (), _none(f"no {POWER_FILE}"))
    data: Mapping[str, Any] | None = None
    try:
        data = read_object(folder / POWER_FILE)
        return PowerOfCampaign(data, (), _model(data, mapping(plan, "rules"), system))
    except InputError as error:
        reason = f"{POWER_FILE}: {_sentence(error)}"
        return PowerOfCampaign(data, (reason,), _none(reason))


def _none(reason: str) -> PowerOfRun:
    return lambda _: (Power(None, reason=reason), ())


def _sentence(error: InputError) -> str:
    """All that the error says, in one line."""
    return text(" ".join(str(error).split())) or "it cannot be used"


def _model(data: Mapping[str, Any], stated: Mapping[str, Any], system: Mapping[str, Any] | None) -> PowerOfRun:
    """The power model of the campaign's rules, over this file. Raises InputError for rules or a file it refuses.

    kW of a point are exact: throughput is divided by what they were before rounding (choice C27).
    """
    from wholecurve.power import parallelism_of, parse_power, point_power, provisioned
    from wholecurve.rules.load import DEFAULT_EDITION, DEFAULT_VERSION, load_rules

    rules = load_rules(text(stated.get("version")) or DEFAULT_VERSION, text(stated.get("edition")) or DEFAULT_EDITION)
    whole = provisioned(parse_power(data, rules.power), rules.power, description=system)
    parallelism = parallelism_of(system) if system else None

    def of(run: RunFiles) -> tuple[Power, tuple[str, ...]]:
        nodes_used, shortfall = run.point.get("nodes_used"), run.point.get("dp_shortfall")
        try:
            found = point_power(
                whole,
                nodes_used,
                parallelism=parallelism,
                shortfall=shortfall if isinstance(shortfall, Mapping) else None,
            )
        except InputError as error:
            return Power(None, reason=_sentence(error)), ()
        kw = float(found.exact_kw)
        if kw <= 0:
            return Power(None, reason=f"{POWER_FILE} adds up to no power"), ()
        power = Power(kw, basis=f"{whole.basis}; {found.basis}", estimated=whole.estimated)
        return power, tuple(f"power: {note}" for note in (*whole.notes, *found.notes))

    return of
