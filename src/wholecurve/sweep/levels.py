"""Which levels a sweep measures: the fewest that the rules ask for, or more, or those that were asked for. Pure.

Every number of the rules comes from the rules data: counts, bounds, regions, the cap.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal, get_args

from wholecurve.model.errors import InputError
from wholecurve.rules import Kind, Offline, Region, RuleSet, filled, must_notify, region_of, regions, unfilled
from wholecurve.sweep.knee import Known, Scale, knee_of, spread

OfflineChoice = Literal["dedicated", "elected", "both", "none"]

OFFLINE_LABEL: Final = "offline"
ELECT_HINT: Final = "the C_max point can be elected as the Offline result instead: --offline elected"


@dataclass(frozen=True, slots=True)
class Level:
    """One level of the plan.

    label: `r16`, or `offline` for the dedicated Offline run, whose concurrency is the number of rows. region: id of the
    region of the rules. offline: how it stands to the Offline result. accuracy: an accuracy run follows it. why: what
    it is there for, in a few words.
    """

    label: str
    concurrency: int
    region: str
    offline: str = Offline.NONE.value
    accuracy: bool = False
    why: str = ""

    @property
    def dedicated(self) -> bool:
        """Whether this is the dedicated Offline run, which is no level of the curve."""
        return self.offline == Offline.DEDICATED.value


@dataclass(frozen=True, slots=True)
class Levels:
    """The levels of a sweep by concurrency, a dedicated Offline run last; what must be said about them; the knee."""

    levels: tuple[Level, ...]
    c_min: int
    c_max: int
    notes: tuple[str, ...] = ()
    knee: int | None = None

    @property
    def curve(self) -> tuple[int, ...]:
        """Concurrencies of the levels of the curve."""
        return tuple(level.concurrency for level in self.levels if not level.dedicated)


def level_from_json(data: Mapping[str, Any]) -> Level:
    """A level as plan.yaml holds it. InputError for anything else."""
    wanted: dict[str, type] = {
        "label": str,
        "concurrency": int,
        "region": str,
        "offline": str,
        "accuracy": bool,
        "why": str,
    }
    for name, kind in wanted.items():
        if not isinstance(data.get(name), kind) or (kind is int and isinstance(data[name], bool)):
            raise InputError(f"wanted a level with {name} ({kind.__name__}), got {data.get(name)!r}")
    level = Level(**{name: data[name] for name in wanted})
    expected = OFFLINE_LABEL if level.dedicated else f"r{level.concurrency}"
    if level.concurrency < 1 or level.label != expected or level.offline not in {one.value for one in Offline}:
        raise InputError(
            f"wanted a level such as r16 at 16 or {OFFLINE_LABEL}, got {level.label!r} at {level.concurrency}"
        )
    return level


def fewest_levels(kind: Kind, offline: OfflineChoice, rules: RuleSet) -> int:
    """Fewest levels of a curve, a dedicated Offline run not counted. Rules 5.3."""
    dedicated = kind is Kind.SINGLE_TURN and offline in ("dedicated", "both")
    elected = kind is Kind.SINGLE_TURN and offline == "elected"
    how = Offline.DEDICATED if dedicated else Offline.ELECTED if elected else Offline.NONE
    makeup = sum(row.required for row in rules.regions.region.values()) + rules.points.choice_points
    return max(makeup, rules.points.fewest[how] - dedicated)


def choose_levels(
    c_min: int, c_max: int, rules: RuleSet, kind: Kind, *, rows: int, offline: OfflineChoice, count: int | None = None,
    known: Sequence[Known] = (), accuracy: bool = True,
) -> Levels:  # fmt: skip
    """`count` levels of a curve from C_min to C_max, by default the fewest of the rules, and Offline as asked.

    C_min and C_max are always among them (of one level: C_max), then one in Medium and one in Low, then the knee, then
    what fills the widest gaps. Gaps are measured in octaves; with `known` trials they are stretched around the knee,
    so that points cluster there. rows: of the data set, which is the concurrency of a dedicated Offline run.

    InputError where the rules allow no such curve, or `count` goes beyond their cap: none is dropped silently (C22).
    """
    _check_order(c_min, c_max)
    cut = regions(c_max, c_min, rules.regions)
    wanted = fewest_levels(kind, offline, rules) if count is None else count
    _check_cap(wanted, kind, offline, rules)
    knee = knee_of(known)
    scale = Scale(knee)
    why = _roles(c_min, c_max, cut, knee, scale, rules)
    chosen = dict(list(why.items())[:wanted])
    places = [*chosen] if len(chosen) > 1 else [c_min, c_max]
    for level in spread(places, wanted - len(chosen), scale):
        lower = max(one for one in places if one < level)
        upper = min(one for one in places if one > level)
        chosen[level] = f"between {lower} and {upper}" + (", denser around the knee" if knee is not None else "")
    notes = _count_notes(len(chosen), wanted, c_min, c_max, kind, offline, rules)
    return _levels(chosen, cut, rules, kind, rows=rows, offline=offline, accuracy=accuracy, notes=notes, knee=knee)


def take_levels(
    points: Iterable[int], rules: RuleSet, kind: Kind, *, rows: int, offline: OfflineChoice, c_min: int | None = None,
    c_max: int | None = None, known: Sequence[Known] = (), accuracy: bool = True,
) -> Levels:  # fmt: skip
    """The levels that were asked for. The lowest is C_min and the highest C_max; another declaration is refused.

    Too few points and regions without one become notes: a curve like that can be measured, but not submitted.
    InputError for duplicates, for more than the cap, and where regions cannot be computed at all.
    """
    levels = sorted(points)
    if not levels or len(set(levels)) != len(levels):
        raise InputError(f"wanted one level or more, each once, got {', '.join(map(str, levels)) or 'none'}")
    ends = (("lowest", "--c-min", c_min, levels[0]), ("highest", "--c-max", c_max, levels[-1]))
    for name, flag, declared, found in ends:
        if declared is not None and declared != found:
            raise InputError(
                f"the {name} level of --points is {found}, but {declared} was declared with {flag}",
                hint=f"leave {flag} out, or make it one of the points",
            )
    _check_order(levels[0], levels[-1])
    cut = regions(levels[-1], levels[0], rules.regions)
    _check_cap(len(levels), kind, offline, rules)
    notes = _count_notes(len(levels), len(levels), levels[0], levels[-1], kind, offline, rules)
    why = dict.fromkeys(levels, "asked for")
    return _levels(
        why, cut, rules, kind, rows=rows, offline=offline, accuracy=accuracy, notes=notes, knee=knee_of(known)
    )


def _check_order(c_min: int, c_max: int) -> None:
    if c_max < c_min:
        raise InputError(
            f"wanted a highest concurrency above the lowest, got C_max {c_max} below C_min {c_min}",
            hint="exchange them, or leave one out",
        )


def _check_cap(count: int, kind: Kind, offline: OfflineChoice, rules: RuleSet) -> None:
    if offline not in get_args(OfflineChoice):
        raise InputError(f"wanted {', '.join(get_args(OfflineChoice))} for Offline, got {offline!r}")
    most = rules.points.cap - (kind is Kind.SINGLE_TURN and offline in ("dedicated", "both"))
    if not 1 <= count <= most:
        beside = " beside the dedicated Offline run" if most < rules.points.cap else ""
        raise InputError(
            f"wanted 1 to {most} levels{beside}, got {count}", hint=f"the rules end at {rules.points.cap} points"
        )


def _roles(
    c_min: int, c_max: int, cut: Sequence[Region], knee: int | None, scale: Scale, rules: RuleSet
) -> dict[int, str]:
    """The levels with a duty, most important first: C_max, C_min, Medium, Low, the knee."""
    found = {c_max: "C_max, the highest supported concurrency", c_min: "C_min, the lowest level"}
    by_id = {region.id: region for region in cut}
    for name in (rules.regions.medium, rules.regions.low):
        region, title = by_id[name], rules.regions.region[name].title
        if any(name in filled(level, cut, rules.regions) for level in found):
            continue  # an empty region, which the level at its border fills (C6)
        at_knee = knee is not None and knee in region
        level = region.last if region.empty else knee if at_knee and knee else scale.middle(region.first, region.last)
        found[level] = f"one in {title} is asked for" + (", here the knee" if at_knee else "")
    if knee is not None and c_min < knee < c_max:
        found.setdefault(knee, "the sharpest bend: from here on throughput grows slower than load")
    return found


def _levels(
    why: Mapping[int, str], cut: Sequence[Region], rules: RuleSet, kind: Kind, *, rows: int, offline: OfflineChoice,
    accuracy: bool, notes: tuple[str, ...], knee: int | None,
) -> Levels:  # fmt: skip
    """Regions, Offline and accuracy put to the levels; `why` by concurrency."""
    order = sorted(why)
    c_max = order[-1]
    single = kind is Kind.SINGLE_TURN
    elect, dedicate = single and offline in ("elected", "both"), single and offline in ("dedicated", "both")
    scored = _scored(order, cut, rules) if accuracy else frozenset()
    found = []
    for level in order:
        region = region_of(level, cut, rules.regions).region
        assert region is not None, "levels lie between C_min and C_max"
        elected = elect and level == c_max
        words = why[level] + (", elected as the Offline result" if elected else "")
        how = Offline.ELECTED if elected else Offline.NONE
        found.append(Level(f"r{level}", level, region.id, how.value, level in scored, words))
    if dedicate:
        words = f"all {rows} rows at once: the ceiling of throughput"
        found.append(Level(OFFLINE_LABEL, rows, rules.offline.region_label, Offline.DEDICATED.value, accuracy, words))
    every = (*notes, *_rule_notes(order, cut, rules, kind, offline, rows))
    return Levels(tuple(found), cut[0].last, c_max, every, knee)


def _scored(order: Sequence[int], cut: Sequence[Region], rules: RuleSet) -> frozenset[int]:
    """Levels with an accuracy run: of each region that needs a point, the highest load in it; in Ultra Low C_min.

    High load is where accuracy may suffer, so the choice does not flatter. An elected C_max serves High and Offline
    (rules 5.3, choice C7).
    """
    found = set()
    for row in rules.regions.region.values():
        inside = [level for level in order if row.id in filled(level, cut, rules.regions)]
        if row.required and inside:
            found.add(inside[0] if row.id == rules.regions.ultra_low else inside[-1])
    return frozenset(found)


def _count_notes(
    count: int, wanted: int, c_min: int, c_max: int, kind: Kind, offline: OfflineChoice, rules: RuleSet
) -> tuple[str, ...]:
    fewest = fewest_levels(kind, offline, rules)
    if count < wanted:
        return (
            f"{c_min} to {c_max} holds {count} levels only, of {wanted} wanted: "
            "declare a higher C_max or measure a lower C_min",
        )
    if count < fewest:
        return (f"the rules ask for {fewest} levels at least, these are {count}: a submission needs more",)
    return ()


def _rule_notes(
    order: Sequence[int], cut: Sequence[Region], rules: RuleSet, kind: Kind, offline: OfflineChoice, rows: int
) -> list[str]:
    c_max = order[-1]
    notes = []
    for name in unfilled(order, cut, rules.regions):
        region = next(one for one in cut if one.id == name)
        title = rules.regions.region[name].title
        notes.append(f"no level in {title} ({region}): a submission needs one there")
    if must_notify(c_max, rules.regions):
        notes.append(
            f"C_max {c_max} is at most {rules.regions.notify_up_to_c_max}: the rules ask that it is announced to the "
            "working group in writing"
        )
    if kind is Kind.AGENTIC:
        if offline != "none":
            notes.append("agentic curves have no Offline result: none is measured")
        return notes
    if offline == "none":
        notes.append("no Offline result is measured: a submission needs one")
    if offline == "both":
        notes.append("Offline is measured and elected: a submission declares one of the two")
    if offline in ("dedicated", "both") and rows < c_max:
        notes.append(
            f"the dedicated Offline run holds {rows} requests, fewer than C_max {c_max}: it will be flagged "
            f"({rules.offline.concurrency_choice}); {ELECT_HINT}"
        )
    return notes
