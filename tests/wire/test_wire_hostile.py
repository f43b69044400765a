"""Hostile and broken bytes: never an exception out of the reader, never memory by the peer's claim, one result."""

from __future__ import annotations

import json
import random
import tracemalloc

import pytest
from wire_transcripts import (
    MADE_UP,
    STREAM_HEAD,
    capture,
    chunked,
    content,
    cut,
    finish,
    moved,
    read,
    shown,
    single,
    sse,
    stream,
    whole,
)

from wholecurve.model.record import FailureKind
from wholecurve.wire import DIALECTS, EndFinder, WireError

DEEP = "[" * 100_000 + "]" * 100_000
NESTED = '{"a":' * 900 + "1" + "}" * 900
PAYLOADS: dict[str, str] = {
    "deep list": DEEP,
    "deep objects": '{"choices":' * 100_000,
    "deep where text is wanted": '{"choices":[{"index":0,"delta":{"content":' + "[" * 900 + "]" * 900 + "}}]}",
    "deep error": '{"error":' + NESTED + "}",
    "deep text parts": '{"choices":[{"index":0,"delta":{"content":' + '[{"text":' * 400 + '""' + "}]" * 400 + "}}]}",
    "huge int": '{"choices":[{"index":' + "9" * 10_000 + "}]}",
    "huge int as error": '{"error":{"message":"x","code":' + "9" * 30 + "}}",
    "huge float": '{"usage":{"completion_tokens":1e400,"prompt_tokens":1e300}}',
    "not a number": '{"usage":{"completion_tokens":NaN}}',
    "lone surrogate": '{"choices":[{"index":0,"delta":{"content":"\\ud800"}}]}',
    "nul": '{"choices":[{"index":0,"delta":{"content":"\\u0000\x00"}}]}',
    "nul escaped": '{"choices":[{"index":0,"delta":{"content":"\\u0000"}}]}',
    "index below zero": '{"choices":[{"index":-1,"delta":{"content":"x"}}]}',
    "index a string": '{"choices":[{"index":"0","delta":{"content":"x"}}]}',
    "highest index": '{"choices":[{"index":9007199254740991,"delta":{"content":"x"}}]}',
    "tool at a high index": '{"choices":[{"index":0,"delta":{"tool_calls":[{"index":9007199254740991,"id":7}]}}]}',
    "wrong types": '{"choices":[{"index":0,"delta":{"content":7,"reasoning":{},"tool_calls":{},"refusal":[]}}]}',
    "wrong types in tools": '{"choices":[{"index":0,"delta":{"tool_calls":[null,7,{"function":7}]}}],"usage":"x"}',
    "choices an object": '{"choices":{"index":0}}',
    "finish a list": '{"choices":[{"index":0,"finish_reason":["stop"]}]}',
    "finish of 1 MB": '{"choices":[{"index":0,"finish_reason":"' + "s" * 1_000_000 + '"}]}',
    "meta a list": '{"text":[],"meta_info":[]}',
    "meta of wrong types": '{"text":7,"meta_info":{"finish_reason":7,"prompt_tokens":[]}}',
    "true": "true",
    "empty object": "{}",
    "two objects": '{"a":1},{"b":2}',
    "half an object": '{"a":1',
}


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize("name", PAYLOADS)
def test_payloads_become_results_and_never_exceptions(name: str, dialect: str) -> None:
    data = stream(*sse(content("a"), PAYLOADS[name], content("b"), finish(), "[DONE]"))
    answer = read([data], dialect=dialect)
    json.dumps(shown(answer) | {"usage": None}).encode()
    assert len(answer.detail or "") <= 300
    assert len(answer.finish_reason or "") <= 300
    if dialect == "openai-chat":
        assert answer.text.startswith("a")
        assert answer.text.endswith("b")
    read([whole(PAYLOADS[name].encode())], dialect=dialect, asked=False)
    read([whole(PAYLOADS[name].encode(), status="500 Oh")], dialect=dialect)
    read([whole(PAYLOADS[name].encode())], dialect=dialect)


@pytest.mark.parametrize(
    "name", ["deep list", "lone surrogate", "nul", "not a number", "two objects", "half an object"]
)
def test_what_is_no_json_is_named(name: str) -> None:
    assert read([stream(*sse(PAYLOADS[name], finish()))]).failure is FailureKind.NOT_JSON


@pytest.mark.parametrize(
    "data",
    [
        STREAM_HEAD + b"40000000\r\ndata: {",
        STREAM_HEAD + b"fffffffffffffff\r\ndata: {",
        b"HTTP/1.1 200 OK\r\nContent-Length: 1073741824\r\n\r\nabc",
        b"HTTP/1.1 500 Oh\r\nContent-Length: 999999999999999999\r\n\r\nabc",
    ],
)
def test_claimed_sizes_are_not_allocated(data: bytes) -> None:
    tracemalloc.start()
    answer = read([data], eof=True)
    finder = EndFinder()
    ended = finder.feed(data)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert answer.failure in (FailureKind.TRUNCATED, FailureKind.HTTP_STATUS, FailureKind.NOT_STREAM)
    assert not ended
    assert peak < 200_000


@pytest.mark.parametrize(
    "head",
    [
        STREAM_HEAD,
        b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n\r\n",
        b"HTTP/1.1 500 Oh\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\n\r\n",
    ],
)
def test_endless_bodies_keep_no_more_than_the_limit(head: bytes) -> None:
    part = b"x" * 50_000
    parts = [head] + [chunked([part], last=b"") if b"chunked" in head else part] * 400  # 20 MB
    tracemalloc.start()
    answer = read(parts, eof=True, limit=100_000)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert answer.failure is not None
    assert peak < 2_000_000


def mutated(data: bytes, source: random.Random) -> bytes:
    """A few bytes changed, taken out, put in or doubled."""
    found = bytearray(data)
    for _ in range(source.choice((1, 1, 2, 6))):
        at = source.randrange(len(found))
        way = source.randrange(5)
        if way == 0:
            found[at] = source.randrange(256)
        elif way == 1:
            found[at] = source.choice(b'\r\n\x00:{}[]",\\ 0fF')
        elif way == 2:
            del found[at : at + source.choice((1, 2, 30))]
        elif way == 3:
            found[at:at] = source.choice((b"\r\n", b"\n", b"\n\n", b"data: ", b"0\r\n\r\n", b"\xef\xbb\xbf", b'"'))
        else:
            found[at:at] = found[at : at + source.choice((1, 5, 100))]
        if not found:
            return b"x"
    return bytes(found)


@pytest.mark.parametrize("seed", range(12))
def test_broken_answers_read_the_same_on_both_paths(seed: int) -> None:
    """What is broken is broken in the same way however it is cut: quick path, templates, general path, EndFinder."""
    source = random.Random(seed)
    names = ["vllm-tiny.chat-one-token", "vllm-tiny.chat-continuous-usage", "llamacpp-tiny.chat-stop-string"]
    sources = [capture(name) for name in names] + [data for data in MADE_UP.values() if data]
    for _ in range(40):
        data = mutated(source.choice(sources), source)
        eof = source.random() < 0.5
        base = read(single(data), eof=eof, limit=512)
        for places in ([], [source.randrange(1, len(data) + 1) for _ in range(source.choice((1, 4, 20)))]):
            parts = cut(data, [place for place in places if place < len(data)])
            assert shown(read(parts, eof=eof, limit=512)) == moved(base, parts), (data, places)
            finder, broken = EndFinder(), False
            try:
                for part in parts:
                    finder.feed(part)
            except WireError:
                broken = True
            if not broken:
                assert finder.ended == base.ended or eof
