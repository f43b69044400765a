"""Measured points on a figure: filled or hollow, with intervals as whiskers and labels that do not lie on each other.

Labels are placed greedily, the points that begin and end the series first. A label that finds no free place is left
out of the drawing; it is still in the point's own title, which a pointer and a screen reader find.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from wholecurve.chart.scale import Scale
from wholecurve.chart.step import Point

RADIUS: Final[float] = 3.6
LABEL_CHAR, LABEL_HEIGHT, LABEL_GAP = 6.2, 11.0, 4.0
"""Width of a character and height of a line of 11 px text, and how far two labels stay apart."""

_PLACES: Final[tuple[tuple[float, float, str], ...]] = (
    (6, -5, "start"), (-6, -5, "end"), (6, 13, "start"), (-6, 13, "end"), (0, -8, "middle"), (0, 17, "middle"),
    (8, 4, "start"), (-8, 4, "end"), (10, -16, "start"), (-10, -16, "end"), (10, 24, "start"), (-10, 24, "end"),
)  # fmt: skip
"""Where a label may stand beside its point, the best first: offset of its baseline, and which part of it is there."""


@dataclass(frozen=True, slots=True)
class Spot:
    """A measured point. label: beside it. says: the whole point in words. hollow: kept as evidence, counts for nothing.

    x_ends, y_ends: interval of each value, (low, high), drawn as whiskers.
    """

    x: float
    y: float
    label: str = ""
    says: str = ""
    hollow: bool = False
    x_ends: tuple[float, float] | None = None
    y_ends: tuple[float, float] | None = None


@dataclass(frozen=True, slots=True)
class Spots:
    """Points of one kind, in the order of their importance for labels after the first and the last one."""

    spots: Sequence[Spot]
    label: str = ""
    tone: int = 0


@dataclass(frozen=True, slots=True)
class Box:
    """A rectangle on the figure."""

    left: float
    top: float
    right: float
    bottom: float

    def meets(self, other: Box) -> bool:
        """Whether both share more than a border."""
        apart = self.right <= other.left or other.right <= self.left
        return not (apart or self.bottom <= other.top or other.bottom <= self.top)


@dataclass(frozen=True, slots=True)
class Label:
    """A label with its place: the point of its baseline that `anchor` names."""

    text: str
    x: float
    y: float
    anchor: str


def spot_xs(spots: Sequence[Spot]) -> Iterator[float]:
    for one in spots:
        yield one.x
        yield from one.x_ends or ()


def spot_ys(spots: Sequence[Spot]) -> Iterator[float]:
    for one in spots:
        yield one.y
        yield from one.y_ends or ()


def whiskers(one: Spot, x: Scale, y: Scale) -> Iterator[tuple[Point, Point]]:
    """The strokes of both intervals with their end caps, on the figure."""
    across, up = x(one.x), y(one.y)
    if one.y_ends is not None:
        low, high = (y(end) for end in one.y_ends)
        yield (across, low), (across, high)
        yield from (((across - 3, end), (across + 3, end)) for end in (low, high))
    if one.x_ends is not None:
        low, high = (x(end) for end in one.x_ends)
        yield (low, up), (high, up)
        yield from (((end, up - 3), (end, up + 3)) for end in (low, high))


def place_labels(
    spots: Sequence[Spot],
    x: Scale,
    y: Scale,
    *,
    room: Box,
    taken: Sequence[Box] = (),
    strokes: Sequence[tuple[Point, Point]] = (),
) -> list[Label]:
    """Labels inside `room`, off each other, off all points and off `taken`; of the places left, the one that fewest
    of the horizontal and vertical `strokes` run through."""
    blocked = [*taken, *(around(x(one.x), y(one.y)) for one in spots)]
    found: list[Label] = []
    ends = [spots[place] for place in sorted({0, len(spots) - 1})] if spots else []
    for one in (*ends, *spots[1:-1]):
        if not one.label:
            continue
        best: tuple[int, Label, Box] | None = None
        for right, down, anchor in _PLACES:
            label = Label(one.label, x(one.x) + right, y(one.y) + down, anchor)
            box = _box(label)
            if _outside(box, room) or any(box.meets(other) for other in blocked):
                continue
            crossed = sum(box.meets(stroke_box(*stroke)) for stroke in strokes)
            if best is None or crossed < best[0]:
                best = (crossed, label, box)
        if best is not None:
            found.append(best[1])
            blocked.append(Box(best[2].left - LABEL_GAP, best[2].top, best[2].right + LABEL_GAP, best[2].bottom))
    return found


def around(across: float, up: float) -> Box:
    """What a point covers."""
    return Box(across - RADIUS, up - RADIUS, across + RADIUS, up + RADIUS)


def _box(label: Label) -> Box:
    width = LABEL_CHAR * len(label.text)
    left = label.x - {"start": 0.0, "middle": width / 2, "end": width}[label.anchor]
    return Box(left, label.y - LABEL_HEIGHT + 2, left + width, label.y + 2)


def stroke_box(one: Point, other: Point) -> Box:
    """What a horizontal or vertical stroke covers."""
    (ax, ay), (bx, by) = one, other
    return Box(min(ax, bx) - 0.5, min(ay, by) - 0.5, max(ax, bx) + 0.5, max(ay, by) + 0.5)


def _outside(box: Box, room: Box) -> bool:
    return box.left < room.left or box.right > room.right or box.top < room.top or box.bottom > room.bottom
