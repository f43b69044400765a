"""A sweep in a process of its own, for tests that kill it: `sweep_script.py FOLDER SLOT`. Stops dead in that point.

With SLOT empty it runs to its end. A point writes half its files, says so on stdout and then waits to be killed.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path

from sweep_build import FakeBench, Session, campaign, conditions, good

from wholecurve.sweep import PointOrder, PointOutcome, begin, resume, run_campaign, save_plan


def main(folder: Path, slot: str) -> int:
    """Start or resume the campaign in the folder; its exit code."""
    session = Session(folder)

    def hangs(order: PointOrder, place: Path) -> PointOutcome:
        (place / "records").mkdir(parents=True)
        (place / "records/rows-0.journal").write_bytes(b"half a row")
        print(f"in {slot}", flush=True)
        time.sleep(60)
        return good(order, place)

    bench = FakeBench({slot: [hangs]} if slot else {})
    with session.journal() as journal:
        if journal.entries:
            plan = resume(folder, journal, conditions(), tool="wholecurve 0.2")
        else:
            plan = campaign(repeats=2)
            begin(journal, plan.conditions, tool=plan.tool)
            save_plan(folder, plan)
        assert plan is not None
        outcome = run_campaign(plan, folder, bench, journal, show=session.views.append, around=session.around())
    print("measured", *bench.slots)
    return outcome.exit_code


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]), sys.argv[2]))
