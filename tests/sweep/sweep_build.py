"""What the tests of the sweep share: a plan, a bench whose faults are scripted, a clock that only sleeping moves."""

from __future__ import annotations

import errno
from collections.abc import Callable, Iterable, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from wholecurve.model.errors import SetupError
from wholecurve.model.record import RunState
from wholecurve.rules import Kind
from wholecurve.rules.load import load_rules
from wholecurve.sweep import (
    RESULT_FILE,
    CampaignOutcome,
    CampaignPlan,
    Conditions,
    Facts,
    Live,
    PointOrder,
    PointOutcome,
    Surroundings,
    SweepView,
    Work,
    begin,
    estimate,
    measuring_order,
    open_journal,
    run_campaign,
    save_plan,
    take_levels,
)

RULES = load_rules("demo")
MODELS = ("tiny",)
SERVER = "engine 1.0"

SETTINGS: dict[str, Any] = {
    "name": "night run",
    "endpoint": {"urls": ["http://127.0.0.1:8000"], "model": "tiny", "headers": {"Authorization": "Bearer ${KEY}"}},
    "request": {"max_tokens": 128, "sampling": {"temperature": 0.0, "stop": None}},
    "dataset": {"path": "${WHOLECURVE_FILES:-.}/prompts.jsonl"},
    "workers": 2,
    "sweep": {"offline": "dedicated", "idle_gap": "5s", "wait_endpoint": "10m"},
}


def conditions(**changes: Any) -> Conditions:
    """Conditions of a campaign, with some of them changed."""
    first = Conditions(
        settings=SETTINGS,
        rules={"version": "demo", "edition": "E3", "fingerprint": "f0", "benchmark": "demo", "kind": "single_turn"},
        endpoint={"urls": ["http://127.0.0.1:8000"], "models": list(MODELS), "server": SERVER},
        datasets=({"name": "demo", "rows": 16, "sha256": "aa"},),
        tokenizer={"name": "tiny", "sha256": "bb"},
        seed_set="demo",
        target_cohort="2026-12-C1",
    )
    return replace(first, **changes)


def campaign(points: Iterable[int] = (1, 4, 16), *, repeats: int = 1, offline: Any = "dedicated") -> CampaignPlan:
    """A plan of a few levels under the demo rules."""
    levels = take_levels(points, RULES, Kind.SINGLE_TURN, rows=16, offline=offline)
    time = estimate(levels, RULES, Kind.SINGLE_TURN, Work(rows=16, window_passes=4, lead_passes=1, idle_gap_s=5))
    return CampaignPlan(
        name="night run",
        created="2026-12-01T10:00:00+00:00",
        tool="wholecurve 0.2",
        conditions=conditions(),
        c_min=levels.c_min,
        c_max=levels.c_max,
        c_max_found=False,
        c_max_why="given",
        levels=levels.levels,
        order=measuring_order([level.label for level in levels.levels], repeats, 42),
        order_seed=42,
        repeats=repeats,
        salt_word="demo",
        idle_gap_s=5,
        max_extra_s=6,
        estimate_s=time.to_json(),
        interactivity_key="tps_per_user",
        notes=levels.notes,
    )


@dataclass
class FakeTime:
    """A clock that stands still but for sleeping, and events that happen when it passes a second."""

    seconds: float = 0.0
    at: dict[float, Callable[[], None]] = field(default_factory=dict)

    def now(self) -> float:
        return self.seconds

    def sleep(self, seconds: float) -> None:
        assert 0 < seconds < 60
        self.seconds += seconds
        for moment in sorted(moment for moment in self.at if moment <= self.seconds):
            self.at.pop(moment)()

    def wall(self) -> str:
        return f"2026-12-01T10:00:00+00:00/{self.seconds:g}"


def result(folder: Path, text: str = "{}") -> None:
    """A run folder with a result in it."""
    path = folder / RESULT_FILE
    path.parent.mkdir(parents=True)
    path.write_text(text)


def good(order: PointOrder, folder: Path) -> PointOutcome:
    """A valid point, on disk."""
    result(folder)
    tps = 100.0 * min(order.level.concurrency, 12)
    return PointOutcome(
        RunState.COMPLETE, True, figures={"system_tps": tps, "tps_per_user": tps / order.level.concurrency,
                                          "ttft_p90_ns": 2.5e7},
        steady={"status": "windowable", "verdict": "STEADY STATE"}, facts={"tool": "0.2"},
    )  # fmt: skip


def bad(order: PointOrder, folder: Path) -> PointOutcome:
    """A complete run that is not valid."""
    return replace(good(order, folder), valid=False, invalid=("3 % of the requests failed",), exit_code=1)


def failed(order: PointOrder, folder: Path) -> PointOutcome:
    """A run whose endpoint died under it."""
    (folder / "records").mkdir(parents=True)
    return PointOutcome(RunState.FAILED, False, ("the endpoint closed every connection",), exit_code=4)


def disk_full(order: PointOrder, folder: Path) -> PointOutcome:
    """A run that the disk has no room for."""
    (folder / "records").mkdir(parents=True)
    raise OSError(errno.ENOSPC, "No space left on device")


Step = Callable[[PointOrder, Path], PointOutcome]


class FakeBench:
    """Measures by a script: per slot, what its attempts do in turn; without one they are good."""

    def __init__(self, script: Mapping[str, list[Step]] | None = None) -> None:
        self.script = {name: list(steps) for name, steps in (script or {}).items()}
        self.orders: list[PointOrder] = []
        self.facts = Facts(MODELS, SERVER)
        self.up = True

    def probe(self) -> Facts:
        if not self.up:
            raise SetupError("nothing listens at 127.0.0.1:8000")
        return self.facts

    def measure(self, order: PointOrder, folder: Path, show: Live) -> PointOutcome:
        assert not folder.exists(), "a run folder must be new"
        self.orders.append(order)
        show({"done": 1})
        steps = self.script.get(str(order.slot), [])
        return (steps.pop(0) if steps else good)(order, folder)

    @property
    def slots(self) -> list[str]:
        """What was measured, in order."""
        return [str(order.slot) for order in self.orders]


@dataclass
class Session:
    """One call of the sweep, and everything it said."""

    folder: Path
    time: FakeTime = field(default_factory=FakeTime)
    lines: list[str] = field(default_factory=list)
    views: list[SweepView] = field(default_factory=list)
    stop: bool = False

    def around(self, wait_s: float = 100) -> Surroundings:
        return Surroundings(self.lines.append, self.time.now, self.time.sleep, lambda: self.stop, wait_s)

    @contextmanager
    def journal(self) -> Any:
        with open_journal(self.folder, self.time.wall, self.lines.append) as journal:
            yield journal

    def run(self, plan: CampaignPlan, bench: FakeBench, *, wait_s: float = 100, tries: int = 1) -> CampaignOutcome:
        """Run (or go on with) the campaign in the folder."""
        with self.journal() as journal:
            if not journal.entries:
                begin(journal, plan.conditions, tool=plan.tool)
                save_plan(self.folder, plan)
            return run_campaign(
                plan, self.folder, bench, journal, show=self.views.append, around=self.around(wait_s), tries=tries
            )

    def events(self, *names: str) -> list[dict[str, Any]]:
        """Entries of the journal, of these events or all."""
        with self.journal() as journal:
            return [entry for entry in journal.entries if not names or entry["event"] in names]


def tree(folder: Path) -> list[str]:
    """Run folders of a campaign that are on disk."""
    found = [*folder.glob("points/*"), *folder.glob("repeats/*"), *folder.glob("attempts/*")]
    return sorted(path.relative_to(folder).as_posix() for path in found)
