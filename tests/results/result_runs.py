"""A real campaign, arranged as a sweep leaves it: three levels and Offline, measured against the simulated endpoint."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import yaml

from wholecurve.cli.main import main
from wholecurve.sim import SimOptions, profile_named, start

LEVELS = (1, 4, 16)
ROWS = 8
PLAN: dict[str, Any] = {
    "schema": "wholecurve.campaign/1",
    "name": "autumn",
    "rules": {"version": "demo", "edition": "E3", "benchmark": None, "kind": "single_turn"},
    "endpoint": {"urls": ["http://127.0.0.1:1"], "models": ["sim"]},
    "c_min": 1,
    "c_max": 16,
    "levels": [{"label": f"r{level}", "concurrency": level} for level in LEVELS]
    + [{"label": "offline", "concurrency": ROWS, "offline": "dedicated"}],
    "interactivity_key": "tps_per_user",
}


def measure_campaign(folder: Path) -> Path:
    """plan.yaml, journal.jsonl, points/ and one repeat of r4; takes some seconds."""
    folder.mkdir()
    prompts = folder.parent / "prompts.jsonl"
    prompts.write_text("".join(json.dumps({"prompt": f"prompt {row} of several words"}) + "\n" for row in range(ROWS)))
    before = Path.cwd()
    with start(SimOptions(speed=10.0, profile=profile_named("small"))) as sim:
        os.chdir(folder)
        try:
            for level in LEVELS:
                _run(sim.url, prompts, f"points/r{level}", "--concurrency", str(level))
            _run(sim.url, prompts, "repeats/r4-2", "--concurrency", "4")
            _run(sim.url, prompts, "points/offline", "--pattern", "offline")
        finally:
            os.chdir(before)
    write_plan(folder)
    write_journal(folder, "created", "finished")
    return folder


def _run(url: str, prompts: Path, out: str, *load: str) -> None:
    flags = ["--model", "sim", "--dataset", str(prompts), "--max-tokens", "24", "--requests", "32", "--quiet"]
    assert main(["run", "--endpoint", url, *flags, *load, "--out", out]) == 0
    # Whether this machine could measure just then depends on what else it does; these tests are not about that.
    edit_summary(Path(out), lambda summary: summary["health"].update(verdict="ok"))


def write_plan(folder: Path, **changes: Any) -> None:
    (folder / "plan.yaml").write_text(yaml.safe_dump({**PLAN, **changes}, sort_keys=False))


def write_journal(folder: Path, *events: str) -> None:
    lines = [json.dumps({"at": "2026-11-30T10:00:00Z", "event": event}) for event in events]
    (folder / "journal.jsonl").write_text("".join(f"{line}\n" for line in lines))


def copy_of(campaign: Path, to: Path) -> Path:
    return Path(shutil.copytree(campaign, to))


def edit(path: Path, change: Callable[[dict[str, Any]], object]) -> None:
    """Change a JSON file in place."""
    found = json.loads(path.read_text())
    change(found)
    path.write_text(json.dumps(found))


def edit_summary(folder: Path, change: Callable[[dict[str, Any]], object]) -> None:
    edit(folder / "performance" / "result_summary.json", change)


def edit_plan(folder: Path, change: Callable[[dict[str, Any]], object]) -> None:
    edit(folder / "plan.json", change)


def summary_of(folder: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((folder / "performance" / "result_summary.json").read_text())
    return found
