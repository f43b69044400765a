"""Servers with known behaviour, for testing this product and other load generators."""

from wholecurve.testing.answers import (
    chunk,
    error_answer,
    head_bytes,
    json_answer,
    sse_answer,
    sse_event,
    sse_events,
    stream_answer,
)
from wholecurve.testing.scripted import ScriptedServer
from wholecurve.testing.steps import (
    At,
    Close,
    Exchange,
    Handler,
    Hang,
    Request,
    Reset,
    Script,
    Send,
    Step,
    Wait,
    in_turn,
)
from wholecurve.testing.tls import CertificateFiles, make_certificate, server_context
from wholecurve.testing.truth import TruthRecord, TruthServer

__all__ = [
    "At",
    "CertificateFiles",
    "Close",
    "Exchange",
    "Handler",
    "Hang",
    "Request",
    "Reset",
    "Script",
    "ScriptedServer",
    "Send",
    "Step",
    "TruthRecord",
    "TruthServer",
    "Wait",
    "chunk",
    "error_answer",
    "head_bytes",
    "in_turn",
    "json_answer",
    "make_certificate",
    "server_context",
    "sse_answer",
    "sse_event",
    "sse_events",
    "stream_answer",
]
