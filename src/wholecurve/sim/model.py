"""A discrete model of an engine with continuous batching: jobs in, tokens with times out. No clock, no I/O.

Given a seed and the arrivals the result is the same, however often `advance` is called in between.
"""

from __future__ import annotations

import random
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass

from wholecurve.sim.kvcache import BlockPool, Lease
from wholecurve.sim.pace import EVEN, REST_NS, Captures, Pace
from wholecurve.sim.profiles import EngineProfile


@dataclass(frozen=True, slots=True)
class Job:
    """A request as the engine sees it. `prefix`: chained hashes of the prompt's full blocks, empty for no caching."""

    number: int
    prompt_tokens: int
    output_tokens: int
    prefix: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Step:
    """One step of the engine. All its tokens appear at `end_ns`, one for each job in `tokens`.

    `cached`: jobs admitted at the start of this step, with the prompt tokens found in the prefix cache.
    `finished` is the part of `tokens` that got its last one. `decoding` and `prefill_tokens` made up its time.
    """

    number: int
    start_ns: int
    end_ns: int
    tokens: tuple[int, ...]
    finished: frozenset[int]
    cached: Mapping[int, int]
    decoding: int
    prefill_tokens: int


class _Sequence:
    __slots__ = ("job", "lease", "left", "produced")

    def __init__(self, job: Job, lease: Lease, left: int) -> None:
        self.job = job
        self.lease = lease
        self.left = left
        self.produced = 0


@dataclass(slots=True)
class _Running:
    """The step under way."""

    start_ns: int
    end_ns: int
    cached: dict[int, int]
    prefill: int
    decoding: int
    completing: list[_Sequence]


class Engine:
    """Continuous batching. Jobs wait in order of arrival for a place in the batch and for KV blocks for all their
    tokens (reserved on admission, so nothing is ever preempted); the first one that does not fit holds up the rest.
    `pace` changes the time of its steps.
    """

    def __init__(self, profile: EngineProfile, draw: random.Random, pace: Pace = EVEN) -> None:
        self.profile = profile
        self._pace = None if pace.even else pace
        self._first_at: int | None = None
        self._woken_at = 0
        self._captures = Captures(pace.capture_steps)
        self.pool = BlockPool(profile.kv_blocks)
        self.steps = 0
        self._draw = draw
        self._waiting: deque[tuple[int, Job]] = deque()
        self._prefilling: deque[_Sequence] = deque()
        self._decoding: list[_Sequence] = []
        self._context = 0
        self._step: _Running | None = None
        self._free_at = 0

    @property
    def waiting(self) -> int:
        """Jobs that have no place yet."""
        return len(self._waiting)

    @property
    def running(self) -> int:
        """Jobs in the batch."""
        return len(self._prefilling) + len(self._decoding)

    def submit(self, job: Job, at_ns: int) -> None:
        """A job arrives. Arrivals come in order of time. Raises ValueError for a job that can never run."""
        if job.prompt_tokens < 1 or job.output_tokens < 1:
            raise ValueError("a job has at least one prompt token and one output token")
        if self._blocks(job) > self.profile.kv_blocks:
            raise ValueError("a job is larger than the whole KV memory")
        if self._waiting and at_ns < self._waiting[-1][0]:
            raise ValueError("arrivals must come in order of time")
        self._waiting.append((at_ns, job))

    def cancel(self, number: int) -> bool:
        """The client left: free what the job holds. False if it is not known (any more)."""
        for entry in self._waiting:
            if entry[1].number == number:
                self._waiting.remove(entry)
                return True
        for group in (self._prefilling, self._decoding):
            for sequence in group:
                if sequence.job.number == number:
                    group.remove(sequence)
                    self._drop(sequence)
                    return True
        return False

    def next_ns(self) -> int | None:
        """When something will happen next, or None if all is done. May lie in the past."""
        if self._step is not None:
            return self._step.end_ns
        return max(self._free_at, self._waiting[0][0]) if self._waiting else None

    def advance(self, now_ns: int, *, at_most: int | None = None, behind_ns: int | None = None) -> list[Step]:
        """All steps that end by `now_ns` (the first `at_most` of them), in order.

        With `behind_ns` no step starts earlier than that before `now_ns`: a server that cannot send its tokens in time
        slows its engine down, instead of falling further and further behind the model's time.
        """
        found: list[Step] = []
        earliest = 0 if behind_ns is None else now_ns - behind_ns
        while at_most is None or len(found) < at_most:
            if self._step is None:
                if not self._waiting or self._waiting[0][0] > now_ns:
                    break
                self._begin(max(self._free_at, self._waiting[0][0], earliest))
                if self._step is None:
                    break
            if self._step.end_ns > now_ns:
                break
            step = self._finish(self._step)
            found.append(step)
            self._free_at = step.end_ns
            self._step = None
            start_ns = max(step.end_ns, earliest)
            if self._prefilling or self._decoding or (self._waiting and self._waiting[0][0] <= start_ns):
                self._begin(start_ns)
        return found

    def _blocks(self, job: Job) -> int:
        return self.profile.blocks_for(job.prompt_tokens + job.output_tokens)

    def _admit(self, at_ns: int) -> dict[int, int]:
        """Take waiting jobs that have arrived, in order, while place and memory last; cached tokens by job."""
        cached: dict[int, int] = {}
        size = self.profile.block_tokens
        while self._waiting and self.running < self.profile.max_batch:
            arrived, job = self._waiting[0]
            if arrived > at_ns:
                break
            # The last prompt token is always computed: its result is the first token of the answer.
            prefix = job.prefix[: (job.prompt_tokens - 1) // size] if self.profile.prefix_cache else ()
            lease = self.pool.lease(prefix, self._blocks(job))
            if lease is None:
                break
            self._waiting.popleft()
            cached[job.number] = lease.hits * size
            self._prefilling.append(_Sequence(job, lease, job.prompt_tokens - lease.hits * size))
        return cached

    def _begin(self, at_ns: int) -> None:
        """Start a step at `at_ns` if there is anything to do."""
        cached = self._admit(at_ns)
        if not self._prefilling and not self._decoding:
            return
        budget = self.profile.prefill_budget
        completing = []
        for sequence in self._prefilling:
            part = min(sequence.left, budget)
            sequence.left -= part
            budget -= part
            if sequence.left == 0:
                completing.append(sequence)
            if budget == 0:
                break
        prefill = self.profile.prefill_budget - budget
        time_ns = self.profile.step_time_ns(decoding=len(self._decoding), prefill=prefill, context=self._context)
        time_ns *= 1 + self.profile.jitter * (2 * self._draw.random() - 1)
        if self._pace is not None:
            time_ns *= self._slower(at_ns, len(self._decoding) + len(self._prefilling), self._pace)
        end_ns = at_ns + max(1, round(time_ns))
        self._step = _Running(at_ns, end_ns, cached, prefill, len(self._decoding), completing)

    def _slower(self, at_ns: int, sequences: int, pace: Pace) -> float:
        """What the time of a step is multiplied by. A step that starts long after the last one ends a rest."""
        if self._first_at is None:
            self._first_at = self._woken_at = at_ns
        elif at_ns - self._free_at >= REST_NS:
            self._woken_at = at_ns
        return pace.factor(
            since_first_ns=at_ns - self._first_at,
            since_rest_ns=at_ns - self._woken_at,
            capturing=self._captures.step(sequences),
        )

    def _finish(self, step: _Running) -> Step:
        """The step under way ends: every decoding sequence and every whole prompt gets a token."""
        tokens: list[int] = []
        finished: list[int] = []
        kept: list[_Sequence] = []
        decoding = self._decoding
        for sequence in step.completing:
            if sequence in self._prefilling:  # it may have been cancelled since
                self._prefilling.remove(sequence)
                self.pool.publish(sequence.lease)
                self._context += sequence.job.prompt_tokens
                decoding.append(sequence)
        for sequence in decoding:
            job = sequence.job
            sequence.produced += 1
            tokens.append(job.number)
            if sequence.produced < job.output_tokens:
                kept.append(sequence)
                continue
            finished.append(job.number)
            self._context -= job.prompt_tokens + sequence.produced - 1
            self.pool.release(sequence.lease)
        self._decoding = kept
        self._context += len(kept)
        self.steps += 1
        return Step(
            self.steps,
            step.start_ns,
            step.end_ns,
            tuple(tokens),
            frozenset(finished),
            step.cached,
            step.decoding,
            step.prefill,
        )

    def _drop(self, sequence: _Sequence) -> None:
        if sequence.produced:
            self._context -= sequence.job.prompt_tokens + sequence.produced
        self.pool.release(sequence.lease)
