"""May a campaign be resumed under these conditions? What differs, in sentences. Pure.

Half a curve measured with one model, data set or setting and half with another is no curve. What does not change what
is sent and measured may differ: names, workers, where keys and files lie, how long to wait for the endpoint. Files
are compared by what is in them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

FREE_KEYS: Final = ("name", "workers", "output", "sweep.wait_endpoint", "endpoint.api_key_env")
"""Settings that may differ, with everything below them."""

FREE_ENDS: Final = ("path", "api_key_file", "ca_file", "client_cert", "client_key")
"""Settings that say where a file lies; what is in it is compared instead, or is a key."""

HEADERS: Final = "endpoint.headers."
"""Of headers the names are compared; their values are references, or secrets."""

RULES_KEYS: Final = ("version", "edition", "benchmark", "kind")
"""Of the rules; their fingerprint is compared where these are the same."""

TOLD: Final = tuple(f"rules.{key}" for key in ("version", "edition", "benchmark", "seed_set", "target_cohort"))
"""Settings that are compared as what came of them."""


@dataclass(frozen=True, slots=True)
class Conditions:
    """Under which a campaign measures, as plan.yaml holds them.

    settings: as config.yaml, redacted. rules: {version, edition, fingerprint, benchmark, kind}. endpoint: {urls,
    models, server}. datasets: [{name, rows, sha256}]. tokenizer: {name, sha256} or None.
    """

    settings: Mapping[str, Any]
    rules: Mapping[str, Any]
    endpoint: Mapping[str, Any]
    datasets: Sequence[Mapping[str, Any]]
    tokenizer: Mapping[str, Any] | None = None
    seed_set: str | None = None
    target_cohort: str | None = None

    def to_json(self) -> dict[str, Any]:
        """Plain values, keys in the order of the fields."""
        return {
            "settings": dict(self.settings), "rules": dict(self.rules), "endpoint": dict(self.endpoint),
            "datasets": [dict(one) for one in self.datasets],
            "tokenizer": dict(self.tokenizer) if self.tokenizer else None,
            "seed_set": self.seed_set, "target_cohort": self.target_cohort,
        }  # fmt: skip


def differences(old: Conditions, new: Conditions) -> tuple[str, ...]:
    """What changed between the stored conditions and those of a resume request, a sentence each; empty if nothing."""
    found = [
        _changed(f"{key} of the rules", old.rules.get(key), new.rules.get(key))
        for key in RULES_KEYS
        if old.rules.get(key) != new.rules.get(key)
    ]
    if not found and old.rules.get("fingerprint") != new.rules.get("fingerprint"):
        prints = old.rules.get("fingerprint"), new.rules.get("fingerprint")
        found.append(_changed("fingerprint of the rules", *prints))
    found += endpoint_changes(old.endpoint, new.endpoint)
    found += _dataset_changes(old.datasets, new.datasets)
    before, after = ((one.tokenizer or {}).get("sha256") for one in (old, new))
    if before != after:
        found.append(_changed("the tokenizer (SHA-256)", before, after))
    for name in ("seed_set", "target_cohort"):
        if getattr(old, name) != getattr(new, name):
            found.append(_changed(name.replace("_", " "), getattr(old, name), getattr(new, name)))
    return (*found, *_setting_changes(old.settings, new.settings))


def endpoint_changes(old: Mapping[str, Any], new: Mapping[str, Any]) -> list[str]:
    """What the endpoint says of itself otherwise than before. What either did not tell is no difference."""
    found = []
    models, now = old.get("models"), new.get("models")
    if models is not None and now is not None and set(models) != set(now):
        found.append(_changed("the endpoint's list of models", ", ".join(sorted(models)), ", ".join(sorted(now))))
    if old.get("server") and new.get("server") and old["server"] != new["server"]:
        found.append(_changed("the server", old["server"], new["server"]))
    return found


def fact_changes(points: Iterable[tuple[str, Mapping[str, Any]]]) -> tuple[str, ...]:
    """Where facts that belong to every point differ between points, given as (point, facts). A fact that a point does
    not have is not compared."""
    first: dict[str, tuple[str, Any]] = {}
    found: dict[str, str] = {}
    for point, facts in points:
        for name, value in facts.items():
            before, known = first.setdefault(name, (point, value))
            if known != value:
                found.setdefault(name, f"{name} was {_shown(known)} at {before}, and {_shown(value)} at {point}")
    return tuple(found.values())


def _dataset_changes(old: Sequence[Mapping[str, Any]], new: Sequence[Mapping[str, Any]]) -> list[str]:
    before = {str(one.get("name")): one for one in old}
    after = {str(one.get("name")): one for one in new}
    for name in sorted(before.keys() - after.keys()):
        twin = next((one for one in after.keys() - before.keys() if _same_rows(before[name], after[one])), None)
        if twin is not None:  # the file has another name now, and is the same data set
            after[name] = after.pop(twin)
    found = [f"the data set {_shown(name)} is not there any more" for name in before if name not in after]
    found += [f"the data set {_shown(name)} is new" for name in after if name not in before]
    for name in before.keys() & after.keys():
        for key, words in (("rows", "rows"), ("sha256", "SHA-256")):
            if before[name].get(key) != after[name].get(key):
                found.append(
                    _changed(f"the data set {_shown(name)} ({words})", before[name].get(key), after[name].get(key))
                )
    return sorted(found)


def _same_rows(one: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    return one.get("sha256") is not None and all(one.get(key) == other.get(key) for key in ("rows", "sha256"))


def _setting_changes(old: Mapping[str, Any], new: Mapping[str, Any]) -> list[str]:
    before, after = dict(_flat(old)), dict(_flat(new))
    return [
        _changed(f"`{key}`", before.get(key), after.get(key))
        for key in sorted(before.keys() | after.keys())
        if before.get(key) != after.get(key) and not _free(key) and key not in TOLD
    ]


def _free(key: str) -> bool:
    return any(key == free or key.startswith(free + ".") for free in FREE_KEYS) or key.rsplit(".", 1)[-1] in FREE_ENDS


def _flat(tree: Mapping[str, Any], before: str = "") -> Iterable[tuple[str, Any]]:
    for name, value in tree.items():
        key = f"{before}{name}"
        if isinstance(value, Mapping) and value:
            yield from _flat(value, f"{key}.")
        elif value is not None and value != {}:
            yield key, "set" if key.startswith(HEADERS) else value


def _changed(what: str, before: Any, after: Any) -> str:
    if before is None:
        return f"{what} was not set, and is {_shown(after)} now"
    if after is None:
        return f"{what} was {_shown(before)}, and is not set now"
    return f"{what} was {_shown(before)}, and is {_shown(after)} now"


def _shown(value: Any) -> str:
    """A value of somebody else's text on one line: control characters escaped, long ones cut."""
    text = value if isinstance(value, str) and value else repr(value)
    plain = "".join(letter if letter.isprintable() else repr(letter)[1:-1] for letter in text)
    return plain if len(plain) <= 80 else plain[:77] + "..."
