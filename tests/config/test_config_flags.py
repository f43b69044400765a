"""Flags: types of values, override of the file, and that every flag sets a key that exists."""

from __future__ import annotations

from dataclasses import fields, replace
from typing import Annotated

import cyclopts
import pytest
from config_cases import BASE, settings

from wholecurve.config import COMMAND_FLAGS, FLAG_OF, FLAGS, RunFlags, Settings, SweepFlags, settings_from
from wholecurve.config.pairs import json_pairs
from wholecurve.config.problems import key_paths
from wholecurve.model.errors import InputError
from wholecurve.model.plan import Order, Pattern

S = 1_000_000_000


def typed(line: list[str]) -> RunFlags:
    """What a command gets for a line of arguments."""
    app = cyclopts.App(result_action="return_value")

    @app.default
    def run(flags: Annotated[RunFlags, cyclopts.Parameter(name="*")] = RunFlags()) -> RunFlags:  # noqa: B008
        return flags

    found = app(line, exit_on_error=False, print_error=False)
    assert isinstance(found, RunFlags)
    return found


REQUIRED = ["--endpoint", "http://h:1", "--model", "m", "--dataset", "d.jsonl", "--concurrency", "2"]

EVERY = [
    *["--endpoint", "http://h:1", "--endpoint", "http://h:2", "--model", "m", "--dataset", "d.jsonl"],
    *["--concurrency", "2", "--requests", "10", "--duration", "10m", "--rate", "0.5", "--pattern", "constant"],
    *["--tokenizer", "tok", "--out", "o", "--dialect", "openai-completions", "--max-tokens", "64"],
    *["--max-tokens-field", "max_completion_tokens", "--min-tokens", "3", "--ignore-eos", "--sampling", "top_p=0.5"],
    *["--extra-body", "a=1", "--header", "X-A: ${A}", "--api-key-env", "K", "--api-key-file", "kf", "--ca-file", "ca"],
    *["--client-cert", "cc", "--client-key", "ck", "--insecure", "--proxy", "http://p:1", "--no-stream", "--no-usage"],
    *["--warmup", "4", "--no-salt-warmup", "--salt", "w", "--workers", "2", "--seed", "7"],
    *["--request-timeout", "1s", "--silence-timeout", "2s", "--run-timeout", "3s", "--drain-timeout", "none"],
    *["--max-duration", "20m", "--max-failed-share", "0.5", "--retries", "1", "--keep-responses"],
    *["--order", "sequential", "--column", "prompt=q", "--limit", "9", "--skip-bad-rows", "--ramp", "5s"],
    *["--passes", "2", "--whole-passes", "--trust-remote-code", "--no-kernel-stamps", "--name", "n"],
    *["--config", "c.yaml", "--json", "--quiet"],
]


def test_every_flag_arrives_and_sets_its_key() -> None:
    flags = typed(EVERY)
    unset = [field.name for field in fields(RunFlags) if getattr(flags, field.name) in (None, ())]
    assert unset == []
    made = settings_from(flags)
    assert made.endpoint.urls == ("http://h:1", "http://h:2")
    assert made.load.pattern is Pattern.CONSTANT
    assert made.load.order is Order.SEQUENTIAL
    assert made.load.rate == 0.5
    assert made.request.stream is False
    assert made.request.include_usage is False
    assert made.request.ignore_eos is True
    assert made.kernel_stamps is False
    assert made.warmup.salt is False
    assert made.limits.drain_timeout is None
    assert made.dataset.columns == {"prompt": "q"}
    assert (made.seeds.order, made.seeds.arrivals, made.seeds.warmup) == (7, 7, 7)
    changed = {path for field in fields(RunFlags) if field.name in FLAGS for path in FLAGS[field.name].paths}
    defaults = settings_from(typed(REQUIRED)).model_dump()
    ours = made.model_dump()
    for path in changed - {("load", "concurrency"), ("endpoint", "model"), ("dataset", "path")}:
        here, there = ours, defaults
        for part in path:
            here, there = here[part], there[part]
        assert here != there, path


def test_the_table_of_flags_is_complete_and_points_at_keys() -> None:
    names = {field.name for flags in (RunFlags, SweepFlags) for field in fields(flags)}
    assert set(FLAGS) | set(COMMAND_FLAGS) == names
    assert not set(FLAGS) & set(COMMAND_FLAGS)
    assert set(FLAG_OF) <= set(key_paths(Settings))


def test_cli_3_values_keep_their_json_type() -> None:
    texts = [
        "temperature=0.5",
        "n=2",
        "flag=true",
        'id="007"',
        "stop=null",
        "bare=007",
        "word=hot",
        'o={"a": [1]}',
        "empty=",
    ]
    assert json_pairs(texts, "--extra-body") == {
        "temperature": 0.5,
        "n": 2,
        "flag": True,
        "id": "007",
        "stop": None,
        "bare": "007",
        "word": "hot",
        "o": {"a": [1]},
        "empty": "",
    }
    made = settings_from(typed([*REQUIRED, "--sampling", "temperature=0.5", "--extra-body", "stop=null"]))
    assert made.request.sampling == {"temperature": 0.5}
    assert made.request.extra_body == {"stop": None}


WRONG_PAIRS = [
    (["--sampling", "temperature"], "--sampling: wanted key=value, got 'temperature'"),
    (["--sampling", "a=NaN"], "wanted a finite number, got NaN"),
    (["--sampling", "a=-Infinity"], "wanted a finite number, got -Infinity"),
    (["--sampling", "a=1", "--sampling", "a=2"], "'a' is given twice"),
    (["--extra-body", 'a={"b"'], "wanted a JSON value"),
    (["--column", "prompt"], "--column: wanted target=source, got 'prompt'"),
    (["--header", "no colon secret-1"], "--header: wanted 'Name: value'"),
    (["--header", "X-A: 1", "--header", "x-a: 2"], "'x-a' is given twice"),
    (["--header", "Authorization: Bearer secret-1"], "can be read by everyone on this machine"),
    (["--header", "X-Token: secret-1"], "can be read by everyone on this machine"),
    (["--requests", "0"], "stop.requests: wanted at least 1, got 0"),
    (["--rate", "nan"], "load.rate: wanted"),
    (["--rate", "-1"], "load.rate: wanted more than 0"),
    (["--duration", "later"], "stop.duration: wanted a duration"),
]


@pytest.mark.parametrize(("line", "message"), WRONG_PAIRS)
def test_wrong_flags_are_named(line: list[str], message: str) -> None:
    with pytest.raises(InputError) as caught:
        settings_from(typed([*REQUIRED, *line]))
    assert message in caught.value.message
    assert caught.value.where.startswith(line[0])
    assert "secret-1" not in str(caught.value)


def test_flags_win_over_the_file_and_mappings_are_merged() -> None:
    text = BASE + "request: {max_tokens: 5, sampling: {top_p: 0.1, temperature: 1}}\nstop: {requests: 3}\n"
    flags = RunFlags(max_tokens=9, sampling=("temperature=0",), model="other", concurrency=1)
    made = settings(text, flags=flags)
    assert made.request.max_tokens == 9
    assert made.request.sampling == {"top_p": 0.1, "temperature": 0}
    assert made.endpoint.model == "other"
    assert made.load.concurrency == 1
    assert made.stop.requests == 3


def test_a_dataset_flag_replaces_synthetic_rows() -> None:
    text = BASE.replace("{path: prompts.jsonl}", "{synthetic: {rows: 3, input_tokens: 5}}")
    assert settings(text, flags=RunFlags(dataset="x.jsonl")).dataset.synthetic is None


def test_a_flag_for_a_section_that_is_none_leaves_the_fault_to_the_file() -> None:
    with pytest.raises(InputError) as caught:
        settings(BASE.replace("{path: prompts.jsonl}", "prompts.jsonl"), flags=RunFlags(dataset="x.jsonl"))
    assert caught.value.message == "dataset: wanted a section of `key: value` lines, got 'prompts.jsonl'"


def test_a_fault_of_a_flag_names_the_flag_and_one_of_the_file_its_line() -> None:
    with pytest.raises(InputError) as caught:
        settings(BASE + "stop: {requests: 3}\n", flags=RunFlags(requests=-1))
    assert caught.value.where == "--requests"
    with pytest.raises(InputError) as caught:
        settings(BASE + "stop: 3\n", flags=RunFlags(requests=1))
    assert caught.value.where == "run.yaml:4"


def test_cli_5_no_sampling_is_set_unless_asked_for() -> None:
    made = settings_from(typed(REQUIRED)).request
    assert made.sampling == {}
    assert made.extra_body == {}
    assert (made.max_tokens, made.min_tokens, made.ignore_eos, made.n) == (None, None, None, None)


def swept(line: list[str]) -> SweepFlags:
    """What the sweep gets for a line of arguments."""
    app = cyclopts.App(result_action="return_value")

    @app.default
    def sweep(flags: Annotated[SweepFlags, cyclopts.Parameter(name="*")] = SweepFlags()) -> SweepFlags:  # noqa: B008
        return flags

    found = app(line, exit_on_error=False, print_error=False)
    assert isinstance(found, SweepFlags)
    return found


DURATIONS = [
    *["--duration", "--max-duration", "--ramp", "--request-timeout", "--silence-timeout", "--run-timeout"],
    *["--drain-timeout", "--ttft-p90", "--max-extra", "--idle-gap", "--wait-endpoint"],
]


@pytest.mark.parametrize("flag", DURATIONS)
def test_a_negative_duration_is_refused_as_one_and_not_taken_for_a_flag(flag: str) -> None:
    required = ["--endpoint", "http://h:1", "--model", "m", "--dataset", "d.jsonl"]
    of_run = f"--{flag[2:]}" in FLAG_OF.values() and flag[2:].replace("-", "_") in {
        one.name for one in fields(RunFlags)
    }
    flags = (typed if of_run else swept)([*required, flag, "-1s"])
    with pytest.raises(InputError) as caught:
        settings_from(flags)
    assert "wanted a duration of zero or more, got '-1s'" in caught.value.message
    assert caught.value.where == flag


def test_every_flag_of_a_sweep_sets_its_key() -> None:
    line = [
        *[
            "--rules",
            "demo",
            "--edition",
            "E1",
            "--benchmark",
            "b",
            "--seed-set",
            "demo",
            "--target-cohort",
            "2026-10-C1",
        ],
        *["--c-min", "2", "--c-max", "64", "--points", "2,64", "--count", "9", "--offline", "elected"],
        *["--ttft-p90", "2s", "--interactivity", "9.5", "--max-extra", "3s", "--idle-gap", "1s", "--repeats", "3"],
        *["--order-seed", "5", "--wait-endpoint", "9s", "--accuracy-dataset", "a.jsonl", "--scorer", "exact_match"],
    ]
    flags = swept([*REQUIRED[:6], *line])
    own = {field.name for field in fields(SweepFlags)} - {field.name for field in fields(RunFlags)}
    assert [name for name in own if getattr(flags, name) in (None, ())] == []
    made = settings_from(flags)
    assert made.rules.model_dump() == {
        "version": "demo", "edition": "E1", "benchmark": "b", "seed_set": "demo", "target_cohort": "2026-10-C1",
    }  # fmt: skip
    assert made.accuracy.dataset is not None
    assert (made.accuracy.dataset.path, made.accuracy.scorer) == ("a.jsonl", "exact_match")
    sweep = made.sweep
    assert (sweep.c_min, sweep.c_max, sweep.points, sweep.count, sweep.offline) == (2, 64, "2,64", 9, "elected")
    assert (sweep.ttft_p90, sweep.interactivity, sweep.max_extra, sweep.idle_gap) == (2 * S, 9.5, 3 * S, 1 * S)
    assert (sweep.repeats, sweep.order_seed, sweep.wait_endpoint) == (3, 5, 9 * S)


def test_a_limit_on_ttft_needs_its_unit() -> None:
    flags = SweepFlags(endpoint=("http://h",), model="m", dataset="d.jsonl", ttft_p90="500")
    with pytest.raises(InputError, match="wanted a time with its unit, got '500'") as caught:
        settings_from(flags)
    assert caught.value.hint == "such as 500ms"
    assert settings_from(replace(flags, ttft_p90="500ms")).sweep.ttft_p90 == 500_000_000
