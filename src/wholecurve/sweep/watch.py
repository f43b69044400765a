"""Between two points: rest, ask the endpoint who it is, wait for it when it has gone, stop when it is another one."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final, Protocol

from wholecurve.model.errors import InterruptedRun, MeasureError, SetupError
from wholecurve.model.units import NS_PER_S, show_duration
from wholecurve.sweep.bench import Facts
from wholecurve.sweep.differences import endpoint_changes
from wholecurve.sweep.journal import Journal

SLICE_S: Final = 0.5
"""The user's interrupt is looked at this often while nothing is measured."""

FIRST_PAUSE_S: Final = 1.0
LONGEST_PAUSE_S: Final = 10.0
TELL_EVERY_S: Final = 30.0


class CampaignState(StrEnum):
    """How a sweep came to its end."""

    COMPLETE = "complete"
    INCOMPLETE = "incomplete"
    INTERRUPTED = "interrupted"
    CHANGED = "changed"
    FAILED = "failed"


class Stopped(Exception):
    """The sweep ends here, in order; everything until now is kept."""

    def __init__(self, state: CampaignState, reason: str, exit_code: int) -> None:
        super().__init__(reason)
        self.state = state
        self.reason = reason
        self.exit_code = exit_code


def stopped_by_user() -> Stopped:
    """The user wanted the end."""
    return Stopped(CampaignState.INTERRUPTED, "stopped by the user", InterruptedRun.exit_code)


class Probing(Protocol):
    """Whoever can ask the endpoint who it is."""

    def probe(self) -> Facts:
        """SetupError when it does not answer."""


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What a sweep is given from outside. now: seconds of a clock that never steps. sleep: seconds.

    interrupted: whether the user wants the end. say: a line for people. wait_endpoint_s: longest wait for an endpoint
    that has gone.
    """

    say: Callable[[str], None]
    now: Callable[[], float]
    sleep: Callable[[float], None]
    interrupted: Callable[[], bool]
    wait_endpoint_s: float


@dataclass(frozen=True, slots=True)
class Watch:
    """The endpoint of a sweep between its points. endpoint: {models, server} as they were at the start."""

    probing: Probing
    endpoint: Mapping[str, Any]
    journal: Journal
    around: Surroundings

    def rest(self, seconds: float) -> None:
        """Wait in slices. Raises Stopped as soon as the user wants the end."""
        until = self.around.now() + seconds
        while not self.around.interrupted():
            left = until - self.around.now()
            if left <= 0:
                return
            self.around.sleep(min(SLICE_S, left))
        raise stopped_by_user()

    def there(self) -> bool:
        """Whether the endpoint answers now."""
        try:
            self.probing.probe()
        except SetupError:
            return False
        return True

    def reach(self, waiting: Callable[[], None]) -> None:
        """The endpoint answers and is the same as at the start. `waiting` is called once if it has to be waited for.

        Raises Stopped if it does not come back in time, if it has changed, and when the user wants the end.
        """
        try:
            facts = self.probing.probe()
        except SetupError as error:
            waiting()
            facts = self._wait(error)
        found = {"models": None if facts.models is None else sorted(facts.models), "server": facts.server}
        self.journal.note("probe", **found)
        changed = endpoint_changes(self.endpoint, found)
        if changed:
            self.journal.note("changed", what=changed)
            reason = "the endpoint is not the one that this sweep began with: " + "; ".join(changed)
            raise Stopped(CampaignState.CHANGED, reason, MeasureError.exit_code)

    def _wait(self, error: SetupError) -> Facts:
        longest = self.around.wait_endpoint_s
        began = told = self.around.now()
        pause = FIRST_PAUSE_S
        self.journal.note("endpoint_gone", why=error.message)
        self.around.say(f"{error.message}; waiting up to {_shown(longest)} for the endpoint")
        while (left := longest - (self.around.now() - began)) > 0:
            self.rest(min(pause, left))
            pause = min(2 * pause, LONGEST_PAUSE_S)
            try:
                facts = self.probing.probe()
            except SetupError:
                if self.around.now() - told >= TELL_EVERY_S:
                    told = self.around.now()
                    left = max(0.0, longest - (told - began))
                    self.around.say(f"still no answer after {_shown(told - began)}; giving up in {_shown(left)}")
                continue
            away = self.around.now() - began
            self.journal.note("endpoint_back", after_s=round(away, 3))
            self.around.say(f"the endpoint is back after {_shown(away)}")
            return facts
        reason = f"the endpoint did not come back within {_shown(longest)}"
        raise Stopped(CampaignState.INTERRUPTED, reason, MeasureError.exit_code)


def _shown(seconds: float) -> str:
    return show_duration(seconds * NS_PER_S)
