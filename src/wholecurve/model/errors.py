"""Every error a user can meet, and the exit code it ends with.

WholecurveError
├── InputError          2    a flag, a key, a file or a row is not what was wanted
├── SetupError          3    the endpoint, the tokenizer or the machine is not ready
├── MeasureError        4    measuring itself failed; what was recorded is kept
└── InterruptedRun    130    the user stopped it; files are written and marked

A message is one to three lines: what was wanted and what came, where, and what to do next.
`WireError` (wire/) is not in this tree: it is the peer's fault and becomes a failure kind of one request.
"""

from __future__ import annotations


class WholecurveError(Exception):
    """Base of all errors shown to the user without a traceback."""

    exit_code = 1

    def __init__(self, message: str, *, where: str = "", hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.where = where
        self.hint = hint

    def lines(self) -> list[str]:
        """The one to three lines a user sees: message, where, next step."""
        found = [self.message]
        if self.where:
            found.append(f"  at {self.where}")
        if self.hint:
            found.append(f"  {self.hint}")
        return found

    def __str__(self) -> str:
        return "\n".join(self.lines())


class InputError(WholecurveError):
    """A flag, a key, a file or a row is not what was wanted."""

    exit_code = 2


class SetupError(WholecurveError):
    """The endpoint, the tokenizer or this machine is not ready to be measured with."""

    exit_code = 3


class MeasureError(WholecurveError):
    """Measuring failed. What was recorded until then is on disk."""

    exit_code = 4


class InterruptedRun(WholecurveError):
    """The user stopped the run. Files are written and say so."""

    exit_code = 130
