"""What a registry says of a result. It is copied from a registry's record and never decided here."""

from __future__ import annotations

from enum import StrEnum


class Status(StrEnum):
    """Standing of a result; whatever has no record in a registry is `unverified`."""

    VERIFIED = "verified"
    PROVISIONAL = "provisional"
    UNVERIFIED = "unverified"
