"""Endpoints that do not answer as they should: exact words, exit code, and nothing that was measured is lost."""

from __future__ import annotations

import os
import signal
import socket
import time
from pathlib import Path
from typing import Any

import pytest
from cli_console import FILES, USAGE, begin, console, end, files_of, run_flags, summary, wait_until

from wholecurve.testing import (
    Close,
    Hang,
    Reset,
    ScriptedServer,
    Send,
    Step,
    error_answer,
    in_turn,
    make_certificate,
    server_context,
    sse_answer,
    sse_event,
    stream_answer,
)

GOOD = sse_answer(["a", "b"], usage=USAGE)
NO_END = sse_answer(["a", "b"], done=False, finish_reason=None)[:-1]
TEXT = sse_event({"choices": [{"index": 0, "delta": {"content": "x"}}]})
BROKEN = sse_event({"error": {"message": "out of memory", "code": 500}})


def json_error(status: int, message: str, **more: Any) -> list[Step]:
    return error_answer(status, {"error": {"message": message, **more}})


# Script of every answer, flags, and the line that says what failed.
CASES: dict[str, tuple[list[Step], list[str], str]] = {
    "401": (
        json_error(401, "Invalid API key", type="auth"),
        [],
        "the endpoint answered with an error status 401 (401 Unauthorized: Invalid API key (type auth))",
    ),
    "404 model": (
        json_error(404, "The model `test` does not exist."),
        [],
        "the endpoint answered with an error status 404 (404 Not Found: The model `test` does not exist.)",
    ),
    "429": (
        json_error(429, "slow down"),
        [],
        "the endpoint answered with an error status 429 (429 Too Many Requests: slow down)",
    ),
    "500": (
        error_answer(500, "boom"),
        [],
        "the endpoint answered with an error status 500 (500 Internal Server Error: boom)",
    ),
    "HTML instead of JSON": (
        error_answer(200, "<html><body>Welcome</body></html>", [("Content-Type", "text/html")]),
        [],
        "a stream was asked for, something else came (text/html: Welcome)",
    ),
    "empty stream": (
        sse_answer([], finish_reason=None, done=False, role_first=False),
        [],
        "the answer has no output",
    ),
    "truncated stream": (
        [*NO_END, Close()],
        [],
        "the stream ended before the answer was finished (the connection closed in the middle of the answer)",
    ),
    "stream that falls silent": (  # NET-6
        [*NO_END, Hang()],
        ["--silence-timeout", "200ms"],
        "the stream was silent longer than the silence timeout",
    ),
    "stream that never ends": (
        [*stream_answer([TEXT] * 400, gap_s=0.01, end=False), Hang()],
        ["--request-timeout", "300ms"],
        "the answer took longer than the request timeout",
    ),
    "error object in the stream": (
        stream_answer([TEXT, BROKEN, sse_event("[DONE]")]),
        [],
        "the endpoint reported an error inside a 200 answer (out of memory (code 500))",
    ),
    "not JSON": (
        stream_answer([sse_event("{oops"), sse_event("[DONE]")]),
        [],
        "an answer or event is not JSON",
    ),
    "reset": (
        [Send(b"HTTP/1.1 200 OK\r\n"), Reset()],
        [],
        "the endpoint closed the connection before it answered",
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_words_code_and_files(case: str, tmp_path: Path) -> None:
    """One good answer, then three bad ones: all four are in the files, the run is not valid, the code is 1.

    NET-6 is among them: a stream that falls silent.
    """
    script, flags, words = CASES[case]
    with ScriptedServer(in_turn(GOOD, script)) as server:
        done = console(*run_flags(server.url, tmp_path, *flags), cwd=tmp_path)
    lines = done.errors()
    assert done.code == 1
    assert lines[0] == "not valid: 3 of 4 requests failed (75.00 %, limit 1.00 %)"
    assert lines[1].startswith(f"  3 failed: {words}")
    assert lines[2] == f"  what the endpoint speaks is told by: wholecurve probe {server.url}"
    assert len(lines) == 3
    assert set(FILES) <= files_of(tmp_path / "out")
    found = summary(tmp_path / "out")
    assert found["outcomes"]["succeeded"] == 1
    assert found["outcomes"]["failed"] == 3
    assert found["state"] == "complete"
    assert "NOT VALID" in done.out


SIGNED_BY_ITSELF = [
    "error: the certificate of 127.0.0.1 was refused: self-signed certificate",
    "  it is signed by itself: trust it with --ca-file FILE, or skip the check with --insecure; "
    "`wholecurve probe` looks closer",
]


@pytest.mark.parametrize("flags", [[], ["--ca-file", "other/server.pem"]], ids=["no authority", "wrong authority"])
def test_certificate_that_fails_is_refused_before_the_load(flags: list[str], tmp_path: Path) -> None:
    """SEC-3: no request is sent, nothing is written, and the message names the certificate and the remedy."""
    make_certificate(tmp_path / "other")
    with ScriptedServer(GOOD, tls=server_context(make_certificate(tmp_path / "c"))) as server:
        done = console(*run_flags(server.url, tmp_path, *flags), cwd=tmp_path)
    assert (done.code, done.out, done.errors()) == (3, "", SIGNED_BY_ITSELF)
    assert not server.requests
    assert not (tmp_path / "out").exists()


def test_expired_certificate_and_plain_text_port_are_told_apart(tmp_path: Path) -> None:
    files = make_certificate(tmp_path / "c", expired=True)
    with ScriptedServer(GOOD, tls=server_context(files)) as server:
        done = console(*run_flags(server.url, tmp_path, "--ca-file", "c/server.pem"), cwd=tmp_path)
    assert done.code == 3
    assert done.errors()[0] == "error: the certificate of 127.0.0.1 was refused: certificate has expired"
    with ScriptedServer([], on_connect=[Send(b"HTTP/1.1 400 Bad Request\r\n\r\n"), Close()]) as server:
        done = console(*run_flags(server.url.replace("http:", "https:"), tmp_path), cwd=tmp_path)
    assert done.code == 3
    assert done.errors() == [
        "error: 127.0.0.1 does not speak TLS on this port",
        "  write http:// instead of https://; `wholecurve probe` looks closer",
    ]


@pytest.mark.parametrize("flags", [["--insecure"], ["--ca-file", "c/server.pem"]], ids=["insecure", "trusted"])
def test_certificate_that_is_accepted(flags: list[str], tmp_path: Path) -> None:
    """SEC-3: accepted with its authority; accepted with --insecure and a mark in the results."""
    files = make_certificate(tmp_path / "c")
    with ScriptedServer(GOOD, tls=server_context(files)) as server:
        done = console(*run_flags(server.url, tmp_path, *flags), cwd=tmp_path)
    assert done.code == 0
    assert summary(tmp_path / "out")["workload"]["endpoint"]["tls_verified"] is (flags != ["--insecure"])
    marked = "not verified" in (tmp_path / "out" / "report.html").read_text()
    assert marked == (flags == ["--insecure"])


def test_proxy_that_is_not_there_is_named(tmp_path: Path) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        where = f"127.0.0.1:{free.getsockname()[1]}"
        done = console(*run_flags("http://127.0.0.1:1", tmp_path, "--proxy", f"http://{where}"), cwd=tmp_path)
    assert done.code == 3
    assert done.errors()[0] == f"error: the proxy cannot be reached ({where} refused the connection)"


def test_proxy_that_opens_no_tunnel_is_refused_before_the_load(tmp_path: Path) -> None:
    with ScriptedServer(error_answer(403, "no")) as proxy:
        url = "https://127.0.0.1:1"
        done = console(*run_flags(url, tmp_path, "--proxy", proxy.url), cwd=tmp_path)
    assert done.code == 3
    assert done.errors()[0] == "error: the proxy did not open a tunnel: it answered 403"
    assert not (tmp_path / "out").exists()


def test_nothing_listens(tmp_path: Path) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{free.getsockname()[1]}"
        done = console(*run_flags(url, tmp_path), cwd=tmp_path)
    assert done.code == 3
    assert done.errors()[0] == f"error: the endpoint cannot be reached ({url[7:]} refused the connection)"
    assert not (tmp_path / "out").exists(), "nothing was measured, so nothing is left"


def test_host_that_does_not_resolve(tmp_path: Path) -> None:
    done = console(*run_flags("http://no-such-host.invalid", tmp_path), cwd=tmp_path)
    assert done.code == 3
    assert done.errors()[0].startswith("error: the host name 'no-such-host.invalid' does not resolve (")
    assert not (tmp_path / "out").exists(), "nothing was measured, so nothing is left"


@pytest.mark.parametrize(("limit", "code"), [("0.05", 1), ("0.06", 0)])
def test_failures_above_the_limit_are_code_1_after_everything_is_written(limit: str, code: int, tmp_path: Path) -> None:
    """REP-8: 6 of 100 fail; 5 % is not enough, 6 % is."""
    bad = {3, 14, 15, 92, 65, 35}
    with ScriptedServer(lambda request: error_answer(500) if request.number in bad else GOOD) as server:
        done = console(*run_flags(server.url, tmp_path, "--max-failed-share", limit, rows=100), cwd=tmp_path)
    assert done.code == code
    assert ("not valid: 6 of 100 requests failed (6.00 %, limit 5.00 %)" in done.errors()) == (code == 1)
    assert set(FILES) <= files_of(tmp_path / "out")
    assert summary(tmp_path / "out")["outcomes"]["failed"] == 6


def test_the_configuration_a_run_writes_loads_again(tmp_path: Path) -> None:
    """REP-7: the same run again, from the file it wrote."""
    with ScriptedServer(GOOD) as server:
        assert console(*run_flags(server.url, tmp_path), cwd=tmp_path).code == 0
        done = console("run", "--config", "out/config.yaml", "--out", "again", cwd=tmp_path)
    assert done.code == 0, done.err
    assert summary(tmp_path / "again")["n_samples_issued"] == summary(tmp_path / "out")["n_samples_issued"]


def test_a_run_time_limit_is_a_failed_run(tmp_path: Path) -> None:
    with ScriptedServer(in_turn(GOOD, [*NO_END, Hang()])) as server:
        done = console(*run_flags(server.url, tmp_path, "--run-timeout", "400ms"), cwd=tmp_path)
    assert done.code == 4
    assert "failed: the run time limit was reached" in done.errors()
    assert set(FILES) <= files_of(tmp_path / "out")
    found = summary(tmp_path / "out")
    assert found["state"] == "failed"
    assert found["outcomes"]["succeeded"] == 1


def test_a_worker_that_dies_is_a_failed_run_and_its_answers_are_kept(tmp_path: Path) -> None:
    with ScriptedServer(in_turn(*[GOOD] * 6, [*NO_END, Hang()])) as server:
        child = begin(*run_flags(server.url, tmp_path, rows=20), cwd=tmp_path)
        wait_until(lambda: len(server.requests) >= 8)
        worker = int(Path(f"/proc/{child.pid}/task/{child.pid}/children").read_text().split()[0])
        time.sleep(0.5)
        os.kill(worker, signal.SIGKILL)
        done = end(child)
    assert done.code == 4
    assert "failed: worker 0 ended early (signal SIGKILL)" in done.errors()
    found = summary(tmp_path / "out")
    assert found["outcomes"]["succeeded"] == 6
    assert found["outcomes"]["lost"] == 2
    assert set(FILES) <= files_of(tmp_path / "out")
