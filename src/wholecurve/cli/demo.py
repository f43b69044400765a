"""`wholecurve demo`: the product in two minutes, on this machine alone."""

from __future__ import annotations

import os
import shutil
import sys
from dataclasses import replace
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from wholecurve.cli.campaign_files import HTML
from wholecurve.cli.inputs import RESULTS, new_folder
from wholecurve.cli.main import tell
from wholecurve.cli.sweep import Sweep
from wholecurve.cli.sweep_progress import SweepProgress
from wholecurve.config import SweepFlags
from wholecurve.sim import PROFILES, EngineProfile, SimOptions, read_answers, start

PROMPTS = Path(__file__).with_name("demo.jsonl")
QUIZ = Path(__file__).with_name("demo_accuracy.jsonl")
ROWS = 32
MAX_TOKENS = 24
SPEED = 3.0
C_MAX = 32
WRONG_SHARE = 0.1


def engine() -> EngineProfile:
    """The simulated engine: 16 sequences at once, so that the knee is in reach, and requests queue beyond it."""
    return replace(PROFILES["small"], name="demo", max_batch=16, decode_ns=250_000)


def command(
    *,
    out: Annotated[str | None, Parameter(name="--out", help="folder of the campaign; must be new or empty")] = None,
    points: Annotated[
        str | None, Parameter(name="--points", help="levels to measure instead of seven chosen ones: 1,4,16,32")
    ] = None,
) -> int:
    """Start a simulated endpoint, measure its whole curve in about two minutes, and show what comes out.

    Seven levels and an Offline run under the `demo` rules (seconds where the rules have minutes), accuracy on twenty
    questions, the curve and its reports. Needs no server, no accelerator and no network. The folder is a real
    campaign: everything that works on a measured endpoint's works on it.
    """
    folder = new_folder(out, RESULTS / "demo")
    tell("a simulated endpoint, its whole curve under the demo rules; about two minutes")
    options = SimOptions(
        models=("sim",), seed=1, profile=engine(), speed=SPEED, answers=read_answers(str(QUIZ)), wrong_share=WRONG_SHARE
    )
    with start(options) as sim:
        flags = SweepFlags(
            endpoint=(sim.url,),
            model="sim",
            dataset=str(PROMPTS),
            limit=ROWS,
            max_tokens=MAX_TOKENS,
            warmup=ROWS,
            rules="demo",
            benchmark="demo",
            seed_set="demo",
            c_max=None if points else C_MAX,
            points=points,
            idle_gap="300ms",
            accuracy_dataset=str(QUIZ),
            name="demo",
            out=str(folder),
        )
        progress = SweepProgress(sys.stderr, quiet=False)
        try:
            code = Sweep(flags, progress, given_folder=None).run(None, None, dry_run=False)
        finally:
            progress.close()
    report = (folder / HTML).resolve()
    if report.is_file():  # a demo that was stopped early has none
        print(f"\nThe report, to open in a browser: {report.as_uri()}")
    program = as_typed("wholecurve")
    print("\nWhat next:")
    print(f"  {program} pick {folder} --ttft-p90 20ms --interactivity 300      the best point under limits")
    print(f"  {program} report {folder} --recompute      every figure again, from the records")
    print(f"  {program} probe http://HOST:PORT      what your own endpoint speaks")
    print(f"  {program} sweep --endpoint http://HOST:PORT --model NAME --dataset FILE --dry-run")
    return code


def as_typed(name: str) -> str:
    """This program as it can be typed here: its name if the shell finds it, else the way to it (`make demo`)."""
    started = Path(sys.argv[0])
    found = shutil.which(name)
    if started.name != name or (found is not None and os.path.samefile(found, started)):
        return name
    place = os.path.relpath(started)
    return place if len(place) < len(str(started)) else str(started)
