"""Names of the fonts on this machine, read from the font files themselves: for machines with none of the usual ones."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from struct import error, unpack_from
from typing import Final

FOLDERS: Final[tuple[str, ...]] = (
    "/usr/share/fonts", "/usr/local/share/fonts", "~/.local/share/fonts", "~/.fonts", "/System/Library/Fonts",
    "/Library/Fonts", "~/Library/Fonts", "C:/Windows/Fonts",
)  # fmt: skip
SUFFIXES: Final = frozenset({".ttf", ".otf", ".ttc"})
MOST_FILES: Final[int] = 200
LARGEST: Final[int] = 1 << 22
"""Only this much of a file is read; its table of names lies near the front or it is passed over."""

_FAMILY: Final = 1
_UTF16: Final = frozenset({0, 3})  # platforms whose names are UTF-16, high byte first


def families_in(folders: Sequence[str | Path] = FOLDERS) -> Iterator[str]:
    """Names of families in these folders, each once, in the order of their paths. Damaged files are passed over."""
    seen: set[str] = set()
    left = MOST_FILES
    for folder in folders:
        for path in _fonts_in(Path(folder).expanduser()):
            if left == 0:
                return
            left -= 1
            family = family_of(path)
            if family and family not in seen:
                seen.add(family)
                yield family


def family_of(path: Path) -> str | None:
    """The name of the family in a TrueType or OpenType file, of a collection its first; None if it cannot be read.

    Source: OpenType specification, tables `ttcf`, `name`.
    """
    try:
        with path.open("rb") as file:
            data = file.read(LARGEST)
        start = unpack_from(">I", data, 12)[0] if data[:4] == b"ttcf" else 0
        (tables,) = unpack_from(">H", data, start + 4)
        for place in range(start + 12, start + 12 + 16 * tables, 16):
            if data[place : place + 4] == b"name":
                return _family(data, unpack_from(">I", data, place + 8)[0])
    except (OSError, error):
        return None
    return None


def _family(data: bytes, table: int) -> str | None:
    count, texts = unpack_from(">HH", data, table + 2)
    for place in range(table + 6, table + 6 + 12 * count, 12):
        platform, _, _, name, length, offset = unpack_from(">6H", data, place)
        if name == _FAMILY:
            raw = data[table + texts + offset : table + texts + offset + length]
            found = raw.decode("utf-16-be" if platform in _UTF16 else "latin-1", "replace")
            return found if found.isprintable() and found and not set('"<>&,;') & set(found) else None
    return None


def _fonts_in(folder: Path) -> Iterator[Path]:
    try:
        yield from sorted(path for path in folder.rglob("*") if path.suffix.lower() in SUFFIXES)
    except OSError:  # a folder that may not be read has no fonts for us
        return
