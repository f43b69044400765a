"""`wholecurve doctor`: can this machine measure?"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from wholecurve.cli.findings import print_findings, print_json
from wholecurve.model.errors import InputError, SetupError
from wholecurve.run.examination import Grade, examine

SCHEMA = "wholecurve.doctor/1"


def command(
    *,
    concurrency: Annotated[int, Parameter(name="--concurrency", help="requests in flight to be carried")] = 256,
    out: Annotated[str, Parameter(name="--out", help="folder that results will be written to")] = "results",
    json: Annotated[bool, Parameter(name="--json", negative="", help="print JSON")] = False,
) -> int:
    """Look at everything on this machine that decides how true a measurement is.

    Limits of descriptors and ports, cores and other load, clocks, kernel receive stamps (tried over loopback), timers
    and the disk. Takes about a second. Exit code 3 if something would keep a run from working.
    """
    if concurrency < 1:
        raise InputError(f"--concurrency: wanted at least 1, got {concurrency}")
    findings = examine(concurrency, Path(out))
    problems = [finding for finding in findings if finding.grade is Grade.PROBLEM]
    if json:
        print_json(SCHEMA, findings, {"concurrency": concurrency, "ready": not problems})
    else:
        print_findings(findings)
        warnings = sum(finding.grade is Grade.WARNING for finding in findings)
        print(f"\n{_verdict(len(problems), warnings)} at concurrency {concurrency}")
    return SetupError.exit_code if problems else 0


def _verdict(problems: int, warnings: int) -> str:
    if problems:
        return f"not ready: {problems} problem{'s' if problems > 1 else ''}"
    if warnings:
        return f"ready, with {warnings} warning{'s' if warnings > 1 else ''},"
    return "ready"
