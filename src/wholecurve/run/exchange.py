"""One HTTP exchange at a time over a blocking socket: for `wholecurve probe`, which asks and does not measure load.

Connecting, the proxy's tunnel and the TLS handshake fail with their cause and what to do about it. Bytes that come
back are read by the same readers as in a run.
"""

from __future__ import annotations

import errno
import socket
import ssl
from collections.abc import Callable
from dataclasses import dataclass

from wholecurve.model.units import NS_PER_S, show_duration
from wholecurve.run.clock import monotonic_ns
from wholecurve.run.conn import Address
from wholecurve.wire import AnswerReader, Data, Head, ResponseReader, WireError

READ_BYTES = 1 << 16
MAX_BODY_BYTES = 4 << 20


class Unreachable(Exception):
    """The exchange did not come to an answer: a code for programs, what happened, what to do."""

    def __init__(self, code: str, message: str, hint: str) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.hint = hint


@dataclass(frozen=True, slots=True)
class Whole:
    """A whole answer: its head, None if none came, the body, and whether the message was complete."""

    head: Head | None
    body: bytes
    complete: bool


class Link:
    """A connection for one exchange after another. Raises Unreachable in all methods."""

    def __init__(self, address: Address, tls: ssl.SSLContext | None, timeout_ns: int, proxy_auth: str | None) -> None:
        self._timeout_ns = timeout_ns
        self._address = address
        self.exchanges = 0
        self.alive = True
        start = monotonic_ns()
        try:
            self._sock = socket.socket(address.family, socket.SOCK_STREAM)
            self._sock.settimeout(timeout_ns / NS_PER_S)
            self._sock.connect(address.sockaddr)
            self._sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        except OSError as error:
            raise _connect_fault(error, address.shown, timeout_ns) from None
        self.connect_ns = monotonic_ns() - start
        self.tls_ns: int | None = None
        self.tls_version: str | None = None
        if address.tunnel:
            self._open_tunnel(proxy_auth)
        if address.tls and tls is not None:
            self._shake(tls)

    def close(self) -> None:
        """Close the socket. Safe to call twice."""
        self.alive = False
        self._sock.close()

    def _open_tunnel(self, proxy_auth: str | None) -> None:
        host = f"[{self._address.host}]" if ":" in self._address.host else self._address.host
        authority = f"{host}:{self._address.port}"
        secret = f"Proxy-Authorization: {proxy_auth}\r\n" if proxy_auth else ""
        whole = self.fetch(
            f"CONNECT {authority} HTTP/1.1\r\nHost: {authority}\r\n{secret}\r\n".encode("latin-1"), "CONNECT"
        )
        if whole.head is None or not 200 <= whole.head.status < 300:
            status = "nothing" if whole.head is None else str(whole.head.status)
            self.close()
            raise Unreachable("proxy", f"the proxy did not open a tunnel: it answered {status}", "check --proxy")
        self.exchanges = 0

    def _shake(self, tls: ssl.SSLContext) -> None:
        start = monotonic_ns()
        try:
            wrapped = tls.wrap_socket(self._sock, server_hostname=self._address.host)
        except OSError as error:
            self._sock.close()
            raise tls_fault(error, self._address.host, self._timeout_ns) from None
        self._sock = wrapped
        self.tls_ns = monotonic_ns() - start
        self.tls_version = wrapped.version()

    def ask(self, data: bytes, reader: AnswerReader) -> tuple[int, bool]:
        """Send a request and feed its answer to a reader: (monotonic ns of sending, ended by closing)."""
        return self._exchange(data, ResponseReader(), reader.feed, None)

    def fetch(self, data: bytes, method: str = "GET") -> Whole:
        """Send a request and return its whole answer, at most MAX_BODY_BYTES of it."""
        response = ResponseReader(head_method=method)
        body = bytearray()
        self._exchange(data, response, None, body)
        return Whole(response.head, bytes(body), response.ended)

    def _exchange(
        self,
        data: bytes,
        response: ResponseReader,
        take: Callable[[bytes, int], None] | None,
        body: bytearray | None,
    ) -> tuple[int, bool]:
        """(monotonic ns of sending, ended by the peer's closing); bytes go to `take`, the body's to `body`."""
        deadline = monotonic_ns() + self._timeout_ns
        self.exchanges += 1
        sent = monotonic_ns()
        try:
            self._sock.settimeout(self._timeout_ns / NS_PER_S)
            self._sock.sendall(data)
            while not response.ended:
                left = deadline - monotonic_ns()
                if left <= 0:
                    raise TimeoutError
                self._sock.settimeout(left / NS_PER_S)
                piece = self._sock.recv(READ_BYTES)
                if not piece:
                    self.close()
                    response.eof()
                    return sent, True
                if take is not None:
                    take(piece, monotonic_ns())
                for item in response.feed(piece):
                    if isinstance(item, Data) and body is not None and len(body) < MAX_BODY_BYTES:
                        body += item.data
        except WireError:
            self.close()  # the reader that was given the bytes says what is wrong with them
            return sent, True
        except TimeoutError:
            self.close()
            began = "no answer began" if response.head is None else "the answer did not end"
            hint = "the server may be loading a model or be overloaded; try again with a longer --timeout"
            raise Unreachable("timeout", f"{began} within {show_duration(self._timeout_ns)}", hint) from None
        except ssl.SSLError as error:
            self.close()
            raise tls_fault(error, self._address.host, self._timeout_ns) from None
        except OSError:
            self.close()
            return sent, True
        if response.head is not None and not response.head.keep_alive:
            self.close()
        return sent, False


UNCONNECTED = frozenset({"connect_timeout", "refused", "no_route", "connect_failed"})
"""Codes of `_connect_fault`: nothing was said on the connection, because there was none."""


def _connect_fault(error: OSError, shown: str, timeout_ns: int) -> Unreachable:
    if isinstance(error, TimeoutError):
        message = f"{shown} did not answer within {show_duration(timeout_ns)}"
        return Unreachable("connect_timeout", message, "check the address; a firewall may drop what is sent")
    if error.errno == errno.ECONNREFUSED:
        return Unreachable(
            "refused",
            f"{shown} refused the connection",
            "nothing listens there: is the server running, the port right?",
        )
    if error.errno in (errno.EHOSTUNREACH, errno.ENETUNREACH):
        return Unreachable("no_route", f"there is no route to {shown}", "check the address and the network")
    return Unreachable("connect_failed", f"{shown} cannot be reached: {error.strerror or error}", "check the address")


NOT_TLS = frozenset({"WRONG_VERSION_NUMBER", "PACKET_LENGTH_TOO_LONG", "RECORD_LAYER_FAILURE", "HTTP_REQUEST"})
VERIFY_HINTS: dict[int, str] = {
    10: "the certificate has expired: it must be renewed at the endpoint",
    18: "it is signed by itself: trust it with --ca-file FILE, or skip the check with --insecure",
    19: "it is signed by an authority of its own: trust that with --ca-file FILE, or skip the check with --insecure",
    20: "its authority is not known here: name it with --ca-file FILE, or skip the check with --insecure",
    62: "use the name that the certificate was made for in the URL",
    64: "use the name that the certificate was made for in the URL",
}


def tls_fault(error: OSError, host: str, timeout_ns: int) -> Unreachable:
    """A failed handshake in words: certificate, no TLS at all, client certificate wanted, or OpenSSL's reason."""
    if isinstance(error, ssl.SSLCertVerificationError):
        message = f"the certificate of {host} was refused: {error.verify_message.rstrip('.')}"
        hint = VERIFY_HINTS.get(error.verify_code, "name its authority with --ca-file FILE")
        return Unreachable("certificate", message, hint)
    if isinstance(error, TimeoutError):
        message = f"the TLS handshake did not end within {show_duration(timeout_ns)}"
        return Unreachable("tls_timeout", message, "does the port speak TLS? if not, write http://")
    reason = getattr(error, "reason", None) or ""
    if reason in NOT_TLS:
        return Unreachable("not_tls", f"{host} does not speak TLS on this port", "write http:// instead of https://")
    if "CERTIFICATE_REQUIRED" in reason or "HANDSHAKE_FAILURE" in reason:
        message = f"{host} refused the handshake, it may want a client certificate"
        return Unreachable("client_certificate", message, "give --client-cert and --client-key")
    words = reason.replace("_", " ").lower() or error.strerror or "the connection was closed"
    return Unreachable("tls", f"the TLS handshake with {host} failed: {words}", "check that the port speaks TLS")
