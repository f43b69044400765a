"""A salt line before the text of the user, so that an earlier request's cached prefix cannot serve this one.

The salt goes after a system text, which stays common as it is in real use. Samples that cannot take a salt are
refused with their row: sending them without one would measure the cache.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from wholecurve.model.errors import InputError
from wholecurve.model.sample import Sample

_REMEDY = "turn the salt off, or use a data set of text prompts"


def salted(sample: Sample, salt: str) -> Sample:
    """The sample with `[salt]` on a line of its own before the text of its first user message.

    Raises InputError for token ids, for a user message that does not begin with text, and for no user message.
    """
    if sample.input_ids is not None:
        raise _refused(sample, "token ids")
    if sample.prompt is not None:
        return replace(sample, prompt=_with(salt, sample.prompt))
    messages = list(sample.messages or ())
    for place, message in enumerate(messages):
        if message["role"] == "user":
            messages[place] = {**message, "content": _content(sample, salt, message.get("content"))}
            return replace(sample, messages=tuple(messages))
    raise _refused(sample, "no message of the user")


def refuse_unsaltable(samples: Iterable[Sample]) -> None:
    """Raise InputError for the first sample that `salted` would refuse: for use before anything is sent."""
    for sample in samples:
        salted(sample, "")


def _content(sample: Sample, salt: str, content: Any) -> Any:
    if isinstance(content, str):
        return _with(salt, content)
    if isinstance(content, list) and content and content[0].get("type") == "text":
        return [{**content[0], "text": _with(salt, content[0]["text"])}, *content[1:]]
    raise _refused(sample, "a message of the user that begins with an image or another part that is not text")


def _with(salt: str, text: str) -> str:
    return f"[{salt}]\n{text}"


def _refused(sample: Sample, what: str) -> InputError:
    return InputError(f"row {sample.row} cannot take a salt: it has {what}", where=f"row {sample.row}", hint=_REMEDY)
