"""The whole product as a newcomer meets it: seven levels, Offline, accuracy and reports, in at most three minutes."""

from __future__ import annotations

import json
import time
from pathlib import Path

import pytest
from cli_console import console, summary

LONGEST_S = 180


@pytest.mark.slow
def test_the_demo_is_a_complete_campaign_within_three_minutes(tmp_path: Path) -> None:
    began = time.monotonic()
    done = console("demo", "--out", "demo", cwd=tmp_path, timeout_s=LONGEST_S)
    took_s = time.monotonic() - began
    assert done.code == 0, done.err
    assert took_s < LONGEST_S
    folder = tmp_path / "demo"
    points = json.loads((folder / "curve.json").read_bytes())["points"]
    assert sorted(point["kind"] for point in points) == ["curve"] * 7 + ["offline"]
    runs = sorted((folder / "points").iterdir())
    assert len(runs) == 8
    assert all(summary(run)["validity"]["valid"] for run in runs)
    scored = [run for run in runs if (run / "accuracy" / "accuracy_results.json").is_file()]
    assert len(scored) == 5, "the four regions and Offline"
    assert {"report.html", "report.txt", "report.png"} <= {path.name for path in folder.iterdir()}
    again = console("report", "demo", "--recompute", cwd=tmp_path)
    assert again.code == 0, again.out + again.err
