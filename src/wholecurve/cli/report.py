"""`wholecurve report`: show a run or a campaign again, and write its report anew; a killed run is finished first."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

from wholecurve import __version__
from wholecurve.cli.main import tell
from wholecurve.cli.outputs import write_named
from wholecurve.model.errors import InputError
from wholecurve.model.plain_text import printable
from wholecurve.run.files import read_object

if TYPE_CHECKING:
    from wholecurve.run.derive import Difference, Recomputed

SUMMARY = Path("performance") / "result_summary.json"
DIFFERENCES_SHOWN = 20
VALUE_SHOWN = 80


def command(
    folder: Annotated[str, Parameter(help="a run folder, or the folder of a campaign")],
    /,
    *,
    html: Annotated[str | None, Parameter(name="--html", help="write the HTML report to this file instead")] = None,
    png: Annotated[
        str | None, Parameter(name="--png", help="of a campaign: write the picture of its curve to this file instead")
    ] = None,
    recompute: Annotated[
        bool,
        Parameter(name="--recompute", negative="", help="compute every figure again from the records, and compare"),
    ] = False,
    json: Annotated[
        bool, Parameter(name="--json", negative="", help="print the summary, or the curve, as JSON")
    ] = False,
) -> int:
    """Show a run or a campaign on the terminal and write its report.txt and report.html anew from its records; of a
    campaign curve.json and report.png too.

    A folder left by a run that was killed is finished first, from what is on disk, and marked interrupted; runs inside
    a campaign are left to `sweep --resume`. With --recompute nothing is written: every figure is computed again from
    records/ and compared with what is stored, digit by digit, and the reports of a campaign byte by byte; what differs
    is listed, and the exit code is 1 if anything does. Otherwise it is 1 if the run is not valid as a result, or the
    campaign not complete.
    """
    for name, value in (("--html", html), ("--png", png)):
        if recompute and value is not None:
            raise InputError(f"--recompute: wanted no {name}, got both", hint="it compares, and writes no report")
    if is_sweep(Path(folder)):
        from wholecurve.cli.report_campaign import recompute_report, report_campaign

        place = Path(folder)
        return (
            recompute_report(place, as_json=json)
            if recompute
            else report_campaign(place, html=html, png=png, as_json=json)
        )
    run = run_folder(folder)
    if png is not None:
        raise InputError("--png: the report of a single run has no picture", hint="its page has charts: --html FILE")
    return _recompute(run, as_json=json) if recompute else _show(run, html, as_json=json)


def is_sweep(folder: Path) -> bool:
    """Whether a sweep made this folder, with or without its levels chosen."""
    return (folder / "plan.yaml").is_file() or (folder / "journal.jsonl").is_file()


def _show(folder: Path, html: str | None, *, as_json: bool) -> int:
    """Show a run and write its reports; 1 if it is not valid as a result."""
    summary = summary_of(folder)
    for path, data in reports(folder, summary, html).items():
        write_named(path, data)
    if as_json:
        import orjson

        sys.stdout.write(orjson.dumps(summary, option=orjson.OPT_INDENT_2).decode() + "\n")
    else:
        from wholecurve.cli.run import print_summary

        print_summary(summary, read_object(folder / "plan.json"), f"{folder}/")
    return 0 if (summary.get("validity") or {}).get("valid") is True else 1


def _recompute(folder: Path, *, as_json: bool) -> int:
    """Compare what is stored with what the records say; 1 if anything differs."""
    import orjson

    from wholecurve.run.derive import recompute

    found = recompute(folder)
    if as_json:
        document = {
            "schema": "wholecurve.recomputed/1",
            "run": folder.name,
            "figures": found.figures,
            "same": not found.differences,
            "measured_by": found.measured_by,
            "recomputed_by": __version__,
            "differences": [one._asdict() for one in found.differences],
        }
        sys.stdout.write(orjson.dumps(document, option=orjson.OPT_INDENT_2).decode() + "\n")
    else:
        for line in recomputed_lines(found, folder):
            print(printable(line))
    return 1 if found.differences else 0


def recomputed_lines(found: Recomputed, folder: Path) -> Iterator[str]:
    """How many figures were recomputed, and which differ."""
    figures, wrong = f"{found.figures:,} figures recomputed from {folder}/records", len(found.differences)
    if not wrong:
        yield f"{figures}: all as stored, digit by digit"
        return
    yield f"{figures}: {wrong:,} value{'s' if wrong != 1 else ''} differ{'s' if wrong == 1 else ''} from what is stored"
    yield from difference_lines(found.differences)
    if found.measured_by != __version__:
        yield f"  measured by version {found.measured_by}, recomputed by {__version__}: a definition may have changed"


def difference_lines(differences: Sequence[Difference], most: int = VALUE_SHOWN) -> Iterator[str]:
    """Each difference in three lines, the first DIFFERENCES_SHOWN of many. most: characters of a value."""
    for one in differences[:DIFFERENCES_SHOWN]:
        yield f"  {one.path}"
        yield f"    stored  {_value(one.stored, most)}"
        yield f"    found   {_value(one.found, most)}"
    if len(differences) > DIFFERENCES_SHOWN:
        yield f"  {len(differences) - DIFFERENCES_SHOWN:,} more: see --json"


def _value(value: object, most: int) -> str:
    """A JSON value on one line, cut."""
    import orjson

    text = orjson.dumps(value).decode() if not isinstance(value, str) else value
    return text if len(text) <= most else f"{text[: most - 1]}…"


def run_folder(text: str) -> Path:
    """A folder with a plan in it. Raises InputError."""
    folder = Path(text)
    if not folder.is_dir():
        raise InputError(f"wanted a run folder, found none at {text}", hint="it is what `wholecurve run` named --out")
    if not (folder / "plan.json").is_file():
        raise InputError(f"wanted a run folder, got {text}, which has no plan.json", hint="check the path")
    return folder


def summary_of(folder: Path) -> Mapping[str, Any]:
    """The summary on disk; a run without one is finished first."""
    if not (folder / SUMMARY).is_file():
        from wholecurve.run import recover_run

        return recover_run(folder, say=tell).summary
    return read_object(folder / SUMMARY)


def reports(folder: Path, summary: Mapping[str, Any], html: str | None) -> dict[Path, bytes]:
    """The report files, made from the records."""
    from wholecurve.model.plan import PhaseKind
    from wholecurve.records.read import read_columns
    from wholecurve.report import report_html, report_text

    plan, clock = read_object(folder / "plan.json"), read_object(folder / "clock.json")
    kinds = [phase["kind"] for phase in plan["phases"]]
    columns = read_columns(folder / "records", kinds.index(PhaseKind.PERFORMANCE.value))
    extra: dict[str, Any] = {"plan": plan, "clock": clock}
    if (folder / "records" / "facts.json").is_file():
        extra["request"] = read_object(folder / "records" / "facts.json").get("request")
    return {
        folder / "report.txt": report_text(summary, plan).encode(),
        (folder / "report.html" if html is None else Path(html)): report_html(summary, columns, extra).encode(),
    }
