"""May one believe this curve? A handful of checks, each a few words, made of what the points say of themselves."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from wholecurve.model.curve import Curve
from wholecurve.report.campaign_accuracy import FAILED, NOT_JUDGED, PASSED, worst
from wholecurve.report.campaign_journal import Missing
from wholecurve.report.campaign_load import Salted
from wholecurve.report.campaign_points import DOES_NOT_APPLY, STEADY, PointView, listed
from wholecurve.report.reading import number, share

OK, CARE, BAD = "ok", "care", "bad"
SIGNS: Final[Mapping[str, str]] = {OK: "✓", CARE: "!", BAD: "✕"}
"""A shape beside the colour of each tone."""


@dataclass(frozen=True, slots=True)
class Check:
    """tone: ok, care or bad. what: a few words that stand alone."""

    tone: str
    what: str


def checks_of(
    curve: Curve,
    points: Sequence[PointView],
    missing: Sequence[Missing],
    failed_shares: Sequence[Any],
    salted: Salted,
    planned_accuracy: bool,
) -> tuple[Check, ...]:
    """All checks in a fixed order; none without a point. failed_shares: of each point, as its summary has it."""
    if not points:
        return ()
    return (
        _counted(points, missing), _client(points), *_steady(points), _failures(failed_shares),
        *_accuracy(points, planned_accuracy), _tokens(curve), *_salt(salted),
    )  # fmt: skip


def _counted(points: Sequence[PointView], missing: Sequence[Missing]) -> Check:
    counts = sum(one.counts for one in points)
    names = {one.label for one in points} | {one.label for one in missing}
    tone = OK if counts == len(names) else BAD
    return Check(tone, f"{counts} of {len(names)} points count")


def _client(points: Sequence[PointView]) -> Check:
    kinds = {word: [one.name for one in points if one.health == word] for word in ("client-limited", "strained", "ok")}
    if kinds["client-limited"]:
        return Check(BAD, f"the client was measured at {listed(kinds['client-limited'])}")
    if kinds["strained"]:
        return Check(CARE, f"client strained at {listed(kinds['strained'])}")
    if len(kinds["ok"]) < len(points):
        return Check(CARE, "the client's own state is not known everywhere")
    return Check(OK, "client ok at every point")


def _steady(points: Sequence[PointView]) -> Iterator[Check]:
    judged = [one for one in points if one.steady != DOES_NOT_APPLY and not one.offline]
    steady = sum(one.steady == STEADY and (one.windowable or not one.steady_status) for one in judged)
    if judged:
        yield Check(OK if steady == len(judged) else CARE, f"steady at {steady} of {len(judged)} levels")


def _failures(shares: Sequence[Any]) -> Check:
    known = [found for found in map(number, shares) if found is not None]
    if len(known) < len(shares) or not known:
        return Check(CARE, "failures are not known everywhere")
    return Check(OK, "no request failed") if not max(known) else Check(CARE, f"up to {share(max(known))} failed")


def _accuracy(points: Sequence[PointView], planned: bool) -> Iterator[Check]:
    verdicts = [verdict for verdict in (worst(one.scores) for one in points) if verdict]
    if not verdicts:
        yield Check(CARE, "accuracy was planned and not measured" if planned else "accuracy not measured")
        return
    passed = verdicts.count(PASSED)
    tone = BAD if FAILED in verdicts else OK if passed == len(verdicts) else CARE
    if passed or FAILED in verdicts:
        yield Check(tone, f"accuracy passed at {passed} of {len(verdicts)} points")
    else:
        yield Check(tone, "accuracy not judged" if NOT_JUDGED in verdicts else "accuracy measured, no bound set")


def _tokens(curve: Curve) -> Check:
    sources = {point.provenance.token_source for point in curve.points}
    if sources == {"reference"}:
        return Check(OK, "tokens counted with the reference tokenizer")
    return Check(CARE, "tokens are the endpoint's own count" if "usage" in sources else "source of tokens not known")


def _salt(salted: Salted) -> Iterator[Check]:
    if salted.known:
        yield Check(OK, "every prompt salted") if not salted.bare else Check(CARE, f"no salt at {listed(salted.bare)}")
