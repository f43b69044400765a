"""Sample order: equal to Python's own generator, each row once per pass, the same for any split over workers."""

from __future__ import annotations

from itertools import islice
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wholecurve.load import sample_order
from wholecurve.model.errors import InputError
from wholecurve.model.plan import Order

# Worked out with random.Random(42): shuffle of list(range(n)), then the same list shuffled again.
FIRST = [
    (Order.SHUFFLED, 5, [3, 1, 2, 4, 0, 4, 2, 3, 0, 1, 0, 2, 3, 4, 1]),
    (Order.SHUFFLED, 10, [7, 3, 2, 8, 5, 6, 9, 4, 0, 1, 8, 6, 2, 5, 3, 0, 4, 7, 9, 1]),
    (Order.SHUFFLED, 1, [0, 0, 0]),
    (Order.SEQUENTIAL, 3, [0, 1, 2, 0, 1, 2, 0]),
    (Order.REPLACEMENT, 10, [1, 0, 4, 3, 3, 2, 1, 8]),
]


@pytest.mark.parametrize(("order", "rows", "wanted"), FIRST)
def test_first_values_for_seed_42(order: Order, rows: int, wanted: list[int]) -> None:
    assert list(islice(sample_order(order, rows, Random(42)), len(wanted))) == wanted


def test_every_order_has_a_row_in_the_table_above() -> None:
    assert {order for order, _, _ in FIRST} == set(Order)


@given(rows=st.integers(1, 60), passes=st.integers(1, 4), seed=st.integers(0, 2**32))
def test_each_pass_of_a_shuffle_holds_each_row_once(rows: int, passes: int, seed: int) -> None:
    order = sample_order(Order.SHUFFLED, rows, Random(seed))
    for _ in range(passes):
        assert sorted(islice(order, rows)) == list(range(rows))


@pytest.mark.parametrize("workers", [1, 2, 4, 7])
def test_lod_4_and_5_claiming_from_one_order_sends_the_same_rows_for_any_worker_count(workers: int) -> None:
    """Worker w of any scheme claims places of one global order: the union never depends on who claims what."""
    claims = Random(workers)
    sent: dict[int, list[int]] = {worker: [] for worker in range(workers)}
    for row in islice(sample_order(Order.SHUFFLED, 100, Random(7)), 400):
        sent[claims.randrange(workers)].append(row)
    union = sorted(row for rows in sent.values() for row in rows)
    assert union == sorted(list(range(100)) * 4)


@pytest.mark.parametrize("order", list(Order))
@pytest.mark.parametrize("rows", [0, -1])
def test_no_rows_is_refused_before_the_first_draw(order: Order, rows: int) -> None:
    with pytest.raises(InputError, match="at least one row"):
        sample_order(order, rows, Random(0))


def test_shuffle_touches_no_global_generator() -> None:
    import random

    before = random.getstate()
    list(islice(sample_order(Order.SHUFFLED, 50, Random(1)), 120))
    assert random.getstate() == before
