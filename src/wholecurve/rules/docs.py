"""docs/reference/rules.md, generated from the data, so that page and rules cannot part."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from wholecurve.rules.clauses import Clause
from wholecurve.rules.ruleset import RuleSet
from wholecurve.rules.words import Scope

_SCOPES: Final[dict[Scope, tuple[str, str]]] = {
    Scope.SUBMISSION: ("Clauses for a submission", "Looked at once per submission."),
    Scope.SYSTEM: ("Clauses for a system", "Looked at once per system of a submission."),
    Scope.CURVE: ("Clauses for a curve", "Looked at once per system and model."),
    Scope.POINT: ("Clauses for a point", "Looked at for every measured concurrency."),
}
_CLAUSE_HEAD: Final = ("Id", "Threshold", "Severity", "Action", "Text", "Source")


def rules_page(rules: RuleSet, others: Sequence[RuleSet] = ()) -> str:
    """The page as Markdown: the given edition in full, and what the other editions of the same version have instead."""
    parts = [*_intro(rules), *_editions(rules), *_regions(rules), *_benchmarks(rules)]
    for scope, (title, lead) in _SCOPES.items():
        clauses = [clause for clause in rules.clauses.values() if clause.scope is scope]
        parts += ["", f"## {title}", "", lead, "", *_table(_CLAUSE_HEAD, map(_clause_row, clauses))]
    for other in others:
        parts += _other_edition(rules, other)
    parts += _choices(rules)
    return "\n".join(parts) + "\n"


def _intro(rules: RuleSet) -> list[str]:
    about = rules.about
    until = f" The text calls itself tentative until {about.tentative_until}." if about.tentative_until else ""
    return [
        "# Rules",
        "",
        f"Generated from `src/wholecurve/rules/data/{rules.version}/`; change it there.",
        "",
        f"{about.title} ({about.version_line}), edition {rules.edition}, in our own words.{until}",
        "Sources are sections of that text, or the tool that says it. Severity is how a broken clause is reported; the",
        "action is what the rules do about it (`review`: people decide; `none`: only a tool says it). Ids such as `C1`",
        "are [choices](#choices), made where the text is open or contradicts itself.",
    ]


def _editions(rules: RuleSet) -> list[str]:
    about = rules.about
    rows = (
        (each.id, each.what, each.source + (f" @ {each.source_commit}" if each.source_commit else ""), each.standing)
        for each in about.editions.values()
    )
    parts = ["", "## Editions", "", *_table(("Id", "What", "Source", "Standing"), rows)]
    if about.changes:
        named = sorted({edition for change in about.changes.values() for edition in change.says})
        changes = (
            (
                change.topic,
                *(change.says.get(edition, "") for edition in named),
                _codes(change.clauses),
                change.sections,
            )
            for change in about.changes.values()
        )
        parts += ["", "What differs:", "", *_table(("Topic", *named, "Clauses", "Source"), changes)]
    return parts


def _regions(rules: RuleSet) -> list[str]:
    cut = rules.regions
    durations = rules.durations.minimum_s
    borders = {
        cut.ultra_low: f"{cut.c_min_lowest} to C_min (label); {cut.c_min_lowest} to {cut.ultra_low_highest} (coverage)",
        cut.low: "C_min + 1 to L = C_min + (C_max - C_min)^(1/3)",
        cut.medium: "L + 1 to M = C_min + (C_max - C_min)^(2/3)",
        cut.high: "M + 1 to C_max",
        cut.beyond: f"C_max + 1 to {float(cut.margin):g} x C_max, rounded up",
    }
    rows = (
        (
            row.title,
            f"`{row.id}`",
            borders[row.id],
            str(row.required),
            "yes" if row.choice_points else "no",
            f"{durations[row.id]:g}" if row.id in durations else "",
        )
        for row in cut.region.values()
    )
    return [
        "",
        "## Regions",
        "",
        f"C_min is the curve's lowest concurrency, {cut.c_min_lowest} to {cut.c_min_highest}; C_max is declared, and",
        f"above {cut.c_max_above}. L and M are rounded half to even.",
        "",
        *_table(("Region", "Id", "Concurrencies", "Points needed", "Points of choice", "Steady s, least"), rows),
    ]


def _benchmarks(rules: RuleSet) -> list[str]:
    rows = (
        (
            f"`{each.id}`",
            each.title,
            each.kind,
            str(each.performance_samples),
            str(each.accuracy_samples),
            "; ".join(
                f"{target.id} {target.least:.10g}" + (f" to {target.most:.10g}" if target.most is not None else "")
                for target in each.targets.values()
            ),
        )
        for each in rules.benchmarks.benchmark.values()
    )
    head = ("Model name", "Benchmark", "Kind", "Performance samples", "Accuracy samples", "Scores, at least")
    return ["", "## Benchmarks", "", *_table(head, rows)]


def _other_edition(rules: RuleSet, other: RuleSet) -> list[str]:
    differ = [clause for name, clause in other.clauses.items() if rules.clauses.get(name) != clause]
    absent = [name for name in rules.clauses if name not in other.clauses]
    parts = ["", f"## Edition {other.edition}", "", _sentence(other.about.editions[other.edition].what)]
    if absent:
        parts += ["", f"Without: {_codes(absent)}."]
    if differ:
        parts += ["", "Instead or besides:", "", *_table(("Scope", *_CLAUSE_HEAD), map(_scoped_row, differ))]
    return parts


def _choices(rules: RuleSet) -> list[str]:
    rows = ((each.id, each.question, each.choice, each.sections) for each in rules.choices.values())
    lead = "Questions that the text leaves open or answers in two ways, and what is done here."
    return ["", "## Choices", "", lead, "", *_table(("Id", "Question", "Choice", "Source"), rows)]


def _clause_row(clause: Clause) -> tuple[str, ...]:
    choice = f" ({clause.choice})" if clause.choice else ""
    only = f" {', '.join(clause.divisions)} only." if clause.divisions else ""
    kinds = f" For {clause.kinds[0].replace('_', '-')} curves." if len(clause.kinds) == 1 else ""
    action = clause.action.replace("_", " ")
    return (
        f"`{clause.id}`",
        clause.threshold,
        clause.severity,
        action,
        clause.text + only + kinds + choice,
        clause.source,
    )


def _scoped_row(clause: Clause) -> tuple[str, ...]:
    return (clause.scope, *_clause_row(clause))


def _sentence(text: str) -> str:
    return f"{text[:1].upper()}{text[1:]}."


def _codes(names: Iterable[str]) -> str:
    return ", ".join(f"`{name}`" for name in names)


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    lines = ["| " + " | ".join(head) + " |", "| " + " | ".join("---" for _ in head) + " |"]
    for row in rows:
        lines.append("| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |")
    return lines
