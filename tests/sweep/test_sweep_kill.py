"""SIGKILL in the middle of a point, and resume: nothing lost, nothing measured twice in silence."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from sweep_build import campaign, tree

from wholecurve.sweep import read_journal

SCRIPT = Path(__file__).with_name("sweep_script.py")
ORDER = [str(slot) for slot in campaign(repeats=2).order]


def start(folder: Path, slot: str) -> subprocess.Popen[str]:
    environ = {**os.environ, "PYTHONPATH": str(SCRIPT.parent)}
    return subprocess.Popen([sys.executable, SCRIPT, folder, slot], stdout=subprocess.PIPE, text=True, env=environ)


def kill_in(folder: Path, slot: str) -> None:
    process = start(folder, slot)
    try:
        assert process.stdout is not None
        assert process.stdout.readline() == f"in {slot}\n"
    finally:
        process.kill()
        process.communicate(timeout=20)
    assert process.returncode == -9


def finish(folder: Path) -> list[str]:
    process = start(folder, "")
    out, _ = process.communicate(timeout=30)
    assert process.returncode == 0
    return out.split()[1:]


@pytest.mark.parametrize("place", [0, 3, 6])
def test_a_killed_sweep_ends_with_the_same_set_of_valid_points(tmp_path: Path, place: int) -> None:
    slot = ORDER[place]
    kill_in(tmp_path, slot)
    measured = finish(tmp_path)
    assert measured == ORDER[place:], "what was valid is not measured again"
    entries = read_journal(tmp_path / "journal.jsonl").entries
    valid = [f"{one['folder']}" for one in entries if one["event"] == "point_ended" and one["valid"]]
    assert sorted(valid) == sorted(path for path in tree(tmp_path) if not path.startswith("attempts"))
    assert len(valid) == len(ORDER) == len(set(valid))
    (aside,) = (one for one in entries if one["event"] == "set_aside")
    assert (aside["to"], aside["why"]) == (f"attempts/{slot}-1", "it was cut off")
    assert (tmp_path / aside["to"] / "records/rows-0.journal").read_bytes() == b"half a row"
    assert [one["event"] for one in entries].count("resumed") == 1
    (again,) = (one for one in entries if one["event"] == "point_started" and "again" in one)
    assert again["attempt"] == 2


def test_killed_twice_in_the_same_point(tmp_path: Path) -> None:
    slot = ORDER[2]
    kill_in(tmp_path, slot)
    kill_in(tmp_path, slot)
    assert finish(tmp_path) == ORDER[2:]
    assert [path for path in tree(tmp_path) if path.startswith("attempts")] == [
        f"attempts/{slot}-1",
        f"attempts/{slot}-2",
    ]


def test_a_crash_in_the_middle_of_a_journal_line(tmp_path: Path) -> None:
    slot = ORDER[1]
    kill_in(tmp_path, slot)
    path = tmp_path / "journal.jsonl"
    data = path.read_bytes()
    path.write_bytes(data[: len(data) - 15])  # the start of the point never came to the disk whole
    assert finish(tmp_path) == ORDER[1:]
    entries = read_journal(path).entries
    assert [one["event"] for one in entries].count("mended") == 1
    aside = next(one for one in entries if one["event"] == "set_aside")
    assert "does not know" in aside["why"]
