"""What a sweep says at its end and when it is taken up again."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import orjson

from wholecurve.cli.campaign_files import HTML
from wholecurve.sweep import CampaignOutcome, CampaignPlan, CampaignState, Standing, stand

SCHEMA = "wholecurve.sweep/1"


def closing_lines(outcome: CampaignOutcome, folder: Path, *, quiet: bool = False) -> Iterator[str]:
    """How it ended, what is missing, and the next step. quiet: only if something is wrong."""
    if outcome.reason:
        yield f"{outcome.state.value}: {outcome.reason}"
    if outcome.invalid:
        yield f"not valid: {', '.join(outcome.invalid)}"
    if outcome.missing:
        yield f"missing: {', '.join(outcome.missing)}"
    for sentence in outcome.differences:
        yield f"not the same at every point: {sentence}"
    if outcome.state is not CampaignState.COMPLETE:
        yield f"go on with: wholecurve sweep --resume {folder}"
    if outcome.done and not quiet:
        yield f"the report: {folder / HTML}"


def resume_lines(plan: CampaignPlan, entries: Iterable[Mapping[str, Any]], folder: Path) -> Iterator[str]:
    """What a sweep that is taken up again has already, and what is measured now."""
    states = stand(plan, entries, folder)
    yield f"levels {plan.c_min} to {plan.c_max}; {plan.c_max_why}"
    valid = [str(one.slot) for one in states if one.standing is Standing.VALID]
    left = [str(one.slot) + (f" ({one.again})" if one.again else "") for one in states if str(one.slot) not in valid]
    yield f"valid already: {' '.join(valid) or 'none'}"
    yield f"still to be measured: {', '.join(left) or 'nothing'}"


def outcome_json(outcome: CampaignOutcome, folder: Path) -> dict[str, Any]:
    """For `--json`: how it ended, and curve.json where there is one."""
    curve = folder / "curve.json"
    return {
        "schema": SCHEMA,
        "state": outcome.state.value,
        "reason": outcome.reason or None,
        "done": list(outcome.done),
        "invalid": list(outcome.invalid),
        "missing": list(outcome.missing),
        "differences": list(outcome.differences),
        "folder": folder.name,
        "curve": orjson.loads(curve.read_bytes()) if curve.is_file() else None,
    }
