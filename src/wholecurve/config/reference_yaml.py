"""The MLPerf reference client's YAML in our vocabulary. Its files load unchanged.

Every key is checked. A key that changes nothing here is named once in a warning; a key that asks for work this
command does not do is a warning when the measurement is still the same one, and an error when it is not.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pydantic import ValidationError

from wholecurve.config.interpolate import interpolate_tree, own_template
from wholecurve.config.problems import input_error
from wholecurve.config.reference_keys import warn_unused
from wholecurve.config.reference_load import load_of, stop_of, timeouts_of, warmup_of
from wholecurve.config.reference_schema import ModelParams, ReferenceConfig, ReferenceDataset
from wholecurve.config.translation import Translation
from wholecurve.config.yaml_source import Path, YamlSource
from wholecurve.model.errors import InputError

DIALECTS = {"openai": "openai-chat", "openai_completions": "openai-completions", "sglang": "sglang-generate"}

_SAMPLING = (
    "temperature",
    "seed",
    "top_k",
    "top_p",
    "repetition_penalty",
    "presence_penalty",
    "frequency_penalty",
)
_SGLANG_SAMPLING = ("temperature", "top_k", "top_p")

_API_KEY: Path = ("endpoint_config", "api_key")


def is_reference(data: Mapping[str, Any]) -> bool:
    """Whether a file is the reference client's."""
    return "endpoint_config" in data


def from_reference(
    source: YamlSource, environ: Mapping[str, str]
) -> tuple[dict[str, Any], dict[Path, str], tuple[str, ...]]:
    """(our values, where each was given, warnings). Raises InputError with file and line."""
    raw = interpolate_tree(source.data, environ, keep=lambda path: path == _API_KEY, where=source.where, reference=True)
    listed = raw.get("datasets") or []
    if isinstance(listed, list):
        raw["datasets"] = [_cli_dataset(item) for item in listed]
    origins = {path: f"{source.name}:{line}" for path, line in source.lines.items()}
    try:
        config = ReferenceConfig.model_validate(raw)
    except ValidationError as error:
        raise input_error(error, ReferenceConfig, origins) from None
    to = Translation(source)
    warn_unused(raw, to)
    _refuse(config, source, to)
    dataset, place = _performance_dataset(config, source, to)
    params = _with_override(config, dataset, place, source)
    _endpoint(config, params, to)
    _request(config, params, to)
    _dataset(dataset, place, params, to)
    load_of(config, to)
    stop_of(config, to)
    warmup_of(config, to)
    timeouts_of(config, to)
    to.put(("name",), config.name or f"{config.type}_benchmark", ("name",))
    to.put(("output", "dir"), config.report_dir, ("report_dir",))
    return to.data, to.origins, tuple(to.warnings)


def _cli_dataset(item: Any) -> Any:
    """A data set given as text: `[perf:|acc:]PATH[,key=value...]`."""
    if not isinstance(item, str):
        return item
    head, *pairs = item.split(",")
    kind, colon, path = head.partition(":")
    found: dict[str, Any] = {"path": path} if colon and kind in ("perf", "acc") else {"path": head}
    if colon and kind in ("perf", "acc"):
        found["type"] = {"perf": "performance", "acc": "accuracy"}[kind]
    for pair in pairs:
        name, _, value = pair.partition("=")
        group, dot, rest = name.partition(".")
        if dot:
            found.setdefault(group, {})[rest] = value
        else:
            found[name] = value
    return found


def _refuse(config: ReferenceConfig, source: YamlSource, to: Translation) -> None:
    """What would not be the same measurement."""
    if config.endpoint_config.api_type == "videogen":
        raise InputError(
            "endpoint_config.api_type: wanted openai, openai_completions or sglang, got videogen; "
            "generated video is not measured by this command",
            where=source.where(("endpoint_config", "api_type")),
        )
    agentic = [place for place, item in enumerate(config.datasets) if item.agentic_inference is not None]
    if config.settings.load_pattern.type == "agentic_inference" or agentic:
        place: Path = ("datasets", agentic[0], "agentic_inference") if agentic else ("settings", "load_pattern", "type")
        raise InputError(
            "agentic trajectories are not replayed by this command", where=source.where(place), hint="use another file"
        )
    seen: set[tuple[str, str]] = set()
    for number, item in enumerate(config.datasets):
        if (item.name, item.type) in seen and item.name:
            raise InputError(
                f"two {item.type} data sets are named {item.name!r}; wanted different names",
                where=source.where(("datasets", number)),
            )
        seen.add((item.name, item.type))
    if config.audit is not None:
        if config.audit.only:
            raise InputError(
                "audit.only asks for the audit alone, which this command does not run", where=source.where(("audit",))
            )
        to.warn("audit: not run by this command; the performance phase is")
    if config.settings.profiling is not None and config.settings.profiling.engine:
        to.warn("settings.profiling: the server's profiler is not started by this command")
    if config.submission_ref is not None and config.submission_ref.ruleset:
        to.warn(
            "submission_ref.ruleset: its seeds are not put in by this command; the seeds of settings.runtime are used"
        )
    if config.type == "submission" and config.benchmark_mode is None:
        raise InputError(
            "type: submission wants benchmark_mode offline or online, got none", where=source.where(("type",))
        )


def _performance_dataset(config: ReferenceConfig, source: YamlSource, to: Translation) -> tuple[ReferenceDataset, int]:
    """The one data set that is measured; the others are named in a warning."""
    accuracy = [item.name or item.path or "?" for item in config.datasets if item.type == "accuracy"]
    if accuracy:
        to.warn(f"accuracy data sets are not run by this command: {', '.join(accuracy)}")
    found = [(item, place) for place, item in enumerate(config.datasets) if item.type == "performance"]
    if len(found) != 1:
        raise InputError(
            f"wanted exactly one data set of type performance, got {len(found)}", where=source.where(("datasets",))
        )
    return found[0]


def _with_override(config: ReferenceConfig, dataset: ReferenceDataset, place: int, source: YamlSource) -> ModelParams:
    """`model_params` with the data set's own; nested mappings are merged, the result is checked again."""
    params = config.model_params
    override = dataset.generation_config_override
    path: Path = ("datasets", place, "generation_config_override")
    if override:
        fixed = sorted({"name", "streaming", "tokenizer_name"} & set(override))
        if fixed:
            raise InputError(f"{fixed[0]} cannot be overridden for one data set", where=source.where((*path, fixed[0])))
        try:
            params = ModelParams.model_validate(_merged(params.model_dump(exclude_unset=True), override))
        except ValidationError as error:
            raise input_error(error, ModelParams, {(): source.where(path)}) from None
    completions = config.endpoint_config.api_type == "openai_completions"
    if not completions and (params.min_new_tokens != 1 or not params.skip_special_tokens):
        raise InputError(
            "min_new_tokens other than 1 and skip_special_tokens: false want endpoint_config.api_type: "
            f"openai_completions, got {config.endpoint_config.api_type}",
            where=source.where(("model_params", "min_new_tokens")),
        )
    if params.min_new_tokens > params.max_new_tokens:
        raise InputError(
            f"model_params.min_new_tokens: wanted at most max_new_tokens ({params.max_new_tokens}), "
            f"got {params.min_new_tokens}",
            where=source.where(("model_params", "min_new_tokens")),
        )
    return params


def _merged(base: Mapping[str, Any], over: Mapping[str, Any]) -> dict[str, Any]:
    both = {
        name: _merged(base[name], value)
        for name, value in over.items()
        if isinstance(value, Mapping) and isinstance(base.get(name), Mapping)
    }
    return {**base, **over, **both}


def _endpoint(config: ReferenceConfig, params: ModelParams, to: Translation) -> None:
    endpoint = config.endpoint_config
    to.put(("endpoint", "urls"), list(endpoint.endpoints), ("endpoint_config", "endpoints"))
    to.put(("endpoint", "dialect"), DIALECTS[endpoint.api_type], ("endpoint_config", "api_type"))
    model = params.name or (config.submission_ref.model if config.submission_ref else "")
    to.put(("endpoint", "model"), model or None, ("model_params", "name"))
    to.put(("endpoint", "insecure"), config.settings.client.insecure, ("settings", "client", "insecure"))
    if endpoint.api_key:
        to.put(("endpoint", "headers"), {"Authorization": f"Bearer {own_template(endpoint.api_key)}"}, _API_KEY)
    to.put(("tokenizer", "path"), params.tokenizer_name, ("model_params", "tokenizer_name"))
    if not params.tokenizer_name:
        to.warn(
            "model_params.tokenizer_name is not set: tokens are counted by the server alone; "
            "the reference client would fetch a tokenizer by the model's name"
        )


def _request(config: ReferenceConfig, params: ModelParams, to: Translation) -> None:
    at = ("model_params",)
    api = config.endpoint_config.api_type
    to.put(("request", "stream"), _streams(config), (*at, "streaming"))
    to.put(("request", "max_tokens"), params.max_new_tokens, (*at, "max_new_tokens"))
    if api == "openai":
        to.put(("request", "max_tokens_field"), "max_completion_tokens", (*at, "max_new_tokens"))
    sampling = {name: getattr(params, name) for name in _SAMPLING if getattr(params, name) is not None}
    extra: dict[str, Any] = {}
    if api == "openai_completions":
        to.put(("request", "min_tokens"), params.min_new_tokens, (*at, "min_new_tokens"))
        extra["skip_special_tokens"] = params.skip_special_tokens
    if api == "sglang":
        dropped = [name for name in sampling if name not in _SGLANG_SAMPLING]
        if dropped:
            to.warn(f"model_params.{', '.join(dropped)}: not sent to sglang, as in the reference client")
        sampling = {name: value for name, value in sampling.items() if name in _SGLANG_SAMPLING}
    if params.chat_template_kwargs:
        if api == "openai":
            extra["chat_template_kwargs"] = params.chat_template_kwargs
        else:
            to.warn(f"model_params.chat_template_kwargs: not sent to {api}, as in the reference client")
    to.put(("request", "sampling"), sampling or None, at)
    to.put(("request", "extra_body"), extra or None, at)


def _streams(config: ReferenceConfig) -> bool:
    """`auto`: an offline benchmark does not stream, every other does."""
    streaming = config.model_params.streaming
    if streaming != "auto":
        return streaming == "on"
    mode = config.benchmark_mode if config.type == "submission" else config.type
    return mode != "offline"


def _dataset(item: ReferenceDataset, place: int, params: ModelParams, to: Translation) -> None:
    at: Path = ("datasets", place)
    if item.path is None:
        _generated(item, at, params, to)
        return
    to.put(("dataset", "path"), item.path, (*at, "path"))
    suffix = (item.format or "").lstrip(".")
    if suffix == "huggingface":
        raise InputError(
            f"datasets[{place}].format: wanted csv, parquet, json or jsonl, got huggingface",
            where=to.source.where((*at, "format")),
            hint="save the data set as Parquet or JSONL and name that file",
        )
    to.put(("dataset", "format"), suffix or None, (*at, "format"))
    to.put(("dataset", "columns"), item.parser, (*at, "parser"))
    if item.generate_params:
        to.warn(f"datasets[{place}].generate_params: used by predefined data sets only; this one is a file")


def _generated(item: ReferenceDataset, at: Path, params: ModelParams, to: Translation) -> None:
    """The predefined set `random`; the others are fetched by the reference client and have to be files here."""
    if item.name.partition("::")[0] != "random":
        raise InputError(
            f"wanted a path for the data set {item.name!r}; predefined sets are not fetched by this command",
            where=to.source.where(at),
            hint="save it as Parquet or JSONL and add `path:`",
        )
    given = item.generate_params or {}
    unknown = set(given) - {
        "num_sequences", "input_seq_length", "range_ratio", "random_seed", "tokenizer", "save_tokenized_data",
        "force_regenerate",
    }  # fmt: skip
    if unknown:
        raise InputError(
            f"unknown parameter {sorted(unknown)[0]!r} of the data set random",
            where=to.source.where((*at, "generate_params")),
        )
    to.warn("the data set random is made by this client: same lengths, other words than the reference client's")
    length, ratio = given.get("input_seq_length", 1024), given.get("range_ratio", 1.0)
    if not isinstance(length, int) or not isinstance(ratio, int | float) or not 0 < ratio <= 1:
        raise InputError(
            "generate_params: wanted a whole input_seq_length and a range_ratio above 0 up to 1",
            where=to.source.where((*at, "generate_params")),
        )
    made = {
        "rows": given.get("num_sequences", 1024),
        "input_tokens": length if ratio == 1 else f"uniform:{max(1, int(ratio * length))}-{length}",
        "seed": given.get("random_seed", 42),
    }
    to.put(("dataset", "synthetic"), made, (*at, "generate_params"))
    if not params.tokenizer_name:
        to.put(("tokenizer", "path"), given.get("tokenizer"), (*at, "generate_params"))
