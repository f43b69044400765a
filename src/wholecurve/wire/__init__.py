"""Bytes of HTTP/1.1, event streams and dialects, without I/O: bytes in, values out."""

from wholecurve.wire.answer import AnswerReader
from wholecurve.wire.delta import Delta, ToolPiece, Usage
from wholecurve.wire.dialects import DIALECTS, Dialect
from wholecurve.wire.errors import WireError
from wholecurve.wire.head import Framing, Head
from wholecurve.wire.http1 import Data, End, EndFinder, ResponseReader
from wholecurve.wire.request import Target, bearer, check_header, endpoint_url, head_prefix, request_bytes, with_key
from wholecurve.wire.result import Answer
from wholecurve.wire.sse import Event, EventStream

__all__ = [
    "DIALECTS",
    "Answer",
    "AnswerReader",
    "Data",
    "Delta",
    "Dialect",
    "End",
    "EndFinder",
    "Event",
    "EventStream",
    "Framing",
    "Head",
    "ResponseReader",
    "Target",
    "ToolPiece",
    "Usage",
    "WireError",
    "bearer",
    "check_header",
    "endpoint_url",
    "head_prefix",
    "request_bytes",
    "with_key",
]
