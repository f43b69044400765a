"""The row journal: finished requests, appended while a run goes on, so that a crash keeps them.

One file per reducer, `records/rows-<n>.journal`. Frame: head (lengths), the numeric columns as int64, a JSON list of
texts, the gaps as int64. A frame cut short by a crash is the end of the file. At the end of a run the journal
becomes Parquet (records/write.py) and is deleted.
"""

from __future__ import annotations

import struct
from array import array
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

import orjson

from wholecurve.model.record import REQUEST_COLUMNS

NULL = -(1 << 63)
NUMBER_NAMES: tuple[str, ...] = tuple(column.name for column in REQUEST_COLUMNS if column.type != "string")
TEXT_NAMES: tuple[str, ...] = tuple(column.name for column in REQUEST_COLUMNS if column.type == "string")
RESPONSE_NAMES: tuple[str, ...] = ("text", "reasoning", "tool_calls", "first_text", "first_reasoning")

_HEAD = struct.Struct("<III")  # number bytes, text bytes, gap bytes
_NUMBERS = struct.Struct(f"<{len(NUMBER_NAMES)}q")
_PLACE = {name: place for place, name in enumerate(NUMBER_NAMES)}
PHASE_PLACE, INDEX_PLACE = _PLACE["phase"], _PLACE["index"]


@dataclass(frozen=True, slots=True)
class Row:
    """One finished request: numbers in NUMBER_NAMES order, texts by TEXT_NAMES, response by RESPONSE_NAMES."""

    numbers: tuple[int, ...]
    texts: tuple[str | None, ...]
    response: tuple[str | None, ...]
    gaps_ns: Sequence[int]

    @property
    def key(self) -> tuple[int, int]:
        """(phase, index): unique in a run."""
        return self.numbers[PHASE_PLACE], self.numbers[INDEX_PLACE]


def numbers_of(values: Mapping[str, int | None]) -> tuple[int, ...]:
    """Named values in column order; a missing or None value becomes NULL."""
    return tuple(NULL if (value := values.get(name)) is None else int(value) for name in NUMBER_NAMES)


def pack_row(row: Row) -> bytes:
    """A frame of the journal."""
    # Lone surrogates in an answer cannot be JSON; they were replaced when the answer was decoded.
    texts = orjson.dumps([*row.texts, *row.response])
    gaps = row.gaps_ns.tobytes() if isinstance(row.gaps_ns, array) else array("q", row.gaps_ns).tobytes()
    return b"".join((_HEAD.pack(_NUMBERS.size, len(texts), len(gaps)), _NUMBERS.pack(*row.numbers), texts, gaps))


@dataclass(frozen=True, slots=True)
class Place:
    """Where a row lies in its file."""

    phase: int
    index: int
    offset: int


def places(file: BinaryIO) -> Iterator[Place]:
    """Every whole row of a journal in file order; reads heads and keys only. Stops at a frame cut short."""
    file.seek(0, 2)
    size = file.tell()
    offset = 0
    while offset + _HEAD.size <= size:
        file.seek(offset)
        head = file.read(_HEAD.size)
        number_bytes, text_bytes, gap_bytes = _HEAD.unpack(head)
        end = offset + _HEAD.size + number_bytes + text_bytes + gap_bytes
        if number_bytes != _NUMBERS.size or end > size:
            return
        numbers = _NUMBERS.unpack(file.read(_NUMBERS.size))
        yield Place(numbers[PHASE_PLACE], numbers[INDEX_PLACE], offset)
        offset = end


def read_row(file: BinaryIO, offset: int) -> Row:
    """The row at `offset`."""
    file.seek(offset)
    number_bytes, text_bytes, gap_bytes = _HEAD.unpack(file.read(_HEAD.size))
    body = file.read(number_bytes + text_bytes + gap_bytes)
    numbers = _NUMBERS.unpack_from(body)
    texts = orjson.loads(body[number_bytes : number_bytes + text_bytes])
    gaps = array("q")
    gaps.frombytes(body[number_bytes + text_bytes :])
    return Row(numbers, tuple(texts[: len(TEXT_NAMES)]), tuple(texts[len(TEXT_NAMES) :]), gaps)


def journal_files(records: Path) -> list[Path]:
    """The journals in a run's records folder."""
    return sorted(records.glob("rows-*.journal"))
