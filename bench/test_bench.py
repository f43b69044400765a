"""The bench's own arithmetic: truth from a log, errors, bounds and tables, on made-up runs whose answers are known."""

from __future__ import annotations

import importlib.util
import os
import struct
import sys
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parent))


import bounds
import figures
import peers
import settings
import tables
import watch
from clients import CLIENTS
from figures import truthlog

# By path: `run` is too common a name to import by.
_spec = importlib.util.spec_from_file_location("bench_run", Path(__file__).resolve().parent / "run.py")
assert _spec is not None
assert _spec.loader is not None
run = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(run)

MS = 1_000_000


def write_log(path: Path, answers: list[tuple[str, int, list[int]]]) -> Path:
    """A server's log: per answer its id, arrival and token times, in ms."""
    data = struct.pack("<8sIIQ", b"TRUTHLG1", truthlog.REC.size, 1, len(answers))
    for number, (xid, arrive, tokens) in enumerate(answers):
        times = [t * MS for t in tokens]
        flags = truthlog.F_STREAM | truthlog.F_DONE
        head = (
            number,
            arrive * MS,
            arrive * MS,
            arrive * MS,
            0,
            times[-1],
            len(times),
            len(times),
            1,
            flags,
            0,
            0,
            0,
            0,
            0,
        )
        data += truthlog.REC.pack(*head, xid.encode())
        data += struct.pack(f"<{len(times)}Q", *times)
    path.write_bytes(data)
    return path


def test_the_truth_of_two_answers(tmp_path: Path) -> None:
    log = write_log(tmp_path / "log", [("r0", 0, [10, 20, 30]), ("r1", 5, [25, 30, 45])])
    truth = figures.read_truth(log, 7.0)
    assert truth.ttft_ms == {50: 10.0, 90: 10.0, 99: 10.0}, "the lower of two at every percentile below 100"
    assert truth.tpot_ms[50] == 10.0
    assert truth.gap_ms == {50: 10.0, 90: 10.0, 99: 10.0}, "gaps 5, 10, 10, 15"
    assert truth.tokens_per_s == pytest.approx(6 / 0.045)
    assert (truth.in_flight_peak, truth.events, truth.complete) == (2, 6, 2)
    assert truth.by_number == {0: (0, 10 * MS), 1: (5 * MS, 25 * MS)}


def test_an_empty_log_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="none was answered"):
        figures.read_truth(write_log(tmp_path / "log", []), 0.0)
    (tmp_path / "other").write_bytes(b"x" * 64)
    with pytest.raises(ValueError, match="not a log of truthd"):
        figures.read_truth(tmp_path / "other", 0.0)


def test_percentiles_are_lower_order_statistics() -> None:
    assert figures.lower_percentiles(list(range(1, 101))) == {50: 50.0, 90: 90.0, 99: 99.0}
    assert figures.lower_percentiles([3.0]) == {50: 3.0, 90: 3.0, 99: 3.0}
    assert figures.lower_percentiles([]) == {}


def test_errors_are_reported_minus_true() -> None:
    assert figures.errors_ms({50: 21.0}, {50: 20.0, 90: 24.0}) == {50: 1.0}
    assert figures.errors_percent({50: 11.0, 90: 1.0}, {50: 10.0, 90: 0.0}) == {50: pytest.approx(10.0)}


def test_one_request_ending_as_another_starts_is_one_in_flight(tmp_path: Path) -> None:
    log = write_log(tmp_path / "log", [("a-0", 0, [10]), ("a-1", 10, [20])])
    assert figures.read_truth(log, 0.0).in_flight_peak == 1


@pytest.mark.parametrize(("xid", "number"), [("r12", 12), ("0-7", 7), ("abc", -1), ("", -1)])
def test_requests_are_matched_by_the_number_their_id_ends_with(xid: str, number: int) -> None:
    assert figures.request_number(xid) == number


def test_ids_that_share_a_number_are_not_matched(tmp_path: Path) -> None:
    log = write_log(tmp_path / "log", [("a1", 0, [10]), ("b1", 1, [20]), ("c2", 2, [30])])
    assert set(figures.read_truth(log, 0.0).by_number) == {2}


def row(client: str = "wholecurve", setting: str = "c256", repeat: int = 1, **changes: Any) -> dict[str, Any]:
    """A run as `run.measure` returns it, with every bound kept."""
    near = {"50": 0.01, "90": 0.02, "99": -0.03}
    base = {"client": client, "setting": setting, "repeat": repeat, "error": None}
    base |= {"concurrency": settings.BY_NAME[setting].concurrency}
    base |= {"ttft_error_ms": near, "tpot_error_percent": near, "gap_error_percent": near}
    base |= {"tokens_error_percent": {"all": 0.1}, "cpu_us_per_event": 10.0, "events_per_s": 25000.0, "core_used": 0.3}
    base |= {"pss_peak_mb": 90.0, "start_s": 0.3, "report_s": 1.0, "verdict": "ok", "in_flight_peak": 257}
    base |= {"in_flight_middle": 255.9, "in_flight_peak_reported": settings.BY_NAME[setting].concurrency}
    base |= {"server_late_p99_us": 60.0, "start_lag_p99_ms": 0.4, "true_start_lag_ms": {"99": 0.5}}
    return {**base, **changes}


def verdict(results: list[dict[str, Any]], what: str) -> str:
    (found,) = [b["verdict"] for b in bounds.evaluate(results) if b["what"] == what]
    return str(found)


TTFT = "TTFT error P50, P90, P99 at c256, ms"
FLOOR = "CPU per event at c256 / C floor"
PEER = "CPU per event at c256 / best peer"


@pytest.mark.parametrize(
    ("results", "what", "expected"),
    [
        ([], TTFT, "not measured"),
        ([row()], TTFT, "ok"),
        ([row(ttft_error_ms={"50": 0.0, "90": -0.2, "99": 0.0})], TTFT, "MISSED"),
        ([row(ttft_error_ms={"50": 0.0})], TTFT, "not measured"),
        ([row(error="broke")], TTFT, "MISSED"),
        ([row()], FLOOR, "not measured"),
        ([row(), row("limitc", cpu_us_per_event=8.0)], FLOOR, "ok"),
        ([row(), row("limitc", cpu_us_per_event=4.0)], FLOOR, "MISSED"),
        ([row(repeat=1), row("limitc", repeat=2)], FLOOR, "not measured"),
        ([row(), row("aiperf", cpu_us_per_event=70.0), row("inference-perf", cpu_us_per_event=15.0)], PEER, "MISSED"),
        ([row(), row("aiperf", cpu_us_per_event=70.0), row("inference-perf", cpu_us_per_event=30.0)], PEER, "ok"),
        ([row(in_flight_peak_reported=255)], "concurrency reached and held", "MISSED"),
        ([row(in_flight_middle=200.0)], "concurrency reached and held", "MISSED"),
        ([row()], "concurrency reached and held", "ok"),
        ([row(pss_peak_mb=151.0)], "memory at c256, MB (PSS, all processes)", "MISSED"),
        (
            [row(setting="c1024f", core_used=0.95)],
            "TTFT error P99 at c1024f, ms, and an honest verdict",
            "MISSED",
        ),
        (
            [row(setting="c1024f", core_used=0.95, verdict="strained")],
            "TTFT error P99 at c1024f, ms, and an honest verdict",
            "ok",
        ),
        ([row(setting="poisson", start_lag_p99_ms=2.0)], "start lag P99 at 10,000 requests/s, ms", "MISSED"),
        (
            [row(setting="poisson", start_lag_p99_ms=2.0, verdict="client-limited")],
            "start lag P99 at 10,000 requests/s, ms",
            "ok",
        ),
    ],
)
def test_a_bound_is_judged(results: list[dict[str, Any]], what: str, expected: str) -> None:
    assert verdict(results, what) == expected


def test_every_bound_says_not_measured_without_results() -> None:
    assert {b["verdict"] for b in bounds.evaluate([])} == {"not measured"}


def test_the_median_over_repeats_counts_and_the_spread_is_shown() -> None:
    results = [row(repeat=n, pss_peak_mb=mb) for n, mb in enumerate((100.0, 149.0, 400.0))]
    (found,) = [b for b in bounds.evaluate(results) if b["what"].startswith("memory")]
    assert found["verdict"] == "ok"
    assert found["figure"] == "149 (100 to 400)"


def test_the_tables_show_every_run_and_failures(tmp_path: Path) -> None:
    results = [row(), row("limitc"), row("aiperf", error="RuntimeError: no port\nmore")]
    document = {"date": "2026-01-01", "machine": tables.machine(), "server_core": 0, "client_core": 1, "repeats": 1}
    document |= {"real_time": True, "cpu_source": "control group", "results": results}
    text = tables.markdown({**document, "bounds": bounds.evaluate(results)})
    assert "| wholecurve | 25000 |" in text
    assert "RuntimeError: no port |" in text
    readme = tmp_path / "README.md"
    readme.write_text(f"a\n{tables.BEGIN}\nold\n{tables.END}\nz\n")
    tables.into_readme(readme, text)
    written = readme.read_text()
    assert written.startswith("a\n")
    assert written.endswith("z\n")
    assert "old" not in written
    assert text in written


def test_cpu_time_is_read_off_between_samples() -> None:
    watched = watch.Watched(0, 40, 0, False, "control group", (0, 10, 20, 30), (0, 10, 20, 20), 0.0, 1)
    assert watched.cpu_between_ns(5, 25) == pytest.approx(15.0)


def test_a_child_is_watched_to_its_end(tmp_path: Path) -> None:
    core = min(os.sched_getaffinity(0))
    code = "import time\nend = time.process_time() + 0.2\nwhile time.process_time() < end: pass"
    command = [sys.executable, "-c", code]
    watched = watch.run(command, core=core, env={}, log=tmp_path / "log", cwd=tmp_path, limit_s=60)
    assert watched.exit_code == 0
    assert not watched.timed_out
    assert watched.processes_peak >= 1
    assert watched.cpu_ns[-1] >= 0.15e9


def test_every_setting_names_known_clients_and_peers_are_clients() -> None:
    assert set(peers.PEERS) == set(bounds.PEERS) <= set(CLIENTS)
    assert {name for s in settings.SETTINGS for name in s.clients or ()} <= set(CLIENTS)


def test_an_unknown_name_is_refused() -> None:
    with pytest.raises(SystemExit, match="no setting c7; known: c1"):
        run.chosen("c1,c7", list(settings.BY_NAME), "setting")
