"""What a sweep asks of whoever measures, and what it gets back. The sweep itself knows no network and no clock."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, Protocol

from wholecurve.model.record import RunState
from wholecurve.sweep.levels import Level
from wholecurve.sweep.order import Slot

Live = Callable[[Any], None]
"""Called while a run goes on, with whatever its progress display is made of."""

RESULT_FILE: Final = "performance/result_summary.json"
"""A run folder without it holds no result."""


@dataclass(frozen=True, slots=True)
class Facts:
    """What the endpoint said of itself. models: as it lists them; None where it has no list. server: name and version,
    None where it does not tell. Only what stays the same between two questions to the same server belongs here."""

    models: tuple[str, ...] | None
    server: str | None = None


@dataclass(frozen=True, slots=True)
class PointOrder:
    """One run that is to be made. attempt: from 1; with label and repeat it makes the salt another one every time."""

    level: Level
    repeat: int
    attempt: int
    salt_word: str

    @property
    def slot(self) -> Slot:
        return Slot(self.level.label, self.repeat)

    @property
    def label(self) -> str:
        return self.level.label

    @property
    def accuracy(self) -> bool:
        """Whether the accuracy run follows at once: after the first of repeats, once per region (rules 5.3)."""
        return self.level.accuracy and self.repeat == 1


@dataclass(frozen=True, slots=True)
class PointOutcome:
    """What a run came to. invalid: why it is no valid result. figures, steady: as the journal holds them.

    endpoint_lost: it is not valid because the endpoint went away under it. facts: what has to be the same at every
    point (tool version, request options, ...), as texts; differences are told. stop: why no other run would fare
    better (the disk is full), "" if that is not so.
    """

    state: RunState
    valid: bool
    invalid: tuple[str, ...] = ()
    figures: Mapping[str, float | None] = field(default_factory=dict)
    steady: Mapping[str, str | None] | None = None
    exit_code: int = 0
    endpoint_lost: bool = False
    facts: Mapping[str, str] = field(default_factory=dict)
    stop: str = ""


class Bench(Protocol):
    """Measures points. `run_campaign` calls it from one thread, one call at a time."""

    def probe(self) -> Facts:
        """Ask the endpoint who it is. SetupError when it does not answer."""

    def measure(self, order: PointOrder, folder: Path, show: Live) -> PointOutcome:
        """Make the run folder, which does not exist yet. SetupError before any load; MeasureError and OSError when
        files cannot be written. A user's interrupt ends in an outcome that is interrupted."""


@dataclass(frozen=True, slots=True)
class SweepView:
    """The progress of a whole sweep, for a display. doing: a few words. current: the point being measured, or "".

    elapsed_s: of this session. left_low_s, left_high_s: of the estimate; high None where it is not known. points: what
    valid points measured so far, (concurrency, system tokens/s, tokens/s per user), for the curve. live: of the run
    that goes on, as the bench gave it.
    """

    total: int
    done: int
    current: str
    doing: str
    elapsed_s: float
    left_low_s: float
    left_high_s: float | None
    points: tuple[tuple[int, float | None, float | None], ...] = ()
    live: Any = None
