"""Scripts for common answers, as steps of a ScriptedServer: event streams, JSON bodies, errors."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from wholecurve.testing.steps import Close, Script, Send, Step, Wait


def head_bytes(status: int, headers: Iterable[tuple[str, str]], *, reason: str = "") -> bytes:
    """A response head, with the empty line that ends it."""
    lines = [f"HTTP/1.1 {status} {reason or _REASONS.get(status, 'Status')}"]
    lines += [f"{name}: {value}" for name, value in headers]
    return ("\r\n".join(lines) + "\r\n\r\n").encode("latin-1")


_REASONS = {
    200: "OK",
    400: "Bad Request",
    401: "Unauthorized",
    403: "Forbidden",
    404: "Not Found",
    408: "Request Timeout",
    422: "Unprocessable Content",
    429: "Too Many Requests",
    500: "Internal Server Error",
    502: "Bad Gateway",
    503: "Service Unavailable",
}


def sse_event(data: str | Mapping[str, Any], *, crlf: bool = False) -> bytes:
    """One server-sent event; a mapping becomes compact JSON."""
    text = data if isinstance(data, str) else json.dumps(data, separators=(",", ":"), ensure_ascii=False)
    end = "\r\n" if crlf else "\n"
    return f"data: {text}{end}{end}".encode()


def chunk(data: bytes) -> bytes:
    """`data` as one chunk of HTTP chunked coding; empty data is the last chunk."""
    return b"%x\r\n%b\r\n" % (len(data), data)


def sse_events(
    texts: Sequence[str | Mapping[str, Any]],
    *,
    usage: Mapping[str, Any] | None = None,
    finish_reason: str | None = "stop",
    crlf: bool = False,
    role_first: bool = True,
    done: bool = True,
    completions: bool = False,
    model: str = "test",
    id: str = "chatcmpl-0",
) -> list[bytes]:
    """The events of an OpenAI answer: role, one per text, finish, usage, `[DONE]`.

    A text that is a mapping is used as the whole `delta` (chat) or merged into the choice (completions).
    `finish_reason` None leaves the finish event out.
    """
    base = {"id": id, "object": "text_completion" if completions else "chat.completion.chunk", "created": 1}
    base["model"] = model

    def event(body: Mapping[str, Any], finish: str | None) -> bytes:
        part = dict(body) if completions else {"delta": dict(body)}
        return sse_event(base | {"choices": [{"index": 0} | part | {"finish_reason": finish}]}, crlf=crlf)

    key = "text" if completions else "content"
    found = []
    if role_first and not completions:
        found.append(event({"role": "assistant", "content": ""}, None))
    found += [event({key: text} if isinstance(text, str) else text, None) for text in texts]
    if finish_reason is not None:
        found.append(event({"text": ""} if completions else {}, finish_reason))
    if usage is not None:
        found.append(sse_event(base | {"choices": [], "usage": dict(usage)}, crlf=crlf))
    if done:
        found.append(sse_event("[DONE]", crlf=crlf))
    return found


def sse_answer(
    texts: Sequence[str | Mapping[str, Any]],
    *,
    first_s: float = 0.0,
    gap_s: float = 0.0,
    usage: Mapping[str, Any] | None = None,
    finish_reason: str | None = "stop",
    chunked: bool = True,
    crlf: bool = False,
    role_first: bool = True,
    done: bool = True,
    completions: bool = False,
    model: str = "test",
    id: str = "chatcmpl-0",
    headers: Iterable[tuple[str, str]] = (),
) -> list[Step]:
    """A streamed OpenAI answer, one `Send` per event.

    Head and role event go out at once; the first text `first_s` later; each further text `gap_s` after the one before.
    Finish, usage, `[DONE]` and the end of the body are one last `Send`. `chunked` False: the body ends with the
    connection.
    """
    events = sse_events(
        texts,
        usage=usage,
        finish_reason=finish_reason,
        crlf=crlf,
        role_first=role_first,
        done=done,
        completions=completions,
        model=model,
        id=id,
    )
    wrap = chunk if chunked else bytes
    framing = ("Transfer-Encoding", "chunked") if chunked else ("Connection", "close")
    steps: list[Step] = [Send(head_bytes(200, [("Content-Type", "text/event-stream"), framing, *headers]))]
    lead = 1 if role_first and not completions else 0
    steps += [Send(wrap(event)) for event in events[:lead]]
    for place, event in enumerate(events[lead : lead + len(texts)]):
        pause = gap_s if place else first_s
        if pause > 0:
            steps.append(Wait(pause))
        steps.append(Send(wrap(event)))
    tail = b"".join(wrap(event) for event in events[lead + len(texts) :]) + (b"0\r\n\r\n" if chunked else b"")
    if tail:
        steps.append(Send(tail))
    return steps if chunked else [*steps, Close()]


def stream_answer(
    parts: Iterable[bytes], *, gap_s: float = 0.0, chunked: bool = True, end: bool = True, headers: Script | None = None
) -> list[Step]:
    """Raw event-stream bytes, each part its own `Send`, `gap_s` between them; for streams cut anywhere.

    `end` False leaves the last chunk out, so that the body is not complete. `headers` is put before everything.
    """
    wrap = chunk if chunked else bytes
    framing = ("Transfer-Encoding", "chunked") if chunked else ("Connection", "close")
    steps: list[Step] = list(headers or ())
    steps.append(Send(head_bytes(200, [("Content-Type", "text/event-stream"), framing])))
    for place, part in enumerate(parts):
        if place and gap_s > 0:
            steps.append(Wait(gap_s))
        steps.append(Send(wrap(part)))
    if not chunked:
        return [*steps, Close()]
    return [*steps, Send(b"0\r\n\r\n")] if end else steps


def json_answer(
    body: Mapping[str, Any] | str,
    *,
    status: int = 200,
    delay_s: float = 0.0,
    usage: Mapping[str, Any] | None = None,
    finish_reason: str = "stop",
    completions: bool = False,
    model: str = "test",
    headers: Iterable[tuple[str, str]] = (),
) -> list[Step]:
    """A JSON answer. A mapping is the body as it stands; a text becomes a whole OpenAI answer with that text."""
    if isinstance(body, str):
        choice: dict[str, Any] = {"index": 0, "finish_reason": finish_reason}
        choice |= {"text": body} if completions else {"message": {"role": "assistant", "content": body}}
        kind = "text_completion" if completions else "chat.completion"
        body = {"id": "chatcmpl-0", "object": kind, "created": 1, "model": model, "choices": [choice]}
        body |= {"usage": dict(usage)} if usage is not None else {}
    data = json.dumps(body, separators=(",", ":"), ensure_ascii=False).encode()
    return error_answer(status, data, [("Content-Type", "application/json"), *headers], delay_s=delay_s)


def error_answer(
    status: int,
    body: bytes | str | Mapping[str, Any] = b"",
    headers: Iterable[tuple[str, str]] = (),
    *,
    delay_s: float = 0.0,
) -> list[Step]:
    """Any whole answer with a content-length. A mapping becomes JSON, a string UTF-8 text."""
    if isinstance(body, Mapping):
        headers = [("Content-Type", "application/json"), *headers]
        body = json.dumps(body, separators=(",", ":"), ensure_ascii=False)
    data = body.encode() if isinstance(body, str) else body
    sent = Send(head_bytes(status, [*headers, ("Content-Length", str(len(data)))]) + data)
    return [Wait(delay_s), sent] if delay_s > 0 else [sent]
