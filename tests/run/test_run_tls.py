"""TLS and proxies through the engine: the stamps still come from the socket."""

from __future__ import annotations

import socket
import threading
from collections import Counter
from contextlib import contextmanager

import pytest
from run_build import ordered, phase, run_load

from wholecurve.model.plan import Limits, StopRule, Tls
from wholecurve.model.record import RunState
from wholecurve.testing import ScriptedServer, TruthServer, make_certificate, server_context, sse_answer

STOP = StopRule(min_samples=6, max_samples=6)


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    return make_certificate(tmp_path_factory.mktemp("certificates"), ca=True)


def test_stamps_of_a_tls_run_are_the_kernels(tmp_path, files):
    with TruthServer(tokens=6, first_s=0.03, gap_s=0.01, tls=server_context(files)) as server:
        load = run_load(tmp_path, server.url, phase(rows=6, stop=STOP), tls=Tls(ca_file=str(files.authority)))
        truth = server.truth()
    assert len(load.of("succeeded")) == 6
    for row in load.rows:
        record = next(r for name, r in truth.items() if name.endswith(f"-0-{row['index']}"))
        assert row["user_stamps"] == 0
        assert ordered(row)
        assert -20_000 <= row["first_output_ns"] - record.token_ns[0] < 20_000_000
        assert row["output_events"] == 4
    assert Counter(row["reused"] for row in load.rows) == {0: 2, 1: 4}


def test_connect_time_holds_the_handshake(tmp_path, files):
    """Opened ahead, a connection costs a request nothing; opened for it, its time is a figure of its own."""
    answer = [*sse_answer(["a"], headers=[("Connection", "close")])]
    with ScriptedServer(answer, tls=server_context(files)) as server:
        load = run_load(tmp_path, server.url, phase(rows=6, stop=STOP), tls=Tls(ca_file=str(files.authority)))
    assert len(load.of("succeeded")) == 6
    later = [row for row in load.rows if row["connect_ns"] is not None]
    assert len(later) == 4
    assert all(row["issued_ns"] + row["connect_ns"] <= row["sent_ns"] + 1_000_000 for row in later)


@pytest.mark.parametrize(("tls", "failure"), [(Tls(), "tls_error"), (Tls(verify=False), None)])
def test_an_unknown_authority_is_refused_unless_asked_otherwise(tmp_path, files, tls, failure):
    """SEC-3"""
    with ScriptedServer(sse_answer(["a"]), tls=server_context(files)) as server:
        load = run_load(tmp_path, server.url, phase(rows=6, stop=STOP), tls=tls)
    assert {row["failure"] for row in load.rows} == {failure}
    if failure:
        assert all("certificate verify failed" in row["detail"] for row in load.rows)


def test_client_certificate(tmp_path, files):
    context = server_context(files, require_client=True)
    tls = Tls(ca_file=str(files.authority), client_cert=str(files.client_certificate), client_key=str(files.client_key))
    with ScriptedServer(sse_answer(["a"]), tls=context) as server:
        load = run_load(tmp_path, server.url, phase(rows=6, stop=STOP), tls=tls)
    assert len(load.of("succeeded")) == 6


def test_answers_larger_than_a_tls_record(tmp_path, files):
    with ScriptedServer(sse_answer(["x" * 100_000, "y"]), tls=server_context(files)) as server:
        load = run_load(tmp_path, server.url, phase(rows=6, stop=STOP), tls=Tls(ca_file=str(files.authority)))
    assert [row["output_events"] for row in load.rows] == [2] * 6


@contextmanager
def proxy(refuse: bool = False):
    """A small proxy: CONNECT tunnels, everything else is forwarded to the host of its absolute URL."""
    seen: list[bytes] = []
    listener = socket.create_server(("127.0.0.1", 0))

    def serve(client: socket.socket) -> None:
        head = b""
        while b"\r\n\r\n" not in head:
            head += client.recv(65536)
        line = head.split(b"\r\n", 1)[0]
        seen.append(line)
        if refuse:
            client.sendall(b"HTTP/1.1 407 Proxy Authentication Required\r\nContent-Length: 0\r\n\r\n")
            client.close()
            return
        method, target, _ = line.split()
        host, _, port = (target if method == b"CONNECT" else target.split(b"/")[2]).partition(b":")
        upstream = socket.create_connection((host.decode(), int(port)))
        if method == b"CONNECT":
            client.sendall(b"HTTP/1.1 200 Connection established\r\n\r\n")
        else:
            upstream.sendall(head)
        threading.Thread(target=pump, args=(upstream, client), daemon=True).start()
        pump(client, upstream)

    def pump(source: socket.socket, sink: socket.socket) -> None:
        try:
            while data := source.recv(65536):
                sink.sendall(data)
            sink.shutdown(socket.SHUT_WR)
        except OSError:
            sink.close()

    def accept() -> None:
        while True:
            try:
                client, _ = listener.accept()
            except OSError:
                return
            threading.Thread(target=serve, args=(client,), daemon=True).start()

    threading.Thread(target=accept, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{listener.getsockname()[1]}", seen
    finally:
        listener.close()


def test_https_goes_through_a_tunnel_of_the_proxy(tmp_path, files):
    with ScriptedServer(sse_answer(["a"]), tls=server_context(files)) as server, proxy() as (url, seen):
        load = run_load(
            tmp_path, server.url, phase(rows=6, stop=STOP), tls=Tls(ca_file=str(files.authority)), proxy=url
        )
        assert seen[0] == f"CONNECT 127.0.0.1:{server.port} HTTP/1.1".encode()
    assert len(load.of("succeeded")) == 6


def test_http_is_asked_of_the_proxy_by_its_whole_url(tmp_path):
    with ScriptedServer(sse_answer(["a"])) as server, proxy() as (url, seen):
        load = run_load(tmp_path, server.url, phase(rows=6, stop=STOP), proxy=url)
        assert seen[0] == f"POST http://127.0.0.1:{server.port}/v1/chat/completions HTTP/1.1".encode()
    assert len(load.of("succeeded")) == 6


def test_a_proxy_that_refuses_is_named(tmp_path, files):
    with ScriptedServer(sse_answer(["a"]), tls=server_context(files)) as server, proxy(refuse=True) as (url, _):
        load = run_load(
            tmp_path, server.url, phase(rows=6, stop=STOP), tls=Tls(ca_file=str(files.authority)), proxy=url
        )
    assert {row["failure"] for row in load.rows} == {"proxy_error"}
    assert all("407" in row["detail"] for row in load.rows)


def test_proxy_variables_of_the_environment_are_not_used(tmp_path, monkeypatch):
    """NET-8"""
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "https_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    with ScriptedServer(sse_answer(["a"])) as server:
        load = run_load(tmp_path, server.url, phase(rows=6, stop=STOP))
    assert len(load.of("succeeded")) == 6


def test_a_reset_in_the_handshake_fails_the_request_that_waits_for_it(tmp_path):
    """It must neither hang nor vanish: no answer can come on a connection that never was."""
    listener = socket.create_server(("127.0.0.1", 0), backlog=64)

    def refuse() -> None:
        while True:
            try:
                client, _ = listener.accept()
            except OSError:
                return
            client.recv(1)  # the first byte of the hello; closing with the rest unread resets the connection
            client.close()

    threading.Thread(target=refuse, daemon=True).start()
    url = f"https://127.0.0.1:{listener.getsockname()[1]}"
    limits = Limits(run_timeout_ns=8_000_000_000)
    load = run_load(tmp_path, url, phase(rows=6, stop=STOP), limits=limits)
    listener.close()
    assert load.result.state is RunState.COMPLETE
    assert [row["outcome"] for row in load.rows] == ["failed"] * 6
    assert all(row["failure"] in ("closed_without_answer", "connect_failed") for row in load.rows)
