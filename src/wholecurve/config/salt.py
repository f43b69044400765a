"""The salt of a request, and the question whether two phases share a prompt.

A salt is made from a word, the phase and the place in the issue order alone: the same plan sends the same bytes,
whatever worker sends them, and a second pass of the same row has another salt. None is stored.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from hashlib import sha256
from json import dumps

from wholecurve.datasets import SaltTokenizer, TokenSalt, refuse_unsaltable, token_salt
from wholecurve.model.errors import InputError
from wholecurve.model.sample import Sample

SALT_BITS = 64


def salt_of(word: str, phase: int, index: int) -> str:
    """The salt of request `index` of phase number `phase`: 16 hex digits, 64 bits."""
    return sha256(f"{word}/{phase}/{index}".encode()).hexdigest()[: SALT_BITS // 4]


def check_salt(samples: Sequence[Sample], tokenizer: SaltTokenizer | None, remedy: str) -> TokenSalt | None:
    """How rows of token ids take a salt (None: there are none).

    Raises InputError, naming the row and `remedy`, for the first sample that cannot take one (WRM-4).
    """
    try:
        ids = token_salt(samples, tokenizer)
        refuse_unsaltable(samples, ids)
    except InputError as error:
        raise InputError(error.message, where=error.where, hint=remedy) from None
    return ids


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
