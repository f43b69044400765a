"""Dialect `openai-chat`: POST v1/chat/completions.

A request carries `messages`: the row's own, or an optional system message and one user message made from its prompt.
An event adds `choices[0].delta`; a whole answer is `choices[0].message`. Reasoning comes as `reasoning` or as
`reasoning_content`; where a server sends both they are the same text, so one is taken.
"""

from __future__ import annotations

from typing import Any

from wholecurve.model.plan import RequestOptions
from wholecurve.model.sample import Sample
from wholecurve.wire.body import cannot_carry, openai_body
from wholecurve.wire.delta import (
    DONE,
    NOTHING,
    Delta,
    error_of,
    finish_of,
    first_choice,
    read_event,
    read_object,
    read_usage,
    text_of,
    tool_pieces,
)


class ChatDialect:
    """OpenAI chat completions."""

    name = "openai-chat"
    path = "v1/chat/completions"
    cumulative = False

    def body(self, sample: Sample, options: RequestOptions, model: str) -> bytes:
        """The request body as JSON. Raises InputError for a sample of token ids."""
        if sample.messages is not None:
            messages = [dict(message) for message in sample.messages]
        elif sample.prompt is not None:
            messages = [{"role": "user", "content": sample.prompt}]
            if sample.system is not None:
                messages.insert(0, {"role": "system", "content": sample.system})
        else:
            raise cannot_carry(self.name, sample, "token ids", "use openai-completions or sglang-generate")
        content: dict[str, Any] = {"messages": messages}
        if sample.tools is not None:
            content["tools"] = [dict(tool) for tool in sample.tools]
        return openai_body(content, sample, options, model)

    def delta(self, payload: bytes) -> Delta:
        """What one event's data adds. Raises WireError (NOT_JSON)."""
        document = read_event(payload)
        return DONE if document is None else _read(document, "delta")

    def answer(self, payload: bytes) -> Delta:
        """A whole, non-streamed answer. Raises WireError (NOT_JSON)."""
        return _read(read_object(payload), "message")


def _read(document: dict[str, Any], key: str) -> Delta:
    """Made for speed: the shape that nearly every event has takes the shortest way, the odd ones pay."""
    usage = document.get("usage")
    if usage is not None:
        usage = read_usage(usage)
    choices = document.get("choices")
    if type(choices) is not list or not choices:
        error = error_of(document)
        return NOTHING if usage is None and error is None else Delta(usage=usage, error=error)
    error = error_of(document) if "error" in document else None
    choice = choices[0]
    seen = 1
    if len(choices) > 1 or type(choice) is not dict or choice.get("index") != 0:
        choice, seen = first_choice(choices)
        if choice is None:
            return Delta("", "", (), "", None, usage, error, False, seen)
    finish = choice.get("finish_reason")
    if finish is not None:
        finish = finish_of(finish)
    message = choice.get(key)
    if type(message) is not dict:
        return Delta("", "", (), "", finish, usage, error, False, seen)
    text = message.get("content")
    if type(text) is not str:
        text = text_of(text)
    elif len(message) == 1:
        return Delta(text, "", (), "", finish, usage, error, False, seen)
    reasoning = text_of(message.get("reasoning_content")) or text_of(message.get("reasoning"))
    tools = tool_pieces(message) if "tool_calls" in message or "function_call" in message else ()
    refusal = text_of(message.get("refusal")) if "refusal" in message else ""
    return Delta(text, reasoning, tools, refusal, finish, usage, error, False, seen)
