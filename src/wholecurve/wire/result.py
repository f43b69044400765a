"""What one answer turned out to be: the value that AnswerReader hands over."""

from __future__ import annotations

from array import array
from dataclasses import dataclass, field
from typing import Any

from wholecurve.model.record import FailureKind
from wholecurve.wire.delta import Usage


@dataclass(slots=True)
class Answer:
    """What came back. Times are the given stamps (ns); None means that it did not happen."""

    status: int | None = None
    headers: dict[str, str] = field(default_factory=dict)
    ended: bool = False
    first_byte_ns: int | None = None
    first_output_ns: int | None = None
    first_visible_ns: int | None = None
    last_output_ns: int | None = None
    last_byte_ns: int | None = None
    output_stamps: array[int] = field(default_factory=lambda: array("q"))
    n_events: int = 0
    n_output_events: int = 0
    n_reads: int = 0
    bytes_received: int = 0
    text: str = ""
    reasoning: str = ""
    tool_calls: list[dict[str, Any]] = field(default_factory=list)
    refusal: str = ""
    first_text: str = ""
    first_reasoning: str = ""
    first_tool: str = ""
    finish_reason: str | None = None
    usage: Usage | None = None
    choices_seen: int = 0
    failure: FailureKind | None = None
    detail: str | None = None
    saw_done: bool = False
