"""Salt for the rows of a phase, and the question whether two phases share a prompt.

The salt of a row is made from a word and the row alone: the same run sends the same bytes, whatever worker sends them.
"""

from __future__ import annotations

from collections.abc import Iterable
from hashlib import sha256
from json import dumps

from wholecurve.datasets import salted
from wholecurve.model.errors import InputError
from wholecurve.model.sample import Sample


def with_salt(samples: Iterable[Sample], word: str, remedy: str) -> tuple[Sample, ...]:
    """Every sample with 16 hex digits of its own before its text.

    Raises InputError, naming the row and `remedy`, for a sample that cannot take one (WRM-4).
    """
    found = []
    for sample in samples:
        try:
            found.append(salted(sample, sha256(f"{word}/{sample.row}".encode()).hexdigest()[:16]))
        except InputError as error:
            raise InputError(error.message, where=error.where, hint=remedy) from None
    return tuple(found)


def fingerprint(sample: Sample) -> bytes:
    """Equal for samples with the same prompt."""
    content = [sample.messages, sample.prompt, sample.input_ids, sample.system, sample.tools]
    return sha256(dumps(content, sort_keys=True, default=dict).encode()).digest()


def shared_row(warmup: Iterable[Sample], measured: Iterable[Sample]) -> tuple[int, int] | None:
    """The first (warm-up row, measured row) with the same prompt, or None."""
    rows: dict[bytes, int] = {}
    for sample in measured:
        rows.setdefault(fingerprint(sample), sample.row)
    for sample in warmup:
        row = rows.get(fingerprint(sample))
        if row is not None:
            return sample.row, row
    return None
