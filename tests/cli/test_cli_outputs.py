"""Files that are written whole or not at all, in folders that somebody else may have prepared."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from wholecurve.cli.outputs import write_named
from wholecurve.model.errors import InputError, MeasureError
from wholecurve.run.files import write_atomically

WRITERS = [write_named, write_atomically]


@pytest.mark.parametrize("write", WRITERS)
def test_a_link_in_the_place_of_the_unfinished_file_is_not_followed(
    write: Callable[[Path, bytes], None], tmp_path: Path
) -> None:
    victim, path = tmp_path / "victim", tmp_path / "report.html"
    victim.write_text("precious")
    path.with_name("report.html.part").symlink_to(victim)
    write(path, b"a report")
    assert (path.read_bytes(), path.is_symlink()) == (b"a report", False)
    assert victim.read_text() == "precious"
    assert sorted(one.name for one in tmp_path.iterdir()) == ["report.html", "victim"]


@pytest.mark.parametrize("write", WRITERS)
def test_an_unfinished_file_that_was_left_behind_is_no_hindrance(
    write: Callable[[Path, bytes], None], tmp_path: Path
) -> None:
    (tmp_path / "report.html.part").write_text("half of a rep")
    write(tmp_path / "report.html", b"a report")
    assert [one.name for one in tmp_path.iterdir()] == ["report.html"]


@pytest.mark.parametrize("write", WRITERS)
def test_a_folder_is_no_ordinary_file(write: Callable[[Path, bytes], None], tmp_path: Path) -> None:
    with pytest.raises(InputError, match="wanted an ordinary file"):
        write(tmp_path, b"")


def test_a_folder_that_is_a_file_is_said_with_the_name_as_typed(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(MeasureError, match=r"file/x\.html cannot be written: Not a directory"):
        write_named(tmp_path / "file" / "x.html", b"")
