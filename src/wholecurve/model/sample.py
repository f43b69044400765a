"""What is sent: samples, turns and conversations. Frozen; made by datasets/, read by load/ and wire/."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class Sample:
    """One row of a data set, as request content.

    Exactly one of `messages`, `prompt` and `input_ids` is set. `messages` are OpenAI chat messages (content may be a
    list of parts, images as URL parts). `system` goes before a `prompt` only. `body` holds per-row fields that win
    over the run's options (`max_tokens`, `temperature`, `stop`, ...). `row` counts from 0 in the data set.
    """

    row: int
    messages: tuple[Mapping[str, Any], ...] | None = None
    prompt: str | None = None
    input_ids: tuple[int, ...] | None = None
    system: str | None = None
    tools: tuple[Mapping[str, Any], ...] | None = None
    body: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Turn:
    """One request of a conversation; sent `delay_ns` after the turn before it completed."""

    sample: Sample
    delay_ns: int = 0


@dataclass(frozen=True, slots=True)
class Conversation:
    """An ordered list of requests that depend on each other; a single-shot sample is one of one turn."""

    id: str
    turns: tuple[Turn, ...]


def single_shot(sample: Sample) -> Conversation:
    """A sample as a conversation of one turn."""
    return Conversation(str(sample.row), (Turn(sample),))
