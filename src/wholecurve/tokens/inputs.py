"""What a token count of a request means here.

**ISL**: all messages and tools through the chat template with the generation prompt. For a text completion the text
alone; for token ids their number. Where there is no template, or it fails, the contents, tool calls and tools joined by
newlines (method `parts`), which lacks the markers of a template. Images have no count here: how many tokens they
take is decided by the model's image processor.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any, NamedTuple

from wholecurve.model.sample import Sample
from wholecurve.tokens.count import Method, parsed_call
from wholecurve.tokens.tokenizer import Tokenizer

IMAGE_REASON = "the input has parts other than text; their tokens depend on the model's processor"


class InputCount(NamedTuple):
    """Tokens of one request; `isl` is None with a `reason`."""

    isl: int | None
    method: Method | None
    reason: str = ""


def count_inputs(
    tokenizer: Tokenizer,
    samples: Sequence[Sample],
    *,
    templated: bool = True,
    template_kwargs: Mapping[str, Any] | None = None,
) -> list[InputCount]:
    """ISL of each sample, in order. `templated` is false for a text completion, which servers do not template.

    `template_kwargs` are those of every request; a sample's own `chat_template_kwargs` go before them.
    """
    texts: list[str] = []
    methods: list[Method | None] = []
    found: list[InputCount] = []
    for sample in samples:
        if sample.input_ids is not None:
            found.append(InputCount(len(sample.input_ids), Method.IDS))
            methods.append(None)
            continue
        messages = _input_messages(sample)
        if messages is None:
            found.append(InputCount(None, None, IMAGE_REASON))
            methods.append(None)
            continue
        text, method = _input_text(tokenizer, sample, messages, templated, template_kwargs)
        found.append(InputCount(0, method))
        methods.append(method)
        texts.append(text)
    counts = iter(tokenizer.count_many(texts))
    return [one if method is None else InputCount(next(counts), method) for one, method in zip(found, methods)]


def _input_text(
    tokenizer: Tokenizer,
    sample: Sample,
    messages: Sequence[Mapping[str, Any]],
    templated: bool,
    template_kwargs: Mapping[str, Any] | None,
) -> tuple[str, Method]:
    if not templated and sample.prompt is not None:
        return sample.prompt, Method.PLAIN
    kwargs = dict(template_kwargs or {}) | dict(sample.body.get("chat_template_kwargs") or {})
    rendered = tokenizer.render(messages, sample.tools, kwargs, add_generation_prompt=True)
    if rendered is not None:
        return rendered, Method.TEMPLATE
    parts = [message.get("content") or "" for message in messages]
    parts += [json.dumps(call) for message in messages for call in message.get("tool_calls") or ()]
    parts += [json.dumps(tool) for tool in sample.tools or ()]
    return "\n".join(part for part in parts if part), Method.PARTS


def _input_messages(sample: Sample) -> list[dict[str, Any]] | None:
    """Messages as templates want them: text parts joined, arguments as objects; None with parts other than text."""
    if sample.messages is None:
        system = [{"role": "system", "content": sample.system}] if sample.system else []
        return [*system, {"role": "user", "content": sample.prompt}]
    messages = []
    for given in sample.messages:
        message = dict(given)
        content = message.get("content")
        if isinstance(content, list):
            if any(part.get("type") != "text" for part in content):
                return None
            message["content"] = "\n".join(part["text"] for part in content)
        if message.get("tool_calls"):
            # A call of another shape stays as it is: the template says whether it can use it.
            with suppress(TypeError, KeyError, AttributeError):
                message["tool_calls"] = [parsed_call(call) for call in message["tool_calls"]]
        messages.append(message)
    return messages
