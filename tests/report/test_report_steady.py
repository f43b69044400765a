"""The steady state and official figures in every report: window, interval, whole run, and why not."""

from __future__ import annotations

import copy
import io
import re
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from report_build import HOSTILE, MS, S, made_columns, made_plan, made_summary
from rich.console import Console

from wholecurve.metrics import Columns
from wholecurve.model.plan import Plan, RulesPlan
from wholecurve.report import report_html, report_text, show

RULES = RulesPlan(
    version="v1_0", edition="E3", fingerprint="f", kind="single_turn", min_window_ns=S, min_super_passes=4,
    lead_super_passes=1,
)  # fmt: skip
ROWS = 60


def plan_of(rows: int = ROWS, rules: RulesPlan = RULES) -> Plan:
    made = made_plan()
    return replace(made, phases=(replace(made.phases[0], rows=rows),), rules=rules)


def paced(levels_ms: list[float]) -> Columns:
    """The made run, its TPOT replaced by these levels, one for each pass, with a little noise."""
    columns = made_columns(ROWS * len(levels_ms))
    noise = 1 + 0.01 * np.random.default_rng(3).standard_normal(columns.n)
    pace, good = np.repeat(levels_ms, ROWS) * MS * noise, columns.succeeded
    spans = np.rint(pace[good] * columns["osl_after_first"][good]).astype(np.int64)
    last = columns["first_output_ns"][good] + spans
    columns.numbers["last_output_ns"][good] = last
    columns.numbers["completed_ns"][good] = np.maximum(last, columns["completed_ns"][good])
    return columns


FLAT = paced([10.0] * 12)
SUMMARY = made_summary(FLAT, plan_of())
DRIFT = made_summary(paced([10.0] * 8 + [10.0 + step for step in range(1, 11)]), plan_of())
STEP = made_summary(paced([10.0] * 8 + [15.0] * 8), plan_of())
SHORT = made_summary(FLAT, plan_of(rows=600))
LOW = made_summary(FLAT, plan_of(rules=replace(RULES, min_window_ns=900 * S)))
RISING = made_summary(paced([10.0 * 1.2**step for step in range(12)]), plan_of())


def shown(summary: dict[str, Any], width: int = 80) -> str:
    file = io.StringIO()
    show(summary, Console(file=file, width=width), "", plan_of().to_json())
    return file.getvalue()


def one_line(text: str) -> str:
    return " ".join(text.split())


def page_text(summary: dict[str, Any]) -> str:
    page = re.sub(r"<style>.*?</style>", "", report_html(summary, FLAT, {}), flags=re.DOTALL)
    return one_line(re.sub(r"<[^>]+>", " ", page))


def test_the_made_runs_are_what_their_names_say() -> None:
    verdicts = [one["steady_state"]["verdict"] for one in (SUMMARY, DRIFT, STEP, RISING)]
    assert verdicts == ["STEADY STATE", "drifting_up", "anomaly", "not found"]
    assert SUMMARY["official"]["basis"] == "window"
    assert LOW["official"]["basis"] == SHORT["official"]["basis"] == "total"


def test_official_values_stand_with_basis_interval_and_whole_run() -> None:
    figures = SUMMARY["official"]["figures"]
    window, total = (f"{figures['system_tps'][basis]:,.0f}" for basis in ("window", "total"))
    assert window != total
    low, high = (f"{figures['system_tps']['interval'][end]:,.0f}" for end in ("low", "high"))
    assert (
        f"System throughput {window} tokens/s (steady window; 95 %: {low} to {high} tokens/s; "
        f"whole run {total} tokens/s)"
    ) in one_line(report_text(SUMMARY))
    (row,) = [line for line in shown(SUMMARY).splitlines() if line.startswith("System throughput")]
    assert one_line(row) == f"System throughput {window} tokens/s 95 %: {low} to {high} whole run {total}"
    assert f"{window} tokens/s 95 %: {low} to {high} tokens/s over the steady window; whole run {total}" in page_text(
        SUMMARY
    )


def test_a_figure_of_the_whole_run_says_so_and_has_none_beside_it() -> None:
    text = report_text(LOW)
    assert "(whole run; 95 %:" in text
    assert "; whole run " not in text


@pytest.mark.parametrize(
    ("summary", "headline", "meaning"),
    [
        (SUMMARY, "STEADY STATE", "stood still from the window on"),
        (LOW, "STEADY STATE", "stood still from the window on"),
        (DRIFT, "drifting up", "After the window time per output token rose"),
        (STEP, "anomaly", "stepped to another level"),
        (RISING, "not found", "never stood still"),
    ],
)
def test_the_verdict_and_what_it_means(summary: dict[str, Any], headline: str, meaning: str) -> None:
    for text in (one_line(report_text(summary)), page_text(summary)):
        assert headline in text
        assert meaning in text
    text = shown(summary)
    assert f"Steady state: {headline}" in text or (summary is RISING and "no steady window: no plateau" in text)


def test_two_levels_say_which_of_them_is_reported() -> None:
    first, both = "The first level is reported", "over the whole run, both levels included"
    over = {basis: STEP | {"steady_state": STEP["steady_state"] | {"basis": basis}} for basis in ("window", "total")}
    for text_of in (lambda one: one_line(report_text(one)), page_text):
        assert (first in text_of(over["window"]), both in text_of(over["window"])) == (True, False)
        assert (first in text_of(over["total"]), both in text_of(over["total"])) == (False, True)


def test_the_window_is_placed_and_the_basis_explained() -> None:
    window = SUMMARY["steady_state"]["window"]
    place = f"super-passes {window['super_pass_start']} to {window['super_pass_end']}, {window['requests']} requests"
    for text in (one_line(report_text(SUMMARY)), page_text(SUMMARY), one_line(shown(SUMMARY))):
        assert place in text
        assert "over the steady window" in text
    for text in (one_line(report_text(LOW)), page_text(LOW), one_line(shown(LOW))):
        assert "over the whole run: the steady window spans" in text
        assert "wanted 15 min: run longer" in text
    assert "windowable: the window is long enough to carry the official figures" in report_text(SUMMARY)


def test_a_drifting_figure_is_a_range() -> None:
    figure = DRIFT["official"]["figures"]["tps_per_user"]
    low, high = f"{figure['low']:.1f}", f"{figure['high']:.1f}"
    (row,) = [line for line in shown(DRIFT).splitlines() if line.startswith("Per user")]
    assert one_line(row).startswith(f"Per user {low} to {high} tokens/s range, it drifts whole run ")
    assert "range, it drifts" in report_text(DRIFT)
    assert re.search(r"after the window +TPOT P50 drifting up: [\d.]+ %, [\d.]+ to [\d.]+ ms", report_text(DRIFT))


def test_a_step_is_told() -> None:
    assert "level shift at super-pass 8: tpot_p50 +5" in one_line(report_text(STEP))


@pytest.mark.parametrize("text", [report_text(SHORT), shown(SHORT), page_text(SHORT)])
def test_a_run_of_few_passes_has_one_line(text: str) -> None:
    assert "o steady window: the run has 1.2 passes of the data set, wanted at least 5" in one_line(text)
    assert "super-passes" not in re.sub(r"Definitions.*", "", one_line(text))


def test_charts_per_super_pass_with_the_window_shaded() -> None:
    page = report_html(SUMMARY, FLAT, {})
    assert re.findall(r'font-weight="600">([^<]+ per super-pass)</text>', page) == [
        "TPOT per super-pass", "TTFT per super-pass",
    ]  # fmt: skip
    assert page.count('class="wc-band"') == 2
    assert page.count(">steady window</text>") == 2
    rising = report_html(RISING, FLAT, {})
    assert "TPOT per super-pass" in rising, "what moved is shown"
    assert 'class="wc-band"' not in rising
    assert "per super-pass</text>" not in report_html(SHORT, FLAT, {})


def test_a_gap_in_a_series_breaks_the_line() -> None:
    summary = copy.deepcopy(SUMMARY)
    whole = report_html(summary, FLAT, {}).count('class="wc-line wc-t0"')
    summary["steady_state"]["series"]["tpot_p50"][4] = None
    assert report_html(summary, FLAT, {}).count('class="wc-line wc-t0"') == whole + 1


@pytest.mark.parametrize("summary", [SUMMARY, DRIFT, STEP, SHORT, LOW, RISING])
@pytest.mark.parametrize("width", [60, 80])
def test_it_fits_the_terminal(summary: dict[str, Any], width: int) -> None:
    lines = shown(summary, width).split("\n")
    assert max(map(len, lines)) <= width
    if width == 80 and summary["health"]["verdict"] == "ok":
        assert len(lines) <= 40, "one screen"


PLACES = [("steady_state",), ("official",)]
PLACES += [(part, key) for (part,) in PLACES for key in SUMMARY[part]]


@pytest.mark.parametrize("odd", [None, HOSTILE, [], {}, -1, float("nan"), True, {"tps_per_user": {"value": HOSTILE}}])
@pytest.mark.parametrize("place", PLACES, ids=".".join)
def test_odd_values_are_survived_and_harmless(place: tuple[str, ...], odd: object) -> None:
    summary: Any = copy.deepcopy(DRIFT)
    holder = summary
    for key in place[:-1]:
        holder = holder[key]
    holder[place[-1]] = odd
    page = report_html(summary, FLAT, {})
    assert "<script" not in page
    for text in (report_text(summary), shown(summary)):
        assert not re.search("[\x00-\x09\x0b-\x1f\x7f-\x9f\u202e\u2066]", text)
