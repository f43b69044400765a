"""The loop that measures: sends what is due, reads what comes, stamps every read, and appends.

Two house rules. Between a byte's arrival and its place in memory nothing is parsed but the length of the HTTP message;
and no decision waits for a disk, a lock held by a reader, or another process.

A closed loop refills a slot at once when its answer ends; an open loop sends by the plan's absolute offsets. Both
draw from `Claims`, hold their requests in `Flight`s, and end in `_finish`, the only place where a request ends.
"""

from __future__ import annotations

import contextlib
import heapq
import os
from collections import deque
from collections.abc import Sequence

from wholecurve.load import SlotPool, worker_slots
from wholecurve.model.plan import Pattern, PhasePlan, Plan
from wholecurve.model.record import FailureKind, Outcome
from wholecurve.model.sample import Conversation
from wholecurve.run.clock import ANCILLARY_BYTES, StampClock, cpu_ns, monotonic_ns, sleep_s, unpack_timespec
from wholecurve.run.conn import READ_BYTES, Address, Broken, Connection, State
from wholecurve.run.control import Control, Global, Worker
from wholecurve.run.flight import Claims, Flight, Unit
from wholecurve.run.outgoing import Outgoing
from wholecurve.run.poller import GONE, READ, WRITE, make_poller
from wholecurve.run.pool import Pool
from wholecurve.run.recorder import Recorder
from wholecurve.run.spool import End, How, Issued, Kind, end_frame, frame, issued_frame
from wholecurve.wire import EndFinder, Framing, WireError

TICK_NS = 10_000_000
"""Chores are done in small portions, a hundred times a second: a pause in reading merges events into one stamp."""
LOOK_EVERY_TICKS = 5
FLUSH_EVERY_TICKS = 25
SAVE_WITHIN_TICKS = 100
SAVE_AFTER_NS = 1_000_000_000
SPIN_BELOW_NS = 2_000_000
"""Nearer than this the loop does not trust the millisecond grain of epoll and takes short naps instead."""
NAP_S = 50e-6
CONNECT_RETRY_NS = 50_000_000
"""A slot whose connection was refused rests this long, so that a dead endpoint is not hammered."""
FAR = 1 << 62
MAX_LAG_NS, MIN_LAG_NS = 60_000_000_000, -1_000_000_000
"""A kernel stamp further than this from the reader's clock is not believed (the wall clock was stepped)."""


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
        self._limits = plan.limits
        self._control = control
        self._cells = control.workers[worker]
        self._recorder = recorder
        self._outgoing = outgoing
        self._poller = make_poller()
        self._pool = Pool(addresses, worker, max(1, plan.limits.max_connects_at_once // plan.workers))
        self._stamps = StampClock()
        self._buffer = memoryview(bytearray(READ_BYTES))
        self._buffers = [self._buffer]
        self._serial = 0
        self._resends = 0
        self._tick = 0
        self._to_save: list[Connection] = []
        self._portion = 0
        self._due = 0
        self._parent = os.getppid()

    # -- one phase ---------------------------------------------------------------------------------------------------

    def run_phase(
        self, number: int, conversations: Sequence[Conversation], lock: contextlib.AbstractContextManager[object]
    ) -> None:
        """Prepare, wait for the common start, run, drain. Ends with this worker's facts in the spool."""
        phase = self._plan.phases[number]
        self._phase, self._phase_number = phase, number
        self._turns = max(len(conversation.turns) for conversation in conversations)
        self._claims = Claims(phase, conversations, self._control, lock, monotonic_ns)
        self._closed = phase.pattern is Pattern.CONCURRENCY
        self._slots = self._slot_pool(phase)
        self._prepared: deque[Unit] = deque()
        self._waiting: deque[Flight] = deque()
        self._timers: list[tuple[int, int, Flight]] = []
        self._in_flight = self._peak = 0
        self._issuing = True
        self._issue_ended_ns = 0
        self._reads = 0
        self._lags = [0] * 64
        self._start = 0
        for cell in (Worker.ISSUED, Worker.COMPLETED, Worker.PEAK, Worker.IN_FLIGHT):
            self._cells[cell] = 0
        self._open_ahead()
        cpu, wall = cpu_ns(), monotonic_ns()
        if self._wait_for_start(number):
            cpu, wall = cpu_ns(), monotonic_ns()
            self._loop()
        self._recorder.facts(self._facts(cpu, wall))
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

    def _wanted_ahead(self) -> int:
        """Connections and requests to have ready before the phase starts: those that go out in its first moment."""
        if self._slots is None:
            return 1
        capacity = len(worker_slots(self._phase.concurrency or 1, self._plan.workers, self._worker))
        return capacity if self._closed or self._phase.pattern is Pattern.OFFLINE else min(capacity, 16)

    def _open_ahead(self) -> None:
        """Open connections and serialise the first requests, so that the first wave waits for neither."""
        wanted = self._wanted_ahead()
        while len(self._prepared) < wanted and self._prepare():
            pass
        if self._phase.pattern in (Pattern.POISSON, Pattern.CONSTANT):
            rate = self._phase.rate_per_s or 1.0
            wanted = max(wanted, min(64, int(rate / self._plan.workers) + 1))
        else:
            wanted = len(self._prepared)
        deadline = monotonic_ns() + self._limits.connect_timeout_ns
        while self._pool.idle_count < wanted and monotonic_ns() < deadline and not self._control.run[Global.STOP]:
            lacking = wanted - self._pool.idle_count - self._pool.opening
            while lacking > 0 and self._pool.opening < self._pool.pace:
                if not self._open_connection():
                    return  # the requests themselves will meet the fault and record it
                lacking -= 1
            failed = self._turn_of_opening()
            if failed:
                return
        self._cells[Worker.OPEN] = len(self._pool.by_descriptor)

    def _turn_of_opening(self) -> bool:
        """One look at connections being opened; True if one failed."""
        before = len(self._pool.by_descriptor)
        for descriptor, mask in self._poller.poll(0.05):
            conn = self._pool.by_descriptor.get(descriptor)
            if conn is not None:
                self._on_event(conn, mask)
        return len(self._pool.by_descriptor) < before

    def _wait_for_start(self, number: int) -> bool:
        """Tell the supervisor that this worker is ready; True when the phase has started, False if it will not."""
        run = self._control.run
        self._cells[Worker.READY] = number
        while not (run[Global.PHASE] == number and run[Global.PHASE_START]):
            if run[Global.STOP]:
                return False
            self._turn_of_opening() if self._pool.by_descriptor else sleep_s(0.001)
            self._cells[Worker.BEAT] = monotonic_ns()
        self._start = run[Global.PHASE_START]
        while (left := self._start - monotonic_ns()) > 0:
            sleep_s(min(left / 1e9, 0.001))
        return True

    # -- the loop ----------------------------------------------------------------------------------------------------

    def _loop(self) -> None:
        """Until nothing is left to send or to wait for."""
        poll, connections = self._poller.poll, self._pool.by_descriptor
        buffers, view, lags, stamps = self._buffers, self._buffer, self._lags, self._stamps
        now, unpack = monotonic_ns, unpack_timespec
        next_look = 0
        self._issue_due()
        while self._issuing or self._in_flight or self._timers:
            at = now()
            if at >= next_look:
                next_look = at + TICK_NS
                self._housekeeping(at)
                self._issue_due()
            elif self._due <= at:
                self._issue_due()
            ready = poll(self._patience(self._due - at, next_look - at))
            if not ready:
                left = self._due - now()
                if 0 < left < SPIN_BELOW_NS:
                    sleep_s(min(NAP_S, left / 1e9))
                continue
            batch = now()
            offset = stamps.offset_ns
            for descriptor, mask in ready:
                conn = connections.get(descriptor)
                if conn is None:
                    continue
                if not conn.fast or mask != READ:
                    self._on_event(conn, mask)
                    continue
                # The path of nearly every token: receive, stamp, append; look at four bytes.
                try:
                    count, ancillary, _, _ = conn.receive_into(buffers, ANCILLARY_BYTES)
                except BlockingIOError:
                    continue
                except OSError as error:
                    self._on_lost(conn, str(error))
                    continue
                if not count:
                    self._on_lost(conn, "")
                    continue
                if ancillary:
                    seconds, ns = unpack(ancillary[0][2])
                    stamp = seconds * 1_000_000_000 + ns + offset
                    lag = batch - stamp
                    if lag < 0:
                        lag = 0 if lag > MIN_LAG_NS else MAX_LAG_NS
                    if lag < MAX_LAG_NS:
                        lags[lag.bit_length()] += 1
                    else:
                        stamp = -now()
                else:
                    stamp = -now()
                conn.stamps.append(stamp)
                data = bytes(view[:count])
                conn.chunks.append(data)
                if (count < 8 or data[-4:] == b"\r\n\r\n") and self._advance(conn):
                    self._on_end(conn, abs(stamp))

    def _patience(self, until_due_ns: int, until_look_ns: int) -> float:
        """Seconds to wait for sockets: whole milliseconds that end before the next thing due."""
        wait = min(until_due_ns, until_look_ns)
        if until_due_ns < SPIN_BELOW_NS:
            return 0.0
        return max(0, wait // 1_000_000 - 1) / 1000 if until_due_ns <= until_look_ns else max(0, wait) / 1e9

    # -- sending -----------------------------------------------------------------------------------------------------

    def _prepare(self) -> bool:
        """Claim one unit and serialise its first request; False when issuing has ended."""
        unit = self._claims.next_unit()
        if unit is None:
            return False
        unit.first = self._flight(unit)
        self._prepared.append(unit)
        return True

    def _flight(self, unit: Unit) -> Flight:
        self._serial += 1
        index = unit.number * self._turns + unit.turn_number
        data, max_tokens = self._outgoing.request(unit.turn.sample, f"{self._phase_number}-{index}")
        return Flight(self._serial, index, unit, data, max_tokens)

    def _issue_due(self) -> None:
        """Send everything that is due, and note when the next thing is (FAR: only an event can tell)."""
        self._due = min(self._issue_timers(), self._issue_units())

    def _issue_timers(self) -> int:
        """Later turns and retries whose time has come; returns the time of the next."""
        while self._timers and self._timers[0][0] <= monotonic_ns():
            _, _, flight = heapq.heappop(self._timers)
            if flight.issued_ns < 0:
                self._issue(flight)
            else:
                self._waiting.append(flight)  # a retry: its clock goes on from the first try
                self._serve_waiting()
        return self._timers[0][0] if self._timers else FAR

    def _issue_units(self) -> int:
        """Units of the global order that are due and have a slot; returns when to look again."""
        stop = self._phase.stop
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
            self._prepared.popleft()
            flight = unit.first
            assert flight is not None
            unit.first = None
            flight.slot, flight.scheduled_ns = slot, scheduled
            self._in_flight += 1
            self._issue(flight)
        return FAR

    def _end_issuing(self) -> None:
        """Nothing new goes out; what was claimed and not sent is counted, not hidden."""
        self._cells[Worker.UNSENT] += len(self._prepared)
        self._prepared.clear()
        self._issuing = False
        self._issue_ended_ns = monotonic_ns()
        self._control.run[Global.PHASE_ISSUE_END] = self._issue_ended_ns

    def _issue(self, flight: Flight) -> None:
        """The decision to send, and the sending if a connection is open."""
        conn = self._pool.take_idle()
        flight.issued_ns = monotonic_ns()
        if conn is not None:
            self._send(conn, flight)
        unit = flight.unit
        self._recorder.append(
            issued_frame(
                Issued(
                    flight.serial, self._phase_number, flight.index, unit.number, unit.turn_number,
                    unit.turn.sample.row, flight.scheduled_ns, flight.issued_ns,
                )
            )
        )  # fmt: skip
        self._cells[Worker.ISSUED] += 1
        if self._in_flight > self._peak:
            self._peak = self._cells[Worker.PEAK] = self._in_flight
        if conn is None:
            self._waiting.append(flight)
            self._open_for_waiting()

    def _send(self, conn: Connection, flight: Flight) -> None:
        conn.state = State.BUSY
        conn.flight = flight
        conn.finder = EndFinder()
        flight.attempts += 1
        flight.reused = conn.requests > 0
        conn.requests += 1
        self._pool.issued[conn.address.number] += 1
        sent = monotonic_ns()
        if flight.sent_ns < 0:
            flight.sent_ns = sent
        try:
            conn.send(self._outgoing.prefix(conn.address.url) + flight.data)
        except Broken as broken:
            self._on_broken(conn, broken)
            return
        if conn.out is not None and not conn.waits_write:
            self._poller.modify(conn.descriptor, READ | WRITE)
            conn.waits_write = True

    def _serve_waiting(self) -> None:
        """Give idle connections to requests that wait, then open what is lacking."""
        while self._waiting and (conn := self._pool.take_idle()) is not None:
            self._send(conn, self._waiting.popleft())
        self._open_for_waiting()

    def _open_for_waiting(self) -> None:
        """Begin to open connections for requests that wait, no more at once than the pace allows."""
        while self._pool.opening < min(self._pool.pace, len(self._waiting)):
            if not self._open_connection():
                return

    def _open_connection(self) -> bool:
        """Begin to open one connection; False if the machine or the endpoint refused at once."""
        try:
            conn = Connection(
                self._pool.opened, self._pool.next_address(), monotonic_ns(), kernel_stamps=self._plan.kernel_stamps
            )
        except Broken as broken:
            self._connect_failed(broken)
            return False
        self._pool.add(conn)
        self._poller.register(conn.descriptor, READ | WRITE)
        self._cells[Worker.OPENED] = self._pool.opened
        return True

    def _connect_failed(self, broken: Broken) -> None:
        """No connection for the request that waits longest: it failed. Its slot rests before it is refilled."""
        if self._waiting:
            flight = self._waiting.popleft()
            now = monotonic_ns()
            self._finish(flight, None, How.FAILED, now, broken.kind, broken.detail, free_at=now + CONNECT_RETRY_NS)

    # -- events of one connection --------------------------------------------------------------------------------------

    def _on_event(self, conn: Connection, mask: int) -> bool:
        """Anything but the plain arrival of more of a chunked answer; True if a request ended."""
        try:
            if mask & (WRITE | GONE) and conn.waits_write:
                opening = conn.state
                conn.on_writable(self._outgoing.tls, self._outgoing.proxy_authorization)
                self._settle(conn, opening)
            if mask & (READ | GONE) and conn.state is not State.CLOSED:
                return self._on_readable(conn)
        except Broken as broken:
            return self._on_broken(conn, broken)
        return False

    def _settle(self, conn: Connection, before: State) -> None:
        """After progress: watch for writing only while something waits, and use a connection that became ready."""
        writes = conn.out is not None
        if conn.waits_write is not writes:
            conn.waits_write = writes
            self._poller.modify(conn.descriptor, READ | WRITE if writes else READ)
        if conn.state is State.IDLE and before is not State.IDLE:
            conn.connected_ns = monotonic_ns()
            self._pool.opening -= 1
            self._cells[Worker.OPEN] = len(self._pool.by_descriptor)
            self._offer(conn)

    def _offer(self, conn: Connection) -> None:
        """A connection is ready: the request that waits longest gets it."""
        if not self._waiting:
            self._pool.put_idle(conn)
            return
        flight = self._waiting.popleft()
        if conn.requests == 0:
            flight.connect_ns = conn.connected_ns - conn.opened_ns
        self._send(conn, flight)
        self._open_for_waiting()

    def _receive(self, conn: Connection) -> tuple[bytes, int]:
        """Bytes of the socket and their stamp (negated if it is the user-space clock's); `b""` at the end."""
        count, ancillary, _, _ = conn.receive_into(self._buffers, ANCILLARY_BYTES)
        at = monotonic_ns()
        stamp = -at
        if ancillary and len(ancillary[0][2]) == 16:
            seconds, ns = unpack_timespec(ancillary[0][2])
            kernel = int(seconds) * 1_000_000_000 + int(ns) + self._stamps.offset_ns
            lag = at - kernel
            if MIN_LAG_NS < lag < MAX_LAG_NS:
                stamp = kernel
                if conn.state is State.BUSY:
                    self._lags[max(0, lag).bit_length()] += 1
        return bytes(self._buffer[:count]), stamp

    def _on_readable(self, conn: Connection) -> bool:
        try:
            data, stamp = self._receive(conn)
        except BlockingIOError:
            return False
        except OSError as error:
            return self._on_lost(conn, str(error))
        if conn.state in (State.PROXY, State.HANDSHAKE, State.CONNECTING):
            before = conn.state
            conn.on_opening_bytes(data, self._outgoing.tls)
            self._settle(conn, before)
            return False
        if conn.state is State.IDLE:
            if data and conn.encrypted and not conn.decrypt(data):
                return False  # session tickets and the like
            self._forget(conn)  # closed, or it speaks unasked: either way of no use any more
            return False
        if not data:
            return self._on_lost(conn, "")
        if conn.encrypted:
            data = conn.decrypt(data)
            if not data:
                return False
        conn.stamps.append(stamp)
        conn.chunks.append(data)
        if self._advance(conn):
            self._on_end(conn, abs(stamp))
            return True
        return False

    def _advance(self, conn: Connection) -> bool:
        """Frame what was not framed yet; True when the message has ended."""
        finder = conn.finder
        assert finder is not None
        fresh = conn.chunks[conn.fed :]
        conn.fed = len(conn.chunks)
        try:
            ended = finder.feed(fresh[0] if len(fresh) == 1 else b"".join(fresh))
        except WireError:
            # The reducer meets the same bytes and says what is wrong with them.
            return self._break_off(conn, How.CLOSED, monotonic_ns())
        if finder.head is not None and not conn.fast:
            conn.fast = finder.head.framing is Framing.CHUNKED and not conn.encrypted
        return ended

    def _on_end(self, conn: Connection, completed_ns: int) -> None:
        """The answer is whole."""
        finder, flight = conn.finder, conn.flight
        if finder is None or flight is None:
            return  # broken off meanwhile
        if self._outgoing.retry_after(finder, flight.attempts) is not None:
            self._retry(conn, flight)
            return
        self._finish(flight, conn, How.ENDED, completed_ns)
        self._release(conn)
        if self._issuing:
            self._issue_due()

    def _release(self, conn: Connection) -> None:
        """The exchange is over: reuse the connection if both sides may."""
        finder = conn.finder
        reusable = finder is not None and finder.keep_alive and not finder.surplus and conn.out is None
        conn.flight = None
        conn.clear()
        if reusable:
            self._offer(conn)
        else:
            self._forget(conn)
            self._open_for_waiting()

    def _retry(self, conn: Connection, flight: Flight) -> None:
        """Asked for by the plan only: send again when the endpoint named. The clock runs from the first try."""
        assert conn.finder is not None
        wait_ns = self._outgoing.retry_after(conn.finder, flight.attempts)
        assert wait_ns is not None
        self._recorder.append(frame(Kind.RESET, flight.serial.to_bytes(8, "little", signed=True)))
        self._release(conn)
        heapq.heappush(self._timers, (monotonic_ns() + wait_ns, flight.serial, flight))

    def _on_lost(self, conn: Connection, detail: str) -> bool:
        """The peer closed or reset; True if a request ended by it."""
        if conn.state is not State.BUSY:
            self._forget(conn)
            return False
        flight, finder = conn.flight, conn.finder
        assert flight is not None
        assert finder is not None
        if not conn.stamps and finder.head is None and flight.reused and flight.attempts <= 1:
            # An idle connection died just as it was reused. Not one byte of an answer came, so it is sent once more.
            self._resends += 1
            self._forget(conn)
            self._waiting.appendleft(flight)
            self._serve_waiting()
            return False
        with contextlib.suppress(WireError):
            if conn.fed < len(conn.chunks):
                finder.feed(b"".join(conn.chunks[conn.fed :]))
        how = How.ENDED if finder.eof() and not detail else How.CLOSED
        at = abs(conn.stamps[-1]) if how is How.ENDED and conn.stamps else monotonic_ns()
        return self._break_off(conn, how, at, detail)

    def _on_broken(self, conn: Connection, broken: Broken) -> bool:
        if conn.state is not State.BUSY:
            self._forget(conn)
            self._connect_failed(broken)
            self._open_for_waiting()
            return True
        if broken.kind is FailureKind.CLOSED_EARLY:
            return self._on_lost(conn, broken.detail)
        return self._break_off(conn, How.FAILED, monotonic_ns(), broken.detail, broken.kind)

    def _break_off(
        self, conn: Connection, how: How, at_ns: int, detail: str = "", kind: FailureKind | None = None
    ) -> bool:
        """End the request of a connection that is of no further use."""
        flight = conn.flight
        if flight is not None:
            self._finish(flight, conn, how, at_ns, kind, detail)
        conn.flight = None
        self._forget(conn)
        self._serve_waiting()
        return True

    def _forget(self, conn: Connection) -> None:
        with contextlib.suppress(OSError, ValueError, KeyError):
            self._poller.unregister(conn.descriptor)
        conn.fast = False
        self._pool.drop(conn)
        self._cells[Worker.OPEN] = len(self._pool.by_descriptor)

    # -- the end of a request ------------------------------------------------------------------------------------------

    def _finish(
        self,
        flight: Flight,
        conn: Connection | None,
        how: How,
        completed_ns: int,
        kind: FailureKind | None = None,
        detail: str = "",
        free_at: int = 0,
    ) -> None:
        """The only place where a request ends: record it, then go on with its conversation or free its slot."""
        if conn is not None and conn.chunks:
            self._recorder.part(flight.serial, conn.stamps, conn.chunks)
        address = conn.address.number if conn is not None else -1
        number = conn.number if conn is not None else -1
        end = End(
            flight.serial, how, self._worker, flight.sent_ns, flight.connect_ns, completed_ns, address, number,
            int(flight.reused), flight.attempts, len(flight.data), flight.max_tokens,
        )  # fmt: skip
        self._recorder.append(end_frame(end, kind.value if kind else "", detail))
        self._cells[Worker.COMPLETED] += 1
        good = (
            how is How.ENDED
            and conn is not None
            and conn.finder is not None
            and conn.finder.head is not None
            and conn.finder.head.status // 100 == 2
        )
        self._next_turn(flight, Outcome.SUCCEEDED if good else Outcome.FAILED, completed_ns, free_at)

    def _next_turn(self, flight: Flight, outcome: Outcome, completed_ns: int, free_at: int) -> None:
        unit = flight.unit
        stopping = self._control.run[Global.STOP] != 0
        try:
            if stopping:
                unit.session.close()
                raise StopIteration(())
            unit.turn = unit.session.send(outcome)
        except StopIteration as stop:
            if stop.value:
                self._skip_turns(unit, len(stop.value), completed_ns)
            self._in_flight -= 1
            if self._slots is not None:
                self._slots.release(flight.slot, max(completed_ns, free_at) - self._start)
            return
        unit.turn_number += 1
        following = self._flight(unit)
        following.slot = flight.slot
        following.scheduled_ns = completed_ns + unit.turn.delay_ns
        heapq.heappush(self._timers, (following.scheduled_ns, following.serial, following))

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

    def _housekeeping(self, now: int) -> None:
        """One tick: a portion of the answers under way to the recorder; now and then counters, limits and the disk."""
        self._tick += 1
        if not self._to_save:
            self._to_save = self._pool.busy()
            self._portion = len(self._to_save) // SAVE_WITHIN_TICKS + 1
        for conn in self._to_save[-self._portion :]:
            self._save_part(conn, now - SAVE_AFTER_NS)
        del self._to_save[-self._portion :]
        if self._tick % FLUSH_EVERY_TICKS == 0:
            self._recorder.flush()
        if self._tick % LOOK_EVERY_TICKS == 0:
            self._look(now)

    def _look(self, now: int) -> None:
        """Twenty times a second: counters for the supervisor, the wall clock, limits."""
        cells = self._cells
        cells[Worker.BEAT] = now
        cells[Worker.IN_FLIGHT] = self._in_flight
        cells[Worker.FAULT] = self._recorder.fault
        cells[Worker.CPU] = cpu_ns()
        self._stamps.refresh()
        orphaned = os.getppid() != self._parent  # nobody is left to collect what this worker would measure
        if self._control.run[Global.STOP] >= 2 or self._recorder.fault or orphaned:
            self._cancel_all(now, "")
        elif not self._issuing and self._drain_is_over(now):
            self._cancel_all(now, "drain timeout")
        self._apply_timeouts(now)

    def _save_part(self, conn: Connection, before_ns: int) -> None:
        """Hand the bytes of an answer under way to the recorder, so that a crash keeps them and memory stays small.

        Answers younger than a second are left alone: most end before that, and then need one frame instead of two.
        """
        flight = conn.flight
        if flight is None or not conn.chunks or flight.sent_ns > before_ns:
            return
        if conn.fed < len(conn.chunks) and self._advance(conn):
            self._on_end(conn, abs(conn.stamps[-1]))
            return
        if conn.flight is not flight:
            return  # it turned out to be broken
        self._recorder.part(flight.serial, conn.stamps, conn.chunks)
        conn.last_ns = abs(conn.stamps[-1])
        del conn.stamps[:]
        conn.chunks.clear()
        conn.fed = 0

    def _drain_is_over(self, now: int) -> bool:
        limit = self._phase.drain_timeout_ns
        if limit is None:
            limit = self._limits.drain_timeout_ns
        return limit is not None and now - self._issue_ended_ns > limit

    def _apply_timeouts(self, now: int) -> None:
        limits = self._limits
        for conn in list(self._pool.by_descriptor.values()):
            flight = conn.flight
            if flight is None:
                if conn.state < State.IDLE and now - conn.opened_ns > limits.connect_timeout_ns:
                    self._on_broken(conn, Broken(FailureKind.CONNECT_TIMEOUT, "no connection in time"))
                continue
            if limits.request_timeout_ns is not None and now - flight.issued_ns > limits.request_timeout_ns:
                self._break_off(conn, How.REQUEST_TIMEOUT, now)
            elif limits.silence_timeout_ns is not None:
                heard = abs(conn.stamps[-1]) if conn.stamps else max(conn.last_ns, flight.sent_ns)
                if now - heard > limits.silence_timeout_ns:
                    self._break_off(conn, How.IDLE_TIMEOUT, now)
        if limits.request_timeout_ns is not None:
            while self._waiting and now - self._waiting[0].issued_ns > limits.request_timeout_ns:
                self._finish(self._waiting.popleft(), None, How.REQUEST_TIMEOUT, now)

    def _cancel_all(self, now: int, detail: str) -> None:
        """Stop now: every request under way is cancelled and recorded as such."""
        if self._issuing:
            self._end_issuing()
        for conn in self._pool.busy():
            self._break_off(conn, How.CANCELLED, now, detail)
        while self._waiting:
            self._finish(self._waiting.popleft(), None, How.CANCELLED, now, None, detail)
        while self._timers:
            _, _, flight = heapq.heappop(self._timers)
            if flight.issued_ns >= 0:
                self._finish(flight, None, How.CANCELLED, now, None, detail)
            else:
                flight.unit.session.close()
                self._in_flight -= 1

    def _facts(self, cpu_before: int, wall_before: int) -> dict[str, object]:
        return {
            "worker": self._worker,
            "phase": self._phase_number,
            "cpu_ns": cpu_ns() - cpu_before,
            "wall_ns": monotonic_ns() - wall_before,
            "reads": sum(self._lags),
            "read_lag_log2_ns": self._lags,
            "connections_opened": self._pool.opened,
            "connections_open": len(self._pool.by_descriptor),
            "resends": self._resends,
            "requests_by_address": self._pool.issued,
            "peak_in_flight": self._peak,
            "clock_steps": self._stamps.steps,
        }
