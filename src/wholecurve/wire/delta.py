"""What every dialect yields: deltas, usage, tool-call pieces, and the error objects that endpoints send.

Everything here takes what endpoints really send: explicit nulls, missing keys, wrong types and empty lists mean "not
there", never an exception. Only data that is no JSON object raises, since then nothing can be said about it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import orjson

from wholecurve.model.record import FailureKind
from wholecurve.wire.errors import WireError

MAX_EXACT = 1 << 53
DETAIL_CHARS = 300


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens as the server counts them; None where it does not say. Values are totals: the last one wins (TOK-6)."""

    input: int | None = None
    output: int | None = None
    reasoning: int | None = None
    cached: int | None = None


class ToolPiece(NamedTuple):
    """A piece of one tool call. `number` is its `index`, None where the server gives none."""

    number: int | None
    id: str
    name: str
    arguments: str


class Delta(NamedTuple):
    """What one event, or one whole answer, adds to the first choice. (A tuple: one is made per event.)

    `choices` is one more than the highest choice index in it; only index 0 feeds the other fields.
    """

    text: str = ""
    reasoning: str = ""
    tool_calls: tuple[ToolPiece, ...] = ()
    refusal: str = ""
    finish_reason: str | None = None
    usage: Usage | None = None
    error: str | None = None
    done: bool = False
    choices: int = 0


DONE = Delta(done=True)
NOTHING = Delta()


def excerpt(text: str | bytes) -> str:
    """At most 300 characters, white space collapsed, nothing that cannot be printed or written as UTF-8."""
    if isinstance(text, bytes):
        text = text[: 16 * DETAIL_CHARS].decode("utf-8", "replace")
    words = "".join(c if c.isprintable() else " " for c in text[: 16 * DETAIL_CHARS]).split()
    joined = " ".join(words)
    return joined if len(joined) <= DETAIL_CHARS else joined[: DETAIL_CHARS - 1] + "…"


def json_text(value: object) -> str:
    """A parsed value as JSON again. What is nested too deeply for that is named instead: it may come from a peer."""
    try:
        return orjson.dumps(value).decode()
    except TypeError:
        return "(a deeply nested value)"


def read_object(payload: bytes) -> dict[str, Any]:
    """A JSON object. Raises WireError (NOT_JSON) with an excerpt."""
    try:
        value = orjson.loads(payload)
    except orjson.JSONDecodeError:
        raise _not_json("not JSON", payload) from None
    if type(value) is not dict:
        raise _not_json("not a JSON object", payload)
    return value


def read_event(payload: bytes) -> dict[str, Any] | None:
    """The JSON object of an event, or None for [DONE]. Raises WireError (NOT_JSON) with an excerpt."""
    try:
        value = orjson.loads(payload)
    except orjson.JSONDecodeError:
        if payload.strip() == b"[DONE]":
            return None
        raise _not_json("not JSON", payload) from None
    if type(value) is not dict:
        raise _not_json("not a JSON object", payload)
    return value


def _not_json(what: str, payload: bytes) -> WireError:
    return WireError(FailureKind.NOT_JSON, f"{what}: {excerpt(payload)}")


def count_of(value: object) -> int | None:
    """A number of tokens, or None for anything that is none."""
    if type(value) is float and value.is_integer():
        value = int(value) if abs(value) < MAX_EXACT else None
    return value if type(value) is int and 0 <= value < MAX_EXACT else None


def read_usage(value: object) -> Usage | None:
    """An OpenAI `usage` object; None for null, for another type and when it says nothing."""
    if type(value) is not dict:
        return None
    usage = Usage(
        count_of(value.get("prompt_tokens")),
        count_of(value.get("completion_tokens")),
        _detail(value, "completion_tokens_details", "reasoning_tokens"),
        _detail(value, "prompt_tokens_details", "cached_tokens"),
    )
    return None if usage == Usage() else usage


def _detail(usage: Mapping[str, Any], group: str, name: str) -> int | None:
    details = usage.get(group)
    found = count_of(details.get(name)) if type(details) is dict else None
    return count_of(usage.get(name)) if found is None else found


def error_of(document: Mapping[str, Any]) -> str | None:
    """The message of an error object, or None. The forms endpoints use:

    {"error": {"message": ..., "code": ...}}    {"error": "text"}
    {"object": "error", "message": ...}         {"detail": ...} in a document without choices
    """
    found = document.get("error")
    if not found:
        if document.get("object") == "error":
            found = document
        elif "choices" not in document and document.get("detail"):
            found = _without_input(document["detail"])
        else:
            return None
    if type(found) is not dict:
        return excerpt(found if type(found) is str else json_text(found))
    message = found.get("message")
    if type(message) is not str or not message:
        return excerpt(json_text(found))
    notes = [f"{key} {found[key]}" for key in ("type", "code") if type(found.get(key)) in (str, int)]
    return excerpt(f"{message} ({', '.join(notes)})" if notes else message)


def _without_input(detail: object) -> object:
    """The faults of a refused body, `place: message` each, without the `input` that repeats what was sent."""
    if type(detail) is not list or not all(type(one) is dict and type(one.get("msg")) is str for one in detail):
        return detail
    places = [one.get("loc") if type(one.get("loc")) is list else [] for one in detail]
    return "; ".join(
        f"{'.'.join(str(part) for part in place)}: {one['msg']}" if place else one["msg"]
        for one, place in zip(detail, places, strict=True)
    )


def text_of(value: object) -> str:
    """Text from a string, or from a list of text parts; "" for anything else."""
    if type(value) is str:
        return value
    if type(value) is list:
        return "".join(part["text"] for part in value if type(part) is dict and type(part.get("text")) is str)
    return ""


def first_choice(choices: Iterable[object]) -> tuple[dict[str, Any] | None, int]:
    """The choice with index 0 (or none), and one more than the highest index. A missing index is the position."""
    found, seen = None, 0
    for place, choice in enumerate(choices):
        if type(choice) is dict:
            index = count_of(choice.get("index"))
            index = place if index is None else index
            seen = max(seen, index + 1)
            if index == 0 and found is None:
                found = choice
    return found, seen


def finish_of(value: object) -> str | None:
    """A finish reason: a string, or an object with a `type`."""
    if type(value) is dict:
        value = value.get("type")
    return excerpt(value) or None if type(value) is str else None


def tool_pieces(message: Mapping[str, Any]) -> tuple[ToolPiece, ...]:
    """Tool-call pieces of a delta or message; the old `function_call` counts only where `tool_calls` is not there."""
    calls = message.get("tool_calls")
    if type(calls) is not list:
        old = message.get("function_call")
        return (_piece(0, "", old),) if type(old) is dict else ()
    return tuple(
        _piece(count_of(call.get("index")), text_of(call.get("id")), call.get("function"))
        for call in calls
        if type(call) is dict
    )


def _piece(number: int | None, call_id: str, function: object) -> ToolPiece:
    if type(function) is not dict:
        return ToolPiece(number, call_id, "", "")
    arguments = function.get("arguments")
    if type(arguments) is dict:  # some servers send the object instead of its text
        arguments = json_text(arguments)
    return ToolPiece(number, call_id, text_of(function.get("name")), text_of(arguments))
