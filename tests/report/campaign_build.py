"""A made campaign: real summaries of made runs at several levels, a plan, a journal, power, accuracy."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

from report_build import made_columns, made_plan, made_summary, made_worker

from wholecurve.metrics import Columns
from wholecurve.model.curve import Curve, curve_of
from wholecurve.model.point import Figure, Identity, Point, PointKind, Power, Provenance, Standing
from wholecurve.model.record import RunState
from wholecurve.model.status import Status
from wholecurve.report import CampaignView, campaign_view

LEVELS = (1, 4, 8, 16, 32, 64, 128)
LOCAL = Standing(Status.UNVERIFIED, local=True)
POWER = Power(10.2, "component sum, air-cooled", estimated=True)


def identity(text: str = "") -> Identity:
    """Whose curve it is; `text` in every name."""
    return Identity(
        system=text or "8 x Example accelerators",
        benchmark=text or "demo",
        submission=text or "made-campaign",
        model=text or "meta-llama/Llama-3.1-8B",
        definition_version="1",
        data_set_hash="3f" * 32,
        tokenizer_hash="ab" * 32,
        rules_version=text or "v1_0 E3",
        precision=text or "fp8",
        accelerators=8,
        nodes=1,
    )


@lru_cache(maxsize=64)
def columns_at(slots: int, detail: str = "") -> Columns:
    """The records of one level."""
    return made_columns(max(180, 8 * min(slots, 256)), max(1, min(slots, 256)), detail=detail)


@lru_cache(maxsize=64)
def summary_at(slots: int, text: str = "", strained: bool = False) -> dict[str, Any]:
    """result_summary.json of one level, with the steady state and the official figures beside the whole run."""
    columns = columns_at(slots, text)
    more: dict[str, Any] = {"workers": (made_worker(cpu_ns=50_000_000_000),)} if strained else {}
    found = made_summary(columns, made_plan(slots, text=text), **more)
    found["official"] = {"basis": "window", "flag": "none", "figures": {}}
    found["steady_state"] = {
        "status": "windowable", "verdict": "STEADY STATE", "basis": "window", "reason": text or None,
        "window": {"super_passes": 4.0, "requests": 120, "duration_ns": 31_000_000_000, "low_confidence": False},
    }  # fmt: skip
    return found


def point_at(level: int, *, text: str = "", **changes: Any) -> Point:
    """The point of one level, its figures with intervals."""
    summary = summary_at(level, text)
    speed = summary["tps_per_user"]
    tps = summary["system_tps"]
    wait = summary["ttft"]["percentiles"]["90.0"]
    found: dict[str, Any] = {
        "identity": identity(text),
        "provenance": Provenance(f"points/r{level}", RunState.COMPLETE, "reference", "ok", "STEADY STATE"),
        "standing": LOCAL,
        "concurrency": level,
        "kind": PointKind.CURVE,
        "figures": {
            "system_tps": Figure(tps, low=tps * 0.96, high=tps * 1.05, runs=2, spread=0.012),
            "ttft_p90_ns": Figure(wait, low=wait * 0.9, high=wait * 1.2),
            "tps_per_user": Figure(speed, low=speed * 0.97, high=speed * 1.02),
            "output_length_mean": Figure(90.0),
        },
        "power": POWER,
    }
    return Point(**(found | changes))


def offline_at(tps: float, *, text: str = "") -> Point:
    """A dedicated Offline run."""
    why = Figure(None, "not applicable to Offline")
    return point_at(
        1, text=text, concurrency=600, kind=PointKind.OFFLINE,
        provenance=Provenance("points/offline", RunState.COMPLETE, "reference", "ok", None),
        figures={"system_tps": Figure(tps), "ttft_p90_ns": why, "output_length_mean": Figure(90.0)},
    )  # fmt: skip


@dataclass
class Made:
    """A campaign in the making."""

    points: list[Point]
    text: str = ""
    c_max: int | None = 128
    plan: dict[str, Any] = field(default_factory=dict)
    entries: list[dict[str, Any]] = field(default_factory=list)
    summaries: dict[str, Any] = field(default_factory=dict)
    accuracy: dict[str, Any] = field(default_factory=dict)
    power: dict[str, Any] | None = None
    system: dict[str, Any] | None = None

    def curve(self) -> Curve:
        return curve_of(
            identity(self.text), "tps_per_user", self.points, c_max_declared=self.c_max, mark_duplicates=True
        )

    def view(self, **more: Any) -> CampaignView:
        return campaign_view(
            self.curve(), plan=self.plan, entries=self.entries, summaries=self.summaries, accuracy=self.accuracy,
            power=self.power, system=self.system, **more,
        )  # fmt: skip


def made(levels: Sequence[int] = LEVELS, *, offline: bool = True, text: str = "") -> Made:
    """A complete campaign at these levels."""
    points = [point_at(level, text=text) for level in levels]
    tops = [point.figure("system_tps").value or 0.0 for point in points]
    summaries: dict[str, Any] = {f"r{level}": summary_at(level, text) for level in levels}
    if offline and points:
        points.append(offline_at(1.08 * max(tops), text=text))
        summaries["offline"] = summary_at(200, text)
    labels = list(summaries)
    return Made(
        points,
        text,
        c_max=max((*levels, 34)) if levels else None,
        plan=made_plan_yaml(levels, labels, text),
        entries=journal(labels, text),
        summaries=summaries,
        accuracy={
            label: {"accuracy_scores": [{"dataset_name": text or "demo", "score": 71.9, "gate": 50, "passed": True}]}
            for label in labels[-1:]
        },
        power={"cooling": "air", "node_sets": [{"node_set_id": 1, "note": text}]},
        system={"system_name": text or "8 x Example accelerators", "api_key": "secret-in-a-file"},
    )


def made_plan_yaml(levels: Sequence[int], labels: Sequence[str], text: str = "") -> dict[str, Any]:
    """plan.yaml of the campaign."""
    return {
        "schema": "wholecurve.campaign/1", "name": text or "made-campaign", "created": "2026-03-01T09:00:00+00:00",
        "settings": {"endpoint": {"url": text or "http://10.0.0.7:8000/v1", "api_key": "(redacted)"}},
        "rules": {"version": text or "v1_0", "edition": "E3", "fingerprint": "cd" * 32, "benchmark": "demo"},
        "endpoint": {"urls": [text or "http://10.0.0.7:8000/v1"], "models": ["m"], "server": text or "vllm 0.11"},
        "datasets": [{"name": text or "demo", "rows": 16, "sha256": "3f" * 32}],
        "tokenizer": {"name": text or "meta-llama/Llama-3.1-8B", "sha256": "ab" * 32},
        "c_min": min(levels, default=None), "c_max": max((*levels, 34)) if levels else None, "c_max_found": True,
        "levels": [{"label": label, "why": text or "a level"} for label in labels],
        "order": labels, "order_seed": 7, "repeats": 2, "idle_gap_s": 5, "max_extra_s": 60, "seed_set": "A",
        "target_cohort": "2026-10-C1", "estimate_s": 300, "interactivity_key": "tps_per_user",
    }  # fmt: skip


def journal(labels: Sequence[str], text: str = "", *, finished: bool = True) -> list[dict[str, Any]]:
    """One entry each 40 s; every point takes 40 s, with 5 s between points."""
    found: list[dict[str, Any]] = [{"at": "2026-03-01T09:00:00+00:00", "event": "created", "note": text}]
    now = 30
    for label in labels:
        start, end = (f"2026-03-01T{9 + t // 3600:02}:{t // 60 % 60:02}:{t % 60:02}+00:00" for t in (now, now + 40))
        found.append({"at": start, "event": "point_started", "label": label, "attempt": 1, "repeat": 1})
        ended = {"state": "complete", "valid": True, "invalid": [], "folder": f"points/{label}"}
        found.append({"at": end, "event": "point_ended", "label": label, "attempt": 1, "repeat": 1, **ended})
        now += 45
    return [*found, {"at": "2026-03-01T12:00:00+00:00", "event": "finished"}] if finished else found
