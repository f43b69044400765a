"""What an answer means: the pitfalls of streams and of timing, and the table of successes and failures, row by row."""

from __future__ import annotations

import json
from itertools import pairwise
from typing import Any

import pytest
from wire_transcripts import (
    MADE_UP,
    STREAM_HEAD,
    WORDS,
    chunked,
    content,
    cut,
    finish,
    read,
    sse,
    stream,
    whole,
)

from wholecurve.model.record import FailureKind as Kind
from wholecurve.wire import DIALECTS, Answer, AnswerReader, Usage
from wholecurve.wire.verdict import RULES

MS = 1_000_000
USAGE = {"prompt_tokens": 7, "completion_tokens": 3}


def timed(*reads: tuple[float, list[bytes]], dialect: str = "openai-chat") -> Answer:
    """A stream whose events come at times in ms."""
    reader = AnswerReader(DIALECTS[dialect], stream=True, max_event_bytes=1 << 20)
    reader.feed(STREAM_HEAD, 0)
    for at, events in reads:
        reader.feed(chunked(events, last=b""), round(at * MS))
    reader.feed(b"0\r\n\r\n", round(reads[-1][0] * MS))
    return reader.finish(eof=False)


def ms(value: int | None) -> float | None:
    return None if value is None else value / MS


def test_sse_1_event_cut_between_two_reads() -> None:
    data = stream(b'data: {"choices":[{"index":0,"delta":{"content":"a b"}}]}\n\ndata: [DONE]\n\n')
    for place in range(1, len(data)):
        answer = read(cut(data, [place]))
        assert (answer.text, answer.n_events, answer.n_output_events, answer.failure) == ("a b", 2, 1, None)


def test_sse_2_several_events_in_one_read() -> None:
    answer = timed((5, sse(content("a"), content(" b"), content(" c"), "[DONE]")))
    assert answer.text == "a b c"
    assert list(answer.output_stamps) == [5 * MS] * 3
    assert answer.first_text == "a"


@pytest.mark.parametrize("start", [b"data:", b"data: ", b"data:  "])
def test_sse_3_space_after_the_field_name(start: bytes) -> None:
    event = start + b'{"choices":[{"index":0,"delta":{"content":"x"}}]}\n\n'
    assert read([stream(event, *WORDS[-2:])]).text == "x"


def test_sse_4_line_ends() -> None:
    """Same text, counts and times for LF, CR LF and CR."""
    answers = [
        timed(*((at * 20, [part.replace(b"\n", end)]) for at, part in enumerate(WORDS)))
        for end in (b"\n", b"\r\n", b"\r")
    ]
    assert answers[0].text == 'Grüße 世界 \U0001f600 "quoted"\n'
    facts = [(a.text, a.n_events, a.n_output_events, list(a.output_stamps), a.failure) for a in answers]
    assert facts[1:] == facts[:1] * 2


def test_sse_5_comments() -> None:
    pings = [(100.0 * at, [b": ping\n\n"]) for at in range(1, 20)]
    answer = timed(
        *pings, (2000, sse(content("a"))), (2010, [b": " + b"x" * 4092 + b"\n"]), (2020, sse(content("b"), "[DONE]"))
    )
    assert (ms(answer.first_output_ns), answer.text, answer.n_output_events) == (2000, "ab", 2)
    assert answer.n_events == 3
    assert answer.failure is None


@pytest.mark.parametrize(
    "delta", [{"role": "assistant", "content": ""}, {"role": "assistant", "content": None}, {"role": "a"}]
)
def test_sse_6_role_only_chunk_is_no_output(delta: dict[str, Any]) -> None:
    role = {"choices": [{"index": 0, "delta": delta}]}
    answer = timed((10, sse(role)), (500, sse(content("a"))), (520, sse(content("b"), finish())))
    assert (ms(answer.first_output_ns), ms(answer.first_byte_ns)) == (500, 0)
    assert list(answer.output_stamps) == [500 * MS, 520 * MS]
    assert answer.n_events == 4


@pytest.mark.parametrize("before", [0, 3])
@pytest.mark.parametrize(
    ("error", "words"),
    [
        ({"error": {"message": "out of cache", "code": 500}}, "out of cache (code 500)"),
        ({"error": "out of cache"}, "out of cache"),
        ({"object": "error", "message": "out of cache", "type": "Oops"}, "out of cache (type Oops)"),
        ({"detail": "out of cache"}, "out of cache"),
        ({"error": {"reason": 7}}, '{"reason":7}'),
        ({"error": ["out"]}, '["out"]'),
        ({"choices": [], "error": {"message": "out of cache"}}, "out of cache"),
        (content("") | {"error": {"message": "out of cache"}}, "out of cache"),
    ],
)
def test_sse_7_error_object_inside_a_stream(before: int, error: dict[str, Any], words: str) -> None:
    answer = read([stream(*sse(*[content("x")] * before, error, "[DONE]"))])
    assert (answer.failure, answer.detail) == (Kind.STREAM_ERROR, words)
    assert (answer.text, answer.n_output_events) == ("x" * before, before)
    assert (answer.first_output_ns is None) == (before == 0)


def test_an_event_named_error_is_an_error() -> None:
    answer = read([MADE_UP["error event"]])
    assert (answer.failure, answer.detail, answer.text) == (Kind.STREAM_ERROR, "gone", "Grüße")


def test_an_error_of_null_is_none() -> None:
    assert read([stream(*sse(content("a") | {"error": None, "detail": None}, finish()))]).failure is None


def test_sse_8_explicit_nulls() -> None:
    deltas = [{"tool_calls": None, "content": "a"}, {"content": None}, {}, None]
    events = [{"choices": [{"index": 0, "delta": delta, "finish_reason": None}], "usage": None} for delta in deltas]
    answer = read([stream(*sse(*events, {"choices": []}, {"choices": None}, {"choices": [None]}, {}, finish()))])
    assert (answer.text, answer.n_output_events, answer.failure) == ("a", 1, None)


def test_sse_9_usage_with_empty_choices() -> None:
    end = {"choices": [], "usage": USAGE}
    answer = timed((1, sse(content("a"))), (2, sse(content("b"), finish())), (9, sse(end)), (10, sse("[DONE]")))
    assert answer.usage == Usage(7, 3)
    assert (list(answer.output_stamps), ms(answer.last_output_ns)) == ([MS, 2 * MS], 2)
    assert answer.choices_seen == 1


def test_sse_10_a_very_long_event() -> None:
    big = "x" * (3 << 20)
    parts = cut(stream(*sse(content("a"), content(big), content("b"), finish())), range(60000, 3 << 20, 65536))
    assert read(parts, limit=16 << 20).text == f"a{big}b"
    answer = read(parts, limit=1 << 20)
    assert (answer.failure, answer.text) == (Kind.EVENT_TOO_LARGE, "ab")
    size = len(sse(content(big))[0])
    assert answer.detail == f"an event of {size} bytes, the limit is {1 << 20}"


def test_net_7_html_page() -> None:
    page = b"<html><head><title>502 Bad Gateway</title></head>\r\n<body>" + b"<p>nginx   says</p>\n" * 9000
    answer = read([whole(page, status="502 Bad Gateway", kind="text/html")])
    assert (answer.status, answer.failure, answer.ended) == (502, Kind.HTTP_STATUS, True)
    assert answer.detail is not None
    assert answer.detail.startswith("502 Bad Gateway: 502 Bad Gateway nginx says nginx says")
    assert len(answer.detail) <= 300
    answer = read([whole(page, kind="text/html")])
    assert answer.failure is Kind.NOT_STREAM
    assert (answer.detail or "").startswith("text/html: 502 Bad Gateway nginx says")


def test_tim_2_no_output_is_none_and_never_zero() -> None:
    answer = read(
        [stream(*sse(finish(), {"choices": [], "usage": {"prompt_tokens": 5, "completion_tokens": 0}}, "[DONE]"))]
    )
    assert answer.failure is Kind.EMPTY
    assert answer.detail == "no output; finish reason stop, usage.output 0"
    assert (answer.first_output_ns, answer.first_visible_ns, answer.last_output_ns) == (None, None, None)


def test_tim_3_stamps_count_what_came_not_what_was_asked() -> None:
    answer = timed(*((500 + 100 * at, sse(content(f" {at}"))) for at in range(11)), (1510, sse(finish(), "[DONE]")))
    assert answer.first_output_ns is not None
    assert answer.last_output_ns is not None
    assert answer.last_output_ns - answer.first_output_ns == 1000 * MS
    assert answer.n_output_events == 11


def test_tim_5_usage_and_end_mark_are_not_decode_time() -> None:
    reads = [(500 + 100 * at, sse(content(" w"))) for at in range(11)]
    answer = timed(*reads, (3500, sse({"choices": [], "usage": USAGE}, "[DONE]")))
    assert (ms(answer.last_output_ns), ms(answer.last_byte_ns), answer.n_events) == (1500, 3500, 13)


def test_tim_6_an_event_is_not_a_token() -> None:
    reads = [(40 * at, sse(content(" a b c d"))) for at in range(1, 26)]
    answer = timed(*reads, (1000, sse(finish("length"), {"choices": [], "usage": {"completion_tokens": 100}})))
    assert answer.usage == Usage(output=100)
    assert answer.n_output_events == 25
    stamps = answer.output_stamps
    assert {later - earlier for earlier, later in pairwise(stamps)} == {40 * MS}
    assert answer.first_text == " a b c d"


@pytest.mark.parametrize("key", ["reasoning", "reasoning_content"])
def test_tim_9_reasoning_and_first_visible_token(key: str) -> None:
    thoughts = [(at, sse({"choices": [{"index": 0, "delta": {key: " hm"}}]})) for at in range(200, 5001, 400)]
    answer = timed(*thoughts, (5200, sse(content("yes"))), (5220, sse(finish())))
    assert (ms(answer.first_output_ns), ms(answer.first_visible_ns), ms(answer.last_output_ns)) == (200, 5200, 5200)
    assert (answer.reasoning, answer.text) == (" hm" * 13, "yes")
    assert (answer.first_reasoning, answer.first_text) == (" hm", "")


def test_both_reasoning_fields_are_one_text_and_content_beside_them_is_kept() -> None:
    delta = {"reasoning": "a", "reasoning_content": "a", "content": "b"}
    answer = read([stream(*sse({"choices": [{"index": 0, "delta": delta}]}, finish()))])
    assert (answer.reasoning, answer.text, answer.n_output_events) == ("a", "b", 1)


def test_tok_6_running_usage_is_not_added_up() -> None:
    events = [content(" w") | {"usage": {"prompt_tokens": 5, "completion_tokens": count}} for count in (1, 4, 5, 99)]
    assert read([stream(*sse(*events, finish()))]).usage == Usage(5, 99)


@pytest.mark.parametrize(
    ("usage", "wanted"),
    [
        ({"prompt_tokens": 5, "completion_tokens": 2.0, "total_tokens": 7}, Usage(5, 2)),
        ({"prompt_tokens_details": {"cached_tokens": 4}, "completion_tokens_details": None}, Usage(cached=4)),
        ({"completion_tokens": 9, "completion_tokens_details": {"reasoning_tokens": 3}}, Usage(output=9, reasoning=3)),
        ({"completion_tokens": 9, "reasoning_tokens": 3}, Usage(output=9, reasoning=3)),
        ({"prompt_tokens": None, "completion_tokens": "9"}, None),
        ({"prompt_tokens": -1, "completion_tokens": True}, None),
        ({"completion_tokens": 10**18, "prompt_tokens": 0.5}, None),
        ([], None),
        (7, None),
    ],
)
def test_usage_in_all_its_forms(usage: object, wanted: Usage | None) -> None:
    assert read([stream(*sse(content("a") | {"usage": usage}, finish()))]).usage == wanted


def tool(**piece: Any) -> dict[str, Any]:
    return {"choices": [{"index": 0, "delta": {"tool_calls": [piece]}}]}


def test_tool_calls_are_put_together_by_index() -> None:
    events = [
        tool(index=0, id="a", type="function", function={"name": "f", "arguments": ""}),
        tool(index=0, function={"arguments": '{"x":'}),
        tool(index=1, id="b", function={"name": "g", "arguments": "{"}),
        tool(index=0, function={"arguments": "1}"}),
        tool(index=1, function={"arguments": "}"}),
        tool(index=1, id="b"),
        finish("tool_calls"),
    ]
    answer = read([stream(*sse(*events))])
    assert answer.tool_calls == [
        {"id": "a", "type": "function", "function": {"name": "f", "arguments": '{"x":1}'}},
        {"id": "b", "type": "function", "function": {"name": "g", "arguments": "{}"}},
    ]
    assert (answer.n_output_events, answer.first_tool, answer.first_visible_ns) == (5, "", None)


def test_tool_calls_without_index_and_repeated_names() -> None:
    events = [
        tool(id="a", function={"name": "f", "arguments": "{"}),
        tool(function={"arguments": "}"}),
        tool(id="b", function={"name": "g", "arguments": {"y": 2}}),
        tool(function={"name": "h", "arguments": "1"}),
    ]
    calls = read([stream(*sse(*events, finish("tool_calls")))]).tool_calls
    shown = [(call["id"], call["function"]["name"], call["function"]["arguments"]) for call in calls]
    assert shown == [("a", "f", "{}"), ("b", "g", '{"y":2}'), ("", "h", "1")]
    both = {"function_call": {"name": "f", "arguments": "1"}}
    both["tool_calls"] = [{"index": 0, "id": "a", "function": {"name": "f", "arguments": "1"}}]
    answer = read([stream(*sse(*[{"choices": [{"index": 0, "delta": both}]}] * 2, finish()))])
    assert [call["function"] for call in answer.tool_calls] == [{"name": "f", "arguments": "11"}]
    assert answer.first_tool == "1"


def test_old_function_calls_and_refusals() -> None:
    old = {"choices": [{"index": 0, "delta": {"function_call": {"name": "f", "arguments": "{}"}}}]}
    assert read([stream(*sse(old, finish("function_call")))]).tool_calls[0]["function"]["name"] == "f"
    answer = read([stream(*sse({"choices": [{"index": 0, "delta": {"refusal": "no"}}]}, finish()))])
    assert (answer.refusal, answer.text, answer.failure) == ("no", "", None)
    assert answer.first_visible_ns == answer.first_output_ns is not None


def test_only_the_first_choice_counts_and_others_are_recorded() -> None:
    def of(index: int | None, text: str) -> dict[str, Any]:
        choice = {"delta": {"content": text}} | ({} if index is None else {"index": index})
        return {"choices": [choice]}

    answer = read([stream(*sse(of(1, "b"), of(0, "a"), of(1, "b"), of(None, "c"), of(2, "d"), finish()))])
    assert (answer.text, answer.n_output_events, answer.choices_seen) == ("ac", 2, 3)


def test_content_as_a_list_of_parts() -> None:
    parts = [{"type": "text", "text": "a"}, {"type": "image"}, None, {"type": "text", "text": "b"}]
    answer = read([stream(*sse({"choices": [{"index": 0, "delta": {"content": parts}}]}, finish()))])
    assert answer.text == "ab"


def full(**message: Any) -> bytes:
    choice = {"index": 0, "message": {"role": "assistant", **message}, "finish_reason": "stop"}
    return json.dumps({"choices": [choice], "usage": USAGE}).encode()


def test_a_whole_answer_has_text_and_no_output_times() -> None:
    calls = [{"id": "a", "function": {"name": "f", "arguments": "{}"}}]
    answer = read([whole(full(content="hi", reasoning_content="hm", tool_calls=calls))], asked=False)
    assert (answer.text, answer.reasoning, answer.finish_reason, answer.usage) == ("hi", "hm", "stop", Usage(7, 3))
    assert answer.tool_calls[0]["function"] == {"name": "f", "arguments": "{}"}
    assert (answer.first_output_ns, answer.last_output_ns, len(answer.output_stamps)) == (None, None, 0)
    assert (answer.failure, answer.ended, answer.last_byte_ns) == (None, True, answer.bytes_received)


HTML = b"<!doctype html><p>hello</p>"
# what came, asked for a stream, closed by the peer -> kind, part of the detail
TABLE: list[tuple[str, bytes, bool, bool, Kind | None, str]] = [
    ("nothing", b"", True, True, Kind.CLOSED_EARLY, "before a whole answer head"),
    ("nothing, asked to end", b"", True, False, Kind.CLOSED_EARLY, "no whole answer head"),
    ("half a head", STREAM_HEAD[:40], True, True, Kind.CLOSED_EARLY, "before a whole answer head"),
    ("no http", b"hello world", True, True, Kind.PROTOCOL, "HTTP/"),
    ("bad chunk", MADE_UP["bad chunk end"], True, True, Kind.PROTOCOL, "longer than its size"),
    ("gzip", whole(b"x", kind="text/x\r\ncontent-encoding: gzip"), True, False, Kind.PROTOCOL, "gzip"),
    ("status", whole(b'{"error":{"message":"slow down"}}', status="429 Too Many"), True, False,
     Kind.HTTP_STATUS, "429 Too Many: slow down"),
    ("status, cut", whole(b"x" * 9, status="500 Oh")[:-3], True, True, Kind.HTTP_STATUS, "500 Oh: xxxxxx"),
    ("status, as a stream", whole(WORDS[0], status="503 Busy", kind="text/event-stream"), True, False,
     Kind.HTTP_STATUS, "503 Busy: data:"),
    ("redirect", whole(b"", status="307 Moved"), True, False, Kind.HTTP_STATUS, "307 Moved"),
    ("redirect, whither", whole(b"", status="302 Found", kind="a/b\r\nlocation: https://me:pw@h:1/login?token=xyz"),
     True, False, Kind.HTTP_STATUS, "302 Found: leads to https://h:1/login, and redirects are not followed"),
    ("whole answer", whole(full(content="hi")), True, False, Kind.NOT_STREAM, "application/json"),
    ("whole error", whole(b'{"error":{"message":"no"}}'), True, False, Kind.STREAM_ERROR, "no"),
    ("page", whole(HTML, kind="text/html; charset=utf-8"), True, False, Kind.NOT_STREAM, "hello"),
    ("page, plain", whole(HTML, kind="text/plain"), True, False, Kind.NOT_STREAM, "hello"),
    ("json lines", whole(b'{"a":1}\n{"b":2}', kind="application/x-ndjson"), True, False, Kind.NOT_STREAM, "ndjson"),
    ("error inside", MADE_UP["error inside"], True, False, Kind.STREAM_ERROR, "out of cache"),
    ("event not json", MADE_UP["not json"], True, False, Kind.NOT_JSON, "not JSON: {broken"),
    ("event no object", stream(*sse("[1]", content("a"), finish())), True, False, Kind.NOT_JSON, "not a JSON object"),
    ("body not json", whole(HTML), False, False, Kind.NOT_JSON, "hello"),
    ("body is an error", whole(b'{"error":"no"}'), False, False, Kind.STREAM_ERROR, "no"),
    ("body cut", whole(full(content="hi"))[:-4], False, True, Kind.TRUNCATED, "4 bytes short"),
    ("cut in an event", stream(*WORDS[:4], last=b"99\r\ndata: {"), True, True, Kind.TRUNCATED, "middle of the answer"),
    ("cut between events", stream(*WORDS[:4], last=b""), True, True, Kind.TRUNCATED, "middle of the answer"),
    ("cut, close-delimited", MADE_UP["close"][:-60], True, True, Kind.TRUNCATED, "without finish reason"),
    ("ends without finish", stream(*WORDS[:4]), True, False, Kind.TRUNCATED, "finish reason and without [DONE]"),
    ("given up by the client", stream(*WORDS, last=b""), True, False, Kind.TRUNCATED, "cut before its end"),
    ("interrupted", stream(*sse({"choices": [{"index": 0, "delta": {"role": "a"}}]}, "[DONE]")), True, False,
     Kind.EMPTY, "[DONE] came without any output"),
    ("empty stream", stream(), True, False, Kind.EMPTY, "the answer has no output"),
    ("only comments", stream(b": ping\n\n"), True, False, Kind.EMPTY, "the answer has no output"),
    ("empty body", whole(b""), False, False, Kind.EMPTY, "the answer has no output"),
    ("no content", b"HTTP/1.1 204 No Content\r\n\r\n", True, False, Kind.EMPTY, "the answer has no output"),
    ("no text", whole(full(content="").replace(b"3}", b"0}")), False, False, Kind.EMPTY, "usage.output 0"),
    # successes that look like failures
    ("last chunk missing, finish reason", stream(*WORDS[:-1], last=b""), True, True, None, ""),
    ("last chunk missing, [DONE]", stream(*WORDS[:4], WORDS[5], last=b""), True, True, None, ""),
    ("[DONE] without finish reason", stream(*WORDS[:4], WORDS[5]), True, False, None, ""),
    ("finish reason without [DONE]", stream(*WORDS[:5]), True, False, None, ""),
    ("no last blank line", MADE_UP["no last blank line"], True, False, None, ""),
    ("close-delimited", MADE_UP["close"], True, True, None, ""),
    ("no content type", MADE_UP["no content type"], True, True, None, ""),
    ("held-back token", stream(*sse(finish("length"), {"choices": [], "usage": USAGE})), True, False, None, ""),
    ("held-back token, whole", whole(full(content=None)), False, False, None, ""),
    ("blank event data", stream(*WORDS[:3], b"data:\n\n", b"data: \n\n", *WORDS[3:]), True, False, None, ""),
    ("after [DONE]", MADE_UP["after done"], True, False, None, ""),
    ("a stream that was not asked for", stream(*WORDS), False, False, None, ""),
    ("finish reason \"\" is none", stream(*sse(content("a", finish_reason=""), finish())), True, False, None, ""),
]  # fmt: skip


@pytest.mark.parametrize(
    ("data", "asked", "eof", "kind", "words"), [row[1:] for row in TABLE], ids=[row[0] for row in TABLE]
)
def test_successes_and_failures(data: bytes, asked: bool, eof: bool, kind: Kind | None, words: str) -> None:
    answer = read([data] if data else [], asked=asked, eof=eof)
    assert answer.failure is kind, answer.detail
    assert (answer.detail is None) == (kind is None)
    assert words in (answer.detail or "")
    assert len(answer.detail or "") <= 300


def test_every_rule_has_a_row() -> None:
    seen = {row[4] for row in TABLE} | {Kind.EVENT_TOO_LARGE}
    assert seen - {None} == {rule.kind for rule in RULES}


def test_what_comes_after_the_end_mark_is_not_part_of_the_answer() -> None:
    answer = read([MADE_UP["after done"]])
    assert (answer.failure, "late" in answer.text, answer.n_events, answer.n_output_events) == (None, False, 8, 4)


@pytest.mark.parametrize("end", [b"", b"\n", b"\r\n"])
def test_the_last_event_counts_without_its_blank_line(end: bytes) -> None:
    """Half an event does not."""
    last = sse(content("z", finish_reason="stop"))[0].rstrip()
    answer = read([stream(*WORDS[:4], last + end)])
    assert (answer.text[-2:], answer.finish_reason, answer.failure) == ("\nz", "stop", None)
    assert (answer.n_events, answer.last_output_ns) == (5, answer.bytes_received)
    assert read([MADE_UP["no last blank line"]]).saw_done
    answer = read([stream(*WORDS[:5], last[:-1])])
    assert (answer.text[-1:], answer.n_events, answer.failure) == ("\n", 5, None)


def test_counts_of_bytes_and_reads_and_headers() -> None:
    data = STREAM_HEAD.replace(b"\r\n\r\n", b"\r\nX-Request-Id: r1\r\nSet-Cookie: secret\r\n\r\n") + chunked(WORDS)
    answer = read(cut(data, [10, 20]))
    assert (answer.n_reads, answer.bytes_received, answer.first_byte_ns, answer.status) == (3, len(data), 10, 200)
    assert answer.headers == {"content-type": "text/event-stream", "x-request-id": "r1"}


def test_failed_answers_never_have_times_below_zero_or_after_their_end() -> None:
    """TIM-7: a missing time is None, and a partial answer's times lie inside it."""
    for name, data, asked, eof, *_ in TABLE:
        answer = read([data] if data else [], asked=asked, eof=eof)
        times = [answer.first_byte_ns, answer.first_output_ns, answer.last_output_ns, answer.last_byte_ns]
        known = [time for time in times if time is not None]
        assert known == sorted(known), name
        assert all(time > 0 for time in known), name
