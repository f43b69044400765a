"""The MLPerf reference client's configuration, as far as its files are checked: both of its vocabularies.

Facts, not a copy: keys, types and bounds as observed in its public state of August 2026, with the later names
(`settings.timeouts`, `settings.metrics`, `min_issue_duration_ms`, ...) beside them. Differences on purpose: a YAML
boolean is taken for `streaming`, and any unit for a duration.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field

from wholecurve.config.schema import Section
from wholecurve.config.types import Count, JsonObject, Natural, Rate, Seed, Text
from wholecurve.model.errors import InputError
from wholecurve.model.units import NS_PER_MS, parse_duration_ns


def _milliseconds(value: Any) -> Any:
    """A whole number of ms, or text with a unit."""
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        raise ValueError(f"wanted milliseconds or a duration such as 600s, got {value!r}")
    try:
        return parse_duration_ns(value, bare_unit="ms") // NS_PER_MS
    except InputError as error:
        raise ValueError(error.message) from None


def _streaming(value: Any) -> Any:
    """YAML 1.1 reads an unquoted on or off as a boolean."""
    return {True: "on", False: "off"}.get(value, value) if isinstance(value, bool) else value


def _per_object(value: Any) -> Any:
    return {} if value is None else value


Milliseconds = Annotated[int | None, BeforeValidator(_milliseconds)]
Number = Annotated[float, Field(allow_inf_nan=False)]
Seconds = Annotated[float, Field(ge=0, allow_inf_nan=False)]
SecondsOrForever = Annotated[float, Field(gt=0, allow_inf_nan=False)] | None
AutoCount = Annotated[int, Field(ge=-1)]


class SubmissionRef(Section):
    model: Text
    ruleset: Text | None = None
    cohort: str | None = None
    seed_set_id: str | None = None
    benchmark: str | None = None


class ModelParams(Section):
    name: str = ""
    temperature: Number | None = None
    seed: int | None = None
    top_k: int | None = None
    top_p: Number | None = None
    repetition_penalty: Number | None = None
    presence_penalty: Number | None = None
    frequency_penalty: Number | None = None
    chat_template_kwargs: JsonObject | None = None
    max_new_tokens: Count = 1024
    min_new_tokens: Natural = 1
    skip_special_tokens: bool = True
    osl_distribution: JsonObject | None = None
    streaming: Annotated[Literal["auto", "on", "off"], BeforeValidator(_streaming)] = "auto"
    tokenizer_name: str | None = None


class ReferenceDataset(Section):
    name: str = ""
    type: Literal["performance", "accuracy"] = "performance"
    path: str | None = None
    format: str | None = None
    samples: Count | None = None
    eval_method: str | None = None
    parser: dict[str, str] | None = None
    generate_params: JsonObject | None = None
    accuracy_config: JsonObject | None = None
    agentic_inference: JsonObject | None = None
    generation_config_override: JsonObject | None = None


class Runtime(Section):
    min_duration_ms: Milliseconds = None
    max_duration_ms: Milliseconds = None
    min_issue_duration_ms: Milliseconds = None
    max_issue_duration_ms: Milliseconds = None
    n_samples_to_issue: Count | None = None
    scheduler_random_seed: Seed = 42
    dataloader_random_seed: Seed = 42


class ReferenceLoad(Section):
    type: Literal["max_throughput", "poisson", "concurrency", "agentic_inference", "burst", "step"] = "max_throughput"
    target_qps: Rate | None = None
    target_concurrency: Count | None = None
    use_legacy_loadgen_qps_metrics: bool = True


class ReferenceWarmup(Section):
    enabled: bool = False
    n_requests: Count | None = None
    salt: bool | None = None
    drain: bool | None = None
    warmup_random_seed: Seed = 42


class Drain(Section):
    warmup_timeout_s: SecondsOrForever = 240.0
    performance_timeout_s: SecondsOrForever = 240.0
    accuracy_timeout_s: SecondsOrForever = None
    metrics_drain_timeout_s: Seconds | None = 0.0
    metrics_tokenizer_workers: Natural = 4


class Timeouts(Section):
    run_timeout_s: SecondsOrForever = None
    service_ready_timeout_s: Seconds = 30.0
    warmup_drain_timeout_s: SecondsOrForever = 240.0
    performance_drain_timeout_s: SecondsOrForever = None
    accuracy_drain_timeout_s: SecondsOrForever = None
    metrics_drain_timeout_s: SecondsOrForever = None
    worker_initialization_timeout_s: Seconds = 60.0
    worker_graceful_shutdown_wait_s: Seconds = 0.5
    worker_force_kill_timeout_s: Seconds = 0.5
    no_progress_timeout_s: SecondsOrForever = None
    steady_state_timeout_s: SecondsOrForever = 1800.0


class Transport(Section):
    type: str = "zmq"
    recv_buffer_size: Natural = 16 << 20
    send_buffer_size: Natural = 16 << 20
    io_threads: Natural = 4
    worker_io_threads: Natural = 1
    high_water_mark: Natural = 0
    linger: int = -1
    immediate: int = 1


class ReferenceClient(Section):
    num_workers: AutoCount = -1
    workers: AutoCount | None = None
    log_level: str = "INFO"
    warmup_connections: AutoCount = -1
    auto_warmup_budget_fraction: Annotated[float, Field(gt=0, le=1)] = 0.25
    max_concurrent_warmup_connects: Count = 128
    max_connections: AutoCount = -1
    transport: Transport = Transport()
    stream_all_chunks: bool = False
    worker_initialization_timeout: Seconds = 60.0
    worker_graceful_shutdown_wait: Seconds = 0.5
    worker_force_kill_timeout: Seconds = 0.5
    insecure: bool = False
    max_idle_time: Seconds = 4.0
    min_required_connections: AutoCount = -1
    worker_gc_mode: Literal["disabled", "relaxed", "system"] = "relaxed"


class Profiling(Section):
    engine: Literal["vllm"] | None = None
    urls: list[str] | None = None


class Switch(Section):
    enabled: bool = False


class EarlyStopping(Section):
    enabled: bool = True


class ReferenceMetrics(Section):
    tokenizer_workers: Natural = 2


class ReferenceSettings(Section):
    runtime: Annotated[Runtime, BeforeValidator(_per_object)] = Runtime()
    load_pattern: Annotated[ReferenceLoad, BeforeValidator(_per_object)] = ReferenceLoad()
    warmup: Annotated[ReferenceWarmup, BeforeValidator(_per_object)] = ReferenceWarmup()
    drain: Drain | None = None
    timeouts: Timeouts | None = None
    profiling: Profiling | None = None
    early_stopping: EarlyStopping | None = None
    steady_state: Switch | None = None
    metrics: ReferenceMetrics | None = None
    service_ready_timeout_s: Seconds = 30.0
    client: Annotated[ReferenceClient, BeforeValidator(_per_object)] = ReferenceClient()


class ReferenceEndpoint(Section):
    endpoints: Annotated[list[str], Field(min_length=1)]
    api_key: str | None = None
    api_type: Literal["openai", "openai_completions", "sglang", "videogen"] = "openai"


class Audit(Section):
    test: Literal["output_caching_test"] = "output_caching_test"
    only: bool = False
    samples: Count
    audit_samples: Count | None = None
    sample_index: Natural = 0
    threshold: Annotated[float, Field(gt=0, lt=1)] = 0.10


class ReferenceConfig(Section):
    name: str = ""
    version: str = "1.0"
    type: Literal["offline", "online", "eval", "submission"]
    submission_ref: SubmissionRef | None = None
    benchmark_mode: Literal["offline", "online"] | None = None
    model_params: Annotated[ModelParams, BeforeValidator(_per_object)] = ModelParams()
    datasets: Annotated[tuple[ReferenceDataset, ...], BeforeValidator(lambda value: value or ())] = ()
    settings: Annotated[ReferenceSettings, BeforeValidator(_per_object)] = ReferenceSettings()
    endpoint_config: ReferenceEndpoint
    report_dir: str | None = None
    timeout: Number | None = None
    verbose: bool = False
    enable_cpu_affinity: bool = True
    audit: Audit | None = None
