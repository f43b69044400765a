"""Names to addresses, once, before the load: every address of every base URL takes its share."""

from __future__ import annotations

import socket
import ssl
from collections.abc import Sequence

from wholecurve.model.errors import SetupError
from wholecurve.model.units import NS_PER_S
from wholecurve.run.conn import Address
from wholecurve.run.exchange import UNCONNECTED, Link, Unreachable
from wholecurve.wire import Target

CHECK_NS = 5 * NS_PER_S
"""Longest wait for a connection, and for a handshake, before the load."""


def resolve_addresses(targets: Sequence[Target], proxy: tuple[str, int] | None) -> tuple[Address, ...]:
    """All addresses of all targets. Through a proxy there is one per target, the proxy's.

    Raises SetupError when a name does not resolve.
    """
    found: list[Address] = []
    for url, target in enumerate(targets):
        host, port = proxy or (target.host, target.port)
        seen: set[tuple[object, ...]] = set()
        for family, _, _, _, sockaddr in _lookup(host, port):
            if sockaddr in seen:
                continue
            seen.add(sockaddr)
            found.append(
                Address(
                    number=len(found), url=url, family=family, sockaddr=sockaddr, host=target.host, port=target.port,
                    tls=target.tls, tunnel=proxy is not None and target.tls, shown=f"{sockaddr[0]}:{sockaddr[1]}",
                )
            )  # fmt: skip
            if proxy is not None:
                break
    return _reachable(found)


def _lookup(host: str, port: int) -> list[tuple[int, int, int, str, tuple[object, ...]]]:
    try:
        return list(socket.getaddrinfo(host, port, type=socket.SOCK_STREAM))
    except socket.gaierror as error:
        raise SetupError(
            f"the host name {host!r} does not resolve ({error.strerror})", hint="Check --endpoint and the network."
        ) from None


def _reachable(addresses: list[Address]) -> tuple[Address, ...]:
    """Leave out addresses that refuse at once while another of the same URL answers (localhost on ::1, say)."""
    kept: list[Address] = []
    for url in dict.fromkeys(address.url for address in addresses):
        group = [address for address in addresses if address.url == url]
        answering = [address for address in group if _answers(address)] if len(group) > 1 else group
        kept += answering or group
    return tuple(
        Address(
            number, a.url, a.family, a.sockaddr, a.host, a.port, a.tls, a.tunnel, a.shown
        )
        for number, a in enumerate(kept)
    )  # fmt: skip


def check_reachable(
    addresses: Sequence[Address],
    tls: ssl.SSLContext | None = None,
    proxy_authorization: str | None = None,
    *,
    what: str = "endpoint",
) -> None:
    """Refuse before the load what would fail in every request: connection, the proxy's tunnel, certificate.

    `tls` is the context of the run, `what` is behind the addresses: endpoint or proxy. Raises SetupError if no address
    can be used.
    """
    faults: list[str] = []
    beyond: Unreachable | None = None
    for address in addresses:
        try:
            Link(address, tls, CHECK_NS, proxy_authorization).close()
            return
        except Unreachable as error:
            if error.code in UNCONNECTED:
                faults.append(error.message)
            else:
                beyond = beyond or error
    if beyond is not None:
        raise SetupError(beyond.message, hint=f"{beyond.hint}; `wholecurve probe` looks closer")
    raise SetupError(
        f"the {what} cannot be reached ({'; '.join(faults)})",
        hint=f"Is the {'server' if what == 'endpoint' else what} up, and host and port right? "
        "`wholecurve probe` looks closer.",
    )


def _answers(address: Address) -> bool:
    with socket.socket(address.family, socket.SOCK_STREAM) as probe:
        probe.settimeout(2.0)
        try:
            probe.connect(address.sockaddr)
        except OSError:
            return False
        return True
