"""`wholecurve pick`: which measured point of which system, under limits."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Annotated, Any, Literal

from cyclopts import Parameter

from wholecurve.cli.curve_files import Gathered, gather, listed, write_json
from wholecurve.cli.pick_question import Question, count_typed, limits_typed, price_typed
from wholecurve.cli.pick_text import names_of, print_pick
from wholecurve.curve import (
    LENGTH_SHARE,
    NORMALISATIONS,
    RECIPROCALS,
    growth,
    heads_of,
    normalised,
    rank,
    rows_of,
    scope,
    spread_of,
)
from wholecurve.model.curve import Curve
from wholecurve.model.errors import InputError
from wholecurve.model.point import Point, PointKind

PICK_SCHEMA = "wholecurve.pick/1"

Per = Literal["kw", "accelerator", "node", "usd", "usd-total", "joule"]
By = Literal["system_tps", "concurrency", "ttft_p90_ns", "interactivity_tps", "total_tps", "qps"]
Reading = Literal["at-least", "any", "systems"]


def _flag(name: str, text: str, *, value: bool = False) -> Any:
    """value: what follows is its value even if it begins with a hyphen, so that -5ms is refused for what it is."""
    return Parameter(name=name, help=text, negative="", negative_iterable="", allow_leading_hyphen=value)


def command(
    *paths: Annotated[str, Parameter(help="campaign folders, curve.json files, run folders, or folders of these")],
    ttft_p90: Annotated[str | None, _flag("--ttft-p90", "TTFT P90 at most this, such as 500ms", value=True)] = None,
    interactivity: Annotated[
        float | None, _flag("--interactivity", "at least so many tokens/s for one user", value=True)
    ] = None,
    limit: Annotated[
        tuple[str, ...], _flag("--limit", "another limit, such as 'system_tps>=1000'; may be given several times")
    ] = (),
    concurrency: Annotated[
        str | None, _flag("--concurrency", "the load you run, in requests in flight", value=True)
    ] = None,
    reading: Annotated[
        Reading,
        _flag(
            "--reading",
            "what --concurrency means: the smallest measured level at or above it, any level that passes, or as many "
            "equal systems as it takes",
        ),
    ] = "at-least",
    by: Annotated[By | None, _flag("--by", "rank by this; by default what --per divides, else system_tps")] = None,
    per: Annotated[Per | None, _flag("--per", "divide by provisioned power, accelerators, nodes or price")] = None,
    price: Annotated[
        str | None, _flag("--price", "of --per usd: a number, what it is for, per hour: 2.5/accelerator/h", value=True)
    ] = None,
    users: Annotated[str | None, _flag("--users", "how many systems so many users at a time need", value=True)] = None,
    benchmark: Annotated[str | None, _flag("--benchmark", "only curves of this benchmark")] = None,
    division: Annotated[str | None, _flag("--division", "only curves of this division")] = None,
    withdrawn: Annotated[bool, _flag("--withdrawn", "let withdrawn results count")] = False,
    json: Annotated[bool, _flag("--json", "print the ranking as JSON")] = False,
) -> int:
    """Rank measured points under limits: which system, at which concurrency, and how sure that is.

    Limits take away points, borders included. Every place is one measured point, never a value between two, and is
    shown with its evidence; what was left out is shown with what it missed by. Exit code 1 if nothing passes.
    """
    limits = tuple(limits_typed(ttft_p90, interactivity, limit))
    question = Question(
        limits=limits,
        at=count_typed(concurrency, "--concurrency"),
        reading=reading.replace("-", " "),
        by=by,
        per=None if per is None else per.replace("-", "_"),
        price=price_typed(price, per, users, limits),
        users=count_typed(users, "--users"),
        withdrawn=withdrawn,
    )
    if question.reading == "systems" and question.at is None:
        raise InputError(
            "--reading systems: wanted --concurrency too, got none", hint="it says how many users there are"
        )
    found = gather(paths)
    chosen = replace(found, curves=_chosen(found.curves, benchmark, division))
    answer = pick(chosen, question)
    if json:
        write_json(answer)
    else:
        print_pick(answer)
    return 0 if answer["places"] else 1


def pick(found: Gathered, question: Question) -> dict[str, Any]:
    """The answer as plain values, ready for JSON. Raises InputError for curves that cannot be ranked together."""
    heads, rows = heads_of(found.curves), rows_of(found.curves, withdrawn_too=question.withdrawn)
    refused, _ = scope(heads, rows)
    if refused:
        raise _mixed(found.curves, refused)
    basis = None
    by = question.by or "system_tps"
    limited = []
    for per in _limited(question):
        rows, how = normalised(rows, per, question.price)
        limited.append(how)
    if question.per is not None:
        rows, basis = normalised(rows, question.per, question.price)
        by = question.by or basis["column"]
    ranked = rank(heads, rows, question.limits, by=by, at=question.at, reading=question.reading)
    levels = {(row["curve"], row["concurrency"]): row for row in rows if row["kind"] == "curve"}
    points = _points(found.curves)
    for place in ranked["places"]:
        point = points[place["curve"], place["concurrency"]]
        place["row"] = levels[place["curve"], place["concurrency"]]
        place["run_spread"] = spread_of(place["row"], by)
        place["client_verdict"] = point.provenance.client_verdict
        place["token_source"] = point.provenance.token_source
        place["steady_verdict"] = point.provenance.steady_verdict
        place["notes"] = list(point.notes)
    return {
        "schema": PICK_SCHEMA,
        "limits": list(question.limits),
        "ranked_by": by,
        **ranked,
        "notes": [*ranked["notes"], *_doubts(ranked["places"], names_of(heads))],
        "normalised": basis,
        "limits_normalised": limited,
        "capacity": _capacity(ranked, rows, question),
        "barred": [{"curve": row["curve"], "point": row["id"], "why": row["barred"]} for row in rows if row["barred"]],
        "set_aside": [
            {"curve": curve.id, "point": one.point.provenance.source, "why": one.reason}
            for curve in found.curves
            for one in curve.set_aside
        ],
        "skipped": list(found.skipped),
        "curves": heads,
        "reasons": {
            head["id"]: {row["id"]: row["reasons"] for row in rows if row["curve"] == head["id"] and row["reasons"]}
            for head in heads
        },
    }


def _points(curves: Sequence[Curve]) -> dict[tuple[str, int], Point]:
    """The levels of all curves; Offline is none."""
    return {
        (curve.id, point.concurrency): point
        for curve in curves
        for point in curve.points
        if point.kind is PointKind.CURVE
    }


def _limited(question: Question) -> list[str]:
    """The ways to divide that a limit asks for, beside the one of --per."""
    keys = {limit["key"] for limit in question.limits}
    return [
        per
        for per, how in NORMALISATIONS.items()
        if per != question.per and keys & {how.column, RECIPROCALS.get(how.column)}
    ]


def _doubts(places: Sequence[dict[str, Any]], names: Mapping[str, str]) -> list[str]:
    """What makes the token rates of these places no result, or not comparable with each other."""
    found = []
    own = [names[place["curve"]] for place in places if place["token_source"] != "reference"]
    if own and len(own) == len(places):
        found.append(
            "Tokens are the endpoints' own count, which is never official: no reference tokenizer counted them."
        )
    elif own:
        found.append(f"Tokens of {listed(own)} are the endpoint's own count, the others are counted by the reference.")
    lengths = {place["curve"]: place["row"]["output_length_mean"] for place in places}
    known = [length for length in lengths.values() if length is not None]
    if known and max(known) - min(known) > LENGTH_SHARE * max(known):
        said = listed(f"{names[curve]} {length:.4g}" for curve, length in lengths.items() if length is not None)
        found.append(
            f"Answers differ in length by more than 5 %, so token rates are not of the same work: {said} tokens."
        )
    return found


def _capacity(ranked: dict[str, Any], rows: list[dict[str, Any]], question: Question) -> list[dict[str, Any]]:
    """The systems that the users of today and of tomorrow need, of each curve with a level within the limits: of the
    ranking's places in their order, then of those that have none for another reason."""
    if question.users is None:
        return []
    found = []
    for one in (*ranked["places"], *ranked["failed"]):
        own = [row for row in rows if row["curve"] == one["curve"]]
        plans = growth(own, question.limits, question.users, price=question.price)
        if plans[0]["systems"] is not None:
            found.append({"curve": one["curve"], "today": plans[0], "growth": plans[1:]})
    return found


def _chosen(curves: Sequence[Curve], benchmark: str | None, division: str | None) -> tuple[Curve, ...]:
    """The curves of the benchmark and division that were asked for."""
    for flag, name, wanted in (("--benchmark", "benchmark", benchmark), ("--division", "division", division)):
        if wanted is None:
            continue
        known = sorted({str(getattr(one.identity, name) or "not stated") for one in curves})
        curves = [one for one in curves if (getattr(one.identity, name) or "not stated") == wanted]
        if not curves:
            raise InputError(f"{flag}: no curve of {wanted[:60]!r}", hint=f"there are: {listed(known)}")
    return tuple(curves)


def _mixed(curves: Sequence[Curve], refused: Sequence[str]) -> InputError:
    """Curves that must not stand in one ranking, and how to choose."""
    flags = []
    for flag, name in (("--benchmark", "benchmark"), ("--division", "division")):
        values = sorted({getattr(one.identity, name) for one in curves} - {None})
        if len(values) > 1:
            flags.append(f"{flag} {values[0]!r}")
    hint = f"choose with {' and '.join(flags)}" if flags else "name only the folders that belong together"
    return InputError(f"these curves cannot be ranked together. {' '.join(refused)}", hint=hint)
