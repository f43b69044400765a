"""curve.json: read back equal, and nothing odd gets through it."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from wholecurve.model.curve import Curve, SetAside, curve_of
from wholecurve.model.errors import InputError
from wholecurve.model.point import (
    CLIENT_VERDICTS,
    FIGURE_KEYS,
    TOKEN_SOURCES,
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
from wholecurve.model.strict_json import dumps_strict
from wholecurve.results import CURVE_SCHEMA, curve_document, curve_from_document, load_curves

words = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=12)
positive = st.floats(0.001, 1e15) | st.integers(1, 1 << 53)
maybe_text = st.none() | words


@st.composite
def figures(draw: st.DrawFn) -> Figure:
    if draw(st.booleans()):
        return Figure(None, draw(words))
    value, runs = draw(positive), draw(st.integers(1, 5))
    spread = draw(st.floats(0, 9)) if runs > 1 else None
    if draw(st.booleans()):
        return Figure(value, runs=runs, spread=spread)
    return Figure(value, low=value * 0.5, high=value * 2, runs=runs, spread=spread)


@st.composite
def identities(draw: st.DrawFn) -> Identity:
    parts = tuple(draw(st.lists(st.tuples(words, st.integers(1, 64)), max_size=3)))
    count = sum(number for _, number in parts) if parts else draw(st.none() | st.integers(1, 10_000))
    texts = {name: draw(words) for name in ("system", "benchmark", "submission", "model", "definition_version")}
    optional = ("data_set_hash", "tokenizer_hash", "division", "rules_version", "precision", "traffic")
    return Identity(
        **texts,
        **{name: draw(maybe_text) for name in optional},
        accelerators=count,
        accelerator_parts=parts,
        nodes=draw(st.none() | st.integers(1, 99)),
    )


@st.composite
def standings(draw: st.DrawFn) -> Standing:
    if draw(st.booleans()):
        return Standing(Status.UNVERIFIED, local=draw(st.booleans()), withdrawn=draw(st.booleans()))
    return Standing(draw(st.sampled_from(Status)), draw(words), draw(words), withdrawn=draw(st.booleans()))


@st.composite
def points(draw: st.DrawFn, who: Identity, concurrency: int, kind: PointKind) -> Point:
    needed = [key for key, required in FIGURE_KEYS.items() if required]
    more = draw(st.lists(st.sampled_from([key for key in FIGURE_KEYS if key not in needed]), unique=True))
    keys = [*needed, *more] if kind is PointKind.OFFLINE else list(dict.fromkeys([*needed, "tps_per_user", *more]))
    provenance = Provenance(
        f"{draw(words)} {kind} {concurrency}",
        draw(st.sampled_from(RunState)),
        draw(st.none() | st.sampled_from(TOKEN_SOURCES)),
        draw(st.none() | st.sampled_from(CLIENT_VERDICTS)),
        draw(maybe_text),
        draw(st.just("") | words),
    )
    power = draw(
        st.builds(Power, st.floats(0.1, 9e4), words, st.just(""), st.booleans()) | st.just(Power(None, "", "x"))
    )
    return Point(
        identity=who,
        provenance=provenance,
        standing=draw(standings()),
        concurrency=concurrency,
        kind=kind,
        figures={key: draw(figures()) for key in keys},
        power=power,
        elected_offline=kind is PointKind.CURVE and draw(st.booleans()),
        asked_rate_per_s=draw(st.none() | positive),
        notes=tuple(draw(st.lists(words, max_size=3))),
    )


@st.composite
def curves(draw: st.DrawFn) -> Curve:
    who = draw(identities())
    levels = sorted(draw(st.sets(st.integers(1, 4096), max_size=4)))
    found = [draw(points(who, level, PointKind.CURVE)) for level in levels]
    if draw(st.booleans()):
        found.append(draw(points(who, 4000, PointKind.OFFLINE)))
    curve = curve_of(who, draw(st.sampled_from(["tps_per_user", "e2e_avg_interactivity"])), found)
    aside = tuple(SetAside(point, draw(words)) for point in found[:1])
    return replace(curve, c_max_declared=draw(st.none() | st.integers(1, 9999)), set_aside=aside)


@given(curves())
@settings(max_examples=60, deadline=None)
def test_a_curve_comes_back_equal(curve: Curve) -> None:
    data = dumps_strict(curve_document(curve))
    again = curve_from_document(json.loads(data))
    assert again == curve
    assert dumps_strict(curve_document(again)) == data  # the same bytes, so keys are in a fixed order


WHO = Identity("a", "chat", "s", "m", "1", "d", "t")


def document() -> dict[str, Any]:
    """Of a curve with a level and one set aside."""
    point = Point(
        identity=WHO,
        provenance=Provenance("points/r4", RunState.COMPLETE, "usage", "ok", None),
        standing=Standing(Status.UNVERIFIED, local=True),
        concurrency=4,
        kind=PointKind.CURVE,
        figures={
            "system_tps": Figure(100.0, low=90.0, high=110.0),
            "ttft_p90_ns": Figure(5_000_000),
            "output_length_mean": Figure(20.0),
            "tps_per_user": Figure(25.0),
        },
        power=Power(1.5, "declared total"),
    )
    curve = Curve(WHO, "tps_per_user", (point,), 8, (SetAside(point, "again"),))
    found: dict[str, Any] = json.loads(dumps_strict(curve_document(curve)))
    return found


HOSTILE: list[tuple[list[str | int], Any, str]] = [
    (["schema"], "wholecurve.curve/2", "schema"),
    (["schema"], None, "schema"),
    (["points"], {}, "points"),
    (["points"], [[]], "points[0]"),
    (["points", 0, "concurrency"], 0, "points[0]"),
    (["points", 0, "concurrency"], 4.0, "points[0].concurrency"),
    (["points", 0, "concurrency"], True, "points[0].concurrency"),
    (["points", 0, "kind"], "online", "points[0].kind"),
    (["points", 0, "kind"], [], "points[0].kind"),
    (["points", 0, "notes"], "text", "points[0].notes"),
    (["points", 0, "notes"], ["x" * 10_001], "points[0].notes[0]"),
    (["points", 0, "notes"], ["x"] * 10_001, "points[0].notes"),
    (["points", 0, "asked_rate_per_s"], math.inf, "points[0].asked_rate_per_s"),
    (["points", 0, "figures", "system_tps", "value"], math.nan, "points[0].figures.system_tps.value"),
    (["points", 0, "figures", "system_tps", "value"], -1, "points[0].figures.system_tps"),
    (["points", 0, "figures", "system_tps", "value"], "100", "points[0].figures.system_tps.value"),
    (["points", 0, "figures", "system_tps", "value"], None, "points[0].figures.system_tps"),
    (["points", 0, "figures", "system_tps", "low"], 101, "points[0].figures.system_tps"),
    (["points", 0, "figures", "system_tps", "runs"], 0, "points[0].figures.system_tps"),
    (["points", 0, "figures", "tps_per_user", "value"], 0, "points[0]"),
    (["points", 0, "figures", "made_up"], {}, "points[0].figures"),
    (["points", 0, "figures"], {}, "points[0]"),
    (["points", 0, "power", "kw"], 0, "points[0].power"),
    (["points", 0, "standing", "status"], "verified", "points[0].standing"),
    (["points", 0, "standing", "local"], "yes", "points[0].standing.local"),
    (["points", 0, "provenance", "source"], "", "points[0].provenance"),
    (["points", 0, "provenance", "run_state"], "fine", "points[0].provenance.run_state"),
    (["points", 0, "provenance", "token_source"], "guess", "points[0].provenance"),
    (["points", 0, "extra"], 1, "points[0]"),
    (["set_aside", 0, "point", "power"], None, "set_aside[0].point.power"),
    (["identity", "system"], "", "identity"),
    (["identity", "nodes"], -1, "identity"),
    (["identity", "accelerator_parts"], [["prefill"]], "identity.accelerator_parts[0]"),
    (["interactivity_key"], "speed", "points"),
    (["c_max_declared"], -3, "points"),
    (["id"], "someone else's", "id"),
]


@pytest.mark.parametrize(("path", "value", "where"), HOSTILE, ids=lambda one: str(one)[:40])
def test_what_is_not_a_curve_is_refused_with_its_key(path: list[str | int], value: Any, where: str) -> None:
    found = document()
    inner: Any = found
    for key in path[:-1]:
        inner = inner[key]
    inner[path[-1]] = value
    with pytest.raises(InputError) as refused:
        curve_from_document(found)
    assert refused.value.where == where
    assert len(str(refused.value)) < 800


@pytest.mark.parametrize("key", ["identity", "points", "c_max_declared", "set_aside", "id", "interactivity_key"])
def test_a_missing_key_is_named(key: str) -> None:
    found = document()
    del found[key]
    with pytest.raises(InputError, match=key):
        curve_from_document(found)


def test_two_points_at_one_level_are_refused() -> None:
    found = document()
    found["points"].append(found["points"][0])
    with pytest.raises(InputError, match="concurrency 4 is there twice"):
        curve_from_document(found)


def test_the_document_is_plain_and_ordered() -> None:
    found = document()
    assert list(found) == [
        "schema", "id", "identity", "interactivity_key", "c_max_declared", "points", "set_aside",
    ]  # fmt: skip
    assert found["schema"] == CURVE_SCHEMA
    assert found["points"][0]["standing"]["status"] == "unverified"
    assert found["points"][0]["figures"]["system_tps"] == {
        "value": 100.0, "reason": "", "low": 90.0, "high": 110.0, "runs": 1, "spread": None,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"", "not valid JSON"),
        (b"[]", "wanted an object"),
        (b'{"schema": NaN}', "not valid JSON"),
        (b"[" * 100_000, "not valid JSON"),
        (b'\xff{"schema": 1}', "not valid JSON"),
        (b"{" + b" " * (64 << 20) + b"}", "at most 64 MiB"),
    ],
    ids=["empty", "list", "nan", "deep", "bytes", "huge"],
)
def test_files_that_are_no_curve(tmp_path: Path, data: bytes, words: str) -> None:
    path = tmp_path / "curve.json"
    path.write_bytes(data)
    with pytest.raises(InputError, match=words) as refused:
        load_curves(path)
    assert str(tmp_path) not in str(refused.value)
