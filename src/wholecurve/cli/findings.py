"""Findings of `doctor` and `probe` on the screen and as JSON."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping
from dataclasses import asdict
from typing import Any

import orjson

from wholecurve.model.plain_text import printable
from wholecurve.run.examination import Finding, Grade


def print_findings(findings: Iterable[Finding]) -> None:
    """One line each, aligned; what was wanted and what to do stand below where it is not ok."""
    rows = list(findings)
    width = max((len(row.name) for row in rows), default=0)
    for row in rows:
        print(f"{row.grade.value:8} {row.name:{width}}  {printable(row.figure)}")
        if row.grade is not Grade.OK and row.wanted:
            print(f"{'':9}{'':{width}}  wanted: {row.wanted}")
        if row.remedy:
            print(f"{'':9}{'':{width}}  {row.remedy}")


def print_json(schema: str, findings: Iterable[Finding], facts: Mapping[str, Any]) -> None:
    """Findings and facts as one JSON object."""
    rows = [asdict(finding) for finding in findings]
    data = {"schema": schema, **facts, "findings": rows}
    sys.stdout.write(orjson.dumps(data, option=orjson.OPT_INDENT_2).decode() + "\n")
