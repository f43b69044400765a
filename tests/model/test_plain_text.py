"""Text of somebody else on a screen."""

from __future__ import annotations

import pytest

from wholecurve.model.plain_text import printable


@pytest.mark.parametrize("text", ["", "plain", "Größe 5 µs", "日本 ✓"])
def test_plain_text_stays(text: str) -> None:
    assert printable(text) == text


@pytest.mark.parametrize("char", ["\x1b", "\n", "\r", "\t", "\u202e", "\u200b", "\u2028", "\ud800", "\x9b"])
def test_what_acts_on_a_screen_does_not_reach_it(char: str) -> None:
    assert printable(f"a{char}b") == "a?b"
