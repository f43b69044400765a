"""What a reader of a curve must know before believing it, most serious first."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from wholecurve.curve import KEYS, Row, c_bounds, ceiling, falls, left_out, levels
from wholecurve.model.curve import Curve
from wholecurve.report.campaign_accuracy import FAILED, NOT_JUDGED
from wholecurve.report.campaign_journal import Missing, differences_of
from wholecurve.report.campaign_keys import lost
from wholecurve.report.campaign_load import Salted
from wholecurve.report.campaign_points import VERDICTS, PointView, Strain, listed
from wholecurve.report.reading import at, clean, items, rate, texts

UNSTEADY: Final[frozenset[str]] = frozenset(word for verdict, word in VERDICTS.items() if verdict != "STEADY STATE")
JOURNAL_OPEN: Final = "the journal has no end"
NO_LEVELS: Final = "plan.yaml is missing: no levels"
OFFLINE: Final = "Offline"
_LEVEL: Final[Mapping[str, int]] = {"bad": 0, "care": 1}


@dataclass(frozen=True, slots=True)
class Warned:
    """tone: `bad` (figures that are no result) or `care`. what: its kind in a few words. said: a sentence."""

    tone: str
    what: str
    said: str


def warnings_of(
    curve: Curve,
    rows: Sequence[Row],
    points: Sequence[PointView],
    plan: Mapping[str, Any],
    entries: Sequence[Mapping[str, Any]],
    salted: Salted,
    unread: Iterable[Warned],
) -> tuple[Warned, ...]:
    """All warnings, the serious ones first, otherwise in the order of the curve. unread: those about files."""
    found = [
        *_barred(points), *_changed(entries), *_differing(entries), *_invalid(points), *_accuracy(points),
        *_client(points), *_steady(points), *_falls(rows), *_offline_below(rows, points), *_placeless(rows),
        *_set_aside(curve, entries), *_gone(entries), *_counted(curve), *_not_scored(points, plan), *_salt(salted),
        *_noted(plan), *_bounds(curve, rows, plan), *unread,
    ]  # fmt: skip
    return tuple(sorted(found, key=lambda one: _LEVEL[one.tone]))


def unread_files(sentences: Sequence[str], missing: Sequence[Missing]) -> Iterator[Warned]:
    """What whoever read the files could not read, but for what the state of the campaign says anyway."""
    known = {f"points/{one.label}: not measured" for one in missing}
    for one in sentences:
        if one not in known and not one.startswith((JOURNAL_OPEN, NO_LEVELS)):
            yield Warned("care", "files", f"{clean(one).rstrip('.')}.")


def _named(points: Sequence[PointView]) -> str:
    """The points of one sentence: `Concurrency 1, 8 and 64`, `Offline`."""
    return _levels([OFFLINE if one.offline else one.name for one in points])


def _grouped(tone: str, what: str, found: Iterable[tuple[PointView, str]]) -> Iterator[Warned]:
    """One warning for all points of which the same is said."""
    by_said: dict[str, list[PointView]] = {}
    for point, said in found:
        by_said.setdefault(said, []).append(point)
    for said, points in by_said.items():
        yield Warned(tone, what, f"{_named(points)}{said}.")


def _barred(points: Sequence[PointView]) -> Iterator[Warned]:
    found = ((one, f" counts for nothing: {one.barred}") for one in points if one.barred)
    yield from _grouped("bad", "not on the curve", found)


def _invalid(points: Sequence[PointView]) -> Iterator[Warned]:
    found = ((one, f": {reason}") for one in points for reason in one.invalid if reason not in one.barred)
    yield from _grouped("bad", "not valid", found)


def _client(points: Sequence[PointView]) -> Iterator[Warned]:
    """One warning for each kind of reason, with the sentence of the point where it is worst."""
    strained = [one for one in points if one.health == "strained"]
    by_code: dict[str, list[tuple[PointView, Strain]]] = {}
    for one in strained:
        for reason in one.health_reasons or (Strain("", 0.0, ""),):
            by_code.setdefault(reason.code or reason.sentence, []).append((one, reason))
    for found in by_code.values():
        worst = max((reason for _, reason in found), key=lambda reason: reason.beyond).sentence
        same = len({reason.sentence for _, reason in found}) == 1
        why = f" ({'' if same else 'at worst: '}{worst})" if worst else ""
        named = _named([one for one, _ in found])
        yield Warned("care", "client strained", f"{named}: the client was near a limit of its own{why}.")


def _steady(points: Sequence[PointView]) -> Iterator[Warned]:
    found = (
        (one, f": {one.steady}" + (f", {one.steady_reason}" if one.steady_reason else ""))
        for one in points
        if one.steady in UNSTEADY
    )
    yield from _grouped("care", "not steady", found)
    short = (
        (one, f": {one.steady_reason or one.steady_status}")
        for one in points
        if one.steady not in UNSTEADY and one.fell_back
    )
    yield from _grouped("care", "steady window", short)


def _falls(rows: Sequence[Row]) -> Iterator[Warned]:
    for fall in falls(rows):
        yield Warned("care", "throughput falls", f"System throughput falls {lost(fall)}.")


def _placeless(rows: Sequence[Row]) -> Iterator[Warned]:
    """Levels that count and cannot be drawn on the primary chart."""
    for said in placeless(rows):
        yield Warned("care", "not measured", f"{said[:1].upper()}{said[1:]}.")


def placeless(rows: Sequence[Row]) -> list[str]:
    """The same in words, for whoever draws that chart."""
    named = {row["id"]: f"{row['concurrency']:,}" for row in rows}
    levels: dict[str, list[str]] = {}
    for one in left_out(rows, "interactivity_tps", "system_tps"):
        levels.setdefault(f"{KEYS[one['key']]['label']} not measured, {clean(one['why'])}", []).append(named[one["id"]])
    return [f"concurrency {listed(names)}: {said}" for said, names in levels.items()]


def _set_aside(curve: Curve, entries: Sequence[Mapping[str, Any]]) -> Iterator[Warned]:
    for one in curve.set_aside:
        yield Warned("care", "set aside", f"{clean(one.point.provenance.source, 120)}: {clean(one.reason)}.")
    for entry in entries:
        if at(entry, "event") == "set_aside":
            why = clean(at(entry, "why") or "no reason given")
            yield Warned(
                "care", "measured again", f"{clean(at(entry, 'label') or 'a point', 60)} was set aside: {why}."
            )


def _changed(entries: Sequence[Mapping[str, Any]]) -> Iterator[Warned]:
    for entry in entries:
        if at(entry, "event") == "changed":
            listed = "; ".join(texts(entry, "what") or texts(entry, "why") or texts(entry, "differences"))
            single = at(entry, "what") or at(entry, "why") or "what changed is not said"
            said = listed or clean(single)
            yield Warned("bad", "not the same configuration", f"Changed since the start: {said}.")


def _differing(entries: Sequence[Mapping[str, Any]]) -> Iterator[Warned]:
    for said in differences_of(entries):
        yield Warned("bad", "not the same configuration", f"{said[:1].upper()}{said[1:].rstrip('.')}.")


def _offline_below(rows: Sequence[Row], points: Sequence[PointView]) -> Iterator[Warned]:
    """A dedicated Offline run below a level of the curve, by more than the intervals of both, is no ceiling of it."""
    found = ceiling(rows)
    known = [row for row in levels(rows) if row["system_tps"] is not None]
    if found["offline"] != "dedicated" or found["system_tps"] is None or not known:
        return
    best = max(known, key=lambda row: row["system_tps"])
    figures = {row["id"]: one.system for row, one in zip(rows, points, strict=True)}
    reach, low = figures[found["point"]].high, figures[best["id"]].low
    overlap = reach is not None and low is not None and low <= reach
    if best["system_tps"] > found["system_tps"] and not overlap:
        yield Warned(
            "care",
            "Offline",
            f"The dedicated run reached {rate(found['system_tps'], 'tokens/s')}, less than concurrency "
            f"{best['concurrency']:,} with {rate(best['system_tps'], 'tokens/s')}: it is no ceiling of this curve.",
        )


def _salt(salted: Salted) -> Iterator[Warned]:
    if salted.bare:
        yield Warned(
            "care", "salt", f"{_levels(salted.bare)} without salt: the endpoint may have answered from a cache."
        )
    if salted.accuracy:
        yield Warned("bad", "salt", f"{_levels(salted.accuracy)}: the accuracy phase was salted, which changes scores.")


def _levels(names: Sequence[str]) -> str:
    """As `_named`, of names of points."""
    numbers = [name for name in names if name != OFFLINE]
    return listed([f"Concurrency {listed(numbers)}"] * bool(numbers) + [OFFLINE] * (OFFLINE in names))


def _noted(plan: Mapping[str, Any]) -> Iterator[Warned]:
    """What the plan itself said before anything was measured."""
    for said in texts(plan, "notes"):
        yield Warned("care", "plan", f"{said[:1].upper()}{said[1:].rstrip('.')}.")


def _not_scored(points: Sequence[PointView], plan: Mapping[str, Any]) -> Iterator[Warned]:
    """Points that the plan wants an accuracy result of, and that have none; and scores that nobody could judge."""
    asked = {str(at(one, "label")) for one in items(plan, "levels") if at(one, "accuracy") is True}
    if at(plan, "settings", "accuracy"):
        found = ((one, ": accuracy was planned here and has no result") for one in points)
        yield from _grouped("care", "accuracy", (row for row in found if row[0].label in asked and not row[0].scores))
    judged = ((one, score) for one in points for score in one.scores if score.verdict == NOT_JUDGED)
    yield from _grouped("care", "accuracy", ((one, f": {score.label} {score.said}") for one, score in judged))


def _gone(entries: Sequence[Mapping[str, Any]]) -> Iterator[Warned]:
    gone = sum(at(entry, "event") == "endpoint_gone" for entry in entries)
    if gone:
        times = "once" if gone == 1 else f"{gone} times"
        yield Warned("care", "endpoint gone", f"The endpoint was gone {times} while the campaign ran; see the journal.")


def _counted(curve: Curve) -> Iterator[Warned]:
    if any(point.provenance.token_source == "usage" for point in curve.points):
        yield Warned(
            "care",
            "tokens",
            "Tokens are the endpoint's own count (usage), which is never official: no tokenizer was given.",
        )


def _accuracy(points: Sequence[PointView]) -> Iterator[Warned]:
    failed = ((one, score) for one in points for score in one.scores if score.verdict == FAILED)
    yield from _grouped("bad", "accuracy", ((one, f": {score.label} {score.said}") for one, score in failed))


def _bounds(curve: Curve, rows: Sequence[Row], plan: Mapping[str, Any]) -> Iterator[Warned]:
    note = str(c_bounds(rows, curve.c_max_declared)["note"])
    if note and at(plan, "c_max_found") is not True:
        yield Warned("care", "range", f"{note[:1].upper()}{note[1:]}.")
