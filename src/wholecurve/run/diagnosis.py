"""What the probe reads out of answers: the list of models, and why an answer is a failure, with the next step."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import orjson

from wholecurve.model.record import FailureKind
from wholecurve.run.outgoing import Outgoing
from wholecurve.wire import DIALECTS, Answer, endpoint_url

MODELS_SHOWN = 8
MODELS_PATH = "v1/models"


def explain(answer: Answer, path: str, model: str, models: Sequence[str] | None) -> tuple[str, str, str]:
    """(code, what happened, what to do) for an answer that is a failure."""
    kind, detail = answer.failure, answer.detail or ""
    assert kind is not None
    if answer.status == 404:
        if "model" in detail.lower():
            known = f"served are {listed(models)}" if models else "ask the operator for its name"
            which = f"the model {model!r} is not known there" if model else "give --model NAME"
            return "model_missing", f"{path} answered {detail}", f"{which}; {known}"
        return "path_missing", f"{path} answered {detail}", "check the path in the URL; it may need a prefix, or none"
    if kind is FailureKind.HTTP_STATUS and "https" in detail.lower():
        return "wants_tls", f"{path} answered {detail}", "write https:// instead of http://"
    hints = {
        429: "the endpoint limits its rate: wait, or raise its limit before measuring",
        400: "the endpoint refuses the request: see its words",
        422: "the endpoint refuses the request: see its words",
        503: "the endpoint is not ready: wait until the model is loaded",
    }
    if kind is FailureKind.HTTP_STATUS:
        hint = hints.get(answer.status or 0, "look at the server's log")
        return f"http_{answer.status}", f"{path} answered {detail}", hint
    if "html" in detail.lower() or "<" in detail[:1]:
        return "html", f"{path} answered with a web page: {detail}", "the URL leads to a web server or a gateway"
    words = {
        FailureKind.CLOSED_EARLY: "the port may speak TLS (https://), or another protocol than HTTP",
        FailureKind.PROTOCOL: "the port does not speak HTTP/1.1; if it speaks TLS, write https://",
        FailureKind.NOT_STREAM: "check the path in the URL, and that the server can stream",
        FailureKind.NOT_JSON: "check that the URL leads to an LLM server, and --dialect",
        FailureKind.EMPTY: "the server streams nothing: look at its log, and at the model's chat template",
        FailureKind.TRUNCATED: "the connection is cut: look at the server's log and at gateways between",
        FailureKind.STREAM_ERROR: "the server fails inside a 200 answer: look at its log",
    }
    more = f" ({detail})" if detail and detail != kind.sentence else ""
    return kind.value, f"{path}: {kind.sentence}{more}", words.get(kind, "look at the server's log")


def models_request(outgoing: Outgoing, url: str) -> bytes:
    """GET for the list of models, with the headers of a run's requests."""
    base, _, query = url.partition("?")
    for dialect in DIALECTS.values():
        base = base.rstrip("/").removesuffix(f"/{dialect.path}")
    target = endpoint_url(f"{base}?{query}" if query else base, MODELS_PATH)
    first, _, rest = outgoing.prefix(0).partition(b"\r\n")
    asked = outgoing.targets[0].path.encode("latin-1")
    line = first.replace(b"POST ", b"GET ", 1).replace(asked + b" HTTP", target.path.encode("latin-1") + b" HTTP")
    kept = [part for part in rest.split(b"\r\n")[:-1] if not part.lower().startswith((b"content-type:", b"accept:"))]
    return b"\r\n".join([line, *kept, b"Accept: application/json", b"", b""])


def model_rows(body: bytes) -> list[dict[str, Any]] | None:
    """The entries of a list of models that have an id; None if it is no such list."""
    try:
        document = orjson.loads(body)
    except orjson.JSONDecodeError:
        return None
    rows = document.get("data") if isinstance(document, dict) else None
    if not isinstance(rows, list):
        return None
    return [row for row in rows if isinstance(row, dict) and isinstance(row.get("id"), str)]


def listed(models: Sequence[str] | None) -> str:
    """The first names, and how many more there are."""
    names = [repr(name) for name in (models or ())[:MODELS_SHOWN]]
    more = len(models or ()) - len(names)
    return ", ".join(names) + (f" and {more} more" if more > 0 else "")
