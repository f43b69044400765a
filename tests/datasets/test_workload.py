"""Facts about a workload, length distributions and salt (DAT-2, DAT-3, DAT-5, WRM-4)."""

from __future__ import annotations

import random
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wholecurve.datasets import (
    Lengths,
    TokenSalt,
    audit,
    fixed,
    normal,
    parse_lengths,
    refuse_unsaltable,
    salted,
    synthetic,
    token_salt,
    uniform,
)
from wholecurve.model.errors import InputError
from wholecurve.model.sample import Sample

IMAGE = {"type": "image_url", "image_url": {"url": "https://x.test/a.png"}}


def prompts(*texts: str) -> list[Sample]:
    return [Sample(row, prompt=text) for row, text in enumerate(texts)]


def test_repeats_are_told() -> None:
    # DAT-2: 21 rows, 90 requests.
    facts = audit(prompts(*[f"question {row}" for row in range(21)]), requests=90)
    assert (facts.distinct, facts.requests, facts.repeats) == (21, 90, 69)
    assert facts.warnings[0].startswith("90 requests use 21 distinct prompts")


def test_few_distinct_prompts_are_told() -> None:
    # DAT-3: 1,000 requests, 10 distinct prompts.
    facts = audit(prompts(*[f"{row % 10} and a question" for row in range(1000)]))
    assert (facts.rows, facts.distinct, facts.repeats) == (1000, 10, 990)
    assert "1000 requests use 10 distinct prompts" in facts.warnings[0]


def test_rows_that_were_sent_go_before_an_assumed_order() -> None:
    facts = audit(prompts("a", "b", "c"), sent=[0, 0, 2, 0])
    assert (facts.requests, facts.repeats, facts.distinct) == (4, 2, 3)
    assert audit(prompts("a", "b", "c"), requests=2).repeats == 0


def test_shared_prefixes_and_lengths() -> None:
    facts = audit(prompts("same start, one", "same start, two", "sad", "x"))
    assert facts.prefix_of_two == len("same start, ")
    assert facts.prefix_of_all == 0
    assert facts.prefix_share == (12 + 12 + 2 + 0) / 34
    assert (facts.length_min, facts.length_p50, facts.length_p90, facts.length_max) == (1, 3, 15, 15)
    assert facts.length_mean == 34 / 4
    assert audit(prompts("abc1", "abc22")).prefix_of_all == 3


def test_long_shared_prefix_is_told() -> None:
    facts = audit(prompts(*["long common beginning " * 9 + str(row) for row in range(4)]))
    assert any("prefix cache" in warning for warning in facts.warnings)
    assert audit(prompts("alpha", "beta", "gamma")).warnings == ()


def test_every_kind_of_input_counts() -> None:
    samples = [
        Sample(0, prompt="p"),
        Sample(1, prompt="p", system="s"),
        Sample(2, prompt="p", tools=({"name": "f"},)),
        Sample(3, messages=({"role": "user", "content": "p"},)),
        Sample(4, messages=({"role": "user", "content": [{"type": "text", "text": "p"}, IMAGE]},)),
        Sample(5, messages=({"role": "assistant", "content": None, "tool_calls": [{"id": "1"}]},)),
        Sample(6, input_ids=(5, 6, 7)),
        Sample(7, input_ids=(5, 6, 8, 55_555)),
    ]
    facts = audit(samples)
    assert facts.distinct == 8
    assert audit(samples[6:]).prefix_of_all == 2


def test_no_samples() -> None:
    facts = audit([])
    assert (facts.rows, facts.requests, facts.warnings) == (0, 0, ())


def start_of_all(texts: list[str]) -> int:
    return next((n for n in range(min(map(len, texts)), 0, -1) if len({text[:n] for text in texts}) == 1), 0)


@given(st.lists(st.text(alphabet="ab", max_size=6), min_size=2, max_size=8, unique=True))
def test_longest_shared_prefix_is_that_of_all_pairs(texts: list[str]) -> None:
    facts = audit(prompts(*texts))
    pairs = [start_of_all([one, two]) for place, one in enumerate(texts) for two in texts[:place]]
    assert facts.prefix_of_two == max(pairs)
    assert facts.prefix_of_all == start_of_all(texts)


@pytest.mark.parametrize(
    ("lengths", "low", "high", "mean", "near"),
    [
        # DAT-5: each setting has its effect.
        (fixed(512), 512, 512, 512, 0),
        (uniform(100, 200), 100, 200, 150, 5),
        (normal(512, 50), 300, 724, 512, 12),
        (normal(512, 50, 500, 524), 500, 524, 512, 2),
    ],
)
def test_length_distributions(lengths: Lengths, low: int, high: int, mean: float, near: float) -> None:
    rng = random.Random(7)
    drawn = [lengths.draw(rng) for _ in range(400)]
    assert low <= min(drawn) <= max(drawn) <= high
    assert abs(sum(drawn) / len(drawn) - mean) <= near
    assert (len(set(drawn)) == 1) == (low == high)


def test_uniform_reaches_both_ends() -> None:
    rng = random.Random(1)
    assert {uniform(1, 3).draw(rng) for _ in range(100)} == {1, 2, 3}


@pytest.mark.parametrize(
    ("text", "lengths"),
    [
        ("512", fixed(512)),
        (512, fixed(512)),
        ("fixed:9", fixed(9)),
        ("uniform:100-200", uniform(100, 200)),
        ("normal:512,50", normal(512, 50)),
        ("normal:512.5,50,100-1000", normal(512.5, 50, 100, 1000)),
    ],
)
def test_lengths_from_text_and_back(text: str | int, lengths: Lengths) -> None:
    assert parse_lengths(text) == lengths
    assert parse_lengths(str(lengths)) == lengths


@pytest.mark.parametrize(
    "text", ["", "0", "-1", "many", "uniform:200-100", "uniform:5", "normal:5", "normal:5,1,6-9", "1.5", "normal:1e9,1"]
)
def test_wrong_lengths(text: str) -> None:
    with pytest.raises(InputError, match="wanted"):
        parse_lengths(text)


def test_bounds_that_no_draw_meets() -> None:
    with pytest.raises(InputError, match="widen the bounds"):
        normal(5000, 1e9, 5000, 5000).draw(random.Random(1))


def test_synthetic_prompts_without_a_tokenizer_are_in_words() -> None:
    found = synthetic(50, uniform(5, 9), seed=3, prefix_share=0.5, output=fixed(4))
    assert found.unit == "words"
    assert [len(sample.prompt.split()) for sample in found.dataset.samples if sample.prompt] == list(found.asked)
    assert found.asked == found.realised
    assert "uniform:5-9 words" in found.dataset.notes[0]
    assert {sample.body["max_tokens"] for sample in found.dataset.samples} == {4}


def test_synthetic_sets_do_not_depend_on_who_makes_them() -> None:
    # LOD-5: 400 prompts, seed 7, twice; no duplicate; a shorter set is the beginning of a longer one, so that it does
    # not matter how rows are dealt out.
    first, second = synthetic(400, fixed(12), seed=7), synthetic(400, fixed(12), seed=7)
    assert first == second
    assert len({sample.prompt for sample in first.dataset.samples}) == 400
    assert synthetic(100, fixed(12), seed=7).dataset.samples == first.dataset.samples[:100]
    other = synthetic(400, fixed(12), seed=8)
    assert other.dataset.plan.sha256 != first.dataset.plan.sha256
    assert not {s.prompt for s in other.dataset.samples} & {s.prompt for s in first.dataset.samples}


@pytest.mark.parametrize(
    ("count", "share", "message"),
    [(0, 0, "at least 1"), (2, 1.0, "less than 1"), (2, -0.1, "from 0"), (5000, 0, "more distinct prompts")],
)
def test_synthetic_refusals(count: int, share: float, message: str) -> None:
    with pytest.raises(InputError, match=message):
        synthetic(count, fixed(1), seed=1, prefix_share=share)


def test_salt_goes_before_the_text_of_the_user() -> None:
    system = {"role": "system", "content": "s"}
    user = {"role": "user", "content": "hi"}
    sample = Sample(4, prompt="hi", system="s", body={"seed": 1})
    assert salted(sample, "x1") == Sample(4, prompt="[x1]\nhi", system="s", body={"seed": 1})
    chat = Sample(5, messages=(system, user, {"role": "assistant", "content": "yes"}, user))
    assert salted(chat, "x1").messages == (
        system,
        {"role": "user", "content": "[x1]\nhi"},
        {"role": "assistant", "content": "yes"},
        user,
    )
    assert chat.messages is not None
    assert chat.messages[1] == user
    parts = Sample(6, messages=({"role": "user", "content": [{"type": "text", "text": "hi"}, IMAGE]},))
    assert salted(parts, "x").messages == ({"role": "user", "content": [{"type": "text", "text": "[x]\nhi"}, IMAGE]},)


@pytest.mark.parametrize(
    ("sample", "what"),
    [
        (Sample(41, input_ids=(1, 2)), "token ids"),
        (Sample(41, messages=({"role": "user", "content": [IMAGE, {"type": "text", "text": "hi"}]},)), "an image"),
        (Sample(41, messages=({"role": "system", "content": "s"},)), "no message of the user"),
    ],
)
def test_samples_that_cannot_take_a_salt(sample: Sample, what: str) -> None:
    # WRM-4: one such row among 100 stops before sending, with the row and the remedy.
    samples = [Sample(row, prompt="p") for row in range(100)]
    refuse_unsaltable(samples)
    samples[41] = sample
    with pytest.raises(InputError) as caught:
        refuse_unsaltable(samples)
    assert "row 41" in caught.value.message
    assert what in caught.value.message
    assert "turn the salt off" in caught.value.hint


class Digits:
    """One token a character; 99 begins a text."""

    def encode(self, text: str) -> list[int]:
        return [ord(one) for one in text]

    def is_special(self, token: int) -> bool:
        return token == 99


def test_token_ids_take_the_ids_of_the_salt_line_at_their_place() -> None:
    sample = Sample(3, input_ids=(99, 1, 2, 3), body={"max_tokens": 5})
    found = salted(sample, "ab", TokenSalt(2, Digits().encode))
    assert found == Sample(3, input_ids=(99, 1, 91, 97, 98, 93, 10, 2, 3), body={"max_tokens": 5})
    assert sample.input_ids == (99, 1, 2, 3)


IDS = [
    ([(99, 1, 2), (99, 1, 3), (99, 1, 2, 7)], 2),
    ([(99, 1, 2), (99, 1)], 1),
    ([(1, 2), (1, 2)], 0),
    ([(99,)], 1),
    ([()], 0),
    ([(1,), (2,)], 0),
]


@pytest.mark.parametrize(("rows", "place"), IDS)
def test_the_place_of_a_salt_among_token_ids(rows: list[tuple[int, ...]], place: int) -> None:
    samples = [Sample(0, prompt="text"), *(Sample(row + 1, input_ids=ids) for row, ids in enumerate(rows))]
    found = token_salt(samples, Digits())
    assert found is not None
    assert found.place == place
    refuse_unsaltable(samples, found)


def test_without_token_ids_no_tokenizer_is_needed_and_with_them_it_is() -> None:
    texts = [Sample(0, prompt="a"), Sample(1, messages=({"role": "user", "content": "b"},))]
    assert token_salt(texts, None) is None
    with pytest.raises(InputError, match="row 2 cannot take a salt: it has token ids, and no tokenizer"):
        token_salt([*texts, Sample(2, input_ids=(1,))], None)


@pytest.mark.parametrize("encode", [lambda text: [], lambda text: [1, 2], lambda text: [len(text)]])
def test_a_tokenizer_that_does_not_keep_salts_apart_is_refused(encode: Callable[[str], list[int]]) -> None:
    class Blind(Digits):
        def encode(self, text: str) -> list[int]:
            return encode(text)

    with pytest.raises(InputError, match="the same token ids of different salts"):
        token_salt([Sample(0, input_ids=(1,))], Blind())
