"""What is measured: one row per setting, and the command lines of the server that go with it. The only such table."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Setting:
    """One load and the server's timing under it.

    `ttft_ms` and `itl_ms` are (mean, uniform jitter) of the server's schedule; None floods: no delays at all.
    `rate_per_s` replaces the closed loop of `concurrency` by Poisson arrivals of non-streamed requests. `peers`: other
    clients are measured here too, where bounds or the traps of a stream are compared.
    """

    name: str
    what: str
    concurrency: int
    requests: int
    tokens: int
    ttft_ms: tuple[float, float] | None
    itl_ms: tuple[float, float] | None
    role: str = "first"
    rate_per_s: float | None = None
    clients: tuple[str, ...] | None = None
    peers: bool = False

    @property
    def stream(self) -> bool:
        return self.rate_per_s is None

    def server_options(self) -> list[str]:
        """Options of truthd for this setting."""
        options = ["--tokens", str(self.tokens), "--role", self.role]
        if self.ttft_ms is None or self.itl_ms is None:
            return [*options, "--flood"]
        return [
            *options,
            *("--ttft-ms", str(self.ttft_ms[0]), "--ttft-jitter-ms", str(self.ttft_ms[1])),
            *("--itl-ms", str(self.itl_ms[0]), "--itl-jitter-ms", str(self.itl_ms[1])),
        ]


FAST = {"ttft_ms": (20.0, 5.0), "itl_ms": (10.0, 2.0)}

SETTINGS: tuple[Setting, ...] = (
    Setting("c1", "1 stream, 100 events/s", 1, 12, 128, **FAST),
    Setting("c32", "32 streams, 3,200 events/s", 32, 320, 128, peers=True, **FAST),
    Setting("c256", "256 streams, 25,000 events/s", 256, 2048, 128, peers=True, **FAST),
    Setting("c1024", "1,024 streams, 20,000 events/s", 1024, 2048, 128, (100.0, 25.0), (50.0, 10.0)),
    Setting("c4096", "4,096 streams, 15,000 events/s", 4096, 6144, 64, (400.0, 100.0), (200.0, 40.0)),
    Setting("c1024f", "1,024 streams, 100,000 events/s", 1024, 8192, 128, **FAST),
    Setting("flood", "64 streams, no delays", 64, 4000, 128, None, None),
    Setting("role", "32 streams, role-only chunk sent at once", 32, 320, 128, role="start", peers=True, **FAST),
    Setting(
        "poisson",
        "10,000 requests/s, Poisson, canned reply",
        concurrency=0,
        requests=100_000,
        tokens=1,
        ttft_ms=(0.0, 0.0),
        itl_ms=(0.0, 0.0),
        rate_per_s=10_000.0,
        clients=("wholecurve",),
    ),
)

BY_NAME = {setting.name: setting for setting in SETTINGS}
