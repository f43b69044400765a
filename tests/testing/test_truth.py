"""The truth server sends by its schedule, and its records are what a raw socket sees."""

import http.client
import json
import socket
import time

from wholecurve.testing import TruthServer


def body(**fields: object) -> bytes:
    return json.dumps({"model": "m", "messages": []} | fields).encode()


def stream(server: TruthServer, name: str, **fields: object) -> list[tuple[int, bytes]]:
    """Send one request and give each read with the clock right after it."""
    data = body(stream=True, **fields)
    head = (
        f"POST /v1/chat/completions HTTP/1.1\r\nHost: t\r\nX-Request-Id: {name}\r\nContent-Length: {len(data)}\r\n\r\n"
    )
    seen = []
    with socket.create_connection(("127.0.0.1", server.port), timeout=5) as sock:
        sock.sendall(head.encode() + data)
        while not seen or not seen[-1][1].endswith(b"0\r\n\r\n"):
            part = sock.recv(65536)
            seen.append((time.monotonic_ns(), part))
    return seen


def test_records_match_what_a_socket_sees() -> None:
    with TruthServer(first_s=0.05, gap_s=0.03, tokens=4, jitter_s=0.002) as server:
        seen = stream(server, "one")
        record = server.truth()["one"]
    content = [at for at, part in seen if b'"content":" ' in part]
    assert len(record.token_ns) == 4
    assert record.role_ns is not None
    assert record.end_ns is not None
    assert record.arrived_ns <= record.role_ns < record.token_ns[0]
    assert list(record.token_ns) == sorted(record.token_ns)
    assert all(sent <= got for sent, got in zip(record.token_ns, content))
    due = server.times_s(0, 4)
    assert all(sent - record.arrived_ns >= at * 1e9 - 1 for sent, at in zip(record.token_ns, due))
    assert record.ttft_ns is not None
    assert record.tpot_ns == sum(record.gaps_ns) / 3


def test_role_just_before_the_first_token() -> None:
    with TruthServer(first_s=0.05, tokens=2, role_at_once=False) as server:
        stream(server, "late")
        record = server.truth()["late"]
    assert record.role_ns is not None
    assert record.role_ns - record.arrived_ns >= 50_000_000
    assert record.role_ns <= record.token_ns[0]


def test_max_tokens_usage_and_one_token() -> None:
    with TruthServer(first_s=0.001, gap_s=0.001) as server:
        raw = b"".join(part for _at, part in stream(server, "n", max_tokens=1, stream_options={"include_usage": True}))
        assert b'"completion_tokens":1' in raw
        assert len(server.truth()["n"].token_ns) == 1
        assert server.truth()["n"].tpot_ns is None


def test_not_streamed_and_unnamed() -> None:
    with TruthServer(first_s=0.01, gap_s=0.001, tokens=3) as server:
        connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=5)
        connection.request("POST", "/v1/completions", body())
        answer = json.loads(connection.getresponse().read())
        connection.close()
        record = server.truth()["request-0"]
    assert answer["choices"][0]["text"] == " alpha bravo delta"
    assert record.token_ns == ()
    assert record.ttft_ns is None
    assert record.end_ns is not None
    assert record.end_ns - record.arrived_ns >= 12_000_000


def test_a_client_that_leaves_has_no_end() -> None:
    with TruthServer(first_s=0.01, gap_s=0.05, tokens=50) as server:
        data = body(stream=True)
        with socket.create_connection(("127.0.0.1", server.port), timeout=5) as sock:
            sock.sendall(b"POST /v1/chat/completions HTTP/1.1\r\nContent-Length: %d\r\n\r\n%b" % (len(data), data))
            assert server.wait_for(lambda: len(server.truth().get("request-0", NONE).token_ns) >= 1)
        assert server.wait_for(lambda: server.exchanges[0].dropped)
        record = server.truth()["request-0"]
    assert record.end_ns is None
    assert 1 <= len(record.token_ns) < 50


class NONE:
    token_ns = ()
