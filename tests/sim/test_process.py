"""The simulated endpoint as a process: start, stop, signals, several processes, and options that make no sense."""

import os
import signal
import socket
import time
import urllib.request
from dataclasses import replace
from pathlib import Path

import pytest

from wholecurve.model.errors import InputError, SetupError
from wholecurve.sim import FaultShare, SimOptions, parse_fault, profile_named, read_truth, start

OPTIONS = SimOptions(profile=profile_named("flash"), faults=(FaultShare("crlf", 0.5),), api_key="k", models=("a", "b"))
BODY = b'{"model":"sim","prompt":"x","max_tokens":2}'


def ask(url: str) -> bytes:
    with urllib.request.urlopen(f"{url}/v1/completions", BODY, timeout=5) as answer:
        found: bytes = answer.read()
    return found


def test_options_survive_the_way_to_the_child() -> None:
    assert SimOptions.from_json(OPTIONS.to_json()) == OPTIONS


def test_start_answers_and_stops_with_a_whole_truth_log(tmp_path: Path) -> None:
    log = tmp_path / "truth.jsonl"
    with start(SimOptions(profile=profile_named("flash"), truth_log=str(log))) as sim:
        assert b'"choices"' in ask(sim.url)
        assert sim.stop() == 0
        assert sim.stop() == 0
    assert [line.outcome for line in read_truth(log)] == ["complete"]


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_signals_end_it_in_order(number: signal.Signals, tmp_path: Path) -> None:
    log = tmp_path / "truth.jsonl"
    with start(SimOptions(profile=profile_named("flash"), truth_log=str(log))) as sim:
        ask(sim.url)
        os.kill(sim.pid, number)
        assert sim._child.wait(5) == 0
    assert len(list(read_truth(log))) == 1


def test_several_processes_share_a_port(tmp_path: Path) -> None:
    log = tmp_path / "truth.jsonl"
    options = SimOptions(profile=profile_named("flash"), truth_log=str(log), processes=2)
    with start(options) as sim:
        for _ in range(40):
            ask(sim.url)
    counts = [len(list(read_truth(path))) for path in (log, tmp_path / "truth.jsonl.1")]
    assert sum(counts) == 40
    assert min(counts) > 0


def test_other_processes_end_with_a_first_one_that_is_killed() -> None:
    with start(SimOptions(profile=profile_named("flash"), processes=2)) as sim:
        port = int(sim.url.rpartition(":")[2])
        os.kill(sim.pid, signal.SIGKILL)
        end = time.monotonic() + 5
        while time.monotonic() < end:
            try:
                socket.create_connection(("127.0.0.1", port), timeout=1).close()
            except OSError:
                break
            time.sleep(0.02)
        with pytest.raises(OSError):
            socket.create_connection(("127.0.0.1", port), timeout=1)


def test_a_port_in_use_is_told() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(SetupError, match=f"cannot listen on 127.0.0.1:{port}"):
            start(replace(OPTIONS, port=port))


@pytest.mark.parametrize(
    "changes",
    [
        {"port": 70_000},
        {"processes": 0},
        {"processes": 257},
        {"slow_ns": -1},
        {"cpu": -1},
        {"models": ("sim", "")},
        {"speed": 0.0},
        {"tokens_per_event": 0},
        {"reasoning_field": "thoughts"},
        {"tool_share": 1.5},
        {"faults": (FaultShare("nothing", 0.1),)},
        {"faults": (FaultShare("crlf", 0.7), FaultShare("reset", 0.7))},
        {"faults": (FaultShare("crlf", -0.1),)},
    ],
    ids=str,
)
def test_options_that_make_no_sense(changes: dict[str, object]) -> None:
    with pytest.raises(InputError):
        replace(OPTIONS, **changes)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("text", "wanted"), [("reset=5%", FaultShare("reset", 0.05)), ("cut=0.5", FaultShare("cut", 0.5))]
)
def test_parse_fault(text: str, wanted: FaultShare) -> None:
    assert parse_fault(text) == wanted
    assert parse_fault(wanted.name).share == 1.0
    for bad in ("reset=much", "unknown=1%", "reset=2"):
        with pytest.raises(InputError):
            parse_fault(bad)
