"""The engine model: nothing is lost, memory is kept, time runs forward, and load does what load does."""

import itertools
import random
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from wholecurve.model.errors import InputError
from wholecurve.sim import PROFILES, Engine, EngineProfile, Job, Step, profile_named
from wholecurve.sim.kvcache import BlockPool
from wholecurve.sim.words import block_hashes

TINY = EngineProfile(
    "tiny",
    step_ns=1000,
    decode_ns=10,
    prefill_ns=5,
    context_ns=0.5,
    jitter=0.1,
    max_batch=4,
    prefill_budget=24,
    kv_blocks=20,
    block_tokens=4,
    max_context=80,
)


def engine(profile: EngineProfile = TINY, seed: int = 1) -> Engine:
    return Engine(profile, random.Random(seed))


@st.composite
def arrivals(draw: st.DrawFn) -> list[tuple[int, Job]]:
    """Jobs that fit, some with a common start, in order of time."""
    found = []
    at = 0
    for number in range(draw(st.integers(1, 25))):
        at += draw(st.integers(0, 4000))
        prompt, output = draw(st.integers(1, 40)), draw(st.integers(1, 30))
        family = draw(st.integers(0, 2))
        tokens = [f"{family}"] * draw(st.integers(0, prompt)) + [f"own{number}"] * prompt
        found.append((at, Job(number, prompt, output, block_hashes(tokens[:prompt], TINY.block_tokens))))
    return found


def run(machine: Engine, jobs: list[tuple[int, Job]], hop_ns: int) -> list[Step]:
    """Submit each job in time, advance in hops until all is done; memory is checked at every hop."""
    steps: list[Step] = []
    left, now = list(jobs), 0
    while left or machine.next_ns() is not None:
        while left and left[0][0] <= now + hop_ns:
            machine.submit(left[0][1], left[0][0])
            left.pop(0)
        now += hop_ns
        steps += machine.advance(now)
        assert machine.pool.leased <= machine.pool.used <= machine.pool.total
        assert machine.running <= machine.profile.max_batch
    return steps


@settings(max_examples=60, deadline=None)
@given(arrivals(), st.sampled_from([100, 1700, 10**9]))
def test_every_job_gets_exactly_its_tokens_in_order_of_time(jobs: list[tuple[int, Job]], hop_ns: int) -> None:
    machine = engine()
    steps = run(machine, jobs, hop_ns)
    got = {job.number: [step.end_ns for step in steps if job.number in step.tokens] for _at, job in jobs}
    for at, job in jobs:
        assert len(got[job.number]) == job.output_tokens
        assert got[job.number][0] > at
    assert all(len(set(step.tokens)) == len(step.tokens) for step in steps)
    assert sorted(number for step in steps for number in step.finished) == [job.number for _at, job in jobs]
    assert all(before.end_ns <= after.start_ns for before, after in itertools.pairwise(steps))
    assert all(step.start_ns < step.end_ns for step in steps)
    assert machine.pool.leased == 0
    assert machine.running == machine.waiting == 0


@settings(max_examples=40, deadline=None)
@given(arrivals())
def test_result_does_not_depend_on_how_often_one_looks(jobs: list[tuple[int, Job]]) -> None:
    assert run(engine(), jobs, 50) == run(engine(), jobs, 10**9)


@settings(max_examples=40, deadline=None)
@given(arrivals(), st.integers(0, 2**32))
def test_cancelled_jobs_leave_nothing_behind(jobs: list[tuple[int, Job]], seed: int) -> None:
    machine, draw = engine(), random.Random(seed)
    for at, job in jobs:
        machine.submit(job, at)
    cancelled = set()
    seen: list[int] = []
    now = 0
    while machine.next_ns() is not None:
        now += 1500
        seen += [number for step in machine.advance(now) for number in step.tokens]
        victim = draw.choice(jobs)[1].number
        if machine.cancel(victim):
            cancelled.add(victim)
            assert not machine.cancel(victim)
        assert machine.pool.leased <= machine.pool.used <= machine.pool.total
    assert machine.pool.leased == 0
    assert machine._context == 0
    for _at, job in jobs:
        if job.number in cancelled:
            assert seen.count(job.number) < job.output_tokens
        else:
            assert seen.count(job.number) == job.output_tokens


def finish_times(profile: EngineProfile, count: int, *, prompt: int = 100, output: int = 50) -> list[Step]:
    machine = engine(replace(profile, jitter=0.0))
    for number in range(count):
        machine.submit(Job(number, prompt, output), 0)
    return machine.advance(10**15)


@pytest.mark.parametrize("profile", PROFILES.values(), ids=list(PROFILES))
def test_throughput_grows_and_saturates_with_the_batch(profile: EngineProfile) -> None:
    small_batch = replace(profile, max_batch=64)
    rates = []
    for count in (1, 8, 64, 256):
        steps = finish_times(small_batch, count)
        rates.append(count * 50 / steps[-1].end_ns)
    assert rates[0] < rates[1] < rates[2]
    assert rates[1] < 8 * rates[0]
    assert rates[3] == pytest.approx(rates[2], rel=0.25)  # the batch is full: more load only queues


def test_ttft_grows_with_load() -> None:
    def mean_ttft(count: int) -> float:
        steps = finish_times(replace(PROFILES["small"], max_batch=16), count)
        first: dict[int, int] = {}
        for step in steps:
            for number in step.tokens:
                first.setdefault(number, step.end_ns)
        return sum(first.values()) / count

    assert mean_ttft(1) < mean_ttft(16) < mean_ttft(64)


def test_step_time_and_chunked_prefill() -> None:
    profile = replace(TINY, jitter=0.0, prefix_cache=False)
    machine = engine(profile)
    machine.submit(Job(0, 50, 2), 100)
    steps = machine.advance(10**9)
    assert [step.prefill_tokens for step in steps] == [24, 24, 2, 0]
    assert [step.tokens for step in steps] == [(), (), (0,), (0,)]
    assert steps[0].start_ns == 100
    assert steps[0].end_ns - steps[0].start_ns == 1000 + 24 * 5
    assert steps[3].end_ns - steps[3].start_ns == 1000 + 10 + round(51 * 0.5)
    assert steps[3].finished == {0}


def test_memory_makes_jobs_wait_in_order() -> None:
    machine = engine(replace(TINY, prefix_cache=False))
    machine.submit(Job(0, 40, 20), 0)  # 15 of 20 blocks
    machine.submit(Job(1, 30, 10), 0)  # 10 blocks: waits
    machine.submit(Job(2, 4, 4), 0)  # would fit, but is behind
    first = {}
    last = {}
    for step in machine.advance(10**9):
        for number in step.tokens:
            first.setdefault(number, step.end_ns)
            last[number] = step.end_ns
    assert first[1] > last[0]
    assert first[2] > last[0]


def test_prefix_cache_reports_hits_and_saves_time() -> None:
    profile = replace(TINY, jitter=0.0)
    prompt = tuple(block_hashes(list("abcdefghijklmnop"), 4))
    machine = engine(profile)
    machine.submit(Job(0, 16, 1, prompt), 0)
    machine.submit(Job(1, 16, 1, prompt), 10**6)
    machine.submit(Job(2, 16, 1, prompt[:1]), 2 * 10**6)
    steps = machine.advance(10**9)
    cached = {number: hit for step in steps for number, hit in step.cached.items()}
    assert cached == {0: 0, 1: 12, 2: 4}  # the block with the last prompt token is computed again
    assert [step.prefill_tokens for step in steps] == [16, 4, 12]


def test_pool_forgets_the_least_recently_used_deepest_first() -> None:
    pool = BlockPool(4)
    one = pool.lease((1, 2), 2)
    assert one is not None
    pool.publish(one)
    pool.release(one)
    assert (pool.used, pool.leased) == (2, 0)
    other = pool.lease((3,), 3)
    assert other is not None
    assert pool.used == 4
    assert pool.lease((), 2) is None
    again = pool.lease((1, 2), 1)
    assert again is not None
    assert again.hits == 1  # block 2 made room, block 1 is still there


@pytest.mark.parametrize("job", [Job(0, 0, 1), Job(0, 1, 0), Job(0, 70, 20)])
def test_impossible_jobs_are_refused(job: Job) -> None:
    with pytest.raises(ValueError):
        engine().submit(job, 0)


def test_arrivals_in_order() -> None:
    machine = engine()
    machine.submit(Job(0, 1, 1), 5)
    with pytest.raises(ValueError):
        machine.submit(Job(1, 1, 1), 4)


def test_a_held_up_engine_slows_down_instead_of_falling_behind() -> None:
    machine = engine(replace(TINY, jitter=0.0))
    machine.submit(Job(0, 4, 20), 0)
    late = 1_000_000
    steps = machine.advance(late, at_most=2, behind_ns=100)
    steps += machine.advance(late + 10_000, at_most=1, behind_ns=100)
    assert steps[0].start_ns == late - 100
    assert [step.end_ns <= late + 10_000 for step in steps] == [True]
    assert machine.next_ns() == late + 10_000 - 100 + 1000 + 10 + round(5 * 0.5)


def test_seed_decides() -> None:
    jobs = [(0, Job(number, 10, 10)) for number in range(3)]
    assert run(engine(seed=1), jobs, 10**9) == run(engine(seed=1), jobs, 10**9)
    assert run(engine(seed=1), jobs, 10**9) != run(engine(seed=2), jobs, 10**9)


def test_profiles() -> None:
    assert all(name == profile.name for name, profile in PROFILES.items())
    assert profile_named("small").faster(2).step_ns == PROFILES["small"].step_ns // 2
    for bad in (lambda: profile_named("huge"), lambda: TINY.faster(0), lambda: replace(TINY, max_batch=0)):
        with pytest.raises(InputError):
            bad()
    with pytest.raises(InputError):
        replace(TINY, jitter=2.0)
    with pytest.raises(InputError):
        replace(TINY, decode_ns=-1)
