"""A piece of work in a process of its own: results, errors, a child that dies, and a caller that does."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from wholecurve.model.errors import InputError, InterruptedRun, MeasureError
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


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_to_the_caller_alone_is_an_interrupt_in_the_child(number: int) -> None:
    """The terminal's Ctrl-C comes the same way: the child is a group of its own, and hears everything once."""
    told: list[int] = []

    def work(send: Send) -> None:
        send("group", os.getpgrp())
        os.kill(os.getppid(), number)
        time.sleep(30)

    groups: list[int] = []
    before = [signal.getsignal(one) for one in ENDING]
    with pytest.raises(InterruptedRun):
        apart(work, {"group": groups.append}, "r1", lambda: told.append(1))
    assert told == [1]
    assert groups != [os.getpgrp()]
    assert [signal.getsignal(one) for one in ENDING] == before
    assert not signal.pthread_sigmask(signal.SIG_BLOCK, []) & set(ENDING)


def test_a_child_that_finishes_in_spite_of_a_signal_has_its_result() -> None:
    told: list[int] = []

    def work(_send: Send) -> str:
        signal.signal(signal.SIGINT, lambda _number, _frame: None)
        os.kill(os.getppid(), signal.SIGINT)
        time.sleep(0.3)
        return "whole"

    assert apart(work, {}, "r1", lambda: told.append(1)) == "whole"
    assert told == [1]


def test_a_child_that_a_signal_ends_without_a_word_was_interrupted() -> None:
    def work(_send: Send) -> None:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        os.kill(os.getppid(), signal.SIGTERM)
        time.sleep(30)

    with pytest.raises(InterruptedRun):
        apart(work, {}, "r1")


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
