"""The journal of a campaign in words: what was done when, what is missing, and in which state the campaign is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final

from wholecurve.model.units import NS_PER_S
from wholecurve.report.reading import at, clean, count, duration, items, mapping, number, redacted, texts

if TYPE_CHECKING:
    from wholecurve.report.campaign_points import PointView

RESUME: Final = "wholecurve sweep --resume FOLDER"
"""How a campaign goes on; its folder is where this report lies."""

EVENTS: Final[Mapping[str, str]] = {
    "created": "campaign begun",
    "planned": "plan decided",
    "resumed": "resumed",
    "probe": "endpoint asked what it is",
    "trial": "trial run",
    "c_max": "highest concurrency found",
    "point_started": "point started",
    "point_ended": "point ended",
    "set_aside": "set aside",
    "endpoint_gone": "endpoint gone",
    "endpoint_back": "endpoint back",
    "changed": "configuration changed",
    "finished": "campaign finished",
    "interrupted": "interrupted",
}
"""What the events of the journal are called; others keep their own name."""

_TURNING: Final = ("created", "resumed", "point_started", "finished", "interrupted")
"""Events after which a campaign is in another state."""

_NAMED: Final[frozenset[str]] = frozenset(
    {"at", "event", "label", "attempt", "repeat", "schema", "figures", "steady", "conditions", "facts", "plan_sha256"}
)
"""Keys that are not shown in a line of the journal: they stand elsewhere in the report."""
_LONGEST: Final = 60


@dataclass(frozen=True, slots=True)
class Happened:
    """One line of the journal. at: its ISO time. gap: time since the line before. said: the rest of it in words."""

    at: str
    gap: str
    event: str
    label: str
    said: str


@dataclass(frozen=True, slots=True)
class Missing:
    """A level of the plan that has no point that counts, and why."""

    label: str
    why: str


@dataclass(frozen=True, slots=True)
class Turn:
    """One measuring of a point: the start and the end of it in the journal, either of which may be missing.

    gap_ns: from the end of the measuring before to its start. times as ISO texts.
    """

    label: str
    attempt: int
    repeat: int
    started: str
    ended: str
    taken_ns: float | None
    gap_ns: float | None
    state: str
    extended_ns: float | None


def happened(entries: Sequence[Mapping[str, Any]]) -> tuple[Happened, ...]:
    """Every line of the journal in words."""
    found: list[Happened] = []
    before: float | None = None
    for entry in entries:
        now = seconds_of(at(entry, "at"))
        gap = "" if now is None or before is None else duration((now - before) * NS_PER_S)
        before = before if now is None else now
        event = str(at(entry, "event") or "")
        found.append(Happened(time_of(entry), gap, EVENTS.get(event, clean(event, 60)), _label(entry), _said(entry)))
    return tuple(found)


def turns(entries: Sequence[Mapping[str, Any]]) -> tuple[Turn, ...]:
    """Every measuring of a point, in the order in which it was started."""
    found: list[Turn] = []
    last_end: float | None = None
    open_at: dict[tuple[str, int, int], int] = {}
    for entry in entries:
        event, now = at(entry, "event"), seconds_of(at(entry, "at"))
        key = (_label(entry), _whole(entry, "attempt"), _whole(entry, "repeat"))
        if event == "point_started":
            gap = None if now is None or last_end is None else (now - last_end) * NS_PER_S
            open_at[key] = len(found)
            found.append(Turn(*key, time_of(entry), "", None, gap, "not ended", None))
        elif event == "point_ended":
            place = open_at.pop(key, None)
            begun = found[place] if place is not None else Turn(*key, "", "", None, None, "", None)
            start = seconds_of(begun.started)
            taken = None if now is None or start is None else (now - start) * NS_PER_S
            state = clean(at(entry, "state") or "", 40)
            state += "" if at(entry, "valid") is not False else ", not valid"
            ended = Turn(*key, begun.started, time_of(entry), taken, begun.gap_ns, state, number_of_extension(entry))
            last_end = last_end if now is None else now
            if place is None:
                found.append(ended)
            else:
                found[place] = ended
    return tuple(found)


def attempts_of(label: str, entries: Sequence[Mapping[str, Any]]) -> int | None:
    """How often a point was measured until it was kept, repeats left out; None when the journal does not tell."""
    own = [turn.attempt for turn in turns(entries) if turn.label == label and turn.repeat <= 1]
    return max(len(own), *own) if own else None


def missing_levels(
    plan: Mapping[str, Any], entries: Sequence[Mapping[str, Any]], points: Sequence[PointView]
) -> tuple[Missing, ...]:
    """Levels of the plan that have no point, or only one that counts for nothing."""
    barred = {point.label: point.barred for point in points}
    ends = {_label(entry): entry for entry in entries if at(entry, "event") == "point_ended"}
    found = []
    for level in items(plan, "levels"):
        label = clean(at(level, "label") or "", _LONGEST)
        if not label or barred.get(label) == "" or (label == "offline" and at(level, "offline") == "elected"):
            continue
        why = barred.get(label) or "; ".join(texts(ends.get(label), "invalid")) or "not measured"
        found.append(Missing(label, why))
    labels = {clean(at(level, "label") or "", _LONGEST) for level in items(plan, "levels")}
    return (*found, *_missing_repeats(entries, labels))


def _missing_repeats(entries: Sequence[Mapping[str, Any]], labels: set[str]) -> list[Missing]:
    """Repeats that the last session of the sweep ended without, such as `r4-2`; levels are told of already."""
    last = next((one for one in reversed(entries) if at(one, "event") in _TURNING), None)
    return [
        Missing(clean(name, _LONGEST), why)
        for key, why in (("invalid", "not valid"), ("missing", "not measured"))
        for name in texts(last, key)
        if clean(name, _LONGEST).rpartition("-")[0] in labels
    ]


def state_of(
    entries: Sequence[Mapping[str, Any]], missing: Sequence[Missing], *, measured: bool, planned: bool = True
) -> tuple[str, str]:
    """(state, sentence): complete, incomplete, interrupted, unfinished, or empty. measured: there is a point. planned:
    there are levels to measure."""
    last = next((str(at(entry, "event")) for entry in reversed(entries) if at(entry, "event") in _TURNING), "finished")
    goes_on = f"Go on with: {RESUME}"
    if last != "finished" and not planned and not measured:
        search = "The search for C_max has not come to its end, so no levels are chosen yet"
        return ("interrupted" if last == "interrupted" else "unfinished"), f"{search}. {goes_on}"
    if planned and measured and not entries:
        unknown = "whether the campaign came to its end, and whether all points were measured alike, is not known"
        return "unfinished", f"There is no journal: {unknown}."
    if last == "finished":
        if not (measured or missing):
            return "empty", f"Nothing was measured. {goes_on}"
        if not missing:
            return "complete", "Everything planned was measured, and every point counts."
        runs = "run is missing or counts" if len(missing) == 1 else "runs are missing or count"
        return "incomplete", f"{len(missing)} planned {runs} for nothing. {goes_on}"
    if last == "interrupted":
        return "interrupted", f"The campaign was stopped; what was measured until then is here. {goes_on}"
    return "unfinished", f"The journal has no end: it goes on, or was killed. {goes_on}"


def same_everywhere(entries: Sequence[Mapping[str, Any]]) -> tuple[tuple[str, str], ...]:
    """(fact, value) of what has to be the same at every point, as the first point that ended had it."""
    first = next((mapping(one, "facts") for one in entries if mapping(one, "facts")), {})
    return tuple((clean(name, 60), clean(value)) for name, value in first.items())


def differences_of(entries: Sequence[Mapping[str, Any]]) -> tuple[str, ...]:
    """Sentences on what was not the same at every point, as the campaign's end has them."""
    last = next((one for one in reversed(entries) if at(one, "event") == "finished"), None)
    return texts(last, "differences")


def number_of_extension(value: object) -> float | None:
    """Time by which a point was extended, from whatever holds it: a number or a list per phase, in ns."""
    found = at(value, "extended_ns")
    if isinstance(found, Mapping):
        found = list(found.values())
    if isinstance(found, list | tuple):
        known = [one for one in map(number, found) if one is not None]
        return float(sum(known)) if known else None
    single = number(found)
    return None if single is None else float(single)


def seconds_of(text: object) -> float | None:
    """Seconds of an ISO time, of UTC where it names no zone; None for anything else."""
    try:
        found = datetime.fromisoformat(text) if isinstance(text, str) else None
        return None if found is None else (found if found.tzinfo else found.replace(tzinfo=UTC)).timestamp()
    except (ValueError, OverflowError):
        return None


def time_of(entry: Mapping[str, Any]) -> str:
    """The time of an entry as it was written."""
    return clean(at(entry, "at") or "", 40)


def _label(entry: Mapping[str, Any]) -> str:
    return clean(at(entry, "label") or "", _LONGEST)


def _whole(entry: Mapping[str, Any], key: str) -> int:
    found = number(at(entry, key))
    return 1 if found is None else int(found)


def _said(entry: Mapping[str, Any]) -> str:
    parts = [
        f"{name} {count(found)}"
        for name in ("attempt", "repeat")
        if (found := number(at(entry, name))) is not None and found > 1
    ]
    for key, value in mapping(redacted(entry)).items():
        if key in _NAMED or value in (None, "", [], {}):
            continue
        shown = ", ".join(texts({key: value}, key)) if isinstance(value, list | tuple) else _plain(value)
        parts.append(f"{clean(key, 40).replace('_', ' ')}: {clean(shown, 200)}")
    verdict = at(entry, "steady", "verdict")
    return "; ".join([*parts, clean(verdict, 60)] if verdict else parts)


def _plain(value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, Mapping):
        return ", ".join(f"{key} {_plain(inner)}" for key, inner in value.items() if inner is not None)
    return str(value)
