"""Heads of HTTP/1.1 responses: status line, headers, and what they say about the body and the connection."""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache

from wholecurve.wire.errors import protocol_error

_STATUS_LINE = re.compile(rb"HTTP/1\.([0-9]) ([1-9][0-9][0-9])(?: ([^\x00\r\n]*))?")
_HEADER_LINE = re.compile(rb"([!#$%&'*+.^_`|~0-9A-Za-z-]+):[ \t]*([^\x00\r\n]*)")
_LENGTH = re.compile(r"[0-9]{1,18}")


class Framing(StrEnum):
    """How the end of a body is known."""

    NONE = "none"
    LENGTH = "content-length"
    CHUNKED = "chunked"
    CLOSE = "close"


SMALL_HEAD = 2048


@dataclass(frozen=True, slots=True)
class Head:
    """Status line and headers; names in lower case, in the order sent. `keep_alive`: the peer will go on after this."""

    status: int
    reason: str
    headers: tuple[tuple[str, str], ...]
    keep_alive: bool
    framing: Framing
    length: int | None = None

    def header(self, name: str) -> str | None:
        """The first value of a header, by its name in lower case."""
        return next((value for key, value in self.headers if key == name), None)


def parse_headers(lines: list[bytes]) -> tuple[tuple[str, str], ...]:
    """Header lines without line ends to pairs; folded lines are joined with one space. Raises WireError."""
    pairs: list[tuple[str, str]] = []
    for line in lines:
        if line[:1] in (b" ", b"\t") and pairs:
            name, value = pairs[-1]
            pairs[-1] = (name, f"{value} {line.strip().decode('latin-1')}".strip())
            continue
        match = _HEADER_LINE.fullmatch(line)
        if match is None:
            raise protocol_error("a header line is not valid")
        pairs.append((match[1].decode("ascii").lower(), match[2].decode("latin-1").strip()))
    return tuple(pairs)


def lines_of(block: bytes) -> list[bytes]:
    """Lines without their ends, which are CR LF or LF."""
    return [line.removesuffix(b"\r") for line in block.split(b"\n")]


def parse_head(block: bytes, method: str) -> Head:
    """A head without its closing blank line. Raises WireError."""
    return _parse_small_head(bytes(block), method) if len(block) < SMALL_HEAD else _parse_head(block, method)


def _parse_head(block: bytes, method: str) -> Head:
    first, *rest = lines_of(block)
    match = _STATUS_LINE.fullmatch(first)
    if match is None:
        raise protocol_error("the status line is not valid")
    minor, status = int(match[1]), int(match[2])
    headers = parse_headers(rest)
    framing, length = body_framing(status, headers, method)
    tokens = {token.strip().lower() for name, value in headers if name == "connection" for token in value.split(",")}
    keep = "close" not in tokens and (minor >= 1 or "keep-alive" in tokens)
    both = framing is Framing.CHUNKED and any(name == "content-length" for name, _ in headers)
    reason = (match[3] or b"").decode("latin-1").strip()
    return Head(status, reason, headers, keep and framing is not Framing.CLOSE and not both, framing, length)


# An endpoint sends the same head again and again, but for its date, which changes once a second.
_parse_small_head = lru_cache(maxsize=64)(_parse_head)


def body_framing(status: int, headers: tuple[tuple[str, str], ...], method: str) -> tuple[Framing, int | None]:
    """Which end the body has, and its length if known (RFC 9112, 6.3, as a table). Raises WireError.

    1xx, 204, 304, answers to HEAD, 2xx to CONNECT    no body
    transfer-encoding: chunked                        chunked, whatever content-length says
    any other transfer coding                         refused: it was not asked for
    content-length, once or always the same           that many bytes
    neither                                           until the peer closes
    """
    if status < 200 or status in (204, 304) or method == "HEAD" or (method == "CONNECT" and status < 300):
        return Framing.NONE, None
    codings = [t.strip().lower() for name, value in headers if name == "transfer-encoding" for t in value.split(",")]
    codings = [coding for coding in codings if coding not in ("", "identity")]
    if codings == ["chunked"]:
        return Framing.CHUNKED, None
    if codings:
        raise protocol_error("the answer has a transfer coding that was not asked for")
    lengths = {t.strip() for name, value in headers if name == "content-length" for t in value.split(",")}
    if not lengths:
        return Framing.CLOSE, None
    if len(lengths) > 1:
        raise protocol_error("the answer has two different content lengths")
    text = lengths.pop()
    if not _LENGTH.fullmatch(text):
        raise protocol_error("the content length is not a valid number")
    return Framing.LENGTH, int(text)
