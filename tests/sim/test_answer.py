"""What is asked for, what is answered, and the bytes of it."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tokenizers import Tokenizer

from wholecurve.sim import PROFILES, WORDS
from wholecurve.sim.answer import Answer, decide_answer
from wholecurve.sim.ask import Ask, Refusal, read_ask
from wholecurve.sim.events import Envelope, Form, role_event, tail_events, token_events, whole_body
from wholecurve.sim.words import block_hashes, split_tokens, word_sequence

ENGINE = PROFILES["small"]
WORD_LIST = word_sequence(3)
TOOL = {"type": "function", "function": {"name": "look_up", "parameters": {}}}


def ask(*, chat: bool = True, **fields: Any) -> Ask:
    start: dict[str, Any] = {"model": "sim"}
    start |= {"messages": [{"role": "user", "content": "say some words"}]} if chat else {"prompt": "say some words"}
    return read_ask(json.dumps(start | fields).encode(), chat=chat, models=("sim",), engine=ENGINE)


def envelope(asked: Ask, answer: Answer, **form: Any) -> Envelope:
    return Envelope(asked, answer, Form(**form), "chatcmpl-1", 1, WORD_LIST, lambda: 5)


def payloads(raw: bytes, line_end: bytes = b"\n") -> list[Any]:
    """Take chunked coding apart, then events; comments are left out."""
    body = b""
    while raw:
        size, _, raw = raw.partition(b"\r\n")
        body += raw[: int(size, 16)]
        assert raw[int(size, 16) : int(size, 16) + 2] == b"\r\n"
        raw = raw[int(size, 16) + 2 :]
    assert body.endswith(line_end * 2)
    events = [event for event in body.split(line_end * 2) if event and not event.startswith(b":")]
    assert all(event.startswith(b"data: ") for event in events)
    return [event[6:].decode() if event == b"data: [DONE]" else json.loads(event[6:]) for event in events]


def collect(events: list[Any]) -> dict[str, Any]:
    """Join the deltas of a chat stream."""
    found: dict[str, Any] = {"text": "", "reasoning": "", "name": "", "arguments": "", "finish": None}
    for event in events:
        for choice in event["choices"] if isinstance(event, dict) else ():
            delta = choice.get("delta", {})
            found["text"] += delta.get("content") or choice.get("text") or ""
            found["reasoning"] += delta.get("reasoning_content") or ""
            for call in delta.get("tool_calls", ()):
                found["name"] += call["function"].get("name", "")
                found["arguments"] += call["function"]["arguments"]
            found["finish"] = choice["finish_reason"] or found["finish"]
    return found


def test_words_are_one_token_each_with_and_without_a_space() -> None:
    tokenizer = Tokenizer.from_file(str(Path(__file__).parents[1] / "assets" / "tokenizer" / "tokenizer.json"))
    for word in WORDS:
        assert len(tokenizer.encode(word, add_special_tokens=False).ids) == 1, word
        assert len(tokenizer.encode(f" {word}", add_special_tokens=False).ids) == 1, word
    asked = ask()
    answer = Answer(60, 0, None, "stop", 17)
    text = collect(payloads(b"".join(token_events(envelope(asked, answer)))))["text"]
    assert len(tokenizer.encode(text, add_special_tokens=False).ids) == 60


FORMS: list[dict[str, Any]] = [
    {},
    {"crlf": True},
    {"tokens_per_event": 4},
    {"comments": True},
    {"finish_in_last": True},
    {"done": False},
    {"usage": False},
]


@pytest.mark.parametrize("form", FORMS, ids=str)
@pytest.mark.parametrize("continuous", [False, True])
@pytest.mark.parametrize("tool", [None, "look_up"])
@pytest.mark.parametrize("tokens", [6, 1, 25])
def test_stream_and_whole_body_say_the_same(
    form: dict[str, Any], continuous: bool, tool: str | None, tokens: int
) -> None:  # SSE-4, SSE-5, SSE-9, TIM-6, TOK-6
    asked = ask(stream_options={"include_usage": True, "continuous_usage_stats": continuous}, tools=[TOOL])
    answer = Answer(tokens, min(tokens - 1, 2), tool, "length" if tokens == 1 else "stop", 16_380)
    sealed = envelope(asked, answer, **form)
    line_end = b"\r\n" if form.get("crlf") else b"\n"
    pieces = list(token_events(sealed))
    assert len(pieces) == tokens
    tail = tail_events(sealed)
    assert tail.endswith(b"0\r\n\r\n")
    rest = tail.removesuffix(b"0\r\n\r\n")
    events = payloads(role_event(sealed) + b"".join(pieces) + rest, line_end)
    streamed = collect(events)
    body = json.loads(whole_body(sealed))
    message = body["choices"][0]["message"]
    assert streamed["text"] == (message["content"] or "")
    assert streamed["reasoning"] == message.get("reasoning_content", "")
    assert streamed["finish"] == body["choices"][0]["finish_reason"] == answer.finish_reason
    if tool:
        function = message["tool_calls"][0]["function"]
        assert (streamed["name"], streamed["arguments"]) == (function["name"], function["arguments"])
    assert (events[-1] == "[DONE]") is form.get("done", True)
    usage = [event["usage"] for event in events if isinstance(event, dict) and "usage" in event]
    if form.get("usage", True):
        assert usage[-1] == body["usage"]
        assert usage[-1]["completion_tokens"] == tokens
        assert usage[-1]["prompt_tokens_details"] == {"cached_tokens": 5}
        assert len(usage) > 1 if continuous else len(usage) == 1
        assert [entry["completion_tokens"] for entry in usage] == sorted(entry["completion_tokens"] for entry in usage)
    else:
        assert usage == []


def test_merged_events_hold_several_tokens() -> None:
    pieces = list(token_events(envelope(ask(), Answer(10, 0, None, "stop", 0), tokens_per_event=4)))
    assert [bool(part) for part in pieces] == [False, False, False, True] * 2 + [False, True]


def test_completions_have_no_role_and_use_text() -> None:
    asked = ask(chat=False)
    sealed = envelope(asked, Answer(3, 0, None, "stop", 0))
    assert role_event(sealed) == b""
    events = payloads(b"".join(token_events(sealed)))
    assert events[0]["object"] == "text_completion"
    assert collect(events)["text"] == json.loads(whole_body(sealed))["choices"][0]["text"]


def decide(asked: Ask, *, seed: int = 0, to_limit: bool = False, **profile: Any) -> Answer:
    return decide_answer(asked, replace(ENGINE, **profile), seed=seed, to_limit=to_limit)


def test_the_same_prompt_gives_the_same_answer() -> None:
    assert decide(ask()) == decide(ask())
    assert decide(ask()) != decide(ask(), seed=1)
    assert decide(ask()) != decide(ask(messages=[{"role": "user", "content": "else"}]))


def test_limits_and_ends() -> None:  # DAT-8, CLI-6
    natural = decide(ask())
    assert natural.finish_reason == "stop"
    cut = decide(ask(max_tokens=2))
    assert (cut.tokens, cut.finish_reason) == (2, "length")
    assert decide(ask(max_completion_tokens=3, max_tokens=9)).tokens == 3
    for asked, to_limit in ((ask(max_tokens=900, ignore_eos=True), False), (ask(max_tokens=900), True)):
        answer = decide(asked, to_limit=to_limit)
        assert (answer.tokens, answer.finish_reason) == (900, "length")
    longer = decide(ask(min_tokens=natural.tokens + 7))
    assert (longer.tokens, longer.finish_reason) == (natural.tokens + 7, "stop")
    assert decide(ask(max_tokens=natural.tokens)).finish_reason == "stop"
    assert decide(ask(), output_max=1).tokens == 1


def test_lengths_follow_the_distribution() -> None:
    lengths = sorted(decide(ask(messages=[{"role": "user", "content": f"p{number}"}])).tokens for number in range(400))
    assert 0.75 * ENGINE.output_median < lengths[200] < 1.3 * ENGINE.output_median
    assert lengths[0] >= 1
    assert lengths[-1] <= ENGINE.output_max


def test_tools_and_reasoning() -> None:
    asked = ask(tools=[TOOL])
    assert decide(asked, tool_share=0.0).tool is None
    call = decide(asked, tool_share=1.0, reasoning_share=0.5, output_median=40, output_sigma=0.0)
    assert (call.tool, call.finish_reason, call.tokens, call.reasoning) == ("look_up", "tool_calls", 40, 20)
    found = collect(payloads(b"".join(token_events(envelope(asked, call)))))
    assert found["name"] == "look_up"
    assert len(json.loads(found["arguments"])["query"].split()) == 40 - 20 - 3
    assert decide(ask(tools=[TOOL], tool_choice="required"), tool_share=0.0).tool == "look_up"
    named = ask(tools=[TOOL], tool_choice={"type": "function", "function": {"name": "look_up"}})
    assert decide(named, tool_share=0.0).tool == "look_up"
    assert decide(ask(tools=[TOOL], tool_choice="none"), tool_share=1.0).tool is None
    assert decide(ask(), tool_share=1.0).tool is None


REFUSED: list[tuple[str, dict[str, Any], int, str]] = [
    ("chat", {"model": "other"}, 404, "does not exist"),
    ("chat", {"model": None}, 400, "model"),
    ("chat", {"messages": []}, 400, "messages"),
    ("chat", {"messages": ["x"]}, 400, "role"),
    ("chat", {"messages": [{"role": "user", "content": 5}]}, 400, "content"),
    ("chat", {"max_tokens": 0}, 400, "max_tokens"),
    ("chat", {"max_completion_tokens": True}, 400, "max_completion_tokens"),
    ("chat", {"min_tokens": -1}, 400, "min_tokens"),
    ("chat", {"n": 2}, 400, "n = 1"),
    ("chat", {"stream_options": 3}, 400, "stream_options"),
    ("chat", {"tools": [{}]}, 400, "tools"),
    ("chat", {"tools": [TOOL], "tool_choice": {"function": {"name": "x"}}}, 400, "tool_choice"),
    ("chat", {"max_tokens": 10**6}, 400, "maximum context length"),
    ("completions", {"prompt": "x " * 40_000}, 400, "maximum context length"),
    ("completions", {"prompt": ""}, 400, "empty"),
    ("completions", {"prompt": ["two", "texts"]}, 400, "prompt"),
]


@pytest.mark.parametrize(("api", "fields", "status", "words"), REFUSED)
def test_refusals(api: str, fields: dict[str, Any], status: int, words: str) -> None:
    with pytest.raises(Refusal, match=words) as caught:
        ask(chat=api == "chat", **fields)
    assert caught.value.status == status


@pytest.mark.parametrize("body", [b"", b"{", b"[1]", b"\xff"])
def test_bodies_that_are_no_object(body: bytes) -> None:
    with pytest.raises(Refusal):
        read_ask(body, chat=True, models=(), engine=ENGINE)


def test_prompts_are_counted_and_hashed() -> None:
    assert split_tokens("a bb  ccccccccdd") == ["a", "bb", "cccccccc", "dd"]
    assert ask(chat=False, prompt="a b c").prompt_tokens == 3
    assert ask(chat=False, prompt=[5, 6]).prompt_tokens == 2
    assert ask(messages=[{"role": "user", "content": "a b"}]).prompt_tokens == 2 + 4 + 3
    parts = [{"type": "text", "text": "a b"}, {"type": "image_url", "image_url": {"url": "data:"}}]
    assert ask(messages=[{"role": "user", "content": parts}]).prompt_tokens == 4 + 4 + 3  # `image_url` is two
    with_tools = ask(tools=[TOOL])
    assert with_tools.prompt_tokens > ask().prompt_tokens  # TOK-7
    one, two = block_hashes("abcdefgh", 4), block_hashes("abcdXfgh", 4)
    assert one[0] == two[0]
    assert one[1] != two[1]
    assert block_hashes("Xbcdefgh", 4)[1] != one[1]
    assert len(block_hashes("abcdefg", 4)) == 1


ANYTHING = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-3, 70_000)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["role", "content", "function", "name", "text", "type"]), inner, max_size=3)
    ),
    max_leaves=6,
)
FIELDS = (
    "messages",
    "prompt",
    "max_tokens",
    "max_completion_tokens",
    "min_tokens",
    "n",
    "stream",
    "stream_options",
    "tools",
    "tool_choice",
    "ignore_eos",
    "sim_fault",
)


@settings(max_examples=300, deadline=None)
@given(st.dictionaries(st.sampled_from(FIELDS), ANYTHING, max_size=4), st.booleans(), st.text(max_size=3))
def test_any_body_is_answered_or_refused(fields: dict[str, Any], chat: bool, model: str) -> None:
    start: dict[str, Any] = {"messages": [{"role": "user", "content": "x"}], "prompt": "x", "model": model}
    try:
        asked = read_ask(json.dumps(start | fields).encode(), chat=chat, models=(), engine=ENGINE)
    except Refusal:
        return
    answer = decide_answer(asked, ENGINE, seed=0, to_limit=False)
    assert 1 <= answer.tokens <= ENGINE.context_limit - asked.prompt_tokens
    assert 0 <= answer.reasoning < answer.tokens
    sealed = envelope(asked, replace(answer, tokens=min(answer.tokens, 20), reasoning=0))
    assert payloads(b"".join(token_events(sealed)))
    assert json.loads(whole_body(sealed))["model"] == model
