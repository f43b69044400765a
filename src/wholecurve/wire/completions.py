"""Dialect `openai-completions`: POST v1/completions.

A request carries `prompt`: text, or token ids as they are. An event and a whole answer add `choices[0].text`.
There is no place for messages, tools or a system text: those need the server's chat template.
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
)


class CompletionsDialect:
    """OpenAI completions."""

    name = "openai-completions"
    path = "v1/completions"
    cumulative = False

    def body(self, sample: Sample, options: RequestOptions, model: str) -> bytes:
        """The request body as JSON. Raises InputError for a sample that needs a chat template."""
        return openai_body({"prompt": plain_prompt(self.name, sample)}, sample, options, model)

    def delta(self, payload: bytes) -> Delta:
        """What one event's data adds. Raises WireError (NOT_JSON)."""
        document = read_event(payload)
        return DONE if document is None else _read(document)

    def answer(self, payload: bytes) -> Delta:
        """A whole, non-streamed answer; its form is that of an event. Raises WireError (NOT_JSON)."""
        return _read(read_object(payload))


def plain_prompt(dialect: str, sample: Sample) -> str | list[int]:
    """The prompt of a sample that is text or token ids. Raises InputError for anything that needs a chat template."""
    carried: dict[str, Any] = {"messages": sample.messages, "tools": sample.tools, "a system text": sample.system}
    for what, value in carried.items():
        if value is not None:
            raise cannot_carry(dialect, sample, what, "use openai-chat, or put the whole text into the prompt")
    return list(sample.input_ids) if sample.input_ids is not None else sample.prompt or ""


def _read(document: dict[str, Any]) -> Delta:
    usage = read_usage(document["usage"]) if "usage" in document else None
    error = error_of(document)
    choices = document.get("choices")
    if type(choices) is not list or not choices:
        return NOTHING if usage is None and error is None else Delta(usage=usage, error=error)
    choice, seen = first_choice(choices)
    if choice is None:
        return Delta(usage=usage, error=error, choices=seen)
    reasoning = text_of(choice.get("reasoning_content") or choice.get("reasoning"))
    finish = finish_of(choice.get("finish_reason"))
    return Delta(text_of(choice.get("text")), reasoning, (), "", finish, usage, error, False, seen)
