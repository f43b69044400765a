"""The one error of this package: the peer sent what it may not send. It becomes the failure of one request."""

from __future__ import annotations

from wholecurve.model.record import FailureKind


class WireError(Exception):
    """A fault of the peer; `kind` is what the request's record will say, `message` its detail. Holds no secret."""

    def __init__(self, kind: FailureKind, message: str) -> None:
        super().__init__(message)
        self.kind = kind
        self.message = message


def protocol_error(message: str) -> WireError:
    """A WireError of kind PROTOCOL."""
    return WireError(FailureKind.PROTOCOL, message)
