"""Every metric and field once: key, unit, type, label, definition, source. docs/reference/metrics.md is made of this.

Where a figure can be read two ways, the definition decides. Sources: `DESIGN` is docs/design, `TR` the technical rules
of MLPerf Endpoints, `reference client` the keys of its result files, `LoadGen` the older MLPerf load generator.
"""
# ruff: noqa: E501 - a row is a line, so that the table can be read as one

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from types import MappingProxyType
from typing import Final

from wholecurve.model.record import EVENT_COLUMNS, REQUEST_COLUMNS, Column

DEFINITIONS_VERSION: Final = "1"
"""Of the meanings below. It changes when a figure is computed otherwise, so that old and new are not compared."""


class Group(StrEnum):
    """What a name belongs to."""

    METRIC = "metric"
    BLOCK = "block"
    FIGURE = "figure"
    FACT = "fact"
    COLUMN = "column"
    CURVE = "curve"


@dataclass(frozen=True, slots=True)
class Name:
    """One name. `unit` is empty for texts and flags; `type` as in JSON, `series` for a block of statistics."""

    key: str
    unit: str
    type: str
    label: str
    definition: str
    source: str
    group: Group


_Row = tuple[str, str, str, str, str, str]

# fmt: off
_METRICS: Final[tuple[_Row, ...]] = (
    ("ttft", "ns", "series", "time to first token (TTFT)", "First output-bearing event - issued. An event is output-bearing with non-empty visible text, reasoning text or tool-call text; a role alone is not.", "DESIGN 2; TR 2.8, 4.1"),
    ("tpot", "ns/token", "series", "time per output token (TPOT)", "(Last output-bearing event - first) / tokens of the output after the first event. Tokens by `token_source`: the reference tokenizer on the text after the first event, else usage - 1. Undefined without such tokens, for a quotient that is not positive, and for answers that are not streamed. One value per request.", "DESIGN 2; TR 2.8, 4.1"),
    ("latency", "ns", "series", "request latency", "Completed - issued. Successes only; `cut` says how many values a limit took away.", "DESIGN 2; reference client"),
    ("output_sequence_lengths", "tokens", "series", "output length (OSL)", "Output tokens of a request by `token_source`, reasoning and tool calls included.", "TR 2.8; reference client"),
    ("input_sequence_lengths", "tokens", "series", "input length (ISL)", "Input tokens of a request by `input_token_source`, chat template included.", "TR 2.8; reference client"),
    ("ttft_from_sent", "ns", "series", "TTFT from sent", "First output-bearing event - sent: without the time between deciding and sending.", "DESIGN 2"),
    ("ttft_from_scheduled", "ns", "series", "TTFT from schedule", "First output-bearing event - scheduled: with every wait inside the client.", "DESIGN 2"),
    ("time_to_first_visible", "ns", "series", "time to first visible token", "First event with visible text - issued; reasoning and tool calls do not stop this clock.", "DESIGN 2"),
    ("time_per_output_event", "ns/event", "series", "time per output event", "(Last output-bearing event - first) / (output-bearing events - 1). An event is not a token: never read this as TPOT.", "DESIGN 2"),
    ("time_to_last_output", "ns", "series", "time to last output", "Last output-bearing event - issued; usage and end marker come later.", "DESIGN 2"),
    ("latency_from_scheduled", "ns", "series", "latency from schedule", "Completed - scheduled: a stall of the endpoint shows in full.", "DESIGN 2"),
    ("dispatch_delay", "ns", "series", "dispatch delay", "Sent - scheduled: the whole wait inside the client.", "DESIGN 2"),
    ("start_lag", "ns", "series", "start lag", "Issued - scheduled: how late the client decided.", "DESIGN 2"),
    ("connect_time", "ns", "series", "connect time", "Time to open the connection, of requests that opened one.", "DESIGN 2"),
    ("gaps", "ns", "series", "gap between output events", "Time between successive output-bearing events, one value per gap, so long answers weigh more. Events of one read share a stamp, so a gap can be 0. Not inter-token latency.", "DESIGN 2"),
)

_BLOCK: Final[tuple[_Row, ...]] = (
    ("total", "as metric or figure", "number or null", "sum", "Sum of all samples. In `official`: the figure over the whole run.", "reference client; TR 4.4"),
    ("min", "as metric", "number", "minimum", "Smallest sample.", "reference client"),
    ("max", "as metric", "number", "maximum", "Largest sample.", "reference client"),
    ("median", "as metric", "number", "median", "The 50th percentile, a lower order statistic as all percentiles.", "reference client"),
    ("avg", "as metric", "number", "mean", "total / n.", "reference client"),
    ("std_dev", "as metric", "number or null", "standard deviation", "Sample form (n - 1); null for one sample.", "reference client"),
    ("percentiles", "as metric", "object", "percentiles", "By key text on the scale 0 to 100 (`99.9`, `90.0`): the sample at index floor(p / 100 * (n - 1)) of the sorted series; never between two samples.", "reference client"),
    ("early_stopping_percentiles", "as metric", "object", "early-stopping estimates", "Upper bound of the percentile with 99 % confidence, from 50 upwards; null below the floor of samples; only for a complete run.", "LoadGen"),
    ("histogram", "as metric", "object", "histogram", "30 buckets, log-spaced between minimum and maximum.", "reference client"),
    ("buckets", "as metric", "array", "bucket bounds", "[low, high] of each bucket; a sample lies in low <= sample < high, in the last one up to high.", "reference client"),
    ("counts", "samples", "array", "bucket counts", "Samples in each bucket; they add up to n.", "reference client"),
    ("n", "samples", "integer", "samples", "How many samples the block is made of.", "wholecurve"),
    ("unsupported", "", "array", "unsupported percentiles", "Keys of percentiles beyond which n samples leave less than one: 99.0 below 100 samples, 99.9 below 1,000.", "wholecurve"),
)

_FIGURES: Final[tuple[_Row, ...]] = (
    ("duration_ns", "ns", "integer or null", "duration", "From the first issued request to the last completion of a request that succeeded or failed. Without loading, connecting ahead and shutting down.", "DESIGN 2; reference client"),
    ("qps", "requests/s", "number or null", "request rate", "Successes / duration. `qps_all` counts failures too.", "DESIGN 2; reference client"),
    ("tps", "tokens/s", "number or null", "output token rate", "The reference client's key for `system_tps`.", "reference client"),
    ("system_tps", "tokens/s", "number or null", "system throughput", "Output tokens of successes / duration. Tokens of partial answers are in `partial_output`, not here.", "DESIGN 2; TR 4.1"),
    ("total_tps", "tokens/s", "number or null", "input and output token rate", "(Input + output tokens of successes) / duration.", "wholecurve"),
    ("tps_per_user", "tokens/s", "number or null", "interactivity", "1000 / TPOT P90 in ms.", "DESIGN 2; TR 4.1"),
    ("qps_all", "requests/s", "number or null", "request rate with failures", "(Successes + failures) / duration.", "wholecurve"),
    ("legacy_loadgen_window_duration_ns", "ns", "integer or null", "LoadGen window", "First issue to the completion of the success that was issued last; Poisson arrivals only.", "LoadGen; reference client"),
    ("legacy_loadgen_qps", "requests/s", "number or null", "LoadGen request rate", "(Successes - 1) / LoadGen window; Poisson arrivals only.", "LoadGen"),
    ("legacy_loadgen_tps", "tokens/s", "number or null", "LoadGen token rate", "Output tokens / LoadGen window; Poisson arrivals only.", "LoadGen"),
    ("output_tokens_per_turn_total", "tokens", "integer", "output tokens of turns", "Sum of output tokens over successful turns; multi-turn work only.", "TR 4.1"),
    ("e2e_turn_time_seconds_total", "s", "number", "turn time", "Sum of latency over successful turns; multi-turn work only.", "TR 4.1"),
    ("e2e_avg_interactivity", "tokens/s", "number", "end-to-end interactivity", "Sum of output tokens / sum of turn times: a ratio of sums; multi-turn work only.", "DESIGN 2; TR 4.1"),
)

_CURVE: Final[tuple[_Row, ...]] = (
    ("ttft_p90_ns", "ns", "integer or null", "TTFT P90", "90th percentile of `ttft`, over the official window. Limits on it are inclusive.", "TR 4.1"),
    ("tpot_p90_ns", "ns", "number or null", "TPOT P90", "90th percentile of `tpot`, ns for each token, over the official window.", "TR 4.1"),
    ("interactivity_tps", "tokens/s", "number or null", "interactivity of one user", "`tps_per_user` or `e2e_avg_interactivity`; the rules data say which for a benchmark.", "TR 4.1, 4.2"),
    ("output_length_mean", "tokens", "number or null", "realised mean output length", "Mean of `output_sequence_lengths`. Points further apart than 5 % of the longer one are not compared.", "wholecurve"),
    ("provisioned_power_kw", "kW", "number or null", "provisioned power", "Power of everything provisioned for the point, added up by the power model; never a measured draw.", "TR 4.5"),
    ("system_tps_per_kw", "tokens/s/kW", "number or null", "throughput per kW", "system_tps / provisioned_power_kw. The official normalisation.", "TR 4.5"),
    ("tps_per_accelerator", "tokens/s", "number or null", "throughput per accelerator", "system_tps / all provisioned accelerators, those that only prefill included. Derived, unverified.", "wholecurve"),
    ("tps_per_node", "tokens/s", "number or null", "throughput per node", "system_tps / all provisioned nodes. Derived, unverified.", "wholecurve"),
    ("usd_per_million_output_tokens", "$/1e6 tokens", "number or null", "price of output tokens", "Price of the whole system an hour / (system_tps * 3600) * 1e6. Derived, unverified.", "wholecurve"),
    ("usd_per_million_total_tokens", "$/1e6 tokens", "number or null", "price of all tokens", "Price of the whole system an hour / (total_tps * 3600) * 1e6. Derived, unverified.", "wholecurve"),
    ("output_tokens_per_usd", "tokens/$", "number or null", "output tokens per dollar", "1e6 / usd_per_million_output_tokens: the same number the other way round.", "wholecurve"),
    ("total_tokens_per_usd", "tokens/$", "number or null", "all tokens per dollar", "1e6 / usd_per_million_total_tokens: the same number the other way round.", "wholecurve"),
    ("joules_per_output_token", "J/token", "number or null", "energy per output token, upper bound", "provisioned_power_kw * 1000 / system_tps: an upper bound, not a measured energy. Derived, unverified.", "wholecurve"),
    ("systems_needed", "systems", "integer or null", "systems needed", "ceil(users / largest measured concurrency that passes). Assumes perfect spreading over equal systems. Derived, unverified.", "wholecurve"),
    ("headroom", "", "number or null", "headroom", "systems_needed * concurrency / users - 1, with the same assumption. Derived, unverified.", "wholecurve"),
)

_WINDOW_FIGURES: Final[tuple[_Row, ...]] = (
    ("tpot_p50_ns", "ns", "number or null", "TPOT P50", "50th percentile of `tpot`, ns per token, over the official window.", "DESIGN 2; TR 4.4"),
    ("ttft_p50_ns", "ns", "number or null", "TTFT P50", "50th percentile of `ttft`, over the official window.", "DESIGN 2; TR 4.4"),
    ("latency_p50_ns", "ns", "number or null", "latency P50", "50th percentile of `latency`, over the official window.", "DESIGN 2"),
    ("latency_p90_ns", "ns", "number or null", "latency P90", "90th percentile of `latency`, over the official window.", "DESIGN 2"),
    ("completed_tps", "tokens/s", "number or null", "tokens completed in the window", "Output tokens of successes completed between first and last issue of the steady window / that span; shown beside `system_tps`, which counts what was issued in it.", "wholecurve"),
)

_WINDOW_FACTS: Final[tuple[_Row, ...]] = (
    ("steady_state", "", "object or null", "steady state", "Where the run stood still, and what that allows. Inside, `status` is the coverage (windowable, insufficient_duration, insufficient_passes, partial_dataset).", "TR 4.4"),
    ("basis", "", "string", "basis", "What the official figures are made of: `window` (issued in the steady window) or `total` (the whole run).", "TR 4.4"),
    ("flag", "", "string", "flag", "What must be said beside the official figures: none, anomaly, drift, fallback, out of scope.", "TR 4.4; wholecurve"),
    ("super_pass_size", "requests", "integer", "super-pass size", "Requests of a super-pass: one pass of the data set in issue order.", "TR 4.4"),
    ("super_pass_start", "", "integer or null", "first super-pass", "First super-pass of the steady window, from 0.", "TR 4.4"),
    ("super_pass_end", "", "integer or null", "last super-pass", "Last super-pass of the steady window, itself too.", "TR 4.4"),
    ("super_passes", "super-passes", "number", "super-passes", "How many super-passes of requests the steady window holds.", "TR 4.4"),
    ("n_samples", "requests", "integer", "requests of the window", "All requests issued in the steady window.", "TR 4.4"),
    ("duration_s", "s", "number", "duration of the window", "First to last issue of the steady window; answers may end later.", "TR 4.4"),
    ("ramp_blocks", "blocks", "integer", "ramp", "Leading blocks that were cropped.", "TR 4.4"),
    ("drain_blocks", "blocks", "integer", "drain", "Trailing blocks that were cut, because they ran mostly while no new requests came.", "reference client"),
    ("plateaus", "", "array", "plateaus", "Stretches in which TPOT P50 and P90 stand still: no trend of 5 % or more, and a bounded variation.", "TR 4.4; reference client"),
    ("variation", "", "object", "variation", "Coefficient of variation of a series over the blocks of a plateau.", "reference client"),
    ("drifts", "", "array", "drift", "What each series does after the steady window.", "TR 4.4"),
    ("anomaly", "", "string, object or null", "level shift", "A confirmed step from the steady window to another plateau.", "TR 4.4"),
    ("low_confidence", "", "boolean", "low confidence", "The steady window is too short to be official.", "TR 4.4"),
    ("official", "", "object or null", "official figures", "Each headline figure over what the rules allow, its `basis`; the figures of the window and of the whole run beside it. Null for a phase that is not measured.", "TR 4.4"),
    ("value", "as figure", "number or null", "official value", "The figure on its basis; null if it was not measured, or drifted: then `low` and `high` are its range.", "TR 4.4"),
    ("unit", "", "string", "unit", "Of the figure.", "wholecurve"),
    ("window", "as figure", "number, object or null", "steady window", "In `steady_state`: where it lies, on issue time. In a figure: the figure over the requests issued in it, whatever the basis.", "TR 4.4"),
    ("reason", "", "string or null", "reason", "Why the basis is the whole run, or why there is no value, window or interval.", "wholecurve"),
    ("low", "as figure", "number or null", "lower end", "Of an interval, or of the range that a drifting figure went through.", "wholecurve"),
    ("high", "as figure", "number or null", "upper end", "As `low`.", "wholecurve"),
    ("level", "", "number", "confidence", "Of the interval, as a share of one.", "wholecurve"),
    ("method", "", "string", "method", "How the interval was made.", "wholecurve"),
    ("start_ns", "ns", "integer", "start of the window", "First issue in it, monotonic as in the records.", "wholecurve"),
    ("end_ns", "ns", "integer", "end of the window", "Last issue in it, monotonic as in the records.", "wholecurve"),
    ("watched", "", "object", "watched", "Movement of the series that only warn, in the steady window.", "wholecurve"),
    ("cut", "", "array or object", "cut", "In `steady_state`: how the run was cut into blocks. In `failures`: values that limits of the client took out of the series.", "wholecurve"),
    ("pass_size", "requests", "integer", "pass", "Requests of one super-pass.", "wholecurve"),
    ("block_size", "requests", "integer", "block", "Requests of one block: one or more super-passes, or a part of the run that has too few of them.", "wholecurve"),
    ("blocks", "blocks", "integer", "blocks", "Whole blocks of the run.", "wholecurve"),
    ("aligned", "", "boolean", "aligned", "A block is a whole number of super-passes.", "wholecurve"),
    ("passes", "super-passes", "number", "passes", "Super-passes of the whole run.", "wholecurve"),
    ("series", "ns", "object", "series", "Per gate (`<metric>_p<percentile>`), one value for each block over its successes; null where nothing was measured.", "TR 4.4"),
    ("block_starts_ns", "ns", "array", "starts of blocks", "First issue of each block, monotonic as in the records.", "wholecurve"),
    ("key", "", "string", "series", "Which series moves.", "wholecurve"),
    ("p", "", "number", "p", "Of the trend test (Mann-Kendall, Hamed-Rao) or of the change-point test (Pettitt).", "reference client"),
    ("change", "", "number", "change", "As a share: from the window's first block to the last one, or from one level to the other.", "reference client"),
    ("block", "", "integer", "block of the step", "Where the new level begins, from 0.", "wholecurve"),
    ("interval", "as figure", "object", "interval", "Bounds of 95 % confidence: order statistics for percentiles, batch means for rates; null with a reason when n is too small.", "wholecurve"),
)

_FACTS: Final[tuple[_Row, ...]] = (
    ("schema", "", "string", "schema", "Name and version of the file's layout.", "DESIGN 7"),
    ("version", "", "string", "version", "Version of wholecurve.", "reference client"),
    ("git_sha", "", "string or null", "commit", "Commit of wholecurve itself, if known.", "reference client"),
    ("test_started_at", "s", "integer or null", "start, seconds", "Wall time of the first issue, whole seconds since 1970.", "reference client"),
    ("started_at", "", "string or null", "start", "Wall time of the first issue, ISO 8601.", "wholecurve"),
    ("n_samples_issued", "requests", "integer", "issued", "All requests of the phase.", "reference client"),
    ("n_samples_completed", "requests", "integer", "completed", "Successes only.", "reference client"),
    ("n_samples_failed", "requests", "integer", "failed", "Failures; cancelled and lost requests are in `outcomes`.", "reference client"),
    ("state", "", "string", "state", "complete, interrupted or failed. In `steady_state`: by series Plateau, Drifting Up or Drifting Down.", "reference client; TR 4.4"),
    ("complete", "", "boolean", "complete", "State complete and no request lost.", "reference client"),
    ("finish_reason_counts", "requests", "object", "finish reasons", "Successes by finish reason; unknown words are `other`, none is `missing`.", "reference client"),
    ("run_config", "", "object", "run settings", "Load pattern, warm-up and seeds in the reference client's words.", "reference client"),
    ("load_pattern", "", "object", "load pattern", "Pattern and its target.", "reference client"),
    ("type", "", "string", "pattern", "Offline is `max_throughput`; others as they are called here.", "reference client"),
    ("target_qps", "requests/s", "number or null", "target rate", "Rate asked for.", "reference client"),
    ("target_concurrency", "requests", "integer or null", "target concurrency", "Concurrency asked for, or the cap of an open loop.", "reference client"),
    ("warmup", "", "object", "warm-up", "The first warm-up phase of the plan.", "reference client"),
    ("enabled", "", "boolean", "warm-up on", "Whether the plan has a warm-up phase.", "reference client"),
    ("n_requests", "requests", "integer or null", "warm-up requests", "Requests of the warm-up; null for one pass.", "reference client"),
    ("salt", "", "boolean", "warm-up salted", "Whether warm-up prompts carry a salt.", "reference client"),
    ("drain", "", "boolean", "warm-up drained", "Whether the warm-up ends before measuring starts.", "reference client"),
    ("warmup_random_seed", "", "integer or null", "warm-up seed", "Seed of the warm-up's order.", "reference client"),
    ("scheduler_random_seed", "", "integer", "arrival seed", "Seed of the arrival times.", "reference client"),
    ("dataloader_random_seed", "", "integer", "order seed", "Seed of the sample order.", "reference client"),
    ("phase_name", "", "string", "phase", "Name of the phase that was summarised.", "wholecurve"),
    ("validity", "", "object", "validity", "Whether the figures may be used as a result.", "wholecurve"),
    ("valid", "", "boolean", "valid", "True without any reason against it.", "wholecurve"),
    ("invalid_reasons", "", "array", "reasons against", "Sentences; the command exits with 1 if there are any.", "wholecurve"),
    ("cautions", "", "array", "read with care", "Sentences on what makes these figures look other than they are; none makes a run invalid.", "wholecurve"),
    ("outcomes", "requests", "object", "outcomes", "sent = succeeded + failed + cancelled + lost, always.", "DESIGN 2"),
    ("sent", "requests", "integer", "sent", "All requests of the phase.", "DESIGN 2"),
    ("succeeded", "requests", "integer", "succeeded", "Answered to the end.", "DESIGN 2"),
    ("failed", "requests", "integer", "failed", "Failed for a reason in `kinds`.", "DESIGN 2"),
    ("cancelled", "requests", "integer", "cancelled", "Cut by the end of the run or by the user.", "DESIGN 2"),
    ("lost", "requests", "integer", "lost", "Vanished inside the client; any makes the run invalid.", "DESIGN 2"),
    ("unknown", "requests", "integer", "unknown outcome", "Rows with none of the four outcomes: a fault, shown in `violations`.", "wholecurve"),
    ("token_source", "", "string or null", "source of output tokens", "`reference` (reference tokenizer), `usage` (the endpoint's count, never official) or null. One source per run.", "wholecurve"),
    ("input_token_source", "", "string or null", "source of input tokens", "As `token_source`.", "wholecurve"),
    ("tokens", "tokens", "object", "token counts", "Sums, and how far the endpoint's own count is away.", "wholecurve"),
    ("output", "tokens", "integer or null", "output tokens", "Of successes.", "wholecurve"),
    ("input", "tokens", "integer or null", "input tokens", "Of successes.", "wholecurve"),
    ("partial_output", "tokens", "integer or null", "tokens of partial answers", "Output tokens of requests that did not succeed; in no rate.", "wholecurve"),
    ("uncounted", "requests", "integer", "successes without a count", "Successes whose output tokens are unknown.", "wholecurve"),
    ("compared", "requests", "integer", "compared", "Successes counted by reference tokenizer and endpoint.", "wholecurve"),
    ("different", "requests", "integer", "different", "Of these, where both counts differ.", "wholecurve"),
    ("reference_total", "tokens", "integer or null", "reference count", "Output tokens of the compared requests, reference tokenizer.", "wholecurve"),
    ("usage_total", "tokens", "integer or null", "endpoint's count", "Output tokens of the compared requests, usage.", "wholecurve"),
    ("relative_mismatch", "", "number or null", "mismatch", "(usage_total - reference_total) / reference_total.", "wholecurve"),
    ("prompt_cache", "tokens", "object", "prompt cache", "Prompt tokens that the endpoint took from its cache, as it says in usage.", "wholecurve"),
    ("cache_reported", "requests", "integer", "answers that tell", "Successes whose usage has cached and prompt tokens.", "wholecurve"),
    ("cached_tokens", "tokens", "integer or null", "cached prompt tokens", "Sum over the answers that tell.", "wholecurve"),
    ("cache_prompt_tokens", "tokens", "integer or null", "prompt tokens", "All prompt tokens of the answers that tell.", "wholecurve"),
    ("cached_share", "", "number or null", "prompt tokens from a cache", "cached_tokens / cache_prompt_tokens; above 10 % it is one of the cautions.", "wholecurve"),
    ("weighting", "", "object", "weighting", "What one value of a series stands for.", "wholecurve"),
    ("concurrency", "requests", "object", "concurrency", "Requests in flight: sent and not completed.", "DESIGN 2"),
    ("requested", "requests", "integer or null", "requested concurrency", "As planned; null without a limit.", "wholecurve"),
    ("peak", "requests", "integer or null", "peak in flight", "Most requests in flight at any time.", "wholecurve"),
    ("mean", "requests", "number or null", "mean in flight", "Time-weighted, first sent to last completed: ramp and drain included.", "wholecurve"),
    ("mean_while_issuing", "requests", "number or null", "mean in flight while issuing", "Time-weighted, from reaching the requested level (else first sent) to the last sent.", "wholecurve"),
    ("share_at_requested", "", "number or null", "time at requested level", "Share of that time with exactly the requested number in flight.", "wholecurve"),
    ("arrivals", "", "object", "arrivals", "How requests went out.", "wholecurve"),
    ("requested_rate_per_s", "requests/s", "number or null", "requested rate", "As planned.", "wholecurve"),
    ("achieved_rate_per_s", "requests/s", "number or null", "achieved rate", "(Sends - 1) / (last sent - first sent).", "wholecurve"),
    ("most_in_100_ms", "requests", "integer or null", "largest burst", "Most sends in any 100 ms.", "wholecurve"),
    ("late_share", "", "number or null", "late sends", "Share of sends more than 10 ms after their schedule.", "wholecurve"),
    ("timeline", "", "object", "timeline", "The window in 60 equal bins.", "wholecurve"),
    ("bin_ns", "ns", "number", "bin width", "Duration / 60.", "wholecurve"),
    ("in_flight", "requests", "array", "in flight", "Time-weighted mean per bin.", "wholecurve"),
    ("completions_ok", "requests", "array", "successes", "Successes completed per bin.", "wholecurve"),
    ("completions_failed", "requests", "array", "failures", "Failures per bin.", "wholecurve"),
    ("output_tokens_by_bin", "tokens", "array or null", "output tokens", "Per bin; tokens of a request spread evenly from first to last output.", "wholecurve"),
    ("delivery", "", "object", "delivery", "How answers came in.", "wholecurve"),
    ("output_events_total", "events", "integer", "output events", "Output-bearing events of successes.", "wholecurve"),
    ("reads_total", "reads", "integer", "reads", "Socket reads of successes.", "wholecurve"),
    ("tokens_per_event", "tokens/event", "number or null", "tokens per event", "Output tokens / output-bearing events; above 1, an event holds several tokens.", "wholecurve"),
    ("events_per_read", "events/read", "number or null", "events per read", "Events / reads; events of one read share one stamp.", "wholecurve"),
    ("zero_gap_share", "", "number or null", "zero gaps", "Share of gaps of 0 ns.", "wholecurve"),
    ("user_stamp_share", "", "number or null", "user-space stamps", "Share of reads without a kernel stamp.", "wholecurve"),
    ("bursty", "", "boolean", "bursty delivery", "Events came in clumps: gap percentiles must not be read.", "wholecurve"),
    ("bursty_reason", "", "string or null", "why bursty", "Sentence.", "wholecurve"),
    ("failures", "", "object", "failures", "What went wrong.", "wholecurve"),
    ("kinds", "", "array", "kinds of failure", "Most frequent first.", "wholecurve"),
    ("kind", "", "string", "kind", "Code of the failure; `http_429` and so on for error statuses.", "wholecurve"),
    ("count", "requests", "integer", "count", "Requests of this kind.", "wholecurve"),
    ("sentence", "", "string", "sentence", "What it means.", "wholecurve"),
    ("client_side", "", "boolean", "client's fault", "True when this machine is to blame, not the endpoint.", "wholecurve"),
    ("example", "", "string or null", "example", "Bounded excerpt of one error.", "wholecurve"),
    ("client_side_failures", "requests", "integer", "failures of the client", "Any makes the run invalid.", "wholecurve"),
    ("empty_outputs", "requests", "integer", "empty outputs", "Answers without any output; they are failures.", "wholecurve"),
    ("failed_share", "", "number or null", "failed share", "(Failed + lost) / (sent - cancelled).", "wholecurve"),
    ("max_failed_share", "", "number", "limit of the failed share", "Above it the run is invalid.", "wholecurve"),
    ("exceeded", "", "boolean", "limit exceeded", "failed_share > max_failed_share.", "wholecurve"),
    ("limit_name", "", "string", "limit", "Which limit.", "wholecurve"),
    ("limit_ns", "ns", "integer or null", "limit", "Its value; null if none is set.", "wholecurve"),
    ("values_cut", "requests", "integer", "values cut", "Requests it ended.", "wholecurve"),
    ("health", "", "object", "client health", "The client's verdict on itself.", "DESIGN 1"),
    ("verdict", "", "string", "verdict", "ok; strained: read tails with care; client-limited: the client was measured, not the endpoint. In `steady_state`: STEADY STATE, drifting_up, drifting_down, anomaly or not found.", "DESIGN 1; TR 4.4"),
    ("reasons", "", "array", "reasons", "Everything beyond a limit, worst first.", "wholecurve"),
    ("code", "", "string", "code", "What was judged or broken.", "wholecurve"),
    ("figure", "as code", "number", "figure", "What was found.", "wholecurve"),
    ("limit", "as code", "number", "limit", "Where trouble begins.", "wholecurve"),
    ("remedy", "", "string", "remedy", "What to do.", "wholecurve"),
    ("figures", "", "object", "figures", "In `health`: all figures behind the verdict. In `official`: the headline figures.", "wholecurve"),
    ("start_lag_p99_ns", "ns", "integer or null", "start lag P99", "Open loop: issued - scheduled, with a cap from the moment a slot was free.", "wholecurve"),
    ("refill_lag_p99_ns", "ns", "integer or null", "refill lag P99", "Closed loop: issued - slot free, without each slot's first request.", "wholecurve"),
    ("refill_share", "", "number or null", "refill lag share", "Refill lag P99 / median latency of successes.", "wholecurve"),
    ("first_shared_share", "", "number or null", "first tokens with a shared stamp", "Successes whose first output-bearing event came in one read with a later one; null unless reads were late.", "wholecurve"),
    ("read_lag_p99_ns", "ns", "integer or null", "read lag P99", "Kernel stamp to user space over all reads; upper edge of its power of two.", "wholecurve"),
    ("cpu_share_max", "", "number or null", "CPU of the busiest worker", "CPU time / wall time.", "wholecurve"),
    ("descriptors_share", "", "number or null", "descriptors used", "Peak / limit.", "wholecurve"),
    ("ports_share", "", "number or null", "ports used", "Used / available.", "wholecurve"),
    ("lost_requests", "requests", "integer", "lost requests", "As `lost`.", "wholecurve"),
    ("workers_not_clean", "workers", "integer", "workers that died", "Workers whose exit is not `clean`.", "wholecurve"),
    ("concurrency_missing", "requests", "integer or null", "distance from concurrency", "Distance of the peak in flight from the concurrency asked for.", "wholecurve"),
    ("level_share", "", "number or null", "concurrency held", "mean_while_issuing / requested.", "wholecurve"),
    ("load_per_core", "", "number or null", "load before", "Load average before the run / cores.", "wholecurve"),
    ("machine", "", "object", "machine", "The client's machine.", "wholecurve"),
    ("cores", "cores", "integer", "cores", "Cores the client may use.", "wholecurve"),
    ("running_before", "", "number or null", "running before", "Other tasks that wanted a core just before the run.", "wholecurve"),
    ("descriptor_limit", "", "integer or null", "descriptor limit", "Open files allowed per process.", "wholecurve"),
    ("descriptors_peak", "", "integer or null", "descriptors used", "Most open files of one worker.", "wholecurve"),
    ("ports_available", "", "integer or null", "ports available", "Local ports times destinations.", "wholecurve"),
    ("ports_used", "", "integer or null", "ports used", "Most local ports in use.", "wholecurve"),
    ("kernel_stamps", "", "boolean", "kernel stamps", "Reads were stamped by the kernel on arrival.", "DESIGN 6"),
    ("clock_source", "", "string or null", "clock source", "The kernel's clock source.", "wholecurve"),
    ("clock_steps", "", "integer", "clock steps", "Steps of wall time while measuring.", "wholecurve"),
    ("workers", "", "array", "workers", "What each worker process reports.", "wholecurve"),
    ("cpu_ns", "ns", "integer", "CPU time", "Of the worker in the phase.", "wholecurve"),
    ("wall_ns", "ns", "integer", "wall time", "Of the worker in the phase.", "wholecurve"),
    ("read_lag_log2_ns", "reads", "array", "read lag histogram", "Place b counts lags whose bit length is b: below 2^b ns; empty tail left out.", "wholecurve"),
    ("gc_pauses", "", "integer", "collector pauses", "Runs of the garbage collector.", "wholecurve"),
    ("gc_pause_max_ns", "ns", "integer or null", "longest pause", "Longest run of the garbage collector.", "wholecurve"),
    ("gc_pause_total_ns", "ns", "integer", "pauses, sum", "All runs of the garbage collector.", "wholecurve"),
    ("connections_opened", "", "integer", "connections opened", "By the worker in the phase.", "wholecurve"),
    ("resends", "requests", "integer", "sent again", "Sent again on a new connection before any byte of an answer.", "wholecurve"),
    ("exit", "", "string", "exit", "`clean`, or why the worker ended.", "wholecurve"),
    ("stamp_source", "", "string", "stamp source", "Who stamped reads: kernel, user, or mixed.", "DESIGN 6"),
    ("violations", "", "array or integer", "violations", "Invariants that do not hold, with evidence; inside one, how many requests break it. Never repaired.", "wholecurve"),
    ("requests", "requests", "array or integer", "evidence", "`index` of the first requests that break it. In `steady_state`: how many were issued in the window, or in the whole run.", "wholecurve"),
    ("not_measured", "", "object", "not measured", "Why an empty series is empty.", "DESIGN 2"),
    ("decided_differently", "", "array", "decided differently", "Where the figures differ from the reference client's, and how.", "DESIGN 8"),
    ("workload", "", "object", "workload", "Facts of the data set and of token counting, passed through.", "wholecurve"),
)
# fmt: on


_ELSEWHERE: Final[Mapping[str, str]] = {
    "status": "In `result_summary.json` and `point.yaml`: the result's standing, `verified` or `provisional` as copied "
    "from a registry's record, `unverified` without one",
}
"""What the key of a column means outside the records, where that is something else."""


def _column(column: Column) -> Name:
    """A column of the records is described where it is declared, in model/record.py; here it only gets its place."""
    label = column.name.removesuffix("_ns").replace("_", " ")
    meaning = ". ".join(part for part in (column.meaning, _ELSEWHERE.get(column.name)) if part)
    return Name(column.name, column.unit, column.type, label, f"{meaning}.", "DESIGN 7", Group.COLUMN)


def _names() -> dict[str, Name]:
    rows = [
        Name(*row, group)
        for group, table in (
            (Group.METRIC, _METRICS),
            (Group.BLOCK, _BLOCK),
            (Group.FIGURE, _FIGURES),
            (Group.FIGURE, _WINDOW_FIGURES),
            (Group.FACT, _FACTS),
            (Group.FACT, _WINDOW_FACTS),
            (Group.CURVE, _CURVE),
        )
        for row in table
    ]
    columns = {column.name: column for column in (*REQUEST_COLUMNS, *EVENT_COLUMNS)}
    rows += [_column(column) for column in columns.values()]
    found = {name.key: name for name in rows}
    assert len(found) == len(rows), "a name has two meanings"
    return found


NAMES: Final[Mapping[str, Name]] = MappingProxyType(_names())
"""Every name by key."""
