"""Whose figures these are: what all points of one curve share, from the files of a run or of a campaign."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

from wholecurve.model.errors import InputError
from wholecurve.model.names import DEFINITIONS_VERSION
from wholecurve.model.point import Identity
from wholecurve.results.run_folder import RunFiles
from wholecurve.results.values import at, count, mapping, mappings, text

UNKNOWN_MODEL: Final = "model not stated"

INTERACTIVITY_OF_KIND: Final[Mapping[str, str]] = {
    "single_turn": "tps_per_user",
    "agentic": "e2e_avg_interactivity",
}
"""The speed of one user, by the kind of benchmark in the rules data (rules 4.2)."""


def interactivity_of(kind: object, stated: object = None) -> str:
    """The key of interactivity: as stated in a campaign's plan, else by the benchmark's kind."""
    if stated in INTERACTIVITY_OF_KIND.values():
        return str(stated)
    return INTERACTIVITY_OF_KIND.get(str(kind), "tps_per_user")


def identity_of_run(run: RunFiles, *, name: str) -> Identity:
    """Of a run folder that belongs to no campaign. name: of its folder, which stands for what nobody stated."""
    submission = text(run.plan.get("name")) or name
    return _identity(
        run,
        (run.system,),
        system=text(run.system.get("system_name")) or submission,
        submission=submission,
        rules=run.rules,
    )


def identity_of_campaign(
    plan: Mapping[str, Any], run: RunFiles | None, system: Mapping[str, Any], *, name: str
) -> Identity:
    """Of a campaign, from its plan.yaml, its first run and its system_desc.json. name: of its folder."""
    submission = text(plan.get("name")) or name
    return _identity(
        run,
        (system, run.system if run else {}),
        system=text(system.get("system_name")) or submission,
        submission=submission,
        rules={**(run.rules if run else {}), **mapping(plan, "rules")},
        plan=plan,
    )


def _identity(
    run: RunFiles | None,
    systems: Iterable[Mapping[str, Any]],
    *,
    system: str,
    submission: str,
    rules: Mapping[str, Any],
    plan: Mapping[str, Any] | None = None,
) -> Identity:
    """plan: plan.yaml of a campaign; what it says of data set, tokenizer and model wins over a single run."""
    described = [one for one in systems if one]
    point = run.point if run else {}
    data_set, data_set_hash = data_set_of(plan or {}, run)
    accelerators, nodes = counts_of(described[0]) if described else (None, None)
    models = at(plan, "endpoint", "models")
    first_model = text(models[0]) if isinstance(models, list) and models else None
    benchmark = text(rules.get("benchmark"))
    return Identity(
        system=system,
        benchmark=benchmark or f"own workload: {data_set}",
        submission=submission,
        model=text(point.get("model_name")) or (run.model if run else None) or first_model or UNKNOWN_MODEL,
        definition_version=DEFINITIONS_VERSION,
        data_set_hash=data_set_hash,
        tokenizer_hash=text(at(plan, "tokenizer", "sha256")) or (run.tokenizer_hash if run else None),
        division=next(filter(None, (text(one.get("division")) for one in (*described, point))), None),
        rules_version=rules_version(rules),
        precision=text(point.get("model_precision")),
        accelerators=accelerators,
        nodes=nodes,
        traffic=_traffic(rules, benchmark),
    )


def rules_version(rules: Mapping[str, Any]) -> str | None:
    """Version and edition of the rules in one word, such as `v1_0 E3`."""
    version, edition = text(rules.get("version")), text(rules.get("edition"))
    return f"{version} {edition}" if version and edition else version


def data_set_of(plan: Mapping[str, Any], run: RunFiles | None) -> tuple[str, str | None]:
    """(name, SHA-256) of the performance data set. The campaign's plan knows which one by the run's phase; without a
    run the first one stands for it."""
    listed = mappings(plan, "datasets")
    name = text(run.phase.get("dataset")) if run else None
    if name is None:
        name = text(listed[0].get("name")) if listed else None
    planned = next((text(one.get("sha256")) for one in listed if name and one.get("name") == name), None)
    return name or "not stated", planned or (run.data_set_hash if run else None)


def counts_of(system: Mapping[str, Any]) -> tuple[int | None, int | None]:
    """(accelerators, nodes) of everything provisioned: sums over `node_types`. None where a count is not declared."""
    nodes, accelerators = 0, 0
    types = mappings(system, "node_types")
    for node in types:
        of_type = count(node.get("number_of_nodes"))
        if of_type is None:
            return None, None
        nodes += of_type
        for part in mappings(node, "accelerator_info"):
            per_node = count(part.get("accelerators_per_node"))
            if per_node is None:
                return None, nodes_of(types)
            accelerators += of_type * per_node
    return accelerators or None, nodes or None


def nodes_of(types: Iterable[Mapping[str, Any]]) -> int | None:
    """The sum of `number_of_nodes`; None if one is not declared."""
    found = [count(one.get("number_of_nodes")) for one in types]
    return None if not found or None in found else sum(one for one in found if one)


def _traffic(rules: Mapping[str, Any], benchmark: str | None) -> str | None:
    """The shared traffic of an agentic benchmark: its performance data set, which several models are measured on."""
    if rules.get("kind") != "agentic" or benchmark is None:
        return None
    from wholecurve.rules.load import load_rules

    try:
        loaded = load_rules(str(rules.get("version")), str(rules.get("edition")))
        return loaded.benchmarks.of(benchmark).performance_dataset
    except InputError:
        return None  # rules that this version does not know: then nothing is taken as shared
