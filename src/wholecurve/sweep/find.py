"""Carries out the search for C_max: short runs in `search/`, each in the journal, so that a killed search goes on."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any, Final, Protocol

from wholecurve.curve import Limit
from wholecurve.model.errors import InterruptedRun, SetupError
from wholecurve.sweep.bench import Facts, Live, SweepView
from wholecurve.sweep.files import disk_error, move_aside
from wholecurve.sweep.journal import Entry, Journal
from wholecurve.sweep.progress import figures_words
from wholecurve.sweep.search import Found, Trial, TrialStop, known_of, next_trial, trial_from_json, trial_stop
from wholecurve.sweep.watch import Surroundings, Watch, stopped_by_user

LOST: Final = "the endpoint went away under the trial"


class SearchBench(Protocol):
    """Asks the endpoint who it is, and makes short runs."""

    def probe(self) -> Facts:
        """SetupError when the endpoint does not answer."""

    def trial(self, concurrency: int, attempt: int, stop: TrialStop, folder: Path, show: Live) -> Trial:
        """A short run into a folder that does not exist yet. attempt: from 1; it makes the salt another one, so that
        no trial meets prompts that an earlier one left in a cache. SetupError when the endpoint went away,
        InterruptedRun when the user stopped it, MeasureError and OSError when files cannot be written."""


def trials_of(entries: Sequence[Entry]) -> tuple[Trial, ...]:
    """The trials that a journal holds. InputError for a damaged line."""
    return tuple(trial_from_json(entry) for entry in entries if entry["event"] == "trial")


def run_search(
    folder: Path, bench: SearchBench, journal: Journal, endpoint: Mapping[str, Any], *, start: int, most: int,
    limits: Sequence[Limit], show: Callable[[SweepView], None], around: Surroundings, rest_s: float = 0,
    least_s: float = 10, longest_s: float = 600,
) -> tuple[Found, tuple[Trial, ...]]:  # fmt: skip
    """Trials until C_max is found; those of the journal are not made again. start, most, limits: as `next_trial`.

    endpoint: {models, server} at the start. rest_s: between two trials. Raises Stopped (watch.py) as a sweep does,
    InputError for limits that contradict each other, MeasureError when files cannot be written.
    """
    watch = Watch(bench, endpoint, journal, around)
    began = around.now()
    made = 0
    lost: set[int] = set()

    def view(doing: str, current: str, live: Any = None) -> None:
        points = tuple(sorted(known_of(trials_of(journal.entries)), key=lambda one: one[0]))
        elapsed = around.now() - began
        show(SweepView(0, len(points), current, doing, elapsed, 0.0, None, points, live))

    while True:
        trials = trials_of(journal.entries)
        step = next_trial(trials, start=start, most=most, limits=limits)
        if isinstance(step, Found):
            last = journal.last("c_max", "trial")
            if last is None or last["event"] != "c_max":
                journal.note("c_max", c_max=step.c_max, reason=step.reason, knee=step.knee)
            around.say(f"C_max {step.c_max}: {step.reason}" if step.c_max else f"no C_max: {step.reason}")
            return step, trials
        name = f"c{step}"
        if made:
            view("resting between two trials", name)
            watch.rest(rest_s)
        elif around.interrupted():
            raise stopped_by_user()
        watch.reach(lambda: view("waiting for the endpoint", name))  # noqa: B023 - called before the loop goes on
        stop = trial_stop(step, trials, least_s=least_s, longest_s=longest_s)
        around.say(f"search: {step} in flight; {stop.why}")
        place = _place(folder, name, journal, LOST if step in lost else "the trial was cut off")
        attempt = 1 + sum(one["event"] == "set_aside" and one.get("label") == name for one in journal.entries)
        trial = _try(bench, step, attempt, stop, place, lambda live: view("searching C_max", name, live))  # noqa: B023
        made += 1
        if trial.invalid and step not in lost and (trial.endpoint_lost or not watch.there()):
            # What an endpoint did that went away says nothing of the level, unless the level is what it cannot bear.
            lost.add(step)
            around.say(f"search: {LOST} at {step} in flight; this trial is made once more")
            continue
        journal.note("trial", folder=f"search/{name}", **trial.to_json())
        around.say(f"search: {step} in flight: {_came_to(trial)}")


def _came_to(trial: Trial) -> str:
    if trial.invalid:
        return f"not valid: {trial.invalid[0]}"
    return figures_words(asdict(trial)) + (", and this machine was the limit" if trial.client_limited else "")


def _place(folder: Path, name: str, journal: Journal, why: str) -> Path:
    """Where a trial's folder goes; what a trial left there that does not count is kept under attempts/."""
    place = folder / "search" / name
    if place.exists():
        to = move_aside(folder, f"search/{name}", f"search-{name}")
        journal.note("set_aside", label=name, **{"from": f"search/{name}"}, to=to, why=why)
    try:
        place.parent.mkdir(exist_ok=True)
    except OSError as error:
        raise disk_error(error, "search") from None
    return place


def _try(bench: SearchBench, concurrency: int, attempt: int, stop: TrialStop, place: Path, live: Live) -> Trial:
    try:
        return bench.trial(concurrency, attempt, stop, place, live)
    except SetupError as error:
        return Trial(concurrency, None, invalid=(error.message,))
    except (InterruptedRun, KeyboardInterrupt):
        raise stopped_by_user() from None
    except OSError as error:
        raise disk_error(error, f"the trial at {concurrency}") from None
