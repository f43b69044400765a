"""Sample order: which row of the data set comes next. Endless; only a stop rule ends a phase.

The shuffled order is that of the MLPerf reference client, so equal seeds send equal rows in equal order.
"""

from __future__ import annotations

from collections.abc import Iterator
from random import Random

from wholecurve.model.errors import InputError
from wholecurve.model.plan import Order


def sample_order(order: Order, rows: int, rng: Random) -> Iterator[int]:
    """Row numbers in 0..rows-1, without end.

    SHUFFLED shuffles all rows, and shuffles the same list again with the same generator for every further pass:
    every pass holds each row once. SEQUENTIAL is file order, over and over, and draws nothing. REPLACEMENT draws
    every row on its own. Raises InputError at the call when there is no row.
    """
    if rows < 1:
        raise InputError(f"wanted a data set with at least one row, got {rows}")
    if order is Order.SHUFFLED:
        return _shuffled(rows, rng)
    if order is Order.SEQUENTIAL:
        return _sequential(rows)
    return _replacement(rows, rng)


def _shuffled(rows: int, rng: Random) -> Iterator[int]:
    places = list(range(rows))
    while True:
        # In place: the second pass shuffles the first pass's order, as the reference client does.
        rng.shuffle(places)
        yield from places


def _sequential(rows: int) -> Iterator[int]:
    while True:
        yield from range(rows)


def _replacement(rows: int, rng: Random) -> Iterator[int]:
    while True:
        yield rng.randrange(rows)
