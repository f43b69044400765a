"""Steady state of real loads, held against the truth log of the simulator: what it was, not what we computed of it."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import yaml
from run_build import NS
from steady_sim import ENGINE, SteadyRun, one_run, steady_run

from wholecurve.sim import Pace

CLOSE = 0.02
"""Two stamps of one event differ by microseconds, and an edge of a window by a step."""
CAPTURES = {2: 60, 8: 30, 32: 20}
"""Slow steps for each padded size of batch, by concurrency; there are 2, 4 and 6 sizes up to it."""


def capturing(steps: int) -> Pace:
    return Pace(capture_steps=steps, capture_times=3.0)


def size_and_blocks(run: SteadyRun) -> tuple[int, int]:
    cut = run.steady["cut"]
    return cut["block_size"], cut["blocks"]


def inside(run: SteadyRun) -> slice:
    """The window's requests, as places in the issue order."""
    size, _ = size_and_blocks(run)
    first = run.window["super_pass_start"] * run.steady["cut"]["pass_size"]
    assert first % size == 0
    return slice(first, first + run.window["requests"])


def expect_close(found: float, true: float) -> None:
    assert found == pytest.approx(true, rel=CLOSE)


# -- a ramp that depends on the load -----------------------------------------------------------------------------------


@pytest.mark.parametrize("concurrency", CAPTURES)
def test_the_ramp_of_new_batch_sizes_is_cropped_and_the_window_is_the_steady_engine(
    tmp_path: Path, concurrency: int
) -> None:
    rows = max(12, 2 * concurrency)
    pace = capturing(CAPTURES[concurrency])
    run = steady_run(
        tmp_path, concurrency=concurrency, rows=rows, pace=pace, window_ns=3 * NS, seconds=3.0, extra_s=8.0
    )
    size, blocks = size_and_blocks(run)
    level, touched = run.truth.level(blocks, size), run.truth.touched(blocks, size)
    steady = float(np.median(level[blocks // 2 :]))
    ramp = int(np.flatnonzero(np.abs(level / steady - 1) > 0.05)[-1]) + 1

    assert (run.steady["status"], run.steady["verdict"], run.steady["flag"]) == ("windowable", "STEADY STATE", "none")
    assert run.steady["ramp_blocks"] >= ramp >= 1
    first = run.window["super_pass_start"] * run.steady["cut"]["pass_size"] // size
    assert touched[: run.steady["ramp_blocks"]].max() > 0.5, "the run did have a ramp"
    assert touched[first + 1 :].max() < 0.1, "and the window has nothing of it"
    assert touched[first] <= 0.2
    tail = run.truth.level(blocks, size, 90)
    off = np.abs(tail / np.median(tail[blocks // 2 :]) - 1) > 0.03
    assert first - int(np.flatnonzero(off[:first])[-1]) <= 2, "nothing good was thrown away"
    assert run.window["duration_ns"] >= 3 * NS

    # What the engine did from the end of the ramp until issuing ended, whatever window was found.
    after = slice(ramp * size + size, None)
    last = int(run.truth.arrived_ns.max())
    began = int(run.truth.arrived_ns[after].min())
    tpot = run.truth.tpot_ns[after]
    expect_close(run.figure("tpot_p50_ns")["value"], float(np.percentile(tpot, 50)))
    expect_close(run.figure("tpot_p90_ns")["value"], float(np.percentile(tpot, 90)))
    expect_close(run.figure("tps_per_user")["value"], NS / float(np.percentile(tpot, 90)))
    expect_close(run.window["completed_tps"], run.truth.tokens_per_s(run.window["start_ns"], run.window["end_ns"]))
    assert run.figure("system_tps")["value"] == pytest.approx(run.truth.tokens_per_s(began, last), rel=2 * CLOSE)

    # The whole run is another engine's: it holds the ramp.
    assert run.figure("system_tps")["total"] < 0.93 * run.figure("system_tps")["value"]
    assert run.figure("latency_p90_ns")["total"] > 1.05 * run.figure("latency_p90_ns")["value"]
    before_ns = run.window["start_ns"] - int(run.truth.arrived_ns.min())
    sizes = concurrency.bit_length()
    assert before_ns >= 0.8 * sizes * CAPTURES[concurrency] * 3 * ENGINE.step_ns


def test_a_warm_up_takes_the_ramp_and_nothing_but_the_lead_is_cropped(tmp_path: Path) -> None:
    """The same engine, with sizes met before the measurement begins."""
    run = steady_run(tmp_path, pace=capturing(24), rows=16, warmup={"duration": "2s"}, seconds=2.0, window_ns=NS)
    size, blocks = size_and_blocks(run)
    assert run.truth.touched(blocks, size).max() < 0.1
    assert (run.steady["verdict"], run.steady["ramp_blocks"]) == ("STEADY STATE", 1)
    tps = run.figure("system_tps")
    assert tps["total"] == pytest.approx(tps["value"], rel=0.06), "only start and drain are left in it"


# -- what is not steady ------------------------------------------------------------------------------------------------


def test_a_drift_is_a_range_that_holds_the_truth(tmp_path: Path) -> None:
    run = steady_run(tmp_path, rows=16, pace=Pace(drift_per_min=2.0), seconds=6.0, window_ns=NS // 2)
    assert (run.steady["status"], run.steady["verdict"]) == ("windowable", "drifting_up")
    assert (run.steady["basis"], run.steady["flag"]) == ("window", "drift")
    drifting = {one["key"] for one in run.steady["drifts"] if one["state"] == "Drifting Up"}
    gates = drifting & {"tpot_p50", "tpot_p90"}
    assert gates, "one of the series that gate is what drifts"
    size, blocks = size_and_blocks(run)
    first = inside(run).start // size
    for percentile in (50, 90):
        found, level = run.figure(f"tpot_p{percentile}_ns"), run.truth.level(blocks, size, percentile)[first:]
        expect_close(found["total"], float(np.percentile(run.truth.tpot_ns, percentile)))
        if f"tpot_p{percentile}" in gates:
            assert found["value"] is None
            assert "a range, no point value" in found["reason"]
            expect_close(found["low"], float(level.min()))
            expect_close(found["high"], float(level.max()))
            assert found["high"] > 1.05 * found["low"]
    assert (run.figure("tps_per_user")["value"] is None) == ("tpot_p90" in gates)
    assert run.figure("system_tps")["value"] is not None, "what does not drift has a point value"


def test_a_step_is_an_anomaly_and_the_first_plateau_is_official(tmp_path: Path) -> None:
    pace = Pace(shift_ns=2 * NS, shift_times=1.4)
    run = steady_run(tmp_path, rows=16, pace=pace, seconds=5.5, window_ns=NS)
    assert (run.steady["status"], run.steady["verdict"]) == ("windowable", "anomaly")
    assert (run.steady["basis"], run.steady["flag"]) == ("window", "anomaly")
    size, blocks = size_and_blocks(run)
    level = run.truth.level(blocks, size)
    step = int(np.argmax(np.diff(level))) + 1
    assert level[step + 1] / level[step - 2] == pytest.approx(1.4, rel=0.05), "the simulator did change"
    assert abs(run.steady["anomaly"]["block"] - step) <= 2
    assert inside(run).stop <= (step + 1) * size
    expect_close(
        run.figure("tpot_p50_ns")["value"], float(np.percentile(run.truth.tpot_ns[size : (step - 1) * size], 50))
    )
    assert run.figure("tpot_p50_ns")["total"] > 1.3 * run.figure("tpot_p50_ns")["value"]


@pytest.mark.parametrize(
    ("stop", "window_ns", "status", "reason"),
    [
        ({"requests": 20}, NS // 2, "partial_dataset", "the run issued 20 requests, less than one pass of 32"),
        ({"passes": 3}, NS // 2, "insufficient_passes", "the run has 3 passes of the data set, wanted at least 5"),
        ({"passes": 16}, 100 * NS, "insufficient_duration", "of issue time, wanted 100 s: run longer"),
    ],
    ids=["part of the data set", "too few passes", "too short"],
)
def test_a_run_that_is_too_short_has_the_whole_run_for_its_basis(
    tmp_path: Path, stop: dict[str, int], window_ns: int, status: str, reason: str
) -> None:
    run = steady_run(tmp_path, stop=stop, window_ns=window_ns)
    assert (run.steady["status"], run.steady["basis"], run.steady["flag"]) == (status, "total", "fallback")
    assert reason in run.steady["reason"]
    p50 = run.figure("tpot_p50_ns")
    assert p50["value"] == p50["total"]
    expect_close(p50["value"], float(np.percentile(run.truth.tpot_ns, 50)))
    took_ns = int(run.truth.sends_ns.max()) - int(run.truth.arrived_ns.min())
    expect_close(run.figure("system_tps")["value"], run.truth.tokens * NS / took_ns)


# -- where the rules know no window ------------------------------------------------------------------------------------


def test_an_open_loop_has_a_window_beside_the_whole_run(tmp_path: Path) -> None:
    run = steady_run(tmp_path, rows=16, load={"rate": 60}, seconds=4.0, window_ns=2 * NS)
    assert run.steady["verdict"] == "STEADY STATE"
    assert (run.steady["basis"], run.steady["flag"]) == ("total", "out of scope")
    assert "only at fixed concurrency" in run.steady["reason"]
    p50, tps = run.figure("tpot_p50_ns"), run.figure("system_tps")
    assert (p50["value"], tps["value"]) == (p50["total"], tps["total"])
    expect_close(p50["window"], float(np.percentile(run.truth.tpot_ns[inside(run)], 50)))
    expect_close(p50["value"], float(np.percentile(run.truth.tpot_ns, 50)))
    took_ns = int(run.truth.sends_ns.max()) - int(run.truth.arrived_ns.min())
    expect_close(tps["value"], run.truth.tokens * NS / took_ns)


def test_offline_says_why_it_has_no_window(tmp_path: Path) -> None:
    run = one_run(tmp_path / "run", load={"pattern": "offline"}, stop={"requests": 64})
    assert run.invalid == ()
    assert (run.steady["status"], run.steady["verdict"], run.steady["window"]) == (None, None, None)
    assert run.steady["reason"].startswith("offline: all requests are issued at once")
    tps = run.figure("system_tps")
    assert (tps["basis"], tps["window"]) == ("total", None)
    took_ns = int(run.truth.sends_ns.max()) - int(run.truth.arrived_ns.min())
    expect_close(tps["value"], run.truth.tokens * NS / took_ns)
    point = yaml.safe_load((run.folder / "point.yaml").read_text())
    assert point.get("steady_state") is None
