"""The regions of concurrency as stretches of the axis: from the rules that the campaign's plan names."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from wholecurve.curve import Row, c_bounds
from wholecurve.model.errors import WholecurveError
from wholecurve.report.reading import at, clean, number
from wholecurve.rules import regions
from wholecurve.rules.load import load_rules


@dataclass(frozen=True, slots=True)
class Stretch:
    """One region: id, title, and its concurrencies, both included."""

    id: str
    title: str
    first: int
    last: int


def stretches_of(plan: Mapping[str, Any], rows: Sequence[Row], declared: int | None) -> tuple[Stretch, ...]:
    """The regions in order, empty ones left out; none when the plan names no rules we have, or its range has none."""
    version, edition = at(plan, "rules", "version"), at(plan, "rules", "edition")
    bounds = c_bounds(rows, declared)
    c_min = number(at(plan, "c_min")) or bounds["c_min"]
    c_max = number(at(plan, "c_max")) or bounds["c_max"]
    if not (isinstance(version, str) and isinstance(edition, str)) or c_min is None or c_max is None:
        return ()
    try:
        rules = load_rules(version, edition).regions
        cut = regions(int(c_max), int(c_min), rules)
    except WholecurveError:
        return ()
    titles = {name: row.title for name, row in rules.region.items()}
    return tuple(
        Stretch(part.id, clean(titles.get(part.id, part.id), 40), part.first, part.last)
        for part in cut
        if not part.empty
    )


def region_title(region: object, concurrency: int, stretches: Sequence[Stretch]) -> str:
    """The title of a region by its id, else of the one that the concurrency lies in; empty without any."""
    named = next((one.title for one in stretches if one.id == region), None)
    inside = next((one.title for one in stretches if one.first <= concurrency <= one.last), "")
    return named or (clean(region, 40) if isinstance(region, str) and region else inside)
