"""Reducers: from the raw bytes and stamps of the spool to one row per request, beside the load at the lowest priority.

A spool file is deleted once every request in it is a row on disk, so at any moment spool and journal together hold
everything: after a crash the same code, run over what is there, finishes the work (`recover`).
"""

from __future__ import annotations

import contextlib
import math
import os
from array import array
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import orjson

from wholecurve.model.plan import PhaseKind, Plan
from wholecurve.model.record import FailureKind, Outcome
from wholecurve.records import Row, journal_files, numbers_of, pack_row, places
from wholecurve.run.clock import sleep_s
from wholecurve.run.control import FIRST_BUCKET, TTFT_BUCKETS, Control, Global
from wholecurve.run.control import Reducer as Cell
from wholecurve.run.hide import Hide
from wholecurve.run.recorder import spool_name
from wholecurve.run.rows import answer_numbers, end_numbers, gaps_of, issued_numbers, response_of
from wholecurve.run.spool import END, ISSUED, PART, End, How, Issued, Kind, split_frames
from wholecurve.wire import DIALECTS, Answer, AnswerReader

READ_BYTES = 4 << 20
DETAIL_CHARS = 300
LOST_DETAIL = "issued, and nothing more is known of it"

HOW_FAILURE: dict[How, FailureKind] = {
    How.REQUEST_TIMEOUT: FailureKind.REQUEST_TIMEOUT,
    How.IDLE_TIMEOUT: FailureKind.IDLE_TIMEOUT,
}

CUT_SHORT = frozenset({None, FailureKind.CLOSED_EARLY, FailureKind.TRUNCATED, FailureKind.EMPTY})
"""What an answer looks like that was well until a timeout cut it."""


@dataclass(slots=True)
class _Open:
    """A request that was issued and is not over."""

    issued: Issued
    file: int
    reader: AnswerReader | None = None
    user_stamps: int = 0


@dataclass(slots=True)
class _Tail:
    """The place in one worker's spool up to which it was read."""

    worker: int
    number: int = 0
    offset: int = 0
    deleted: int = 0
    open: dict[int, _Open] = field(default_factory=dict)


class Reducer:
    """Turns the spools of some workers into one journal."""

    def __init__(
        self,
        folder: Path,
        workers: Iterable[int],
        plan: Plan,
        *,
        number: int = 0,
        skip: frozenset[tuple[int, int]] = frozenset(),
        cells: memoryview | None = None,
        hide: Hide | None = None,
    ) -> None:
        self._folder = folder
        self._tails = [_Tail(worker, _first_file(folder, worker)) for worker in workers]
        for tail in self._tails:
            tail.deleted = tail.number
        self._dialect = DIALECTS[plan.endpoint.dialect]
        self._stream = plan.request.stream
        self._request_timeout_ns = plan.limits.request_timeout_ns
        self._max_event_bytes = plan.limits.max_event_bytes
        everywhere = plan.keep_responses or plan.tokenizer is not None
        self._keep_text = [everywhere or phase.kind is PhaseKind.ACCURACY for phase in plan.phases]
        self._skip = skip
        self._cells = cells
        self._hide = hide or Hide()
        flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC
        self._journal = os.open(folder / f"rows-{number:03d}.journal", flags, 0o600)
        self._facts = os.open(folder / f"facts-{number:03d}.jsonl", flags, 0o600)
        self._rows: list[bytes] = []

    def step(self) -> bool:
        """Read what is new; True if there was anything."""
        moved = False
        for tail in self._tails:
            moved |= self._step_one(tail)
        self._write_rows()
        for tail in self._tails:
            self._delete_done(tail)
        return moved

    def _step_one(self, tail: _Tail) -> bool:
        path = self._folder / spool_name(tail.worker, tail.number)
        follower = self._folder / spool_name(tail.worker, tail.number + 1)
        complete = follower.exists()  # asked before reading: what was written before it is all there
        try:
            with path.open("rb", buffering=0) as file:
                file.seek(tail.offset)
                data = file.read(READ_BYTES)
                frames, used = split_frames(memoryview(data))
                while not used and len(data) >= READ_BYTES and (more := file.read(len(data))):
                    data += more  # one frame larger than a read
                    frames, used = split_frames(memoryview(data))
        except FileNotFoundError:
            return False
        for kind, body in frames:
            self._take(tail, kind, body)
        tail.offset += used
        if complete and not used and len(data) == 0:
            tail.number += 1
            tail.offset = 0
            return True
        return used > 0

    def _take(self, tail: _Tail, kind: int, body: memoryview) -> None:
        if kind == Kind.PART:
            serial, count = PART.unpack_from(body)
            opened = tail.open.get(serial)
            if opened is not None:
                self._feed(opened, count, body[PART.size :])
        elif kind == Kind.ISSUED:
            issued = Issued(*ISSUED.unpack(body))
            if (issued.phase, issued.place) not in self._skip:
                tail.open[issued.serial] = _Open(issued, tail.number)
        elif kind == Kind.END:
            end = End(*END.unpack_from(body))
            opened = tail.open.pop(end.serial, None)
            if opened is not None:
                failure, _, detail = bytes(body[END.size :]).partition(b"\0")
                self._end(opened, end, failure.decode(), detail.decode("utf-8", "replace"))
        elif kind == Kind.RESET:
            opened = tail.open.get(int.from_bytes(body, "little", signed=True))
            if opened is not None:
                opened.reader = None
        elif kind == Kind.FACTS:
            os.write(self._facts, bytes(body) + b"\n")

    def _feed(self, opened: _Open, count: int, body: memoryview) -> None:
        reader = opened.reader
        if reader is None:
            reader = opened.reader = AnswerReader(
                self._dialect, stream=self._stream, max_event_bytes=self._max_event_bytes
            )
        stamps, lengths = array("q"), array("I")
        stamps.frombytes(body[: 8 * count])
        lengths.frombytes(body[8 * count : 12 * count])
        at = 12 * count
        data = bytes(body)
        for stamp, length in zip(stamps, lengths, strict=True):
            if stamp < 0:
                stamp = -stamp
                opened.user_stamps += 1
            reader.feed(data[at : at + length], stamp)
            at += length

    def _end(self, opened: _Open, end: End, failure: str, detail: str) -> None:
        how = How(end.how)
        answer = opened.reader.finish(eof=True) if opened.reader is not None else None
        kind, detail = self._failure(opened.issued, end, answer, failure, detail)
        outcome = Outcome.CANCELLED if how is How.CANCELLED else Outcome.FAILED if kind else Outcome.SUCCEEDED
        self._keep(opened, end, answer, outcome, kind, detail)

    def _failure(
        self, issued: Issued, end: End, answer: Answer | None, failure: str, detail: str
    ) -> tuple[FailureKind | None, str]:
        """(kind, detail). What the worker knows for sure wins, then the fault of the answer, then how it was cut."""
        how = How(end.how)
        if failure:
            return FailureKind(failure), detail
        if how is How.CANCELLED:
            return None, detail
        found = FailureKind.CLOSED_EARLY if answer is None else answer.failure
        words = (answer.detail if answer is not None else None) or ""
        if how in HOW_FAILURE and found in CUT_SHORT:
            return HOW_FAILURE[how], detail
        if found is None and self._request_timeout_ns is not None:
            # The worker looks at its limits twenty times a second; the limit itself holds to the nanosecond.
            took = end.completed_ns - issued.issued_ns
            if took > self._request_timeout_ns:
                return FailureKind.REQUEST_TIMEOUT, f"the whole answer came after {took / 1e6:.3f} ms"
        if found is not None and detail:
            words = f"{words} ({detail})" if words else detail
        return found, words

    def _keep(
        self,
        opened: _Open,
        end: End | None,
        answer: Answer | None,
        outcome: Outcome,
        kind: FailureKind | None,
        detail: str,
    ) -> None:
        numbers = issued_numbers(opened.issued) | end_numbers(end) | answer_numbers(answer)
        numbers["user_stamps"] = opened.user_stamps
        if end is not None:
            numbers["completed_ns"] = end.completed_ns
        texts = (outcome.value, kind.value if kind else None, self._hide(detail[:DETAIL_CHARS]) or None,
                 answer.finish_reason if answer else None)  # fmt: skip
        response = response_of(answer) if answer is not None and self._keep_text[opened.issued.phase] else (None,) * 5
        row = Row(numbers_of(numbers), texts, response, gaps_of(answer))
        self._rows.append(pack_row(row))
        if self._cells is not None:
            self._count(opened.issued, answer, outcome)

    def _count(self, issued: Issued, answer: Answer | None, outcome: Outcome) -> None:
        cells = self._cells
        assert cells is not None
        if cells[Cell.PHASE] != issued.phase:
            for cell in range(Cell.SUCCEEDED, len(cells)):
                cells[cell] = 0
            cells[Cell.PHASE] = issued.phase
        place = {Outcome.SUCCEEDED: Cell.SUCCEEDED, Outcome.CANCELLED: Cell.CANCELLED}.get(outcome, Cell.FAILED)
        cells[place] += 1
        if answer is None:
            return
        cells[Cell.OUTPUT_EVENTS] += answer.n_output_events
        if answer.usage is not None and answer.usage.output is not None:
            cells[Cell.OUTPUT_TOKENS] += answer.usage.output
        if outcome is Outcome.SUCCEEDED and answer.first_output_ns is not None:
            micros = max(1.0, (answer.first_output_ns - issued.issued_ns) / 1000)
            cells[FIRST_BUCKET + min(TTFT_BUCKETS - 1, int(16 * math.log2(micros)))] += 1

    def _write_rows(self) -> None:
        if not self._rows:
            return
        view = memoryview(b"".join(self._rows))
        self._rows = []
        while view:
            view = view[os.write(self._journal, view) :]

    def _delete_done(self, tail: _Tail) -> None:
        """Delete files that no unfinished request has frames in."""
        keep_from = min((opened.file for opened in tail.open.values()), default=tail.number)
        while tail.deleted < min(keep_from, tail.number):
            with contextlib.suppress(FileNotFoundError):
                (self._folder / spool_name(tail.worker, tail.deleted)).unlink()
            tail.deleted += 1

    def finish(self) -> None:
        """Everything was read: requests without an end are lost, the rest of the spool goes."""
        while self.step():
            pass
        for tail in self._tails:
            for opened in tail.open.values():
                answer = opened.reader.finish(eof=True) if opened.reader is not None else None
                self._keep(opened, None, answer, Outcome.LOST, None, LOST_DETAIL)
            tail.open.clear()
        self._write_rows()
        for tail in self._tails:
            for path in self._folder.glob(f"spool-{tail.worker:03d}-*.bin"):
                path.unlink()

    def close(self) -> None:
        """Close the files."""
        os.close(self._journal)
        os.close(self._facts)


def _first_file(folder: Path, worker: int) -> int:
    """Number of the oldest spool file of a worker; 0 before it wrote any."""
    names = sorted(folder.glob(f"spool-{worker:03d}-*.bin"))
    return int(names[0].stem.rsplit("-", 1)[1]) if names else 0


def reduce_beside_load(
    folder: Path, number: int, workers: Iterable[int], plan: Plan, control: Control, hide: Hide
) -> None:
    """The main function of a reducer process: follow the spools until the supervisor says that all is written."""
    _yield_to_everybody(beside_load=True)
    cells = control.reducers[number]
    reducer = Reducer(folder, workers, plan, number=number, cells=cells, hide=hide)
    parent, hurried = os.getppid(), False
    while True:
        finishing = control.run[Global.FINISH]  # asked before reading, so that nothing is missed
        moved = reducer.step()
        if finishing and not hurried:
            _yield_to_everybody(beside_load=False)
            hurried = True
        if not moved:
            if finishing or os.getppid() != parent:
                break
            sleep_s(0.05)
    if os.getppid() == parent:
        reducer.finish()
    reducer.close()


def _yield_to_everybody(*, beside_load: bool) -> None:
    """While the load runs: SCHED_IDLE, which a worker that wakes up preempts at once (nice 19 holds it up for
    milliseconds). Afterwards: normal again where the system permits that, so that the user does not wait for others.
    """
    if not hasattr(os, "SCHED_IDLE"):
        return
    with contextlib.suppress(OSError):
        os.sched_setscheduler(0, os.SCHED_IDLE if beside_load else os.SCHED_OTHER, os.sched_param(0))


def recover(folder: Path, plan: Plan, hide: Hide | None = None) -> int:
    """Finish what a killed run left: reduce every spool that is still there. Returns the rows added.

    Without `hide` what looks like a key is hidden: the keys themselves are not known any more.
    """
    workers = sorted({int(path.name.split("-")[1]) for path in folder.glob("spool-*.bin")})
    done: set[tuple[int, int]] = set()
    for path in journal_files(folder):
        with path.open("rb") as file:
            done.update((place.phase, place.index) for place in places(file))
    if not workers:
        return 0
    reducer = Reducer(folder, workers, plan, number=len(journal_files(folder)), skip=frozenset(done), hide=hide)
    reducer.finish()
    reducer.close()
    with (folder / f"rows-{len(journal_files(folder)) - 1:03d}.journal").open("rb") as file:
        return sum(1 for _ in places(file))


def read_facts(folder: Path) -> list[Mapping[str, object]]:
    """What the workers said of themselves, in the order written."""
    found: list[Mapping[str, object]] = []
    for path in sorted(folder.glob("facts-*.jsonl")):
        found += [orjson.loads(line) for line in path.read_bytes().splitlines() if line]
    return found
