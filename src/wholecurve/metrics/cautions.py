"""What a reader has to know before reading the figures: a run can be valid and still not mean what it seems to.

Prompts that a cache served (WRM-1), prompts that repeat (DAT-2, DAT-3), counts of tokens that disagree (TOK-4), events
in clumps (NET-10). Nothing here makes a run invalid.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from wholecurve.metrics.columns import Columns
from wholecurve.metrics.delivery import Delivery
from wholecurve.model.units import show_percent

CACHED_SHARE: Final[float] = 0.1
"""More than this of the prompt tokens from a cache: a template alone is rarely so much of a prompt."""

_KNOWN_PROMPTS: Final[str] = (
    "compare only with runs that had the same share; other prompts or a --salt of its own for each run avoid it"
)
_SHARED_START: Final[str] = (
    "requests are salted, so that is what stands before the salt in all of them (template, system prompt), or an "
    "earlier run had the same salt; compare only with runs that had the same share"
)


@dataclass(frozen=True, slots=True)
class PromptCache:
    """Prompt tokens that the endpoint took from its cache, as it says itself; None where it says nothing.

    cache_reported: successes whose usage has both counts; the sums and the share are over these.
    """

    cache_reported: int
    cached_tokens: int | None
    cache_prompt_tokens: int | None
    cached_share: float | None


def prompt_cache(columns: Columns) -> PromptCache:
    """Cached prompt tokens over the successes of a phase."""
    told = columns.succeeded & columns.known("usage_cached", "usage_input")
    count = int(told.sum())
    if not count:
        return PromptCache(0, None, None, None)
    cached, prompt = int(columns["usage_cached"][told].sum()), int(columns["usage_input"][told].sum())
    return PromptCache(count, cached, prompt, cached / prompt if prompt else None)


def cautions(
    cache: PromptCache, delivered: Delivery, workload: Mapping[str, Any], *, salted: bool = False
) -> tuple[str, ...]:
    """Sentences. `workload`: `prompts.warnings` (texts) and `token_mismatch` (flagged, sentence) are read if there.

    salted: every request had a salt of its own, so no cache can hold more of it than what stands before the salt.
    """
    found = []
    if cache.cached_share is not None and cache.cached_share > CACHED_SHARE:
        share = f"{show_percent(cache.cached_share)} of the prompt tokens came from the endpoint's prompt cache"
        found.append(f"{share}: {_SHARED_START if salted else _KNOWN_PROMPTS}")
    mismatches = (workload.get("token_mismatch") or {}).values()
    found += [f"{one['sentence']}; the tokenizers or templates differ" for one in mismatches if one.get("flagged")]
    found += (workload.get("prompts") or {}).get("warnings") or ()
    if delivered.bursty_reason is not None:
        found.append(delivered.bursty_reason)
    return tuple(found)
