"""curve.json: a curve as one strict JSON document, written in full precision and read back to an equal curve."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from typing import Any, Final

from wholecurve.model.curve import Curve, SetAside
from wholecurve.model.errors import InputError
from wholecurve.model.point import (
    FIGURE_KEYS,
    Figure,
    Identity,
    Point,
    PointKind,
    Power,
    Provenance,
    Standing,
)
from wholecurve.model.record import RunState
from wholecurve.model.status import Status
from wholecurve.results.checked import (
    Check,
    a_flag,
    a_list,
    a_number,
    a_record,
    a_text,
    a_word,
    an_integer,
    an_object,
    made,
    maybe,
    shown,
)

CURVE_SCHEMA: Final = "wholecurve.curve/1"


def curve_document(curve: Curve) -> dict[str, Any]:
    """The document of a curve, plain values in a fixed order of keys. The identity stands once, for all points."""
    return {
        "schema": CURVE_SCHEMA,
        "id": curve.id,
        "identity": _plain(curve.identity)
        | {"accelerator_parts": [list(part) for part in curve.identity.accelerator_parts]},
        "interactivity_key": curve.interactivity_key,
        "c_max_declared": curve.c_max_declared,
        "points": [_point(point) for point in curve.points],
        "set_aside": [{"reason": one.reason, "point": _point(one.point)} for one in curve.set_aside],
    }


def _point(point: Point) -> dict[str, Any]:
    return {
        "concurrency": point.concurrency,
        "kind": point.kind.value,
        "elected_offline": point.elected_offline,
        "asked_rate_per_s": point.asked_rate_per_s,
        "provenance": _plain(point.provenance),
        "standing": _plain(point.standing),
        "figures": {key: _plain(point.figures[key]) for key in FIGURE_KEYS if key in point.figures},
        "power": _plain(point.power),
        "notes": list(point.notes),
    }


def _plain(record: Any) -> dict[str, Any]:
    """A flat dataclass by field, words of enumerations as texts."""
    found = {one.name: getattr(record, one.name) for one in fields(record)}
    return {name: str(value) if isinstance(value, str) else value for name, value in found.items()}


# -- reading -----------------------------------------------------------------------------------------------------------

_some_text, _some_count = maybe(a_text), maybe(an_integer)


def _part(value: object, key: str) -> tuple[str, int]:
    found = a_list(lambda item, _: item)(value, key)
    if len(found) != 2:
        raise InputError("wanted a name and a count", where=key)
    return a_text(found[0], f"{key}[0]"), an_integer(found[1], f"{key}[1]")


_IDENTITY: Final[Mapping[str, Check]] = {
    "system": a_text,
    "benchmark": a_text,
    "submission": a_text,
    "model": a_text,
    "definition_version": a_text,
    "data_set_hash": _some_text,
    "tokenizer_hash": _some_text,
    "division": _some_text,
    "rules_version": _some_text,
    "precision": _some_text,
    "accelerators": _some_count,
    "nodes": _some_count,
    "accelerator_parts": a_list(_part),
    "traffic": _some_text,
}
_PROVENANCE: Final[Mapping[str, Check]] = {
    "source": a_text,
    "run_state": a_word(RunState),
    "token_source": _some_text,
    "client_verdict": _some_text,
    "steady_verdict": _some_text,
    "invalid": a_text,
}
_STANDING: Final[Mapping[str, Check]] = {
    "status": a_word(Status),
    "record": a_text,
    "date": a_text,
    "local": a_flag,
    "withdrawn": a_flag,
}
_FIGURE: Final[Mapping[str, Check]] = {
    "value": maybe(a_number),
    "reason": a_text,
    "low": maybe(a_number),
    "high": maybe(a_number),
    "runs": an_integer,
    "spread": maybe(a_number),
}
_POWER: Final[Mapping[str, Check]] = {
    "kw": maybe(a_number),
    "basis": a_text,
    "reason": a_text,
    "estimated": a_flag,
}


def _made_of(kind: Any, checks: Mapping[str, Check]) -> Check:
    record = a_record(checks)
    return lambda value, key: made(kind, record(value, key), key)


_identity = _made_of(Identity, _IDENTITY)
_figure = _made_of(Figure, _FIGURE)


def _figures(value: object, key: str) -> dict[str, Figure]:
    found = an_object(value, key)
    unknown = [name for name in found if name not in FIGURE_KEYS]
    if unknown:
        raise InputError(f"unknown figure {shown(unknown[0])}; known: {', '.join(FIGURE_KEYS)}", where=key)
    return {name: _figure(one, f"{key}.{name}") for name, one in found.items()}


_POINT: Final[Mapping[str, Check]] = {
    "concurrency": an_integer,
    "kind": a_word(PointKind),
    "elected_offline": a_flag,
    "asked_rate_per_s": maybe(a_number),
    "provenance": _made_of(Provenance, _PROVENANCE),
    "standing": _made_of(Standing, _STANDING),
    "figures": _figures,
    "power": _made_of(Power, _POWER),
    "notes": a_list(a_text),
}
_ASIDE: Final[Mapping[str, Check]] = {"reason": a_text, "point": a_record(_POINT)}
_CURVE: Final[Mapping[str, Check]] = {
    "schema": a_text,
    "id": a_text,
    "identity": _identity,
    "interactivity_key": a_text,
    "c_max_declared": _some_count,
    "points": a_list(a_record(_POINT)),
    "set_aside": a_list(a_record(_ASIDE)),
}


def curve_from_document(document: Mapping[str, Any]) -> Curve:
    """The curve of a document. Raises InputError, with the key path, for another schema, for unknown and missing keys,
    for values of another type, for figures that contradict each other, and for an `id` that is not the curve's."""
    if document.get("schema") != CURVE_SCHEMA:
        raise InputError(f"wanted the schema {CURVE_SCHEMA}, got {shown(document.get('schema'))}", where="schema")
    found = a_record(_CURVE)(document, "")
    who = found["identity"]
    points = tuple(_point_of(who, one, f"points[{at}]") for at, one in enumerate(found["points"]))
    aside = tuple(
        SetAside(_point_of(who, one["point"], f"set_aside[{at}].point"), one["reason"])
        for at, one in enumerate(found["set_aside"])
    )
    given = (who, found["interactivity_key"], points, found["c_max_declared"], aside)
    names = [one.name for one in fields(Curve)]
    curve = made(Curve, dict(zip(names, given, strict=True)), "points")
    _check_sources([one.provenance.source for one in points])
    if found["id"] != curve.id:
        raise InputError(f"wanted the id {shown(curve.id)}, got {shown(found['id'])}", where="id")
    return curve


def _check_sources(sources: list[str]) -> None:
    """The source is what a point is found by: two points of one source would show each other's figures."""
    seen: set[str] = set()
    for source in sources:
        if source in seen:
            raise InputError(f"wanted each source once, got {shown(source)} twice", where="provenance.source")
        seen.add(source)


def _point_of(who: Identity, values: Mapping[str, Any], key: str) -> Point:
    return made(Point, {"identity": who, **values}, key)
