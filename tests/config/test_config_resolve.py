"""From settings to a plan: refusals before any load, secrets kept apart, warm-up kept apart, workers, pass-through."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from config_cases import BASE, Run, settings

from wholecurve import datasets
from wholecurve.config import (
    Resolved,
    RunFlags,
    default_workers,
    origins_of,
    parse_config,
    read_config,
    resolve,
    settings_from,
)
from wholecurve.model.errors import InputError
from wholecurve.model.plan import Order, Pattern, PhaseKind, StopRule, TokenizerPlan
from wholecurve.run.outgoing import Outgoing
from wholecurve.wire import DIALECTS

S = 1_000_000_000
KEY = "sk-secret-1"


def test_a_plan(run: Run) -> None:
    made = run(BASE + "stop: {duration: 10m, whole_passes: true, passes: 2}\nseeds: {order: 5, arrivals: 6}\n")
    (phase,) = made.plan.phases
    assert phase.kind is PhaseKind.PERFORMANCE
    assert (phase.dataset, phase.rows) == ("prompts", 3)
    assert (phase.order, phase.order_seed, phase.arrival_seed) == (Order.SHUFFLED, 5, 6)
    assert (phase.pattern, phase.concurrency, phase.rate_per_s) == (Pattern.CONCURRENCY, 4, None)
    assert phase.stop == StopRule(min_samples=6, min_duration_ns=600 * S, whole_passes=True)
    assert [c.turns[0].sample.prompt for c in made.conversations["prompts"]] == ["one", "two", "three"]
    assert made.plan.endpoint.urls == ("http://127.0.0.1:8000",)
    assert made.secrets.headers == ()
    assert made.plan.workers == made.settings.workers == 1
    json.dumps(made.plan.to_json(), allow_nan=False)


def test_plans_are_equal_for_equal_settings(run: Run) -> None:
    text = BASE + "warmup: {requests: 2}\n"
    assert run(text) == run(text)


PATTERNS = [
    ("{rate: 2.5}", Pattern.POISSON),
    ("{rate: 2.5, concurrency: 3}", Pattern.POISSON),
    ("{rate: 2, pattern: constant, ramp: 3s}", Pattern.CONSTANT),
    ("{concurrency: 3}", Pattern.CONCURRENCY),
    ("{pattern: offline}", Pattern.OFFLINE),
    ("{pattern: offline, concurrency: 9}", Pattern.OFFLINE),
]


@pytest.mark.parametrize(("load", "wanted"), PATTERNS)
def test_patterns(run: Run, load: str, wanted: Pattern) -> None:
    assert run(BASE.replace("{concurrency: 4}", load)).plan.phases[0].pattern is wanted


def endpoint(fields: str) -> str:
    return BASE.replace("model: m", f"model: m, {fields}")


# YAML, message
REFUSED = [
    (BASE.replace("{concurrency: 4}", "{}"), "wanted a concurrency, a rate or a pattern"),
    (BASE.replace("{concurrency: 4}", "{pattern: poisson}"), "load.rate: wanted a value for the pattern poisson"),
    (BASE.replace("{concurrency: 4}", "{pattern: concurrency}"), "load.concurrency: wanted a value"),
    (BASE.replace("{concurrency: 4}", "{pattern: concurrency, concurrency: 2, rate: 1}"), "load.rate: wanted none"),
    (
        BASE.replace("{concurrency: 4}", "{pattern: offline, ramp: 1s}"),
        "load.ramp: wanted none with the pattern offline",
    ),
    (
        BASE.replace("{concurrency: 4}", "{pattern: offline}") + "stop: {duration: 5s}",
        "stop: wanted a count of requests",
    ),
    (BASE.replace("{concurrency: 4}", "{pattern: offline}") + "stop: {max_duration: 5s}", "stop: wanted a count"),
    (BASE + "stop: {duration: 10m, max_duration: 5m}", "stop.max_duration: wanted at least stop.duration (10 min)"),
    (BASE + "stop: {requests: 10, max_requests: 5}", "stop.max_requests: wanted at least 10"),
    (BASE + "stop: {duration: 10m}\nlimits: {run_timeout: 1m}", "limits.run_timeout: wanted at least stop.duration"),
    (BASE + "request: {max_tokens: 5, min_tokens: 6}", "request.min_tokens: wanted at most request.max_tokens (5)"),
    (BASE + "request: {extra_body: {stream: false}}", "request.extra_body.stream: this field is set by request.stream"),
    (BASE + "request: {sampling: {messages: []}}", "request.sampling.messages: this field is set by the data set"),
    (BASE + "request: {extra_body: {api_key: a}}", "request.extra_body.api_key: looks like a secret"),
    (BASE + "warmup: {salt: true}", "warmup.salt is set, but there is no warm-up"),
    (BASE + "tokenizer: {trust_remote_code: true}", "wanted tokenizer.path too"),
    (BASE + "tokenizer: {path: t}", "this command loads no tokenizer"),
    (BASE.replace("prompts.jsonl", "nowhere.jsonl"), "nowhere.jsonl"),
    (BASE.replace("path: prompts.jsonl", ""), "wanted dataset.path or dataset.synthetic, got none"),
    (BASE.replace("jsonl}", "jsonl, synthetic: {rows: 1, input_tokens: 3}}"), "dataset.synthetic, got both"),
    (
        BASE.replace("path: prompts.jsonl", "limit: 3, synthetic: {rows: 1, input_tokens: 3}"),
        "dataset.limit: belongs to a file",
    ),
    (BASE.replace("http://127.0.0.1:8000", "127.0.0.1:8000"), "endpoint.urls[0]: "),
    (BASE.replace("http://127.0.0.1:8000", "ftp://h"), "endpoint.urls[0]: "),
    (BASE.replace("http://127.0.0.1:8000", "http://u:secret-1@h"), "the URL holds a secret (user info)"),
    (BASE.replace("http://127.0.0.1:8000", "http://h/?api_key=secret-1"), "the query parameter 'api_key'"),
    (BASE.replace('"http://127.0.0.1:8000"', "[http://h, http://h]"), "the same address is given twice"),
    (endpoint("ca_file: no.pem"), "endpoint.ca_file: wanted a PEM file, found none at no.pem"),
    (endpoint("client_key: prompts.jsonl"), "wanted endpoint.client_cert too"),
    (endpoint("insecure: true, ca_file: prompts.jsonl"), "turns off what endpoint.ca_file asks for"),
    (endpoint("proxy: 'http://u:secret-1@p:1'"), "wanted a proxy without user name and password"),
    (endpoint("proxy: 'https://p:1'"), "endpoint.proxy: wanted http://host:port"),
    (endpoint("proxy: 'socks5://p:1'"), "endpoint.proxy: wanted http://host:port"),
    (endpoint("proxy: 'http://[::1'"), "endpoint.proxy: wanted http://host:port"),
    (BASE.replace("http://127.0.0.1:8000", "http://[::1"), "endpoint.urls[0]: the endpoint URL has no valid host"),
    (endpoint("api_key_env: NOT_THERE"), "the environment variable NOT_THERE is not set"),
    (endpoint("api_key_env: sk-secret-1"), "wanted the name of an environment variable"),
    (endpoint("api_key_env: A, api_key_file: b"), "wanted api_key_env or api_key_file, got both"),
    (endpoint("api_key_file: none.txt"), "endpoint.api_key_file: cannot read none.txt"),
    (
        endpoint("headers: {X-Token: '${NOT_THERE}'}"),
        "endpoint.headers.X-Token wants the environment variable NOT_THERE",
    ),
    (endpoint('headers: {X-Token: "secret-1\\nInjected: 1"}'), "X-Token"),
    (
        endpoint("headers: {Content-Length: '3'}"),
        "endpoint.headers.Content-Length: this header is written by the client",
    ),
    (endpoint("headers: {'X A': secret-1}"), "not a header name"),
    (endpoint("headers: {X-A: '1', x-a: '2'}"), "endpoint.headers.x-a: this header is given twice"),
    (
        endpoint("headers: {Authorization: a}, api_key_file: prompts.jsonl"),
        "an API key or an Authorization header, got both",
    ),
]


@pytest.mark.parametrize(("text", "message"), REFUSED)
def test_refused_before_any_load(run: Run, text: str, message: str) -> None:
    with pytest.raises(InputError) as caught:
        run(text)
    assert message in str(caught.value)
    assert "secret-1" not in str(caught.value)
    assert len(caught.value.lines()) <= 3


LOCATED = [
    (BASE + "stop: {duration: 10m, max_duration: 5m}\n", RunFlags(), "run.yaml:4"),
    (BASE + "stop: {max_duration: 5m}\n", RunFlags(duration="10m", max_duration="1s"), "--max-duration"),
    (BASE + "request:\n  extra_body:\n    stream: false\n", RunFlags(), "run.yaml:6"),
    (endpoint("api_key_env: NOT_THERE"), RunFlags(), "run.yaml:1"),
    (BASE, RunFlags(header=("X-Token: ${NOT_THERE}",)), "--header"),
    (BASE, RunFlags(endpoint=("ftp://h",)), "--endpoint"),
    (BASE, RunFlags(ramp="1s", pattern=Pattern.OFFLINE), "--ramp"),
    (BASE, RunFlags(salt_warmup=True), "--salt-warmup"),
]


@pytest.mark.parametrize(("text", "flags", "where"), LOCATED)
def test_what_the_plan_refuses_names_file_and_line_or_flag(
    prompts: Path, text: str, flags: RunFlags, where: str
) -> None:
    file = parse_config(text, "run.yaml", {})
    wanted = settings_from(flags, file)
    with pytest.raises(InputError) as caught:
        resolve(wanted, environ={}, read_dataset=datasets.load, origins=origins_of(flags, file))
    assert caught.value.where == where


def test_missing_file_and_wrong_bytes(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="found none at"):
        read_config(str(tmp_path / "no.yaml"), {})
    with pytest.raises(InputError, match="cannot read"):
        read_config(str(tmp_path), {})
    (tmp_path / "latin.yaml").write_bytes(b"name: \xe9")
    with pytest.raises(InputError, match="wanted UTF-8, got other bytes at byte 6"):
        read_config(str(tmp_path / "latin.yaml"), {})


KEYS = [
    ({}, "", ()),
    ({"OPENAI_API_KEY": KEY}, "", ()),
    ({"WHOLECURVE_API_KEY": KEY}, "", (("Authorization", f"Bearer {KEY}"),)),
    ({"WHOLECURVE_API_KEY": ""}, "", ()),
    ({"K": KEY}, "api_key_env: K", (("Authorization", f"Bearer {KEY}"),)),
    ({"K": f"Bearer {KEY}"}, "api_key_env: K", (("Authorization", f"Bearer {KEY}"),)),
    ({"K": KEY, "WHOLECURVE_API_KEY": "other"}, "api_key_env: K", (("Authorization", f"Bearer {KEY}"),)),
    ({"K": KEY}, "headers: {authorization: 'Basic ${K}'}", (("authorization", f"Basic {KEY}"),)),
    ({"K": f"Bearer {KEY}"}, "headers: {Authorization: 'Bearer ${K}'}", (("Authorization", f"Bearer {KEY}"),)),
    ({"WHOLECURVE_API_KEY": "no", "K": "v"}, "headers: {Authorization: '${K}'}", (("Authorization", "v"),)),
    ({}, "api_key_file: key.txt", (("Authorization", f"Bearer {KEY}"),)),
]


@pytest.mark.parametrize(("environ", "fields", "wanted"), KEYS)
def test_cli_2_keys(run: Run, tmp_path: Path, environ: dict[str, str], fields: str, wanted: object) -> None:
    (tmp_path / "key.txt").write_text(f"{KEY}\n")
    made = run(endpoint(fields) if fields else BASE, environ)
    assert made.secrets.headers == wanted
    assert made.plan.endpoint.header_names == tuple(name for name, _ in made.secrets.headers)


def test_sec_1_and_2_no_secret_in_plan_repr_or_error(run: Run) -> None:
    made = run(endpoint("api_key_env: K, headers: {X-Token: '${T}'}"), {"K": KEY, "T": "tok-secret-1"})
    assert made.secrets.headers == (("Authorization", f"Bearer {KEY}"), ("X-Token", "tok-secret-1"))
    for text in (json.dumps(made.plan.to_json()), repr(made), str(made.settings), repr(made.secrets)):
        assert "secret-1" not in text
    with pytest.raises(InputError) as caught:
        run(endpoint("api_key_env: K"), {"K": f"{KEY}\nsecond"})
    assert "secret-1" not in str(caught.value)


def test_nothing_is_read_from_proxy_variables(run: Run) -> None:
    assert run(BASE, {"http_proxy": "http://dead:1", "HTTPS_PROXY": "http://dead:1"}).plan.endpoint.proxy is None


def test_dat_8_row_limits_pass_through_and_salt_keeps_them(run: Run) -> None:
    rows = '{"prompt": "a", "max_tokens": 7}\n{"prompt": "b"}\n'
    made = run(BASE + "request: {max_tokens: 100}\n", rows=rows)
    bodies = [
        json.loads(DIALECTS["openai-chat"].body(c.turns[0].sample, made.plan.request, "m"))
        for c in made.conversations["prompts"]
    ]
    assert [body["max_tokens"] for body in bodies] == [7, 100]
    salted = run(BASE.replace("concurrency: 4", "concurrency: 4, salt: w"), rows=rows)
    assert [body_of(salted, 0, index, row).get("max_tokens") for index, row in ((0, 0), (1, 1))] == [7, None]


def test_cli_5_nothing_about_sampling_is_sent_unless_asked_for(run: Run) -> None:
    made = run(BASE)
    body = json.loads(
        DIALECTS["openai-chat"].body(made.conversations["prompts"][0].turns[0].sample, made.plan.request, "m")
    )
    assert set(body) == {"model", "messages", "stream", "stream_options"}
    assert any("server's defaults hold" in note for note in made.plan.notes)


def body_of(made: Resolved, phase: int, index: int, row: int) -> dict[str, Any]:
    """The body of request `index` of a phase, sent for this row."""
    outgoing = Outgoing(made.plan, made.secrets, made.salting)
    sample = made.conversations[made.plan.phases[phase].dataset][row].turns[0].sample
    data, _ = outgoing.request(sample, (phase, index))
    return json.loads(data.partition(b"\r\n\r\n")[2])  # type: ignore[no-any-return]


def said(made: Resolved, phase: int, index: int, row: int) -> str:
    """What its last message says."""
    return str(body_of(made, phase, index, row)["messages"][-1]["content"])


def prompts_of(made: object, name: str) -> list[str | None]:
    return [c.turns[0].sample.prompt for c in made.conversations[name]]  # type: ignore[attr-defined]


def test_wrm_2_warm_up_shares_no_prompt_with_the_measurement(run: Run) -> None:
    made = run(BASE + "warmup: {requests: 10}\n")
    warm, measured = made.plan.phases
    assert (warm.kind, warm.dataset, measured.dataset) == (PhaseKind.WARMUP, "warmup", "prompts")
    assert warm.salt == "warmup-42"
    assert warm.stop == StopRule(min_samples=10)
    assert (warm.order_seed, warm.arrival_seed) == (43, 42)
    assert prompts_of(made, "prompts") == ["one", "two", "three"]
    assert [said(made, 1, index, index) for index in range(3)] == ["one", "two", "three"]
    warm_prompts = [said(made, 0, index, index % 3) for index in range(6)]
    assert not set(warm_prompts) & {"one", "two", "three"}
    assert len({prompt.partition("]")[0] for prompt in warm_prompts}) == 6
    assert {prompt.partition("\n")[2] for prompt in warm_prompts} == {"one", "two", "three"}
    assert "warmup requests are salted: 64 bits each" in " ".join(made.plan.notes)


def test_wrm_2_an_own_data_set_is_taken_as_it_is_unless_it_repeats_a_measured_prompt(run: Run, tmp_path: Path) -> None:
    (tmp_path / "warm.jsonl").write_text('{"prompt": "other"}\n')
    text = BASE + "warmup: {requests: 1, dataset: {path: warm.jsonl}}\n"
    assert said(run(text), 0, 0, 0) == "other"
    (tmp_path / "warm.jsonl").write_text('{"prompt": "other"}\n{"prompt": "two"}\n')
    made = run(text)
    assert not {said(made, 0, index, index) for index in range(2)} & {"other", "one", "two", "three"}


def test_wrm_2_unsalted_warm_up_is_possible_and_said(run: Run) -> None:
    made = run(BASE, flags=RunFlags(warmup=2, salt_warmup=False))
    assert [said(made, 0, index, index) for index in range(3)] == ["one", "two", "three"]
    assert made.plan.phases[0].salt is None
    assert any("warmup.salt is false" in note for note in made.plan.notes)


def test_wrm_4_a_row_that_cannot_take_a_salt_is_named_with_the_remedy(run: Run) -> None:
    rows = "".join(json.dumps({"prompt": f"p{n}"} if n != 57 else {"input_ids": [1, 2]}) + "\n" for n in range(100))
    text = BASE.replace("model: m", "model: m, dialect: openai-completions")
    assert len(run(text, rows=rows).conversations["prompts"]) == 100
    with pytest.raises(InputError) as caught:
        run(text + "warmup: {requests: 5}\n", rows=rows)
    assert "row 57" in caught.value.message
    assert "warmup.salt: false" in caught.value.hint
    assert "warmup.dataset" in caught.value.hint


def test_a_measured_salt_changes_every_prompt_and_only_by_its_word(run: Run) -> None:
    text = BASE.replace("concurrency: 4", "concurrency: 4, salt: r1")
    first, again = run(text), run(text)
    other = run(text.replace("r1", "r2"))
    assert first.plan.phases[0].salt == "r1"
    bodies = [[said(made, 0, index, index) for index in range(3)] for made in (first, again, other)]
    assert bodies[0] == bodies[1]
    assert not set(bodies[0]) & set(bodies[2])


def test_a_warm_up_from_the_measured_rows_is_salted_even_where_they_are(run: Run) -> None:
    """Rules 6.3: a row of the performance set may warm up only with a salt."""
    made = run(BASE.replace("concurrency: 4", "concurrency: 4, salt: r1"), flags=RunFlags(warmup=2))
    assert [phase.salt for phase in made.plan.phases] == ["r1/warmup", "r1"]
    assert said(made, 0, 1, 1) != said(made, 1, 1, 1)
    unsalted = run(
        BASE.replace("concurrency: 4", "concurrency: 4, salt: r1"), flags=RunFlags(salt_warmup=False, warmup=1)
    )
    assert not any("may know measured prompts" in note for note in unsalted.plan.notes)


def test_a_warm_up_with_its_own_concurrency_is_a_closed_loop(run: Run) -> None:
    text = BASE.replace("{concurrency: 4}", "{rate: 5}") + "warmup: {duration: 2s, concurrency: 3, drain_timeout: 5}\n"
    warm, measured = run(text).plan.phases
    assert (warm.pattern, warm.concurrency, warm.rate_per_s) == (Pattern.CONCURRENCY, 3, None)
    assert (warm.stop.min_duration_ns, warm.drain_timeout_ns) == (2 * S, 5 * S)
    assert measured.pattern is Pattern.POISSON


def test_wrm_6_a_warm_up_is_drained_with_a_bound_by_default(run: Run) -> None:
    assert run(BASE + "warmup: {requests: 1}\n").plan.phases[0].drain_timeout_ns == 240 * S


SHAPES = [
    ("openai-chat", '{"input_ids": [1, 2]}', "openai-chat cannot carry token ids"),
    (
        "openai-completions",
        '{"messages": [{"role": "user", "content": "a"}]}',
        "openai-completions cannot carry messages",
    ),
    ("sglang-generate", '{"messages": [{"role": "user", "content": "a"}]}', "sglang-generate cannot carry messages"),
]


@pytest.mark.parametrize(("dialect", "row", "message"), SHAPES)
def test_a_row_that_the_dialect_cannot_carry_is_refused(run: Run, dialect: str, row: str, message: str) -> None:
    with pytest.raises(InputError) as caught:
        run(BASE.replace("model: m", f"model: m, dialect: {dialect}"), rows=row + "\n")
    assert message in caught.value.message
    assert "row 0" in caught.value.where


def test_token_ids_are_preferred_where_the_dialect_sends_them(run: Run) -> None:
    rows = '{"prompt": "a", "input_ids": [1, 2]}\n'
    made = run(BASE.replace("model: m", "model: m, dialect: openai-completions"), rows=rows)
    assert made.conversations["prompts"][0].turns[0].sample.input_ids == (1, 2)
    assert run(BASE, rows=rows).conversations["prompts"][0].turns[0].sample.prompt == "a"


# concurrency, rate, cores, workers
WORKERS = [
    (1, None, 2, 1),
    (512, None, 64, 1),
    (513, None, 64, 2),
    (4096, None, 64, 8),
    (4096, None, 2, 1),
    (100_000, None, 64, 63),
    (None, 2_000.0, 64, 1),
    (None, 10_000.0, 64, 5),
    (None, 10_000.0, 2, 1),
    (None, 0.5, 1, 1),
    (None, None, 1, 1),
]


@pytest.mark.parametrize(("concurrency", "rate", "cores", "wanted"), WORKERS)
def test_default_workers(concurrency: int | None, rate: float | None, cores: int, wanted: int) -> None:
    assert default_workers(concurrency, rate, cores) == wanted


def test_workers_of_an_offline_run_follow_its_count(run: Run) -> None:
    text = BASE.replace("{concurrency: 4}", "{pattern: offline}") + "stop: {requests: 2000}\n"
    assert run(text, cores=16).plan.workers == 4
    assert run(text, cores=16, flags=RunFlags(workers=2)).plan.workers == 2


def test_synthetic_rows_need_no_file(run: Run) -> None:
    made = run(BASE.replace("path: prompts.jsonl", "synthetic: {rows: 5, input_tokens: 12, output_tokens: 3}"))
    (entry,) = made.plan.datasets
    assert entry.rows == 5
    samples = [c.turns[0].sample for c in made.conversations[entry.name]]
    assert len({sample.prompt for sample in samples}) == 5
    assert {sample.body["max_tokens"] for sample in samples} == {3}


class OneTokenizer:
    """One token per word."""

    plan = TokenizerPlan("words", "0" * 64, 10)

    def encode(self, text: str) -> list[int]:
        return [len(word) for word in text.split()]

    def decode(self, ids: list[int]) -> str:
        return " ".join("x" * count for count in ids)


def test_the_tokenizer_is_loaded_as_asked_and_in_the_plan(prompts: Path) -> None:
    asked: list[tuple[str, bool]] = []

    def load(path: str, *, trust_remote_code: bool) -> OneTokenizer:
        asked.append((path, trust_remote_code))
        return OneTokenizer()

    wanted = settings(BASE + "tokenizer: {path: dir, trust_remote_code: true}\n")
    made = resolve(wanted, environ={}, read_dataset=datasets.load, load_tokenizer=load, cores=2)
    assert asked == [("dir", True)]
    assert made.plan.tokenizer == OneTokenizer.plan


def test_warnings_of_a_file_become_notes_of_the_plan(prompts: Path) -> None:
    file = parse_config(
        "type: online\nmodel_params: {name: m}\ndatasets: [{path: prompts.jsonl}]\n"
        "settings: {load_pattern: {type: concurrency, target_concurrency: 2}, runtime: {min_duration_ms: 1s}}\n"
        "endpoint_config: {endpoints: [http://h], api_key: sk-secret-1}\n",
        "ref.yaml",
        {},
    )
    made = resolve(
        settings_from(RunFlags(), file),
        environ={},
        read_dataset=datasets.load,
        cores=2,
        warnings=file.warnings,
    )
    assert made.secrets.headers == (("Authorization", "Bearer sk-secret-1"),)
    assert any("real floor" in note for note in made.plan.notes)
    assert made.plan.phases[0].stop == StopRule(min_duration_ns=S, whole_passes=True)
    assert "secret-1" not in repr(made)
    assert "secret-1" not in repr(file)
