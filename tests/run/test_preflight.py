"""Limits of this machine: refused before anything is sent, raised where that helps, and looked at by `doctor`."""

from __future__ import annotations

import json
import os
import resource
import socket
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from run_build import phase

import wholecurve
from wholecurve.model.errors import SetupError
from wholecurve.model.plan import EndpointPlan, Limits, Pattern, Plan, RequestOptions, StopRule
from wholecurve.run import examination
from wholecurve.run.conn import Address
from wholecurve.run.examination import SAMPLES, Grade, examine, receive_stamps, timer_errors_ns
from wholecurve.run.preflight import (
    SPARE_DESCRIPTORS,
    check_limits,
    clock_source,
    ensure_descriptors,
    local_ports,
    most_in_flight,
    running_tasks,
    usable_cores,
)
from wholecurve.testing import ScriptedServer, sse_answer

SOURCE = str(Path(wholecurve.__file__).resolve().parents[1])


def address(number: int) -> Address:
    host = f"127.0.0.{number + 1}"
    return Address(number, 0, socket.AF_INET, (host, 80), host, 80, False, False, f"{host}:80")


def plan(concurrency: int | None, workers: int = 1, **changes: Any) -> Plan:
    one = phase(concurrency=concurrency, stop=StopRule(min_duration_ns=1), **changes)
    endpoint = EndpointPlan(("http://127.0.0.1",), "openai-chat", "m")
    return Plan("", endpoint, RequestOptions(), (), (one,), Limits(), workers=workers, seed=0)


def port_file(folder: Path, ports: int) -> Path:
    path = folder / "range"
    path.write_text(f"40000\t{40000 + ports - 1}\n")
    return path


# -- ports -------------------------------------------------------------------------------------------------------------


def test_too_few_local_ports_are_refused(tmp_path: Path) -> None:
    """NET-3: 100 ports and concurrency 200."""
    with pytest.raises(SetupError) as caught:
        check_limits(plan(200), [address(0)], port_range=port_file(tmp_path, 100))
    assert caught.value.lines() == [
        "wanted 200 connections at once, but there are 100 local ports to each of 1 endpoint address",
        "  at net.ipv4.ip_local_port_range",
        "  widen it (sysctl -w net.ipv4.ip_local_port_range='1024 65535'), give more --endpoint addresses, "
        "or a concurrency of at most 100",
    ]


def test_two_addresses_double_the_ports(tmp_path: Path) -> None:
    """NET-3: the budget is per destination."""
    found = check_limits(plan(200), [address(0), address(1)], port_range=port_file(tmp_path, 100))
    assert found.ports_available == 200
    with pytest.raises(SetupError):
        check_limits(plan(200), [address(0), address(0)], port_range=port_file(tmp_path, 100))


@pytest.mark.parametrize(
    ("text", "ports"), [("32768\t60999\n", 28232), ("5 5", 1), ("9 5", 0), ("", None), ("a b", None), ("1 2 3", None)]
)
def test_port_range(text: str, ports: int | None, tmp_path: Path) -> None:
    path = tmp_path / "range"
    path.write_text(text)
    assert local_ports(path) == ports


def test_a_range_that_is_not_known_refuses_nothing(tmp_path: Path) -> None:
    found = check_limits(plan(300), [address(0)], port_range=tmp_path / "none")
    assert found.ports_available is None


# -- what a plan needs -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("changes", "wanted"),
    [
        ({"concurrency": 300, "stop": StopRule(min_duration_ns=1)}, 300),
        ({"concurrency": 300, "stop": StopRule(max_samples=5)}, 5),
        ({"concurrency": None, "pattern": Pattern.OFFLINE, "rows": 700, "stop": StopRule()}, 700),
        ({"concurrency": 64, "pattern": Pattern.OFFLINE, "rows": 700, "stop": StopRule()}, 64),
        ({"concurrency": None, "pattern": Pattern.POISSON, "rate_per_s": 5.0, "stop": StopRule(max_samples=9)}, 0),
        ({"concurrency": 50, "pattern": Pattern.POISSON, "rate_per_s": 5.0, "stop": StopRule(min_duration_ns=1)}, 50),
    ],
)
def test_most_in_flight(changes: dict[str, Any], wanted: int) -> None:
    assert most_in_flight(phase(**changes)) == wanted


def test_the_machine_is_described(tmp_path: Path) -> None:
    found = check_limits(plan(4), [address(0)], port_range=port_file(tmp_path, 100))
    assert found.cores == usable_cores() >= 1
    assert found.running_before is not None
    assert found.running_before >= 0
    assert found.descriptor_limit is not None
    assert found.kernel_stamps == (sys.platform == "linux")
    assert found.notes == ()
    without = check_limits(replace(plan(4), kernel_stamps=False), [address(0)], port_range=port_file(tmp_path, 100))
    assert not without.kernel_stamps


# -- descriptors -------------------------------------------------------------------------------------------------------


@pytest.fixture
def limits(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """The resource limit as a value that tests set: (soft, hard)."""
    state: dict[str, Any] = {"now": (256, 256)}
    monkeypatch.setattr(resource, "getrlimit", lambda _what: state["now"])
    monkeypatch.setattr(resource, "setrlimit", lambda _what, both: state.update(now=both))
    return state


def test_enough_descriptors_change_nothing(limits: dict[str, Any]) -> None:
    assert ensure_descriptors(256 - SPARE_DESCRIPTORS) == (256, ())
    assert limits["now"] == (256, 256)


def test_the_soft_limit_is_raised_and_that_is_said(limits: dict[str, Any]) -> None:
    """NET-11."""
    limits["now"] = (256, 4096)
    assert ensure_descriptors(500) == (564, ("raised the limit of open files from 256 to 564 for this run",))
    assert limits["now"] == (564, 4096)


def test_beyond_the_hard_limit_is_refused(limits: dict[str, Any]) -> None:
    """NET-2, NET-11: descriptor limit 256, concurrency 500."""
    with pytest.raises(SetupError) as caught:
        ensure_descriptors(500)
    assert caught.value.lines() == [
        "wanted 564 file descriptors (500 connections in one process, 64 more), but the hard limit is 256",
        "  at RLIMIT_NOFILE",
        "  raise it (ulimit -Hn 564, or LimitNOFILE= of the service), or use more --workers "
        "or a concurrency of at most 192 for each worker",
    ]


def test_each_worker_has_its_own_descriptors(limits: dict[str, Any], tmp_path: Path) -> None:
    ports = port_file(tmp_path, 5000)
    with pytest.raises(SetupError):
        check_limits(plan(384, workers=1), [address(0)], port_range=ports)
    check_limits(plan(384, workers=2), [address(0)], port_range=ports)


def test_no_limit_is_no_limit(limits: dict[str, Any]) -> None:
    limits["now"] = (resource.RLIM_INFINITY, resource.RLIM_INFINITY)
    assert ensure_descriptors(1_000_000)[1] == ()


@pytest.mark.parametrize(("hard", "code"), [(256, 3), (1024, 0)])
def test_a_run_under_a_real_limit(hard: int, code: int, tmp_path: Path) -> None:
    """NET-11 from the command line: refused at once or raised and said, never failing half-way."""
    (tmp_path / "d.jsonl").write_text('{"prompt": "hi"}\n' * 500)
    usage = {"prompt_tokens": 1, "completion_tokens": 1}
    with ScriptedServer(sse_answer(["a"], first_s=1.0, usage=usage)) as server:
        done = subprocess.run(
            [sys.executable, "-m", "wholecurve", "run", "--endpoint", server.url, "--model", "m", "--dataset",
             "d.jsonl", "--concurrency", "500", "--workers", "1", "--out", "out"],
            cwd=tmp_path, env=os.environ | {"PYTHONPATH": SOURCE}, capture_output=True, text=True,
            preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (256, hard)),
        )  # fmt: skip
        peak = server.peak_requests
    assert done.returncode == code, done.stderr
    if code:
        assert done.stderr.startswith("error: wanted 564 file descriptors (500 connections in one process, 64 more), ")
        assert not server.requests
        assert not (tmp_path / "out").exists()
    else:
        assert done.stderr.splitlines()[0] == "raised the limit of open files from 256 to 564 for this run"
        assert peak == 500
        found = json.loads((tmp_path / "out" / "performance" / "result_summary.json").read_text())
        assert found["concurrency"]["peak"] == 500


# -- the examination ---------------------------------------------------------------------------------------------------


def test_every_finding_can_be_acted_on(tmp_path: Path) -> None:
    findings = examine(64, tmp_path / "not" / "there" / "yet")
    assert len({finding.name for finding in findings}) == len(findings) >= 11
    for finding in findings:
        assert finding.figure
        assert finding.wanted
        if finding.grade is Grade.PROBLEM:
            assert finding.remedy


def test_receive_stamps_are_tried_for_real() -> None:
    lags = receive_stamps()
    assert len(lags) == SAMPLES
    assert sorted(lags)[SAMPLES // 2] < 10_000_000


def test_without_stamps_the_reader_is_warned(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(examination, "receive_stamps", list)
    graded = {finding.name: finding for finding in examine(4, tmp_path)}
    assert graded["kernel stamps"].grade is Grade.WARNING
    assert graded["kernel stamps"].figure == f"on 0 % of {SAMPLES} reads over loopback"
    assert graded["stamp to user space"].figure == "not measured: no stamps"


def test_stamps_before_their_time_are_a_problem(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(examination, "receive_stamps", lambda: [-1_000_000] * SAMPLES)
    graded = {finding.name: finding for finding in examine(4, tmp_path)}
    assert graded["stamp to user space"].grade is Grade.PROBLEM


@pytest.mark.parametrize(
    ("name", "value", "finding", "grade"),
    [
        ("clock_source", "hpet", "clock source", Grade.WARNING),
        ("clock_source", "tsc", "clock source", Grade.OK),
        ("clock_source", None, "clock source", Grade.WARNING),
        ("local_ports", 100, "local ports", Grade.PROBLEM),
        ("local_ports", 300, "local ports", Grade.WARNING),
        ("local_ports", 28_000, "local ports", Grade.OK),
        ("local_ports", None, "local ports", Grade.WARNING),
        ("usable_cores", 1, "cores", Grade.WARNING),
        ("usable_cores", 4, "cores", Grade.OK),
        ("load_average", 100.0, "other load", Grade.WARNING),
        ("load_average", 0.0, "other load", Grade.OK),
        ("load_average", None, "other load", Grade.WARNING),
        ("timer_errors_ns", [60_000] * 200, "timer", Grade.OK),
        ("timer_errors_ns", [60_000] * 190 + [5_000_000] * 10, "timer", Grade.WARNING),
    ],
)
def test_where_trouble_begins(
    name: str, value: Any, finding: str, grade: Grade, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(examination, name, lambda *_arguments: value)
    graded = {one.name: one.grade for one in examine(200, tmp_path)}
    assert graded[finding] is grade


def test_timer_errors_are_never_early() -> None:
    assert min(timer_errors_ns(20)) >= 0


def test_clock_source_file(tmp_path: Path) -> None:
    (tmp_path / "source").write_text("tsc\n")
    assert clock_source(tmp_path / "source") == "tsc"
    assert clock_source(tmp_path / "none") is None


def test_a_folder_that_cannot_be_written_is_a_problem(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def refuse(**_arguments: object) -> None:
        raise OSError(30, "Read-only file system")

    monkeypatch.setattr(examination.tempfile, "TemporaryFile", refuse)
    graded = {finding.name: finding for finding in examine(4, tmp_path)}
    assert graded["disk speed"].grade is Grade.PROBLEM
    assert graded["disk speed"].figure == "cannot be written: Read-only file system"


@pytest.mark.parametrize(
    ("text", "tasks"),
    [
        ("0.10 0.20 0.30 1/90 4242\n", 0),
        ("99.0 50.0 9.0 3/90 1\n", 2),
        ("0 0 0 0/9 1\n", 0),
        ("", None),
        ("a b c d/e", None),
    ],
)
def test_tasks_that_want_a_core_now(tmp_path: Path, text: str, tasks: int | None) -> None:
    """The load average of a minute ago calls an idle machine busy; the tasks of this moment do not."""
    file = tmp_path / "loadavg"
    file.write_text(text)
    assert running_tasks(file) == tasks
