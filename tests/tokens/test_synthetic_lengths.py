"""Synthetic prompts have the asked number of tokens, whatever the tokenizer (TOK-5, DAT-4, LOD-5)."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path

import pytest

from wholecurve.datasets import audit, fixed, normal, synthetic, uniform
from wholecurve.tokens import Tokenizer, load_tokenizer

FAMILIES = ["llama", "wordpiece", "unigram", "letters"]


@pytest.fixture(scope="module")
def loaded(folders: dict[str, Path]) -> dict[str, Tokenizer]:
    return {name: load_tokenizer(folders[name]) for name in FAMILIES}


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize(("count", "length"), [(100, 500), (4, 8192), (20, 3), (10, 1)])
def test_every_prompt_encodes_to_the_asked_length(
    loaded: dict[str, Tokenizer], family: str, count: int, length: int
) -> None:
    # TOK-5. DAT-4: 500 asked are 500 tokens, not 500 characters; and prompts differ.
    tokenizer = loaded[family]
    found = synthetic(count, fixed(length), seed=7, tokenizer=tokenizer)
    texts = [sample.prompt or "" for sample in found.dataset.samples]
    assert tokenizer.count_many(texts) == [length] * count
    assert found.realised == found.asked == (length,) * count
    assert len(set(texts)) == count
    assert found.unit == "tokens"


@pytest.mark.parametrize("family", FAMILIES)
def test_shared_prefix(loaded: dict[str, Tokenizer], family: str) -> None:
    tokenizer = loaded[family]
    found = synthetic(30, uniform(100, 200), seed=7, tokenizer=tokenizer, prefix_share=0.25)
    assert found.realised == found.asked
    assert min(found.asked) >= 100
    assert max(found.asked) <= 200
    assert found.prefix_share == pytest.approx(0.25, abs=0.01)
    ids = [tokenizer.encode(sample.prompt or "") for sample in found.dataset.samples]
    shortest = round(0.25 * min(found.asked)) - 1
    assert len({tuple(one[:shortest]) for one in ids}) == 1
    assert len({tuple(one[: shortest + 40]) for one in ids}) > 1
    assert audit(found.dataset.samples).prefix_of_all > 0


def test_same_set_again_and_for_any_part_of_it(loaded: dict[str, Tokenizer]) -> None:
    # LOD-5
    first = synthetic(40, normal(60, 10), seed=7, tokenizer=loaded["llama"], output=uniform(3, 9))
    assert synthetic(40, normal(60, 10), seed=7, tokenizer=loaded["llama"], output=uniform(3, 9)) == first
    part = synthetic(10, normal(60, 10), seed=7, tokenizer=loaded["llama"], output=uniform(3, 9))
    assert part.dataset.samples == first.dataset.samples[:10]
    assert synthetic(40, normal(60, 10), seed=8, tokenizer=loaded["llama"]).dataset.plan.sha256 != (
        first.dataset.plan.sha256
    )


def test_a_missed_length_is_told(trained: Tokenizer) -> None:
    # A tokenizer that only makes an even number of tokens cannot give an odd one.
    class Even:
        plan = trained.plan

        def encode(self, text: str) -> list[int]:
            return [0] * (2 * len(text.split()))

        def decode(self, ids: object) -> str:
            return ""

    found = synthetic(3, fixed(7), seed=1, tokenizer=Even())
    assert found.realised == (6, 6, 6)
    assert found.asked == (7, 7, 7)
    assert "3 of 3 prompts miss the asked length, the worst with 6 tokens for 7" in found.dataset.notes


def test_many_are_made_at_once(loaded: dict[str, Tokenizer], monkeypatch: pytest.MonkeyPatch) -> None:
    """SCL-6: a large set is the same from one process and from several, and says how far it is."""
    monkeypatch.setattr(import_module("wholecurve.datasets.synthetic"), "LARGE_JOB", 5_000)
    told: list[int] = []
    alone = synthetic(150, uniform(40, 60), seed=7, tokenizer=loaded["llama"], prefix_share=0.3, processes=1)
    many = synthetic(
        150, uniform(40, 60), seed=7, tokenizer=loaded["llama"], prefix_share=0.3, processes=3, progress=told.append
    )
    assert many == alone
    assert told == [32, 64, 96, 128]
    # Rows that come out equal are made again, whoever made them first.
    short = [synthetic(90, fixed(2), seed=3, tokenizer=loaded["llama"], processes=count) for count in (1, 2)]
    assert short[0] == short[1]
    assert len({sample.prompt for sample in short[0].dataset.samples}) == 90


def test_a_small_set_tells_nothing(loaded: dict[str, Tokenizer]) -> None:
    told: list[int] = []
    synthetic(100, fixed(5), seed=7, tokenizer=loaded["llama"], progress=told.append)
    assert told == []
