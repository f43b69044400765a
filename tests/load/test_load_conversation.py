"""Conversations: one turn after the other, and none after a turn that did not succeed."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wholecurve.load import session
from wholecurve.model.record import Outcome
from wholecurve.model.sample import Conversation, Sample, Turn, single_shot


def conversation(turns: int) -> Conversation:
    return Conversation("c", tuple(Turn(Sample(row=place, prompt=f"turn {place}")) for place in range(turns)))


def play(work: Conversation, outcomes: list[Outcome]) -> tuple[list[Turn], tuple[Turn, ...]]:
    """Turns that were sent, and turns that never were."""
    sent: list[Turn] = []
    running = session(work)
    try:
        turn = next(running)
        for outcome in outcomes:
            sent.append(turn)
            turn = running.send(outcome)
    except StopIteration as end:
        return sent, end.value
    raise AssertionError("more turns than outcomes")


def test_single_shot_is_one_turn() -> None:
    work = single_shot(Sample(row=3, prompt="hi"))
    sent, skipped = play(work, [Outcome.SUCCEEDED])
    assert sent == list(work.turns)
    assert skipped == ()


@pytest.mark.parametrize("outcome", [Outcome.FAILED, Outcome.CANCELLED, Outcome.LOST])
def test_mt_4_a_turn_that_did_not_succeed_ends_its_conversation_only(outcome: Outcome) -> None:
    a, b = conversation(4), conversation(2)
    sent, skipped = play(a, [Outcome.SUCCEEDED, outcome])
    assert sent == list(a.turns[:2])
    assert skipped == a.turns[2:]
    assert play(b, [Outcome.SUCCEEDED] * 2) == (list(b.turns), ())


@given(turns=st.integers(0, 6), outcomes=st.lists(st.sampled_from(Outcome), min_size=6, max_size=6))
def test_every_turn_is_either_sent_or_named_as_skipped(turns: int, outcomes: list[Outcome]) -> None:
    work = conversation(turns)
    sent, skipped = play(work, outcomes)
    assert (*sent, *skipped) == work.turns
