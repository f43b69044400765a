"""A long run's end: many records become Parquet, a summary and a report in bounded time and memory (SCL-7)."""

from __future__ import annotations

import resource
import time
from array import array
from pathlib import Path

import pytest
from run_build import phase, plan_for
from run_figures import figures

from wholecurve.model.record import RunState
from wholecurve.records import Row, numbers_of, pack_row
from wholecurve.records.read import read_columns
from wholecurve.report import report_html, report_text
from wholecurve.run.figures import write_records

MS = 1_000_000


def journal(folder: Path, count: int, gaps: int) -> None:
    """Rows of a closed loop at 64, all like one another but for their times."""
    between = array("q", [5 * MS + place for place in range(gaps)])
    with (folder / "rows-000.journal").open("wb") as file:
        for index in range(count):
            start = 10**12 + index // 64 * 900 * MS + index % 64
            first = start + 100 * MS + index % 977 * 1000
            last = first + sum(between)
            numbers = numbers_of({
                "index": index, "phase": 0, "conversation": index, "turn": 0, "sample": index % 1000, "worker": 0,
                "scheduled_ns": start, "issued_ns": start, "sent_ns": start, "first_byte_ns": first,
                "first_output_ns": first, "first_visible_ns": first, "last_output_ns": last,
                "completed_ns": last + MS, "status": 200, "events": gaps + 3, "output_events": gaps + 1,
                "reads": gaps + 3, "user_stamps": 0, "usage_input": 50, "usage_output": gaps + 1, "attempts": 1,
            })  # fmt: skip
            file.write(pack_row(Row(numbers, ("succeeded", None, None, "stop"), (None,) * 5, between)))


@pytest.mark.slow
def test_200_000_records_are_summarised(tmp_path: Path) -> None:
    """SCL-7: 200,000 records of 20 events each: a minute is allowed for a million; progress is told on the way."""
    journal(tmp_path, 200_000, 19)
    told: list[str] = []
    one = phase(rows=1000, concurrency=64)
    began = time.monotonic()
    write_records(tmp_path, plan_for(["http://127.0.0.1"], [one]), None, None, told.append)
    found = figures(tmp_path, one, state=RunState.COMPLETE)
    text, page = report_text(found), report_html(found, read_columns(tmp_path, 0), {})
    took = time.monotonic() - began
    assert found["n_samples_completed"] == 200_000
    assert found["gaps"]["n"] == 200_000 * 19
    assert found["violations"] == []
    assert told == ["100,000 records written", "200,000 records written"]
    assert "200,000" in text
    assert len(page) < 2_000_000, "a page does not grow with the records"
    assert took < 60
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss < 1_500_000, "KiB"
