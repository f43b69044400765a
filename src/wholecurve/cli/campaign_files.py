"""What a campaign's folder shows beside its runs: curve.json and the reports, made anew from the run folders."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from wholecurve.cli.outputs import write_named
from wholecurve.model.errors import SetupError
from wholecurve.run.files import write_atomically

if TYPE_CHECKING:
    from wholecurve.report import CampaignView
    from wholecurve.results import Campaign

HTML, TEXT, PICTURE = "report.html", "report.txt", "report.png"


def read_campaign(folder: Path) -> Campaign:
    """The campaign of a folder, also of one whose sweep was stopped before its levels were chosen. InputError."""
    from wholecurve.results import is_begun, load_begun, load_campaign

    return load_begun(folder) if is_begun(folder) else load_campaign(folder)


def write_campaign_files(
    folder: Path, *, html: Path | None = None, picture: Path | None = None, campaign: Campaign | None = None
) -> tuple[str, ...]:
    """curve.json, report.html and report.txt, and report.png where this machine has a font. What went wrong, in words.

    html, picture: other places for the page and the picture. campaign: what was read of the folder just now. Without
    levels there is no curve, and no picture of one. Raises InputError for a folder that is no campaign, MeasureError
    if a file cannot be written.
    """
    from wholecurve.report import campaign_html, campaign_text, curve_png, view_of
    from wholecurve.results import is_campaign, write_curve

    found = campaign or read_campaign(folder)
    view = view_of(found)
    if is_campaign(folder):
        write_curve(folder, found)
    inside = html is None or html.resolve().parent == folder.resolve()
    _write(folder / HTML, html, campaign_html(view, links=inside).encode())
    write_atomically(folder / TEXT, campaign_text(view).encode())
    if not is_campaign(folder):
        return () if picture is None else ("no picture: there is no curve yet",)
    try:
        _write(folder / PICTURE, picture, curve_png(view))
    except SetupError as error:
        return (f"no {PICTURE}: {error.message}",)
    return ()


def _write(usual: Path, asked: Path | None, data: bytes) -> None:
    """To its usual place, or to the file that the user named. MeasureError names it as the user did."""
    if asked is None:
        write_atomically(usual, data)
        return
    write_named(asked, data)


def print_campaign(folder: Path, view: CampaignView | None = None) -> None:
    """The campaign's report on stdout, as wide as the terminal. view: of that folder, if there is one already."""
    import sys

    from rich.console import Console

    from wholecurve.report import show_campaign, view_of

    shown = view or view_of(read_campaign(folder))
    show_campaign(shown, Console(file=sys.stdout, highlight=False), f"{folder}/")
