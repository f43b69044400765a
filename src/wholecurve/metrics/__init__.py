"""Functions over columns: figures, window, health verdict. Pure; anyone can run them again over the records."""

from wholecurve.metrics.cautions import PromptCache, cautions, prompt_cache
from wholecurve.metrics.columns import NULL, NUMBER_COLUMNS, TEXT_COLUMNS, Columns
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
from wholecurve.metrics.quantile import GRID, histogram, percentile_of, series, supported
from wholecurve.metrics.rate import LegacyRates, Rates, TokenCounts, legacy_rates, rates, token_counts, window
from wholecurve.metrics.summary import DECIDED_DIFFERENTLY, SUMMARY_SCHEMA, summarize
from wholecurve.metrics.table import METRICS, Metric

__all__ = [
    "DECIDED_DIFFERENTLY",
    "GRID",
    "LIMITS",
    "LOG2_BUCKETS",
    "METRICS",
    "NULL",
    "NUMBER_COLUMNS",
    "SUMMARY_SCHEMA",
    "TEXT_COLUMNS",
    "Arrivals",
    "Columns",
    "Concurrency",
    "Counts",
    "Cut",
    "Delivery",
    "Failure",
    "FailureFacts",
    "Flight",
    "Health",
    "HealthFigures",
    "LegacyRates",
    "Limit",
    "MachineFacts",
    "Metric",
    "PromptCache",
    "Rates",
    "Reason",
    "TokenCounts",
    "TokenSource",
    "Verdict",
    "Violation",
    "WorkerFacts",
    "arrivals",
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
    "metrics_page",
    "output_tokens",
    "overs_allowed",
    "percentile_of",
    "prompt_cache",
    "rates",
    "read_lag_ns",
    "series",
    "summarize",
    "supported",
    "timeline",
    "token_counts",
    "token_source",
    "tpot",
    "ttft",
    "window",
]
