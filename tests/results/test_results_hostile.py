"""curve.json and campaigns from strangers: numbers of no size, keys and points that are there twice."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from wholecurve.model.errors import InputError
from wholecurve.results import curve_from_document, description_beside, find_curves, load_campaign, write_curve
from wholecurve.results.unique_keys import DuplicateKeyError, loads_unique
from wholecurve.results.values import MAX_COUNT, count, number


@pytest.fixture
def document(campaign: Path) -> dict[str, Any]:
    write_curve(campaign)
    found: dict[str, Any] = json.loads((campaign / "curve.json").read_bytes())
    return found


@pytest.mark.parametrize("value", [1e20, 1.7e308, -1e20])
@pytest.mark.parametrize("name", ["value", "high"])
def test_a_figure_of_no_size_is_refused(document: dict[str, Any], name: str, value: float) -> None:
    document["points"][0]["figures"]["system_tps"][name] = value
    with pytest.raises(InputError, match="wanted a number of at most 1e") as refused:
        curve_from_document(document)
    assert refused.value.where == f"points[0].figures.system_tps.{name}"


def test_a_count_of_no_size_is_refused(document: dict[str, Any]) -> None:
    document["identity"]["accelerators"] = 2**62
    with pytest.raises(InputError, match="wanted a whole number of at most"):
        curve_from_document(document)


def test_two_points_of_one_source_are_refused(document: dict[str, Any]) -> None:
    """Each place of a ranking is found by its source: it would show the figures of another point."""
    source = document["points"][0]["provenance"]["source"]
    document["points"][1]["provenance"]["source"] = source
    with pytest.raises(InputError, match=f"wanted each source once, got '{source}' twice"):
        curve_from_document(document)


def test_a_key_that_is_there_twice_is_refused(campaign: Path, document: dict[str, Any]) -> None:
    path = campaign / "curve.json"
    path.write_text(json.dumps(document).replace('"system":', '"system": "nice", "system":', 1))
    with pytest.raises(InputError, match="the key 'system' is there twice") as refused:
        find_curves(path)
    assert str(campaign) not in str(refused.value)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('{"a": [{"b": 1, "b": 1}]}', "'b' is there twice"),
        ('{"a": NaN}', "NaN is no number"),
        ('{"a": -Infinity}', "no number"),
        ('{"a": 1e999}', "beyond a double"),
        ("[" * 100_000, "nested too deep"),
        ("", "Expecting value"),
    ],
)
def test_json_that_readers_would_read_differently(text: str, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        loads_unique(text)


def test_unique_json_is_read_as_it_is() -> None:
    assert loads_unique(b'{"a": {"a": [1, 2.5, null]}, "\xc3\xa9": true}') == {"a": {"a": [1, 2.5, None]}, "é": True}
    assert issubclass(DuplicateKeyError, ValueError)
    with pytest.raises(ValueError, match="utf-8"):
        loads_unique(b'"\xff"')


@pytest.mark.parametrize("value", [1e300, float("inf"), float("nan"), -1, 2**63, True, "7", None])
def test_numbers_of_run_files_are_bounded(value: object) -> None:
    assert number(value) is None


def test_counts_of_run_files_are_bounded() -> None:
    assert (count(MAX_COUNT), count(MAX_COUNT + 1), count(0), count(1.0)) == (MAX_COUNT, None, None, None)
    assert (number(0), number(9.2e18)) == (0, 9.2e18)


def test_what_a_campaign_has_not_got_is_said_where_its_curve_is_found(campaign: Path) -> None:
    (campaign / "points" / "r4" / "performance" / "result_summary.json").write_text("{")
    missing = load_campaign(campaign).missing
    assert any("points/r4" in one for one in missing)
    assert find_curves(campaign).skipped == missing
    assert find_curves(campaign.parent).skipped == tuple(f"{campaign.name}: {one}" for one in missing)


def test_a_description_beside_a_curve_is_found_by_folder_and_by_file(campaign: Path, document: dict[str, Any]) -> None:
    assert document["schema"]
    assert description_beside(campaign / "curve.json") is None
    (campaign / "system_desc.json").write_text('{"serving_framework": "vLLM 0.10"}')
    assert description_beside(campaign) == description_beside(campaign / "curve.json")
    (campaign / "system_desc.json").write_text("{")
    with pytest.raises(InputError, match="not valid JSON"):
        description_beside(campaign)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_a_folder_that_may_not_be_read_is_said_to_be_that(tmp_path: Path) -> None:
    (tmp_path / "closed").mkdir(mode=0)
    with pytest.raises(InputError, match="cannot read the folder closed"):
        find_curves(tmp_path / "closed")


def test_a_link_in_the_place_of_an_unfinished_curve_is_not_followed(campaign: Path, tmp_path: Path) -> None:
    victim = tmp_path / "victim"
    victim.write_text("precious")
    (campaign / "curve.json.part").symlink_to(victim)
    write_curve(campaign)
    assert victim.read_text() == "precious"
    assert not (campaign / "curve.json").is_symlink()
    assert len(find_curves(campaign / "curve.json").curves) == 1
