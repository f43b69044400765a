"""Counts many answers or prompts after a load, in this process or in several. The order of the input is kept.

Small jobs stay here: the tokenizer library encodes a batch in parallel threads of its own. Large jobs go to spawned
processes, because rebuilding messages is Python work; there the library's threads are off, or they would fight.
"""

from __future__ import annotations

import os
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import chain, islice
from typing import TYPE_CHECKING, Any, TypeVar

from wholecurve.model.errors import MeasureError
from wholecurve.model.sample import Sample
from wholecurve.tokens.count import AnswerCount, AnswerCounter, ResponseRow
from wholecurve.tokens.inputs import InputCount, count_inputs
from wholecurve.tokens.tokenizer import Tokenizer, TokenizerSpec, load_tokenizer

if TYPE_CHECKING:
    from concurrent.futures import Future

SMALL_JOB = 2_000
CHUNK = 256

Progress = Callable[[int], None]
Item = TypeVar("Item")
Found = TypeVar("Found")


@dataclass(frozen=True, slots=True)
class AnswerColumns:
    """Columns of counted answers, in the order of the rows; `methods` says how many were counted how."""

    osl: tuple[int, ...]
    osl_after_first: tuple[int | None, ...]
    osl_reasoning: tuple[int, ...]
    methods: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class PromptColumns:
    """ISL per sample, in order; None where `reasons` (how many, by reason) says why."""

    isl: tuple[int | None, ...]
    methods: Mapping[str, int]
    reasons: Mapping[str, int]


def count_answers(
    rows: Iterable[ResponseRow],
    tokenizer: Tokenizer | TokenizerSpec,
    *,
    processes: int = 1,
    progress: Progress | None = None,
) -> AnswerColumns:
    """Count every answer. `progress` is told how many are done. Raises MeasureError if a process dies."""
    found: list[AnswerCount] = []
    for chunk in _counted(rows, _answers, tokenizer, processes):
        found += chunk
        if progress:
            progress(len(found))
    return AnswerColumns(
        tuple(one.osl for one in found),
        tuple(one.after_first for one in found),
        tuple(one.reasoning for one in found),
        dict(sorted(Counter(str(one.method) for one in found).items())),
    )


def count_prompts(
    samples: Iterable[Sample],
    tokenizer: Tokenizer | TokenizerSpec,
    *,
    templated: bool = True,
    template_kwargs: Mapping[str, Any] | None = None,
    processes: int = 1,
    progress: Progress | None = None,
) -> PromptColumns:
    """Count the input of every sample. Parameters as in `count_inputs` and `count_answers`."""
    work = partial(_prompts, templated=templated, template_kwargs=template_kwargs)
    found: list[InputCount] = []
    for chunk in _counted(samples, work, tokenizer, processes):
        found += chunk
        if progress:
            progress(len(found))
    return PromptColumns(
        tuple(one.isl for one in found),
        dict(sorted(Counter(str(one.method) for one in found if one.method).items())),
        dict(sorted(Counter(one.reason for one in found if one.reason).items())),
    )


class _Loaded:
    """A tokenizer and its counter, loaded once per process."""

    def __init__(self, tokenizer: Tokenizer) -> None:
        self.tokenizer = tokenizer
        self.counter = AnswerCounter(tokenizer)


def _answers(loaded: _Loaded, rows: Sequence[ResponseRow]) -> list[AnswerCount]:
    return loaded.counter.count_many(rows)


def _prompts(
    loaded: _Loaded, samples: Sequence[Sample], *, templated: bool, template_kwargs: Mapping[str, Any] | None
) -> list[InputCount]:
    return count_inputs(loaded.tokenizer, samples, templated=templated, template_kwargs=template_kwargs)


Work = Callable[[_Loaded, Sequence[Item]], list[Found]]


def _counted(
    items: Iterable[Item], work: Work[Item, Found], tokenizer: Tokenizer | TokenizerSpec, processes: int
) -> Iterator[list[Found]]:
    rest = iter(items)
    head = list(islice(rest, SMALL_JOB))
    chunks = _chunks(chain(head, rest))
    if processes > 1 and len(head) == SMALL_JOB:
        yield from _in_processes(
            chunks, work, tokenizer.spec if isinstance(tokenizer, Tokenizer) else tokenizer, processes
        )
        return
    loaded = _Loaded(tokenizer if isinstance(tokenizer, Tokenizer) else _load(tokenizer)) if head else None
    for chunk in chunks:
        assert loaded is not None
        yield work(loaded, chunk)


def _chunks(items: Iterator[Item]) -> Iterator[list[Item]]:
    while chunk := list(islice(items, CHUNK)):
        yield chunk


def _load(spec: TokenizerSpec) -> Tokenizer:
    return load_tokenizer(spec.source, trust_remote_code=spec.trust_remote_code, revision=spec.revision)


_process: list[_Loaded] = []


def _start(spec: TokenizerSpec) -> None:
    os.environ["TOKENIZERS_PARALLELISM"] = "false"
    _process[:] = [_Loaded(_load(spec))]


def _run(work: Work[Item, Found], chunk: Sequence[Item]) -> list[Found]:
    return work(_process[0], chunk)


def _in_processes(
    chunks: Iterator[list[Item]], work: Work[Item, Found], spec: TokenizerSpec, processes: int
) -> Iterator[list[Found]]:
    """Results in the order of `chunks`. Only a few chunks wait at a time, so that a large run is not held twice."""
    from concurrent.futures import ProcessPoolExecutor
    from concurrent.futures.process import BrokenProcessPool
    from multiprocessing import get_context

    with ProcessPoolExecutor(processes, mp_context=get_context("spawn"), initializer=_start, initargs=(spec,)) as pool:
        waiting: deque[Future[list[Found]]] = deque()
        try:
            for chunk in chunks:
                waiting.append(pool.submit(_run, work, chunk))
                if len(waiting) >= 3 * processes:
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()
        except BrokenProcessPool:
            raise MeasureError(
                "a process that counts tokens ended early",
                hint="the records are complete: `wholecurve report` can count again, with fewer processes",
            ) from None
        finally:
            for future in waiting:
                future.cancel()
