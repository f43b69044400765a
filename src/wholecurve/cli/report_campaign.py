"""`wholecurve report` of a campaign: shown again, its files made anew, or every figure computed again."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from wholecurve import __version__
from wholecurve.cli.campaign_files import print_campaign, read_campaign, write_campaign_files
from wholecurve.cli.main import tell
from wholecurve.cli.report import difference_lines
from wholecurve.model.errors import InputError
from wholecurve.model.plain_text import printable

if TYPE_CHECKING:
    from wholecurve.cli.campaign_recompute import CampaignAgain
    from wholecurve.report import CampaignView
    from wholecurve.results import Campaign
    from wholecurve.run.derive import Difference

REPORT_SCHEMA: Final = "wholecurve.campaign_report/1"
RECOMPUTED_SCHEMA: Final = "wholecurve.recomputed_campaign/1"
VALUE_SHOWN: Final = 150
"""Characters of a value; the lines of a report are long."""


def report_campaign(folder: Path, *, html: str | None, png: str | None, as_json: bool) -> int:
    """Show a campaign and make its files anew. 0 if it is complete and every point counts, else 1."""
    from wholecurve.report import view_of

    campaign = read_campaign(folder)
    for note in write_campaign_files(
        folder, html=Path(html) if html else None, picture=Path(png) if png else None, campaign=campaign
    ):
        tell(f"note: {note}")
    view = view_of(campaign)
    if as_json:
        _print_json(campaign_json(campaign, view))
    else:
        print_campaign(folder, view)
    for line in unfinished_lines(campaign, folder):
        tell(line)
    return 0 if view.complete else 1


def unfinished_lines(campaign: Campaign, folder: Path) -> Iterator[str]:
    """Runs that were cut off: this command leaves them as they are, for the sweep measures such levels again."""
    groups: dict[str, list[str]] = {}
    for source in campaign.unfinished:
        groups.setdefault(source.partition("/")[0], []).append(source)
    levels = [*groups.get("points", ()), *groups.get("repeats", ()), *groups.get("search", ())]
    if levels:
        were = "was" if len(levels) == 1 else "were"
        tail = "" if campaign.finished else f"; it goes on with: wholecurve sweep --resume {folder}"
        yield f"{', '.join(levels)} {were} cut off, or still measured{tail}"
    aside = groups.get("attempts")
    if aside:
        were = "was" if len(aside) == 1 else "were"
        yield f"{', '.join(aside)} {were} cut off and set aside; finish one with: wholecurve report {folder}/{aside[0]}"


def campaign_json(campaign: Campaign, view: CampaignView) -> dict[str, Any]:
    """The state of the campaign, what speaks for and against its figures, and curve.json's document."""
    from wholecurve.results import curve_document, is_campaign

    return {
        "schema": REPORT_SCHEMA,
        "campaign": campaign.name,
        "state": view.state,
        "sentence": view.state_sentence,
        "complete": view.complete,
        "counted": [one.label for one in view.points if one.counts],
        "missing": [{"label": one.label, "why": one.why} for one in view.missing],
        "unfinished": list(campaign.unfinished),
        "checks": [{"tone": one.tone, "what": one.what} for one in view.checks],
        "warnings": [{"tone": one.tone, "what": one.what, "said": one.said} for one in view.warnings],
        "knee": view.knee.concurrency if view.knee else None,
        "trials": [dict(one) for one in campaign.entries if one.get("event") == "trial"],
        "accuracy": dict(campaign.accuracy),
        "curve": curve_document(campaign.curve) if is_campaign(campaign.folder) else None,
    }


# -- computed again ----------------------------------------------------------------------------------------------------


def recompute_report(folder: Path, *, as_json: bool) -> int:
    """Compute every figure of a campaign again and compare it with what is stored; 1 if anything differs."""
    from wholecurve.cli.campaign_recompute import recompute_campaign
    from wholecurve.results import is_campaign

    if not is_campaign(folder):
        raise InputError(
            f"{folder} holds no curve yet: its sweep was stopped before its levels were chosen",
            hint=f"go on with: wholecurve sweep --resume {folder}",
        )
    found = recompute_campaign(folder, tell if sys.stderr.isatty() else lambda _: None)
    if as_json:
        _print_json(recomputed_json(found, folder.resolve().name))
    else:
        for line in recomputed_lines(found, folder):
            print(printable(line))
    return 0 if found.same else 1


def recomputed_json(found: CampaignAgain, name: str) -> dict[str, Any]:
    """Everything that was found, with all differences."""
    return {
        "schema": RECOMPUTED_SCHEMA,
        "campaign": name,
        "figures": found.figures,
        "same": found.same,
        "recomputed_by": __version__,
        "runs": [
            {
                "run": run.source,
                "figures": run.figures,
                "curve_figures": found.curve.by_point.get(run.source, 0),
                "same": run.same,
                "measured_by": run.measured_by or None,
                "error": run.error or None,
                "differences": _listed(run.differences),
            }
            for run in found.runs
        ],
        "curve": {"figures": found.curve.figures, "differences": _listed(found.curve.differences)},
        "reports": {name: {"same": not rows, "differences": _listed(rows)} for name, rows in found.reports.items()},
        "picture_same": found.picture,
        "unfinished": list(found.unfinished),
    }


def _listed(differences: tuple[Difference, ...]) -> list[dict[str, Any]]:
    return [one._asdict() for one in differences]


def recomputed_lines(found: CampaignAgain, folder: Path) -> Iterator[str]:
    """A line for each run and file, the differences below it, and at the end what it comes to."""
    width = max(len(one) for one in ("curve.json", *found.reports, *(run.source for run in found.runs)))
    for run in found.runs:
        if run.error:
            yield f"{run.source:{width}}  cannot be computed again: {run.error}"
            continue
        in_curve = found.curve.by_point.get(run.source)
        more = f" and {in_curve} of the curve" if in_curve else ""
        yield f"{run.source:{width}}  {_told(f'{run.figures:,} figures{more}', run.differences)}"
        yield from difference_lines(run.differences, VALUE_SHOWN)
    yield f"{'curve.json':{width}}  {_told(f'{found.curve.figures:,} figures', found.curve.differences)}"
    yield from difference_lines(found.curve.differences, VALUE_SHOWN)
    for name, rows in found.reports.items():
        yield f"{name:{width}}  {_told('made again', rows, 'byte for byte')}"
        yield from difference_lines(rows, VALUE_SHOWN)
    if found.picture is not None:
        said = "the same bytes" if found.picture else "other bytes: another drawing, or other fonts on this machine"
        yield f"{'report.png':{width}}  drawn again: {said}"
    for source in found.unfinished:
        yield f"{source:{width}}  did not come to its end: it has no figures, and no part in the curve"
    yield from _verdict(found, folder)


def _told(what: str, differences: tuple[Difference, ...], how: str = "digit by digit") -> str:
    wrong = len(differences)
    return f"{what}: as stored, {how}" if not wrong else f"{what}: {wrong:,} differ{'s' if wrong == 1 else ''}"


def _verdict(found: CampaignAgain, folder: Path) -> Iterator[str]:
    runs = f"{len(found.runs)} run{'s' if len(found.runs) != 1 else ''}"
    head = f"{found.figures:,} figures of {runs} computed again from the records of {folder}"
    if found.same:
        yield f"{head}: all as stored, digit by digit, and the reports byte for byte"
        return
    wrong = sum(len(run.differences) + bool(run.error) for run in found.runs) + len(found.curve.differences)
    files = [name for name, rows in found.reports.items() if rows]
    parts = [f"{wrong:,} differ{'s' if wrong == 1 else ''}"] if wrong else []
    parts += [f"{' and '.join(files)} {'is' if len(files) == 1 else 'are'} not what the figures make"] if files else []
    yield f"{head}: {'; '.join(parts)}"
    if files and not wrong:
        yield f"  made anew by: wholecurve report {folder}"
    others = sorted({run.measured_by for run in found.runs if run.measured_by} - {__version__})
    if others:
        versions = f"measured by version {', '.join(others)}, computed again by {__version__}"
        yield f"  {versions}: a definition may have changed"


def _print_json(document: Mapping[str, Any]) -> None:
    import orjson

    sys.stdout.write(orjson.dumps(document, option=orjson.OPT_INDENT_2).decode() + "\n")
