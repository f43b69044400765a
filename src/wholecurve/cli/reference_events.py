"""Records of a run as the event log of the MLPerf reference client, `events.jsonl`.

One object per event: `event_type`, `timestamp_ns` (monotonic), `sample_uuid` (hex; empty for the session's events),
`conversation_id`, `turn`, `data`, and `finish_reason` and `worker_id` where there are any. Data are positional arrays
that begin with a tag, with trailing defaults left out. Prompts are not in the records, so `PromptData` has no fields;
answers are there if they were kept. A failed request has its error event before its completion.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from hashlib import blake2b
from typing import Any

from wholecurve.model.plan import PhaseKind

Row = Mapping[str, Any]
Answers = Mapping[tuple[int, int], Row]

# Events of one moment keep this order.
_ISSUED, _FIRST, _ERROR, _COMPLETE = range(4)


def sample_uuid(run_id: str | None, phase: int, index: int) -> str:
    """32 hex digits, always the same for a request of a run."""
    return blake2b(f"{run_id}/{phase}/{index}".encode(), digest_size=16).hexdigest()


def sample_ids(requests: Sequence[Row], clock: Row, plan: Row) -> dict[str, dict[str, int]]:
    """Phase name to {uuid: row of the data set}, without warm-up, as sample_idx_map.json of the reference client."""
    run_id = clock.get("request_id_prefix")
    found: dict[str, dict[str, int]] = {}
    for number, phase in enumerate(plan["phases"]):
        if phase["kind"] != PhaseKind.WARMUP.value:
            mine = [row for row in requests if row["phase"] == number and row["sample"] is not None]
            found[phase["name"]] = {sample_uuid(run_id, number, row["index"]): row["sample"] for row in mine}
    return found


def reference_events(
    requests: Sequence[Row], answers: Answers | None, clock: Row, plan: Row
) -> Iterator[dict[str, Any]]:
    """All events in the order of their times."""
    run_id = clock.get("request_id_prefix")
    agentic = any((row["turn"] or 0) > 0 for row in requests)
    events: list[tuple[int, int, dict[str, Any]]] = []
    for row in requests:
        answer = (answers or {}).get((row["phase"], row["index"]))
        events += _of_request(row, answer, sample_uuid(run_id, row["phase"], row["index"]), agentic)
    events.sort(key=lambda event: event[:2])
    times = [event[0] for event in events]
    bounds = _bounds(clock, plan, times)
    waiting = sorted(bounds, key=lambda bound: bound[0])
    for time, _, event in events:
        while waiting and ((waiting[0][0] <= time and waiting[0][1] in _BEGINS) or waiting[0][0] < time):
            yield _session(*waiting.pop(0))
        yield event
    for bound in waiting:
        yield _session(*bound)


_BEGINS = ("session.started", "session.start_performance_tracking")


def _bounds(clock: Row, plan: Row, times: Sequence[int]) -> list[tuple[int, str]]:
    """The session's events; spans that were not written (a run that was killed) are taken from the requests."""
    spans = [tuple(span) for span in clock.get("phase_spans_ns") or ()]
    fallback = (times[0], times[-1]) if times else None
    if not spans and fallback is None:
        return []
    first = min([*(span[0] for span in spans), *times[:1]])
    last = max([*(span[1] for span in spans), *times[-1:]])
    measured = next(n for n, phase in enumerate(plan["phases"]) if phase["kind"] == PhaseKind.PERFORMANCE.value)
    begin, end = spans[measured] if measured < len(spans) else (first, last)
    return [
        (first, "session.started"),
        (begin, "session.start_performance_tracking"),
        (end, "session.stop_performance_tracking"),
        (last, "session.ended"),
    ]


def _session(time: int, name: str) -> dict[str, Any]:
    return _event(name, time, "", "", None, None)


def _of_request(row: Row, answer: Row | None, uuid: str, agentic: bool) -> list[tuple[int, int, dict[str, Any]]]:
    conversation = str(row["conversation"]) if agentic else ""
    turn = row["turn"] if agentic else None
    found: list[tuple[int, int, dict[str, Any]]] = []

    def add(place: int, name: str, time: int | None, data: Any, **more: Any) -> None:
        if time is not None:
            found.append((time, place, _event(name, time, uuid, conversation, turn, data, **more)))

    worker = row["worker"]
    add(_ISSUED, "sample.issued", row["issued_ns"], ["PromptData"], worker_id=worker)
    add(_FIRST, "sample.recv_first", row["first_output_ns"], None, worker_id=worker)
    failure = row["failure"] or (row["outcome"] if row["outcome"] != "succeeded" else None)
    if failure is not None:
        error = ["ErrorData", failure, row["detail"] or ""]
        add(_ERROR, "error.generic", row["completed_ns"], error, worker_id=worker)
    data = _output(answer) if failure is None and answer is not None else None
    finish = row["finish_reason"]
    add(_COMPLETE, "sample.complete", row["completed_ns"], data, finish_reason=finish, worker_id=worker)
    return found


def _output(answer: Row) -> list[Any]:
    """`TextModelOutput`, output, reasoning, tool calls; texts of streams as [first, rest]."""
    import orjson

    calls = orjson.loads(answer["tool_calls"]) if answer["tool_calls"] else None
    fields: list[Any] = [
        _parts(answer["text"], answer["first_text"]),
        _parts(answer["reasoning"], answer["first_reasoning"]) or None,
        calls or None,
    ]
    while fields and not fields[-1]:
        fields.pop()
    return ["TextModelOutput", *fields]


def _parts(text: str | None, first: str | None) -> str | list[str]:
    if text and first and text.startswith(first) and text != first:
        return [first, text[len(first) :]]
    return text or ""


def _event(
    name: str, time: int, uuid: str, conversation: str, turn: int | None, data: Any, **more: Any
) -> dict[str, Any]:
    event = {
        "event_type": name,
        "timestamp_ns": time,
        "sample_uuid": uuid,
        "conversation_id": conversation,
        "turn": turn,
        "data": data,
    }
    return event | {key: value for key, value in more.items() if value is not None}
