"""Token columns of recorded rows, counted with the reference tokenizer; remembers how it counted."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence

from wholecurve.model.plan import PhaseKind, Plan
from wholecurve.model.record import Outcome
from wholecurve.model.sample import Conversation
from wholecurve.records import NUMBER_NAMES, TEXT_NAMES, Row
from wholecurve.tokens import ResponseRow, Tokenizer, count_answers, count_prompts

_SAMPLE = NUMBER_NAMES.index("sample")
_PHASE = NUMBER_NAMES.index("phase")
_OUTCOME = TEXT_NAMES.index("outcome")

Say = Callable[[str], None]


class TokenColumns:
    """Counts tokens of row groups with the reference tokenizer; remembers how it counted."""

    def __init__(
        self, plan: Plan, tokenizer: Tokenizer, conversations: Mapping[str, Sequence[Conversation]], say: Say
    ) -> None:
        self._tokenizer = tokenizer
        self._say = say
        self.methods: dict[str, int] = {}
        self.reasons: dict[str, int] = {}
        self._done = 0
        # The template belongs to chat; other dialects send the prompt as it is.
        templated = plan.endpoint.dialect == "openai-chat"
        self._isl: list[Mapping[int, int | None]] = []
        for phase in plan.phases:
            samples = [turn.sample for conversation in conversations[phase.dataset] for turn in conversation.turns]
            counted = count_prompts(
                samples, tokenizer, templated=templated, processes=_processes(),
                template_kwargs=plan.request.extra_body.get("chat_template_kwargs"),
            )  # fmt: skip
            self._isl.append({s.row: isl for s, isl in zip(samples, counted.isl, strict=True)})
            if phase.kind is PhaseKind.PERFORMANCE:
                self.input_methods, self.input_reasons = dict(counted.methods), dict(counted.reasons)

    def __call__(self, rows: Sequence[Row]) -> Mapping[str, Sequence[int | None]]:
        """Token columns of one group; output counts of successes only (a part of an answer has no length)."""
        good = [place for place, row in enumerate(rows) if row.texts[_OUTCOME] == Outcome.SUCCEEDED]
        counted = count_answers(
            [ResponseRow(*rows[place].response) for place in good], self._tokenizer, processes=_processes()
        )
        for method, count in counted.methods.items():
            self.methods[method] = self.methods.get(method, 0) + count
        isl = [self._isl[row.numbers[_PHASE]].get(row.numbers[_SAMPLE]) for row in rows]
        columns: dict[str, list[int | None]] = {
            name: [None] * len(rows) for name in ("osl", "osl_after_first", "osl_reasoning")
        }
        for place, osl, after, reasoning in zip(
            good, counted.osl, counted.osl_after_first, counted.osl_reasoning, strict=True
        ):
            columns["osl"][place] = osl
            columns["osl_after_first"][place] = after
            columns["osl_reasoning"][place] = reasoning
        self._done += len(rows)
        if len(rows) > 2_000:
            self._say(f"counted tokens of {self._done} answers")
        return columns | {"isl": isl}


def _processes() -> int:
    return max(1, len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else (os.cpu_count() or 1))
