"""The table of names is complete, and each row can be read by a person."""

from __future__ import annotations

import pytest

from wholecurve.model.names import NAMES, Group, Name
from wholecurve.model.record import EVENT_COLUMNS, REQUEST_COLUMNS

SUFFIX_UNITS = {"_ns": "ns", "_ms": "ms", "_s": "s", "_per_s": "requests/s"}


@pytest.mark.parametrize("name", NAMES.values(), ids=lambda name: name.key)
def test_a_name_has_a_label_a_type_a_definition_and_a_source(name: Name) -> None:
    assert NAMES[name.key] is name
    assert name.label
    assert name.type
    assert name.source
    assert name.definition.endswith(".")


def test_every_column_of_the_records_is_named_with_its_unit() -> None:
    for column in (*REQUEST_COLUMNS, *EVENT_COLUMNS):
        assert (NAMES[column.name].group, NAMES[column.name].unit) == (Group.COLUMN, column.unit)


def test_a_unit_in_the_name_is_the_unit() -> None:
    for name in NAMES.values():
        suffix = next((one for one in ("_per_s", "_ns", "_ms") if name.key.endswith(one)), None)
        # a histogram over powers of two of ns counts reads; `most_in_100_ms` counts requests
        if suffix is not None and name.key not in ("read_lag_log2_ns", "most_in_100_ms"):
            assert name.unit == SUFFIX_UNITS[suffix], name.key


def test_metrics_cite_the_design_or_the_rules() -> None:
    for name in NAMES.values():
        if name.group is Group.METRIC:
            assert name.type == "series"
            assert "DESIGN" in name.source or "TR" in name.source
