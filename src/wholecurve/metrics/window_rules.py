"""Words and thresholds of the steady state: what may be said of a run, and where each number comes from.

Sources: `TR` the technical rules of MLPerf Endpoints (reporting basis, section 4.4; duration, section 6.2), `detector`
the reference client's steady-state description, `wholecurve` our own choice where both are silent.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from types import MappingProxyType
from typing import Final

from wholecurve.model.plan import RulesPlan
from wholecurve.model.steadiness import Basis, SteadyVerdict
from wholecurve.model.units import NS_PER_S


class Movement(StrEnum):
    """Movement of one metric over super-passes (TR 4.4)."""

    PLATEAU = "Plateau"
    DRIFTING_UP = "Drifting Up"
    DRIFTING_DOWN = "Drifting Down"


class Flag(StrEnum):
    """What must be said beside official figures."""

    NONE = "none"
    ANOMALY = "anomaly"
    DRIFT = "drift"
    FALLBACK = "fallback"
    OUT_OF_SCOPE = "out of scope"


DECISIONS: Final[Mapping[SteadyVerdict, tuple[Basis, Flag]]] = MappingProxyType(
    {
        SteadyVerdict.STEADY: (Basis.WINDOW, Flag.NONE),
        SteadyVerdict.ANOMALY: (Basis.WINDOW, Flag.ANOMALY),
        SteadyVerdict.DRIFTING_UP: (Basis.WINDOW, Flag.DRIFT),
        SteadyVerdict.DRIFTING_DOWN: (Basis.WINDOW, Flag.DRIFT),
    }
)
"""Basis and flag of a windowable run (rules.md section 10.3, choice C2). Every other status: total, fallback."""


@dataclass(frozen=True, slots=True)
class Gate:
    """One series per super-pass. key: `<metric>_p<percentile>`. gates: False for those that only warn.

    cov_bounds: bounds of the coefficient of variation that are tried, tightest first; the last one decides.
    """

    key: str
    metric: str
    percentile: float
    gates: bool
    cov_bounds: tuple[float, ...] = ()


_BOUNDS: Final[tuple[float, ...]] = (0.03, 0.05, 0.08)

GATES: Final[tuple[Gate, ...]] = (
    Gate("tpot_p50", "tpot", 50.0, True, _BOUNDS),
    Gate("tpot_p90", "tpot", 90.0, True, _BOUNDS),
    Gate("ttft_p50", "ttft", 50.0, False),
    Gate("ttft_p90", "ttft", 90.0, False),
)
"""TPOT gates; TTFT only warns, because its tail moves with prompt lengths and queueing (choice C1, detector)."""


@dataclass(frozen=True, slots=True)
class WindowRules:
    """All parameters of the steady state. Meaning and source of each: `THRESHOLDS`."""

    min_super_passes: int = 4
    min_duration_ns: int = 1200 * NS_PER_S
    super_pass_size: int | None = None
    gates: tuple[Gate, ...] = GATES
    alpha: float = 0.05
    min_change: float = 0.05
    edge_level: float = 0.997
    lead_super_passes: int = 1
    ramp_band: float = 0.05
    max_ramp_share: float = 0.5
    tail_share: float = 0.5
    tail_spread: float = 0.1
    tail_skew: float = 0.05
    precision: float = 0.05
    relaxation: float = 5.0
    relaxation_percentile: float = 99.0
    min_block_requests: int = 10
    max_blocks: int = 128
    blocks_without_repetition: int = 16

    def __post_init__(self) -> None:
        """Refuse rules that nothing can satisfy (ValueError): the data are wrong, not the run."""
        if (
            self.min_super_passes < 2
            or self.lead_super_passes < 0
            or (self.super_pass_size is not None and self.super_pass_size < 1)
        ):
            raise ValueError("wanted at least 2 super-passes in a window, 0 before it, and 1 request in each")
        if not any(gate.gates for gate in self.gates):
            raise ValueError("wanted at least one series that gates")
        for gate in self.gates:
            if gate.gates and (not gate.cov_bounds or list(gate.cov_bounds) != sorted(gate.cov_bounds)):
                raise ValueError(f"wanted rising bounds of variation for {gate.key}, got {gate.cov_bounds}")

    @property
    def passes_needed(self) -> int:
        """Fewest super-passes of a run that can be windowable: the window's and those before it."""
        return self.min_super_passes + self.lead_super_passes


def window_rules(rules: RulesPlan | None) -> WindowRules:
    """The parameters that a plan's rules set, the rest as they are here. Raises ValueError for rules out of range."""
    if rules is None:
        return WindowRules()
    return WindowRules(
        min_super_passes=rules.min_super_passes,
        min_duration_ns=rules.min_window_ns,
        lead_super_passes=rules.lead_super_passes,
    )


@dataclass(frozen=True, slots=True)
class Threshold:
    """One row: a field of `WindowRules`, its unit, what it decides, and who says so."""

    field: str
    unit: str
    meaning: str
    source: str


# fmt: off
# ruff: noqa: E501 - a row is a line, so that the table can be read as one
THRESHOLDS: Final[tuple[Threshold, ...]] = (
    Threshold("min_super_passes", "super-passes", "shortest window, and fewest values of a trend test (MIN_TREND_N)", "TR 4.4"),
    Threshold("min_duration_ns", "ns", "shortest issue-time span of an official window: 600 s at concurrency 1 to 32, else 1,200 s", "TR 4.4, 6.2"),
    Threshold("super_pass_size", "requests", "size of a super-pass if the benchmark sets one; None is one pass of the data set", "TR 4.4"),
    Threshold("gates", "", "which series decide and which only warn, with their bounds of variation", "TR 4.4; detector; choice C1"),
    Threshold("alpha", "probability", "level of significance of trend, correlation and change-point tests", "detector"),
    Threshold("min_change", "share", "a significant trend or step counts from this change on, end to end", "detector; for the tail and steps wholecurve"),
    Threshold("edge_level", "probability", "a plateau ends at a block outside this prediction interval of the rest, and `min_change` away", "wholecurve"),
    Threshold("lead_super_passes", "super-passes", "always cropped: while they began the load had not reached its target", "TR 4.4; detector"),
    Threshold("ramp_band", "share", "further leading super-passes are cropped while TPOT P50 is this far from the median of the back half", "detector"),
    Threshold("max_ramp_share", "share", "no more of the run than this is cropped as ramp", "detector"),
    Threshold("tail_share", "share", "a last super-pass is drain if more of it than this was in flight when issuing ended", "wholecurve"),
    Threshold("tail_spread", "share", "drain is cut only if sigma / mu of TPOT is at most this", "detector; value wholecurve"),
    Threshold("tail_skew", "share", "drain is cut only if |mu - median| / mu of TPOT is at most this", "detector; value wholecurve"),
    Threshold("precision", "share", "half width of the 95 % interval of TPOT P50 that a noisy window must be long enough for", "detector"),
    Threshold("relaxation", "latencies", "a window should last this many latencies of `relaxation_percentile`", "detector"),
    Threshold("relaxation_percentile", "percentile", "which latency that is", "detector"),
    Threshold("min_block_requests", "requests", "smaller passes are joined until a block has this many, the fewest with a P90", "wholecurve"),
    Threshold("max_blocks", "blocks", "passes are joined so that a run has no more blocks than this", "wholecurve"),
    Threshold("blocks_without_repetition", "blocks", "a run of too few passes is cut into this many blocks instead; its window is never official", "wholecurve"),
)
# fmt: on
"""Every threshold with its source; the values are the defaults of `WindowRules`."""
