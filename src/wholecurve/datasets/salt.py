"""A salt line before what the user says, so that an earlier request's cached prefix cannot serve this one.

The salt goes after a system text, which stays common as it is in real use. Rows of token ids get the ids of the line
after what all rows begin with: what counts is the token stream that the server sees. Samples that cannot take a salt
are refused with their row: sending them without one would measure the cache. Source: rules 2.9.5.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

from wholecurve.model.errors import InputError
from wholecurve.model.sample import Sample

_REMEDY = "turn the salt off, use a data set of text prompts, or name the tokenizer of token ids"
_NO_TOKENIZER = "token ids, and no tokenizer is given that could write a salt in them"
_HEX = "0123456789abcdef"


class SaltTokenizer(Protocol):
    """What a tokenizer must be able to do for a salt among token ids."""

    def encode(self, text: str) -> list[int]: ...
    def is_special(self, token: int) -> bool: ...


@dataclass(frozen=True, slots=True)
class TokenSalt:
    """How the token-id rows of one data set take a salt: the ids of its line go before place `place` of a row."""

    place: int
    encode: Callable[[str], Sequence[int]]


def salted(sample: Sample, salt: str, ids: TokenSalt | None = None) -> Sample:
    """The sample with `[salt]` on a line of its own before the text of its first user message.

    Token ids need `ids` (of `token_salt`). Raises InputError for token ids without it, for a user message that does
    not begin with text, and for no user message. The sample itself is left as it is.
    """
    if sample.input_ids is not None:
        if ids is None:
            raise _refused(sample, _NO_TOKENIZER)
        given = sample.input_ids
        return replace(sample, input_ids=(*given[: ids.place], *ids.encode(_line(salt)), *given[ids.place :]))
    if sample.prompt is not None:
        return replace(sample, prompt=_line(salt) + sample.prompt)
    messages = list(sample.messages or ())
    for place, message in enumerate(messages):
        if message["role"] == "user":
            messages[place] = {**message, "content": _content(sample, salt, message.get("content"))}
            return replace(sample, messages=tuple(messages))
    raise _refused(sample, "no message of the user")


def token_salt(samples: Sequence[Sample], tokenizer: SaltTokenizer | None) -> TokenSalt | None:
    """How the rows of token ids among `samples` take a salt; None if there are none.

    The place is after the longest beginning that all of them share (system prompt and template). Where nothing of a
    row is left after it - one row, equal rows, a row that others begin with - it is the start, after a first id that
    the tokenizer calls special. Raises InputError without a tokenizer, naming the first such row, and for a tokenizer
    that does not keep salts apart.
    """
    rows = [sample for sample in samples if sample.input_ids is not None]
    if not rows:
        return None
    if tokenizer is None:
        raise _refused(rows[0], _NO_TOKENIZER)
    lines = [tuple(tokenizer.encode(_line(digit * 16))) for digit in _HEX]
    if not all(lines) or len(set(lines)) < len(lines):
        raise InputError(
            f"row {rows[0].row} cannot take a salt: the tokenizer makes the same token ids of different salts",
            where=f"row {rows[0].row}",
            hint=_REMEDY,
        )
    listed = [row.input_ids or () for row in rows]
    place = _shared_start(listed)
    if place >= min(map(len, listed)):
        place = 1 if place and tokenizer.is_special(listed[0][0]) else 0
    return TokenSalt(place, tokenizer.encode)


def refuse_unsaltable(samples: Iterable[Sample], ids: TokenSalt | None = None) -> None:
    """Raise InputError for the first sample that `salted` would refuse: for use before anything is sent."""
    for sample in samples:
        salted(sample, "", ids)


def _shared_start(rows: Sequence[tuple[int, ...]]) -> int:
    """How many ids all rows begin with: those of the first and the last in order, which are furthest apart."""
    first, last = min(rows), max(rows)
    return next((n for n, (one, other) in enumerate(zip(first, last)) if one != other), min(len(first), len(last)))


def _content(sample: Sample, salt: str, content: Any) -> Any:
    if isinstance(content, str):
        return _line(salt) + content
    if isinstance(content, list) and content and content[0].get("type") == "text":
        return [{**content[0], "text": _line(salt) + content[0]["text"]}, *content[1:]]
    raise _refused(sample, "a message of the user that begins with an image or another part that is not text")


def _line(salt: str) -> str:
    return f"[{salt}]\n"


def _refused(sample: Sample, what: str) -> InputError:
    return InputError(f"row {sample.row} cannot take a salt: it has {what}", where=f"row {sample.row}", hint=_REMEDY)
