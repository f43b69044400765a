"""How the load of the points was made, from their plans and summaries: search, salt, warm-up, extension."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from wholecurve.config import salt_of
from wholecurve.model.units import NS_PER_S
from wholecurve.report.campaign_points import PointView, listed
from wholecurve.report.reading import at, clean, count, duration, items, known, mapping, number, rate, texts
from wholecurve.report.view import Row as Pair

Files = Mapping[str, Mapping[str, Any]]
WORD: Final = 120
SALT_BITS: Final = 4 * len(salt_of("", 0, 0))
TRIAL_FIGURES: Final[Mapping[str, Callable[[float], str]]] = {
    "system_tps": lambda value: rate(value, "tokens/s"),
    "tps_per_user": lambda value: rate(value, "tokens/s per user"),
    "ttft_p90_ns": lambda value: f"TTFT P90 {duration(value)}",
}
NO_WARMUP: Final = "none: no warm-up request was sent before the measured phase"


@dataclass(frozen=True, slots=True)
class Salted:
    """known: names of the points whose plan was read. bare: those of them whose measured phase has no salt.
    accuracy: those whose accuracy phase has one, which it must not. words: the words that the salts are made from."""

    known: tuple[str, ...]
    bare: tuple[str, ...]
    accuracy: tuple[str, ...]
    words: tuple[str, ...]


def salted_of(points: Sequence[PointView], plans: Files) -> Salted:
    """What the plans of the points say of salt."""
    names, bare, accuracy, words = [], [], [], []
    for one in points:
        phases = items(plans.get(one.label), "phases")
        if not phases:
            continue
        names.append(one.name)
        own = [at(phase, "salt") for phase in phases if at(phase, "kind") == "performance"]
        bare += [one.name] if not any(own) else []
        words += [clean(word, WORD) for word in own if word]
        accuracy += [one.name for phase in phases if at(phase, "kind") == "accuracy" and at(phase, "salt")][:1]
    return Salted(tuple(names), tuple(bare), tuple(accuracy), tuple(words))


def salt_pairs(salted: Salted, plan: Mapping[str, Any], plans: Files) -> Iterator[Pair]:
    """How the prompts were salted, in sentences."""
    if not salted.known:
        yield "salt in the prompts", "not known: the points' plans cannot be read"
        return
    if len(salted.bare) == len(salted.known):
        yield "salt in the prompts", "none: the endpoint may have answered from a cache of prompts"
    else:
        where = f", but for concurrency {listed(salted.bare)}" if salted.bare else ""
        yield (
            "salt in the prompts",
            f"every request of the performance phase is salted with {SALT_BITS} bits from {_source(plan)}{where}",
        )
        yield "made from the words", _words(salted.words)
    if any(at(phase, "kind") == "accuracy" for one in plans.values() for phase in items(one, "phases")):
        said = "unsalted" if not salted.accuracy else f"SALTED at concurrency {listed(salted.accuracy)}"
        yield "accuracy phase", said


def _source(plan: Mapping[str, Any]) -> str:
    seeds = at(plan, "seed_set")
    if seeds:
        return f"seed set {clean(seeds, 40)}"
    word = at(plan, "salt_word")
    return clean(word, WORD) if word else "words of this campaign"


def _words(words: Sequence[str]) -> str:
    """The words, or what they have in common where each point has its own: `A-1-2-3/r16/1` and 7 more like it."""
    more = f", and {len(words) - 1} more, one for each point and attempt" if len(words) > 1 else ""
    return f"{words[0]}{more}" if words else "not known"


def warmup_pairs(points: Sequence[PointView], summaries: Files) -> Iterator[Pair]:
    """The warm-up declaration of each point, equal ones together."""
    by_said: dict[str, list[str]] = {}
    for one in points:
        if one.label in summaries:
            by_said.setdefault(_warmup(mapping(summaries[one.label], "workload", "warmup")), []).append(one.name)
    for said, names in by_said.items():
        yield f"concurrency {', '.join(names)}" if len(by_said) > 1 else "every point", said


def _warmup(found: Mapping[str, Any]) -> str:
    if not found:
        return NO_WARMUP
    took = number(found.get("duration_s"))
    issued, completed = (number(found.get(f"requests_{key}")) for key in ("issued", "completed"))
    parts = [
        f"{count(completed)} of {count(issued)} requests completed",
        "" if took is None else f"in {duration(took * NS_PER_S)}",
        f"at concurrency {count(found.get('concurrency'))}",
        f"from {known(found.get('data_source'))}",
        "salted" if found.get("salt") is True else "not salted",
    ]
    steps = "; ".join(texts(found, "initialization_steps"))
    return ", ".join(part for part in parts if part) + (f". {steps}" if steps else "")


def hold_said(plans: Files) -> str:
    """How long a point may be extended at most, over all points: `6.00 s`, or `5.00 to 30.0 s`; empty if none may."""
    found = {
        number(at(phase, "hold", "max_extra_ns"))
        for one in plans.values()
        for phase in items(one, "phases")
        if at(phase, "kind") == "performance"
    }
    longest = sorted(one for one in found if one)
    if not longest:
        return ""
    low, high = duration(longest[0]), duration(longest[-1])
    return low if low == high else f"{low} to {high}, as the region of a level asks for"


def trial_pairs(entries: Sequence[Mapping[str, Any]]) -> Iterator[Pair]:
    """The trials of the search for C_max in their order, and what was found."""
    for entry in entries:
        if at(entry, "event") == "trial":
            yield f"trial at {count(at(entry, 'concurrency'))}", _trial(entry)
        elif at(entry, "event") == "c_max":
            found, knee = number(at(entry, "c_max")), number(at(entry, "knee"))
            bend = f"; levels lie denser around {count(knee)}, the knee of the trials" if knee is not None else ""
            yield "C_max", f"{'none' if found is None else count(found)}: {known(at(entry, 'reason'))}{bend}"


def _trial(entry: Mapping[str, Any]) -> str:
    parts = [shown(found) for key, shown in TRIAL_FIGURES.items() if (found := number(at(entry, key))) is not None]
    parts += [f"not valid: {'; '.join(texts(entry, 'invalid'))}"] if texts(entry, "invalid") else []
    parts += ["client-limited"] if at(entry, "client_limited") is True else []
    return ", ".join(parts) or "nothing was measured"
