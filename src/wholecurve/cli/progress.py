"""What a user sees on stderr while a run goes on: two lines that stay in place on a terminal, plain lines elsewhere.

`show` is called by the supervisor a few times a second, between its other work; nothing here starts a thread, and
rich is imported only after the load has started.
"""

from __future__ import annotations

import contextlib
import sys
from typing import IO, TYPE_CHECKING, Protocol

from wholecurve.model.record import RunState
from wholecurve.model.units import NS_PER_S, show_duration

if TYPE_CHECKING:
    from rich.live import Live as RichLive

    from wholecurve.run import Live

FIRST_LINE_NS = 5 * NS_PER_S
LINE_EVERY_NS = 30 * NS_PER_S
FIRST_SCREEN_NS = NS_PER_S // 4
BAR_CELLS = 24
EXTENDED = ", extended: the steady window is not long enough yet"


class Progress(Protocol):
    """Something that shows a run while it goes on."""

    def show(self, live: Live) -> None:
        """One look at the run."""

    def say(self, text: str) -> None:
        """A sentence that stays."""

    def close(self) -> None:
        """The run has ended; safe to call twice."""


def progress_for(stream: IO[str], *, quiet: bool) -> Progress:
    """The right one for a stream: nothing, a live display, or plain lines."""
    if quiet:
        return Silent()
    return Screen() if stream.isatty() else Lines(stream)


class Silent:
    """Shows nothing."""

    def show(self, live: Live) -> None:
        """Nothing."""

    def say(self, text: str) -> None:
        """Nothing."""

    def close(self) -> None:
        """Nothing."""


STOPPING = "stopping: nothing more is sent, {} in flight; Ctrl-C again stops now"


class Lines:
    """Plain lines: the first after 5 s of a phase, then one every 30 s (CLI-9)."""

    def __init__(self, stream: IO[str]) -> None:
        self._stream = stream
        self._stopping = False
        self._phase = -1
        self._due_ns = 0

    def show(self, live: Live) -> None:
        """Write a line when one is due."""
        if live.state is RunState.INTERRUPTED and not self._stopping:
            self._stopping = True
            self.say(STOPPING.format(live.in_flight))
        if live.number != self._phase:
            self._phase, self._due_ns = live.number, FIRST_LINE_NS
        if live.elapsed_ns >= self._due_ns:
            self._due_ns = live.elapsed_ns + LINE_EVERY_NS
            self.say(f"{live.phase} {show_duration(live.elapsed_ns)}: {counts(live)}; {rates(live)}")

    def say(self, text: str) -> None:
        """Write a line at once; a closed stream is nobody to tell."""
        with contextlib.suppress(OSError, ValueError):
            print(text, file=self._stream, flush=True)

    def close(self) -> None:
        """Nothing is kept open."""


class Screen:
    """Two lines at the bottom of a terminal, drawn anew in place. No thread: the supervisor's call draws."""

    def __init__(self) -> None:
        self._live: RichLive | None = None

    def show(self, live: Live) -> None:
        """Draw, once the load has run for a moment."""
        if self._live is None:
            if live.elapsed_ns < FIRST_SCREEN_NS:
                return
            from rich.console import Console
            from rich.live import Live as RichLive

            console = Console(file=sys.stderr, highlight=False, markup=False)
            self._live = RichLive(console=console, auto_refresh=False, transient=True)
            self._live.start()
        from rich.text import Text

        last = STOPPING.format(live.in_flight) if live.state is RunState.INTERRUPTED else rates(live)
        text = Text(f"{bar(live.share_done)} {counts(live)}\n{last}", no_wrap=True, overflow="ellipsis")
        self._live.update(text, refresh=True)

    def say(self, text: str) -> None:
        """Write a sentence above the display."""
        if self._live is not None:
            self._live.console.print(text)
        else:
            with contextlib.suppress(OSError, ValueError):
                print(text, file=sys.stderr, flush=True)

    def close(self) -> None:
        """Take the display away."""
        if self._live is not None:
            self._live.stop()
            self._live = None


def counts(live: Live) -> str:
    """Done, in flight and failed, in words."""
    total = "" if live.total is None else f" of {live.total}"
    draining = ", waiting for the last answers" if live.draining else ""
    return f"{live.ended}{total} requests done, {live.in_flight} in flight, {live.failed} failed{draining}"


def rates(live: Live) -> str:
    """Output rate, TTFT so far and the time left; what is not known yet is said to be so."""
    seconds = live.elapsed_ns / NS_PER_S
    if live.output_tokens and seconds:
        rate = f"{live.output_tokens / seconds:,.0f} tokens/s"
    elif live.output_events and seconds:
        rate = f"{live.output_events / seconds:,.0f} output events/s"
    else:
        rate = "no output yet"
    ttft = "TTFT P90 not known yet" if live.ttft_p90_ns is None else f"TTFT P90 {show_duration(live.ttft_p90_ns)}"
    return f"{rate}, {ttft}{_left(live)}"


def _left(live: Live) -> str:
    """The time left; nothing once only answers are waited for, which nobody can foretell."""
    if live.extending:
        return EXTENDED
    if live.left_ns is None:
        return ", time left not known"
    return "" if live.draining or live.left_ns < NS_PER_S / 2 else f", about {show_duration(live.left_ns)} left"


def bar(share: float | None) -> str:
    """A bar of fixed width; empty where the share is not known."""
    full = round((share or 0.0) * BAR_CELLS)
    percent = "    ?" if share is None else f"{100 * share:3.0f} %"
    return f"[{'#' * full}{'.' * (BAR_CELLS - full)}] {percent}"
