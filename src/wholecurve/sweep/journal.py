"""journal.jsonl: what was done, in order, one JSON object a line, on disk before the next step begins.

A line is {"at": ISO time, "event": name, ...}. A crash can tear the last line only: whoever reads leaves it out and
says so, and whoever writes on moves its text into a `mended` line, so that nothing vanishes. Anything else that is no
JSON object is damage that no crash makes, and is refused with its line.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from io import RawIOBase
from pathlib import Path
from typing import Any, Final

import orjson

from wholecurve.model.errors import InputError
from wholecurve.model.strict_json import dumps_strict
from wholecurve.sweep.files import disk_error, only_one

JOURNAL_FILE: Final = "journal.jsonl"
MOST_BYTES: Final = 64 << 20

EVENTS: Final = (
    "created", "planned", "resumed", "mended", "probe", "trial", "c_max", "point_started", "point_ended", "set_aside",
    "endpoint_gone", "endpoint_back", "changed", "finished", "interrupted",
)  # fmt: skip
"""Everything a journal may say."""

Entry = dict[str, Any]


@dataclass(frozen=True, slots=True)
class JournalText:
    """A journal as read. torn: text of a last line that a crash cut, "" if there is none. whole: bytes before it."""

    entries: tuple[Entry, ...]
    torn: str = ""
    whole: int = 0


def read_journal(path: Path) -> JournalText:
    """All entries of a journal; none if there is no file. InputError, with the line, for damage inside."""
    try:
        data = path.read_bytes() if path.exists() else b""
    except OSError as error:
        raise InputError(f"{path.name} cannot be read: {error.strerror}") from None
    if len(data) > MOST_BYTES:
        raise InputError(f"wanted a journal of at most {MOST_BYTES >> 20} MiB, got more", where=path.name)
    lines = data.split(b"\n")
    entries: list[Entry] = []
    whole = 0
    for number, line in enumerate(lines, 1):
        entry = _entry(line) if line.strip() else None
        if entry is not None:
            entries.append(entry)
        elif line.strip():
            if number == len(lines):
                return JournalText(tuple(entries), line.decode("utf-8", "replace"), whole)
            raise InputError(
                "wanted a JSON object with `at` and `event`, got something else",
                where=f"{path.name}:{number}",
                hint="No crash leaves this behind: was the file edited? Mend or remove the line.",
            )
        whole += len(line) + 1
    return JournalText(tuple(entries), "", min(whole, len(data)))


def _entry(line: bytes) -> Entry | None:
    try:
        found = orjson.loads(line)
    except orjson.JSONDecodeError:
        return None
    fine = isinstance(found, dict) and isinstance(found.get("at"), str) and isinstance(found.get("event"), str)
    return found if fine else None


class Journal:
    """The journal of a campaign that is being written; `open_journal` makes it. `entries` holds every line so far."""

    def __init__(self, path: Path, wall: Callable[[], str], found: JournalText) -> None:
        self._path = path
        self._wall = wall
        self.entries: list[Entry] = list(found.entries)

    def note(self, event: str, **facts: Any) -> Entry:
        """Append a line and wait until it is on disk. Raises MeasureError if it cannot be written."""
        assert event in EVENTS, event
        entry: Entry = {"at": self._wall(), "event": event, **facts}
        line = orjson.dumps(orjson.loads(dumps_strict(entry))) + b"\n"
        try:
            # Unbuffered: a buffer would write what a full disk refused once more when it is closed.
            with self._path.open("ab", buffering=0) as file:
                start = file.tell()
                try:
                    _write_all(file, line)
                    os.fsync(file.fileno())
                except OSError:
                    self._cut(start)
                    raise
        except OSError as error:
            raise disk_error(error, self._path.name) from None
        self.entries.append(entry)
        return entry

    def _cut(self, length: int) -> None:
        """A line that a full disk let in by half must not stand before the next one."""
        with suppress(OSError):  # then it is a torn last line, which a reader knows
            os.truncate(self._path, length)

    def last(self, *events: str) -> Mapping[str, Any] | None:
        """The last entry of these events."""
        return next((entry for entry in reversed(self.entries) if entry["event"] in events), None)


def _write_all(file: RawIOBase, data: bytes) -> None:
    """A raw file may take a part only."""
    while data:
        data = data[file.write(data) or 0 :]


@contextmanager
def open_journal(folder: Path, wall: Callable[[], str], say: Callable[[str], None]) -> Iterator[Journal]:
    """The journal of a campaign folder, for this process alone. wall: the time now, ISO 8601 with its zone.

    InputError if another sweep is at work there, or for a damaged journal. A torn last line is mended, and said.
    """
    with only_one(folder):
        path = folder / JOURNAL_FILE
        found = read_journal(path)
        journal = Journal(path, wall, found)
        _mend(path, found, journal, say)
        yield journal


def _mend(path: Path, found: JournalText, journal: Journal, say: Callable[[str], None]) -> None:
    try:
        if found.torn:
            say(
                f"the last line of {path.name} was cut by a crash; it is left out, and its text is kept in the next one"
            )
            os.truncate(path, found.whole)
            journal.note("mended", torn=found.torn)
        elif found.entries and not path.read_bytes().endswith(b"\n"):
            with path.open("ab") as file:  # the last line is whole, but for its end
                file.write(b"\n")
    except OSError as error:
        raise disk_error(error, path.name) from None
