"""Runs a campaign from where it stands to its end, one point after the other, and survives what happens to it.

Every step is in the journal before the next one begins. A run that was cut off, failed or was not valid is moved to
`attempts/` before its level is measured again: nothing is deleted, and nothing is measured twice in silence.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from wholecurve.model.errors import InterruptedRun, MeasureError, SetupError, WholecurveError
from wholecurve.model.record import RunState
from wholecurve.model.steadiness import Coverage, SteadyVerdict
from wholecurve.sweep.bench import RESULT_FILE, Bench, PointOrder, PointOutcome, SweepView
from wholecurve.sweep.campaign import CampaignPlan
from wholecurve.sweep.differences import fact_changes
from wholecurve.sweep.files import disk_error, move_aside
from wholecurve.sweep.journal import Journal
from wholecurve.sweep.order import Slot
from wholecurve.sweep.progress import figures_words, measured, time_left
from wholecurve.sweep.state import SlotState, Standing, order_of, stand
from wholecurve.sweep.watch import CampaignState, Stopped, Surroundings, Watch, stopped_by_user

INVALID_EXIT = 1
MEASURING = "measuring"
SHORT: Final[Mapping[str, str]] = {
    Coverage.INSUFFICIENT_DURATION: "window too short",
    Coverage.INSUFFICIENT_PASSES: "too few passes",
    Coverage.PARTIAL_DATASET: "less than one pass",
}
"""Why the figures are those of the whole run, by coverage."""


@dataclass(frozen=True, slots=True)
class CampaignOutcome:
    """How a sweep ended. done, invalid, missing: runs as the plan writes them. reason: why it ended early, else "".

    differences: facts that should be the same at every point and are not. exit_code: 0 all valid, 1 some not, 130
    stopped by the user, 4 failed (the endpoint did not come back or became another one, the disk is full).
    """

    state: CampaignState
    done: tuple[str, ...]
    invalid: tuple[str, ...]
    missing: tuple[str, ...]
    reason: str
    differences: tuple[str, ...]
    exit_code: int


def run_campaign(
    plan: CampaignPlan, folder: Path, bench: Bench, journal: Journal, *, show: Callable[[SweepView], None],
    around: Surroundings, tries: int = 1,
) -> CampaignOutcome:  # fmt: skip
    """Measure everything of the plan that is not valid yet. Returns in every case, with all files kept.

    tries: attempts at a level whose runs are complete but not valid, in this session. A run that the endpoint did not
    survive is made once more when the endpoint answers again; if that fails too, the sweep goes on with other levels.
    """
    return _Sweep(plan, folder, bench, journal, show, around, tries).run()


class _Sweep:
    """One session of a campaign."""

    def __init__(
        self, plan: CampaignPlan, folder: Path, bench: Bench, journal: Journal, show: Callable[[SweepView], None],
        around: Surroundings, tries: int,
    ) -> None:  # fmt: skip
        self.plan, self.folder, self.bench, self.journal = plan, folder, bench, journal
        self.show, self.around, self.tries = show, around, max(1, tries)
        self.watch = Watch(bench, plan.conditions.endpoint, journal, around)
        self.began = self.point_began = around.now()
        self._seen = self.states()
        self.rested = True  # nothing was measured yet that the first point could inherit a queue from

    def run(self) -> CampaignOutcome:
        """All points, and how it ended."""
        try:
            for state in self.states():
                if state.standing is not Standing.VALID:
                    self.level(state.slot)
        except Stopped as stop:
            return self.ended(stop)
        except KeyboardInterrupt:
            return self.ended(stopped_by_user())
        except WholecurveError as error:
            return self.ended(Stopped(CampaignState.FAILED, str(error), error.exit_code))
        return self.ended(None)

    def states(self) -> tuple[SlotState, ...]:
        """Where everything stands now."""
        return stand(self.plan, self.journal.entries, self.folder)

    def state(self, slot: Slot) -> SlotState:
        """Where one run stands now."""
        return next(state for state in self.states() if state.slot == slot)

    def level(self, slot: Slot) -> None:
        """Measure one run until it is valid or has had its tries."""
        lost_before = False
        complete = 0
        while True:
            self.ready(slot)
            outcome = self.attempt(slot)
            if self.state(slot).standing is Standing.VALID:
                return
            if outcome.state is RunState.INTERRUPTED:
                raise stopped_by_user()
            if outcome.stop:
                hint = "everything measured before is kept; make room and go on with --resume"
                raise Stopped(CampaignState.FAILED, f"{outcome.stop}; {hint}", MeasureError.exit_code)
            if outcome.state is RunState.FAILED or outcome.endpoint_lost or not self.watch.there():
                if lost_before:
                    self.around.say(f"{slot} failed twice; going on without it. --resume tries it again")
                    return
                lost_before = True
                continue
            complete += 1
            if complete >= self.tries:
                return

    def ready(self, slot: Slot) -> None:
        """The queue of the point before is gone, and the endpoint is there."""
        if self.around.interrupted():
            raise stopped_by_user()
        if not self.rested:
            self.view(slot, "resting between two points")
            self.watch.rest(self.plan.idle_gap_s)
        self.view(slot, "asking the endpoint")
        self.watch.reach(lambda: self.view(slot, "waiting for the endpoint"))

    def attempt(self, slot: Slot) -> PointOutcome:
        """One run, from the line that it begins to the line that it ended."""
        before = self.state(slot)
        order = order_of(self.plan, before)
        if before.in_place:
            self.set_aside(before)
        again = {"again": before.again} if before.again else {}
        if again:
            self.around.say(f"{slot}: measured again, attempt {order.attempt}: {before.again}")
        self.journal.note(
            "point_started", label=slot.label, repeat=slot.repeat, attempt=order.attempt, folder=slot.folder,
            concurrency=order.level.concurrency, accuracy=order.accuracy, **again,
        )  # fmt: skip
        self.point_began = self.around.now()
        self.view(slot, MEASURING)
        self.rested = False
        outcome = self.measure(order)
        valid, invalid = self.judged(outcome, slot)
        self.journal.note(
            "point_ended", label=slot.label, repeat=slot.repeat, attempt=order.attempt, folder=slot.folder,
            concurrency=order.level.concurrency, state=outcome.state.value, valid=valid, invalid=list(invalid),
            figures=dict(outcome.figures), steady=None if outcome.steady is None else dict(outcome.steady),
            facts=dict(outcome.facts),
        )  # fmt: skip
        self.around.say(f"{slot}: " + (f"valid: {_found(outcome)}" if valid else "not valid: " + "; ".join(invalid)))
        if outcome.state is not RunState.COMPLETE:
            after = self.state(slot)
            if after.in_place:
                self.set_aside(after)
        self.view(slot, "done" if valid else "not valid")
        return outcome

    def measure(self, order: PointOrder) -> PointOutcome:
        """The bench's answer; what it raises about the endpoint or the user becomes an outcome too."""
        place = self.folder / order.slot.folder
        slot = order.slot
        try:
            place.parent.mkdir(exist_ok=True)
            return self.bench.measure(order, place, lambda live: self.view(slot, MEASURING, live))
        except SetupError as error:
            return PointOutcome(RunState.FAILED, False, (error.message,), exit_code=error.exit_code, endpoint_lost=True)
        except (InterruptedRun, KeyboardInterrupt):
            user = stopped_by_user()
            return PointOutcome(RunState.INTERRUPTED, False, (user.reason,), exit_code=user.exit_code)
        except OSError as error:
            raise disk_error(error, f"the run of {slot}") from None

    def judged(self, outcome: PointOutcome, slot: Slot) -> tuple[bool, tuple[str, ...]]:
        """(valid, why not): a point is valid only if it is complete and its result is on disk."""
        invalid = outcome.invalid
        if outcome.state is not RunState.COMPLETE:
            return False, invalid or (f"the run is {outcome.state.value}",)
        if not (self.folder / slot.folder / RESULT_FILE).is_file():
            return False, (*invalid, "the run left no result")
        return (True, ()) if outcome.valid else (False, invalid or ("no reason was given",))

    def set_aside(self, state: SlotState) -> None:
        """Keep what lies in the place of a run, under its attempt."""
        slot = state.slot
        to = move_aside(self.folder, slot.folder, f"{slot}-{max(1, state.attempts)}")
        self.journal.note(
            "set_aside", label=slot.label, repeat=slot.repeat, **{"from": slot.folder}, to=to,
            why=state.why or state.standing.value,
        )  # fmt: skip
        self.around.say(f"{slot}: what there was is kept in {to}")

    def view(self, slot: Slot, doing: str, live: Any = None) -> None:
        """Tell the display."""
        states = self.states() if live is None else self._seen
        self._seen = states
        spent_s = self.around.now() - self.point_began if doing == MEASURING else 0.0
        low, high = time_left(self.plan, states, slot, spent_s)
        self.show(
            SweepView(
                total=len(states), done=sum(one.standing is Standing.VALID for one in states), current=str(slot),
                doing=doing, elapsed_s=self.around.now() - self.began, left_low_s=low, left_high_s=high,
                points=measured(self.plan, states), live=live,
            )
        )  # fmt: skip

    def ended(self, stop: Stopped | None) -> CampaignOutcome:
        """The last line of this session, and what it came to."""
        states = self.states()
        names = {standing: tuple(str(one.slot) for one in states if one.standing is standing) for standing in Standing}
        done, invalid = names[Standing.VALID], names[Standing.INVALID]
        missing = tuple(str(one.slot) for one in states if one.standing not in (Standing.VALID, Standing.INVALID))
        whole = len(done) == len(states)
        differing = fact_changes(
            (str(one.slot), (one.ended or {}).get("facts") or {}) for one in states if one.standing is Standing.VALID
        )
        lists = {"done": list(done), "invalid": list(invalid), "missing": list(missing)}
        with suppress(MeasureError):  # a full disk: the journal then ends with the last thing that was done
            if stop is None:
                self.journal.note("finished", **lists, differences=list(differing))
            else:
                self.journal.note("interrupted", state=stop.state.value, why=stop.reason, **lists)
        if stop is not None:
            return CampaignOutcome(stop.state, done, invalid, missing, stop.reason, differing, stop.exit_code)
        state = CampaignState.COMPLETE if whole else CampaignState.INCOMPLETE
        return CampaignOutcome(state, done, invalid, missing, "", differing, 0 if whole else INVALID_EXIT)


def _found(outcome: PointOutcome) -> str:
    """The figures of a valid point, and whether it was steady; a window that could not carry them is not "steady"."""
    steady = outcome.steady or {}
    verdict, short = steady.get("verdict"), SHORT.get(steady.get("status") or "")
    if not verdict:
        return figures_words(outcome.figures)
    words = verdict.replace("_", " ").lower()
    if short and verdict != SteadyVerdict.NOT_FOUND:
        words = f"{'steady' if verdict == SteadyVerdict.STEADY else words}, {short}: whole run"
    return f"{figures_words(outcome.figures)}; {words}"
