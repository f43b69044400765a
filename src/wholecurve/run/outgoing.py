"""What a worker needs to send: request heads and bodies, the TLS context, the rule for retries. Made before forking."""

from __future__ import annotations

import secrets as random_secrets
import ssl
from collections.abc import Mapping, Sequence
from urllib.parse import urlsplit

from wholecurve.config import salt_of
from wholecurve.datasets import TokenSalt, salted
from wholecurve.model.errors import InputError, SetupError
from wholecurve.model.plan import Plan, Secrets, Tls
from wholecurve.model.sample import Sample
from wholecurve.model.units import NS_PER_S
from wholecurve.run.hide import Hide
from wholecurve.wire import DIALECTS, EndFinder, Target, endpoint_url, head_prefix

RETRY_STATUSES = frozenset({429, 500, 502, 503, 504})
MAX_RETRY_WAIT_S = 60.0
_LENGTH = b"Content-Length: "


class Outgoing:
    """Builds requests. Holds secrets, so it is never written and has no readable `repr`.

    `salting` (of `Resolved`): for data sets of token ids, how their rows take a salt.
    """

    __slots__ = ("_dialect", "_model", "_options", "_prefixes", "_retries", "_run_id", "_salts", "hide", "proxy",
                 "proxy_authorization", "targets", "tls")  # fmt: skip

    def __init__(self, plan: Plan, secrets: Secrets, salting: Mapping[str, TokenSalt] | None = None) -> None:
        endpoint = plan.endpoint
        self._dialect = DIALECTS[endpoint.dialect]
        self._options = plan.request
        self._model = endpoint.model
        self._retries = plan.limits.retries
        self._salts = tuple((phase.salt, (salting or {}).get(phase.dataset)) for phase in plan.phases)
        self.hide = Hide(secrets)
        self.targets: tuple[Target, ...] = tuple(endpoint_url(url, self._dialect.path) for url in endpoint.urls)
        self.proxy = _proxy_address(endpoint.proxy)
        self.proxy_authorization = next((v for n, v in secrets.headers if n.lower() == "proxy-authorization"), None)
        headers = [(name, value) for name, value in secrets.headers if name.lower() != "proxy-authorization"]
        own_id = any(name.lower() == "x-request-id" for name, _ in headers)
        self._run_id = b"" if own_id else random_secrets.token_hex(4).encode()
        self._prefixes = tuple(self._prefix(target, headers) for target in self.targets)
        self.tls = tls_context(endpoint.tls) if any(target.tls for target in self.targets) else None

    def __repr__(self) -> str:
        return f"Outgoing({len(self.targets)} targets)"

    def _prefix(self, target: Target, headers: Sequence[tuple[str, str]]) -> bytes:
        prefix = head_prefix(target, headers, stream=self._options.stream)[: -len(_LENGTH)]
        if self.proxy is not None and not target.tls:
            # A plain request through a proxy names the whole URL; TLS goes through a tunnel instead.
            line = f"POST http://{target.authority}{target.path} ".encode("latin-1")
            prefix = line + prefix[prefix.index(b"HTTP/1.1") :]
            if self.proxy_authorization:
                prefix += f"Proxy-Authorization: {self.proxy_authorization}\r\n".encode("latin-1")
        return prefix + (b"X-Request-Id: " + self._run_id + b"-" if self._run_id else b"")

    @property
    def run_id(self) -> str | None:
        """What X-Request-Id begins with; None if the user sends an own one."""
        return self._run_id.decode() or None

    def request(self, sample: Sample, place: tuple[int, int] | str) -> tuple[bytes, int]:
        """Everything behind the prefix of a request, and the output limit it asks for (-1: none).

        `place` (number of the phase and index in it; a name for a request outside a plan) ends the X-Request-Id. In
        a salted phase the salt of that place is put in here and kept nowhere. Raises InputError for a sample that the
        dialect cannot carry, or that cannot take a salt.
        """
        if isinstance(place, tuple):
            phase, index = place
            word, ids = self._salts[phase]
            if word is not None:
                # Measured: 3 to 5 us above the unsalted body up to 3 kB of text, 18 us at 30 kB. A store of bodies
                # with a hole for the salt would save that for a row's second pass, and hold every row's body twice.
                sample = salted(sample, salt_of(word, phase, index), ids)
            place = f"{phase}-{index}"
        body = self._dialect.body(sample, self._options, self._model)
        name = f"{place}\r\n".encode() if self._run_id else b""
        limit = sample.body.get("max_tokens", self._options.max_tokens)
        return b"%bContent-Length: %d\r\n\r\n%b" % (name, len(body), body), limit if isinstance(limit, int) else -1

    def prefix(self, url: int) -> bytes:
        """What comes before `request` for this URL."""
        return self._prefixes[url]

    def retry_after(self, finder: EndFinder, attempts: int) -> int | None:
        """Ns to wait before the request is sent again, None if its answer stands. Without retries it always does."""
        head = finder.head
        if head is None or attempts > self._retries or head.status not in RETRY_STATUSES:
            return None
        try:
            seconds = float(head.header("retry-after") or 1.0)
        except ValueError:
            seconds = 1.0  # a date: clocks differ, so it is not used
        return int(min(max(seconds, 0.0), MAX_RETRY_WAIT_S) * NS_PER_S)


def tls_context(tls: Tls) -> ssl.SSLContext:
    """The client's TLS settings. Raises InputError for files that cannot be read."""
    try:
        context = ssl.create_default_context(cafile=tls.ca_file)
        if tls.client_cert is not None:
            context.load_cert_chain(tls.client_cert, tls.client_key)
    except (OSError, ssl.SSLError) as error:
        raise InputError(
            f"a TLS file cannot be used: {getattr(error, 'reason', None) or error.strerror or error}",
            where="ca_file, client_cert or client_key", hint="Wanted PEM files.",
        ) from None  # fmt: skip
    context.set_alpn_protocols(["http/1.1"])
    if not tls.verify:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    return context


def _proxy_address(proxy: str | None) -> tuple[str, int] | None:
    """Host and port of an http:// proxy URL."""
    if proxy is None:
        return None
    parts = urlsplit(proxy)
    if parts.scheme != "http" or not parts.hostname:
        raise SetupError("wanted a proxy as http://HOST:PORT", where="proxy")
    return parts.hostname, parts.port or 80
