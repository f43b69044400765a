"""What can be said while a run goes on, from the shared page alone. For screens; never for results."""

from __future__ import annotations

from dataclasses import dataclass

from wholecurve.load import planned_total
from wholecurve.model.plan import PhasePlan
from wholecurve.model.record import RunState
from wholecurve.run.control import Control, Global
from wholecurve.run.control import Reducer as ReducerCell
from wholecurve.run.control import Worker as Cell


@dataclass(frozen=True, slots=True)
class Live:
    """One look. Rates and TTFT lag behind by what the reducers have not read yet. `None`: not known (yet).

    `min_duration_ns` is from the start of the phase, its lead included as far as it has gone. `extending`: the stop
    rule is met and issuing is held open, because the steady window is not long enough yet.
    """

    phase: str
    number: int
    elapsed_ns: int
    total: int | None
    min_duration_ns: int
    max_duration_ns: int | None
    issued: int
    ended: int
    in_flight: int
    succeeded: int
    failed: int
    output_events: int
    output_tokens: int
    ttft_p90_ns: float | None
    connections: int
    state: RunState
    draining: bool
    extending: bool = False

    @property
    def share_done(self) -> float | None:
        """0 to 1 by whichever of count and shortest time is further from its end, or by the longest time if that is
        nearer; None if none is known."""
        least = []
        if self.total:
            least.append(self.ended / self.total)
        if self.min_duration_ns:
            least.append(self.elapsed_ns / self.min_duration_ns)
        ends = [min(least)] if least else []
        if self.max_duration_ns:
            ends.append(self.elapsed_ns / self.max_duration_ns)
        return min(1.0, max(ends)) if ends else None

    @property
    def left_ns(self) -> float | None:
        """Estimated time left, by what has been done so far."""
        share = self.share_done
        if not share or self.elapsed_ns <= 0:
            return None
        return self.elapsed_ns * (1 - share) / share


def live_view(control: Control, phase: PhasePlan, number: int, now_ns: int, state: RunState) -> Live:
    """Read the shared page."""
    start = control.run[Global.PHASE_START]
    current = [reducer for reducer in control.reducers if reducer[ReducerCell.PHASE] == number]

    def reduced(cell: ReducerCell) -> int:
        return sum(reducer[cell] for reducer in current)

    elapsed_ns = max(0, now_ns - start) if start else 0
    least_ns = phase.stop.min_duration_ns
    if least_ns and phase.stop.lead_samples:
        lead_at = control.run[Global.LEAD_AT]
        least_ns += lead_at - start if lead_at else elapsed_ns
    extended = bool(control.run[Global.MET_AT])
    ended = bool(control.run[Global.PHASE_ISSUE_END])
    return Live(
        phase=phase.name,
        number=number,
        elapsed_ns=elapsed_ns,
        total=None if extended else planned_total(phase.stop, phase.rows),
        min_duration_ns=least_ns,
        max_duration_ns=phase.stop.max_duration_ns,
        issued=control.total(Cell.ISSUED),
        ended=control.total(Cell.COMPLETED),
        in_flight=control.total(Cell.ISSUED) - control.total(Cell.COMPLETED),
        succeeded=reduced(ReducerCell.SUCCEEDED),
        failed=reduced(ReducerCell.FAILED),
        output_events=reduced(ReducerCell.OUTPUT_EVENTS),
        output_tokens=reduced(ReducerCell.OUTPUT_TOKENS),
        ttft_p90_ns=_histogram_percentile(control.ttft_counts(), 0.9),
        connections=control.total(Cell.OPEN),
        state=state,
        draining=ended,
        extending=extended and not ended,
    )


def _histogram_percentile(counts: list[int], share: float) -> float | None:
    """Middle of the bucket that holds the percentile, in ns; each bucket is 4.4 % wide."""
    total = sum(counts)
    if not total:
        return None
    wanted, seen = share * total, 0
    for bucket, count in enumerate(counts):
        seen += count
        if seen >= wanted:
            return float(1000 * 2 ** ((bucket + 0.5) / 16))
    return None
