"""Settings: what is accepted, and the exact words for what is not."""

from __future__ import annotations

import pytest
from config_cases import BASE, settings
from pydantic import BaseModel, ValidationError

from wholecurve.config import RunFlags, Settings
from wholecurve.config.problems import key_paths, section_type
from wholecurve.config.schema import EndpointSettings, LimitSettings, RequestSettings
from wholecurve.config.types import write_duration
from wholecurve.model.errors import InputError
from wholecurve.model.plan import Limits
from wholecurve.model.units import parse_duration_ns
from wholecurve.wire import DIALECTS

S = 1_000_000_000


def test_a_short_file_is_enough() -> None:
    made = settings(BASE)
    assert made.endpoint.urls == ("http://127.0.0.1:8000",)
    assert made.load.concurrency == 4
    assert made.request == RequestSettings()


def test_settings_are_frozen() -> None:
    with pytest.raises(ValidationError):
        settings(BASE).endpoint.model = "other"  # type: ignore[misc]


DURATIONS = [
    ("500ms", S // 2),
    ("1.5 s", 3 * S // 2),
    ("10m", 600 * S),
    ("2", 2 * S),
    ("0.25", S // 4),
    ("'90'", 90 * S),
]


@pytest.mark.parametrize(("text", "wanted"), DURATIONS)
def test_durations(text: str, wanted: int) -> None:
    assert settings(f"{BASE}stop: {{duration: {text}}}").stop.duration == wanted
    assert parse_duration_ns(write_duration(wanted) or "") == wanted


@pytest.mark.parametrize(
    ("text", "wanted"), [("on", True), ("off", False), ("yes", True), ("false", False), ("'off'", False)]
)
def test_stream_takes_yaml_booleans(text: str, wanted: bool) -> None:
    assert settings(f"{BASE}request: {{stream: {text}}}").request.stream is wanted


def test_none_switches_a_limit_off_and_an_empty_section_is_its_defaults() -> None:
    made = settings(f"{BASE}limits: {{drain_timeout: none, request_timeout: 5}}\nwarmup:\nstop:\n")
    assert made.limits.drain_timeout is None
    assert made.limits.request_timeout == 5 * S
    assert settings(f"{BASE}limits: {{drain_timeout: null}}").limits.drain_timeout is None
    assert not made.warmup.wanted


def test_limits_are_those_of_the_plan() -> None:
    ours, plan = LimitSettings(), Limits()
    for name in LimitSettings.model_fields:
        assert getattr(ours, name) == getattr(plan, name if hasattr(plan, name) else f"{name}_ns"), name


def test_sizes() -> None:
    assert settings(f"{BASE}limits: {{max_event_bytes: 16MiB}}").limits.max_event_bytes == 16 << 20


# text added to BASE, message, where, hint
WRONG = [
    ("stop: {requsts: 5}", "unknown key `stop.requsts`", "run.yaml:4", "did you mean `stop.requests`?"),
    ("rate: 5", "unknown key `rate`", "run.yaml:4", "did you mean `load.rate`?"),
    ("max_tokens: 5", "unknown key `max_tokens`", "run.yaml:4", "did you mean `request.max_tokens`?"),
    ("seeds: {zzz: 1}", "unknown key `seeds.zzz`", "run.yaml:4", "known keys here: order, arrivals, warmup"),
    ("stop: {requests: -3}", "stop.requests: wanted at least 1, got -3", "run.yaml:4", ""),
    ("stop: {requests: 0}", "stop.requests: wanted at least 1, got 0", "run.yaml:4", ""),
    ("stop: {requests: many}", "stop.requests: wanted a whole number, got 'many'", "run.yaml:4", ""),
    ("stop: {requests: 1.5}", "stop.requests: wanted a whole number, got 1.5", "run.yaml:4", ""),
    ("stop: {requests: yes}", "stop.requests: wanted a whole number, got true", "run.yaml:4", ""),
    (
        "stop: {duration: soon}",
        "stop.duration: wanted a duration such as 500ms, 30s or 10m, got 'soon'",
        "run.yaml:4",
        "",
    ),
    ("stop: {duration: -1}", "stop.duration: wanted a duration of zero or more, got -1", "run.yaml:4", ""),
    ("stop: {duration: .nan}", "stop.duration: wanted a duration of zero or more, got nan", "run.yaml:4", ""),
    ("stop: {duration: 999999999h}", "stop.duration: wanted a duration of at most 100 years", "run.yaml:4", ""),
    ("stop: {duration: 1e400}", "stop.duration: wanted a duration of zero or more", "run.yaml:4", ""),
    # What fits no 64-bit cell or file would only be found out in mid-run.
    ("stop: {requests: 99999999999999999999}", "stop.requests: wanted at most 1000000000000, got", "run.yaml:4", ""),
    ("limits: {retries: 9223372036854775808}", "limits.retries: wanted at most 9223372036854775807", "run.yaml:4", ""),
    ("seeds: {order: 18446744073709551616}", "seeds.order: wanted at most 18446744073709551615", "run.yaml:4", ""),
    ("seeds: {order: -1}", "seeds.order: wanted at least 0, got -1", "run.yaml:4", ""),
    ("seeds: {arrivals: 1.5}", "seeds.arrivals: wanted a whole number, got 1.5", "run.yaml:4", ""),
    ("workers: 5000", "workers: wanted at most 256, got 5000", "run.yaml:4", ""),
    (
        "request: {sampling: {seed: 18446744073709551616}}",
        "request.sampling: wanted a whole number of at most 64 bits for seed, got 18446744073709551616",
        "run.yaml:4",
        "",
    ),
    ("stop: {duration: [1]}", "stop.duration: wanted a duration such as 500ms, 30s or 10m, got [1]", "run.yaml:4", ""),
    ("limits: {max_failed_share: 1.5}", "limits.max_failed_share: wanted at most 1, got 1.5", "run.yaml:4", ""),
    ("limits: {request_timeout: 0}", "limits.request_timeout: wanted more than 0", "run.yaml:4", "no limit"),
    ("limits: {max_failed_share: .nan}", "limits.max_failed_share: wanted a finite number, got nan", "run.yaml:4", ""),
    ("limits: {max_event_bytes: 3 parsecs}", "limits.max_event_bytes: wanted a size such as 64MiB", "run.yaml:4", ""),
    ("request: {stream: maybe}", "request.stream: wanted true or false, got 'maybe'", "run.yaml:4", ""),
    (
        "request: {max_tokens_field: x}",
        "wanted one of 'max_tokens' or 'max_completion_tokens', got 'x'",
        "run.yaml:4",
        "",
    ),
    ("request: {sampling: [1]}", "request.sampling: wanted a mapping of field: value, got [1]", "run.yaml:4", ""),
    ("request: {sampling: {t: .inf}}", "request.sampling: wanted a finite number for t, got inf", "run.yaml:4", ""),
    ("request: {extra_body: {a: {b: [.nan]}}}", "wanted a finite number for a.b[0], got nan", "run.yaml:4", ""),
    ("warmup: 3", "warmup: wanted a section of `key: value` lines, got 3", "run.yaml:4", ""),
    ("name: [a]", "name: wanted text", "run.yaml:4", ""),
    ("tokenizer: {path: ''}", "tokenizer.path: wanted text that is not empty, got ''", "run.yaml:4", ""),
]


@pytest.mark.parametrize(("text", "message", "where", "hint"), WRONG)
def test_wrong_values_say_key_line_wanted_and_got(text: str, message: str, where: str, hint: str) -> None:
    with pytest.raises(InputError) as caught:
        settings(BASE + text)
    assert message in caught.value.message
    assert caught.value.where == where
    assert hint in caught.value.hint
    assert caught.value.exit_code == 2
    assert len(caught.value.lines()) <= 3


def test_further_faults_are_named() -> None:
    with pytest.raises(InputError) as caught:
        settings(f"{BASE}stop: {{requests: -1, passes: -1}}\nname: 3\nworkers: 0")
    assert "also wrong: " in caught.value.hint
    assert "stop.passes" in caught.value.hint


MISSING = [
    ("", "wanted a value for `endpoint`", "--endpoint and --model"),
    ("endpoint: {urls: http://a}\ndataset: {path: p}", "wanted a value for `endpoint.model`", "give --model"),
    ("endpoint: {urls: http://a, model: m}", "wanted a value for `dataset`", "give --dataset FILE"),
]


@pytest.mark.parametrize(("text", "message", "hint"), MISSING)
def test_missing_values_name_the_flag(text: str, message: str, hint: str) -> None:
    with pytest.raises(InputError) as caught:
        settings(text)
    assert message in caught.value.message
    assert hint in caught.value.hint


def test_variables_are_put_in_before_types_are_checked() -> None:
    text = BASE.replace("concurrency: 4", "concurrency: '${N}'")
    assert settings(text, {"N": "32"}).load.concurrency == 32
    with pytest.raises(InputError, match=r"load\.concurrency wants the environment variable N"):
        settings(text)


def test_sec_1_a_wrong_header_or_key_never_shows_its_value() -> None:
    for text in (
        "headers: {X-Token: [secret-1]}",
        "api_key: secret-1",
        "headers: {X: {a: secret-1}}",
        "headers: secret-1",
    ):
        with pytest.raises(InputError) as caught:
            settings(f"endpoint:\n  urls: http://a\n  model: m\n  {text}\ndataset: {{path: p}}\n")
        assert "secret-1" not in str(caught.value)
        assert caught.value.where == "run.yaml:4"


def test_sec_1_settings_and_flags_do_not_show_headers() -> None:
    made = settings(BASE.replace("model: m", "model: m, headers: {X-Token: secret-1}"))
    assert made.endpoint.headers == {"X-Token": "secret-1"}
    assert "secret-1" not in repr(made) + str(made)
    assert "secret-1" not in repr(RunFlags(header=("X-Trace: secret-1",)))


def test_every_key_has_a_meaning() -> None:
    def walk(schema: type[BaseModel]) -> None:
        assert schema.__doc__
        for name, field in schema.model_fields.items():
            assert field.description, name
            inner = section_type(field.annotation)
            if inner:
                walk(inner)

    walk(Settings)
    assert ("endpoint", "urls") in set(key_paths(Settings))


def test_dialects_are_those_of_the_wire() -> None:
    annotation = EndpointSettings.model_fields["dialect"].annotation
    assert set(annotation.__args__) == set(DIALECTS)  # type: ignore[union-attr]
