"""Chat templates: where a tokenizer folder keeps them, and how they are rendered.

A template is code that came with a model; sandbox.py is where it runs. It sees the messages, the tools, the special
tokens by name and the arguments of the request.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from wholecurve.model.errors import SetupError

if TYPE_CHECKING:
    from jinja2 import Template

SPECIAL_TOKENS = ("bos_token", "eos_token", "unk_token", "sep_token", "pad_token", "cls_token", "mask_token")


class RenderError(Exception):
    """A template refused a list of messages, or failed on it."""


@dataclass(frozen=True, slots=True)
class ChatTemplates:
    """The compiled templates of one tokenizer by name (`default`, `tool_use`, ...) and its special tokens."""

    named: Mapping[str, Template]
    special: Mapping[str, Any]

    def render(
        self,
        messages: Sequence[Mapping[str, Any]],
        tools: Sequence[Mapping[str, Any]] | None = None,
        template_kwargs: Mapping[str, Any] | None = None,
        *,
        add_generation_prompt: bool = False,
    ) -> str:
        """The text of `messages`. `template_kwargs` go before the special tokens. Raises RenderError."""
        variables: dict[str, Any] = {**self.special, **(template_kwargs or {})}
        try:
            return self._chosen(tools).render(
                messages=list(messages),
                tools=list(tools) if tools else None,
                documents=None,
                add_generation_prompt=add_generation_prompt,
                **{key: value for key, value in variables.items() if key not in _OWN_VARIABLES},
            )
        except Exception as error:  # noqa: BLE001 - a template is foreign code and may raise anything
            raise RenderError(str(error) or type(error).__name__) from None

    def _chosen(self, tools: Sequence[Mapping[str, Any]] | None) -> Template:
        if tools and "tool_use" in self.named:
            return self.named["tool_use"]
        if "default" in self.named:
            return self.named["default"]
        raise RenderError(f"no template is named 'default', only {', '.join(self.named)}")


_OWN_VARIABLES = ("messages", "tools", "documents", "add_generation_prompt")


def compile_templates(sources: Mapping[str, str], special: Mapping[str, Any], *, where: str) -> ChatTemplates | None:
    """Compile named template texts; `None` if there are none. Raises SetupError for a template that is not jinja."""
    from wholecurve.tokens.sandbox import TemplateError, environment

    environ = environment()
    try:
        named = {name: environ.from_string(source) for name, source in sources.items()}
    except TemplateError as error:
        raise SetupError(f"the chat template is not valid: {error}", where=where) from None
    return ChatTemplates(named, special) if named else None


def folder_templates(folder: Path, config: Mapping[str, Any]) -> dict[str, str]:
    """Template texts by name, from `chat_template.jinja` and `additional_chat_templates/`, else from
    `chat_template.json`, else from the tokenizer's `config` (one text, or a list of named ones)."""
    found: dict[str, str] = {}
    inside: Any = config.get("chat_template")
    older = folder / "chat_template.json"
    if older.is_file():
        inside = read_json(older).get("chat_template", inside)
    if isinstance(inside, str):
        found["default"] = inside
    elif isinstance(inside, dict):
        found.update({name: text for name, text in inside.items() if isinstance(text, str)})
    elif isinstance(inside, list):
        found.update({item["name"]: item["template"] for item in inside})
    for file in sorted((folder / "additional_chat_templates").glob("*.jinja")):
        found[file.stem] = file.read_text("utf-8")
    single = folder / "chat_template.jinja"
    if single.is_file():
        found["default"] = single.read_text("utf-8")
    return found


def special_tokens(folder: Path, config: Mapping[str, Any]) -> dict[str, Any]:
    """The special tokens as texts by name; a token may be written as text or as an object with `content`."""
    older = folder / "special_tokens_map.json"
    given = (read_json(older) if older.is_file() else {}) | {k: v for k, v in config.items() if v is not None}
    found: dict[str, Any] = {}
    for name in SPECIAL_TOKENS:
        text = _token_text(given.get(name))
        if text is not None:
            found[name] = text
    more = given.get("additional_special_tokens")
    if isinstance(more, list):
        found["additional_special_tokens"] = [text for text in map(_token_text, more) if text is not None]
    return found


def _token_text(token: Any) -> str | None:
    content = token.get("content") if isinstance(token, dict) else token
    return content if isinstance(content, str) else None


def read_json(path: Path) -> dict[str, Any]:
    """A JSON object from a file of a tokenizer. Raises SetupError naming the file."""
    try:
        found = json.loads(path.read_text("utf-8"))
    except (OSError, ValueError) as error:
        raise SetupError(f"{path.name} of the tokenizer cannot be read: {error}") from None
    if not isinstance(found, dict):
        raise SetupError(f"{path.name} of the tokenizer is not a JSON object")
    return found
