"""The loader: what it refuses and how, editions and versions as data, and that the generated page is current."""
# ruff: noqa: E501 - a row is a line, so that the table can be read as one

from __future__ import annotations

import shutil
from collections.abc import Callable, Mapping
from dataclasses import FrozenInstanceError, fields, is_dataclass
from importlib import resources
from pathlib import Path
from typing import Any

import pytest

from wholecurve.model.errors import InputError
from wholecurve.rules import Clause, RuleSet, Scope, rules_page
from wholecurve.rules.load import load_rules, versions
from wholecurve.rules.overlay import chain_of, for_edition, merged

REPOSITORY = Path(__file__).resolve().parents[2]
DATA = REPOSITORY / "src" / "wholecurve" / "rules" / "data"
ALL = [(version, edition) for version in versions() for edition in ("E1", "E3", "T")]

# Ids of the official checker 1.5.3.0: every one has a clause of the same id in some edition.
CHECKER_RULES = """
path-exists required-dir src-dir src-readme system-results-dir benchmark-model-dir point-dirs
measurement-points-present point-rules-skipped config-file-present point-dirname-concurrency
result-summary-present shared-path-resolution system-description-present system-description-valid
system-description-consistency model-name-valid model-name-consistency config-consistency-model
config-consistency-dataset tps-utilization max-concurrency-declared region-basis region-computation
c-min-override concurrency-in-range region-declared region-placement ultra-low-concurrency-coverage
low-concurrency-coverage med-concurrency-coverage high-concurrency-coverage point-count point-cap
benchmark-type-consistency offline-declared offline-point-present offline-ordering point-config-valid
point-disclosure-complete load-pattern streaming-config point-duration steady-state-valid
steady-state-consistency steady-state-basis min-query-count warmup-present warmup-logs-retained warmup-salt
seed-set-consistency seed-set-membership seed-runtime-match target-cohort seed-set-adoption seed-config-legacy
seed-set-registry approved-drafter drafter-approval-lead-time drafter-list-registry result-file-valid
metric-consistency-duration metric-consistency-accounting metric-consistency-output-tokens
metric-consistency-system-tps metric-consistency-tpot-p90 metric-consistency-tps-per-user
metric-consistency-tps-per-kw agentic-metric-consistency accuracy-present accuracy-valid accuracy-coverage
accuracy-sample-count accuracy-gate agentic-accuracy agentic-accuracy-inline agentic-accuracy-swebench
agentic-osl-range power-descriptor power-estimated nodes-used maximal-engagement
""".split()  # noqa: SIM905 - reads as a paragraph


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """A copy of the data that may be broken."""
    return Path(shutil.copytree(DATA, tmp_path / "data"))


def edit(file: Path, change: Callable[[str], str]) -> None:
    before = file.read_text(encoding="utf-8")
    after = change(before)
    assert after != before
    file.write_text(after, encoding="utf-8")


def refusal(data: Path, version: str = "v1_0", edition: str = "E3") -> InputError:
    with pytest.raises(InputError) as caught:
        load_rules(version, edition, data)
    return caught.value


def leaves(node: Any) -> list[Any]:
    if isinstance(node, Mapping):
        return [leaf for value in node.values() for leaf in leaves(value)]
    if isinstance(node, tuple):
        return [leaf for value in node for leaf in leaves(value)]
    if is_dataclass(node):
        return [leaf for field in fields(node) for leaf in leaves(getattr(node, field.name))]
    return [node]


@pytest.mark.parametrize(("version", "edition"), ALL)
def test_every_edition_of_every_version_loads(version: str, edition: str) -> None:
    rules = load_rules(version, edition)
    assert isinstance(rules, RuleSet)
    assert (rules.version, rules.edition) == (version, edition)
    assert len(rules.clauses) > 120
    assert not any(isinstance(leaf, dict | list) for leaf in leaves(rules))


def test_versions_and_defaults() -> None:
    assert versions() == ("demo", "v1_0")
    default = load_rules()
    assert (default.version, default.edition) == ("v1_0", default.about.default_edition) == ("v1_0", "E3")
    assert default.about.official
    assert not load_rules("demo").about.official


def test_rules_are_read_once_and_cannot_be_changed() -> None:
    rules = load_rules("v1_0", "E3")
    assert load_rules("v1_0", "E3") is rules
    with pytest.raises(FrozenInstanceError):
        rules.points.cap = 3  # type: ignore[misc]
    with pytest.raises(TypeError):
        rules.clauses["x"] = rules.clauses["point-cap"]  # type: ignore[index]


def test_fingerprints_tell_editions_and_versions_apart_and_follow_the_data(data: Path) -> None:
    found = {load_rules(version, edition).fingerprint for version, edition in ALL}
    assert len(found) == len(ALL)
    assert load_rules("v1_0", "E3", data).fingerprint == load_rules("v1_0", "E3").fingerprint
    edit(data / "v1_0" / "points.toml", lambda text: text.replace("cap = 32", "cap = 31"))
    assert load_rules("v1_0", "E1", data).fingerprint != load_rules("v1_0", "E1").fingerprint


REFUSED = [
    ("points.toml", "cap = 32", "cap = 32\ncapp = 3", "unknown key `points.capp`; wanted one of: fewest, cap"),
    ("points.toml", "cap = 32\n", "", "wanted `points.cap` (a whole number), and it is missing"),
    ("points.toml", "cap = 32", "cap = 32.0", "wanted a whole number at `points.cap`, got 32.0"),
    ("points.toml", "cap = 32", "cap = true", "wanted a whole number at `points.cap`, got True"),
    ("points.toml", "dedicated = 8", "dedicatd = 8", "wanted one of dedicated, elected, none at `points.fewest.dedicatd`"),
    ("points.toml", "elected = 7\n", "", "`points.fewest.elected` that exists at `points.fewest`"),
    ("offline.toml", '"0.98"', "0.98", 'wanted a decimal in quotes, such as "1.10" at `offline.least_share`, got 0.98'),
    ("seeds.toml", '"10487924139932647040"', '"18446744073709551616"', "from 0 to 2^64 - 1 in quotes at `seeds.sets.A"),
    ("seeds.toml", '"586478644936801402"', "586478644936801402", "in quotes at `seeds.sets.A.sample_index_rng_seed`"),
    ("seeds.toml", 'cohort = "2026-10-C1"', 'cohort = "2026-10"', "wanted a cohort such as 2026-10-C1 at `seeds.sets.A"),
    ("steady.toml", "trend_alpha = 0.05", "trend_alpha = nan", "wanted a number at `steady.trend_alpha`, got nan"),
    ("steady.toml", "[0.03, 0.05, 0.08]", "0.03", "wanted a list, each item a number at `steady.variation_bounds`"),
    ("warmup.toml", '"concurrency", ', "1, ", "wanted text at `warmup.fields.4`, got 1"),
    ("queries.toml", "[load_patterns]\n", "[load_patterns]\nid = 1\n", "wanted text at `queries.load_patterns.id`, got 1"),
    ("power.toml", "[cooling.air]\n", '[cooling.air]\nid = "x"\n', "unknown key `power.cooling.air.id`"),
    ("power.toml", 'choice = "C30"', 'choice = "C99"', "wanted a choice that exists at `power.cooling.mixed.choice`, got 'C99'"),
    ("regions.toml", 'high = "high_', 'high = "top_', "wanted a region that exists at `regions.high`"),
    ("drafters.toml", 'benchmark = "deepseek-r1"', 'benchmark = "r1"', "wanted a benchmark that exists at `drafters.list."),
    ("clauses.curve.toml", "<= {points.cap}", "<= {points.cup}", "wanted a key of the rules in braces, got {points.cup}"),
    ("clauses.run.toml", 'scope = "point"', 'scope = "dot"', "wanted one of submission, system, curve, point at `clauses."),
    ("clauses.run.toml", "[load-pattern]", "[point-cap]\n[load-pattern]", "wanted each key once, got `point-cap`"),
    ("clauses.equivalence.toml", '["Standardized"]', '["Open"]', "wanted a division that exists at `clauses."),
    ("about.toml", 'clauses = ["power-estimated"]', 'clauses = ["x"]', "wanted a clause that exists at `about.changes."),
    ("about.toml", 'base = "E3"', 'base = "T"', "wanted a base that does not lead back to 'T'"),
    ("cohorts.toml", "weekday = 2", "weekday = 2 2", "not valid TOML"),
]  # fmt: skip


@pytest.mark.parametrize(("file", "old", "new", "said"), REFUSED)
def test_broken_data_are_refused_with_file_key_and_what_was_wanted(
    data: Path, file: str, old: str, new: str, said: str
) -> None:
    edit(data / "v1_0" / file, lambda text: text.replace(old, new, 1))
    error = refusal(data, edition="T" if new == 'base = "T"' else "E3")
    assert said in error.message
    assert error.where == f"v1_0/{file}"


def test_a_broken_key_of_a_version_on_another_names_its_own_file(data: Path) -> None:
    edit(data / "demo" / "points.toml", lambda text: text.replace("16", '"16"'))
    assert refusal(data, "demo").where == "demo/points.toml"
    edit(data / "v1_0" / "points.toml", lambda text: text.replace("choice_points = 3", "choice_points = 'x'"))
    assert refusal(data, "v1_0").where == "v1_0/points.toml"


def test_a_broken_overlay_is_refused_in_its_edition_only(data: Path) -> None:
    edit(data / "v1_0" / "points.toml", lambda text: text.replace("elsewhere = true", "elsewhere = 1"))
    assert "true or false at `points.accuracy_elsewhere`, got 1" in refusal(data, edition="E1").message
    assert load_rules("v1_0", "E3", data).points.cap == 32


def test_missing_and_foreign_files_are_refused(data: Path) -> None:
    (data / "v1_0" / "extra.toml").write_text("a = 1\n")
    assert refusal(data).where == "v1_0/extra.toml"
    (data / "v1_0" / "extra.toml").unlink()
    (data / "v1_0" / "warmup.toml").unlink()
    assert "wanted `warmup` (a table), and it is missing" in refusal(data).message


@pytest.mark.parametrize(
    ("head", "said"),
    [
        ('base = "v1_0"\nbasis = 1', "unknown key `basis`"),
        ('base = "v9"', "wanted at `base` a version that stands on no other, got 'v9'"),
        ('base = "demo"', "stands on no other, got 'demo'"),
        ('base = "v1_0"\nreplaces = ["point"]', "wanted sections of the rules at `replaces`, got 'point'"),
    ],
)
def test_a_wrong_head_of_a_version_is_refused(data: Path, head: str, said: str) -> None:
    (data / "demo" / "_version.toml").write_text(head)
    error = refusal(data, "demo")
    assert said in error.message
    assert error.where == "demo/_version.toml"


def test_unknown_versions_and_editions_say_which_there_are() -> None:
    with pytest.raises(InputError, match="got 'v0'") as caught:
        load_rules("v0")
    assert caught.value.hint == "versions: demo, v1_0"
    with pytest.raises(InputError, match="got 'E9'") as caught:
        load_rules("v1_0", "E9")
    assert caught.value.hint == "editions: E1, E3, T"


def test_a_new_version_needs_data_only(data: Path) -> None:
    (data / "v1_1").mkdir()
    (data / "v1_1" / "_version.toml").write_text('base = "v1_0"\n')
    (data / "v1_1" / "durations.toml").write_text("[minimum_s]\nhigh_concurrency = 1800\n")
    rules = load_rules("v1_1", "E3", data)
    assert rules.durations.minimum_s["high_concurrency"] == 1800
    assert rules.durations.minimum_s["med_concurrency"] == 1200
    assert "1800 s above" in rules.clauses["point-duration"].threshold


# Editions.


def test_overlay_and_limits() -> None:
    table = {"a": 1, "t": {"x": 1, "y": 2}, "only": {"editions": ["E3"], "z": 3}, "edition": {"E1": {"t": {"y": 9}}}}
    assert for_edition(table, ["E1"]) == {"a": 1, "t": {"x": 1, "y": 9}}
    assert for_edition(table, ["E3", "T"]) == {"a": 1, "t": {"x": 1, "y": 2}, "only": {"z": 3}}
    under = {"t": {"x": 1}, "l": [1, 2]}
    assert merged(under, {"t": {"y": 2}, "l": [3]}) == {"t": {"x": 1, "y": 2}, "l": [3]}
    assert under == {"t": {"x": 1}, "l": [1, 2]}


def test_chain_puts_the_base_first() -> None:
    assert chain_of("T", {"E3": {}, "T": {"base": "E3"}}, "file") == ("E3", "T")


def test_streaming_differs_by_edition() -> None:
    e1, e3 = load_rules(edition="E1"), load_rules(edition="E3")
    assert e1.clauses["streaming-config"].threshold == "stream_all_chunks = true"
    assert e3.clauses["streaming-config"].threshold == "model_params.streaming = on"
    assert (e1.queries.streaming_offline_exempt, e3.queries.streaming_offline_exempt) == (False, True)


def test_fields_differ_by_edition() -> None:
    e1, e3, tool = (load_rules(edition=edition).fields for edition in ("E1", "E3", "T"))
    assert {"model_name", "link_config"} == set(e1.system) - set(e3.system)
    assert {"availability_url", "target_availability_date"} == set(e3.system) - set(e1.system)
    assert {"c_min_override"} == set(tool.system) - set(e3.system)
    assert {"model_name", "nodes_used", "dp_shortfall"} == set(e3.point) - set(e1.point)


def test_native_heads_and_drafters_differ_by_edition() -> None:
    assert (load_rules(edition="E1").drafters.native_heads, load_rules(edition="E3").drafters.native_heads) == (
        False,
        True,
    )


def test_every_stated_difference_between_editions_shows_in_its_clauses_or_data() -> None:
    """A clause that a change names is absent, worded differently, or rests on data that differ."""
    e1, e3 = load_rules(edition="E1"), load_rules(edition="E3")
    assert len(e3.about.changes) == 16
    for change in e3.about.changes.values():
        assert set(change.says) == {"E1", "E3"}
    absent = {"stream-interval", "nodes-used", "maximal-engagement", "checkpoint-complete", "no-data-specialization"}
    assert set(e3.clauses) - set(e1.clauses) == {*absent, "power-divergence"}
    named = {clause for change in e3.about.changes.values() for clause in change.clauses}
    assert {*absent, "power-divergence"} <= named


def test_tool_values_are_in_no_edition_of_the_text() -> None:
    text, tool = load_rules(edition="E3"), load_rules(edition="T")
    added = set(tool.clauses) - set(text.clauses)
    assert added == {"c-min-override", "agentic-duration", "warmup-logs-retained", "seed-runtime-match"}
    assert all(tool.clauses[name].choice == "C32" and tool.clauses[name].origin == "tool" for name in added)
    assert (text.durations.agentic_s, text.warmup.records_field, text.power.shortfall_fields) == (None, None, ())
    assert tool.power.shortfall_fields == ("dp_actual", "dp_formula", "reason")


# The data.


def test_every_rule_of_the_official_checker_has_a_clause() -> None:
    assert len(CHECKER_RULES) == len(set(CHECKER_RULES)) == 82
    assert set(CHECKER_RULES) <= set(load_rules(edition="T").clauses)


@pytest.mark.parametrize(("version", "edition"), ALL)
def test_clauses_are_complete(version: str, edition: str) -> None:
    rules = load_rules(version, edition)
    for clause in rules.clauses.values():
        assert clause.text.endswith("."), clause.id
        assert "{" not in clause.text + clause.threshold, clause.id
        assert clause.source, clause.id
    assert {clause.scope for clause in rules.clauses.values()} == set(Scope)


def test_all_choices_are_there() -> None:
    assert list(load_rules().choices) == [f"C{number}" for number in range(1, 36)]


def test_vocabulary_agrees_with_the_other_sections() -> None:
    rules = load_rules()
    assert set(rules.vocabulary.regions) - {rules.offline.region_label} == set(rules.durations.minimum_s)
    assert set(rules.vocabulary.divisions) == set(rules.power.scope)
    statuses = {status for row in rules.steady.decision.values() for status in row.statuses}
    verdicts = {verdict for row in rules.steady.decision.values() for verdict in row.verdicts}
    assert statuses == set(rules.vocabulary.steady_status)
    assert verdicts == set(rules.vocabulary.steady_verdict)


def test_benchmarks() -> None:
    book = load_rules().benchmarks
    sizes = {
        name: (each.kind, each.performance_samples, each.accuracy_samples) for name, each in book.benchmark.items()
    }
    assert sizes == {
        "llama3_1-8b": ("single_turn", 13368, 13368),
        "gpt-oss-120b": ("single_turn", 6396, 4395),
        "deepseek-r1": ("single_turn", 4388, 4388),
        "kimi-k3": ("agentic", 613, 200),
        "qwen3_6-35b-a3b": ("agentic", 613, 200),
        "deepseek-v4_1-flash": ("agentic", 613, 200),
    }
    assert book.of("kimi-k3").offline_concurrency is None
    with pytest.raises(InputError, match=r"got 'llama3\.1-8b'"):
        book.of("llama3.1-8b")


@pytest.mark.parametrize("name", ["llama3_1-8b", "gpt-oss-120b", "deepseek-r1"])
def test_single_turn_targets_are_99_percent_of_the_reference(name: str) -> None:
    for target in load_rules().benchmarks.of(name).targets.values():
        assert target.reference is not None
        share = 0.9 if target.id == "gen_len" else 0.99
        assert target.least == pytest.approx(share * target.reference, rel=1e-9)


def test_required_fields() -> None:
    rules = load_rules()
    system = {field.id for field in rules.fields.required_system()}
    assert {"max_supported_concurrency", "driver", "accelerator_model_name"} <= system
    assert not {"availability_url", "hw_notes"} & system
    assert {"seed_set", "target_cohort", "warmup"} <= {field.id for field in rules.fields.required_point()}


def test_data_are_found_as_package_data() -> None:
    """They lie inside the package, so that a wheel carries them."""
    folder = resources.files("wholecurve.rules") / "data"
    found = {part.name for part in (folder / "v1_0").iterdir()}
    assert {field.name for field in fields(RuleSet)} - {"version", "edition", "fingerprint", "clauses"} <= {
        name.removesuffix(".toml") for name in found
    }
    assert {"clauses.curve.toml", "_version.toml"} <= found


def test_the_page_is_current() -> None:
    """Write it again with: python -c 'import sys; from wholecurve.rules import rules_page; from wholecurve.rules.load
    import load_rules; sys.stdout.write(rules_page(load_rules(), [load_rules(edition=e) for e in ("E1", "T")]))'."""
    page = REPOSITORY / "docs" / "reference" / "rules.md"
    assert page.read_text(encoding="utf-8") == rules_page(load_rules(), [load_rules(edition=e) for e in ("E1", "T")])


def test_the_page_has_every_clause_and_choice() -> None:
    rules, others = load_rules(), [load_rules(edition=edition) for edition in ("E1", "T")]
    lines = rules_page(rules, others).splitlines()
    for each in (rules, *others):
        for clause in each.clauses.values():
            assert any(shows(line, clause) for line in lines), clause.id
    assert all(any(line.startswith(f"| {name} |") for line in lines) for name in rules.choices)


def shows(line: str, clause: Clause) -> bool:
    parts = (f"`{clause.id}`", clause.threshold, clause.severity, clause.text, clause.source)
    return line.startswith("|") and all(part in line for part in parts)
