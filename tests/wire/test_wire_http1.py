"""HTTP/1.1 response framing: tables of bytes and items, and both readers of one mind however the bytes are cut."""

from __future__ import annotations

import random

import pytest
from wire_transcripts import MADE_UP, capture, capture_names, chunked, cut

from wholecurve.model.record import FailureKind
from wholecurve.wire import Data, End, EndFinder, Framing, Head, ResponseReader, WireError

OK = b"HTTP/1.1 200 OK\r\n"
CHUNKED = OK + b"Transfer-Encoding: Chunked\r\n"


def run(data: list[bytes], method: str = "POST", *, close: bool = True) -> dict[str, object]:
    """Everything a reader finds, in a form that does not depend on the cuts."""
    reader = ResponseReader(head_method=method)
    found: dict[str, object] = {"body": b"", "error": None, "ended": False, "trailers": ()}
    body, items = bytearray(), []
    try:
        for part in data:
            reader.feed_into(part, items)
        if close:
            items += reader.eof()
    except WireError as error:
        found["error"] = error.kind
    for item in items:
        if isinstance(item, Data):
            body += item.data
        elif isinstance(item, End):
            found |= {"ended": True, "trailers": item.trailers}
    return found | {
        "head": reader.head,
        "body": bytes(body),
        "surplus": reader.surplus,
        "keep_alive": reader.keep_alive,
    }


def find(data: list[bytes], method: str = "POST") -> dict[str, object]:
    """The same from EndFinder, which has no body."""
    finder = EndFinder(head_method=method)
    error = None
    ended = False
    try:
        for part in data:
            ended = finder.feed(part)
        assert ended == finder.ended
        if not finder.eof():
            error = FailureKind.TRUNCATED if finder.head else FailureKind.CLOSED_EARLY
    except WireError as found:
        error = found.kind
    return {
        "error": error,
        "ended": finder.ended,
        "head": finder.head,
        "surplus": finder.surplus,
        "keep_alive": finder.keep_alive,
    }


BODIES: list[tuple[bytes, bytes, Framing, bool]] = [
    (OK + b"Content-Length: 3\r\n\r\nabc", b"abc", Framing.LENGTH, True),
    (OK + b"content-length:3\r\ncontent-length: 3\r\n\r\nabc", b"abc", Framing.LENGTH, True),
    (OK + b"Content-Length: 3, 3\r\n\r\nabc", b"abc", Framing.LENGTH, True),
    (OK + b"Content-Length: 0\r\n\r\n", b"", Framing.LENGTH, True),
    (OK + b"Content-Length: 3\r\nConnection: Close\r\n\r\nabc", b"abc", Framing.LENGTH, False),
    (OK + b"Content-Length: 3\r\nConnection: x, close\r\n\r\nabc", b"abc", Framing.LENGTH, False),
    (b"HTTP/1.0 200 OK\r\nContent-Length: 3\r\n\r\nabc", b"abc", Framing.LENGTH, False),
    (b"HTTP/1.0 200 OK\r\nContent-Length: 3\r\nConnection: keep-alive\r\n\r\nabc", b"abc", Framing.LENGTH, True),
    (b"HTTP/1.0 200 OK\r\n\r\nabc", b"abc", Framing.CLOSE, False),
    (OK + b"\r\nabc", b"abc", Framing.CLOSE, False),
    (CHUNKED + b"\r\n3\r\nabc\r\n0\r\n\r\n", b"abc", Framing.CHUNKED, True),
    (CHUNKED + b"\r\n03 ; a=\"b\"\r\nabc\r\n1\r\nd\r\n0;x\r\n\r\n", b"abcd", Framing.CHUNKED, True),
    (OK + b"Transfer-Encoding: identity, chunked\r\n\r\nA\r\n0123456789\r\na\r\n0123456789\r\n0\r\n\r\n",
     b"0123456789" * 2, Framing.CHUNKED, True),
    (CHUNKED + b"Content-Length: 99\r\n\r\n3\r\nabc\r\n0\r\n\r\n", b"abc", Framing.CHUNKED, False),
    (b"HTTP/1.1 204 No Content\r\nContent-Length: 3\r\n\r\n", b"", Framing.NONE, True),
    (b"HTTP/1.1 304 Not Modified\r\nTransfer-Encoding: chunked\r\n\r\n", b"", Framing.NONE, True),
    (b"HTTP/1.1 100 Continue\r\nX: 1\r\n\r\nHTTP/1.1 102 P\r\n\r\n" + OK + b"Content-Length: 1\r\n\r\na",
     b"a", Framing.LENGTH, True),
    (b"HTTP/1.1 200\r\nContent-Length: 1\r\n\r\na", b"a", Framing.LENGTH, True),
    (b"HTTP/1.1 200 \r\nContent-Length: 1\r\n\r\na", b"a", Framing.LENGTH, True),
    (b"\r\n\r\nHTTP/1.1 200 OK\nContent-Length: 1\n\na", b"a", Framing.LENGTH, True),
    (OK + b"X-Fold: a\r\n  b\r\nContent-Length: 1\r\n\r\na", b"a", Framing.LENGTH, True),
    (OK + b"Transfer-Encoding: chunked\r\n\r\n0\r\n\n", b"", Framing.CHUNKED, True),
]  # fmt: skip

BAD: list[tuple[bytes, FailureKind]] = [
    (b"", FailureKind.CLOSED_EARLY),
    (b"\r\n", FailureKind.CLOSED_EARLY),
    (b"HTT", FailureKind.CLOSED_EARLY),
    (OK, FailureKind.CLOSED_EARLY),
    (b"HTTP/1.1 100 Continue\r\n\r\n", FailureKind.CLOSED_EARLY),
    (b"HTTP/2 200 OK\r\n\r\n", FailureKind.PROTOCOL),
    (b"HTTP/1.1 20 OK\r\n\r\n", FailureKind.PROTOCOL),
    (b"HTTP/1.1 2000 OK\r\n\r\n", FailureKind.PROTOCOL),
    (b"HTTP/1.1 000 OK\r\n\r\n", FailureKind.PROTOCOL),
    (b"HTTP/1.1 101 Switching\r\n\r\n", FailureKind.PROTOCOL),
    (b"SSH-2.0-x\r\n", FailureKind.PROTOCOL),
    (b"\x15\x03\x01\x00\x02", FailureKind.PROTOCOL),
    (OK + b"no colon\r\n\r\n", FailureKind.PROTOCOL),
    (OK + b"Name : x\r\n\r\n", FailureKind.PROTOCOL),
    (OK + b"Name: a\x00b\r\n\r\n", FailureKind.PROTOCOL),
    (OK + b" fold: without a header\r\n\r\n", FailureKind.PROTOCOL),
    (OK + b"Content-Length: -1\r\n\r\n", FailureKind.PROTOCOL),
    (OK + b"Content-Length: +1\r\n\r\na", FailureKind.PROTOCOL),
    (OK + b"Content-Length: 1_0\r\n\r\na", FailureKind.PROTOCOL),
    (OK + b"Content-Length: \r\n\r\na", FailureKind.PROTOCOL),
    (OK + b"Content-Length: " + b"9" * 5000 + b"\r\n\r\na", FailureKind.PROTOCOL),
    (OK + b"Content-Length: 1\r\nContent-Length: 2\r\n\r\na", FailureKind.PROTOCOL),
    (OK + b"Content-Length: 1, 2\r\n\r\na", FailureKind.PROTOCOL),
    (OK + b"Transfer-Encoding: gzip, chunked\r\n\r\n", FailureKind.PROTOCOL),
    (OK + b"Transfer-Encoding: chunked, chunked\r\n\r\n", FailureKind.PROTOCOL),
    (OK + b"Content-Length: 4\r\n\r\nabc", FailureKind.TRUNCATED),
    (OK + b"Content-Length: 999999999999\r\n\r\nabc", FailureKind.TRUNCATED),
    *(
        (OK + b"Transfer-Encoding: chunked\r\n\r\n1\r\nx\r\n" + tail, kind)
        for tail, kind in [
            (b"", FailureKind.TRUNCATED),
            (b"3\r\nab", FailureKind.TRUNCATED),
            (b"3\r\nabc\r", FailureKind.TRUNCATED),
            (b"0\r\n", FailureKind.TRUNCATED),
            (b"0\r\nX: 1\r\n", FailureKind.TRUNCATED),
            (b"40000000\r\nabc", FailureKind.TRUNCATED),  # claims 1 GiB
            (b"fffffffffffffff\r\nabc", FailureKind.TRUNCATED),
            (b"ffffffffffffffffffff\r\nabc", FailureKind.PROTOCOL),
            (b"-3\r\nabc\r\n", FailureKind.PROTOCOL),
            (b"+3\r\nabc\r\n", FailureKind.PROTOCOL),
            (b"0x3\r\nabc\r\n", FailureKind.PROTOCOL),
            (b"1_1\r\nabc\r\n", FailureKind.PROTOCOL),
            (b" 3\r\nabc\r\n", FailureKind.PROTOCOL),
            (b"\r\nabc\r\n", FailureKind.PROTOCOL),
            (b"g\r\nabc\r\n", FailureKind.PROTOCOL),
            (b"3\nabc\r\n", FailureKind.PROTOCOL),
            (b"3\r\nabcd\r\n", FailureKind.PROTOCOL),
            (b"3\r\nabc\n\n", FailureKind.PROTOCOL),
            (b"0\r\nnot a trailer\r\n\r\n", FailureKind.PROTOCOL),
        ]
    ),
]

EVERY = [data for data, *_ in BODIES] + [data for data, _ in BAD] + list(MADE_UP.values())


@pytest.mark.parametrize(("data", "body", "framing", "keep_alive"), BODIES)
def test_bodies(data: bytes, body: bytes, framing: Framing, keep_alive: bool) -> None:
    found = run([data])
    head = found["head"]
    assert isinstance(head, Head)
    assert (found["error"], found["ended"], found["body"]) == (None, True, body)
    assert (head.framing, found["keep_alive"], found["surplus"]) == (framing, keep_alive, 0)


@pytest.mark.parametrize(("data", "kind"), BAD)
def test_what_is_not_valid_or_not_whole(data: bytes, kind: FailureKind) -> None:
    assert run([data])["error"] is kind


@pytest.mark.parametrize("data", EVERY)
def test_both_readers_find_the_same_however_it_is_cut(data: bytes) -> None:
    base = run([data])
    source = random.Random(5)
    ways = [[place] for place in range(1, len(data))] if len(data) < 400 else []
    ways += [
        [source.randrange(1, len(data)) for _ in range(source.choice((1, 3, 30)))]
        for _ in range(30 if len(data) > 1 else 0)
    ]
    for places in [[], *ways, list(range(1, len(data)))]:
        parts = cut(data, places)
        found, ended = run(parts), find(parts)
        assert found == base, places
        assert ended == {key: found[key] for key in ended}, places


@pytest.mark.parametrize("name", capture_names())
def test_recorded_answers_end_where_they_end(name: str) -> None:
    data = capture(name)
    for size in (1, 37, 100, 1000, len(data)):
        parts = cut(data, range(size, len(data), size))
        finder = EndFinder()
        assert [finder.feed(part) for part in parts] == [False] * (len(parts) - 1) + [True]
        found = run(parts)
        assert (found["ended"], found["surplus"], found["head"]) == (True, 0, finder.head)


def test_a_head_is_shown_as_it_came() -> None:
    reader = ResponseReader()
    data = b"HTTP/1.1 429 Too  Many\r\nX-A: \t1 \r\nx-a:2\r\nSet-Cookie: \xe9\r\nEmpty:\r\nContent-Length: 0\r\n\r\n"
    head, end = reader.feed(memoryview(data))
    assert isinstance(head, Head)
    assert (head.status, head.reason) == (429, "Too  Many")
    pairs = (("x-a", "1"), ("x-a", "2"), ("set-cookie", "é"), ("empty", ""), ("content-length", "0"))
    assert head.headers == pairs
    assert head.header("x-a") == "1"
    assert head.header("none") is None
    assert end == End((), 0)


def test_trailers_and_surplus() -> None:
    reader = ResponseReader()
    items = reader.feed(OK + b"Transfer-Encoding: chunked\r\n\r\n0\r\nX-Time: 1\r\nY: 2\r\n\r\nmore")
    assert items[-1] == End((("x-time", "1"), ("y", "2")), 4)
    assert reader.feed(b"!") == []
    assert (reader.surplus, reader.keep_alive, reader.eof()) == (5, False, [])


def test_offsets_point_behind_the_data() -> None:
    head = OK + b"Transfer-Encoding: chunked\r\n\r\n"
    data = head + b"3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n"
    found = [item for item in ResponseReader().feed(data) if isinstance(item, Data)]
    assert [(item.data, data[: item.end_offset][-2:]) for item in found] == [(b"abc", b"bc"), (b"de", b"de")]
    reader = ResponseReader()
    offsets = [
        item.end_offset
        for byte in cut(data, range(1, len(data)))
        for item in reader.feed(byte)
        if isinstance(item, Data)
    ]
    assert offsets == [len(head) + 4, len(head) + 5, len(head) + 6, len(head) + 12, len(head) + 13]


@pytest.mark.parametrize(("method", "status"), [("HEAD", "200 OK"), ("CONNECT", "200 Established")])
def test_answers_without_a_body_because_of_the_method(method: str, status: str) -> None:
    data = f"HTTP/1.1 {status}\r\nContent-Length: 5\r\n\r\n".encode()
    assert run([data], method, close=False)["ended"]
    assert find([data], method)["ended"]
    assert run([data + b"abc"], method)["surplus"] == 3


def test_a_refused_tunnel_has_a_body() -> None:
    found = run([b"HTTP/1.1 407 Proxy Authentication Required\r\nContent-Length: 2\r\n\r\nno"], "CONNECT")
    assert (found["body"], found["ended"]) == (b"no", True)


@pytest.mark.parametrize("size", [1, 100, 70000])
def test_a_head_without_end_is_refused_at_the_limit(size: int) -> None:
    data = OK + b"X: " + b"a" * 70000
    reader = ResponseReader(max_head_bytes=1000)
    parts = iter(cut(data, range(size, len(data), size)))
    while len(reader._buffer) + size <= 1000:
        assert reader.feed(next(parts)) == []
    part = next(parts)
    with pytest.raises(WireError, match="the head is larger than 1000 bytes") as caught:
        reader.feed(part)
    assert caught.value.kind is FailureKind.PROTOCOL


def test_trailers_and_chunk_lines_without_end_are_refused() -> None:
    for tail in (b"0\r\n" + b"X: aaaaaa\r\n" * 20000, b"1;" + b"x" * 20000):
        data = OK + b"Transfer-Encoding: chunked\r\n\r\n" + tail
        assert run([data])["error"] is FailureKind.PROTOCOL
        assert find(cut(data, range(99, len(data), 99)))["error"] is FailureKind.PROTOCOL


def test_an_address_that_speaks_tls_is_recognised() -> None:
    with pytest.raises(WireError, match="is this an https address"):
        ResponseReader().feed(b"\x15\x03\x01\x00\x02\x02\x16")


def test_many_small_chunks_in_one_read() -> None:
    body = [b"x" * (1 + place % 90) for place in range(3000)]
    data = OK + b"Transfer-Encoding: chunked\r\n\r\n" + chunked(body)
    assert run([data])["body"] == b"".join(body)
    assert find([data])["ended"]
