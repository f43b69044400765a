"""A whole run in this process: from settings to a finished folder, against a simulated endpoint."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from wholecurve import datasets
from wholecurve.config import Resolved, RunFlags, parse_config, resolve, settings_from
from wholecurve.run import RunResult, measure
from wholecurve.sim import RunningSim


def resolved_run(folder: Path, sim: RunningSim, *, rows: int = 6, **more: Any) -> Resolved:
    """A point of four at a time; `more` are further sections of the configuration file, or instead of these."""
    prompts = [{"prompt": f"tell a tale of {row} winds and {row * 7} waves", "max_tokens": 6} for row in range(rows)]
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "rows.jsonl").write_text("".join(json.dumps(one) + "\n" for one in prompts))
    sections: dict[str, Any] = {
        "endpoint": {"urls": sim.url, "model": "sim"},
        "dataset": {"path": str(folder / "rows.jsonl")},
        "load": {"concurrency": 4},
        "rules": {"version": "demo"},
    } | more
    settings = settings_from(RunFlags(), parse_config(json.dumps(sections), "run.yaml", {}))
    return resolve(settings, environ={}, read_dataset=datasets.load, cores=2)


def measured(folder: Path, sim: RunningSim, **more: Any) -> RunResult:
    """Measure it into `folder`/out."""
    resolved = resolved_run(folder, sim, **more)
    return measure(resolved, folder / "out", show=lambda _live: None, say=lambda _text: None)


def summary_of(folder: Path) -> Any:
    return json.loads((folder / "performance" / "result_summary.json").read_bytes())
