"""A campaign folder as a whole: its plan, its journal, its curve, and what every point left behind.

Campaigns that are still running or were killed are read too; `missing` says what is not there.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final

from wholecurve.curve.table import barred
from wholecurve.model.curve import Curve, curve_of
from wholecurve.model.errors import InputError
from wholecurve.model.point import Identity, Point
from wholecurve.results.document import curve_document
from wholecurve.results.files import (
    is_file,
    is_folder,
    place_of,
    read_journal,
    read_mapping,
    read_optional,
    write_strict,
)
from wholecurve.results.identity import identity_of_campaign, interactivity_of
from wholecurve.results.point import foreign_of, point_of
from wholecurve.results.power import PowerOfCampaign, power_of_campaign
from wholecurve.results.repeats import by_label, with_repeats
from wholecurve.results.run_folder import ACCURACY, SUMMARY, RunFiles, is_run, read_run
from wholecurve.results.values import at, count, mapping, mappings, text

if TYPE_CHECKING:
    from wholecurve.metrics import Columns

CAMPAIGN_SCHEMA: Final = "wholecurve.campaign/1"
PLAN: Final = "plan.yaml"
JOURNAL: Final = "journal.jsonl"
MOST_LEVELS: Final = 1000
RUN_GROUPS: Final = ("points", "repeats", "attempts", "search")
"""The folders of a campaign that hold run folders."""

OPEN_END: Final = "the journal has no end: the campaign is not finished, or still runs"

Files = Mapping[str, Mapping[str, Any]]
"""Contents of JSON files by the run folder they belong to, such as `points/r16`."""


@dataclass(frozen=True, slots=True)
class Campaign:
    """Everything by label of a level, in the order of the plan's levels; only levels that were measured have entries.

    plan: plan.yaml. entries: of the journal. points: of every label, those that the curve set aside too. plans,
    summaries: plan.json and result_summary.json. steady: the summary's `steady_state`. accuracy: content of
    accuracy_results.json. power, system: system_power.json and system_desc.json, None where there is none. finished:
    the journal says so. missing: sentences on what is not there or cannot be read; files are named relative to the
    campaign. unfinished: run folders whose run did not come to its end, as `points/r16`.
    """

    folder: Path
    plan: Mapping[str, Any]
    entries: tuple[Mapping[str, Any], ...]
    curve: Curve
    points: Mapping[str, Point]
    plans: Mapping[str, Mapping[str, Any]]
    summaries: Mapping[str, Mapping[str, Any]]
    steady: Mapping[str, Mapping[str, Any]]
    accuracy: Mapping[str, Mapping[str, Any]]
    power: Mapping[str, Any] | None
    system: Mapping[str, Any] | None
    finished: bool
    missing: tuple[str, ...]
    unfinished: tuple[str, ...] = ()
    phases: Mapping[str, int] = field(repr=False, default_factory=dict)

    @property
    def name(self) -> str:
        """As stated, else that of the folder."""
        return self.curve.identity.submission

    def columns_of(self, label: str) -> Columns:
        """The performance requests of a level, read from its records now. Raises InputError for a level that was not
        measured, and for records that are missing or damaged."""
        from wholecurve.records import read_columns

        if label not in self.phases:
            raise InputError(f"the level {label} has no finished run", where=self.folder.name)
        return read_columns(self.folder / "points" / label / "records", self.phases[label])


def is_campaign(folder: Path) -> bool:
    """Whether this is the folder of a campaign, finished or not."""
    return is_file(folder / PLAN)


def is_begun(folder: Path) -> bool:
    """Whether a sweep was stopped here before its levels were chosen: what it holds are trials, not points."""
    return is_file(folder / JOURNAL) and not is_campaign(folder)


def load_campaign(path: Path, *, summaries: Files | None = None, accuracy: Files | None = None) -> Campaign:
    """The campaign of a folder. Raises InputError if it is none, or if plan.yaml cannot be read; whatever else is
    missing or damaged is said in `missing`.

    summaries, accuracy: used in place of result_summary.json and accuracy_results.json of the runs they are of.
    """
    entries, missing = read_journal(path / JOURNAL)
    return _read(path, _plan(path), entries, missing, summaries or {}, accuracy or {})


def load_begun(path: Path) -> Campaign:
    """A campaign that `is_begun`, without levels and points: its plan is what its journal says of the conditions."""
    entries, missing = read_journal(path / JOURNAL)
    created = next((one for one in entries if one.get("event") == "created"), {})
    plan = {**mapping(created, "conditions"), "created": created.get("at"), "levels": []}
    return _read(path, plan, entries, (f"{PLAN} is missing: no levels were chosen yet", *missing), {}, {})


def _read(
    path: Path,
    plan: Mapping[str, Any],
    entries: tuple[Mapping[str, Any], ...],
    missing: tuple[str, ...],
    summaries: Files,
    accuracy: Files,
) -> Campaign:
    finished = bool(entries) and entries[-1].get("event") == "finished"
    wrong = list(missing)
    if entries and not finished:
        wrong.append(OPEN_END)
    runs = _runs(path / "points", _labels(path, plan), summaries, wrong)
    system = _optional(path / "system_desc.json", "system_desc.json", wrong)
    first = next(iter(runs.values()), None)
    identity = identity_of_campaign(plan, first, system or {}, name=path.resolve().name)
    power = power_of_campaign(path, plan, system)
    wrong.extend(power.wrong)
    again = _runs(path / "repeats", _folders(path / "repeats"), summaries, wrong)
    model = text(at(plan, "endpoint", "model")) or (first.model if first else None)
    elected = frozenset(str(one.get("label")) for one in mappings(plan, "levels") if one.get("offline") == "elected")
    points = _points(runs, "points", identity, model, power, wrong, elected)
    repeats = by_label(_points(again, "repeats", identity, model, power, wrong))
    points = {label: with_repeats(point, _usable(repeats.get(label, []))) for label, point in points.items()}
    return Campaign(
        folder=path,
        plan=plan,
        entries=entries,
        curve=_curve(plan, identity, points, first),
        points=MappingProxyType(points),
        plans=MappingProxyType({label: run.plan for label, run in runs.items()}),
        summaries=MappingProxyType({label: run.summary for label, run in runs.items()}),
        steady=MappingProxyType(dict(_steady(runs))),
        accuracy=MappingProxyType(dict(_accuracy(runs, accuracy, wrong))),
        power=power.data,
        system=system,
        finished=finished,
        missing=tuple(wrong),
        unfinished=tuple(_unfinished(path)),
        phases=MappingProxyType({label: run.number for label, run in runs.items()}),
    )


def write_curve(folder: Path, campaign: Campaign | None = None) -> Curve:
    """Makes curve.json of a campaign from its run folders, anew. campaign: what was read of that folder just now.
    Raises InputError as load_campaign, MeasureError if it cannot be written."""
    curve = (campaign or load_campaign(folder)).curve
    write_strict(folder / "curve.json", curve_document(curve))
    return curve


def _plan(path: Path) -> Mapping[str, Any]:
    if not is_campaign(path):
        raise InputError(f"wanted a campaign folder, found no {PLAN}", where=path.name)
    plan = read_mapping(path / PLAN)
    if plan.get("schema") != CAMPAIGN_SCHEMA:
        got = str(plan.get("schema"))[:60]
        raise InputError(f"wanted {PLAN} with schema {CAMPAIGN_SCHEMA}, got {got!r}", where=place_of(path / PLAN))
    return plan


def _labels(path: Path, plan: Mapping[str, Any]) -> list[str]:
    """Labels of the planned levels, then those of folders that no plan names. A label is one name, never a path."""
    planned = [text(one.get("label")) for one in mappings(plan, "levels")[:MOST_LEVELS]]
    found = [label for label in planned if label and "/" not in label and label not in (".", "..")]
    return list(dict.fromkeys([*found, *_folders(path / "points")]))


def _folders(path: Path) -> list[str]:
    """Names of the folders in a folder, sorted; none if it is not there."""
    try:
        names = sorted(one.name for one in path.iterdir() if is_folder(one) and not one.name.startswith("."))
    except OSError:
        return []
    return names[:MOST_LEVELS]


def _runs(path: Path, labels: list[str], summaries: Files, wrong: list[str]) -> dict[str, RunFiles]:
    found = {}
    for label in labels:
        source = f"{path.name}/{label}"
        if not is_folder(path / label):
            wrong.append(f"{source}: not measured")
            continue
        try:
            found[label] = read_run(path / label, summary=summaries.get(source))
        except InputError as error:
            wrong.append(f"{source}: {_named(error)}")
    return found


def run_folders(path: Path, *groups: str) -> tuple[str, ...]:
    """The run folders of a campaign, as `points/r16`, in order of groups (of RUN_GROUPS; by default all) and names."""
    return tuple(
        f"{group}/{name}"
        for group in groups or RUN_GROUPS
        for name in _folders(path / group)
        if is_run(path / group / name)
    )


def _unfinished(path: Path) -> Iterator[str]:
    for source in run_folders(path):
        if not is_file(path / source / SUMMARY):
            yield source


def _named(error: InputError) -> str:
    """What is wrong, with the file that it is wrong with."""
    name, _, place = error.where.rpartition("/")[2].partition(":")
    told = not place and name not in error.message and "." in name
    return f"{name}: {error.message}" if told else f"{name}, line {place}: {error.message}" if place else error.message


def _points(
    runs: Mapping[str, RunFiles],
    group: str,
    identity: Identity,
    model: str | None,
    power: PowerOfCampaign,
    wrong: list[str],
    elected: frozenset[str] = frozenset(),
) -> dict[str, Point]:
    """A point of each run; a run that cannot be one is named in `wrong`. elected: labels that stand for Offline."""
    found = {}
    for label, run in runs.items():
        source, foreign = f"{group}/{label}", foreign_of(run, identity, model)
        try:
            kw, notes = power.of(run)
            point = point_of(run, identity, source=source, power=kw, foreign=foreign, elected=label in elected)
            found[label] = replace(point, notes=(*point.notes, *notes))
        except InputError as error:
            wrong.append(f"{source}: {error.message}")
    return found


def _usable(repeats: list[Point]) -> list[Point]:
    """Repeats that count: complete, valid and of the same data set; the others stay in their folders."""
    return [one for one in repeats if not barred(one)]


def _curve(plan: Mapping[str, Any], identity: Identity, points: Mapping[str, Point], first: RunFiles | None) -> Curve:
    kind = at(plan, "rules", "kind") or (first.rules.get("kind") if first else None)
    declared = count(plan.get("c_max")) or count(plan.get("c_max_found"))
    return curve_of(
        identity,
        interactivity_of(kind, plan.get("interactivity_key")),
        points.values(),
        c_max_declared=declared or (count(first.rules.get("c_max")) if first else None),
        mark_duplicates=True,
    )


def _steady(runs: Mapping[str, RunFiles]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    for label, run in runs.items():
        found = run.summary.get("steady_state")
        if isinstance(found, Mapping):
            yield label, found


def _accuracy(runs: Mapping[str, RunFiles], given: Files, wrong: list[str]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    for label, run in runs.items():
        source = f"points/{label}"
        found = given.get(source) or _optional(run.folder / ACCURACY, f"{source}/{ACCURACY.as_posix()}", wrong)
        if found is not None:
            yield label, found


def _optional(path: Path, name: str, wrong: list[str]) -> Mapping[str, Any] | None:
    """A JSON object, None if it is not there or damaged; damage is named in `wrong`. name: relative to the campaign."""
    try:
        return read_optional(path)
    except InputError as error:
        wrong.append(f"{name}: {error.message}")
        return None
