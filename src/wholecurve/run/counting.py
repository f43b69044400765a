"""Token columns of recorded rows, counted with the reference tokenizer; remembers how it counted."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence

from wholecurve.config import salt_of
from wholecurve.datasets import TokenSalt, salted, token_salt
from wholecurve.model.plan import PhaseKind, PhasePlan, Plan
from wholecurve.model.record import Outcome
from wholecurve.model.sample import Conversation, Sample
from wholecurve.records import NUMBER_NAMES, TEXT_NAMES, Row
from wholecurve.tokens import PromptColumns, ResponseRow, Tokenizer, count_answers, count_prompts

_INDEX = NUMBER_NAMES.index("index")
_SAMPLE = NUMBER_NAMES.index("sample")
_PHASE = NUMBER_NAMES.index("phase")
_OUTCOME = TEXT_NAMES.index("outcome")

Say = Callable[[str], None]


class TokenColumns:
    """Counts tokens of row groups with the reference tokenizer; remembers how it counted.

    Input is counted once per row of a data set; in a salted phase for each request with its own salt, because two
    salts may differ in tokens. `input_methods` and `input_reasons` (counts by method, and by reason of no count) are
    those of the measured phase: of its rows, or of its requests if it is salted.
    """

    def __init__(
        self, plan: Plan, tokenizer: Tokenizer, conversations: Mapping[str, Sequence[Conversation]], say: Say
    ) -> None:
        self._tokenizer = tokenizer
        self._plan = plan
        self._say = say
        self.methods: dict[str, int] = {}
        self.reasons: dict[str, int] = {}
        self.input_methods: dict[str, int] = {}
        self.input_reasons: dict[str, int] = {}
        self._done = 0
        self._isl: dict[int, Mapping[int, int | None]] = {}
        self._salted: dict[int, _Salted] = {}
        for number, phase in enumerate(plan.phases):
            samples = [turn.sample for conversation in conversations[phase.dataset] for turn in conversation.turns]
            if phase.salt is not None:
                self._salted[number] = _Salted(phase.salt, number, samples, token_salt(samples, tokenizer))
            else:
                counted = self._counted(phase, samples)
                self._isl[number] = {s.row: isl for s, isl in zip(samples, counted.isl, strict=True)}

    def _counted(self, phase: PhasePlan, samples: Sequence[Sample]) -> PromptColumns:
        """ISL of samples, counted as the endpoint will see them."""
        counted = count_prompts(
            samples, self._tokenizer, processes=_processes(),
            # The template belongs to chat; other dialects send the prompt as it is.
            templated=self._plan.endpoint.dialect == "openai-chat",
            template_kwargs=self._plan.request.extra_body.get("chat_template_kwargs"),
        )  # fmt: skip
        if phase.kind is PhaseKind.PERFORMANCE:
            _add(self.input_methods, counted.methods)
            _add(self.input_reasons, counted.reasons)
        return counted

    def __call__(self, rows: Sequence[Row]) -> Mapping[str, Sequence[int | None]]:
        """Token columns of one group; output counts of successes only (a part of an answer has no length)."""
        good = [place for place, row in enumerate(rows) if row.texts[_OUTCOME] == Outcome.SUCCEEDED]
        counted = count_answers(
            [ResponseRow(*rows[place].response) for place in good], self._tokenizer, processes=_processes()
        )
        _add(self.methods, counted.methods)
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
        return columns | {"isl": self._input(rows)}

    def _input(self, rows: Sequence[Row]) -> list[int | None]:
        """ISL of every row; None for a turn that was never sent."""
        isl: list[int | None] = [None] * len(rows)
        for number, known in self._isl.items():
            for place, row in enumerate(rows):
                if row.numbers[_PHASE] == number:
                    isl[place] = known.get(row.numbers[_SAMPLE])
        for number, phase in self._salted.items():
            sent = [
                place
                for place, row in enumerate(rows)
                if row.numbers[_PHASE] == number and row.numbers[_SAMPLE] in phase.samples
            ]
            if sent:
                samples = [phase(rows[place].numbers[_SAMPLE], rows[place].numbers[_INDEX]) for place in sent]
                for place, count in zip(sent, self._counted(self._plan.phases[number], samples).isl, strict=True):
                    isl[place] = count
        return isl


class _Salted:
    """Makes the requests of a salted phase again, as `Outgoing` made them."""

    def __init__(self, word: str, phase: int, samples: Sequence[Sample], ids: TokenSalt | None) -> None:
        self._word, self._phase, self._ids = word, phase, ids
        self.samples = {sample.row: sample for sample in samples}

    def __call__(self, row: int, index: int) -> Sample:
        return salted(self.samples[row], salt_of(self._word, self._phase, index), self._ids)


def _add(total: dict[str, int], counts: Mapping[str, int]) -> None:
    for name, count in counts.items():
        total[name] = total.get(name, 0) + count


def _processes() -> int:
    return max(1, len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else (os.cpu_count() or 1))
