"""The answer of `wholecurve pick` on a terminal: a table that fits 80 columns, each place with its evidence below."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from wholecurve.cli.curve_files import NOT_READ, console_for_stdout, fit, number_text, say, say_notes
from wholecurve.curve import KEYS, NOT_REPORTED, READINGS, UNSTEADY, brief, sentence, shown, whole_run
from wholecurve.model.units import show_duration, show_percent

if TYPE_CHECKING:
    from rich.console import Console

COLUMNS: tuple[tuple[str, str, int], ...] = (
    ("concurrency", "level", 7),
    ("ttft_p90_ns", "TTFT P90", 10),
    ("interactivity_tps", "tok/s/user", 11),
    ("system_tps", "tok/s", 10),
)
"""Column of a row, its head, its width."""

VALUE_WIDTH = 14
RANK_WIDTH = 4
LEAST_NAME = 14
MANY_TIMES = 10
PRICES = {
    "usd_per_million_output_tokens": "price of output tokens",
    "usd_per_million_total_tokens": "price of input and output tokens",
}
DIVIDED_BY_POWER = frozenset(("system_tps_per_kw", "joules_per_output_token"))
STANDARD = frozenset(key for key, _, _ in COLUMNS)


def print_pick(answer: Mapping[str, Any]) -> None:
    """The whole answer on stdout."""
    console = console_for_stdout()
    names = names_of(answer["curves"])
    _question(console, answer)
    if answer["places"]:
        _table(console, answer, names)
    else:
        say(console)
        passing = answer["counts"]["passing_points"]
        say(console, "No curve has a place in this ranking." if passing else "Nothing passes.", "bold red")
    _left_out(console, answer, names)
    _capacity(console, answer, names)
    _basis(console, answer)
    say_notes(console, "Points that count for nothing", [_because(one) for one in answer["barred"]], "yellow")
    say_notes(console, "Measured twice", [_because(one) for one in answer["set_aside"]], "dim")
    say_notes(console, NOT_READ, answer["skipped"], "yellow")
    say_notes(console, "Notes", answer["notes"])
    _scope(console, answer["curves"])
    if any("local" not in place["status"] for place in answer["places"]):
        say(console)
        say(console, "A status is as its file says; no registry was asked.", "dim")


def names_of(heads: Sequence[Mapping[str, Any]]) -> dict[str, str]:
    """By curve: its system's name, with the submission where two share one; a system that nobody described is called
    as its submission, which then stands alone."""
    systems = [head["system"] for head in heads]

    def name(head: Mapping[str, Any]) -> str:
        system, submission = str(head["system"]), str(head["submission"])
        if systems.count(system) == 1:
            return system
        return submission if submission.startswith(f"{system} (") else f"{system} ({submission})"

    return {head["id"]: name(head) for head in heads}


def _scope(console: Console, heads: Sequence[Mapping[str, Any]]) -> None:
    """What all these curves are of: a ranking is one only inside it."""
    words = []
    for key, label in (
        ("benchmark", ""),
        ("rules_version", "rules "),
        ("division", ""),
        ("data_set_hash", "data set "),
    ):
        values = sorted({str(head[key]) for head in heads if head[key] is not None})
        words += [label + " and ".join(map(brief, values))] if values else [f"{label or key} not stated"]
    say(console)
    say(console, f"All of this is of: {', '.join(words)}.", "dim")


def _question(console: Console, answer: Mapping[str, Any]) -> None:
    label = _label(answer["ranked_by"]) if answer["by"] != "systems_needed" else "systems needed"
    better = "high" if answer["better"] == "high" else "low"
    say(console, f"Ranked by {label}, {better} is better.", "bold")
    limits = "; ".join(_limit_words(one) for one in answer["limits"]) or "none"
    say(console, f"Limits: {limits}.")
    if answer["at"] is not None:
        say(console, f"At concurrency {answer['at']:,}: {READINGS[answer['reading']]}.")
    counts = answer["counts"]
    say(
        console,
        f"{counts['passing_points']} of {counts['points']} points and {counts['passing_curves']} of "
        f"{counts['curves']} curves pass the limits.",
    )


def _limit_words(limit: Mapping[str, Any]) -> str:
    return f"{KEYS[limit['key']]['label']} {limit['bound']} {shown(limit['key'], limit['value'], 6)}"


def _label(key: str) -> str:
    return PRICES.get(key, KEYS[key]["label"])


def _table(console: Console, answer: Mapping[str, Any], names: Mapping[str, str]) -> None:
    extra = _extra_column(answer)
    used = RANK_WIDTH + sum(width for _, _, width in COLUMNS) + (VALUE_WIDTH if extra else 0)
    room = max(LEAST_NAME, min(40, console.width - used - 1))
    heads = "".join(f"{head:>{width}}" for _, head, width in COLUMNS)
    say_line(console)
    tail = f"{_unit(extra):>{VALUE_WIDTH}}" if extra else ""
    say_line(console, f"{'':{RANK_WIDTH}}{'system':{room}}{heads}{tail}", "dim")
    for place in answer["places"]:
        row = place["row"]
        cells = "".join(f"{_cell(key, row[key]):>{width}}" for key, _, width in COLUMNS)
        value = f"{_value(place, extra):>{VALUE_WIDTH}}" if extra else ""
        style = "bold" if place["place"] == 1 else ""
        name = fit(names[place["curve"]], room - 1)
        say_line(console, f"{place['place']:<{RANK_WIDTH}}{name} {cells}{value}", style)
        say(console, " · ".join(_evidence(place, _power(row, extra))), "dim", indent=RANK_WIDTH)


def say_line(console: Console, text: str = "", style: str = "") -> None:
    """A line of a table, never folded."""
    from rich.text import Text

    console.print(Text(text.rstrip(), style=style), soft_wrap=True)


def _extra_column(answer: Mapping[str, Any]) -> str | None:
    """What the last column shows: systems needed, what --per made, or what is ranked by and has no column yet."""
    if answer["by"] == "systems_needed":
        return "systems_needed"
    if answer["normalised"] is not None:
        return str(answer["normalised"]["column"])
    return None if answer["ranked_by"] in STANDARD else str(answer["ranked_by"])


def _unit(key: str) -> str:
    if key == "systems_needed":
        return "systems"
    return {
        "system_tps_per_kw": "tok/s/kW",
        "tps_per_accelerator": "tok/s/accel.",
        "tps_per_node": "tok/s/node",
        "usd_per_million_output_tokens": "$/1e6 out",
        "usd_per_million_total_tokens": "$/1e6 in+out",
        "joules_per_output_token": "J/token, most",
        "total_tps": "in+out tok/s",
        "qps": "requests/s",
    }.get(key, key)


def _value(place: Mapping[str, Any], extra: str) -> str:
    return str(place["systems"]) if extra == "systems_needed" else number_text(place["row"].get(extra))


def _cell(key: str, value: float | None) -> str:
    if value is None:
        return "-"
    if key == "ttft_p90_ns":
        return show_duration(value)
    return f"{value:,}" if key == "concurrency" else number_text(value)


def _power(row: Mapping[str, Any], extra: str | None) -> str | None:
    """The power behind a figure that was divided by it, and how it was added up."""
    if extra not in DIVIDED_BY_POWER or row["provisioned_power_kw"] is None:
        return None
    estimated = "estimated, " if row["power_estimated"] else ""
    return f"{number_text(row['provisioned_power_kw'])} kW ({estimated}{row['power_basis']})"


def _evidence(place: Mapping[str, Any], power: str | None) -> list[str]:
    found = [place["point"], place["status"]]
    if place["client_verdict"] != "ok":
        found.append(f"client {place['client_verdict'] or 'not judged'}")
    if place["single_run"]:
        found.append("one run")
    elif place["run_spread"] is not None:
        found.append(f"runs differ by {show_percent(place['run_spread'])}")
    verdict = place["steady_verdict"]
    if verdict is None or verdict in UNSTEADY:
        found.append(UNSTEADY[verdict] if verdict else "steady state not looked for")
    if whole_run(verdict, place["notes"]):
        found.append("steady window too short: whole run")
    if power is not None:
        found.append(power)
    if place["close"]:
        found.append(place["close"])
    return found


def _left_out(console: Console, answer: Mapping[str, Any], names: Mapping[str, str]) -> None:
    lines = []
    for one in answer["failed"]:
        near = one["nearest"]
        words = f"{names[one['curve']]}: {one['why']}"
        if near is not None:
            reasons = answer["reasons"][one["curve"]].get(near["point"], {})
            missed = "; ".join(sentence(miss, reasons.get(miss["key"], "")) + _by(miss) for miss in near["misses"])
            if one["why"] == NOT_REPORTED:
                words = f"{names[one['curve']]}: {missed}"
            else:
                level = f"level {near['concurrency']:,} ({near['point']})"
                words += f". {'Its' if one['why'].startswith('does not') else 'Nearest is'} {level}: {missed}"
        lines.append(words)
    say_notes(console, "Left out", lines)


def _by(miss: Mapping[str, Any]) -> str:
    if miss["excess"] is None:
        return ""
    off = miss["excess"]
    return f", off by {show_percent(off)}" if off < MANY_TIMES else f", {number_text(off + 1)} times the limit"


def _because(one: Mapping[str, Any]) -> str:
    return f"{one['point']}: {one['why']}"


def _capacity(console: Console, answer: Mapping[str, Any], names: Mapping[str, str]) -> None:
    if not answer["capacity"]:
        return
    say(console)
    first = answer["capacity"][0]["today"]
    say(console, f"Systems for {first['users']:,} users at a time ({first['tag']})", "bold")
    for one in answer["capacity"]:
        today = one["today"]
        words = f"{names[one['curve']]}: {today['systems']:,} at level {today['concurrency']:,}"
        words += f", headroom {show_percent(today['headroom'])}"
        if today["power_kw"] is not None:
            words += f", {number_text(today['power_kw'])} kW"
        if today["usd_per_hour"] is not None:
            words += f", {number_text(today['usd_per_hour'])} $/h"
        say(console, f"- {words}", indent=2)
        more = ", ".join(f"{plan['systems']:,} for {plan['users']:,}" for plan in one["growth"])
        say(console, f"more users: {more}", "dim", indent=4)
        say(console, _next_words(today), "dim", indent=4)
    say(console, first["assumption"], "dim", indent=2)


def _next_words(plan: Mapping[str, Any]) -> str:
    above = plan["next"]
    if above is None:
        return "no level above it was measured"
    return f"at the next level, {above['concurrency']:,}: " + "; ".join(sentence(miss) for miss in above["misses"])


def _basis(console: Console, answer: Mapping[str, Any]) -> None:
    for basis in filter(None, (answer["normalised"], *answer["limits_normalised"])):
        say(console)
        say(console, f"{_label(basis['column'])} ({basis['column']}): {basis['tag']}. {basis['basis']}.", "dim")
    if any(head["interactivity_key"] != "tps_per_user" for head in answer["curves"]):
        say(console, "tok/s/user is end to end: output tokens of all turns / their time.", "dim")
