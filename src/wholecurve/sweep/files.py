"""Files of a campaign: written whole or not at all, moved but never deleted. No message holds a machine's path."""

from __future__ import annotations

import errno
import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from wholecurve.model.errors import InputError, MeasureError

LOCK_FILE: Final = "sweep.lock"
_FULL: Final = (errno.ENOSPC, errno.EDQUOT)
_BUSY: Final = (errno.EWOULDBLOCK, errno.EAGAIN, errno.EACCES)


def write_whole(path: Path, data: bytes) -> None:
    """Under a temporary name, synced, then renamed. Raises MeasureError with the system's reason."""
    part = path.with_name(path.name + ".part")
    try:
        part.unlink(missing_ok=True)
        with part.open("xb") as file:  # a link that somebody left under this name is not followed
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        part.replace(path)
    except OSError as error:
        raise disk_error(error, path.name) from None


def disk_error(error: OSError, what: str) -> MeasureError:
    """A file that could not be written, as a sentence with a next step."""
    if error.errno in _FULL:
        return MeasureError(
            f"the disk is full: {what} could not be written",
            hint="Everything measured before is kept; make room and go on with --resume.",
        )
    reason = error.strerror or type(error).__name__
    return MeasureError(f"{what} could not be written: {reason}", hint="Everything measured before is kept.")


def move_aside(folder: Path, source: str, name: str) -> str:
    """Move a run folder of a campaign to `attempts/<name>`, or the next free name; nothing is lost. Where it is now."""
    try:
        (folder / "attempts").mkdir(exist_ok=True)
        target, more = folder / "attempts" / name, 1
        while target.exists():
            more += 1
            target = folder / "attempts" / f"{name}.{more}"
        (folder / source).rename(target)
    except OSError as error:
        raise disk_error(error, source) from None
    return f"attempts/{target.name}"


@contextmanager
def only_one(folder: Path) -> Iterator[None]:
    """Hold the campaign's folder for this process. InputError if another sweep holds it.

    The lock is the kernel's, of the POSIX kind: it ends with its process however that dies, so a killed sweep blocks
    nobody. Processes that this one forks do not inherit it (flock's they would): a worker that outlives a killed
    sweep for a moment holds nothing.
    """
    try:
        # No link is followed: what it leads to would be emptied.
        descriptor = os.open(folder / LOCK_FILE, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o644)
    except OSError as error:
        raise InputError(f"{folder.name} cannot be used: {error.strerror}") from None
    try:
        try:
            fcntl.lockf(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            if error.errno not in _BUSY:
                raise InputError(
                    f"{folder.name} cannot be locked: {error.strerror}", hint="Use a folder on a local disk."
                ) from None
            pid = os.read(descriptor, 32).decode("ascii", "replace").strip() or "not known"
            raise InputError(
                f"another sweep is at work in {folder.name} (pid {pid})", hint="Wait for it, or use another folder."
            ) from None
        os.ftruncate(descriptor, 0)
        os.write(descriptor, f"{os.getpid()}\n".encode())
        yield
    finally:
        os.close(descriptor)
