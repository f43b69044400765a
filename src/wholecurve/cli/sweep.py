"""`wholecurve sweep`: the whole curve with one command, and on with it after a crash."""

from __future__ import annotations

import contextlib
import os
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from wholecurve.cli.campaign_files import print_campaign, write_campaign_files
from wholecurve.cli.inputs import RESULTS, load_tokenizer, new_folder, safe_name
from wholecurve.cli.main import tell
from wholecurve.cli.sweep_bench import Curve, RunBench
from wholecurve.cli.sweep_decide import decided, dry_run_of, first_trial, levels_known, refuse_early
from wholecurve.cli.sweep_given import CONFIG_FILE, checked_power, checked_system, resumed_config, resumed_files
from wholecurve.cli.sweep_plan import (
    HIGHEST_TRIAL,
    TOOL,
    check_settings,
    conditions_of,
    plan_lines,
    search_limits,
)
from wholecurve.cli.sweep_progress import SweepProgress
from wholecurve.cli.sweep_stop import Stopper
from wholecurve.cli.sweep_words import closing_lines, outcome_json, resume_lines
from wholecurve.config import Settings, SweepFlags, dump_settings, read_config, rules_of, settings_from
from wholecurve.datasets import load
from wholecurve.model.errors import InputError, InterruptedRun, MeasureError, WholecurveError
from wholecurve.model.strict_json import dumps_strict
from wholecurve.model.units import NS_PER_S
from wholecurve.rules import Kind
from wholecurve.run.apart import apart
from wholecurve.run.clock import monotonic_ns, realtime_ns, wall_iso
from wholecurve.run.files import write_atomically
from wholecurve.sweep import (
    CampaignOutcome,
    CampaignPlan,
    Conditions,
    Journal,
    Stopped,
    Surroundings,
    SweepView,
    begin,
    check_found,
    open_journal,
    resume,
    run_campaign,
    run_search,
    save_plan,
    seal_plan,
    stopped_by_user,
    trials_of,
)

SYSTEM, POWER = "system_desc.json", "system_power.json"
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
    stop: Stopper = field(default_factory=Stopper)

    def run(self, system: str | None, power: str | None, *, dry_run: bool) -> int:
        """All of it; the exit code."""
        self.progress.stopping = self.stop.want
        with self.stop.installed():
            with self.stop.breakable():
                bench = self.bench()
                if dry_run:
                    return dry_run_of(bench, self.given_folder, _wall(), as_json=self.flags.json)
                described = checked_system(system)
                descriptions = {SYSTEM: described, POWER: checked_power(power, bench, described)}
                refuse_early(bench, self.given_folder)
                # A sweep that is at work in the folder must not be disturbed: its lock comes before the first request.
                asked = self.flags.out or bench.settings.output.dir
                if asked is not None and Path(asked).exists():
                    new_folder(asked, RESULTS)  # refused now, not after the endpoint was asked
                facts = None if self.given_folder else bench.probe()
                folder = Path(self.given_folder) if self.given_folder else self.new_folder(bench)
            with open_journal(folder, _wall, self.progress.say) as journal:
                bench.begun = True
                return self.session(folder, journal, bench, conditions_of(bench, facts or bench.probe()), descriptions)

    def session(
        self, folder: Path, journal: Journal, bench: RunBench, conditions: Conditions,
        descriptions: dict[str, bytes | None],
    ) -> int:  # fmt: skip
        """Plan and measure in a folder that this process holds; the exit code."""
        try:
            plan = self.plan(folder, journal, bench, conditions, descriptions)
            outcome = self.measure(plan, folder, journal, bench)
        except Stopped as stop:
            return self.show(_before_levels(stop, journal), folder)
        except KeyboardInterrupt:
            return self.show(_before_levels(stopped_by_user(), journal), folder)
        except InputError:
            raise
        except Exception:
            self.progress.close()
            tell(f"go on with: wholecurve sweep --resume {folder}")
            raise
        self.refresh(folder)
        return self.show(outcome, folder)

    # -- what is asked for ---------------------------------------------------------------------------------------------

    def bench(self) -> RunBench:
        """The bench, with settings from flags and file; of a resumed sweep from its own config.yaml."""
        resumed = self.given_folder is not None
        config = resumed_config(self.given_folder, self.flags) if self.given_folder else self.flags.config
        file = read_config(config, os.environ) if config is not None else None
        settings = settings_from(self.flags, file)
        if resumed:
            resumed_files(settings)
        notes = check_settings(settings)
        warnings = file.warnings if file is not None else ()
        for note in (*([] if resumed else notes), *warnings):  # a resumed sweep has said so at its start
            self.progress.say(f"note: {note}")
        rules = rules_of(settings.rules)
        name = settings.rules.benchmark
        kind = Kind.SINGLE_TURN if name is None else rules.benchmarks.of(name).kind
        return RunBench(
            settings, os.environ, rules, kind, load, load_tokenizer, self.progress.say, warnings,
            stopping=self.stop.want, breakable=self.stop.breakable,
        )  # fmt: skip

    def new_folder(self, bench: RunBench) -> Path:
        """The campaign's folder, made now, with the settings in it."""
        asked = self.flags.out or bench.settings.output.dir
        name = safe_name(bench.settings.name or f"{bench.plan.endpoint.model}-curve")
        folder = new_folder(asked, RESULTS / name)
        write_atomically(folder / CONFIG_FILE, dump_settings(bench.resolved_settings).encode())
        self.progress.say(f"campaign: {folder}/")
        return folder

    # -- the plan ------------------------------------------------------------------------------------------------------

    def plan(
        self, folder: Path, journal: Journal, bench: RunBench, conditions: Conditions,
        descriptions: dict[str, bytes | None],
    ) -> CampaignPlan:  # fmt: skip
        """The stored plan of a resumed sweep; else a new one, after the search if there has to be one."""
        plan = None
        if self.given_folder is not None:
            plan = resume(folder, journal, conditions, tool=TOOL)
            if plan is None:
                self.progress.say("the sweep was stopped before its levels were chosen; that comes now")
        else:
            begin(journal, conditions, tool=TOOL)
        bench.campaign = next(str(entry["at"]) for entry in journal.entries if entry["event"] == "created")
        for name, data in descriptions.items():
            if data is not None:
                write_atomically(folder / name, data)
        if plan is not None:
            for line in resume_lines(plan, journal.entries, folder):
                self.progress.say(line)
            bench.curve = _curve_of(bench.settings, plan)
            return plan
        found = self.search(folder, journal, bench, conditions)
        plan, words = decided(bench, conditions, _wall(), found, trials_of(journal.entries))
        save_plan(folder, plan)
        seal_plan(folder, journal)
        bench.curve = _curve_of(bench.settings, plan)
        for line in plan_lines(plan, bench.rules, words, self.progress.width):
            self.progress.say(line)
        return plan

    def search(self, folder: Path, journal: Journal, bench: RunBench, conditions: Conditions) -> tuple[int, str] | None:
        """(C_max, why), if nobody gave one. Raises Stopped; InputError where no curve can be built on what is found."""
        if levels_known(bench):
            return None
        sweep = bench.settings.sweep
        least_s = min(SEARCH_LEAST_S, *bench.rules.durations.minimum_s.values())
        found, _trials = run_search(
            folder, bench, journal, conditions.endpoint, start=first_trial(bench), most=HIGHEST_TRIAL,
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
            sleep=self.sleep,
            interrupted=lambda: self.stop.wanted,
            wait_endpoint_s=settings.sweep.wait_endpoint / NS_PER_S,
        )

    def sleep(self, seconds: float) -> None:
        """Sleep, unless the user wants the end."""
        with self.stop.breakable():
            time.sleep(seconds)

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
            self.stop.want()

    def refresh(self, folder: Path) -> None:
        """curve.json and the reports, in a process of their own. What cannot be written is said, and costs no point."""
        try:
            for note in apart(lambda _send: write_campaign_files(folder), {}, folder.name, self.stop.want):
                self.progress.say(f"note: {note}")
        except InterruptedRun:
            self.stop.want()
        except WholecurveError as error:
            self.progress.say(f"the reports could not be made: {error.message}")
        except Exception as error:  # noqa: BLE001 - a fault of a report must not end hours of measuring
            self.progress.say(
                f"the reports could not be made ({type(error).__name__}); the runs are kept, and "
                f"`wholecurve report {folder}` makes them again"
            )

    # -- the end -------------------------------------------------------------------------------------------------------

    def show(self, outcome: CampaignOutcome, folder: Path) -> int:
        """The curve on stdout, and how the sweep ended on stderr."""
        self.progress.close()
        if self.flags.json:
            sys.stdout.write(dumps_strict(outcome_json(outcome, folder)).decode() + "\n")
        elif not self.flags.quiet and outcome.done:
            try:
                print_campaign(folder)
            except WholecurveError as error:
                tell(f"the report cannot be shown: {error.message}")
        sys.stdout.flush()
        for line in closing_lines(outcome, folder, quiet=self.flags.quiet):
            tell(line)
        return outcome.exit_code


def _before_levels(stop: Stopped, journal: Journal) -> CampaignOutcome:
    """The end of a sweep that was stopped before its levels were chosen, noted."""
    with contextlib.suppress(MeasureError):  # a full disk: the journal then ends with the last thing that was done
        journal.note("interrupted", state=stop.state.value, why=stop.reason, done=[], invalid=[], missing=[])
    return CampaignOutcome(stop.state, (), (), (), stop.reason, (), stop.exit_code)


def _curve_of(settings: Settings, plan: CampaignPlan) -> Curve:
    return Curve(plan.c_min, plan.c_max, settings.sweep.max_extra)


def _wall() -> str:
    return wall_iso(realtime_ns())
