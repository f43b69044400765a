"""The request parser gives the same requests however the bytes are cut, and refuses what is not a request."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from wholecurve.sim import BadRequest, HttpRequest, RequestParser

PLAIN = b"POST /v1/x?a=b HTTP/1.1\r\nHost: t\r\nContent-Length: 5\r\nX-Odd:  two words \r\n\r\nhello"
CHUNKED = (
    b"POST /c HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n"
    b"3;ext=1\r\nabc\r\nA\r\n0123456789\r\n0\r\nTrailer: t\r\n\r\n"
)
BARE = b"\r\nGET / HTTP/1.0\r\n\r\n"


def parse(parts: list[bytes]) -> list[HttpRequest]:
    parser = RequestParser()
    found = []
    for part in parts:
        parser.feed(part)
        while request := parser.next():
            found.append(request)
    assert parser.empty
    return found


def test_three_requests_cut_at_every_byte() -> None:
    data = PLAIN + CHUNKED + BARE
    whole = parse([data])
    assert [request.body for request in whole] == [b"hello", b"abc0123456789", b""]
    assert [request.path for request in whole] == ["/v1/x", "/c", "/"]
    assert whole[0].header("X-ODD") == "two words"
    assert whole[0].header("absent") is None
    for cut in range(1, len(data)):
        assert parse([data[:cut], data[cut:]]) == whole
    assert parse([data[at : at + 1] for at in range(len(data))]) == whole


@pytest.mark.parametrize(
    ("version", "connection", "keep"),
    [
        ("1.1", None, True),
        ("1.1", "close", False),
        ("1.1", "Foo, Close", False),
        ("1.0", None, False),
        ("1.0", "Keep-Alive", True),
    ],
)
def test_keep_alive(version: str, connection: str | None, keep: bool) -> None:
    head = f"GET / HTTP/{version}\r\n" + (f"Connection: {connection}\r\n" if connection else "") + "\r\n"
    assert parse([head.encode()])[0].keep_alive is keep


@pytest.mark.parametrize(
    ("data", "status"),
    [
        (b"GET /\r\n\r\n", 400),
        (b"G@T / HTTP/1.1\r\n\r\n", 400),
        (b"GET  / HTTP/1.1\r\n\r\n", 400),
        (b"GET / HTTP/2.0\r\n\r\n", 505),
        (b"GET / HTTP/1.1\r\nno colon\r\n\r\n", 400),
        (b"GET / HTTP/1.1\r\nbad name: 1\r\n\r\n", 400),
        (b"POST / HTTP/1.1\r\nContent-Length: -1\r\n\r\n", 400),
        (b"POST / HTTP/1.1\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n", 400),
        (b"POST / HTTP/1.1\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n", 400),
        (b"POST / HTTP/1.1\r\nTransfer-Encoding: gzip\r\n\r\n", 501),
        (b"POST / HTTP/1.1\r\nContent-Length: 101\r\n\r\n", 413),
        (b"POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\nxyz\r\n", 400),
        (b"POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n-1\r\n", 400),
        (b"POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nabc\r\n", 400),
        (b"POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n60\r\n" + b"x" * 96 + b"\r\n60\r\n", 413),
        (b"POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n1;" + b"x" * 5000, 400),
        (b"GET / HTTP/1.1\r\nA: " + b"x" * 300, 431),
        (b"GET / HTTP/1.1\r\nA: " + b"x" * 300 + b"\r\n\r\n", 431),
    ],
)
def test_refused(data: bytes, status: int) -> None:
    parser = RequestParser(max_head=200, max_body=100)
    parser.feed(data)
    with pytest.raises(BadRequest) as caught:
        parser.next()
    assert caught.value.status == status


def test_expect_continue_is_asked_for_only_without_a_body() -> None:
    head = PLAIN[:-5].replace(b"Host: t", b"Expect: 100-Continue")
    parser = RequestParser()
    parser.feed(head)
    assert parser.next() is None
    assert parser.expects_continue
    parser.feed(b"hello")
    request = parser.next()
    assert request is not None
    assert request.body == b"hello"
    assert not parser.expects_continue
    parser.feed(head + b"h")
    assert parser.next() is None
    assert not parser.expects_continue


def test_a_head_at_the_limit_is_taken_however_it_is_cut() -> None:
    head = b"GET / HTTP/1.1\r\nA: " + b"x" * 81
    for data, good in ((head, True), (head + b"x", False)):
        for step in (1, 7, 1000):
            parser = RequestParser(max_head=100)
            try:
                for at in range(0, len(data) + 4, step):
                    parser.feed((data + b"\r\n\r\n")[at : at + step])
                    taken = parser.next()
            except BadRequest:
                taken = None
            assert (taken is not None) is good


@settings(max_examples=300, deadline=None)
@given(
    st.lists(
        st.sampled_from(
            [
                b"GET / HTTP/1.1",
                b"\r\n",
                b"Content-Length: 3",
                b"A: b",
                b"\0",
                b"xyz",
                b"Transfer-Encoding: chunked",
                b"3",
                b"0",
                b":",
            ]
        ),
        max_size=14,
    )
)
def test_any_bytes_give_requests_or_a_refusal(parts: list[bytes]) -> None:
    def outcome(cuts: list[bytes]) -> list[object]:
        parser = RequestParser(max_head=100, max_body=100)
        found: list[object] = []
        try:
            for part in cuts:
                parser.feed(part)
                while request := parser.next():
                    found.append(request)
        except BadRequest as error:
            found.append(error.status)
        return found

    data = b"".join(parts)
    assert outcome([data]) == outcome([data[at : at + 1] for at in range(len(data))])
