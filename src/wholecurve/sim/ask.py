"""Reads an OpenAI request body into what the simulated endpoint needs, or refuses it as real servers do. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import orjson

from wholecurve.sim.faults import FAULT_FIELD
from wholecurve.sim.known import last_user_text
from wholecurve.sim.profiles import EngineProfile
from wholecurve.sim.words import ANSWER_TOKENS, MESSAGE_TOKENS, block_hashes, digest, message_text, split_tokens


class Refusal(Exception):
    """The request is answered with an error. `type` and `code` as in OpenAI's error objects."""

    def __init__(self, status: int, message: str, *, type: str = "invalid_request_error", code: str | None = None):
        super().__init__(message)
        self.status = status
        self.message = message
        self.type = type
        self.code = code


@dataclass(frozen=True, slots=True)
class Ask:
    """One request, understood. `limit` None: no output limit was sent. `forced_tool`: the tool that must be called.

    `question`: the last text of the user, None for token numbers.
    """

    chat: bool
    model: str
    stream: bool
    prompt_tokens: int
    prefix: tuple[int, ...]
    digest: int
    limit: int | None
    minimum: int
    ignore_eos: bool
    include_usage: bool
    continuous_usage: bool
    tools: tuple[str, ...]
    forced_tool: str | None
    fault: str | None
    question: str | None


def read_ask(body: bytes, *, chat: bool, models: tuple[str, ...], engine: EngineProfile) -> Ask:
    """Understand a body of `/v1/chat/completions` (`chat`) or `/v1/completions`. Raises Refusal."""
    try:
        fields = orjson.loads(body)
    except orjson.JSONDecodeError as error:
        raise Refusal(400, f"body is not JSON: {error}") from None
    if not isinstance(fields, dict):
        raise Refusal(400, "body is not a JSON object")
    model = fields.get("model")
    if not isinstance(model, str):
        raise Refusal(400, "model must be a string")
    if models and model not in models:
        raise Refusal(404, f"the model {model!r} does not exist", type="NotFoundError", code="model_not_found")
    if fields.get("n") not in (None, 1):
        raise Refusal(400, "only n = 1 is supported")
    tools, forced = _tools(fields) if chat else ((), None)
    tokens, extra = _chat_tokens(fields) if chat else _prompt_tokens(fields)
    limit = _whole(fields, "max_completion_tokens", least=1)
    if limit is None:
        limit = _whole(fields, "max_tokens", least=1)
    options = fields.get("stream_options") or {}
    if not isinstance(options, dict):
        raise Refusal(400, "stream_options must be an object")
    count = len(tokens) + extra
    _check_length(count, limit, engine.context_limit)
    fault = fields.get(FAULT_FIELD)
    return Ask(
        chat=chat,
        model=model,
        stream=bool(fields.get("stream")),
        prompt_tokens=count,
        prefix=block_hashes(tokens, engine.block_tokens) if engine.prefix_cache else (),
        digest=digest(tokens),
        limit=limit,
        minimum=_whole(fields, "min_tokens", least=0) or 0,
        ignore_eos=bool(fields.get("ignore_eos")),
        include_usage=bool(options.get("include_usage")),
        continuous_usage=bool(options.get("continuous_usage_stats")),
        tools=tools,
        forced_tool=forced,
        fault=None if fault is None else str(fault),
        question=_question(fields, chat=chat),
    )


def _question(fields: Mapping[str, Any], *, chat: bool) -> str | None:
    """The last text of the user, of a body whose prompt was read already."""
    if chat:
        return last_user_text(fields["messages"])
    prompt = fields["prompt"]
    return prompt if isinstance(prompt, str) else None


def _check_length(prompt: int, limit: int | None, most: int) -> None:
    wanted = prompt + (limit or 1)
    if wanted > most:
        raise Refusal(
            400,
            f"this model's maximum context length is {most} tokens, however {prompt} are in the prompt and "
            f"{limit or 1} were asked for as output",
            code="context_length_exceeded",
        )


def _whole(fields: Mapping[str, Any], name: str, *, least: int) -> int | None:
    value = fields.get(name)
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int) or value < least:
        raise Refusal(400, f"{name} must be a whole number of {least} or more")
    return value


def _tools(fields: Mapping[str, Any]) -> tuple[tuple[str, ...], str | None]:
    """Names of the tools on offer (none with tool_choice none), and the one that must be called."""
    try:
        names = tuple(str(tool["function"]["name"]) for tool in fields.get("tools") or ())
        choice = fields.get("tool_choice", "auto")
        named = choice["function"]["name"] if isinstance(choice, dict) else None
    except (KeyError, TypeError):
        raise Refusal(400, "tools must be a list of {type, function: {name}}") from None
    if choice == "none":
        return (), None
    if named is not None and named not in names:
        raise Refusal(400, f"tool_choice names {named!r}, which is not among the tools")
    return names, named or (names[0] if choice == "required" and names else None)


def _chat_tokens(fields: Mapping[str, Any]) -> tuple[list[str], int]:
    """Tokens of all messages and tools, and how many more the chat template adds."""
    messages = fields.get("messages")
    if not isinstance(messages, list) or not messages:
        raise Refusal(400, "messages must be a list of at least one message")
    tokens: list[str] = []
    if fields.get("tools"):
        tokens += split_tokens(orjson.dumps(fields["tools"]).decode())
    for message in messages:
        if not isinstance(message, dict) or not isinstance(message.get("role"), str):
            raise Refusal(400, "a message must be an object with a role")
        content = message.get("content")
        if content is not None and not isinstance(content, str | list):
            raise Refusal(400, "content must be a string or a list of parts")
        tokens.append(message["role"])
        tokens += split_tokens(message_text(content))
        if message.get("tool_calls"):
            tokens += split_tokens(orjson.dumps(message["tool_calls"]).decode())
    return tokens, (MESSAGE_TOKENS - 1) * len(messages) + ANSWER_TOKENS


def _prompt_tokens(fields: Mapping[str, Any]) -> tuple[list[Any], int]:
    """Tokens of a completion prompt: a string, or token numbers."""
    prompt = fields.get("prompt")
    if isinstance(prompt, str):
        tokens: list[Any] = list(split_tokens(prompt))
    elif isinstance(prompt, list) and all(isinstance(token, int) and not isinstance(token, bool) for token in prompt):
        tokens = prompt
    else:
        raise Refusal(400, "prompt must be a string or a list of token numbers")
    if not tokens:
        raise Refusal(400, "prompt is empty")
    return tokens, 0
