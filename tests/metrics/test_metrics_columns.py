"""Columns: missing values, masks, selections."""

from __future__ import annotations

import numpy as np
import pytest
from metrics_build import MS, answer, columns

from wholecurve.metrics import NULL, NUMBER_COLUMNS, TEXT_COLUMNS, Columns
from wholecurve.model.record import REQUEST_COLUMNS

ROWS = [
    answer(0, 1, [5, 6]),
    {"outcome": "failed", "failure": "http_protocol_error"},
    answer(9, 1, []),
    answer(10, 2, [7]),
]


def test_every_column_of_the_record_is_here_once() -> None:
    assert sorted(NUMBER_COLUMNS + TEXT_COLUMNS) == sorted(column.name for column in REQUEST_COLUMNS)


def test_missing_values_are_known_as_missing() -> None:
    cols = columns(ROWS)
    assert cols["issued_ns"].tolist() == [0, NULL, 9, 10]
    assert cols.known("issued_ns", "first_output_ns").tolist() == [True, False, True, True]
    assert cols.known().all()
    assert cols.succeeded.tolist() == [True, False, True, True]
    assert cols.outcome_is("failed", "lost").tolist() == [False, True, False, False]


def test_a_selection_takes_its_gaps_along() -> None:
    cols = columns(ROWS)
    assert cols.gap_counts().tolist() == [2, 0, 0, 1]
    some = cols.where(np.array([False, True, True, True]))
    assert (some.n, some["index"].tolist()) == (3, [1, 2, 3])
    assert (some.gaps_ns.tolist(), some.gap_offsets.tolist()) == ([7], [0, 0, 0, 1])
    assert some.texts["failure"] == ["http_protocol_error", None, None]
    none = cols.where(np.zeros(4, dtype=np.bool_))
    assert (none.n, none.gap_offsets.tolist()) == (0, [0])
    assert cols.gap_mask(np.array([True, False, False, False])).tolist() == [True, True, False]


def test_columns_that_do_not_fit_are_refused() -> None:
    good = columns([answer(0, MS, [1])])
    with pytest.raises(ValueError, match="another length: status"):
        Columns({**good.numbers, "status": np.zeros(2, np.int64)}, good.texts, good.gaps_ns, good.gap_offsets)
    texts = {name: good.texts[name] for name in TEXT_COLUMNS if name != "detail"}
    with pytest.raises(ValueError, match="another length: detail"):
        Columns(good.numbers, texts, good.gaps_ns, good.gap_offsets)
    with pytest.raises(ValueError, match="2 gap offsets that end at 1"):
        Columns(good.numbers, good.texts, good.gaps_ns, np.array([0, 2]))
