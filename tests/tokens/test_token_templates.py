"""Chat templates rendered as servers render them.

The expected texts were made once with `apply_chat_template` of transformers 5.24.0 on the same tokenizer and
messages, and the counts with its encoding of the text.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from wholecurve.model.errors import SetupError
from wholecurve.tokens import Tokenizer, load_tokenizer
from wholecurve.tokens.template import RenderError, compile_templates

RENDERED: list[tuple[dict[str, Any], str, int]] = [
    (
        {"messages": [{"role": "user", "content": "Hello"}], "add_generation_prompt": True},
        "<|im_start|>user\nHello<|im_end|>\n<|im_start|>assistant\n",
        11,
    ),
    (
        {
            "messages": [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Hello\n\nthere "}],
            "add_generation_prompt": True,
        },
        "<|im_start|>system\nBe brief.<|im_end|>\n<|im_start|>user\nHello\n\nthere <|im_end|>\n<|im_start|>assistant\n",
        26,
    ),
    (
        {
            "messages": [
                {"role": "system", "content": "Be brief."},
                {"role": "user", "content": "a"},
                {"role": "assistant", "content": " b\n"},
                {"role": "user", "content": "c"},
            ],
            "add_generation_prompt": True,
        },
        "<|im_start|>system\n"
        "Be brief.<|im_end|>\n"
        "<|im_start|>user\n"
        "a<|im_end|>\n"
        "<|im_start|>assistant\n"
        " b\n"
        "<|im_end|>\n"
        "<|im_start|>user\n"
        "c<|im_end|>\n"
        "<|im_start|>assistant\n",
        32,
    ),
    (
        {
            "messages": [{"role": "user", "content": "2+2?"}],
            "tools": [
                {
                    "type": "function",
                    "function": {
                        "name": "add",
                        "description": 'Adds <a> & "b" – é',
                        "parameters": {"type": "object", "properties": {"a": {"type": "number"}}, "required": ["a"]},
                    },
                }
            ],
            "add_generation_prompt": True,
        },
        "<|im_start|>system\n"
        "\n"
        "\n"
        "# Tools\n"
        "\n"
        "You may call one or more functions. The functions are, one JSON object a line:\n"
        "<tools>\n"
        '{"type": "function", "function": {"name": "add", "description": "Adds <a> & \\"b\\" – é", "parameters": '
        '{"type": "object", "properties": {"a": {"type": "number"}}, "required": ["a"]}}}\n'
        "</tools>\n"
        "\n"
        "To call one, answer with:\n"
        "<tool_call>\n"
        '{"name": <function-name>, "arguments": <args-json-object>}\n'
        "</tool_call><|im_end|>\n"
        "<|im_start|>user\n"
        "2+2?<|im_end|>\n"
        "<|im_start|>assistant\n",
        150,
    ),
    (
        {
            "messages": [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "2+2?"}],
            "tools": [
                {
                    "type": "function",
                    "function": {
                        "name": "add",
                        "description": 'Adds <a> & "b" – é',
                        "parameters": {"type": "object", "properties": {"a": {"type": "number"}}, "required": ["a"]},
                    },
                },
                {
                    "type": "function",
                    "function": {
                        "name": "add",
                        "description": 'Adds <a> & "b" – é',
                        "parameters": {"type": "object", "properties": {"a": {"type": "number"}}, "required": ["a"]},
                    },
                },
            ],
            "add_generation_prompt": True,
        },
        "<|im_start|>system\n"
        "Be brief.\n"
        "\n"
        "# Tools\n"
        "\n"
        "You may call one or more functions. The functions are, one JSON object a line:\n"
        "<tools>\n"
        '{"type": "function", "function": {"name": "add", "description": "Adds <a> & \\"b\\" – é", "parameters": '
        '{"type": "object", "properties": {"a": {"type": "number"}}, "required": ["a"]}}}\n'
        '{"type": "function", "function": {"name": "add", "description": "Adds <a> & \\"b\\" – é", "parameters": '
        '{"type": "object", "properties": {"a": {"type": "number"}}, "required": ["a"]}}}\n'
        "</tools>\n"
        "\n"
        "To call one, answer with:\n"
        "<tool_call>\n"
        '{"name": <function-name>, "arguments": <args-json-object>}\n'
        "</tool_call><|im_end|>\n"
        "<|im_start|>user\n"
        "2+2?<|im_end|>\n"
        "<|im_start|>assistant\n",
        226,
    ),
    (
        {
            "messages": [{"role": "user", "content": ""}, {"role": "assistant", "content": ""}],
            "add_generation_prompt": False,
        },
        "<|im_start|>user\n<|im_end|>\n<|im_start|>assistant\n<|im_end|>\n",
        10,
    ),
    (
        {
            "messages": [
                {"role": "user", "content": ""},
                {"role": "assistant", "content": "4", "reasoning_content": "two and two"},
            ],
            "add_generation_prompt": False,
        },
        "<|im_start|>user\n<|im_end|>\n<|im_start|>assistant\n<think>\ntwo and two\n</think>\n4<|im_end|>\n",
        21,
    ),
    (
        {
            "messages": [
                {"role": "user", "content": "x"},
                {
                    "role": "assistant",
                    "content": "",
                    "tool_calls": [
                        {
                            "id": "c1",
                            "type": "function",
                            "function": {"name": "add", "arguments": {"a": 1, "note": "<é>"}},
                        }
                    ],
                },
                {"role": "tool", "tool_call_id": "c1", "content": "4"},
            ],
            "tools": [
                {
                    "type": "function",
                    "function": {
                        "name": "add",
                        "description": 'Adds <a> & "b" – é',
                        "parameters": {"type": "object", "properties": {"a": {"type": "number"}}, "required": ["a"]},
                    },
                }
            ],
            "add_generation_prompt": True,
        },
        "<|im_start|>system\n"
        "\n"
        "\n"
        "# Tools\n"
        "\n"
        "You may call one or more functions. The functions are, one JSON object a line:\n"
        "<tools>\n"
        '{"type": "function", "function": {"name": "add", "description": "Adds <a> & \\"b\\" – é", "parameters": '
        '{"type": "object", "properties": {"a": {"type": "number"}}, "required": ["a"]}}}\n'
        "</tools>\n"
        "\n"
        "To call one, answer with:\n"
        "<tool_call>\n"
        '{"name": <function-name>, "arguments": <args-json-object>}\n'
        "</tool_call><|im_end|>\n"
        "<|im_start|>user\n"
        "x<|im_end|>\n"
        "<|im_start|>assistant\n"
        "\n"
        "<tool_call>\n"
        '{"name": "add", "arguments": {"a": 1, "note": "<é>"}}\n'
        "</tool_call><|im_end|>\n"
        "<|im_start|>user\n"
        "<tool_response>\n"
        "4\n"
        "</tool_response><|im_end|>\n"
        "<|im_start|>assistant\n",
        191,
    ),
    (
        {
            "messages": [
                {"role": "user", "content": "x"},
                {
                    "role": "assistant",
                    "content": None,
                    "tool_calls": [
                        {"id": "c1", "type": "function", "function": {"name": "add", "arguments": '{"a": 1}'}}
                    ],
                },
            ],
            "add_generation_prompt": False,
        },
        "<|im_start|>user\n"
        "x<|im_end|>\n"
        "<|im_start|>assistant\n"
        "\n"
        "<tool_call>\n"
        '{"name": "add", "arguments": {"a": 1}}\n'
        "</tool_call><|im_end|>\n",
        30,
    ),
    (
        {
            "messages": [{"role": "user", "content": "think"}],
            "template_kwargs": {"enable_thinking": True},
            "add_generation_prompt": True,
        },
        "<|im_start|>user\nthink<|im_end|>\n<|im_start|>assistant\n<think>\n",
        13,
    ),
]


@pytest.mark.parametrize(("given", "text", "tokens"), RENDERED)
def test_rendering_equals_the_library_of_the_servers(
    trained: Tokenizer, given: dict[str, Any], text: str, tokens: int
) -> None:
    found = trained.render(
        given["messages"],
        given.get("tools"),
        given.get("template_kwargs"),
        add_generation_prompt=given["add_generation_prompt"],
    )
    assert found == text
    assert trained.count(text) == tokens


EVERY_FEATURE = """{{ bos_token }}{% for m in messages %}
  {% if m.role == 'stop' %}{% break %}{% endif %}
    {%- if m.role == 'assistant' %}
{% generation %}
{{ m.content | trim }}{{ eos_token }}
{% endgeneration %}
    {%- else %}
[{{ m.role }}] {{ m.content }}
    {% endif %}
{% endfor %}
{% if tools is not none %}{{ tools | tojson(indent=2) }}{% endif %}
{% if documents %}D{% endif %}{% if x is defined %}{{ x }}{% endif %}|{{ unk_token }}|{{ sep_token }}|
"""
SPECIAL = {"bos_token": "<|endoftext|>", "eos_token": "<|im_end|>", "unk_token": "<|endoftext|>"}


def rendered(source: str, messages: list[dict[str, Any]] | None = None, **kwargs: Any) -> str:
    templates = compile_templates({"default": source}, SPECIAL, where="test")
    assert templates is not None
    return templates.render(messages or [{"role": "user", "content": "x"}], **kwargs)


def test_blocks_loops_filters_and_variables() -> None:
    messages = [
        {"role": "user", "content": "a<b"},
        {"role": "assistant", "content": " c "},
        {"role": "stop", "content": ""},
        {"role": "user", "content": "d"},
    ]
    tools = [{"name": "é", "n": [1, True, None]}]
    found = rendered(EVERY_FEATURE, messages, tools=tools, template_kwargs={"x": "y"})
    listed = '[\n  {\n    "name": "é",\n    "n": [\n      1,\n      true,\n      null\n    ]\n  }\n]'
    assert found == f"<|endoftext|>[user] a<b\nc<|im_end|>\n{listed}y|<|endoftext|>||"


def test_json_is_not_escaped_for_html() -> None:
    assert rendered("{{ messages[0] | tojson }}", [{"role": "user", "content": "<é> & 'q'"}]) == (
        """{"role": "user", "content": "<é> & 'q'"}"""
    )


def test_dates_can_be_asked_for() -> None:
    assert len(rendered("{{ strftime_now('%Y-%m-%d') }}")) == 10


def test_a_template_can_refuse_messages() -> None:
    with pytest.raises(RenderError, match="no tools here"):
        rendered("{{ raise_exception('no tools here') }}")


@pytest.mark.parametrize(
    "source",
    [
        "{{ messages.append(1) }}",
        "{{ messages[0].update({'role': 'x'}) }}",
        "{{ ''.__class__.__mro__ }}{{ ''.__class__.__mro__[1].__subclasses__() }}",
        "{{ tojson.__globals__['json'] }}{{ strftime_now.__globals__['datetime'].now() }}",
    ],
)
def test_a_template_cannot_leave_its_sandbox(source: str) -> None:
    # SEC-4: a template is code that came with a model.
    with pytest.raises(RenderError):
        rendered(source)


def test_callers_messages_are_not_changed() -> None:
    messages = [{"role": "user", "content": "x"}]
    rendered("{% set ns = namespace(m=messages[0]) %}{{ ns.m.content }}", messages)
    assert messages == [{"role": "user", "content": "x"}]


def test_reserved_variables_are_not_overwritten() -> None:
    found = rendered("{{ messages | length }}{{ x }}", template_kwargs={"messages": [], "x": 5})
    assert found == "15"


def folder(tmp_path: Path, folders: dict[str, Path], **files: str) -> Path:
    made = tmp_path / "model"
    made.mkdir()
    (made / "tokenizer.json").write_bytes((folders["letters"] / "tokenizer.json").read_bytes())
    for name, text in files.items():
        path = made / name.replace("__", "/").replace("_DOT_", ".")
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
    return made


def both(made: Path) -> tuple[str | None, str | None]:
    tokenizer = load_tokenizer(made)
    messages = [{"role": "user", "content": "x"}]
    return tokenizer.render(messages), tokenizer.render(messages, [{"name": "f"}])


def test_where_templates_are_found(tmp_path: Path, folders: dict[str, Path]) -> None:
    named = json.dumps({"chat_template": [{"name": "default", "template": "D"}, {"name": "tool_use", "template": "T"}]})
    made = folder(tmp_path, folders)
    assert load_tokenizer(made).has_template is False
    assert both(made) == (None, None)
    (made / "tokenizer_config.json").write_text(named)
    assert both(made) == ("D", "T")
    (made / "chat_template.json").write_text(json.dumps({"chat_template": "J"}))
    assert both(made) == ("J", "J")
    (made / "chat_template.jinja").write_text("F{{ bos_token }}")
    assert both(made) == ("F", "F")
    (made / "additional_chat_templates").mkdir()
    (made / "additional_chat_templates" / "tool_use.jinja").write_text("U")
    assert both(made) == ("F", "U")
    (made / "special_tokens_map.json").write_text(json.dumps({"bos_token": {"content": "<s>"}}))
    assert both(made) == ("F<s>", "U")


def test_templates_without_a_default_render_nothing(tmp_path: Path, folders: dict[str, Path]) -> None:
    made = folder(tmp_path, folders, additional_chat_templates__rag_DOT_jinja="R")
    assert both(made) == (None, None)


def test_a_broken_template_is_a_setup_error(tmp_path: Path, folders: dict[str, Path]) -> None:
    with pytest.raises(SetupError, match="the chat template is not valid") as caught:
        load_tokenizer(folder(tmp_path, folders, chat_template_DOT_jinja="{% if %}"))
    assert caught.value.where == "model"
