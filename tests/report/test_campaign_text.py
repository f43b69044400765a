"""report.txt, the terminal and the text plot of a whole curve."""

from __future__ import annotations

import io
import json
import os
import re
import subprocess
import sys
from typing import Any

import pytest
from campaign_build import LEVELS, made, point_at
from report_build import HOSTILE
from rich.console import Console
from test_campaign_html import CASES, case

from wholecurve.curve import rows_of
from wholecurve.model.errors import InputError
from wholecurve.model.point import Provenance
from wholecurve.model.record import RunState
from wholecurve.report import CampaignView, campaign_text, plot_text, show_campaign

VIEW = made().view()
ROWS = [
    {"concurrency": level, "system_tps": tps, "tps_per_user": speed}
    for level, tps, speed in ((1, 100.0, 100.0), (8, 640.0, 80.0), (64, 2560.0, 40.0), (512, 5120.0, 10.0))
]


def printed(view: CampaignView, width: int, encoding: str = "utf-8") -> list[str]:
    raw = io.BytesIO()
    file = io.TextIOWrapper(raw, encoding=encoding, newline="\n")
    show_campaign(view, Console(file=file, width=width), "made/")
    file.flush()
    return raw.getvalue().decode(encoding).splitlines()


@pytest.mark.parametrize("name", CASES)
def test_the_text_is_at_most_100_columns_and_harmless(name: str) -> None:
    text = campaign_text(case(name).view())
    assert max(map(len, text.splitlines())) <= 100
    assert not any(mark in text for mark in "\x1b\x07\u202e\u2066\u2028")
    assert text.endswith("\n")
    assert not text.endswith("\n\n")
    assert all(line == line.rstrip() for line in text.splitlines())


def test_the_text_has_every_point_and_every_column() -> None:
    text = campaign_text(VIEW)
    for head in ("Campaign", "The answer", "Points", "Accuracy", "How the load was made", "Journal"):
        assert f"\n{head}\n{'-' * len(head)}\n" in text
    lines = text.splitlines()
    for level in (*LEVELS, "Offline"):
        assert sum(line.split()[:1] == [str(level)] for line in lines) >= 3
    for title in ("TTFT P90", "tokens/s/kW", "attempts", "extended by", "spread of repeats", "basis"):
        assert title in text


@pytest.mark.parametrize("width", [40, 80, 132])
@pytest.mark.parametrize("name", CASES)
def test_the_terminal_fits_its_width(name: str, width: int) -> None:
    lines = printed(case(name).view(), width)
    assert max(len(line) for line in lines if not line.startswith("Files:")) <= width
    assert lines[-1] == "Files: made/"


def test_the_terminal_says_the_answer_the_state_and_the_status() -> None:
    text = "\n".join(printed(VIEW, 100))
    assert "unverified, local" in text
    assert "Campaign: COMPLETE" in text
    assert "Highest system throughput" in text
    narrow = printed(VIEW, 50)
    head = next(line for line in narrow if "TTFT P90" in line and "level" in line)
    assert "tokens/s" in head
    assert "tries" not in head, "what matters less is left out first"


def test_a_terminal_without_unicode_gets_ascii() -> None:
    view = made((1, 4, 16), text=HOSTILE).view()
    assert all(line.isascii() for line in printed(view, 80, "ascii"))


def test_a_plot_has_the_measured_levels_on_its_axis_and_fits() -> None:
    text = plot_text(ROWS, 80, 20)
    lines = text.split("\n")
    assert len(lines) <= 20
    assert max(map(len, lines)) <= 80
    assert text.count("●") == 4
    assert lines[-2].split() == ["1", "8", "64", "512"]
    assert "\x1b" not in text
    heights = [next(n for n, line in enumerate(lines) if line.find("●", at, at + 1) >= 0)
               for at in sorted(line.index("●") for line in lines if "●" in line)]  # fmt: skip
    assert heights == sorted(heights, reverse=True), "throughput grows with the load"


def test_against_interactivity_throughput_falls() -> None:
    lines = plot_text(ROWS, 80, 20, x="interactivity_tps").split("\n")
    dots = sorted((line.index("●"), n) for n, line in enumerate(lines) if "●" in line)
    assert [n for _, n in dots] == sorted(n for _, n in dots)
    assert len(dots) == 4


def test_a_step_holds_until_the_next_level() -> None:
    """No slope: between two levels the row of the lower one is drawn all the way."""
    lines = plot_text([{"concurrency": 1, "system_tps": 50.0}, {"concurrency": 64, "system_tps": 100.0}], 60, 16).split(
        "\n"
    )
    low = max((line for line in lines if "●" in line), key=lines.index)
    inside = low[low.index("●") + 1 : low.rindex("│") - 2]
    assert " " not in inside


def test_offline_is_a_broken_line_and_a_point_that_does_not_count_a_ring() -> None:
    made_up = made((1, 8, 64))
    made_up.points[1] = point_at(8, provenance=Provenance("points/r8", RunState.FAILED, "reference", "ok", None))
    text = plot_text(rows_of([made_up.curve()]), 80, 20)
    assert "╌╌ Offline" in text
    assert any(line.count("╌") > 40 for line in text.split("\n"))
    assert text.count("○") == 2, "one in the title"
    assert text.count("●") == 2


def test_colour_and_ascii_only_when_asked() -> None:
    coloured = plot_text(ROWS, colour=True)
    assert "\x1b[36m" in coloured
    assert plot_text(ROWS) == re.sub("\x1b\\[[0-9;]*m", "", coloured)
    plain = plot_text(ROWS, ascii_only=True)
    assert plain.isascii()
    assert plain.count("o") >= 4


@pytest.mark.parametrize("rows", [[], [{"concurrency": 4}], [{"concurrency": 4, "system_tps": None}]])
def test_without_points_one_line_says_so(rows: list[dict[str, Any]]) -> None:
    assert plot_text(rows) == "no point to draw yet"


@pytest.mark.parametrize("count", [1, 2, 7, 33])
def test_any_number_of_points_fits(count: int) -> None:
    rows = [{"concurrency": 1 + k * k, "system_tps": 10.0 * k, "tps_per_user": 99.0 - k} for k in range(count)]
    for x in ("concurrency", "interactivity_tps"):
        lines = plot_text(rows, 72, 14, x=x).split("\n")
        assert len(lines) <= 14
        assert max(map(len, lines)) <= 72
        assert any("●" in line for line in lines)


def test_an_unknown_axis_is_refused() -> None:
    with pytest.raises(InputError, match="wanted an axis of concurrency, interactivity_tps"):
        plot_text(ROWS, x="price")


def test_the_plot_does_not_depend_on_the_terminal_and_plotext_is_imported_late() -> None:
    code = (
        "import sys, json; from wholecurve.report import plot_text; assert 'plotext' not in sys.modules; "
        "print(plot_text(json.loads(sys.argv[1]), 80, 20))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, json.dumps(ROWS)], capture_output=True, text=True, timeout=30, check=True,
        env={**os.environ, "COLUMNS": "30", "LINES": "9", "PYTHONIOENCODING": "utf-8"},
    )  # fmt: skip
    assert done.stdout == plot_text(ROWS, 80, 20) + "\n"
