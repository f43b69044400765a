"""report.txt and the terminal: what they say, in what room, and that nothing hostile gets through."""

from __future__ import annotations

import copy
import io
import re
from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from report_build import HOSTILE, S, made_columns, made_plan, made_summary, made_worker
from rich.console import Console

from wholecurve.model.record import RunState
from wholecurve.model.strict_json import dumps_strict
from wholecurve.report import report_html, report_text, show
from wholecurve.report.reading import share
from wholecurve.report.view import STATUSES

SUMMARY = made_summary()
PLAN = made_plan().to_json()
UNSAFE = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff]")


def shown(summary: Mapping[str, Any], width: int = 80, path: str = "", **more: Any) -> str:
    """What `show` prints on a terminal that knows nothing."""
    file = io.StringIO()
    show(summary, Console(file=file, width=width, **more), path, PLAN)
    return file.getvalue()


def lines_of(text: str, title: str) -> list[str]:
    """The lines of one section of report.txt."""
    _, _, rest = text.partition(f"\n{title}\n{'-' * len(title)}\n")
    return rest.split("\n\n")[0].split("\n")


def test_the_made_summary_is_strict_json() -> None:
    assert dumps_strict(SUMMARY).startswith(b"{")


def test_text_says_what_was_measured_and_how_it_went() -> None:
    text = report_text(SUMMARY, PLAN)
    sections = re.findall(r"\n\n(.+)\n-+\n", text)
    assert sections[0] == "Client", "the verdict on the client comes first"
    assert lines_of(text, "Client") == ["OK  The client was not the limit: the figures are the endpoint's."]
    subject = "\n".join(lines_of(text, "What was measured"))
    for wanted in (
        "meta-llama/Llama-3.1-8B",
        "http://10.0.0.7:8000/v1",
        "openai-chat, streamed",
        "chat.jsonl, 500 rows",
    ):
        assert wanted in subject
    assert "16 asked for, 16 at the peak, 16.0 held" in subject
    assert lines_of(text, "State") == [
        "complete: everything planned was done",
        "600 sent = 594 succeeded + 6 failed + 0 cancelled + 0 lost",
        "status: unverified: no registry has a record of it",
    ]


@pytest.mark.parametrize(
    ("status", "words"), [*STATUSES.items(), (None, STATUSES["unverified"]), ("gold", STATUSES["unverified"])]
)
def test_every_report_says_what_standing_the_result_has(status: str | None, words: str) -> None:
    """DESIGN 1: a status is copied from a registry's record; anything else is unverified, and never looks better."""
    summary = SUMMARY | {"status": status}
    page = report_html(summary, made_columns(30), {})
    assert f"status: {words}" in report_text(summary)
    assert f"status: {words}" in shown(summary)
    assert f"Status: {words}." in page


def test_shares_are_written_in_one_way() -> None:
    """A space before the sign, as in sentences."""
    assert [share(value) for value in (0, 1, 0.999, 0.0058)] == ["0 %", "100 %", "99.9 %", "0.580 %"]


def test_without_a_plan_the_summary_says_what_it_knows() -> None:
    workload = {
        "endpoint": {"urls": ["https://h:1/v1"], "model": "m", "dialect": "openai-chat", "tls_verified": False},
        "datasets": [{"name": "chat", "file": "chat.jsonl", "rows": 500}],
        "state_reason": "SIGINT, once",
    }
    text = report_text(made_summary(state=RunState.INTERRUPTED, extra=workload))
    subject = "\n".join(lines_of(text, "What was measured"))
    for wanted in ("https://h:1/v1 (TLS not verified)", "openai-chat", "chat.jsonl, 500 rows"):
        assert wanted in subject
    assert "(SIGINT, once)" in " ".join(lines_of(text, "State"))


def test_long_lists_of_settings_are_cut() -> None:
    text = report_text(SUMMARY | {"workload": {"skipped": list(range(10_000)), "steps": [{"at": 1}] * 10_000}})
    assert len(text) < 20_000
    assert text.count("… 10000 in all") == 2


def test_text_has_the_five_figures() -> None:
    assert [line.split("  ")[0] for line in lines_of(report_text(SUMMARY), "Figures")] == [
        "Concurrency", "TTFT P90", "System throughput", "Per provisioned kW", "Per user",
    ]  # fmt: skip
    figures = "\n".join(lines_of(report_text(SUMMARY), "Figures"))
    assert re.search(r"TTFT P90 +170 ms", figures)
    assert re.search(r"System throughput +1,173 tokens/s", figures)
    assert re.search(r"Per provisioned kW +not measured \(no power description", figures)


def test_tails_that_n_cannot_support_are_marked() -> None:
    text = report_text(SUMMARY)
    (row,) = [line for line in lines_of(text, "Series over successes") if line.startswith("TTFT  ")]
    assert row.split()[:2] == ["TTFT", "594"]
    assert "370 ms*" in row, "594 samples cannot support P99.9"
    assert "247 ms " in row, "594 samples support P99"
    assert "\n* n is too small" in text


def test_rep_8_failures_stand_beside_successes_and_the_run_is_not_valid() -> None:
    summary = made_summary(made_columns(200))
    assert summary["failures"]["failed_share"] == 0.01
    worse = made_summary(made_columns(199))
    for text in (report_text(worse), shown(worse)):
        assert "199 sent = 197 succeeded + 2 failed" in text
        assert "not valid as a result" in text.lower()
        assert "limit 1.00 %" in text
    assert "not valid" not in report_text(summary).lower()
    (kind, example) = lines_of(report_text(worse), "Failures")[:2]
    assert kind.split(maxsplit=1) == ["2", "http_503: the endpoint answered with an error status 503"]
    assert '{"error": "overloaded"}' in example


def test_rep_7_text_holds_version_seeds_hashes_and_settings() -> None:
    provenance = "\n".join(lines_of(report_text(SUMMARY, PLAN), "Settings and provenance"))
    for wanted in (
        r"version +1\.0\.0", r"git_sha +0123abcd", r"plan\.seed +42", r"dataloader_random_seed +42",
        r"plan\.datasets\[0\]\.sha256 +(3f){32}\n", r"plan\.tokenizer\.sha256 +(ab){32}\n",
        r"plan\.request\.max_tokens +700",
    ):  # fmt: skip
        assert re.search(wanted, provenance), wanted


def test_a_strained_client_says_why_and_what_to_do() -> None:
    summary = made_summary(workers=(made_worker(cpu_ns=54 * S),))
    for text in (report_text(summary), shown(summary)):
        assert "STRAINED" in text
        assert "the busiest worker used 90.0 % of a core" in text
        assert "use more workers or a faster machine" in text


@pytest.mark.parametrize("state", [RunState.INTERRUPTED, RunState.FAILED])
def test_a_run_that_did_not_end_says_so(state: RunState) -> None:
    summary = made_summary(state=state)
    assert f"{state}: " in lines_of(report_text(summary), "State")[0]
    assert f"the run is {state}" in report_text(summary)
    assert state.upper() in shown(summary)


def test_without_tokens_figures_are_not_measured_with_their_reason() -> None:
    columns = made_columns(tokens=False)
    columns.numbers["usage_output"][:] = columns.numbers["isl"]
    summary = made_summary(columns)
    text = report_text(summary)
    assert "not measured (no tokens were counted" in text
    assert not re.search(r"\b(nan|NaN|None|inf|Infinity)\b", text)


def test_an_empty_summary_is_a_report_of_nothing_measured() -> None:
    for text in (report_text({}), shown({})):
        assert "not measured" in text.lower()
        assert not re.search(r"\bnan\b|\bNone\b", text)


@pytest.mark.parametrize("key", sorted(SUMMARY))
def test_any_missing_key_is_survived(key: str) -> None:
    less = {name: value for name, value in SUMMARY.items() if name != key}
    assert report_text(less, PLAN)
    assert shown(less)


def _places(value: object, path: tuple[str | int, ...] = ()) -> list[tuple[str | int, ...]]:
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [path, *(place for key, one in inner for place in _places(one, (*path, key)))]


PLACES = [path for path in _places({k: v for k, v in SUMMARY.items() if k != "timeline"}) if path]


@settings(max_examples=150, deadline=None)
@given(st.sampled_from(PLACES), st.sampled_from([None, "", HOSTILE, -1, 0, float("nan"), [], {}, [1], {"a": 1}, True]))
def test_any_odd_value_is_survived_and_made_harmless(path: tuple[str | int, ...], odd: object) -> None:
    summary: Any = copy.deepcopy(SUMMARY)
    holder = summary
    for key in path[:-1]:
        holder = holder[key]
    holder[path[-1]] = odd
    for text in (report_text(summary, PLAN), shown(summary)):
        assert not UNSAFE.search(text)


def test_hostile_text_cannot_move_the_cursor_or_turn_the_line_or_widen_the_page() -> None:
    plan = made_plan(text=HOSTILE)
    summary = made_summary(made_columns(detail=HOSTILE * 3), plan, extra={"note": HOSTILE}, version=HOSTILE)
    text = report_text(summary, plan.to_json())
    assert not UNSAFE.search(text)
    assert "\\u202e" in text
    assert max(map(len, text.split("\n"))) <= 100
    file = io.StringIO()
    show(summary, Console(file=file, width=80), HOSTILE, plan.to_json())
    assert not UNSAFE.search(file.getvalue())
    assert "[red]" in file.getvalue(), "markup of others is text"


def test_secrets_are_redacted_by_name() -> None:
    plan = PLAN | {"request": {"extra_body": {"api_key": "sk-very-secret", "stop": ["a"]}}}
    text = report_text(SUMMARY | {"workload": {"password": "hunter2"}}, plan)
    assert "sk-very-secret" not in text
    assert "hunter2" not in text
    assert "(redacted)" in text


@pytest.mark.parametrize("width", [100, 80])
def test_text_is_at_most_100_columns(width: int) -> None:
    assert max(map(len, report_text(SUMMARY, PLAN).split("\n"))) <= 100
    assert max(map(len, shown(SUMMARY, width).split("\n"))) <= width


def test_the_terminal_report_is_one_screen_and_ends_with_the_place_of_the_files() -> None:
    summary = made_summary(made_columns(199), workers=(made_worker(cpu_ns=54 * S, gc_pause_max_ns=S),))
    text = shown(summary, path="runs/one point")
    assert len(text.rstrip("\n").split("\n")) <= 40
    assert text.endswith("Files: runs/one point\n")
    assert "\x1b" not in text, "no colour where there is no terminal"


def test_what_an_indented_line_goes_on_with_is_indented_further() -> None:
    caution = "words " * 30
    lines = shown(SUMMARY | {"cautions": [caution.strip()]}).splitlines()
    first = next(number for number, line in enumerate(lines) if line.startswith("  Read with care: "))
    rest = lines[first + 1 : lines.index("", first)]
    assert len(rest) >= 2
    assert all(re.match(r" {4}\S", line) and len(line.rstrip()) <= 80 for line in rest)
    assert " ".join(" ".join([lines[first], *rest]).split()) == f"Read with care: {caution.strip()}"


def test_a_long_path_is_never_broken() -> None:
    path = "runs/" + "a-long-name-" * 12 + "end"
    assert f"Files: {path}\n" in shown(SUMMARY, width=40, path=path)


@pytest.mark.parametrize("width", [20, 30, 40, 60])
def test_a_narrow_terminal_loses_columns_but_not_p90(width: int) -> None:
    text = shown(SUMMARY, width)
    if width >= 40:
        assert max(map(len, text.split("\n"))) <= width
    assert "P90" in text
    assert "170 ms" in text


def test_colour_is_never_the_only_channel() -> None:
    file = io.StringIO()
    show(SUMMARY, Console(file=file, width=80, force_terminal=True, color_system="standard", legacy_windows=False))
    assert "\x1b[" in file.getvalue()
    plain = re.sub(r"\x1b\[[\d;]*m", "", file.getvalue())
    assert "Client: OK" in plain
    assert "Run: COMPLETE" in plain


def test_a_terminal_without_unicode_is_not_a_failure() -> None:
    raw = io.BytesIO()
    file = io.TextIOWrapper(raw, encoding="ascii")
    show(SUMMARY, Console(file=file, width=80), "runs/\u00fcber", PLAN)
    file.flush()
    assert b"170 ms" in raw.getvalue()
