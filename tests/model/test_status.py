"""A result's standing."""

from __future__ import annotations

from wholecurve.model.names import NAMES
from wholecurve.model.status import Status


def test_the_words_are_those_of_a_registry() -> None:
    assert [status.value for status in Status] == ["verified", "provisional", "unverified"]


def test_its_name_says_both_meanings() -> None:
    """`status` is a column of the records too."""
    assert "HTTP status" in NAMES["status"].definition
    assert all(status in NAMES["status"].definition for status in Status)
