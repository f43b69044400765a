"""What a token count of an answer means here: output, output after the first event, reasoning.

**OSL** of an answer. The assistant message is rebuilt (content, reasoning, tool calls with their JSON arguments as
objects) behind an empty message of the user, rendered through the chat template and encoded; the same with an empty
assistant message is subtracted; never below 0. Special tokens that end a turn are in both and cancel, so a server's
`completion_tokens`, which counts its end token, is usually one more. Where the template cannot do this (there is
none, it fails, it changes plain text, or it leaves out reasoning or a tool call) the text is encoded alone, or the
parts of a structured answer joined by newlines; the method is counted per run. Plain text that begins or ends with
white space is encoded alone too: there the template's own white space would merge with it into one token. Otherwise
plain text has the same count either way.

**OSL after the first event**: OSL less the tokens of the first output-bearing event's text, if these are also the
first tokens of the whole part (they are, when the event ends on a token boundary). Otherwise the event ended inside
a token, and it is the OSL of the answer with that text cut off; cutting can shift that one token. If the first event
was a piece of a tool call, its text is not recorded: the name of the first call is taken for it, which is what
servers send first. Not known (None) for an answer with text of which the first event's text was not recorded.

Input is counted in inputs.py.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any, NamedTuple

from wholecurve.tokens.tokenizer import Tokenizer

# Names under which templates look for the reasoning of a message, in the order in which they are tried.
REASONING_FIELDS = ("reasoning_content", "reasoning", "thinking")


class Method(StrEnum):
    """How a count was made."""

    TEMPLATE = "template"
    PLAIN = "plain"
    PARTS = "parts"
    IDS = "ids"


class ResponseRow(NamedTuple):
    """One answer, as in records/responses.parquet. `tool_calls` is a JSON list. None and "" are the same."""

    text: str | None = ""
    reasoning: str | None = ""
    tool_calls: str | None = ""
    first_text: str | None = ""
    first_reasoning: str | None = ""


class AnswerCount(NamedTuple):
    """Tokens of one answer. `after_first` is None if the first event's text is not known."""

    osl: int
    after_first: int | None
    reasoning: int
    method: Method


@dataclass(frozen=True, slots=True)
class _Answer:
    """An answer to be encoded; `calls` are parsed tool calls, `raw_calls` their text if it could not be parsed."""

    text: str
    reasoning: str
    calls: tuple[Mapping[str, Any], ...] = ()
    raw_calls: str = ""

    @property
    def plain(self) -> bool:
        return not (self.reasoning or self.calls or self.raw_calls)

    def joined(self) -> str:
        """The parts joined by newlines, in the order in which a model writes them."""
        parts = [self.reasoning, self.text, self.raw_calls]
        for call in self.calls:
            arguments = call["function"]["arguments"]
            parts += [call["function"]["name"], arguments if isinstance(arguments, str) else json.dumps(arguments)]
        return "\n".join(part for part in parts if part)


class _Whole(NamedTuple):
    """Text to encode, and what to subtract from its number of tokens."""

    text: str
    less: int
    method: Method


class AnswerCounter:
    """Counts answers with one tokenizer. Holds the baseline of the empty message, which is encoded once."""

    def __init__(self, tokenizer: Tokenizer) -> None:
        self._tokenizer = tokenizer
        self._field = REASONING_FIELDS[0]
        empty = self._rendered({"role": "assistant", "content": ""})
        self._baseline = None if empty is None else tokenizer.count(empty)

    def count_many(self, rows: Sequence[ResponseRow]) -> list[AnswerCount]:
        """Counts of `rows`, in their order; texts are encoded in batches."""
        answers = [_parsed(row) for row in rows]
        wholes = [self._whole(answer) for answer in answers]
        counts = self._tokenizer.count_many([whole.text for whole in wholes])
        osl = [max(0, count - whole.less) for count, whole in zip(counts, wholes)]
        reasoning = self._tokenizer.count_many([answer.reasoning for answer in answers])
        after = self._after_first(rows, answers, osl)
        return [
            AnswerCount(osl[place], after[place], reasoning[place], whole.method) for place, whole in enumerate(wholes)
        ]

    def _after_first(
        self, rows: Sequence[ResponseRow], answers: Sequence[_Answer], osl: Sequence[int]
    ) -> list[int | None]:
        firsts = [(row.first_reasoning or "", row.first_text or "") for row in rows]
        heads = iter(self._tokenizer.encode_many([first for pair in firsts for first in pair if first]))
        fulls = iter(
            self._tokenizer.encode_many(
                [full for pair, a in zip(firsts, answers) for first, full in zip(pair, (a.reasoning, a.text)) if first]
            )
        )
        after: list[int | None] = []
        cut: list[tuple[int, _Whole]] = []
        for place, (pair, answer) in enumerate(zip(firsts, answers)):
            if not any(pair):
                after.append(self._after_tool_piece(answer, osl[place]))
                continue
            found = [(next(heads), next(fulls)) for first in pair if first]
            if all(full[: len(head)] == head for head, full in found):
                after.append(max(0, osl[place] - sum(len(head) for head, _ in found)))
            else:
                after.append(None)
                rest = replace(answer, reasoning=answer.reasoning[len(pair[0]) :], text=answer.text[len(pair[1]) :])
                cut.append((place, self._whole(rest)))
        for (place, whole), count in zip(cut, self._tokenizer.count_many([whole.text for _, whole in cut])):
            after[place] = min(osl[place], max(0, count - whole.less))
        return after

    def _after_tool_piece(self, answer: _Answer, osl: int) -> int | None:
        if osl == 0:
            return 0
        if answer.calls:
            return max(0, osl - self._tokenizer.count(answer.calls[0]["function"]["name"]))
        return None

    def _whole(self, answer: _Answer) -> _Whole:
        fallback = _Whole(answer.joined(), 0, Method.PLAIN if answer.plain else Method.PARTS)
        if self._baseline is None or answer.raw_calls:
            return fallback
        if answer.plain and answer.text != answer.text.strip():
            # White space at a seam merges with the template's own into one token, which no model generates.
            return fallback
        rendered = self._rendered_answer(answer)
        return fallback if rendered is None else _Whole(rendered, self._baseline, Method.TEMPLATE)

    def _rendered_answer(self, answer: _Answer) -> str | None:
        """The rendered message, or None if something of the answer is not in it."""
        message: dict[str, Any] = {"role": "assistant", "content": answer.text}
        if answer.calls:
            message["tool_calls"] = list(answer.calls)
        names = [call["function"]["name"] for call in answer.calls]
        fields = (
            (self._field, *(name for name in REASONING_FIELDS if name != self._field)) if answer.reasoning else ("",)
        )
        for field in fields:
            rendered = self._rendered(message | {field: answer.reasoning} if field else message)
            if rendered is None or not all(name in rendered for name in names):
                continue
            # Templates may trim structured answers at their seams; plain text must come out as it is.
            if (answer.text if answer.plain else answer.text.strip()) not in rendered:
                continue
            if answer.reasoning.strip() in rendered:
                self._field = field or self._field
                return rendered
        return None

    def _rendered(self, message: Mapping[str, Any]) -> str | None:
        return self._tokenizer.render([{"role": "user", "content": ""}, message])


def _parsed(row: ResponseRow) -> _Answer:
    text, reasoning, raw = row.text or "", row.reasoning or "", row.tool_calls or ""
    if not raw:
        return _Answer(text, reasoning)
    try:
        calls = tuple(parsed_call(call) for call in json.loads(raw) or ())
    except (ValueError, TypeError, KeyError, AttributeError):
        return _Answer(text, reasoning, raw_calls=raw)
    return _Answer(text, reasoning, calls)


def parsed_call(call: Mapping[str, Any]) -> dict[str, Any]:
    """A tool call with its JSON arguments as an object; arguments that are no JSON object stay text."""
    function = call["function"]
    arguments = function.get("arguments", "")
    if isinstance(arguments, str):
        try:
            found = json.loads(arguments)
        except ValueError:
            found = None
        arguments = found if isinstance(found, dict) else arguments
    return (
        {"type": "function"}
        | dict(call)
        | {"function": {**function, "name": str(function["name"]), "arguments": arguments}}
    )
