"""The five primary figures: on their official basis, with their interval, and the whole run beside them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from wholecurve.model.names import NAMES
from wholecurve.report.reading import at, clean, count, duration, mapping, number, rate
from wholecurve.report.view import POWER_REASON, Primary

BASES: Final[Mapping[str, str]] = {"window": "steady window", "total": "whole run"}
"""What a figure is made of, in words."""

Show = Callable[[object], str]


def definition(key: str) -> str:
    """The one definition of a name."""
    return NAMES[key].definition


def primary_figures(summary: Mapping[str, Any]) -> tuple[Primary, ...]:
    """The five figures of result_summary.json in their order. What is missing is `not measured`."""
    asked = number(at(summary, "concurrency", "requested"))
    held = at(summary, "concurrency", "mean_while_issuing")
    uncounted = at(summary, "not_measured", "output_sequence_lengths") or "no tokens were counted"
    wanted = asked if asked is not None else held
    level = "requested" if asked is not None else "mean_while_issuing"
    first = definition("ttft") + " The 90th percentile over successes."
    turns = number(at(summary, "e2e_avg_interactivity"))
    user = (
        _plain("Per user", _tokens(turns), uncounted, definition("e2e_avg_interactivity"))
        if turns
        else _official(
            summary, "Per user", "tps_per_user", at(summary, "tps_per_user"), _tokens,
            at(summary, "not_measured", "tpot") or uncounted, definition("tps_per_user"),
        )
    )  # fmt: skip
    return (
        _plain("Concurrency", count(wanted), "nothing was in flight", definition(level)),
        _official(
            summary, "TTFT P90", "ttft_p90_ns", at(summary, "ttft", "percentiles", "90.0"), duration,
            at(summary, "not_measured", "ttft"), first,
        ),
        _official(
            summary, "System throughput", "system_tps", at(summary, "system_tps"), _tokens, uncounted,
            definition("system_tps"),
        ),
        _plain(
            "Per provisioned kW", rate(at(summary, "system_tps_per_kw"), "tokens/s/kW"), POWER_REASON,
            "System throughput / provisioned power of the system under test in kW.",
        ),
        user,
    )  # fmt: skip


def _tokens(value: object) -> str:
    return rate(value, "tokens/s")


def _official(
    summary: Mapping[str, Any], label: str, key: str, whole: object, show: Show, reason: object, text: str
) -> Primary:
    """A figure of `official`; of a summary that has none, the figure of the whole run."""
    figure = mapping(summary, "official", "figures", key)
    value = number(at(figure, "value")) if figure else number(whole)
    basis = BASES.get(str(at(figure, "basis")), "")
    low, high = number(at(figure, "low")), number(at(figure, "high"))
    total = show(whole) if basis == BASES["window"] and number(whole) is not None else ""
    if value is None and low is not None and high is not None:
        found = _plain(label, between(low, high, show), "", text)
        return Primary(label, found.value, found.unit, "", text, basis, "range, it drifts", total)
    found = _plain(label, show(value), reason, text)
    if value is None:
        return found
    ends = [number(at(figure, "interval", end)) for end in ("low", "high")]
    interval = "" if ends[0] is None or ends[1] is None else f"95 %: {_interval(ends[0], ends[1], value, show)}"
    beside = total if total != show(value) else ""
    return Primary(label, found.value, found.unit, "", text, basis, interval, beside)


def _plain(label: str, shown: str, reason: object, text: str) -> Primary:
    """Value and unit apart, so that a card can set them in two sizes."""
    if shown.startswith("not measured"):
        return Primary(label, shown, "", clean(reason or ""), text)
    value, _, unit = shown.rpartition(" ")
    return Primary(label, value, unit, "", text) if value else Primary(label, unit, "", "", text)


def _interval(low: float, high: float, value: float, show: Show) -> str:
    """The ends of an interval; where both look alike, how far they are from the value."""
    if show(low) != show(high) or not value:
        return between(low, high, show)
    return f"±{100 * max(high - value, value - low) / abs(value):.2g} %"


def between(low: float, high: float, show: Show) -> str:
    """Two ends, the unit once if both have the same: `165 to 176 ms`."""
    first, last = show(low), show(high)
    head, _, unit = first.rpartition(" ")
    if first == last:
        return last
    return f"{head} to {last}" if head and last.endswith(f" {unit}") else f"{first} to {last}"
