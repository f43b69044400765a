"""The server's token counts beside the reference tokenizer's: how far they differ, and which one is used.

Both are kept; one rule holds for a whole run. A difference means that the client and the server do not use the same
tokenizer or template, or that text does not re-encode to the tokens that were generated.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

TOLERANCE = 0.05
_ROUNDING = 1e-9  # 105 / 100 - 1 is a little more than 0.05


class CountSource(StrEnum):
    """Where the token counts of a run come from."""

    REFERENCE = "reference tokenizer"
    USAGE = "server usage"


@dataclass(frozen=True, slots=True)
class Mismatch:
    """Two counts of the same requests.

    `compared`: requests that have both, with a reference count over 0; `missing`: those that lack one. The shares are
    of `compared`; `median_ratio` is server / reference (lower median). All three are None if nothing was compared.
    """

    compared: int
    missing: int
    unequal_share: float | None
    far_share: float | None
    median_ratio: float | None

    @property
    def flagged(self) -> bool:
        """True if the counts of at least half of the requests are far apart."""
        return self.far_share is not None and self.far_share >= 0.5

    def sentence(self, what: str) -> str:
        """One line for people; `what` is `input` or `output`."""
        if self.median_ratio is None or self.unequal_share is None or self.far_share is None:
            return f"{what} tokens: no request has both the server's and the reference count"
        return (
            f"{what} tokens: the server counts {self.median_ratio:.4g} times the reference tokenizer (median of "
            f"{self.compared} requests); {100 * self.unequal_share:.1f} % differ, "
            f"{100 * self.far_share:.1f} % by more than 5 % and one token"
        )


def compare_counts(reference: Sequence[int | None], usage: Sequence[int | None]) -> Mismatch:
    """Compare two columns of equal length. A request is far if the counts differ by more than 5 % and one token.

    The one token is the end of the text: most servers count it, and the reference count leaves it out.
    """
    pairs = [
        (ref, use) for ref, use in zip(reference, usage, strict=True) if ref is not None and use is not None and ref > 0
    ]
    missing = len(reference) - len(pairs)
    if not pairs:
        return Mismatch(0, missing, None, None, None)
    unequal = sum(use != ref for ref, use in pairs)
    far = sum(abs(use - ref) > 1 and abs(use / ref - 1) > TOLERANCE + _ROUNDING for ref, use in pairs)
    ratios = sorted(use / ref for ref, use in pairs)
    return Mismatch(len(pairs), missing, unequal / len(pairs), far / len(pairs), ratios[(len(ratios) - 1) // 2])


def count_source(*, tokenizer: bool, usage: Sequence[int | None]) -> tuple[CountSource | None, str]:
    """The one source of a run's headline counts, and why: the reference tokenizer if there is one, else the server's
    usage if every successful request has it, else none. `usage` holds successful requests only."""
    if tokenizer:
        return CountSource.REFERENCE, "counted with the reference tokenizer"
    lacking = sum(count is None for count in usage)
    if usage and not lacking:
        return CountSource.USAGE, "no reference tokenizer was given; counts are the server's own"
    if not usage:
        return None, "no reference tokenizer was given, and no request succeeded"
    return None, f"no reference tokenizer was given, and {lacking} of {len(usage)} answers have no usage"
