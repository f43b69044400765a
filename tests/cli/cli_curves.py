"""curve.json files with figures one can check in the head."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from wholecurve.model.curve import Curve, curve_of
from wholecurve.model.point import Figure, Identity, Point, PointKind, Power, Provenance, Standing
from wholecurve.model.record import RunState
from wholecurve.model.status import Status
from wholecurve.model.strict_json import dumps_strict
from wholecurve.results import curve_document

MS = 1_000_000
LOCAL = Standing(Status.UNVERIFIED, local=True)
WHO = Identity(
    system="Alpha",
    benchmark="chat",
    submission="s1",
    model="m-8b",
    definition_version="1",
    data_set_hash="d1",
    tokenizer_hash="t1",
    division="Standardized",
    rules_version="v1_0 E3",
    accelerators=8,
    nodes=1,
)
RISING = ((1, 50, 100, 100), (8, 80, 80, 640), (64, 150, 40, 2560), (512, 900, 10, 5120))
"""Concurrency, TTFT P90 in ms, tokens/s of one user, tokens/s of the system."""


def figure(value: float | Figure | None) -> Figure:
    if isinstance(value, Figure):
        return value
    return Figure(None, "answers were not streamed") if value is None else Figure(value)


def around(value: float, share: float = 0.01, runs: int = 3) -> Figure:
    """A figure of several runs with an interval."""
    return Figure(value, low=value * (1 - share), high=value * (1 + share), runs=runs, spread=share)


def point(
    who: Identity,
    concurrency: int,
    ttft_ms: float | Figure | None,
    speed: float | Figure | None,
    tps: float | Figure | None,
    *,
    kind: PointKind = PointKind.CURVE,
    invalid: str = "",
    client: str | None = "ok",
    standing: Standing = LOCAL,
    power: Power | None = None,
    length: float = 500,
    source: str = "",
) -> Point:
    ttft = ttft_ms if isinstance(ttft_ms, Figure) or ttft_ms is None else Figure(ttft_ms * MS)
    label = "offline" if kind is PointKind.OFFLINE else f"r{concurrency}"
    return Point(
        identity=who,
        provenance=Provenance(
            source or f"points/{label}", RunState.COMPLETE, "reference", client, "STEADY STATE", invalid
        ),
        standing=standing,
        concurrency=concurrency,
        kind=kind,
        figures={
            "system_tps": figure(tps),
            "ttft_p90_ns": figure(ttft),
            "output_length_mean": Figure(length),
            "tps_per_user": figure(speed),
            "total_tps": figure(None if tps is None else (tps.value or 0) * 3 if isinstance(tps, Figure) else tps * 3),
        },
        power=power or Power(10.0, "declared total"),
    )


def curve(*levels: Any, who: Identity = WHO, **more: Any) -> Curve:
    """Of (concurrency, TTFT in ms, speed, tokens/s) or of ready points."""
    found = [one if isinstance(one, Point) else point(who, *one, **more) for one in levels or RISING]
    return curve_of(who, "tps_per_user", found)


def named(system: str, **changes: Any) -> Identity:
    return replace(WHO, system=system, **changes)


def write(folder: Path, found: Curve) -> str:
    """folder/curve.json, and the folder's name."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "curve.json").write_bytes(dumps_strict(curve_document(found)))
    return folder.name
