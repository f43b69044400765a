"""What can happen to a sweep while it measures: nothing is lost, nothing is measured twice in silence."""

from __future__ import annotations

import contextlib
import json
import os
import resource
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from cli_console import end, wait_until
from cli_sweep import Endpoint, Place, alive, endpoint, flags, measured

from wholecurve.results import load_campaign
from wholecurve.sim import PROFILES

FEW = ("--points", "2,3,5", "--offline", "none")
TWO = ("--points", "2,5", "--offline", "none")
SMALL = replace(PROFILES["small"], max_batch=6)
"""An engine whose throughput stops to grow at 6 in flight."""


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


@pytest.fixture
def server() -> Iterator[Endpoint]:
    with endpoint() as found:
        yield found


def complete(place: Place, *slots: str) -> None:
    """The campaign is whole, and every valid point was measured once."""
    campaign = load_campaign(place.out)
    assert sorted(place.valid()) == sorted(slots)
    assert place.events()[-1]["event"] == "finished"
    assert [point.concurrency for point in campaign.curve.points] == sorted(int(slot.split("r")[-1]) for slot in slots)


# The endpoint goes away


def again(place: Place, number: int) -> dict[str, Any]:
    """The run of that number was lost, is kept, was made once more, and all of that was said. The second attempt."""
    started = place.events("point_started")
    first, second = started[number - 1], started[number]
    name = first["folder"].split("/")[-1]
    assert (second["label"], first["attempt"], second["attempt"]) == (first["label"], 1, 2)
    assert second["again"]
    (aside,) = place.events("set_aside")
    assert (aside["from"], aside["to"]) == (first["folder"], f"attempts/{name}-1")
    assert measured(place.out / aside["to"])["outcomes"]["failed"] > 0
    return second


def test_the_endpoint_dies_in_a_point_and_comes_back(place: Place, server: Endpoint) -> None:
    child = place.begin(*flags(server.url, points=TWO))
    place.wait_for_load(1)
    server.kill()
    place.wait_for("endpoint_gone")
    time.sleep(0.5)
    server.start()
    done = end(child)
    assert done.code == 0, done.err
    second = again(place, 1)
    gone, returned = place.events("endpoint_gone", "endpoint_back")
    assert "refused the connection" in gone["why"]
    assert 0.4 <= returned["after_s"] <= 15
    lines = done.errors()
    told = (
        f"the endpoint does not answer: {server.url[7:]} refused the connection; waiting up to 10 min for the endpoint"
    )
    assert told in lines
    assert any(line.startswith("the endpoint is back after ") for line in lines)
    assert f"{second['label']}: measured again, attempt 2: {second['again']}" in lines
    complete(place, "points/r2", "points/r5")
    assert sorted(place.valid().values()) == [1, 2]


@pytest.mark.slow
def test_the_endpoint_never_comes_back_and_the_sweep_is_taken_up_later(place: Place, server: Endpoint) -> None:
    child = place.begin(*flags(server.url, "--wait-endpoint", "2s", points=TWO))
    place.wait_for_load(2)
    before = place.stamps()
    server.kill()
    done = end(child)
    name = place.events("point_started")[1]["label"]
    assert done.code == 4
    assert "interrupted: the endpoint did not come back within 2 s" in done.errors()
    assert f"not valid: {name}" in done.errors()
    assert "go on with: wholecurve sweep --resume out" in done.errors()
    assert (place.out / "report.html").exists()
    refused = place.resume()
    assert (refused.code, refused.out) == (3, "")
    assert refused.errors()[0] == f"error: the endpoint does not answer: {server.url[7:]} refused the connection"
    server.start()
    done = place.resume()
    assert done.code == 0, done.err
    complete(place, "points/r2", "points/r5")
    assert {folder: place.stamps()[folder] for folder in before} == before
    assert sum(event["label"] == name for event in place.events("point_started")) == 2


@pytest.mark.slow
def test_the_endpoint_dies_in_the_fourth_point_and_is_back_before_the_point_ends(
    place: Place, server: Endpoint
) -> None:
    """Under the demo rules, with an Offline run: away for two seconds of a point of six."""
    child = place.begin(*flags(server.url, points=("--points", "1,2,4,6", "--offline", "dedicated"), rules="demo"))
    place.wait_for_load(4)
    server.kill()
    time.sleep(2)
    server.start()
    done = end(child)
    assert done.code == 0, done.err
    again(place, 4)
    assert sorted(place.valid()) == ["points/offline", "points/r1", "points/r2", "points/r4", "points/r6"]


@pytest.mark.slow
def test_the_endpoint_dies_in_the_search_and_its_trial_is_no_evidence(place: Place) -> None:
    with endpoint(profile=SMALL) as server:
        child = place.begin(*flags(server.url, points=("--offline", "none")))
        wait_until(lambda: len(place.events("trial")) >= 2, timeout_s=60)
        folder = place.out / "search" / "c4"
        wait_until(lambda: any(path.stat().st_size for path in (folder / "records").glob("*")))
        server.kill()
        time.sleep(2)
        server.start()
        done = end(child)
    assert done.code == 0, done.err
    trials = place.events("trial")
    assert not any(trial["invalid"] for trial in trials), "the lost trial is not among them"
    assert len({trial["concurrency"] for trial in trials}) == len(trials)
    assert [event["to"] for event in place.events("set_aside")] == ["attempts/search-c4"]
    assert "the endpoint went away under the trial" in done.err


# The endpoint becomes another one


@pytest.mark.parametrize(
    ("models", "words"),
    [
        (("other",), "the endpoint's list of models was sim, and is other now"),
        pytest.param(
            ("sim", "guest"), "the endpoint's list of models was sim, and is guest, sim now", marks=pytest.mark.slow
        ),
    ],
    ids=["another model", "a new one beside it"],
)
def test_the_model_is_swapped_between_two_points(
    models: tuple[str, ...], words: str, place: Place, server: Endpoint
) -> None:
    child = place.begin(*flags(server.url, "--idle-gap", "1s", points=TWO))
    place.wait_for("point_ended")
    server.kill()
    server.start(models=models)
    done = end(child)
    assert done.code == 4
    assert f"changed: the endpoint is not the one that this sweep began with: {words}" in done.errors()
    assert "go on with: wholecurve sweep --resume out" in done.errors()
    assert place.events("changed")[0]["what"] == [words]
    assert len(place.valid()) == 1
    refused = place.resume()
    assert refused.code == 2
    assert words in refused.err
    if models == ("other",):
        return
    server.kill()
    server.start()
    assert place.resume().code == 0
    complete(place, "points/r2", "points/r5")


# The sweep is killed


def killed(place: Place, child: subprocess.Popen[str]) -> None:
    """SIGKILL: at once and without a word, and nothing that it started lives on."""
    child.kill()
    assert end(child).code == -signal.SIGKILL
    wait_until(lambda: not alive(child.pid), timeout_s=5)


def test_a_sweep_killed_in_a_point_ends_with_the_same_valid_points(place: Place, server: Endpoint) -> None:
    child = place.begin(*flags(server.url, points=TWO))
    folder = place.wait_for_load(2)
    assert len(alive(child.pid)) > 2
    killed(place, child)
    before = place.stamps()
    assert len(before) == 1
    assert not (folder / "performance").exists()
    done = place.resume()
    assert done.code == 0, done.err
    complete(place, "points/r2", "points/r5")
    after = place.stamps()
    assert {name: after[name] for name in before} == before, "not touched again"
    (aside,) = place.events("set_aside")
    assert aside["why"] == "it was cut off"
    assert (place.out / aside["to"] / "plan.json").exists()
    assert f"{folder.name}: measured again, attempt 2: it was cut off" in done.errors()


@pytest.mark.slow
@pytest.mark.parametrize("moment", ["between two points", "while a point is written", "in the search"])
def test_a_sweep_killed_at_another_moment(moment: str, place: Place, server: Endpoint) -> None:
    points = ("--offline", "none") if moment == "in the search" else FEW
    if moment == "in the search":
        server.kill()
        server.start(profile=SMALL)
    child = place.begin(*flags(server.url, "--idle-gap", "700ms", points=points))
    if moment == "in the search":
        place.wait_for("trial", 2)
        time.sleep(0.8)
    elif moment == "between two points":
        place.wait_for("point_ended", 2)
    else:
        folder = place.wait_for_load(2)
        wait_until(lambda: (folder / "records" / "requests.parquet").exists())
    killed(place, child)
    trials = place.events("trial")
    valid = place.valid()
    done = place.resume()
    assert done.code == 0, done.err
    assert place.events("trial")[: len(trials)] == trials
    assert len({trial["concurrency"] for trial in place.events("trial")}) == len(place.events("trial"))
    assert valid.items() <= place.valid().items()
    if moment != "in the search":
        complete(place, "points/r2", "points/r3", "points/r5")


@pytest.mark.slow
def test_the_measuring_process_alone_is_killed(place: Place) -> None:
    """As the kernel does when memory is short: the point is made once more, and said."""
    with endpoint(speed=0.5) as server:  # longer answers: a client that is held up for a moment is not the limit
        child = place.begin(*flags(server.url, points=TWO))
        killed_one = place.wait_for_load(1).relative_to(place.out).as_posix()
        measuring = int(Path(f"/proc/{child.pid}/task/{child.pid}/children").read_text().split()[0])
        os.kill(measuring, signal.SIGKILL)
        done = end(child)
        assert any("ended without a result (signal SIGKILL)" in line for line in done.errors())
        held_up = held_up_points(place)
        assert done.code == (4 if held_up - place.valid().keys() else 0), done.err
        if done.code:
            assert place.resume().code == 0
    complete(place, "points/r2", "points/r5")
    attempts = place.valid()
    assert attempts.pop(killed_one) == 2 or killed_one in held_up
    assert [*attempts.values()] == [1] or attempts.keys() <= held_up


def held_up_points(place: Place) -> set[str]:
    """Folders of points of which the sweep said that this machine, busy with other work, was the limit."""
    ended = place.events("point_ended")
    return {one["folder"] for one in ended if any(why.startswith("client-limited") for why in one["invalid"])}


# The user stops it


def to_group(child: subprocess.Popen[str], number: int) -> None:
    os.killpg(child.pid, number)


def to_it_alone(child: subprocess.Popen[str], number: int) -> None:
    child.send_signal(number)


@pytest.mark.parametrize(
    "send", [to_group, pytest.param(to_it_alone, marks=pytest.mark.slow)], ids=["Ctrl-C", "kill -INT"]
)
def test_ctrl_c_in_a_point(send: Callable[..., None], place: Place, server: Endpoint) -> None:
    child = place.begin(*flags(server.url, points=TWO))
    folder = place.wait_for_load(1)
    send(child, signal.SIGINT)
    done = end(child)
    assert done.code == 130, done.err
    assert "interrupted: stopped by the user" in done.errors()
    assert "go on with: wholecurve sweep --resume out" in done.errors()
    assert not alive(child.pid)
    kept = measured(place.out / "attempts" / f"{folder.name}-1")
    assert kept["state"] == "interrupted"
    assert kept["outcomes"]["sent"] == kept["outcomes"]["succeeded"] > 0, "what was in flight was answered"
    assert place.events()[-1]["event"] == "interrupted"
    assert place.events("point_ended")[0]["state"] == "interrupted"
    assert place.resume().code == 0
    complete(place, "points/r2", "points/r5")


@pytest.mark.parametrize(
    "numbers",
    [
        [signal.SIGINT, signal.SIGINT],
        pytest.param([signal.SIGTERM], marks=pytest.mark.slow),
        pytest.param([signal.SIGHUP], marks=pytest.mark.slow),
    ],
    ids=["twice", "TERM", "HUP"],
)
def test_stop_at_once(numbers: list[int], place: Place) -> None:
    """Answers that take a quarter of a minute are not waited for."""
    with endpoint(speed=0.1, to_limit=True) as server:
        child = place.begin(*flags(server.url, "--max-tokens", "256", points=TWO))
        folder = place.out / place.wait_for("point_started")["folder"]
        wait_until(lambda: (folder / "records").exists() and list((folder / "records").iterdir()))
        time.sleep(0.5)
        for number in numbers:
            to_group(child, number)
            time.sleep(0.3)
        began = time.monotonic()
        done = end(child)
        assert time.monotonic() - began < 6
    assert done.code == 130, done.err
    assert "interrupted: stopped by the user" in done.errors()
    assert not alive(child.pid)
    assert measured(place.out / "attempts" / f"{folder.name}-1")["outcomes"]["cancelled"] == int(folder.name[1:])


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("moment", ["rest", "wait", "files", "search"])
def test_stop_at_another_moment(moment: str, number: int, place: Place, server: Endpoint) -> None:
    points = ("--offline", "none") if moment == "search" else TWO
    child = place.begin(*flags(server.url, "--idle-gap", "20s" if moment == "rest" else "0s", points=points))
    if moment == "search":
        place.wait_for("trial", 1)
        time.sleep(0.5)
    elif moment == "files":
        folder = place.wait_for_load(1)
        wait_until(lambda: (folder / "records" / "requests.parquet").exists())
    else:
        place.wait_for("point_ended")
        if moment == "wait":
            server.kill()
            wait_until(lambda: place.events("endpoint_gone"))
        time.sleep(1.2)
    to_group(child, number)
    began = time.monotonic()
    done = end(child)
    assert time.monotonic() - began < 8
    assert done.code == 130, done.err
    assert "interrupted: stopped by the user" in done.errors()
    assert "go on with: wholecurve sweep --resume out" in done.errors()
    assert not alive(child.pid)
    assert place.events()[-1]["event"] == "interrupted"
    if moment == "files":
        assert list(place.valid().values()) == [1], "all was measured: it counts"
    if moment == "wait":
        server.start()


# The disk is full


def limited(most: int) -> Callable[[], None]:
    """Files of at most so many bytes, for a child: a disk that takes no more."""
    return lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (most, most))


def test_the_disk_takes_no_more(place: Place, server: Endpoint) -> None:
    child = place.begin(*flags(server.url, points=TWO), preexec_fn=limited(24 << 10))
    done = end(child)
    assert done.code == 4, done.err
    assert any("could not be written: File too large" in line for line in done.errors()), done.err
    assert any("go on with" in line and "--resume" in line for line in done.errors())
    assert len(place.events("point_started")) == 1, "no other point would fare better"
    done = place.resume()
    assert done.code == 0, done.err
    complete(place, "points/r2", "points/r5")


@contextlib.contextmanager
def small_disk(folder: Path, size: str) -> Iterator[None]:
    """A file system of a few hundred kilobytes, where this machine lets us have one."""
    folder.mkdir()
    made = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", str(folder)], capture_output=True, check=False
    )
    if made.returncode:
        pytest.skip("no file system can be mounted here")
    try:
        yield
    finally:
        subprocess.run(["umount", str(folder)], check=True)


@pytest.mark.slow
def test_a_real_disk_is_full_in_the_second_point_and_has_room_again(place: Place, server: Endpoint) -> None:
    disk = place.folder / "disk"
    with small_disk(disk, "6m"):
        child = place.begin(*flags(server.url, out="disk/out", points=TWO))
        wait_until(lambda: len(place.events("point_started", out="disk/out")) >= 2)
        ballast = disk / "ballast"
        with contextlib.suppress(OSError), ballast.open("wb", buffering=0) as file:
            while True:
                file.write(bytes(1 << 12))
        done = end(child)
        assert done.code == 4, done.err
        assert "No space left on device" in done.err or "the disk is full" in done.err
        assert "wholecurve sweep --resume disk/out" in done.err
        ballast.unlink()
        done = place.resume(out="disk/out")
        assert done.code == 0, done.err
        ended = [event for event in place.events("point_ended", out="disk/out") if event["valid"]]
        assert sorted(event["label"] for event in ended) == ["r2", "r5"]


# Two at once


@pytest.mark.slow
def test_a_second_sweep_in_the_same_folder_is_refused_and_does_not_disturb(place: Place, server: Endpoint) -> None:
    child = place.begin(*flags(server.url, points=TWO))
    place.wait_for_load(1)
    second = place.resume()
    assert (second.code, second.out) == (2, "")
    assert second.errors()[0] == f"error: another sweep is at work in out (pid {child.pid})"
    fresh = place.sweep(*flags(server.url, points=TWO))
    assert fresh.code == 2
    assert "which holds files" in fresh.errors()[0]
    assert end(child).code == 0
    complete(place, "points/r2", "points/r5")
    assert len(place.events("probe")) == 2, "the refused ones asked the endpoint nothing that the journal does not know"
    assert json.loads((place.out / "curve.json").read_text())
