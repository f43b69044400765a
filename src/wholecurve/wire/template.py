"""A template of the events of one answer, so that most of them need no JSON parser.

Theory of operation. In most streams one event differs from the next in one string only: the text. Once an event was
read the slow way and added nothing but text, the bytes around that text are a template:

    PREFIX = 'data: {"id":"x","choices":[{"index":0,"delta":{"content":"'     SUFFIX = '"}}]}' LF LF CR LF

A chunk that begins with PREFIX, ends with SUFFIX and has between them only printable characters without quote and
backslash differs from the known event in the value of that one JSON string; no line end can hide in it. That the
string is the one the dialect hands out is not guessed: `learn` puts another text in its place and lets the dialect
read the result; the template holds only if exactly that text comes back and nothing else changed.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from wholecurve.wire.delta import Delta
from wholecurve.wire.errors import WireError

FIELDS = (b"content", b"text", b"reasoning_content", b"reasoning")
PROBE = "another text"


@dataclass(frozen=True, slots=True)
class Template:
    """`prefix` ends with the opening quote, `suffix` begins with the closing one; framing is included."""

    prefix: bytes
    suffix: bytes
    is_text: bool


def plain(text: str) -> bool:
    """The text stands in JSON as it is."""
    return text.isprintable() and '"' not in text and "\\" not in text


def learn(payload: bytes, delta: Delta, read: Callable[[bytes], Delta]) -> Template | None:
    """The template of an event with this payload and delta, or None when it has none."""
    text = delta.text or delta.reasoning
    if not text or delta != _only(text, bool(delta.text)) or not plain(text):
        return None
    token = b'"' + text.encode() + b'"'
    for key in FIELDS:
        for colon in (b'":', b'": '):
            needle = b'"' + key + colon + token
            place = payload.find(needle)
            if place < 0:
                continue
            start = place + len(needle) - len(token) + 1
            prefix, suffix = payload[:start], payload[start + len(token) - 2 :]
            try:
                probed = read(prefix + PROBE.encode() + suffix)
            except WireError:
                continue
            if probed == _only(PROBE, bool(delta.text)):
                return Template(b"data: " + prefix, suffix + b"\n\n\r\n", bool(delta.text))
    return None


def _only(text: str, is_text: bool) -> Delta:
    return Delta(text=text, choices=1) if is_text else Delta(reasoning=text, choices=1)
