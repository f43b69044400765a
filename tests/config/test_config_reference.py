"""The MLPerf reference client's files load unchanged: both vocabularies, four realistic files, dead keys, refusals."""

from __future__ import annotations

import json
from typing import Any

import pytest
from config_cases import settings

from wholecurve.config import RunFlags, parse_config, settings_from
from wholecurve.config.problems import key_paths
from wholecurve.config.reference_keys import DEAD, NO_EFFECT
from wholecurve.config.reference_schema import ReferenceConfig
from wholecurve.model.errors import InputError
from wholecurve.model.plan import Order, Pattern

S = 1_000_000_000

OFFLINE = """\
name: offline-llama
version: "1.0"
type: offline
model_params:
  name: org/llama-8b
  temperature: 0.0
  top_p: 1.0
  max_new_tokens: 128
  streaming: "off"
datasets:
  - name: summaries
    path: data/summaries.parquet
    samples: 13368
    parser:
      prompt: article
settings:
  runtime:
    min_duration_ms: 60000
    max_duration_ms: 0
    scheduler_random_seed: 137
    dataloader_random_seed: 111
  load_pattern:
    type: max_throughput
  client:
    num_workers: 4
    log_level: DEBUG
    max_connections: 800
    transport: {type: zmq, io_threads: 8}
endpoint_config:
  endpoints: [http://10.0.0.1:8000, http://10.0.0.2:8000]
  api_key: null
report_dir: results/offline
timeout: 900
verbose: true
"""

POISSON = """\
name: online
type: online
model_params:
  name: org/gpt
  streaming: on
  max_new_tokens: 2048
  tokenizer_name: /models/gpt
  chat_template_kwargs: {reasoning_effort: low}
datasets:
  - path: prompts.jsonl
    generation_config_override:
      temperature: 1
      chat_template_kwargs: {extra: true}
  - name: aime25::gptoss
    type: accuracy
    accuracy_config: {eval_method: pass_at_1, extractor: boxed_math_extractor, num_repeats: 8}
settings:
  runtime: {min_duration_ms: 10m, max_duration_ms: 20m}
  load_pattern: {type: poisson, target_qps: 12.5, use_legacy_loadgen_qps_metrics: false}
  warmup: {enabled: true, n_requests: 50, salt: true, drain: true, warmup_random_seed: 9}
  drain: {warmup_timeout_s: 30, performance_timeout_s: null, metrics_drain_timeout_s: 0}
endpoint_config:
  endpoints: ["http://${HOST}:8000/v1"]
  api_key: $API_KEY
"""

CONCURRENCY_NEW = """\
type: online
model_params: {name: org/r1, temperature: 0.6, streaming: auto}
datasets:
  - {name: perf, path: rows.csv, format: .csv}
settings:
  runtime: {n_samples_to_issue: 6396, max_issue_duration_ms: 3600s}
  load_pattern: {type: concurrency, target_concurrency: 256}
  warmup: {enabled: true}
  timeouts: {run_timeout_s: 7200, performance_drain_timeout_s: 600, warmup_drain_timeout_s: null}
  metrics: {tokenizer_workers: 2}
  steady_state: {enabled: true}
  early_stopping: {enabled: false}
  client: {max_concurrent_warmup_connects: 64, insecure: true, warmup_connections: 0}
endpoint_config: {endpoints: [https://h], api_type: openai}
enable_cpu_affinity: false
"""

SUBMISSION_TOKENS = """\
type: submission
submission_ref: {model: llama2-70b, ruleset: mlperf-v5.1}
benchmark_mode: offline
model_params: {temperature: 0.7, seed: 3, max_new_tokens: 1024, min_new_tokens: 2, skip_special_tokens: false}
datasets:
  - path: open_orca.parquet
    parser: {input_tokens: tok_input}
settings:
  runtime: {min_duration_ms: 0}
  warmup: {enabled: true, n_requests: 8}
endpoint_config: {endpoints: [http://h:1], api_type: openai_completions, api_key: sk-literal}
"""

SGLANG_RANDOM = """\
type: online
model_params: {name: m, top_k: 5, seed: 1, presence_penalty: 0.5, chat_template_kwargs: {a: 1}}
datasets:
  - name: random
    generate_params: {num_sequences: 16, input_seq_length: 200, range_ratio: 0.5, random_seed: 7, tokenizer: tok}
settings:
  load_pattern: {type: concurrency, target_concurrency: 2}
endpoint_config: {endpoints: [http://h:1], api_type: sglang}
"""


def warnings(text: str, environ: dict[str, str] | None = None) -> str:
    found = parse_config(text, "ref.yaml", environ or {}).warnings
    assert len(found) == len(set(found))
    return "\n".join(found)


def test_offline() -> None:
    made = settings(OFFLINE)
    assert made.name == "offline-llama"
    assert made.endpoint.urls == ("http://10.0.0.1:8000", "http://10.0.0.2:8000")
    assert (made.endpoint.model, made.endpoint.dialect) == ("org/llama-8b", "openai-chat")
    assert made.endpoint.headers == {}
    assert made.request.stream is False
    assert (made.request.max_tokens, made.request.max_tokens_field) == (128, "max_completion_tokens")
    assert made.request.sampling == {"temperature": 0.0, "top_p": 1.0}
    assert made.dataset.columns == {"prompt": "article"}
    assert (made.load.pattern, made.load.order, made.load.concurrency) == (Pattern.OFFLINE, Order.SHUFFLED, 800)
    assert (made.seeds.order, made.seeds.arrivals) == (111, 137)
    # 60 s at the assumed 10 requests/s and 10 % slack, in whole passes: the reference client's count.
    assert (made.stop.requests, made.stop.whole_passes, made.stop.duration) == (660, True, None)
    assert made.stop.max_duration is None
    assert made.workers is None
    assert made.output.dir == "results/offline"


def test_offline_warns_once_for_each_kind_of_key() -> None:
    text = warnings(OFFLINE)
    assert "timeout, verbose: read by nobody" in text
    assert "datasets[0].samples: read by nobody" in text
    assert "version, settings.client.num_workers, settings.client.log_level, " in text
    assert "60 s are taken as 660 requests in whole passes" in text


def test_poisson() -> None:
    made = settings(POISSON, {"HOST": "h"})
    assert made.endpoint.urls == ("http://h:8000/v1",)
    assert made.endpoint.headers == {"Authorization": "Bearer ${API_KEY}"}  # put in when the plan is made
    assert made.request.stream is True
    assert made.request.sampling == {"temperature": 1.0}
    assert made.request.extra_body == {"chat_template_kwargs": {"reasoning_effort": "low", "extra": True}}
    assert (made.load.pattern, made.load.rate) == (Pattern.POISSON, 12.5)
    assert (made.stop.duration, made.stop.max_duration, made.stop.whole_passes) == (600 * S, 1200 * S, True)
    assert (made.warmup.requests, made.warmup.salt, made.warmup.drain_timeout) == (50, True, 30 * S)
    assert made.seeds.warmup == 9
    assert made.limits.drain_timeout is None
    assert made.tokenizer.path == "/models/gpt"
    text = warnings(POISSON, {"HOST": "h"})
    assert "accuracy data sets are not run by this command: aime25::gptoss" in text
    assert "600 s is a real floor" in text


def test_concurrency_with_the_newer_names() -> None:
    made = settings(CONCURRENCY_NEW)
    assert made.name == "online_benchmark"
    assert (made.load.pattern, made.load.concurrency) == (Pattern.CONCURRENCY, 256)
    assert (made.stop.requests, made.stop.whole_passes, made.stop.duration) == (6396, False, None)
    assert made.stop.max_duration == 3600 * S
    assert (made.limits.run_timeout, made.limits.drain_timeout) == (7200 * S, 600 * S)
    assert (made.warmup.passes, made.warmup.requests, made.warmup.drain_timeout) == (1, None, None)
    assert made.warmup.salt is None
    assert made.limits.max_connects_at_once == 64
    assert made.endpoint.insecure is True
    assert made.dataset.format == "csv"
    assert made.request.stream is True
    assert (made.seeds.order, made.seeds.arrivals, made.seeds.warmup) == (42, 42, 42)
    text = warnings(CONCURRENCY_NEW)
    assert "settings.metrics, settings.early_stopping, settings.steady_state: accepted" in text
    assert "warm-up is always drained" in text
    assert "tokenizer_name is not set" in text


def test_submission_over_token_ids() -> None:
    made = settings(SUBMISSION_TOKENS)
    assert made.endpoint.model == "llama2-70b"
    assert made.endpoint.dialect == "openai-completions"
    assert made.request.stream is False
    assert (made.request.max_tokens_field, made.request.min_tokens) == ("max_tokens", 2)
    assert made.request.sampling == {"temperature": 0.7, "seed": 3}
    assert made.request.extra_body == {"skip_special_tokens": False}
    assert made.dataset.columns == {"input_tokens": "tok_input"}
    assert (made.stop.passes, made.stop.requests, made.stop.whole_passes) == (1, None, False)
    assert made.warmup.salt is False
    text = warnings(SUBMISSION_TOKENS)
    assert "submission_ref.ruleset" in text
    assert "sk-literal" not in text


def test_sglang_and_the_random_set() -> None:
    made = settings(SGLANG_RANDOM)
    assert made.endpoint.dialect == "sglang-generate"
    assert made.request.sampling == {"top_k": 5}
    assert made.request.extra_body == {}
    assert made.dataset.synthetic is not None
    assert made.dataset.synthetic.model_dump() == {
        "rows": 16,
        "input_tokens": "uniform:100-200",
        "output_tokens": None,
        "shared_prefix_share": 0.0,
        "seed": 7,
    }
    assert made.tokenizer.path == "tok"
    text = warnings(SGLANG_RANDOM)
    assert "model_params.seed, presence_penalty: not sent to sglang" in text
    assert "chat_template_kwargs: not sent to sglang" in text


def test_both_vocabularies_mean_the_same() -> None:
    old = POISSON.replace("performance_timeout_s: null", "performance_timeout_s: 60")
    new = old.replace("min_duration_ms", "min_issue_duration_ms").replace("max_duration_ms", "max_issue_duration_ms")
    drain = "drain: {warmup_timeout_s: 30, performance_timeout_s: 60, metrics_drain_timeout_s: 0}"
    assert drain in new
    new = new.replace(drain, "timeouts: {warmup_drain_timeout_s: 30, performance_drain_timeout_s: 60}")
    assert settings(new, {"HOST": "h"}) == settings(old, {"HOST": "h"})


def test_flags_win_over_a_reference_file() -> None:
    made = settings(CONCURRENCY_NEW, flags=RunFlags(concurrency=8, requests=10))
    assert (made.load.concurrency, made.stop.requests) == (8, 10)


STREAMING = [
    ("on", True),
    ('"on"', True),
    ("off", False),
    ('"off"', False),
    ("auto", True),
    ("true", True),
    ("no", False),
]


@pytest.mark.parametrize(("text", "wanted"), STREAMING)
def test_streaming_takes_yaml_booleans(text: str, wanted: bool) -> None:
    assert settings(CONCURRENCY_NEW.replace("streaming: auto", f"streaming: {text}")).request.stream is wanted


DURATIONS = [("600000", 600), ("600s", 600), ("10m", 600), ("1500ms", 1.5), ("'600000'", 600)]


@pytest.mark.parametrize(("text", "wanted"), DURATIONS)
def test_durations(text: str, wanted: float) -> None:
    changed = POISSON.replace("min_duration_ms: 10m", f"min_duration_ms: {text}")
    assert settings(changed, {"HOST": "h"}).stop.duration == wanted * S


def test_default_minimum_duration_is_ten_minutes() -> None:
    made = settings(POISSON.replace("min_duration_ms: 10m, max_duration_ms: 20m", ""), {"HOST": "h"})
    assert (made.stop.duration, made.stop.whole_passes) == (600 * S, True)


def test_data_sets_as_text() -> None:
    text = CONCURRENCY_NEW.replace(
        "- {name: perf, path: rows.csv, format: .csv}", "- perf:rows.csv,name=p,parser.prompt=q\n  - acc:a.csv"
    )
    made = settings(text)
    assert (made.dataset.path, made.dataset.columns) == ("rows.csv", {"prompt": "q"})


# change: (from, to) in CONCURRENCY_NEW; message; line
REFUSED: list[tuple[tuple[str, str], str, int]] = [
    (("api_type: openai}", "api_type: videogen}"), "got videogen", 14),
    (("type: concurrency", "type: agentic_inference"), "agentic trajectories are not replayed", 7),
    (("format: .csv}", "agentic_inference: {turn_timeout_s: 5}}"), "agentic trajectories are not replayed", 4),
    (("type: concurrency", "type: burst"), "wanted one of max_throughput, poisson, concurrency, got burst", 7),
    (("type: concurrency", "type: max_throughput"), "wanted poisson or concurrency for an online benchmark", 7),
    ((", target_concurrency: 256", ""), "target_concurrency: wanted a value for concurrency, got none", 7),
    (("target_concurrency: 256", "target_concurrency: 0"), "target_concurrency: wanted at least 1, got 0", 7),
    (("target_concurrency", "target_concurency"), "unknown key `settings.load_pattern.target_concurency`", 7),
    (("path: rows.csv, ", ""), "wanted a path for the data set 'perf'", 4),
    (("format: .csv", "format: huggingface"), "wanted csv, parquet, json or jsonl, got huggingface", 4),
    (("format: .csv", "type: accuracy"), "exactly one data set of type performance, got 0", 3),
    (("format: .csv}", "format: .csv}\n  - {name: q, path: b}"), "exactly one data set of type performance, got 2", 3),
    (("format: .csv}", "format: .csv}\n  - {name: perf, path: b}"), "two performance data sets are named 'perf'", 5),
    (("n_samples_to_issue: 6396", "min_duration_ms: 2h"), "wanted at least min_duration_ms (7200000), got 3600000", 6),
    (("max_issue_duration_ms", "max_duration_ms: 1, max_issue_duration_ms"), "got both", 6),
    (("timeouts:", "drain: {}\n  timeouts:"), "either the block drain or the block timeouts", 10),
    (("temperature: 0.6", "temperature: .nan"), "model_params.temperature: wanted a finite number", 2),
    (("temperature: 0.6", "min_new_tokens: 5"), "openai_completions, got openai", 2),
    (("type: online", "type: submission"), "wants benchmark_mode", 1),
    (("type: online", "type: other"), "wanted one of 'offline', 'online', 'eval' or 'submission', got 'other'", 1),
    (("enable_cpu_affinity: false", "audit: {samples: 5, only: true}"), "asks for the audit alone", 15),
    (("format: .csv}", "generation_config_override: {streaming: on}}"), "streaming cannot be overridden", 4),
    (("format: .csv}", "generation_config_override: {tempr: 1}}"), "unknown key `tempr`", 4),
]


@pytest.mark.parametrize(("change", "message", "line"), REFUSED)
def test_refused_with_line(change: tuple[str, str], message: str, line: int) -> None:
    assert change[0] in CONCURRENCY_NEW
    with pytest.raises(InputError) as caught:
        settings(CONCURRENCY_NEW.replace(*change, 1))
    assert message in caught.value.message
    assert caught.value.where == f"run.yaml:{line}"


def test_a_lone_dollar_is_refused_as_there() -> None:
    with pytest.raises(InputError, match="dollar sign that is neither"):
        settings(CONCURRENCY_NEW.replace("name: perf", "name: 5$"))


def test_profiling_and_audit_warn() -> None:
    text = CONCURRENCY_NEW + "audit: {test: output_caching_test, samples: 5}\n"
    text = text.replace("  metrics:", "  profiling: {engine: vllm}\n  metrics:")
    assert "audit: not run" in warnings(text)
    assert "profiler is not started" in warnings(text)


def test_keys_without_effect_are_keys_of_the_schema() -> None:
    known = {".".join(str(part) for part in path) for path in key_paths(ReferenceConfig)}
    assert set(DEAD) | set(NO_EFFECT) <= known


def test_every_key_of_the_reference_loads() -> None:
    """A file with every key of section settings, at its default: nothing is refused."""
    config: Any = ReferenceConfig.model_validate(
        {"type": "online", "endpoint_config": {"endpoints": ["http://h"]}}
    ).model_dump(mode="json")
    config["datasets"] = [{"path": "a.jsonl"}]
    config["settings"]["load_pattern"] = {"type": "concurrency", "target_concurrency": 1}
    config["model_params"]["name"] = "m"
    made = settings_from(RunFlags(), parse_config(json.dumps(config), "all.yaml", {}))
    assert made.load.concurrency == 1
