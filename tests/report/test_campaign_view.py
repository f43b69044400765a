"""What is said of a whole curve: state, warnings, key figures, journal, points; with anything missing."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from campaign_build import LEVELS, columns_at, identity, journal, made, point_at, summary_at
from report_build import HOSTILE

from wholecurve.metrics import Columns
from wholecurve.model.curve import curve_of
from wholecurve.model.point import Figure, Power, Provenance
from wholecurve.model.record import RunState
from wholecurve.report import CampaignView, campaign_view
from wholecurve.report.campaign_accuracy import scores_of
from wholecurve.report.campaign_journal import attempts_of, number_of_extension, seconds_of, turns
from wholecurve.report.campaign_keys import knee_of
from wholecurve.report.campaign_points import interval_of, link_of, listed
from wholecurve.report.campaign_shapes import common_ends

MS = 1_000_000


def card(view: CampaignView, start: str) -> tuple[str, str, str]:
    (found,) = [one for one in view.cards if one.label.startswith(start)]
    return found.value, found.unit, found.note


def said(view: CampaignView, what: str) -> list[str]:
    return [one.said for one in view.warnings if one.what == what]


def with_figures(
    level: int, tps: float | None, speed: float | None = 50.0, wait: float | None = 1e8, **more: Any
) -> Any:
    """A point with these figures alone."""
    none = Figure(None, "nothing was counted")
    values = {"system_tps": tps, "tps_per_user": speed, "ttft_p90_ns": wait}
    figures = {key: none if value is None else Figure(value) for key, value in values.items()}
    return point_at(level, figures={**figures, "output_length_mean": Figure(90.0)}, **more)


ANY_ROWS = "20 rows; 1 failed, 2 cut at the output limit"


def own_score(value: float, least: float | None, passed: bool | None, reason: str = "") -> dict[str, Any]:
    """An entry of accuracy_results.json as `wholecurve.accuracy` writes it."""
    judged = [{"metric": "em", "least": least, "value": value, "passed": passed, "reason": reason}]
    return {
        "dataset_name": "acc", "total_samples": 20, "metrics": {"em": {"value": value, "unit": "of 100"}},
        "score": {"em": value / 100}, "response_counts": {"failed": 1, "cut_at_limit": 2, "empty": 0},
        "gate": {"passed": passed, "reason": reason, "metrics": [] if least is None else judged},
    }  # fmt: skip


def test_a_complete_campaign_says_so_and_answers_first() -> None:
    view = made().view()
    assert (view.state, view.complete, view.missing) == ("complete", True, ())
    assert view.status == "unverified, local"
    best = max(view.points[:-1], key=lambda one: one.system.value or 0)
    assert card(view, "Highest system")[2].startswith(f"at concurrency {best.name}, TTFT P90 ")
    assert card(view, "Concurrency") == ("1 to 128", "", "7 levels measured")
    assert card(view, "Highest interactivity")[2] == "for one user, at concurrency 1"
    assert card(view, "Offline")[1:] == ("tokens/s", "a dedicated run")
    assert card(view, "Highest per")[1:] == ("tokens/s/kW", f"at concurrency {best.name}, of 10.2 kW, estimated")
    assert [one.title for one in view.stretches] == ["Ultra Low", "Low", "Medium", "High", "margin"]
    assert [one.region for one in view.points[:3]] == ["Ultra Low", "Low", "Medium"]


def test_the_knee_is_the_point_farthest_above_the_straight_line() -> None:
    made_up = made((1, 8, 64, 512), offline=False)
    # Shares of the way: 0, 0.014, 0.123, 1; of the height: 0, 0.108, 0.490, 1. The third is farthest above.
    made_up.points = [with_figures(level, tps) for level, tps in ((1, 100), (8, 640), (64, 2560), (512, 5120))]
    view = made_up.view()
    assert view.knee is not None
    assert (view.knee.concurrency, view.knee.system_tps) == (64, 2560)
    assert view.knee.bend == pytest.approx(2460 / 5020 - 63 / 511)


@pytest.mark.parametrize(
    ("levels", "why"),
    [([], "no level was measured"), ([(1, 5.0)], "fewer than three levels"),
     ([(1, 5.0), (9, 50.0)], "fewer than three levels"),
     ([(1, 10.0), (2, 20.0), (3, 30.0)], "no level lies clearly above a straight line"),
     ([(1, 9.0), (2, 5.0), (3, 4.0)], "fewer than three levels up to the highest throughput, at concurrency 1"),
     ([(1, None), (2, None), (4, None)], "no level was measured")],
)  # fmt: skip
def test_a_curve_without_a_bend_has_no_knee(levels: list[tuple[int, float | None]], why: str) -> None:
    made_up = made([level for level, _ in levels] or (1,), offline=False)
    made_up.points = [with_figures(level, tps) for level, tps in levels]
    view = made_up.view()
    assert knee_of(view.rows) is None
    assert card(view, "Knee")[0] == "none"
    (said,) = [one.note for one in view.cards if one.label == "Knee"]
    assert said.startswith(why)


def test_falling_throughput_is_named_with_its_share() -> None:
    made_up = made((1, 8, 64), offline=False)
    made_up.points = [with_figures(1, 100.0), with_figures(8, 80.0), with_figures(64, 60.0)]
    assert said(made_up.view(), "throughput falls") == [
        "System throughput falls from concurrency 1 to 8 by 20.0 %.",
        "System throughput falls from concurrency 8 to 64 by 25.0 %.",
    ]


def test_points_that_count_for_nothing_are_kept_named_and_missing() -> None:
    made_up = made()
    made_up.points[2] = point_at(
        8, provenance=Provenance("points/r8", RunState.COMPLETE, "reference", "client-limited", None)
    )
    made_up.points[3] = point_at(16, provenance=Provenance("points/r16", RunState.FAILED, "usage", "ok", None))
    view = made_up.view()
    assert [one.label for one in view.points if not one.counts] == ["r8", "r16"]
    assert view.state == "incomplete"
    assert [one.label for one in view.missing] == ["r8", "r16"]
    assert "wholecurve sweep --resume" in view.state_sentence
    assert said(view, "not on the curve") == [
        "Concurrency 8 counts for nothing: client-limited: the client was measured, not the endpoint.",
        "Concurrency 16 counts for nothing: run failed.",
    ]
    assert view.warnings[0].tone == "bad"
    assert said(view, "tokens"), "the endpoint's own count is never official"


def test_one_sentence_names_all_points_it_is_true_of() -> None:
    made_up = made((1, 4, 8), offline=False)
    for label in made_up.summaries:
        made_up.summaries[label] = {**made_up.summaries[label], "validity": {"invalid_reasons": ["too short"]}}
    assert said(made_up.view(), "not valid") == ["Concurrency 1, 4 and 8: too short."]
    assert [listed(list(names)) for names in ("", "a", "ab", "abc")] == ["", "a", "a and b", "a, b and c"]


def test_drift_strain_and_gone_endpoints_are_warnings() -> None:
    made_up = made((1, 4), offline=False)
    made_up.points[0] = point_at(
        1, provenance=Provenance("points/r1", RunState.COMPLETE, "reference", "strained", None)
    )
    made_up.summaries["r4"] = {
        **summary_at(4), "steady_state": {"status": "windowable", "verdict": "drifting_up", "reason": "rises"},
    }  # fmt: skip
    made_up.entries[2:2] = [
        {"event": "endpoint_gone"},
        {"event": "endpoint_back"},
        {"event": "changed", "what": ["model"]},
    ]
    view = made_up.view()
    assert said(view, "not steady") == ["Concurrency 4: drifts up, rises."]
    assert said(view, "client strained")[0].startswith("Concurrency 1: the client was near a limit")
    assert said(view, "endpoint gone")[0].startswith("The endpoint was gone once")
    assert said(view, "not the same configuration") == ["Changed since the start: model."]


def test_duplicates_and_runs_measured_again_are_told() -> None:
    made_up = made((1, 4), offline=False)
    slow = replace(
        made_up.points[1], provenance=Provenance("attempts/r4-1", RunState.COMPLETE, "reference", "ok", None)
    )
    made_up.points.append(replace(slow, figures={**slow.figures, "system_tps": Figure(9e9)}))
    made_up.entries.append({"event": "set_aside", "label": "r4", "why": "not valid"})
    view = made_up.view()
    assert said(view, "set aside") == ["attempts/r4-1: concurrency 4 was measured again in points/r4."]
    assert said(view, "measured again") == ["r4 was set aside: not valid."]


@pytest.mark.parametrize(
    ("last", "state"),
    [
        ("finished", "complete"),
        ("interrupted", "interrupted"),
        ("point_started", "unfinished"),
        ("resumed", "unfinished"),
    ],
)
def test_the_state_is_that_of_the_last_turn_of_the_journal(last: str, state: str) -> None:
    made_up = made((1, 4), offline=False)
    made_up.entries.append({"at": "2026-03-02T09:00:00+00:00", "event": last, "label": "r4"})
    assert made_up.view().state == state


def test_a_campaign_that_lost_its_journal_is_not_called_complete() -> None:
    made_up = made((1, 4), offline=False)
    made_up.entries.clear()
    view = made_up.view()
    assert (view.state, view.complete) == ("unfinished", False)
    assert view.state_sentence.startswith("There is no journal: whether the campaign came to its end")


def test_nothing_measured_is_no_complete_campaign() -> None:
    assert made((), offline=False).view().state == "empty"


def test_an_elected_offline_point_is_not_missing() -> None:
    made_up = made((1, 64), offline=False)
    made_up.points[1] = point_at(64, elected_offline=True)
    made_up.plan["levels"] = [
        {"label": "r1"},
        {"label": "r64", "offline": "elected"},
        {"label": "offline", "offline": "elected"},
    ]
    view = made_up.view()
    assert view.missing == ()
    assert view.points[1].elected
    assert card(view, "Offline")[2] == "elected: the point at C_max stands for it"


def test_order_gaps_and_attempts_come_from_the_journal() -> None:
    entries = journal(["r1", "r4"])
    entries.insert(3, {**entries[1], "attempt": 2})
    entries.insert(4, {**entries[2], "attempt": 2, "valid": False, "extended_ns": [0, 3_000_000_000]})
    found = turns(entries)
    assert [(one.label, one.attempt) for one in found] == [("r1", 1), ("r1", 2), ("r4", 1)]
    assert [one.taken_ns for one in found] == [40e9, 40e9, 40e9]
    assert found[2].gap_ns == 5e9
    assert found[1].state == "complete, not valid"
    assert found[1].extended_ns == 3e9
    assert attempts_of("r1", entries) == 2
    assert attempts_of("r9", entries) is None


@pytest.mark.parametrize("text", ["", "yesterday", "2026-13-01", 5, None, "2026-03-01T09:00:00+99:00", "9" * 400])
def test_a_time_that_is_none_breaks_nothing(text: Any) -> None:
    assert seconds_of(text) is None
    made_up = made((1,), offline=False)
    made_up.entries = [
        {"at": text, "event": "point_started", "label": "r1"},
        {"at": text, "event": "point_ended", "label": "r1"},
    ]
    assert made_up.view().happened[0].gap == ""


@pytest.mark.parametrize(
    ("value", "ns"),
    [({"extended_ns": 5}, 5), ({"extended_ns": [1, None, 2]}, 3), ({"extended_ns": {"0": 0, "1": 4}}, 4), ({}, None),
     ({"extended_ns": []}, None), ({"extended_ns": "long"}, None), (None, None)],
)  # fmt: skip
def test_extensions_are_read_in_every_shape(value: Any, ns: float | None) -> None:
    assert number_of_extension(value) == ns


def test_summaries_without_a_window_say_that_none_was_looked_for() -> None:
    made_up = made((1,), offline=False)
    made_up.summaries["r1"] = {
        key: value for key, value in summary_at(1).items() if key not in ("official", "steady_state")
    }
    made_up.points[0] = point_at(1, provenance=Provenance("points/r1", RunState.COMPLETE, "reference", "ok", None))
    (point,) = made_up.view().points
    assert (point.basis, point.steady, point.window) == ("whole run, not judged", "not looked for", "")
    assert point.requests == "180"
    (windowed,) = made((1,), offline=False).view().points
    assert (windowed.basis, windowed.steady, windowed.requests) == ("window", "steady", "120 of 180")


def test_a_curve_alone_is_enough() -> None:
    curve = curve_of(identity(), "tps_per_user", [point_at(4)])
    view = campaign_view(curve, plan={}, entries=[], summaries={})
    assert view.state == "complete"
    assert view.points[0].ttft_shape is None
    assert view.points[0].taken == "not measured"


def test_a_shape_is_made_of_the_summarys_buckets_else_of_the_records() -> None:
    plain = made((4,), offline=False).view().points[0].ttft_shape
    bare = made((4,), offline=False)
    bare.summaries["r4"] = {**summary_at(4), "ttft": {}, "tpot": {}}
    asked: list[str] = []

    def columns_of(label: str) -> Columns:
        asked.append(label)
        return columns_at(4)

    from_records = bare.view(columns_of=columns_of).points[0].ttft_shape
    assert asked == ["r4", "r4"]
    assert plain is not None
    assert from_records is not None
    assert sum(bar.height for bar in from_records.bars) == sum(bar.height for bar in plain.bars)
    assert from_records.bars[0].low == pytest.approx(plain.bars[0].low, rel=1e-6)
    assert common_ends([plain, None, from_records]) is not None

    def nothing(label: str) -> Columns:
        raise FileNotFoundError(label)

    assert bare.view(columns_of=nothing).points[0].ttft_shape is None


@pytest.mark.parametrize("block", [{"histogram": {"buckets": [[1, 2]], "counts": [1, 2]}}, {"histogram": 5}, None,
                                   {"histogram": {"buckets": ["ab"], "counts": [1]}}])  # fmt: skip
def test_a_damaged_histogram_is_no_shape(block: Any) -> None:
    made_up = made((4,), offline=False)
    made_up.summaries["r4"] = {**summary_at(4), "ttft": block}
    assert made_up.view().points[0].ttft_shape is None


def test_per_kw_is_throughput_by_the_points_own_power() -> None:
    made_up = made((1, 4), offline=False)
    made_up.points[0] = with_figures(1, 100.0, power=Power(4.0, "nodes used"))
    made_up.points[1] = with_figures(4, 300.0, power=Power(None, reason="no power file"))
    first, second = made_up.view().points
    assert first.per_kw.value == 25.0
    assert (second.per_kw.value, second.per_kw.reason) == (None, "no power file")


@pytest.mark.parametrize(
    ("scores", "shown"),
    [
        ({"accuracy_scores": [{"dataset_name": "mmlu", "score": 71.25}]}, [("mmlu", "71.25, no bound", "")]),
        (
            {"mmlu": {"score": {"f1": 0.5, "em": 0.25}}},
            [("mmlu f1", "0.5, no bound", ""), ("mmlu em", "0.25, no bound", "")],
        ),
        (
            {"accuracy_scores": [{"dataset_name": "g", "score": 1, "gate": 2, "passed": False}]},
            [("g", "1, NOT passed, bound 2", "")],
        ),
        ({"accuracy_scores": [{"dataset_name": "g", "score": None}]}, [("g", "not measured, no bound", "")]),
        ({"accuracy_scores": ["x"]}, [("not measured", "not measured, no bound", "")]),
        (
            {"accuracy_scores": [own_score(87.5, 50.0, True)]},
            [("acc em", "87.5 of 100, passed, bound 50", "20 rows; 1 failed, 2 cut at the output limit")],
        ),
        (
            {"accuracy_scores": [own_score(40.0, 50.0, False)]},
            [("acc em", "40 of 100, NOT passed, bound 50", ANY_ROWS)],
        ),
        (
            {"accuracy_scores": [own_score(40.0, 50.0, None, "not judged: 3 of 20 rows were never asked")]},
            [("acc em", "40 of 100, not judged: 3 of 20 rows were never asked", ANY_ROWS)],
        ),
        ({"accuracy_scores": [own_score(40.0, None, None)]}, [("acc em", "40 of 100, no bound", ANY_ROWS)]),
        ({}, []), ({"accuracy_scores": "x"}, []),
    ],
)  # fmt: skip
def test_scores_are_read_in_every_shape(scores: dict[str, Any], shown: list[tuple[str, str, str]]) -> None:
    assert [(one.label, one.said, one.rows) for one in scores_of(scores)] == shown


@pytest.mark.parametrize(
    ("source", "link"),
    [("points/r16", "points/r16/report.html"), ("r16", "points/r16/report.html"), ("../../etc", ""), ("a//b", ""),
     ("javascript:alert(1)/x", ""), ("points/r16/../..", ""), ("/etc/passwd", ""), ('a/"onclick', ""),
     ("a/\u202e", "")],
)  # fmt: skip
def test_only_plain_relative_paths_become_links(source: str, link: str) -> None:
    assert link_of(source, "r16") == link


def test_an_interval_is_shown_in_per_cent_of_its_value() -> None:
    assert interval_of(Figure(100.0, low=98.0, high=103.5)) == "-2.0 to +3.5 %"
    assert interval_of(Figure(100.0)) == ""
    assert interval_of(Figure(0.0, low=0.0, high=1.0)) == ""


def test_every_text_is_harmless() -> None:
    """Bidi marks, escapes and control characters are visible escapes everywhere; secrets are hidden by name."""
    view = made((1, 4, 16), text=HOSTILE).view()
    whole = repr((view.title, view.subject, view.cards, view.warnings, view.points, view.happened, view.blocks))
    assert not any(mark in whole.encode().decode("unicode_escape", "ignore") for mark in ("\x1b[31m\x07",))
    for texts in (view.subject, *(block.pairs for block in view.blocks), view.accuracy):
        for pair in texts:
            assert all(ord(char) >= 32 and char not in "\u202e\u2066\u2028" for text in pair for char in text)
    for one in view.happened:
        assert "\u202e" not in one.said
    assert "secret-in-a-file" not in whole


def test_all_blocks_are_there_and_say_how_to_repeat_it() -> None:
    view = made().view()
    titles = [block.title for block in view.blocks]
    assert titles == [
        "Order of the points, as measured", "How the load was made", "Warm-up, as declared", "Rules", "Endpoint",
        "Data sets and tokenizer", "Instrument", "Provisioned power", "System under test, as described",
        "Settings of the campaign",
    ]  # fmt: skip
    pairs = {label: value for block in view.blocks for label, value in block.pairs}
    assert pairs["to compute every figure again"] == "wholecurve report FOLDER --recompute"
    assert pairs["order drawn with seed"] == "7"
    assert pairs["highest concurrency"] == "128, found by doubling the load"
    assert len(view.blocks[0].pairs) == len(LEVELS) + 1


def test_files_that_could_not_be_read_are_told_once() -> None:
    made_up = made((1,), offline=False)
    made_up.plan["levels"].append({"label": "r9"})
    told = ("points/r9: not measured", "the journal has no end: it still runs", "points/r9: its summary is damaged")
    assert said(made_up.view(unread=told), "files") == ["points/r9: its summary is damaged."]
