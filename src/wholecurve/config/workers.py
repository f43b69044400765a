"""How many worker processes a load needs.

One worker handles about 30,000 events/s; 512 streams at 50 tokens/s make 25,600. One core is left to the rest of the
client. On 2 cores that is one worker whatever the load; on 64 cores 4,096 streams get 8, and the most is 63.
"""

from __future__ import annotations

STREAMS_PER_WORKER = 512
REQUESTS_PER_S_PER_WORKER = 2_000


def default_workers(concurrency: int | None, rate_per_s: float | None, cores: int) -> int:
    """Workers for this many requests in flight (None: unknown) and this rate (None: as answers come)."""
    by_streams = -(-(concurrency or 1) // STREAMS_PER_WORKER)
    by_rate = int(-(-(rate_per_s or 0) // REQUESTS_PER_S_PER_WORKER))
    return max(1, min(max(by_streams, by_rate), cores - 1))
