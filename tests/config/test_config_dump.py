"""Settings back to YAML: loads again as it stands, holds no secret and no path of this machine; and the docs page."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml
from config_cases import BASE, Run, settings

from wholecurve.config import RunFlags, dump_settings, secret_name, url_shown
from wholecurve.config.docs import reference_page
from wholecurve.config.flags import FLAG_OF
from wholecurve.config.problems import key_paths
from wholecurve.config.redact import header_template, url_secret
from wholecurve.config.schema import Settings

FULL = """\
name: "costs $5 or $$6 and ${X}"
endpoint:
  urls: [http://a, "http://b/v1?tenant=1"]
  model: org/model:v1
  dialect: openai-completions
  api_key_env: MY_KEY
  insecure: true
  proxy: http://p:3128
request:
  {stream: off, max_tokens: 5, ignore_eos: true, sampling: {stop: null, top_p: 0.5},
   extra_body: {a: {b: [1, "$${c}"]}, load: {path: /x, headers: {}, none: null}}}
dataset: {synthetic: {rows: 3, input_tokens: uniform:5-9, output_tokens: 4, shared_prefix_share: 0.25}}
warmup: {requests: 3, salt: false, drain_timeout: none, dataset: {path: warm.jsonl, columns: {prompt: q}}}
load: {rate: 0.1, pattern: constant, order: sequential, ramp: 1500ms, concurrency: 7, salt: w}
stop: {requests: 5, passes: 2, duration: 10m, whole_passes: true, max_requests: 99, max_duration: 1h}
limits: {request_timeout: 5s, drain_timeout: none, max_event_bytes: 16MiB, max_failed_share: 0.5, retries: 2}
tokenizer: {path: tok, trust_remote_code: true}
output: {keep_responses: true}
seeds: {order: 1, arrivals: 2, warmup: 3}
workers: 3
kernel_stamps: false
"""


@pytest.mark.parametrize("text", [BASE, FULL, BASE + "warmup: {passes: 1}\n"])
def test_rep_7_a_dump_loads_again_as_the_same_settings(text: str) -> None:
    made = settings(text, {"X": "an ${ODD} $$ value"})
    written = dump_settings(made)
    assert settings(written) == made
    assert dump_settings(settings(written)) == written


def test_a_resolved_dump_runs_again_with_the_same_plan(run: Run) -> None:
    first = run(BASE + "warmup: {requests: 2}\n", cores=8)
    assert run(dump_settings(first.settings)).plan == first.plan


def test_a_dump_of_a_run_without_warm_up_resolves(run: Run) -> None:
    first = run(BASE)
    assert run(dump_settings(first.settings)).plan == first.plan


HEADERS = [
    ("Authorization", "Bearer ${KEY}", "Bearer ${KEY}"),
    ("X-Token", "${KEY}", "${KEY}"),
    ("X-Token", "secret-1", "${WHOLECURVE_HEADER_X_TOKEN}"),
    ("X-Token", "${KEY:-secret-1}", "${WHOLECURVE_HEADER_X_TOKEN}"),
    ("X-Token", "secret-1${KEY}", "${WHOLECURVE_HEADER_X_TOKEN}"),
    ("Authorization", "Bearer secret-1", "${WHOLECURVE_HEADER_AUTHORIZATION}"),
    ("X-Trace", "harmless", "${WHOLECURVE_HEADER_X_TRACE}"),
]


@pytest.mark.parametrize(("name", "value", "wanted"), HEADERS)
def test_sec_2_header_values_are_references_and_names_are_kept(name: str, value: str, wanted: str) -> None:
    assert header_template(name, value) == wanted
    made = settings(BASE.replace("model: m", f"model: m, headers: {{{name}: '{value}'}}"))
    written = dump_settings(made)
    assert yaml.safe_load(written)["endpoint"]["headers"] == {name: wanted}
    assert "secret-1" not in written
    assert "harmless" not in written


def test_sec_2_a_reference_file_s_key_is_not_written() -> None:
    text = (
        "type: online\nmodel_params: {name: m}\ndatasets: [{path: p.jsonl}]\n"
        "settings: {load_pattern: {type: poisson, target_qps: 2}}\n"
        "endpoint_config: {endpoints: [http://h], api_key: %s}\n"
    )
    assert "secret-1" not in dump_settings(settings(text % "sk-secret-1"))
    assert "Bearer ${KEY}" in dump_settings(settings(text % "$KEY"))


def test_no_path_of_this_machine_is_written(run: Run, prompts: Path) -> None:
    text = BASE.replace("prompts.jsonl", str(prompts)) + f"output: {{dir: {prompts.parent / 'out'}}}\n"
    made = run(text)
    written = dump_settings(made.settings)
    assert str(prompts.parent) not in written
    assert "path: ${WHOLECURVE_FILES:-.}/prompts.jsonl" in written
    assert run(written, {"WHOLECURVE_FILES": str(prompts.parent)}).plan == made.plan


SECRET_NAMES = ["api_key", "API-Key", "x-api-key", "Authorization", "Proxy-Authorization", "X-Token", "my_secret_thing"]
PLAIN_NAMES = ["model", "tenant", "api-version", "max_tokens", "keyboard", "X-Trace"]


def test_names_of_secrets() -> None:
    assert all(secret_name(name) for name in SECRET_NAMES)
    assert not any(secret_name(name) for name in PLAIN_NAMES)


def test_an_unresolved_url_with_a_secret_is_not_written_either() -> None:
    made = settings(BASE.replace("http://127.0.0.1:8000", "http://u:secret-1@h/v1?token=secret-1"))
    assert "secret-1" not in dump_settings(made)


def test_urls() -> None:
    assert url_secret("http://u:p@h") == "user info"
    assert url_secret("http://h/?a=1&access_token=x") == "the query parameter 'access_token'"
    assert url_secret("http://h/v1?api-version=3") is None
    assert url_shown("http://u:p@h:1/x?key=y") == "http://h:1/x"


def test_the_page_in_docs_is_current() -> None:
    page = Path(__file__).parents[2] / "docs" / "reference" / "configuration.md"
    assert page.read_text(encoding="utf-8") == reference_page(), (
        "run: python -m wholecurve.config.docs > docs/reference/configuration.md"
    )


def test_the_page_has_every_key_and_flag() -> None:
    page = reference_page()
    for path in key_paths(Settings):
        assert f"| `{path[-1]}` |" in page, path
    for flag in FLAG_OF.values():
        assert f"| `{flag}` |" in page, flag


def test_the_example_of_the_page_is_valid() -> None:
    example = reference_page().partition("```yaml\n")[2].partition("```")[0]
    assert settings(example, flags=RunFlags()).stop.whole_passes is True
