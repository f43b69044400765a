"""`wholecurve sim`: a simulated endpoint to measure, to try things out and to test against."""

from __future__ import annotations

import os
from typing import Annotated, Literal

from cyclopts import Parameter

from wholecurve.cli.main import tell
from wholecurve.model.errors import InputError
from wholecurve.sim import PROFILES, Pace, SimOptions, parse_fault, profile_named, read_answers, serve

MOST_SLOW_MS = 3_600_000
"""An hour for a token."""
MOST_RAMP_S = 3_600


def _flag(name: str, text: str, *, off: str = "") -> Parameter:
    return Parameter(name=name, help=text, negative=off, negative_iterable="")


def command(
    *,
    host: Annotated[str, _flag("--host", "address to listen on")] = "127.0.0.1",
    port: Annotated[int, _flag("--port", "port; 0 takes any free one")] = 8000,
    model: Annotated[tuple[str, ...], _flag("--model", "model that is served; may be given several times")] = ("sim",),
    profile: Annotated[str, _flag("--profile", f"engine: {', '.join(PROFILES)}")] = "small",
    speed: Annotated[float, _flag("--speed", "divide all times by this")] = 1.0,
    seed: Annotated[int, _flag("--seed", "seed of answers and times")] = 0,
    to_limit: Annotated[bool, _flag("--to-limit", "answers always run to max_tokens")] = False,
    tokens_per_event: Annotated[int, _flag("--tokens-per-event", "tokens in one event")] = 1,
    role_early: Annotated[bool, _flag("--role-early", "send the role event at once with the head")] = False,
    reasoning_share: Annotated[float | None, _flag("--reasoning-share", "part of answers that is reasoning")] = None,
    reasoning_field: Annotated[
        Literal["reasoning_content", "reasoning"], _flag("--reasoning-field", "name of the reasoning field")
    ] = "reasoning_content",
    tool_share: Annotated[float | None, _flag("--tool-share", "part of answers that call a tool")] = None,
    fault: Annotated[
        tuple[str, ...], _flag("--fault", "NAME=SHARE, such as reset=1%; may be given several times")
    ] = (),
    slow_ms: Annotated[float, _flag("--slow-ms", "of the fault `slow`: how much later each token comes")] = 20.0,
    answers: Annotated[
        str | None,
        _flag("--answers", "file of questions (`prompt` or `messages`) and the `answer` that the model knows"),
    ] = None,
    wrong_share: Annotated[
        float, _flag("--wrong-share", "share of the known questions that are answered wrong, 0 to 1")
    ] = 0.0,
    drift: Annotated[float, _flag("--drift", "share by which it gets slower every minute; 0.5 is 50 %")] = 0.0,
    ramp_s: Annotated[float, _flag("--ramp-s", "slow start after every rest of a second: how long it lasts")] = 0.0,
    ramp_times: Annotated[float, _flag("--ramp-times", "how many times as slow it starts")] = 4.0,
    api_key_env: Annotated[str | None, _flag("--api-key-env", "variable with the key that is required")] = None,
    truth_log: Annotated[str | None, _flag("--truth-log", "file for the true times of every event")] = None,
    processes: Annotated[int, _flag("--processes", "processes, each with an engine of its own")] = 1,
    cpu: Annotated[int | None, _flag("--cpu", "core to stay on")] = None,
) -> int:
    """Serve a simulated endpoint with continuous batching over real HTTP, until Ctrl-C.

    Prints its base URL once it can be used. Answers, times and faults follow the seed.
    """
    options = SimOptions(
        host=host,
        port=port,
        models=model,
        api_key=_key(api_key_env),
        profile=profile_named(profile),
        speed=speed,
        seed=seed,
        to_limit=to_limit,
        reasoning_share=reasoning_share,
        tool_share=tool_share,
        reasoning_field=reasoning_field,
        tokens_per_event=tokens_per_event,
        role_early=role_early,
        faults=tuple(parse_fault(text) for text in fault),
        slow_ns=_slow_ns(slow_ms),
        answers=read_answers(answers) if answers is not None else {},
        wrong_share=wrong_share,
        pace=Pace(drift, _ramp_ns(ramp_s), ramp_times),
        truth_log=truth_log,
        processes=processes,
        cpu=cpu,
    )
    serve(options, ready=_ready)
    return 0


def _slow_ns(slow_ms: float) -> int:
    if not 0 <= slow_ms <= MOST_SLOW_MS:
        raise InputError(f"--slow-ms: wanted 0 to {MOST_SLOW_MS}, got {slow_ms}")
    return round(slow_ms * 1e6)


def _ramp_ns(ramp_s: float) -> int:
    if not 0 <= ramp_s <= MOST_RAMP_S:
        raise InputError(f"--ramp-s: wanted 0 to {MOST_RAMP_S}, got {ramp_s}")
    return round(ramp_s * 1e9)


def _ready(url: str) -> None:
    print(url, flush=True)
    tell("serving; stop with Ctrl-C")


def _key(variable: str | None) -> str | None:
    if variable is None:
        return None
    key = os.environ.get(variable)
    if not key:
        raise InputError(f"--api-key-env: the environment variable {variable} is not set")
    return key
