"""The commands over a campaign that was really measured."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from result_runs import copy_of, edit_summary, write_plan

from wholecurve.cli.main import main
from wholecurve.results import load_campaign, write_curve


@pytest.fixture(autouse=True)
def here(campaign: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(campaign.parent)
    monkeypatch.setenv("COLUMNS", "80")


def test_pick_names_the_measured_point(campaign: Path, capsys: pytest.CaptureFixture[str]) -> None:
    points = load_campaign(campaign).points
    limit = points["r4"].figure("ttft_p90_ns").value
    speed = points["r4"].figure("tps_per_user").value
    assert limit
    assert speed
    flags = ["pick", "campaign", "--ttft-p90", f"{limit}ns", "--interactivity", f"{speed!r}", "--concurrency", "4"]
    assert main([*flags, "--json"]) == 0
    (place,) = json.loads(capsys.readouterr().out)["places"]
    assert (place["point"], place["concurrency"]) == ("campaign/points/r4", 4)
    assert place["value"] == points["r4"].figure("system_tps").value
    assert place["single_run"] is False
    assert main(flags) == 0
    assert "campaign/points/r4 · unverified, local · runs differ by" in capsys.readouterr().out
    below = f"{limit // 1000}ns"
    assert main(["pick", "campaign", "--ttft-p90", below]) == 1
    assert "Nothing passes" in capsys.readouterr().out


def test_an_invalid_run_wins_nothing(campaign: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for label in ("r1", "r4"):
        edit_summary(
            campaign / "points" / label,
            lambda summary: summary.update(validity={"valid": False, "invalid_reasons": ["31 of 32 failed"]}),
        )
    assert main(["pick", "campaign", "--by", "ttft_p90_ns"]) == 0
    out = capsys.readouterr().out
    assert "campaign/points/r16 ·" in out
    assert "campaign/points/r1: not valid: 31 of 32 failed" in out


def test_a_delivery_is_held_to_its_own_published_curve(campaign: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_curve(campaign)
    assert main(["accept", "campaign", "--against", "campaign/curve.json"]) == 0
    assert capsys.readouterr().out.startswith("ACCEPTED")


def test_two_campaigns_of_one_endpoint_compare(campaign: Path, capsys: pytest.CaptureFixture[str]) -> None:
    copy_of(campaign, campaign.parent / "later")
    write_plan(campaign.parent / "later", name="winter")
    assert main(["compare", "campaign", "later"]) == 0
    out = capsys.readouterr().out
    assert "second: winter/winter/own workload: prompts" in out
    assert out.count("concurrency") >= 3
    assert "counted by the endpoints themselves" in " ".join(out.split())
