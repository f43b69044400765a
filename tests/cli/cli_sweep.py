"""A sweep as a user starts it, against a simulated endpoint that can be killed and started again on its port.

The fast tests use the rules `quick`, made here: the demo rules with tenths of seconds. Everything else is the real
command in a process of its own; only the folder of the rules' data is another one.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from cli_console import Done, end, environment, wait_until

import wholecurve.rules
from wholecurve.model.errors import SetupError
from wholecurve.sim import RunningSim, SimOptions, start

DATA = Path(wholecurve.rules.__file__).with_name("data")
QUICK = """
offline_s = 0.4

[minimum_s]
low_latency = 0.3
low_concurrency = 0.3
med_concurrency = 0.3
high_concurrency = 0.3
"""
BOOT = """
import atexit, sys
from pathlib import Path
from wholecurve.rules import load
root, modules = Path(sys.argv[1]), Path(sys.argv[2])
load._data = lambda given: root if given is None else given
heavy = ("numpy", "pyarrow", "scipy", "jinja2", "plotext", "tokenizers")
atexit.register(lambda: modules.write_text(" ".join(sorted(set(heavy) & set(sys.modules)))))
sys.argv[:3] = ["wholecurve"]
from wholecurve.cli.main import entry
entry()
"""
POINTS = ("--points", "1,2,4,6", "--offline", "none")


def quick_rules(folder: Path) -> Path:
    """A folder of rules' data with the versions v1_0, demo and quick."""
    root = folder / "rules-data"
    quick = root / "quick"
    quick.mkdir(parents=True)
    (root / "v1_0").symlink_to(DATA / "v1_0")
    (root / "demo").symlink_to(DATA / "demo")
    for path in (DATA / "demo").iterdir():
        (quick / path.name).write_text(path.read_text())
    durations = (quick / "durations.toml").read_text()
    (quick / "durations.toml").write_text(durations.partition("offline_s")[0] + QUICK)
    return root


@dataclass
class Endpoint:
    """A simulated endpoint with a port of its own; it can be killed, and come back as another one."""

    options: SimOptions
    sim: RunningSim | None = None

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.options.port}"

    def start(self, **changes: Any) -> None:
        deadline = time.monotonic() + 10
        while True:
            try:
                self.sim = start(replace(self.options, **changes))
                return
            except SetupError:  # the port is not free yet
                assert time.monotonic() < deadline
                time.sleep(0.05)

    def kill(self) -> None:
        assert self.sim is not None
        os.kill(self.sim.pid, signal.SIGKILL)
        self.sim.stop()
        self.sim = None


@contextlib.contextmanager
def endpoint(**options: Any) -> Iterator[Endpoint]:
    found = Endpoint(SimOptions(**({"port": free_port(), "seed": 1, "speed": 2.0} | options)))
    found.start()
    try:
        yield found
    finally:
        if found.sim is not None:
            found.sim.stop()


def free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port: int = free.getsockname()[1]
        return port


@dataclass
class Place:
    """A folder with prompts in it, where sweeps are started."""

    folder: Path
    more: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if not (self.folder / "rules-data").exists():
            quick_rules(self.folder)
            rows = [json.dumps({"prompt": f"Tell me about the number {row} in a few words."}) for row in range(8)]
            (self.folder / "rows.jsonl").write_text("\n".join(rows) + "\n")

    def begin(self, *flags: str, env: Mapping[str, str] | None = None, cwd: Path | None = None, **more: Any) -> Any:
        """The command, with more flags, in a session of its own."""
        boot = [sys.executable, "-c", BOOT, str(self.folder / "rules-data"), str(self.folder / "modules.txt")]
        streams = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "start_new_session": True} | more
        return subprocess.Popen(
            [*boot, "sweep", *flags], cwd=cwd or self.folder, env=environment(env), text=True, **streams
        )

    def sweep(self, *flags: str, env: Mapping[str, str] | None = None, cwd: Path | None = None) -> Done:
        done = end(self.begin(*flags, env=env, cwd=cwd))
        assert "Traceback" not in done.err
        return done

    def resume(self, *flags: str, out: str = "out", cwd: Path | None = None) -> Done:
        return self.sweep("--resume", out, *flags, cwd=cwd)

    @property
    def out(self) -> Path:
        return self.folder / "out"

    def events(self, *names: str, out: str = "out") -> list[dict[str, Any]]:
        """Lines of the journal, all or those of some events; none as long as there is no journal."""
        path = self.folder / out / "journal.jsonl"
        lines = path.read_bytes().split(b"\n")[:-1] if path.exists() else []
        entries = [json.loads(line) for line in lines]
        return [entry for entry in entries if not names or entry["event"] in names]

    def wait_for(self, event: str, count: int = 1) -> dict[str, Any]:
        """Until the journal has so many lines of an event: the last of them."""
        wait_until(lambda: len(self.events(event)) >= count, timeout_s=40)
        return self.events(event)[count - 1]

    def wait_for_load(self, count: int) -> Path:
        """Until the run of that number is under load: its folder."""
        folder = self.out / self.wait_for("point_started", count)["folder"]
        wait_until(lambda: any(path.stat().st_size for path in (folder / "records").glob("*")))
        return folder

    def plan(self, out: str = "out") -> str:
        return (self.folder / out / "plan.yaml").read_text()

    def valid(self) -> dict[str, int]:
        """What was measured: by slot of valid points, in which attempt it became so. Once each."""
        ended = [entry for entry in self.events("point_ended") if entry["valid"]]
        found = {entry["folder"]: entry["attempt"] for entry in ended}
        assert len(found) == len(ended), "no valid point is measured again"
        for folder in found:
            assert (self.out / folder / "performance" / "result_summary.json").is_file()
        return found

    def stamps(self) -> dict[str, int]:
        """Of every valid point, when its files were last touched."""
        return {
            folder: max(path.stat().st_mtime_ns for path in (self.out / folder).rglob("*")) for folder in self.valid()
        }


def flags(
    url: str, *more: str, rules: str = "quick", out: str | None = "out", points: tuple[str, ...] = POINTS
) -> list[str]:
    """A sweep of few small points, without a rest between them; a flag in `more` wins."""
    known = {
        "--endpoint": url, "--model": "sim", "--dataset": "rows.jsonl", "--max-tokens": "16", "--rules": rules,
        "--idle-gap": "0s", "--max-extra": "0s",
    }  # fmt: skip
    if out is not None:
        known["--out"] = out
    return [word for name, value in known.items() if name not in more for word in (name, value)] + [*points, *more]


def alive(session: int) -> list[str]:
    """Processes of a session that are at work: everything that a sweep has started."""
    found = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            name, _, rest = stat.read_text().rpartition(")")
            state, _parent, _group, of = rest.split()[:4]
            if int(of) == session and state != "Z":
                found.append(f"{name}) {(stat.parent / 'cmdline').read_text()[:200]}")
    return found


def measured(folder: Path) -> dict[str, Any]:
    """result_summary.json of a run."""
    found: dict[str, Any] = json.loads((folder / "performance" / "result_summary.json").read_text())
    return found
