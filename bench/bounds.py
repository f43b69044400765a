"""The bounds that the client must keep, each as one row: what, how good, and a function from results to figures.

Ratios to other clients are formed within one repeat, never across repeats; then the median over repeats counts, and
minimum and maximum are shown beside it. A bound without its data is `not measured`, never `ok`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any

Row = Mapping[str, Any]
OURS, FLOOR = "wholecurve", "limitc"
PEERS = ("aiperf", "inference-perf")


@dataclass(frozen=True, slots=True)
class Figure:
    """A figure over the repeats, whether it is within its bound, and words for what a number does not say."""

    values: tuple[float, ...]
    ok: bool
    note: str = ""

    @property
    def text(self) -> str:
        if not self.values:
            return self.note
        low, mid, high = min(self.values), median(self.values), max(self.values)
        spread = "" if len(self.values) == 1 else f" ({low:.3g} to {high:.3g})"
        return f"{mid:.3g}{spread}" + (f"; {self.note}" if self.note else "")


Judge = Callable[[Sequence[Row]], Figure | None]


@dataclass(frozen=True, slots=True)
class Bound:
    """One promise. `figure` returns None when the results hold nothing to judge it by."""

    what: str
    limit: str
    figure: Judge


def runs(results: Sequence[Row], setting: str, client: str) -> list[Row]:
    """The good runs of one client under one setting, by repeat."""
    return [r for r in results if r["setting"] == setting and r["client"] == client and not r["error"]]


def judged(values: Iterable[float | None], holds: Callable[[float], bool], note: str = "") -> Figure | None:
    """A figure whose median must hold; None without values."""
    known = tuple(value for value in values if value is not None)
    return Figure(known, holds(median(known)), note) if known else None


def failed(results: Sequence[Row], setting: str) -> Figure | None:
    """A run of ours that ended in an error breaks every bound of its setting."""
    errors = [r["error"] for r in results if r["setting"] == setting and r["client"] == OURS and r["error"]]
    return Figure((), False, f"run failed: {errors[0].splitlines()[0]}") if errors else None


def worst(errors: Mapping[str, float], percentiles: Sequence[str]) -> float | None:
    """The largest of |error| over some percentiles."""
    known = [abs(errors[p]) for p in percentiles if p in errors]
    return max(known) if len(known) == len(percentiles) else None


def error_bound(
    setting: str, key: str, percentiles: Sequence[str], limit: float
) -> Callable[[Sequence[Row]], Figure | None]:
    def figure(results: Sequence[Row]) -> Figure | None:
        ours = runs(results, setting, OURS)
        return failed(results, setting) or judged((worst(r[key], percentiles) for r in ours), lambda x: x <= limit)

    return figure


def full_core(results: Sequence[Row]) -> Figure | None:
    """c1024f: TTFT P99 within 1 ms, and no `ok` verdict of a client whose core is full."""
    ours = runs(results, "c1024f", OURS)
    if not ours:
        return failed(results, "c1024f")
    values = tuple(abs(r["ttft_error_ms"]["99"]) for r in ours)
    honest = all(r["verdict"] != "ok" for r in ours if r["core_used"] > 0.9)
    said = ", ".join(f"{r['verdict']} at {r['core_used']:.2f} of the core" for r in ours)
    return Figure(values, median(values) <= 1.0 and honest, said)


def ratio_to(setting: str, key: str, others: Sequence[str], holds: Callable[[float], bool]) -> Judge:
    """Ours / the least of the others in the same repeat."""

    def figure(results: Sequence[Row]) -> Figure | None:
        ratios, names = [], set()
        for ours in runs(results, setting, OURS):
            same = [r for other in others for r in runs(results, setting, other) if r["repeat"] == ours["repeat"]]
            if same:
                best = min(same, key=lambda r: r[key])
                ratios.append(ours[key] / best[key])
                names.add(best["client"])
        return failed(results, setting) or judged(ratios, holds, "against " + ", ".join(sorted(names)))

    return figure


def at_most(setting: str, key: str, limit: float) -> Judge:
    def figure(results: Sequence[Row]) -> Figure | None:
        return failed(results, setting) or judged((r[key] for r in runs(results, setting, OURS)), lambda x: x <= limit)

    return figure


def concurrency_held(results: Sequence[Row]) -> Figure | None:
    """Our own records never show more or less than asked for, and the server saw it held in the middle of the run."""
    ours = [r for name in ("c32", "c256", "c1024", "c4096") for r in runs(results, name, OURS)]
    if not ours:
        return None
    exact = all(r["in_flight_peak_reported"] == r["concurrency"] for r in ours)
    held = tuple(r["in_flight_middle"] / r["concurrency"] for r in ours if r["setting"] == "c256")
    peaks = ", ".join(f"{r['in_flight_peak_reported']} of {r['concurrency']}" for r in ours)
    return Figure(held, exact and all(share >= 0.99 for share in held), f"share held at 256; peaks {peaks}")


def role_is_no_token(results: Sequence[Row]) -> Figure | None:
    """A role-only chunk sent 20 ms ahead of the first token moves nothing."""
    ours = runs(results, "role", OURS)
    return failed(results, "role") or judged(
        (worst(r["ttft_error_ms"], ("50", "90", "99")) for r in ours), lambda x: x <= 0.1
    )


def poisson_lag(results: Sequence[Row]) -> Figure | None:
    ours = runs(results, "poisson", OURS)
    if not ours:
        return failed(results, "poisson")
    values = tuple(r["start_lag_p99_ms"] for r in ours)
    said = ", ".join(f"{r['verdict']}, at the server {r['true_start_lag_ms'].get('99', 0):.3g}" for r in ours)
    ok = all(r["start_lag_p99_ms"] <= 1.0 or r["verdict"] == "client-limited" for r in ours)
    return Figure(values, ok, said)


CPU = "cpu_us_per_event"
ALL, TWO = ("50", "90", "99"), ("50", "90")
TTFT_SETTINGS = ("c1", "c32", "c256", "c1024", "c4096")
RATE_SETTINGS = ("c32", "c256", "c1024", "c4096")

BOUNDS: tuple[Bound, ...] = (
    *(
        Bound(f"TTFT error P50, P90, P99 at {name}, ms", "<= 0.1", error_bound(name, "ttft_error_ms", ALL, 0.1))
        for name in TTFT_SETTINGS
    ),
    Bound("TTFT error P99 at c1024f, ms, and an honest verdict", "<= 1", full_core),
    *(
        Bound(f"{what} error {p} at {name}, %", "<= 0.5", error_bound(name, key, percentiles, 0.5))
        for name in RATE_SETTINGS
        for what, p, key, percentiles in (
            ("TPOT", "P50, P90", "tpot_error_percent", TWO),
            ("gap", "P50, P90", "gap_error_percent", TWO),
            ("tokens/s", "", "tokens_error_percent", ("all",)),
        )
    ),
    Bound("TTFT error with the role-only chunk at once, ms", "<= 0.1", role_is_no_token),
    Bound("CPU per event at c256 / C floor", "<= 2", ratio_to("c256", "cpu_us_per_event", (FLOOR,), lambda x: x <= 2)),
    Bound(
        "CPU per event at c256 / best peer", "<= 0.5", ratio_to("c256", "cpu_us_per_event", PEERS, lambda x: x <= 0.5)
    ),
    Bound("events/s in flood / C floor", ">= 0.9", ratio_to("flood", "events_per_s", (FLOOR,), lambda x: x >= 0.9)),
    Bound("concurrency reached and held", "exactly", concurrency_held),
    Bound("memory at c256, MB (PSS, all processes)", "<= 150", at_most("c256", "pss_peak_mb", 150)),
    Bound("start of the command to the first request, s", "<= 0.7", at_most("c256", "start_s", 0.7)),
    Bound("last answer to the report on disk at c256, s", "<= 2", at_most("c256", "report_s", 2)),
    Bound("start lag P99 at 10,000 requests/s, ms", "<= 1, or client-limited", poisson_lag),
)


def evaluate(results: Sequence[Row]) -> list[dict[str, Any]]:
    """Every bound with its verdict: ok, MISSED or not measured."""
    rows = []
    for bound in BOUNDS:
        figure = bound.figure(results)
        verdict = "not measured" if figure is None else "ok" if figure.ok else "MISSED"
        rows.append(
            {
                "what": " ".join(bound.what.split()),
                "bound": bound.limit,
                "verdict": verdict,
                "figure": figure.text if figure else "",
                "values": list(figure.values) if figure else [],
            }
        )
    return rows
