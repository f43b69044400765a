"""Decides what a simulated model says: how long, how much of it reasoning, whether a tool call, and every piece. Pure.

The same seed and prompt give the same answer.
"""

from __future__ import annotations

import math
import random
from dataclasses import dataclass
from enum import StrEnum

import orjson

from wholecurve.sim.ask import Ask
from wholecurve.sim.profiles import EngineProfile
from wholecurve.sim.words import SEQUENCE_LENGTH, WordSequence

ARGUMENTS_HEAD, ARGUMENTS_TAIL = '{"query":"', '"}'


class PieceKind(StrEnum):
    """What one token is part of."""

    REASONING = "reasoning"
    TEXT = "text"
    TOOL_NAME = "tool_name"
    TOOL_ARGUMENTS = "tool_arguments"


@dataclass(frozen=True, slots=True)
class Answer:
    """An answer of `tokens` tokens: first `reasoning` ones, then text or, with `tool`, one tool call.

    `spoken`: the first tokens of the text, where the model knows what to say; words follow if there is more room.
    """

    tokens: int
    reasoning: int
    tool: str | None
    finish_reason: str
    offset: int
    spoken: tuple[str, ...] = ()


def decide_answer(
    ask: Ask, engine: EngineProfile, *, seed: int, to_limit: bool, spoken: tuple[str, ...] = ()
) -> Answer:
    """Length, finish reason and kind of the answer to `ask`, from the seed and the prompt alone.

    With `spoken` tokens that the model knows as the answer, it reasons as long as ever, says them, and ends there; it
    calls no tool unless it must.
    """
    draw = random.Random(f"{seed}:{ask.digest}")
    natural = round(math.exp(math.log(engine.output_median) + engine.output_sigma * draw.gauss(0, 1)))
    natural = max(1, min(natural, engine.output_max))
    wants_tool, which, offset = draw.random() < engine.tool_share, draw.random(), draw.randrange(SEQUENCE_LENGTH)
    knows = bool(spoken) and ask.forced_tool is None
    share = engine.reasoning_share if ask.chat else 0.0
    thinking = round(natural * share)
    if knows:
        natural, wants_tool = thinking + len(spoken), False
    room = engine.context_limit - ask.prompt_tokens
    limit = min(room, ask.limit if ask.limit is not None else engine.output_max)
    if ask.ignore_eos or to_limit:
        tokens = limit
    else:
        tokens = max(1, min(limit, max(natural, ask.minimum)))
    runs_to_limit = ask.ignore_eos or to_limit or natural > limit or ask.minimum > limit
    reasoning = min(tokens - 1, thinking if knows else round(tokens * share))
    tool = ask.forced_tool
    if tool is None and ask.tools and wants_tool:
        tool = ask.tools[int(which * len(ask.tools))]
    if tool is not None and not runs_to_limit:
        tokens = min(limit, max(tokens, reasoning + 4))  # a whole call: name, opening, one word, closing
        runs_to_limit = tokens < reasoning + 4
    finish = "length" if runs_to_limit else "tool_calls" if tool is not None else "stop"
    return Answer(tokens, reasoning, tool, finish, offset, spoken if knows else ())


def piece(answer: Answer, place: int, words: WordSequence) -> tuple[PieceKind, str]:
    """Kind and text of the token at `place`, counted from 0."""
    bare, spaced = words.bare, words.spaced
    word = (answer.offset + place) % SEQUENCE_LENGTH
    if place < answer.reasoning:
        return PieceKind.REASONING, (spaced if place else bare)[word]
    inner = place - answer.reasoning
    if inner < len(answer.spoken):
        return PieceKind.TEXT, answer.spoken[inner]
    if answer.tool is None:
        return PieceKind.TEXT, (spaced if inner else bare)[word]
    if inner == 0:
        return PieceKind.TOOL_NAME, answer.tool
    if inner == 1:
        return PieceKind.TOOL_ARGUMENTS, ARGUMENTS_HEAD
    if place == answer.tokens - 1 and answer.finish_reason != "length":
        return PieceKind.TOOL_ARGUMENTS, ARGUMENTS_TAIL
    return PieceKind.TOOL_ARGUMENTS, (spaced if inner > 2 else bare)[word]


def quoted(text: str) -> bytes:
    """Text as the inside of a JSON string."""
    return orjson.dumps(text)[1:-1]
