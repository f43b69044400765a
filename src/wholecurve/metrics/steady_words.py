"""What a reader is told about a steady state: why the whole run is the basis, and what to keep in mind."""

from __future__ import annotations

from collections.abc import Sequence

from wholecurve.metrics.plateau import Drift, LevelShift, Plateau, Required
from wholecurve.metrics.superpass import Blocks, PassCut
from wholecurve.metrics.window_rules import Movement, WindowRules
from wholecurve.model.steadiness import Coverage
from wholecurve.model.units import show_duration, show_percent


def basis_reason(
    cut: PassCut, status: Coverage, found: bool, span_ns: int, rules: WindowRules, in_scope: bool
) -> str | None:
    """Why the basis is the whole run; None if it is not."""
    if not in_scope:
        return "the rules know an official window only at fixed concurrency; the window is shown beside the whole run"
    if status is Coverage.PARTIAL_DATASET:
        return f"the run issued {cut.requests} requests, less than one pass of {cut.pass_size}"
    if status is Coverage.INSUFFICIENT_DURATION:
        wanted = show_duration(rules.min_duration_ns)
        return f"the steady window spans {show_duration(span_ns)} of issue time, wanted {wanted}: run longer"
    if status is Coverage.WINDOWABLE:
        return None
    if cut.passes < rules.passes_needed:
        return f"the run has {cut.passes:.3g} passes of the data set, wanted at least {rules.passes_needed}"
    return "the window is shorter than the rules want" if found else "no plateau: the figures never stood still"


def cautions_of(
    blocks: Blocks,
    found: Sequence[Plateau],
    at: int | None,
    needs: Sequence[Required],
    moves: Sequence[Drift],
    shift: LevelShift | None,
    stop: int,
    rules: WindowRules,
) -> tuple[str, ...]:
    """What a reader of the window should know; none of it changes the verdict."""
    said: list[str] = []
    if not blocks.cut.aligned:
        said.append(f"too few passes: cut into blocks of {blocks.cut.block_size} requests whose mix of work may differ")
    if at is None:
        return tuple(said)
    window, span = found[at], blocks.span_ns(found[at].start, found[at].end)
    if at:
        said.append(f"{at} earlier plateaus were too short to count")
    if rules.min_duration_ns <= span < needs[at].ns:
        short = f"the window lasts {show_duration(span)}, and should last {show_duration(needs[at].ns)}"
        why = "by the slowest latencies" if needs[at].ns == needs[at].relaxation_ns else "by its own noise"
        said.append(f"{short} {why}")
    gating = {move.key for move in gating_drifts(moves, rules)}
    said += [
        f"{move.key} moves by {show_percent(move.change, sign=True)} over the rest of the run: the window is a local "
        "plateau"
        for move in moves
        if move.state is not Movement.PLATEAU and move.key not in gating
    ]
    if shift is not None and not shift.confirmed:
        said.append(f"{shift_sentence(shift, blocks.cut)}: not confirmed, too few super-passes or too much noise")
    after = {block for one in found for block in range(one.start, one.end)}
    loose = sum(block not in after for block in range(window.end, stop))
    if loose:
        said.append(f"{loose} of {stop - window.end} blocks after the window are on no plateau")
    return tuple(said)


def shift_sentence(shift: LevelShift, cut: PassCut) -> str:
    """A step in words."""
    place = int(shift.block * cut.block_size // cut.pass_size)
    change = show_percent(shift.change, sign=True)
    return f"level shift at super-pass {place}: {shift.key} {change} (change-point test p = {shift.p:.2g})"


def gating_drifts(moves: Sequence[Drift], rules: WindowRules) -> list[Drift]:
    """The rows of the series that gate."""
    gates = {gate.key for gate in rules.gates if gate.gates}
    return [move for move in moves if move.key in gates]
