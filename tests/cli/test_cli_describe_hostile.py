"""`wholecurve describe` with what is no file, no text, or there twice."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
from rich.cells import cell_len

from wholecurve import __version__
from wholecurve.cli.main import main
from wholecurve.describe import capture, capture_document


@pytest.fixture(scope="module")
def captured() -> dict[str, Any]:
    """Of this host, with cards that it does not have."""
    document = json.loads(json.dumps(capture_document(capture(), __version__)))
    card = {"count": 8, "model": "NVIDIA B200", "memory_bytes": 192 << 30, "memory_type": "HBM3e"}
    document["node"]["accelerators"] = [{**card, "host_interconnect": "PCIe 6.0 x16"}]
    found: dict[str, Any] = document
    return found


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, captured: dict[str, Any]) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")
    Path("node.json").write_text(json.dumps(captured))


POWER = {
    "system_desc_id": "x",
    "cooling": "air",
    "node_sets": [
        {
            "node_set_id": 1,
            "system_node_ensemble_id": 1,
            "nodes_provisioned": 1,
            "power_method": "component_sum",
            "components": {
                "cpu": {"model": "Intel Xeon 56-core", "count_per_node": 2},
                "accelerator": {"model": "NVIDIA B200", "count_per_node": 8},
                "scale_up_network": {"method": "none"},
            },
        }
    ],
    "scale_out": {"present": False},
}


def refused(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    before = sorted(os.listdir())
    assert main(["describe", *arguments]) == 2
    streams = capsys.readouterr()
    assert (streams.out, sorted(os.listdir())) == ("", before)
    return " ".join(streams.err.split())


@pytest.mark.parametrize("flag", ["--merge", "--with", "--power"])
def test_what_is_no_file_is_not_read(capsys: pytest.CaptureFixture[str], flag: str) -> None:
    """A pipe without a writer would be waited for, for ever."""
    os.mkfifo("pipe")
    Path("folder").mkdir()
    Path("itself").symlink_to("itself")
    assert f"{flag}: wanted a file, got pipe, which is none" in refused(capsys, flag, "pipe")
    assert f"{flag}: wanted a file, got folder, which is none" in refused(capsys, flag, "folder")
    assert f"{flag}: wanted a file, got /dev/zero, which is none" in refused(capsys, flag, "/dev/zero")
    assert f"{flag}: cannot read itself" in refused(capsys, flag, "itself")
    assert f"{flag}: cannot read away" in refused(capsys, flag, "away")
    assert f"{flag}: wanted a file's name, got an empty text" in refused(capsys, flag, "")
    assert len(refused(capsys, flag, "x" * 5000)) < 400
    assert "not a name of a file" in refused(capsys, flag, "a\0b")


@pytest.mark.parametrize("flag", ["--out", "--capture", "--template", "--power-template"])
def test_what_is_no_file_is_not_written_over(capsys: pytest.CaptureFixture[str], flag: str) -> None:
    """Files are written by renaming: a device or a pipe would be replaced by a file."""
    os.mkfifo("pipe")
    Path("device").symlink_to("pipe")
    Path("itself").symlink_to("itself")
    assert f"{flag}: wanted a file, got pipe, which is none" in refused(capsys, flag, "pipe")
    assert f"{flag}: wanted a file, got device, which is none" in refused(capsys, flag, "device")
    assert f"{flag}: cannot write itself" in refused(capsys, flag, "itself")
    assert "an empty text" in refused(capsys, flag, "")
    assert len(refused(capsys, flag, "x" * 5000)) < 400


def test_one_node_is_counted_once(capsys: pytest.CaptureFixture[str]) -> None:
    Path("link.json").symlink_to("node.json")
    assert "got link.json twice: its node would be counted twice" in refused(
        capsys, "--merge", "node.json", "link.json"
    )


def test_text_in_another_encoding_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    Path("mine.yaml").write_bytes("system_name: Größe".encode("latin-1"))
    assert "--with: wanted UTF-8 text" in refused(capsys, "--merge", "node.json", "--with", "mine.yaml")


def test_a_node_type_that_is_there_twice_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    rows = "\n".join(f"- system_node_ensemble_id: 1\n  cooling: {word}" for word in ("liquid", "air"))
    Path("mine.yaml").write_text(f"node_types:\n{rows}\n")
    error = refused(capsys, "--merge", "node.json", "--with", "mine.yaml")
    assert "system_node_ensemble_id: wanted each number once, got 1 twice at mine.yaml:4" in error


def test_keys_that_are_there_twice_are_refused(capsys: pytest.CaptureFixture[str]) -> None:
    Path("power.json").write_text(json.dumps(POWER).replace('"cooling"', '"cooling": "liquid", "cooling"'))
    assert "the key 'cooling' is there twice" in refused(capsys, "--merge", "node.json", "--power", "power.json")
    Path("other.json").write_text(Path("node.json").read_text().replace('"kernel"', '"kernel": "9", "kernel"'))
    assert "the key 'kernel' is there twice" in refused(capsys, "--merge", "other.json")


def test_a_power_of_no_size_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    huge = json.loads(json.dumps(POWER))
    huge["node_sets"][0]["nodes_provisioned"] = 10**12
    Path("power.json").write_text(json.dumps(huge))
    assert "wanted a total of at most 1e+12 W" in refused(capsys, "--merge", "node.json", "--power", "power.json")


def test_everything_fits_a_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    Path("power.json").write_text(json.dumps(POWER))
    Path("mine.yaml").write_text(f"cooling: air only\nsystem_name: {'漢字' * 40}\nhw_notes: {'x' * 200}\n")
    assert main(["describe", "--merge", "node.json", "--with", "mine.yaml", "--power", "power.json"]) == 1
    out = capsys.readouterr().out
    assert [line for line in out.splitlines() if cell_len(line) > 80] == []
    assert "Described from 1 capture," in out
    words = " ".join(out.split())
    assert "13.05 kW (MLC Estimated Power): component sum; overhead 0.5 on major components" in words
    assert "accelerators 8,000 W default D.3" in words
