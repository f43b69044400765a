"""Records on disk: the row journal while a run goes on, Parquet when it has ended (`records.read`, `records.write`).

The Parquet side is not imported here: reducers need the journal only, and Arrow takes long to load.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

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

if TYPE_CHECKING:
    from wholecurve.metrics import Columns

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
    "read_columns",
    "read_row",
]


def read_columns(records: Path, phase: int) -> Columns:
    """As `records.read.read_columns`, for packages of this layer; Arrow is loaded only now."""
    from wholecurve.records.read import read_columns as read

    return read(records, phase)
