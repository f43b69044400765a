"""What the client costs and how true it is, beside a floor and other clients, against a server that knows the truth.

    make bench                                             wholecurve and the C floor, every setting, three repeats
    python bench/run.py --peers aiperf,inference-perf      two other clients too (installed on first use)
    python bench/run.py --only c256,flood --repeats 1      some settings, once
    python bench/run.py --clients limitc --only c32        the instrument itself

Writes bench/results/latest.json and latest.md; `--write-readme` puts the tables into bench/README.md. Exit code 1
when a bound is missed, 3 when the machine cannot run it. Within a repeat all clients run one after the other under a
setting, so ratios between them are of the same minutes.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import sys
import tempfile
import time
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import bounds
import figures
import peers
import server
import tables
import watch
from clients import CLIENTS, Client, environment
from settings import BY_NAME, Setting

HERE = Path(__file__).resolve().parent
RESULTS = HERE / "results"
LIMIT_S = 300.0


def measure(client: Client, setting: Setting, repeat: int, cores: tuple[int, int], real_time: bool) -> dict[str, Any]:
    """One client under one setting once. A client's failure is a row with an `error`, not an exception."""
    row: dict[str, Any] = {"client": client.name, "setting": setting.name, "repeat": repeat, "error": None}
    row |= {"concurrency": setting.concurrency}
    with tempfile.TemporaryDirectory(prefix="wholecurve-bench-") as name:
        folder = Path(name)
        out = folder / "out"
        out.mkdir()
        log = folder / "client.log"
        try:
            command = client.command(setting, out)
            with server.running(setting, folder, core=cores[0], real_time=real_time) as truthd:
                env = environment(command)
                watched = watch.run(command.arguments, core=cores[1], env=env, log=log, cwd=out, limit_s=LIMIT_S)
                late = truthd.stop()
            row["cpu_source"] = watched.cpu_source
            if watched.timed_out:
                raise RuntimeError(f"not done after {LIMIT_S:.0f} s")
            try:
                reported = client.read(setting, out, log)
            except (OSError, ValueError, KeyError, TypeError) as error:
                said = f"exit code {watched.exit_code}, no readable report ({type(error).__name__})"
                raise RuntimeError(said) from error
            row |= compare(figures.read_truth(folder / "truth.bin", late), reported, watched, out)
        except (OSError, RuntimeError, ValueError) as error:
            row["error"] = "\n".join([f"{type(error).__name__}: {error}", *_ends(log, folder / "truthd.log")])
    return row


def _ends(*logs: Path) -> list[str]:
    return [line for log in logs if log.exists() for line in log.read_text(errors="replace").splitlines()[-12:]]


def compare(truth: figures.Truth, reported: figures.Reported, watched: watch.Watched, out: Path) -> dict[str, Any]:
    """All figures of one run: what is true, what was said, the difference, and the cost."""
    cpu_ns = watched.cpu_between_ns(truth.t0_ns, truth.t1_ns)
    to_wall = time.time_ns() - time.monotonic_ns()
    written = max((path.stat().st_mtime_ns - to_wall for path in out.rglob("*") if path.is_file()), default=0)
    tokens = {"all": reported.tokens_per_s} if reported.tokens_per_s is not None else {}
    return {
        "exit_code": watched.exit_code,
        "answers": truth.answers,
        "complete": truth.complete,
        "events": truth.events,
        "wall_s": (truth.t1_ns - truth.t0_ns) / 1e9,
        "events_per_s": truth.tokens_per_s,
        "middle_events_per_s": truth.middle_events_per_s,
        "cpu_us_per_event": cpu_ns / 1000 / truth.events,
        "core_used": cpu_ns / (truth.t1_ns - truth.t0_ns),
        "pss_peak_mb": watched.pss_peak_mb,
        "processes_peak": watched.processes_peak,
        "start_s": (truth.t0_ns - watched.start_ns) / 1e9,
        "report_s": max(0, written - truth.t1_ns) / 1e9,
        "exit_s": (watched.end_ns - truth.t1_ns) / 1e9,
        "server_late_p99_us": truth.late_p99_us,
        "in_flight_peak": truth.in_flight_peak,
        "in_flight_middle": truth.in_flight_middle,
        "in_flight_peak_reported": reported.in_flight_peak,
        "verdict": reported.verdict,
        "true_ttft_ms": _keys(truth.ttft_ms),
        "ttft_ms": _keys(reported.ttft_ms),
        "ttft_error_ms": _keys(figures.errors_ms(reported.ttft_ms, truth.ttft_ms)),
        "request_ttft_error_ms": _keys(figures.single_request_errors_ms(reported.request_ttft_ms, truth)),
        "true_tpot_ms": _keys(truth.tpot_ms),
        "tpot_ms": _keys(reported.tpot_ms),
        "tpot_error_percent": _keys(figures.errors_percent(reported.tpot_ms, truth.tpot_ms)),
        "true_gap_ms": _keys(truth.gap_ms),
        "gap_ms": _keys(reported.gap_ms),
        "gap_error_percent": _keys(figures.errors_percent(reported.gap_ms, truth.gap_ms)),
        "tokens_error_percent": {key: 100 * (value / truth.tokens_per_s - 1) for key, value in tokens.items()},
        "start_lag_p99_ms": reported.start_lag_p99_ms,
        "true_start_lag_ms": _keys(figures.true_start_lag_ms(reported.scheduled_ns, truth)),
    }


def _keys(found: figures.Percentiles) -> dict[str, float]:
    return {str(percentile): value for percentile, value in found.items()}


def say(row: dict[str, Any]) -> None:
    """One line a run, so that a long bench can be watched."""
    head = f"{row['setting']:8} {row['client']:15} {row['repeat']}  "
    if row["error"]:
        print(head + "FAILED " + row["error"].replace("\n", "\n    "), file=sys.stderr, flush=True)
        return
    ttft = "/".join(f"{row['ttft_error_ms'][p]:+.3f}" for p in ("50", "90", "99") if p in row["ttft_error_ms"])
    print(
        head + f"{row['events_per_s']:8.0f} ev/s {row['cpu_us_per_event']:8.2f} us/ev core {row['core_used']:.2f} "
        f"TTFT error {ttft or '-'} ms  PSS {row['pss_peak_mb']:.0f} MB start {row['start_s']:.2f} "
        f"report {row['report_s']:.2f} s  {row['verdict'] or ''}",
        file=sys.stderr,
        flush=True,
    )


def chosen(text: str, known: Sequence[str], what: str) -> list[str]:
    """Names from a comma-separated list, in the order of the table."""
    wanted = [name.strip() for name in text.split(",") if name.strip()]
    unknown = [name for name in wanted if name not in known]
    if unknown:
        raise SystemExit(f"no {what} {', '.join(unknown)}; known: {', '.join(known)}")
    return [name for name in known if name in wanted]


def parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--clients", default="limitc,wholecurve", help="clients of this repository")
    parser.add_argument("--peers", default="", help="other clients: " + ", ".join(peers.PEERS))
    parser.add_argument("--only", default=",".join(BY_NAME), help="settings: " + ", ".join(BY_NAME))
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--server-core", type=int, default=0)
    parser.add_argument("--client-core", type=int, default=1)
    parser.add_argument("--json", action="store_true", help="print the results as JSON on standard output")
    parser.add_argument("--write-readme", action="store_true", help="put the tables into bench/README.md")
    return parser.parse_args(arguments)


def takes_part(client: str, setting: Setting) -> bool:
    """Whether a client is measured under a setting."""
    if client in peers.PEERS and not setting.peers:
        return False
    return setting.clients is None or client in setting.clients


def main(arguments: Sequence[str] | None = None) -> int:
    options = parse(arguments)
    cores = os.sched_getaffinity(0)
    if not {options.server_core, options.client_core} <= cores or options.server_core == options.client_core:
        print(f"error: two different cores are needed; this process may use {sorted(cores)}", file=sys.stderr)
        return 3
    names = chosen(f"{options.clients},{options.peers}", list(CLIENTS), "client")
    settings = [BY_NAME[name] for name in chosen(options.only, list(BY_NAME), "setting")]
    server.build()
    for name in names:
        if name in peers.PEERS:
            peers.ensure(peers.PEERS[name])
    # This process watches from the server's core (or a third one), never from the client's.
    os.sched_setaffinity(0, (cores - {options.server_core, options.client_core}) or {options.server_core})
    document: dict[str, Any] = {
        "schema": "wholecurve.bench/1",
        "date": datetime.now(UTC).strftime("%Y-%m-%d"),
        "machine": tables.machine(),
        "server_core": options.server_core,
        "client_core": options.client_core,
        "real_time": server.real_time_allowed(),
        "repeats": options.repeats,
        "results": [],
    }
    for repeat in range(1, options.repeats + 1):
        for setting in settings:
            for name in names:
                if takes_part(name, setting):
                    pair = (options.server_core, options.client_core)
                    row = measure(CLIENTS[name], setting, repeat, pair, document["real_time"])
                    say(row)
                    document["results"].append(row)
    document["cpu_source"] = next((r["cpu_source"] for r in document["results"] if "cpu_source" in r), "nothing")
    document["bounds"] = bounds.evaluate(document["results"])
    return finish(document, options)


def finish(document: dict[str, Any], options: argparse.Namespace) -> int:
    """Writes the files, prints what was asked for; exit code 1 when a bound is missed."""
    RESULTS.mkdir(exist_ok=True)
    text = json.dumps(document, indent=1, allow_nan=False)
    stamp = datetime.now(UTC).strftime("%Y%m%dT%H%M%S")
    (RESULTS / f"{stamp}.json").write_text(text + "\n")
    shutil.copy(RESULTS / f"{stamp}.json", RESULTS / "latest.json")
    shown = tables.markdown(document)
    (RESULTS / "latest.md").write_text(shown)
    if options.write_readme:
        tables.into_readme(HERE / "README.md", shown)
    print(text if options.json else shown)
    return 1 if any(bound["verdict"] == "MISSED" for bound in document["bounds"]) else 0


if __name__ == "__main__":
    sys.exit(main())
