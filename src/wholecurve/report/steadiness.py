"""The steady state of a run in words, from `steady_state` and `official` of result_summary.json."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from wholecurve.report.official import BASES, between
from wholecurve.report.reading import at, clean, count, duration, items, known, mapping, number, rate, share, texts
from wholecurve.report.view import Row, Steady

VERDICTS: Final[Mapping[str, tuple[str, str]]] = {
    "STEADY STATE": ("good", "Time per output token stood still from the window on."),
    "anomaly": (
        "warn",
        "Time per output token stood still, then stepped to another level and stood still there.",
    ),
    "drifting_up": (
        "warn",
        "After the window time per output token rose. The window is a local plateau; a figure that drifts is a range.",
    ),
    "drifting_down": (
        "warn",
        "After the window time per output token fell. The window is a local plateau; a figure that drifts is a range.",
    ),
    "not found": ("bad", "Time per output token never stood still for long enough."),
}
"""Tone of each verdict, and what it means."""

STATUSES: Final[Mapping[str, str]] = {
    "windowable": "the window is long enough to carry the official figures",
    "insufficient_duration": "the window is shorter than the rules ask for",
    "insufficient_passes": "no window holds as many passes of the data set as the rules ask for",
    "partial_dataset": "less than one pass of the data set was issued",
}

REPORTED: Final[Mapping[str, str]] = {
    "window": " The first level is reported.",
    "total": " The official figures are over the whole run, both levels included.",
}
"""What is reported of a run with two levels, by the basis of its official figures."""

NO_WINDOW: Final[str] = "no steady window"


def steady_view(summary: Mapping[str, Any]) -> Steady | None:
    """What is said of the steady state; None for a summary that says nothing of it.

    A run of enough whole passes gets the full account, with a window or without; any other, one line.
    """
    block = mapping(summary, "steady_state")
    if not block:
        return None
    window, reason = mapping(block, "window"), clean(at(block, "reason") or "")
    whole = at(block, "cut", "aligned") is True
    none = "" if window and whole else f"{NO_WINDOW}: {reason or 'no reason is given'}"
    if not whole:
        return Steady(none, "quiet", "", "", "", (), ())
    verdict = clean(at(block, "verdict") or "", 40)
    tone, meaning = VERDICTS.get(verdict, ("quiet", ""))
    basis = str(at(block, "basis"))
    if verdict == "anomaly":
        meaning += REPORTED.get(basis, "")
    return Steady(
        none=none,
        tone="quiet" if tone == "good" and basis != "window" else tone,
        headline=verdict.replace("_", " ") or known(None),
        meaning=meaning,
        place=_place(window) if window else "",
        rows=tuple(_rows(summary, block, window, reason)),
        cautions=texts(block, "cautions"),
    )


def _place(window: Mapping[str, Any]) -> str:
    passes = f"super-passes {known(at(window, 'super_pass_start'))} to {known(at(window, 'super_pass_end'))}"
    return f"{passes}, {count(at(window, 'requests'))} requests, {duration(at(window, 'duration_ns'))}"


def _rows(
    summary: Mapping[str, Any], block: Mapping[str, Any], window: Mapping[str, Any], reason: str
) -> Iterator[Row]:
    status = clean(at(block, "status") or "", 40)
    basis = BASES.get(str(at(block, "basis")), known(None))
    yield "status", f"{status}: {STATUSES[status]}" if status in STATUSES else known(status)
    yield "official figures", f"over the {basis}" + (f": {reason}" if reason else "")
    passes = f"{count(at(block, 'cut', 'passes'))} passes"
    yield "window", f"{_place(window)} of issue time; of {passes}, counted from 0" if window else f"none in {passes}"
    extra = number(at(summary, "workload", "extended_ns"))
    if extra:
        yield "extended by", f"{duration(extra)}, until the window was long enough or the extra time was over"
    yield "series that decide", _movements(mapping(block, "state"))
    if mapping(block, "watched"):
        yield "series that only warn", _movements(mapping(block, "watched"))
    for one in items(block, "drifts"):
        if at(one, "state") != "Plateau":
            ends = [number(at(one, end)) for end in ("low", "high")]
            went = "" if ends[0] is None or ends[1] is None else f", {between(ends[0], ends[1], duration)}"
            moved = share(at(one, "change"))
            yield "after the window", f"{series_name(at(one, 'key'))} {known(at(one, 'state')).lower()}: {moved}{went}"
    if at(block, "anomaly", "sentence"):
        yield "level shift", clean(at(block, "anomaly", "sentence"))
    ramp, drain = (number(at(block, f"{name}_blocks")) for name in ("ramp", "drain"))
    yield "cropped", f"{_blocks(ramp)} of ramp at the start, {_blocks(drain)} of drain at the end"
    if window:
        yield "completed in the window", rate(at(window, "completed_tps"), "tokens/s", "no tokens were counted")


def _blocks(found: float | None) -> str:
    return f"{count(found)} block{'' if found == 1 else 's'}"


def _movements(states: Mapping[str, Any]) -> str:
    return ", ".join(f"{series_name(key)} {known(state).lower()}" for key, state in states.items()) or known(None)


def series_name(key: object) -> str:
    """`tpot_p90` as people say it: `TPOT P90`."""
    return clean(key, 40).replace("_", " ").upper()
