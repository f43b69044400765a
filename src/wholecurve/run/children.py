"""Child processes of the supervisor: made by fork, asked whether they have ended, and how, in words."""

from __future__ import annotations

import os
import signal

from wholecurve.model.errors import MeasureError


def fork() -> int:
    """As `os.fork`. Raises MeasureError if the system refuses."""
    try:
        return os.fork()
    except OSError as error:
        raise MeasureError(f"a process could not be started: {error.strerror}") from None


def exit_of(pid: int) -> int | None:
    """Exit code of a child that ended (negative: the signal), None while it lives."""
    try:
        done, status = os.waitpid(pid, os.WNOHANG)
    except ChildProcessError:
        return 0
    return os.waitstatus_to_exitcode(status) if done else None


def exit_words(code: int) -> str:
    """How a process ended, from its exit code."""
    if code == 0:
        return "clean"
    if code > 0:
        return f"exit code {code}"
    try:
        return f"signal {signal.Signals(-code).name}"
    except ValueError:  # a real-time signal, which has no name
        return f"signal {-code}"
