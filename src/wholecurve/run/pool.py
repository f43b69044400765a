"""The connections of one worker: which are idle, which are being opened, and where the next request goes.

Requests are spread over all resolved addresses of all base URLs: the next one goes to the address that has had the
fewest. Connections are opened at a bounded pace. Idle ones are reused last in, first out, so that few go stale.
"""

from __future__ import annotations

from collections.abc import Sequence

from wholecurve.run.conn import Address, Connection, State

SOME_RESENDS = 3


class Pool:
    """Connections by file descriptor and by address."""

    __slots__ = ("_addresses", "_idle", "_resends", "by_descriptor", "issued", "opened", "opening", "pace")

    def __init__(self, addresses: Sequence[Address], worker: int, pace: int) -> None:
        self._addresses = addresses
        # Workers begin at different addresses, or the first would get one connection more from each of them.
        self.issued = [0] * len(addresses)
        self._idle: list[list[Connection]] = [[] for _ in addresses]
        self._resends = [0] * len(addresses)
        self.by_descriptor: dict[int, Connection] = {}
        self.opening = 0
        self.opened = 0
        self.pace = pace
        self._rotate(worker)

    def _rotate(self, worker: int) -> None:
        turn = worker % len(self._addresses)
        self._addresses = [*self._addresses[turn:], *self._addresses[:turn]]

    def take_idle(self) -> Connection | None:
        """An idle connection to the address with the fewest requests so far, or None."""
        if len(self._idle) == 1:
            return self._idle[0].pop() if self._idle[0] else None
        for address in sorted(self._addresses, key=lambda address: self.issued[address.number]):
            if self._idle[address.number]:
                return self._idle[address.number].pop()
        return None

    def put_idle(self, conn: Connection) -> None:
        """A connection is ready for a request."""
        conn.state = State.IDLE
        self._idle[conn.address.number].append(conn)

    def note_resend(self, address: Address) -> None:
        """A reused connection to this address turned out to be dead."""
        self._resends[address.number] += 1

    def reuses(self, address: Address) -> bool:
        """False once an address has shown that it closes after its answers, whatever it announces (llama.cpp does)."""
        resends = self._resends[address.number]
        return resends < SOME_RESENDS or resends * 10 < self.issued[address.number]

    def next_address(self) -> Address:
        """The address the next connection should be opened to: fewest open ones, counting those being opened."""
        if len(self._addresses) == 1:
            return self._addresses[0]
        open_to = [0] * len(self._addresses)
        for conn in self.by_descriptor.values():
            open_to[conn.address.number] += 1
        return min(self._addresses, key=lambda address: open_to[address.number])

    def add(self, conn: Connection) -> None:
        """A connection begins to open."""
        self.by_descriptor[conn.descriptor] = conn
        self.opening += 1
        self.opened += 1

    def drop(self, conn: Connection) -> None:
        """A connection is gone, in whatever state it was."""
        self.by_descriptor.pop(conn.descriptor, None)
        if conn.state is State.IDLE:
            idle = self._idle[conn.address.number]
            if conn in idle:
                idle.remove(conn)
        elif conn.state in (State.CONNECTING, State.PROXY, State.HANDSHAKE):
            self.opening -= 1
        conn.close()

    def busy(self) -> list[Connection]:
        """Connections that carry a request."""
        return [conn for conn in self.by_descriptor.values() if conn.state is State.BUSY]

    @property
    def idle_count(self) -> int:
        """Connections ready for a request."""
        return sum(map(len, self._idle))
