"""What a user sees while a sweep goes on: one display for all of it, with the curve so far; plain lines elsewhere.

The curve is drawn in a process of its own, once after every point: nothing heavy is loaded into the sweep, which every
run is forked from.
"""

from __future__ import annotations

import contextlib
import shutil
import sys
from collections.abc import Callable
from typing import IO, TYPE_CHECKING

from wholecurve.cli.progress import STOPPING, Lines, bar, counts, rates
from wholecurve.model.record import RunState
from wholecurve.model.units import NS_PER_S, show_duration
from wholecurve.run.apart import Send, apart
from wholecurve.sweep import SweepView

if TYPE_CHECKING:
    from rich.live import Live as RichLive

    from wholecurve.run import Live

WIDEST, PLOT_LINES = 96, 14
BOTH_BARS = 100
TEXT_WIDTH = 100
LEAST_LINES = 23
"""A terminal with fewer lines gets no curve: the display must fit, or it scrolls."""


class SweepProgress:
    """Shows a sweep on a stream. `say` is a line that stays; `show` one look at the whole.

    `stopping` is called when the user wants the end while the curve is drawn.
    """

    def __init__(self, stream: IO[str], *, quiet: bool) -> None:
        self._quiet = quiet
        self._screen = stream.isatty() and not quiet
        self._lines = Lines(stream)
        self._stream = stream
        self._live: RichLive | None = None
        self._drawn: tuple[object, ...] = ()
        self._plot = ""
        self._doing = ""
        self.stopping: Callable[[], None] = lambda: None

    @property
    def width(self) -> int:
        """Columns for lines of text."""
        return min(TEXT_WIDTH, shutil.get_terminal_size().columns) if self._screen else TEXT_WIDTH

    def say(self, text: str) -> None:
        """A sentence that stays."""
        if self._quiet:
            return
        if self._live is not None:
            self._live.console.print(text, markup=False, highlight=False)
        else:
            with contextlib.suppress(OSError, ValueError):
                print(text, file=self._stream, flush=True)

    def show(self, view: SweepView) -> None:
        """One look at the sweep."""
        if self._quiet:
            return
        if self._screen:
            self._on_screen(view)
            return
        head = f"{view.current} {view.doing}"
        if view.live is not None:
            self._lines.show(view.live)
        elif head != self._doing:
            self._lines = Lines(self._stream)  # every run begins with its first line again
            if view.doing in ("measuring", "waiting for the endpoint"):
                self.say(headline(view))
        self._doing = head

    def close(self) -> None:
        """Take the display away; safe to call twice."""
        if self._live is not None:
            self._live.stop()
            self._live = None

    def _on_screen(self, view: SweepView) -> None:
        if self._live is None:
            from rich.console import Console
            from rich.live import Live as RichLive

            console = Console(file=sys.stderr, highlight=False, markup=False)
            self._live = RichLive(console=console, auto_refresh=False, transient=True)
            self._live.start()
        from rich.text import Text

        lines = [*heading(view), *of_run(view.live, shutil.get_terminal_size().columns)]
        lines += self._curve(view).splitlines()
        self._live.update(Text("\n".join(lines), no_wrap=True, overflow="ellipsis"), refresh=True)

    def _curve(self, view: SweepView) -> str:
        columns, rows = shutil.get_terminal_size()
        if rows < LEAST_LINES or not view.points:
            return ""
        asked = (view.points, columns)
        if asked != self._drawn:
            self._drawn = asked
            self._plot = _plotted(view, min(columns, WIDEST), self.stopping)
        return self._plot


def heading(view: SweepView) -> tuple[str, str]:
    """Two lines: which point of how many and what it does; the time gone and the time left for all of it."""
    gone = f"{show_duration(view.elapsed_s * NS_PER_S)} gone"
    if not view.total:
        trials = "1 trial" if view.done == 1 else f"{view.done} trials"
        doing = "" if view.live is not None else f", {view.doing}"
        return f"search for C_max: {view.current.removeprefix('c')} in flight{doing}", f"{trials} done, {gone}"
    return (
        f"sweep {bar(view.done / view.total)} {view.done} of {view.total} points, {view.current}: {view.doing}",
        f"{gone}, {left(view)} left",
    )


def headline(view: SweepView) -> str:
    """The same in one line."""
    return "; ".join(heading(view))


def left(view: SweepView) -> str:
    """The time left, honestly: two ends, or no more than a lower one."""
    low = show_duration(view.left_low_s * NS_PER_S)
    if view.left_high_s is None:
        return f"at least {low}"
    if view.left_high_s <= 1.1 * view.left_low_s:
        return f"about {low}"
    return f"{low} to {show_duration(view.left_high_s * NS_PER_S)}"


def of_run(live: Live | None, columns: int = WIDEST) -> list[str]:
    """The two lines of the run that goes on. A narrow terminal gets no second bar."""
    if live is None:
        return ["", ""]
    share = bar(live.share_done)
    if columns < BOTH_BARS:
        share = f"{share.rpartition(']')[2].strip()},"
    last = STOPPING.format(live.in_flight) if live.state is RunState.INTERRUPTED else rates(live)
    return [f"{live.phase} {share} {counts(live)}", last]


def _plotted(view: SweepView, width: int, stopping: Callable[[], None]) -> str:
    rows = [
        {"concurrency": level, "system_tps": tps, "tps_per_user": user}
        for level, tps, user in view.points
        if tps is not None
    ]
    if not rows:
        return ""

    def work(_send: Send) -> str:
        from wholecurve.report import plot_text

        return plot_text(rows, width, PLOT_LINES)

    try:
        return str(apart(work, {}, "the plot", stopping))
    except Exception:  # noqa: BLE001 - a curve on the way is a comfort, no result
        return ""
