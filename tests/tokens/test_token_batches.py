"""Counting many, in one process and in several; counts of server and client side by side (TOK-2, TOK-4)."""

from __future__ import annotations

import pytest

from wholecurve.model.errors import MeasureError
from wholecurve.model.sample import Sample
from wholecurve.tokens import (
    CountSource,
    ResponseRow,
    Tokenizer,
    TokenizerSpec,
    compare_counts,
    count_answers,
    count_prompts,
    count_source,
)


def rows(count: int) -> list[ResponseRow]:
    return [
        ResponseRow(text="a" + " word" * (place % 7), reasoning="so " * (place % 3), first_text="a")
        for place in range(count)
    ]


def test_processes_give_what_one_process_gives(trained: Tokenizer) -> None:
    given = rows(2_300)
    seen: list[int] = []
    one = count_answers(iter(given), trained)
    many = count_answers(iter(given), trained, processes=2, progress=seen.append)
    assert many == one
    assert len(one.osl) == 2_300
    assert one.osl_reasoning[:3] == (0, trained.count("so "), trained.count("so so "))
    assert dict(one.methods) == {"template": 2_300}
    assert seen == sorted(seen)
    assert seen[-1] == 2_300


def test_small_jobs_stay_in_this_process(trained: Tokenizer) -> None:
    # This spec could not be loaded by another process; a loaded tokenizer is used as it is.
    here = Tokenizer(trained.plan, TokenizerSpec("/nowhere"), trained.backend, trained.templates)
    assert count_answers(rows(50), here, processes=8) == count_answers(rows(50), trained.spec)


def test_nothing_to_count(trained: Tokenizer) -> None:
    assert count_answers([], trained).osl == ()
    # Not even loaded:
    assert count_answers([], TokenizerSpec("/nowhere")).methods == {}


def test_a_process_that_dies_is_told(trained: Tokenizer) -> None:
    broken = Tokenizer(trained.plan, TokenizerSpec("/nowhere"), trained.backend, trained.templates)
    with pytest.raises(MeasureError, match="ended early"):
        count_answers(rows(2_000), broken, processes=2)


def test_prompts_in_columns(trained: Tokenizer) -> None:
    image = {"type": "image_url", "image_url": {"url": "https://x.test/a.png"}}
    samples = [
        Sample(0, prompt="a"),
        Sample(1, input_ids=(1, 2)),
        Sample(2, messages=({"role": "user", "content": [image]},)),
    ]
    seen: list[int] = []
    found = count_prompts(samples, trained, progress=seen.append)
    assert found.isl[1:] == (2, None)
    assert dict(found.methods) == {"ids": 1, "template": 1}
    assert list(found.reasons.values()) == [1]
    assert seen == [3]
    assert count_prompts(samples[:1], trained, templated=False).isl == (trained.count("a"),)
    more = count_prompts(samples[:1], trained, template_kwargs={"enable_thinking": True})
    assert more.isl[0] == found.isl[0] + trained.count("<think>\n")  # type: ignore[operator]


def test_text_that_does_not_encode_to_what_was_generated() -> None:
    # TOK-2: usage says 900, the text encodes to 516. Both stay; the difference is told.
    found = compare_counts([516, 100, 100, None], [900, 100, 103, 7])
    assert (found.compared, found.missing) == (3, 1)
    assert found.unequal_share == pytest.approx(2 / 3)
    assert found.far_share == pytest.approx(1 / 3)
    assert found.median_ratio == pytest.approx(1.03)
    assert not found.flagged
    assert found.sentence("output") == (
        "output tokens: the server counts 1.03 times the reference tokenizer (median of 3 requests); "
        "66.7 % differ, 33.3 % by more than 5 % and one token"
    )


def test_another_tokenizer_on_the_server_is_flagged() -> None:
    # TOK-4: five times the client's count.
    assert compare_counts([7_000] * 4, [35_000] * 4).flagged
    assert compare_counts([100] * 4, [94] * 4).flagged
    assert not compare_counts([100] * 4, [105] * 4).flagged


def test_the_end_token_alone_is_no_other_tokenizer() -> None:
    found = compare_counts([1, 1, 1, 40], [2, 2, 2, 41])
    assert (found.unequal_share, found.far_share, found.flagged) == (1.0, 0.0, False)
    assert compare_counts([1, 1, 1, 40], [3, 3, 3, 42]).flagged


@pytest.mark.parametrize(("reference", "usage"), [([], []), ([None, 5], [3, None]), ([0], [3])])
def test_nothing_to_compare(reference: list[int | None], usage: list[int | None]) -> None:
    found = compare_counts(reference, usage)
    assert (found.compared, found.missing) == (0, len(reference))
    assert (found.unequal_share, found.far_share, found.median_ratio, found.flagged) == (None, None, None, False)
    assert "no request has both" in found.sentence("input")


def test_columns_of_different_length_are_a_fault() -> None:
    with pytest.raises(ValueError, match="shorter"):
        compare_counts([1, 2], [1])


@pytest.mark.parametrize(
    ("tokenizer", "usage", "source", "why"),
    [
        (True, [5, None], CountSource.REFERENCE, "reference tokenizer"),
        (False, [5, 6], CountSource.USAGE, "the server's own"),
        (False, [5, None], None, "1 of 2 answers have no usage"),
        (False, [], None, "no request succeeded"),
    ],
)
def test_one_source_for_the_whole_run(
    tokenizer: bool, usage: list[int | None], source: CountSource | None, why: str
) -> None:
    # TOK-2
    found, reason = count_source(tokenizer=tokenizer, usage=usage)
    assert found is source
    assert why in reason
