"""Which column of a file becomes which part of a request.

`TARGETS` is the one table of names. A file's columns are matched once, over all rows: a target takes the column of
its own name, else the one column that carries another of its names; two candidates are an error, because guessing
would change the workload. A mapping given by the user (target <- source) goes before all of this.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any

from wholecurve.datasets import values
from wholecurve.model.errors import InputError

INPUT = "input"
CONTEXT = "context"
BODY = "body"


@dataclass(frozen=True, slots=True)
class Target:
    """One part of a request: its name, the other column names taken for it, and how a value is checked.

    `kind`: `input` (one of them makes the request), `context` (goes along with it), `body` (a per-row field that wins
    over the run's options). `check(value)` returns the value as it is sent or raises ValueError with what was wanted.
    """

    name: str
    kind: str
    names: tuple[str, ...]
    check: Callable[[Any], Any]
    meaning: str


TARGETS: tuple[Target, ...] = (
    Target("messages", INPUT, ("conversations",), values.messages, "list of chat messages"),
    Target(
        "prompt",
        INPUT,
        ("user_prompt", "question", "input", "input_text", "problem", "query", "text"),
        values.prompt,
        "text of the user",
    ),
    Target("input_ids", INPUT, ("input_tokens", "prompt_token_ids"), values.token_ids, "token ids of the prompt"),
    Target("system", CONTEXT, ("system_prompt",), values.text, "system text"),
    Target("tools", CONTEXT, (), values.tools, "list of tool definitions"),
    Target("image", CONTEXT, ("image_url",), values.image_urls, "http(s) or data URL, or a list of them"),
    Target("max_tokens", BODY, ("max_completion_tokens", "max_new_tokens"), values.integer(1), "output limit"),
    Target("min_tokens", BODY, ("min_new_tokens",), values.integer(0), "least output"),
    Target("temperature", BODY, (), values.number(0), "sampling temperature"),
    Target("top_p", BODY, (), values.number(0, 1), "nucleus share"),
    Target("top_k", BODY, (), values.integer(-1), "top k"),
    Target("min_p", BODY, (), values.number(0, 1), "least probability share"),
    Target("seed", BODY, (), values.integer(None), "sampling seed of the request"),
    Target("stop", BODY, (), values.stop, "stop string or list of them"),
    Target("stop_token_ids", BODY, (), values.token_ids, "stop tokens"),
    Target("ignore_eos", BODY, (), values.boolean, "go on after the end token"),
    Target("presence_penalty", BODY, (), values.number(-2, 2), "presence penalty"),
    Target("frequency_penalty", BODY, (), values.number(-2, 2), "frequency penalty"),
    Target("repetition_penalty", BODY, (), values.number(0), "repetition penalty"),
    Target("logit_bias", BODY, (), values.mapping, "bias by token id"),
    Target("tool_choice", BODY, (), values.text_or_mapping, "which tool must be called"),
    Target("response_format", BODY, (), values.mapping, "wanted form of the answer"),
    Target("reasoning_effort", BODY, (), values.text, "how long to reason"),
    Target("chat_template_kwargs", BODY, (), values.mapping, "arguments of the chat template"),
)

BY_NAME: dict[str, Target] = {target.name: target for target in TARGETS}
CANONICAL: dict[str, str] = {name: t.name for t in TARGETS for name in (t.name, *t.names)}
INPUTS: tuple[str, ...] = tuple(target.name for target in TARGETS if target.kind == INPUT)


@dataclass(frozen=True, slots=True)
class ColumnMap:
    """Resolved columns: `source` of each target in use, and the columns that are left over."""

    source: Mapping[str, str]
    unused: tuple[str, ...]


def resolve_columns(found: Sequence[str], wanted: Mapping[str, str] | None, *, where: str) -> ColumnMap:
    """Match the columns `found` in a file with the targets; `wanted` is the user's mapping, target <- source.

    Raises InputError for an unknown target, a source that is not there, two columns for one target, and for a file
    without any input column (the message lists the columns found and those accepted).
    """
    source = _by_user(found, wanted or {}, where)
    taken = set(source.values())
    for target in TARGETS:
        if target.name in source:
            continue
        matches = [name for name in (target.name, *target.names) if name in found and name not in taken]
        if len(matches) > 1 and matches[0] != target.name:
            raise InputError(
                f"columns {_listed(matches)} all mean {target.name!r}; wanted one",
                where=where,
                hint=f"choose one, for example: columns {target.name} <- {matches[0]}",
            )
        if matches:
            source[target.name] = matches[0]
    if not any(name in source for name in INPUTS):
        raise InputError(
            f"no column to make requests from; found {_listed(found) or 'none'}; "
            f"accepted {_listed([n for i in INPUTS for n in (i, *BY_NAME[i].names)])}",
            where=where,
            hint="rename one, or map it, for example: columns prompt <- NAME",
        )
    used = set(source.values())
    return ColumnMap(source, tuple(name for name in found if name not in used))


def without_answer(found: Sequence[str], answer: str | None, *, where: str) -> tuple[str, ...]:
    """The columns that requests may be made of: all but the one of the expected answers, which must be there."""
    if answer is not None and answer not in found:
        near = get_close_matches(answer, found, n=1)
        raise InputError(
            f"wanted a column {answer!r} with the expected answers; found {_listed(found) or 'none'}",
            where=where,
            hint=f"did you mean {near[0]!r}?" if near else "name the column that holds them",
        )
    return tuple(name for name in found if name != answer)


def _by_user(found: Sequence[str], wanted: Mapping[str, str], where: str) -> dict[str, str]:
    source: dict[str, str] = {}
    for name, column in wanted.items():
        if name not in CANONICAL:
            raise InputError(f"cannot map a column to {name!r}; wanted one of {_listed(list(BY_NAME))}", where=where)
        if column not in found:
            raise InputError(
                f"column {column!r}, mapped to {name!r}, is not in the file; found {_listed(found) or 'none'}",
                where=where,
            )
        if CANONICAL[name] in source:
            raise InputError(f"two columns are mapped to {CANONICAL[name]!r}; wanted one", where=where)
        source[CANONICAL[name]] = column
    return source


def _listed(names: Sequence[str], limit: int = 40) -> str:
    shown = ", ".join(repr(name) for name in names[:limit])
    return shown + (f" and {len(names) - limit} more" if len(names) > limit else "")
