"""Whole HTTP answers of the simulated endpoint that are not an answer of the model: errors, models, health, metrics."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import orjson

REASONS = {
    200: "OK",
    400: "Bad Request",
    401: "Unauthorized",
    404: "Not Found",
    405: "Method Not Allowed",
    413: "Content Too Large",
    429: "Too Many Requests",
    431: "Request Header Fields Too Large",
    500: "Internal Server Error",
    501: "Not Implemented",
    502: "Bad Gateway",
    503: "Service Unavailable",
    505: "HTTP Version Not Supported",
}
STREAM_HEAD = (
    b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream; charset=utf-8\r\nCache-Control: no-cache\r\n"
    b"Transfer-Encoding: chunked\r\n\r\n"
)


def page(status: int, body: bytes, *, kind: str = "application/json", headers: Iterable[tuple[str, str]] = ()) -> bytes:
    """A whole answer with a content-length."""
    lines = [f"HTTP/1.1 {status} {REASONS.get(status, 'Status')}", f"Content-Type: {kind}"]
    lines += [f"{name}: {value}" for name, value in headers]
    lines.append(f"Content-Length: {len(body)}")
    return ("\r\n".join(lines) + "\r\n\r\n").encode("latin-1") + body


def json_page(body: Mapping[str, Any], status: int = 200, headers: Iterable[tuple[str, str]] = ()) -> bytes:
    """A whole JSON answer."""
    return page(status, orjson.dumps(body), headers=headers)


def error_page(
    status: int,
    message: str,
    *,
    type: str = "invalid_request_error",
    code: str | None = None,
    headers: Iterable[tuple[str, str]] = (),
) -> bytes:
    """An OpenAI error object."""
    error = {"message": message, "type": type, "param": None, "code": code}
    return json_page({"error": error}, status, headers)


def models_page(models: tuple[str, ...], created: int, context: int) -> bytes:
    """The list of models."""
    rows = [
        {"id": name, "object": "model", "created": created, "owned_by": "wholecurve-sim", "max_model_len": context}
        for name in models
    ]
    return json_page({"object": "list", "data": rows})


def metrics_page(values: Mapping[str, tuple[str, str, float]]) -> bytes:
    """Prometheus text: name to (type, help, value)."""
    lines = []
    for name, (kind, text, value) in values.items():
        lines += [f"# HELP {name} {text}", f"# TYPE {name} {kind}", f"{name} {value:g}"]
    return page(200, ("\n".join(lines) + "\n").encode(), kind="text/plain; version=0.0.4")
