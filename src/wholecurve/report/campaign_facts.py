"""How a curve was measured: everything a second person needs to repeat it, in titled lists of pairs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from wholecurve.model.curve import Curve
from wholecurve.model.point import PointKind
from wholecurve.model.units import NS_PER_S
from wholecurve.report.campaign_journal import Turn, differences_of, same_everywhere, turns
from wholecurve.report.campaign_load import Salted, hold_said, salt_pairs, trial_pairs, warmup_pairs
from wholecurve.report.campaign_points import PointView
from wholecurve.report.reading import (
    NOT_MEASURED,
    at,
    clean,
    count,
    duration,
    flat,
    items,
    known,
    mapping,
    number,
    ratio,
    redacted,
    texts,
    unmeasured,
)  # fmt: skip
from wholecurve.report.view import Row as Pair

NONE: Final = "none"
SEARCH: Final = "Search for C_max"
RECOMPUTE: Final = "wholecurve report FOLDER --recompute"
HASH_SHOWN: Final[int] = 13
NAME_SHOWN: Final[int] = 160
MANY: Final[int] = 400
"""Most rows of a block; the files have all of it."""


@dataclass(frozen=True, slots=True)
class Block:
    """A titled list of facts."""

    title: str
    pairs: tuple[Pair, ...]


def subject_of(curve: Curve, plan: Mapping[str, Any]) -> tuple[Pair, ...]:
    """What stands under the title: who was measured, by which rules, with which work."""
    who = curve.identity
    found = (
        ("model", clean(who.model)),
        ("benchmark", clean(who.benchmark, 120) + (f", {clean(who.division, 60)}" if who.division else "")),
        ("rules", _rules(curve, plan)),
        ("endpoint", ", ".join(texts(plan, "endpoint", "urls")) or unmeasured("the plan does not name it")),
        ("system", _size(curve)),
        ("data set", "; ".join(_dataset(one) for one in items(plan, "datasets")) or _hash(who.data_set_hash)),
        ("tokenizer", _tokenizer(curve, plan)),
        ("campaign", known(at(plan, "name") or who.submission) + _begun(plan)),
    )
    return tuple(
        (label, value if len(value) <= NAME_SHOWN else f"{value[: NAME_SHOWN - 1]}…") for label, value in found
    )


def _rules(curve: Curve, plan: Mapping[str, Any]) -> str:
    rules = mapping(plan, "rules")
    if not rules:
        return known(curve.identity.rules_version, "the plan names no rules")
    mark = f", fingerprint {clean(rules['fingerprint'], HASH_SHOWN)}" if rules.get("fingerprint") else ""
    return f"{known(rules.get('version'))}, edition {known(rules.get('edition'))}{mark}"


def _size(curve: Curve) -> str:
    who = curve.identity
    counts = ((who.accelerators, "accelerator"), (who.nodes, "node"))
    parts = [f"{count(found)} {name}{'s' * (found > 1)}" for found, name in counts if found]
    parts += [clean(who.precision, 40)] if who.precision else []
    return ", ".join(parts) or "not described"


def _dataset(one: object) -> str:
    rows = f", {count(at(one, 'rows'))} rows" if number(at(one, "rows")) is not None else ""
    return f"{known(at(one, 'name'))}{rows}"


def _tokenizer(curve: Curve, plan: Mapping[str, Any]) -> str:
    named, own = at(plan, "tokenizer", "name"), curve.identity.tokenizer_hash
    return clean(named) if named else _hash(own) if own else "none: tokens are the endpoint's own count"


def _hash(value: str | None) -> str:
    return f"sha256 {clean(value, HASH_SHOWN)}" if value else known(None)


def _begun(plan: Mapping[str, Any]) -> str:
    return f", begun {clean(plan['created'], 40)}" if plan.get("created") else ""


def blocks_of(
    curve: Curve,
    plan: Mapping[str, Any],
    entries: Sequence[Mapping[str, Any]],
    points: Sequence[PointView],
    summaries: Mapping[str, Mapping[str, Any]],
    power: Mapping[str, Any] | None,
    system: Mapping[str, Any] | None,
    plans: Mapping[str, Mapping[str, Any]],
    salted: Salted,
) -> tuple[Block, ...]:
    """Every block that has something to say."""
    first = next((summaries[one.label] for one in points if one.label in summaries), {})
    found = (
        Block(SEARCH, tuple(trial_pairs(entries))),
        Block("Order of the points, as measured", tuple(_order(entries, points))),
        Block("How the load was made", (*_load(plan, plans), *salt_pairs(salted, plan, plans))),
        Block("Warm-up, as declared", tuple(warmup_pairs(points, summaries))),
        Block("The same at every point", tuple(_same(entries))),
        Block("Rules", tuple(_pairs(mapping(plan, "rules")))),
        Block("Endpoint", tuple(_pairs(mapping(plan, "endpoint")))),
        Block("Data sets and tokenizer", tuple(_work(curve, plan))),
        Block("Instrument", tuple(_instrument(first))),
        Block("Provisioned power", tuple(_power(curve, power))),
        Block("System under test, as described", tuple(_pairs(system or {}))),
        Block("Settings of the campaign", tuple(_pairs(mapping(plan, "settings")))),
    )
    return tuple(block for block in found if block.pairs)


def _order(entries: Sequence[Mapping[str, Any]], points: Sequence[PointView]) -> Iterator[Pair]:
    """Every measuring in its order. How long the one that a point is made of was extended stands in its run's files."""
    extended = {one.label: one.extension for one in points if one.extension}
    found = turns(entries)
    kept = {turn.label: place for place, turn in enumerate(found) if turn.repeat <= 1}
    for place, turn in enumerate(found):
        own = extended.get(turn.label, "") if kept.get(turn.label) == place else ""
        said = duration(turn.extended_ns) if turn.extended_ns else own
        yield f"{place + 1}. {turn.label or 'unnamed'}{_again(turn)}", _turn(turn, said)


def _again(turn: Turn) -> str:
    return (f", attempt {turn.attempt}" if turn.attempt > 1 else "") + (
        f", repeat {turn.repeat}" if turn.repeat > 1 else ""
    )


def _turn(turn: Turn, extended: str) -> str:
    parts = [f"started {turn.started or 'not known'}"]
    parts += [f"took {duration(turn.taken_ns)}"] if turn.taken_ns is not None else []
    parts += [f"extended by {extended}"] if extended else []
    parts += [f"{duration(turn.gap_ns)} after the one before"] if turn.gap_ns is not None else []
    return ", ".join([*parts, turn.state or "state not known"])


def _same(entries: Sequence[Mapping[str, Any]]) -> Iterator[Pair]:
    yield from same_everywhere(entries)
    yield from (("NOT the same", said) for said in differences_of(entries))


def _load(plan: Mapping[str, Any], plans: Mapping[str, Mapping[str, Any]]) -> Iterator[Pair]:
    idle, extra = number(at(plan, "idle_gap_s")), number(at(plan, "max_extra_s"))
    longest = hold_said(plans) or (NONE if extra is None else duration(extra * NS_PER_S))
    why = at(plan, "c_max_why")
    if texts(plan, "order"):
        yield "order of the points", ", ".join(texts(plan, "order"))
        yield "order drawn with seed", known(at(plan, "order_seed"))
        yield "idle time between points", NONE if idle is None else duration(idle * NS_PER_S)
        yield "measured per level", known(at(plan, "repeats"))
        yield "a point is extended by at most", longest
    yield "seed set", clean(at(plan, "seed_set") or "none of the rules")
    yield "target cohort", clean(at(plan, "target_cohort") or "none stated")
    origin = clean(why) if why else _found(at(plan, "c_max_found"))
    chosen = at(plan, "c_max") is not None
    yield "highest concurrency", known(at(plan, "c_max"), "no levels were chosen yet") + f", {origin}" * chosen
    yield from ((f"level {known(at(one, 'label'))}", known(at(one, "why"))) for one in items(plan, "levels"))


def _found(found: object) -> str:
    if not isinstance(found, bool):
        return "origin not stated"
    return "found by doubling the load" if found else "declared"


def _work(curve: Curve, plan: Mapping[str, Any]) -> Iterator[Pair]:
    for one in items(plan, "datasets"):
        yield f"data set {known(at(one, 'name'))}", f"{count(at(one, 'rows'))} rows, sha256 {known(at(one, 'sha256'))}"
    if not items(plan, "datasets"):
        yield "data set", f"sha256 {known(curve.identity.data_set_hash)}"
    yield "tokenizer", _tokenizer(curve, plan)
    mark = at(plan, "tokenizer", "sha256") or curve.identity.tokenizer_hash
    if mark:
        yield "tokenizer, sha256", known(mark)


def _instrument(summary: Mapping[str, Any]) -> Iterator[Pair]:
    yield "wholecurve", known(at(summary, "version"))
    if at(summary, "git_sha"):
        yield "revision", known(at(summary, "git_sha"))
    yield "to compute every figure again", RECOMPUTE
    yield "machine", ", ".join(f"{name} {value}" for name, value in _pairs(mapping(summary, "machine"))) or unmeasured()


def _power(curve: Curve, power: Mapping[str, Any] | None) -> Iterator[Pair]:
    """What each point was divided by, how it was added up, and the file itself."""
    by_basis: dict[tuple[float | None, str, bool], list[str]] = {}
    for point in curve.points:
        one = point.power
        by_basis.setdefault((one.kw, one.basis or one.reason, one.estimated), []).append(
            "Offline" if point.kind is PointKind.OFFLINE else f"{point.concurrency:,}"
        )
    if all(kw is None for kw, _, _ in by_basis) and not power:
        return
    for (kw, basis, estimated), levels in by_basis.items():
        shown = unmeasured(basis) if kw is None else f"{ratio(kw)} kW, {clean(basis)}" + ", estimated" * estimated
        yield f"concurrency {', '.join(levels)}", shown
    yield from _pairs(power or {})


def _pairs(value: Mapping[str, Any]) -> list[Pair]:
    found = [(name, shown) for name, shown in flat(redacted(value)) if shown != NOT_MEASURED]
    more = [("…", f"{len(found) - MANY} more in the files")] if len(found) > MANY else []
    return found[:MANY] + more
