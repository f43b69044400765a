"""What a simulated engine costs: the time of one step and the limits of the batch, as named presets."""

from __future__ import annotations

from dataclasses import dataclass, replace

from wholecurve.model.errors import InputError


@dataclass(frozen=True, slots=True)
class EngineProfile:
    """One engine. The time of a step is

        step_ns + decode_ns * sequences that decode + prefill_ns * prompt tokens computed + context_ns * context tokens

    times 1 + `jitter` * u, u uniform in [-1, 1]; context tokens are those of all decoding sequences. At most
    `prefill_budget` prompt tokens are computed in one step (chunked prefill), at most `max_batch` sequences run at
    once, and their tokens fit into `kv_blocks` blocks of `block_tokens`. Answer lengths are log-normal with median
    `output_median` and shape `output_sigma`, cut to 1..`output_max`. `reasoning_share` of an answer's tokens is
    reasoning; `tool_share` of the answers that may call a tool do.
    """

    name: str
    step_ns: int
    decode_ns: int
    prefill_ns: int
    context_ns: float
    jitter: float = 0.03
    max_batch: int = 256
    prefill_budget: int = 2048
    kv_blocks: int = 16_384
    block_tokens: int = 16
    prefix_cache: bool = True
    max_context: int = 32_768
    output_median: int = 128
    output_sigma: float = 0.6
    output_max: int = 2048
    reasoning_share: float = 0.0
    tool_share: float = 0.0

    def __post_init__(self) -> None:
        counts = (
            "max_batch",
            "prefill_budget",
            "kv_blocks",
            "block_tokens",
            "max_context",
            "output_median",
            "output_max",
        )
        for name in counts:
            if getattr(self, name) < 1:
                raise InputError(f"engine profile: {name} must be 1 or more, got {getattr(self, name)}")
        for name in ("jitter", "reasoning_share", "tool_share"):
            if not 0 <= getattr(self, name) <= 1:
                raise InputError(f"engine profile: {name} must be between 0 and 1, got {getattr(self, name)}")
        costs = (self.step_ns, self.decode_ns, self.prefill_ns, self.context_ns)
        if min(costs) < 0 or self.step_ns < 1:
            raise InputError("engine profile: step_ns must be 1 or more, the other costs 0 or more")

    def step_time_ns(self, *, decoding: int, prefill: int, context: int) -> float:
        """Time of one step without jitter, in ns."""
        return self.step_ns + self.decode_ns * decoding + self.prefill_ns * prefill + self.context_ns * context

    def blocks_for(self, tokens: int) -> int:
        """Blocks that hold so many tokens."""
        return -(-tokens // self.block_tokens)

    @property
    def context_limit(self) -> int:
        """Most tokens, prompt and answer, that one request may have: the model's limit or the whole KV memory."""
        return min(self.max_context, self.kv_blocks * self.block_tokens)

    def faster(self, factor: float) -> EngineProfile:
        """The same engine with every time divided by `factor`."""
        if not 0 < factor < 1e6:
            raise InputError(f"wanted a speed factor above 0, got {factor!r}")
        return replace(
            self,
            step_ns=max(1, round(self.step_ns / factor)),
            decode_ns=round(self.decode_ns / factor),
            prefill_ns=round(self.prefill_ns / factor),
            context_ns=self.context_ns / factor,
        )


PROFILES: dict[str, EngineProfile] = {
    profile.name: profile
    for profile in (
        # About an 8-billion-parameter model on one accelerator.
        EngineProfile("small", step_ns=6_000_000, decode_ns=25_000, prefill_ns=18_000, context_ns=15.0),
        # About a 70-billion-parameter model over several.
        EngineProfile(
            "large",
            step_ns=18_000_000,
            decode_ns=60_000,
            prefill_ns=50_000,
            context_ns=40.0,
            kv_blocks=32_768,
            max_context=131_072,
            output_median=256,
        ),
        # A mixture-of-experts model that reasons and calls tools over long, mostly cached contexts.
        EngineProfile(
            "agentic",
            step_ns=12_000_000,
            decode_ns=90_000,
            prefill_ns=22_000,
            context_ns=12.0,
            prefill_budget=8192,
            kv_blocks=65_536,
            max_context=131_072,
            output_median=180,
            output_sigma=0.9,
            output_max=4096,
            reasoning_share=0.4,
            tool_share=0.7,
        ),
        # No engine at all, only its shape: for finding the limits of clients, and for tests.
        EngineProfile(
            "flash",
            step_ns=500_000,
            decode_ns=200,
            prefill_ns=100,
            context_ns=0.0,
            max_batch=8192,
            prefill_budget=1 << 20,
            kv_blocks=1 << 20,
            output_median=32,
        ),
    )
}
