"""The supervisor: forks workers and reducers, moves phases on, watches, stops, and says how the run ended.

It never touches an answer. All it knows while the load runs it reads from the shared page (`Control`).
"""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import signal
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from wholecurve.model.errors import MeasureError
from wholecurve.model.plan import PhasePlan, Plan
from wholecurve.model.record import RunState
from wholecurve.model.sample import Conversation
from wholecurve.run.children import exit_of, exit_words, fork
from wholecurve.run.clock import anchor, monotonic_ns, sleep_s
from wholecurve.run.conn import Address
from wholecurve.run.control import FRESH_PHASE, UNDECIDED, Control, Global
from wholecurve.run.control import Reducer as ReducerCell
from wholecurve.run.control import Worker as Cell
from wholecurve.run.hold import Hold
from wholecurve.run.live import Live, live_view
from wholecurve.run.outgoing import Outgoing
from wholecurve.run.reduce import reduce_beside_load
from wholecurve.run.worker import CRASHED, run_worker

START_LEAD_NS = 2_000_000
TICK_S = 0.02
CLAIM_TIMEOUT_S = 5.0
KILL_AFTER_NS = 10_000_000_000
"""A worker that has been told to stop now and is still there after so long is killed: Ctrl-C always ends a run."""
GONE_AFTER_FAILURES = 200
"""So many connections refused in a row, with nothing answered between: the endpoint is gone, go on no longer."""


@dataclass(slots=True)
class LoadResult:
    """How the load ended: state, the reason in words, and facts that only the supervisor knows.

    `extended_ns`: by phase, how much longer it issued than its stop rule asked for. `notes`: what is to be said of it.
    """

    state: RunState = RunState.COMPLETE
    reason: str | None = None
    anchors: list[dict[str, int]] = field(default_factory=list)
    phase_spans_ns: list[tuple[int, int]] = field(default_factory=list)
    worker_exits: dict[int, str] = field(default_factory=dict)
    signals: int = 0
    unsent: int = 0
    extended_ns: list[int] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)


class ClaimLock:
    """The lock around the issue counter. If a worker is killed while it holds it, the others fail, not hang."""

    def __init__(self) -> None:
        self._lock = multiprocessing.get_context("fork").Lock()

    def __enter__(self) -> None:
        if not self._lock.acquire(timeout=CLAIM_TIMEOUT_S):
            raise MeasureError("the issue counter is locked by a worker that died")

    def __exit__(self, *_: object) -> None:
        self._lock.release()


class Supervisor:
    """One load: `run` forks, runs all phases and returns when every row is on disk."""

    def __init__(
        self,
        plan: Plan,
        outgoing: Outgoing,
        conversations: Mapping[str, Sequence[Conversation]],
        addresses: Sequence[Address],
        records: Path,
        show: Callable[[Live], None],
    ) -> None:
        self._plan = plan
        self._outgoing = outgoing
        self._conversations = conversations
        self._addresses = addresses
        self._records = records
        self._show = show
        self._reducer_count = max(1, plan.workers // 2)
        self._control = Control(plan.workers, self._reducer_count)
        self._workers: dict[int, int] = {}
        self._reducers: dict[int, int] = {}
        self._result = LoadResult()
        self._deadline: int | None = None
        self._next_show = 0
        self._kill_at: int | None = None
        self._hold: Hold | None = None

    def run(self) -> LoadResult:
        """Run all phases. Raises MeasureError only if a process could not be started."""
        self._result.anchors.append(anchor())
        if self._plan.limits.run_timeout_ns is not None:
            self._deadline = monotonic_ns() + self._plan.limits.run_timeout_ns
        with self._signals():
            self._fork()
            for number, phase in enumerate(self._plan.phases):
                if not self._run_phase(number, phase):
                    break
            self._collect()
        self._result.anchors.append(anchor())
        return self._result

    # -- processes ---------------------------------------------------------------------------------------------------

    def _fork(self) -> None:
        lock: contextlib.AbstractContextManager[object] = contextlib.nullcontext()
        if self._plan.workers > 1:
            lock = ClaimLock()
        for number in range(self._plan.workers):
            pid = fork()
            if pid == 0:
                run_worker(
                    number, self._plan, self._outgoing, self._conversations, self._addresses, self._control, lock,
                    self._records,
                )  # fmt: skip
            self._workers[number] = pid
        for number in range(self._reducer_count):
            pid = fork()
            if pid == 0:
                self._reducer_main(number)
            self._reducers[number] = pid

    def _reducer_main(self, number: int) -> None:
        code = CRASHED
        try:
            signal.signal(signal.SIGINT, signal.SIG_IGN)
            signal.signal(signal.SIGTERM, signal.SIG_IGN)
            mine = range(number, self._plan.workers, self._reducer_count)
            reduce_beside_load(self._records, number, mine, self._plan, self._control, self._outgoing.hide)
            code = 0
        except OSError as error:
            self._control.reducers[number][ReducerCell.FAULT] = error.errno or -1
        except BaseException:  # noqa: BLE001 - the process ends here and must say why
            with contextlib.suppress(OSError):
                path = self._records / f"crash-reducer-{number:03d}.txt"
                path.write_text(traceback.format_exc(), encoding="utf-8")
        finally:
            os._exit(code)

    @contextlib.contextmanager
    def _signals(self) -> Iterator[None]:
        """SIGINT once: stop issuing and drain; twice, or SIGTERM: stop now."""

        def on_interrupt(_number: int, _frame: object) -> None:
            self._result.signals += 1
            self._stop(1 if self._result.signals == 1 else 2, RunState.INTERRUPTED, "stopped by the user")

        def on_terminate(_number: int, _frame: object) -> None:
            self._result.signals += 1
            self._stop(2, RunState.INTERRUPTED, "stopped by SIGTERM")

        before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
        signal.signal(signal.SIGINT, on_interrupt)
        signal.signal(signal.SIGTERM, on_terminate)
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)

    def _stop(self, level: int, state: RunState, reason: str) -> None:
        """Stop issuing (1) or stop now (2). The first reason stands, the stronger level wins."""
        run = self._control.run
        run[Global.STOP] = max(level, run[Global.STOP])
        if level >= 2 and self._kill_at is None:
            self._kill_at = monotonic_ns() + KILL_AFTER_NS
        if self._result.state is RunState.COMPLETE:
            self._result.state, self._result.reason = state, reason

    # -- phases ------------------------------------------------------------------------------------------------------

    def _run_phase(self, number: int, phase: PhasePlan) -> bool:
        """Run one phase to the end of its drain; False if the run goes no further."""
        run = self._control.run
        for cell in FRESH_PHASE:
            run[cell] = 0
        run[Global.STOP_AT] = UNDECIDED
        self._hold = Hold(self._plan, number, self._control, self._records) if phase.hold is not None else None
        run[Global.PHASE] = number
        try:
            self._await(Cell.READY, number, phase, number)
            start = monotonic_ns() + START_LEAD_NS
            if not run[Global.STOP]:
                run[Global.PHASE_START] = start
            self._await(Cell.DONE, number + 1, phase, number)
        finally:
            self._end_hold()
        self._reap()
        self._watch(phase)
        self._result.phase_spans_ns.append((start, monotonic_ns()))
        self._result.unsent += self._control.total(Cell.UNSENT)
        self._tick(phase, number, force=True)
        return not run[Global.STOP]

    def _end_hold(self) -> None:
        extended_ns, words = self._hold.end() if self._hold is not None else (0, None)
        self._result.extended_ns.append(extended_ns)
        self._result.notes += [words] if words else []

    def _await(self, cell: Cell, value: int, phase: PhasePlan, number: int) -> None:
        """Until every living worker has come as far as `value`."""
        while self._workers and any(self._control.workers[worker][cell] < value for worker in self._workers):
            self._tick(phase, number)
            self._reap()
            self._watch(phase)
            if self._hold is not None:
                self._hold.step(monotonic_ns())
            if cell is Cell.READY and self._control.run[Global.STOP]:
                return
            sleep_s(TICK_S if cell is Cell.DONE else 0.001)

    def _tick(self, phase: PhasePlan, number: int, *, force: bool = False) -> None:
        now = monotonic_ns()
        if now >= self._next_show or force:
            self._next_show = now + 200_000_000
            self._show(live_view(self._control, phase, number, now, self._result.state))

    def _reap(self) -> None:
        """Notice processes that died. A dead worker's requests are lost: the others drain and the run has failed."""
        if self._kill_at is not None and monotonic_ns() > self._kill_at:
            self._kill_at = None
            for pid in self._workers.values():
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
        for worker, pid in list(self._workers.items()):
            code = exit_of(pid)
            if code is None:
                continue
            del self._workers[worker]
            words = exit_words(code)
            self._result.worker_exits[worker] = words
            finished = self._control.workers[worker][Cell.DONE] >= len(self._plan.phases)
            if code != 0 and not (finished and self._control.run[Global.STOP]):
                self._stop(1, RunState.FAILED, f"worker {worker} ended early ({words})")
        for reducer, pid in list(self._reducers.items()):
            code = exit_of(pid)
            if code is not None:
                del self._reducers[reducer]
                if code != 0:
                    # Its spool is still on disk; it is read again at the end, so nothing is lost by it.
                    self._result.worker_exits[-1 - reducer] = exit_words(code)

    def _watch(self, phase: PhasePlan) -> None:
        """Faults of this machine, an endpoint that is gone, and the time limit of the run."""
        control = self._control
        faults = [worker[Cell.FAULT] for worker in control.workers]
        faults += [reducer[ReducerCell.FAULT] for reducer in control.reducers]
        fault = next((one for one in faults if one), 0)
        if fault:
            words = os.strerror(fault) if fault > 0 else "unknown error"
            self._stop(2, RunState.FAILED, f"records could not be written: {words}")
        if self._deadline is not None and monotonic_ns() > self._deadline:
            self._stop(2, RunState.FAILED, "the run time limit was reached")
        failed = control.reduced(ReducerCell.FAILED)
        if (
            failed >= max(GONE_AFTER_FAILURES, 4 * (phase.concurrency or 1))
            and not control.total(Cell.OPEN)
            and (not control.reduced(ReducerCell.SUCCEEDED) or self._nothing_opens())
        ):
            self._stop(1, RunState.FAILED, "the endpoint is gone: no connection can be opened any more")

    def _nothing_opens(self) -> bool:
        """True if no worker has an open connection now, and none has had one for a moment."""
        sleep_s(0.25)
        return not self._control.total(Cell.OPEN)

    def _collect(self) -> None:
        """Let workers go, let reducers read the rest; whatever a dead one left is read by the caller (`recover`)."""
        while self._workers:
            self._reap()
            sleep_s(0.002)
        self._control.run[Global.FINISH] = 1
        while self._reducers:
            self._reap()
            sleep_s(0.005)
