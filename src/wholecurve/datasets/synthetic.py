"""Synthetic prompts of exact token length, with a given share of common prefix.

Prompts are words that cost one token each in the given tokenizer, joined by spaces; each prompt is encoded again and
corrected until it has the asked length. Row i depends on the seed and on i only (and on no worker), so a set is the
same whoever makes it, and a large one is made by all cores (SCL-6). No prompt occurs twice. Lengths are of the prompt
text alone: a chat template adds to them.
"""

from __future__ import annotations

import hashlib
import os
import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from math import ceil
from typing import Any, Protocol

from wholecurve.datasets.files import LoadedDataset
from wholecurve.datasets.lengths import Lengths
from wholecurve.model.errors import InputError
from wholecurve.model.plan import DatasetPlan, TokenizerPlan
from wholecurve.model.sample import Sample

LARGE_JOB = 1_000_000
"""So many tokens take one process a few seconds: from here on others help, and progress is told."""

CHUNK = 32
_POOL = 2048
_ROUNDS = 24
_ATTEMPTS = 20
_FILL = (*"abcdefghijklmnopqrstuvwxyz", " a", " b", " i", ".", ",", "!", "?", " ", "\n", *"0123456789")


class TextTokenizer(Protocol):
    """What is needed of a tokenizer: tokens of a text without special ones, and texts of tokens."""

    @property
    def plan(self) -> TokenizerPlan: ...
    def encode(self, text: str) -> list[int]: ...
    def decode(self, ids: Sequence[int]) -> str: ...


@dataclass(frozen=True, slots=True)
class Synthetic:
    """A synthetic set: the data set, and per row the asked and the realised length in `unit`.

    `unit` is `tokens`, or `words` if no tokenizer was given. `prefix_share` is the realised share of all tokens that
    are common prefix.
    """

    dataset: LoadedDataset
    unit: str
    asked: tuple[int, ...]
    realised: tuple[int, ...]
    prefix_share: float


def synthetic(
    count: int,
    lengths: Lengths,
    *,
    seed: int,
    tokenizer: TextTokenizer | None = None,
    prefix_share: float = 0.0,
    output: Lengths | None = None,
    processes: int | None = None,
    progress: Callable[[int], None] | None = None,
) -> Synthetic:
    """Make `count` distinct prompts. `output` sets a `max_tokens` per row.

    `processes`: by default as many as there are cores for a large job, else this one. `progress` is told the rows done
    of a large job.

    With `prefix_share` s, the first round(s x length) tokens of every prompt are those of one common text.
    Raises InputError for a share outside 0 to under 1, and if there are not so many distinct prompts of that length.
    """
    if count < 1:
        raise InputError(f"wanted at least 1 synthetic prompt, got {count}")
    if not 0 <= prefix_share < 1:
        raise InputError(f"wanted a shared prefix share from 0 to less than 1, got {prefix_share:g}")
    writer = _Writer(tokenizer, seed)
    asked = [lengths.draw(random.Random(f"{seed}/length/{row}")) for row in range(count)]
    common = [min(round(prefix_share * length), length - 1) for length in asked]
    large = sum(asked) >= LARGE_JOB
    many = (_cores() if large else 1) if processes is None else processes
    realised, shared, samples = [], 0, []
    seen: set[str] = set()
    for row, draft in enumerate(_drafts(writer, list(zip(range(count), asked, common, strict=True)), many)):
        found = draft if draft.text not in seen else _unseen(writer, seen, row, asked[row], common[row])
        seen.add(found.text)
        realised.append(found.tokens)
        shared += found.shared
        body = {"max_tokens": output.draw(random.Random(f"{seed}/output/{row}"))} if output else {}
        samples.append(Sample(row, prompt=found.text, body=body))
        if progress is not None and large and (row + 1) % CHUNK == 0:
            progress(row + 1)
    plan = DatasetPlan("synthetic", "", count, _fingerprint(samples))
    notes = _notes(writer.unit, lengths, output, prefix_share, seed, asked, realised)
    return Synthetic(
        LoadedDataset(plan, tuple(samples), notes), writer.unit, tuple(asked), tuple(realised), shared / sum(realised)
    )


@dataclass(frozen=True, slots=True)
class _Draft:
    """A prompt, its tokens, and how many of them are of the common text."""

    text: str
    tokens: int
    shared: int


_Job = tuple[int, int, int]
"""Row, length, tokens of the common text."""


def _drafts(writer: _Writer, jobs: Sequence[_Job], processes: int) -> Iterator[_Draft]:
    """The first attempt at every row, in order; by forks that have the tokenizer already, so that nothing is loaded."""
    if processes < 2 or len(jobs) < 2 * CHUNK:
        yield from (writer.draft(row, 0, length, common) for row, length, common in jobs)
        return
    from concurrent.futures import ProcessPoolExecutor
    from multiprocessing import get_context

    context = get_context("fork")
    with ProcessPoolExecutor(processes, mp_context=context, initializer=_start, initargs=(writer,)) as pool:
        for found in pool.map(_run, [jobs[at : at + CHUNK] for at in range(0, len(jobs), CHUNK)]):
            yield from found


_process: list[_Writer] = []


def _start(writer: _Writer) -> None:
    _process[:] = [writer]


def _run(jobs: Sequence[_Job]) -> list[_Draft]:
    return [_process[0].draft(row, 0, length, common) for row, length, common in jobs]


def _cores() -> int:
    if not hasattr(os, "fork"):
        return 1
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _unseen(writer: _Writer, seen: set[str], row: int, length: int, common: int) -> _Draft:
    """Another attempt at a row whose first one is a prompt that there is already."""
    for attempt in range(1, _ATTEMPTS):
        draft = writer.draft(row, attempt, length, common)
        if draft.text not in seen:
            return draft
    raise InputError(
        f"wanted more distinct prompts than there are with {length - common} {writer.unit} of their own (stopped at "
        f"row {row})",
        hint="ask for longer or for fewer prompts, or for a smaller shared prefix",
    )


class _Writer:
    """Writes texts of exact length in one unit."""

    def __init__(self, tokenizer: TextTokenizer | None, seed: int) -> None:
        self.unit = "words" if tokenizer is None else "tokens"
        self.encode: Callable[[str], Sequence[Any]] = str.split if tokenizer is None else tokenizer.encode
        self._words = _syllables() if tokenizer is None else _cheap_words(tokenizer)
        self._seed = seed
        self._prefixes: dict[int, str] = {0: ""}

    def draft(self, row: int, attempt: int, length: int, common: int) -> _Draft:
        """One attempt at a row, counted."""
        text = self.prompt(f"{row}/{attempt}", length, common)
        tokens = self.encode(text)
        return _Draft(text, len(tokens), _common(tokens, self.encode(self.prefix(common))) if common else 0)

    def prompt(self, key: str, length: int, common: int) -> str:
        """A text of `length` that starts with the common prefix of `common`."""
        return self._exact(f"{self._seed}/prompt/{key}", length, self.prefix(common))

    def prefix(self, length: int) -> str:
        """The first `length` tokens of the common text."""
        if length not in self._prefixes:
            self._prefixes[length] = self._exact(f"{self._seed}/prefix", length, "")
        return self._prefixes[length]

    def _exact(self, key: str, length: int, start: str) -> str:
        """`start` and random words behind it, corrected until the whole encodes to `length`."""
        rng = random.Random(key)
        words: list[str] = []
        have = begin = len(self.encode(start))
        for _ in range(_ROUNDS):
            cost = max(1.0, (have - begin) / len(words)) if words else 1.0
            if have > length:
                del words[-min(len(words), ceil((have - length) / cost)) :]
            elif have < length:
                more = int((length - have) / cost)
                if not more:
                    break
                words += rng.choices(self._words, k=more)
            else:
                break
            have = len(self.encode(_joined(start, words)))
        while have > length and words:
            words.pop()
            have = len(self.encode(_joined(start, words)))
        return self._filled(_joined(start, words), have, length, rng)

    def _filled(self, text: str, have: int, length: int, rng: random.Random) -> str:
        """Single characters behind `text` of `have` tokens until it has `length`; as far as that is possible."""
        while have < length:
            for piece in rng.sample(_FILL, len(_FILL)):
                if len(self.encode(text + piece)) == have + 1:
                    text += piece
                    have += 1
                    break
            else:
                break
        return text


def _joined(start: str, words: Sequence[str]) -> str:
    return " ".join([start, *words] if start else words)


def _cheap_words(tokenizer: TextTokenizer) -> list[str]:
    """Words of the vocabulary that cost one token behind a space; syllables if there are too few."""
    size = tokenizer.plan.vocab_size
    # The same words for every seed: which words there are is a property of the tokenizer.
    places = random.Random("words").sample(range(size), min(size, 4 * _POOL))
    found: dict[str, None] = {}
    for place in places:
        word = tokenizer.decode([place]).strip()
        if len(word) > 1 and word.isascii() and word.isalpha() and word.islower() and word not in found:
            twice = tokenizer.encode(f"a {word} {word}")
            if len(twice) - len(tokenizer.encode("a")) == 2 and word in tokenizer.decode(twice[-1:]):
                found[word] = None
        if len(found) == _POOL:
            break
    return sorted(found) if len(found) >= 64 else _syllables()


def _syllables() -> list[str]:
    pairs = ["".join(pair) for pair in product("bdfgklmnprstvz", "aeiou")]
    return ["".join(pair) for pair in product(pairs, pairs)][::3]


def _common(left: Sequence[Any], right: Sequence[Any]) -> int:
    for place, (one, other) in enumerate(zip(left, right)):
        if one != other:
            return place
    return min(len(left), len(right))


def _fingerprint(samples: Sequence[Sample]) -> str:
    whole = hashlib.sha256()
    for sample in samples:
        whole.update(f"{sample.prompt}\0{sample.body.get('max_tokens', '')}\n".encode())
    return whole.hexdigest()


def _notes(
    unit: str,
    lengths: Lengths,
    output: Lengths | None,
    prefix_share: float,
    seed: int,
    asked: Sequence[int],
    realised: Sequence[int],
) -> tuple[str, ...]:
    made = f"synthetic prompts: lengths {lengths} {unit}, shared prefix share {prefix_share:g}, seed {seed}"
    notes = [made + (f", max_tokens {output}" if output else "")]
    off = [(want, got) for want, got in zip(asked, realised) if want != got]
    if off:
        worst = max(off, key=lambda pair: abs(pair[0] - pair[1]))
        notes.append(
            f"{len(off)} of {len(asked)} prompts miss the asked length, the worst with {worst[1]} {unit} for {worst[0]}"
        )
    return tuple(notes)
