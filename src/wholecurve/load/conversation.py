"""Conversations: the unit of work of every load pattern. Single-shot work is a conversation of one turn."""

from __future__ import annotations

from collections.abc import Generator
from typing import TypeAlias

from wholecurve.model.record import Outcome
from wholecurve.model.sample import Conversation, Turn

Session: TypeAlias = Generator[Turn, Outcome, tuple[Turn, ...]]


def session(conversation: Conversation) -> Session:
    """Yields the turns in order; send it how each turn ended.

    Only a turn that succeeded is followed by the next. The generator returns the turns that were therefore never
    sent (empty when all were), to be recorded with the failure `prior_turn_failed`.
    """
    for place, turn in enumerate(conversation.turns):
        outcome = yield turn
        if outcome is not Outcome.SUCCEEDED:
            return conversation.turns[place + 1 :]
    return ()
