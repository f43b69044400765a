"""The user's wish for the end of a sweep: Ctrl-C, SIGTERM, a closed terminal.

A sweep has moments that nothing may break off, such as between a run and its line in the journal, and moments that
must be broken off at once, such as a rest or an endpoint that does not answer. So a signal is kept as a wish, which
the sweep looks at between its steps, and raises KeyboardInterrupt only where that was allowed, or when it is the
second one. While a run goes on signals are handed on to its process instead (run/apart.py).
"""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager

from wholecurve.run.apart import ENDING


class Stopper:
    """`wanted`: somebody wants the end."""

    def __init__(self) -> None:
        self.wanted = False
        self._breakable = False

    def want(self) -> None:
        """Somebody wants the end."""
        self.wanted = True

    @contextmanager
    def installed(self) -> Iterator[None]:
        """Take the signals; those that are ignored, as under `nohup`, stay ignored."""
        before = {number: signal.getsignal(number) for number in ENDING}
        for number, handler in before.items():
            if handler is not signal.SIG_IGN:
                signal.signal(number, self._on_signal)
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)

    @contextmanager
    def breakable(self) -> Iterator[None]:
        """What is done here is broken off by KeyboardInterrupt; at once if the end is wanted already."""
        before, self._breakable = self._breakable, True
        try:
            if self.wanted:
                raise KeyboardInterrupt
            yield
        finally:
            self._breakable = before

    def _on_signal(self, _number: int, _frame: object) -> None:
        again, self.wanted = self.wanted, True
        if again or self._breakable:
            raise KeyboardInterrupt
