"""Dialect `sglang-generate`: POST generate, SGLang's own interface.

A request carries `text` or `input_ids`; everything about sampling goes into `sampling_params`. An event repeats the
whole text so far (`cumulative`), so the reader of the answer takes differences; `meta_info` has the counts in every
event and a finish reason, an object, in the last. There is no `model` field.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import orjson

from wholecurve.model.plan import RequestOptions
from wholecurve.model.sample import Sample
from wholecurve.wire.body import RUN_FIELDS, encode
from wholecurve.wire.completions import plain_prompt
from wholecurve.wire.delta import (
    DONE,
    Delta,
    Usage,
    count_of,
    error_of,
    excerpt,
    finish_of,
    read_event,
    read_object,
    text_of,
)
from wholecurve.wire.errors import WireError

# Fields of a row or of the run that have another name among SGLang's sampling parameters.
SAMPLING_NAMES = {
    "max_tokens": "max_new_tokens",
    "max_completion_tokens": "max_new_tokens",
    "min_tokens": "min_new_tokens",
    "seed": "sampling_seed",
}

# Fields of a row that belong beside `sampling_params`, not into it.
TOP_FIELDS = frozenset(
    {
        "audio_data",
        "custom_logit_processor",
        "data_parallel_rank",
        "extra_key",
        "image_data",
        "logprob_start_len",
        "lora_path",
        "modalities",
        "priority",
        "return_hidden_states",
        "return_logprob",
        "return_text_in_logprobs",
        "rid",
        "session_params",
        "token_ids_logprob",
        "top_logprobs_num",
        "video_data",
    }
)


class GenerateDialect:
    """SGLang's generate."""

    name = "sglang-generate"
    path = "generate"
    cumulative = True

    def body(self, sample: Sample, options: RequestOptions, model: str) -> bytes:
        """The request body as JSON; `model` is not sent. Raises InputError for a sample that needs a chat template."""
        prompt = plain_prompt(self.name, sample)
        sampling: dict[str, Any] = {
            "max_new_tokens": options.max_tokens,
            "min_new_tokens": options.min_tokens,
            "ignore_eos": options.ignore_eos,
            "n": options.n,
        }
        sampling = {key: value for key, value in sampling.items() if value is not None}
        sampling |= _sampling(options.sampling)
        extra = dict(options.extra_body)
        row = {key: value for key, value in sample.body.items() if key not in RUN_FIELDS}
        for given in (extra.pop("sampling_params", None), row.pop("sampling_params", None)):
            sampling |= given if isinstance(given, Mapping) else {}
        sampling |= _sampling({key: value for key, value in row.items() if key not in TOP_FIELDS})
        body: dict[str, Any] = {"text" if isinstance(prompt, str) else "input_ids": prompt}
        body |= {"sampling_params": sampling, "stream": options.stream} | extra
        body |= {key: value for key, value in row.items() if key in TOP_FIELDS}
        return encode(body, sample)

    def delta(self, payload: bytes) -> Delta:
        """What one event's data says; `text` is the whole text so far. Raises WireError (NOT_JSON)."""
        document = read_event(payload)
        return DONE if document is None else _read(document)

    def answer(self, payload: bytes) -> Delta:
        """A whole, non-streamed answer: an object, or with n > 1 a list of them. Raises WireError (NOT_JSON)."""
        try:
            return _read(read_object(payload))
        except WireError:
            if not payload.lstrip().startswith(b"["):
                raise
            documents = _objects(payload)
            if not documents:
                raise
        return _read(documents[0])._replace(choices=len(documents))


def _objects(payload: bytes) -> list[dict[str, Any]]:
    try:
        found = orjson.loads(payload)
    except orjson.JSONDecodeError:
        return []
    return [item for item in found if type(item) is dict]


def _sampling(fields: Mapping[str, Any]) -> dict[str, Any]:
    return {SAMPLING_NAMES.get(key, key): value for key, value in fields.items() if key not in RUN_FIELDS}


def _read(document: dict[str, Any]) -> Delta:
    error = error_of(document)
    index = count_of(document.get("index")) or 0
    if index:
        return Delta(error=error, choices=index + 1)
    meta = document.get("meta_info")
    if type(meta) is not dict:
        meta = {}
    reason = meta.get("finish_reason")
    if error is None and type(reason) is dict and reason.get("type") == "abort":
        error = excerpt(text_of(reason.get("message")) or "the server aborted the request")
    usage = Usage(*(count_of(meta.get(f"{key}_tokens")) for key in ("prompt", "completion", "reasoning", "cached")))
    return Delta(
        text=text_of(document.get("text")),
        finish_reason=finish_of(reason),
        usage=None if usage == Usage() else usage,
        error=error,
        choices=1 if "text" in document else 0,
    )
