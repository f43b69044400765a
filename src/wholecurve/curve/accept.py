"""A delivered system against a published curve, level by level. A level nobody measured is "not tested", never a pass.

shortfall = (published - measured) / published on the decimal values as reported, without rounding; a faster system
has a negative one and passes. Throughput and interactivity have margins in the rules; TTFT has none there and is held
to the same margin for the buyer's sake, which each check says.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction
from typing import Final

from wholecurve.curve.compare import comparable, doubts, high_is_better, length_refusal, levels_of
from wholecurve.curve.table import barred
from wholecurve.model.curve import Curve
from wholecurve.model.errors import InputError
from wholecurve.model.point import Figure, Point, PointKind

MARGIN_PERCENT: Final[Mapping[str, int]] = {"same system": 5, "independent": 10}
"""Allowed shortfall, borders included: a rerun on the very same system, and an independent one."""

RULES: Final = "margin of the rules"
BUYER: Final = "no margin in the rules; the same one, for the buyer"


class CheckResult(StrEnum):
    """Of a check, of a level and of the whole delivery."""

    PASS = "pass"
    FAIL = "fail"
    NOT_TESTED = "not tested"
    REFUSED = "refused"


@dataclass(frozen=True, slots=True)
class Check:
    """One figure. shortfall: share by which the delivered one is worse, negative when better; None when not tested."""

    key: str
    published: float | None
    delivered: float | None
    shortfall: float | None
    outcome: CheckResult
    basis: str
    why: str = ""


@dataclass(frozen=True, slots=True)
class LevelCheck:
    """One published level; Offline is named by its kind. delivered: source of the point that was held against it."""

    kind: PointKind
    concurrency: int
    published: str
    delivered: str | None
    outcome: CheckResult
    checks: tuple[Check, ...]
    why: str = ""


@dataclass(frozen=True, slots=True)
class Acceptance:
    """outcome: fail when a level fails; pass when every one passes; else not tested, and refused if not comparable."""

    outcome: CheckResult
    relation: str
    margin_percent: int
    levels: tuple[LevelCheck, ...]
    refused: tuple[str, ...] = ()
    cautions: tuple[str, ...] = ()
    unpublished: tuple[int, ...] = ()


def accept(delivered: Curve, published: Curve, relation: str, *, levels: Sequence[int] | None = None) -> Acceptance:
    """Hold a delivered system to a published curve.

    relation: `same system` (5 %) or `independent` (10 %). levels: the concurrencies that were agreed (0 for Offline);
    without it every published level counts. InputError for another relation.
    """
    if relation not in MARGIN_PERCENT:
        raise InputError(f"wanted one of {', '.join(MARGIN_PERCENT)}, got {relation!r}")
    margin = MARGIN_PERCENT[relation]
    refused, cautions = comparable(published, delivered)
    if refused:
        return Acceptance(CheckResult.REFUSED, relation, margin, (), refused, cautions)
    wanted, got = levels_of(published), levels_of(delivered)
    asked = list(wanted) if levels is None else list(dict.fromkeys(levels))
    keys = ("system_tps", published.interactivity_key, "ttft_p90_ns")
    found = tuple(_level(level, wanted.get(level), got.get(level), keys, margin) for level in asked)
    return Acceptance(
        _overall([one.outcome for one in found]),
        relation,
        margin,
        found,
        (),
        (*cautions, *doubts(wanted, got, [level for level in asked if level in wanted and level in got])),
        tuple(level for level in got if level not in wanted),
    )


def check(key: str, published: Figure, delivered: Figure, margin_percent: int) -> Check:
    """One figure against the published one, exactly on the border is a pass."""
    basis = BUYER if key == "ttft_p90_ns" else RULES
    values = (published.value, delivered.value)
    if not published.value or delivered.value is None:
        why = "; ".join(
            f"{side}: {figure.reason or 'is 0'}"
            for side, figure in (("published", published), ("delivered", delivered))
            if figure.reason or (side == "published" and not figure.value)
        )
        return Check(key, *values, None, CheckResult.NOT_TESTED, basis, why)
    was, now = Fraction(str(published.value)), Fraction(str(delivered.value))
    shortfall = (was - now if high_is_better(key) else now - was) / was
    outcome = CheckResult.PASS if shortfall <= Fraction(margin_percent, 100) else CheckResult.FAIL
    return Check(key, *values, float(shortfall), outcome, basis)


def _level(
    level: int, published: Point | None, delivered: Point | None, keys: Sequence[str], margin: int
) -> LevelCheck:
    kind = PointKind.OFFLINE if level == 0 else PointKind.CURVE
    concurrency = published.concurrency if published else level
    source = published.provenance.source if published else ""
    why = "not published" if published is None else "not delivered" if delivered is None else ""
    if published is not None and delivered is not None:
        reasons = (f"published: {barred(published)}" if barred(published) else "", barred(delivered))
        why = next((one for one in (*reasons, length_refusal(published, delivered)) if one), "")
    if why or published is None or delivered is None:
        own = delivered.provenance.source if delivered else None
        return LevelCheck(kind, concurrency, source, own, CheckResult.NOT_TESTED, (), why)
    used = keys[:1] if kind is PointKind.OFFLINE else keys
    checks = tuple(check(key, published.figure(key), delivered.figure(key), margin) for key in used)
    outcome = _overall([one.outcome for one in checks])
    return LevelCheck(kind, concurrency, source, delivered.provenance.source, outcome, checks)


def _overall(outcomes: Sequence[CheckResult]) -> CheckResult:
    if CheckResult.FAIL in outcomes:
        return CheckResult.FAIL
    if not outcomes or CheckResult.NOT_TESTED in outcomes:
        return CheckResult.NOT_TESTED
    return CheckResult.PASS
