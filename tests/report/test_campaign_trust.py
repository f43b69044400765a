"""What speaks for a curve and against it, how its load was made, and what its search found."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from campaign_build import Made, made, offline_at, point_at, summary_at
from report_build import HOSTILE
from test_campaign_html import safe
from test_campaign_text import printed

from wholecurve.model.point import Figure, Provenance
from wholecurve.model.record import RunState
from wholecurve.report import CampaignView, campaign_html, campaign_text
from wholecurve.report.campaign_table import HEADS, table_rows

MS = 1_000_000


def checks(view: CampaignView) -> dict[str, str]:
    """Tone by words."""
    return {one.what: one.tone for one in view.checks}


def block(view: CampaignView, title: str) -> dict[str, str]:
    (found,) = [one for one in view.blocks if one.title == title]
    return dict(found.pairs)


def warned(view: CampaignView, what: str) -> list[tuple[str, str]]:
    return [(one.tone, one.said) for one in view.warnings if one.what == what]


def plan_of(salt: str | None, *, accuracy: str | None = None, scored: bool = False, hold: int = 0) -> dict[str, Any]:
    """plan.json of a run as far as salt goes."""
    phases: list[dict[str, Any]] = [
        {"kind": "warmup", "salt": "w"},
        {"kind": "performance", "salt": salt, "hold": {"max_extra_ns": hold} if hold else None},
    ]
    return {"phases": [*phases, {"kind": "accuracy", "salt": accuracy}] if scored else phases}


def score(passed: bool | None, value: float = 60.0) -> dict[str, Any]:
    judged = {"metric": "em", "least": 50.0, "value": value, "passed": passed, "reason": "3 rows were never asked"}
    gate = {"passed": passed, "reason": judged["reason"], "metrics": [judged]}
    one = {"dataset_name": "acc", "metrics": {"em": {"value": value, "unit": "of 100"}}, "gate": gate}
    return {"accuracy_scores": [one]}


def test_a_good_campaign_has_good_checks_only() -> None:
    made_up = made()
    made_up.accuracy = {"r1": score(True), "offline": score(True)}
    all_well(made_up)
    view = made_up.view(plans={label: plan_of("A/x") for label in made_up.summaries})
    assert checks(view) == dict.fromkeys(
        ["8 of 8 points count", "client ok at every point", "steady at 7 of 7 levels", "no request failed",
         "accuracy passed at 2 of 2 points", "tokens counted with the reference tokenizer", "every prompt salted"],
        "ok",
    )  # fmt: skip


def all_well(found: Made) -> None:
    """No request failed at any point."""
    found.summaries = {label: {**one, "failures": {"failed_share": 0.0}} for label, one in found.summaries.items()}


def limited(found: Made) -> None:
    found.points[1] = point_at(
        4, provenance=Provenance("points/r4", RunState.COMPLETE, "reference", "client-limited", None)
    )


def strained(found: Made) -> None:
    found.points[1] = point_at(4, provenance=Provenance("points/r4", RunState.COMPLETE, "usage", "strained", None))


def unknown(found: Made) -> None:
    found.points[1] = point_at(4, provenance=Provenance("points/r4", RunState.COMPLETE, None, None, None))


def drifting(found: Made) -> None:
    found.summaries["r4"] = {**summary_at(4), "steady_state": {"status": "windowable", "verdict": "drifting_up"}}


def short(found: Made) -> None:
    steady = {"status": "insufficient_duration", "verdict": "STEADY STATE", "reason": "spans 4 s, wanted 6 s"}
    found.summaries["r4"] = {**summary_at(4), "steady_state": steady}


def failing(found: Made) -> None:
    all_well(found)
    found.summaries["r4"] = {**summary_at(4), "failures": {"failed_share": 0.004}}


@pytest.mark.parametrize(
    ("change", "what", "tone"),
    [
        (limited, "the client was measured at 4", "bad"), (limited, "1 of 2 points count", "bad"),
        (strained, "client strained at 4", "care"), (strained, "tokens are the endpoint's own count", "care"),
        (unknown, "the client's own state is not known everywhere", "care"),
        (unknown, "source of tokens not known", "care"),
        (drifting, "steady at 1 of 2 levels", "care"), (short, "steady at 1 of 2 levels", "care"),
        (failing, "up to 0.400 % failed", "care"),
    ],
)  # fmt: skip
def test_what_is_not_good_is_a_check_of_its_own(change: Any, what: str, tone: str) -> None:
    made_up = made((1, 4), offline=False)
    change(made_up)
    assert checks(made_up.view())[what] == tone


def test_a_window_that_is_too_short_is_told() -> None:
    made_up = made((1, 4), offline=False)
    short(made_up)
    assert warned(made_up.view(), "steady window") == [("care", "Concurrency 4: spans 4 s, wanted 6 s.")]


@pytest.mark.parametrize(
    ("scores", "what", "tone", "card"),
    [
        ({}, "accuracy not measured", "care", "not measured"),
        ({"r1": score(True), "r4": score(False, 20.0)}, "accuracy passed at 1 of 2 points", "bad", "NOT passed"),
        ({"r1": score(True), "r4": score(None)}, "accuracy passed at 1 of 2 points", "care", "not judged"),
        ({"r4": score(None)}, "accuracy not judged", "care", "not judged"),
        ({"r4": {"accuracy_scores": [{"dataset_name": "g", "score": 1}]}}, "accuracy measured, no bound set", "care",
         "no bound"),
    ],
)  # fmt: skip
def test_accuracy_is_judged_over_all_points(scores: dict[str, Any], what: str, tone: str, card: str) -> None:
    made_up = made((1, 4), offline=False)
    made_up.accuracy = scores
    view = made_up.view()
    assert checks(view)[what] == tone
    (found,) = [one for one in view.cards if one.label == "Accuracy"]
    assert found.value == card


def test_the_score_beside_a_verdict_is_the_one_that_has_it() -> None:
    made_up = made((1,), offline=False)
    metrics = {name: {"value": value, "unit": "of 100"} for name, value in (("good", 99.0), ("poor", 10.0))}
    judged = [{"metric": "good", "least": 50, "passed": True}, {"metric": "poor", "least": 50, "passed": False}]
    entry = {"dataset_name": "acc", "metrics": metrics, "gate": {"passed": False, "metrics": judged}}
    made_up.accuracy = {"r1": {"accuracy_scores": [entry]}}
    (found,) = [one for one in made_up.view().cards if one.label == "Accuracy"]
    assert (found.value, found.note) == ("NOT passed", "at 1 of 1 points; acc poor 10 of 100")


def test_bad_and_missing_scores_are_warnings() -> None:
    made_up = made((1, 4, 16), offline=False)
    made_up.accuracy = {"r1": score(False, 20.0), "r4": score(None)}
    made_up.plan["settings"]["accuracy"] = {"dataset": {"path": "acc.jsonl"}}
    made_up.plan["levels"] = [{"label": f"r{level}", "accuracy": True} for level in (1, 4, 16)]
    view = made_up.view()
    assert warned(view, "accuracy") == [
        ("bad", "Concurrency 1: acc em 20 of 100, NOT passed, bound 50."),
        ("care", "Concurrency 16: accuracy was planned here and has no result."),
        ("care", "Concurrency 4: acc em 60 of 100, not judged: 3 rows were never asked."),
    ]
    page = campaign_html(view)
    assert page.index('id="warnings"') < page.index('id="answer"'), "what is grave stands before the answer"
    made_up.accuracy = {}
    assert checks(made_up.view())["accuracy was planned and not measured"] == "care"


def test_offline_below_the_curve_is_no_ceiling() -> None:
    made_up = made((1, 4), offline=False)
    made_up.points.append(offline_at(1.0))
    view = made_up.view()
    ((tone, said),) = warned(view, "Offline")
    assert tone == "care"
    assert said.startswith("The dedicated run reached 1.00 tokens/s, less than concurrency ")
    (card,) = [one for one in view.cards if one.label.startswith("Offline")]
    assert (card.label, card.note) == ("Offline", "a dedicated run, below the best level")
    assert not warned(made((1, 4)).view(), "Offline")


def test_offline_below_the_curve_within_the_intervals_is_no_warning() -> None:
    best = max(point_at(level).figure("system_tps").value or 0 for level in (1, 4))
    for reach, count in ((best, 0), (best * 0.95, 1)):  # the interval of the best level begins at 0.96 of it
        made_up = made((1, 4), offline=False)
        below = offline_at(best * 0.9)
        figure = Figure(best * 0.9, low=best * 0.8, high=reach)
        made_up.points.append(replace(below, figures={**below.figures, "system_tps": figure}))
        assert len(warned(made_up.view(), "Offline")) == count


def test_a_fallback_to_the_whole_run_does_not_read_as_steady() -> None:
    made_up = made((1, 4), offline=False)
    made_up.summaries["r4"] = {
        **summary_at(4), "official": {"basis": "total"},
        "steady_state": {"status": "insufficient_duration", "verdict": "STEADY STATE", "reason": "run longer"},
    }  # fmt: skip
    by_key = {head.key: place for place, head in enumerate(HEADS)}
    assert [row.cells[by_key["steady"]] for row in table_rows(made_up.view())] == ["steady", "steady, short"]


def test_strained_clients_are_one_warning_for_each_kind_of_reason() -> None:
    made_up = made((1, 4, 16), offline=False)
    for place, (level, shares) in enumerate({1: (0.047,), 4: (0.055, 0.9), 16: (0.024,)}.items()):
        made_up.points[place] = point_at(
            level, provenance=Provenance(f"points/r{level}", RunState.COMPLETE, "reference", "strained", None)
        )
        reasons = [
            {"code": code, "figure": figure, "limit": limit, "sentence": f"{code} was {figure}"}
            for figure, (code, limit) in zip(shares, (("refill", 0.02), ("cpu", 0.8)), strict=False)
        ]
        made_up.summaries[f"r{level}"] = {**summary_at(level), "health": {"verdict": "strained", "reasons": reasons}}
    near = "the client was near a limit of its own"
    assert [said for _, said in warned(made_up.view(), "client strained")] == [
        f"Concurrency 1, 4 and 16: {near} (at worst: refill was 0.055).", f"Concurrency 4: {near} (cpu was 0.9).",
    ]  # fmt: skip


def test_notes_of_the_plan_and_differences_between_points_are_warnings() -> None:
    made_up = made((1, 4), offline=False)
    made_up.plan["notes"] = ["the dedicated Offline run is small"]
    made_up.entries[-1]["differences"] = ["the dialect was a at r1, and b at r4"]
    view = made_up.view()
    assert warned(view, "plan") == [("care", "The dedicated Offline run is small.")]
    assert warned(view, "not the same configuration") == [("bad", "The dialect was a at r1, and b at r4.")]


def test_the_load_is_told_with_its_salt_and_extension() -> None:
    made_up = made((1, 4), offline=False)
    plans = {"r1": plan_of("A-1/r1/1", scored=True, hold=3000 * MS), "r4": plan_of("A-1/r4/2", hold=6000 * MS)}
    found = block(made_up.view(plans=plans), "How the load was made")
    assert found["salt in the prompts"] == (
        "every request of the performance phase is salted with 64 bits from seed set A"
    )
    assert found["made from the words"] == "A-1/r1/1, and 1 more, one for each point and attempt"
    assert found["accuracy phase"] == "unsalted"
    assert found["a point is extended by at most"] == "3.00 s to 6.00 s, as the region of a level asks for"
    assert found["level r1"] == "a level"
    bare = made_up.view(plans={"r1": plan_of(None), "r4": plan_of(None)})
    assert block(bare, "How the load was made")["salt in the prompts"].startswith("none: ")
    assert checks(bare)["no salt at 1 and 4"] == "care"
    assert warned(bare, "salt")[0][0] == "care"
    salted = made_up.view(plans={"r4": plan_of("A", accuracy="A", scored=True)})
    assert block(salted, "How the load was made")["accuracy phase"] == "SALTED at concurrency 4"
    assert warned(salted, "salt")[0][0] == "bad"
    assert block(made_up.view(), "How the load was made")["salt in the prompts"].startswith("not known")


def test_equal_warm_ups_are_told_together() -> None:
    made_up = made((1, 4, 8), offline=False)
    warm = {
        "duration_s": 1.5, "requests_issued": 8, "requests_completed": 7, "concurrency": 2, "salt": True,
        "data_source": "separate_dataset", "initialization_steps": ["all answered"],
    }  # fmt: skip
    for label in ("r1", "r8"):
        workload = {**made_up.summaries[label].get("workload", {}), "warmup": warm}
        made_up.summaries[label] = {**made_up.summaries[label], "workload": workload}
    assert block(made_up.view(), "Warm-up, as declared") == {
        "concurrency 1, 8": "7 of 8 requests completed, in 1.50 s, at concurrency 2, from separate_dataset, salted. "
        "all answered",
        "concurrency 4": "none: no warm-up request was sent before the measured phase",
    }


def test_the_search_is_told_trial_by_trial() -> None:
    made_up = made((1,), offline=False)
    made_up.entries[1:1] = [
        {"event": "trial", "concurrency": 4, "system_tps": 607.0, "tps_per_user": 161.0, "ttft_p90_ns": 14 * MS},
        {"event": "trial", "concurrency": 8, "invalid": ["5 failed"], "client_limited": True},
        {"event": "trial", "concurrency": "many"},
        {"event": "c_max", "c_max": 4, "reason": "the trial at 8 is not valid", "knee": 2},
    ]
    assert block(made_up.view(), "Search for C_max") == {
        "trial at 4": "607 tokens/s, 161 tokens/s per user, TTFT P90 14.0 ms",
        "trial at 8": "not valid: 5 failed, client-limited",
        "trial at not measured": "nothing was measured",
        "C_max": "4: the trial at 8 is not valid; levels lie denser around 2, the knee of the trials",
    }


def test_a_missing_repeat_makes_a_campaign_incomplete() -> None:
    made_up = made((1, 4), offline=False)
    made_up.entries[-1] |= {"missing": ["r4-2"], "invalid": ["r1-2", "x-2"]}
    view = made_up.view()
    assert view.state == "incomplete"
    assert [(one.label, one.why) for one in view.missing] == [("r1-2", "not valid"), ("r4-2", "not measured")]
    assert view.state_sentence.startswith("2 planned runs are missing or count for nothing.")


def test_facts_of_the_journal_are_told_once() -> None:
    made_up = made((1, 4), offline=False)
    for entry in made_up.entries:
        if entry["event"] == "point_ended":
            entry["facts"] = {"the dialect": "openai-chat"}
    made_up.entries[0]["conditions"] = {"settings": {"endpoint": "x"}}
    view = made_up.view()
    assert block(view, "The same at every point") == {"the dialect": "openai-chat"}
    assert not any("openai-chat" in one.said or "conditions" in one.said for one in view.happened)


def test_a_page_elsewhere_has_no_links_to_runs() -> None:
    view = made().view()
    page = campaign_html(view, links=False)
    safe(page)
    assert "report.html" not in page
    assert page.count('scope="row"') == campaign_html(view).count('scope="row"')


def test_checks_are_on_every_form_of_the_report() -> None:
    made_up = made((1, 4), offline=False)
    strained(made_up)
    view = made_up.view()
    assert "! client strained at 4" in campaign_text(view)
    assert "client strained at 4" in safe(campaign_html(view)).text
    lines = printed(view, 80)
    assert any("✓ steady at 2 of 2 levels" in line for line in lines)
    assert any("+ steady at 2 of 2 levels" in line for line in printed(view, 80, "ascii"))


def test_long_labels_in_the_text_are_whole() -> None:
    made_up = made((1,), offline=False)
    key = "node_sets[0].components.accelerator.tdp_per_unit.source_type"
    made_up.power = {"node_sets": [{"components": {"accelerator": {"tdp_per_unit": {"source_type": "vendor_spec"}}}}]}
    assert f"{key} vendor_spec" in campaign_text(made_up.view())


def test_hostile_plans_and_scores_are_text() -> None:
    made_up = made((1, 4), text=HOSTILE)
    made_up.plan["notes"] = [HOSTILE]
    made_up.plan["c_max_why"] = made_up.plan["salt_word"] = HOSTILE
    made_up.plan["seed_set"] = None
    made_up.accuracy = {"r1": {"accuracy_scores": [{"dataset_name": HOSTILE, "metrics": {HOSTILE: HOSTILE}}]}}
    made_up.entries[-1] |= {"differences": [HOSTILE], "missing": [HOSTILE]}
    made_up.entries[1:1] = [{"event": "trial", "invalid": [HOSTILE]}, {"event": "c_max", "reason": HOSTILE}]
    plans: dict[str, Any] = {"r1": plan_of(HOSTILE), "r4": {"phases": "none"}}
    view = made_up.view(plans=plans)
    page, text = campaign_html(view), campaign_text(view)
    safe(page)
    for found in (page, text, *printed(replace(view, points=()), 60)):
        assert not any(mark in found for mark in "\x1b\x07\u202e\u2066\u2028")
    assert max(map(len, text.splitlines())) <= 100
