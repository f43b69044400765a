"""report.txt: everything of one phase as plain text, 100 columns, readable in any editor and in a diff."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from textwrap import wrap
from typing import Any, Final

from wholecurve.model.names import NAMES
from wholecurve.report.build import build_view
from wholecurve.report.official import definition
from wholecurve.report.reading import NOT_MEASURED
from wholecurve.report.view import EARLY_HEADS, SERIES_HEADS, VERDICTS, Row, SeriesRow, View

WIDTH: Final[int] = 100
LABEL: Final[int] = 27
DEFINED: Final[tuple[str, ...]] = (
    "ttft", "tpot", "gaps", "latency", "output_sequence_lengths", "input_sequence_lengths", "system_tps",
    "tps_per_user", "duration_ns", "qps", "percentiles",
)  # fmt: skip
"""Names whose definitions every report carries."""


def report_text(summary: Mapping[str, Any], plan: Mapping[str, Any] | None = None) -> str:
    """The text of report.txt from result_summary.json, with plan.json (as plain values) if at hand.

    What the summary lacks is `not measured`; nothing raises.
    """
    view = build_view(summary, plan)
    title = f"wholecurve: {view.title}"[:WIDTH]
    lines = [title, "=" * len(title)]
    for title, body in _sections(view):
        found = list(body)
        if found:
            lines += ["", title, "-" * len(title), *found]
    return "\n".join(line.rstrip() for line in lines) + "\n"


def _sections(view: View) -> Iterator[tuple[str, Iterable[str]]]:
    """Every section in reading order; one without lines is left out."""
    yield "Client", _verdict(view)
    yield "What was measured", _pairs(view.subject)
    yield "State", _state(view)
    yield "Read with care", (line for one in view.cautions for line in _bullet(one))
    yield "Figures", _primary(view)
    yield "Steady state", _steady(view)
    yield "Series over successes", _series(view)
    yield "Early-stopping estimates (upper bounds, 99 % confidence)", _grid(view.early, EARLY_HEADS)
    yield "Failures", _failures(view)
    yield "Finish reasons of successes", _pairs(view.finish)
    yield "Tokens", _pairs(view.tokens)
    yield "Prompts", _pairs(view.prompts)
    yield "Load and rates", _pairs(view.load)
    yield "Delivery", _pairs(view.delivery)
    yield "Client health", _health(view)
    yield "Broken invariants", (line for one in view.violations for line in _bullet(one))
    yield "Definitions", (line for key in DEFINED for line in _pairs([(NAMES[key].label, definition(key))], label=30))
    yield "Decided differently from the reference client", (line for one in view.different for line in _bullet(one))
    yield "Settings and provenance", _pairs(view.provenance, label=34)


def _verdict(view: View) -> Iterator[str]:
    yield f"{view.verdict.upper()}  {VERDICTS.get(view.verdict, '')}"
    for reason in view.reasons:
        yield from _bullet(f"{reason.verdict}: {reason.sentence}")
        if reason.remedy:
            yield from _wrapped(f"what to do: {reason.remedy}", "    ")


def _state(view: View) -> Iterator[str]:
    yield from _wrapped(f"{view.state}: {view.state_sentence}" if view.state_sentence else view.state, "")
    yield from _wrapped(view.accounting, "")
    yield from _wrapped(f"status: {view.status}", "")
    if view.invalid:
        yield "Not valid as a result:"
        for reason in view.invalid:
            yield from _bullet(reason)


def _primary(view: View) -> Iterator[str]:
    for one in view.primary:
        beside = [part for part in (one.basis, one.interval, f"whole run {one.total}" if one.total else "") if part]
        notes = one.reason or "; ".join(beside)
        shown = " ".join(part for part in (one.value, one.unit, f"({notes})" if notes else "") if part)
        yield from _pairs([(one.label, shown)])


def _steady(view: View) -> Iterator[str]:
    if view.steady is None:
        return
    if not view.steady.rows:
        yield from _wrapped(view.steady.none, "")
        return
    yield from _wrapped(
        f"{view.steady.headline}: {view.steady.meaning}" if view.steady.meaning else view.steady.headline, ""
    )
    yield from _pairs(view.steady.rows)
    for one in view.steady.cautions:
        yield from _bullet(one)


def _series(view: View) -> Iterator[str]:
    yield from _grid([row for row in view.series if row.cells], SERIES_HEADS)
    for row in view.series:
        if not row.cells:
            yield from _pairs([(row.label, f"{NOT_MEASURED} ({row.reason})" if row.reason else NOT_MEASURED)])
    if view.weak:
        yield ""
        yield "* n is too small for this percentile: not one sample in expectation lies beyond it."


def _grid(rows: Sequence[SeriesRow], heads: Sequence[str]) -> Iterator[str]:
    """One row per series, right-aligned columns."""
    if not rows:
        return
    yield f"{'':20}{'n':>8}" + "".join(f"{head:>9}" for head in heads)
    for row in rows:
        cells = "".join(f"{cell.text + '*' * cell.weak:>9}" for cell in row.cells)
        yield f"{row.label:20}{row.n:>8}{cells}"


def _failures(view: View) -> Iterator[str]:
    for one in view.failures:
        whose = " (fault of this machine)" if one.client_side else ""
        yield from _wrapped(f"{one.count:>8}  {one.kind}: {one.sentence}{whose}", "", "          ")
        if one.example:
            yield from _wrapped(f"e.g. {one.example}", "          ")
    yield from _pairs(view.failure_facts)


def _health(view: View) -> Iterator[str]:
    yield f"{'':{LABEL}}{'found':>16}{'strained':>12}{'limited':>12}  verdict"
    for one in view.health:
        yield f"{one.label:{LABEL}}{one.value:>16}{one.strained:>12}{one.limited:>12}  {one.verdict}"


def _pairs(rows: Iterable[Row], label: int = LABEL) -> Iterator[str]:
    """Label and value in two columns; long values hang under themselves."""
    for name, value in rows:
        yield from _wrapped(value, f"{name:{label - 1}} ", " " * label)


def _bullet(text: str) -> list[str]:
    return _wrapped(text, "- ", "  ")


def _wrapped(text: str, first: str, rest: str | None = None) -> list[str]:
    """Lines of at most `WIDTH` columns; a word longer than a line is cut, so no line is ever wider."""
    found = wrap(
        text, WIDTH, initial_indent=first, subsequent_indent=first if rest is None else rest, break_on_hyphens=False
    )
    return found or [first]
