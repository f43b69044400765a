"""A point is extended while it runs: issuing is held open until the steady window is long enough.

The supervisor's side. `Global.HOLD` keeps workers issuing beyond the minimums of the stop rule. Shortly before these
are met a child is forked that reads finished rows and looks for the window (run/outlook.py); what it finds sets or
clears the cell. It takes what is under way to go on like what was seen, so a steady run ends where it would have ended
without a hold. A run that never gets steady ends when the extra time is used up, and says so.
"""

from __future__ import annotations

import contextlib
import os
import signal
import traceback
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path

import orjson

from wholecurve.load import sample_floor
from wholecurve.model.errors import MeasureError
from wholecurve.model.plan import Plan, StopRule
from wholecurve.model.units import NS_PER_S, show_duration
from wholecurve.run.children import exit_of, exit_words, fork
from wholecurve.run.control import Control, Global, Worker

LOOK_BEFORE_NS = 3 * NS_PER_S
"""Looking begins so long before the stop rule can be met, or a tenth of the time until then: there are rows to read."""
PIPE_BYTES = 64 << 10


@dataclass(frozen=True, slots=True)
class Look:
    """What one look found. passes: whole passes of the data set that had ended, without a hole in the issue order.

    enough: the window is long enough, or will be where issuing ends if it is not held any longer. settled: no longer
    run can change what was found, since no steady window applies. missing_ns: until the window can be long enough.
    reason: why it is not.
    """

    passes: int
    enough: bool
    settled: bool
    missing_ns: int
    reason: str | None = None

    def line(self) -> bytes:
        """One line for the pipe, short enough to be written at once."""
        return orjson.dumps(asdict(self)) + b"\n"


def rule_met_at_ns(
    rule: StopRule, rows: int, *, start_ns: int, lead_at_ns: int | None, issued: int, now_ns: int
) -> int | None:
    """When the minimums can be met at the earliest, by the pace so far, passes not rounded up; None: not known yet.

    lead_at_ns: when the sample after the lead was issued, None while it was not.
    """
    floor = sample_floor(rule, rows)
    if floor is None or not issued:
        return None
    count_at = now_ns if issued >= floor else start_ns + (now_ns - start_ns) * floor // issued
    if not rule.min_duration_ns:
        return count_at
    clock_ns = lead_at_ns if rule.lead_samples else start_ns
    return None if clock_ns is None else max(count_at, clock_ns + rule.min_duration_ns)


class Hold:
    """The hold of one phase. Make it before the phase begins, `step` it often, and `end` it whatever happened."""

    def __init__(self, plan: Plan, number: int, control: Control, records: Path) -> None:
        """Holds issuing open from the start."""
        self._plan, self._number, self._control, self._records = plan, number, control, records
        self._phase = plan.phases[number]
        assert self._phase.hold is not None
        self._most_ns = self._phase.hold.max_extra_ns
        self._pid: int | None = None
        self._pipe = -1
        self._unread = b""
        self._last: Look | None = None
        self._used_up = False
        self._blind: str | None = None
        self._over = False
        control.run[Global.HOLD] = 1

    def step(self, now_ns: int) -> None:
        """Start looking when it is time, take what was found, and let go when there is no more time."""
        run = self._control.run
        if self._over or not run[Global.PHASE_START]:
            return
        if run[Global.STOP] or run[Global.CLOSED_AT] or run[Global.PHASE_ISSUE_END]:
            self._stop_looking()
        elif self._pid is None:
            if self._is_time(now_ns):
                self._start_looking()
        else:
            self._take()
        met_ns = run[Global.MET_AT]
        if met_ns and now_ns - met_ns >= self._most_ns and not self._over:
            self._used_up = bool(run[Global.HOLD])
            self._let_go()

    def end(self) -> tuple[int, str | None]:
        """(how much longer than its stop rule the phase issued, in ns; what is to be said about it). Ends the child."""
        self._stop_looking()
        run = self._control.run
        met_ns, closed_ns = run[Global.MET_AT], run[Global.CLOSED_AT] or run[Global.PHASE_ISSUE_END]
        extended_ns = max(0, closed_ns - met_ns) if met_ns else 0
        return extended_ns, self._words(extended_ns)

    # -- the child -----------------------------------------------------------------------------------------------------

    def _is_time(self, now_ns: int) -> bool:
        run = self._control.run
        start_ns, lead_at_ns = run[Global.PHASE_START], run[Global.LEAD_AT] or None
        if run[Global.MET_AT]:
            return True
        met_ns = rule_met_at_ns(
            self._phase.stop, self._phase.rows, start_ns=start_ns, lead_at_ns=lead_at_ns,
            issued=self._control.total(Worker.ISSUED), now_ns=now_ns,
        )  # fmt: skip
        return met_ns is not None and now_ns >= met_ns - max(LOOK_BEFORE_NS, (met_ns - start_ns) // 10)

    def _start_looking(self) -> None:
        reading, writing = os.pipe()
        try:
            pid = fork()
        except MeasureError as error:
            os.close(reading)
            os.close(writing)
            self._go_blind(str(error))
            return
        if pid == 0:
            os.close(reading)
            _child_main(self._records, lambda: self._follow(writing))
        os.close(writing)
        os.set_blocking(reading, False)
        self._pid, self._pipe = pid, reading

    def _follow(self, writing: int) -> None:
        # Imported in the child only: numpy has no place beside a load, least of all in the process that watches it.
        from wholecurve.run.outlook import follow

        follow(self._records, self._plan, self._number, self._control, lambda look: os.write(writing, look.line()))

    def _take(self) -> None:
        """Read what the child said; the last word counts."""
        assert self._pid is not None
        code = exit_of(self._pid)  # before reading: what it said last is in the pipe if it has ended
        if code is not None:
            self._pid = None
        with contextlib.suppress(BlockingIOError):
            self._unread += os.read(self._pipe, PIPE_BYTES)
        *lines, self._unread = self._unread.split(b"\n")
        if lines:
            self._last = Look(**orjson.loads(lines[-1]))
            self._control.run[Global.HOLD] = int(not (self._last.enough or self._last.settled))
            if self._last.settled:
                self._let_go()
                return
        if code is not None:
            self._go_blind(f"the process that looks ended: {exit_words(code)}")

    def _go_blind(self, why: str) -> None:
        self._blind = why
        self._let_go()

    def _let_go(self) -> None:
        """Hold issuing open no more: it ends as the stop rule says, at the end of a pass if that is in it."""
        self._control.run[Global.HOLD] = 0
        self._stop_looking()

    def _stop_looking(self) -> None:
        self._over = True
        if self._pid is not None:
            with contextlib.suppress(ProcessLookupError):
                os.kill(self._pid, signal.SIGKILL)
            with contextlib.suppress(ChildProcessError):
                os.waitpid(self._pid, 0)
            self._pid = None
        if self._pipe >= 0:
            os.close(self._pipe)
            self._pipe = -1

    # -- words ---------------------------------------------------------------------------------------------------------

    def _words(self, extended_ns: int) -> str | None:
        """A sentence about the extension; None if there is nothing to say."""
        last, run = self._last, self._control.run
        by = f"{self._phase.name}: extended by {show_duration(extended_ns)}"
        why = last.reason if last and last.reason else "none was found in time"
        lacking = f"still no steady window that is long enough ({why}); without one the figures are of the whole run"
        if self._blind is not None:
            return (
                f"{self._phase.name}: not extended further: the steady window could not be looked for ({self._blind})"
            )
        if last is not None and last.settled:
            return f"{self._phase.name}: not extended further: {last.reason}"
        if not extended_ns:
            return None
        if run[Global.STOP]:
            return f"{by} when it was stopped"
        if self._used_up and not self._most_ns:
            return f"{self._phase.name}: no extra time was allowed; {lacking}"
        if self._used_up:
            return f"{by}, all the extra time there is; {lacking}"
        if run[Global.HOLD]:
            return f"{by}, to the most that its stop rule allows; {lacking}"
        return f"{by} until the steady window was long enough"


def _child_main(records: Path, work: Callable[[], None]) -> None:
    """Run `work` at the lowest priority and end the process."""
    code = 1
    try:
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        if hasattr(os, "SCHED_IDLE"):
            with contextlib.suppress(OSError):
                os.sched_setscheduler(0, os.SCHED_IDLE, os.sched_param(0))
        os.environ["OPENBLAS_NUM_THREADS"] = "1"  # numpy is not loaded yet; no thread of it shall spin beside the load
        work()
        code = 0
    except BaseException:  # noqa: BLE001 - the process ends here and must say why
        with contextlib.suppress(OSError):
            (records / "crash-hold.txt").write_text(traceback.format_exc(), encoding="utf-8")
    finally:
        os._exit(code)
