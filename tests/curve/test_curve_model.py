"""A point and a curve hold only what can be true; everything else is refused with the place."""

from __future__ import annotations

from dataclasses import FrozenInstanceError, replace
from typing import Any

import pytest
from curve_build import IDENTITY, LOCAL, RISING, curve, identity, offline, point

from wholecurve.model.curve import Curve, curve_of
from wholecurve.model.errors import InputError
from wholecurve.model.names import NAMES
from wholecurve.model.point import FIGURE_KEYS, NOT_REPORTED, Figure, Identity, PointKind, Power, Provenance, Standing
from wholecurve.model.record import RunState
from wholecurve.model.status import Status

NAN, INF = float("nan"), float("inf")

BAD_FIGURES: list[tuple[dict[str, Any], str]] = [
    ({"value": None}, "why it was not measured"),
    ({"value": 1.0, "reason": "lost"}, "why it was not measured"),
    ({"value": NAN}, "finite value"),
    ({"value": INF}, "finite value"),
    ({"value": -1}, "finite value"),
    ({"value": True}, "finite value"),
    ({"value": "5"}, "finite value"),
    ({"value": 5, "low": 4}, "both ends"),
    ({"value": 5, "low": 6, "high": 7}, "inside its interval"),
    ({"value": 5, "low": 6, "high": 4}, "inside its interval"),
    ({"value": None, "reason": "lost", "low": 1, "high": 2}, "inside its interval"),
    ({"value": 5, "runs": 0}, "one run or more"),
    ({"value": 5, "spread": 0.1}, "spread"),
]


@pytest.mark.parametrize(("values", "says"), BAD_FIGURES)
def test_a_figure_that_cannot_be_true_is_refused(values: dict[str, Any], says: str) -> None:
    with pytest.raises(InputError, match=says):
        Figure(**values)


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda: Power(None), "a reason"),
        (lambda: Power(10.0), "its basis"),
        (lambda: Power(10.0, "declared", "but unknown"), "its basis or a reason"),
        (lambda: Power(0.0, "declared"), "above 0 kW"),
        (lambda: Power(NAN, "declared"), "finite power"),
        (lambda: Standing(Status.VERIFIED), "registry record"),
        (lambda: Standing(Status.PROVISIONAL, local=True), "registry record"),
        (lambda: Standing(Status.VERIFIED, "1.0.3"), "with its date"),
        (lambda: Standing(Status.UNVERIFIED, "1.0.3", "2026-10-21", local=True), "without a registry record"),
        (lambda: identity(""), "wanted a system"),
        (lambda: identity(data_set_hash=""), "None for not known"),
        (lambda: identity(accelerators=0), "1 or more"),
        (lambda: identity(nodes=1.5), "whole number"),
        (lambda: identity(accelerator_parts=(("prefill", 4), ("decode", 3))), "add up to 8"),
        (lambda: Provenance("", RunState.COMPLETE, None, None, None), "source"),
        (lambda: Provenance("r1", RunState.COMPLETE, "guessed", None, None), "reference, usage"),
        (lambda: Provenance("r1", RunState.COMPLETE, None, "fine", None), "client-limited"),
        (lambda: point(0), "concurrency"),
        (lambda: point(1, speed=0), "tps_per_user above 0"),
        (lambda: point(1, unheard_of=3), "unknown: .'unheard_of'"),
        (lambda: replace(point(1), figures={"system_tps": Figure(1)}), "missing: .'ttft_p90_ns', 'output_length_mean'"),
        (lambda: offline(1000, elected_offline=True), "got both"),
        (lambda: point(1, asked_rate_per_s=NAN), "asked rate"),
    ],
)
def test_a_point_that_cannot_be_true_is_refused(make: Any, says: str) -> None:
    with pytest.raises(InputError, match=says):
        make()


def test_a_curve_point_says_something_of_interactivity() -> None:
    whole = point(1)
    with pytest.raises(InputError, match=r"tps_per_user, e2e_avg_interactivity") as caught:
        replace(whole, figures={key: value for key, value in whole.figures.items() if key != "tps_per_user"})
    assert caught.value.where == "a/r1"


def test_a_status_needs_no_guess_and_says_where_it_comes_from() -> None:
    with pytest.raises(TypeError):
        Standing()  # type: ignore[call-arg]
    assert Standing(Status.VERIFIED, "1.0.3", "2026-10-21").words() == "verified (1.0.3, 2026-10-21)"
    assert Standing(Status.UNVERIFIED).words() == "unverified"
    assert LOCAL.words() == "unverified, local"
    assert Standing(Status.VERIFIED, "1", "2026", withdrawn=True).words() == "verified, withdrawn (1, 2026)"


def test_points_are_frozen_to_the_last_figure() -> None:
    one = point(1)
    with pytest.raises(FrozenInstanceError):
        one.concurrency = 2  # type: ignore[misc]
    with pytest.raises(TypeError):
        one.figures["system_tps"] = Figure(9)  # type: ignore[index]
    assert one.figure("qps") is NOT_REPORTED


def test_every_figure_has_a_name() -> None:
    assert set(FIGURE_KEYS) <= set(NAMES)


def test_a_curve_sorts_its_points_with_offline_last() -> None:
    made = curve(offline(9000, concurrency=3), *reversed(RISING))
    assert [one.concurrency for one in made.points] == [1, 8, 64, 512, 3]
    assert made.points[-1].kind is PointKind.OFFLINE
    assert made.id == "s1/a/chat"
    with pytest.raises(InputError, match="in order of concurrency"):
        Curve(IDENTITY, "tps_per_user", (point(8), point(1)))


def test_an_empty_curve_is_a_curve() -> None:
    assert curve().points == ()


@pytest.mark.parametrize(
    "two",
    [(point(8, source="x"), point(8, source="y")), (offline(1, source="x"), offline(2, concurrency=9000, source="y"))],
)
def test_a_level_that_is_there_twice_is_refused(two: Any) -> None:
    with pytest.raises(InputError, match="is there twice") as caught:
        curve(*two)
    assert caught.value.where == "x and y"
    with pytest.raises(InputError, match="is there twice"):
        Curve(IDENTITY, "tps_per_user", two)


def test_duplicates_are_marked_by_the_stated_rule() -> None:
    """The complete run before the broken one, then the lower throughput, whatever the order."""
    fast, slow = point(8, tps=900, source="fast"), point(8, tps=800, source="slow")
    broken = point(8, tps=100, source="broken", state=RunState.INTERRUPTED)
    empty = point(8, tps=None, source="empty")
    for order in ([fast, slow, broken, empty], [empty, broken, slow, fast]):
        made = curve(point(1), *order, mark_duplicates=True)
        assert [one.provenance.source for one in made.points] == ["a/r1", "slow"]
        assert [one.point.provenance.source for one in made.set_aside] == ["fast", "empty", "broken"]
        assert made.set_aside[0].reason == "concurrency 8 was measured again in slow"


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"system": "b"}, "system is b, not a"),
        ({"benchmark": "code"}, "benchmark is code, not chat"),
        ({"submission": "s2"}, "submission is s2, not s1"),
        ({"precision": "fp4"}, "precision is fp4, not fp8"),
        ({"division": "rdi"}, "division is rdi"),
        ({"accelerators": 16}, "accelerators is 16, not 8"),
        ({"data_set_hash": None}, "data_set_hash is None, not d1"),
    ],
)
def test_s1_a_curve_never_mixes(change: dict[str, Any], says: str) -> None:
    other: Identity = replace(IDENTITY, **change)
    with pytest.raises(InputError, match=says):
        curve_of(IDENTITY, "tps_per_user", [point(1), point(8, who=other)])


def test_a_curve_wants_a_known_interactivity_and_a_possible_c_max() -> None:
    with pytest.raises(InputError, match="as interactivity"):
        curve_of(IDENTITY, "latency", [])
    with pytest.raises(InputError, match="1 or more"):
        curve(c_max_declared=0)
