"""Request bodies and SGLang's streams: which field wins, what is never sent, what cannot be carried."""

from __future__ import annotations

import json
from typing import Any

import pytest
from wire_transcripts import read, sse, stream, whole

from wholecurve.model.errors import InputError
from wholecurve.model.plan import RequestOptions
from wholecurve.model.record import FailureKind
from wholecurve.model.sample import Sample
from wholecurve.wire import DIALECTS, Dialect, Usage

PROMPT = Sample(row=4, prompt=" two  spaces\n\u2028 Grüße \U0001f600 ")
BARE = RequestOptions(stream=False, include_usage=False)


def body(name: str, sample: Sample = PROMPT, options: RequestOptions = BARE, model: str = "m") -> dict[str, Any]:
    return json.loads(DIALECTS[name].body(sample, options, model))


@pytest.mark.parametrize(("name", "dialect"), DIALECTS.items())
def test_the_table_names_what_it_holds(name: str, dialect: Dialect) -> None:
    assert dialect.name == name
    assert not dialect.path.startswith("/")
    assert dialect.delta(b"[DONE]").done
    assert dialect.delta(b' {"choices": []}').choices == 0


def test_cli_5_nothing_is_sent_that_was_not_asked_for() -> None:
    messages = [{"role": "user", "content": PROMPT.prompt}]
    assert body("openai-chat") == {"model": "m", "messages": messages, "stream": False}
    assert body("openai-completions") == {"model": "m", "prompt": PROMPT.prompt, "stream": False}
    assert body("sglang-generate") == {"text": PROMPT.prompt, "sampling_params": {}, "stream": False}


@pytest.mark.parametrize(
    ("stream_asked", "usage", "wanted"),
    [(True, True, {"include_usage": True}), (True, False, None), (False, True, None)],
)
def test_usage_is_asked_for_in_streams_only(stream_asked: bool, usage: bool, wanted: object) -> None:
    options = RequestOptions(stream=stream_asked, include_usage=usage)
    for name in ("openai-chat", "openai-completions"):
        found = body(name, options=options)
        assert (found["stream"], found.get("stream_options")) == (stream_asked, wanted)
    assert "stream_options" not in body("sglang-generate", options=options)


def test_system_text_and_prompt_become_messages_unchanged() -> None:
    sample = Sample(row=0, prompt=PROMPT.prompt, system="\tbe  brief \r\n")
    assert body("openai-chat", sample)["messages"] == [
        {"role": "system", "content": "\tbe  brief \r\n"},
        {"role": "user", "content": PROMPT.prompt},
    ]


def test_messages_tools_and_image_parts_pass_through() -> None:
    parts = [
        {"type": "text", "text": "what?"},
        {"type": "image_url", "image_url": {"url": "data:image/png;base64,AA=="}},
    ]
    messages = ({"role": "user", "content": parts}, {"role": "tool", "tool_call_id": "a", "content": None, "own": [1]})
    tools = ({"type": "function", "function": {"name": "f", "parameters": {}}},)
    found = body("openai-chat", Sample(row=0, messages=messages, tools=tools))
    assert found["messages"] == list(messages)
    assert found["tools"] == list(tools)


def test_cli_3_values_keep_their_type() -> None:
    extra = {"temperature": 0.5, "n": 2, "flag": True, "id": "007", "stop": None, "deep": {"a": [1, "1"]}}
    found = body("openai-chat", options=RequestOptions(extra_body=extra))
    assert {key: found[key] for key in extra} == extra
    raw = DIALECTS["openai-chat"].body(PROMPT, RequestOptions(extra_body=extra), "m")
    assert b'"temperature":0.5,"n":2,"flag":true,"id":"007","stop":null' in raw


def test_cli_4_and_6_settings_are_in_every_body_and_only_if_set() -> None:
    options = RequestOptions(max_tokens=9, min_tokens=9, ignore_eos=True, n=1, sampling={"seed": 3, "temperature": 0})
    wanted = {"max_tokens": 9, "min_tokens": 9, "ignore_eos": True, "n": 1, "seed": 3, "temperature": 0}
    for name in ("openai-chat", "openai-completions"):
        for row in range(3):
            found = body(name, Sample(row=row, prompt="x"), options)
            assert {key: found[key] for key in wanted} == wanted
    assert body("sglang-generate", options=options)["sampling_params"] == {
        "max_new_tokens": 9,
        "min_new_tokens": 9,
        "ignore_eos": True,
        "n": 1,
        "sampling_seed": 3,
        "temperature": 0,
    }
    assert body("openai-chat", options=RequestOptions(ignore_eos=False))["ignore_eos"] is False


def test_the_stronger_field_wins() -> None:
    """fixed < sampling < extra_body < row; `model` and `stream` by extra_body only."""
    sampling = {"n": 2, "a": 2, "b": 2, "c": 2, "model": "no", "stream": "no"}
    options = RequestOptions(n=1, sampling=sampling, extra_body={"a": 3, "b": 3})
    row = Sample(row=0, prompt="x", body={"b": 4, "stream": False, "model": "other"})
    found = body("openai-chat", row, options)
    assert [found[key] for key in ("n", "a", "b", "c", "model", "stream")] == [2, 3, 4, 2, "m", True]
    options = RequestOptions(extra_body={"model": "alias", "stream": False})
    assert [body("openai-chat", row, options)[key] for key in ("model", "stream")] == ["alias", False]


LIMITS = ("max_tokens", "max_completion_tokens")


@pytest.mark.parametrize(
    ("options", "row", "wanted"),
    [
        (RequestOptions(max_tokens=5), {}, (5, None)),
        (RequestOptions(max_tokens=5, max_tokens_field=LIMITS[1]), {}, (None, 5)),
        (RequestOptions(max_tokens=5), {"max_tokens": 7}, (7, None)),
        (RequestOptions(max_tokens=5, max_tokens_field=LIMITS[1]), {"max_tokens": 7}, (None, 7)),
        (RequestOptions(max_tokens=5), {"max_completion_tokens": 7}, (None, 7)),
        (RequestOptions(max_tokens=5), {"max_tokens": None}, (None, None)),
        (RequestOptions(max_tokens=5, extra_body={"max_completion_tokens": 6}), {}, (None, 6)),
        (RequestOptions(max_tokens_field=LIMITS[1], extra_body={"max_tokens": 6}), {}, (6, None)),
        (RequestOptions(max_tokens_field=LIMITS[1], extra_body={"max_tokens": 6}), {"max_tokens": 7}, (None, 7)),
        (RequestOptions(sampling={"max_tokens": 6}), {}, (6, None)),
    ],
)
def test_there_is_one_output_limit(options: RequestOptions, row: dict[str, Any], wanted: tuple[object, object]) -> None:
    found = body("openai-chat", Sample(row=0, prompt="x", body=row), options)
    assert tuple(found.get(name) for name in LIMITS) == wanted
    assert sum(name in found for name in LIMITS) == 1


def test_token_ids_go_out_as_they_are() -> None:
    sample = Sample(row=0, input_ids=(1, 2, 128000))
    assert body("openai-completions", sample)["prompt"] == [1, 2, 128000]
    assert body("sglang-generate", sample)["input_ids"] == [1, 2, 128000]


MESSAGES = ({"role": "user", "content": "x"},)


@pytest.mark.parametrize(
    ("name", "sample", "what"),
    [
        ("openai-chat", Sample(row=3, input_ids=(1,)), "token ids"),
        ("openai-completions", Sample(row=3, messages=MESSAGES), "messages"),
        ("openai-completions", Sample(row=3, prompt="x", system="y"), "a system text"),
        ("openai-completions", Sample(row=3, prompt="x", tools=({},)), "tools"),
        ("sglang-generate", Sample(row=3, messages=MESSAGES), "messages"),
        ("sglang-generate", Sample(row=3, prompt="x", system="y"), "a system text"),
    ],
)
def test_what_a_dialect_cannot_carry_is_refused(name: str, sample: Sample, what: str) -> None:
    with pytest.raises(InputError) as caught:
        body(name, sample)
    assert caught.value.message == f"{name} cannot carry {what}"
    assert caught.value.where == "row 3 of the data set"
    assert caught.value.hint


def test_values_without_a_json_form_are_refused() -> None:
    for value in ({1, 2}, "\ud800", 1 << 70):
        with pytest.raises(InputError, match="not JSON"):
            body("openai-chat", Sample(row=3, prompt="x", body={"a": value}))


def test_generate_knows_what_belongs_beside_the_sampling_parameters() -> None:
    row = {"rid": "r", "max_tokens": 7, "top_k": 4, "stream": False, "sampling_params": {"regex": "a+"}}
    options = RequestOptions(
        max_tokens=5, sampling={"top_k": 3}, extra_body={"sampling_params": {"top_p": 0.5}, "lora_path": "l"}
    )
    assert body("sglang-generate", Sample(row=0, prompt="x", body=row), options) == {
        "text": "x",
        "sampling_params": {"max_new_tokens": 7, "top_k": 4, "top_p": 0.5, "regex": "a+"},
        "stream": True,
        "lora_path": "l",
        "rid": "r",
    }


def generated(text: str | None, count: int, reason: object = None, **more: Any) -> dict[str, Any]:
    meta = {"id": "a", "finish_reason": reason, "prompt_tokens": 5, "completion_tokens": count, "cached_tokens": 2}
    return {"text": text, "meta_info": meta} | more


def test_generate_repeats_the_text_and_differences_are_taken() -> None:
    events = [
        generated("", 1),
        generated(" one", 2),
        generated(" one two\ufffd", 3),
        generated(" one two\ufffd", 3),
        generated(" one twoé", 4),
        generated(" one twoé", 4, {"type": "stop", "matched": 2}),
    ]
    answer = read([stream(*sse(*events, "[DONE]"))], dialect="sglang-generate")
    assert (answer.text, answer.finish_reason, answer.failure) == (" one twoé", "stop", None)
    assert answer.usage == Usage(5, 4, None, 2)
    assert (answer.n_output_events, answer.n_events, answer.first_text) == (3, 7, " one")


def test_generate_with_differences_in_the_stream() -> None:
    events = [generated(" one", 1), generated(" two", 2), generated(" one", 3, {"type": "length", "length": 3})]
    answer = read([stream(*sse(*events, "[DONE]"))], dialect="sglang-generate")
    assert (answer.text, answer.finish_reason, answer.n_output_events) == (" one two one", "length", 3)


def test_generate_errors_other_choices_and_whole_answers() -> None:
    abort = generated(" one", 1, {"type": "abort", "message": "out of memory"})
    answer = read([stream(*sse(generated(" one", 1), abort))], dialect="sglang-generate")
    assert (answer.failure, answer.detail) == (FailureKind.STREAM_ERROR, "out of memory")
    answer = read(
        [stream(*sse(generated("b", 1, index=1), generated("a", 1, "stop", index=0)))], dialect="sglang-generate"
    )
    assert (answer.text, answer.choices_seen) == ("a", 2)
    one = json.dumps(generated("a", 1, {"type": "stop"})).encode()
    for payload, choices in ((one, 1), (b"[" + one + b"," + one + b"]", 2)):
        answer = read([whole(payload)], dialect="sglang-generate", asked=False)
        assert (answer.text, answer.failure, answer.choices_seen) == ("a", None, choices)
    for payload in (b"[]", b"[1]", b"[", b"7", b"nope"):
        assert read([whole(payload)], dialect="sglang-generate", asked=False).failure is FailureKind.NOT_JSON


def test_completions_events() -> None:
    events = [{"choices": [{"index": 0, "text": text, "finish_reason": None}]} for text in ("a", None, "", "b")]
    end = {"choices": [{"index": 0, "text": "", "finish_reason": "length"}], "usage": {"completion_tokens": 2}}
    answer = read([stream(*sse(*events, end, "[DONE]"))], dialect="openai-completions")
    assert (answer.text, answer.n_output_events, answer.finish_reason) == ("ab", 2, "length")
    payload = json.dumps(end | {"choices": [{"text": "all", "finish_reason": "stop"}]}).encode()
    answer = read([whole(payload)], dialect="openai-completions", asked=False)
    assert (answer.text, answer.usage, answer.first_output_ns) == ("all", Usage(output=2), None)
