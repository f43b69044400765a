"""How a simulated engine's speed changes with time: a slow start after a rest, and a drift. Pure; times come in."""

from __future__ import annotations

from dataclasses import dataclass

from wholecurve.model.errors import InputError

REST_NS = 1_000_000_000
MINUTE_NS = 60_000_000_000
MOST_TIMES = 1000.0


@dataclass(frozen=True, slots=True)
class Pace:
    """By how much every step takes longer. All in real time, whatever the engine's speed factor.

    - `drift_per_min`: share by which steps get slower every minute since the first job; 0.5 is 50 % a minute, and
      a negative one gets faster, down to a tenth of the time
    - `ramp_ns`, `ramp_times`: a job that finds the engine without work for a second or longer finds steps that take
      `ramp_times` as long; this falls in a straight line to 1 over `ramp_ns`
    """

    drift_per_min: float = 0.0
    ramp_ns: int = 0
    ramp_times: float = 4.0

    def __post_init__(self) -> None:
        if not -100 <= self.drift_per_min <= 100:
            raise InputError(f"drift must be a share per minute from -100 to 100, got {self.drift_per_min}")
        if not 0 <= self.ramp_ns <= 60 * MINUTE_NS:
            raise InputError(f"ramp must be between 0 and 3600 s, got {self.ramp_ns / 1e9:g} s")
        if not 1 <= self.ramp_times <= MOST_TIMES:
            raise InputError(f"ramp times must be between 1 and {MOST_TIMES:g}, got {self.ramp_times}")

    @property
    def even(self) -> bool:
        """Whether speed never changes."""
        return self.drift_per_min == 0 and (self.ramp_ns == 0 or self.ramp_times == 1)

    def factor(self, *, since_first_ns: int, since_rest_ns: int) -> float:
        """What a step's time is multiplied by, so long after the first job and after the last rest."""
        drift = max(0.1, 1 + self.drift_per_min * since_first_ns / MINUTE_NS)
        if since_rest_ns >= self.ramp_ns:
            return drift
        return drift * (1 + (self.ramp_times - 1) * (1 - since_rest_ns / self.ramp_ns))


EVEN = Pace()
