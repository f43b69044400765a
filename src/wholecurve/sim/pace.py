"""How a simulated engine's speed changes: with time, and with the sizes of batch that it meets. Pure; times come in."""

from __future__ import annotations

from dataclasses import dataclass

from wholecurve.model.errors import InputError

REST_NS = 1_000_000_000
MINUTE_NS = 60_000_000_000
MOST_NS = 60 * MINUTE_NS
MOST_TIMES = 1000.0
MOST_STEPS = 1_000_000


@dataclass(frozen=True, slots=True)
class Pace:
    """By how much every step takes longer. All in real time, whatever the engine's speed factor.

    - `drift_per_min`: share by which steps get slower every minute since the first job; 0.5 is 50 % a minute, and
      a negative one gets faster, down to a tenth of the time
    - `ramp_ns`, `ramp_times`: a job that finds the engine without work for a second or longer finds steps that take
      `ramp_times` as long; this falls in a straight line to 1 over `ramp_ns`
    - `shift_ns`, `shift_times`: from so long after the first job on, steps take `shift_times` as long; below 1 they
      are faster
    - `capture_steps`, `capture_times`: for every size of batch that was never met before, so many steps take
      `capture_times` as long (`Captures`)
    """

    drift_per_min: float = 0.0
    ramp_ns: int = 0
    ramp_times: float = 4.0
    shift_ns: int = 0
    shift_times: float = 1.0
    capture_steps: int = 0
    capture_times: float = 4.0

    def __post_init__(self) -> None:
        if not -100 <= self.drift_per_min <= 100:
            raise InputError(f"drift must be a share per minute from -100 to 100, got {self.drift_per_min}")
        for name, value in (("ramp", self.ramp_ns), ("shift", self.shift_ns)):
            if not 0 <= value <= MOST_NS:
                raise InputError(f"{name} must be between 0 and {MOST_NS // 10**9} s, got {value / 1e9:g} s")
        for name, times in (("ramp", self.ramp_times), ("capture", self.capture_times)):
            if not 1 <= times <= MOST_TIMES:
                raise InputError(f"{name} times must be between 1 and {MOST_TIMES:g}, got {times}")
        if not 1 / MOST_TIMES <= self.shift_times <= MOST_TIMES:
            raise InputError(
                f"shift times must be between {1 / MOST_TIMES:g} and {MOST_TIMES:g}, got {self.shift_times}"
            )
        if not 0 <= self.capture_steps <= MOST_STEPS:
            raise InputError(f"capture steps must be between 0 and {MOST_STEPS}, got {self.capture_steps}")

    @property
    def even(self) -> bool:
        """Whether speed never changes."""
        drifts, ramps = self.drift_per_min != 0, self.ramp_ns > 0 and self.ramp_times > 1
        return not (drifts or ramps or self.shift_times != 1 or (self.capture_steps > 0 and self.capture_times > 1))

    def factor(self, *, since_first_ns: int, since_rest_ns: int, capturing: bool = False) -> float:
        """What a step's time is multiplied by, so long after the first job and after the last rest.

        `capturing`: it is one of the slow steps of a new size of batch.
        """
        factor = max(0.1, 1 + self.drift_per_min * since_first_ns / MINUTE_NS)
        if since_rest_ns < self.ramp_ns:
            factor *= 1 + (self.ramp_times - 1) * (1 - since_rest_ns / self.ramp_ns)
        if since_first_ns >= self.shift_ns:
            factor *= self.shift_times
        return factor * self.capture_times if capturing else factor


EVEN = Pace()


class Captures:
    """How many slow steps an engine still owes to sizes of batch that it had not met.

    A ramp that depends on the load, as of engines that compile kernels and capture graphs when a batch is first larger
    than any before: batches are padded to 1, 2, 4, 8, ... sequences, and each padded size up to the largest one met is
    captured once, which slows `steps` steps down. From rest straight to 32 requests that is six times as many slow
    steps as at one, and more requests later cost again; fewer cost nothing, and a rest forgets nothing.
    """

    __slots__ = ("_owed", "_sizes", "_steps")

    def __init__(self, steps: int) -> None:
        self._steps = steps
        self._sizes = 0
        self._owed = 0

    def step(self, sequences: int) -> bool:
        """A step with so many sequences in it: whether it is a slow one."""
        sizes = (sequences - 1).bit_length() + 1 if sequences > 0 else 0
        if sizes > self._sizes:
            self._owed += (sizes - self._sizes) * self._steps
            self._sizes = sizes
        slow = self._owed > 0
        self._owed -= slow
        return slow
