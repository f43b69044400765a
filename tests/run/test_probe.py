"""What the probe says of endpoints of every kind, and that it tells causes apart (CLI-7)."""

from __future__ import annotations

import socket
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from wholecurve.model.errors import InputError
from wholecurve.model.plan import EndpointPlan, Secrets, Tls
from wholecurve.run.diagnosis import model_rows
from wholecurve.run.examination import Grade
from wholecurve.run.probe import Report, Wanted, glance, probe
from wholecurve.sim import SimOptions, profile_named, start
from wholecurve.testing import (
    Close,
    Hang,
    Request,
    ScriptedServer,
    Send,
    Step,
    error_answer,
    json_answer,
    make_certificate,
    server_context,
    sse_answer,
    sse_event,
    stream_answer,
)

NS = 1_000_000_000
USAGE = {"prompt_tokens": 3, "completion_tokens": 16}
MODELS = {"object": "list", "data": [{"id": "test", "owned_by": "vllm"}, {"id": "other"}]}
CHAT = sse_answer(["a"] * 16, gap_s=0.001, usage=USAGE)


def wanted(url: str, **changes: Any) -> Wanted:
    tls = changes.pop("tls", Tls())
    headers = changes.pop("headers", ())
    proxy = changes.pop("proxy", None)
    endpoint = EndpointPlan((url,), changes.get("dialect") or "openai-chat", "any", tls=tls, proxy=proxy)
    values: dict[str, Any] = {"model": "test", "dialect": None, "timeout_ns": 2 * NS} | changes
    return Wanted(endpoint, Secrets(tuple(headers)), **values)


Answer = Callable[[Request], Iterable[Step]]


def server(chat: Answer | list[Step] = CHAT, models: list[Step] | None = None) -> Answer:
    """Answers chat with the script, `/v1/models` with a list, and everything else with 404."""

    def handler(request: Request) -> Iterable[Step]:
        if request.path.startswith("/v1/models"):
            return json_answer(MODELS) if models is None else models
        if request.path.startswith("/v1/chat/completions"):
            return chat(request) if callable(chat) else chat
        return error_answer(404, {"detail": "Not Found"})

    return handler


def lines(report: Report) -> list[tuple[str, str]]:
    return [(finding.name, finding.grade.value) for finding in report.findings]


def problem(report: Report) -> Any:
    found = [finding for finding in report.findings if finding.grade is Grade.PROBLEM]
    assert len(found) == 1
    assert found[0].remedy, "every problem has its next step"
    return found[0]


def test_an_endpoint_that_does_everything() -> None:
    with ScriptedServer(server()) as endpoint:
        report = probe(wanted(endpoint.url))
    assert report.ready
    assert {grade for _, grade in lines(report)} == {"ok"}
    assert report.facts["dialects"] == {
        "openai-chat": "answered",
        "openai-completions": "http_status",
        "sglang-generate": "http_status",
    }
    expected = {"dialect": "openai-chat", "streaming": True, "usage_in_stream": True, "include_usage": True}
    expected |= {"ignore_eos": True, "ignore_eos_obeyed": True, "keep_alive": True, "owned_by": ["vllm"]}
    expected |= {"models": ["test", "other"], "output_events": 16}
    assert report.facts | expected == report.facts
    assert report.facts["connect_ms"]["n"] == 5
    assert 0 < report.facts["ttft_ms"] < 2000


def test_the_simulated_endpoint_passes() -> None:
    with start(SimOptions(profile=profile_named("flash"))) as sim:
        report = probe(wanted(sim.url, model=None))
    assert report.ready
    assert report.facts["dialect"] == "openai-chat"
    assert report.facts["dialects"]["openai-completions"] == "answered"
    assert report.facts["whole_answers"] is True
    assert any(finding.figure == "'sim'; asking 'sim'" for finding in report.findings)


# -- not reachable -----------------------------------------------------------------------------------------------------


def test_refused() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))  # bound and not listening: nobody else gets this port meanwhile
        port = taken.getsockname()[1]
        report = probe(wanted(f"http://127.0.0.1:{port}"))
    assert problem(report).figure == f"127.0.0.1:{port} refused the connection"
    assert report.facts["problem"] == "refused"


def test_unresolvable_name() -> None:
    report = probe(wanted("http://no-such-host.invalid:8000"))
    assert problem(report).figure.startswith("the host name 'no-such-host.invalid' does not resolve")
    assert report.facts["problem"] == "unresolvable"


def test_no_answer_to_a_connection() -> None:
    """A listener whose queue is full drops what comes: as behind a firewall."""
    with socket.socket() as full, socket.socket() as first, socket.socket() as second:
        full.bind(("127.0.0.1", 0))
        full.listen(0)
        for filler in (first, second):
            filler.setblocking(False)
            filler.connect_ex(full.getsockname())
        report = probe(wanted(f"http://127.0.0.1:{full.getsockname()[1]}", timeout_ns=NS // 5))
    assert problem(report).figure.endswith("did not answer within 200 ms")
    assert report.facts["problem"] == "connect_timeout"


@contextmanager
def secure(folder: Path, **changes: Any) -> Iterator[tuple[ScriptedServer, Any]]:
    files = make_certificate(folder / "c", **changes)
    with ScriptedServer(server(), tls=server_context(files)) as endpoint:
        yield endpoint, files


@pytest.mark.parametrize(
    ("changes", "words", "hint"),
    [
        ({}, "self-signed certificate", "it is signed by itself: trust it with --ca-file FILE, "),
        ({"ca": True}, "unable to get local issuer certificate", "its authority is not known here: "),
        (
            {"hosts": ("elsewhere.test",)},
            "IP address mismatch, certificate is not valid for '127.0.0.1'",
            "use the name",
        ),
        ({"expired": True}, "certificate has expired", "the certificate has expired: "),
    ],
    ids=["self-signed", "unknown authority", "another name", "expired"],
)
def test_certificates_that_fail(changes: dict[str, Any], words: str, hint: str, tmp_path: Path) -> None:
    """CLI-7, SEC-3: the reason is named, not only that it is not ready."""
    with secure(tmp_path, **changes) as (endpoint, files):
        ca = str(files.authority) if {"hosts", "expired"} & changes.keys() else None
        report = probe(wanted(endpoint.url, tls=Tls(ca_file=ca)))
    assert problem(report).figure == f"the certificate of 127.0.0.1 was refused: {words}"
    assert problem(report).remedy.startswith(hint)
    assert report.facts["problem"] == "certificate"


def test_certificates_that_are_trusted_or_not_looked_at(tmp_path: Path) -> None:
    with secure(tmp_path) as (endpoint, files):
        trusted = probe(wanted(endpoint.url, tls=Tls(ca_file=str(files.authority))))
        blind = probe(wanted(endpoint.url, tls=Tls(verify=False)))
    assert trusted.ready
    assert ("TLS", "ok") in lines(trusted)
    assert blind.ready
    assert ("TLS", "warning") in lines(blind)


def test_a_client_certificate_is_wanted(tmp_path: Path) -> None:
    files = make_certificate(tmp_path, ca=True)
    context = server_context(files, require_client=True)
    tls = Tls(ca_file=str(files.authority))
    with ScriptedServer(server(), tls=context) as endpoint:
        without = probe(wanted(endpoint.url, tls=tls))
        both = Tls(True, tls.ca_file, str(files.client_certificate), str(files.client_key))
        with_it = probe(wanted(endpoint.url, tls=both))
    assert problem(without).remedy == "give --client-cert and --client-key"
    assert with_it.ready


def test_tls_towards_a_port_without() -> None:
    greeting = [Send(b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n"), Close()]
    with ScriptedServer([], on_connect=greeting) as endpoint:
        report = probe(wanted(endpoint.url.replace("http:", "https:")))
    assert report.facts["problem"] == "not_tls"
    assert problem(report).remedy == "write http:// instead of https://"


def test_no_tls_towards_a_port_with(tmp_path: Path) -> None:
    with secure(tmp_path) as (endpoint, _):
        report = probe(wanted(endpoint.url.replace("https:", "http:")))
    assert not report.ready
    assert "https://" in problem(report).remedy


# -- reachable, and no use ---------------------------------------------------------------------------------------------

TEXT = sse_event({"choices": [{"index": 0, "delta": {"content": "x"}}]})
PAGE = error_answer(200, "<html><title>Hi</title><p>Welcome</p></html>", [("Content-Type", "text/html")])

FAULTS: dict[str, tuple[list[Step], str, str, str]] = {
    "401": (
        error_answer(401, {"error": {"message": "no key"}}),
        "http_401",
        "/v1/chat/completions answered 401 Unauthorized: no key",
        "give a key: --api-key-env VARIABLE",
    ),
    "403": (
        error_answer(403, {"error": {"message": "not yours"}}),
        "http_403",
        "/v1/chat/completions answered 403 Forbidden: not yours",
        "give a key: --api-key-env VARIABLE",
    ),
    "404 path": (
        error_answer(404, {"detail": "Not Found"}),
        "path_missing",
        "/v1/chat/completions answered 404 Not Found: Not Found",
        "check the path in the URL; it may need a prefix, or none",
    ),
    "404 model": (
        error_answer(404, {"error": {"message": "The model `test` does not exist."}}),
        "model_missing",
        "/v1/chat/completions answered 404 Not Found: The model `test` does not exist.",
        "the model 'test' is not known there; served are 'test', 'other'",
    ),
    "429": (
        error_answer(429, {"error": {"message": "slow down"}}),
        "http_429",
        "/v1/chat/completions answered 429 Too Many Requests: slow down",
        "the endpoint limits its rate: wait, or raise its limit before measuring",
    ),
    "503": (
        error_answer(503, {"error": {"message": "Loading model"}}),
        "http_503",
        "/v1/chat/completions answered 503 Service Unavailable: Loading model",
        "the endpoint is not ready: wait until the model is loaded",
    ),
    "500": (
        error_answer(500, "boom"),
        "http_500",
        "/v1/chat/completions answered 500 Internal Server Error: boom",
        "look at the server's log",
    ),
    "web page": (
        PAGE,
        "html",
        "/v1/chat/completions answered with a web page: text/html: Hi Welcome",
        "the URL leads to a web server or a gateway",
    ),
    "not JSON": (
        stream_answer([sse_event("{oops"), sse_event("[DONE]")]),
        "not_json",
        "/v1/chat/completions: an answer or event is not JSON (",
        "check that the URL leads to an LLM server, and --dialect",
    ),
    "empty stream": (
        stream_answer([sse_event("[DONE]")]),
        "empty_output",
        "/v1/chat/completions: the answer has no output ([DONE] came without any output)",
        "the server streams nothing: look at its log, and at the model's chat template",
    ),
    "truncated": (
        [*stream_answer([TEXT], end=False), Close()],
        "truncated_stream",
        "/v1/chat/completions: the stream ended before the answer was finished (",
        "the connection is cut: look at the server's log and at gateways between",
    ),
    "error in the stream": (
        stream_answer([TEXT, sse_event({"error": {"message": "out of memory"}})]),
        "server_stream_error",
        "/v1/chat/completions: the endpoint reported an error inside a 200 answer (out of memory)",
        "the server fails inside a 200 answer: look at its log",
    ),
    "no HTTP": (
        [Send(b"SSH-2.0-OpenSSH_9.2\r\n\r\n"), Close()],
        "http_protocol_error",
        "/v1/chat/completions: the answer is not valid HTTP/1.1 (",
        "the port does not speak HTTP/1.1; if it speaks TLS, write https://",
    ),
}


@pytest.mark.parametrize("case", FAULTS)
def test_causes_are_told_apart(case: str) -> None:
    script, code, figure, remedy = FAULTS[case]
    with ScriptedServer(server(script)) as endpoint:
        report = probe(wanted(endpoint.url))
    assert report.facts["problem"] == code
    assert problem(report).figure.startswith(figure)
    assert problem(report).remedy == remedy


def test_an_answer_that_never_ends() -> None:
    script = [*stream_answer([TEXT], end=False), Hang()]
    with ScriptedServer(server(script)) as endpoint:
        report = probe(wanted(endpoint.url, timeout_ns=NS // 5))
    assert (problem(report).name, problem(report).figure) == ("answer", "the answer did not end within 200 ms")
    assert report.facts["problem"] == "timeout"


def test_a_key_that_is_refused_is_another_matter_than_none() -> None:
    models = error_answer(401, {"error": {"message": "no"}})
    with ScriptedServer(server(models=models)) as endpoint:
        without = probe(wanted(endpoint.url))
        with_one = probe(wanted(endpoint.url, headers=[("Authorization", "Bearer k")]))
        asked = len(endpoint.requests)
    assert problem(without).figure == "/v1/models answered 401"
    assert problem(without).remedy == "give a key: --api-key-env VARIABLE"
    assert problem(with_one).remedy == "the key that was sent is not accepted"
    assert asked == 2, "the probe stops there"


def test_a_model_that_is_not_served_is_named_with_those_that_are() -> None:
    with ScriptedServer(server()) as endpoint:
        report = probe(wanted(endpoint.url, model="tset"))
    assert problem(report).figure == "the model 'tset' is not among those served: 'test', 'other'"
    assert report.facts["problem"] == "model_missing"


# -- reachable, with peculiarities -------------------------------------------------------------------------------------


def test_no_list_of_models_is_only_a_warning() -> None:
    for models in (error_answer(404), PAGE, json_answer({"object": "list"}), [Hang()]):
        with ScriptedServer(server(models=models)) as endpoint:
            report = probe(wanted(endpoint.url, timeout_ns=NS // 4))
        assert report.ready
        assert ("models", "warning") in lines(report)


def test_include_usage_refused() -> None:
    def chat(request: Request) -> Iterable[Step]:
        if "stream_options" in request.json():
            return error_answer(400, {"error": {"message": "unknown field stream_options"}})
        return sse_answer(["a", "b"])

    with ScriptedServer(server(chat)) as endpoint:
        report = probe(wanted(endpoint.url))
    assert report.ready
    assert report.facts["include_usage"] is False
    assert [finding.remedy for finding in report.findings if finding.name == "usage"] == ["run with --no-usage"]


def test_whole_answers_only() -> None:
    with ScriptedServer(server(lambda _request: json_answer("hello", usage=USAGE))) as endpoint:
        report = probe(wanted(endpoint.url))
    assert report.ready
    assert report.facts["streaming"] is False


@pytest.mark.parametrize(("status", "accepted"), [(422, False), (200, True)])
def test_forced_length(status: int, accepted: bool) -> None:
    def chat(request: Request) -> Iterable[Step]:
        return error_answer(status) if "ignore_eos" in request.json() and status != 200 else CHAT

    with ScriptedServer(server(chat)) as endpoint:
        report = probe(wanted(endpoint.url))
    assert report.ready
    assert report.facts["ignore_eos"] is accepted


def test_forced_length_that_is_not_obeyed() -> None:
    short = sse_answer(["a", "b"], gap_s=0.001, usage={"prompt_tokens": 1, "completion_tokens": 2})
    with ScriptedServer(server(short)) as endpoint:
        report = probe(wanted(endpoint.url))
    assert report.facts["ignore_eos_obeyed"] is False
    assert ("output length", "warning") in lines(report)


def test_a_buffered_stream_is_noticed() -> None:
    """NET-10."""
    with ScriptedServer(server(sse_answer(["a"] * 3, usage=USAGE))) as endpoint:
        one_event = probe(wanted(endpoint.url))
    whole = b"".join(step.data for step in CHAT if isinstance(step, Send))
    with ScriptedServer(server([Send(whole)])) as endpoint:
        report = probe(wanted(endpoint.url))
    assert one_event.ready
    assert ("streaming", "warning") in lines(report)
    assert any(finding.figure == "16 output events came in one read" for finding in report.findings)


def test_connections_that_are_closed() -> None:
    closing = sse_answer(["a", "b"], usage=USAGE, chunked=False)
    with ScriptedServer(server(closing)) as endpoint:
        report = probe(wanted(endpoint.url))
    assert report.ready
    assert report.facts["keep_alive"] is False
    assert ("keep-alive", "warning") in lines(report)


def test_a_stale_connection_is_replaced() -> None:
    """NET-4: the endpoint closes idle connections at once; no answer is lost by it."""
    with ScriptedServer(server(), idle_close_s=0.0) as endpoint:
        report = probe(wanted(endpoint.url))
    assert report.ready


@pytest.mark.parametrize(
    ("base", "models", "chat"),
    [
        ("", "/v1/models", "/v1/chat/completions"),
        ("/v1", "/v1/models", "/v1/chat/completions"),
        ("/proxy/v1/", "/proxy/v1/models", "/proxy/v1/chat/completions"),
        ("/v1/chat/completions", "/v1/models", "/v1/chat/completions"),
        ("/p?tenant=a", "/p/v1/models?tenant=a", "/p/v1/chat/completions?tenant=a"),
    ],
)
def test_paths(base: str, models: str, chat: str) -> None:
    """CLI-1."""
    with ScriptedServer(json_answer(MODELS)) as endpoint:
        probe(wanted(endpoint.url + base, dialect="openai-chat"))
        asked = [(request.method, request.path) for request in endpoint.requests]
    assert asked[0] == ("GET", models)
    assert asked[1] == ("POST", chat)


def test_the_question_is_that_of_a_run() -> None:
    headers = [("Authorization", "Bearer k"), ("X-Token", "t")]
    with ScriptedServer(server()) as endpoint:
        probe(wanted(endpoint.url, headers=headers))
        requests = endpoint.requests
    assert all(request.header("authorization") == "Bearer k" for request in requests)
    assert all(request.header("x-token") == "t" for request in requests)
    first = next(request for request in requests if request.method == "POST").json()
    assert (first["model"], first["stream"], first["stream_options"]) == ("test", True, {"include_usage": True})


def test_through_a_proxy() -> None:
    with ScriptedServer(server_by_url()) as proxy:
        report = probe(wanted("http://model.test:8000", proxy=proxy.url))
        asked = [request.path for request in proxy.requests]
    assert report.ready, report.findings
    assert asked[:2] == ["http://model.test:8000/v1/models", "http://model.test:8000/v1/chat/completions"]


def server_by_url() -> Answer:
    """A proxy that answers itself, by the whole URL of the request line."""

    def handler(request: Request) -> Iterable[Step]:
        path = request.path.removeprefix("http://model.test:8000")
        return json_answer(MODELS) if path == "/v1/models" else CHAT

    return handler


def test_a_url_that_cannot_be_asked() -> None:
    with pytest.raises(InputError):
        probe(wanted("ftp://host/"))
    with pytest.raises(InputError):
        probe(wanted("http://127.0.0.1:1/v1/completions", dialect="openai-chat"))


@pytest.mark.parametrize(
    ("body", "ids"),
    [
        (b'{"data": [{"id": "a"}, {"id": 3}, "b", {}]}', ["a"]),
        (b'{"data": []}', []),
        (b'{"data": {}}', None),
        (b"[]", None),
        (b"<html>", None),
        (b"", None),
    ],
)
def test_lists_of_models(body: bytes, ids: list[str] | None) -> None:
    rows = model_rows(body)
    assert (None if rows is None else [row["id"] for row in rows]) == ids


def test_a_glance_is_few_requests_and_says_what_a_sweep_compares() -> None:
    with start(SimOptions(models=("test",))) as sim:
        report = glance(wanted(sim.url))
    assert report.ready, lines(report)
    assert report.facts["models"] == ["test"]
    assert report.facts["server"] == "wholecurve-sim"


def test_a_glance_names_what_is_wrong() -> None:
    with ScriptedServer(server(models=json_answer({"object": "list", "data": [{"id": "new"}]}))) as scripted:
        swapped = glance(wanted(scripted.url))
    assert problem(swapped).figure == "the model 'test' is not among those served: 'new'"
    with ScriptedServer(server(chat=error_answer(503, "no capacity"))) as scripted:
        refusing = glance(wanted(scripted.url))
    assert not refusing.ready
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        gone = glance(wanted(f"http://127.0.0.1:{free.getsockname()[1]}"))
    assert gone.facts["problem"] == "refused"
