"""The flags of `run` and `sweep`, and settings made of flags and a file. A flag wins over the file.

`RunFlags` and `SweepFlags` are flat and hold what was typed: None or empty means not given. `FLAGS` says which key of
the settings a flag sets; the documentation and the merge both read it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any

from cyclopts import Parameter
from pydantic import ValidationError

from wholecurve.config.files import ConfigFile
from wholecurve.config.pairs import json_pairs, text_pairs, typed_headers, with_unit
from wholecurve.config.problems import input_error
from wholecurve.config.schema import Dialect, MaxTokensField, OfflineChoice, Settings
from wholecurve.config.yaml_source import Path
from wholecurve.model.errors import InputError
from wholecurve.model.plan import Order, Pattern

# Their values may begin with a hyphen, so that `-1s` is refused as a duration and not taken for a flag.
_DURATIONS = frozenset(
    f"--{name}"
    for name in (
        *("duration", "max-duration", "ramp", "request-timeout", "silence-timeout", "run-timeout", "drain-timeout"),
        *("ttft-p90", "max-extra", "idle-gap", "wait-endpoint"),
    )
)


def _flag(name: str, text: str, *, off: str = "") -> Parameter:
    hyphen = name in _DURATIONS
    return Parameter(
        name=name, help=text, negative=off, negative_iterable="", show_default=False, allow_leading_hyphen=hyphen
    )


Texts = tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class SharedFlags:
    """What every measuring command is told: endpoint, data, requests, limits, files. As typed."""

    config: Annotated[str | None, _flag("--config", "YAML file: ours, or the MLPerf reference client's")] = None
    endpoint: Annotated[Texts, _flag("--endpoint", "base URL of the endpoint; may be given several times")] = ()
    model: Annotated[str | None, _flag("--model", "model name sent with every request")] = None
    dataset: Annotated[str | None, _flag("--dataset", "JSONL, JSON, CSV or Parquet file of rows to send")] = None
    tokenizer: Annotated[str | None, _flag("--tokenizer", "folder of the reference tokenizer, or its id")] = None
    out: Annotated[str | None, _flag("--out", "folder for the run's files; must be new or empty")] = None
    dialect: Annotated[Dialect | None, _flag("--dialect", "how requests and answers are written")] = None
    max_tokens: Annotated[int | None, _flag("--max-tokens", "output limit of every request")] = None
    max_tokens_field: Annotated[MaxTokensField | None, _flag("--max-tokens-field", "name of that field")] = None
    min_tokens: Annotated[int | None, _flag("--min-tokens", "least output of every request")] = None
    ignore_eos: Annotated[
        bool | None, _flag("--ignore-eos", "generate on after the end-of-text token", off="--no-ignore-eos")
    ] = None
    sampling: Annotated[Texts, _flag("--sampling", "sampling field key=value, typed as JSON: temperature=0.5")] = ()
    extra_body: Annotated[Texts, _flag("--extra-body", "any other body field key=value, typed as JSON")] = ()
    header: Annotated[Texts, _flag("--header", "request header 'Name: ${VARIABLE}'; keeps secrets off this line")] = (
        field(default=(), repr=False)
    )
    api_key_env: Annotated[str | None, _flag("--api-key-env", "environment variable that holds the API key")] = None
    api_key_file: Annotated[str | None, _flag("--api-key-file", "file that holds the API key")] = None
    ca_file: Annotated[str | None, _flag("--ca-file", "certificate authorities to trust, PEM")] = None
    client_cert: Annotated[str | None, _flag("--client-cert", "client certificate, PEM")] = None
    client_key: Annotated[str | None, _flag("--client-key", "key of the client certificate, PEM")] = None
    insecure: Annotated[bool | None, _flag("--insecure", "do not verify certificates; results say so")] = None
    proxy: Annotated[str | None, _flag("--proxy", "HTTP proxy, http://host:port")] = None
    stream: Annotated[bool | None, _flag("--stream", "ask for a stream of events", off="--no-stream")] = None
    usage: Annotated[bool | None, _flag("--usage", "ask streams for their token usage", off="--no-usage")] = None
    warmup: Annotated[int | None, _flag("--warmup", "warm-up requests before measuring")] = None
    salt_warmup: Annotated[
        bool | None, _flag("--salt-warmup", "text before warm-up prompts so they differ", off="--no-salt-warmup")
    ] = None
    workers: Annotated[int | None, _flag("--workers", "worker processes; by default as many as the load needs")] = None
    request_timeout: Annotated[str | None, _flag("--request-timeout", "longest time of one request")] = None
    silence_timeout: Annotated[str | None, _flag("--silence-timeout", "longest silence within one answer")] = None
    run_timeout: Annotated[str | None, _flag("--run-timeout", "longest time of the whole run")] = None
    drain_timeout: Annotated[str | None, _flag("--drain-timeout", "longest wait for the last answers, or none")] = None
    max_failed_share: Annotated[
        float | None, _flag("--max-failed-share", "share of failures above which the run is invalid")
    ] = None
    retries: Annotated[int | None, _flag("--retries", "times a request is sent again after 429 or 5xx")] = None
    keep_responses: Annotated[bool | None, _flag("--keep-responses", "write the answers' text to disk")] = None
    column: Annotated[Texts, _flag("--column", "column mapping target=source: prompt=question")] = ()
    limit: Annotated[int | None, _flag("--limit", "use only the first rows of the data set")] = None
    skip_bad_rows: Annotated[bool | None, _flag("--skip-bad-rows", "leave out rows that cannot be read")] = None
    trust_remote_code: Annotated[
        bool | None, _flag("--trust-remote-code", "run code that comes with the tokenizer")
    ] = None
    kernel_stamps: Annotated[
        bool | None, _flag("--kernel-stamps", "arrival times from the kernel", off="--no-kernel-stamps")
    ] = None
    name: Annotated[str | None, _flag("--name", "name of the run, shown in reports")] = None
    json: Annotated[bool, _flag("--json", "print the result as JSON")] = False
    quiet: Annotated[bool, _flag("--quiet", "print nothing but errors; with --json the result too")] = False


@dataclass(frozen=True, slots=True, kw_only=True)
class RunFlags(SharedFlags):
    """Flags of one run, as typed: beside the shared ones, the load and its end."""

    concurrency: Annotated[int | None, _flag("--concurrency", "requests in flight; a cap with --rate")] = None
    requests: Annotated[int | None, _flag("--requests", "send at least this many; exactly, without --duration")] = None
    duration: Annotated[str | None, _flag("--duration", "issue for at least this long: 30s, 10m")] = None
    rate: Annotated[float | None, _flag("--rate", "mean arrivals per second of an open loop")] = None
    pattern: Annotated[Pattern | None, _flag("--pattern", "load pattern")] = None
    max_duration: Annotated[str | None, _flag("--max-duration", "never issue for longer than this")] = None
    salt: Annotated[str | None, _flag("--salt", "word to make a random text before every measured prompt from")] = None
    passes: Annotated[int | None, _flag("--passes", "at least this many passes of the data set")] = None
    whole_passes: Annotated[bool | None, _flag("--whole-passes", "end only at the end of a pass")] = None
    ramp: Annotated[str | None, _flag("--ramp", "raise the load linearly over this time")] = None
    order: Annotated[Order | None, _flag("--order", "order of rows")] = None
    seed: Annotated[int | None, _flag("--seed", "seed of sample order, arrivals and warm-up")] = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SweepFlags(SharedFlags):
    """Flags of a sweep, as typed: beside the shared ones, which levels are measured, and how."""

    rules: Annotated[str | None, _flag("--rules", "version of the rules: v1_0, or demo for seconds not minutes")] = None
    edition: Annotated[str | None, _flag("--edition", "edition of the rules text: E3, E1 or T")] = None
    benchmark: Annotated[str | None, _flag("--benchmark", "benchmark of the rules that this is a result of")] = None
    seed_set: Annotated[
        str | None, _flag("--seed-set", "published seed set for order, arrivals, sampling and salt")
    ] = None
    target_cohort: Annotated[str | None, _flag("--target-cohort", "cohort this is meant for: 2026-12-C1")] = None
    c_min: Annotated[int | None, _flag("--c-min", "lowest level")] = None
    c_max: Annotated[int | None, _flag("--c-max", "highest supported concurrency; found by a search if not given")] = (
        None
    )
    points: Annotated[str | None, _flag("--points", "levels to measure instead of chosen ones: 1,4,16,64")] = None
    count: Annotated[int | None, _flag("--count", "levels to choose; by default the fewest the rules ask for")] = None
    offline: Annotated[
        OfflineChoice | None, _flag("--offline", "dedicated run, elected C_max point, both, or none")
    ] = None
    ttft_p90: Annotated[str | None, _flag("--ttft-p90", "the search for C_max ends where TTFT P90 is above this")] = (
        None
    )
    interactivity: Annotated[
        float | None, _flag("--interactivity", "the search for C_max ends where tokens/s per user fall below this")
    ] = None
    max_extra: Annotated[
        str | None,
        _flag("--max-extra", "longest a point is extended while its steady window is too short"),
    ] = None
    idle_gap: Annotated[str | None, _flag("--idle-gap", "rest between two points")] = None
    repeats: Annotated[int | None, _flag("--repeats", "measure every level this many times, for the spread")] = None
    order_seed: Annotated[int | None, _flag("--order-seed", "seed of the order in which levels are measured")] = None
    wait_endpoint: Annotated[
        str | None, _flag("--wait-endpoint", "longest wait for an endpoint that has gone to come back")
    ] = None
    accuracy_dataset: Annotated[
        str | None, _flag("--accuracy-dataset", "rows with an `answer` column, scored right after a mandatory point")
    ] = None
    scorer: Annotated[str | None, _flag("--scorer", "how accuracy answers are scored")] = None


@dataclass(frozen=True, slots=True)
class FlagRow:
    """The keys a flag sets, and how its texts are read; a mapping is merged into the file's, key by key."""

    paths: tuple[Path, ...]
    read: Callable[[Any], Any] = lambda value: value


def _one(*path: str) -> FlagRow:
    return FlagRow((path,))


FLAGS: dict[str, FlagRow] = {
    "endpoint": _one("endpoint", "urls"),
    "model": _one("endpoint", "model"),
    "dataset": _one("dataset", "path"),
    "concurrency": _one("load", "concurrency"),
    "requests": _one("stop", "requests"),
    "duration": _one("stop", "duration"),
    "rate": _one("load", "rate"),
    "pattern": _one("load", "pattern"),
    "tokenizer": _one("tokenizer", "path"),
    "out": _one("output", "dir"),
    "dialect": _one("endpoint", "dialect"),
    "max_tokens": _one("request", "max_tokens"),
    "max_tokens_field": _one("request", "max_tokens_field"),
    "min_tokens": _one("request", "min_tokens"),
    "ignore_eos": _one("request", "ignore_eos"),
    "sampling": FlagRow((("request", "sampling"),), lambda texts: json_pairs(texts, "--sampling")),
    "extra_body": FlagRow((("request", "extra_body"),), lambda texts: json_pairs(texts, "--extra-body")),
    "header": FlagRow((("endpoint", "headers"),), lambda texts: typed_headers(texts, "--header")),
    "api_key_env": _one("endpoint", "api_key_env"),
    "api_key_file": _one("endpoint", "api_key_file"),
    "ca_file": _one("endpoint", "ca_file"),
    "client_cert": _one("endpoint", "client_cert"),
    "client_key": _one("endpoint", "client_key"),
    "insecure": _one("endpoint", "insecure"),
    "proxy": _one("endpoint", "proxy"),
    "stream": _one("request", "stream"),
    "usage": _one("request", "include_usage"),
    "warmup": _one("warmup", "requests"),
    "salt_warmup": _one("warmup", "salt"),
    "salt": _one("load", "salt"),
    "workers": _one("workers"),
    "seed": FlagRow((("seeds", "order"), ("seeds", "arrivals"), ("seeds", "warmup"))),
    "request_timeout": _one("limits", "request_timeout"),
    "silence_timeout": _one("limits", "silence_timeout"),
    "run_timeout": _one("limits", "run_timeout"),
    "drain_timeout": _one("limits", "drain_timeout"),
    "max_duration": _one("stop", "max_duration"),
    "max_failed_share": _one("limits", "max_failed_share"),
    "retries": _one("limits", "retries"),
    "keep_responses": _one("output", "keep_responses"),
    "order": _one("load", "order"),
    "column": FlagRow((("dataset", "columns"),), lambda texts: text_pairs(texts, "--column", "target=source")),
    "limit": _one("dataset", "limit"),
    "skip_bad_rows": _one("dataset", "skip_bad_rows"),
    "ramp": _one("load", "ramp"),
    "passes": _one("stop", "passes"),
    "whole_passes": _one("stop", "whole_passes"),
    "trust_remote_code": _one("tokenizer", "trust_remote_code"),
    "kernel_stamps": _one("kernel_stamps"),
    "name": _one("name"),
    "rules": _one("rules", "version"),
    "edition": _one("rules", "edition"),
    "benchmark": _one("rules", "benchmark"),
    "seed_set": _one("rules", "seed_set"),
    "target_cohort": _one("rules", "target_cohort"),
    "c_min": _one("sweep", "c_min"),
    "c_max": _one("sweep", "c_max"),
    "points": _one("sweep", "points"),
    "count": _one("sweep", "count"),
    "offline": _one("sweep", "offline"),
    "ttft_p90": FlagRow((("sweep", "ttft_p90"),), lambda text: with_unit(text, "--ttft-p90")),
    "interactivity": _one("sweep", "interactivity"),
    "max_extra": _one("sweep", "max_extra"),
    "idle_gap": _one("sweep", "idle_gap"),
    "repeats": _one("sweep", "repeats"),
    "order_seed": _one("sweep", "order_seed"),
    "wait_endpoint": _one("sweep", "wait_endpoint"),
    "accuracy_dataset": _one("accuracy", "dataset", "path"),
    "scorer": _one("accuracy", "scorer"),
}

# Flags that say how the command behaves, not what is measured.
COMMAND_FLAGS = ("config", "json", "quiet")

FLAG_OF: dict[Path, str] = {path: f"--{name.replace('_', '-')}" for name, row in FLAGS.items() for path in row.paths}


def settings_from(flags: SharedFlags, file: ConfigFile | None = None) -> Settings:
    """Settings of a file, overridden by the flags given. Raises InputError with the flag, or file and line."""
    data: dict[str, Any] = dict(file.data) if file else {}
    for row, value in _typed(flags):
        read = row.read(value)
        for path in row.paths:
            data = _put(data, path, read)
    if flags.dataset is not None and isinstance(data["dataset"], Mapping):
        # A file given as a flag replaces synthetic rows of the file; both together would be refused.
        data["dataset"] = {name: value for name, value in data["dataset"].items() if name != "synthetic"}
    try:
        return Settings.model_validate(data)
    except ValidationError as error:
        raise _with_flag(input_error(error, Settings, origins_of(flags, file))) from None


def origins_of(flags: SharedFlags, file: ConfigFile | None = None) -> dict[Path, str]:
    """Where each key was given: a flag, or `file:line`. For the messages of `resolve`."""
    given = {path: FLAG_OF[path] for row, _ in _typed(flags) for path in row.paths}
    return {**(file.origins if file else {}), **given}


def _typed(flags: SharedFlags) -> list[tuple[FlagRow, Any]]:
    """The flags that were given."""
    pairs = [(row, getattr(flags, name, None)) for name, row in FLAGS.items()]
    return [(row, value) for row, value in pairs if value is not None and value != ()]


def _put(data: Mapping[str, Any], path: Path, value: Any) -> dict[str, Any]:
    """The tree with one value set; mappings are merged, anything else is replaced."""
    head, rest = str(path[0]), path[1:]
    inner = data.get(head)
    if rest:
        if inner is not None and not isinstance(inner, Mapping):
            return dict(data)  # the file's own fault; validation names it
        return {**data, head: _put(inner or {}, rest, value)}
    if isinstance(value, Mapping) and isinstance(inner, Mapping):
        value = {**inner, **value}
    return {**data, head: value}


def _with_flag(error: InputError) -> InputError:
    """A missing key is also named by its flag."""
    for path, flag in FLAG_OF.items():
        if error.message.startswith("wanted a value for") and f"`{'.'.join(map(str, path))}`" in error.message:
            hint = f"give {flag}, or set it in the file" + f"; {error.hint}" * bool(error.hint)
            return InputError(error.message, where=error.where, hint=hint)
    if error.message.startswith("wanted a value for `endpoint`"):
        return InputError(error.message, where=error.where, hint="give --endpoint and --model, or --config FILE")
    if error.message.startswith("wanted a value for `dataset`"):
        return InputError(error.message, where=error.where, hint="give --dataset FILE, or --config FILE")
    return error
