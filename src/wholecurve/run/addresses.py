"""Names to addresses, once, before the load: every address of every base URL takes its share."""

from __future__ import annotations

import socket
from collections.abc import Sequence

from wholecurve.model.errors import SetupError
from wholecurve.run.conn import Address
from wholecurve.wire import Target


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


def check_reachable(addresses: Sequence[Address]) -> None:
    """Refuse before the load what would fail in every request. Raises SetupError if no address takes a connection."""
    faults: list[str] = []
    for address in addresses:
        with socket.socket(address.family, socket.SOCK_STREAM) as probe:
            probe.settimeout(5.0)
            try:
                probe.connect(address.sockaddr)
                return
            except OSError as error:
                words = "no answer within 5 s" if isinstance(error, TimeoutError) else error.strerror or str(error)
                faults.append(f"{address.shown}: {words.lower()}")
    raise SetupError(
        f"the endpoint cannot be reached ({'; '.join(faults)})",
        hint="Is the server up, and host and port right? `wholecurve probe` looks closer.",
    )


def _answers(address: Address) -> bool:
    with socket.socket(address.family, socket.SOCK_STREAM) as probe:
        probe.settimeout(2.0)
        try:
            probe.connect(address.sockaddr)
        except OSError:
            return False
        return True
