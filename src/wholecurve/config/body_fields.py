"""Fields of every request body, and limits of the client, from settings to the plan."""

from __future__ import annotations

from wholecurve.config.redact import secret_body_field
from wholecurve.config.schema import RequestSettings, Settings
from wholecurve.model.errors import InputError
from wholecurve.model.plan import Limits, RequestOptions


def request_options(request: RequestSettings) -> RequestOptions:
    """Body fields. Raises InputError for a field that has a key of its own, or that is a secret."""
    if request.min_tokens is not None and request.max_tokens is not None and request.min_tokens > request.max_tokens:
        raise InputError(
            f"request.min_tokens: wanted at most request.max_tokens ({request.max_tokens}), got {request.min_tokens}"
        )
    own = {
        "model": "endpoint.model",
        "stream": "request.stream",
        "stream_options": "request.include_usage",
        "messages": "the data set",
        "prompt": "the data set",
        "input_ids": "the data set",
    }
    for section, fields in (("sampling", request.sampling), ("extra_body", request.extra_body)):
        for name in fields:
            if name in own:
                raise InputError(f"request.{section}.{name}: this field is set by {own[name]}")
            if secret_body_field(name):
                raise InputError(
                    f"request.{section}.{name}: looks like a secret, and body fields are written into results",
                    hint="send it as a header: endpoint.headers",
                )
    return RequestOptions(
        stream=request.stream,
        include_usage=request.include_usage,
        max_tokens=request.max_tokens,
        max_tokens_field=request.max_tokens_field,
        min_tokens=request.min_tokens,
        ignore_eos=request.ignore_eos,
        n=request.n,
        sampling=request.sampling,
        extra_body=request.extra_body,
    )


def limits_of(settings: Settings) -> Limits:
    """Client-side limits of a run."""
    limits = settings.limits
    return Limits(
        request_timeout_ns=limits.request_timeout,
        silence_timeout_ns=limits.silence_timeout,
        run_timeout_ns=limits.run_timeout,
        connect_timeout_ns=limits.connect_timeout,
        drain_timeout_ns=limits.drain_timeout,
        max_event_bytes=limits.max_event_bytes,
        max_connects_at_once=limits.max_connects_at_once,
        max_failed_share=limits.max_failed_share,
        retries=limits.retries,
    )
