"""A loopback HTTP server for tests, whose every byte and pause is decided by a script; one thread, any number of peers.

with ScriptedServer(sse_answer(["a", "b"], gap_s=0.1)) as server:
    ...  # talk to server.url
assert server.requests[0].path == "/v1/chat/completions"
"""

from __future__ import annotations

import contextlib
import heapq
import selectors
import socket
import ssl
import struct
import threading
import time
from collections.abc import Callable, Iterator
from types import TracebackType

from wholecurve.sim import ANCILLARY_BYTES, BadRequest, HttpRequest, RequestParser, Waiter, arrival_ns, enable_stamps
from wholecurve.testing.answers import error_answer
from wholecurve.testing.steps import At, Close, Exchange, Handler, Hang, Request, Reset, Script, Send, Step, Wait
from wholecurve.testing.tls import ServerTls

_READ_BYTES = 256 << 10


class _Connection:
    __slots__ = (
        "closing",
        "exchange",
        "idle_at",
        "number",
        "out",
        "parser",
        "sock",
        "steps",
        "tls",
        "waiting",
        "watch",
    )

    def __init__(self, sock: socket.socket, number: int, tls: ServerTls | None) -> None:
        self.sock = sock
        self.number = number
        self.tls = tls
        self.parser = RequestParser()
        self.out = bytearray()
        self.steps: Iterator[Step] | None = None
        self.exchange: Exchange | None = None
        self.waiting = False
        self.closing = False
        self.idle_at = 0
        self.watch = selectors.EVENT_READ


class ScriptedServer:
    """Answers each request with the steps that `script` gives: a list of steps for all, or a function of the request.

    - `on_connect`: steps to run on a new connection before anything is read (a greeting, `Reset()`, `Hang()`).
    - `tls`: server-side context (`testing.tls.server_context`); `host`: address to bind.
    - `idle_close_s`: close a keep-alive connection that long after its last answer, without notice.

    Counters: `requests`, `exchanges`, `connections`, `peak_connections`, `peak_requests` (in flight at once),
    `tls_failures`. An exception in a handler is answered with 500 and raised again on leaving the context.
    Thread-safe for reading; a script given as a list is reused, so it must not be an iterator.
    """

    def __init__(
        self,
        script: Handler | Script,
        *,
        on_connect: Script = (),
        tls: ssl.SSLContext | None = None,
        host: str = "127.0.0.1",
        port: int = 0,
        idle_close_s: float | None = None,
    ) -> None:
        self._handler: Handler = script if callable(script) else _same(list(script))
        self._on_connect = list(on_connect)
        self._tls = tls
        self._idle_ns = None if idle_close_s is None else round(idle_close_s * 1e9)
        self._host, self._port = host, port
        self.requests: list[Request] = []
        self.exchanges: list[Exchange] = []
        self.errors: list[Exception] = []
        self.connections = 0
        self.peak_connections = 0
        self.peak_requests = 0
        self.tls_failures = 0
        self._open: set[_Connection] = set()
        self._in_flight = 0
        self._timers: list[tuple[int, int, Callable[[], None]]] = []
        self._serial = 0
        self._stopping = False
        self._thread: threading.Thread | None = None

    # --- life ---------------------------------------------------------------------------------------------------

    def start(self) -> ScriptedServer:
        """Bind, listen and serve from a thread of its own; returns self."""
        family = socket.AF_INET6 if ":" in self._host else socket.AF_INET
        self._listener = socket.create_server((self._host, self._port), family=family, backlog=4096)
        self._port = self._listener.getsockname()[1]
        self._listener.setblocking(False)
        self._wake_in, self._wake_out = socket.socketpair()
        self._wake_in.setblocking(False)
        self._selector = selectors.DefaultSelector()
        self._selector.register(self._listener, selectors.EVENT_READ, self._accept)
        self._selector.register(self._wake_in, selectors.EVENT_READ, self._stop_seen)
        self._thread = threading.Thread(target=self._loop, name="scripted-server", daemon=True)
        self._thread.start()
        return self

    def stop(self) -> None:
        """Close everything and end the thread. Safe to call twice."""
        if self._thread is None:
            return
        self._wake_out.send(b"x")
        self._thread.join()
        self._thread = None
        for connection in list(self._open):
            self._drop(connection, reset=False)
        self._selector.close()
        for sock in (self._listener, self._wake_in, self._wake_out):
            sock.close()

    def __enter__(self) -> ScriptedServer:
        return self.start()

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.stop()
        if self.errors and error is None:
            raise self.errors[0]

    @property
    def port(self) -> int:
        """The port that is listened on."""
        return self._port

    @property
    def url(self) -> str:
        """Base URL without a path: `http://127.0.0.1:PORT`."""
        host = f"[{self._host}]" if ":" in self._host else self._host
        return f"{'https' if self._tls else 'http'}://{host}:{self._port}"

    @property
    def open_connections(self) -> int:
        """Connections open at this moment."""
        return len(self._open)

    def wait_for(self, condition: Callable[[], bool], *, timeout_s: float = 5.0) -> bool:
        """Poll until `condition()` holds; False if it never does. For tests that look at the counters."""
        end = time.monotonic() + timeout_s
        while not condition():
            if time.monotonic() > end:
                return False
            time.sleep(0.002)
        return True

    # --- loop ---------------------------------------------------------------------------------------------------

    def _loop(self) -> None:
        waiter = Waiter(self._selector)
        while not self._stopping:
            for key, events in waiter.wait(self._timers[0][0] if self._timers else None):
                if isinstance(key.data, _Connection):
                    self._ready(key.data, events)
                else:
                    key.data()
            now = time.monotonic_ns()
            while self._timers and self._timers[0][0] <= now:
                heapq.heappop(self._timers)[2]()

    def _call_at(self, due_ns: int, action: Callable[[], None]) -> None:
        self._serial += 1
        heapq.heappush(self._timers, (due_ns, self._serial, action))

    def _stop_seen(self) -> None:
        self._stopping = True

    def _accept(self) -> None:
        for _ in range(256):
            try:
                sock, _address = self._listener.accept()
            except BlockingIOError:
                return
            except OSError as error:
                self.errors.append(error)
                return
            sock.setblocking(False)
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            enable_stamps(sock)
            connection = _Connection(sock, self.connections, ServerTls(self._tls) if self._tls else None)
            self.connections += 1
            self._open.add(connection)
            self.peak_connections = max(self.peak_connections, len(self._open))
            self._selector.register(sock, selectors.EVENT_READ, connection)
            if self._on_connect:
                connection.steps = iter(self._on_connect)
                self._advance(connection)

    def _ready(self, connection: _Connection, events: int) -> None:
        if events & selectors.EVENT_WRITE and connection in self._open:
            self._flush(connection)
            if not connection.out:
                self._advance(connection)
        if events & selectors.EVENT_READ and connection in self._open:
            self._read(connection)

    def _read(self, connection: _Connection) -> None:
        try:
            data, ancillary, _flags, _address = connection.sock.recvmsg(_READ_BYTES, ANCILLARY_BYTES)
        except (BlockingIOError, InterruptedError):
            return
        except OSError:
            data, ancillary = b"", []
        arrived = arrival_ns(ancillary)
        if not data:
            self._drop(connection, reset=False)
            return
        if connection.tls is not None:
            try:
                data = connection.tls.receive(data)
            except ssl.SSLError:
                self.tls_failures += 1
                connection.out += connection.tls.pending()  # the alert
                self._flush(connection)
                self._drop(connection, reset=False)
                return
            connection.out += connection.tls.pending()
            self._flush(connection)
        connection.parser.feed(data)
        self._next_request(connection, arrived)

    def _next_request(self, connection: _Connection, arrived_ns: int) -> None:
        """Start on the next request if none is being answered and a whole one is there."""
        if connection not in self._open or connection.steps is not None or connection.closing:
            return
        try:
            found = connection.parser.next()
        except BadRequest as error:
            connection.steps = iter([*error_answer(error.status, error.message), Close()])
            self._advance(connection)
            return
        if found is not None:
            self._answer(connection, found, arrived_ns)
        elif connection.parser.expects_continue:
            connection.parser.expects_continue = False
            self._put(connection, b"HTTP/1.1 100 Continue\r\n\r\n")

    def _answer(self, connection: _Connection, found: HttpRequest, arrived_ns: int) -> None:
        number = len(self.requests)
        request = Request(found.method, found.target, found.headers, found.body, connection.number, number, arrived_ns)
        connection.exchange = Exchange(request)
        self.requests.append(request)
        self.exchanges.append(connection.exchange)
        self._in_flight += 1
        self.peak_requests = max(self.peak_requests, self._in_flight)
        connection.closing = not found.keep_alive
        try:
            connection.steps = iter(self._handler(request))
        except Exception as error:  # noqa: BLE001 - raised again when the context is left
            self._handler_failed(connection, error)
        self._advance(connection)

    def _handler_failed(self, connection: _Connection, error: Exception) -> None:
        self.errors.append(error)
        connection.steps = iter([*error_answer(500, f"handler failed: {error!r}"), Close()])

    def _advance(self, connection: _Connection) -> None:
        """Run steps until one has to wait."""
        while connection in self._open and connection.steps is not None and not connection.out:
            if connection.waiting:
                return
            try:
                step = next(connection.steps, None)
            except Exception as error:  # noqa: BLE001 - as above, for handlers that are generators
                self._handler_failed(connection, error)
                continue
            if step is None:
                self._finish(connection)
            elif isinstance(step, Send):
                if connection.exchange is not None:
                    connection.exchange.sent_ns.append(time.monotonic_ns())
                self._put(connection, step.data)
            elif isinstance(step, Wait):
                self._wait(connection, time.monotonic_ns() + round(step.seconds * 1e9))
            elif isinstance(step, At):
                start = connection.exchange.request.arrived_ns if connection.exchange else time.monotonic_ns()
                self._wait(connection, start + round(step.seconds * 1e9))
            elif isinstance(step, Hang):
                connection.waiting = True
            else:
                self._end(connection, dropped=False)
                self._drop(connection, reset=isinstance(step, Reset))

    def _wait(self, connection: _Connection, due_ns: int) -> None:
        connection.waiting = True

        def over() -> None:
            connection.waiting = False
            self._advance(connection)

        self._call_at(due_ns, over)

    def _finish(self, connection: _Connection) -> None:
        """All steps are done: close, or go on with the next request on this connection."""
        had_request = connection.exchange is not None
        self._end(connection, dropped=False)
        connection.steps = None
        if connection.closing:
            self._drop(connection, reset=False)
            return
        if had_request and self._idle_ns is not None:
            connection.idle_at = time.monotonic_ns() + self._idle_ns
            self._call_at(connection.idle_at, lambda due=connection.idle_at: self._idle_over(connection, due))  # type: ignore[misc]
        self._next_request(connection, time.monotonic_ns())

    def _idle_over(self, connection: _Connection, due_ns: int) -> None:
        if connection in self._open and connection.steps is None and connection.idle_at == due_ns:
            self._drop(connection, reset=False)

    def _end(self, connection: _Connection, *, dropped: bool) -> None:
        if connection.exchange is not None:
            connection.exchange.ended_ns = time.monotonic_ns()
            connection.exchange.dropped = dropped
            connection.exchange = None
            self._in_flight -= 1

    def _put(self, connection: _Connection, data: bytes) -> None:
        if connection.tls is not None:
            connection.tls.write(data)
            data = connection.tls.pending()
        connection.out += data
        self._flush(connection)

    def _flush(self, connection: _Connection) -> None:
        while connection.out:
            try:
                count = connection.sock.send(connection.out)
            except (BlockingIOError, InterruptedError):
                break
            except OSError:
                self._drop(connection, reset=False)
                return
            del connection.out[:count]
        watch = selectors.EVENT_READ | (selectors.EVENT_WRITE if connection.out else 0)
        if watch != connection.watch and connection in self._open:
            connection.watch = watch
            self._selector.modify(connection.sock, watch, connection)

    def _drop(self, connection: _Connection, *, reset: bool) -> None:
        if connection not in self._open:
            return
        self._open.discard(connection)
        self._end(connection, dropped=True)
        connection.steps = None
        self._selector.unregister(connection.sock)
        with contextlib.suppress(OSError):
            if reset:
                connection.sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            else:
                connection.sock.shutdown(socket.SHUT_WR)
        connection.sock.close()


def _same(steps: list[Step]) -> Handler:
    def handler(_request: Request) -> Script:
        return steps

    return handler
