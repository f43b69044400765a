"""Points and curves with few words: everything has a value one can check in the head, and can be overridden."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from hypothesis import strategies as st

from wholecurve.curve import Head, Row, heads_of, limits_of, rows_of
from wholecurve.model.curve import Curve, curve_of
from wholecurve.model.point import Figure, Identity, Point, PointKind, Power, Provenance, Standing
from wholecurve.model.record import RunState
from wholecurve.model.status import Status

MS = 1_000_000
LOCAL = Standing(Status.UNVERIFIED, local=True)

IDENTITY = Identity(
    system="a",
    benchmark="chat",
    submission="s1",
    model="m-8b",
    definition_version="1",
    data_set_hash="d1",
    tokenizer_hash="t1",
    division="standardized",
    rules_version="1.0",
    precision="fp8",
    accelerators=8,
    nodes=1,
)


def identity(system: str = "a", **changes: Any) -> Identity:
    return replace(IDENTITY, system=system, **changes)


def figure(value: float | Figure | None) -> Figure:
    if isinstance(value, Figure):
        return value
    return Figure(None, "no answer was streamed") if value is None else Figure(value)


def point(
    concurrency: int,
    ttft_ms: float | None = 100,
    speed: float | Figure | None = 50,
    tps: float | Figure | None = 1000,
    *,
    who: Identity = IDENTITY,
    source: str = "",
    kind: PointKind = PointKind.CURVE,
    state: RunState = RunState.COMPLETE,
    client: str | None = "ok",
    tokens: str | None = "reference",
    standing: Standing = LOCAL,
    power: Power | None = None,
    length: float | None = 500,
    **figures: float,
) -> Point:
    """A point with TTFT P90 in ms, tokens/s of one user, tokens/s of the system. More figures by key."""
    offline = kind is PointKind.OFFLINE
    found = {
        "system_tps": figure(tps),
        "ttft_p90_ns": figure(None if ttft_ms is None else ttft_ms * MS),
        "output_length_mean": figure(length),
        **({} if offline else {"tps_per_user": figure(speed)}),
        **{key: figure(value) for key, value in figures.items() if key not in ("elected_offline", "asked_rate_per_s")},
    }
    return Point(
        identity=who,
        provenance=Provenance(
            source or f"{who.system}/r{'offline' if offline else concurrency}", state, tokens, client, None
        ),
        standing=standing,
        concurrency=concurrency,
        kind=kind,
        figures=found,
        power=power or Power(10.0, "declared"),
        elected_offline=bool(figures.get("elected_offline")),
        asked_rate_per_s=figures.get("asked_rate_per_s"),
    )


def offline(tps: float | None, *, who: Identity = IDENTITY, concurrency: int = 4000, **more: Any) -> Point:
    return point(concurrency, None, None, tps, who=who, kind=PointKind.OFFLINE, **more)


def curve(*levels: tuple[Any, ...] | Point, who: Identity = IDENTITY, **more: Any) -> Curve:
    """A curve of (concurrency, TTFT in ms, speed, system_tps) tuples or of ready points."""
    points = [one if isinstance(one, Point) else point(*one, who=who) for one in levels]
    return curve_of(who, "tps_per_user", points, **more)


def plain(*curves: Curve, **more: Any) -> tuple[list[Head], list[Row]]:
    return heads_of(curves), rows_of(curves, **more)


RISING = ((1, 50, 100, 100), (8, 80, 80, 640), (64, 150, 40, 2560), (512, 900, 10, 5120))
"""TTFT grows, speed falls, throughput grows: the ordinary curve."""

STATES = (RunState.COMPLETE, RunState.COMPLETE, RunState.COMPLETE, RunState.FAILED)
maybe = st.one_of(st.none(), st.integers(1, 6))


@st.composite
def curves(draw: st.DrawFn, name: str = "a") -> Curve:
    """Few values, so that ties, equal points and gaps are common."""
    levels = draw(st.lists(st.integers(1, 9), unique=True, max_size=6))
    who = identity(name)
    return curve(
        *[
            point(level, *(draw(maybe) for _ in range(3)), who=who, state=draw(st.sampled_from(STATES)))
            for level in levels
        ],
        who=who,
    )


some_limits = st.builds(lambda ttft, speed: limits_of(None if ttft is None else ttft * MS, speed), maybe, maybe)
