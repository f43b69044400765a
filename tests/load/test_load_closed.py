"""Closed loop: exact sums for any split, ramps, and the pool of slots."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wholecurve.load import SlotPool, slots_of, start_offsets, worker_slots
from wholecurve.model.errors import InputError

SPLITS = [
    ((32, 32), (1,) * 32),
    ((33, 32), (2,) + (1,) * 31),
    ((5, 8), (1, 1, 1, 1, 1, 0, 0, 0)),
    ((1, 4), (1, 0, 0, 0)),
    ((256, 3), (86, 85, 85)),
]


@pytest.mark.parametrize(("pair", "wanted"), SPLITS)
def test_lod_2_split_over_workers(pair: tuple[int, int], wanted: tuple[int, ...]) -> None:
    assert slots_of(*pair) == wanted


@given(concurrency=st.integers(1, 5000), workers=st.integers(1, 130))
def test_lod_2_the_sum_is_exact_and_even(concurrency: int, workers: int) -> None:
    slots = slots_of(concurrency, workers)
    assert sum(slots) == concurrency
    assert max(slots) - min(slots) <= 1


@given(concurrency=st.integers(1, 300), workers=st.integers(1, 20))
def test_every_slot_has_one_worker(concurrency: int, workers: int) -> None:
    dealt = [slot for worker in range(workers) for slot in worker_slots(concurrency, workers, worker)]
    assert sorted(dealt) == list(range(concurrency))


@pytest.mark.parametrize("wrong", [(0, 1, 0), (-1, 1, 0), (4, 0, 0), (4, 2, 2), (4, 2, -1)])
def test_wrong_numbers_are_refused(wrong: tuple[int, int, int]) -> None:
    with pytest.raises(InputError, match="wanted"):
        worker_slots(*wrong)


def test_ramp_spreads_the_first_requests() -> None:
    assert start_offsets(4, 8_000) == (0, 2_000, 4_000, 6_000)
    assert start_offsets(3, 0) == (0, 0, 0)


def test_pool_without_slots_gives_none_and_not_everything() -> None:
    pool = SlotPool.of_worker(1, 4, 3, 0)
    assert pool.take(10**12) is None
    assert pool.next_free_ns() is None


def test_pool_waits_for_the_ramp() -> None:
    pool = SlotPool.of_worker(4, 2, 1, 8_000)
    assert pool.next_free_ns() == 2_000
    assert pool.take(1_999) is None
    assert pool.take(2_000) == (1, 2_000)
    assert pool.take(7_000) == (3, 6_000)
    assert pool.busy == 2


def test_a_slot_is_scheduled_when_it_became_free() -> None:
    pool = SlotPool.of_worker(1, 1, 0, 0)
    assert pool.take(50) == (0, 0)
    assert pool.take(60) is None
    pool.release(0, 400)
    assert pool.take(390) is None
    assert pool.take(450) == (0, 400)


def test_mt_4_a_slot_cannot_be_freed_twice() -> None:
    pool = SlotPool.of_worker(2, 1, 0, 0)
    assert pool.take(0) == (0, 0)
    pool.release(0, 5)
    with pytest.raises(ValueError, match="slot 0 is not in use"):
        pool.release(0, 6)
    assert pool.busy == 0


@given(st.lists(st.booleans(), max_size=200), st.integers(1, 6))
def test_never_more_in_use_than_slots(steps: list[bool], concurrency: int) -> None:
    pool = SlotPool.of_worker(concurrency, 1, 0, 0)
    busy: list[int] = []
    for now, take in enumerate(steps):
        if take:
            got = pool.take(now)
            assert (got is None) == (len(busy) == concurrency)
            if got is not None:
                busy.append(got[0])
        elif busy:
            pool.release(busy.pop(0), now)
        assert pool.busy == len(busy) == len(set(busy)) <= concurrency
