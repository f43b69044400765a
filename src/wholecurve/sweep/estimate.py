"""How long a sweep takes, told before it starts. Pure. Two ends are given, and what is not known is said.

A point is: warm-up, one leading pass that no window may hold, then a window of the region's minimum duration and of
the fewest passes, rounded up to whole passes, and the drain. The low end takes the fewest of it; the high end takes
the slower request rate and the longest extension. Rates come from trials at other levels; between two of them the
nearer ones on both sides are the two ends. Only this estimate interpolates, no figure does.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from wholecurve.model.units import NS_PER_S, show_duration
from wholecurve.rules import Kind, RuleSet, regions, shortest_s
from wholecurve.sweep.levels import Level, Levels
from wholecurve.sweep.search import Trial

EVEN: Final = 1.1
"""Two ends that are within this factor of each other are told as one time."""


@dataclass(frozen=True, slots=True)
class Work:
    """What every point has to do. rows: of the data set. warmup, accuracy: requests, 0 for none.

    window_passes, lead_passes: of a steady window, and before it. start_s: from one point's command to its first
    request and from its last answer to its files.
    """

    rows: int
    window_passes: int
    lead_passes: int
    warmup: int = 0
    accuracy: int = 0
    idle_gap_s: float = 0
    max_extra_s: float | None = None
    repeats: int = 1
    start_s: float = 3


@dataclass(frozen=True, slots=True)
class Span:
    """Seconds from low to high. high None: not known, since no request rate is."""

    low_s: float
    high_s: float | None

    def __add__(self, other: Span) -> Span:
        high = None if self.high_s is None or other.high_s is None else self.high_s + other.high_s
        return Span(self.low_s + other.low_s, high)

    def times(self, factor: int) -> Span:
        """The same, several times over."""
        return Span(self.low_s * factor, None if self.high_s is None else self.high_s * factor)

    def words(self) -> str:
        """For people: `1.5 h to 2.25 h`, `about 40 min`, `at least 1.5 h`."""
        low = show_duration(self.low_s * NS_PER_S)
        if self.high_s is None:
            return f"at least {low}"
        if self.high_s <= self.low_s * EVEN:
            return f"about {show_duration((self.low_s + self.high_s) / 2 * NS_PER_S)}"
        return f"{low} to {show_duration(self.high_s * NS_PER_S)}"


NOTHING: Final = Span(0.0, 0.0)


@dataclass(frozen=True, slots=True)
class Estimate:
    """Of a whole sweep. `levels`: of one run at each level by label, idle gap left out. `words`: a sentence or two."""

    levels: Mapping[str, Span]
    whole: Span
    words: str

    def to_json(self) -> dict[str, Any]:
        """As plan.yaml holds it."""
        levels = {label: [_short(span.low_s), _short(span.high_s)] for label, span in self.levels.items()}
        return {"low": _short(self.whole.low_s), "high": _short(self.whole.high_s), "levels": levels}


def estimate(levels: Levels, rules: RuleSet, kind: Kind, work: Work, trials: Sequence[Trial] = ()) -> Estimate:
    """The time of all levels, with repeats, accuracy runs and idle gaps; a search for C_max is not in it."""
    cut = regions(levels.c_max, levels.c_min, rules.regions)
    spans: dict[str, Span] = {}
    whole, extra_s = NOTHING, 0.0
    for level in levels.levels:
        rate = rates_at(level.concurrency, trials)
        if level.dedicated:
            least_s, passes, lead = rules.durations.offline_s, rules.queries.least_passes, 0
        else:
            least_s = shortest_s(level.concurrency, cut, kind, rules)
            passes, lead = work.window_passes, work.lead_passes
        one = _point(level, least_s, passes, lead, work, rate)
        extra_s += (
            0.0 if level.dedicated else work.repeats * (least_s if work.max_extra_s is None else work.max_extra_s)
        )
        scored = _requests(work.accuracy, rate) if level.accuracy else NOTHING
        spans[level.label] = one + scored
        whole = whole + one.times(work.repeats) + scored
    gaps = max(0, len(levels.levels) * work.repeats - 1) * work.idle_gap_s
    whole = whole + Span(gaps, gaps)
    return Estimate(spans, whole, _words(whole, work, extra_s))


def rates_at(concurrency: int, trials: Sequence[Trial]) -> tuple[float, float] | None:
    """(lowest, highest) requests/s to expect at a level; None if no trial gave a rate.

    Between two levels: theirs. Beyond the outermost one: from its own rate to one in proportion to the load.
    """
    known = sorted((one.concurrency, one.requests_per_s) for one in trials if one.requests_per_s and not one.invalid)
    if not known:
        return None
    below = [one for one in known if one[0] <= concurrency][-1:]
    above = [one for one in known if one[0] >= concurrency][:1]
    ends = [*below, *above]
    found = [rate for _level, rate in ends]
    if not (below and above):
        level, rate = ends[0]
        found.append(rate * concurrency / level)
    return min(found), max(found)


def _point(level: Level, least_s: float, passes: int, lead: int, work: Work, rate: tuple[float, float] | None) -> Span:
    """One run without its accuracy phase."""
    fixed = Span(work.start_s, work.start_s) + _requests(work.warmup, rate)
    if rate is None:
        return fixed + Span(least_s, None)
    slow_pass, fast_pass = (work.rows / one for one in rate)
    extra = 0.0 if level.dedicated else least_s if work.max_extra_s is None else work.max_extra_s
    low = (lead + max(passes, math.ceil(least_s / fast_pass))) * fast_pass
    high = (lead + max(passes, math.ceil(least_s / slow_pass))) * slow_pass + extra
    drain = 0 if level.dedicated else level.concurrency  # of a dedicated Offline run all is drain, and counted already
    return fixed + Span(min(low, high), max(low, high)) + Span(drain / rate[1], drain / rate[0])


def _requests(count: int, rate: tuple[float, float] | None) -> Span:
    """The time of so many requests."""
    if not count:
        return NOTHING
    return Span(0.0, None) if rate is None else Span(count / rate[1], count / rate[0])


def _words(whole: Span, work: Work, extra_s: float) -> str:
    """extra_s: of all extensions together; where the high end is known, they are in it."""
    text = whole.words()
    if whole.high_s is None:
        if extra_s:
            text += f", and up to {show_duration(extra_s * NS_PER_S)} more where points are extended"
        return (
            f"{text}; how long {work.rows:,} requests take is not known yet, and every point sends them several times"
        )
    if work.repeats > 1:
        text += f", with every level measured {work.repeats} times"
    return text


def _short(seconds: float | None) -> float | None:
    return None if seconds is None else round(seconds, 1)
