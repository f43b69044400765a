"""Everything that can be set about a simulated endpoint, as one frozen value that travels to its process as JSON."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from wholecurve.model.errors import InputError
from wholecurve.model.units import NS_PER_MS
from wholecurve.sim.faults import FaultShare, check_faults
from wholecurve.sim.pace import EVEN, Pace
from wholecurve.sim.profiles import PROFILES, EngineProfile

MOST_PROCESSES = 256
"""Each is an engine on a core; thousands would only stop the machine."""

REASONING_FIELDS = ("reasoning_content", "reasoning")


@dataclass(frozen=True, slots=True)
class SimOptions:
    """A simulated endpoint.

    - `host`, `port` (0: any free one), `models` that are served (empty: any name is), `api_key` that is required
    - `profile`, `speed` (times are divided by it), `seed`
    - `to_limit`: answers always run to `max_tokens`, as if every request had `ignore_eos`
    - `reasoning_share`, `tool_share`: win over the profile's when not None; `reasoning_field`
    - `tokens_per_event`; `role_early`: role event at once with the head, else just before the first token
    - `faults`: by share; `slow_ns`: how much later each token of a `slow` answer comes than the one before
    - `answers`: question -> answer that the model knows (sim/known.py); `wrong_share` of them it answers wrong
    - `pace`: how its speed changes with time (sim/pace.py)
    - `truth_log`: file for the true times (JSON lines); `processes`: each its own engine; `cpu`: pin to this core
    """

    host: str = "127.0.0.1"
    port: int = 0
    models: tuple[str, ...] = ("sim",)
    api_key: str | None = field(default=None, repr=False)
    profile: EngineProfile = PROFILES["small"]
    speed: float = 1.0
    seed: int = 0
    to_limit: bool = False
    reasoning_share: float | None = None
    tool_share: float | None = None
    reasoning_field: str = "reasoning_content"
    tokens_per_event: int = 1
    role_early: bool = False
    faults: tuple[FaultShare, ...] = ()
    slow_ns: int = 20_000_000
    answers: Mapping[str, str] = field(default_factory=dict, repr=False)
    wrong_share: float = 0.0
    pace: Pace = EVEN
    truth_log: str | None = None
    processes: int = 1
    cpu: int | None = None

    def __post_init__(self) -> None:
        check_faults(self.faults)
        if self.reasoning_field not in REASONING_FIELDS:
            raise InputError(
                f"reasoning field must be one of {', '.join(REASONING_FIELDS)}, got {self.reasoning_field!r}"
            )
        if not 0 <= self.port <= 65_535:
            raise InputError(f"port must be between 0 and 65535, got {self.port}")
        if self.processes > MOST_PROCESSES:
            raise InputError(f"processes must be {MOST_PROCESSES} or fewer, got {self.processes}")
        if self.slow_ns < 0:
            raise InputError(f"slow must be 0 or more, got {self.slow_ns / NS_PER_MS:g} ms")
        if self.cpu is not None and self.cpu < 0:
            raise InputError(f"cpu must be 0 or more, got {self.cpu}")
        if not all(self.models):
            raise InputError("wanted the name of a model, got an empty one")
        for name in ("processes", "tokens_per_event"):
            if getattr(self, name) < 1:
                raise InputError(f"{name} must be 1 or more, got {getattr(self, name)}")
        for name in ("reasoning_share", "tool_share"):
            share = getattr(self, name)
            if share is not None and not 0 <= share <= 1:
                raise InputError(f"{name} must be between 0 and 1, got {share}")
        if not 0 <= self.wrong_share <= 1:
            raise InputError(f"wrong_share must be between 0 and 1, got {self.wrong_share}")
        if self.wrong_share and not self.answers:
            raise InputError(
                f"wrong_share {self.wrong_share}: wanted answers that the model knows, got none",
                hint="name a file of them: --answers FILE",
            )
        if not all(question.strip() and answer.strip() for question, answer in self.answers.items()):
            raise InputError("wanted a text in every question and every answer, got an empty one")
        self.profile.faster(self.speed)  # refuses a factor that makes no sense

    @property
    def engine(self) -> EngineProfile:
        """The profile at this speed."""
        return self.profile.faster(self.speed)

    def to_json(self) -> dict[str, Any]:
        """Plain values, the API key among them: for a pipe to the own child process, never for a file."""
        return asdict(self)

    @classmethod
    def from_json(cls, values: Mapping[str, Any]) -> SimOptions:
        """The inverse of `to_json`."""
        built = dict(values)
        built["models"] = tuple(built["models"])
        built["profile"] = EngineProfile(**built["profile"])
        built["pace"] = Pace(**built["pace"])
        built["faults"] = tuple(FaultShare(**fault) for fault in built["faults"])
        return cls(**built)


def profile_named(name: str) -> EngineProfile:
    """A preset by name. Raises InputError."""
    if name not in PROFILES:
        raise InputError(f"unknown engine profile {name!r}", hint=f"known: {', '.join(PROFILES)}")
    return PROFILES[name]
