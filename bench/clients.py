"""The clients that are compared: for each, its command under a setting, and how to read what it reports."""

from __future__ import annotations

import csv
import json
import os
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

import peers
from figures import PERCENTILES, Percentiles, Reported, lower_percentiles, peak_in_flight, request_number
from server import PORT
from settings import Setting

HERE = Path(__file__).resolve().parent
URL = f"http://127.0.0.1:{PORT}"
PROMPT_ROWS = 256


@dataclass(frozen=True, slots=True)
class Command:
    """What to run: arguments, variables beside the environment's own."""

    arguments: list[str]
    variables: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Client:
    """`command(setting, out)` gives what to run, `read(setting, out, log)` what it reported."""

    name: str
    note: str
    command: Callable[[Setting, Path], Command]
    read: Callable[[Setting, Path, Path], Reported]


def write_prompts(folder: Path, key: str) -> Path:
    """Rows of about as many bytes as limitc's request, so that all clients send alike."""
    path = folder / f"{key}.jsonl"
    rows = [
        {key: f"{row:04d} " + " ".join(peers.WORDS[(row + i) % 16] for i in range(10))} for row in range(PROMPT_ROWS)
    ]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def load_json(path: Path) -> dict[str, Any]:
    loaded: dict[str, Any] = json.loads(path.read_text("utf-8"))
    return loaded


# wholecurve


def wholecurve_command(setting: Setting, out: Path) -> Command:
    script = Path(sys.executable).with_name("wholecurve")
    start = [str(script)] if script.exists() else [sys.executable, "-m", "wholecurve"]
    arguments = [*start, "run", "--endpoint", URL, "--model", "truth", "--quiet", "--out", str(out / "run")]
    arguments += ["--dataset", str(write_prompts(out, "prompt")), "--requests", str(setting.requests)]
    arguments += ["--max-tokens", str(setting.tokens)]
    if setting.rate_per_s is None:
        arguments += ["--concurrency", str(setting.concurrency)]
    else:
        arguments += ["--rate", f"{setting.rate_per_s:g}", "--no-stream"]
    source = str(HERE.parent / "src")
    return Command(arguments, {} if script.exists() else {"PYTHONPATH": source})


def wholecurve_read(setting: Setting, out: Path, log: Path) -> Reported:
    summary = load_json(out / "run" / "performance" / "result_summary.json")
    columns = ["index", "scheduled_ns", "issued_ns", "sent_ns", "first_output_ns", "completed_ns"]
    table = pq.read_table(out / "run" / "records" / "requests.parquet", columns=columns)
    rows = {name: table[name].to_pylist() for name in columns}
    place, first, issued, scheduled = (rows[n] for n in ("index", "first_output_ns", "issued_ns", "scheduled_ns"))
    lag_ns = lower_percentiles([sent - at for sent, at in zip(rows["sent_ns"], scheduled, strict=True) if sent and at])
    return Reported(
        ttft_ms=_nanoseconds(summary["ttft"]),
        tpot_ms=_nanoseconds(summary["tpot"]),
        gap_ms=_nanoseconds(summary["gaps"]),
        tokens_per_s=summary["system_tps"],
        verdict=summary["health"]["verdict"],
        in_flight_peak=peak_in_flight(table["issued_ns"].to_numpy(), table["completed_ns"].to_numpy()),
        request_ttft_ms={n: (f - i) / 1e6 for n, f, i in zip(place, first, issued, strict=True) if f is not None},
        scheduled_ns={n: at for n, at in zip(place, scheduled, strict=True) if at is not None},
        start_lag_p99_ms=lag_ns[99] / 1e6 if setting.rate_per_s else None,
    )


def _nanoseconds(series: Mapping[str, Any] | None) -> Percentiles:
    found = (series or {}).get("percentiles") or {}
    return {p: found[f"{p}.0"] / 1e6 for p in PERCENTILES if found.get(f"{p}.0") is not None}


# limitc


def limitc_command(setting: Setting, out: Path) -> Command:
    binary = HERE / "limit-client" / "limitc"
    options = ["--port", str(PORT), "--conc", str(setting.concurrency), "--requests", str(setting.requests)]
    return Command([str(binary), *options, "--tokens", str(setting.tokens), "--out", str(out / "rows.csv")])


def limitc_read(setting: Setting, out: Path, log: Path) -> Reported:
    said = load_json(log)
    with (out / "rows.csv").open(newline="") as file:
        ttft = {request_number(row[0]): (int(row[2]) - int(row[1])) / 1e6 for row in csv.reader(file) if int(row[4])}
    return Reported(
        ttft_ms=_named(said["ttft_ms"]),
        tpot_ms=_named(said["tpot_ms"]),
        gap_ms=_named(said["itl_ms"]),
        tokens_per_s=said["events_s"],
        request_ttft_ms=ttft,
    )


def _named(series: Mapping[str, float] | None, scale: float = 1.0) -> Percentiles:
    names = {50: ("p50", "median"), 90: ("p90",), 99: ("p99",)}
    found = series or {}
    return {p: found[name] * scale for p, options in names.items() for name in options if found.get(name) is not None}


# aiperf


def aiperf_command(setting: Setting, out: Path) -> Command:
    arguments = [str(peers.ensure(peers.PEERS["aiperf"])), "profile", "--model", "truth", "--url", URL]
    arguments += ["--endpoint-type", "chat", "--streaming", "--concurrency", str(setting.concurrency)]
    arguments += ["--request-count", str(setting.requests), "--input-file", str(write_prompts(out, "text"))]
    arguments += ["--custom-dataset-type", "single_turn", "--osl", str(setting.tokens)]
    arguments += [
        "--tokenizer",
        str(peers.tokenizer_dir()),
        "--ui",
        "none",
        "--no-gpu-telemetry",
        "--no-server-metrics",
    ]
    arguments += ["--output-artifact-dir", str(out / "artifacts")]
    return Command(arguments, {"AIPERF_HTTP_CONNECTION_LIMIT": "8192"})


def aiperf_read(setting: Setting, out: Path, log: Path) -> Reported:
    (path,) = (out / "artifacts").rglob("profile_export_aiperf.json")
    said = load_json(path)
    return Reported(
        ttft_ms=_named(said.get("time_to_first_token")),
        tpot_ms=_named(said.get("inter_token_latency")),
        gap_ms=_named(said.get("inter_chunk_latency")),
        tokens_per_s=(said.get("output_token_throughput") or {}).get("avg"),
    )


# inference-perf


def inference_perf_command(setting: Setting, out: Path) -> Command:
    config = {
        # Its chat API refuses synthetic data, so it goes through /v1/completions, which has no role-only chunk.
        "api": {"type": "completion", "streaming": True},
        "data": {
            "type": "shared_prefix",
            "shared_prefix": {
                "num_unique_system_prompts": 1,
                "num_users_per_system_prompt": PROMPT_ROWS,
                "system_prompt_len": 4,
                "question_len": 12,
                "output_len": setting.tokens,
                "seed": 1,
            },
        },
        "load": {
            "type": "concurrent",
            "interval": 0,
            "num_workers": 1,
            "worker_max_concurrency": setting.concurrency,
            "worker_max_tcp_connections": max(2500, setting.concurrency),
            "stages": [{"num_requests": setting.requests, "concurrency_level": setting.concurrency}],
        },
        "server": {"type": "vllm", "model_name": "truth", "base_url": URL, "ignore_eos": True},
        "tokenizer": {"pretrained_model_name_or_path": str(peers.tokenizer_dir())},
        "report": {"request_lifecycle": {"percentiles": list(PERCENTILES)}},
        "storage": {"local_storage": {"path": str(out / "reports")}},
    }
    path = out / "inference-perf.yml"
    path.write_text(json.dumps(config, indent=2))  # JSON is YAML
    return Command([str(peers.ensure(peers.PEERS["inference-perf"])), "-c", str(path)])


def inference_perf_read(setting: Setting, out: Path, log: Path) -> Reported:
    (path,) = (out / "reports").rglob("summary_lifecycle_metrics.json")
    said = load_json(path)["successes"]
    latency = said["latency"]
    return Reported(
        ttft_ms=_named(latency.get("time_to_first_token"), 1000),
        tpot_ms=_named(latency.get("time_per_output_token"), 1000),
        gap_ms=_named(latency.get("inter_token_latency"), 1000),
        tokens_per_s=said["throughput"]["output_tokens_per_sec"],
    )


CLIENTS: dict[str, Client] = {
    client.name: client
    for client in (
        Client("wholecurve", "this project", wholecurve_command, wholecurve_read),
        Client("limitc", "the floor: a minimal client in C", limitc_command, limitc_read),
        Client("aiperf", "aiperf 0.13.0", aiperf_command, aiperf_read),
        Client("inference-perf", "inference-perf 0.7.0, /v1/completions", inference_perf_command, inference_perf_read),
    )
}


def environment(command: Command) -> dict[str, str]:
    """The environment of a client: this one's, the command's variables, and as many threads as it has cores: one."""
    return {**os.environ, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", **command.variables}
