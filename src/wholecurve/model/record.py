"""The record of a request: outcomes, failure kinds and the columns of records/requests.parquet.

All times are CLOCK_MONOTONIC nanoseconds; clock.json holds the anchors to wall time. A missing value is null.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Outcome(StrEnum):
    """sent = succeeded + failed + cancelled + lost, always."""

    SUCCEEDED = "succeeded"
    FAILED = "failed"
    CANCELLED = "cancelled"
    LOST = "lost"


class FailureKind(StrEnum):
    """Why a request failed. The code is for files, `sentence` for people, `client_side` says whose fault."""

    CONNECT_REFUSED = "connect_refused"
    CONNECT_TIMEOUT = "connect_timeout"
    CONNECT_FAILED = "connect_failed"
    TLS = "tls_error"
    PROXY = "proxy_error"
    CLOSED_EARLY = "closed_without_answer"
    HTTP_STATUS = "http_status"
    PROTOCOL = "http_protocol_error"
    NOT_STREAM = "not_an_event_stream"
    NOT_JSON = "not_json"
    STREAM_ERROR = "server_stream_error"
    TRUNCATED = "truncated_stream"
    EMPTY = "empty_output"
    EVENT_TOO_LARGE = "event_too_large"
    REQUEST_TIMEOUT = "request_timeout"
    IDLE_TIMEOUT = "idle_timeout"
    BUILD = "request_not_buildable"
    CLIENT_PORTS = "client_ports_exhausted"
    CLIENT_DESCRIPTORS = "client_descriptors_exhausted"
    PRIOR_TURN = "prior_turn_failed"

    @property
    def sentence(self) -> str:
        """What a user reads."""
        return FAILURE_SENTENCES[self]

    @property
    def client_side(self) -> bool:
        """True when this machine, not the endpoint, is to blame; such a failure makes a run invalid."""
        return self in CLIENT_SIDE


FAILURE_SENTENCES: dict[FailureKind, str] = {
    FailureKind.CONNECT_REFUSED: "the endpoint refused the connection",
    FailureKind.CONNECT_TIMEOUT: "no connection within the connect timeout",
    FailureKind.CONNECT_FAILED: "the connection could not be opened",
    FailureKind.TLS: "the TLS handshake or the certificate failed",
    FailureKind.PROXY: "the proxy did not open a tunnel",
    FailureKind.CLOSED_EARLY: "the endpoint closed the connection before it answered",
    FailureKind.HTTP_STATUS: "the endpoint answered with an error status",
    FailureKind.PROTOCOL: "the answer is not valid HTTP/1.1",
    FailureKind.NOT_STREAM: "a stream was asked for, something else came",
    FailureKind.NOT_JSON: "an answer or event is not JSON",
    FailureKind.STREAM_ERROR: "the endpoint reported an error inside a 200 answer",
    FailureKind.TRUNCATED: "the stream ended before the answer was finished",
    FailureKind.EMPTY: "the answer has no output",
    FailureKind.EVENT_TOO_LARGE: "one event is larger than the limit",
    FailureKind.REQUEST_TIMEOUT: "the answer took longer than the request timeout",
    FailureKind.IDLE_TIMEOUT: "the stream was silent longer than the silence timeout",
    FailureKind.BUILD: "the request could not be built from its sample",
    FailureKind.CLIENT_PORTS: "this machine has no free local port",
    FailureKind.CLIENT_DESCRIPTORS: "this machine has no free file descriptor",
    FailureKind.PRIOR_TURN: "an earlier turn of the conversation failed",
}

CLIENT_SIDE = frozenset({FailureKind.CLIENT_PORTS, FailureKind.CLIENT_DESCRIPTORS, FailureKind.BUILD})


class FinishReason(StrEnum):
    """Finish reasons counted by name; any other string is `other`, none is `missing`."""

    STOP = "stop"
    LENGTH = "length"
    TOOL_CALLS = "tool_calls"
    CONTENT_FILTER = "content_filter"
    FUNCTION_CALL = "function_call"
    OTHER = "other"
    MISSING = "missing"


@dataclass(frozen=True, slots=True)
class Column:
    """One column: arrow type, unit, meaning."""

    name: str
    type: str
    unit: str
    meaning: str


REQUEST_COLUMNS: tuple[Column, ...] = (
    Column("index", "int64", "", "place in the phase's global issue order, from 0"),
    Column("phase", "int16", "", "number of the phase in plan.json, from 0"),
    Column("conversation", "int64", "", "place of the conversation in the issue order"),
    Column("turn", "int32", "", "turn in the conversation, from 0"),
    Column("sample", "int64", "row", "row of the data set"),
    Column("worker", "int16", "", "worker process that sent it"),
    Column("address", "int16", "", "index into clock.json's `addresses`"),
    Column("connection", "int32", "", "connection number within its worker"),
    Column("reused", "bool", "", "sent on a connection that had carried a request before"),
    Column("attempts", "int16", "", "times it was sent; over 1 only before any byte of an answer, or with retries on"),
    Column("outcome", "string", "", "succeeded, failed, cancelled or lost"),
    Column("failure", "string", "", "failure kind, null unless failed"),
    Column("detail", "string", "", "bounded excerpt of the error, null unless failed"),
    Column("status", "int16", "", "HTTP status, null if no answer began"),
    Column("finish_reason", "string", "", "as sent by the endpoint, null if none"),
    Column("scheduled_ns", "int64", "ns", "when the plan wanted it; in a closed loop, when its slot became free"),
    Column("issued_ns", "int64", "ns", "when the client decided to send it"),
    Column("sent_ns", "int64", "ns", "just before its first byte went to the socket"),
    Column("connect_ns", "int64", "ns", "time to open its connection, null if an open one was used"),
    Column("first_byte_ns", "int64", "ns", "first byte of the answer"),
    Column("first_output_ns", "int64", "ns", "first output-bearing event"),
    Column("first_visible_ns", "int64", "ns", "first event with visible text"),
    Column("last_output_ns", "int64", "ns", "last output-bearing event"),
    Column("completed_ns", "int64", "ns", "last byte of the answer, or the moment it failed"),
    Column("events", "int32", "events", "events of the answer"),
    Column("output_events", "int32", "events", "output-bearing events"),
    Column(
        "first_shared", "int32", "events", "output-bearing events that share the stamp of the first one, itself too"
    ),
    Column("reads", "int32", "reads", "socket reads that carried the answer"),
    Column("user_stamps", "int32", "reads", "reads stamped by the user-space clock instead of the kernel"),
    Column("bytes_sent", "int64", "B", "request bytes, head and body"),
    Column("bytes_received", "int64", "B", "answer bytes, head and body"),
    Column("usage_input", "int64", "tokens", "prompt tokens as the server counts"),
    Column("usage_output", "int64", "tokens", "completion tokens as the server counts"),
    Column("usage_reasoning", "int64", "tokens", "reasoning tokens as the server counts"),
    Column("usage_cached", "int64", "tokens", "cached prompt tokens as the server counts"),
    Column("max_tokens", "int64", "tokens", "output limit that was sent, null if none"),
    Column("isl", "int64", "tokens", "input tokens, reference tokenizer through the chat template"),
    Column("osl", "int64", "tokens", "output tokens, reference tokenizer through the chat template"),
    Column("osl_after_first", "int64", "tokens", "output tokens after the first output-bearing event"),
    Column("osl_reasoning", "int64", "tokens", "of osl, tokens of the reasoning text"),
)

REQUEST_SCHEMA = "wholecurve.requests/1"
EVENTS_SCHEMA = "wholecurve.events/1"
RESPONSES_SCHEMA = "wholecurve.responses/1"

EVENT_COLUMNS: tuple[Column, ...] = (
    Column("phase", "int16", "", "number of the phase"),
    Column("index", "int64", "", "request, as in requests.parquet"),
    Column("gaps_ns", "list<int64>", "ns", "time from each output-bearing event to the next, in order"),
)

RESPONSE_COLUMNS: tuple[Column, ...] = (
    Column("phase", "int16", "", "number of the phase"),
    Column("index", "int64", "", "request, as in requests.parquet"),
    Column("text", "string", "", "visible text"),
    Column("reasoning", "string", "", "reasoning text"),
    Column("tool_calls", "string", "", "JSON list of tool calls"),
    Column("first_text", "string", "", "visible text of the first output-bearing event"),
    Column("first_reasoning", "string", "", "reasoning text of the first output-bearing event"),
)


class RunState(StrEnum):
    """What a run says of itself."""

    COMPLETE = "complete"
    INTERRUPTED = "interrupted"
    FAILED = "failed"
