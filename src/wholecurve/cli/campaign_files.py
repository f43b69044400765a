"""What a campaign's folder shows beside its runs: curve.json and the reports, made anew from the run folders."""

from __future__ import annotations

from pathlib import Path

from wholecurve.model.errors import SetupError
from wholecurve.run.files import write_atomically

HTML, TEXT, PICTURE = "report.html", "report.txt", "report.png"


def write_campaign_files(folder: Path, *, html: Path | None = None, picture: Path | None = None) -> tuple[str, ...]:
    """curve.json, report.html and report.txt, and report.png where this machine has a font. What went wrong, in words.

    html, picture: other places for the page and the picture. Raises InputError for a folder that is no campaign,
    MeasureError if a file cannot be written.
    """
    from wholecurve.report import campaign_html, campaign_text, curve_png, view_of
    from wholecurve.results import load_campaign, write_curve

    write_curve(folder)
    view = view_of(load_campaign(folder))
    write_atomically(html or folder / HTML, campaign_html(view).encode())
    write_atomically(folder / TEXT, campaign_text(view).encode())
    try:
        write_atomically(picture or folder / PICTURE, curve_png(view))
    except SetupError as error:
        return (f"no {PICTURE}: {error.message}",)
    return ()


def print_campaign(folder: Path) -> None:
    """The campaign's report on stdout, as wide as the terminal."""
    import sys

    from rich.console import Console

    from wholecurve.report import show_campaign, view_of
    from wholecurve.results import load_campaign

    show_campaign(view_of(load_campaign(folder)), Console(file=sys.stdout, highlight=False), f"{folder}/")
