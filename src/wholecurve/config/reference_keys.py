"""Keys of a reference file that change nothing here, and the warnings that say so once."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from wholecurve.config.translation import Translation

# Keys that nobody reads in the reference client either.
DEAD = ("timeout", "verbose", "model_params.osl_distribution")

# Keys that tune the reference client's own machinery.
NO_EFFECT = (
    "version",
    "enable_cpu_affinity",
    "settings.client.num_workers",
    "settings.client.workers",
    "settings.client.log_level",
    "settings.client.warmup_connections",
    "settings.client.auto_warmup_budget_fraction",
    "settings.client.transport",
    "settings.client.stream_all_chunks",
    "settings.client.worker_initialization_timeout",
    "settings.client.worker_graceful_shutdown_wait",
    "settings.client.worker_force_kill_timeout",
    "settings.client.max_idle_time",
    "settings.client.min_required_connections",
    "settings.client.worker_gc_mode",
    "settings.drain.metrics_drain_timeout_s",
    "settings.drain.metrics_tokenizer_workers",
    "settings.drain.accuracy_timeout_s",
    "settings.timeouts.service_ready_timeout_s",
    "settings.timeouts.accuracy_drain_timeout_s",
    "settings.timeouts.metrics_drain_timeout_s",
    "settings.timeouts.worker_initialization_timeout_s",
    "settings.timeouts.worker_graceful_shutdown_wait_s",
    "settings.timeouts.worker_force_kill_timeout_s",
    "settings.timeouts.no_progress_timeout_s",
    "settings.timeouts.steady_state_timeout_s",
    "settings.metrics",
    "settings.early_stopping",
    "settings.steady_state",
    "settings.service_ready_timeout_s",
    "settings.load_pattern.use_legacy_loadgen_qps_metrics",
)


def warn_unused(raw: Mapping[str, Any], to: Translation) -> None:
    """One warning for dead keys and one for those that tune the other client."""
    for keys, words in (
        (DEAD, "read by nobody, in the reference client neither"),
        (NO_EFFECT, "accepted; they tune the reference client and change nothing here"),
    ):
        present = [name for name in keys if _present(raw, name)]
        if present:
            to.warn(f"{', '.join(present)}: {words}")
    for dead in ("samples", "eval_method"):
        places = [place for place, item in enumerate(raw["datasets"]) if isinstance(item, Mapping) and dead in item]
        if places:
            names = ", ".join(f"datasets[{place}].{dead}" for place in places)
            to.warn(f"{names}: read by nobody, in the reference client neither")


def _present(raw: Mapping[str, Any], name: str) -> bool:
    here: Any = raw
    for part in name.split("."):
        if not isinstance(here, Mapping) or part not in here:
            return False
        here = here[part]
    return here is not None
