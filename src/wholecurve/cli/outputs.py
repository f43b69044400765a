"""Files that a user named: written whole or not at all, and never in the place of a device or a pipe."""

from __future__ import annotations

import contextlib
from pathlib import Path

from wholecurve.model.errors import InputError, MeasureError


def write_named(path: Path, data: bytes) -> None:
    """Write under a temporary name and rename. MeasureError names the file as the user did, with the system's reason;
    InputError for what is no ordinary file, since a rename would put one in its place."""
    if path.exists() and not path.is_file():
        raise InputError(f"wanted an ordinary file, got {path}, which is none", hint="name another file")
    part = path.with_name(path.name + ".part")
    try:
        part.unlink(missing_ok=True)
        with part.open("xb") as file:  # a link that somebody left under this name is not followed
            file.write(data)
        part.replace(path)
    except OSError as error:
        with contextlib.suppress(OSError):  # such as a folder that is none
            part.unlink(missing_ok=True)
        raise MeasureError(f"{path} cannot be written: {error.strerror}", hint="name another file") from None
