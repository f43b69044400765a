"""One JSON object of a power file as it is read. Whatever is wrong becomes a Problem, and reading goes on."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from difflib import get_close_matches
from fractions import Fraction
from typing import Any, Final

from wholecurve.model.plain_text import printable
from wholecurve.power.exact import exact
from wholecurve.power.problems import Problem
from wholecurve.power.sourced import SOURCED_KEYS, Sourced
from wholecurve.rules import PowerRules

MOST: Final = 10**12
"""Of any number in the file. Far above what a system can have."""

MOST_ITEMS: Final = 1000
MOST_SAID: Final = 200
"""Problems and notes of one file: a file with more is not read by people."""

SHOWN: Final = 60
_RANGE: Final = re.compile(r"\s*(\d+(?:\.\d+)?)\s*(?:-|\u2013|\u2014|to)\s*(\d+(?:\.\d+)?)\s*")
_UNIT: Final[Mapping[str, tuple[str, int]]] = {"value_w": ("W", 1), "value_kw": ("W", 1000), "value_pj": ("pJ", 1)}


class Reading:
    """What is found while a file is read: problems that reject it, and notes for people."""

    def __init__(self, rules: PowerRules) -> None:
        self.rules = rules
        self.problems: list[Problem] = []
        self.notes: list[str] = []

    def problem(self, place: str, message: str, hint: str = "") -> None:
        """A reason for rejection; said once."""
        found = Problem(place, message, hint)
        if found not in self.problems and len(self.problems) < MOST_SAID:
            self.problems.append(found)

    def note(self, text: str) -> None:
        """Something to be known that rejects nothing; said once."""
        if text not in self.notes and len(self.notes) < MOST_SAID:
            self.notes.append(text)


class Table:
    """An object of the file. Every reader returns None after it noted a problem, or where nothing was given."""

    def __init__(self, data: Mapping[str, Any], place: str, reading: Reading) -> None:
        self._data = data
        self.place = place
        self._reading = reading
        self._asked: list[str] = []

    def at(self, name: str) -> str:
        """The place of a field."""
        return f"{self.place}.{name}" if self.place else name

    def has(self, name: str) -> bool:
        """Whether the field is there and not null."""
        return self._data.get(name) is not None

    def problem(self, name: str, message: str, hint: str = "") -> None:
        """A reason for rejection at a field."""
        self._reading.problem(self.at(name), message, hint)

    def text(self, name: str, wanted: str, *, required: bool = True) -> str:
        """Text that is not blank; empty where there is none."""
        value = self._take(name, wanted, required)
        if value is None:
            return ""
        if not isinstance(value, str):
            self.problem(name, f"wanted {wanted}, got {shown(value)}")
            return ""
        if not value.strip() and required:
            self.problem(name, f"wanted {wanted}, got empty text")
        return printable(value.strip())

    def word(self, name: str, words: Iterable[str], *, required: bool = True) -> str:
        """One word of a closed list; empty where there is none."""
        known = list(words)
        wanted = f"one of {', '.join(known)}"
        value = self._take(name, wanted, required)
        if value is None:
            return ""
        if value not in known:
            near = get_close_matches(value[:SHOWN], known, n=1, cutoff=0.6) if isinstance(value, str) else []
            hint = f"did you mean {near[0]}?" if near else ""
            self.problem(name, f"wanted {wanted}, got {shown(value)}", hint)
            return ""
        return str(value)

    def flag(self, name: str, wanted: str, *, required: bool = True) -> bool | None:
        """true or false."""
        value = self._take(name, wanted, required)
        if value is None or isinstance(value, bool):
            return value
        self.problem(name, f"wanted true or false ({wanted}), got {shown(value)}")
        return None

    def count(self, name: str, wanted: str, *, least: int = 1, required: bool = True) -> int | None:
        """A whole number of at least `least`. A fraction is refused: what is installed is counted."""
        value = self.number(name, wanted, required=required, what="a whole number")
        if value is None:
            return None
        if value.denominator != 1 or value < least:
            self.problem(name, f"wanted a whole number of at least {least} ({wanted}), got {shown(self._data[name])}")
            return None
        return int(value)

    def number(
        self, name: str, wanted: str, *, required: bool = True, above_zero: bool = False, what: str = "a number"
    ) -> Fraction | None:
        """A number of zero or more, exactly as it is written."""
        value = self._take(name, wanted, required)
        if value is None:
            return None
        try:
            found = _number(value)
        except ValueError as error:
            self.problem(name, f"wanted {what} ({wanted}), got {error}")
            return None
        if found > MOST or (above_zero and found == 0):
            limit = "above 0" if found == 0 else f"of at most {MOST:.0e}"
            self.problem(name, f"wanted {what} {limit} ({wanted}), got {shown(value)}")
            return None
        return found

    def table(self, name: str, wanted: str, *, required: bool = True) -> Table | None:
        """An object inside this one."""
        value = self._take(name, wanted, required)
        if value is None:
            return None
        if not isinstance(value, Mapping):
            self.problem(name, f"wanted an object ({wanted}), got {shown(value)}")
            return None
        return Table(value, self.at(name), self._reading)

    def tables(self, name: str, wanted: str, *, required: bool = True) -> list[Table]:
        """A list of objects; empty where there is none."""
        value = self._take(name, wanted, required)
        if value is None:
            return []
        if not isinstance(value, list | tuple) or len(value) > MOST_ITEMS:
            self.problem(name, f"wanted a list ({wanted}), got {shown(value)}")
            return []
        if required and not value:
            self.problem(name, f"wanted at least one entry ({wanted}), got an empty list")
        found = []
        for place, item in enumerate(value):
            if isinstance(item, Mapping):
                found.append(Table(item, f"{self.at(name)}[{place}]", self._reading))
            else:
                self._reading.problem(f"{self.at(name)}[{place}]", f"wanted an object, got {shown(item)}")
        return found

    def sourced(self, name: str, wanted: str, unit: str = "W", *, required: bool = False) -> Sourced | None:
        """A value with where it comes from. Which unit: W (`value_w`, `value_kw`) or pJ (`value_pj`)."""
        inner = self.table(name, f"{wanted}, with its source", required=required)
        return None if inner is None else _sourced(inner, wanted, unit, self._reading)

    def say_unknown(self, known_elsewhere: Iterable[str] = ()) -> None:
        """A note for every key that nothing asked for: a slip there would otherwise go unseen."""
        known = [*self._asked, *known_elsewhere]
        for key in [key for key in self._data if key not in known][:MOST_SAID]:
            near = get_close_matches(str(key)[:SHOWN], known, n=1, cutoff=0.75)
            hint = f"; did you mean `{near[0]}`?" if near else ""
            where = f"{self.place}: " if self.place else ""
            self._reading.note(f"{where}`{printable(str(key))[:SHOWN]}` is not read{hint}")

    @property
    def names(self) -> tuple[str, ...]:
        """Keys that are in the object."""
        return tuple(self._data)

    def raw(self, name: str) -> Any:
        """The value as it is, counted as asked for."""
        self._asked.append(name)
        return self._data.get(name)

    def _take(self, name: str, wanted: str, required: bool) -> Any:
        self._asked.append(name)
        value = self._data.get(name)
        if value is None and required:
            self.problem(name, f"wanted {wanted}, and it is missing")
        return value


def _sourced(table: Table, wanted: str, unit: str, reading: Reading) -> Sourced | None:
    """Exactly one value key of the right unit, a source type of the rules, a source. No other key."""
    found = len(reading.problems)
    units = [name for name in table.names if name in _UNIT and table.has(name)]
    fitting = [name for name, (its_unit, _) in _UNIT.items() if its_unit == unit]
    for key in table.names:
        if key not in SOURCED_KEYS:
            table.problem(key, f"unknown key in a value with a source; known: {', '.join(SOURCED_KEYS)}")
    kind = table.word("source_type", reading.rules.source_types)
    source = table.text("source", "a web address, or the id of a default")
    if len(units) != 1 or units[0] not in fitting:
        got = ", ".join(units) or "none"
        reading.problem(table.place, f"wanted {wanted} as exactly one of {', '.join(fitting)}, got {got}")
        return None
    name = units[0]
    value = _upper(table, name, wanted, reading)
    problem = _source_fault(kind, source, reading.rules)
    if source and kind and problem:
        table.problem("source", problem)
    if value is None or len(reading.problems) > found:
        return None
    return Sourced(value * _UNIT[name][1], kind, source, estimated=is_default(kind))


def _upper(table: Table, name: str, wanted: str, reading: Reading) -> Fraction | None:
    """The number; of a published range its upper bound."""
    value = table.raw(name)
    match = _RANGE.fullmatch(value) if isinstance(value, str) and len(value) <= SHOWN else None
    bounds = list(match.groups()) if match else value if isinstance(value, list) and len(value) == 2 else None
    if bounds is None:
        return table.number(name, wanted)
    try:
        upper = max(Fraction(bound) if isinstance(bound, str) else _number(bound) for bound in bounds)
    except ValueError as error:
        table.problem(name, f"wanted a number or a range ({wanted}), got {error}")
        return None
    if upper > MOST:
        table.problem(name, f"wanted a number of at most {MOST:.0e} ({wanted}), got {shown(value)}")
        return None
    reading.note(f"{table.at(name)}: a range; its upper bound {float(upper):g} counts: write that number alone")
    return upper


def is_default(source_type: str) -> bool:
    """Whether a source type names a default value of the rules."""
    return source_type.endswith("_default")


def default_ids(rules: PowerRules) -> tuple[str, ...]:
    """Ids of the tables of default values; none in an edition without them."""
    if rules.defaults is None:
        return ()
    defaults = rules.defaults
    found = {defaults.link_source, defaults.nic_source}
    found |= {row.source for row in defaults.cpu.values()} | {row.source for row in defaults.accelerator.values()}
    return tuple(sorted(found | {row.source for row in defaults.switch.values()}))


def _source_fault(kind: str, source: str, rules: PowerRules) -> str:
    """What is wrong with a source, or empty text."""
    if not is_default(kind):
        return "" if is_address(source) else f"wanted a web address (http:// or https://), got {shown(source)}"
    known = default_ids(rules)
    if not known:
        return "this edition of the rules has no default values; give a public source"
    return "" if source in known else f"wanted a table of default values ({', '.join(known)}), got {shown(source)}"


def is_address(text: str) -> bool:
    """Whether text is a web address with a host."""
    return re.fullmatch(r"https?://[^\s/?#]+\S*", text) is not None


def _number(value: Any) -> Fraction:
    """ValueError with the value in words for everything but a number of zero or more."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise ValueError(shown(value))
    try:
        found = exact(value)
    except ValueError:
        raise ValueError(f"{value}, which is not finite") from None
    if found < 0:
        raise ValueError(shown(value))
    return found


def shown(value: object) -> str:
    """A value of the file for a message: short, on one line."""
    if isinstance(value, Mapping):
        return "an object"
    if isinstance(value, list | tuple):
        return "a list"
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    if isinstance(value, int) and abs(value) > MOST:
        return "a very large number"
    text = printable(repr(value))
    return text if len(text) <= SHOWN else text[: SHOWN - 3] + "..."
