"""Load: sample order, arrivals, closed loop, conversations and stop rules, as pure functions of seeds and plans."""

from __future__ import annotations

from wholecurve.load.closed import SlotPool, slot_start_ns, slots_of, start_offsets, worker_slots
from wholecurve.load.conversation import Session, session
from wholecurve.load.order import sample_order
from wholecurve.load.patterns import constant, offline, poisson, ramped
from wholecurve.load.stop import planned_total, reached_maximum, sample_floor, should_issue
from wholecurve.load.table import PATTERNS, PatternRow, arrivals

__all__ = [
    "PATTERNS",
    "PatternRow",
    "Session",
    "SlotPool",
    "arrivals",
    "constant",
    "offline",
    "planned_total",
    "poisson",
    "ramped",
    "reached_maximum",
    "sample_floor",
    "sample_order",
    "session",
    "should_issue",
    "slot_start_ns",
    "slots_of",
    "start_offsets",
    "worker_slots",
]
