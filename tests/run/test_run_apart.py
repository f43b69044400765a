"""A piece of work in a process of its own: results, errors, a child that dies, and a caller that does."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from wholecurve.model.errors import InputError, MeasureError
from wholecurve.run.apart import ENDING, Send, apart


def test_what_the_child_says_and_returns() -> None:
    said: list[object] = []

    def work(send: Send) -> int:
        for number in range(1000):
            send("say", {"number": number, "text": "x" * 1000})
        return os.getpid()

    assert apart(work, {"say": said.append}, "r1") != os.getpid()
    assert [one["number"] for one in said] == list(range(1000))  # type: ignore[index]


def test_an_error_of_the_child_is_the_callers() -> None:
    def work(_send: Send) -> None:
        raise InputError("wanted a, got b", where="here", hint="do c")

    with pytest.raises(InputError) as caught:
        apart(work, {}, "r1")
    assert caught.value.lines() == ["wanted a, got b", "  at here", "  do c"]


def test_an_error_that_cannot_travel_is_told_in_words() -> None:
    class Local(Exception):
        pass

    def work(_send: Send) -> None:
        raise Local("odd")

    with pytest.raises(RuntimeError, match="Local: odd"):
        apart(work, {}, "r1")


def test_a_child_that_is_killed() -> None:
    def work(_send: Send) -> None:
        os.kill(os.getpid(), signal.SIGKILL)

    with pytest.raises(MeasureError, match="signal SIGKILL"):
        apart(work, {}, "r1")


def test_the_callers_memory_is_not_touched() -> None:
    kept: list[int] = []

    def work(_send: Send) -> None:
        kept.append(1)

    apart(work, {}, "r1")
    assert kept == []


SIGNALLED = """
import json, os, signal, sys, threading, time
from wholecurve.model.errors import InterruptedRun
from wholecurve.run.apart import ENDING, apart

number, times, how, idle = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3], int(sys.argv[4])
for _ in range(idle):
    threading.Thread(target=time.sleep, args=(1000,), daemon=True).start()
told, groups, ends = [], [], []

def work(send):
    if how == "patient":
        signal.signal(number, lambda _number, _frame: None)
    elif how == "speechless":
        signal.signal(number, signal.SIG_DFL)
    elif how == "plain":
        send("group", os.getpgrp())
    os.kill(os.getppid(), number)
    time.sleep(0.3 if how == "patient" else 30)
    return "whole"

before = [signal.getsignal(one) for one in ENDING]
for _ in range(times):
    try:
        ends.append(apart(work, {"group": groups.append}, "r1", lambda: told.append(1)))
    except InterruptedRun:
        ends.append("interrupted")
print(json.dumps({
    "told": len(told),
    "ends": ends,
    "own_group": os.getpgrp() not in groups,
    "as_before": [signal.getsignal(one) for one in ENDING] == before,
    "blocked": len(signal.pthread_sigmask(signal.SIG_BLOCK, []) & set(ENDING)),
}))
"""


def signalled(number: int, how: str, times: int = 1, idle: int = 0) -> dict[str, object]:
    """A caller in a process of its own, whose child sends it a signal every time: what came of it."""
    done = subprocess.run(
        [sys.executable, "-c", SIGNALLED, str(int(number)), str(times), how, str(idle)],
        capture_output=True,
        stdin=subprocess.DEVNULL,
        timeout=50,
        check=False,
    )
    assert done.returncode == 0, (done.returncode, done.stderr.decode())
    found: dict[str, object] = json.loads(done.stdout)
    return found


def after(*ends: str) -> dict[str, object]:
    """What a caller should say: every signal told once, and nothing of its own changed."""
    return {"told": len(ends), "ends": [*ends], "own_group": True, "as_before": True, "blocked": 0}


@pytest.mark.parametrize("number", ENDING)
def test_a_signal_to_the_caller_alone_is_an_interrupt_in_the_child(number: int) -> None:
    """The terminal's Ctrl-C comes the same way: the child is a group of its own, and hears everything once."""
    assert signalled(number, "plain") == after("interrupted")


def test_a_child_that_finishes_in_spite_of_a_signal_has_its_result() -> None:
    assert signalled(signal.SIGINT, "patient") == after("whole")


def test_a_child_that_a_signal_ends_without_a_word_was_interrupted() -> None:
    assert signalled(signal.SIGTERM, "speechless") == after("interrupted")


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_signal_right_after_the_fork_is_not_another_threads_to_die_of(number: int) -> None:
    """With a thread that has it unblocked, no mask keeps a signal off: handlers have to be there before the fork."""
    assert signalled(number, "at once", times=20, idle=2) == after(*["interrupted"] * 20)


EARLY = """
import os, signal, sys, threading, time
from wholecurve.model.errors import InterruptedRun
from wholecurve.run import apart as module

threading.Thread(target=time.sleep, args=(1000,), daemon=True).start()
real = module.fork

def forked():
    if sys.argv[1] == "before":
        os.kill(os.getpid(), signal.SIGTERM)
    child = real()
    if child and sys.argv[1] == "after":
        os.kill(os.getpid(), signal.SIGTERM)
    return child

module.fork = forked
try:
    print(module.apart(lambda _send: time.sleep(20), {}, "r1"))
except InterruptedRun:
    print("interrupted")
"""


@pytest.mark.parametrize("moment", ["before", "after"])
def test_a_signal_around_the_fork_is_remembered_and_handed_on(moment: str) -> None:
    """The very moments, not by chance: another thread takes the signal while this one has it blocked."""
    done = subprocess.run(
        [sys.executable, "-c", EARLY, moment], capture_output=True, stdin=subprocess.DEVNULL, timeout=15, check=False
    )
    assert (done.returncode, done.stdout.decode().strip()) == (0, "interrupted"), done.stderr.decode()


CALLER = """
import os, signal, sys, time
from pathlib import Path
from wholecurve.run.apart import apart

def on_term(number, frame):
    Path(sys.argv[1], "told").touch()
    raise SystemExit

def work(send):
    signal.signal(signal.SIGTERM, on_term)
    Path(sys.argv[1], "started").write_text(str(os.getpid()))
    time.sleep(60)

apart(work, {}, "r1")
"""


def started(folder: Path) -> tuple[subprocess.Popen[bytes], int]:
    caller = subprocess.Popen([sys.executable, "-c", CALLER, str(folder)], stderr=subprocess.DEVNULL)
    child = folder / "started"
    until(lambda: child.exists() and child.read_text() != "")
    return caller, int(child.read_text())


@pytest.mark.skipif(sys.platform != "linux", reason="the kernel's word to orphans is Linux's")
def test_a_caller_that_is_killed_takes_the_child_with_it(tmp_path: Path) -> None:
    caller, child = started(tmp_path)
    caller.kill()
    caller.wait(10)
    until(lambda: gone(child))
    assert not (tmp_path / "told").exists()


def test_a_caller_that_is_told_to_end_tells_the_child(tmp_path: Path) -> None:
    caller, child = started(tmp_path)
    caller.terminate()
    until((tmp_path / "told").exists)
    caller.wait(10)
    assert gone(child)


def gone(process: int) -> bool:
    try:
        state = Path(f"/proc/{process}/stat").read_text().rsplit(")", 1)[1].split()[0]
    except OSError:
        return True
    return state == "Z"


def until(true: Callable[[], bool]) -> None:
    for _ in range(1000):
        if true():
            return
        time.sleep(0.01)
    raise AssertionError("it never came")
