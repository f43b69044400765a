"""A run in a process of its own, so that a sweep measures each point as `wholecurve run` would measure it alone.

The caller forks before anything heavy is loaded: the child has the data sets and the tokenizer already, loads numpy and
Arrow after its load as ever, and takes all of it with it when it ends. No point inherits the memory, the threads or the
faults of the one before. What the child has to say comes through a pipe. If the caller is killed, the child is killed
with it: a sweep that is resumed moves the unfinished folder aside, and nobody may still be writing into it.
"""

from __future__ import annotations

import contextlib
import os
import pickle
import select
import signal
import struct
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from wholecurve.model.errors import MeasureError, WholecurveError
from wholecurve.run.live import Live

if TYPE_CHECKING:
    from wholecurve.config import Resolved
    from wholecurve.run.measure import RunResult

Send = Callable[[str, Any], None]
"""What the child calls to say something: a name and a value that can be pickled."""

_LENGTH = struct.Struct("<I")
_PARENT_DEATH = 1
"""PR_SET_PDEATHSIG of prctl(2)."""
_WAIT_S = 0.2


def measure_apart(
    resolved: Resolved, out: Path, *, show: Callable[[Live], None], say: Callable[[str], None]
) -> RunResult:
    """`measure` in a child process. Raises what `measure` raises; MeasureError if the child ends without a result.

    SIGINT goes to the child as well (it is in the same group of the terminal), which stops issuing and finishes its
    folder; the caller waits for it. SIGTERM is handed on.
    """
    from wholecurve.run.measure import measure

    def work(send: Send) -> RunResult:
        return measure(resolved, out, show=lambda live: send("show", live), say=lambda text: send("say", text))

    result: RunResult = apart(work, {"show": show, "say": say}, out.name)
    return result


def apart(work: Callable[[Send], Any], handlers: Mapping[str, Callable[[Any], None]], where: str) -> Any:
    """Run `work(send)` in a forked child; what it sends by name goes to `handlers`. Returns what it returned."""
    reading, writing = os.pipe()
    parent = os.getpid()
    try:
        child = os.fork()
    except OSError as error:
        os.close(reading)
        os.close(writing)
        raise MeasureError(f"a process could not be started: {error.strerror}") from None
    if child == 0:
        os.close(reading)
        _child(work, writing, parent)
    os.close(writing)
    with _signals(child):
        try:
            outcome = _listen(reading, handlers)
        except BaseException:
            with contextlib.suppress(ProcessLookupError):
                os.kill(child, signal.SIGTERM)
            raise
        finally:
            os.close(reading)
            _pid, status = os.waitpid(child, 0)
    if outcome is None:
        raise MeasureError(
            f"the measuring process ended without a result ({_words(os.waitstatus_to_exitcode(status))})",
            where=where,
            hint="What was recorded is kept in its folder.",
        )
    kind, value = outcome
    if kind == "error":
        raise value
    return value


def _child(work: Callable[[Send], Any], writing: int, parent: int) -> None:
    """The child's whole life. It never returns into the caller's code."""
    code = MeasureError.exit_code
    try:
        _end_with(parent)
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        signal.signal(signal.SIGINT, signal.default_int_handler)

        def send(name: str, value: Any) -> None:
            data = pickle.dumps((name, value), protocol=pickle.HIGHEST_PROTOCOL)
            with contextlib.suppress(BrokenPipeError):  # nobody listens any more; the folder is finished all the same
                _write(writing, _LENGTH.pack(len(data)) + data)

        try:
            send("result", work(send))
            code = 0
        except WholecurveError as error:
            send("error", _portable(error))
        except KeyboardInterrupt:
            from wholecurve.model.errors import InterruptedRun

            send("error", InterruptedRun("interrupted"))
        except Exception as error:  # noqa: BLE001 - the caller shows it as it shows its own
            send("error", _unexpected(error))
    finally:
        os._exit(code)


def _write(descriptor: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(descriptor, view) :]


def _portable(error: WholecurveError) -> WholecurveError:
    """The error without the frames and causes that it may hold."""
    kind = type(error)
    return kind(error.message, where=error.where, hint=error.hint)


def _unexpected(error: Exception) -> Exception:
    try:
        pickle.loads(pickle.dumps(error))
    except Exception:  # noqa: BLE001 - an error that cannot travel is told in words
        return RuntimeError(f"{type(error).__name__}: {error}")
    return error


def _end_with(parent: int) -> None:
    """Ask the kernel to kill this process when the caller dies, even by SIGKILL (Linux); its workers then end too."""
    with contextlib.suppress(OSError, AttributeError):
        import ctypes

        ctypes.CDLL(None).prctl(_PARENT_DEATH, signal.SIGKILL, 0, 0, 0)
    if os.getppid() != parent:  # it died before that was asked for
        os.kill(os.getpid(), signal.SIGKILL)


@contextlib.contextmanager
def _signals(child: int) -> Iterator[None]:
    """While the child works SIGINT is its business, and SIGTERM is handed on."""

    def hand_on(number: int, _frame: object) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.kill(child, number)

    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    signal.signal(signal.SIGINT, lambda _number, _frame: None)
    signal.signal(signal.SIGTERM, hand_on)
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _listen(reading: int, handlers: Mapping[str, Callable[[Any], None]]) -> tuple[str, Any] | None:
    """Hand on what the child says until it says how it ended; None if it ends without a word."""
    held = b""
    while True:
        ready, _, _ = select.select([reading], [], [], _WAIT_S)
        if not ready:
            continue
        data = os.read(reading, 1 << 20)
        if not data:
            return None
        held += data
        while len(held) >= _LENGTH.size:
            (length,) = _LENGTH.unpack_from(held)
            if len(held) < _LENGTH.size + length:
                break
            name, value = pickle.loads(held[_LENGTH.size : _LENGTH.size + length])
            held = held[_LENGTH.size + length :]
            if name in ("result", "error"):
                return name, value
            handlers[name](value)


def _words(code: int) -> str:
    return f"signal {signal.Signals(-code).name}" if code < 0 else f"exit code {code}"
