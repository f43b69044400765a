"""What counts mean: OSL, OSL after the first event, reasoning, ISL (TOK-1, TOK-3, TOK-7, TOK-8)."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from wholecurve.model.sample import Sample
from wholecurve.tokens import (
    AnswerCount,
    AnswerCounter,
    Method,
    ResponseRow,
    Tokenizer,
    TokenizerSpec,
    count_inputs,
    load_tokenizer,
)
from wholecurve.tokens.template import compile_templates

ASSETS = Path(__file__).parents[1] / "assets"
TOOL = {
    "type": "function",
    "function": {
        "name": "add",
        "description": "Adds two numbers",
        "parameters": {"type": "object", "properties": {"a": {"type": "number"}, "b": {"type": "number"}}},
    },
}


def calls(*named: tuple[str, str]) -> str:
    return json.dumps(
        [
            {"id": f"c{place}", "type": "function", "function": {"name": name, "arguments": arguments}}
            for place, (name, arguments) in enumerate(named)
        ]
    )


def counted(tokenizer: Tokenizer, **row: str) -> AnswerCount:
    (found,) = AnswerCounter(tokenizer).count_many([ResponseRow(**row)])
    return found


def with_template(tokenizer: Tokenizer, source: str | None) -> Tokenizer:
    templates = compile_templates({} if source is None else {"default": source}, {}, where="test")
    return Tokenizer(tokenizer.plan, TokenizerSpec(""), tokenizer.backend, templates)


def test_one_hundred_one_token_events(llama: Tokenizer) -> None:
    # TOK-1: each piece is one token, the tokenizer adds a begin token to whatever it is given.
    text = "".join([" the"] * 100)
    found = counted(llama, text=text, first_text=" the")
    assert (found.osl, found.after_first) == (100, 99)
    assert counted(llama, text=f"x{text}").osl == 101


PLAIN = ["Hello world", "12 + 30 = 42.", "# Title\n\n- a\n- b", "héllo ☃", "x", "The city of light" * 40]


@pytest.mark.parametrize("text", PLAIN)
def test_plain_text_counts_the_same_with_and_without_template(trained: Tokenizer, llama: Tokenizer, text: str) -> None:
    for tokenizer in (trained, llama):
        found = counted(tokenizer, text=text)
        assert found.method is Method.TEMPLATE
        assert found.osl == tokenizer.count(text)
        alone = counted(with_template(tokenizer, None), text=text)
        assert (alone.osl, alone.method) == (found.osl, Method.PLAIN)


@pytest.mark.parametrize("text", ["\n", "\n\nHello", " Hello", "Hello\n"])
def test_white_space_at_the_seams_is_not_merged_with_the_template(trained: Tokenizer, text: str) -> None:
    found = counted(trained, text=text)
    assert (found.osl, found.method) == (trained.count(text), Method.PLAIN)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.sampled_from(["Hello", " world", " 42", ".", " the", "\n", " A", "é"]), min_size=1, max_size=12))
def test_first_and_rest_make_the_whole(pieces: list[str]) -> None:
    tokenizer = _TRAINED
    text, first = "".join(pieces), pieces[0]
    found = counted(tokenizer, text=text, first_text=first)
    assert found.after_first is not None
    assert 0 <= found.after_first <= found.osl
    if tokenizer.encode(text)[: tokenizer.count(first)] == tokenizer.encode(first):
        assert found.after_first + tokenizer.count(first) == found.osl


_TRAINED = load_tokenizer(ASSETS / "tokenizer")


def test_an_event_that_ends_inside_a_token(llama: Tokenizer) -> None:
    # " through" is one token; its first event has only " thr" of it, so the rest is counted by itself.
    assert llama.count(" through city") == 2
    found = counted(llama, text=" through city", first_text=" thr")
    assert found.osl == 2
    assert found.after_first == min(2, llama.count("ough city"))
    assert counted(llama, text=" through city", first_text=" through").after_first == 1


def test_answer_in_one_event_has_nothing_after_it(trained: Tokenizer) -> None:
    assert counted(trained, text="Hello world", first_text="Hello world").after_first == 0
    assert counted(trained) == AnswerCount(0, 0, 0, Method.TEMPLATE)
    assert counted(trained, text=None, reasoning=None, tool_calls=None, first_text=None).osl == 0  # type: ignore[arg-type]


def test_unknown_first_text_is_not_measured(trained: Tokenizer) -> None:
    assert counted(trained, text="Hello world").after_first is None


def test_reasoning_is_part_of_the_output(trained: Tokenizer) -> None:
    # TOK-8: visible text is a small part.
    reasoning, text = "two and two " * 150, "It is four."
    found = counted(trained, text=text, reasoning=reasoning, first_reasoning="two")
    rendered = trained.render(
        [{"role": "user", "content": ""}, {"role": "assistant", "content": text, "reasoning_content": reasoning}]
    )
    empty = trained.render([{"role": "user", "content": ""}, {"role": "assistant", "content": ""}])
    assert rendered is not None
    assert empty is not None
    assert found.osl == trained.count(rendered) - trained.count(empty)
    assert found.osl >= found.reasoning + trained.count(text)
    assert found.reasoning == trained.count(reasoning)
    assert found.after_first == found.osl - trained.count("two")
    assert found.method is Method.TEMPLATE


def test_first_event_with_reasoning_and_text(trained: Tokenizer) -> None:
    found = counted(trained, text="Hello world", reasoning="I see", first_text="Hello", first_reasoning="I")
    assert found.after_first == found.osl - trained.count("Hello") - trained.count("I")


def test_tool_calls_are_part_of_the_output(trained: Tokenizer) -> None:
    found = counted(trained, tool_calls=calls(("add", '{"a": 1, "b": 2}')))
    as_text = '\n<tool_call>\n{"name": "add", "arguments": {"a": 1, "b": 2}}\n</tool_call>'
    assert found.method is Method.TEMPLATE
    # JSON arguments become an object and are written by the template, whatever spaces the model used.
    assert found == counted(trained, tool_calls=calls(("add", '{"a":1,"b":2}')))
    assert abs(found.osl - trained.count(as_text)) <= 1
    assert found.after_first == found.osl - trained.count("add")
    more = counted(trained, text="Sure.", first_text="Sure", tool_calls=calls(("add", "{}"), ("add", '{"a": 1}')))
    assert more.osl > found.osl
    assert more.after_first == more.osl - trained.count("Sure")


@pytest.mark.parametrize("arguments", ["{broken", "[1]", ""])
def test_arguments_that_are_no_object_stay_text(trained: Tokenizer, arguments: str) -> None:
    found = counted(trained, tool_calls=calls(("add", arguments)))
    assert found.method is Method.TEMPLATE
    assert found.osl > trained.count("add")


@pytest.mark.parametrize("raw", ["nonsense", '[{"name": "add"}]', "[3]", '{"a": 1}'])
def test_tool_calls_of_another_shape_are_counted_as_text(trained: Tokenizer, raw: str) -> None:
    found = counted(trained, text="a", tool_calls=raw, first_text="a")
    assert (found.osl, found.method) == (trained.count(f"a\n{raw}"), Method.PARTS)


DROPS_REASONING = "{% for m in messages %}[{{ m.role }}]{{ m.content }}{% endfor %}"
FAILS = "{{ raise_exception('not for you') }}"
ONLY_WITH_TEXT = "{% for m in messages %}{{ m.content or raise_exception('empty') }}{% endfor %}"


@pytest.mark.parametrize("source", [DROPS_REASONING, FAILS, ONLY_WITH_TEXT, None])
def test_structured_answers_without_a_usable_template_are_joined(trained: Tokenizer, source: str | None) -> None:
    tokenizer = with_template(trained, source)
    found = counted(
        tokenizer, text="four", reasoning="two and two", first_reasoning="two", tool_calls=calls(("add", '{"a": 1}'))
    )
    assert found.method is Method.PARTS
    assert found.osl == trained.count('two and two\nfour\nadd\n{"a": 1}')
    assert found.after_first == found.osl - trained.count("two")
    assert counted(with_template(trained, FAILS), text="four").method is Method.PLAIN


def test_template_that_trims_text_does_not_lose_tokens(trained: Tokenizer) -> None:
    tokenizer = with_template(trained, "{% for m in messages %}[{{ m.role }}]{{ m.content | trim }}{% endfor %}")
    found = counted(tokenizer, text="\n\nHello \n")
    assert (found.osl, found.method) == (trained.count("\n\nHello \n"), Method.PLAIN)
    assert counted(tokenizer, text="Hello").method is Method.TEMPLATE


@pytest.mark.parametrize("field", ["reasoning_content", "reasoning", "thinking"])
def test_reasoning_is_found_under_the_templates_own_name(trained: Tokenizer, field: str) -> None:
    source = "{% for m in messages %}[{{ m.role }}]{{ m." + field + " }}|{{ m.content }}{% endfor %}"
    counter = AnswerCounter(with_template(trained, source))
    rows = [ResponseRow("four", "two and two"), ResponseRow("four"), ResponseRow("four", "two and two")]
    first, plain, again = counter.count_many(rows)
    assert (first.method, plain.method) == (Method.TEMPLATE, Method.TEMPLATE)
    assert first == again
    assert first.osl >= plain.osl + trained.count("two and two") - 1


def test_floor_is_zero(trained: Tokenizer) -> None:
    # A template may write less for an answer than for an empty message.
    source = "{% for m in messages %}{{ m.content or 'a long text that stands for an empty message' }}{% endfor %}"
    assert counted(with_template(trained, source), text="a", first_text="a")[:2] == (0, 0)


def user(text: str) -> dict[str, Any]:
    return {"role": "user", "content": text}


def isl(tokenizer: Tokenizer, sample: Sample, **options: Any) -> tuple[int | None, Method | None]:
    ((found, method, _),) = count_inputs(tokenizer, [sample], **options)
    return found, method


def test_input_goes_through_the_template_with_the_generation_prompt(trained: Tokenizer) -> None:
    # TOK-3
    texts = ["first words " * 50, "an answer " * 70, "a question " * 40]
    chat = [user(texts[0]), {"role": "assistant", "content": texts[1]}, user(texts[2])]
    found, method = isl(trained, Sample(0, messages=tuple(chat)))
    rendered = trained.render(chat, add_generation_prompt=True)
    assert rendered is not None
    assert rendered.endswith("<|im_start|>assistant\n")
    assert (found, method) == (trained.count(rendered), Method.TEMPLATE)
    assert found is not None
    assert found >= sum(map(trained.count, texts)) + 3 * 3


def test_system_text_and_begin_token_count_once(trained: Tokenizer, llama: Tokenizer) -> None:
    plain, _ = isl(trained, Sample(0, prompt="Hello"))
    with_system, _ = isl(trained, Sample(0, prompt="Hello", system="Be brief."))
    assert plain is not None
    assert with_system is not None
    assert with_system >= plain + trained.count("Be brief.")
    # The template writes the begin token, the tokenizer must not add another.
    assert isl(llama, Sample(0, prompt="the"))[0] == llama.count("<s>[user]the</s>[assistant]")


def test_tools_count(trained: Tokenizer) -> None:
    # TOK-7
    without, _ = isl(trained, Sample(0, prompt="2+2?"))
    with_tools, _ = isl(trained, Sample(0, prompt="2+2?", tools=(TOOL, TOOL)))
    assert without is not None
    assert with_tools is not None
    assert with_tools - without >= 2 * trained.count(json.dumps(TOOL))


def test_template_arguments_of_the_run_and_of_the_row(trained: Tokenizer) -> None:
    plain = isl(trained, Sample(0, prompt="x"))[0]
    on, off = {"enable_thinking": True}, {"enable_thinking": False}
    assert plain is not None
    assert isl(trained, Sample(0, prompt="x"), template_kwargs=on)[0] == plain + trained.count("<think>\n")
    own = Sample(0, prompt="x", body={"chat_template_kwargs": off})
    assert isl(trained, own, template_kwargs=on)[0] == plain


def test_inputs_that_need_no_template(trained: Tokenizer) -> None:
    assert isl(trained, Sample(0, input_ids=(1, 2, 3))) == (3, Method.IDS)
    assert isl(trained, Sample(0, prompt="Hello world"), templated=False) == (
        trained.count("Hello world"),
        Method.PLAIN,
    )


def test_messages_with_parts_and_calls(trained: Tokenizer) -> None:
    parts = [{"type": "text", "text": "Hello"}, {"type": "text", "text": "world"}]
    assert isl(trained, Sample(0, messages=({"role": "user", "content": parts},))) == isl(
        trained, Sample(0, messages=(user("Hello\nworld"),))
    )
    image = [*parts, {"type": "image_url", "image_url": {"url": "https://x.test/a.png"}}]
    ((found, method, reason),) = count_inputs(trained, [Sample(0, messages=({"role": "user", "content": image},))])
    assert (found, method) == (None, None)
    assert "processor" in reason

    def history(arguments: Any) -> Sample:
        call = {"id": "1", "type": "function", "function": {"name": "add", "arguments": arguments}}
        return Sample(0, messages=(user("x"), {"role": "assistant", "content": None, "tool_calls": [call]}))

    assert isl(trained, history('{"a":1}')) == isl(trained, history({"a": 1}))


def test_input_without_a_usable_template(trained: Tokenizer) -> None:
    sample = Sample(0, prompt="Hello", system="Be brief.", tools=(TOOL,))
    joined = trained.count("Be brief.\nHello\n" + json.dumps(TOOL))
    assert isl(with_template(trained, None), sample) == (joined, Method.PARTS)
    assert isl(with_template(trained, FAILS), sample) == (joined, Method.PARTS)


def test_order_is_kept_among_kinds(trained: Tokenizer) -> None:
    image = {"type": "image_url", "image_url": {"url": "https://x.test/a.png"}}
    samples = [
        Sample(0, prompt="a b c"),
        Sample(1, input_ids=(1,)),
        Sample(2, messages=({"role": "user", "content": [image]},)),
        Sample(3, prompt="a"),
    ]
    alone = [count_inputs(trained, [sample])[0] for sample in samples]
    assert count_inputs(trained, samples) == alone
