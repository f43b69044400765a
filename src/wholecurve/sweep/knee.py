"""The knee of a measured throughput curve, and a scale on which points lie denser around it. Pure.

The knee is where more load begins to buy little throughput: of the measured levels, the one that lies furthest above
the straight line from the lowest to the highest of them, with both axes logarithmic. Source: the largest distance
from the chord, as Satopaa, Albrecht, Irwin and Raghavan use it in "Finding a 'Kneedle' in a Haystack" (2011), there on
axes scaled to 0..1; logarithms are used here because levels are doubled, and because on them proportional growth is
the straight line that every curve begins with. It only places points: no figure is computed from it.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

Known = tuple[int, float | None, float | None]
"""(concurrency, system tokens/s, tokens/s per user) of a short trial; None for what it did not measure."""

LEAST_RISE: Final = math.log2(1.05)
"""A curve that nowhere lies 5 % above its chord has no knee."""

DENSITY: Final = 3.0
"""At the knee there are this many more points per octave than far from it."""

WIDTH_OCTAVES: Final = 1.0
"""Standard deviation of the bump of density around the knee."""


def knee_of(known: Iterable[Known]) -> int | None:
    """The level at the knee; None with fewer than three measured levels, or where the curve has no bend."""
    best = {level: tps for level, tps, _user in known if tps is not None and tps > 0}
    levels = sorted(best)
    if len(levels) < 3:
        return None
    x = [math.log2(level) for level in levels]
    y = [math.log2(best[level]) for level in levels]
    slope = (y[-1] - y[0]) / (x[-1] - x[0])
    heights = [y[n] - y[0] - slope * (x[n] - x[0]) for n in range(len(levels))]
    place = max(range(len(levels)), key=lambda n: heights[n])
    return levels[place] if heights[place] >= LEAST_RISE else None


@dataclass(frozen=True, slots=True)
class Scale:
    """Where a level lies when even steps are wanted: octaves, stretched around the knee. Without one: plain octaves."""

    knee: int | None = None

    def __call__(self, level: float) -> float:
        """Integral over octaves of 1 + DENSITY · exp(-(x - knee)² / (2 WIDTH²)); rises with the level."""
        x = math.log2(level)
        if self.knee is None:
            return x
        apart = (x - math.log2(self.knee)) / (WIDTH_OCTAVES * math.sqrt(2))
        return x + DENSITY * WIDTH_OCTAVES * math.sqrt(math.pi / 2) * math.erf(apart)

    def nearest(self, place: float, low: int, high: int) -> int:
        """The whole level of low..high that lies nearest to a place; the lower one of two equally near."""
        while low < high:
            middle = (low + high) // 2
            if self(middle) + self(middle + 1) >= 2 * place:
                high = middle
            else:
                low = middle + 1
        return low

    def middle(self, low: int, high: int) -> int:
        """The level half-way between two, both allowed."""
        return self.nearest((self(low) + self(high)) / 2, low, high)

    def between(self, low: int, high: int, wanted: int) -> list[int]:
        """`wanted` different levels strictly between two, as evenly as whole numbers let; fewer if there are fewer."""
        wanted = min(wanted, high - low - 1)
        found: list[int] = []
        for n in range(1, wanted + 1):
            place = self(low) + (self(high) - self(low)) * n / (wanted + 1)
            after = found[-1] if found else low
            found.append(self.nearest(place, after + 1, high - 1 - (wanted - n)))
        return found


def spread(fixed: Sequence[int], more: int, scale: Scale) -> list[int]:
    """`more` further levels in the gaps of `fixed`, each to the gap whose steps are then largest; sorted.

    Fewer where the gaps hold fewer whole numbers.
    """
    gaps = [(low, high) for low, high in zip(sorted(fixed), sorted(fixed)[1:], strict=False)]
    given = [0] * len(gaps)
    for _ in range(more):
        open_gaps = [n for n, (low, high) in enumerate(gaps) if given[n] < high - low - 1]
        if not open_gaps:
            break
        step = {n: (scale(gaps[n][1]) - scale(gaps[n][0])) / (given[n] + 1) for n in open_gaps}
        given[max(open_gaps, key=lambda n: step[n])] += 1
    return sorted(
        level for (low, high), count in zip(gaps, given, strict=True) for level in scale.between(low, high, count)
    )
