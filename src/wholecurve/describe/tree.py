"""Reads the pseudo-files of a host below a root, so that a fixture folder can stand in for the machine."""

from __future__ import annotations

import io
import os
import subprocess
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

MOST_BYTES: Final = 4 << 20
PIECE: Final = 1 << 14
TIMEOUT_S: Final = 10
KEPT_VARIABLES: Final = ("PATH", "LD_LIBRARY_PATH")
"""All that a tool gets of the environment: where programs and vendors' libraries are."""

Run = Callable[[Sequence[str]], str | None]
"""Runs a tool: its output, or None if it is not there, fails or takes too long."""


@dataclass(frozen=True, slots=True)
class Tree:
    """Files below `root`, by their usual names without the leading slash. What cannot be read is None."""

    root: Path

    def text(self, name: str) -> str | None:
        """The content without blanks around it; None if it is not there, not readable or too large."""
        try:
            with (self.root / name).open("rb", buffering=0) as file:
                data = _pieces(file)
        except OSError:
            return None
        return None if len(data) > MOST_BYTES else data.decode("utf-8", "replace").strip()

    def number(self, name: str) -> int | None:
        """The content as a whole number, decimal or 0x; None if it is none."""
        text = self.text(name) or ""
        try:
            return int(text, 0) if len(text) < 20 else None
        except ValueError:
            return int(text) if text.isascii() and text.lstrip("-").isdecimal() else None

    def names(self, folder: str) -> list[str]:
        """Names in a folder, sorted; none if it is not there."""
        try:
            return sorted(entry.name for entry in os.scandir(self.root / folder))
        except OSError:
            return []

    def exists(self, name: str) -> bool:
        """Whether the file or folder is there."""
        try:
            return (self.root / name).exists()
        except OSError:
            return False

    def link_name(self, name: str) -> str | None:
        """The last part of what a symbolic link leads to, such as the name of a driver; None if it is no link."""
        try:
            return os.path.basename(os.readlink(self.root / name))
        except OSError:
            return None

    def lines(self, name: str) -> Iterator[str]:
        """The lines of a text file."""
        yield from (self.text(name) or "").splitlines()


def _pieces(file: io.FileIO) -> bytes:
    """The content, a little more than MOST_BYTES at most. In small pieces: the kernel refuses large reads of some."""
    data = bytearray()
    while len(data) <= MOST_BYTES and (piece := file.read(PIECE)):
        data += piece
    return bytes(data)


def run_tool(argv: Sequence[str]) -> str | None:
    """Runs a vendor's tool with a minimal environment in the C locale, for at most TIMEOUT_S. Never as another user."""
    environment = {name: os.environ[name] for name in KEPT_VARIABLES if name in os.environ} | {"LC_ALL": "C"}
    try:
        child = subprocess.Popen(
            list(argv),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=environment,
            cwd="/",
            start_new_session=True,
        )
    except OSError:
        return None  # not there
    with child:
        try:
            out, _ = child.communicate(timeout=TIMEOUT_S)
        except subprocess.TimeoutExpired:
            _kill_group(child)
            return None
    if child.returncode != 0 or len(out) > MOST_BYTES:
        return None
    return out.decode("utf-8", "replace")


def _kill_group(child: subprocess.Popen[bytes]) -> None:
    """The tool and whatever it started."""
    try:
        os.killpg(child.pid, 9)
    except OSError:
        child.kill()
