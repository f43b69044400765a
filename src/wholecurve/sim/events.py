"""The bytes of simulated answers: events of a stream, each one chunk of chunked coding, and whole JSON bodies. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import orjson

from wholecurve.sim.answer import Answer, PieceKind, piece, quoted
from wholecurve.sim.ask import Ask
from wholecurve.sim.words import SEQUENCE_LENGTH, WordSequence

LAST_CHUNK = b"0\r\n\r\n"
COMMENT_EVERY = 8


@dataclass(frozen=True, slots=True)
class Form:
    """How the events of a stream look."""

    crlf: bool = False
    tokens_per_event: int = 1
    done: bool = True
    usage: bool = True
    finish_in_last: bool = False
    comments: bool = False
    reasoning_field: str = "reasoning_content"

    @property
    def line_end(self) -> bytes:
        """What ends a line."""
        return b"\r\n" if self.crlf else b"\n"


def chunk(data: bytes) -> bytes:
    """One chunk of HTTP chunked coding."""
    return b"%x\r\n%b\r\n" % (len(data), data)


def usage_of(ask: Ask, answer: Answer, *, cached: int, produced: int) -> dict[str, Any]:
    """The usage object after `produced` tokens."""
    return {
        "prompt_tokens": ask.prompt_tokens,
        "completion_tokens": produced,
        "total_tokens": ask.prompt_tokens + produced,
        "prompt_tokens_details": {"cached_tokens": cached},
        "completion_tokens_details": {"reasoning_tokens": min(answer.reasoning, produced)},
    }


@dataclass(frozen=True, slots=True)
class Envelope:
    """What all events of one answer share. `cached` is asked when usage is written: it is known only by then."""

    ask: Ask
    answer: Answer
    form: Form
    id: str
    created: int
    words: WordSequence
    cached: Callable[[], int]

    def base(self, *, stream: bool) -> dict[str, Any]:
        """The leading keys of every event or body."""
        kind = "text_completion" if not self.ask.chat else "chat.completion.chunk" if stream else "chat.completion"
        return {"id": self.id, "object": kind, "created": self.created, "model": self.ask.model}

    def event(self, body: dict[str, Any]) -> bytes:
        """One event with the base keys in front, not yet a chunk."""
        end = self.form.line_end
        return b"data: " + orjson.dumps(self.base(stream=True) | body) + end + end

    def choice(self, delta: dict[str, Any], finish: str | None = None) -> dict[str, Any]:
        """The `choices` of one event."""
        part = {"delta": delta} if self.ask.chat else delta
        return {"choices": [{"index": 0} | part | {"finish_reason": finish}]}

    def usage(self, produced: int) -> dict[str, Any]:
        """The usage key, or nothing."""
        return {"usage": usage_of(self.ask, self.answer, cached=self.cached(), produced=produced)}


def role_event(envelope: Envelope) -> bytes:
    """The role-only event as a chunk; empty for completions, which have none."""
    if not envelope.ask.chat:
        return b""
    return chunk(envelope.event(envelope.choice({"role": "assistant", "content": ""})))


def error_event(envelope: Envelope, message: str) -> bytes:
    """An error object inside a stream, the end marker and the end of the body."""
    end = envelope.form.line_end
    error = {"error": {"message": message, "type": "InternalServerError", "code": 500}}
    return chunk(b"data: " + orjson.dumps(error) + end + end) + chunk(b"data: [DONE]" + end + end) + LAST_CHUNK


def empty_stream(envelope: Envelope) -> bytes:
    """An event stream with nothing but the end marker."""
    end = envelope.form.line_end
    return chunk(b"data: [DONE]" + end + end) + LAST_CHUNK


def tail_events(envelope: Envelope) -> bytes:
    """Finish, usage, end marker and the last chunk, in one piece."""
    ask, answer, form = envelope.ask, envelope.answer, envelope.form
    end = form.line_end
    found = b""
    if not form.finish_in_last:
        body = envelope.choice({} if ask.chat else {"text": ""}, answer.finish_reason)
        body |= envelope.usage(answer.tokens) if ask.continuous_usage and ask.include_usage and form.usage else {}
        found += chunk(envelope.event(body))
    if ask.include_usage and form.usage:
        found += chunk(envelope.event({"choices": []} | envelope.usage(answer.tokens)))
    if form.done:
        found += chunk(b"data: [DONE]" + end + end)
    return found + LAST_CHUNK


def token_events(envelope: Envelope) -> Iterator[bytes]:
    """One item for each token: a chunk with its event, or nothing when the token goes out with a later one."""
    form, answer, ask = envelope.form, envelope.answer, envelope.ask
    plain = form.tokens_per_event == 1 and not form.comments and not form.finish_in_last
    counted = ask.continuous_usage and ask.include_usage and form.usage
    if plain and not counted and answer.tool is None and not answer.spoken:
        return _plain_events(envelope)
    return _shaped_events(envelope, counted=counted)


def _delta(envelope: Envelope, kind: PieceKind, text: str) -> dict[str, Any]:
    if not envelope.ask.chat:
        return {"text": text}
    if kind is PieceKind.TEXT:
        return {"content": text}
    if kind is PieceKind.REASONING:
        return {envelope.form.reasoning_field: text}
    if kind is PieceKind.TOOL_NAME:
        call = {"index": 0, "id": _call_id(envelope), "type": "function", "function": {"name": text, "arguments": ""}}
    else:
        call = {"index": 0, "function": {"arguments": text}}
    return {"tool_calls": [call]}


def _call_id(envelope: Envelope) -> str:
    return f"call-{envelope.id.partition('-')[2]}"


def _plain_events(envelope: Envelope) -> Iterator[bytes]:
    """The fast way: everything but the word is made once."""
    answer = envelope.answer
    bare, encoded = envelope.words.bare, envelope.words.encoded
    for kind, first, count in (
        (PieceKind.REASONING, 0, answer.reasoning),
        (PieceKind.TEXT, answer.reasoning, answer.tokens - answer.reasoning),
    ):
        if not count:
            continue
        mark = "\x00"  # stands for the word; JSON cannot hold it unescaped
        whole = envelope.event(envelope.choice(_delta(envelope, kind, mark)))
        before, _, after = whole.rpartition(quoted(mark))  # the last: a name may hold one too
        heads = {size: b"%x\r\n" % (len(before) + size + len(after)) + before for size in range(16)}
        after += b"\r\n"
        words = [bare[(answer.offset + first) % SEQUENCE_LENGTH].encode()]
        yield heads[len(words[0])] + words[0] + after
        for place in range(answer.offset + first + 1, answer.offset + first + count):
            word = encoded[place % SEQUENCE_LENGTH]
            yield heads[len(word)] + word + after


def _shaped_events(envelope: Envelope, *, counted: bool) -> Iterator[bytes]:
    """The general way: merged tokens, comments, tool calls, running usage, a finish reason in the last event."""
    answer, form = envelope.answer, envelope.form
    end = form.line_end
    text, merged = "", 0
    pieces = [piece(answer, place, envelope.words) for place in range(answer.tokens)]
    for place, (kind, part) in enumerate(pieces):
        text, merged = text + part, merged + 1
        last = place == answer.tokens - 1
        same_next = not last and pieces[place + 1][0] is kind and kind is not PieceKind.TOOL_NAME
        if merged < form.tokens_per_event and same_next:
            yield b""
            continue
        finish = answer.finish_reason if last and form.finish_in_last else None
        body = envelope.choice(_delta(envelope, kind, text), finish)
        body |= envelope.usage(place + 1) if counted else {}
        event = envelope.event(body)
        if form.comments and place % COMMENT_EVERY == 0:
            event = b": keep-alive" + end + end + event
        yield chunk(event)
        text, merged = "", 0


def whole_body(envelope: Envelope) -> bytes:
    """The JSON body of an answer that is not streamed."""
    answer, ask = envelope.answer, envelope.ask
    parts: dict[PieceKind, list[str]] = {kind: [] for kind in PieceKind}
    for place in range(answer.tokens):
        kind, text = piece(answer, place, envelope.words)
        parts[kind].append(text)
    joined = {kind: "".join(texts) for kind, texts in parts.items()}
    choice: dict[str, Any] = {"index": 0}
    if ask.chat:
        message: dict[str, Any] = {"role": "assistant", "content": joined[PieceKind.TEXT] or None}
        if answer.reasoning:
            message[envelope.form.reasoning_field] = joined[PieceKind.REASONING]
        if answer.tool is not None:
            function = {"name": joined[PieceKind.TOOL_NAME], "arguments": joined[PieceKind.TOOL_ARGUMENTS]}
            message["tool_calls"] = [{"id": _call_id(envelope), "type": "function", "function": function}]
        choice["message"] = message
    else:
        choice["text"] = joined[PieceKind.TEXT]
    body = envelope.base(stream=False) | {"choices": [choice | {"finish_reason": answer.finish_reason}]}
    return orjson.dumps(body | (envelope.usage(answer.tokens) if envelope.form.usage else {}))
