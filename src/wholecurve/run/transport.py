"""The sockets of one worker: sends requests, reads what comes, stamps every read, and says when a request ended.

Two house rules. Between a byte's arrival and its place in memory nothing is parsed but the length of the HTTP message;
and no decision waits for a disk, a lock or another process. A request ends in exactly one place, `_finish`.
"""

from __future__ import annotations

import contextlib
from array import array
from collections import deque
from collections.abc import Callable, Sequence

from wholecurve.model.plan import Plan
from wholecurve.model.record import FailureKind
from wholecurve.run.chores import Chores
from wholecurve.run.clock import ANCILLARY_BYTES, StampClock, monotonic_ns, unpack_timespec
from wholecurve.run.conn import READ_BYTES, Address, Broken, Connection, State
from wholecurve.run.flight import Flight
from wholecurve.run.outgoing import Outgoing
from wholecurve.run.poller import GONE, READ, WRITE, Poller, make_pollers
from wholecurve.run.pool import Pool
from wholecurve.run.recorder import Recorder
from wholecurve.run.spool import End, How, Kind, end_frame, frame
from wholecurve.wire import EndFinder, Framing, WireError

CONNECT_RETRY_NS = 50_000_000
"""A slot whose connection was refused rests this long, so that a dead endpoint is not hammered."""
MAX_LAG_NS, MIN_LAG_NS = 60_000_000_000, -1_000_000_000
"""A kernel stamp further than this from the reader's clock is not believed (the wall clock was stepped)."""
MOST_AT_ONCE = 32
"""Sockets served between two looks at the express lane."""
EXPRESS_READS = 3
"""Reads of an answer in the express lane: its head, a role without text, the first token."""
GATHER_S = 0.001
GATHER_READS_PER_S = 8_000
GATHER_ANSWER_NS = 200_000_000
LAST_CHUNK = b"\r\n0\r\n\r\n"

Done = Callable[[Flight, bool, int, int], None]
"""Told that a request ended: flight, whether with a whole 2xx answer, when, and when its slot may be used again."""
Retry = Callable[[Flight, int], None]
"""Asked to send a flight again at a time (only if the plan has retries)."""


class Transport(Chores):
    """Connections, the requests on them, and the requests that wait for one."""

    def __init__(
        self,
        worker: int,
        plan: Plan,
        recorder: Recorder,
        outgoing: Outgoing,
        addresses: Sequence[Address],
        done: Done,
        retry: Retry,
    ) -> None:
        self._worker = worker
        self._limits = plan.limits
        self._kernel_stamps = plan.kernel_stamps
        self._recorder = recorder
        self._outgoing = outgoing
        self._done = done
        self._retry = retry
        self._poller, self._express, self._express_descriptor = make_pollers()
        self._can_gather = plan.kernel_stamps and self._express_descriptor >= 0
        self._gathering = False
        self._drained = True
        self._served = 0
        self._pool = Pool(addresses, worker, max(1, plan.limits.max_connects_at_once // plan.workers))
        self._waiting: deque[Flight] = deque()
        self._orphans: deque[Flight] = deque()  # to be sent again, on a fresh connection only
        self._buffer = memoryview(bytearray(READ_BYTES))
        self._buffers = [self._buffer]
        self._ended: deque[tuple[End, array[int], list[bytes]]] = deque()
        self._to_save: list[Connection] = []
        self._portion = 0
        self.stamps = StampClock()
        self.begin_phase()

    def begin_phase(self) -> None:
        """Start counting anew."""
        self._lags = [0] * 64
        self._resends = 0
        self._gathering = False

    def facts(self) -> dict[str, object]:
        """What this side says of a phase."""
        return {
            "reads": sum(self._lags),
            "read_lag_log2_ns": self._lags,
            "connections_opened": self._pool.opened,
            "connections_open": len(self._pool.by_descriptor),
            "resends": self._resends,
            "requests_by_address": self._pool.issued,
            "clock_steps": self.stamps.steps,
        }

    @property
    def open_connections(self) -> int:
        """Connections that exist, in whatever state."""
        return len(self._pool.by_descriptor)

    # -- the turn of the loop ------------------------------------------------------------------------------------------

    def turn(self, patience_s: float) -> bool:
        """Wait for sockets at most so long and serve all that are ready; False if none was."""
        if self._gathering and self._drained and patience_s >= GATHER_S:
            self._serve_express(GATHER_S)
            patience_s = 0.0
        ready = self._poller.poll(patience_s, MOST_AT_ONCE)
        self._drained = len(ready) < MOST_AT_ONCE
        if not ready:
            return False
        self._served += len(ready)
        if len(ready) == MOST_AT_ONCE or ready[0][0] == self._express_descriptor:
            self._serve_express()
        connections = self._pool.by_descriptor
        buffers, view, lags = self._buffers, self._buffer, self._lags
        now, unpack = monotonic_ns, unpack_timespec
        offset = self.stamps.offset_ns
        batch = now()
        for descriptor, mask in ready:
            conn = connections.get(descriptor)
            if conn is None:
                if descriptor == self._express_descriptor:
                    self._serve_express()
                continue
            if not conn.fast or mask != READ:
                self._on_event(conn, mask)
                continue
            # The path of nearly every token: receive, stamp, append; look at the last bytes.
            try:
                count, ancillary, _, _ = conn.receive_into(buffers, ANCILLARY_BYTES)
            except BlockingIOError:
                continue
            except OSError as error:
                self._on_lost(conn, error.strerror or "")
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
            if data[-4:] == b"\r\n\r\n" or count < 8:
                self._look_for_end(conn, data, abs(stamp))
        return True

    def decide_gathering(self, span_ns: int, ended: int, in_flight: int) -> None:
        """Whether to gather: read later tokens a millisecond at a time, and only answers that begin at once.

        Each wake-up costs more than the reading; the kernel's stamps are right however late they are read. It is done
        where it saves something (many reads a second) and costs nothing (answers so long that a millisecond before the
        next request is no load lost). `ended`: answers since this was asked last, `span_ns` ago.
        """
        reads_per_s = self._served * 1_000_000_000 / span_ns
        answer_ns = in_flight * span_ns / ended if ended else GATHER_ANSWER_NS
        self._gathering = self._can_gather and reads_per_s >= GATHER_READS_PER_S and answer_ns >= GATHER_ANSWER_NS
        self._served = 0

    def _serve_express(self, patience_s: float = 0.0) -> None:
        """Answers that have hardly begun go first: a first token that waits to be read may get the second's stamp."""
        for descriptor, mask in self._express.poll(patience_s):
            conn = self._pool.by_descriptor.get(descriptor)
            if conn is None:
                continue
            self._on_event(conn, mask)
            if len(conn.stamps) >= EXPRESS_READS and conn.lane is self._express and conn.flight is not None:
                self._move(conn, self._poller)

    def _move(self, conn: Connection, lane: Poller) -> None:
        """Watch a connection in the other lane."""
        if conn.lane is not lane:
            conn.lane.unregister(conn.descriptor)
            lane.register(conn.descriptor, READ | WRITE if conn.waits_write else READ)
            conn.lane = lane

    def _look_for_end(self, conn: Connection, data: bytes, stamp_ns: int) -> None:
        """The tail may be an end. In an event stream a line of nothing but 0 is no field, so it is the last chunk."""
        tail = data if len(data) >= len(LAST_CHUNK) else b"".join(conn.chunks[-3:])
        if conn.events and tail.endswith(LAST_CHUNK):
            head = conn.finder.head if conn.finder is not None else None
            self._on_end(conn, stamp_ns, keep_alive=head is not None and head.keep_alive)
        elif self._advance(conn):
            self._on_end(conn, stamp_ns, keep_alive=conn.finder is not None and conn.finder.keep_alive)

    # -- sending -------------------------------------------------------------------------------------------------------

    def submit(self, flight: Flight) -> None:
        """Send on an idle connection, else as soon as one is open."""
        conn = self._pool.take_idle()
        if conn is not None:
            self._send(conn, flight)
        else:
            self._waiting.append(flight)

    def submit_again(self, flight: Flight) -> None:
        """Send again; the clock goes on from the first try."""
        self._waiting.append(flight)
        self.serve_waiting()

    def _send(self, conn: Connection, flight: Flight) -> None:
        conn.state = State.BUSY
        conn.flight = flight
        conn.finder = EndFinder()
        conn.saved_ns = flight.issued_ns
        self._move(conn, self._express)
        flight.attempts += 1
        flight.reused = conn.requests > 0
        conn.requests += 1
        self._pool.issued[conn.address.number] += 1
        data = self._outgoing.prefix(conn.address.url) + flight.data
        flight.bytes_sent = len(data)
        sent = monotonic_ns()
        if flight.sent_ns < 0:
            flight.sent_ns = sent
        try:
            conn.send(data)
        except Broken as broken:
            self._on_broken(conn, broken)
            return
        if conn.out is not None and not conn.waits_write:
            conn.lane.modify(conn.descriptor, READ | WRITE)
            conn.waits_write = True

    def serve_waiting(self) -> None:
        """Give idle connections to requests that wait, then open what is lacking, no more at once than the pace."""
        while self._waiting and (conn := self._pool.take_idle()) is not None:
            self._send(conn, self._waiting.popleft())
        while self._pool.opening < min(self._pool.pace, len(self._waiting) + len(self._orphans)):
            if not self._open():
                return

    def open_ahead(self, wanted: int) -> bool:
        """Open towards `wanted` idle connections; False when there are so many, or opening failed."""
        lacking = wanted - self._pool.idle_count - self._pool.opening
        while lacking > 0 and self._pool.opening < self._pool.pace:
            if not self._open():
                return False
            lacking -= 1
        before = len(self._pool.by_descriptor)
        self.turn(0.05)
        return len(self._pool.by_descriptor) >= before and self._pool.idle_count < wanted

    def _open(self) -> bool:
        """Begin to open one connection; False if the machine or the endpoint refused at once."""
        try:
            conn = Connection(
                self._pool.opened, self._pool.next_address(), monotonic_ns(), kernel_stamps=self._kernel_stamps
            )
        except Broken as broken:
            self._open_failed(broken)
            return False
        self._pool.add(conn)
        conn.lane = self._poller
        conn.lane.register(conn.descriptor, READ | WRITE)
        return True

    def _open_failed(self, broken: Broken) -> None:
        """No connection for the request that waits longest: it failed. Its slot rests before it is refilled."""
        queue = self._orphans or self._waiting
        if queue:
            now = monotonic_ns()
            self._finish(queue.popleft(), None, How.FAILED, now, broken.kind, broken.detail, now + CONNECT_RETRY_NS)

    # -- events of one connection --------------------------------------------------------------------------------------

    def _on_event(self, conn: Connection, mask: int) -> None:
        """Anything but the plain arrival of more of a chunked answer."""
        try:
            if mask & (WRITE | GONE) and conn.waits_write:
                before = conn.state
                conn.on_writable(self._outgoing.tls, self._outgoing.proxy_authorization)
                self._settle(conn, before)
            if mask & (READ | GONE) and conn.state is not State.CLOSED:
                self._on_readable(conn)
        except Broken as broken:
            self._on_broken(conn, broken)

    def _settle(self, conn: Connection, before: State) -> None:
        """After progress: watch for writing only while something waits, and use a connection that became ready."""
        writes = conn.out is not None
        if conn.waits_write is not writes:
            conn.waits_write = writes
            conn.lane.modify(conn.descriptor, READ | WRITE if writes else READ)
        if conn.state is State.IDLE and before is not State.IDLE:
            conn.connected_ns = monotonic_ns()
            self._pool.opening -= 1
            self._offer(conn)

    def _offer(self, conn: Connection) -> None:
        """A connection is ready: the request that waits longest gets it."""
        fresh = conn.requests == 0
        if fresh and self._orphans:
            flight = self._orphans.popleft()
        elif self._waiting:
            flight = self._waiting.popleft()
        else:
            self._pool.put_idle(conn)
            return
        if fresh:
            flight.connect_ns = conn.connected_ns - conn.opened_ns
        self._send(conn, flight)
        self.serve_waiting()

    def _receive(self, conn: Connection) -> tuple[bytes, int]:
        """Bytes of the socket and their stamp (negated if it is the user-space clock's); `b""` at the end."""
        count, ancillary, _, _ = conn.receive_into(self._buffers, ANCILLARY_BYTES)
        at = monotonic_ns()
        stamp = -at
        if ancillary and len(ancillary[0][2]) == 16:
            seconds, ns = unpack_timespec(ancillary[0][2])
            kernel = int(seconds) * 1_000_000_000 + int(ns) + self.stamps.offset_ns
            lag = at - kernel
            if MIN_LAG_NS < lag < MAX_LAG_NS:
                stamp = kernel
                if conn.state is State.BUSY:
                    self._lags[max(0, lag).bit_length()] += 1
        return bytes(self._buffer[:count]), stamp

    def _on_readable(self, conn: Connection) -> None:
        try:
            data, stamp = self._receive(conn)
        except BlockingIOError:
            return
        except OSError as error:
            self._on_lost(conn, error.strerror or "")
            return
        if conn.state < State.IDLE:
            before = conn.state
            conn.on_opening_bytes(data, self._outgoing.tls)
            self._settle(conn, before)
        elif conn.state is State.IDLE:
            if data and conn.encrypted and not conn.decrypt(data):
                return  # session tickets and the like
            self._forget(conn)  # closed, or it speaks unasked: either way of no use any more
        elif not data:
            self._on_lost(conn, "")
        else:
            if conn.encrypted:
                data = conn.decrypt(data)
            if data:
                conn.stamps.append(stamp)
                conn.chunks.append(data)
                if self._advance(conn):
                    assert conn.finder is not None
                    self._on_end(conn, abs(stamp), keep_alive=conn.finder.keep_alive)

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
            self._break_off(conn, How.CLOSED, monotonic_ns())
            return False
        head = finder.head
        if head is not None and not conn.fast and not conn.encrypted and head.framing is Framing.CHUNKED:
            conn.fast = True
            conn.events = (head.header("content-type") or "").startswith("text/event-stream")
        return ended

    def _on_end(self, conn: Connection, completed_ns: int, *, keep_alive: bool) -> None:
        """The answer is whole."""
        finder, flight = conn.finder, conn.flight
        assert finder is not None
        assert flight is not None
        wait_ns = self._outgoing.retry_after(finder, flight.attempts)
        if wait_ns is not None:
            self._recorder.append(frame(Kind.RESET, flight.serial.to_bytes(8, "little", signed=True)))
            self._release(conn, keep_alive)
            self._retry(flight, monotonic_ns() + wait_ns)
            return
        # The connection first: the next request may be due this very moment, and wants it.
        chunks, stamps = conn.chunks, conn.stamps
        self._release(conn, keep_alive)
        good = finder.head is not None and finder.head.status < 300
        self._finish(flight, conn, How.ENDED, completed_ns, good=good, answer=(stamps, chunks))

    def _release(self, conn: Connection, keep_alive: bool) -> None:
        """The exchange is over: reuse the connection if both sides may."""
        conn.flight = None
        reusable = keep_alive and conn.out is None and self._pool.reuses(conn.address)
        conn.clear()
        if reusable:
            self._offer(conn)
        else:
            self._forget(conn)
            self.serve_waiting()

    def _on_lost(self, conn: Connection, detail: str) -> None:
        """The peer closed or reset."""
        if conn.state < State.IDLE:
            # A request may wait for this connection: it has to be told.
            self._on_broken(conn, Broken(FailureKind.CONNECT_FAILED, detail or "closed while it was being opened"))
            return
        if conn.state is not State.BUSY:
            self._forget(conn)
            return
        flight, finder = conn.flight, conn.finder
        assert flight is not None
        assert finder is not None
        if not conn.stamps and not conn.last_ns and flight.reused and flight.attempts <= 1:
            # An idle connection died just as it was reused. Not one byte of an answer came, so it is sent once more,
            # on a fresh connection: the other idle ones may be as dead.
            self._resends += 1
            self._pool.note_resend(conn.address)
            self._forget(conn)
            self._orphans.append(flight)
            self.serve_waiting()
            return
        with contextlib.suppress(WireError):
            if conn.fed < len(conn.chunks):
                finder.feed(b"".join(conn.chunks[conn.fed :]))
        whole = finder.eof() and not detail
        at = abs(conn.stamps[-1]) if whole and conn.stamps else monotonic_ns()
        good = whole and finder.head is not None and finder.head.status < 300
        self._break_off(conn, How.ENDED if whole else How.CLOSED, at, detail, good=good)

    def _on_broken(self, conn: Connection, broken: Broken) -> None:
        if conn.state is not State.BUSY:
            self._forget(conn)
            self._open_failed(broken)
            self.serve_waiting()
        elif broken.kind is FailureKind.CLOSED_EARLY:
            self._on_lost(conn, broken.detail)
        else:
            self._break_off(conn, How.FAILED, monotonic_ns(), broken.detail, broken.kind)

    def _break_off(
        self,
        conn: Connection,
        how: How,
        at_ns: int,
        detail: str = "",
        kind: FailureKind | None = None,
        *,
        good: bool = False,
    ) -> None:
        """End the request of a connection that is of no further use."""
        flight = conn.flight
        conn.flight = None
        if flight is not None and conn.chunks:
            self._recorder.part(flight.serial, conn.stamps, conn.chunks)
        self._forget(conn)
        if flight is not None:
            self._finish(flight, conn, how, at_ns, kind, detail, good=good)
        self.serve_waiting()

    def _forget(self, conn: Connection) -> None:
        with contextlib.suppress(OSError, ValueError, KeyError):
            conn.lane.unregister(conn.descriptor)
        conn.fast = False
        self._pool.drop(conn)

    def _finish(
        self,
        flight: Flight,
        conn: Connection | None,
        how: How,
        completed_ns: int,
        kind: FailureKind | None = None,
        detail: str = "",
        free_at: int = 0,
        *,
        good: bool = False,
        answer: tuple[array[int], list[bytes]] | None = None,
    ) -> None:
        """The only place where a request that was issued ends. A whole `answer` is recorded when there is time."""
        end = End(
            flight.serial, how, self._worker, flight.sent_ns, flight.connect_ns, completed_ns,
            conn.address.number if conn is not None else -1, conn.number if conn is not None else -1,
            int(flight.reused), flight.attempts, flight.bytes_sent, flight.max_tokens,
        )  # fmt: skip
        if answer is not None:
            self._ended.append((end, *answer))
        else:
            self._recorder.append(end_frame(end, kind.value if kind else "", detail))
        self._done(flight, good, completed_ns, free_at)
