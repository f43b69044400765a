"""The words of the steady state: coverage, verdict and basis. A member's value is what files hold (TR 4.4)."""

from __future__ import annotations

from enum import StrEnum


class Coverage(StrEnum):
    """How much steady signal a run holds: whether its window is long enough to carry the official figures."""

    WINDOWABLE = "windowable"
    INSUFFICIENT_DURATION = "insufficient_duration"
    INSUFFICIENT_PASSES = "insufficient_passes"
    PARTIAL_DATASET = "partial_dataset"


class SteadyVerdict(StrEnum):
    """What the gating metrics did over a run."""

    STEADY = "STEADY STATE"
    DRIFTING_UP = "drifting_up"
    DRIFTING_DOWN = "drifting_down"
    ANOMALY = "anomaly"
    NOT_FOUND = "not found"


class Basis(StrEnum):
    """Which requests the official figures are made of: those of the steady window, or the whole run."""

    WINDOW = "window"
    TOTAL = "total"
