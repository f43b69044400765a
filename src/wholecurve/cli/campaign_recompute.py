"""A campaign computed again from its records: every run, then the curve, then the reports, each held to what is stored.

A run is computed in a process of its own, so that only one run's records are in memory at a time, however many there
are. Nothing is written.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from pathlib import Path
from typing import Any, Final

from wholecurve.model.errors import InputError, SetupError
from wholecurve.model.strict_json import dumps_strict
from wholecurve.run.apart import apart
from wholecurve.run.derive import (
    ABSENT,
    ACCURACY,
    Difference,
    Recomputed,
    compared,
    derive_accuracy,
    numbers_in,
    recompute,
)
from wholecurve.run.files import read_object

_Run = tuple[Recomputed, dict[str, Any] | None, list[Difference]]

CURVE_FILE: Final = "curve.json"
GROUPS: Final = ("points", "repeats")
WINDOW: Final = 60
"""Characters shown on each side of where two long lines part."""

MOST_LINES: Final = 4000
"""Between two texts with more lines that differ only the whole is told apart, for it would take minutes."""


@dataclass(frozen=True, slots=True, eq=False)
class RunAgain:
    """A run folder, as `points/r16`. figures: numbers compared. differences: of them, then of the run's own report.
    error: why it could not be computed again, else ""."""

    source: str
    figures: int
    differences: tuple[Difference, ...]
    measured_by: str
    error: str = ""

    @property
    def same(self) -> bool:
        return not self.differences and not self.error


@dataclass(frozen=True, slots=True, eq=False)
class CurveAgain:
    """curve.json. figures: numbers compared in all. by_point: of each point, by where its run is."""

    figures: int
    by_point: Mapping[str, int]
    differences: tuple[Difference, ...]


@dataclass(frozen=True, slots=True, eq=False)
class CampaignAgain:
    """What was found when a campaign was computed again.

    reports: differences of each report by its name. picture: whether report.png is drawn as it is stored, None where
    there is none or this machine cannot draw. unfinished: runs that did not come to their end, so have no figures.
    """

    runs: tuple[RunAgain, ...]
    curve: CurveAgain
    reports: Mapping[str, tuple[Difference, ...]]
    picture: bool | None
    unfinished: tuple[str, ...]

    @property
    def figures(self) -> int:
        """Every number that was computed again and compared."""
        return sum(run.figures for run in self.runs) + self.curve.figures

    @property
    def same(self) -> bool:
        """Whether everything is as stored, but for the picture: machines draw its letters with fonts of their own."""
        return all(run.same for run in self.runs) and not self.curve.differences and not any(self.reports.values())


def recompute_campaign(folder: Path, say: Callable[[str], None]) -> CampaignAgain:
    """Compute a campaign again and compare. say: told of each run as it begins. InputError if it is no campaign."""
    from wholecurve.results import curve_document, load_campaign, run_folders

    stored = load_campaign(folder)
    runs: list[RunAgain] = []
    summaries: dict[str, Mapping[str, Any]] = {}
    accuracy: dict[str, Mapping[str, Any]] = {}
    for source in _in_order(stored.plans, run_folders(folder, *GROUPS)):
        if source in stored.unfinished:
            continue
        say(f"computing {source} again")
        try:
            found, scores, pages = _run_again(folder / source)
        except InputError as error:
            runs.append(RunAgain(source, 0, (), "", error.message))
            continue
        summaries[source] = found.summary
        if scores is not None:
            accuracy[source] = scores
        runs.append(RunAgain(source, found.figures, (*found.differences, *pages), found.measured_by))
    again = load_campaign(folder, summaries=summaries, accuracy=accuracy)
    document = _plain(curve_document(again.curve))
    texts, picture = _drawn_again(again, folder)
    return CampaignAgain(
        runs=tuple(runs),
        curve=_curve_again(folder / CURVE_FILE, document),
        reports={name: tuple(line_differences(folder / name, text)) for name, text in texts.items()},
        picture=picture,
        unfinished=tuple(one for one in stored.unfinished if one.startswith(tuple(f"{group}/" for group in GROUPS))),
    )


def _in_order(labels: Iterable[str], sources: Sequence[str]) -> list[str]:
    """The sources in the order of the plan's levels, then the others."""
    planned = [source for source in (f"points/{label}" for label in labels) if source in sources]
    return list(dict.fromkeys([*planned, *sources]))


def _run_again(folder: Path) -> _Run:
    """(the run computed again, its scores where the stored ones differ, what differs in its own reports), in a process
    that ends with it."""

    def work(_send: object) -> _Run:
        from wholecurve.cli.report import reports
        from wholecurve.run.derive import read_plan

        found, scores = recompute(folder), None
        if any(one.path.startswith(ACCURACY.stem) for one in found.differences):
            judged = derive_accuracy(folder, read_plan(folder))
            scores = None if judged is None else _plain(judged.results)
        pages = reports(folder, found.summary, None)
        return found, scores, [one for path, data in pages.items() for one in line_differences(path, data.decode())]

    result: _Run = apart(work, {}, folder.name)
    return result


def _plain(value: object) -> dict[str, Any]:
    """As it would be read from a file."""
    import orjson

    found: dict[str, Any] = orjson.loads(dumps_strict(value))
    return found


def _curve_again(path: Path, document: Mapping[str, Any]) -> CurveAgain:
    by_point = {str(point["provenance"]["source"]): numbers_in(point) for point in document["points"]}
    try:
        stored: object = read_object(path)
    except InputError as error:
        told = Difference(path.name, ABSENT if not path.exists() else f"({error.message})", "a curve")
        return CurveAgain(numbers_in(document), by_point, (told,))
    names = list(by_point)
    found = tuple(
        Difference(_with_source(one.path, names), one.stored, one.found) for one in compared(stored, document)
    )
    return CurveAgain(numbers_in(document), by_point, found)


def _with_source(path: str, names: Sequence[str]) -> str:
    """`points[2].figures...` with the run that the point is of behind its number."""
    head, bracket, rest = path.partition("]")
    place = head.removeprefix("points[")
    known = bracket and place != head and place.isdecimal() and int(place) < len(names)
    return f"points[{place}] ({names[int(place)]}){rest}" if known else path


def _drawn_again(campaign: Any, folder: Path) -> tuple[dict[str, str], bool | None]:
    """(text of each report by its name, whether the picture comes out as it is stored)."""
    from wholecurve.cli.campaign_files import HTML, PICTURE, TEXT
    from wholecurve.report import campaign_html, campaign_text, curve_png, view_of

    view = view_of(campaign)
    try:
        picture = (folder / PICTURE).read_bytes() == curve_png(view)
    except (SetupError, OSError):
        return {TEXT: campaign_text(view), HTML: campaign_html(view)}, None
    return {TEXT: campaign_text(view), HTML: campaign_html(view)}, picture


def line_differences(path: Path, found: str) -> Iterator[Difference]:
    """Where a stored text is another than the one found, line by line; bytes that are no text differ as a whole."""
    try:
        data = path.read_bytes()
    except OSError:
        yield Difference(path.name, ABSENT, "a report")
        return
    if data == found.encode():
        return
    old, new = data.decode("utf-8", "backslashreplace").split("\n"), found.split("\n")
    if max(len(old), len(new)) > MOST_LINES:
        yield Difference(path.name, f"{len(old)} lines", f"{len(new)} lines, or others")
        return
    told = False
    for kind, a, b, c, d in SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        if kind == "equal":
            continue
        for place in range(max(b - a, d - c)):
            stored, made = (
                lines[first + place] if first + place < last else ABSENT
                for lines, first, last in ((old, a, b), (new, c, d))
            )
            told = True
            yield Difference(f"{path.name} line {a + place + 1}", *_around(stored, made))
    if not told:
        yield Difference(path.name, "other bytes", "the same letters")


def _around(stored: str, found: str) -> tuple[str, str]:
    """Two lines, cut to where they part."""
    if max(len(stored), len(found)) <= 2 * WINDOW:
        return stored, found
    part = next(
        (k for k, (a, b) in enumerate(zip(stored, found, strict=False)) if a != b), min(len(stored), len(found))
    )
    first = max(0, part - WINDOW)
    ahead = "…" if first else ""
    return ahead + stored[first : part + WINDOW], ahead + found[first : part + WINDOW]
