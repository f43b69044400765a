"""From typed flags and a file to a resolved run, and the name of the folder it goes to.

What only some runs need, such as a tokenizer, is imported when it is asked for.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

from wholecurve.accuracy import check_expected
from wholecurve.config import Resolved, SharedFlags, read_config, resolve, settings_from
from wholecurve.datasets import load
from wholecurve.model.errors import InputError
from wholecurve.model.plan import Pattern, PhaseKind, Plan
from wholecurve.run.clock import realtime_ns, wall_iso

RESULTS = Path("results")
MAX_NAME = 80


def resolved_run(flags: SharedFlags, say: Callable[[str], None]) -> Resolved:
    """Settings, data sets, tokenizer and keys, all checked. Raises InputError or SetupError; nothing was sent."""
    file = read_config(flags.config, os.environ) if flags.config is not None else None
    warnings = file.warnings if file is not None else ()
    for warning in warnings:
        say(f"note: {warning}")
    resolved = resolve(
        settings_from(flags, file),
        environ=os.environ,
        read_dataset=load,
        load_tokenizer=load_tokenizer,
        warnings=warnings,
        say=say,
    )
    check_expected(resolved.plan, resolved.expected)
    return resolved


def load_tokenizer(path: str, *, trust_remote_code: bool) -> Any:
    """The reference tokenizer; its library is imported now."""
    from wholecurve.tokens import load_tokenizer

    return load_tokenizer(path, trust_remote_code=trust_remote_code)


def out_folder(asked: str | None, plan: Plan) -> Path:
    """The folder for a run's files: the one asked for if it is new or empty, else a new one with a telling name.

    Raises InputError; never hands out a folder that holds anything (REP-6).
    """
    return new_folder(asked, RESULTS / f"{safe_name(plan.endpoint.model)}-{_load_name(plan)}")


def new_folder(asked: str | None, stem: Path) -> Path:
    """A new folder: the one asked for if it is new or empty, else `stem` with the time of day. Raises InputError."""
    if asked is not None:
        folder = Path(asked)
        if folder.exists() and not folder.is_dir():
            raise InputError(f"--out: wanted a new or empty folder, got the file {asked}", hint="name another folder")
        if folder.is_dir() and any(folder.iterdir()):
            raise InputError(
                f"--out: wanted a new or empty folder, got {asked}, which holds files",
                hint="results are never overwritten: name another folder",
            )
        return _made(folder, exist_ok=True)
    name = f"{stem.name}-{_utc_name(realtime_ns())}"
    for number in range(1, 1000):
        folder = stem.parent / (name if number == 1 else f"{name}-{number}")
        try:
            return _made(folder, exist_ok=False)
        except FileExistsError:
            continue  # another run of this second
    raise InputError(f"{stem.parent}/ has a thousand folders of this second", hint="give --out")


def _made(folder: Path, *, exist_ok: bool) -> Path:
    try:
        folder.mkdir(parents=True, exist_ok=exist_ok)
    except FileExistsError:
        raise
    except OSError as error:
        raise InputError(f"--out: cannot make the folder {folder}: {error.strerror}", hint="name another") from None
    if not os.access(folder, os.W_OK):
        raise InputError(f"--out: cannot write into {folder}", hint="name another folder, or change its permissions")
    return folder


def safe_name(text: str) -> str:
    """Text as one path segment: letters, digits, dots, dashes and underscores, not hidden, at most MAX_NAME long."""
    return re.sub(r"[^A-Za-z0-9._-]+", "-", text).strip("-.")[:MAX_NAME] or "model"


def _load_name(plan: Plan) -> str:
    phase = next(phase for phase in plan.phases if phase.kind is PhaseKind.PERFORMANCE)
    if phase.pattern is Pattern.CONCURRENCY:
        return f"c{phase.concurrency}"
    if phase.rate_per_s is not None:
        return f"r{phase.rate_per_s:g}"
    return phase.pattern.value


def _utc_name(realtime: int) -> str:
    return wall_iso(realtime)[:19].replace("-", "").replace(":", "") + "Z"
