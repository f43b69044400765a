"""Where a request goes and what its head says: URL joining, headers, keys. No socket.

The path of a dialect is joined to the base URL so that what both have in common appears once (CLI-1):

    http://h:1  http://h:1/  http://h:1/v1  http://h:1/v1/chat/completions    ->  /v1/chat/completions
    http://h:1/proxy/v1?tenant=a                                              ->  /proxy/v1/chat/completions?tenant=a
    http://h:1/v1 for a path without v1, such as generate                     ->  /generate

Errors never show a query, user info or a header's value: any of them may be a secret.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from urllib.parse import quote, urlsplit

from wholecurve import __version__
from wholecurve.model.errors import InputError

_NAME = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_PORTS = {"http": 80, "https": 443}
_FRAMING_HEADERS = frozenset({"content-length", "transfer-encoding"})
_HINT = "an endpoint is written as http://HOST:PORT or https://HOST/PATH"
KNOWN_PATHS = ("v1/chat/completions", "v1/completions", "generate")


@dataclass(frozen=True, slots=True)
class Target:
    """Where requests go. `host` without brackets; `path` begins with a slash and includes the query."""

    host: str
    port: int
    tls: bool
    path: str

    @property
    def authority(self) -> str:
        """The value of the Host header: the port is left out where it is the usual one."""
        host = self.host.partition("%")[0]
        host = f"[{host}]" if ":" in host else host
        return host if self.port == _PORTS["https" if self.tls else "http"] else f"{host}:{self.port}"


def endpoint_url(base: str, dialect_path: str) -> Target:
    """Join a base URL and a dialect's path. Raises InputError for what is no http or https URL, and for user info."""
    if any(c.isspace() or not c.isprintable() for c in base):
        raise InputError("the endpoint URL has white space or control characters in it", hint=_HINT)
    try:
        parts = urlsplit(base)
        host, port = parts.hostname, parts.port
    except ValueError:
        raise InputError("the endpoint URL has no valid host and port", hint=_HINT) from None
    if parts.username is not None or parts.password is not None:
        hint = "give the key in a header or by its variable instead"
        raise InputError("the endpoint URL has a user name or password in it", hint=hint)
    if parts.scheme not in _PORTS or not host:
        raise InputError(f"wanted an endpoint URL, got {base.partition('?')[0]!r}", hint=_HINT)
    if parts.fragment:
        raise InputError("the endpoint URL has a fragment (#...), which is never sent", hint=_HINT)
    if port == 0:
        raise InputError("the endpoint URL has port 0", hint=_HINT)
    path = _join(parts.path, dialect_path)
    query = quote(parts.query, safe="!$%&'()*+,/:;=?@-._~")
    return Target(
        host=_ascii_host(host.replace("%25", "%")),
        port=port or _PORTS[parts.scheme],
        tls=parts.scheme == "https",
        path=quote(path, safe="!$%&'()*+,/:;=@-._~") + (f"?{query}" if query else ""),
    )


def _ascii_host(host: str) -> str:
    try:
        return host if host.isascii() else host.encode("idna").decode("ascii")
    except UnicodeError:
        raise InputError(f"the host name {host!r} is not valid", hint=_HINT) from None


def _join(base_path: str, dialect_path: str) -> str:
    base = base_path.rstrip("/").split("/")
    wanted = dialect_path.split("/")
    for known in KNOWN_PATHS:
        segments = known.split("/")
        if known != dialect_path and base[-len(segments) :] == segments:
            hint = f"leave out /{known}, or choose the dialect that goes with it"
            raise InputError(f"the endpoint URL ends in /{known}, but /{dialect_path} is to be asked", hint=hint)
    if base[-1] == "v1" and wanted[0] != "v1":
        base = base[:-1]
    overlap = next((n for n in range(min(len(base), len(wanted)), 0, -1) if base[-n:] == wanted[:n]), 0)
    return "/".join([*base, *wanted[overlap:]]) or "/"


def bearer(key: str) -> str:
    """The Authorization value for a key, which may have `Bearer ` before it already (CLI-2). Raises InputError."""
    bare = key.strip()
    if bare[:7].lower() in ("bearer", "bearer "):
        bare = bare[7:].strip()
    if not bare or not bare.isascii() or not bare.isprintable() or " " in bare:
        hint = "a key of another scheme goes into a header: Authorization: SCHEME KEY"
        raise InputError("the API key is empty, or has white space or characters in it that cannot be sent", hint=hint)
    return f"Bearer {bare}"


def with_key(headers: Iterable[tuple[str, str]], key: str | None) -> tuple[tuple[str, str], ...]:
    """Headers with the key's Authorization before them, unless they have their own (CLI-2)."""
    pairs = tuple(headers)
    if key is None or any(name.lower() == "authorization" for name, _ in pairs):
        return pairs
    return (("Authorization", bearer(key)), *pairs)


def check_header(name: str, value: str) -> None:
    """Raises InputError, naming the header and never its value, for what cannot be sent."""
    if not _NAME.fullmatch(name):
        raise InputError(f"{name[:40]!r} is not a header name")
    if name.lower() in _FRAMING_HEADERS:
        raise InputError(f"the header {name} is set by the client and cannot be given")
    if any(c in "\r\n\0" for c in value) or not all(c <= "\xff" for c in value):
        raise InputError(f"the value of the header {name} has characters in it that cannot be sent")


def head_prefix(target: Target, headers: Iterable[tuple[str, str]] = (), *, stream: bool = True) -> bytes:
    """The request head up to the number behind `Content-Length: `; the same for all requests to a target.

    Given headers replace the standard ones of the same name, in any case. Raises InputError.
    """
    given = tuple(headers)
    for name, value in given:
        check_header(name, value)
    names = {name.lower() for name, _ in given}
    standard = (
        ("Host", target.authority),
        ("User-Agent", f"wholecurve/{__version__}"),
        ("Accept", "text/event-stream" if stream else "application/json"),
        ("Accept-Encoding", "identity"),
        ("Content-Type", "application/json"),
    )
    pairs = [pair for pair in standard if pair[0].lower() not in names] + list(given)
    lines = [f"POST {target.path} HTTP/1.1", *(f"{name}: {value.strip()}" for name, value in pairs)]
    return ("\r\n".join(lines) + "\r\nContent-Length: ").encode("latin-1")


def request_bytes(prefix: bytes, body: bytes) -> bytes:
    """A whole request from a head prefix and a body."""
    return b"%b%d\r\n\r\n%b" % (prefix, len(body), body)
