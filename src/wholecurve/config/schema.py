"""The settings: one schema for YAML, flags and documentation. Frozen; an unknown key is an error.

Durations are written as `500ms`, `30s`, `10m` or a number of seconds, and held as whole ns. Defaults of limits are
those of `model.plan.Limits`. What a flag sets is in flags.py; docs.py prints this file as a table.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

from wholecurve.config.types import (
    Bytes,
    Count,
    Duration,
    JsonObject,
    Kind,
    LengthsText,
    Names,
    Natural,
    OptionalDuration,
    OptionalLimit,
    PositiveDuration,
    Rate,
    Seed,
    Share,
    Text,
    Workers,
)
from wholecurve.model.plan import Limits, Order, Pattern

Dialect = Literal["openai-chat", "openai-completions", "sglang-generate"]
MaxTokensField = Literal["max_tokens", "max_completion_tokens"]
FileFormat = Literal["jsonl", "json", "csv", "parquet"]
OfflineChoice = Literal["dedicated", "elected", "both", "none"]

_LIMITS = Limits()


def key(default: Any, text: str, *, unit: str = "", shown: bool = True) -> Any:
    """One key: default, meaning, unit; `shown` false keeps its value out of `repr`."""
    return Field(default, description=text, json_schema_extra={"unit": unit}, repr=shown)


class Section(BaseModel):
    """A frozen group of keys that refuses unknown ones."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False, str_strip_whitespace=True)


def _empty_if_null(value: Any) -> Any:
    """A section whose keys are all commented out reads as null in YAML."""
    return {} if value is None else value


class EndpointSettings(Section):
    """What is measured, and how it is reached."""

    urls: Names = key(..., "base address of the endpoint, with or without `/v1`; several share the load")
    model: Text = key(..., "model name sent with every request")
    dialect: Dialect = key("openai-chat", "how requests and answers are written")
    api_key_env: Text | None = key(
        None,
        "environment variable that holds the API key; without this and `api_key_file`, "
        "`WHOLECURVE_API_KEY` is used if set, and no other variable is ever read",
    )
    api_key_file: Text | None = key(None, "file that holds the API key on one line")
    headers: Annotated[dict[str, str], BeforeValidator(_empty_if_null), Kind("mapping of name: value")] = key(
        {}, "extra request headers; write secrets as `${VARIABLE}`; a value is never written to a file", shown=False
    )
    ca_file: Text | None = key(None, "PEM file with the certificate authorities to trust instead of the system's")
    client_cert: Text | None = key(None, "PEM file with the client certificate")
    client_key: Text | None = key(None, "PEM file with the key of the client certificate")
    insecure: bool = key(False, "do not verify the endpoint's certificate; every result says so")
    proxy: Text | None = key(None, "HTTP proxy, `http://host:port`; proxy variables of the environment are ignored")


class RequestSettings(Section):
    """Fields of every request body. What is not set is not sent: the server's default holds."""

    stream: bool = key(True, "ask for a stream of events")
    include_usage: bool = key(True, "ask a stream for its token usage (`stream_options.include_usage`)")
    max_tokens: Count | None = key(None, "output limit; a row's own limit wins", unit="tokens")
    max_tokens_field: MaxTokensField = key("max_tokens", "name under which the output limit is sent")
    min_tokens: Natural | None = key(None, "least output (`min_tokens`)", unit="tokens")
    ignore_eos: bool | None = key(None, "generate on after the end-of-text token (`ignore_eos`)")
    n: Count | None = key(None, "answers per request (`n`)")
    sampling: JsonObject = key({}, "sampling fields such as `temperature`, `top_p`, `seed`, sent with their JSON type")
    extra_body: JsonObject = key({}, "any other body fields, sent with their JSON type")


class SyntheticSettings(Section):
    """Made-up prompts of exact length, in tokens of the tokenizer; without one, in words."""

    rows: Count = key(..., "prompts to make", unit="rows")
    input_tokens: LengthsText = key(..., "length of each prompt, without the chat template", unit="tokens")
    output_tokens: LengthsText | None = key(None, "output limit of each row", unit="tokens")
    shared_prefix_share: Annotated[Share, Field(lt=1)] = key(
        0.0, "part of each prompt that all prompts share, from its start"
    )
    seed: Natural = key(42, "seed of the prompts")


class DatasetSettings(Section):
    """Rows to send: a file, or synthetic prompts."""

    path: Text | None = key(None, "JSONL, JSON, CSV or Parquet file; relative to the current folder")
    format: FileFormat | None = key(None, "format of the file; by default from its ending")
    columns: Annotated[dict[str, str], BeforeValidator(_empty_if_null), Kind("mapping of target: source")] = key(
        {}, "which column of the file holds what, such as `prompt: question`"
    )
    limit: Count | None = key(None, "use only the first rows", unit="rows")
    skip_bad_rows: bool = key(False, "leave out rows that cannot be read, and list them, instead of refusing the file")
    synthetic: SyntheticSettings | None = key(None, "make prompts instead of reading a file")


class WarmupSettings(Section):
    """Requests before the measurement, apart from it. None unless `requests`, `passes` or `duration` is set."""

    requests: Count | None = key(None, "warm-up requests", unit="requests")
    passes: Count | None = key(None, "warm-up passes of its data set", unit="passes")
    duration: Duration | None = key(None, "warm up for at least this long", unit="s")
    dataset: DatasetSettings | None = key(None, "own rows for the warm-up; by default the measured ones, salted")
    concurrency: Count | None = key(
        None, "closed loop of this many requests; by default the load of the measured phase", unit="requests"
    )
    salt: bool | None = key(
        None, "put a different random text before each warm-up prompt; by default when it would else be a measured one"
    )
    drain_timeout: OptionalDuration = key(
        _LIMITS.drain_timeout_ns, "longest wait for the last warm-up answers before measuring starts", unit="s"
    )

    @property
    def wanted(self) -> bool:
        """Whether there is a warm-up."""
        return bool(self.requests or self.passes or self.duration)


class LoadSettings(Section):
    """How requests are offered."""

    pattern: Pattern | None = key(
        None, "load pattern; by default `poisson` when a rate is set, `concurrency` when only that is"
    )
    concurrency: Count | None = key(None, "requests in flight; a cap for open loops", unit="requests")
    rate: Rate | None = key(None, "mean arrivals of an open loop", unit="requests/s")
    order: Order = key(Order.SHUFFLED, "order of rows; `shuffled` as in the MLPerf reference client")
    ramp: Duration = key(0, "raise the load linearly over this time at the start", unit="s")
    salt: Text | None = key(
        None,
        "put 64 bits before every measured prompt, made from this word and the request's place in the issue order, so "
        "that no cache knows it, in no pass",
    )


class StopSettings(Section):
    """When issuing ends: once every minimum is met, or at a maximum. Nothing set: one pass of the data set."""

    requests: Count | None = key(None, "at least this many requests; exactly, if nothing else is set", unit="requests")
    passes: Count | None = key(None, "at least this many passes of the data set", unit="passes")
    duration: Duration | None = key(None, "at least this long", unit="s")
    whole_passes: bool = key(False, "end only at the end of a pass of the data set")
    max_requests: Count | None = key(None, "never more requests", unit="requests")
    max_duration: PositiveDuration | None = key(None, "never issue for longer", unit="s")


class LimitSettings(Section):
    """Limits of the client. `none` means no limit."""

    request_timeout: OptionalLimit = key(
        _LIMITS.request_timeout_ns, "longest time from sending to the last byte; then the request failed", unit="s"
    )
    silence_timeout: OptionalLimit = key(
        _LIMITS.silence_timeout_ns, "longest time without a byte of an answer; then the request failed", unit="s"
    )
    run_timeout: OptionalLimit = key(_LIMITS.run_timeout_ns, "longest time of the whole run", unit="s")
    connect_timeout: PositiveDuration = key(_LIMITS.connect_timeout_ns, "longest time to open a connection", unit="s")
    drain_timeout: OptionalDuration = key(
        _LIMITS.drain_timeout_ns, "longest wait for the last answers after issuing ended", unit="s"
    )
    max_event_bytes: Bytes = key(_LIMITS.max_event_bytes, "largest event; a larger one fails its request", unit="B")
    max_connects_at_once: Count = key(_LIMITS.max_connects_at_once, "connections being opened at once")
    max_failed_share: Share = key(_LIMITS.max_failed_share, "share of failed requests above which the run is invalid")
    retries: Natural = key(
        _LIMITS.retries, "times a request is sent again after 429 or 5xx; its clock keeps running from the first"
    )


class TokenizerSettings(Section):
    """The reference tokenizer. Without it, tokens are what the server reports."""

    path: Text | None = key(None, "folder with the tokenizer's files, or a Hugging Face id")
    trust_remote_code: bool = key(False, "run code that comes with the tokenizer")


class OutputSettings(Section):
    """What is written, and where."""

    dir: Text | None = key(None, "folder of the run; must be new or empty")
    keep_responses: bool = key(False, "write the text of the answers to disk")


class SeedSettings(Section):
    """Seeds. Equal seeds give equal order and arrivals, as in the MLPerf reference client."""

    order: Seed = key(42, "sample order (its `dataloader_random_seed`)")
    arrivals: Seed = key(42, "arrival times (its `scheduler_random_seed`)")
    warmup: Seed = key(42, "warm-up: arrivals with this seed, order with the next (its `warmup_random_seed`)")


class RulesSettings(Section):
    """The rules that results are held to (see the reference page of the rules)."""

    version: Text = key("v1_0", "version of the rules; `demo` has seconds where they have minutes")
    edition: Text = key("E3", "edition of the rules text")
    benchmark: Text | None = key(None, "benchmark of the rules; by default an own workload")
    seed_set: Text | None = key(
        None,
        "published seed set: sample order, arrivals and the sampling seed of every request come from it; a sweep makes "
        "its salt of it too",
    )
    target_cohort: Text | None = key(None, "cohort that the result is meant for, such as `2026-12-C1`")


class AccuracySettings(Section):
    """Rows whose answers are scored right after a point, at the same concurrency. None unless `dataset` is set."""

    dataset: DatasetSettings | None = key(None, "rows with the expected answer; each is sent once, in order, unsalted")
    scorer: Text = key("exact_match", "how an answer is compared with the expected one")
    answer: Text = key("answer", "column of the expected answer")
    least: JsonObject = key({}, "bounds by metric, 0 to 100; by default those of the benchmark")


class SweepSettings(Section):
    """A sweep: which levels are measured, in which order, for how long. Ignored by a single run."""

    c_min: Count | None = key(None, "lowest level; by default 1", unit="requests")
    c_max: Count | None = key(None, "highest supported concurrency; found by a search if not set", unit="requests")
    points: Text | None = key(None, "levels to measure instead of chosen ones, such as `1,4,16,64`")
    count: Count | None = key(None, "levels to choose; by default the fewest that the rules ask for", unit="points")
    offline: OfflineChoice = key("dedicated", "how the Offline result is made")
    ttft_p90: OptionalLimit = key(None, "the search for C_max ends where TTFT P90 is above this", unit="s")
    interactivity: Rate | None = key(
        None, "the search for C_max ends where one user gets fewer tokens per second than this", unit="tokens/s"
    )
    max_extra: Duration | None = key(
        None,
        "longest a point is extended while its steady window is too short; by default as long as the region's minimum",
        unit="s",
    )
    idle_gap: Duration = key(5_000_000_000, "rest between two points: none inherits the other's queue", unit="s")
    repeats: Count = key(1, "times every level is measured; the first run is the point, all of them give its spread")
    order_seed: Natural = key(42, "seed of the order in which levels are measured")
    wait_endpoint: Duration = key(600_000_000_000, "longest wait for an endpoint that has gone to come back", unit="s")


class Settings(Section):
    """Everything a run or a sweep can be told."""

    name: str = key("", "name of the run, shown in reports")
    endpoint: EndpointSettings = key(..., "what is measured")
    request: Annotated[RequestSettings, BeforeValidator(_empty_if_null)] = key(RequestSettings(), "request bodies")
    dataset: DatasetSettings = key(..., "rows to send")
    warmup: Annotated[WarmupSettings, BeforeValidator(_empty_if_null)] = key(WarmupSettings(), "warm-up")
    load: Annotated[LoadSettings, BeforeValidator(_empty_if_null)] = key(LoadSettings(), "load")
    stop: Annotated[StopSettings, BeforeValidator(_empty_if_null)] = key(StopSettings(), "end of the run")
    limits: Annotated[LimitSettings, BeforeValidator(_empty_if_null)] = key(LimitSettings(), "limits of the client")
    tokenizer: Annotated[TokenizerSettings, BeforeValidator(_empty_if_null)] = key(
        TokenizerSettings(), "reference tokenizer"
    )
    output: Annotated[OutputSettings, BeforeValidator(_empty_if_null)] = key(OutputSettings(), "files of the run")
    seeds: Annotated[SeedSettings, BeforeValidator(_empty_if_null)] = key(SeedSettings(), "seeds")
    rules: Annotated[RulesSettings, BeforeValidator(_empty_if_null)] = key(RulesSettings(), "rules")
    accuracy: Annotated[AccuracySettings, BeforeValidator(_empty_if_null)] = key(AccuracySettings(), "accuracy")
    sweep: Annotated[SweepSettings, BeforeValidator(_empty_if_null)] = key(SweepSettings(), "the whole curve")
    workers: Workers | None = key(
        None,
        "worker processes; by default one per 512 requests in flight or 2,000 requests/s, at most one less than the "
        "cores this process may use",
    )
    kernel_stamps: bool = key(True, "take arrival times from the kernel where it gives them")
