"""Short real loads against the simulated endpoint, and what its truth log alone says of them.

Nothing here uses the package's own figures: a request's TPOT and the tokens of a time are those of the sends that the
simulator wrote down.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any
from urllib.request import urlopen

import numpy as np
import pytest

from wholecurve import datasets
from wholecurve.config import CurvePlace, RunFlags, parse_config, resolve, settings_from
from wholecurve.run import measure
from wholecurve.sim import Pace, SimOptions, TruthLine, profile_named, read_truth, start

NS = 1_000_000_000
WINDOW_NS = 5 * NS // 2
ENGINE = replace(profile_named("small"), step_ns=5_000_000, jitter=0.02)
"""About 5 ms a step at any of these loads: one core does the sends of 32 streams easily."""
HELD_UP_NS, HELD_UP_EACH_NS = 5_000_000, 100_000
"""Sends of a step that are later than this, and this for each of its sequences, were held up."""
ATTEMPTS = 4


@dataclass(frozen=True)
class Truth:
    """Answers of the measured phase as the simulator saw them, in issue order: shape (requests,) each."""

    tpot_ns: np.ndarray
    arrived_ns: np.ndarray
    sends_ns: np.ndarray
    """Send of every token of every answer, sorted."""
    tokens: int
    late_ns: int
    """How far the sends were behind the engine's own time at most: the machine was busy with something else."""

    def level(self, blocks: int, size: int, percentile: float = 50) -> np.ndarray:
        """A percentile of TPOT of each block of `size` requests."""
        return np.percentile(self.tpot_ns[: blocks * size].reshape(blocks, size), percentile, axis=1)

    def touched(self, blocks: int, size: int, limit: float = 1.1) -> np.ndarray:
        """Share of each block whose TPOT is more than `limit` times the median of the back half."""
        slow = self.tpot_ns > limit * np.median(self.tpot_ns[len(self.tpot_ns) // 2 :])
        return slow[: blocks * size].reshape(blocks, size).mean(axis=1)

    def tokens_per_s(self, start_ns: int, end_ns: int) -> float:
        """Tokens sent in a time / the time."""
        return float(((self.sends_ns >= start_ns) & (self.sends_ns < end_ns)).sum()) * NS / (end_ns - start_ns)


@dataclass(frozen=True)
class SteadyRun:
    """A finished run and its truth."""

    folder: Path
    summary: Any
    truth: Truth
    invalid: tuple[str, ...]

    @property
    def client_limited(self) -> bool:
        """The client measured itself: other work on this machine held it up."""
        return bool(self.summary["health"]["verdict"] == "client-limited")

    @property
    def steady(self) -> Any:
        return self.summary["steady_state"]

    @property
    def window(self) -> Any:
        return self.steady["window"]

    def figure(self, key: str) -> Any:
        return self.summary["official"]["figures"][key]


def steady_run(folder: Path, **asked: Any) -> SteadyRun:
    """`one_run`, and again if other work on this machine held simulator or client up: that is no engine's doing.

    Skips the test where that goes on: a simulated engine that is not let run is not steady, and is rightly called so.
    """
    late = []
    for attempt in range(ATTEMPTS):
        run = one_run(folder / str(attempt), **asked)
        late.append(run.truth.late_ns)
        held_up = late[-1] >= HELD_UP_NS + HELD_UP_EACH_NS * asked.get("concurrency", 8)
        if not held_up and not run.client_limited:
            assert run.invalid == ()
            return run
    pytest.skip(
        f"this machine is busy: it held up simulator or client in every one of {ATTEMPTS} runs"
        f" (sends were at least {min(late) / 1e6:.0f} ms late)"
    )


def one_run(
    folder: Path,
    *,
    concurrency: int | None = 8,
    rows: int = 32,
    pace: Pace | None = None,
    seconds: float = 3.0,
    extra_s: float | None = None,
    window_ns: int = WINDOW_NS,
    **sections: Any,
) -> SteadyRun:
    """Measure so long, and with `extra_s` until the window is long enough, as a point of a sweep is."""
    folder.mkdir()
    log = folder / "truth.jsonl"
    options = SimOptions(profile=ENGINE, to_limit=True, pace=pace or Pace(), truth_log=str(log))
    with start(options) as sim:
        prompts = [{"prompt": f"tell a tale of {row} winds", "max_tokens": 12 + 7 * row % 16} for row in range(rows)]
        (folder / "rows.jsonl").write_text("".join(json.dumps(one) + "\n" for one in prompts))
        given: dict[str, Any] = {
            "endpoint": {"urls": sim.url, "model": "sim"},
            "dataset": {"path": str(folder / "rows.jsonl")},
            "load": {"concurrency": concurrency},
            "stop": {"duration": f"{seconds}s", "whole_passes": True},
            "rules": {"version": "demo"},
        } | sections
        settings = settings_from(RunFlags(), parse_config(json.dumps(given), "run.yaml", {}))
        place = None if extra_s is None else CurvePlace(hold_ns=round(extra_s * NS), lead_passes=1)
        resolved = resolve(settings, environ={}, read_dataset=datasets.load, cores=2, place=place)
        assert resolved.plan.rules is not None
        shorter = replace(resolved.plan, rules=replace(resolved.plan.rules, min_window_ns=window_ns))
        result = measure(
            replace(resolved, plan=shorter), folder / "out", show=lambda _live: None, say=lambda _text: None
        )
        late_ns = lateness_ns(sim.url)
    summary = json.loads((folder / "out" / "performance" / "result_summary.json").read_bytes())
    return SteadyRun(folder / "out", summary, truth_of(log, folder, late_ns), result.invalid)


def lateness_ns(url: str) -> int:
    """How late the latest step's sends were, as the simulator says itself."""
    with urlopen(f"{url}/metrics", timeout=10) as answer:
        (line,) = (one for one in answer.read().decode().splitlines() if one.startswith("sim:step_lateness_max"))
    return round(float(line.split()[-1]) * NS)


def truth_of(log: Path, folder: Path, late_ns: int) -> Truth:
    """The log's lines of the measured phase, which request ids tell: run-phase-index."""
    plan = json.loads((folder / "out" / "plan.json").read_bytes())
    measured = next(number for number, phase in enumerate(plan["phases"]) if phase["kind"] == "performance")
    lines = [line for line in read_truth(log) if line.request_id.split("-")[-2] == str(measured)]
    lines.sort(key=lambda line: int(line.request_id.split("-")[-1]))
    assert [int(line.request_id.split("-")[-1]) for line in lines] == list(range(len(lines)))
    assert {line.outcome for line in lines} == {"complete"}
    return Truth(
        np.array([_tpot_ns(line) for line in lines]),
        np.array([line.arrived_ns for line in lines]),
        np.sort(np.concatenate([np.array(line.event_ns) for line in lines])),
        sum(line.output_tokens or 0 for line in lines),
        late_ns,
    )


def _tpot_ns(line: TruthLine) -> float:
    assert line.output_tokens == len(line.event_ns)
    return (line.event_ns[-1] - line.event_ns[0]) / (line.output_tokens - 1)
