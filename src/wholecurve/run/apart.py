"""A run in a process of its own, so that a sweep measures each point as `wholecurve run` would measure it alone.

The caller forks before anything heavy is loaded: the child has the data sets and the tokenizer already, loads numpy and
Arrow after its load as ever, and takes all of it with it when it ends. No point inherits the memory, the threads or the
faults of the one before. What the child has to say comes through a pipe. If the caller is killed, the child is killed
with it: a sweep that is resumed moves the unfinished folder aside, and nobody may still be writing into it.

The child is a process group of its own, so that Ctrl-C reaches the caller only, which hands every signal on once: the
child cannot count one press as two, and a signal that is sent to the caller alone is not lost.
"""

from __future__ import annotations

import contextlib
import os
import pickle
import select
import signal
import struct
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from wholecurve.model.errors import InterruptedRun, MeasureError, WholecurveError
from wholecurve.run.children import exit_words, fork
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

ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
"""Signals by which a user, a service manager or a closed terminal asks for the end."""


class ChildEnded(MeasureError):
    """The child ended without a result: it was killed, by whom or what nobody knows."""


def measure_apart(
    resolved: Resolved,
    out: Path,
    *,
    show: Callable[[Live], None],
    say: Callable[[str], None],
    stopping: Callable[[], None] = lambda: None,
) -> RunResult:
    """`measure` in a child process. Raises what `measure` raises; ChildEnded if the child ends without a result.

    A signal that asks for the end while there is load stops it, and the child finishes its folder. One that comes when
    all is measured and files are written is only told to `stopping`: the point is whole, and it would be a pity.
    """
    from wholecurve.run.measure import measure

    def work(send: Send) -> RunResult:
        patience = _Patience()

        def look(live: Live) -> None:
            patience.loaded = True
            send("show", live)

        for number in ENDING:
            if signal.getsignal(number) is not signal.SIG_IGN:
                signal.signal(number, patience)
        return measure(resolved, out, show=look, say=lambda text: send("say", text))

    result: RunResult = apart(work, {"show": show, "say": say}, out.name, stopping)
    return result


class _Patience:
    """Handler of a measuring child for before and after its load: before it all ends; after it a second one ends it."""

    def __init__(self) -> None:
        self.loaded = False

    def __call__(self, _number: int, _frame: object) -> None:
        if not self.loaded:
            raise KeyboardInterrupt
        self.loaded = False


def apart(
    work: Callable[[Send], Any],
    handlers: Mapping[str, Callable[[Any], None]],
    where: str,
    stopping: Callable[[], None] = lambda: None,
) -> Any:
    """Run `work(send)` in a forked child; what it sends by name goes to `handlers`. Returns what it returned.

    A signal that asks for the end is handed on to the child, where it is a KeyboardInterrupt unless `work` sets another
    handler; `stopping` is called for it. Raises what `work` raised, InterruptedRun if it was interrupted, ChildEnded
    if it ended without a result.
    """
    reading, writing = os.pipe()
    parent = os.getpid()
    with _signals(stopping) as relay, _blocked() as before:
        try:
            child = fork()
        except MeasureError:
            os.close(reading)
            os.close(writing)
            raise
        if child == 0:
            os.close(reading)
            _child(work, writing, parent, before)
        os.close(writing)
        with contextlib.suppress(OSError):  # it has done so itself, or has ended
            os.setpgid(child, child)
        relay.hand_to(child)
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
        try:
            outcome = _listen(reading, handlers)
        except BaseException:
            with contextlib.suppress(ProcessLookupError):
                os.kill(child, signal.SIGTERM)
            raise
        finally:
            os.close(reading)
            _pid, status = os.waitpid(child, 0)
    if outcome is None and relay.seen:
        raise InterruptedRun("interrupted")
    if outcome is None:
        raise ChildEnded(
            f"the measuring process ended without a result ({exit_words(os.waitstatus_to_exitcode(status))})",
            where=where,
            hint="What was recorded is kept in its folder.",
        )
    kind, value = outcome
    if kind == "error":
        raise value
    return value


def _child(work: Callable[[Send], Any], writing: int, parent: int, mask: Iterable[int]) -> None:
    """The child's whole life. It never returns into the caller's code. mask: signals to block from here on."""
    code = MeasureError.exit_code
    try:
        for number in ENDING:  # the caller's handlers are not for here; all are blocked still
            if signal.getsignal(number) is not signal.SIG_IGN:  # `nohup`, or a shell's background job
                signal.signal(number, signal.default_int_handler)
        os.setpgid(0, 0)
        _end_with(parent)
        signal.signal(signal.SIGTTOU, signal.SIG_IGN)  # a terminal may stop what writes to it from another group

        def send(name: str, value: Any) -> None:
            data = pickle.dumps((name, value), protocol=pickle.HIGHEST_PROTOCOL)
            with contextlib.suppress(BrokenPipeError):  # nobody listens any more; the folder is finished all the same
                _write(writing, _LENGTH.pack(len(data)) + data)

        try:
            signal.pthread_sigmask(signal.SIG_SETMASK, mask)
            send("result", work(send))
            code = 0
        except WholecurveError as error:
            send("error", _portable(error))
        except KeyboardInterrupt:
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


class _Relay:
    """The caller's handler: signals that ask for the end go to the child, early ones as soon as there is a child.

    seen: those that came, in order.
    """

    def __init__(self, stopping: Callable[[], None]) -> None:
        self.seen: list[int] = []
        self._stopping = stopping
        self._early: list[int] = []
        self._child: int | None = None

    def __call__(self, number: int, _frame: object) -> None:
        self.seen.append(number)
        self._stopping()
        if self._child is None:
            self._early.append(number)
        else:
            _hand_on(number, self._child)

    def hand_to(self, child: int) -> None:
        """From now on to this child, and what came before too."""
        self._child = child  # first: a signal that comes right here is handed on at once, and `_early` grows no more
        for number in self._early:
            _hand_on(number, child)


def _hand_on(number: int, child: int) -> None:
    with contextlib.suppress(ProcessLookupError):
        # A closed terminal is no wish for patience, and who measures knows SIGTERM only.
        os.kill(child, signal.SIGTERM if number == signal.SIGHUP else number)


@contextlib.contextmanager
def _signals(stopping: Callable[[], None]) -> Iterator[_Relay]:
    """Signals that ask for the end are a relay's, from before the fork until the child has ended.

    A mask does not do for the time around the fork: it is the calling thread's, and a signal to the process goes to any
    other thread, such as one of a library, where it does what its handler of that moment does: by default it kills.
    """
    relay = _Relay(stopping)
    before = {number: signal.getsignal(number) for number in ENDING}
    try:
        for number, handler in before.items():
            if handler is not signal.SIG_IGN:
                signal.signal(number, relay)
        yield relay
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


@contextlib.contextmanager
def _blocked() -> Iterator[set[signal.Signals]]:
    """The same signals are not for this thread, nor for the child that is forked from it. Gives the mask before.

    While two processes run the same code none may come: the child would answer in the caller's place.
    """
    before = signal.pthread_sigmask(signal.SIG_BLOCK, ENDING)
    try:
        yield {signal.Signals(number) for number in before}
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


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
