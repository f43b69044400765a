"""A short measurement of a real engine: llama.cpp on the CPU with the small trained model and its own tokenizer."""

from __future__ import annotations

import http.client
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import make_prompts
import pyarrow.parquet as pq
import pytest
from llama_cpp import Engine

pytestmark = pytest.mark.engine

TOKENIZER = Path(__file__).resolve().parents[1] / "assets" / "tokenizer"
SOURCE = Path(__file__).resolve().parents[2] / "src"
REQUESTS = 48


def ask(engine: Engine, question: str) -> str:
    """The whole answer at temperature 0."""
    base = urlsplit(engine.url)
    connection = http.client.HTTPConnection(base.hostname or "", base.port, timeout=60)
    body = {"model": engine.model, "temperature": 0, "max_tokens": 16}
    body["messages"] = [{"role": "user", "content": question}]
    connection.request("POST", base.path + "/chat/completions", json.dumps(body), {"content-type": "application/json"})
    answer = json.loads(connection.getresponse().read())
    connection.close()
    text: str = answer["choices"][0]["message"]["content"]
    return text


@pytest.mark.parametrize(("country", "city"), [("France", "Paris"), ("Japan", "Tokyo"), ("Norway", "Oslo")])
def test_the_engine_answers_sense(llama_server: Engine, country: str, city: str) -> None:
    assert ask(llama_server, f"What is the capital of {country}?") == city


@pytest.mark.parametrize("concurrency", [1, 4, 16])
def test_a_run_against_the_engine(llama_server: Engine, tmp_path: Path, concurrency: int) -> None:
    out = tmp_path / "run"
    command = [sys.executable, "-m", "wholecurve", "run", "--quiet", "--out", str(out)]
    command += ["--endpoint", llama_server.url, "--model", llama_server.model, "--dataset", str(make_prompts.FILE)]
    command += ["--tokenizer", str(TOKENIZER), "--concurrency", str(concurrency), "--requests", str(REQUESTS)]
    done = subprocess.run(
        command,
        env={**os.environ, "PYTHONPATH": str(SOURCE)},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    summary = json.loads((out / "performance" / "result_summary.json").read_text("utf-8"))
    rows: list[dict[str, Any]] = pq.read_table(out / "records" / "requests.parquet").to_pylist()
    assert len(rows) == REQUESTS
    assert {row["outcome"] for row in rows} == {"succeeded"}
    for row in rows:
        assert row["issued_ns"] <= row["sent_ns"] <= row["first_output_ns"] <= row["last_output_ns"]
        assert row["osl"] is not None
        assert row["osl"] > 0
    # The engine ends most answers by itself, so lengths differ; its own count may include the end token.
    assert len({row["osl"] for row in rows}) > 3
    near = [row for row in rows if abs(row["usage_output"] - row["osl"]) <= 1]
    assert len(near) >= 0.9 * REQUESTS
    ttft = summary["ttft"]["percentiles"]
    assert 0 < ttft["50.0"] <= ttft["90.0"] <= ttft["99.0"]
