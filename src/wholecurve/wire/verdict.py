"""Is an answer a success? One table, in order; the first row that applies names the failure.

| kind | when |
| --- | --- |
| CLOSED_EARLY | the connection ended before a whole head came |
| PROTOCOL | the bytes are not valid HTTP/1.1, or have a content coding that was not asked for |
| HTTP_STATUS | the status is not 200 to 299 |
| NOT_STREAM, STREAM_ERROR | a stream was asked for and something else came: a JSON error object, or anything else |
| STREAM_ERROR | an error object in a stream or in a 200 answer; what came before it is kept, and stays partial |
| NOT_JSON | an event, or a whole answer, is no JSON object |
| EVENT_TOO_LARGE | an event is larger than the limit |
| TRUNCATED | the message was cut; or it ended without finish reason and without [DONE] |
| EMPTY | no output, and the server does not say that it made any |

Two cases that look like one of these and are none:

- A chunked body without its last chunk, where a finish reason or [DONE] had come and the peer closed: the answer is
  whole, only the coding was not ended, as some servers do that close instead.
- No text but a finish reason and `usage.output` of 1 or more: the server made tokens and held them back, since they
  were parts of characters. `[DONE]` alone proves nothing: an interrupted stream ends with it too.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import NamedTuple

import orjson

from wholecurve.model.record import FailureKind
from wholecurve.wire.delta import error_of, excerpt

PAGE_BYTES = 64 << 10  # what is kept and read of a body that is only quoted
_TAG = re.compile(r"<[^<>]{0,2000}>")


class Facts(NamedTuple):
    """What is known of an answer when it is over. `problems`: first detail by kind. `body`: what was no stream."""

    status: int | None
    reason: str
    content_type: str
    location: str
    asked_stream: bool
    is_stream: bool
    ended: bool
    eof: bool
    body: bytes
    events: int
    has_output: bool
    finish_reason: str | None
    saw_done: bool
    usage_output: int | None
    problems: Mapping[FailureKind, str]


def judge(facts: Facts) -> tuple[FailureKind, str] | None:
    """The failure and its detail (at most 300 characters), or None for a success."""
    for rule in RULES:
        detail = rule.applies(facts)
        if detail is not None:
            return rule.kind, excerpt(detail)
    return None


def page_text(body: bytes) -> str:
    """What a body says to a person: the message of a JSON error object, or its text without tags."""
    try:
        document = orjson.loads(body[:PAGE_BYTES])
    except orjson.JSONDecodeError:
        return excerpt(_TAG.sub(" ", body[: 16 << 10].decode("utf-8", "replace")))
    return (error_of(document) if type(document) is dict else None) or excerpt(body)


def _noted(kind: FailureKind) -> Callable[[Facts], str | None]:
    return lambda facts: facts.problems.get(kind)


def _no_head(facts: Facts) -> str | None:
    if facts.status is not None or FailureKind.PROTOCOL in facts.problems:
        return None
    return facts.problems.get(FailureKind.CLOSED_EARLY, "no whole answer head came")


def _bad_status(facts: Facts) -> str | None:
    if facts.status is None or 200 <= facts.status < 300:
        return None
    words = page_text(facts.body)
    if 300 <= facts.status < 400 and facts.location:
        words = f"leads to {_without_secrets(facts.location)}, and redirects are not followed"
    status = f"{facts.status} {facts.reason}".rstrip()
    return f"{status}: {words}" if words else status


def _without_secrets(location: str) -> str:
    """A URL without its query, and without user info."""
    scheme, mark, rest = location.partition("?")[0].partition("//")
    authority, slash, path = rest.partition("/")
    return f"{scheme}{mark}{authority.rpartition('@')[2]}{slash}{path}"


def _not_stream(facts: Facts) -> str | None:
    if not facts.asked_stream or facts.is_stream or FailureKind.STREAM_ERROR in facts.problems:
        return None
    if not facts.body:
        return None
    return f"{facts.content_type or 'no content type'}: {page_text(facts.body)}"


def _truncated(facts: Facts) -> str | None:
    complete = facts.finish_reason is not None or facts.saw_done
    if not facts.ended:
        if facts.eof and facts.is_stream and complete:
            return None
        return facts.problems.get(FailureKind.TRUNCATED, "the answer was cut before its end")
    if not facts.is_stream or complete or not facts.events:
        return None
    return "the stream ended without finish reason and without [DONE]"


def _empty(facts: Facts) -> str | None:
    if facts.has_output or (facts.finish_reason is not None and (facts.usage_output or 0) >= 1):
        return None
    if facts.finish_reason is not None:
        return f"no output; finish reason {facts.finish_reason}, usage.output {facts.usage_output}"
    return "[DONE] came without any output" if facts.saw_done else "the answer has no output"


class Rule(NamedTuple):
    """One row: the kind, and the detail when it applies."""

    kind: FailureKind
    applies: Callable[[Facts], str | None]


RULES: tuple[Rule, ...] = (
    Rule(FailureKind.CLOSED_EARLY, _no_head),
    Rule(FailureKind.PROTOCOL, _noted(FailureKind.PROTOCOL)),
    Rule(FailureKind.HTTP_STATUS, _bad_status),
    Rule(FailureKind.NOT_STREAM, _not_stream),
    Rule(FailureKind.STREAM_ERROR, _noted(FailureKind.STREAM_ERROR)),
    Rule(FailureKind.NOT_JSON, _noted(FailureKind.NOT_JSON)),
    Rule(FailureKind.EVENT_TOO_LARGE, _noted(FailureKind.EVENT_TOO_LARGE)),
    Rule(FailureKind.TRUNCATED, _truncated),
    Rule(FailureKind.EMPTY, _empty),
)
