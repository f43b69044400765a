"""Decides what a sweep measures, as far as that can be decided now: before anything is sent, and after a search."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

from wholecurve.cli.inputs import safe_name
from wholecurve.cli.sweep_bench import RunBench
from wholecurve.cli.sweep_plan import (
    HIGHEST_TRIAL,
    campaign_plan,
    conditions_of,
    levels_of,
    plan_lines,
    search_json,
    search_limits,
    search_words,
    time_of,
)
from wholecurve.cli.sweep_words import resume_lines
from wholecurve.model.strict_json import dumps_strict
from wholecurve.sweep import (
    JOURNAL_FILE,
    CampaignPlan,
    Conditions,
    Facts,
    Trial,
    load_plan,
    next_trial,
    parse_points,
    read_journal,
)


def levels_known(bench: RunBench) -> bool:
    """Whether the levels follow from the settings, without a search."""
    return bench.settings.sweep.points is not None or bench.settings.sweep.c_max is not None


def first_trial(bench: RunBench) -> int:
    """Where the search begins: at C_min."""
    return bench.settings.sweep.c_min or 1


def decided(
    bench: RunBench,
    conditions: Conditions,
    created: str,
    found: tuple[int, str] | None = None,
    trials: Sequence[Trial] = (),
) -> tuple[CampaignPlan, str]:
    """(the plan, its time in words), from a C_max that was given, named by the points, or found with trials.

    Raises InputError for levels that the rules do not allow.
    """
    settings = bench.settings
    sweep = settings.sweep
    if sweep.points is not None:
        c_max, why = max(parse_points(sweep.points)), "levels as asked for"
    elif found is not None:
        c_max, why = found[0], f"C_max found: {found[1]}"
    else:
        c_max, why = sweep.c_max or 1, "C_max as given"
    levels = levels_of(settings, bench, c_max, trials)
    time = time_of(levels, bench, trials)
    name = settings.name or safe_name(f"{bench.plan.endpoint.model}-curve")
    plan = campaign_plan(name, created, bench, conditions, levels, time, c_max_found=found is not None, c_max_why=why)
    return plan, time.words


def refuse_early(bench: RunBench, resumed: str | None) -> None:
    """What cannot be planned is refused before anything is sent and before a folder is made. Raises InputError."""
    if resumed is not None and load_plan(Path(resumed)) is not None:
        return
    found = None
    if not levels_known(bench):
        next_trial((), start=first_trial(bench), most=HIGHEST_TRIAL, limits=search_limits(bench.settings))
        found = HIGHEST_TRIAL, "the highest that may be found"
    decided(bench, conditions_of(bench, Facts(None)), "", found)


def dry_run_of(bench: RunBench, resumed: str | None, now: str, *, as_json: bool) -> int:
    """Show what would be done. now: ISO time. Opens no connection and writes nothing."""
    stored = load_plan(Path(resumed)) if resumed is not None else None
    if stored is not None and resumed is not None:
        folder = Path(resumed)
        lines = list(resume_lines(stored, read_journal(folder / JOURNAL_FILE).entries, folder))
        document = stored.to_json()
    elif levels_known(bench):
        plan, words = decided(bench, conditions_of(bench, Facts(None)), now)
        lines, document = list(plan_lines(plan, bench.rules, words)), plan.to_json()
    else:
        refuse_early(bench, resumed)
        first = first_trial(bench)
        lines, document = [search_words(bench, first)], search_json(bench, first)
    if as_json:
        sys.stdout.write(dumps_strict(document).decode() + "\n")
    else:
        print("\n".join(lines))
    return 0
