"""What a plan is made from besides settings, as the packages that read it hand it out: data sets and a tokenizer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

from wholecurve.model.plan import DatasetPlan, TokenizerPlan
from wholecurve.model.sample import Sample


class Loaded(Protocol):
    """A data set as datasets/ hands it out. `answers`: expected ones, empty unless their column was named."""

    @property
    def plan(self) -> DatasetPlan: ...
    @property
    def samples(self) -> tuple[Sample, ...]: ...
    @property
    def answers(self) -> tuple[str, ...]: ...


class ReadDataset(Protocol):
    """`datasets.load`."""

    def __call__(
        self,
        path: str,
        *,
        format: str | None,
        columns: Mapping[str, str] | None,
        limit: int | None,
        skip_bad_rows: bool,
        prefer: str | None,
        answer: str | None = None,
    ) -> Loaded: ...


class LoadedTokenizer(Protocol):
    """A tokenizer as tokens/ hands it out."""

    @property
    def plan(self) -> TokenizerPlan: ...
    def encode(self, text: str) -> list[int]: ...
    def decode(self, ids: Sequence[int]) -> str: ...
    def is_special(self, token: int) -> bool: ...


class LoadTokenizer(Protocol):
    """Loads the reference tokenizer from a folder or an id."""

    def __call__(self, path: str, *, trust_remote_code: bool) -> LoadedTokenizer: ...
