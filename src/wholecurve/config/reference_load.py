"""Load, end, warm-up and time limits of a reference file in our vocabulary.

Kept: seeds, counts, patterns, drain times. Different on purpose, and said in a warning: a minimum duration is a real
floor that ends with a whole pass, and a warm-up is always drained before measuring starts.
"""

from __future__ import annotations

from math import ceil

from wholecurve.config.reference_schema import ReferenceConfig, ReferenceDataset
from wholecurve.config.translation import Translation
from wholecurve.config.yaml_source import Path
from wholecurve.model.errors import InputError

# What the reference client assumes when no rate is set, and the slack it adds to the count.
ASSUMED_RATE_PER_S = 10
SLACK = 1.1
DEFAULT_MIN_DURATION_MS = 600_000

PATTERNS = {"max_throughput": "offline", "poisson": "poisson", "concurrency": "concurrency"}

_RUNTIME: Path = ("settings", "runtime")
_LOAD: Path = ("settings", "load_pattern")
_WARMUP: Path = ("settings", "warmup")


def load_of(config: ReferenceConfig, to: Translation) -> None:
    """Pattern, rate, concurrency and seeds."""
    load = config.settings.load_pattern
    where = to.source.where((*_LOAD, "type"))
    if load.type not in PATTERNS:
        raise InputError(
            f"settings.load_pattern.type: wanted one of {', '.join(PATTERNS)}, got {load.type}, "
            "which the reference client does not run either",
            where=where,
        )
    mode = config.benchmark_mode if config.type == "submission" else config.type
    if (mode == "offline") != (load.type == "max_throughput") and mode in ("offline", "online"):
        raise InputError(
            f"settings.load_pattern.type: wanted {'max_throughput' if mode == 'offline' else 'poisson or concurrency'} "
            f"for an {mode} benchmark, got {load.type}",
            where=where,
        )
    to.put(("load", "pattern"), PATTERNS[load.type], (*_LOAD, "type"))
    if load.type == "poisson":
        to.put(("load", "rate"), load.target_qps, (*_LOAD, "target_qps"))
    if load.type == "concurrency":
        to.put(("load", "concurrency"), load.target_concurrency, (*_LOAD, "target_concurrency"))
    elif config.settings.client.max_connections > 0:
        to.put(("load", "concurrency"), config.settings.client.max_connections, ("settings", "client"))
    wanted = {"poisson": "target_qps", "concurrency": "target_concurrency"}.get(load.type)
    if wanted and getattr(load, wanted) is None:
        raise InputError(f"settings.load_pattern.{wanted}: wanted a value for {load.type}, got none", where=where)
    runtime = config.settings.runtime
    # A default of the other client is no wish: a seed set given here may replace it, and ours is the same.
    for ours, theirs in (("order", "dataloader_random_seed"), ("arrivals", "scheduler_random_seed")):
        if theirs in runtime.model_fields_set:
            to.put(("seeds", ours), getattr(runtime, theirs), (*_RUNTIME, theirs))
    to.put(
        ("limits", "max_connects_at_once"),
        config.settings.client.max_concurrent_warmup_connects,
        ("settings", "client", "max_concurrent_warmup_connects"),
    )


def stop_of(config: ReferenceConfig, to: Translation) -> None:
    """How many, and how long."""
    runtime = config.settings.runtime
    longest_ms = _one_of(runtime.max_duration_ms, runtime.max_issue_duration_ms, "max", to)
    floor_ms = _one_of(runtime.min_duration_ms, runtime.min_issue_duration_ms, "min", to)
    offline = config.settings.load_pattern.type == "max_throughput"
    if longest_ms:
        if floor_ms and longest_ms < floor_ms:
            raise InputError(
                f"settings.runtime.max_duration_ms: wanted at least min_duration_ms ({floor_ms}), got {longest_ms}",
                where=to.source.where((*_RUNTIME, "max_duration_ms")),
            )
        to.put(("stop", "max_duration"), f"{longest_ms}ms", (*_RUNTIME, "max_duration_ms"))
    if runtime.n_samples_to_issue is not None:
        to.put(("stop", "requests"), runtime.n_samples_to_issue, (*_RUNTIME, "n_samples_to_issue"))
        if floor_ms:
            to.warn("settings.runtime.min_duration_ms: n_samples_to_issue decides alone, as in the reference client")
        return
    if floor_ms is None:
        floor_ms = min(DEFAULT_MIN_DURATION_MS, longest_ms or DEFAULT_MIN_DURATION_MS)
    if floor_ms == 0:
        to.put(("stop", "passes"), 1, (*_RUNTIME, "min_duration_ms"))
        return
    to.put(("stop", "whole_passes"), True, (*_RUNTIME, "min_duration_ms"))
    if offline:
        # All requests go out at once, so no clock can end the phase: the reference client's count is used.
        rate_per_s = config.settings.load_pattern.target_qps or ASSUMED_RATE_PER_S
        count = ceil(rate_per_s * (floor_ms / 1000) * SLACK)
        to.put(("stop", "requests"), count, (*_RUNTIME, "min_duration_ms"))
        to.warn(
            f"settings.runtime.min_duration_ms: {floor_ms / 1000:g} s are taken as {count} requests in whole passes, "
            f"counted from {rate_per_s:g} requests/s as in the reference client"
        )
        return
    to.put(("stop", "duration"), f"{floor_ms}ms", (*_RUNTIME, "min_duration_ms"))
    to.warn(
        f"settings.runtime.min_duration_ms: here {floor_ms / 1000:g} s is a real floor, and the run ends with a whole "
        "pass; the reference client computes a count from an assumed rate instead"
    )


def _one_of(old_ms: int | None, new_ms: int | None, which: str, to: Translation) -> int | None:
    """Either spelling of a duration."""
    if old_ms is not None and new_ms is not None:
        raise InputError(
            f"settings.runtime: wanted either {which}_duration_ms or {which}_issue_duration_ms, got both",
            where=to.source.where((*_RUNTIME, f"{which}_issue_duration_ms")),
        )
    return old_ms if old_ms is not None else new_ms


def warmup_of(config: ReferenceConfig, to: Translation) -> None:
    """The warm-up, if it is enabled."""
    warmup = config.settings.warmup
    if not warmup.enabled:
        return
    if warmup.n_requests is None:
        to.put(("warmup", "passes"), 1, (*_WARMUP, "enabled"))
    else:
        to.put(("warmup", "requests"), warmup.n_requests, (*_WARMUP, "n_requests"))
    to.put(("warmup", "salt"), _salt(config), (*_WARMUP, "salt"))
    to.put(("seeds", "warmup"), warmup.warmup_random_seed, (*_WARMUP, "warmup_random_seed"))
    if not warmup.drain:
        to.warn("settings.warmup.drain: the warm-up is always drained here before measuring starts")


def _salt(config: ReferenceConfig) -> bool | None:
    """As written; unwritten means "where it is needed", but token ids need a tokenizer for it: they go as they are."""
    salt = config.settings.warmup.salt
    measured: list[ReferenceDataset] = [item for item in config.datasets if item.type == "performance"]
    token_ids = config.endpoint_config.api_type != "openai" or any(
        {"input_tokens", "input_ids"} & set(item.parser or {}) for item in measured
    )
    return False if salt is None and token_ids else salt


def timeouts_of(config: ReferenceConfig, to: Translation) -> None:
    """Drain times and the run's limit, in either vocabulary; a null is "no limit"."""
    old, new = config.settings.drain, config.settings.timeouts
    if old is not None and new is not None:
        raise InputError(
            "settings: wanted either the block drain or the block timeouts, got both",
            where=to.source.where(("settings", "timeouts")),
        )
    enabled = config.settings.warmup.enabled
    if old is not None:
        _limit(("limits", "drain_timeout"), old.performance_timeout_s, ("settings", "drain"), to)
        if enabled:
            _limit(("warmup", "drain_timeout"), old.warmup_timeout_s, ("settings", "drain"), to)
    if new is not None:
        at: Path = ("settings", "timeouts")
        _limit(("limits", "drain_timeout"), new.performance_drain_timeout_s, at, to)
        if enabled:
            _limit(("warmup", "drain_timeout"), new.warmup_drain_timeout_s, at, to)
        _limit(("limits", "run_timeout"), new.run_timeout_s, at, to)


def _limit(path: Path, seconds: float | None, origin: Path, to: Translation) -> None:
    to.put_null_too(path, seconds, origin)
