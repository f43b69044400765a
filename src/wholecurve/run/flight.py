"""Requests on their way: a unit of work claimed from the global issue order, and one request of it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from itertools import islice
from random import Random

from wholecurve.load import Session, arrivals, reached_maximum, sample_order, session, should_issue
from wholecurve.model.plan import Pattern, PhasePlan
from wholecurve.model.sample import Conversation, Turn
from wholecurve.run.control import Control, Global


class Unit:
    """A claimed conversation: its place in the issue order, when it is wanted, and the turn it stands at."""

    __slots__ = ("first", "number", "offset_ns", "session", "turn", "turn_number")

    def __init__(self, number: int, offset_ns: int, conversation: Conversation) -> None:
        self.number = number
        self.offset_ns = offset_ns
        self.session: Session = session(conversation)
        self.turn: Turn = next(self.session)
        self.turn_number = 0
        self.first: Flight | None = None


class Flight:
    """One request. `data` is kept until the first byte of an answer, for the one case in which it is sent again."""

    __slots__ = (
        "attempts", "bytes_sent", "connect_ns", "data", "index", "issued_ns", "max_tokens", "reused", "scheduled_ns",
        "sent_ns", "serial", "slot", "unit",
    )  # fmt: skip

    def __init__(self, serial: int, index: int, unit: Unit, data: bytes, max_tokens: int) -> None:
        self.serial = serial
        self.index = index
        self.unit = unit
        self.data = data
        self.max_tokens = max_tokens
        self.slot = -1
        self.scheduled_ns = -1
        self.issued_ns = -1
        self.sent_ns = -1
        self.connect_ns = -1
        self.attempts = 0
        self.bytes_sent = 0
        self.reused = False


class Claims:
    """The one global issue order of a phase, as one worker draws from it.

    Every worker walks the same seeded order; the shared counter says who sends which place of it. The stop rule is
    asked under the lock, so the count is exact and the order has no holes, however many workers there are. In an
    open loop the clock of the rule is the plan's own offset, so the number of requests never depends on lateness.

    Claims run ahead of issuing, by as much as one answer takes. The clock after the lead therefore starts at the issue
    of the sample after it, not at its claim: the worker that has it writes `LEAD_AT` at its next claim.
    """

    __slots__ = (
        "_arrivals",
        "_at",
        "_control",
        "_conversations",
        "_lead",
        "_lead_offset_ns",
        "_lock",
        "_now",
        "_offset_ns",
        "_order",
        "_phase",
        "_row",
        "_scheduled",
    )

    def __init__(
        self,
        phase: PhasePlan,
        conversations: Sequence[Conversation],
        control: Control,
        lock: AbstractContextManager[object],
        now: Callable[[], int],
    ) -> None:
        self._phase = phase
        self._conversations = conversations
        self._control = control
        self._lock = lock
        self._now = now
        self._order = sample_order(phase.order, len(conversations), Random(phase.order_seed))
        self._arrivals: Iterator[int] | None = arrivals(phase, Random(phase.arrival_seed))
        # Offline has arrivals, all at once: what it has issued after a time is no matter of schedule but of the clock.
        self._scheduled = self._arrivals is not None and phase.pattern is not Pattern.OFFLINE
        self._at = -1
        self._row = 0
        self._offset_ns = 0
        self._lead: Unit | None = None  # the first sample after the lead, from its claim until its issue is noted
        self._lead_offset_ns = 0
        if phase.stop.lead_samples and self._scheduled:
            again = arrivals(phase, Random(phase.arrival_seed))
            assert again is not None
            self._lead_offset_ns = next(islice(again, phase.stop.lead_samples, None))

    def _walk_to(self, number: int) -> None:
        """Stand at place `number` of the order and of the arrivals."""
        steps = number - self._at
        if steps <= 0:
            return
        self._row = next(islice(self._order, steps - 1, None))
        if self._arrivals is not None:
            self._offset_ns = next(islice(self._arrivals, steps - 1, None))
        self._at = number

    def next_unit(self) -> Unit | None:
        """Claim the next conversation, or None when issuing has ended."""
        run = self._control.run
        with self._lock:
            number = run[Global.ISSUED]
            if number >= run[Global.STOP_AT]:
                return None
            if self._scheduled:
                self._walk_to(number)
                elapsed = self._offset_ns
            else:
                start = run[Global.PHASE_START]
                elapsed = max(0, self._now() - start) if start else 0
            if self._ends(number, elapsed):
                run[Global.STOP_AT] = number
                run[Global.CLOSED_AT] = self._now()
                return None
            run[Global.ISSUED] = number + 1
        self._walk_to(number)
        unit = Unit(number, self._offset_ns, self._conversations[self._row])
        if number and number == self._phase.stop.lead_samples:
            self._lead = unit
        return unit

    def _ends(self, number: int, elapsed_ns: int) -> bool:
        """Whether issuing ends before place `number`. A hold keeps it open beyond the minimums, not the maximums."""
        rule, run = self._phase.stop, self._control.run
        if should_issue(rule, number, elapsed_ns, self._phase.rows, self._after_lead_ns(elapsed_ns)):
            return False
        if not run[Global.HOLD] or reached_maximum(rule, number, elapsed_ns):
            return True
        if not run[Global.MET_AT]:
            run[Global.MET_AT] = self._now()
        return False

    def _after_lead_ns(self, elapsed_ns: int) -> int | None:
        """Time since the sample after the lead was issued (in an open loop: was wanted); None while it was not."""
        if not self._phase.stop.lead_samples:
            return elapsed_ns
        if self._scheduled:
            since_ns = elapsed_ns - self._lead_offset_ns
            return since_ns if since_ns >= 0 else None
        run = self._control.run
        if self._lead is not None and self._lead.first is not None and self._lead.first.issued_ns >= 0:
            run[Global.LEAD_AT] = self._lead.first.issued_ns
            self._lead = None
        return self._now() - run[Global.LEAD_AT] if run[Global.LEAD_AT] else None
