"""The curve as a picture. The only file that knows resvg; it is imported when the first picture is made.

resvg draws text with the machine's fonts only, and leaves it out silently where it finds none for the family that is
asked for. So a family is taken only after a letter of it was seen in a drawing, and each character of a strange script
is tried too: what no font has is written as its code. Without any font, SetupError says what to install.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from itertools import chain
from pathlib import Path
from typing import Any, Final

from wholecurve.chart import DARK, LIGHT, Figure, text
from wholecurve.model.errors import InputError, SetupError
from wholecurve.report.campaign_figures import curve_figure
from wholecurve.report.campaign_view import CampaignView
from wholecurve.report.fonts import families_in, family_of

FAMILIES: Final[tuple[str, ...]] = (
    "DejaVu Sans", "Liberation Sans", "Noto Sans", "Roboto", "Inter", "Open Sans", "Ubuntu", "Cantarell", "FreeSans",
    "Nimbus Sans", "Arial", "Helvetica", "Helvetica Neue", "Segoe UI", "Verdana", "Tahoma", "Lucida Grande",
    "DejaVu Serif", "Liberation Serif", "Noto Serif", "Times New Roman", "DejaVu Sans Mono", "Liberation Mono",
    "Noto Sans Mono", "Courier New",
)  # fmt: skip
"""Fonts that machines have, the most readable on a chart first."""

THEMES: Final[Mapping[str, tuple[str, str, tuple[str, ...]]]] = {
    "light": ("#ffffff", "#17202b", LIGHT),
    "dark": ("#1a2029", "#e7ebf0", DARK),
}
"""Ground, ink and tones of the series."""

MARGIN: Final[int] = 18
HEAD, FOOT = 30, 22
LARGEST_SCALE: Final[float] = 8.0
UNKNOWN: Final = "&#x10fffd;"
"""A private character that no font has: what resvg draws for it stands for any that is missing."""

NO_FONT: Final = "install a font, such as the package fonts-dejavu-core; report.html shows the same chart without one"


def curve_svg(view: CampaignView, *, theme: str = "light") -> str:
    """The primary chart as a file of its own: what was measured above it, status and source below it.

    Raises InputError for a theme other than `light` or `dark`.
    """
    return _sheet(view, curve_figure(view), theme)


def curve_png(
    view: CampaignView, *, theme: str = "light", scale: float = 2.0, fonts: Sequence[str | Path] = ()
) -> bytes:
    """The same as PNG. scale: pixels per unit of the drawing, up to 8. fonts: files to use instead of the machine's.

    Raises InputError for another theme or a scale that makes no sense, SetupError without a font that can be used.
    """
    import resvg_py

    if not 0 < scale <= LARGEST_SCALE:
        raise InputError(f"wanted a scale above 0 and up to {LARGEST_SCALE:g}, got {scale!r}")
    svg = curve_svg(view, theme=theme)
    files = tuple(str(file) for file in fonts)
    family = _family(files)
    for char in sorted({char for char in svg if ord(char) > 0x7F}):
        if not _draws(char, family, files):
            svg = svg.replace(char, f"\\u{ord(char):04x}")
    return bytes(resvg_py.svg_to_bytes(svg_string=svg, zoom=scale, **_options(family, files)))


def _sheet(view: CampaignView, figure: Figure, theme: str) -> str:
    if theme not in THEMES:
        raise InputError(f"wanted one of the themes {', '.join(THEMES)}, got {theme!r}")
    ground, ink, tones = THEMES[theme]
    inner = figure.svg()
    for old, new in zip(LIGHT, tones, strict=True):
        inner = inner.replace(f'"{old}"', f'"{new}"')
    width, height = figure.width + 2 * MARGIN, figure.height + 2 * MARGIN + HEAD + FOOT
    at = f'<svg x="{MARGIN}" y="{MARGIN + HEAD}" width="{figure.width}" height="{figure.height}" '
    chart = inner.replace("<svg ", at, 1)
    subject = dict(view.subject)
    below = f"{view.status} · campaign {view.state} · rules {subject['rules']} · measured with wholecurve"
    return "\n".join(
        (
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" viewBox="0 0 {width} {height}" '
            f'font-family="system-ui, sans-serif" font-size="12" fill="{ink}" color="{ink}">',
            f'<rect width="{width}" height="{height}" fill="{ground}"/>',
            _line(MARGIN, MARGIN + 14, f"{view.title} · {view.model} · {view.benchmark}", figure.width, size=16),
            chart,
            _line(MARGIN, height - MARGIN + 2, below, figure.width, size=11),
            "</svg>",
        )
    )


def _line(x: float, y: float, said: str, width: float, *, size: int) -> str:
    """A line of text, cut where it would leave the picture."""
    room = int(width / (size * (0.66 if size > 12 else 0.58)))
    shown = said if len(said) <= room else said[: room - 1] + "…"
    weight = ' font-weight="600"' if size > 12 else ""
    return f'<text x="{x}" y="{y}" font-size="{size}"{weight}>{text(shown)}</text>'


def _options(family: str, files: Sequence[str]) -> dict[str, Any]:
    own: dict[str, Any] = {"skip_system_fonts": True, "font_files": list(files)} if files else {}
    return {"font_family": family, "sans_serif_family": family, **own}


@lru_cache(maxsize=8)
def _family(files: tuple[str, ...]) -> str:
    """The first family of which a letter can be drawn: of these files, else of the usual ones, else of any there is."""
    asked = (family_of(Path(file)) for file in files)
    families = (one for one in asked if one) if files else chain(FAMILIES, families_in())
    found = next((family for family in families if _draws("M", family, files)), None)
    if found is None:
        where = "in the files named" if files else "on this machine"
        raise SetupError(f"no font was found {where}, and a picture without its labels says nothing", hint=NO_FONT)
    return found


@lru_cache(maxsize=2048)
def _draws(char: str, family: str, files: tuple[str, ...] = ()) -> bool:
    """Whether some font has the character: it leaves a mark, and another than one that no font has. Spaces need not."""
    drawn, blank, unknown = (_drawing(one, family, files) for one in (f"&#{ord(char)};", "", UNKNOWN))
    return char.isspace() or drawn not in (blank, unknown)


def _drawing(said: str, family: str, files: tuple[str, ...]) -> bytes:
    import resvg_py

    svg = (
        '<svg xmlns="http://www.w3.org/2000/svg" width="24" height="24"><rect width="24" height="24" fill="#fff"/>'
        f'<text x="2" y="20" font-size="16" font-family="{family}">{said}</text></svg>'
    )
    return bytes(resvg_py.svg_to_bytes(svg_string=svg, **_options(family, files)))
