"""Text of somebody else, made harmless."""

from __future__ import annotations


def printable(text: str) -> str:
    """The text with `?` for whatever could move a cursor, change colours or turn the direction of a line."""
    return "".join(char if char.isprintable() else "?" for char in text)
