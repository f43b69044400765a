"""What has to be known before figures are read: caches, repeats, counts that differ, clumps."""

from __future__ import annotations

from typing import Any

import pytest
from metrics_build import MS, S, answer, columns, failed, machine, phase, plan, worker

from wholecurve.metrics import cautions, delivery, prompt_cache, summarize
from wholecurve.model.record import RunState


def of(rows: list[dict[str, Any]], *, salt: str | None = None, **extra: Any) -> dict[str, Any]:
    return summarize(
        plan(phase(concurrency=1, salt=salt)), 0, columns(rows), state=RunState.COMPLETE, workers=[worker()],
        machine=machine(), started_at=None, version="0", git_sha=None, extra=extra,
    )  # fmt: skip


def test_wrm_1_cached_tokens_are_summed_over_the_answers_that_tell() -> None:
    rows = [
        answer(0, MS, [MS], usage_input=100, usage_cached=30),
        answer(0, MS, [MS], usage_input=300, usage_cached=0),
        answer(0, MS, [MS], usage_input=500),
        failed("http_status", usage_input=100, usage_cached=100),
    ]
    found = prompt_cache(columns(rows))
    assert (found.cache_reported, found.cached_tokens, found.cache_prompt_tokens) == (2, 30, 400)
    assert found.cached_share == 0.075
    assert of(rows)["prompt_cache"]["cached_share"] == 0.075
    assert of(rows)["cautions"] == []


def test_wrm_1_without_a_word_of_the_endpoint_nothing_is_known() -> None:
    found = prompt_cache(columns([answer(0, MS, [MS], usage_input=100)]))
    assert (found.cache_reported, found.cached_tokens, found.cached_share) == (0, None, None)
    assert prompt_cache(columns([])).cached_share is None
    assert prompt_cache(columns([answer(0, MS, [], usage_input=0, usage_cached=0)])).cached_share is None


@pytest.mark.parametrize(("cached", "flagged"), [(10, False), (11, True), (100, True)])
def test_wrm_1_a_high_share_is_a_caution_and_no_fault(cached: int, flagged: bool) -> None:
    found = of([answer(0, MS, [MS], usage_input=100, usage_cached=cached)])
    assert (len(found["cautions"]) == 1) is flagged
    assert found["validity"]["valid"]
    if flagged:
        assert found["cautions"][0].startswith(
            f"{cached}.0 % of the prompt tokens came from the endpoint's prompt cache"
        )


def test_wrm_1_a_salted_run_is_not_told_to_salt() -> None:
    """What a cache still serves of salted prompts is the system prompt and the template before the salt."""
    rows = [answer(0, MS, [MS], usage_input=100, usage_cached=40)]
    (plain,), (own,) = of(rows)["cautions"], of(rows, salt="word")["cautions"]
    assert plain.endswith("other prompts or a --salt of its own for each run avoid it")
    assert own == (
        "40.0 % of the prompt tokens came from the endpoint's prompt cache: requests are salted, so that is what "
        "stands before the salt in all of them (template, system prompt), or an earlier run had the same salt; compare "
        "only with runs that had the same share"
    )


def test_tok_4_counts_that_differ_are_a_caution() -> None:
    same = {"flagged": False, "sentence": "input tokens: the same"}
    other = {"flagged": True, "sentence": "output tokens: the server counts 5 times"}
    found = of([answer(0, MS, [MS])], token_mismatch={"input": same, "output": other})
    assert found["cautions"] == ["output tokens: the server counts 5 times; the tokenizers or templates differ"]


def test_all_of_them_stand_in_one_list_and_the_workload_is_passed_through() -> None:
    clumps = answer(0, S, [0] * 63 + [S] + [0] * 63, usage_input=10, usage_cached=9)
    workload = {
        "prompts": {"warnings": ["two", "three"]},
        "token_mismatch": {"input": {"flagged": True, "sentence": "x"}},
    }
    found = of([clumps], **workload)
    assert [one.split(" ")[0] for one in found["cautions"]] == ["90.0", "x;", "two", "three", "99"]
    assert found["workload"] == workload
    assert cautions(prompt_cache(columns([])), delivery(columns([])), {}) == ()
