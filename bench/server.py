"""Builds the C programs and runs the server whose timings are known, on its own core."""

from __future__ import annotations

import http.client
import json
import signal
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from settings import Setting

HERE = Path(__file__).resolve().parent
AHEAD = ("chrt", "-f", "50")


def free_port() -> int:
    """A port that nothing listens on now, so that a bench never meets a server that somebody else left running."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
    return port


PORT = free_port()


def build() -> None:
    """Compiles both C programs where they are out of date. Raises `CalledProcessError` without a compiler."""
    for folder in ("truth-server", "limit-client"):
        subprocess.run(["make", "-s", "-C", str(HERE / folder)], check=True)


def real_time_allowed() -> bool:
    """Whether the server may run ahead of everything else on its core."""
    return subprocess.run([*AHEAD, "true"], capture_output=True).returncode == 0


class Running:
    """A truthd that is up. `stop` ends it and returns how late it was at P99, in µs; its log is complete then."""

    def __init__(self, process: subprocess.Popen[bytes], log: Path, stats: Path) -> None:
        self.process, self.log, self.stats = process, log, stats

    def stop(self) -> float:
        if self.process.poll() is not None:
            raise RuntimeError(f"truthd ended during the run, exit code {self.process.returncode}")
        self.process.send_signal(signal.SIGTERM)
        self.process.wait(timeout=60)
        late: float = json.loads(self.stats.read_text())["late_us"].get("p99", 0.0)
        return late


@contextmanager
def running(setting: Setting, folder: Path, *, core: int, real_time: bool) -> Iterator[Running]:
    """Runs truthd with the setting's timing; ends it with the block."""
    log, stats = folder / "truth.bin", folder / "truth.json"
    command = [
        *(AHEAD if real_time else ()),
        str(HERE / "truth-server" / "truthd"),
        "--cpu",
        str(core),
        "--port",
        str(PORT),
    ]
    command += ["--log", str(log), "--stats", str(stats), *setting.server_options()]

    with (folder / "truthd.log").open("wb") as output:
        process = subprocess.Popen(command, stdout=output, stderr=output)
    server = Running(process, log, stats)
    try:
        _wait_until_up(process, folder / "truthd.log")
        yield server
    finally:
        if process.poll() is None:
            process.send_signal(signal.SIGTERM)
            try:
                process.wait(timeout=30)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


def _wait_until_up(process: subprocess.Popen[bytes], log: Path) -> None:
    for _ in range(200):
        if process.poll() is not None:
            raise RuntimeError(f"truthd ended with exit code {process.returncode}: {log.read_text()}")
        connection = http.client.HTTPConnection("127.0.0.1", PORT, timeout=1)
        try:
            connection.request("GET", "/health")
            if connection.getresponse().status == 200:
                return
        except OSError:
            time.sleep(0.02)
        finally:
            connection.close()
    raise RuntimeError(f"truthd did not come up on port {PORT}")
