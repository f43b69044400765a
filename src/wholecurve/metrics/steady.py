"""Steady state of a run: where it is, whether it lasted, and which figures are official.

Crop the ramp, cut the drain if that is safe, find plateaus of TPOT over super-passes, take the first that is long
enough, then say what happened after it. Source: rules.md section 10 (words, status, verdict, basis) and
reference-client.md section 13.3 (detector); every number is in `window_rules.THRESHOLDS`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from wholecurve.metrics.columns import Columns, Floats
from wholecurve.metrics.latency import latency, tpot
from wholecurve.metrics.official import Figure, completed_tokens_per_s, figures
from wholecurve.metrics.plateau import (
    Drift,
    LevelShift,
    Plateau,
    Required,
    choose,
    drifts,
    is_flat,
    level_shift,
    plateaus,
    required,
    state_of,
)
from wholecurve.metrics.quantile import percentile_of
from wholecurve.metrics.steady_words import basis_reason, cautions_of, gating_drifts
from wholecurve.metrics.superpass import Blocks, PassCut, Ramp, cut_blocks, drain_blocks, invariant, ramp_blocks
from wholecurve.metrics.window_rules import DECISIONS, Flag, Movement, WindowRules
from wholecurve.model.plan import Pattern
from wholecurve.model.steadiness import Basis, Coverage, SteadyVerdict
from wholecurve.model.units import show_percent


@dataclass(frozen=True, slots=True)
class SteadyWindow:
    """The window: requests issued in it, from the first issue to the last.

    super_pass_start, super_pass_end: first and last super-pass, from 0; None when the run was cut into other blocks.
    super_passes: how many super-passes of requests it holds. start_ns, end_ns: monotonic, as in the records.
    plateau_index: its place among the plateaus; those before it were too short. required: the time it should last.
    low_confidence: True unless the run is windowable. completed_tps: tokens completed in the span / the span.
    """

    super_pass_start: int | None
    super_pass_end: int | None
    super_passes: float
    requests: int
    succeeded: int
    start_ns: int
    end_ns: int
    duration_ns: int
    plateau: Plateau
    plateau_index: int
    required: Required
    low_confidence: bool
    completed_tps: float | None


@dataclass(frozen=True, slots=True)
class SteadyState:
    """What may be said of a run's steadiness.

    status, verdict: None when a steady state does not apply to the run; `reason` says why, as it does when the basis
    is `total`. cut: how the run was cut into blocks, None if it was not. ramp_blocks, drain_blocks: cropped at the
    front, cut at the end. state: movement of each gating series inside the window (of all blocks left, without a
    window); watched: of the others. drifts: movement after the window. anomaly: a confirmed step to another plateau.
    series: per block by gate key, for charts, None where nothing was measured; block_starts_ns beside it. figures:
    the headline figures.
    """

    status: Coverage | None
    verdict: SteadyVerdict | None
    basis: Basis
    flag: Flag
    reason: str | None
    window: SteadyWindow | None
    cut: PassCut | None
    ramp_blocks: int
    drain_blocks: int
    state: Mapping[str, Movement]
    watched: Mapping[str, Movement]
    drifts: tuple[Drift, ...]
    anomaly: LevelShift | None
    plateaus: tuple[Plateau, ...]
    block_starts_ns: tuple[int, ...]
    series: Mapping[str, tuple[float | None, ...]]
    figures: tuple[Figure, ...]
    cautions: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _Edges:
    """Blocks [start, stop) are looked at; what was left out at either end, and what is to be said about it."""

    start: int
    stop: int
    drain: int
    cautions: tuple[str, ...]


def steady_state(
    columns: Columns,
    rules: WindowRules,
    *,
    rows: int,
    pattern: Pattern,
    concurrency: int | None = None,
    agentic: bool | None = None,
) -> SteadyState:
    """Steady state of one performance phase.

    columns: its requests, in any order. rows: size of the data set. concurrency: the target, in a closed loop. agentic:
    None takes any run with a second turn as agentic. Open loops get a window and a verdict, but the rules know an
    official window only for fixed concurrency, so their basis is `total`.
    """
    why_not = _not_applicable(columns, pattern, agentic)
    if why_not is not None:
        return _without(columns, why_not)
    closed = pattern is Pattern.CONCURRENCY
    blocks = cut_blocks(columns, rows, rules)
    edges = _edges(columns, blocks, rules, concurrency if closed else None)
    found = plateaus(blocks.series, edges.start, edges.stop, rules) if blocks.cut.passes >= 1 else ()
    needs = [_required(columns, blocks, one, rules) for one in found]
    at = choose([blocks.span_ns(one.start, one.end) for one in found], needs)
    chosen = None if at is None else found[at]
    span_ns = blocks.span_ns(chosen.start, chosen.end) if chosen else 0
    status = coverage(blocks.cut, _passes(blocks.cut, chosen), span_ns, rules)
    moves = drifts(blocks.series, chosen, found, edges.stop, rules) if chosen else ()
    shift = level_shift(blocks.series, chosen, found, rules) if chosen else None
    seen = verdict(chosen is not None, gating_drifts(moves, rules), shift)
    basis, flag = decide(status, seen, in_scope=closed)
    reason = basis_reason(blocks.cut, status, chosen is not None, span_ns, rules, closed)
    looked = (chosen.start, chosen.end) if chosen else (edges.start, edges.stop)
    return SteadyState(
        status=status,
        verdict=seen,
        basis=basis,
        flag=flag,
        reason=reason,
        window=None if at is None else _window(columns, blocks, found, at, needs[at], status),
        cut=blocks.cut,
        ramp_blocks=edges.start,
        drain_blocks=edges.drain,
        state=_states(blocks, looked, rules, gating=True),
        watched=_states(blocks, looked, rules, gating=False),
        drifts=moves,
        anomaly=shift if shift is not None and shift.confirmed else None,
        plateaus=found,
        block_starts_ns=tuple(blocks.starts_ns.tolist()),
        series={key: _plain(values) for key, values in blocks.series.items()},
        figures=figures(
            columns,
            blocks,
            looked if chosen else None,
            basis=basis,
            reason=reason,
            drifts={move.key: move for move in gating_drifts(moves, rules)},
        ),
        cautions=edges.cautions + cautions_of(blocks, found, at, needs, moves, shift, edges.stop, rules),
    )


def coverage(cut: PassCut, window_passes: float, span_ns: int, rules: WindowRules) -> Coverage:
    """Coverage of rules.md section 10.2. window_passes: whole super-passes of the window, 0 without one."""
    if cut.passes < 1:
        return Coverage.PARTIAL_DATASET
    if window_passes < rules.min_super_passes:
        return Coverage.INSUFFICIENT_PASSES
    return Coverage.INSUFFICIENT_DURATION if span_ns < rules.min_duration_ns else Coverage.WINDOWABLE


def verdict(found: bool, moves: Sequence[Drift], shift: LevelShift | None) -> SteadyVerdict:
    """Verdict of rules.md section 10.3. Of several the worst: rising, falling, another plateau."""
    states = {move.state for move in moves}
    if not found:
        return SteadyVerdict.NOT_FOUND
    if Movement.DRIFTING_UP in states:
        return SteadyVerdict.DRIFTING_UP
    if Movement.DRIFTING_DOWN in states:
        return SteadyVerdict.DRIFTING_DOWN
    return SteadyVerdict.ANOMALY if shift is not None and shift.confirmed else SteadyVerdict.STEADY


def decide(status: Coverage, seen: SteadyVerdict, *, in_scope: bool) -> tuple[Basis, Flag]:
    """Official basis and flag (rules.md section 10.3, choice C2). Raises ValueError for windowable without a window."""
    if not in_scope:
        return Basis.TOTAL, Flag.OUT_OF_SCOPE
    if status is not Coverage.WINDOWABLE:
        return Basis.TOTAL, Flag.FALLBACK
    if seen not in DECISIONS:
        raise ValueError(f"a {status} run cannot have the verdict {seen!r}: the block is inconsistent")
    return DECISIONS[seen]


def _not_applicable(columns: Columns, pattern: Pattern, agentic: bool | None) -> str | None:
    turns = columns["turn"][columns.known("turn")]
    if agentic or (agentic is None and len(turns) and int(turns.max()) > 0):
        return "agentic: turns wait for each other and no pass repeats, so the whole run is the basis"
    if pattern is Pattern.OFFLINE:
        return "offline: all requests are issued at once, so issue time has no window; the whole run is the basis"
    if not columns.known("issued_ns").any():
        return "no request was issued"
    if not columns.succeeded.any():
        return "no request succeeded"
    if not np.isfinite(tpot(columns)[columns.succeeded]).any():
        return "TPOT was not measured (it needs streamed answers and token counts), and it alone shows steadiness"
    return None


def _without(columns: Columns, reason: str) -> SteadyState:
    total = figures(columns, None, None, basis=Basis.TOTAL, reason=reason, drifts={})
    return SteadyState(
        *(None, None, Basis.TOTAL, Flag.OUT_OF_SCOPE, reason, None, None, 0, 0),
        *({}, {}, (), None, (), (), {}, total, ()),
    )


def _edges(columns: Columns, blocks: Blocks, rules: WindowRules, concurrency: int | None) -> _Edges:
    """Ramp and drain.

    Before a step, a run stands still on another level than its back half: that is no ramp but the first plateau, the
    one to be reported. So blocks are cropped by their TPOT only up to a plateau off that level and without any trend.
    """
    ramp = ramp_blocks(columns, blocks, rules, concurrency)
    early = plateaus(blocks.series, ramp.lead, blocks.cut.blocks, rules) if ramp.settled > ramp.lead else ()
    start = next((one.start for one in early if _is_step(blocks, one, ramp, rules)), ramp.settled)
    reason = f"{concurrency} requests were never in flight at once: the end of the ramp is a guess"
    said = [] if ramp.reached else [reason]
    drain = drain_blocks(blocks, start, rules)
    if drain:
        members = blocks.members(start, blocks.cut.blocks)
        spread, skew, safe = invariant(tpot(columns)[members][columns.succeeded[members]], rules)
        if not safe:
            said.append(
                f"the last {drain} blocks ran mostly while the load fell and are kept: TPOT depends on the request "
                f"(spread {show_percent(spread)}, limit {show_percent(rules.tail_spread)}; "
                f"skew {show_percent(skew)}, limit {show_percent(rules.tail_skew)})"
            )
            drain = 0
    return _Edges(start, blocks.cut.blocks - drain, drain, tuple(said))


def _is_step(blocks: Blocks, early: Plateau, ramp: Ramp, rules: WindowRules) -> bool:
    off = abs(next(iter(early.levels.values())) - ramp.level) > rules.ramp_band * ramp.level
    return early.start < ramp.settled and off and is_flat(blocks.series, early, rules)


def _required(columns: Columns, blocks: Blocks, plateau: Plateau, rules: WindowRules) -> Required:
    """Time a plateau should last. A block lasts from its first issue to that of the next."""
    members = blocks.members(plateau.start, plateau.end)
    slow = percentile_of(latency(columns)[members][columns.succeeded[members]], rules.relaxation_percentile)
    spans = np.diff(blocks.starts_ns[plateau.start : plateau.end])
    return required(plateau, float(np.median(spans)), float(slow or 0), rules)


def _passes(cut: PassCut, plateau: Plateau | None) -> float:
    """Whole super-passes of a plateau; blocks of any mix are none."""
    whole = plateau is not None and cut.aligned
    return (plateau.end - plateau.start) * cut.block_size / cut.pass_size if plateau and whole else 0.0


def _window(
    columns: Columns, blocks: Blocks, found: Sequence[Plateau], at: int, need: Required, status: Coverage
) -> SteadyWindow:
    plateau, cut = found[at], blocks.cut
    per_block = cut.block_size // cut.pass_size
    members = blocks.members(plateau.start, plateau.end)
    start_ns = int(blocks.starts_ns[plateau.start : plateau.end].min())
    span = blocks.span_ns(plateau.start, plateau.end)
    return SteadyWindow(
        super_pass_start=plateau.start * per_block if cut.aligned else None,
        super_pass_end=plateau.end * per_block - 1 if cut.aligned else None,
        super_passes=len(members) / cut.pass_size,
        requests=len(members),
        succeeded=int(columns.succeeded[members].sum()),
        start_ns=start_ns,
        end_ns=start_ns + span,
        duration_ns=span,
        plateau=plateau,
        plateau_index=at,
        required=need,
        low_confidence=status is not Coverage.WINDOWABLE,
        completed_tps=completed_tokens_per_s(columns, blocks, (plateau.start, plateau.end)),
    )


def _states(blocks: Blocks, looked: tuple[int, int], rules: WindowRules, *, gating: bool) -> dict[str, Movement]:
    """Movement of the gating series, or of the others, over blocks [start, end)."""
    rows = (gate for gate in rules.gates if gate.gates is gating)
    return {gate.key: state_of(blocks.series[gate.key][slice(*looked)], rules) for gate in rows}


def _plain(values: Floats) -> tuple[float | None, ...]:
    return tuple(value if np.isfinite(value) else None for value in values.tolist())
