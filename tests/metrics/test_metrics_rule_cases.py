"""Test cases T18 and T19 of the rules (section 22), as the text states them."""

from __future__ import annotations

import pytest
from metrics_build import MS, S, answer, columns

from wholecurve.metrics import percentile_of
from wholecurve.metrics.latency import tpot
from wholecurve.metrics.quantile import measured
from wholecurve.metrics.rate import e2e_interactivity


def test_t18_only_positive_finite_samples_of_streamed_answers_make_a_tpot() -> None:
    """20 ms, 25 ms, one of no length, one without a token after the first, one that did not come as a stream."""
    rows = [
        answer(0, MS, [20 * MS] * 10, osl=11, osl_after_first=10),
        answer(0, MS, [25 * MS] * 10, osl=11, osl_after_first=10),
        answer(0, MS, [0] * 10, osl=11, osl_after_first=10),
        answer(0, MS, [20 * MS], osl=1, osl_after_first=0),
        answer(0, MS, [], osl=11, osl_after_first=10),
    ]
    samples = measured(tpot(columns(rows)))
    assert sorted(samples.tolist()) == [20 * MS, 25 * MS]
    # rules.md computes P90 24.5 ms by interpolation (C13); DESIGN 2 takes the lower order statistic, as the reference
    # client does: of two samples the smaller one, a value that was measured.
    assert percentile_of(samples, 90.0) == 20 * MS


def test_t19_agentic_interactivity_is_a_ratio_of_sums_and_no_mean_of_ratios() -> None:
    turns = [answer(0, 10 * S, [], osl=300, turn=0), answer(0, 15 * S, [], osl=500, turn=1)]
    found = e2e_interactivity(columns(turns))
    assert found is not None
    assert found == (800, 25.0, 32.0)
    assert found[2] != pytest.approx((300 / 10 + 500 / 15) / 2, abs=0.1)
