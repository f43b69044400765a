"""What a serving engine says about itself on its own pages. Only the named fields are read: others may hold secrets."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any, Final

Fetch = Callable[[str], bytes | None]
"""From a path below the endpoint's base to the body of a 200 answer; None for everything else."""

_VLLM: Final = "version"
_SGLANG: Final = ("get_server_info", "server_info")
_LLAMA: Final = "props"
_TRTLLM: Final = "perf_metrics"
_MODELS: Final = "v1/models"
_MOST: Final = 1 << 20

_SGLANG_DEGREES: Final[Mapping[str, str]] = {
    "tensor_parallel": "tp_size",
    "pipeline_parallel": "pp_size",
    "expert_parallel": "ep_size",
    "data_parallel": "dp_size",
    "batch": "max_running_requests",
}


def served_fields(fetch: Fetch) -> dict[str, Any]:
    """Top fields of the description: the framework with its version, and the degrees where the engine tells them."""
    for ask in (_sglang, _llama, _vllm, _trtllm):
        found = ask(fetch)
        if found:
            return found
    owners = {row.get("owned_by") for row in _list(_json(fetch(_MODELS)).get("data"))}
    names = {"vllm": "vLLM", "sglang": "SGLang", "llamacpp": "llama.cpp"}
    known = [names[owner] for owner in owners if isinstance(owner, str) and owner in names]
    return {"serving_framework": known[0]} if len(known) == 1 else {}


def _sglang(fetch: Fetch) -> dict[str, Any]:
    for page in _SGLANG:
        data = _json(fetch(page))
        if "tp_size" not in data:
            continue
        found: dict[str, Any] = {"serving_framework": _named("SGLang", data.get("version"))}
        for field, name in _SGLANG_DEGREES.items():
            value = data.get(name)
            if isinstance(value, int) and not isinstance(value, bool) and 1 <= value < 10**6:
                found[field] = value
        mode = data.get("disaggregation_mode")
        if isinstance(mode, str):
            found["disaggregated"] = mode not in ("null", "none", "")
        return found
    return {}


def _llama(fetch: Fetch) -> dict[str, Any]:
    data = _json(fetch(_LLAMA))
    if "default_generation_settings" not in data:
        return {}
    return {"serving_framework": _named("llama.cpp", data.get("build_info"))}


def _vllm(fetch: Fetch) -> dict[str, Any]:
    version = _json(fetch(_VLLM)).get("version")
    owners = {row.get("owned_by") for row in _list(_json(fetch(_MODELS)).get("data"))} if version else set()
    return {"serving_framework": _named("vLLM", version)} if "vllm" in owners else {}


def _trtllm(fetch: Fetch) -> dict[str, Any]:
    body = fetch(_TRTLLM)
    if body is None or not body.lstrip().startswith(b"["):
        return {}
    return {"serving_framework": _named("TensorRT-LLM", _json(fetch(_VLLM)).get("version"))}


def _named(name: str, version: Any) -> str:
    known = isinstance(version, str) and 0 < len(version) <= 60 and version.isprintable()
    return f"{name} {version}" if known else name


def _json(body: bytes | None) -> Mapping[str, Any]:
    if body is None or len(body) > _MOST:
        return {}
    try:
        value = json.loads(body)
    except (ValueError, RecursionError):
        return {}
    return value if isinstance(value, Mapping) else {}


def _list(value: Any) -> list[Mapping[str, Any]]:
    return [row for row in value if isinstance(row, Mapping)] if isinstance(value, list) else []
