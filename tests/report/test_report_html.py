"""The page: offline, without scripts, accessible, small, and safe with hostile values everywhere."""

from __future__ import annotations

import base64
import copy
import hashlib
import re
from html.parser import HTMLParser
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from report_build import HOSTILE, MS, S, made_columns, made_plan, made_summary, made_worker

from wholecurve.metrics import Columns
from wholecurve.model.record import RunState
from wholecurve.report import report_html

COLUMNS = made_columns()
SUMMARY = made_summary(COLUMNS)
PLAN = made_plan().to_json()
PAGE = report_html(SUMMARY, COLUMNS, {"plan": PLAN, "request": {"model": "m", "messages": []}})
VOID = frozenset({"meta", "link", "br", "img", "input", "hr"})


class Reader(HTMLParser):
    """Every start tag with its attributes, the text, and whether tags are balanced."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.words: list[str] = []
        self.open: list[str] = []
        self.unbalanced: list[str] = []
        self.feed(page)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        if not self.open or self.open.pop() != tag:
            self.unbalanced.append(tag)

    def handle_data(self, data: str) -> None:
        if not self.open or self.open[-1] != "style":
            self.words.append(data)

    @property
    def text(self) -> str:
        return " ".join(" ".join(self.words).split())


def check_safe(page: str) -> Reader:
    """What holds of every page, whatever is in it (REP-4): nothing runs, nothing is loaded."""
    found = Reader(page)
    assert not found.unbalanced
    assert not found.open
    names = {tag for tag, _ in found.tags}
    assert not names & {"script", "iframe", "object", "embed", "img", "image", "use", "base", "form", "audio", "video"}
    for tag, attributes in found.tags:
        for name, value in attributes.items():
            assert not name.startswith("on")
            assert name not in ("style", "src", "srcset", "action", "formaction", "xlink:href", "ping", "poster")
            if name == "href":
                assert value == "data:," or (value or "").startswith("#"), (tag, value)
    style = re.search(r"<style>(.*?)</style>", page, re.DOTALL)
    assert style
    assert "url(" not in style[1]
    assert "@import" not in style[1]
    return found


def test_rep_4_the_page_asks_nothing_of_a_network() -> None:
    check_safe(PAGE)
    outside = [one for one in re.findall(r"https?://[^\s\"<)]+", PAGE) if one != "http://www.w3.org/2000/svg"]
    assert set(outside) == {"http://10.0.0.7:8000/v1"}, "only the endpoint is named, as text"


def test_the_policy_forbids_everything_but_this_very_style_sheet() -> None:
    policy = (
        next(a["content"] for tag, a in Reader(PAGE).tags if a.get("http-equiv") == "Content-Security-Policy") or ""
    )
    style = re.search(r"<style>(.*?)</style>", PAGE, re.DOTALL)
    assert style
    digest = base64.b64encode(hashlib.sha256(style[1].encode()).digest()).decode()
    assert policy.split("; ") == [
        "default-src 'none'", f"style-src 'sha256-{digest}'", "img-src data:", "base-uri 'none'", "form-action 'none'",
    ]  # fmt: skip
    assert PAGE.index("Content-Security-Policy") < PAGE.index("<style>"), "the policy comes before what it governs"


def test_the_page_is_well_made() -> None:
    found = Reader(PAGE)
    assert PAGE.startswith("<!DOCTYPE html>\n<html lang=")
    identities = [a["id"] for _, a in found.tags if "id" in a]
    assert len(identities) == len(set(identities))
    for _, attributes in found.tags:
        for name in (attributes.get("aria-labelledby") or "").split():
            assert name in identities
        if (attributes.get("href") or "").startswith("#"):
            assert (attributes["href"] or "")[1:] in identities
    levels = [int(tag[1]) for tag, _ in found.tags if re.fullmatch("h[1-6]", tag)]
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert all(after - before <= 1 for before, after in pairwise(levels)), "no level is skipped"


def test_what_scrolls_can_be_reached_and_is_named() -> None:
    scrolling = [a for tag, a in Reader(PAGE).tags if a.get("class") == "scroll"]
    assert len(scrolling) >= 4
    for attributes in scrolling:
        assert attributes["tabindex"] == "0"
        assert attributes["role"] == "region"
        assert attributes["aria-label"]


def test_light_dark_print_and_narrow_are_provided_for() -> None:
    for wanted in ("prefers-color-scheme:dark", "@media print", "max-width:560px", "color-scheme:light dark"):
        assert wanted in PAGE
    assert 'name="viewport" content="width=device-width, initial-scale=1"' in PAGE


def test_the_page_says_what_report_txt_says() -> None:
    text = Reader(PAGE).text
    for wanted in (
        "Client: ok", "Run: complete", "600 sent = 594 succeeded + 6 failed + 0 cancelled + 0 lost", "1,173 tokens/s",
        "16 asked for", "openai-chat, streamed", "http_503", '{"error": "overloaded"}', "reference tokenizer",
        "kernel: every read was stamped on arrival", "3f" * 32, "ab" * 32, "plan.seed", "git_sha",
        "First output-bearing event - issued", "CPU of the busiest worker", "> 80.0 %", "370 ms*",
    ):  # fmt: skip
        assert wanted in text, wanted


def test_every_figure_is_there_with_its_marks() -> None:
    titles = re.findall(r'font-weight="600">([^<]+)</text>', PAGE)
    assert titles == [
        "Requests in flight", "Output tokens per second", "TTFT over time", "TTFT", "TPOT", "Gap between output events",
        "Request latency", "Input length", "Output length", "TTFT: share of requests within a time",
        "TTFT by input length", "Latency by output length",
    ]  # fmt: skip
    for wanted in ("asked for: 16", "P50 113 ms", "P90 170 ms", "P99 247 ms", "P90 162"):
        assert f">{wanted}</text>" in PAGE
    assert "no data" not in PAGE


@pytest.mark.parametrize("where", ["client", "state"])
def test_trouble_is_shown_with_words_and_signs(where: str) -> None:
    more: dict[str, Any] = (
        {"workers": (made_worker(cpu_ns=59 * S),)} if where == "client" else {"state": RunState.FAILED}
    )
    text = check_safe(report_html(made_summary(COLUMNS, **more), COLUMNS, {})).text
    if where == "client":
        assert "✕ Client: client-limited" in text
        assert "What to do: use more workers or a faster machine." in text
    else:
        assert "Run: failed" in text
        assert "the run is failed" in text


def test_hostile_values_everywhere_stay_text() -> None:
    plan = made_plan(text=HOSTILE)
    columns = made_columns(detail=HOSTILE)
    columns.texts["finish_reason"][0] = HOSTILE  # type: ignore[index]
    summary = made_summary(columns, plan, extra={HOSTILE: HOSTILE}, version=HOSTILE, git_sha=HOSTILE)
    summary["health"]["reasons"] = [{"verdict": HOSTILE, "sentence": HOSTILE, "remedy": HOSTILE}]
    summary["health"]["verdict"] = summary["stamp_source"] = summary["token_source"] = HOSTILE
    summary["not_measured"] = dict.fromkeys(summary["not_measured"], HOSTILE)
    summary["violations"] = [{"code": HOSTILE, "sentence": HOSTILE, "violations": 1, "requests": [HOSTILE]}]
    summary["validity"]["invalid_reasons"] = summary["decided_differently"] = [HOSTILE]
    extra = {"plan": plan.to_json(), "request": {HOSTILE: HOSTILE}, HOSTILE: HOSTILE}
    page = report_html(summary, columns, extra)
    found = check_safe(page)
    assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2060-\u206f]", page)
    assert found.text.count("<script>alert(1)</script>") > 10


@pytest.mark.parametrize("key", sorted(SUMMARY))
def test_any_missing_key_is_survived(key: str) -> None:
    check_safe(report_html({name: value for name, value in SUMMARY.items() if name != key}, COLUMNS, {}))


SERIES_PLACES = [
    (name, part) for name in ("ttft", "gaps", "output_sequence_lengths") for part in ("histogram", "percentiles", "n")
]  # fmt: skip
ODD = st.sampled_from([
    None, HOSTILE, float("nan"), [], {"buckets": [[1, 2]], "counts": []}, {"buckets": [[0, 0]], "counts": [3]},
    {"buckets": [[1, float("nan")]], "counts": [1]}, {"buckets": [[9, 1]], "counts": [-4]}, {"buckets": 3, "counts": 4},
    {"90.0": 0, "50.0": -5, "99.0": "x"}, {"buckets": [[0, 5], [5, 90]], "counts": [10**30, 1]},
])  # fmt: skip


@settings(max_examples=40, deadline=None)
@given(st.sampled_from(SERIES_PLACES), ODD)
def test_a_damaged_series_is_survived(place: tuple[str, str], odd: object) -> None:
    summary = copy.deepcopy(SUMMARY)
    summary[place[0]][place[1]] = odd
    check_safe(report_html(summary, COLUMNS, {}))


def nothing_of(columns: Columns) -> Columns:
    return columns.where(columns["index"] < 0)


def failures_of(columns: Columns) -> Columns:
    return columns.where(~columns.succeeded)


@pytest.mark.parametrize("part", [nothing_of, failures_of])
def test_without_successes_figures_say_that_nothing_was_measured(part: Any) -> None:
    columns = part(COLUMNS)
    text = check_safe(report_html(made_summary(columns), columns, {})).text
    assert text.count("not measured (no request succeeded)") >= 6
    assert "no data" in text
    assert "NaN" not in text


@pytest.mark.parametrize("requests", [1, 2, 30])
def test_few_requests_are_drawn(requests: int) -> None:
    columns = made_columns(requests, 1)
    check_safe(report_html(made_summary(columns), columns, {}))


def test_zero_gaps_and_equal_lengths_are_drawn() -> None:
    columns = made_columns(60, 4)
    columns.gaps_ns[::2] = 0
    columns.gaps_ns[1::4] = 0
    columns.gaps_ns[3] *= 20
    for name in ("osl", "usage_output"):
        columns.numbers[name][columns.succeeded] = 128
    page = report_html(made_summary(columns), columns, {})
    check_safe(page)
    assert "P50 128" in page
    assert "gap between output events, first bar from 0 (log scale)" in page
    assert ">P50 0 ns</text>" in page, "a percentile of zero stays on the chart"


def test_10k_requests_stay_under_400_kb() -> None:
    columns = made_columns(10_000, 256)
    page = report_html(made_summary(columns, made_plan(256)), columns, {"plan": PLAN})
    assert len(page.encode()) < 400_000


def test_the_example_request_is_redacted_and_bounded() -> None:
    body = {"model": "m", "api_key": "sk-very-secret", "messages": [{"role": "user", "content": "x" * 100_000}]}
    page = report_html(SUMMARY, COLUMNS, {"request": body})
    assert "sk-very-secret" not in page
    assert "(redacted)" in page
    assert len(page) < len(PAGE) + 5_000
    assert "An example request body" not in report_html(SUMMARY, COLUMNS, {"request": "not JSON: sk-very-secret"})


def test_the_same_input_gives_the_same_page() -> None:
    assert report_html(SUMMARY, COLUMNS, {"plan": PLAN}) == report_html(SUMMARY, COLUMNS, {"plan": PLAN})


def test_throughput_is_in_bins_of_about_a_second() -> None:
    (width,) = re.findall(r">output, bins of ([\d.]+ m?s) \(tokens/s\)<", PAGE)
    value, unit = width.split()
    assert 0.9 * S < float(value) * (S if unit == "s" else MS) < 1.1 * S
