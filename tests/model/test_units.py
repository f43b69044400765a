"""Durations for people, at the places where a unit ends."""

from __future__ import annotations

import pytest

from wholecurve.model.units import show_duration

NS = 1_000_000_000


@pytest.mark.parametrize(
    ("value_ns", "shown"),
    [
        (0, "0 ns"), (999, "999 ns"), (999.6, "1 µs"), (1_000, "1 µs"), (999_400, "999 µs"), (999_600, "1 ms"),
        (999.4e6, "999 ms"), (999.6e6, "1 s"), (1.25e9, "1.25 s"), (90 * NS, "90 s"), (119.4 * NS, "119 s"),
        (119.7 * NS, "2 min"), (600 * NS, "10 min"), (119.4 * 60 * NS, "119 min"), (119.6 * 60 * NS, "1.99 h"),
        (7_200 * NS, "2 h"), (4e6 * NS, "1111 h"), (-250e6, "-250 ms"),
    ],
)  # fmt: skip
def test_a_unit_ends_where_three_digits_end(value_ns: float, shown: str) -> None:
    assert show_duration(value_ns) == shown
