"""Runs a simulated endpoint: in this process until a signal, or in a child process beside the caller."""

from __future__ import annotations

import contextlib
import gc
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from types import FrameType, TracebackType
from typing import Self

import orjson

from wholecurve.model.errors import InputError, SetupError
from wholecurve.sim.http_loop import HasFileno
from wholecurve.sim.options import SimOptions
from wholecurve.sim.server import SimServer
from wholecurve.sim.stamps import fine_timers

_BACKLOG = 4096
_STOP_S = 5.0


def serve(options: SimOptions, *, ready: Callable[[str], None], stop_on: HasFileno | None = None) -> None:
    """Serve until SIGTERM or SIGINT, or until `stop_on` can be read. Calls `ready(url)` once the port is open.

    To be called in the main thread. With several processes each has an engine of its own, and its own truth log
    (`NAME.1`, `NAME.2`, ... beside the first). Raises SetupError when the address cannot be used.
    """
    listener = _listen(options, options.port)
    port = listener.getsockname()[1]
    host = f"[{options.host}]" if ":" in options.host else options.host
    with _fork_others(options) as (rank, parent_gone):
        if options.cpu is not None and hasattr(os, "sched_setaffinity"):
            _pin(options.cpu)
        if rank:
            listener.close()
            listener = _listen(options, port)
            log = options.truth_log
            options = replace(options, truth_log=f"{log}.{rank}" if log else None)
        fine_timers()
        with _signals() as woken:
            server = SimServer(options, listener, stop_on=woken)
            for source in (parent_gone, None if rank else stop_on):
                if source is not None:
                    server.watch_stop(source)
            gc.collect()
            gc.freeze()
            gc.set_threshold(50_000, 20, 100)
            if not rank:
                ready(f"http://{host}:{port}")
            server.run()


def _pin(cpu: int) -> None:
    try:
        os.sched_setaffinity(0, {cpu})
    except (OSError, OverflowError):
        known = ", ".join(map(str, sorted(os.sched_getaffinity(0))))
        raise InputError(f"--cpu: wanted a core of this machine, got {cpu}", hint=f"there are {known}") from None


def _listen(options: SimOptions, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in options.host else socket.AF_INET
    try:
        return socket.create_server(
            (options.host, port), family=family, backlog=_BACKLOG, reuse_port=options.processes > 1
        )
    except OSError as error:
        where = f"{options.host}:{port}"
        hint = "choose another port, or 0 for any free one"
        raise SetupError(
            f"cannot listen on {where}: {(error.strerror or '').partition(' (while')[0]}", hint=hint
        ) from None


@contextlib.contextmanager
def _signals() -> Iterator[socket.socket]:
    """SIGTERM and SIGINT make a socket readable instead of ending the process."""

    def seen(_number: int, _frame: FrameType | None) -> None:
        """The wake-up descriptor has done all that is needed."""

    woken, wake = socket.socketpair()
    wake.setblocking(False)
    before = {number: signal.signal(number, seen) for number in (signal.SIGTERM, signal.SIGINT)}
    old = signal.set_wakeup_fd(wake.fileno())
    try:
        yield woken
    finally:
        signal.set_wakeup_fd(old)
        for number, handler in before.items():
            signal.signal(number, handler)
        woken.close()
        wake.close()


@contextlib.contextmanager
def _fork_others(options: SimOptions) -> Iterator[tuple[int, HasFileno | None]]:
    """Fork the further processes; gives 0 in the first, 1, 2, ... in the others, which end with the block.

    The others also get a pipe that ends with the first process, however that ends.
    """
    children: list[int] = []
    gone, alive = socket.socketpair()
    for rank in range(1, options.processes):
        child = os.fork()
        if child == 0:
            code = 1
            alive.close()
            try:
                yield rank, gone
                code = 0
            finally:
                os._exit(code)
        children.append(child)
    try:
        yield 0, None
    finally:
        gone.close()
        alive.close()
        for child in children:
            with contextlib.suppress(ProcessLookupError):
                os.kill(child, signal.SIGTERM)
            os.waitpid(child, 0)


class RunningSim:
    """A simulated endpoint in a child process; ends with the context, and with this process if that is killed."""

    def __init__(self, child: subprocess.Popen[bytes], url: str) -> None:
        self._child = child
        self.url = url

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.stop()

    @property
    def pid(self) -> int:
        """Process number of the child."""
        return self._child.pid

    def stop(self) -> int:
        """End it in order (its truth log is then whole); its exit code. Safe to call twice."""
        if self._child.stdin is not None and not self._child.stdin.closed:
            self._child.stdin.close()
        try:
            code = self._child.wait(_STOP_S)
        except subprocess.TimeoutExpired:
            self._child.kill()
            code = self._child.wait()
        for stream in (self._child.stdout, self._child.stderr):
            if stream is not None:
                stream.close()
        return code


def start(options: SimOptions) -> RunningSim:
    """Start a simulated endpoint in a child process and wait until it answers. Raises SetupError."""
    root = str(Path(__file__).resolve().parents[2])
    paths = [root, *filter(None, [os.environ.get("PYTHONPATH")])]
    child = subprocess.Popen(
        [sys.executable, "-m", "wholecurve.sim"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=os.environ | {"PYTHONPATH": os.pathsep.join(paths)},
        start_new_session=True,  # Ctrl-C is for the client, which drains what this server still has to answer
    )
    assert child.stdin is not None
    assert child.stdout is not None
    assert child.stderr is not None
    # A child that died already says why on its stderr: a broken pipe here adds nothing.
    with contextlib.suppress(BrokenPipeError):
        child.stdin.write(orjson.dumps(options.to_json()) + b"\n")
        child.stdin.flush()
    line = child.stdout.readline()
    if line.startswith(b"http"):
        return RunningSim(child, line.decode().strip())
    child.stdin.close()
    said = child.stderr.read().decode(errors="replace").strip()
    child.wait()
    child.stdout.close()
    child.stderr.close()
    raise SetupError(said.splitlines()[-1] if said else "the simulated endpoint did not start")
