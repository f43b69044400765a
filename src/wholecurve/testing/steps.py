"""What a scripted server does in answer to a request: a list of steps."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

import orjson


@dataclass(frozen=True, slots=True)
class Send:
    """Write these bytes; the next step waits until the socket took them all."""

    data: bytes


@dataclass(frozen=True, slots=True)
class Wait:
    """Do nothing for at least this long, from when the step before was done."""

    seconds: float


@dataclass(frozen=True, slots=True)
class At:
    """Wait until this long after the request arrived (kernel time stamp): lateness does not add up."""

    seconds: float


@dataclass(frozen=True, slots=True)
class Close:
    """Close the connection in order (FIN). Later steps are not run."""


@dataclass(frozen=True, slots=True)
class Reset:
    """Reset the connection (RST). Later steps are not run."""


@dataclass(frozen=True, slots=True)
class Hang:
    """Never do anything again; the connection stays open until the client or the server's end closes it."""


Step = Send | Wait | At | Close | Reset | Hang
Script = Iterable[Step]


@dataclass(frozen=True, slots=True)
class Request:
    """One request as it arrived. `number` and `connection` count from 0; header names are lower case.

    `arrived_ns` is CLOCK_MONOTONIC: the kernel's stamp of the last segment, or the clock after the read without one.
    """

    method: str
    path: str
    headers: tuple[tuple[str, str], ...]
    body: bytes
    connection: int
    number: int
    arrived_ns: int

    def header(self, name: str) -> str | None:
        """The first value of a header, or None."""
        wanted = name.lower()
        return next((value for key, value in self.headers if key == wanted), None)

    def json(self) -> Any:
        """The body as JSON."""
        return orjson.loads(self.body)


@dataclass(slots=True)
class Exchange:
    """A request and what was done about it: the monotonic ns just before each `Send`, and how it ended.

    `ended_ns` is set when the last step is done, or when the client went away (`dropped`).
    """

    request: Request
    sent_ns: list[int] = field(default_factory=list)
    ended_ns: int | None = None
    dropped: bool = False


Handler = Callable[[Request], Script]


def in_turn(*scripts: Script) -> Handler:
    """A handler that gives the first request the first script, and so on; the last one is used for all further."""
    kept = [list(script) for script in scripts]
    if not kept:
        raise ValueError("in_turn wants at least one script")

    def handler(request: Request) -> Script:
        return kept[min(request.number, len(kept) - 1)]

    return handler
