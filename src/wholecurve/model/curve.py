"""The points of one system, one benchmark, one submission, in order of concurrency; each level once (S1)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, fields
from typing import Final

from wholecurve.model.errors import InputError
from wholecurve.model.point import INTERACTIVITY_KEYS, Identity, Point, PointKind
from wholecurve.model.record import RunState

DUPLICATE_RULE: Final = (
    "Of several points at one level the complete run stays, of several complete runs the one with the lower "
    "throughput; the others are set aside and listed."
)


@dataclass(frozen=True, slots=True)
class SetAside:
    """A point that is kept as evidence but is no level of the curve, and why."""

    point: Point
    reason: str


@dataclass(frozen=True, slots=True)
class Curve:
    """Points sorted by concurrency, Offline last. Use `curve_of` to sort and to settle duplicates.

    interactivity_key: the speed of one user on this benchmark, from the rules data (S18). c_max_declared: the highest
    supported concurrency as declared. A curve may be empty. InputError when points differ in identity, a level occurs
    twice, or the order is another.
    """

    identity: Identity
    interactivity_key: str
    points: tuple[Point, ...]
    c_max_declared: int | None = None
    set_aside: tuple[SetAside, ...] = ()

    def __post_init__(self) -> None:
        if self.interactivity_key not in INTERACTIVITY_KEYS:
            wanted = ", ".join(INTERACTIVITY_KEYS)
            raise InputError(f"wanted one of {wanted} as interactivity, got {self.interactivity_key!r}")
        if self.c_max_declared is not None and self.c_max_declared < 1:
            raise InputError(f"wanted a highest concurrency of 1 or more, got {self.c_max_declared}", where=self.id)
        for point in (*self.points, *(one.point for one in self.set_aside)):
            _check_identity(self.identity, point)
        levels = [_level(point) for point in self.points]
        if levels != sorted(levels):
            raise InputError("wanted points in order of concurrency, Offline last", where=self.id)
        for before, after in zip(self.points, self.points[1:], strict=False):
            if _slot(before) == _slot(after):
                raise _duplicate(before, after)

    @property
    def id(self) -> str:
        """Submission, system and benchmark in one text."""
        return f"{self.identity.submission}/{self.identity.system}/{self.identity.benchmark}"


def curve_of(
    identity: Identity,
    interactivity_key: str,
    points: Iterable[Point],
    *,
    c_max_declared: int | None = None,
    mark_duplicates: bool = False,
) -> Curve:
    """The curve of these points in any order. Two points at one level are refused, or settled by DUPLICATE_RULE.

    There is at most one dedicated Offline point, whatever its concurrency. InputError as `Curve`.
    """
    kept: list[Point] = []
    aside: list[SetAside] = []
    for point in sorted(points, key=_preference):
        if not kept or _slot(kept[-1]) != _slot(point):
            kept.append(point)
        elif mark_duplicates:
            aside.append(SetAside(point, f"{_name(point)} was measured again in {kept[-1].provenance.source}"))
        else:
            raise _duplicate(kept[-1], point)
    kept.sort(key=_level)
    return Curve(identity, interactivity_key, tuple(kept), c_max_declared, tuple(aside))


def _level(point: Point) -> tuple[bool, int]:
    return point.kind is PointKind.OFFLINE, point.concurrency


def _slot(point: Point) -> tuple[bool, int]:
    """What may be taken once: each concurrency, and Offline."""
    return (True, 0) if point.kind is PointKind.OFFLINE else (False, point.concurrency)


def _preference(point: Point) -> tuple[tuple[bool, int], bool, bool, float, str]:
    throughput = point.figure("system_tps").value
    incomplete = point.provenance.run_state is not RunState.COMPLETE
    return (_slot(point), incomplete, throughput is None, throughput or 0.0, point.provenance.source)


def _name(point: Point) -> str:
    return "Offline" if point.kind is PointKind.OFFLINE else f"concurrency {point.concurrency}"


def _duplicate(one: Point, other: Point) -> InputError:
    return InputError(
        f"{_name(one)} is there twice",
        where=f"{one.provenance.source} and {other.provenance.source}",
        hint="leave one out, or ask for duplicates to be marked: " + DUPLICATE_RULE,
    )


def _check_identity(identity: Identity, point: Point) -> None:
    if point.identity == identity:
        return
    differing = [
        f"{one.name} is {getattr(point.identity, one.name)}, not {getattr(identity, one.name)}"
        for one in fields(identity)
        if getattr(point.identity, one.name) != getattr(identity, one.name)
    ]
    raise InputError(
        "wanted the points of one system, benchmark and submission: " + "; ".join(differing),
        where=point.provenance.source,
        hint="make one curve of each",
    )
