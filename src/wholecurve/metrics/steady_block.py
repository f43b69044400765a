"""The `steady_state` map of a submission's point.yaml, in the words its checker knows."""

from __future__ import annotations

from typing import Any

from wholecurve.metrics.steady import SteadyState
from wholecurve.metrics.steady_words import shift_sentence
from wholecurve.model.units import NS_PER_S


def submission_block(state: SteadyState) -> dict[str, Any] | None:
    """The `steady_state` map of point.yaml, plain values; None when a steady state does not apply.

    Keys as official-tools.md B.3: super-passes from 0, both ends included.
    """
    if state.status is None or state.verdict is None or state.cut is None:
        return None
    block: dict[str, Any] = {
        "status": str(state.status),
        "verdict": str(state.verdict),
        "state": {key: str(value) for key, value in state.state.items()},
    }
    if state.window is not None:
        block["window"] = {
            "super_pass_start": state.window.super_pass_start,
            "super_pass_end": state.window.super_pass_end,
            "super_pass_size": state.cut.pass_size,
            "n_samples": state.window.requests,
            "duration_s": state.window.duration_ns / NS_PER_S,
        }
        if state.window.super_pass_start is None:
            del block["window"]["super_pass_start"], block["window"]["super_pass_end"]
    if state.anomaly is not None:
        block["anomaly"] = shift_sentence(state.anomaly, state.cut)
    return block
