"""`wholecurve sweep`: the whole curve with one command, and on with it after a crash."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

from cyclopts import Parameter

from wholecurve.cli.campaign_files import HTML, print_campaign, write_campaign_files
from wholecurve.cli.inputs import RESULTS, load_tokenizer, new_folder, safe_name
from wholecurve.cli.main import tell
from wholecurve.cli.sweep_bench import Curve, RunBench
from wholecurve.cli.sweep_plan import (
    HIGHEST_TRIAL,
    TOOL,
    campaign_plan,
    check_settings,
    conditions_of,
    levels_of,
    plan_lines,
    search_limits,
    time_of,
)
from wholecurve.cli.sweep_progress import SweepProgress
from wholecurve.config import Settings, SweepFlags, dump_settings, read_config, rules_of, settings_from
from wholecurve.datasets import load
from wholecurve.model.errors import InputError, InterruptedRun, WholecurveError
from wholecurve.model.strict_json import dumps_strict
from wholecurve.model.units import NS_PER_S
from wholecurve.rules import Kind
from wholecurve.run.apart import apart
from wholecurve.run.clock import monotonic_ns, realtime_ns, wall_iso
from wholecurve.run.files import write_atomically
from wholecurve.sweep import (
    CampaignOutcome,
    CampaignPlan,
    CampaignState,
    Conditions,
    Journal,
    Stopped,
    Surroundings,
    SweepView,
    begin,
    check_found,
    open_journal,
    parse_points,
    resume,
    run_campaign,
    run_search,
    save_plan,
    trials_of,
)

CONFIG_FILE = "config.yaml"
SYSTEM, POWER = "system_desc.json", "system_power.json"
SCHEMA = "wholecurve.sweep/1"
SEARCH_LEAST_S = 10.0


def _flag(name: str, text: str) -> Parameter:
    return Parameter(name=name, help=text, negative="", show_default=False)


def command(
    *,
    flags: Annotated[SweepFlags, Parameter(name="*")] = SweepFlags(),  # noqa: B008 - it is frozen
    system: Annotated[str | None, _flag("--system", "system_desc.json of what is measured (see describe)")] = None,
    power: Annotated[str | None, _flag("--power", "system_power.json of what is measured")] = None,
    dry_run: Annotated[bool, _flag("--dry-run", "show the plan and how long it takes; measure nothing")] = False,
    resume: Annotated[str | None, _flag("--resume", "go on with the sweep in this folder")] = None,
) -> int:
    """Measure the whole curve of a served endpoint, unattended.

    Chooses the levels that the rules ask for between C_min and C_max (which it finds if it is not given), shows the
    plan and how long it takes, measures every level in an order that does not flatter, extends a point whose steady
    window is too short, and writes one folder with a run per level, the curve and its reports. Whatever stops it,
    --resume goes on with what is missing.
    """
    progress = SweepProgress(sys.stderr, quiet=flags.quiet)
    try:
        return Sweep(flags, progress, given_folder=resume).run(system, power, dry_run=dry_run)
    finally:
        progress.close()


@dataclass(slots=True)
class Sweep:
    """One session of a sweep, from flags to files."""

    flags: SweepFlags
    progress: SweepProgress
    given_folder: str | None
    stop_wanted: bool = False

    def run(self, system: str | None, power: str | None, *, dry_run: bool) -> int:
        """All of it; the exit code."""
        bench = self.bench()
        if dry_run:
            return self.dry(bench)
        facts = bench.probe()
        conditions = conditions_of(bench, facts)
        if bench.settings.sweep.points is not None or bench.settings.sweep.c_max is not None:
            self.planned(bench, conditions)  # what cannot be planned is refused before a folder is made
        folder = Path(self.given_folder) if self.given_folder else self.new_folder(bench)
        descriptions = {SYSTEM: checked_system(system), POWER: checked_power(power, bench)}
        with open_journal(folder, _wall, self.progress.say) as journal:
            for name, data in descriptions.items():
                if data is not None:
                    write_atomically(folder / name, data)
            try:
                plan = self.plan(folder, journal, bench, conditions)
            except Stopped as stop:
                tell(f"stopped: {stop.reason}")
                tell(f"go on with: wholecurve sweep --resume {folder}")
                return stop.exit_code
            outcome = self.measure(plan, folder, journal, bench)
            self.refresh(folder)
            return self.show(outcome, plan, folder)

    # -- what is asked for ---------------------------------------------------------------------------------------------

    def bench(self) -> RunBench:
        """The bench, with settings from flags and file; of a resumed sweep from its own config.yaml."""
        config = self.flags.config
        if self.given_folder is not None:
            if config is not None:
                raise InputError("wanted --resume or --config, got both", hint="a sweep goes on with its own settings")
            stored = Path(self.given_folder) / CONFIG_FILE
            if not stored.is_file():
                raise InputError(
                    f"{self.given_folder} holds no sweep: it has no {CONFIG_FILE}",
                    hint="give the folder that the sweep named at its start",
                )
            config = str(stored)
        file = read_config(config, os.environ) if config is not None else None
        settings = settings_from(self.flags, file)
        for note in check_settings(settings):
            self.progress.say(f"note: {note}")
        warnings = file.warnings if file is not None else ()
        for warning in warnings:
            self.progress.say(f"note: {warning}")
        rules = rules_of(settings.rules)
        name = settings.rules.benchmark
        kind = Kind.SINGLE_TURN if name is None else rules.benchmarks.of(name).kind
        return RunBench(settings, os.environ, rules, kind, load, load_tokenizer, self.progress.say, warnings)

    def new_folder(self, bench: RunBench) -> Path:
        """The campaign's folder, made now, with the settings in it."""
        asked = self.flags.out or bench.settings.output.dir
        name = safe_name(bench.settings.name or f"{bench.plan.endpoint.model}-curve")
        folder = new_folder(asked, RESULTS / name)
        write_atomically(folder / CONFIG_FILE, dump_settings(bench.settings).encode())
        self.progress.say(f"campaign: {folder}/")
        return folder

    # -- the plan ------------------------------------------------------------------------------------------------------

    def dry(self, bench: RunBench) -> int:
        """Show what would be done. Opens no connection and writes nothing."""
        from wholecurve.sweep import Facts

        conditions = conditions_of(bench, Facts(None))
        sweep = bench.settings.sweep
        if sweep.points is None and sweep.c_max is None:
            print(
                "C_max is not given, so a search comes first: levels are doubled from "
                f"{self.first_trial(bench)} until throughput grows by less than 3 % or a stated limit is broken, then "
                "the bracket is halved; a trial takes ten answers per slot and 10 s at least.\nThe levels follow "
                "from it. With --c-max N or --points the plan can be shown now."
            )
            return 0
        plan, words = self.planned(bench, conditions)
        if self.flags.json:
            sys.stdout.write(dumps_strict(plan.to_json()).decode())
            return 0
        print("\n".join(plan_lines(plan, bench.rules, words)))
        return 0

    def plan(self, folder: Path, journal: Journal, bench: RunBench, conditions: Conditions) -> CampaignPlan:
        """The stored plan of a resumed sweep; else a new one, after the search if there has to be one."""
        plan = None
        if self.given_folder is not None:
            plan = resume(folder, journal, conditions, tool=TOOL)
            if plan is None:
                self.progress.say("the sweep was stopped before its levels were chosen; the search goes on")
        else:
            begin(journal, conditions, tool=TOOL)
        if plan is not None:
            bench.curve = _curve_of(bench.settings, plan)
            return plan
        plan, words = self.planned(bench, conditions, self.search(folder, journal, bench, conditions), journal)
        save_plan(folder, plan)
        bench.curve = _curve_of(bench.settings, plan)
        for line in plan_lines(plan, bench.rules, words):
            self.progress.say(line)
        return plan

    def planned(
        self,
        bench: RunBench,
        conditions: Conditions,
        found: tuple[int, str] | None = None,
        journal: Journal | None = None,
    ) -> tuple[CampaignPlan, str]:
        """(the plan, its time in words), from a C_max that was given, named by the points, or found with trials."""
        settings = bench.settings
        sweep = settings.sweep
        trials = trials_of(journal.entries) if journal is not None else ()
        if sweep.points is not None:
            c_max, why = max(parse_points(sweep.points)), "levels as asked for"
        elif found is not None:
            c_max, why = found[0], f"C_max found: {found[1]}"
        else:
            c_max, why = sweep.c_max or 1, "C_max as given"
        levels = levels_of(settings, bench, c_max, trials)
        estimated = time_of(levels, bench, trials)
        name = settings.name or safe_name(f"{bench.plan.endpoint.model}-curve")
        plan = campaign_plan(
            name, _wall(), bench, conditions, levels, estimated, c_max_found=found is not None, c_max_why=why
        )
        return plan, estimated.words

    def first_trial(self, bench: RunBench) -> int:
        """Where the search begins: at C_min."""
        return bench.settings.sweep.c_min or 1

    def search(self, folder: Path, journal: Journal, bench: RunBench, conditions: Conditions) -> tuple[int, str] | None:
        """(C_max, why), if nobody gave one. Raises Stopped; InputError where no curve can be built on what is found."""
        sweep = bench.settings.sweep
        if sweep.points is not None or sweep.c_max is not None:
            return None
        least_s = min(SEARCH_LEAST_S, *bench.rules.durations.minimum_s.values())
        found, _trials = run_search(
            folder, bench, journal, conditions.endpoint, start=self.first_trial(bench), most=HIGHEST_TRIAL,
            limits=search_limits(bench.settings), show=self.look, around=self.around(bench.settings),
            rest_s=min(1.0, sweep.idle_gap / NS_PER_S), least_s=least_s,
        )  # fmt: skip
        return check_found(found, bench.rules), found.reason

    # -- measuring -----------------------------------------------------------------------------------------------------

    def around(self, settings: Settings) -> Surroundings:
        """Clock, sleep and words of this process."""
        return Surroundings(
            say=self.progress.say,
            now=lambda: monotonic_ns() / NS_PER_S,
            sleep=time.sleep,
            interrupted=lambda: self.stop_wanted,
            wait_endpoint_s=settings.sweep.wait_endpoint / NS_PER_S,
        )

    def measure(self, plan: CampaignPlan, folder: Path, journal: Journal, bench: RunBench) -> CampaignOutcome:
        """Every point that is not valid yet; the curve and its reports are made anew after each."""
        done: set[int] = set()

        def show(view: SweepView) -> None:
            if view.live is None and view.doing in ("done", "not valid") and len(journal.entries) not in done:
                done.add(len(journal.entries))
                self.refresh(folder)
            self.look(view)

        return run_campaign(plan, folder, bench, journal, show=show, around=self.around(bench.settings))

    def look(self, view: SweepView) -> None:
        """Show; a user who stops the drawing stops the sweep."""
        try:
            self.progress.show(view)
        except InterruptedRun:
            self.stop_wanted = True

    def refresh(self, folder: Path) -> None:
        """curve.json and the reports, in a process of their own. What cannot be written is said, and costs no point."""
        try:
            for note in apart(lambda _send: write_campaign_files(folder), {}, folder.name):
                self.progress.say(f"note: {note}")
        except InterruptedRun:
            self.stop_wanted = True
        except WholecurveError as error:
            self.progress.say(f"the reports could not be made: {error.message}")

    # -- the end -------------------------------------------------------------------------------------------------------

    def show(self, outcome: CampaignOutcome, plan: CampaignPlan, folder: Path) -> int:
        """The curve on stdout, and how the sweep ended on stderr."""
        self.progress.close()
        if self.flags.json:
            sys.stdout.write(dumps_strict(_outcome_json(outcome, folder)).decode())
        elif not self.flags.quiet and outcome.done:
            print_campaign(folder)
        sys.stdout.flush()
        for line in closing_lines(outcome, folder):
            tell(line)
        return outcome.exit_code


def closing_lines(outcome: CampaignOutcome, folder: Path) -> Iterator[str]:
    """How it ended, what is missing, and the next step."""
    if outcome.reason:
        yield f"{outcome.state.value}: {outcome.reason}"
    if outcome.invalid:
        yield f"not valid: {', '.join(outcome.invalid)}"
    if outcome.missing:
        yield f"missing: {', '.join(outcome.missing)}"
    for sentence in outcome.differences:
        yield f"not the same at every point: {sentence}"
    if outcome.state is not CampaignState.COMPLETE:
        yield f"go on with: wholecurve sweep --resume {folder}"
    if outcome.done:
        yield f"the report: {folder / HTML}"


def _outcome_json(outcome: CampaignOutcome, folder: Path) -> dict[str, Any]:
    import orjson

    curve = folder / "curve.json"
    return {
        "schema": SCHEMA,
        "state": outcome.state.value,
        "reason": outcome.reason or None,
        "done": list(outcome.done),
        "invalid": list(outcome.invalid),
        "missing": list(outcome.missing),
        "differences": list(outcome.differences),
        "folder": folder.name,
        "curve": orjson.loads(curve.read_bytes()) if curve.is_file() else None,
    }


def checked_system(path: str | None) -> bytes | None:
    """The bytes of a system description, checked to be a JSON object. Raises InputError."""
    return None if path is None else _object(path, "--system")[0]


def checked_power(path: str | None, bench: RunBench) -> bytes | None:
    """The bytes of a power description that the rules can add up. Raises InputError with everything against it."""
    if path is None:
        return None
    from wholecurve.power import parse_power, provisioned

    data, found = _object(path, "--power")
    provisioned(parse_power(found, bench.rules.power), bench.rules.power)
    return data


def _object(path: str, flag: str) -> tuple[bytes, dict[str, Any]]:
    import orjson

    try:
        data = Path(path).read_bytes()
        found = orjson.loads(data)
    except OSError as error:
        raise InputError(f"{flag}: {path} cannot be read: {error.strerror}") from None
    except orjson.JSONDecodeError:
        raise InputError(f"{flag}: {path} is not valid JSON") from None
    if not isinstance(found, dict):
        raise InputError(f"{flag}: wanted a JSON object in {path}")
    return data, found


def _curve_of(settings: Settings, plan: CampaignPlan) -> Curve:
    return Curve(plan.c_min, plan.c_max, settings.sweep.max_extra)


def _wall() -> str:
    return wall_iso(realtime_ns())
