"""How often a run that is steady by construction is called anything else, and how often a drift is missed.

Nothing moves in these runs but chance: rows differ in their work, requests by noise, and neighbours are alike because
they share a batch. With alpha 0.05 for each of two gating series, a change must also be 5 % from end to end.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

import numpy as np
import pytest
from metrics_build import MS, S
from metrics_runs import requests

from wholecurve.metrics import Columns, SteadyVerdict, WindowRules, steady_state
from wholecurve.model.plan import Pattern

RUNS = 300


@dataclass(frozen=True)
class Chance:
    """work: sigma of the log-normal spread between rows. noise: of a request's TPOT. alike: of what neighbours share,
    a series that forgets 5 % with each request."""

    work: float
    noise: float
    alike: float = 0.0


def random_run(seed: int, chance: Chance, drift: float = 0.0) -> tuple[Columns, int]:
    """A run of 6 to 40 passes over 20 to 80 rows, shuffled anew in every pass; `drift`: from end to end."""
    draw = np.random.default_rng(seed)
    rows, passes = int(draw.integers(20, 81)), int(draw.integers(6, 41))
    n = rows * passes
    order = np.concatenate([draw.permutation(rows) for _ in range(passes)])
    work = draw.lognormal(0, chance.work, rows)[order]
    shared = np.zeros(n)
    steps = chance.alike * np.sqrt(1 - 0.95**2) * draw.standard_normal(n)
    for place in range(1, n):
        shared[place] = 0.95 * shared[place - 1] + steps[place]
    paces = 20 * MS * work * (1 + chance.noise * draw.standard_normal(n)) * (1 + shared)
    return requests(np.arange(n) * S, np.maximum(paces * np.linspace(1, 1 + drift, n), MS)), rows


def verdicts(chance: Chance, drift: float = 0.0) -> Counter[SteadyVerdict | None]:
    found: Counter[SteadyVerdict | None] = Counter()
    for seed in range(RUNS):
        columns, rows = random_run(seed, chance, drift)
        rules = WindowRules(min_duration_ns=(4 * rows - 1) * S)
        found[steady_state(columns, rules, rows=rows, pattern=Pattern.CONCURRENCY, concurrency=1).verdict] += 1
    return found


# name: chance, fewest of 300 that are called steady; measured 300, 295, 290, 288 and COUNT
STEADY_RUNS = {
    "equal work": (Chance(0.0, 0.03), 300),
    "work that differs": (Chance(0.3, 0.05), 285),
    "neighbours are alike": (Chance(0.2, 0.03, 0.03), 285),
    "work that differs widely": (Chance(0.6, 0.05), 285),
    "a fifth of noise": (Chance(0.1, 0.2), 270),
}


@pytest.mark.parametrize("name", STEADY_RUNS)
def test_steady_runs_are_called_steady(name: str) -> None:
    chance, least = STEADY_RUNS[name]
    found = verdicts(chance)
    assert found[SteadyVerdict.STEADY] >= least, found


def test_a_drift_of_a_fifth_is_not_called_steady() -> None:
    found = verdicts(Chance(0.2, 0.05), drift=0.2)
    assert found[SteadyVerdict.STEADY] <= RUNS // 10
    assert found[SteadyVerdict.DRIFTING_DOWN] == 0
