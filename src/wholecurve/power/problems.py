"""Why a power file is rejected: every reason with its place, all of them at once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from wholecurve.model.errors import InputError

FILE: Final = "system_power.json"
MOST_LISTED: Final = 12


@dataclass(frozen=True, slots=True)
class Problem:
    """One reason for rejection: where in the file, what was wanted and what came, and what to do."""

    place: str
    message: str
    hint: str = ""

    def sentence(self) -> str:
        """One line for a list."""
        hint = f" ({self.hint})" if self.hint else ""
        return f"{self.place or FILE}: {self.message}{hint}"


class PowerRejected(InputError):
    """A power file that the rules reject. `problems`: every reason that was found, in the order of the file."""

    def __init__(self, problems: Sequence[Problem]) -> None:
        self.problems = tuple(problems)
        first = self.problems[0]
        if len(self.problems) == 1:
            super().__init__(first.message, where=_place(first), hint=first.hint)
            return
        listed = [f"- {problem.sentence()}" for problem in self.problems[:MOST_LISTED]]
        if len(self.problems) > MOST_LISTED:
            listed.append(f"- and {len(self.problems) - MOST_LISTED} more")
        super().__init__(f"{len(self.problems)} things keep {FILE} from being used", hint="\n  ".join(listed))


def reject_if_any(problems: Sequence[Problem]) -> None:
    """Raises PowerRejected with all of them."""
    if problems:
        raise PowerRejected(problems)


def _place(problem: Problem) -> str:
    return f"{FILE}: {problem.place}" if problem.place else FILE
