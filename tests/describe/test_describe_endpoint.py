"""What engines say about themselves."""

from __future__ import annotations

import json
from typing import Any

import pytest

from wholecurve.describe import served_fields

VLLM_MODELS = {"data": [{"id": "m", "owned_by": "vllm"}]}
SGLANG = {
    "version": "0.5.3",
    "tp_size": 8,
    "pp_size": 1,
    "ep_size": 8,
    "dp_size": 0,
    "max_running_requests": 512,
    "disaggregation_mode": "null",
    "api_key": "secret-key",
    "model_path": "/srv/secret-project",
}


def ask(pages: dict[str, Any]) -> dict[str, Any]:
    bodies = {name: body if isinstance(body, bytes) else json.dumps(body).encode() for name, body in pages.items()}
    return served_fields(bodies.get)


@pytest.mark.parametrize(
    ("pages", "fields"),
    [
        ({"version": {"version": "0.11.0"}, "v1/models": VLLM_MODELS}, {"serving_framework": "vLLM 0.11.0"}),
        ({"v1/models": VLLM_MODELS}, {"serving_framework": "vLLM"}),
        ({"version": {"version": "9"}, "v1/models": {"data": [{"owned_by": "organization-owner"}]}}, {}),
        ({"props": {"default_generation_settings": {}, "build_info": "b4000-abc"}},
         {"serving_framework": "llama.cpp b4000-abc"}),
        ({"perf_metrics": b"[]", "version": {"version": "1.0.0"}}, {"serving_framework": "TensorRT-LLM 1.0.0"}),
        ({"server_info": SGLANG}, {"serving_framework": "SGLang 0.5.3", "tensor_parallel": 8, "pipeline_parallel": 1,
                                   "expert_parallel": 8, "batch": 512, "disaggregated": False}),
        ({"get_server_info": {**SGLANG, "disaggregation_mode": "prefill", "tp_size": "8"}},
         {"serving_framework": "SGLang 0.5.3", "pipeline_parallel": 1, "expert_parallel": 8, "batch": 512,
          "disaggregated": True}),
        ({}, {}),
    ],
)  # fmt: skip
def test_engines(pages: dict[str, Any], fields: dict[str, Any]) -> None:
    assert ask(pages) == fields


@pytest.mark.parametrize(
    "body", [b"", b"\xff", b"[" * 100_000, b"<html>", b"3", b'{"version": {"a": 1}}', b"x" * (2 << 20)]
)
def test_pages_that_say_nothing(body: bytes) -> None:
    pages = ["get_server_info", "server_info", "props", "version", "v1/models"]
    assert ask(dict.fromkeys(pages, body)) == {}


def test_a_version_that_would_move_the_cursor_is_left_out() -> None:
    found = ask({"version": {"version": "1\x1b[2J"}, "v1/models": VLLM_MODELS})
    assert found == {"serving_framework": "vLLM"}
