"""The records of one phase as numpy columns: what every function of this package reads.

A row is a request. Numbers are int64 with `NULL` where nothing was measured, so a missing value can never be taken
for zero; texts are sequences with None. Gaps of all requests lie behind each other, cut by `gap_offsets`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final

import numpy as np
from numpy.typing import NDArray

from wholecurve.model.record import REQUEST_COLUMNS, Outcome

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Mask = NDArray[np.bool_]

NULL: Final[int] = int(np.iinfo(np.int64).min)
"""Not measured. Never take part in arithmetic with it: mask with `Columns.known` first."""

TEXT_COLUMNS: Final[tuple[str, ...]] = tuple(c.name for c in REQUEST_COLUMNS if c.type == "string")
NUMBER_COLUMNS: Final[tuple[str, ...]] = tuple(c.name for c in REQUEST_COLUMNS if c.type != "string")


@dataclass(frozen=True)
class Columns:
    """All requests of one phase.

    numbers: every column of `NUMBER_COLUMNS`, int64, shape (n,); a bool is 0 or 1; `NULL` where missing.
    texts: every column of `TEXT_COLUMNS`, n strings or None.
    gaps_ns: gaps between output-bearing events, request after request; shape (sum of gaps,).
    gap_offsets: request i owns `gaps_ns[gap_offsets[i]:gap_offsets[i + 1]]`; shape (n + 1,).
    """

    numbers: Mapping[str, Ints]
    texts: Mapping[str, Sequence[str | None]]
    gaps_ns: Ints
    gap_offsets: Ints

    def __post_init__(self) -> None:
        """Refuse columns that do not fit each other (ValueError): a bug of the reader, never of a user."""
        n = self.n
        short = [name for name in NUMBER_COLUMNS if name not in self.numbers or len(self.numbers[name]) != n]
        short += [name for name in TEXT_COLUMNS if name not in self.texts or len(self.texts[name]) != n]
        if short:
            raise ValueError(f"wanted {n} rows in every column, missing or of another length: {', '.join(short)}")
        if len(self.gap_offsets) != n + 1 or int(self.gap_offsets[-1]) != len(self.gaps_ns):
            raise ValueError(f"wanted {n + 1} gap offsets that end at {len(self.gaps_ns)}")

    @property
    def n(self) -> int:
        """Requests."""
        return len(self.numbers["index"])

    def __getitem__(self, name: str) -> Ints:
        """A number column."""
        return self.numbers[name]

    def known(self, *names: str) -> Mask:
        """True where every named number column has a value; shape (n,)."""
        mask = np.ones(self.n, dtype=np.bool_)
        for name in names:
            mask &= self.numbers[name] != NULL
        return mask

    def outcome_is(self, *outcomes: str) -> Mask:
        """True where the outcome is one of these; shape (n,)."""
        wanted = frozenset(str(outcome) for outcome in outcomes)
        return np.fromiter((text in wanted for text in self.texts["outcome"]), dtype=np.bool_, count=self.n)

    @cached_property
    def succeeded(self) -> Mask:
        """True where the request succeeded; shape (n,)."""
        return self.outcome_is(Outcome.SUCCEEDED)

    def gap_counts(self) -> Ints:
        """Gaps of each request; shape (n,)."""
        return np.diff(self.gap_offsets)

    def gap_mask(self, mask: Mask) -> Mask:
        """A mask over requests as a mask over gaps; shape (len(gaps_ns),)."""
        return np.repeat(mask, self.gap_counts())

    def where(self, mask: Mask) -> Columns:
        """The requests of the mask, in the same order, with their gaps."""
        chosen = np.flatnonzero(mask)
        offsets = np.zeros(len(chosen) + 1, dtype=np.int64)
        np.cumsum(self.gap_counts()[chosen], out=offsets[1:])
        return Columns(
            numbers={name: values[chosen] for name, values in self.numbers.items()},
            texts={name: [values[i] for i in chosen.tolist()] for name, values in self.texts.items()},
            gaps_ns=self.gaps_ns[self.gap_mask(mask)],
            gap_offsets=offsets,
        )
