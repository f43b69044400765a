"""What can be said of a scorer in a configuration: its metrics and its options. `accuracy/` holds the functions.

Kept apart from them so that a plan can be checked without loading what some scorers need.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any

from wholecurve.model.errors import InputError


@dataclass(frozen=True, slots=True)
class ScorerRules:
    """One scorer: the metrics that it gives, on the scale 0 to 100, and its options.

    `options`: name -> values that it may have, the first one is the default.
    """

    metrics: tuple[str, ...]
    options: Mapping[str, tuple[str, ...]]
    meaning: str


SCORERS: Mapping[str, ScorerRules] = {
    "exact_match": ScorerRules(
        metrics=("exact_match",),
        options={"extract": ("text", "number", "choice")},
        meaning="share of answers that are the expected one",
    ),
}


def scorer_named(name: str) -> ScorerRules:
    """A scorer by name. Raises InputError with the names there are."""
    found = SCORERS.get(name)
    if found is None:
        raise InputError(
            f"accuracy.scorer: wanted one of {', '.join(SCORERS)}, got {name!r}", hint=_near(name, SCORERS)
        )
    return found


def scorer_options(name: str, given: Mapping[str, Any]) -> dict[str, str]:
    """Every option of a scorer with the value given or its default. Raises InputError for what it does not know."""
    known = scorer_named(name).options
    for key, value in given.items():
        if key not in known:
            raise InputError(
                f"accuracy.options.{key}: wanted an option of {name} ({', '.join(known) or 'it has none'})",
                hint=_near(key, known),
            )
        if value not in known[key]:
            raise InputError(f"accuracy.options.{key}: wanted one of {', '.join(known[key])}, got {value!r}")
    return {key: given.get(key, values[0]) for key, values in known.items()}


def bounds_of(name: str, given: Mapping[str, Any]) -> dict[str, float]:
    """Bounds by metric as they were given. Raises InputError for another metric, or a bound outside 0 to 100."""
    metrics = scorer_named(name).metrics
    for key, value in given.items():
        if key not in metrics:
            raise InputError(
                f"accuracy.least.{key}: wanted a metric of {name} ({', '.join(metrics)})", hint=_near(key, metrics)
            )
        number = isinstance(value, int | float) and not isinstance(value, bool)
        if not number or not 0 <= value <= 100:  # NaN is neither
            raise InputError(f"accuracy.least.{key}: wanted a number from 0 to 100, got {value!r}")
    return {key: float(value) for key, value in given.items()}


def _near(word: str, known: Mapping[str, Any] | tuple[str, ...]) -> str:
    near = get_close_matches(word, list(known), n=1, cutoff=0.6)
    return f"did you mean `{near[0]}`?" if near else ""
