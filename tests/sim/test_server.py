"""The simulated endpoint on a real socket: every API, every fault, connections, and a truth log that is true."""

import http.client
import json
import random
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from wholecurve.sim import (
    FAULT_FIELD,
    FAULT_HEADER,
    FAULTS,
    Fault,
    FaultKind,
    FaultShare,
    SimOptions,
    TruthLine,
    profile_named,
    read_truth,
)
from wholecurve.sim.server import SimServer

FLASH = SimOptions(profile=profile_named("flash"), slow_ns=2_000_000)
CHAT = "/v1/chat/completions"
TEXT = "/v1/completions"


@dataclass(frozen=True)
class Served:
    """Where a server listens."""

    port: int

    def connect(self) -> http.client.HTTPConnection:
        return http.client.HTTPConnection("127.0.0.1", self.port, timeout=5)

    def call(
        self, method: str, path: str, body: Any = None, headers: dict[str, str] | None = None
    ) -> tuple[http.client.HTTPResponse, bytes]:
        connection = self.connect()
        try:
            connection.request(method, path, None if body is None else json.dumps(body), headers or {})
            answer = connection.getresponse()
            return answer, answer.read()
        finally:
            connection.close()

    def ask(self, path: str = CHAT, headers: dict[str, str] | None = None, **fields: Any) -> tuple[int, bytes]:
        answer, raw = self.call("POST", path, body_for(path, **fields), headers)
        return answer.status, raw

    def metric(self, name: str) -> float:
        lines = self.call("GET", "/metrics")[1].decode().splitlines()
        return float(next(line.split()[1] for line in lines if line.startswith(f"sim:{name} ")))


def body_for(path: str = CHAT, **fields: Any) -> dict[str, Any]:
    prompt: dict[str, Any] = (
        {"messages": [{"role": "user", "content": "hello there"}]} if path == CHAT else {"prompt": "hello there"}
    )
    return {"model": "sim"} | prompt | fields


@contextmanager
def serving(options: SimOptions) -> Iterator[Served]:
    listener = socket.create_server(("127.0.0.1", 0), backlog=1024)
    port = listener.getsockname()[1]
    stopped, stop = socket.socketpair()
    server = SimServer(options, listener, stop_on=stopped)
    thread = threading.Thread(target=server.run)
    thread.start()
    try:
        yield Served(port)
    finally:
        stop.send(b"x")
        thread.join(5)
        stop.close()
        stopped.close()
        assert not thread.is_alive()


@pytest.fixture(scope="module")
def sim() -> Iterator[Served]:
    with serving(FLASH) as served:
        yield served


def events_of(raw: bytes) -> list[Any]:
    """The whole events; one that was cut off is left out."""
    blocks = raw.replace(b"\r\n", b"\n").split(b"\n\n")[:-1]
    data = [block[6:] for block in blocks if block.startswith(b"data: ")]
    return [item.decode() if item == b"[DONE]" else json.loads(item) for item in data]


def text_of(raw: bytes) -> str:
    choices = [choice for event in events_of(raw) if isinstance(event, dict) for choice in event.get("choices", ())]
    return "".join(choice.get("text") or choice.get("delta", {}).get("content") or "" for choice in choices)


@pytest.mark.parametrize("path", [CHAT, TEXT])
def test_streamed_and_whole_answers_agree(sim: Served, path: str) -> None:
    fields = {"max_tokens": 12, "ignore_eos": True}
    status, raw = sim.ask(path, stream=True, stream_options={"include_usage": True}, **fields)
    events = events_of(raw)
    whole = json.loads(sim.ask(path, **fields)[1])
    choice = whole["choices"][0]
    assert status == 200
    assert text_of(raw) == (choice["message"]["content"] if path == CHAT else choice["text"])
    assert len(text_of(raw).split()) == 12
    assert events[-1] == "[DONE]"
    assert events[-2]["choices"] == []
    assert events[-2]["usage"]["completion_tokens"] == whole["usage"]["completion_tokens"] == 12
    assert events[-3]["choices"][0]["finish_reason"] == choice["finish_reason"] == "length"
    contents = [event for event in events[:-3] if event["choices"][0].get("delta", {}).get("role") is None]
    assert len(contents) == 12


def test_no_usage_unless_asked(sim: Served) -> None:
    assert b'"usage"' not in sim.ask(stream=True, max_tokens=3)[1]


def test_answers_depend_on_the_prompt_only(sim: Served) -> None:
    texts = {text_of(sim.ask(TEXT, stream=True, prompt=f"p{number % 3}")[1]) for number in range(9)}
    assert len(texts) == 3


def test_models_health_metrics(sim: Served) -> None:
    answer, raw = sim.call("GET", "/v1/models")
    assert (answer.status, json.loads(raw)["data"][0]["id"]) == (200, "sim")
    assert sim.call("GET", "/health")[0].status == 200
    sim.ask(max_tokens=2)
    assert sim.metric("requests_total") >= 1
    assert sim.metric("generation_tokens_total") >= 1
    assert sim.metric("num_requests_running") == 0


@pytest.mark.parametrize(
    ("method", "path", "body", "status"),
    [
        ("GET", "/nothing", None, 404),
        ("GET", CHAT, None, 405),
        ("POST", "/v1/models", {}, 405),
        ("POST", CHAT, {"model": "other", "messages": [{"role": "user", "content": "x"}]}, 404),
        ("POST", CHAT, {"model": "sim"}, 400),
        ("POST", TEXT, {"model": "sim", "prompt": "x " * 40_000}, 400),
        ("POST", TEXT, {"model": "sim", "prompt": "x", FAULT_FIELD: "no_such"}, 400),
    ],
)
def test_refusals(sim: Served, method: str, path: str, body: Any, status: int) -> None:
    answer, raw = sim.call(method, path, body)
    assert answer.status == status
    assert isinstance(json.loads(raw)["error"]["message"], str)


def test_api_key() -> None:
    with serving(replace(FLASH, api_key="sesame")) as served:
        answer, raw = served.call("POST", CHAT, body_for())
        assert answer.status == 401
        assert b"sesame" not in raw
        assert served.ask(headers={"Authorization": "Bearer wrong"})[0] == 401
        assert served.ask(headers={"Authorization": "Bearer sesame"}, max_tokens=1)[0] == 200
        assert served.call("GET", "/health")[0].status == 200
        assert served.call("GET", "/v1/models")[0].status == 401
    assert "sesame" not in repr(replace(FLASH, api_key="sesame"))


def test_tools_and_reasoning_on_the_wire() -> None:
    tool = {"type": "function", "function": {"name": "look_up"}}
    with serving(replace(FLASH, tool_share=1.0, reasoning_share=0.5, reasoning_field="reasoning")) as served:
        raw = served.ask(stream=True, tools=[tool])[1]
        deltas = [event["choices"][0]["delta"] for event in events_of(raw) if isinstance(event, dict)]
        calls = [delta["tool_calls"][0] for delta in deltas if "tool_calls" in delta]
        assert calls[0]["function"]["name"] == "look_up"
        assert "query" in json.loads("".join(call["function"]["arguments"] for call in calls))
        assert any("reasoning" in delta for delta in deltas)
        finish = [event["choices"][0]["finish_reason"] for event in events_of(raw) if isinstance(event, dict)]
        assert finish[-1] == "tool_calls"


def test_keep_alive_pipelining_and_continue(sim: Served) -> None:
    body = json.dumps(body_for(stream=True, max_tokens=2, ignore_eos=True)).encode()
    head = b"POST %b HTTP/1.1\r\nHost: t\r\nContent-Length: %d\r\n" % (CHAT.encode(), len(body))
    with socket.create_connection(("127.0.0.1", sim.port), timeout=5) as sock:
        sock.sendall((head + b"\r\n" + body) * 3)
        got = b""
        while got.count(b"0\r\n\r\n") < 3:
            got += sock.recv(65536)
        assert got.count(b"[DONE]") == 3
        sock.sendall(head + b"Expect: 100-continue\r\n\r\n")
        assert sock.recv(100) == b"HTTP/1.1 100 Continue\r\n\r\n"
        sock.sendall(body)
        got = b""
        while not got.endswith(b"0\r\n\r\n"):
            got += sock.recv(65536)
        sock.sendall(head + b"Connection: close\r\n\r\n" + body)
        got = b""
        while part := sock.recv(65536):
            got += part
        assert got.endswith(b"0\r\n\r\n")


def test_bad_http_is_answered_and_closed(sim: Served) -> None:
    with socket.create_connection(("127.0.0.1", sim.port), timeout=5) as sock:
        sock.sendall(b"hello\r\n\r\n")
        got = b""
        while part := sock.recv(65536):
            got += part
        assert got.startswith(b"HTTP/1.1 400 ")


def test_a_client_that_leaves_frees_its_place() -> None:
    with serving(replace(FLASH, speed=0.01)) as served:
        body = json.dumps(body_for(stream=True, max_tokens=2000, ignore_eos=True)).encode()
        with socket.create_connection(("127.0.0.1", served.port), timeout=5) as sock:
            sock.sendall(b"POST %b HTTP/1.1\r\nContent-Length: %d\r\n\r\n%b" % (CHAT.encode(), len(body), body))
            assert sock.recv(1000)
            assert served.metric("num_requests_running") + served.metric("num_requests_waiting") == 1
        end = time.monotonic() + 5
        while served.metric("num_requests_running") and time.monotonic() < end:
            time.sleep(0.01)
        assert served.metric("num_requests_running") == 0
        assert served.metric("kv_cache_usage_perc") == 0


def test_slow_reader_gets_everything() -> None:
    body = json.dumps(body_for(stream=True, max_tokens=15_000, ignore_eos=True)).encode()
    with serving(replace(FLASH, speed=20.0)) as served, socket.socket() as sock:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        sock.connect(("127.0.0.1", served.port))
        sock.settimeout(30)
        sock.sendall(b"POST %b HTTP/1.1\r\nContent-Length: %d\r\n\r\n%b" % (CHAT.encode(), len(body), body))
        time.sleep(0.3)
        got = bytearray()
        while not got.endswith(b"0\r\n\r\n"):
            part = sock.recv(1 << 20)
            assert part
            got += part
        assert got.count(b'"content":" ') + 1 == 15_000


# --- faults: a row here for each row of FAULTS --------------------------------------------------------------------


@dataclass(frozen=True)
class Seen:
    """What a client saw of an answer: how the connection ended is `done`, `closed`, `reset` or `open`."""

    status: int
    kind: str
    raw: bytes
    end: str


def look(served: Served, fault: Fault, *, stream: bool = True, tokens: int = 12) -> Seen:
    fields = {"stream": stream, "max_tokens": tokens, "ignore_eos": True, "stream_options": {"include_usage": True}}
    connection = served.connect()
    connection.timeout = 0.5 if fault.name == "stalled" else 10
    raw = b""
    try:
        connection.request("POST", CHAT, json.dumps(body_for(**fields)), {FAULT_HEADER: fault.name})
        answer = connection.getresponse()
        status, kind = answer.status, answer.headers["Content-Type"]
        try:
            while part := answer.read1(65536):
                raw += part
            end = "done" if answer.length in (None, 0) and not answer.will_close else "closed"
        except TimeoutError:
            end = "open"
        except http.client.IncompleteRead as error:
            raw, end = raw + error.partial, "closed"
        except ConnectionResetError:
            end = "reset"
    except TimeoutError:
        return Seen(0, "", b"", "open")
    except http.client.RemoteDisconnected:
        return Seen(0, "", b"", "closed")
    except ConnectionResetError:
        return Seen(0, "", b"", "reset")
    finally:
        connection.close()
    return Seen(status, kind, raw, end)


def finishes(seen: Seen) -> list[str]:
    choices = [c for event in events_of(seen.raw) if isinstance(event, dict) for c in event.get("choices", ())]
    return [choice["finish_reason"] for choice in choices if choice["finish_reason"]]


def outputs(seen: Seen) -> int:
    return len(text_of(seen.raw).split())


CHECKS: dict[str, Any] = {
    "rate_limited": lambda s: s.status == 429 and json.loads(s.raw)["error"] and s.end == "done",
    "server_error": lambda s: s.status == 500 and json.loads(s.raw)["error"],
    "unavailable": lambda s: s.status == 503 and json.loads(s.raw)["error"],
    "html_error": lambda s: (
        s.status == 502 and s.kind.startswith("text/html") and s.raw.startswith(b"<!DOCTYPE")
    ),  # NET-7
    "html_ok": lambda s: s.status == 200 and s.kind.startswith("text/html"),
    "reset_early": lambda s: s == Seen(0, "", b"", "reset"),
    "close_early": lambda s: s == Seen(0, "", b"", "closed"),
    "empty_stream": lambda s: events_of(s.raw) == ["[DONE]"] and s.end == "done",
    "stream_error_first": lambda s: "error" in events_of(s.raw)[0] and outputs(s) == 0,  # SSE-7
    "reset": lambda s: s.status == 200 and s.end == "reset" and not finishes(s),
    "truncated": lambda s: s.end == "closed" and outputs(s) == 6 and not s.raw.endswith(b"\n\n"),
    "cut": lambda s: s.end == "done" and outputs(s) == 6 and not finishes(s) and b"[DONE]" not in s.raw,
    "stalled": lambda s: s.end == "open" and outputs(s) == 6,  # NET-6
    "stream_error": lambda s: outputs(s) == 6 and "error" in events_of(s.raw)[-2] and not finishes(s),  # SSE-7
    "slow": lambda s: outputs(s) == 12 and finishes(s) == ["length"],
    "role_early": lambda s: outputs(s) == 12 and events_of(s.raw)[0]["choices"][0]["delta"]["role"] == "assistant",
    "crlf": lambda s: outputs(s) == 12 and s.raw.count(b"\r\n\r\n") == 16 and b"\n\n" not in s.raw,  # SSE-4
    "merged": lambda s: outputs(s) == 12 and len(events_of(s.raw)) == 1 + 3 + 3,  # TIM-6
    "comments": lambda s: (
        outputs(s) == 12 and s.raw.startswith(b": ") and s.raw.count(b": keep-alive\n\n") == 2
    ),  # SSE-5
    "no_done": lambda s: outputs(s) == 12 and b"[DONE]" not in s.raw and s.end == "done",
    "no_usage": lambda s: outputs(s) == 12 and b'"usage"' not in s.raw,
    "finish_in_last": lambda s: outputs(s) == 12 and "content" in events_of(s.raw)[-3]["choices"][0]["delta"],
}


@pytest.mark.parametrize("fault", FAULTS.values(), ids=list(FAULTS))
def test_each_fault_is_seen_as_its_row_says(sim: Served, fault: Fault) -> None:
    seen = look(sim, fault)
    assert CHECKS[fault.name](seen), seen
    if fault.kind is FaultKind.SHAPE:
        assert finishes(seen) == ["length"]
    assert sim.ask(max_tokens=1)[0] == 200


@pytest.mark.parametrize("fault", FAULTS.values(), ids=list(FAULTS))
def test_each_fault_without_streaming(sim: Served, fault: Fault) -> None:
    seen = look(sim, fault, stream=False)
    if fault.kind is FaultKind.SHAPE:
        body = json.loads(seen.raw)
        assert len(body["choices"][0]["message"]["content"].split()) == 12
        assert ("usage" in body) is (fault.name != "no_usage")
    elif fault.name == "stalled":
        assert seen == Seen(0, "", b"", "open")
    elif fault.kind is FaultKind.BREAK and fault.name != "stream_error":
        assert seen.end in ("closed", "reset")
        with pytest.raises(json.JSONDecodeError):
            json.loads(seen.raw)
    elif fault.name == "empty_stream":
        assert json.loads(seen.raw)["choices"] == []
    else:
        assert seen.status in (0, fault.status)
        assert b"choices" not in seen.raw


def test_every_fault_has_a_check() -> None:
    assert set(CHECKS) == set(FAULTS)
    assert all(name == fault.name and fault.meaning for name, fault in FAULTS.items())


@pytest.mark.parametrize("name", [name for name, fault in FAULTS.items() if fault.kind is FaultKind.BREAK])
def test_one_token_answers_can_break_too(sim: Served, name: str) -> None:  # TIM-4
    seen = look(sim, FAULTS[name], tokens=1)
    assert not finishes(seen)
    assert outputs(seen) == 0


def test_fault_by_body_field_and_by_share(sim: Served) -> None:
    assert sim.ask(**{FAULT_FIELD: "rate_limited"})[0] == 429
    shares = (FaultShare("rate_limited", 0.25), FaultShare("server_error", 0.25))
    with serving(replace(FLASH, faults=shares, seed=5)) as served:
        seen = [served.ask(max_tokens=1)[0] for _ in range(80)]
    with serving(replace(FLASH, faults=shares, seed=5)) as served:
        again = [served.ask(max_tokens=1)[0] for _ in range(80)]
    assert seen == again
    assert set(seen) == {200, 429, 500}
    assert 20 <= seen.count(200) <= 60


def test_comments_come_while_waiting_for_the_first_token() -> None:  # SSE-5
    with serving(replace(FLASH, speed=0.001)) as served:  # a step takes half a second
        raw = served.ask(headers={FAULT_HEADER: "comments"}, stream=True, max_tokens=1)[1]
    assert raw.index(b"data:") > raw.rindex(b": waiting")
    assert raw.count(b": waiting\n\n") >= 3


def test_chaos_leaves_nothing_behind(tmp_path: Path) -> None:
    """Sixty clients ask, break and leave at random; afterwards the engine is empty and every request is in the log."""
    log = tmp_path / "truth.jsonl"
    draw = random.Random(11)
    shares = tuple(FaultShare(name, 0.7 / len(FAULTS)) for name in FAULTS)
    with serving(replace(FLASH, faults=shares, truth_log=str(log))) as served:
        socks = []
        for number in range(300):
            body = json.dumps(body_for(stream=draw.random() < 0.8, max_tokens=draw.randint(1, 60))).encode()
            head = f"POST {CHAT} HTTP/1.1\r\nX-Request-Id: c{number}\r\nContent-Length: {len(body)}\r\n\r\n"
            sock = socket.create_connection(("127.0.0.1", served.port), timeout=5)
            sock.sendall(head.encode() + body)
            socks.append(sock)
            if len(socks) > 60:
                socks.pop(draw.randrange(60)).close()
        time.sleep(0.2)
        for sock in socks:
            sock.close()
        end = time.monotonic() + 5
        while served.metric("num_requests_running") + served.metric("num_requests_waiting") and time.monotonic() < end:
            time.sleep(0.02)
        assert served.metric("num_requests_running") == served.metric("num_requests_waiting") == 0
        assert served.metric("kv_cache_usage_perc") == 0
    assert set(by_name(log)) == {f"c{number}" for number in range(300)}


# --- truth ---------------------------------------------------------------------------------------------------------


def by_name(path: Path) -> dict[str, TruthLine]:
    return {line.request_id: line for line in read_truth(path)}


def watch(port: int, name: str, **fields: Any) -> list[tuple[int, int, bytes]]:
    """Send a streamed request on a raw socket; (clock before the read, clock after it, bytes) of each read."""
    body = json.dumps(body_for(stream=True, ignore_eos=True, **fields)).encode()
    head = f"POST {CHAT} HTTP/1.1\r\nX-Request-Id: {name}\r\nContent-Length: {len(body)}\r\n\r\n".encode()
    seen: list[tuple[int, int, bytes]] = []
    with socket.create_connection(("127.0.0.1", port), timeout=5) as sock:
        sock.sendall(head + body)
        while not seen or not seen[-1][2].endswith(b"0\r\n\r\n"):
            before = time.monotonic_ns()
            part = sock.recv(65536)
            seen.append((before, time.monotonic_ns(), part))
    return seen


def test_truth_log_is_what_a_raw_socket_sees(tmp_path: Path) -> None:
    log = tmp_path / "truth.jsonl"
    with serving(replace(FLASH, speed=0.05, truth_log=str(log), role_early=True)) as served:  # 10 ms a step
        begun = time.monotonic_ns()
        seen = watch(served.port, "one", max_tokens=8)
        served.ask(headers={"X-Request-Id": "refused", FAULT_HEADER: "server_error"})
        served.ask(headers={"X-Request-Id": "broken", FAULT_HEADER: "cut"}, stream=True, max_tokens=4)
        served.ask(headers={"X-Request-Id": "whole"}, max_tokens=3, ignore_eos=True)
        with socket.create_connection(("127.0.0.1", served.port), timeout=5) as sock:
            body = json.dumps(body_for(stream=True, max_tokens=500, ignore_eos=True)).encode()
            head = f"POST {CHAT} HTTP/1.1\r\nX-Request-Id: left\r\nContent-Length: {len(body)}\r\n\r\n"
            sock.sendall(head.encode() + body)
            while b'"content":"' not in sock.recv(65536).replace(b'"content":""', b""):
                pass
        time.sleep(0.05)
    lines = by_name(log)
    one = lines["one"]
    assert (one.outcome, one.output_tokens, one.finish_reason, one.status) == ("complete", 8, "length", 200)
    assert one.head_ns is not None
    assert one.role_ns is not None
    assert one.end_ns is not None
    assert begun <= one.arrived_ns <= one.read_ns <= one.head_ns <= one.role_ns < one.event_ns[0]
    assert one.event_ns == sorted(one.event_ns)
    assert one.event_ns[-1] <= one.end_ns
    assert one.step_ns[0] <= one.event_ns[0]
    assert one.step_ns[-1] <= one.event_ns[-1]
    got = [
        after for _before, after, part in seen for _ in range(part.replace(b'"content":""', b"").count(b'"content":"'))
    ]
    assert len(got) == len(one.event_ns) == 8
    assert all(sent <= read for sent, read in zip(one.event_ns, got))
    assert all(late - early >= 9_000_000 for early, late in zip(one.step_ns, one.step_ns[1:]))
    assert (lines["refused"].outcome, lines["refused"].status, lines["refused"].fault) == (
        "refused",
        500,
        "server_error",
    )
    assert (lines["broken"].outcome, len(lines["broken"].event_ns)) == ("broken", 2)
    assert (lines["whole"].outcome, lines["whole"].event_ns, lines["whole"].stream) == ("complete", [], False)
    assert lines["left"].outcome == "dropped"
    assert 0 < len(lines["left"].event_ns) < 500


def test_prefix_cache_shows_in_usage_and_truth(tmp_path: Path) -> None:
    log = tmp_path / "truth.jsonl"
    prompt = " ".join(f"w{number}" for number in range(100))
    with serving(replace(FLASH, truth_log=str(log))) as served:
        usages = [json.loads(served.ask(TEXT, prompt=prompt, max_tokens=1)[1])["usage"] for _ in range(2)]
    assert [usage["prompt_tokens_details"]["cached_tokens"] for usage in usages] == [0, 96]
    assert [line.cached_tokens for line in read_truth(log)] == [0, 96]


def test_truth_log_of_another_kind_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "x.jsonl"
    path.write_text('{"schema": "other/1"}\n')
    with pytest.raises(ValueError, match="other/1"):
        list(read_truth(path))
