"""plan.yaml: what a sweep will measure, decided before the first point and never after; and how one is resumed."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import yaml

from wholecurve.config import read_yaml
from wholecurve.model.errors import InputError
from wholecurve.sweep.differences import Conditions, differences
from wholecurve.sweep.files import write_whole
from wholecurve.sweep.journal import Journal
from wholecurve.sweep.levels import Level, level_from_json
from wholecurve.sweep.order import Slot, slot_of

CAMPAIGN_SCHEMA: Final = "wholecurve.campaign/1"
PLAN_FILE: Final = "plan.yaml"
_ORDER_NOTE: Final = "levels shuffled with order_seed, anew in every round of repeats"


@dataclass(frozen=True, slots=True)
class CampaignPlan:
    """Everything a sweep does. created: ISO time. tool: name and version.

    c_max_found: whether a search found it, `c_max_why` says how. order: every run in the order of measuring.
    salt_word: what the salt of each point begins with. estimate_s: see estimate.py. interactivity_key: the speed of
    one user on this benchmark.
    """

    name: str
    created: str
    tool: str
    conditions: Conditions
    c_min: int
    c_max: int
    c_max_found: bool
    c_max_why: str
    levels: tuple[Level, ...]
    order: tuple[Slot, ...]
    order_seed: int
    repeats: int
    salt_word: str
    idle_gap_s: float
    max_extra_s: float | None
    estimate_s: Mapping[str, Any]
    interactivity_key: str
    knee: int | None = None
    notes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        """InputError for a plan that does not hold together."""
        labels = [level.label for level in self.levels]
        if not labels or len(set(labels)) != len(labels):
            raise InputError(f"wanted levels, each once, got {', '.join(labels) or 'none'}")
        fits = len(self.order) == len(labels) * self.repeats  # first: a file may ask for a billion repeats
        if not fits or set(self.order) != {Slot(one, n) for one in labels for n in range(1, self.repeats + 1)}:
            raise InputError("wanted every level and repeat once in the order, got " + ", ".join(map(str, self.order)))

    def level(self, label: str) -> Level:
        """The level of a label of this plan."""
        return next(level for level in self.levels if level.label == label)

    def to_json(self) -> dict[str, Any]:
        """Plain values in the order of plan.yaml."""
        return {
            "schema": CAMPAIGN_SCHEMA, "name": self.name, "created": self.created, "tool": self.tool,
            **self.conditions.to_json(),
            "c_min": self.c_min, "c_max": self.c_max, "c_max_found": self.c_max_found, "c_max_why": self.c_max_why,
            "knee": self.knee,
            "levels": [
                {"label": one.label, "concurrency": one.concurrency, "region": one.region, "offline": one.offline,
                 "accuracy": one.accuracy, "why": one.why} for one in self.levels
            ],
            "order": [str(slot) for slot in self.order], "order_how": _ORDER_NOTE, "order_seed": self.order_seed,
            "repeats": self.repeats, "salt_word": self.salt_word, "idle_gap_s": self.idle_gap_s,
            "max_extra_s": self.max_extra_s, "estimate_s": dict(self.estimate_s),
            "interactivity_key": self.interactivity_key, "notes": list(self.notes),
        }  # fmt: skip


def plan_text(plan: CampaignPlan) -> str:
    """plan.yaml."""
    head = "# What this sweep measures; decided before the first point. `wholecurve sweep --resume` goes on with it.\n"
    return head + yaml.safe_dump(plan.to_json(), sort_keys=False, allow_unicode=True, width=120)


def plan_from_text(text: str, name: str = PLAN_FILE) -> CampaignPlan:
    """A plan from plan.yaml. InputError for another schema and for what is missing or of another type."""
    data = read_yaml(text, name).data
    if data.get("schema") != CAMPAIGN_SCHEMA:
        raise InputError(f"wanted a campaign with schema {CAMPAIGN_SCHEMA}, got {data.get('schema')!r}", where=name)
    read = _Reader(data, name)
    try:
        return CampaignPlan(
            name=read.text("name"), created=read.text("created"), tool=read.text("tool"),
            conditions=conditions_from_json(data, name),
            c_min=read.count("c_min"), c_max=read.count("c_max"),
            c_max_found=read.get("c_max_found", bool), c_max_why=read.text("c_max_why"),
            levels=tuple(level_from_json(one) for one in read.rows("levels")),
            order=tuple(slot_of(str(one)) for one in read.get("order", list)),
            order_seed=read.get("order_seed", int), repeats=read.count("repeats"), salt_word=read.text("salt_word"),
            idle_gap_s=read.seconds("idle_gap_s") or 0.0, max_extra_s=read.seconds("max_extra_s"),
            estimate_s=read.get("estimate_s", dict), interactivity_key=read.text("interactivity_key"),
            knee=None if data.get("knee") is None else read.count("knee"),
            notes=tuple(str(one) for one in read.get("notes", list)),
        )  # fmt: skip
    except InputError as error:
        raise InputError(error.message, where=error.where or name, hint=error.hint) from None


def conditions_from_json(data: Mapping[str, Any], name: str) -> Conditions:
    """Conditions as plan.yaml and the journal hold them. InputError as `plan_from_text`."""
    read = _Reader(data, name)
    return Conditions(
        settings=read.get("settings", dict), rules=read.get("rules", dict), endpoint=read.get("endpoint", dict),
        datasets=read.rows("datasets"),
        tokenizer=None if data.get("tokenizer") is None else read.get("tokenizer", dict),
        seed_set=None if data.get("seed_set") is None else read.text("seed_set"),
        target_cohort=None if data.get("target_cohort") is None else read.text("target_cohort"),
    )  # fmt: skip


def begin(journal: Journal, conditions: Conditions, *, tool: str) -> None:
    """The first line of a campaign: under which conditions it measures. Before a search, which may be killed."""
    journal.note("created", tool=tool, conditions=conditions.to_json())


def save_plan(folder: Path, plan: CampaignPlan) -> None:
    """Write plan.yaml, once. Raises MeasureError if it cannot be written."""
    write_whole(folder / PLAN_FILE, plan_text(plan).encode())


def seal_plan(folder: Path, journal: Journal) -> None:
    """Note what plan.yaml says now, so that a resumed sweep knows whether it was changed since."""
    journal.note("planned", plan_sha256=_plan_sha256(folder))


def _plan_sha256(folder: Path) -> str:
    return hashlib.sha256((folder / PLAN_FILE).read_bytes()).hexdigest()


def _check_seal(folder: Path, plan: CampaignPlan | None, journal: Journal) -> None:
    """Raises InputError if plan.yaml is not the one that the journal knows. One that was never sealed is sealed now:
    the sweep was killed between two lines."""
    sealed = journal.last("planned")
    if sealed is None:
        if plan is not None:
            seal_plan(folder, journal)
        return
    what = "is gone" if plan is None else "was changed" if _plan_sha256(folder) != sealed.get("plan_sha256") else ""
    if what:
        raise InputError(
            f"{PLAN_FILE} {what} since the sweep began, so its points would not belong to one plan",
            where=folder.name,
            hint="Restore it, or start a new sweep in another folder.",
        )


def load_plan(folder: Path) -> CampaignPlan | None:
    """The plan of a campaign folder; None if it was stopped before there was one. InputError for a damaged one."""
    path = folder / PLAN_FILE
    if not path.is_file():
        return None
    try:
        text = path.read_text("utf-8")
    except (OSError, UnicodeDecodeError):
        raise InputError(f"{PLAN_FILE} cannot be read", where=folder.name) from None
    return plan_from_text(text)


def resume(folder: Path, journal: Journal, now: Conditions, *, tool: str) -> CampaignPlan | None:
    """Take a campaign up again. The plan, or None if it was stopped before its levels were chosen.

    InputError, with everything that changed, if the conditions are others; then the journal says so too.
    """
    created = next((entry for entry in journal.entries if entry["event"] == "created"), None)
    plan = load_plan(folder)
    if created is None and plan is None:
        raise InputError(f"{folder.name} holds no sweep that could be resumed", hint="Start one without --resume.")
    _check_seal(folder, plan, journal)
    if plan is not None:
        before = plan.conditions
    else:
        before = conditions_from_json((created or {}).get("conditions") or {}, "journal.jsonl")
    changed = differences(before, now)
    if changed:
        journal.note("changed", what=list(changed))
        raise InputError(
            "this sweep cannot be resumed, because it would mix what cannot be compared: " + "; ".join(changed),
            hint="Restore what changed, or start a new sweep in another folder.",
        )
    journal.note("resumed", tool=tool)
    return plan


@dataclass(frozen=True, slots=True)
class _Reader:
    """Typed access to the keys of a file; InputError names the key."""

    data: Mapping[str, Any]
    name: str
    kinds: Mapping[type, str] = field(
        default_factory=lambda: {str: "a text", int: "a whole number", bool: "true or false", list: "a list",
                                 dict: "a mapping"}
    )  # fmt: skip

    def get(self, key: str, kind: type) -> Any:
        value = self.data.get(key)
        if not isinstance(value, kind) or (kind is int and isinstance(value, bool)):
            raise InputError(f"wanted {self.kinds[kind]} for `{key}`, got {str(value)[:60]!r}", where=self.name)
        return value

    def text(self, key: str) -> str:
        return str(self.get(key, str))

    def count(self, key: str) -> int:
        value = int(self.get(key, int))
        if value < 1:
            raise InputError(f"wanted 1 or more for `{key}`, got {value}", where=self.name)
        return value

    def seconds(self, key: str) -> float | None:
        value = self.data.get(key)
        if value is None:
            return None
        if not isinstance(value, int | float) or isinstance(value, bool) or not 0 <= value < 1e10:
            raise InputError(f"wanted seconds for `{key}`, got {str(value)[:60]!r}", where=self.name)
        return float(value)

    def rows(self, key: str) -> Sequence[Mapping[str, Any]]:
        found = self.get(key, list)
        if not all(isinstance(one, dict) for one in found):
            raise InputError(f"wanted a list of mappings for `{key}`", where=self.name)
        return tuple(found)
