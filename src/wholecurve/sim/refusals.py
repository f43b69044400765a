"""The bytes of faults that take the place of an answer. Pure."""

from __future__ import annotations

from wholecurve.sim.events import Envelope, empty_stream, error_event
from wholecurve.sim.faults import Fault
from wholecurve.sim.pages import STREAM_HEAD, error_page, json_page, page

HTML = b"<!DOCTYPE html>\n<html><head><title>Bad gateway</title></head><body><h1>Bad gateway</h1></body></html>\n"


def refusal_bytes(fault: Fault, envelope: Envelope) -> bytes:
    """What goes out instead of an answer; nothing for the faults that only end the connection."""
    message = f"simulated fault: {fault.name}"
    if fault.name in ("reset_early", "close_early"):
        return b""
    if fault.name.startswith("html"):
        return page(fault.status, HTML, kind="text/html; charset=utf-8")
    if fault.status != 200:
        kind = "rate_limit_error" if fault.status == 429 else "InternalServerError"
        retry = [("Retry-After", "1")] if fault.status in (429, 503) else []
        return error_page(fault.status, message, type=kind, headers=retry)
    if fault.name == "empty_stream":
        if envelope.ask.stream:
            return STREAM_HEAD + empty_stream(envelope)
        return json_page(envelope.base(stream=False) | {"choices": []})
    return STREAM_HEAD + error_event(envelope, message) if envelope.ask.stream else error_page(200, message)
