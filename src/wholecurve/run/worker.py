"""A worker process: one engine, all phases in order, then gone. It ignores signals; the supervisor decides."""

from __future__ import annotations

import contextlib
import gc
import os
import signal
import traceback
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NoReturn

from wholecurve.model.plan import Plan
from wholecurve.model.sample import Conversation
from wholecurve.run.clock import sharpen_sleep, sleep_s
from wholecurve.run.conn import Address
from wholecurve.run.control import Control, Global, Worker
from wholecurve.run.engine import Engine
from wholecurve.run.outgoing import Outgoing
from wholecurve.run.recorder import Recorder

CRASHED = 70


def run_worker(
    number: int,
    plan: Plan,
    outgoing: Outgoing,
    conversations: Mapping[str, Sequence[Conversation]],
    addresses: Sequence[Address],
    control: Control,
    lock: contextlib.AbstractContextManager[object],
    folder: Path,
) -> NoReturn:
    """The main function of a forked worker. Ends the process: 0, or CRASHED with the traceback in a file."""
    code = CRASHED
    try:
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        sharpen_sleep()
        # The collector would stop the loop to look at objects that are never garbage: nothing here makes cycles.
        gc.freeze()
        gc.disable()
        _phases(number, plan, outgoing, conversations, addresses, control, lock, folder)
        code = 0
    except BaseException:  # noqa: BLE001 - the process ends here and must say why
        with contextlib.suppress(OSError):
            (folder / f"crash-worker-{number:03d}.txt").write_text(traceback.format_exc(), encoding="utf-8")
    finally:
        os._exit(code)


def _phases(
    number: int,
    plan: Plan,
    outgoing: Outgoing,
    conversations: Mapping[str, Sequence[Conversation]],
    addresses: Sequence[Address],
    control: Control,
    lock: contextlib.AbstractContextManager[object],
    folder: Path,
) -> None:
    recorder = Recorder(folder, number)
    engine = Engine(number, plan, control, recorder, outgoing, addresses)
    parent = os.getppid()
    for place, phase in enumerate(plan.phases):
        # The supervisor clears the counters between phases; claiming before that would draw from the last phase's.
        while control.run[Global.PHASE] < place and not control.run[Global.STOP] and os.getppid() == parent:
            sleep_s(0.001)
        if control.run[Global.STOP] or os.getppid() != parent:
            break
        engine.run_phase(place, conversations[phase.dataset], lock)
        if control.run[Global.STOP]:
            break
    recorder.close()
    control.workers[number][Worker.FAULT] = recorder.fault
