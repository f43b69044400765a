"""The curve as a picture: text is really there, themes differ, a machine without fonts is told."""

from __future__ import annotations

import dataclasses
import struct
import xml.etree.ElementTree as ET
import zlib
from pathlib import Path

import pytest
from campaign_build import made
from report_build import HOSTILE
from test_campaign_html import CASES, case

from wholecurve.model.errors import InputError, SetupError
from wholecurve.report import curve_png, curve_svg
from wholecurve.report.fonts import FOLDERS, families_in, family_of
from wholecurve.report.png import _draws, _family

SVG = "{http://www.w3.org/2000/svg}"
VIEW = made().view()
FONTS = list(families_in())
needs_font = pytest.mark.skipif(not FONTS, reason="this machine has no font")


def size(png: bytes) -> tuple[int, int]:
    assert png.startswith(b"\x89PNG\r\n\x1a\n")
    width, height = struct.unpack(">II", png[16:24])
    return width, height


def pixels(png: bytes) -> bytes:
    """The filtered rows, enough to see whether two pictures differ."""
    data, at = b"", 8
    while at < len(png):
        (length,) = struct.unpack(">I", png[at : at + 4])
        if png[at + 4 : at + 8] == b"IDAT":
            data += png[at + 8 : at + 8 + length]
        at += 12 + length
    return zlib.decompress(data)


@pytest.mark.parametrize("name", CASES)
def test_the_file_is_whole_svg_of_its_own(name: str) -> None:
    root = ET.fromstring(curve_svg(case(name).view()))
    assert root.tag == f"{SVG}svg"
    texts = [one.text or "" for one in root.iter(f"{SVG}text")]
    assert any("unverified, local" in text and "campaign" in text for text in texts), "the status goes with the picture"


def test_themes_differ_in_ground_ink_and_tones() -> None:
    light, dark = curve_svg(VIEW), curve_svg(VIEW, theme="dark")
    assert '"#1f5fa8"' in light
    assert '"#1f5fa8"' not in dark
    assert '"#7db4f5"' in dark
    with pytest.raises(InputError, match="themes light, dark"):
        curve_svg(VIEW, theme="sepia")


@needs_font
def test_the_picture_has_the_size_asked_for_and_text_in_it() -> None:
    once, twice = curve_png(VIEW, scale=1.0), curve_png(VIEW, scale=2.0)
    assert size(twice) == tuple(2 * side for side in size(once))
    renamed = dataclasses.replace(VIEW, title="Another system, of another name")
    assert pixels(curve_png(renamed, scale=1.0)) != pixels(once), "the title is drawn"
    assert pixels(curve_png(VIEW, scale=1.0, theme="dark")) != pixels(once)


@needs_font
def test_characters_no_font_has_become_their_code() -> None:
    family = _family(())
    missing = "\U00013000"  # a hieroglyph; if some font has even this, nothing needs to be replaced
    if _draws(missing, family):
        pytest.skip("a font here has every script")
    strange = dataclasses.replace(VIEW, title=f"x{missing}")
    coded = dataclasses.replace(VIEW, title="x\\u13000")
    assert pixels(curve_png(strange, scale=1.0)) == pixels(curve_png(coded, scale=1.0))


@needs_font
def test_hostile_names_make_a_picture() -> None:
    assert size(curve_png(made((1, 4), text=HOSTILE).view(), scale=1.0))[0] > 600


def test_without_a_font_that_can_be_used_one_is_told_what_to_do(tmp_path: Path) -> None:
    """What resvg does by itself: it leaves all text out and says nothing."""
    for data in (b"no font", font("Named Only".encode("utf-16-be"))):
        file = tmp_path / f"{len(data)}.ttf"
        file.write_bytes(data)
        with pytest.raises(SetupError, match="no font was found in the files named") as caught:
            curve_png(VIEW, fonts=[file])
        assert "fonts-dejavu-core" in (caught.value.hint or "")


@needs_font
def test_a_font_can_be_named_by_its_file() -> None:
    files = [path for folder in FOLDERS for path in sorted(Path(folder).expanduser().rglob("*.ttf"))]
    file = next((path for path in files if "Mono" in path.name), None)
    if file is None:
        pytest.skip("this machine has no font of another look")
    assert pixels(curve_png(VIEW, scale=1.0, fonts=[file])) != pixels(curve_png(VIEW, scale=1.0))


@pytest.mark.parametrize("scale", [0, -1, 9, float("nan"), float("inf")])
def test_a_scale_that_makes_no_sense_is_refused(scale: float) -> None:
    with pytest.raises(InputError, match="scale above 0"):
        curve_png(VIEW, scale=scale)


def font(family: bytes, platform: int = 3) -> bytes:
    """A TrueType file with nothing in it but a name of its family."""
    name = struct.pack(">HHH", 0, 1, 18) + struct.pack(">6H", platform, 1, 0x409, 1, len(family), 0) + family
    return struct.pack(">IHHHH", 0x00010000, 1, 16, 0, 0) + b"name" + struct.pack(">III", 0, 28, len(name)) + name


def test_families_are_read_from_the_files(tmp_path: Path) -> None:
    (tmp_path / "a.ttf").write_bytes(font("Tiny Sans".encode("utf-16-be")))
    (tmp_path / "b.OTF").write_bytes(font(b"Tiny Serif", platform=1))
    (tmp_path / "c.ttf").write_bytes(font("Tiny Sans".encode("utf-16-be")))
    (tmp_path / "d.ttf").write_bytes(b"no font")
    (tmp_path / "e.ttf").write_bytes(font('"><x'.encode("utf-16-be")))
    (tmp_path / "f.ttf").write_bytes(font("Tiny".encode("utf-16-be"))[:40])
    (tmp_path / "g.txt").write_bytes(font("Other".encode("utf-16-be")))
    collection = font("Tiny Mono".encode("utf-16-be"))
    shifted = collection[:20] + struct.pack(">I", 28 + 16) + collection[24:]
    (tmp_path / "h.ttc").write_bytes(b"ttcf" + struct.pack(">III", 0x10000, 1, 16) + shifted)
    assert list(families_in([tmp_path, tmp_path / "not there"])) == ["Tiny Sans", "Tiny Serif", "Tiny Mono"]
    assert family_of(tmp_path / "missing.ttf") is None


@needs_font
def test_a_font_outside_the_usual_list_is_found_too() -> None:
    """What `families_in` names can be drawn with, so that a machine with one strange font makes pictures."""
    assert any(_draws("M", family) for family in FONTS)
    assert FOLDERS
