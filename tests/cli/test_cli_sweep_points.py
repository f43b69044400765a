"""What a sweep hands to every one of its points, and what it makes of what they say."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml
from cli_console import Done, end
from cli_sweep import Place, endpoint, flags, measured

from wholecurve.testing import ScriptedServer, sse_answer

KEY = "sk-neither-shown-nor-stored-0815"
TWO = ("--points", "2,5", "--offline", "none")


@dataclass(frozen=True)
class Whole:
    """A finished sweep with everything on, what it printed, and the command lines of its processes under load."""

    place: Place
    done: Done
    commands: str

    def yaml(self, path: str) -> dict[str, Any]:
        found: dict[str, Any] = yaml.safe_load((self.place.out / path).read_text())
        return found

    def json(self, path: str) -> dict[str, Any]:
        found: dict[str, Any] = json.loads((self.place.out / path).read_text())
        return found

    @property
    def runs(self) -> list[str]:
        return sorted(self.place.valid())


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Whole]:
    place = Place(tmp_path_factory.mktemp("whole"))
    seeds = ["--seed-set", "demo", "--target-cohort", "2026-11-C0"]
    more = ["--repeats", "2", "--warmup", "4", *seeds, "--api-key-env", "MY_KEY", "--json", "--quiet"]
    with endpoint(api_key=KEY) as server:
        points = ("--points", "2,5", "--offline", "elected")
        child = place.begin(*flags(server.url, *more, points=points), env={"MY_KEY": KEY})
        place.wait_for_load(1)
        commands = "".join(path.read_bytes().decode() for path in _command_lines())
        yield Whole(place, end(child), commands)


def _command_lines() -> list[Path]:
    return [path for path in Path("/proc").glob("[0-9]*/cmdline") if path.exists()]


def test_one_json_object_and_nothing_else(whole: Whole) -> None:
    """--json --quiet."""
    assert (whole.done.code, whole.done.err) == (0, "")
    found = json.loads(whole.done.out)
    assert found["schema"] == "wholecurve.sweep/1"
    assert found["state"] == "complete"
    assert sorted(found["done"]) == ["r2", "r2-2", "r5", "r5-2"]
    assert (found["reason"], found["invalid"], found["missing"], found["differences"]) == (None, [], [], [])
    assert found["curve"] == whole.json("curve.json")


def test_the_sweep_itself_stays_light(whole: Whole) -> None:
    """What every run is forked from has loaded nothing heavy: no numpy threads, no Arrow pools."""
    assert (whole.place.folder / "modules.txt").read_text() == ""


def test_repeats(whole: Whole) -> None:
    assert whole.runs == ["points/r2", "points/r5", "repeats/r2-2", "repeats/r5-2"]
    assert [[slot.partition("-")[0] for slot in half] for half in _halves(whole)] == [["r5", "r2"], ["r2", "r5"]]
    for point in whole.json("curve.json")["points"]:
        tps = point["figures"]["system_tps"]
        first, second = (
            measured(whole.place.out / folder)["official"]["figures"]["system_tps"]["value"]
            for folder in (f"points/r{point['concurrency']}", f"repeats/r{point['concurrency']}-2")
        )
        assert (tps["value"], tps["runs"]) == (first, 2), "the first run is the point"
        assert tps["spread"] == pytest.approx(abs(first - second) / first)


def _halves(whole: Whole) -> tuple[list[str], list[str]]:
    order = whole.yaml("plan.yaml")["order"]
    return order[:2], order[2:]


def test_no_two_runs_share_a_salt(whole: Whole) -> None:
    words = {}
    for folder in whole.runs:
        phases = {phase["kind"]: phase["salt"] for phase in whole.json(f"{folder}/plan.json")["phases"]}
        words[folder] = phases["performance"]
        assert phases["warmup"], "warm-up requests are salted too"
        assert phases["warmup"] != phases["performance"]
    # WRM-1: the seed set, when this campaign began (so that the next one with the same seeds is salted anew), the run
    base = f"demo-11-22-33/{whole.place.events()[0]['at']}"
    assert words == {
        "points/r2": f"{base}/r2/1",
        "points/r5": f"{base}/r5/1",
        "repeats/r2-2": f"{base}/r2-2/1",
        "repeats/r5-2": f"{base}/r5-2/1",
    }


def test_warm_up_and_seeds_are_declared_at_every_point(whole: Whole) -> None:
    for folder in whole.runs:
        point = whole.yaml(f"{folder}/point.yaml")
        assert (point["seed_set"], point["target_cohort"]) == ("demo", "2026-11-C0")
        runtime = point["runtime_settings"]["runtime"]
        assert runtime == {"scheduler_rng_seed": 11, "sample_index_rng_seed": 22, "model_seed": 33}
        warmup = point["warmup"]
        assert (warmup["requests_issued"], warmup["requests_completed"]) == (4, 4)
        assert warmup["concurrency"] == point["concurrency"]
        assert warmup["data_source"] == "performance_dataset_salted"
        assert warmup["duration_s"] > 0
        assert point["max_supported_concurrency"] == 5
    assert whole.yaml("points/r5/point.yaml")["offline"] == "elected"
    plan = whole.yaml("plan.yaml")
    assert (plan["seed_set"], plan["target_cohort"]) == ("demo", "2026-11-C0")


def test_the_key_is_nowhere(whole: Whole) -> None:
    """Not in plan, journal, settings, reports, records, output or a command line."""
    assert "sweep" in whole.commands
    assert KEY not in whole.commands
    assert KEY not in whole.done.out + whole.done.err
    files = [path for path in whole.place.folder.rglob("*") if path.is_file()]
    assert len(files) > 40
    assert not [path for path in files if KEY.encode() in path.read_bytes()]
    assert whole.yaml("config.yaml")["endpoint"]["api_key_env"] == "MY_KEY"


def test_synthetic_rows_are_made_once(tmp_path: Path) -> None:
    """Making them can take minutes; a point's own settings still say how they were made."""
    from wholecurve.cli.sweep_bench import Curve, RunBench
    from wholecurve.config import Settings, rules_of
    from wholecurve.datasets import load
    from wholecurve.rules import Kind
    from wholecurve.sweep import Level

    settings = Settings.model_validate(
        {
            "endpoint": {"urls": ["http://127.0.0.1:9"], "model": "m"},
            "dataset": {"synthetic": {"rows": 8, "input_tokens": "12", "output_tokens": "4"}},
            "warmup": {"requests": 2, "dataset": {"synthetic": {"rows": 3, "input_tokens": "5", "seed": 7}}},
            "rules": {"version": "demo"},
        }
    )
    bench = RunBench(settings, {}, rules_of(settings.rules), Kind.SINGLE_TURN, load, _no_tokenizer, lambda _text: None)
    bench.curve = Curve(1, 8, None)
    first, second = (
        bench.resolved(Level(f"r{level}", level, "low_concurrency"), f"word/{level}", False) for level in (2, 8)
    )
    for name in ("synthetic", "warmup"):
        for one, other in zip(first.conversations[name], second.conversations[name], strict=True):
            assert one.turns[0].sample is other.turns[0].sample
    assert first.plan.datasets == second.plan.datasets
    assert first.settings.dataset == settings.dataset
    assert first.settings.warmup.dataset == settings.warmup.dataset
    assert [phase.rows for phase in first.plan.phases] == [3, 8]


def _no_tokenizer(path: str, *, trust_remote_code: bool) -> Any:
    raise AssertionError


# Endpoints that do not stand still


@pytest.mark.slow
def test_a_point_whose_endpoint_drifts_is_extended_and_says_so(tmp_path: Path) -> None:
    place = Place(tmp_path)
    with endpoint(pace=_pace(drift_per_min=3.0)) as server:
        done = place.sweep(*flags(server.url, "--max-extra", "4s", rules="demo", points=TWO))
    assert done.code == 0, done.err
    found = measured(place.out / "points/r5")
    assert found["steady_state"]["verdict"] in ("drifting_up", "drifting_down", "not found")
    clock = json.loads((place.out / "points/r5/clock.json").read_text())
    assert 3.5e9 < sum(clock["extended_ns"]) < 6e9
    assert any("all the extra time there is; still no steady window" in line for line in done.errors()), done.err
    assert place.events("point_ended")[0]["steady"]["verdict"] == found["steady_state"]["verdict"]


@pytest.mark.slow
def test_an_endpoint_that_starts_slowly_is_measured_after_its_ramp(tmp_path: Path) -> None:
    place = Place(tmp_path)
    with endpoint(pace=_pace(ramp_ns=1_500_000_000)) as server:
        more = ("--max-extra", "20s", "--idle-gap", "1200ms")
        done = place.sweep(*flags(server.url, *more, rules="demo", points=TWO))
    assert done.code == 0, done.err
    for folder in ("points/r2", "points/r5"):
        steady = measured(place.out / folder)["steady_state"]
        assert steady["basis"] == "window", steady
        start_ns = json.loads((place.out / folder / "clock.json").read_text())["phase_spans_ns"][0][0]
        assert steady["window"]["start_ns"] - start_ns > 0.5e9, "of a ramp of 1.5 s that gets ever milder"
        assert steady["ramp_blocks"] >= 1
        figures = measured(place.out / folder)["official"]["figures"]["system_tps"]
        assert figures["window"] > figures["total"]


def _pace(**values: Any) -> Any:
    from wholecurve.sim import Pace

    return Pace(**values)


ANSWER = {"prompt_tokens": 3, "completion_tokens": 4}


class Crowded:
    """An endpoint that bears `best` requests at once; beyond that all take longer, and throughput falls."""

    def __init__(self, best: int) -> None:
        self.best = best
        self.ends: list[float] = []
        self.lock = threading.Lock()

    def __call__(self, request: Any) -> Any:
        with self.lock:
            now = time.monotonic()
            self.ends = [end_s for end_s in self.ends if end_s > now]
            crowd = len(self.ends) + 1
            takes_s = 0.06 * max(1.0, (crowd / self.best) ** 2)
            self.ends.append(now + takes_s)
        return sse_answer(["a", "b", "c", "d"], first_s=takes_s * 0.4, gap_s=takes_s * 0.2, usage=ANSWER)


@pytest.mark.slow
def test_the_search_finds_the_best_level_of_a_curve_that_falls(tmp_path: Path) -> None:
    place = Place(tmp_path)
    with ScriptedServer(Crowded(7)) as server:
        done = place.sweep(*flags(server.url, points=("--offline", "none", "--count", "4")))
    assert done.code == 0, done.err
    plan = yaml.safe_load(place.plan())
    assert plan["c_max_found"]
    assert 6 <= plan["c_max"] <= 8
    assert "throughput falls by" in plan["c_max_why"]
    assert any("throughput falls by" in line for line in done.errors())


@pytest.mark.slow
def test_a_curve_that_falls_is_shown_as_it_is(tmp_path: Path) -> None:
    place = Place(tmp_path)
    with ScriptedServer(Crowded(4)) as server:
        done = place.sweep(*flags(server.url, points=("--points", "1,4,12", "--offline", "none")))
    assert done.code == 0, done.err
    curve = json.loads((place.out / "curve.json").read_text())
    tps = {point["concurrency"]: point["figures"]["system_tps"]["value"] for point in curve["points"]}
    assert tps[1] < tps[4] > tps[12]
    assert "at concurrency 4" in done.out
    report = " ".join((place.out / "report.txt").read_text().split())
    assert "fall" in report, report


@pytest.mark.slow
def test_offline_dedicated_and_elected(tmp_path: Path) -> None:
    place = Place(tmp_path)
    with endpoint() as server:
        done = place.sweep(*flags(server.url, points=("--points", "2,5", "--offline", "both")))
    assert done.code == 0, done.err
    assert sorted(place.valid()) == ["points/offline", "points/r2", "points/r5"]
    said = {
        label: yaml.safe_load((place.out / "points" / label / "point.yaml").read_text())["offline"]
        for label in ("r2", "r5", "offline")
    }
    assert said == {"r2": "none", "r5": "elected", "offline": "dedicated"}
