"""Checks of single values: each returns the value as it is sent, or raises ValueError saying what was wanted.

Values come from JSON, Parquet or CSV, so numbers and nested values may arrive as text. No message repeats a prompt:
only types, sizes and short scalars are named.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

import orjson

ROLES = ("system", "developer", "user", "assistant", "tool", "function")

# Role names of conversation files that use from/value pairs.
PAIR_ROLES = {"human": "user", "user": "user", "gpt": "assistant", "assistant": "assistant", "system": "system"}


def text(value: Any) -> str:
    """A string."""
    if not isinstance(value, str):
        raise ValueError(f"wanted text, got {shown(value)}")
    return value


def prompt(value: Any) -> str:
    """A string that is not blank."""
    if not text(value).strip():
        raise ValueError("wanted text, got an empty prompt")
    return text(value)


def integer(low: int | None) -> Callable[[Any], int]:
    """A check for whole numbers of at least `low`; whole floats and their text are taken (they come from tables)."""
    wanted = "a whole number" if low is None else f"a whole number of at least {low}"

    def check(value: Any) -> int:
        found = _number(value)
        if found is None or not math.isfinite(found) or found != int(found) or (low is not None and found < low):
            raise ValueError(f"wanted {wanted}, got {shown(value)}")
        return int(value) if isinstance(value, int) else int(found)

    return check


def number(low: float, high: float | None = None) -> Callable[[Any], float]:
    """A check for finite numbers from `low` to `high`."""
    wanted = f"a number of at least {low}" if high is None else f"a number from {low} to {high}"

    def check(value: Any) -> float:
        found = _number(value)
        if found is None or not math.isfinite(found) or found < low or (high is not None and found > high):
            raise ValueError(f"wanted {wanted}, got {shown(value)}")
        return found

    return check


def _number(value: Any) -> int | float | None:
    if isinstance(value, bool):
        return None
    if isinstance(value, str):
        try:
            return int(value)
        except ValueError:
            try:
                return float(value)
            except ValueError:
                return None
    return value if isinstance(value, int | float) else None


def boolean(value: Any) -> bool:
    """True or false; as text too."""
    if isinstance(value, str) and value.lower() in ("true", "false"):
        return value.lower() == "true"
    if not isinstance(value, bool):
        raise ValueError(f"wanted true or false, got {shown(value)}")
    return value


def stop(value: Any) -> str | list[str]:
    """A stop string or a non-empty list of them."""
    if isinstance(value, str) and value.startswith("["):
        # A list written into a CSV cell; text that only looks like one stays text.
        try:
            found = orjson.loads(value)
        except ValueError:
            return value
        value = found if isinstance(found, list) and all(isinstance(item, str) for item in found) else value
    if isinstance(value, str) and value:
        return value
    if not isinstance(value, list) or not value or not all(isinstance(item, str) and item for item in value):
        raise ValueError(f"wanted a stop string or a list of them, got {shown(value)}")
    return value


def mapping(value: Any) -> dict[str, Any]:
    """A JSON object, or its text."""
    found = nested(value)
    if not isinstance(found, dict):
        raise ValueError(f"wanted an object, got {shown(found)}")
    return found


def text_or_mapping(value: Any) -> str | dict[str, Any]:
    """Text, a JSON object or the text of one."""
    found = nested(value) if isinstance(value, str) and value.lstrip().startswith("{") else value
    if not isinstance(found, str | dict) or not found:
        raise ValueError(f"wanted text or an object, got {shown(found)}")
    return found


def token_ids(value: Any) -> tuple[int, ...]:
    """A non-empty list of token ids, or its JSON text."""
    found = nested(value)
    if not isinstance(found, list) or not found:
        raise ValueError(f"wanted a list of token ids, got {shown(found)}")
    for place, item in enumerate(found):
        if type(item) is not int or item < 0:
            raise ValueError(f"wanted a token id of at least 0 at position {place}, got {shown(item)}")
    return tuple(found)


def tools(value: Any) -> tuple[Mapping[str, Any], ...] | None:
    """A list of tool definitions, or its JSON text; an empty list is no tools."""
    found = nested(value)
    if not isinstance(found, list) or not all(isinstance(item, dict) for item in found):
        raise ValueError(f"wanted a list of tool objects, got {shown(found)}")
    return tuple(found) or None


def image_urls(value: Any) -> tuple[str, ...]:
    """One image URL or a list of them; each may be wrapped as `{"url": ...}` or `{"image_url": {"url": ...}}`."""
    found = nested(value) if isinstance(value, str) and value.lstrip()[:1] in ("[", "{") else value
    urls = tuple(_url(item) for item in (found if isinstance(found, list) else [found]))
    if not urls:
        raise ValueError("wanted an image URL, got an empty list")
    return urls


def _url(value: Any) -> str:
    while isinstance(value, dict) and ("url" in value or "image_url" in value):
        value = value.get("url") or value.get("image_url")
    if not isinstance(value, str) or not value.startswith(("http://", "https://", "data:image/")):
        got = "another text" if isinstance(value, str) else shown(value)
        raise ValueError(f"wanted an image as an http(s) URL or a data:image/ URL, got {got}")
    return value


def messages(value: Any) -> tuple[Mapping[str, Any], ...]:
    """A list of chat messages, or its JSON text.

    Lists of from/value pairs (human, gpt, system) are turned into roles; their closing answers are left out, because
    the request asks for them.
    """
    found = nested(value)
    if not isinstance(found, list) or not found:
        raise ValueError(f"wanted a list of messages, got {shown(found)}")
    if all(isinstance(item, dict) and "from" in item and "role" not in item for item in found):
        found = _pairs(found)
    for place, message in enumerate(found):
        _check_message(message, place)
    return tuple(found)


def _pairs(pairs: list[dict[str, Any]]) -> list[dict[str, Any]]:
    turned = []
    for place, pair in enumerate(pairs):
        role = PAIR_ROLES.get(pair["from"]) if isinstance(pair["from"], str) else None
        if role is None:
            raise ValueError(
                f"wanted one of {', '.join(PAIR_ROLES)} as 'from' of message {place}, got {shown(pair['from'])}"
            )
        turned.append({"role": role, "content": pair.get("value")})
    while turned and turned[-1]["role"] == "assistant":
        turned.pop()
    if not turned:
        raise ValueError("wanted a conversation with a message of the user, got answers only")
    return turned


def _check_message(message: Any, place: int) -> None:
    if not isinstance(message, dict):
        raise ValueError(f"wanted an object as message {place}, got {shown(message)}")
    role = message.get("role")
    if role not in ROLES:
        raise ValueError(f"wanted one of {', '.join(ROLES)} as role of message {place}, got {shown(role)}")
    content = message.get("content")
    if isinstance(content, str):
        if role == "user" and not content.strip():
            raise ValueError(f"wanted content in message {place} (user), got an empty text")
    elif isinstance(content, list):
        _check_parts(content, place)
    elif content is not None or not (
        role == "assistant" and (message.get("tool_calls") or message.get("function_call"))
    ):
        raise ValueError(f"wanted text or a list of parts as content of message {place}, got {shown(content)}")


def _check_parts(parts: list[Any], place: int) -> None:
    if not parts:
        raise ValueError(f"wanted content in message {place}, got an empty list")
    for part in parts:
        if not isinstance(part, dict) or not isinstance(part.get("type"), str):
            raise ValueError(f"wanted parts with a 'type' in message {place}, got {shown(part)}")
        if part["type"] == "text" and not isinstance(part.get("text"), str):
            raise ValueError(f"wanted text in the text part of message {place}, got {shown(part.get('text'))}")
        if part["type"] == "image_url":
            _url(part.get("image_url"))


def nested(value: Any) -> Any:
    """The value of JSON text; anything else as it is."""
    if not isinstance(value, str):
        return value
    try:
        return orjson.loads(value)
    except ValueError:
        raise ValueError("wanted a list or an object, got text that is not JSON") from None


def shown(value: Any) -> str:
    """A value for a message: scalars short, everything else by type and size."""
    if value is None:
        return "nothing"
    if isinstance(value, bool | int | float):
        return str(value).lower()[:40] if isinstance(value, bool) else str(value)[:40]
    if isinstance(value, str):
        return repr(value) if len(value) <= 20 else f"a text of {len(value)} characters"
    if isinstance(value, dict):
        return f"an object with {len(value)} keys"
    if isinstance(value, list | tuple):
        return f"a list of {len(value)}"
    return type(value).__name__
