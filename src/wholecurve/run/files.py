"""The files of a run folder: strict JSON and YAML, written under a temporary name, then renamed. No secret, no path."""

from __future__ import annotations

import os
import platform
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import orjson

from wholecurve.model.errors import InputError, MeasureError
from wholecurve.model.plan import Plan

CLOCK_SCHEMA = "wholecurve.clock/1"
INCOMPLETE = "wanted the folder of a run that this version of wholecurve measured to its end"


def prepare_folder(folder: Path) -> None:
    """Make the folder. Refuses one that holds anything: results are never overwritten (REP-6)."""
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise InputError(
            f"--out {folder} exists and is not empty", hint="Results are never overwritten: name another folder."
        )
    try:
        (folder / "records").mkdir(parents=True)
    except OSError as error:
        raise InputError(f"--out {folder} cannot be made: {error.strerror}") from None


def write_atomically(path: Path, data: bytes) -> None:
    """Write under a temporary name, sync, rename. Raises MeasureError with the system's reason.

    InputError for a device or a pipe: a rename would put an ordinary file in its place.
    """
    if path.exists() and not path.is_file():
        raise InputError(f"wanted an ordinary file, got {path}, which is none", hint="name another file")
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(path.name + ".part")
    try:
        part.unlink(missing_ok=True)
        with part.open("xb") as file:  # a link that somebody left under this name is not followed
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        part.replace(path)
    except OSError as error:
        raise MeasureError(
            f"{path.name} could not be written: {error.strerror}",
            hint="The records until now are kept; make room, then run `wholecurve report` on the folder.",
        ) from None


def read_object(path: Path) -> dict[str, Any]:
    """A JSON object from a file. Raises InputError that names it as the user did."""
    where = str(path)
    try:
        found = orjson.loads(path.read_bytes())
    except FileNotFoundError:
        raise InputError(f"no {path.name} in {path.parent.name}/", where=where, hint=INCOMPLETE) from None
    except OSError as error:
        raise InputError(f"{path.name} cannot be read: {error.strerror}", where=where) from None
    except orjson.JSONDecodeError:
        raise InputError(f"{path.name} is not valid JSON", where=where, hint="the folder is damaged") from None
    if not isinstance(found, dict):
        raise InputError(f"{path.name}: wanted an object", where=where, hint="the folder is damaged")
    return found


def tool_commit() -> str | None:
    """Commit of the checkout that this package runs from; None when installed (REP-7: never another's)."""
    root = Path(__file__).resolve().parents[3]
    git = root / ".git"
    try:
        if not (root / "src" / "wholecurve").is_dir():
            return None
        head = (git / "HEAD").read_text(encoding="ascii").strip()
        if not head.startswith("ref: "):
            return head
        loose = git / head[5:]
        if loose.is_file():
            return loose.read_text(encoding="ascii").strip()
        for line in (git / "packed-refs").read_text(encoding="ascii").splitlines():
            if line.endswith(f" {head[5:]}"):
                return line.split()[0]
    except (OSError, UnicodeError):
        pass  # no checkout, or one that is laid out otherwise
    return None


def system_description(plan: Plan, clock: Mapping[str, Any]) -> dict[str, Any]:
    """system_desc.json as far as the client can tell: the endpoint as it was reached, and the client's own machine."""
    return {
        "schema": "wholecurve.system_desc/1",
        "system_name": None,
        "endpoint": {
            "urls": list(plan.endpoint.urls),
            "model": plan.endpoint.model,
            "dialect": plan.endpoint.dialect,
            "addresses": clock["addresses"],
        },
        "client": {
            "cores": os.cpu_count(),
            "processor": _processor(),
            "memory_bytes": _memory_bytes(),
            "system": f"{platform.system()} {platform.release()}",
            "python": platform.python_version(),
        },
        "not_measured": {"system_name": "a client cannot see the server's hardware and software"},
    }


def _processor() -> str | None:
    try:
        for line in Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    except OSError:
        pass  # not Linux: the field is null
    return platform.processor() or None


def _memory_bytes() -> int | None:
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (ValueError, OSError):
        return None


def final_snapshot(summary: Mapping[str, Any], monotonic_ns: int) -> dict[str, Any]:
    """metrics/final_snapshot.json in the reference client's form (reference-client.md 5.3), exact from raw values."""
    issued, done = summary["n_samples_issued"], summary["n_samples_completed"]
    failed = summary["n_samples_failed"]
    counters = {
        "tracked_samples_issued": issued,
        "tracked_samples_completed": done,
        "tracked_samples_failed": failed,
        "tracked_duration_ns": summary["duration_ns"],
        **{f"tracked_finish_reason_{name}": n for name, n in summary["finish_reason_counts"].items()},
    }
    series = {
        "sample_latency_ns": summary["latency"],
        "isl": summary["input_sequence_lengths"],
        "osl": summary["output_sequence_lengths"],
        "ttft_ns": summary["ttft"],
        "tpot_ns": summary["tpot"],
    }
    return {
        "counter": 1,
        "timestamp_ns": monotonic_ns,
        "state": summary["state"],
        "n_pending_tasks": 0,
        "metrics": [
            *({"type": "counter", "name": name, "value": value} for name, value in counters.items()),
            *({"type": "series", "name": name, **block} for name, block in series.items() if block),
        ],
    }
