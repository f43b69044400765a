"""The bench of a sweep: what `wholecurve.sweep` asks for, done by `wholecurve.run` against a real endpoint.

Every run is made in a process of its own (run/apart.py), with data sets and tokenizer read once, before the first.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from wholecurve.cli.sweep_outcome import fault_of_disk, outcome_of, trial_of
from wholecurve.config import CurvePlace, Resolved, Settings, resolve
from wholecurve.config.inputs import LoadTokenizer, ReadDataset
from wholecurve.config.rows import rows_of
from wholecurve.config.schema import DatasetSettings
from wholecurve.model.errors import InterruptedRun, MeasureError, SetupError
from wholecurve.model.plan import Pattern, Plan, Secrets
from wholecurve.model.record import RunState
from wholecurve.model.units import NS_PER_S
from wholecurve.rules import Kind, RuleSet, regions, shortest_s
from wholecurve.run import RunResult
from wholecurve.run.apart import ChildEnded, measure_apart
from wholecurve.run.probe import Wanted, glance
from wholecurve.sweep import Facts, Level, Live, PointOrder, PointOutcome, Trial, TrialStop

GLANCE_TIMEOUT_NS = 30 * NS_PER_S


@dataclass(frozen=True, slots=True)
class Curve:
    """What the bench needs to know of the curve: its ends and the longest extension of a point (None: see rules)."""

    c_min: int
    c_max: int
    max_extra_ns: int | None


@dataclass(slots=True)
class RunBench:
    """`Bench` and `SearchBench` of a sweep. `curve` is set once the levels are known.

    campaign: when it began, by its journal. begun: the sweep has a model list to compare with, so that a model that is
    gone is a change of the endpoint rather than an endpoint that is not there. stopping: told when the user ends a
    run. breakable: around what the user's signal may break off.
    """

    settings: Settings
    environ: Mapping[str, str]
    rules: RuleSet
    kind: Kind
    read_dataset: ReadDataset
    load_tokenizer: LoadTokenizer
    say: Callable[[str], None]
    warnings: tuple[str, ...] = ()
    curve: Curve | None = None
    begun: bool = False
    campaign: str = ""
    stopping: Callable[[], None] = lambda: None
    breakable: Callable[[], AbstractContextManager[None]] = nullcontext
    _known: dict[str, Any] = field(default_factory=dict)

    # -- the endpoint --------------------------------------------------------------------------------------------------

    def probe(self) -> Facts:
        """Ask the endpoint which models it serves and for one small answer. SetupError when it does not give them."""
        with self.breakable():
            return self._probe()

    def _probe(self) -> Facts:
        plan, secrets = self._first()
        wanted = Wanted(plan.endpoint, secrets, plan.endpoint.model, plan.endpoint.dialect, GLANCE_TIMEOUT_NS)
        report = glance(wanted)
        models = report.facts.get("models")
        listed = None if models is None else tuple(sorted(models))
        if not report.ready and not (report.facts.get("problem") == "model_missing" and self.begun):
            problem = next(one for one in report.findings if one.grade.value == "problem")
            raise SetupError(f"the endpoint does not answer: {problem.figure}", hint=problem.remedy)
        return Facts(listed, report.facts.get("server") or None)

    # -- runs ----------------------------------------------------------------------------------------------------------

    def measure(self, order: PointOrder, folder: Path, show: Live) -> PointOutcome:
        """One point of the plan."""
        with self.breakable():
            resolved = self.resolved(order.level, order.salt_word, order.accuracy)
        try:
            return outcome_of(self._run(resolved, folder, show))
        except ChildEnded as error:
            return PointOutcome(RunState.FAILED, False, (error.message,), exit_code=error.exit_code)

    def trial(self, concurrency: int, attempt: int, stop: TrialStop, folder: Path, show: Live) -> Trial:
        """One short run of the search. InterruptedRun if the user stopped it."""
        salt = f"{self.salt_base}/search-c{concurrency}/{attempt}"
        settings = self._loaded(Pattern.CONCURRENCY, concurrency, salt).model_copy(
            update={
                "stop": self.settings.stop.model_copy(
                    update={
                        "requests": stop.requests,
                        "duration": round(stop.least_s * NS_PER_S),
                        "max_duration": round(stop.longest_s * NS_PER_S),
                        "passes": None, "whole_passes": False, "max_requests": None,
                    }
                )
            }
        )  # fmt: skip
        with self.breakable():
            resolved = self._resolve(settings, CurvePlace())
        result = self._run(resolved, folder, show)
        if result.state is RunState.INTERRUPTED:
            raise InterruptedRun(result.reason or "interrupted")
        if fault := fault_of_disk(result):
            raise MeasureError(fault, hint="Make room, and go on with --resume.")
        return trial_of(concurrency, result)

    def _run(self, resolved: Resolved, folder: Path, show: Live) -> RunResult:
        return measure_apart(resolved, folder, show=show, say=self.say, stopping=self.stopping)

    @property
    def salt_base(self) -> str:
        """What every salt's word of this sweep begins with: the seed set's name and seeds, or the seed of the order.

        And when the campaign began: a second sweep with the same seeds must not find its prompts in a cache (WRM-1).
        """
        chosen = self.settings.rules.seed_set
        if chosen is None:
            return f"seed-{self.settings.seeds.order}/{self.campaign}"
        found = self.rules.seeds.sets[chosen]
        return "-".join([chosen, *(str(getattr(found, name)) for name in self.rules.seeds.names)]) + f"/{self.campaign}"

    def resolved(self, level: Level, salt_word: str, accuracy: bool) -> Resolved:
        """The run of a level: its load, the shortest it may last, and how far it may be extended."""
        assert self.curve is not None, "levels exist once the curve is known"
        if level.dedicated:
            least_s = self.rules.durations.offline_s
            pattern, place = Pattern.OFFLINE, CurvePlace(
                self.curve.c_min, self.curve.c_max, level.region, level.offline,
                passes=self.rules.queries.least_passes, accuracy=accuracy,
            )  # fmt: skip
        else:
            cut = regions(self.curve.c_max, self.curve.c_min, self.rules.regions)
            least_s = shortest_s(level.concurrency, cut, self.kind, self.rules)
            lead, window = self.rules.steady.dropped_super_passes, self.rules.steady.least_super_passes
            extra = self.curve.max_extra_ns
            pattern, place = Pattern.CONCURRENCY, CurvePlace(
                self.curve.c_min, self.curve.c_max, level.region, level.offline,
                hold_ns=round(least_s * NS_PER_S) if extra is None else extra,
                lead_passes=lead, passes=lead + window, accuracy=accuracy,
            )  # fmt: skip
        settings = self._loaded(pattern, level.concurrency, salt_word)
        stop = settings.stop.model_copy(
            update={
                "duration": round(least_s * NS_PER_S), "whole_passes": True, "requests": None, "passes": None,
                "max_requests": None, "max_duration": None,
            }
        )  # fmt: skip
        return self._resolve(settings.model_copy(update={"stop": stop}), place)

    def _loaded(self, pattern: Pattern, concurrency: int, salt: str) -> Settings:
        load = self.settings.load.model_copy(
            update={"pattern": pattern, "concurrency": concurrency, "rate": None, "ramp": 0, "salt": salt}
        )
        return self.settings.model_copy(update={"load": load})

    def _resolve(self, settings: Settings, place: CurvePlace) -> Resolved:
        asked = settings.dataset, settings.warmup
        settings = self._made_once(settings)
        resolved = resolve(
            settings, environ=self.environ, read_dataset=self._read, load_tokenizer=self._tokenizer,
            warnings=self.warnings, place=place, say=self.say,
        )  # fmt: skip
        from wholecurve.accuracy import check_expected

        check_expected(resolved.plan, resolved.expected)
        given = resolved.settings.model_copy(update={"dataset": asked[0], "warmup": asked[1]})
        return replace(resolved, settings=given)

    def _first(self) -> tuple[Plan, Secrets]:
        """Endpoint and keys, as the first run resolved them."""
        if "first" not in self._known:
            one = self._resolve(
                self._loaded(Pattern.CONCURRENCY, self.settings.sweep.c_min or 1, "first"), CurvePlace(accuracy=True)
            )
            self._known["first"] = (one.plan, one.secrets, one.settings)
        found: tuple[Plan, Secrets] = self._known["first"][:2]
        return found

    @property
    def plan(self) -> Plan:
        """A run of this sweep with every data set in it: for fingerprints, rows and bodies."""
        return self._first()[0]

    @property
    def resolved_settings(self) -> Settings:
        """The settings with seeds of a seed set filled in, without the load of a single level."""
        self._first()
        settings: Settings = self._known["first"][2]
        return settings.model_copy(update={"load": self.settings.load, "workers": self.settings.workers})

    # -- read once -----------------------------------------------------------------------------------------------------

    def _read(self, path: str, **options: Any) -> Any:
        key = f"{path}\n{sorted(options.items())!r}"
        if key not in self._known:
            made = self._known.get(path)
            self._known[key] = made if made is not None else self.read_dataset(path, **options)
        return self._known[key]

    def _made_once(self, settings: Settings) -> Settings:
        """The settings with every set of synthetic rows as a file that `_read` knows: making them can take minutes."""
        found = settings.model_copy(update={"dataset": self._as_file(settings.dataset, "dataset")})
        if found.warmup.dataset is None:
            return found
        rows = self._as_file(found.warmup.dataset, "warmup.dataset")
        return found.model_copy(update={"warmup": found.warmup.model_copy(update={"dataset": rows})})

    def _as_file(self, dataset: DatasetSettings, key: str) -> DatasetSettings:
        if dataset.synthetic is None or dataset.path is not None:
            return dataset
        place = f"synthetic\n{dataset.synthetic!r}"
        if place not in self._known:
            asked = self.settings.tokenizer
            tokenizer = None
            if asked.path is not None:
                tokenizer = self._tokenizer(asked.path, trust_remote_code=asked.trust_remote_code)
            self._known[place] = rows_of(dataset, key, self.settings, self.read_dataset, tokenizer, self.say)
        return dataset.model_copy(update={"synthetic": None, "path": place})

    def _tokenizer(self, path: str, *, trust_remote_code: bool) -> Any:
        key = f"tokenizer\n{path}"
        if key not in self._known:
            self._known[key] = self.load_tokenizer(path, trust_remote_code=trust_remote_code)
        return self._known[key]
