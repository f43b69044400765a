"""However an answer is cut into reads, the same comes out (SSE-1, SSE-2): recorded and made-up ones, cut everywhere.

The measure is the byte-by-byte answer, which only the general path can read; so these tests also show that the quick
path and the templates change nothing. And the recorded answers are compared with a plain reading of their events.
"""

from __future__ import annotations

import json
from typing import Any

import pytest
from wire_transcripts import (
    CAPTURES,
    MADE_UP,
    capture,
    capture_names,
    chunked,
    content,
    cut,
    dialect_of,
    finish,
    moved,
    random_cuts,
    read,
    recorded_reads,
    shown,
    single,
    sse,
    stream,
)

from wholecurve.wire import AnswerReader, Delta
from wholecurve.wire.chat import ChatDialect

LIMIT = 512
SMALL = (
    "llamacpp-tiny.chat-continuous-usage",
    "llamacpppython-tiny.chat-keepalive-excerpt",
    "transformers-tiny.err-max-tokens-negative",
    "vllm-tiny.chat-one-token",
    "vllm-tiny.chat-tools-named",
    "vllm-trained.chat-answer",
)
BIG = tuple(name for name in capture_names() if name not in SMALL)


def options(name: str) -> dict[str, Any]:
    """How a recorded answer was asked for."""
    return {"dialect": dialect_of(name), "asked": "nonstream" not in name}


def assert_same(data: bytes, places: list[int], base: Any, **how: Any) -> None:
    parts = cut(data, places)
    assert shown(read(parts, **how)) == moved(base, parts), places


@pytest.mark.parametrize("name", SMALL)
def test_recorded_answers_cut_at_every_place(name: str) -> None:
    data, how = capture(name), options(name)
    base = read(single(data), **how)
    for place in range(1, len(data)):
        assert_same(data, [place], base, **how)


@pytest.mark.parametrize("name", BIG)
def test_recorded_answers_cut_at_random(name: str) -> None:
    data, how = capture(name), options(name)
    base = read(single(data), **how)
    assert shown(read([data], **how)) == moved(base, [data])
    for places in random_cuts(data, 7, 50 if len(data) < 6000 else 12):
        assert_same(data, places, base, **how)


@pytest.mark.parametrize("name", MADE_UP)
@pytest.mark.parametrize("eof", [False, True])
def test_made_up_answers_cut_at_every_place(name: str, eof: bool) -> None:
    data = MADE_UP[name]
    base = read(single(data), eof=eof, limit=LIMIT)
    for place in range(1, len(data)):
        assert_same(data, [place], base, eof=eof, limit=LIMIT)
    if len(data) > 1:
        for places in random_cuts(data, 3, 50):
            assert_same(data, places, base, eof=eof, limit=LIMIT)


@pytest.mark.parametrize("name", ["lf", "tools", "error inside", "close", "extensions and trailers"])
def test_answers_that_break_off_at_every_place(name: str) -> None:
    """A cut end is judged the same whatever path read the bytes before it."""
    data = MADE_UP[name]
    for size in range(1, len(data)):
        base = read(single(data[:size]), eof=True)
        assert shown(read([data[:size]], eof=True)) == moved(base, [data[:size]])


@pytest.mark.parametrize("path", sorted(CAPTURES.glob("*.reads.jsonl")), ids=lambda path: path.name)
def test_recorded_reads_give_the_stamps_of_their_reads(path: Any) -> None:
    """With the chunks and the cuts as they really were; each event has the stamp of its read."""
    name = path.name.removesuffix(".reads.jsonl")
    parts = recorded_reads(name)
    data = b"".join(parts)
    answer = read(parts, **options(name))
    assert answer.failure is None
    assert shown(answer) == moved(read(single(data), **options(name)), parts)
    assert answer.n_output_events > 0


def plain_reading(name: str) -> dict[str, Any]:
    """A recorded stream read without any of our code: split at blank lines, parse, add up."""
    body = (CAPTURES / f"{name}.sse").read_bytes().partition(b"\r\n\r\n")[2].decode()
    text, reasoning, finish_reason, usage, bearing, arguments = "", "", None, None, 0, ""
    for block in body.split("\n\n"):
        if not block.startswith("data: {"):
            continue
        document = json.loads(block.removeprefix("data: "))
        found = document.get("usage")
        usage = (found["prompt_tokens"], found["completion_tokens"]) if found else usage
        for choice in document.get("choices", []):
            if choice["index"] != 0:
                continue
            delta = choice.get("delta") or {"content": choice.get("text")}
            piece = delta.get("content") or ""
            thought = delta.get("reasoning_content") or delta.get("reasoning") or ""
            tool = "".join(
                (call["function"].get("name") or "") + (call["function"].get("arguments") or "")
                for call in delta.get("tool_calls") or []
            )
            arguments += "".join(c["function"].get("arguments") or "" for c in delta.get("tool_calls") or [])
            bearing += bool(piece or thought or tool)
            text, reasoning = text + piece, reasoning + thought
            finish_reason = choice.get("finish_reason") or finish_reason
    return {
        "text": text,
        "reasoning": reasoning,
        "finish_reason": finish_reason,
        "usage": usage,
        "n_output_events": bearing,
        "arguments": arguments,
        "saw_done": "data: [DONE]" in body,
    }


STREAMS = tuple(name for name in capture_names() if b"event-stream" in (CAPTURES / f"{name}.sse").read_bytes()[:600])


@pytest.mark.parametrize("name", STREAMS)
def test_recorded_streams_mean_what_a_plain_reading_finds(name: str) -> None:
    answer = read([capture(name)], **options(name))
    found = {key: getattr(answer, key) for key in ("text", "reasoning", "finish_reason", "n_output_events", "saw_done")}
    found["usage"] = (answer.usage.input, answer.usage.output) if answer.usage else None
    found["arguments"] = "".join(call["function"]["arguments"] for call in answer.tool_calls)
    assert found == plain_reading(name)


@pytest.mark.parametrize(
    ("name", "kind", "words"),
    [
        ("llamacpppython-tiny.chat-interrupted", "empty_output", "[DONE] came without any output"),
        ("llamacpppython-tiny.err-long-prompt", "empty_output", "no output"),
        ("transformers-tiny.err-max-tokens-negative", "server_stream_error", "must be greater than 0, but is -5"),
        ("transformers-tiny.chat-ignore-eos", "http_status", "422 Unprocessable Entity: Unexpected fields"),
        ("llamacpppython-tiny.err-json", "http_status", "500 Internal Server Error: Internal Server Error"),
        ("llamacpp-tiny.err-path", "http_status", "File Not Found"),
        ("vllm-tiny.err-model", "http_status", "The model `no-such-model` does not exist"),
        ("llmkatan-echo.chat-tools-auto", "not_an_event_stream", "application/json"),
    ],
)
def test_recorded_failures(name: str, kind: str, words: str) -> None:
    answer = read([capture(name)], **options(name))
    assert answer.failure == kind
    assert words in (answer.detail or "")


@pytest.mark.parametrize("name", ["llamacpp-anybytes.chat-one-token", "transformers-anybytes.chat-one-token"])
def test_a_held_back_token_is_a_success_without_output_times(name: str) -> None:
    answer = read([capture(name)])
    assert (answer.failure, answer.text, answer.first_output_ns, answer.usage and answer.usage.output) == (
        None,
        "",
        None,
        1,
    )


def test_templates_do_not_survive_what_they_do_not_fit() -> None:
    """Texts that look alike in bytes but not in JSON, after a template was learnt from the first event."""
    texts = ["a", "b", 'c"d', "e\\f", "\u2028", "\x7f", "", "g\n", "ÿ", "another text", "a", " "]
    answer = read([stream(*sse(*map(content, texts), finish()))])
    assert answer.text == "".join(texts)
    assert answer.n_output_events == len(texts) - 1
    assert answer.n_events == len(texts) + 1


RAW_MIDDLES = [
    b"\t",
    b"\x00",
    b"\n",
    b"\r",
    b"a\nb",
    b"\r\n",
    b"\n\ndata: x",
    b'"',
    b"\\",
    b'\\"',
    b"\\u0041",
    b"\\ud800",
    b"\xff",
]
RAW_MIDDLES += [
    b"\xed\xa0\x80",
    b"\xc3",
    b'","x":"',
    b'"},"x":{"content":"',
    b"\x7f",
    b"\xc2\x85",
    b"",
    b" ",
    b"data: ",
]


@pytest.mark.parametrize("middle", RAW_MIDDLES)
def test_raw_bytes_between_the_parts_of_a_template(middle: bytes) -> None:
    """Same frame, other bytes where the text stands: as they are, valid or not."""
    events = sse(*map(content, ["a", "b", "MIDDLE", "c"]), finish(), "[DONE]")
    events[2] = events[2].replace(b"MIDDLE", middle)
    data = stream(*events)
    parts = cut(data, [data.index(b"data: ") - 4])
    assert shown(read(parts)) == moved(read(single(data)), parts)


def test_a_template_is_not_learnt_from_a_look_alike() -> None:
    """The same key and value stand elsewhere in the event: only the real place may feed the text."""

    def twice(text: str) -> dict[str, Any]:
        return {"note": {"content": text}, "choices": [{"index": 0, "delta": {"content": "same"}}]}

    parts = sse(twice("same"), twice("x"), twice("same"), {"a": {"content": "y"}, **content("z")}, finish())
    assert read([stream(*parts)]).text == "samesamesamez"


@pytest.mark.parametrize(("created", "most"), [(lambda _: 1, 12), (lambda place: place // 20, 30), (lambda n: n, 220)])
def test_events_that_differ_in_text_only_are_not_parsed(created: Any, most: int) -> None:
    """The cost of an event, as a count: how often the dialect was asked about 200 events."""

    class Counting(ChatDialect):
        calls = 0

        def delta(self, payload: bytes) -> Delta:
            self.calls += 1
            return super().delta(payload)

    dialect = Counting()
    reader = AnswerReader(dialect, stream=True, max_event_bytes=1 << 20)
    parts = sse(*({"created": created(place), **content(f" {place}")} for place in range(200)), finish())
    for part in (stream(last=b""), *(chunked([part], last=b"") for part in parts), b"0\r\n\r\n"):
        reader.feed(part, 1)
    answer = reader.finish(eof=False)
    assert answer.text == "".join(f" {place}" for place in range(200))
    assert dialect.calls <= most


def test_chunks_of_any_shape_carry_the_same_events() -> None:
    parts = sse(content("one"), content(" two"), content(" three"), finish(), "[DONE]")
    body = b"".join(parts)
    head = stream().partition(b"\r\n\r\n")[0] + b"\r\n\r\n"
    for size in (1, 2, 7, 40, 63, 64, 65, 1000):
        data = head + chunked(body[at : at + size] for at in range(0, len(body), size))
        answer = read([data])
        assert (answer.text, answer.n_events, answer.failure) == ("one two three", 5, None)
        assert shown(read(cut(data, range(5, len(data), 5)))) == moved(
            read(single(data)), cut(data, range(5, len(data), 5))
        )
