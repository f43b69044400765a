"""A campaign measured on the simulated endpoint, read back from its folder and laid out in every form."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
import yaml
from test_campaign_html import safe

from wholecurve.cli.inputs import resolved_run
from wholecurve.config import RunFlags
from wholecurve.report import CampaignView, campaign_html, campaign_text, view_of
from wholecurve.results import load_campaign
from wholecurve.run import measure
from wholecurve.sim import SimOptions, start

LEVELS = (1, 4, 16)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three measured levels of about a second each, and a fourth that the plan wants and nobody measured."""
    place = tmp_path_factory.mktemp("real") / "campaign"
    rows = place.parent / "prompts.jsonl"
    rows.write_text("".join(json.dumps({"prompt": f"Say {k} words about the sea."}) + "\n" for k in range(16)))
    with start(SimOptions(models=("sim",), seed=1, speed=4.0)) as sim:
        for level in LEVELS:
            flags = RunFlags(endpoint=(sim.url,), model="sim", dataset=str(rows), concurrency=level, duration="800ms",
                             max_tokens=24, name=f"r{level}", workers=1)  # fmt: skip
            out = place / "points" / f"r{level}"
            out.mkdir(parents=True)
            measure(resolved_run(flags, lambda _: None), out, show=lambda _: None, say=lambda _: None)
    levels = [{"label": f"r{level}", "concurrency": level} for level in (*LEVELS, 40)]
    plan = {
        "schema": "wholecurve.campaign/1", "name": "real", "rules": {"version": "demo", "edition": "E3"}, "c_max": 40,
        "c_min": 1, "levels": levels, "order": [one["label"] for one in levels], "order_seed": 3,
        "endpoint": {"urls": ["http://127.0.0.1/v1"], "models": ["sim"]},
    }  # fmt: skip
    (place / "plan.yaml").write_text(yaml.safe_dump(plan))
    entries = [{"at": "2026-03-01T09:00:00+00:00", "event": "created"}]
    entries += [{"at": "2026-03-01T09:01:00+00:00", "event": "point_ended", "label": f"r{k}"} for k in LEVELS]
    entries += [{"at": "2026-03-01T09:02:00+00:00", "event": "interrupted"}]
    (place / "journal.jsonl").write_text("".join(json.dumps(one) + "\n" for one in entries))
    return place


@pytest.fixture(scope="module")
def view(folder: Path) -> CampaignView:
    return view_of(load_campaign(folder))


def test_the_view_holds_the_official_figures_of_the_files(view: CampaignView, folder: Path) -> None:
    for point in view.points:
        summary = json.loads((folder / "points" / point.label / "performance" / "result_summary.json").read_text())
        official = (summary.get("official") or {}).get("figures") or {}
        stated = official.get("system_tps", {}).get("value", summary["system_tps"])
        assert point.system.value == stated
        assert point.ttft.value == official.get("ttft_p90_ns", {}).get("value", summary["ttft"]["percentiles"]["90.0"])
        assert point.ttft_shape is not None
        assert sum(bar.height for bar in point.ttft_shape.bars) == summary["ttft"]["n"]
    assert [point.label for point in view.points] == [f"r{level}" for level in LEVELS]


def test_an_interrupted_campaign_says_what_is_missing(view: CampaignView) -> None:
    assert view.state == "interrupted"
    assert "r40" in [one.label for one in view.missing]
    assert not [one for one in view.warnings if one.what == "files"], "nothing is said twice"
    assert [one.title for one in view.stretches][:2] == ["Ultra Low", "Low"]


def test_page_and_text_are_made_of_it(view: CampaignView, folder: Path) -> None:
    page, text = campaign_html(view), campaign_text(view)
    reader = safe(page)
    assert "unverified, local" in reader.text
    assert str(folder) not in page + text, "no path of the machine"
    for level in LEVELS:
        assert (folder / "points" / f"r{level}" / "report.html").is_file(), "what the page links to is there"
        assert f'href="points/r{level}/report.html"' in page


def test_records_stand_in_where_a_summary_lacks_its_histograms(folder: Path) -> None:
    campaign = load_campaign(folder)
    bare = {label: {**summary, "ttft": {}, "tpot": {}} for label, summary in campaign.summaries.items()}
    shapes = [one.ttft_shape for one in view_of(replace(campaign, summaries=bare)).points]
    full = [one.ttft_shape for one in view_of(campaign).points]
    for made, stated in zip(shapes, full, strict=True):
        assert made is not None
        assert stated is not None
        assert sum(bar.height for bar in made.bars) == sum(bar.height for bar in stated.bars)
    (folder / "points" / "r1" / "records" / "requests.parquet").rename(folder / "gone.parquet")
    try:
        assert view_of(replace(campaign, summaries=bare)).points[0].ttft_shape is None
    finally:
        (folder / "gone.parquet").rename(folder / "points" / "r1" / "records" / "requests.parquet")
