"""The real console command as a child process, as a user types it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import wholecurve

SOURCE = str(Path(wholecurve.__file__).resolve().parents[1])
USAGE = {"prompt_tokens": 3, "completion_tokens": 2}
TIMEOUT_S = 60


@dataclass(frozen=True)
class Done:
    """How it ended."""

    code: int
    out: str
    err: str

    def errors(self) -> list[str]:
        return self.err.splitlines()


def environment(extra: Mapping[str, str] | None = None) -> dict[str, str]:
    clean = {name: value for name, value in os.environ.items() if not name.startswith(("WHOLECURVE", "OPENAI"))}
    return clean | {"PYTHONPATH": SOURCE, "COLUMNS": "100"} | dict(extra or {})


def begin(*arguments: str, cwd: Path, env: Mapping[str, str] | None = None, **more: Any) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "wholecurve", *arguments]
    streams = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE} | more
    return subprocess.Popen(command, cwd=cwd, env=environment(env), text=True, **streams)


def end(child: subprocess.Popen[str], timeout_s: float = TIMEOUT_S) -> Done:
    try:
        out, err = child.communicate(timeout=timeout_s)
    except subprocess.TimeoutExpired:
        child.kill()
        out, err = child.communicate()
        raise AssertionError(f"did not end: {out} {err}") from None
    return Done(child.returncode, out, err)


def console(*arguments: str, cwd: Path, env: Mapping[str, str] | None = None, timeout_s: float = TIMEOUT_S) -> Done:
    done = end(begin(*arguments, cwd=cwd, env=env), timeout_s)
    assert "Traceback" not in done.err
    return done


def prompts(folder: Path, count: int = 4) -> str:
    path = folder / "prompts.jsonl"
    path.write_text("".join(json.dumps({"prompt": f"prompt {row}"}) + "\n" for row in range(count)))
    return path.name


def run_flags(url: str, folder: Path, *more: str, rows: int = 4, out: str | None = "out") -> list[str]:
    flags = ["run", "--endpoint", url, "--model", "test", "--dataset", prompts(folder, rows), "--concurrency", "2"]
    return [*flags, *(["--out", out] if out else []), *more]


def summary(folder: Path) -> dict[str, Any]:
    """result_summary.json, read strictly (REP-1)."""

    def refuse(word: str) -> None:
        raise AssertionError(f"{word} in a JSON file")

    found: dict[str, Any] = json.loads(
        (folder / "performance" / "result_summary.json").read_text(), parse_constant=refuse
    )
    return found


def wait_until(condition: Callable[[], object], *, timeout_s: float = 20.0) -> None:
    end_s = time.monotonic() + timeout_s
    while not condition():
        assert time.monotonic() < end_s, "did not happen in time"
        time.sleep(0.01)


FILES = (
    "clock.json",
    "config.yaml",
    "metrics/final_snapshot.json",
    "performance/result_summary.json",
    "plan.json",
    "point.yaml",
    "records/events.parquet",
    "records/facts.json",
    "records/requests.parquet",
    "report.html",
    "report.txt",
    "sample_idx_map.json",
    "system_desc.json",
)


def files_of(folder: Path) -> set[str]:
    return {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()}
