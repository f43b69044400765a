"""The event-stream decoder alone: a table of bytes and events, and cuts at every place."""

from __future__ import annotations

import pytest

from wholecurve.wire import Event, EventStream

# bytes -> (data, name) of the events; a last event without its blank line is in the list after the mark None
TABLE: list[tuple[bytes, list[tuple[bytes, str | None] | None]]] = [
    (b"", []),
    (b"data: a\n\n", [(b"a", None)]),
    (b"data:a\n\n", [(b"a", None)]),  # SSE-3
    (b"data:  a\n\n", [(b" a", None)]),  # SSE-3: exactly one space
    (b"data:\ta\n\n", [(b"\ta", None)]),
    (b"data: a \n\n", [(b"a ", None)]),
    (b"data: a\r\n\r\ndata: b\r\n\r\n", [(b"a", None), (b"b", None)]),  # SSE-4
    (b"data: a\r\rdata: b\r\r", [(b"a", None), (b"b", None)]),
    (b"data: a\n\r\ndata: b\r\n\ndata: c\r\n\r", [(b"a", None), (b"b", None), (b"c", None)]),
    (b"data: a\ndata: b\ndata\ndata:c\n\n", [(b"a\nb\n\nc", None)]),
    (b": ping\n\n: ping\n\ndata: a\n\n:\n\n", [(b"a", None)]),  # SSE-5
    (b": x\ndata: a\n: y\n\n", [(b"a", None)]),
    (b"event: error\ndata: a\n\ndata: b\n\n", [(b"a", "error"), (b"b", None)]),
    (b"data: a\nevent:  x\n\n", [(b"a", " x")]),
    (b"event: lost\n\ndata: b\n\n", [(b"b", None)]),
    (b"event\ndata: b\n\n", [(b"b", None)]),
    (b"data\n\n", [(b"", None)]),
    (b"data:\n\n", [(b"", None)]),
    (b"\n\n\n\r\n", []),
    (b"nonsense\nDATA: x\n data: y\ndata : z\n\n", []),
    (b"\xef\xbb\xbfdata: a\n\n", [(b"a", None)]),
    (b"\xef\xbb\xbf\xef\xbb\xbfdata: a\n\n", []),
    (b"\xef\xbb\xbf\n\xef\xbb\xbfdata: a\n\n", []),
    (b"data: \xf0\x9f\x98\x80\n\n", [("\U0001f600".encode(), None)]),
    (b"data: a\x00b\xff\n\n", [(b"a\x00b\xff", None)]),
    (b"data: a\xe2\x80\xa8b\x85c\x0bd\x0ce\n\n", [(b"a\xe2\x80\xa8b\x85c\x0bd\x0ce", None)]),  # no line ends
    (b"data: a", [None, (b"a", None)]),
    (b"data: a\n", [None, (b"a", None)]),
    (b"data: a\r", [None, (b"a", None)]),
    (b"data: a\n\ndata: b\n: c", [(b"a", None), None, (b"b", None)]),
    (b"\xef\xbb\xbfdata: a", [None, (b"a", None)]),
    (b"event: x\n", []),
]


def run(parts: list[bytes], limit: int = 1000) -> tuple[list[Event], Event | None]:
    decoder = EventStream(limit)
    return [event for part in parts for event in decoder.feed(part)], decoder.flush()


@pytest.mark.parametrize(("data", "wanted"), TABLE)
def test_events(data: bytes, wanted: list[tuple[bytes, str | None] | None]) -> None:
    events, last = run([data])
    found: list[tuple[bytes, str | None] | None] = [(event.data, event.name) for event in events]
    assert found + ([None, (last.data, last.name)] if last else []) == wanted


@pytest.mark.parametrize("data", [data for data, _ in TABLE])
def test_cuts_change_nothing(data: bytes) -> None:
    """Offsets too: an event is complete with the last byte it needs, and a CR needs no LF."""
    base = run([data])
    for first in range(len(data)):
        for second in range(first, len(data)):
            assert run([data[:first], data[first:second], data[second:]]) == base
    assert run([data[at : at + 1] for at in range(len(data))]) == base


@pytest.mark.parametrize(
    ("data", "ends"),
    [
        (b"data: a\n\ndata: b\n\n", [9, 18]),
        (b"data: a\r\n\r\ndata: b\r\n\r\n", [10, 21]),
        (b"data: a\r\r: x\rdata: b\r\r", [9, 22]),
    ],
)
def test_end_offsets(data: bytes, ends: list[int]) -> None:
    events, _ = run([data])
    assert [event.end_offset for event in events] == ends
    decoder = EventStream(1000)
    assert [at + 1 for at in range(len(data)) for _ in decoder.feed(data[at : at + 1])] == ends


def test_id_and_retry() -> None:
    decoder = EventStream(1000)
    decoder.feed(b"id: 7\nretry: 250\ndata: x\n\nid: a\x00b\nretry: soon\nretry: " + b"9" * 5000 + b"\n\n")
    assert (decoder.last_id, decoder.retry_ms) == ("7", 250)
    decoder.feed(b"id\n\n")
    assert decoder.last_id == ""


@pytest.mark.parametrize("size", [1, 3, 50, 1000])
def test_an_event_over_the_limit_is_marked_and_the_next_one_is_read(size: int) -> None:
    """SSE-10: the size is exact however it came, and what stands before and behind is not lost."""
    data = b"data: a\n\ndata: " + b"x" * 200 + b"\ndata: y\n\ndata: b\n\n"
    events, last = run([data[at : at + size] for at in range(0, len(data), size)], limit=100)
    assert [(event.data, event.size, event.too_large) for event in events] == [
        (b"a", 9, False),
        (b"", 216, True),
        (b"b", 9, False),
    ]
    assert last is None


def test_an_event_over_the_limit_keeps_no_memory() -> None:
    decoder = EventStream(100)
    for _ in range(1000):
        assert decoder.feed(b"data: " + b"x" * 1000) == []
    assert sum(map(len, decoder._parts)) + sum(map(len, decoder._data)) < 1100
    last = decoder.flush()
    assert last is not None
    assert (last.too_large, last.size) == (True, 1_006_000)


@pytest.mark.parametrize(("limit", "too_large"), [(8, True), (9, False)])
def test_the_limit_itself_is_allowed(limit: int, too_large: bool) -> None:
    assert [event.too_large for event in run([b"data: a\n\n"], limit)[0]] == [too_large]
