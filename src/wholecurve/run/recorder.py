"""Append-only recording of one worker: frames gather in memory and go to the spool in small writes, often.

Nothing is parsed or counted here. A full disk is the run's fault, not the endpoint's: the errno is kept in `fault`,
later frames are dropped, and the worker stops issuing.
"""

from __future__ import annotations

import os
from array import array
from pathlib import Path

import orjson

from wholecurve.run.spool import PART, SPOOL_BYTES, Kind, frame

FLUSH_BYTES = 128 << 10


class Recorder:
    """The spool of one worker."""

    __slots__ = ("_descriptor", "_folder", "_number", "_pending", "_pending_bytes", "_size", "_worker", "fault")

    def __init__(self, folder: Path, worker: int) -> None:
        self._folder = folder
        self._worker = worker
        self._number = 0
        self._size = 0
        self._pending: list[bytes] = []
        self._pending_bytes = 0
        self.fault = 0
        self._descriptor = self._open()

    def _open(self) -> int:
        path = self._folder / spool_name(self._worker, self._number)
        return os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)

    def note(self, data: bytes) -> None:
        """Keep one frame without writing now, whatever waits: between two instants that are measured."""
        self._pending.append(data)
        self._pending_bytes += len(data)

    def append(self, data: bytes) -> None:
        """Keep one frame; written at the next flush, or now if enough waits: small writes keep the loop turning."""
        self.note(data)
        if self._pending_bytes > FLUSH_BYTES:
            self.flush()

    def part(self, serial: int, stamps: array[int], chunks: list[bytes]) -> None:
        """Keep raw answer bytes with the stamp of each read."""
        self.append(
            frame(
                Kind.PART,
                PART.pack(serial, len(chunks)),
                stamps.tobytes(),
                array("I", map(len, chunks)).tobytes(),
                *chunks,
            )
        )

    def facts(self, facts: dict[str, object]) -> None:
        """Keep what the worker says of itself after a phase."""
        self.append(frame(Kind.FACTS, orjson.dumps(facts)))

    def flush(self) -> None:
        """Write what waits. Never raises: the first errno stays in `fault`."""
        if not self._pending:
            return
        data = b"".join(self._pending)
        self._pending = []
        self._pending_bytes = 0
        view = memoryview(data)
        try:
            while view and not self.fault:
                view = view[os.write(self._descriptor, view) :]
        except OSError as error:
            self.fault = error.errno or -1
            return
        self._size += len(data)
        if self._size >= SPOOL_BYTES:
            self._rotate()

    def _rotate(self) -> None:
        """Begin the next file. The old one is complete once the next exists, which tells the reducer so."""
        self._number += 1
        self._size = 0
        try:
            fresh = self._open()
        except OSError as error:
            self.fault = error.errno or -1
            return
        os.close(self._descriptor)
        self._descriptor = fresh

    def close(self) -> None:
        """Write what waits and close the file."""
        self.flush()
        os.close(self._descriptor)


def spool_name(worker: int, number: int) -> str:
    """`spool-003-000012.bin`; sorts in writing order within a worker."""
    return f"spool-{worker:03d}-{number:06d}.bin"
