"""The table of all points: one list of columns for the page, the text file and the terminal."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from wholecurve.model.point import Figure
from wholecurve.report.campaign_accuracy import worst
from wholecurve.report.campaign_points import STEADY, PointView
from wholecurve.report.campaign_view import CampaignView
from wholecurve.report.reading import NOT_MEASURED, duration, rate

NONE: Final = "–"


@dataclass(frozen=True, slots=True)
class Head:
    """A column. short: its name where room is scarce. number: right-aligned."""

    key: str
    title: str
    short: str
    number: bool
    cell: Callable[[PointView], str]


@dataclass(frozen=True, slots=True)
class TableRow:
    """A point with its cells in the order of HEADS; `reason` says why it is not on the curve."""

    point: PointView
    cells: tuple[str, ...]
    reason: str

    def cell(self, head: Head) -> str:
        """The text under this head."""
        return self.cells[HEADS.index(head)]


def _figure(shown: Callable[[float], str]) -> Callable[[Figure], str]:
    return lambda figure: NONE if figure.value is None else shown(figure.value)


def bare(value: float) -> str:
    """A rate without its unit, which stands in the head of the column."""
    return rate(value, "").strip()


_time, _rate = _figure(duration), _figure(bare)


def _name(one: PointView) -> str:
    return one.name + (", Offline too" if one.elected else "")


def _of(text: str) -> str:
    return NONE if text in ("", NOT_MEASURED) else text


def _steady(one: PointView) -> str:
    """The verdict; a steady window too short to carry the figures is not simply `steady`."""
    return f"{one.steady}, short" if one.steady == STEADY and one.fell_back else one.steady


HEADS: Final[tuple[Head, ...]] = (
    Head("concurrency", "concurrency", "level", True, _name),
    Head("region", "region", "region", False, lambda one: one.region or NONE),
    Head("ttft", "TTFT P90", "TTFT P90", True, lambda one: _time(one.ttft)),
    Head("speed", "tokens/s/user", "tok/s/user", True, lambda one: _rate(one.speed)),
    Head("system", "tokens/s", "tokens/s", True, lambda one: _rate(one.system)),
    Head("interval", "95 % interval", "interval", True, lambda one: one.interval or NONE),
    Head("per_kw", "tokens/s/kW", "/kW", True, lambda one: _rate(one.per_kw)),
    Head("requests", "requests", "requests", True, lambda one: _of(one.requests)),
    Head("failed", "failed", "failed", True, lambda one: _of(one.failed)),
    Head("health", "client", "client", False, lambda one: _of(one.health)),
    Head("steady", "steady state", "steady", False, _steady),
    Head("basis", "basis", "basis", False, lambda one: one.basis),
    Head("accuracy", "accuracy", "accuracy", False, lambda one: worst(one.scores) or NONE),
    Head("spread", "spread of repeats", "spread", True, lambda one: one.spread or NONE),
    Head("taken", "measured for", "took", True, lambda one: _of(one.taken)),
    Head("extension", "extended by", "extended", True, lambda one: one.extension or NONE),
    Head("attempts", "attempts", "tries", True, lambda one: _of(one.attempts)),
)
"""Every column, in the order shown."""


def heads_with_values(rows: Sequence[TableRow]) -> tuple[Head, ...]:
    """The columns in which some point has a value, in order; of no points all."""
    return tuple(head for place, head in enumerate(HEADS) if not rows or any(row.cells[place] != NONE for row in rows))


def table_rows(view: CampaignView) -> Iterator[TableRow]:
    """One row for each point, those that count for nothing too."""
    for one in view.points:
        yield TableRow(one, tuple(head.cell(one) for head in HEADS), one.barred)
