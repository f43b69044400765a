"""Records on disk: the row journal while a run goes on, Parquet when it has ended (`records.read`, `records.write`).

The Parquet side is not imported here: reducers need the journal only, and Arrow takes long to load.
"""

from __future__ import annotations

from wholecurve.records.journal import (
    NULL,
    NUMBER_NAMES,
    RESPONSE_NAMES,
    TEXT_NAMES,
    Place,
    Row,
    journal_files,
    numbers_of,
    pack_row,
    places,
    read_row,
)

__all__ = [
    "NULL",
    "NUMBER_NAMES",
    "RESPONSE_NAMES",
    "TEXT_NAMES",
    "Place",
    "Row",
    "journal_files",
    "numbers_of",
    "pack_row",
    "places",
    "read_row",
]
