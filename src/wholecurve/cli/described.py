"""What two systems' descriptions say differently: the other half of a comparison of two software versions."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from wholecurve.model.errors import InputError
from wholecurve.results import description_beside

MOST = 200
MOST_SHOWN = 60


@dataclass(frozen=True, slots=True)
class Change:
    """A field of system_desc.json, lists counted from 1, as both sides say it. None: not said."""

    field: str
    before: str | None
    after: str | None

    def sentence(self) -> str:
        """`serving_framework: vLLM 0.10.0, then vLLM 0.11.0`."""
        return f"{self.field}: {_brief(self.before)}, then {_brief(self.after)}"


def changes(before: str, after: str) -> list[Change]:
    """Every field that differs, in the order of the first description; none where a side has no description."""
    sides = [_described(path) for path in (before, after)]
    if None in sides:
        return []
    one, other = (dict(_fields(side or {}, "", MOST)) for side in sides)
    names = list(dict.fromkeys([*one, *other]))
    return [Change(name, one.get(name), other.get(name)) for name in names if one.get(name) != other.get(name)]


def undescribed(before: str, after: str) -> list[str]:
    """Why no change is named, in a sentence."""
    missing = [name for name, path in (("first", before), ("second", after)) if _described(path) is None]
    if not missing:
        return ["Both descriptions say the same."]
    sides = "neither side has" if len(missing) == 2 else f"the {missing[0]} has no"
    return [f"{sides} system_desc.json, so what changed in hardware and software is not said".capitalize()]


def _described(path: str) -> Mapping[str, Any] | None:
    """A description that cannot be read is none here; `report` and `describe` say what is wrong with it."""
    try:
        return description_beside(Path(path))
    except InputError:
        return None


def _fields(value: object, place: str, depth: int) -> Iterator[tuple[str, str]]:
    if isinstance(value, Mapping) and depth:
        for key, inner in list(value.items())[:MOST]:
            yield from _fields(inner, f"{place}.{key}" if place else str(key), depth - 1)
    elif isinstance(value, list) and depth:
        for number, inner in enumerate(value[:MOST], start=1):
            yield from _fields(inner, f"{place}[{number}]", depth - 1)
    elif value is not None:
        yield place, str(value)


def _brief(text: str | None) -> str:
    if text is None:
        return "not said"
    return text if len(text) <= MOST_SHOWN else text[: MOST_SHOWN - 1] + "…"
