"""Connections of a small HTTP server: accept, read whole requests, write without blocking, close or reset."""

from __future__ import annotations

import contextlib
import itertools
import selectors
import socket
import struct
from abc import ABC, abstractmethod
from typing import Protocol

from wholecurve.sim.http1 import BadRequest, HttpRequest
from wholecurve.sim.pages import error_page
from wholecurve.sim.stamps import ANCILLARY_BYTES, Waiter, arrival_ns
from wholecurve.sim.stream import Peer

READ_BYTES = 256 << 10
_RESET = struct.pack("ii", 1, 0)


class HasFileno(Protocol):
    """Anything a selector can watch."""

    def fileno(self) -> int:
        """Its descriptor."""


class HttpLoop(ABC):
    """One thread, one selector. A subclass answers requests in `handle` and writes with `send`."""

    def __init__(self, listener: socket.socket, *, stop_on: HasFileno | None = None) -> None:
        self.stopping = False
        self._peers: set[Peer] = set()
        self._connections = itertools.count()
        self._listener = listener
        listener.setblocking(False)
        self._selector = selectors.DefaultSelector()
        self._waiter = Waiter(self._selector)
        self._selector.register(listener, selectors.EVENT_READ, None)
        if stop_on is not None:
            self.watch_stop(stop_on)

    @abstractmethod
    def handle(self, peer: Peer, request: HttpRequest, arrived_ns: int) -> None:
        """A whole request came. Either send the whole answer, or set `peer.stream` until it is over."""

    @abstractmethod
    def given_up(self, peer: Peer) -> None:
        """The connection is about to be closed, by whichever side."""

    def watch_stop(self, source: HasFileno) -> None:
        """Stop as soon as `source` can be read, or has ended."""
        self._selector.register(source.fileno(), selectors.EVENT_READ, self.stop)

    def stop(self) -> None:
        """End the loop after what is being done now."""
        self.stopping = True

    def poll(self, until_ns: int | None) -> None:
        """Wait until `until_ns` (None: without end) or a socket is ready, and serve all that are."""
        for key, events in self._waiter.wait(until_ns):
            self._ready(key, events)

    def close(self) -> None:
        """Close the listener and all connections."""
        for peer in list(self._peers):
            self.drop(peer)
        self._selector.close()
        self._listener.close()

    def _ready(self, key: selectors.SelectorKey, events: int) -> None:
        peer = key.data
        if peer is None:
            self._accept()
        elif not isinstance(peer, Peer):
            peer()
        else:
            if events & selectors.EVENT_WRITE and peer.open:
                self._flush(peer)
            if events & selectors.EVENT_READ and peer.open:
                self._read(peer)

    def _accept(self) -> None:
        for _ in range(256):
            try:
                sock, _address = self._listener.accept()
            except OSError:  # none is waiting, or no descriptor is left: those who wait stay in the queue
                return
            peer = Peer(sock, next(self._connections))
            self._peers.add(peer)
            self._selector.register(sock, selectors.EVENT_READ, peer)

    def _read(self, peer: Peer) -> None:
        try:
            data, ancillary, _flags, _address = peer.sock.recvmsg(READ_BYTES, ANCILLARY_BYTES)
        except (BlockingIOError, InterruptedError):
            return
        except OSError:
            data, ancillary = b"", []
        if not data:
            self.drop(peer)
            return
        peer.parser.feed(data)
        self.next_request(peer, arrival_ns(ancillary))

    def next_request(self, peer: Peer, arrived_ns: int) -> None:
        """Answer what has arrived whole, unless an answer is under way or the connection is to end."""
        while peer.open and peer.stream is None and not peer.closing:
            try:
                request = peer.parser.next()
            except BadRequest as error:
                peer.closing = True
                self.send(peer, error_page(error.status, error.message))
                return
            if request is None:
                if peer.parser.expects_continue:
                    peer.parser.expects_continue = False
                    self.send(peer, b"HTTP/1.1 100 Continue\r\n\r\n")
                return
            peer.closing = not request.keep_alive
            self.handle(peer, request, arrived_ns)

    def send(self, peer: Peer, data: bytes) -> None:
        """Write, or keep what the socket does not take; closes afterwards if the connection is to end."""
        if not peer.out:
            try:
                sent = peer.sock.send(data)
            except (BlockingIOError, InterruptedError):
                sent = 0
            except OSError:
                self.drop(peer)
                return
            if sent == len(data):
                if peer.closing and peer.stream is None:
                    self.drop(peer)
                return
            data = data[sent:]
        self.send_later(peer, data)

    def send_later(self, peer: Peer, data: bytes) -> None:
        """Keep what the socket did not take, and write it as soon as it does."""
        peer.out += data
        self._watch(peer, selectors.EVENT_READ | selectors.EVENT_WRITE)

    def _flush(self, peer: Peer) -> None:
        try:
            sent = peer.sock.send(peer.out)
        except (BlockingIOError, InterruptedError):
            return
        except OSError:
            self.drop(peer)
            return
        del peer.out[:sent]
        if peer.out:
            return
        self._watch(peer, selectors.EVENT_READ)
        if peer.closing and peer.stream is None:
            self.drop(peer)

    def _watch(self, peer: Peer, events: int) -> None:
        if peer.watch != events:
            peer.watch = events
            self._selector.modify(peer.sock, events, peer)

    def drop(self, peer: Peer, *, reset: bool = False) -> None:
        """Close a connection; an answer under way is given up and its place in the engine freed."""
        if not peer.open:
            return
        peer.open = False
        self._peers.discard(peer)
        self._selector.unregister(peer.sock)
        self.given_up(peer)
        with contextlib.suppress(OSError):
            if reset:
                peer.sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET)
            else:
                peer.sock.shutdown(socket.SHUT_WR)
        peer.sock.close()
