"""Several runs of one level: the value stays that of the first, the others say how far runs lie apart."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from wholecurve.model.point import Figure, Point


def with_repeats(point: Point, repeats: Sequence[Point]) -> Point:
    """The first run's point with `runs` and `spread` of every figure from all runs that measured it.

    spread: (largest - smallest) / value of the first run. An interval of the first run is widened until it holds every
    run's value: what runs differ by is part of what is not known. Without repeats the point stays as it is.
    """
    if not repeats:
        return point
    figures = {key: _over(figure, _values(key, repeats)) for key, figure in point.figures.items()}
    return replace(point, figures=figures)


def _values(key: str, repeats: Sequence[Point]) -> list[float]:
    return [value for value in (one.figure(key).value for one in repeats) if value is not None]


def _over(figure: Figure, others: Sequence[float]) -> Figure:
    if figure.value is None or not others:
        return figure
    smallest, largest = min(figure.value, *others), max(figure.value, *others)
    return replace(
        figure,
        runs=1 + len(others),
        spread=(largest - smallest) / figure.value if figure.value else None,
        low=None if figure.low is None else min(figure.low, smallest),
        high=None if figure.high is None else max(figure.high, largest),
    )


def label_of_repeat(name: str) -> tuple[str, int] | None:
    """`r16-2` is the second run of `r16`; None for a name that is no repeat."""
    label, _, number = name.rpartition("-")
    return (label, int(number)) if label and number.isascii() and number.isdecimal() and len(number) < 6 else None


def by_label(names: Mapping[str, Point]) -> dict[str, list[Point]]:
    """Points of repeats by folder name, gathered by their level in order of their number."""
    found: dict[str, list[tuple[int, Point]]] = {}
    for name, point in names.items():
        parsed = label_of_repeat(name)
        if parsed is not None:
            found.setdefault(parsed[0], []).append((parsed[1], point))
    return {label: [point for _, point in sorted(rows, key=lambda row: row[0])] for label, rows in found.items()}
