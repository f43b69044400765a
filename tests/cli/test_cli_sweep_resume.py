"""`wholecurve sweep --resume`: what may differ from the start, what may not, and where it may be started from."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from cli_console import end, wait_until
from cli_sweep import Endpoint, Place, alive, endpoint, flags

TOKENIZER = Path(__file__).parents[1] / "assets" / "tokenizer"
TWO = ("--points", "2,5", "--offline", "none")


@pytest.fixture(scope="module")
def server() -> Iterator[Endpoint]:
    with endpoint() as found:
        yield found


@pytest.fixture(scope="module")
def stopped(tmp_path_factory: pytest.TempPathFactory, server: Endpoint) -> Place:
    """A sweep of two points that was killed after the first."""
    place = Place(tmp_path_factory.mktemp("stopped"))
    shutil.copytree(TOKENIZER, place.folder / "tokenizer")
    child = place.begin(
        *flags(server.url, "--tokenizer", "tokenizer", "--seed-set", "demo", "--idle-gap", "5s", points=TWO)
    )
    place.wait_for("point_ended")
    child.kill()
    end(child)
    wait_until(lambda: not alive(child.pid))
    return place


@pytest.fixture
def place(stopped: Place, tmp_path: Path) -> Place:
    """A copy of it."""
    shutil.copytree(stopped.folder, tmp_path / "here", symlinks=True)
    return Place(tmp_path / "here")


def one_byte(path: str) -> Callable[[Place], None]:
    def change(place: Place) -> None:
        data = (place.folder / path).read_bytes()
        (place.folder / path).write_bytes(data.replace(b"number 3", b"number 4", 1))

    return change


def token_added(place: Place) -> None:
    path = place.folder / "tokenizer" / "tokenizer.json"
    text = path.read_text()
    path.write_text(text + "\n")


def nothing(place: Place) -> None:
    """Flags alone differ."""


CHANGES: dict[str, tuple[Callable[[Place], None], list[str], list[str]]] = {
    "one byte of the data set": (one_byte("rows.jsonl"), [], ["the data set rows (SHA-256) was "]),
    "tokenizer": (token_added, [], ["the tokenizer (SHA-256) was "]),
    "edition": (nothing, ["--edition", "E1"], ["edition of the rules was E3, and is E1 now"]),
    "rules": (nothing, ["--rules", "demo"], ["version of the rules was quick, and is demo now"]),
    "output limit": (nothing, ["--max-tokens", "17"], ["`request.max_tokens` was 16, and is 17 now"]),
    "repeats": (nothing, ["--repeats", "2"], ["`sweep.repeats` was 1, and is 2 now"]),
    "points": (nothing, ["--points", "2,6"], ["`sweep.points` was 2,5, and is 2,6 now"]),
    "several": (
        one_byte("rows.jsonl"),
        ["--max-tokens", "17", "--offline", "elected", "--sampling", "temperature=0.5"],
        [
            "the data set rows (SHA-256) was ",
            "`request.max_tokens` was 16, and is 17 now",
            "`request.sampling.temperature` was not set, and is 0.5 now",
            "`sweep.offline` was none, and is elected now",
        ],
    ),
}


@pytest.mark.parametrize("case", CHANGES)
def test_what_changed_is_listed_and_nothing_is_touched(case: str, place: Place) -> None:
    change, more, words = CHANGES[case]
    change(place)
    before = {path: path.stat().st_mtime_ns for path in place.out.rglob("*") if path.name != "sweep.lock"}
    done = place.resume(*more)
    assert (done.code, done.out) == (2, "")
    refused = next(line for line in done.errors() if line.startswith("error: "))
    assert refused.startswith("error: this sweep cannot be resumed, because it would mix what cannot be compared: ")
    for one in words:
        assert one in refused
    assert refused.count("; ") + 1 == len(words), "each difference once"
    assert done.errors()[-1] == "  Restore what changed, or start a new sweep in another folder."
    after = {path: path.stat().st_mtime_ns for path in place.out.rglob("*") if path.name != "sweep.lock"}
    assert {path for path in after if after[path] != before.get(path)} == {place.out / "journal.jsonl"}
    assert place.events()[-1]["event"] == "changed"


def test_what_may_differ(place: Place) -> None:
    """Workers, a name, how long to wait; the data set under another name and in another folder."""
    os.rename(place.folder / "rows.jsonl", place.folder / "moved.jsonl")
    elsewhere = place.folder / "elsewhere"
    elsewhere.mkdir()
    missing = place.resume(out="../out", cwd=elsewhere)
    assert missing.code == 2
    assert missing.errors() == [
        "error: this sweep needs the file rows.jsonl (dataset.path), which is not there",
        "  go on from the folder where the sweep was started, or say where the file is now: --dataset PATH "
        "(its content is compared, not its place), or set WHOLECURVE_FILES to the folder of all of them",
    ]
    more = ["--dataset", "../moved.jsonl", "--tokenizer", "../tokenizer", "--workers", "1", "--wait-endpoint", "5s"]
    before = place.stamps()
    done = place.resume(*more, "--quiet", out="../out", cwd=elsewhere)
    assert (done.code, done.out, done.err) == (0, "", "")
    assert sorted(place.valid()) == ["points/r2", "points/r5"]
    assert before.items() <= place.stamps().items()


def test_a_dry_run_says_what_is_left_and_opens_no_connection(place: Place, server: Endpoint) -> None:
    before = {path: path.stat().st_mtime_ns for path in place.out.rglob("*")}
    done = place.resume("--dry-run", "--endpoint", "http://127.0.0.1:9")
    assert (done.code, done.err) == (0, "")
    first = place.events("point_ended")[0]["label"]
    other = "r5" if first == "r2" else "r2"
    assert done.out.splitlines()[-2:] == [f"valid already: {first}", f"still to be measured: {other}"]
    assert {path: path.stat().st_mtime_ns for path in place.out.rglob("*")} == before


def test_flags_of_a_new_sweep_and_folders_that_hold_none(place: Place, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    cases = {
        ("out", "--out", "other"): "wanted --resume or --out, got both",
        ("out", "--config", "out/config.yaml"): "wanted --resume or --config, got both",
        ("nowhere",): "--resume: there is no folder nowhere",
        (str(tmp_path / "empty"),): "holds no sweep: it has no config.yaml and no journal.jsonl",
        ("out/points/" + place.events("point_ended")[0]["label"],): "holds no sweep: it has no journal.jsonl",
    }
    before = sorted(place.out.rglob("*"))
    for (folder, *more), words in cases.items():
        done = place.resume(*more, out=folder)
        assert (done.code, done.out) == (2, "")
        assert words in done.errors()[0]
        assert 1 < len(done.errors()) <= 3
    assert sorted(place.out.rglob("*")) == before, "no lock, nothing is made"
    assert not (place.folder / "other").exists()
    assert not (place.folder / "nowhere").exists()
