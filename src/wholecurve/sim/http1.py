"""A small incremental HTTP/1.1 request parser, without sockets: bytes in, whole requests out, all sizes bounded.

Bodies by content-length or chunked coding; several requests in one read; `Expect: 100-continue`. Only what a server
for tests needs: no trailers kept, no multiplexing, no upgrade.
"""

from __future__ import annotations

from dataclasses import dataclass

MAX_HEAD_BYTES = 64 << 10
MAX_BODY_BYTES = 64 << 20
_MAX_CHUNK_LINE = 4096
_TOKEN = frozenset("!#$%&'*+-.^_`|~0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ")


class BadRequest(Exception):
    """The peer sent something that is not a request within the limits. `status` is the answer it deserves."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status
        self.message = message


@dataclass(frozen=True, slots=True)
class HttpRequest:
    """One whole request. Header names are lower case, in sending order; values have no outer blanks."""

    method: str
    target: str
    version: str
    headers: tuple[tuple[str, str], ...]
    body: bytes = b""

    def header(self, name: str) -> str | None:
        """The first value of a header, or None."""
        wanted = name.lower()
        return next((value for key, value in self.headers if key == wanted), None)

    @property
    def path(self) -> str:
        """The target without its query."""
        return self.target.partition("?")[0]

    @property
    def keep_alive(self) -> bool:
        """Whether the connection may carry another request after this one."""
        options = {part.strip().lower() for part in (self.header("connection") or "").split(",")}
        if "close" in options:
            return False
        return self.version == "HTTP/1.1" or "keep-alive" in options


class RequestParser:
    """Feed bytes with `feed`, take requests with `next` until it gives None. After a BadRequest it is of no use."""

    __slots__ = ("_body", "_buffer", "_head", "_left", "_scanned", "_state", "expects_continue", "max_body", "max_head")

    def __init__(self, *, max_head: int = MAX_HEAD_BYTES, max_body: int = MAX_BODY_BYTES) -> None:
        self.max_head = max_head
        self.max_body = max_body
        self.expects_continue = False
        self._buffer = bytearray()
        self._body = bytearray()
        self._head: HttpRequest | None = None
        self._left = 0
        self._scanned = 0
        self._state = "head"

    @property
    def empty(self) -> bool:
        """True between requests: nothing of the next one has arrived."""
        return self._state == "head" and not self._buffer

    def feed(self, data: bytes | bytearray | memoryview) -> None:
        """Add bytes as they came from the socket."""
        self._buffer += data

    def next(self) -> HttpRequest | None:
        """The next whole request, or None if more bytes are needed. Raises BadRequest.

        When None is returned and `expects_continue` is set, the peer waits for `100 Continue`; clear it after sending.
        """
        if self._state == "head" and not self._take_head():
            return None
        while self._state != "done":
            if not self._take_body():
                return None
        head = self._head
        assert head is not None
        found = HttpRequest(head.method, head.target, head.version, head.headers, bytes(self._body))
        self._body = bytearray()
        self._head, self._state, self.expects_continue = None, "head", False
        return found

    def _take_head(self) -> bool:
        while self._buffer[:2] == b"\r\n":  # an empty line before a request is to be ignored (RFC 9112, 2.2)
            del self._buffer[:2]
        end = self._buffer.find(b"\r\n\r\n", max(0, self._scanned - 3))
        if end < 0:
            self._scanned = len(self._buffer)
            if self._scanned >= self.max_head + 4:  # the end may be here, but for its last byte
                raise BadRequest(431, f"request head is longer than {self.max_head} bytes")
            return False
        if end > self.max_head:
            raise BadRequest(431, f"request head is longer than {self.max_head} bytes")
        self._head = _parse_head(bytes(self._buffer[:end]))
        del self._buffer[: end + 4]
        self._scanned = 0
        self._start_body(self._head)
        return True

    def _start_body(self, head: HttpRequest) -> None:
        coding = head.header("transfer-encoding")
        lengths = {value for key, value in head.headers if key == "content-length"}
        if coding is not None:
            if coding.strip().lower() != "chunked":
                raise BadRequest(501, f"transfer coding {coding!r} is not supported")
            if lengths:
                raise BadRequest(400, "both transfer-encoding and content-length")
            self._state = "size"
        elif lengths:
            text = lengths.pop()
            if lengths or not (text.isascii() and text.isdigit()):
                raise BadRequest(400, "content-length is not one whole number")
            self._left = int(text)
            self._check_size(self._left)
            self._state = "fixed" if self._left else "done"
        else:
            self._state = "done"
        if self._state != "done" and (head.header("expect") or "").lower() == "100-continue" and not self._buffer:
            self.expects_continue = True

    def _check_size(self, size: int) -> None:
        if size > self.max_body:
            raise BadRequest(413, f"request body is longer than {self.max_body} bytes")

    def _take_body(self) -> bool:
        """One step through the body; False when bytes are missing."""
        if self._state in ("fixed", "chunk"):
            part = self._buffer[: self._left]
            del self._buffer[: len(part)]
            self._body += part
            self._left -= len(part)
            if self._left:
                return False
            self._state = "done" if self._state == "fixed" else "chunk_end"
            return True
        line = self._take_line()
        if line is None:
            return False
        if self._state == "chunk_end":
            if line:
                raise BadRequest(400, "chunk is longer than its size says")
            self._state = "size"
        elif self._state == "size":
            self._take_size(line)
        elif not line:  # the end of the trailers
            self._state = "done"
        return True

    def _take_size(self, line: bytes) -> None:
        digits = line.partition(b";")[0].strip()
        if not digits or len(digits) > 8 or digits.strip(b"0123456789abcdefABCDEF"):
            raise BadRequest(400, "chunk size is not a hexadecimal number")
        self._left = int(digits, 16)
        self._check_size(len(self._body) + self._left)
        self._state = "chunk" if self._left else "trailer"

    def _take_line(self) -> bytes | None:
        end = self._buffer.find(b"\r\n", 0, _MAX_CHUNK_LINE)
        if end < 0:
            if len(self._buffer) >= _MAX_CHUNK_LINE:
                raise BadRequest(400, "chunk line is too long")
            return None
        line = bytes(self._buffer[:end])
        del self._buffer[: end + 2]
        return line


def _parse_head(head: bytes) -> HttpRequest:
    """The request line and the header fields. Raises BadRequest."""
    first, *lines = head.decode("latin-1").split("\r\n")
    parts = first.split(" ")
    if len(parts) != 3 or not parts[0] or set(parts[0]) - _TOKEN or not parts[1]:
        raise BadRequest(400, "request line is not METHOD TARGET VERSION")
    method, target, version = parts
    if version not in ("HTTP/1.1", "HTTP/1.0"):
        raise BadRequest(505, f"version {version[:20]!r} is not supported")
    headers = []
    for line in lines:
        name, colon, value = line.partition(":")
        if not colon or not name or set(name) - _TOKEN:
            raise BadRequest(400, "header line is not NAME: VALUE")
        headers.append((name.lower(), value.strip(" \t")))
    return HttpRequest(method, target, version, tuple(headers))
