"""What is sent when: the loop of one worker. Sockets are the transport's; here are slots, schedules and the clock.

A closed loop refills a slot at once when its answer ends; an open loop sends by the plan's absolute offsets. Both draw
from the one global order (`Claims`) and keep a few requests serialised ahead, so that a free slot waits for nothing.
"""

from __future__ import annotations

import heapq
import os
from collections import deque
from collections.abc import Sequence
from contextlib import AbstractContextManager

from wholecurve.load import SlotPool, planned_total, worker_slots
from wholecurve.model.plan import Pattern, PhasePlan, Plan
from wholecurve.model.record import FailureKind, Outcome
from wholecurve.model.sample import Conversation
from wholecurve.run.clock import cpu_ns, monotonic_ns, sleep_s
from wholecurve.run.conn import Address
from wholecurve.run.control import Control, Global, Worker
from wholecurve.run.flight import Claims, Flight, Unit
from wholecurve.run.outgoing import Outgoing
from wholecurve.run.recorder import Recorder
from wholecurve.run.spool import End, How, Issued, end_frame, issued_frame
from wholecurve.run.transport import Transport

TICK_NS = 10_000_000
"""Chores are done in small portions, a hundred times a second: a pause in reading merges events into one stamp."""
LOOK_EVERY_TICKS = 5
FLUSH_EVERY_TICKS = 25
DECIDE_EVERY_TICKS = 50
SPIN_BELOW_NS = 2_000_000
"""Nearer than this the loop does not trust the millisecond grain of epoll and takes short naps instead."""
NAP_S = 50e-6
MOST_AHEAD = 1024
MOST_AHEAD_BYTES = 8 << 20
READ_BETWEEN = 8
RECORD_AT_ONCE = 16
FAR = 1 << 62


class Engine:
    """One worker's loop. `run_phase` is called once per phase; connections outlive phases."""

    def __init__(
        self,
        worker: int,
        plan: Plan,
        control: Control,
        recorder: Recorder,
        outgoing: Outgoing,
        addresses: Sequence[Address],
    ) -> None:
        self._worker = worker
        self._plan = plan
        self._control = control
        self._cells = control.workers[worker]
        self._recorder = recorder
        self._outgoing = outgoing
        self._transport = Transport(worker, plan, recorder, outgoing, addresses, self._on_done, self._on_retry)
        self._serial = 0
        self._tick = 0
        self._due = 0
        self._in_issue = False
        self._ahead = 1
        self._parent = os.getppid()

    # -- one phase ---------------------------------------------------------------------------------------------------

    def run_phase(
        self, number: int, conversations: Sequence[Conversation], lock: AbstractContextManager[object]
    ) -> None:
        """Prepare, wait for the common start, run, drain. Ends with this worker's facts in the spool."""
        phase = self._plan.phases[number]
        self._phase, self._phase_number = phase, number
        self._turns = max(len(conversation.turns) for conversation in conversations)
        self._claims = Claims(phase, conversations, self._control, lock, monotonic_ns)
        self._closed = phase.pattern is Pattern.CONCURRENCY
        self._slots = self._slot_pool(phase)
        self._prepared: deque[Unit] = deque()
        self._ahead_bytes = 0
        self._timers: list[tuple[int, int, Flight]] = []
        self._in_flight = self._peak = 0
        self._issuing = self._slots is None or self._slots.next_free_ns() is not None
        self._issue_ended_ns = 0
        self._start = 0
        self._decided_ns = monotonic_ns()
        self._ended = 0
        self._transport.begin_phase()
        for cell in (Worker.ISSUED, Worker.COMPLETED, Worker.UNSENT):
            self._cells[cell] = 0
        if self._issuing:
            self._get_ready()
        cpu, wall = cpu_ns(), monotonic_ns()
        if self._wait_for_start(number):
            cpu, wall = cpu_ns(), monotonic_ns()
            self._loop()
        self._transport.record_ended(self._transport.unrecorded)
        facts = {"worker": self._worker, "phase": number, "peak_in_flight": self._peak}
        facts |= {"cpu_ns": cpu_ns() - cpu, "wall_ns": monotonic_ns() - wall}
        self._recorder.facts(facts | self._transport.facts())
        self._recorder.flush()
        self._cells[Worker.FAULT] = self._recorder.fault
        self._cells[Worker.DONE] = number + 1

    def _slot_pool(self, phase: PhasePlan) -> SlotPool | None:
        if self._closed:
            assert phase.concurrency is not None
            return SlotPool.of_worker(phase.concurrency, self._plan.workers, self._worker, phase.ramp_ns)
        if phase.concurrency is None:
            return None
        slots = worker_slots(phase.concurrency, self._plan.workers, self._worker)
        return SlotPool((0, slot) for slot in slots)

    def _get_ready(self) -> None:
        """Open connections and serialise the first requests, so that the first wave waits for neither."""
        phase, workers = self._phase, self._plan.workers
        slots = None if phase.concurrency is None else len(worker_slots(phase.concurrency, workers, self._worker))
        if self._closed:
            assert slots is not None
            # Several workers must not hoard the end of the order while others are idle; one worker has no others.
            self._ahead = min(MOST_AHEAD, slots if workers == 1 else max(1, slots // 8))
            first = slots
        else:
            self._ahead = 1
            total = planned_total(phase.stop, phase.rows) or 1
            rate = phase.rate_per_s or 1.0
            first = -(-total // workers) if phase.pattern is Pattern.OFFLINE else min(64, int(rate / workers) + 1)
            first = min(first, slots) if slots is not None else first
        prepared = first if self._closed or phase.pattern is Pattern.OFFLINE else 1
        while len(self._prepared) < prepared and self._prepare():
            pass
        wanted = min(first, len(self._prepared)) if self._closed else first
        deadline = monotonic_ns() + self._plan.limits.connect_timeout_ns
        # Where opening fails, the requests themselves will meet the fault and record it.
        while monotonic_ns() < deadline and not self._control.run[Global.STOP] and self._transport.open_ahead(wanted):
            pass

    def _wait_for_start(self, number: int) -> bool:
        """Tell the supervisor that this worker is ready; True when the phase has started, False if it will not."""
        run = self._control.run
        self._cells[Worker.READY] = number
        while not (run[Global.PHASE] == number and run[Global.PHASE_START]):
            if run[Global.STOP] or os.getppid() != self._parent:
                return False
            self._transport.turn(0.001)
        self._start = run[Global.PHASE_START]
        while (left := self._start - monotonic_ns()) > 0:
            sleep_s(min(left / 1e9, 0.001))
        return True

    # -- the loop ----------------------------------------------------------------------------------------------------

    def _loop(self) -> None:
        """Until nothing is left to send or to wait for."""
        turn = self._transport.turn
        next_tick = 0
        self._issue_due()
        while self._issuing or self._in_flight or self._timers:
            at = monotonic_ns()
            if at >= next_tick:
                next_tick = at + TICK_NS
                self._chores(at)
                self._issue_due()
            elif self._due <= at:
                self._issue_due()
            if not turn(self._patience(self._due - at, next_tick - at)):
                left = self._due - monotonic_ns()
                if 0 < left < SPIN_BELOW_NS:
                    sleep_s(min(NAP_S, left / 1e9))
                else:
                    self._transport.record_ended(RECORD_AT_ONCE)
            if self._issuing and len(self._prepared) < self._ahead and self._ahead_bytes < MOST_AHEAD_BYTES:
                self._prepare()

    def _patience(self, until_due_ns: int, until_tick_ns: int) -> float:
        """Seconds to wait for sockets: whole milliseconds that end before the next thing due."""
        if until_due_ns < SPIN_BELOW_NS:
            return 0.0
        if until_due_ns <= until_tick_ns:
            return (until_due_ns // 1_000_000 - 1) / 1000
        return max(0, until_tick_ns) / 1e9

    # -- issuing -----------------------------------------------------------------------------------------------------

    def _prepare(self) -> bool:
        """Claim one unit and serialise its first request; False when issuing has ended."""
        unit = self._claims.next_unit()
        if unit is None:
            return False
        unit.first = self._flight(unit)
        self._ahead_bytes += len(unit.first.data)
        self._prepared.append(unit)
        return True

    def _flight(self, unit: Unit) -> Flight:
        self._serial += 1
        index = unit.number * self._turns + unit.turn_number
        data, max_tokens = self._outgoing.request(unit.turn.sample, (self._phase_number, index))
        return Flight(self._serial, index, unit, data, max_tokens)

    def _issue_due(self) -> None:
        """Send everything that is due, and note when the next thing is (FAR: only an event can tell).

        A request that ends while this runs (its connection is refused at once) leaves its slot to the loop below.
        """
        if self._in_issue:
            return
        self._in_issue = True
        self._due = min(self._issue_timers(), self._issue_units())
        self._in_issue = False

    def _issue_timers(self) -> int:
        """Later turns and retries whose time has come; returns the time of the next."""
        while self._timers and self._timers[0][0] <= monotonic_ns():
            _, _, flight = heapq.heappop(self._timers)
            if flight.issued_ns < 0:
                self._issue(flight)
            else:
                self._transport.submit_again(flight)
        return self._timers[0][0] if self._timers else FAR

    def _issue_units(self) -> int:
        """Units of the global order that are due and have a slot; returns when to look again."""
        stop = self._phase.stop
        in_row = 0
        while self._issuing:
            if self._control.run[Global.STOP] or self._recorder.fault:
                self._end_issuing()
                break
            if not self._prepared and not self._prepare():
                self._end_issuing()
                break
            unit = self._prepared[0]
            elapsed = monotonic_ns() - self._start
            if self._closed:
                if stop.max_duration_ns is not None and elapsed >= stop.max_duration_ns:
                    self._end_issuing()
                    break
            elif unit.offset_ns > elapsed:
                return self._start + unit.offset_ns
            slot, scheduled = -1, self._start + unit.offset_ns
            if self._slots is not None:
                taken = self._slots.take(elapsed)
                if taken is None:
                    free_at = self._slots.next_free_ns()
                    return FAR if free_at is None else self._start + free_at
                slot = taken[0]
                if self._closed:
                    scheduled = self._start + taken[1]
            flight = self._prepared.popleft().first
            assert flight is not None
            self._ahead_bytes -= len(flight.data)
            flight.slot, flight.scheduled_ns = slot, scheduled
            self._in_flight += 1
            self._issue(flight)
            in_row += 1
            if in_row % READ_BETWEEN == 0:
                # Answers to the first of a thousand requests begin before the last of them is sent.
                self._transport.turn(0.0)
        return FAR

    def _end_issuing(self) -> None:
        """Nothing new goes out; what was claimed and not sent is counted, not hidden."""
        self._cells[Worker.UNSENT] += len(self._prepared)
        self._prepared.clear()
        self._issuing = False
        self._issue_ended_ns = monotonic_ns()
        self._control.run[Global.PHASE_ISSUE_END] = self._issue_ended_ns

    def _issue(self, flight: Flight) -> None:
        """The decision to send, noted first: a send can fail at once, and no end may precede its beginning."""
        unit = flight.unit
        flight.issued_ns = monotonic_ns()
        self._recorder.note(
            issued_frame(
                Issued(
                    flight.serial, self._phase_number, flight.index, unit.number, unit.turn_number,
                    unit.turn.sample.row, flight.scheduled_ns, flight.issued_ns,
                )
            )
        )  # fmt: skip
        self._transport.submit(flight)
        self._cells[Worker.ISSUED] += 1
        if self._in_flight > self._peak:
            self._peak = self._in_flight
        if flight.sent_ns < 0:
            self._transport.serve_waiting()

    # -- the end of a request ------------------------------------------------------------------------------------------

    def _on_retry(self, flight: Flight, at_ns: int) -> None:
        heapq.heappush(self._timers, (at_ns, flight.serial, flight))
        self._due = min(self._due, at_ns)

    def _on_done(self, flight: Flight, good: bool, completed_ns: int, free_at: int) -> None:
        """A request ended: go on with its conversation, or free its slot and refill it at once."""
        self._cells[Worker.COMPLETED] += 1
        self._ended += 1
        unit = flight.unit
        try:
            if self._control.run[Global.STOP]:
                unit.session.close()
                raise StopIteration(())
            unit.turn = unit.session.send(Outcome.SUCCEEDED if good else Outcome.FAILED)
        except StopIteration as stop:
            if stop.value:
                self._skip_turns(unit, len(stop.value), completed_ns)
            self._in_flight -= 1
            if self._slots is not None:
                self._slots.release(flight.slot, max(completed_ns, free_at) - self._start)
            if self._issuing:
                self._issue_due()
            return
        unit.turn_number += 1
        following = self._flight(unit)
        following.slot = flight.slot
        following.scheduled_ns = completed_ns + unit.turn.delay_ns
        heapq.heappush(self._timers, (following.scheduled_ns, following.serial, following))
        self._due = min(self._due, following.scheduled_ns)

    def _skip_turns(self, unit: Unit, count: int, at_ns: int) -> None:
        """Turns after a failed one are never sent; each is recorded with that reason."""
        for step in range(1, count + 1):
            self._serial += 1
            turn = unit.turn_number + step
            issued = Issued(
                self._serial, self._phase_number, unit.number * self._turns + turn, unit.number, turn, -1, at_ns, at_ns
            )
            end = End(self._serial, How.FAILED, self._worker, -1, -1, at_ns, -1, -1, 0, 0, 0, -1)
            self._recorder.append(issued_frame(issued) + end_frame(end, FailureKind.PRIOR_TURN.value))

    # -- now and then --------------------------------------------------------------------------------------------------

    def _chores(self, now: int) -> None:
        """One tick: a portion of the answers under way to the recorder; now and then counters, limits and the disk."""
        self._tick += 1
        self._transport.record_ended(max(RECORD_AT_ONCE, self._transport.unrecorded // 8))
        self._transport.save_portion(now)
        if self._tick % FLUSH_EVERY_TICKS == 0:
            self._recorder.flush()
        if self._tick % LOOK_EVERY_TICKS:
            return
        cells = self._cells
        cells[Worker.FAULT] = self._recorder.fault
        cells[Worker.OPEN] = self._transport.open_connections
        self._transport.stamps.refresh()
        if self._tick % DECIDE_EVERY_TICKS == 0:
            self._transport.decide_gathering(now - self._decided_ns, self._ended, self._in_flight)
            self._decided_ns, self._ended = now, 0
        orphaned = os.getppid() != self._parent  # nobody is left to collect what this worker would measure
        if self._control.run[Global.STOP] >= 2 or self._recorder.fault or orphaned:
            self._cancel_all(now, "")
        elif not self._issuing and self._drain_is_over(now):
            self._cancel_all(now, "drain timeout")
        self._transport.apply_timeouts(now)

    def _drain_is_over(self, now: int) -> bool:
        limit = self._phase.drain_timeout_ns
        if limit is None:
            limit = self._plan.limits.drain_timeout_ns
        return limit is not None and now - self._issue_ended_ns > limit

    def _cancel_all(self, now: int, detail: str) -> None:
        """Stop now."""
        if self._issuing:
            self._end_issuing()
        self._transport.cancel_all(now, detail)
        while self._timers:
            _, _, flight = heapq.heappop(self._timers)
            if flight.issued_ns >= 0:
                self._transport.cancel(flight, now, detail)
            else:
                flight.unit.session.close()
                self._in_flight -= 1
