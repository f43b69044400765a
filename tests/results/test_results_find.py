"""Curves from a folder, a file, and a folder of these."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest
from result_runs import copy_of, edit_plan, write_plan

from wholecurve.model.errors import InputError
from wholecurve.results import find_curves, load_curves, write_curve


@pytest.fixture
def shelf(campaign: Path, tmp_path: Path) -> Path:
    """A folder with a campaign, a run, a campaign's curve.json alone, and what is none of these."""
    shelf = tmp_path / "shelf"
    copy_of(campaign, shelf / "b-campaign")
    copy_of(campaign / "points" / "r4", shelf / "a-run")
    write_plan(campaign, name="spring")
    write_curve(campaign)
    (shelf / "deep" / "c-curve").mkdir(parents=True)
    shutil.move(campaign / "curve.json", shelf / "deep" / "c-curve" / "curve.json")
    (shelf / "notes.txt").write_text("nothing")
    (shelf / ".hidden").mkdir()
    (shelf / "empty").mkdir()
    return shelf


def test_everything_on_a_shelf_in_order(shelf: Path) -> None:
    found = find_curves(shelf)
    assert found.places == ("a-run", "b-campaign", "deep/c-curve")
    assert [curve.identity.submission for curve in found.curves] == ["a-run", "autumn", "spring"]
    assert [curve.points[0].provenance.source for curve in found.curves] == [
        "a-run", "b-campaign/points/r1", "deep/c-curve/points/r1",
    ]  # fmt: skip
    assert found.skipped == ()
    assert load_curves(shelf) == found.curves


def test_a_run_alone(campaign: Path) -> None:
    found = find_curves(campaign / "points" / "r4")
    (curve,) = found.curves
    assert (curve.identity.system, len(curve.points), found.places) == ("r4", 1, (".",))


def test_runs_of_one_name_are_one_curve(campaign: Path, tmp_path: Path) -> None:
    shelf = tmp_path / "runs"
    for label in ("r1", "r4", "r16", "offline"):
        copy_of(campaign / "points" / label, shelf / label)
        edit_plan(shelf / label, lambda plan: plan.update(name="box"))
    copy_of(shelf / "r4", shelf / "r4-again")
    (curve,) = load_curves(shelf)
    assert curve.id == "box/box/own workload: prompts"
    assert [point.concurrency for point in curve.points] == [1, 4, 16, 8]
    assert len(curve.set_aside) == 1
    edit_plan(shelf / "r1", lambda plan: plan["datasets"][0].update(sha256="00" * 32))
    one, other = load_curves(shelf)
    assert {one.id, other.id} == {"box (offline)/box/own workload: prompts", "box (r1)/box/own workload: prompts"}


def test_two_campaigns_of_one_name_are_told_apart(campaign: Path, tmp_path: Path) -> None:
    shelf = tmp_path / "shelf"
    for name in ("old", "new"):
        copy_of(campaign, shelf / name)
    assert [curve.identity.submission for curve in load_curves(shelf)] == ["autumn (new)", "autumn (old)"]


def test_what_cannot_be_read_is_named_and_the_rest_is_there(shelf: Path) -> None:
    (shelf / "deep" / "c-curve" / "curve.json").write_text("{}")
    (shelf / "a-run" / "performance" / "result_summary.json").unlink()
    found = find_curves(shelf)
    assert found.places == ("b-campaign",)
    assert [one.partition(":")[0] for one in found.skipped] == ["a-run", "deep/c-curve/curve.json"]


def test_a_sweep_without_levels_gives_none_of_its_trials(campaign: Path, tmp_path: Path) -> None:
    begun = tmp_path / "shelf" / "begun"
    copy_of(campaign / "points" / "r4", begun / "search" / "c4")
    (begun / "journal.jsonl").write_text('{"at": "x", "event": "created"}\n')
    for path in (begun, begun.parent):
        with pytest.raises(InputError, match="before its levels were chosen"):
            load_curves(path)


def test_nothing_there(tmp_path: Path) -> None:
    (tmp_path / "a" / "b" / "c").mkdir(parents=True)
    (tmp_path / "fifo").touch()
    with pytest.raises(InputError, match="found no curve") as refused:
        load_curves(tmp_path)
    assert "plan.yaml" in refused.value.hint
    with pytest.raises(InputError, match="found nothing"):
        load_curves(tmp_path / "away")


def test_two_levels_deep_and_no_deeper(campaign: Path, tmp_path: Path) -> None:
    copy_of(campaign / "points" / "r4", tmp_path / "one" / "two" / "three" / "run")
    for path, count in ((tmp_path / "one" / "two", 1), (tmp_path / "one" / "two" / "three", 1)):
        assert len(load_curves(path)) == count
    with pytest.raises(InputError, match="found no curve"):
        load_curves(tmp_path / "one")


def test_loops_of_links_and_other_kinds_of_files_do_no_harm(campaign: Path, tmp_path: Path) -> None:
    shelf = tmp_path / "shelf"
    copy_of(campaign / "points" / "r4", shelf / "run")
    (shelf / "loop").symlink_to(shelf, target_is_directory=True)
    (shelf / "away").symlink_to(tmp_path / "gone")
    (shelf / "itself").symlink_to(shelf / "itself")
    os.mkfifo(shelf / "curve.json")
    assert find_curves(shelf).places == ("run",)
    with pytest.raises(InputError, match="found nothing"):
        load_curves(shelf / "curve.json")


def test_a_path_that_is_itself_damaged_is_refused(campaign: Path) -> None:
    (campaign / "plan.yaml").write_text("schema: none")
    with pytest.raises(InputError, match="campaign/1"):
        load_curves(campaign)
    (campaign / "points" / "r4" / "plan.json").write_text("{")
    with pytest.raises(InputError, match="not valid JSON"):
        load_curves(campaign / "points" / "r4")
