"""Request bodies: which field wins, and what every OpenAI-like body has in common.

From weak to strong:   fixed fields < options.sampling < options.extra_body < sample.body
`model` and `stream` can be changed by extra_body only: a row must not change what is being measured. Nothing is sent
that was not asked for, so the server's own defaults hold (CLI-5, CLI-6). Values keep their JSON type; null is sent as
null (CLI-3). The output limit is one field: a row's `max_tokens` goes out under the name that the run uses, and
whoever sets it under either name replaces the weaker value.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import orjson

from wholecurve.model.errors import InputError
from wholecurve.model.plan import RequestOptions
from wholecurve.model.sample import Sample

OUTPUT_LIMITS = ("max_tokens", "max_completion_tokens")
RUN_FIELDS = frozenset({"model", "stream"})


def cannot_carry(dialect: str, sample: Sample, what: str, hint: str) -> InputError:
    """The error for a sample that a dialect has no place for."""
    return InputError(f"{dialect} cannot carry {what}", where=f"row {sample.row} of the data set", hint=hint)


def encode(body: Mapping[str, Any], sample: Sample) -> bytes:
    """JSON bytes. Raises InputError for values that JSON has no form for."""
    try:
        return orjson.dumps(body)
    except (TypeError, orjson.JSONEncodeError) as error:
        raise InputError(f"the request body is not JSON: {error}", where=f"row {sample.row} of the data set") from None


def merge(body: dict[str, Any], stronger: Mapping[str, Any], limit_field: str) -> None:
    """Lay stronger fields over a body, keeping one output limit."""
    limits = [name for name in OUTPUT_LIMITS if name in stronger]
    if limits:
        for name in OUTPUT_LIMITS:
            body.pop(name, None)
        body.pop(limit_field, None)
    body.update(stronger)
    if limits == ["max_tokens"] and limit_field not in stronger:
        body[limit_field] = body.pop("max_tokens")


def without_run_fields(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Fields without those that only extra_body may change."""
    return {key: value for key, value in fields.items() if key not in RUN_FIELDS}


def openai_body(content: Mapping[str, Any], sample: Sample, options: RequestOptions, model: str) -> bytes:
    """The body of a chat or completions request around its content."""
    body: dict[str, Any] = {"model": model, **content, "stream": options.stream}
    if options.stream and options.include_usage:
        body["stream_options"] = {"include_usage": True}
    fields = {
        options.max_tokens_field: options.max_tokens,
        "min_tokens": options.min_tokens,
        "ignore_eos": options.ignore_eos,
        "n": options.n,
    }
    body.update({key: value for key, value in fields.items() if value is not None})
    merge(body, without_run_fields(options.sampling), options.max_tokens_field)
    # What extra_body names, it names exactly: its output limit is not renamed.
    exact = next((name for name in OUTPUT_LIMITS if name in options.extra_body), options.max_tokens_field)
    merge(body, options.extra_body, exact)
    merge(body, without_run_fields(sample.body), options.max_tokens_field)
    return encode(body, sample)
