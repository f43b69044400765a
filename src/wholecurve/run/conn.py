"""One connection: opening (proxy, TLS), sending, and where the bytes of an answer gather with their stamps.

The engine owns the loop and reads the socket; this file holds the states a connection goes through and turns
operating-system errors into failure kinds. TLS runs over memory buffers so that the socket, and with it the
kernel's stamp of every read, stays ours.
"""

from __future__ import annotations

import errno
import os
import socket
import ssl
from array import array
from dataclasses import dataclass
from enum import IntEnum
from typing import TYPE_CHECKING, Any

from wholecurve.model.record import FailureKind
from wholecurve.run.clock import SO_TIMESTAMPNS
from wholecurve.wire import EndFinder

if TYPE_CHECKING:
    from wholecurve.run.flight import Flight
    from wholecurve.run.poller import Poller

READ_BYTES = 1 << 18
MAX_PROXY_HEAD_BYTES = 16 << 10


class State(IntEnum):
    """Where a connection stands."""

    CONNECTING = 0
    PROXY = 1
    HANDSHAKE = 2
    IDLE = 3
    BUSY = 4
    CLOSED = 5


@dataclass(frozen=True, slots=True)
class Address:
    """One resolved address of one base URL; `connect_to` is the proxy's address when there is one."""

    number: int
    url: int
    family: int
    sockaddr: tuple[Any, ...]
    host: str
    port: int
    tls: bool
    tunnel: bool
    shown: str


class Broken(Exception):
    """The connection cannot go on; says why, in the terms of records."""

    def __init__(self, kind: FailureKind, detail: str) -> None:
        super().__init__(detail)
        self.kind = kind
        self.detail = detail


ERRNO_KINDS: dict[int, FailureKind] = {
    errno.ECONNREFUSED: FailureKind.CONNECT_REFUSED,
    errno.ETIMEDOUT: FailureKind.CONNECT_TIMEOUT,
    errno.EADDRNOTAVAIL: FailureKind.CLIENT_PORTS,
    errno.EMFILE: FailureKind.CLIENT_DESCRIPTORS,
    errno.ENFILE: FailureKind.CLIENT_DESCRIPTORS,
}


def broken_by(error: OSError, default: FailureKind = FailureKind.CONNECT_FAILED) -> Broken:
    """An operating-system error as a failure kind with its text."""
    code = error.errno or 0
    return Broken(ERRNO_KINDS.get(code, default), f"{errno.errorcode.get(code, code)}: {error.strerror or error}")


class Connection:
    """A socket and the answer it is receiving."""

    __slots__ = (
        "_incoming", "_outgoing", "_proxy_head", "_session", "address", "chunks", "connected_ns", "descriptor",
        "events", "fast", "fed", "finder", "flight", "lane", "last_ns", "number", "opened_ns", "out",
        "receive_into",
        "requests", "saved_ns", "sock", "stamps", "state", "waits_write",
    )  # fmt: skip

    def __init__(self, number: int, address: Address, now_ns: int, *, kernel_stamps: bool) -> None:
        self.number = number
        self.address = address
        self.opened_ns = now_ns
        self.connected_ns = 0
        self.requests = 0
        self.saved_ns = 0
        self.flight: Flight | None = None
        self.out: memoryview | None = None
        self.waits_write = True
        self.state = State.CONNECTING
        self._session: ssl.SSLObject | None = None
        self._proxy_head = b""
        self.clear()
        try:
            self.sock = socket.socket(address.family, socket.SOCK_STREAM | socket.SOCK_CLOEXEC)
        except OSError as error:
            raise broken_by(error) from None
        try:
            self.sock.setblocking(False)
            self.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            if kernel_stamps:
                self.sock.setsockopt(socket.SOL_SOCKET, SO_TIMESTAMPNS, 1)
            code = self.sock.connect_ex(address.sockaddr)
        except OSError as error:
            self.sock.close()
            raise broken_by(error) from None
        if code not in (0, errno.EINPROGRESS):
            self.sock.close()
            raise broken_by(OSError(code, os.strerror(code)))
        self.descriptor = self.sock.fileno()
        self.lane: Poller  # the set that watches this socket; the transport's
        self.receive_into = self.sock.recvmsg_into

    def clear(self) -> None:
        """Forget the last answer."""
        self.finder: EndFinder | None = None
        self.fast = False  # an answer in chunks, past its head, not encrypted: the short way of reading
        self.events = False  # it is an event stream
        self.fed = 0
        self.chunks: list[bytes] = []
        self.stamps: array[int] = array("q")
        self.last_ns = 0

    def forget_saved(self, now: int) -> None:
        """What came so far is with the recorder."""
        self.saved_ns = now
        self.last_ns = abs(self.stamps[-1])
        del self.stamps[:]
        self.chunks.clear()
        self.fed = 0

    # -- opening ---------------------------------------------------------------------------------------------------

    def on_writable(self, tls: ssl.SSLContext | None, proxy_auth: str | None) -> None:
        """The socket became writable: go on opening, or sending. Raises Broken."""
        if self.state is State.CONNECTING:
            code = self.sock.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)
            if code:
                raise broken_by(OSError(code, os.strerror(code)))
            if self.address.tunnel:
                self.state = State.PROXY
                self._send_raw(self._tunnel_request(proxy_auth))
            else:
                self._after_tunnel(tls)
            return
        self.flush()

    def _tunnel_request(self, proxy_auth: str | None) -> bytes:
        host = f"[{self.address.host}]" if ":" in self.address.host else self.address.host
        lines = [f"CONNECT {host}:{self.address.port} HTTP/1.1", f"Host: {host}:{self.address.port}"]
        if proxy_auth:
            lines.append(f"Proxy-Authorization: {proxy_auth}")
        return ("\r\n".join(lines) + "\r\n\r\n").encode("latin-1")

    def _after_tunnel(self, tls: ssl.SSLContext | None) -> None:
        if self.address.tls and tls is not None:
            self.state = State.HANDSHAKE
            self._incoming, self._outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
            self._session = tls.wrap_bio(self._incoming, self._outgoing, server_hostname=self.address.host)
            self._shake()
        else:
            self.state = State.IDLE

    def on_opening_bytes(self, data: bytes, tls: ssl.SSLContext | None) -> None:
        """Bytes came while opening (proxy answer, TLS handshake). Raises Broken."""
        if not data:
            kind = FailureKind.PROXY if self.state is State.PROXY else FailureKind.CLOSED_EARLY
            raise Broken(kind, "closed while the connection was being opened")
        if self.state is State.PROXY:
            self._proxy_head += data
            if b"\r\n\r\n" in self._proxy_head:
                status = self._proxy_head.split(b"\r\n", 1)[0].split()
                if len(status) < 2 or not status[1].startswith(b"2"):
                    raise Broken(FailureKind.PROXY, b" ".join(status).decode("latin-1")[:200])
                self._after_tunnel(tls)
            elif len(self._proxy_head) > MAX_PROXY_HEAD_BYTES:
                raise Broken(FailureKind.PROXY, "the proxy's answer has no end")
        elif self.state is State.HANDSHAKE:
            self._incoming.write(data)
            self._shake()

    def _shake(self) -> None:
        assert self._session is not None
        try:
            self._session.do_handshake()
            self.state = State.IDLE
        except ssl.SSLWantReadError:
            pass  # the peer's next flight will come as bytes
        except ssl.SSLError as error:
            raise Broken(FailureKind.TLS, _tls_reason(error)) from None
        finally:
            self._drain_tls()

    # -- sending ---------------------------------------------------------------------------------------------------

    def send(self, data: bytes) -> None:
        """Hand a whole request to the socket; what does not fit waits in `out`. Raises Broken."""
        if self._session is None:
            self._send_raw(data)
        else:
            self._session.write(data)
            self._drain_tls()

    def _drain_tls(self) -> None:
        data = self._outgoing.read()
        if data:
            self._send_raw(data)

    def _send_raw(self, data: bytes) -> None:
        if self.out is not None:
            self.out = memoryview(bytes(self.out) + data)
            return
        try:
            sent = self.sock.send(data)
        except BlockingIOError:
            sent = 0
        except OSError as error:
            raise broken_by(error, FailureKind.CLOSED_EARLY) from None
        if sent < len(data):
            self.out = memoryview(data)[sent:]

    def flush(self) -> None:
        """Send more of what waits. Raises Broken."""
        if self.out is None:
            return
        try:
            self.out = self.out[self.sock.send(self.out) :]
        except BlockingIOError:
            return
        except OSError as error:
            raise broken_by(error, FailureKind.CLOSED_EARLY) from None
        if not self.out:
            self.out = None

    # -- receiving -------------------------------------------------------------------------------------------------

    @property
    def encrypted(self) -> bool:
        """True when bytes of the socket are TLS records."""
        return self._session is not None

    def decrypt(self, data: bytes) -> bytes:
        """Plain bytes of what came; `b""` if no whole TLS record did. An end by the peer marks `finder`'s eof later.

        Raises Broken on a TLS alert.
        """
        assert self._session is not None
        self._incoming.write(data)
        plain: list[bytes] = []
        try:
            while piece := self._session.read(READ_BYTES):
                plain.append(piece)
        except ssl.SSLWantReadError:
            pass  # the rest of the record is still on its way
        except ssl.SSLZeroReturnError:
            pass  # close_notify: the socket's own end follows
        except ssl.SSLError as error:
            raise Broken(FailureKind.TLS, _tls_reason(error)) from None
        self._drain_tls()
        return b"".join(plain)

    def close(self) -> None:
        """Close the socket. Safe to call twice."""
        self.state = State.CLOSED
        self.sock.close()
        self.flight = None
        # The bound method and this object refer to each other through the socket; the collector is off in a worker.
        self.receive_into = None  # type: ignore[assignment]


def _tls_reason(error: ssl.SSLError) -> str:
    """The reason a person can act on: OpenSSL's words and the verification message."""
    if isinstance(error, ssl.SSLCertVerificationError):
        return f"certificate verify failed: {error.verify_message}"
    return (error.reason or str(error)).replace("_", " ").lower()
