"""The words of simulated answers, and how prompts are counted and hashed. Pure.

Every word is one token of the test tokenizer, with a leading space and without, so that counts agree.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any

WORDS = (
    *("glass", "horse", "paper", "windy", "light", "river", "rainy", "house"),
    *("green", "chair", "stone", "bread", "snowy", "sunny", "bird", "city"),
    *("door", "blue", "lamp", "snow", "tree", "salt", "star", "wind"),
    *("moon", "fish", "book", "rain", "list", "name", "test", "weather"),
)
SEQUENCE_LENGTH = 1 << 14
WORD_CHARACTERS = 8
MESSAGE_TOKENS = 4  # what a chat template adds around a message
ANSWER_TOKENS = 3  # what it adds to ask for the answer


@dataclass(frozen=True, slots=True)
class WordSequence:
    """A long seeded sequence of words, bare, with a leading space, and the latter as bytes."""

    bare: tuple[str, ...]
    spaced: tuple[str, ...]
    encoded: tuple[bytes, ...]


def word_sequence(seed: int) -> WordSequence:
    """The words of all answers under this seed; each answer is a window of it."""
    draw = random.Random(seed)
    bare = tuple(draw.choices(WORDS, k=SEQUENCE_LENGTH))
    spaced = tuple(f" {word}" for word in bare)
    return WordSequence(bare, spaced, tuple(word.encode() for word in spaced))


def split_tokens(text: str) -> list[str]:
    """The simulated engine's tokens: words at white space, a long word in pieces of eight characters."""
    found = text.split()
    if not any(len(word) > WORD_CHARACTERS for word in found):
        return found
    size = WORD_CHARACTERS
    return [word[at : at + size] for word in found for at in range(0, len(word), size)]


def message_text(content: Any) -> str:
    """The text of a chat message's content: a string, null, or a list of parts (other parts count as one word)."""
    if content is None:
        return ""
    if isinstance(content, str):
        return content
    parts = [part if isinstance(part, dict) else {} for part in content]
    return " ".join(str(part.get("text", part.get("type", ""))) for part in parts)


def block_hashes(tokens: Sequence[Any], size: int) -> tuple[int, ...]:
    """Chained hashes of the full blocks of `size` tokens: equal hashes mean equal tokens up to there."""
    found = []
    before = b""
    for start in range(0, len(tokens) - size + 1, size):
        block = "\x1f".join(map(str, tokens[start : start + size])).encode("utf-8", "surrogatepass")
        before = blake2b(before + block, digest_size=8).digest()
        found.append(int.from_bytes(before, "little"))
    return tuple(found)


def digest(tokens: Sequence[Any]) -> int:
    """64 bits that stand for the whole prompt."""
    text = "\x1f".join(map(str, tokens)).encode("utf-8", "surrogatepass")
    return int.from_bytes(blake2b(text, digest_size=8).digest(), "little")
