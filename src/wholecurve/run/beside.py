"""What the files beside the summary say of a run, so that `recompute` can hold them to the records too."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import orjson
import yaml

from wholecurve.metrics import Columns
from wholecurve.model.errors import InputError
from wholecurve.model.plan import PhaseKind, Plan
from wholecurve.model.strict_json import dumps_strict
from wholecurve.run.files import final_snapshot, read_object
from wholecurve.run.point_file import point_yaml

SNAPSHOT: Final = Path("metrics") / "final_snapshot.json"
SAMPLE_MAP: Final = Path("sample_idx_map.json")
POINT: Final = Path("point.yaml")

MEASURED_KEYS: Final = ("concurrency", "region", "offline", "runtime_settings", "warmup", "steady_state", "measured")
"""What the client knows of a point. The rest of point.yaml is the submitter's to say, and to change."""

_MOST_BYTES: Final = 1 << 20


def sample_map(plan: Plan, clock: Mapping[str, Any], columns: Columns) -> dict[str, dict[str, int]]:
    """Request id to data-set row of the measured phase, as in the reference client's sample_idx_map.json."""
    prefix = clock.get("request_id_prefix") or ""
    number = next(n for n, phase in enumerate(plan.phases) if phase.kind is PhaseKind.PERFORMANCE)
    rows = zip(columns["index"].tolist(), columns["sample"].tolist(), strict=True)
    return {plan.phases[number].name: {f"{prefix}-{number}-{index}": sample for index, sample in rows if sample >= 0}}


def figures_beside(
    plan: Plan, clock: Mapping[str, Any], columns: Columns, summary: Mapping[str, Any]
) -> dict[Path, dict[str, Any]]:
    """By file, everything in it that follows from the records; plain values as a reader of the file meets them."""
    point = yaml.safe_load(point_yaml(plan, summary))
    snapshot = orjson.loads(dumps_strict(final_snapshot(summary, 0)))
    return {
        SNAPSHOT: {key: value for key, value in snapshot.items() if key != "timestamp_ns"},
        SAMPLE_MAP: sample_map(plan, clock, columns),
        POINT: {key: point.get(key) for key in MEASURED_KEYS},
    }


def stored_beside(folder: Path, name: Path) -> dict[str, Any]:
    """The same part of the file on disk. Raises InputError if it is missing or damaged."""
    if name != POINT:
        return {key: value for key, value in read_object(folder / name).items() if key != "timestamp_ns"}
    try:
        data = (folder / name).read_bytes()
        found = yaml.safe_load(data) if len(data) <= _MOST_BYTES else None
    except OSError as error:
        raise InputError(f"{name} cannot be read: {error.strerror}", where=folder.name) from None
    except yaml.YAMLError:
        found = None
    if not isinstance(found, dict):
        raise InputError(f"{name} is damaged: wanted a mapping", where=folder.name)
    return {key: found.get(key) for key in MEASURED_KEYS}
