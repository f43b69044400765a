"""Curves from wherever they are: a campaign, a curve.json, a run folder, or a folder that holds several of these."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

from wholecurve.model.curve import Curve, SetAside, curve_of
from wholecurve.model.errors import InputError
from wholecurve.model.point import Identity, Point
from wholecurve.results.campaign import is_begun, is_campaign, load_campaign
from wholecurve.results.document import curve_from_document
from wholecurve.results.files import is_file, is_folder, place_of, read_object, read_optional
from wholecurve.results.identity import identity_of_run, interactivity_of
from wholecurve.results.point import point_of
from wholecurve.results.run_folder import RunFiles, is_run, read_run
from wholecurve.results.values import count

CURVE_FILE: Final = "curve.json"
DESCRIPTION: Final = "system_desc.json"
BEGUN: Final = "this sweep was stopped before its levels were chosen: nothing in it is a point of a curve"
MAX_SHOWN: Final = 200
DEPTH: Final = 2
"""How many levels of folders are looked into."""

WANTED: Final = (
    "wanted a campaign folder (plan.yaml), a curve.json, a run folder (plan.json), or a folder that holds some of these"
)


@dataclass(frozen=True, slots=True)
class FoundCurves:
    """curves: in order of their places. places: of each curve, its folder or file relative to what was searched (`.`
    for itself). skipped: sentences on what looked like a result and could not be read, and on what a campaign that was
    read has not got."""

    curves: tuple[Curve, ...]
    places: tuple[str, ...]
    skipped: tuple[str, ...] = ()


def description_beside(path: Path) -> dict[str, Any] | None:
    """The system_desc.json in the folder of a curve.json, of a campaign or of a run; None if there is none. Raises
    InputError if it is damaged."""
    return read_optional((path if is_folder(path) else path.parent) / DESCRIPTION)


def load_curves(path: Path) -> tuple[Curve, ...]:
    """The curves of a path, in a fixed order. Raises InputError as find_curves."""
    return find_curves(path).curves


def find_curves(path: Path) -> FoundCurves:
    """The curves of a path; sources of points are relative to it. Folders are looked into two levels deep.

    Runs outside a campaign make one curve where system, benchmark and all else agree. Two curves of one name get the
    place behind their submission. Raises InputError when nothing is there, and, for a path that is itself a campaign,
    a run or a file, what is wrong with it.
    """
    if is_file(path):
        return FoundCurves((_from_file(path),), (".",))
    if not is_folder(path):
        raise InputError(f"found nothing at {str(path)[:MAX_SHOWN]}", hint=WANTED)
    if is_campaign(path):
        campaign = load_campaign(path)
        return FoundCurves((campaign.curve,), (".",), campaign.missing)
    if is_begun(path):
        raise InputError(BEGUN, where=path.name, hint="go on with: wholecurve sweep --resume")
    if is_run(path):
        return FoundCurves(_of_runs({path.resolve().name: read_run(path)}), (".",))
    try:
        os.scandir(path).close()
    except OSError as error:
        raise InputError(f"cannot read the folder {path.name}: {error.strerror}") from None
    found: list[tuple[str, Curve]] = []
    runs: dict[str, RunFiles] = {}
    skipped: list[str] = []
    for place, folder in _inside(path, "", DEPTH):
        try:
            if is_file(folder):
                home = place.rpartition("/")[0] if folder.name == CURVE_FILE else place
                found.append((home or ".", moved(_from_file(folder), home)))
            elif is_begun(folder):
                skipped.append(f"{place}: {BEGUN}")
            elif is_campaign(folder):
                campaign = load_campaign(folder)
                found.append((place, moved(campaign.curve, place)))
                skipped += [f"{place}: {one}" for one in campaign.missing]
            else:
                runs[place] = read_run(folder)
        except InputError as error:
            skipped.append(f"{place}: {error.message}")
    found += [(_common_place(curve), curve) for curve in _of_runs(runs, skipped)]
    if not found:
        more = "".join(f"; {one}" for one in skipped[:3])
        raise InputError(f"found no curve in {path}/{more}", hint=WANTED)
    found.sort(key=lambda one: one[0])
    return FoundCurves(distinct(found), tuple(place for place, _ in found), tuple(skipped))


def distinct(found: Sequence[tuple[str, Curve]]) -> tuple[Curve, ...]:
    """The curves of (place, curve), of which no two have one name: where they do, the place says which is which."""
    ids = [curve.id for _, curve in found]
    return tuple(
        renamed(curve, f"{curve.identity.submission} ({place})") if ids.count(curve.id) > 1 else curve
        for place, curve in found
    )


def renamed(curve: Curve, submission: str) -> Curve:
    """The same curve under another name of its submission."""
    who = replace(curve.identity, submission=submission)
    return _each(curve, lambda point: replace(point, identity=who), who)


def moved(curve: Curve, prefix: str) -> Curve:
    """The same curve with a folder put before the source of every point; an empty one changes nothing."""
    if not prefix:
        return curve

    def change(point: Point) -> Point:
        source = f"{prefix}/{point.provenance.source}"
        return replace(point, provenance=replace(point.provenance, source=source))

    return _each(curve, change, curve.identity)


def _each(curve: Curve, change: Callable[[Point], Point], who: Identity) -> Curve:
    aside = tuple(SetAside(change(one.point), one.reason) for one in curve.set_aside)
    return replace(curve, identity=who, points=tuple(map(change, curve.points)), set_aside=aside)


def _inside(folder: Path, prefix: str, depth: int) -> Iterator[tuple[str, Path]]:
    """(place, path) of what looks like a result, sorted by name. A campaign or a run is never looked into. depth:
    levels of folders from here; at 0 only files are looked for."""
    try:
        entries = sorted(folder.iterdir(), key=lambda one: one.name)
    except OSError:
        return  # a folder that may not be read holds nothing for us
    for entry in entries:
        place = f"{prefix}{entry.name}"
        if entry.name.startswith(".") or _leads_back(entry):
            continue
        if is_file(entry):
            if entry.name.endswith(CURVE_FILE):
                yield place, entry
        elif depth and (is_campaign(entry) or is_run(entry) or is_begun(entry)):
            yield place, entry
        elif depth and is_folder(entry):
            yield from _inside(entry, f"{place}/", depth - 1)


def _leads_back(entry: Path) -> bool:
    """Whether a link leads to a folder above it: whatever is there is found without the link, or not asked for."""
    try:
        return entry.is_symlink() and entry.resolve() in entry.parent.resolve().joinpath("x").parents
    except (OSError, RuntimeError):
        return True  # a link to itself


def _from_file(path: Path) -> Curve:
    document = read_object(path)
    try:
        return curve_from_document(document)
    except InputError as error:
        where = f"{place_of(path)}, {error.where}" if error.where else place_of(path)
        raise InputError(error.message, where=where, hint=error.hint) from None


def _of_runs(runs: Mapping[str, RunFiles], skipped: list[str] | None = None) -> tuple[Curve, ...]:
    """Curves of runs that belong to no campaign, by place; what cannot be a point is added to `skipped`, or raised."""
    groups: dict[tuple[Identity, str], list[tuple[RunFiles, Point]]] = {}
    for place, run in runs.items():
        identity = identity_of_run(run, name=place.rpartition("/")[2])
        try:
            point = point_of(run, identity, source=place)
        except InputError as error:
            if skipped is None:
                raise
            skipped.append(f"{place}: {error.message}")
            continue
        groups.setdefault((identity, interactivity_of(run.rules.get("kind"))), []).append((run, point))
    return tuple(
        curve_of(
            identity,
            key,
            [point for _, point in members],
            c_max_declared=_declared(run for run, _ in members),
            mark_duplicates=True,
        )
        for (identity, key), members in groups.items()
    )


def _declared(runs: Iterable[RunFiles]) -> int | None:
    found = (count(run.rules.get("c_max")) or count(run.point.get("max_supported_concurrency")) for run in runs)
    return next((one for one in found if one), None)


def _common_place(curve: Curve) -> str:
    """Where a curve of loose runs stands: the place of its first one by name."""
    return min(point.provenance.source for point in curve.points)
