"""What a finished run folder holds of its point, read once."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from wholecurve.model.errors import InputError
from wholecurve.results.files import is_file, place_of, read_mapping, read_object, read_optional
from wholecurve.results.values import at, mapping, mappings, text

PLAN_SCHEMA: Final = "wholecurve.plan/1"
SUMMARY_SCHEMA: Final = "wholecurve.result_summary/1"
SUMMARY: Final = Path("performance") / "result_summary.json"
ACCURACY: Final = Path("accuracy") / "accuracy_results.json"
"""Where they lie in a run folder."""


@dataclass(frozen=True, slots=True)
class RunFiles:
    """plan.json, result_summary.json, point.yaml and system_desc.json; the last two are empty where there is none.

    phase, number: of the performance phase.
    """

    folder: Path
    plan: Mapping[str, Any]
    summary: Mapping[str, Any]
    point: Mapping[str, Any]
    system: Mapping[str, Any]
    phase: Mapping[str, Any]
    number: int

    @property
    def data_set_hash(self) -> str | None:
        """SHA-256 of the data set of the performance phase."""
        name = text(self.phase.get("dataset"))
        found = [one for one in mappings(self.plan, "datasets") if name and one.get("name") == name]
        return text(found[0].get("sha256")) if found else None

    @property
    def tokenizer_hash(self) -> str | None:
        """SHA-256 of the reference tokenizer's files; None without one."""
        return text(at(self.plan, "tokenizer", "sha256"))

    @property
    def model(self) -> str | None:
        """The model that was asked for."""
        return text(at(self.plan, "endpoint", "model"))

    @property
    def rules(self) -> Mapping[str, Any]:
        """The rules that the run was held to; empty without any."""
        return mapping(self.plan, "rules")


def is_run(folder: Path) -> bool:
    """Whether this is the folder of a run, finished or not."""
    return is_file(folder / "plan.json")


def read_run(folder: Path, *, summary: Mapping[str, Any] | None = None) -> RunFiles:
    """The files of a finished run. summary: used in place of result_summary.json. Raises InputError for a folder that
    is none, for one whose run did not end, and for damaged files."""
    if not is_run(folder):
        raise InputError("wanted a run folder, found no plan.json", where=folder.name)
    plan = read_object(folder / "plan.json")
    _check_schema(plan, PLAN_SCHEMA, folder / "plan.json")
    number, phase = _performance(plan, folder)
    path = folder / SUMMARY
    if summary is None and not is_file(path):
        raise InputError(
            "the run did not come to its end: it has no performance/result_summary.json",
            where=folder.name,
            hint="finish it from its records with: wholecurve report FOLDER",
        )
    summary = read_object(path) if summary is None else summary
    _check_schema(summary, SUMMARY_SCHEMA, path)
    point = folder / "point.yaml"
    return RunFiles(
        folder=folder,
        plan=plan,
        summary=summary,
        point=read_mapping(point) if is_file(point) else {},
        system=read_optional(folder / "system_desc.json") or {},
        phase=phase,
        number=number,
    )


def _check_schema(found: Mapping[str, Any], wanted: str, path: Path) -> None:
    if found.get("schema") != wanted:
        raise InputError(
            f"wanted {path.name} with schema {wanted}, got {str(found.get('schema'))[:60]!r}", where=place_of(path)
        )


def _performance(plan: Mapping[str, Any], folder: Path) -> tuple[int, Mapping[str, Any]]:
    phases = plan.get("phases")
    for number, phase in enumerate(phases if isinstance(phases, list) else []):
        if isinstance(phase, Mapping) and phase.get("kind") == "performance":
            return number, phase
    raise InputError("plan.json has no performance phase", where=folder.name)
