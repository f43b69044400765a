"""The figures of a load without the command line: its journals as Parquet, and the summary made of them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from run_build import plan_for

from wholecurve.metrics import MachineFacts, summarize
from wholecurve.model.plan import PhasePlan
from wholecurve.model.record import RunState
from wholecurve.records.read import read_columns
from wholecurve.records.write import write_parquet


def figures(folder: Path, phases: PhasePlan | list[PhasePlan], *, number: int = 0, state: RunState) -> dict[str, Any]:
    """The summary of one phase of the load that `run_load` left in `folder`."""
    listed = [phases] if isinstance(phases, PhasePlan) else phases
    if not (folder / "requests.parquet").exists():
        write_parquet(folder, keep_responses=())
    machine = MachineFacts(None, None, None, None, None, None, True, None, 0)
    return summarize(
        plan_for(["http://127.0.0.1"], listed), number, read_columns(folder, number), state=state, workers=(),
        machine=machine, started_at=None, version="0", git_sha=None, extra={},
    )  # fmt: skip
