"""Where a campaign stands: what of its plan is valid, not valid, lost or missing, from its journal and its folders.

The journal says what was done; the disk says whether it is still there. A point counts only if both agree.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import Path
from typing import Any, Final

from wholecurve.sweep.bench import RESULT_FILE, PointOrder
from wholecurve.sweep.campaign import CampaignPlan
from wholecurve.sweep.order import Slot


class Standing(StrEnum):
    """Of one run that the plan wants."""

    VALID = "valid"
    INVALID = "not valid"
    LOST = "cut off"
    GONE = "its files are gone"
    MISSING = "missing"


@dataclass(frozen=True, slots=True)
class SlotState:
    """One run of the plan. attempts: begun so far. in_place: something lies where its run folder belongs.

    why: what is wrong with it, in words. ended: the journal's line of the last attempt that came to an end.
    """

    slot: Slot
    standing: Standing = Standing.MISSING
    attempts: int = 0
    in_place: bool = False
    why: str = ""
    ended: Mapping[str, Any] | None = None

    @property
    def again(self) -> str:
        """Why it is measured again, for the journal; "" for a first attempt."""
        return (self.why or self.standing.value) if self.attempts or self.in_place else ""


_FOREIGN: Final = "there was a folder that the journal does not know"


def stand(plan: CampaignPlan, entries: Iterable[Mapping[str, Any]], folder: Path) -> tuple[SlotState, ...]:
    """Every run of the plan in its order, as the journal's entries and the campaign's folder show it."""
    states = {slot: SlotState(slot) for slot in plan.order}
    for entry in entries:
        slot = _slot(entry)
        if slot in states:
            states[slot] = _after(states[slot], entry)
    return tuple(_on_disk(states[slot], folder) for slot in plan.order)


def todo(plan: CampaignPlan, states: Iterable[SlotState]) -> tuple[PointOrder, ...]:
    """The runs still to be made, in order, each with its next attempt."""
    return tuple(order_of(plan, state) for state in states if state.standing is not Standing.VALID)


def order_of(plan: CampaignPlan, state: SlotState) -> PointOrder:
    """The next attempt at a run. The salt's word has the attempt in it: a second one never meets its own prefixes."""
    attempt = state.attempts + 1
    word = f"{plan.salt_word}/{state.slot}/{attempt}"
    return PointOrder(plan.level(state.slot.label), state.slot.repeat, attempt, word)


def _slot(entry: Mapping[str, Any]) -> Slot | None:
    label, repeat = entry.get("label"), entry.get("repeat", 1)
    return Slot(label, repeat) if isinstance(label, str) and isinstance(repeat, int) else None


def _after(state: SlotState, entry: Mapping[str, Any]) -> SlotState:
    """The state after one more line of the journal."""
    match entry.get("event"):
        case "point_started":
            number = entry.get("attempt")
            attempts = max(state.attempts + 1, number if isinstance(number, int) else 0)
            return replace(state, standing=Standing.LOST, attempts=attempts, why="it was cut off", ended=None)
        case "point_ended":
            words = entry.get("invalid")
            why = "; ".join(map(str, words)) if isinstance(words, list) and words else str(entry.get("state", ""))
            if entry.get("valid") is True:
                return replace(state, standing=Standing.VALID, why="", ended=entry)
            return replace(state, standing=Standing.INVALID, why=why, ended=entry)
        case "set_aside":
            why = str(entry.get("why", "")) or state.why
            return replace(state, standing=Standing.MISSING, why=why)
    return state


def _on_disk(state: SlotState, folder: Path) -> SlotState:
    place = folder / state.slot.folder
    there = place.exists()
    if state.standing is Standing.VALID and not (place / RESULT_FILE).is_file():
        return replace(state, standing=Standing.GONE, in_place=there, why=Standing.GONE.value)
    if state.standing is Standing.INVALID and not there:
        return replace(state, standing=Standing.MISSING)
    if state.standing is Standing.MISSING and there:
        return replace(state, in_place=True, why=_FOREIGN)
    return replace(state, in_place=there)
