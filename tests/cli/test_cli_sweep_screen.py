"""The display of a sweep on a terminal: it fits, is drawn in place, draws the curve, and leaves nothing behind."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import select
import signal
import struct
import subprocess
import termios
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from cli_sweep import Place, alive, endpoint, flags

TWO = ("--points", "3,5", "--offline", "none")
CODE = re.compile(r"\x1b\[([?0-9;]*)([A-Za-z])")
STILL_S = 0.05


class Terminal:
    """As much of a terminal as the display needs. It refuses every control sequence that it does not know."""

    def __init__(self, columns: int, rows: int) -> None:
        self.columns, self.rows = columns, rows
        self.lines: list[str] = [""]
        self.row = self.column = 0

    def feed(self, text: str) -> str:
        """Take text; what is left of a sequence that is not whole yet."""
        place = 0
        while place < len(text):
            letter = text[place]
            if letter == "\x1b":
                found = CODE.match(text, place)
                if found is None:
                    assert len(text) - place < 12, repr(text[place : place + 20])
                    return text[place:]
                self.control(found.group(1), found.group(2))
                place = found.end()
                continue
            if letter == "\n":
                self.row += 1
                self.lines += [""] * (self.row + 1 - len(self.lines))
            elif letter == "\r":
                self.column = 0
            else:
                assert letter.isprintable(), repr(letter)
                if self.column == self.columns:
                    self.row, self.column = self.row + 1, 0
                    self.lines += [""] * (self.row + 1 - len(self.lines))
                line = self.lines[self.row].ljust(self.column)
                self.lines[self.row] = line[: self.column] + letter + line[self.column + 1 :]
                self.column += 1
            place += 1
        return ""

    def control(self, numbers: str, kind: str) -> None:
        if kind == "A":
            self.row -= int(numbers or 1)
            assert self.row > len(self.lines) - 1 - self.rows, "the cursor cannot go above the screen"
        elif kind == "K":
            assert numbers == "2"
            self.lines[self.row] = ""
        else:
            assert kind == "m" or numbers == "?25", (numbers, kind)

    @property
    def screen(self) -> str:
        return "\n".join(self.lines[-self.rows :])


@pytest.fixture
def url() -> Iterator[str]:
    with endpoint() as server:
        yield server.url


def watched(
    place: Place, columns: int, rows: int, words: list[str], look: Callable[[str, int], None]
) -> tuple[int, Terminal]:
    """Run a sweep on a terminal; `look` sees the screen whenever it stands still. (exit code, the terminal)"""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
    env = {"TERM": "xterm-256color", "COLUMNS": "", "LINES": ""}
    child = place.begin(*words, env=env, stdin=theirs, stdout=theirs, stderr=theirs)
    os.close(theirs)
    terminal = Terminal(columns, rows)
    held, data = "", b""
    deadline = time.monotonic() + 50
    try:
        while time.monotonic() < deadline:
            ready, _, _ = select.select([ours], [], [], STILL_S)
            if not ready:
                look(terminal.screen, child.pid)
                continue
            try:
                data += os.read(ours, 1 << 16)
            except OSError:
                break
            text = data.decode("utf-8", "ignore")
            data = data[len(text.encode()) :]
            held = terminal.feed(held + text)
    finally:
        if child.poll() is None:
            with_grace(child)
        os.close(ours)
    return child.returncode, terminal


def with_grace(child: subprocess.Popen[str]) -> None:
    try:
        child.wait(10)
    except subprocess.TimeoutExpired:
        child.kill()
        child.wait()


@pytest.mark.parametrize(("columns", "rows"), [(80, 24), pytest.param(120, 40, marks=pytest.mark.slow)])
def test_the_display(columns: int, rows: int, tmp_path: Path, url: str) -> None:
    place = Place(tmp_path)
    seen: list[str] = []
    code, terminal = watched(place, columns, rows, flags(url, points=TWO), lambda screen, _pid: seen.append(screen))
    assert code == 0, terminal.screen
    measuring = [screen for screen in seen if "requests done" in screen]
    assert measuring
    for screen in measuring:
        lines = screen.splitlines()
        heads = [number for number, line in enumerate(lines) if line.startswith("sweep [")]
        assert len(heads) == 1, "drawn in place, once"
        assert re.search(r"gone, (at least|about) .* left$", lines[heads[0] + 1]), screen
        assert " points, r" in lines[heads[0]]
        assert all(len(line) <= columns for line in lines)
    curves = [screen for screen in measuring if "tokens/s of the system" in screen]
    assert curves, "the curve so far"
    last = curves[-1].splitlines()
    start = next(number for number, line in enumerate(last) if "tokens/s of the system" in line)
    assert sum("●" in line for line in last[start:]) >= 1
    assert any("concurrency (log scale)" in line for line in last[start:]), "it fits, with its axis"
    whole = "\n".join(terminal.lines)
    assert not re.search(r"requests done|gone, ", whole), "the display leaves nothing behind"
    assert len(re.findall(r"(?m)^r[35]: valid: [0-9,]+ tokens/s", whole)) == 2
    assert terminal.lines[-2].startswith("the report: out/report.html")
    assert max(map(len, terminal.lines)) <= columns


@pytest.mark.slow
def test_ctrl_c_on_a_terminal(tmp_path: Path) -> None:
    """The display says that answers are waited for; the terminal's signal reaches everything once."""
    place = Place(tmp_path)
    sent: list[int] = []
    seen: list[str] = []
    with endpoint(speed=0.1, to_limit=True) as server:

        def look(screen: str, pid: int) -> None:
            seen.append(screen)
            if (" 3 in flight" in screen or " 5 in flight" in screen) and not sent:
                os.killpg(pid, signal.SIGINT)
                sent.append(pid)

        code, terminal = watched(place, 80, 24, flags(server.url, "--max-tokens", "64", points=TWO), look)
    assert code == 130, terminal.screen
    assert any("stopping: nothing more is sent" in screen for screen in seen)
    assert "go on with: wholecurve sweep --resume out" in terminal.screen
    assert not alive(sent[0])
