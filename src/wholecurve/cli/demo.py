"""`wholecurve demo`: the product in half a minute, on this machine alone."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from wholecurve.cli.inputs import resolved_run
from wholecurve.cli.main import tell
from wholecurve.cli.progress import progress_for
from wholecurve.cli.run import measure_into, show_result
from wholecurve.config import RunFlags
from wholecurve.model.errors import InputError
from wholecurve.sim import SimOptions, start

PROMPTS = Path(__file__).with_name("demo.jsonl")


def command(
    *,
    concurrency: Annotated[int, Parameter(name="--concurrency", help="requests in flight")] = 16,
    duration: Annotated[str, Parameter(name="--duration", help="how long to measure")] = "6s",
    out: Annotated[str | None, Parameter(name="--out", help="folder for the run's files; must be new or empty")] = None,
) -> int:
    """Start a simulated endpoint, measure it for a few seconds, and show what comes out.

    Needs no server, no accelerator and no network. The run folder is a real one: everything that works on a measured
    endpoint's folder works on it.
    """
    if concurrency < 1:
        raise InputError(f"--concurrency: wanted at least 1, got {concurrency}")
    tell(f"measuring a simulated endpoint with {concurrency} requests in flight for {duration}")
    with start(SimOptions(models=("sim",), seed=1)) as sim:
        flags = RunFlags(
            endpoint=(sim.url,),
            model="sim",
            dataset=str(PROMPTS),
            concurrency=concurrency,
            duration=duration,
            max_tokens=128,
            name="demo",
            out=out,
        )
        progress = progress_for(sys.stderr, quiet=False)
        resolved = resolved_run(flags, progress.say)
        result = measure_into(resolved, out, progress)
    show_result(result, resolved.plan.to_json(), as_json=False, quiet=False)
    report = (result.folder / "report.html").resolve()
    print(f"\nThe report with all distributions, to open in a browser: {report.as_uri()}")
    program = as_typed("wholecurve")
    print("\nWhat next:")
    print(f"  {program} probe http://HOST:PORT      what your own endpoint speaks")
    print(f"  {program} run --endpoint http://HOST:PORT --model NAME --dataset FILE --concurrency 16")
    print(f"  {program} export requests {result.folder} --format csv      every request, one row each")
    return result.exit_code


def as_typed(name: str) -> str:
    """This program as it can be typed here: its name if the shell finds it, else the way to it (`make demo`)."""
    started = Path(sys.argv[0])
    found = shutil.which(name)
    if started.name != name or (found is not None and os.path.samefile(found, started)):
        return name
    place = os.path.relpath(started)
    return place if len(place) < len(str(started)) else str(started)
