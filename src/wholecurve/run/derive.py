"""All figures of a run from plan.json, clock.json and records/ alone: once when it ends, and again for anyone who asks.

The first summary is made by this very code from the files on disk, so that whoever has the folder gets the same digits
(`recompute`), wherever it lies and whatever became of the endpoint, the data set and the tokenizer.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, NamedTuple

import orjson

from wholecurve.accuracy import Judgement, judge_folder
from wholecurve.metrics import Columns, window_rules
from wholecurve.model.errors import InputError
from wholecurve.model.plan import PhaseKind, Plan, plan_from_json
from wholecurve.model.strict_json import dumps_strict
from wholecurve.records.read import read_columns
from wholecurve.run.beside import figures_beside, stored_beside
from wholecurve.run.facts import DAMAGED, FACTS_FILE, RunFacts, facts_from_json
from wholecurve.run.figures import phase_summary
from wholecurve.run.files import CLOCK_SCHEMA, read_object
from wholecurve.run.point_file import warmup_declaration

SUMMARY: Final[Path] = Path("performance") / "result_summary.json"
ACCURACY: Final[Path] = Path("accuracy") / "accuracy_results.json"
ABSENT: Final[str] = "(absent)"
"""What stands for a value that one side does not have."""


@dataclass(frozen=True, slots=True, eq=False)
class Derived:
    """What the records of a run say.

    summary: content of performance/result_summary.json. columns: requests of the measured phase. phases: summary of
    each phase, by its number in the plan.
    """

    summary: dict[str, Any]
    columns: Columns
    plan: Plan
    phases: dict[int, dict[str, Any]]
    clock: dict[str, Any]
    facts: RunFacts


class Difference(NamedTuple):
    """A value that is stored otherwise than it is found, and its path of keys; `ABSENT` where there is none."""

    path: str
    stored: Any
    found: Any


@dataclass(frozen=True, slots=True, eq=False)
class Recomputed:
    """What was found when everything was computed again.

    summary: as derived now. figures: how many numbers were compared. differences: in the order of the files.
    measured_by: version of the client that measured; another one may define a figure otherwise.
    """

    summary: dict[str, Any]
    figures: int
    differences: tuple[Difference, ...]
    measured_by: str


def derive(folder: Path) -> Derived:
    """Read a run folder and compute the summary of every phase. Writes nothing.

    Raises InputError for a file that is missing or damaged, or of a run that was not finished.
    """
    plan, clock, facts = read_plan(folder), read_clock(folder), read_facts_file(folder)
    if len(facts.phases) != len(plan.phases):
        wanted = f"wanted facts of {len(plan.phases)} phases, got {len(facts.phases)}"
        raise InputError(f"facts.json does not belong to plan.json: {wanted}", where=folder.name, hint=DAMAGED)
    phases: dict[int, dict[str, Any]] = {}
    measured = measured_phase(plan, folder)
    kept: dict[int, Columns] = {}
    for number, phase in enumerate(plan.phases):
        columns = read_columns(folder / "records", number)
        phases[number] = phase_summary(plan, number, columns, facts, clock)
        if number == measured or phase.kind is PhaseKind.WARMUP:
            kept[number] = columns
    summary = phases[measured]
    warmup = warmup_declaration(plan, phases, kept, measured, clock)
    if warmup is not None:
        summary["workload"]["warmup"] = warmup
    return Derived(summary, kept[measured], plan, phases, clock, facts)


def measured_phase(plan: Plan, folder: Path) -> int:
    """Number of the phase whose figures are the point's. Raises InputError for a plan without one."""
    for number, phase in enumerate(plan.phases):
        if phase.kind is PhaseKind.PERFORMANCE:
            return number
    raise InputError("plan.json has no performance phase", where=folder.name, hint=DAMAGED)


def derive_accuracy(folder: Path, plan: Plan) -> Judgement | None:
    """Scores of the accuracy phase from its recorded answers and records/expected.json; None without such a phase.

    Raises InputError for a file that is missing or damaged.
    """
    number = next((number for number, phase in enumerate(plan.phases) if phase.kind is PhaseKind.ACCURACY), None)
    return None if number is None else judge_folder(folder, plan, number)


def recompute(folder: Path) -> Recomputed:
    """Derive every figure again and compare it with what is stored, digit by digit. Writes nothing.

    Raises InputError for a file that is missing or damaged, and for a run that was not finished.
    """
    if not (folder / SUMMARY).is_file():
        raise InputError(
            f"{folder.name} has no {SUMMARY}",
            where=folder.name,
            hint=f"a run that was killed is finished by: wholecurve report {folder}",
        )
    stored: dict[str, Any] = read_object(folder / SUMMARY)
    derived = derive(folder)
    found: dict[str, Any] = orjson.loads(dumps_strict(derived.summary))
    figures = numbers_in(found)
    differences = list(compared(stored, found))
    judgement = derive_accuracy(folder, derived.plan)
    if judgement is not None:
        scores: dict[str, Any] = orjson.loads(dumps_strict(judgement.results))
        figures += numbers_in(scores)
        differences += compared(read_object(folder / ACCURACY), scores, ACCURACY.stem)
    for name, beside in figures_beside(derived.plan, derived.clock, derived.columns, found).items():
        figures += numbers_in(beside)
        differences += compared(stored_beside(folder, name), beside, name.stem)
    return Recomputed(found, figures, tuple(differences), derived.facts.version)


def compared(stored: object, found: object, path: str = "") -> Iterator[Difference]:
    """Every place where two JSON values differ. 5 and 5.0 differ, and so do true and 1: files hold one of them."""
    if isinstance(stored, Mapping) and isinstance(found, Mapping):
        for key in [*found, *(key for key in stored if key not in found)]:
            yield from compared(stored.get(key, ABSENT), found.get(key, ABSENT), _under(path, key))
    elif isinstance(stored, list) and isinstance(found, list):
        for place in range(max(len(stored), len(found))):
            old, new = (one[place] if place < len(one) else ABSENT for one in (stored, found))
            yield from compared(old, new, f"{path}[{place}]")
    elif type(stored) is not type(found) or stored != found:
        yield Difference(path, stored, found)


def _under(path: str, key: str) -> str:
    """Keys that are no plain words stand in brackets: `ttft.percentiles["90.0"]`."""
    if key.isidentifier():
        return f"{path}.{key}" if path else key
    return f"{path}[{orjson.dumps(key, option=orjson.OPT_NON_STR_KEYS).decode()}]"


def numbers_in(value: object) -> int:
    """How many numbers a JSON value holds."""
    if isinstance(value, Mapping | list):
        return sum(map(numbers_in, value.values() if isinstance(value, Mapping) else value))
    return int(isinstance(value, int | float) and not isinstance(value, bool))


def read_plan(folder: Path) -> Plan:
    """plan.json, with rules that a window can be looked for with. Raises InputError."""
    plan = plan_from_json(read_object(folder / "plan.json"))
    try:
        window_rules(plan.rules)
    except (TypeError, ValueError) as error:
        raise InputError(f"plan.json is damaged: {error}", where=folder.name, hint=DAMAGED) from None
    return plan


def read_facts_file(folder: Path) -> RunFacts:
    """records/facts.json. Raises InputError."""
    return facts_from_json(read_object(folder / "records" / FACTS_FILE))


def read_clock(folder: Path) -> dict[str, Any]:
    """clock.json, with the values that figures are made of checked. Raises InputError."""
    clock = read_object(folder / "clock.json")
    if clock.get("schema") != CLOCK_SCHEMA:
        raise InputError(f"wanted clock.json with schema {CLOCK_SCHEMA}, got {clock.get('schema')!r}", hint=DAMAGED)
    anchors, spans = clock.get("anchors"), clock.get("phase_spans_ns")
    pairs = [[one.get(key) for key in ("monotonic_ns", "realtime_ns")] for one in _mappings(anchors)]
    pairs += spans if isinstance(spans, list) else [[]]
    good = bool(_mappings(anchors)) and all(
        isinstance(pair, list) and len(pair) == 2 and all(type(value) is int for value in pair) for pair in pairs
    )
    lists = all(isinstance(clock.get(key), list) for key in ("addresses", "requests_by_address"))
    if not good or not lists:
        raise InputError("clock.json is damaged: its anchors, spans or addresses do not hold", hint=DAMAGED)
    return clock


def _mappings(value: object) -> list[Mapping[str, Any]]:
    return [one for one in value if isinstance(one, Mapping)] if isinstance(value, list) else []
