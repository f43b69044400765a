"""Functions over columns: figures, window, health verdict. Pure; anyone can run them again over the records."""

from wholecurve.metrics.cautions import PromptCache, cautions, prompt_cache
from wholecurve.metrics.columns import NULL, NUMBER_COLUMNS, TEXT_COLUMNS, Columns
from wholecurve.metrics.confidence import Interval, Spread, between_runs, percentile_interval, rate_interval
from wholecurve.metrics.delivery import Delivery, delivery
from wholecurve.metrics.docs import metrics_page
from wholecurve.metrics.early_stopping import estimate, overs_allowed
from wholecurve.metrics.facts import LOG2_BUCKETS, MachineFacts, WorkerFacts
from wholecurve.metrics.failures import Counts, Cut, Failure, FailureFacts, counts, failure_facts, finish_reasons
from wholecurve.metrics.flight import Arrivals, Concurrency, Flight, arrivals, concurrency, flight, timeline
from wholecurve.metrics.health import Health, HealthFigures, Reason, Verdict, judge, read_lag_ns
from wholecurve.metrics.invariants import Violation, check, check_series
from wholecurve.metrics.latency import TokenSource, input_token_source, output_tokens, token_source, tpot, ttft
from wholecurve.metrics.limits import LIMITS, Limit
from wholecurve.metrics.official import HEADLINES, Figure, Headline
from wholecurve.metrics.plateau import Drift, LevelShift, Plateau, Required
from wholecurve.metrics.quantile import GRID, histogram, percentile_of, series, supported
from wholecurve.metrics.rate import LegacyRates, Rates, TokenCounts, legacy_rates, rates, token_counts, window
from wholecurve.metrics.steady import SteadyState, SteadyWindow, steady_state
from wholecurve.metrics.steady_block import official_block, steady_block, submission_block
from wholecurve.metrics.summary import DECIDED_DIFFERENTLY, SUMMARY_SCHEMA, summarize
from wholecurve.metrics.table import METRICS, Metric
from wholecurve.metrics.trend import ChangePoint, Trend, mann_kendall, pettitt, sen_slope
from wholecurve.metrics.window_rules import (
    GATES,
    THRESHOLDS,
    Flag,
    Gate,
    Movement,
    Threshold,
    WindowRules,
    window_rules,
)
from wholecurve.model.steadiness import Basis, Coverage, SteadyVerdict

__all__ = [
    "DECIDED_DIFFERENTLY",
    "GATES",
    "GRID",
    "HEADLINES",
    "LIMITS",
    "LOG2_BUCKETS",
    "METRICS",
    "NULL",
    "NUMBER_COLUMNS",
    "SUMMARY_SCHEMA",
    "TEXT_COLUMNS",
    "THRESHOLDS",
    "Arrivals",
    "Basis",
    "ChangePoint",
    "Columns",
    "Concurrency",
    "Counts",
    "Coverage",
    "Cut",
    "Delivery",
    "Drift",
    "Failure",
    "FailureFacts",
    "Figure",
    "Flag",
    "Flight",
    "Gate",
    "Headline",
    "Health",
    "HealthFigures",
    "Interval",
    "LegacyRates",
    "LevelShift",
    "Limit",
    "MachineFacts",
    "Metric",
    "Movement",
    "Plateau",
    "PromptCache",
    "Rates",
    "Reason",
    "Required",
    "Spread",
    "SteadyState",
    "SteadyVerdict",
    "SteadyWindow",
    "Threshold",
    "TokenCounts",
    "TokenSource",
    "Trend",
    "Verdict",
    "Violation",
    "WindowRules",
    "WorkerFacts",
    "arrivals",
    "between_runs",
    "cautions",
    "check",
    "check_series",
    "concurrency",
    "counts",
    "delivery",
    "estimate",
    "failure_facts",
    "finish_reasons",
    "flight",
    "histogram",
    "input_token_source",
    "judge",
    "legacy_rates",
    "mann_kendall",
    "metrics_page",
    "official_block",
    "output_tokens",
    "overs_allowed",
    "percentile_interval",
    "percentile_of",
    "pettitt",
    "prompt_cache",
    "rate_interval",
    "rates",
    "read_lag_ns",
    "sen_slope",
    "series",
    "steady_block",
    "steady_state",
    "submission_block",
    "summarize",
    "supported",
    "timeline",
    "token_counts",
    "token_source",
    "tpot",
    "ttft",
    "window",
    "window_rules",
]
