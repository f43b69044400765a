"""The rules in the plan: version, shortest window, region, seed set, cohort; and what a place on a curve asks for."""

from __future__ import annotations

import json
from pathlib import Path

import orjson
import pytest
from config_cases import BASE, Run, settings

from wholecurve import datasets
from wholecurve.config import CurvePlace, Resolved, dump_settings, resolve, rules_of, rules_plan
from wholecurve.model.errors import InputError
from wholecurve.model.plan import HoldRule, PhaseKind, StopRule, plan_from_json
from wholecurve.model.strict_json import dumps_strict
from wholecurve.rules.load import load_rules
from wholecurve.wire import DIALECTS

S = 1_000_000_000
SCHEDULER, INDEX, MODEL = 10487924139932647040, 586478644936801402, 9315206023656308754
SET_A = BASE + "rules: {seed_set: A}\n"


def placed(text: str, place: CurvePlace | None = None) -> Resolved:
    return resolve(settings(text), environ={}, read_dataset=datasets.load, cores=8, place=place)


def test_every_run_says_the_rules_that_it_is_held_to(run: Run) -> None:
    found = run(BASE).plan.rules
    rules = load_rules()
    assert found is not None
    assert (found.version, found.edition, found.fingerprint) == ("v1_0", "E3", rules.fingerprint)
    assert (found.kind, found.benchmark, found.region, found.offline) == ("single_turn", None, None, "none")
    assert (found.min_window_ns, found.min_super_passes, found.lead_super_passes) == (600 * S, 4, 1)
    assert (found.seed_set, found.seeds, found.target_cohort) == (None, {}, None)
    plan = run(BASE).plan
    assert plan_from_json(orjson.loads(dumps_strict(plan.to_json()))) == plan


WINDOWS = [
    # settings after the concurrency, concurrency, place, seconds, region
    ("", 32, {}, 600, None),
    ("", 33, {}, 1200, None),
    ("", None, {}, 1200, None),
    ("", 16, {"c_min": 1, "c_max": 1024}, 600, "med_concurrency"),
    ("", 100, {"c_min": 16, "c_max": 1024}, 1200, "med_concurrency"),
    ("", 1100, {"c_min": 16, "c_max": 1024}, 1200, "margin"),
    ("", 4388, {"c_min": 16, "c_max": 1024, "offline": "dedicated"}, 1200, None),
    ("", 1024, {"c_min": 16, "c_max": 1024, "offline": "elected"}, 1200, "high_concurrency"),
    ("", 40, {"region": "high_concurrency"}, 1200, "high_concurrency"),
    ("rules: {version: demo}", 2, {}, 3, None),
    ("rules: {version: demo}", 40, {}, 6, None),
    ("rules: {version: demo}", 40, {"offline": "dedicated"}, 6, None),
    ("rules: {edition: T, benchmark: kimi-k3}", 40, {}, 2400, None),
    ("rules: {edition: T, benchmark: kimi-k3}", 8, {}, 600, None),
    ("rules: {edition: T, benchmark: kimi-k3}", 40, {"c_min": 1, "c_max": 256}, 2400, "med_concurrency"),
    ("rules: {benchmark: deepseek-r1}", 40, {}, 1200, None),
]


@pytest.mark.parametrize(("text", "concurrency", "place", "seconds", "region"), WINDOWS)
def test_the_shortest_window(
    text: str, concurrency: int | None, place: dict[str, object], seconds: float, region: str | None
) -> None:
    wanted = settings(BASE + text + "\n")
    found = rules_plan(wanted, rules_of(wanted.rules), concurrency=concurrency, **place)  # type: ignore[arg-type]
    assert found.min_window_ns == seconds * S
    assert found.region == region


def test_regions_come_from_the_routine_of_the_rules() -> None:
    wanted = settings(BASE)
    rules = rules_of(wanted.rules)
    levels = {8: "low_latency", 16: "low_latency", 17: "low_concurrency", 26: "low_concurrency", 27: "med_concurrency",
              118: "high_concurrency", 1024: "high_concurrency", 1025: "margin"}  # fmt: skip
    for level, region in levels.items():
        assert rules_plan(wanted, rules, concurrency=level, c_min=16, c_max=1024).region == region
    with pytest.raises(InputError, match="wanted a concurrency up to 1127"):
        rules_plan(wanted, rules, concurrency=1200, c_min=16, c_max=1024)


REFUSED = [
    ("rules: {version: v9}", "rules.version: wanted a version of the rules, got 'v9'", "versions: demo, v1_0"),
    ("rules: {edition: E9}", "rules.edition: wanted an edition of the rules, got 'E9'", "E1"),
    ("rules: {benchmark: my-model}", "rules.benchmark: wanted a model name of the rules", "deepseek-r1"),
    ("rules: {seed_set: B}", "rules.seed_set: wanted a seed set that is published in rules v1_0", "A (2026-10-C1)"),
    ("rules: {target_cohort: soon}", "rules.target_cohort: wanted a cohort such as 2026-10-C1, got 'soon'", ""),
    ("rules: {target_cohort: 2026-12-C2}", "rules.target_cohort: wanted a cohort C0 to C1 of a month", ""),
    (
        "rules: {seed_set: A, target_cohort: 2026-12-C1}",
        "rules.target_cohort: wanted a cohort that may adopt seed set A, got 2026-12-C1",
        "2026-10-C1, 2026-11-C0, 2026-11-C1, 2026-12-C0",
    ),
    ("rules: {seed_set: A, target_cohort: 2026-10-C0}", "wanted a cohort that may adopt seed set A", "2026-10-C1"),
    ("rules: {seed_set: A}\nseeds: {order: 42}", f"seeds.order: wanted {INDEX}, which rules.seed_set A says", "leave"),
    ("rules: {seed_set: A}\nseeds: {arrivals: 7}", f"seeds.arrivals: wanted {SCHEDULER}", "leave out seeds.arrivals"),
    (
        "rules: {seed_set: A}\nrequest: {sampling: {seed: 7}}",
        f"request.sampling.seed: wanted {MODEL}, which rules.seed_set A says, got 7",
        "leave out request.sampling.seed",
    ),
    ("rules: {seed_set: A}\nrequest: {extra_body: {seed: 7}}", "request.extra_body.seed: wanted", "leave out"),
    (
        "rules: {seed_set: A}\nrequest: {extra_body: {sampling_params: {sampling_seed: 7}}}",
        f"request.extra_body.sampling_params.sampling_seed: wanted {MODEL}",
        "leave out",
    ),
]


@pytest.mark.parametrize(("text", "message", "hint"), REFUSED)
def test_refusals_name_the_key_the_line_and_what_there_is(prompts: Path, text: str, message: str, hint: str) -> None:
    from wholecurve.config import RunFlags, origins_of, parse_config, settings_from

    file = parse_config(BASE + text, "run.yaml", {})
    with pytest.raises(InputError) as caught:
        resolve(
            settings_from(RunFlags(), file), environ={}, read_dataset=datasets.load,
            origins=origins_of(RunFlags(), file),
        )  # fmt: skip
    assert message in caught.value.message
    assert hint in caught.value.hint
    assert caught.value.where.startswith("run.yaml:")


def test_a_seed_set_gives_order_arrivals_and_sampling_to_the_last_digit(run: Run) -> None:
    made = run(SET_A.replace("seed_set: A", "seed_set: A, target_cohort: 2026-12-C0"))
    (phase,) = made.plan.phases
    assert (phase.order_seed, phase.arrival_seed, made.plan.seed) == (INDEX, SCHEDULER, INDEX)
    sample = made.conversations["prompts"][0].turns[0].sample
    body = DIALECTS["openai-chat"].body(sample, made.plan.request, "m")
    assert f'"seed":{MODEL}'.encode() in body
    rules = made.plan.rules
    assert rules is not None
    assert rules.seed_set == "A"
    assert rules.target_cohort == "2026-12-C0"
    assert rules.seeds == {
        "scheduler_rng_seed": str(SCHEDULER), "sample_index_rng_seed": str(INDEX), "model_seed": str(MODEL),
    }  # fmt: skip
    written = dumps_strict(made.plan.to_json())
    assert str(SCHEDULER).encode() in written
    assert plan_from_json(orjson.loads(written)) == made.plan
    assert plan_from_json(json.loads(written)) == made.plan


def test_a_dump_of_a_run_with_a_seed_set_runs_again_with_the_same_plan(run: Run) -> None:
    first = run(SET_A)
    written = dump_settings(first.settings)
    for seed in (SCHEDULER, INDEX, MODEL):
        assert f": {seed}\n" in written
    assert run(written).plan == first.plan


def test_equal_seeds_may_be_given_beside_a_seed_set(run: Run) -> None:
    text = (
        SET_A + f"seeds: {{order: {INDEX}, arrivals: {SCHEDULER}, warmup: 5}}\nrequest: {{sampling: {{seed: {MODEL}}}}}"
    )
    assert run(text).plan.phases == run(SET_A).plan.phases


ROWS = '{"prompt": "one", "seed": %s}\n{"prompt": "two"}\n{"prompt": "three", "seed": 7}\n'


def test_a_row_with_a_seed_of_its_own_is_refused_under_a_seed_set(run: Run) -> None:
    """It would win over the published one, and nobody would see it."""
    with pytest.raises(InputError, match=f"row 2 of prompts.jsonl: wanted no seed but {MODEL}, which .* A says, got 7"):
        run(SET_A, rows=ROWS % MODEL)
    assert run(BASE, rows=ROWS % MODEL).conversations["prompts"][2].turns[0].sample.body == {"seed": 7}
    same = ROWS.replace("7", str(MODEL)) % MODEL
    assert run(SET_A, rows=same).plan.rules is not None


def test_rows_of_the_accuracy_phase_have_no_seed_of_their_own_either(run: Run, prompts: Path) -> None:
    quiz = prompts.with_name("quiz.jsonl")
    quiz.write_text('{"prompt": "2+2?", "answer": "4"}\n{"prompt": "3+3?", "answer": "6", "seed": 1}\n')
    with pytest.raises(InputError, match=r"row 1 of quiz\.jsonl: wanted no seed but"):
        run(SET_A + "accuracy: {dataset: {path: quiz.jsonl}}\n")


def test_a_warm_up_may_have_seeds(run: Run, prompts: Path) -> None:
    """Nothing of it is measured."""
    prompts.with_name("warm.jsonl").write_text('{"prompt": "tepid", "seed": 1}\n')
    assert run(SET_A + "warmup: {requests: 1, dataset: {path: warm.jsonl}}\n").plan.rules is not None


def test_sglang_gets_the_seed_under_its_own_name(run: Run) -> None:
    made = run(SET_A.replace("model: m", "model: m, dialect: sglang-generate"))
    sample = made.conversations["prompts"][0].turns[0].sample
    body = json.loads(DIALECTS["sglang-generate"].body(sample, made.plan.request, "m"))
    assert body["sampling_params"]["sampling_seed"] == MODEL


def test_seeds_of_the_reference_client_may_be_beyond_63_bits_and_its_defaults_are_no_wish(run: Run) -> None:
    text = (
        "type: online\nmodel_params: {name: m}\ndatasets: [{path: prompts.jsonl}]\n"
        "settings: {load_pattern: {type: concurrency, target_concurrency: 2}, runtime: {min_duration_ms: 1s%s}}\n"
        "endpoint_config: {endpoints: [http://h]}\n"
    )
    made = run(text % f", scheduler_random_seed: {SCHEDULER}")
    assert made.plan.phases[0].arrival_seed == SCHEDULER
    assert made.plan.phases[0].order_seed == 42
    assert "order" not in settings(text % "").seeds.model_fields_set


def test_a_place_on_a_curve_in_the_plan(prompts: Path) -> None:
    place = CurvePlace(c_min=1, c_max=256, hold_ns=5 * S, lead_passes=1, passes=5)
    plan = placed(BASE + "stop: {duration: 10m}\n", place).plan
    (phase,) = plan.phases
    assert phase.stop == StopRule(min_samples=15, min_duration_ns=600 * S, whole_passes=True, lead_samples=3)
    assert phase.hold == HoldRule(5 * S)
    assert plan.rules is not None
    assert (plan.rules.c_min, plan.rules.c_max, plan.rules.region) == (1, 256, "low_concurrency")
    (plain,) = placed(BASE + "stop: {duration: 10m}\n").plan.phases
    assert plain.stop == StopRule(min_duration_ns=600 * S)
    assert plain.hold is None


def test_leading_passes_are_followed_by_one_at_least(prompts: Path) -> None:
    (phase,) = placed(BASE, CurvePlace(lead_passes=2)).plan.phases
    assert phase.stop == StopRule(min_samples=9, whole_passes=True, lead_samples=6)


def test_an_offline_run_has_neither_lead_nor_hold(prompts: Path) -> None:
    place = CurvePlace(c_min=1, c_max=64, offline="dedicated", hold_ns=S, lead_passes=1)
    plan = placed(BASE.replace("{concurrency: 4}", "{pattern: offline}"), place).plan
    assert plan.phases[0].stop == StopRule()
    assert plan.phases[0].hold is None
    assert plan.rules is not None
    assert (plan.rules.offline, plan.rules.min_window_ns) == ("dedicated", 1200 * S)


PLACE_REFUSED = [
    ("stop: {max_requests: 5}", "stop.max_requests: wanted at least 6, which this point of a curve needs, got 5"),
    (
        "stop: {duration: 10s}\nlimits: {run_timeout: 12s}",
        "limits.run_timeout: wanted at least stop.duration and the extra time (15 s), got 12 s",
    ),
]


@pytest.mark.parametrize(("text", "message"), PLACE_REFUSED)
def test_what_a_place_cannot_have(prompts: Path, text: str, message: str) -> None:
    with pytest.raises(InputError) as caught:
        placed(BASE + text, CurvePlace(lead_passes=1, hold_ns=5 * S))
    assert message in str(caught.value)


SCORED = BASE.replace("concurrency: 4", "concurrency: 4, salt: w") + "accuracy: {dataset: {path: questions.jsonl}}\n"


def test_accuracy_follows_the_measurement_unsalted(prompts: Path, tmp_path: Path) -> None:
    (tmp_path / "questions.jsonl").write_text('{"prompt": "1+1?", "answer": "2"}\n{"prompt": "2+2?", "answer": "4"}\n')
    made = placed(SCORED + "warmup: {requests: 2}\n")
    assert [phase.kind for phase in made.plan.phases] == [PhaseKind.WARMUP, PhaseKind.PERFORMANCE, PhaseKind.ACCURACY]
    assert [phase.salt for phase in made.plan.phases] == ["w/warmup", "w", None]
    assert made.plan.accuracy is not None
    assert made.expected == {made.plan.accuracy.dataset: {0: "2", 1: "4"}}
    assert made.plan.phases[2].concurrency == 4
    assert [c.turns[0].sample.prompt for c in made.conversations[made.plan.phases[2].dataset]] == ["1+1?", "2+2?"]
    assert len(placed(SCORED, CurvePlace(accuracy=True)).plan.phases) == 2
    without = placed(SCORED, CurvePlace())
    assert len(without.plan.phases) == 1
    assert (without.plan.accuracy, without.expected) == (None, {})
