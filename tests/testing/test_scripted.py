"""The scripted server does on the wire what its steps say, and counts what it saw."""

import http.client
import json
import resource
import socket
import ssl
import struct
import time
from pathlib import Path

import pytest

from wholecurve.testing import (
    At,
    Close,
    Hang,
    Reset,
    ScriptedServer,
    Send,
    Wait,
    error_answer,
    in_turn,
    json_answer,
    make_certificate,
    server_context,
    sse_answer,
    stream_answer,
)

POST = b"POST /v1/chat/completions HTTP/1.1\r\nHost: t\r\nContent-Length: 2\r\n\r\n{}"


def dial(server: ScriptedServer) -> socket.socket:
    sock = socket.create_connection(("127.0.0.1", server.port), timeout=5)
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return sock


def read_all(sock: socket.socket) -> bytes:
    found = b""
    while part := sock.recv(65536):
        found += part
    return found


def read_until(sock: socket.socket, end: bytes) -> bytes:
    found = b""
    while not found.endswith(end):
        part = sock.recv(65536)
        assert part, found
        found += part
    return found


def post(server: ScriptedServer, body: bytes = b"{}") -> tuple[int, bytes]:
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=5)
    connection.request("POST", "/v1/chat/completions", body)
    answer = connection.getresponse()
    found = answer.status, answer.read()
    connection.close()
    return found


def test_raw_bytes_then_close() -> None:
    with ScriptedServer([Send(b"HTTP/1.1 200 OK\r\n\r\nraw \xff bytes"), Close()]) as server, dial(server) as sock:
        sock.sendall(POST)
        assert read_all(sock) == b"HTTP/1.1 200 OK\r\n\r\nraw \xff bytes"


def test_reset_is_a_reset() -> None:
    with ScriptedServer([Send(b"HTTP/1.1 200 OK\r\n"), Wait(0.02), Reset()]) as server, dial(server) as sock:
        sock.sendall(POST)
        with pytest.raises(ConnectionResetError):
            read_all(sock)


def test_reset_on_connect() -> None:
    # The reset may come before connecting has ended, and is then what `dial` raises.
    with (
        ScriptedServer([], on_connect=[Reset()]) as server,
        pytest.raises(ConnectionResetError),
        dial(server) as sock,
    ):
        sock.recv(1)
    assert server.requests == []


def test_hang_keeps_the_connection_and_notes_that_the_client_left() -> None:
    with ScriptedServer([Send(b"HTTP/1.1 200 OK\r\n"), Hang(), Send(b"never")]) as server:
        with dial(server) as sock:
            sock.sendall(POST)
            assert sock.recv(100) == b"HTTP/1.1 200 OK\r\n"
            sock.settimeout(0.1)
            with pytest.raises(TimeoutError):
                sock.recv(1)
            assert server.open_connections == 1
        assert server.wait_for(lambda: server.exchanges[0].ended_ns is not None)
        assert server.exchanges[0].dropped


def test_wait_holds_back_what_follows() -> None:
    with ScriptedServer([Send(b"a"), Wait(0.05), Send(b"b"), Close()]) as server, dial(server) as sock:
        sock.sendall(POST)
        assert read_all(sock) == b"ab"
        first, second = server.exchanges[0].sent_ns
        assert second - first >= 50_000_000


def test_at_counts_from_the_arrival() -> None:
    with ScriptedServer([At(0.01), Send(b"a"), At(0.04), Send(b"b"), Close()]) as server, dial(server) as sock:
        before = time.monotonic_ns()
        sock.sendall(POST)
        read_all(sock)
        arrived = server.requests[0].arrived_ns
        assert abs(arrived - before) < 1_000_000_000
        assert server.exchanges[0].sent_ns[0] >= arrived + 10_000_000
        assert server.exchanges[0].sent_ns[1] >= arrived + 40_000_000


def test_requests_are_captured() -> None:
    with ScriptedServer(json_answer({"ok": True})) as server:
        connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=5)
        for body in ('{"a":1}', '{"a":2}'):
            connection.request("POST", "/v1/x?q=1", body, {"X-Request-Id": f"id{body[5]}"})
            assert json.loads(connection.getresponse().read()) == {"ok": True}
        connection.close()
        first, second = server.requests
        assert (first.method, first.path, first.number, first.connection) == ("POST", "/v1/x?q=1", 0, 0)
        assert (second.number, second.connection, second.header("X-REQUEST-ID")) == (1, 0, "id2")
        assert [request.json()["a"] for request in server.requests] == [1, 2]
        assert first.header("nothing") is None
        assert server.connections == 1


def test_handler_decides_per_request() -> None:
    with ScriptedServer(lambda request: error_answer(400 + request.number, request.body)) as server:
        assert post(server, b"one") == (400, b"one")
        assert post(server, b"two") == (401, b"two")
        assert server.connections == 2


def test_in_turn_repeats_the_last() -> None:
    with ScriptedServer(in_turn(error_answer(429), error_answer(200, "fine"))) as server:
        assert [post(server)[0] for _ in range(3)] == [429, 200, 200]
    with pytest.raises(ValueError):
        in_turn()


def test_handler_failure_is_answered_and_raised() -> None:
    def broken(_request: object) -> list[Send]:
        raise KeyError("scripted")

    with pytest.raises(KeyError), ScriptedServer(broken) as server:  # type: ignore[arg-type]
        assert post(server)[0] == 500


def test_bad_request_is_answered() -> None:
    with ScriptedServer(json_answer("x")) as server, dial(server) as sock:
        sock.sendall(b"nonsense\r\n\r\n")
        assert read_all(sock).startswith(b"HTTP/1.1 400 ")
    assert server.requests == []


def test_idle_close_ends_the_connection_only_between_requests() -> None:  # NET-4
    with ScriptedServer(error_answer(200, "ok", delay_s=0.1), idle_close_s=0.05) as server, dial(server) as sock:
        sock.sendall(POST)
        assert read_until(sock, b"ok").startswith(b"HTTP/1.1 200")
        assert sock.recv(1) == b""


def test_pipelined_and_split_requests() -> None:
    with ScriptedServer(error_answer(200, "ok")) as server, dial(server) as sock:
        sock.sendall(POST + POST + POST[:20])
        time.sleep(0.02)
        sock.sendall(POST[20:-1])
        time.sleep(0.02)
        sock.sendall(POST[-1:])
        got = b""
        while got.count(b"ok") < 3:
            got += sock.recv(1000)
        assert len(server.requests) == 3


def test_expect_continue() -> None:
    head, body = POST[:-2].replace(b"Host: t", b"Host: t\r\nExpect: 100-continue"), POST[-2:]
    with ScriptedServer(error_answer(200, "ok")) as server, dial(server) as sock:
        sock.sendall(head)
        assert sock.recv(100) == b"HTTP/1.1 100 Continue\r\n\r\n"
        sock.sendall(body)
        assert read_until(sock, b"ok").startswith(b"HTTP/1.1 200")


def test_large_answer_through_a_slow_reader() -> None:
    data = bytes(range(256)) * 40_000
    with ScriptedServer([Send(data), Send(b"end"), Close()]) as server, dial(server) as sock:
        sock.sendall(POST)
        time.sleep(0.05)
        assert read_all(sock) == data + b"end"


def _texts(raw: bytes) -> list[str]:
    events = [line[6:] for line in raw.replace(b"\r\n", b"\n").split(b"\n") if line.startswith(b"data: {")]
    choices = [choice for event in events for choice in json.loads(event)["choices"]]
    return [choice.get("text") or choice.get("delta", {}).get("content") or "" for choice in choices]


@pytest.mark.parametrize("crlf", [False, True])
@pytest.mark.parametrize("chunked", [False, True])
@pytest.mark.parametrize("completions", [False, True])
def test_sse_answer(crlf: bool, chunked: bool, completions: bool) -> None:  # SSE-4
    script = sse_answer(
        ["a", "ü "], usage={"prompt_tokens": 7}, chunked=chunked, crlf=crlf, completions=completions, gap_s=0.001
    )
    with ScriptedServer(script) as server:
        status, raw = post(server)
    assert status == 200
    assert "".join(_texts(raw)) == "aü "
    assert raw.count(b"\r\n\r\n" if crlf else b"\n\n") == (5 if completions else 6)
    assert raw.endswith(b"data: [DONE]\r\n\r\n" if crlf else b"data: [DONE]\n\n")
    assert b'"prompt_tokens":7' in raw


def test_sse_answer_first_text_waits_but_role_does_not() -> None:  # SSE-6
    with ScriptedServer(sse_answer(["a", "b"], first_s=0.06, gap_s=0.02)) as server:
        post(server)
        head, role, first, second, _end = server.exchanges[0].sent_ns
    assert role - head < 60_000_000 <= first - role
    assert second - first >= 20_000_000


def test_sse_answer_options() -> None:
    script = sse_answer([{"reasoning_content": "r"}], finish_reason=None, done=False, role_first=False)
    with ScriptedServer(script) as server:
        raw = post(server)[1]
    assert b'"delta":{"reasoning_content":"r"}' in raw
    assert raw.count(b"data:") == 1


def test_stream_answer_keeps_cuts() -> None:  # SSE-1
    with ScriptedServer(stream_answer([b"data:", b" {}\n\n"], gap_s=0.01)) as server:
        assert post(server) == (200, b"data: {}\n\n")
        assert len(server.exchanges[0].sent_ns) == 4
    cut = [*stream_answer([b"data: 1\n\n"], end=False), Close()]
    with ScriptedServer(cut) as server, pytest.raises(http.client.IncompleteRead):
        post(server)


def test_tls_with_an_authority_and_a_client_certificate(tmp_path: Path) -> None:
    files = make_certificate(tmp_path, ca=True)
    trusting = ssl.create_default_context(cafile=str(files.authority))
    with ScriptedServer(sse_answer(["a"] * 50), tls=server_context(files, require_client=True)) as server:
        with socket.create_connection(("127.0.0.1", server.port)) as raw, pytest.raises((ssl.SSLError, OSError)):
            trusting.wrap_socket(raw, server_hostname="127.0.0.1").recv(1)
        trusting.load_cert_chain(files.client_certificate, files.client_key)  # type: ignore[arg-type]
        with (
            socket.create_connection(("127.0.0.1", server.port)) as raw,
            trusting.wrap_socket(raw, server_hostname="127.0.0.1") as sock,
        ):
            sock.sendall(POST)
            assert read_until(sock, b"0\r\n\r\n").count(b'"content":"a"') == 50
        assert server.tls_failures == 1
        assert server.url.startswith("https://")


@pytest.mark.parametrize(("ca", "expired", "wanted"), [(False, False, "self"), (True, True, "expired")])
def test_certificates_that_fail(tmp_path: Path, ca: bool, expired: bool, wanted: str) -> None:
    files = make_certificate(tmp_path, ca=ca, expired=expired)
    context = ssl.create_default_context(cafile=str(files.authority) if ca else None)
    with ScriptedServer([], tls=server_context(files)) as server:
        with (
            socket.create_connection(("127.0.0.1", server.port)) as raw,
            pytest.raises(ssl.SSLCertVerificationError, match=wanted),
        ):
            context.wrap_socket(raw, server_hostname="127.0.0.1")
        assert server.wait_for(lambda: server.tls_failures == 1)


def test_two_thousand_at_once() -> None:  # NET-1, NET-2
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard != resource.RLIM_INFINITY and hard < 4200:
        pytest.fail(f"this machine allows {hard} descriptors; 4200 are needed")
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, 4200), hard))
    try:
        with ScriptedServer([Wait(1.5), *error_answer(200, "ok")]) as server:
            socks = [socket.create_connection(("127.0.0.1", server.port), timeout=20) for _ in range(2000)]
            for sock in socks:
                sock.sendall(POST)
            assert server.wait_for(lambda: server.peak_requests == 2000, timeout_s=20)
            for sock in socks:
                assert read_until(sock, b"ok")
                sock.close()
            assert server.peak_connections == 2000
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def test_stop_is_harmless_twice_and_frees_the_port() -> None:
    server = ScriptedServer([Hang()]).start()
    sock = dial(server)
    sock.sendall(POST)
    server.stop()
    server.stop()
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    sock.close()
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(("127.0.0.1", server.port), timeout=1)
