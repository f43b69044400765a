"""What a worker's transport does now and then, in portions, between two turns of its loop: its half off the hot path.

Whole answers go to the recorder, answers under way are saved, what takes too long is ended, and everything is cancelled
when the run stops now.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from array import array
from collections import deque

from wholecurve.model.plan import Limits
from wholecurve.model.record import FailureKind
from wholecurve.run.conn import Broken, Connection, State
from wholecurve.run.flight import Flight
from wholecurve.run.pool import Pool
from wholecurve.run.recorder import Recorder
from wholecurve.run.spool import End, How, end_frame

SAVE_WITHIN_TICKS = 50
SAVE_AFTER_NS = 1_250_000_000


class Chores(ABC):
    """Base of `Transport`, which has the sockets and these fields; it alone ends requests."""

    _limits: Limits
    _recorder: Recorder
    _pool: Pool
    _waiting: deque[Flight]
    _orphans: deque[Flight]
    _ended: deque[tuple[End, array[int], list[bytes]]]
    _to_save: list[Connection]
    _portion: int

    @abstractmethod
    def _advance(self, conn: Connection) -> bool:
        """Read what has come; whether the connection lives on."""

    @abstractmethod
    def _on_end(self, conn: Connection, completed_ns: int, *, keep_alive: bool) -> None:
        """The answer of a connection is whole."""

    @abstractmethod
    def _on_broken(self, conn: Connection, broken: Broken) -> None:
        """A connection cannot be read any further."""

    @abstractmethod
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
        """End the request of a connection, and the connection."""

    @abstractmethod
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
        """A request has ended; it goes to the records."""

    def record_ended(self, most: int) -> None:
        """Hand so many whole answers to the recorder. Not done as they end: hundreds may end in the same moment."""
        for _ in range(min(most, len(self._ended))):
            end, stamps, chunks = self._ended.popleft()
            if chunks:
                self._recorder.part(end.serial, stamps, chunks)
            self._recorder.append(end_frame(end))

    @property
    def unrecorded(self) -> int:
        """Whole answers that wait to be recorded."""
        return len(self._ended)

    def save_portion(self, now: int) -> None:
        """A portion of the answers under way goes to the recorder, so that a crash keeps them and memory stays small.

        What has not been saved for 1.25 s is, within half a second; with the recorder's own quarter of a second no
        byte is older than two seconds before it is on disk. Most answers end before that and need one frame only.
        """
        if not self._to_save:
            self._to_save = [conn for conn in self._pool.busy() if conn.saved_ns < now - SAVE_AFTER_NS]
            self._portion = len(self._to_save) // SAVE_WITHIN_TICKS + 1
        for conn in self._to_save[-self._portion :]:
            flight = conn.flight
            if flight is None or not conn.chunks or conn.saved_ns >= now - SAVE_AFTER_NS:
                continue
            if conn.fed < len(conn.chunks) and self._advance(conn):
                assert conn.finder is not None
                self._on_end(conn, abs(conn.stamps[-1]), keep_alive=conn.finder.keep_alive)
            elif conn.flight is flight:
                self._recorder.part(flight.serial, conn.stamps, conn.chunks)
                conn.forget_saved(now)
        del self._to_save[-self._portion :]

    def apply_timeouts(self, now: int) -> None:
        """End what took too long: opening, whole requests, silence."""
        limits = self._limits
        for conn in list(self._pool.by_descriptor.values()):
            flight = conn.flight
            if flight is None:
                if conn.state < State.IDLE and now - conn.opened_ns > limits.connect_timeout_ns:
                    self._on_broken(conn, Broken(FailureKind.CONNECT_TIMEOUT, "no connection in time"))
            elif limits.request_timeout_ns is not None and now - flight.issued_ns > limits.request_timeout_ns:
                self._break_off(conn, How.REQUEST_TIMEOUT, now)
            elif limits.silence_timeout_ns is not None:
                heard = abs(conn.stamps[-1]) if conn.stamps else max(conn.last_ns, flight.sent_ns)
                if now - heard > limits.silence_timeout_ns:
                    self._break_off(conn, How.IDLE_TIMEOUT, now)
        if limits.request_timeout_ns is not None:
            while self._waiting and now - self._waiting[0].issued_ns > limits.request_timeout_ns:
                self._finish(self._waiting.popleft(), None, How.REQUEST_TIMEOUT, now)

    def cancel_all(self, now: int, detail: str) -> None:
        """Every request under way is cancelled and recorded as such."""
        # Those that wait go first, or each connection that is given up would be replaced for them.
        for queue in (self._orphans, self._waiting):
            while queue:
                self._finish(queue.popleft(), None, How.CANCELLED, now, None, detail)
        for conn in self._pool.busy():
            self._break_off(conn, How.CANCELLED, now, detail)

    def cancel(self, flight: Flight, now: int, detail: str) -> None:
        """Cancel one that waits to be sent again."""
        self._finish(flight, None, How.CANCELLED, now, None, detail)
