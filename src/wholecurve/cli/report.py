"""`wholecurve report`: show a run again, and write its report anew; a killed run is finished first."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

from cyclopts import Parameter

from wholecurve.cli.main import tell
from wholecurve.model.errors import InputError, MeasureError

SUMMARY = Path("performance") / "result_summary.json"


def command(
    run: Annotated[str, Parameter(help="a run folder")],
    /,
    *,
    html: Annotated[str | None, Parameter(name="--html", help="write the HTML report to this file instead")] = None,
    json: Annotated[bool, Parameter(name="--json", negative="", help="print the summary as JSON")] = False,
) -> int:
    """Show a run on the terminal and write its report.txt and report.html anew from its records.

    A folder left by a run that was killed is finished first, from what is on disk, and marked interrupted.
    """
    folder = run_folder(run)
    summary = summary_of(folder)
    for path, data in reports(folder, summary, html).items():
        write(path, data)
    if json:
        import orjson

        sys.stdout.write(orjson.dumps(summary, option=orjson.OPT_INDENT_2).decode() + "\n")
    else:
        from wholecurve.cli.run import print_summary

        print_summary(summary, read_json(folder / "plan.json"), f"{folder}/")
    return 0


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
    return read_json(folder / SUMMARY)


def reports(folder: Path, summary: Mapping[str, Any], html: str | None) -> dict[Path, bytes]:
    """The report files, made from the records."""
    from wholecurve.model.plan import PhaseKind
    from wholecurve.records.read import read_columns
    from wholecurve.report import report_html, report_text

    plan, clock = read_json(folder / "plan.json"), read_json(folder / "clock.json")
    kinds = [phase["kind"] for phase in plan["phases"]]
    columns = read_columns(folder / "records", kinds.index(PhaseKind.PERFORMANCE.value))
    extra = {"plan": plan, "clock": clock}
    return {
        folder / "report.txt": report_text(summary, plan).encode(),
        (folder / "report.html" if html is None else Path(html)): report_html(summary, columns, extra).encode(),
    }


def read_json(path: Path) -> dict[str, Any]:
    """An object from a file. Raises InputError."""
    import orjson

    try:
        found = orjson.loads(path.read_bytes())
    except OSError as error:
        raise InputError(f"{path.name} cannot be read: {error.strerror}", where=str(path)) from None
    except orjson.JSONDecodeError:
        raise InputError(f"{path.name} is not valid JSON", where=str(path), hint="the folder is damaged") from None
    if not isinstance(found, dict):
        raise InputError(f"{path.name}: wanted an object", where=str(path), hint="the folder is damaged")
    return found


def write(path: Path, data: bytes) -> None:
    """Write under a temporary name and rename. Raises MeasureError with the system's reason."""
    part = path.with_name(path.name + ".part")
    try:
        part.write_bytes(data)
        part.replace(path)
    except OSError as error:
        raise MeasureError(f"{path} cannot be written: {error.strerror}", hint="name another file") from None
