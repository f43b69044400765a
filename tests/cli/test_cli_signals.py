"""Ctrl-C once and twice, SIGTERM, kill -9: files are written, the state is honest, the exit code too."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path

import pytest
from cli_console import FILES, USAGE, begin, console, end, files_of, run_flags, summary, wait_until

from wholecurve.testing import Hang, ScriptedServer, in_turn, sse_answer

GOOD = sse_answer(["a", "b"], usage=USAGE)
SLOW = sse_answer(["a", "b"], first_s=0.5, usage=USAGE)
STUCK = [*sse_answer(["a"], done=False, finish_reason=None)[:-1], Hang()]


def test_once_drains(tmp_path: Path) -> None:
    """What is in flight is answered and counts; nothing more is sent."""
    with ScriptedServer(in_turn(GOOD, GOOD, SLOW)) as server:
        child = begin(*run_flags(server.url, tmp_path, rows=50), cwd=tmp_path)
        wait_until(lambda: len(server.requests) >= 4)
        child.send_signal(signal.SIGINT)
        done = end(child)
        sent = len(server.requests)
    assert done.code == 130
    assert "interrupted: stopped by the user" in done.errors()
    found = summary(tmp_path / "out")
    assert found["state"] == "interrupted"
    assert 4 <= sent <= 6
    assert found["outcomes"]["succeeded"] == found["outcomes"]["sent"] == sent
    assert set(FILES) <= files_of(tmp_path / "out")


@pytest.mark.parametrize(
    ("signals", "reason"),
    [
        ([signal.SIGINT, signal.SIGINT], "stopped by the user"),
        ([signal.SIGTERM], "stopped by SIGTERM"),
    ],
    ids=["SIGINT twice", "SIGTERM"],
)
def test_stop_now_keeps_what_was_measured(signals: list[signal.Signals], reason: str, tmp_path: Path) -> None:
    with ScriptedServer(in_turn(GOOD, GOOD, STUCK)) as server:
        child = begin(*run_flags(server.url, tmp_path, rows=50), cwd=tmp_path)
        wait_until(lambda: len(server.requests) >= 4)
        for one in signals:
            child.send_signal(one)
            # Two signals of one kind that are pending at once are one: let the first be seen.
            wait_until(lambda: not _pending(child.pid))
        done = end(child)
    assert done.code == 130
    assert f"interrupted: {reason}" in done.errors()
    found = summary(tmp_path / "out")
    assert found["state"] == "interrupted"
    assert found["outcomes"]["succeeded"] == 2
    assert found["outcomes"]["cancelled"] == 2
    assert found["outcomes"]["sent"] == 4
    assert set(FILES) <= files_of(tmp_path / "out")


def _pending(pid: int) -> bool:
    """Whether a signal waits to be handled."""
    try:
        lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    except OSError:
        return False
    return any(line.startswith(("SigPnd", "ShdPnd")) and int(line.split()[1], 16) for line in lines)


def test_a_killed_run_is_finished_by_report(tmp_path: Path) -> None:
    """REP-3: kill -9; a later command summarises what is there."""
    with ScriptedServer(in_turn(*[GOOD] * 10, STUCK)) as server:
        child = begin(*run_flags(server.url, tmp_path, rows=50), cwd=tmp_path, start_new_session=True)
        wait_until(lambda: len(server.requests) >= 12)
        out = tmp_path / "out"
        # At most the last two seconds may be lost: wait until the ten answers are on disk.
        wait_until(lambda: any(path.stat().st_size for path in (out / "records").glob("*")))
        time.sleep(2.2)
        os.killpg(child.pid, signal.SIGKILL)
        assert end(child).code == -signal.SIGKILL
    assert not (out / "performance").exists()
    done = console("report", "out", cwd=tmp_path)
    assert done.code == 1, done.err
    found = summary(out)
    assert found["state"] == "interrupted"
    assert found["outcomes"]["succeeded"] == 10
    assert "recovering out" in done.err
    assert set(FILES) <= files_of(out)
    assert console("report", "out", cwd=tmp_path).code == 1, "a second time shows it again; it is still not valid"
    checked = console("report", "out", "--recompute", cwd=tmp_path)
    assert (checked.code, checked.err) == (0, "")
    assert "all as stored" in checked.out
