"""`wholecurve run`: one point, from flags or a configuration file."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any

from cyclopts import Parameter

from wholecurve.cli.inputs import out_folder, resolved_run
from wholecurve.cli.main import drop_stdout, tell
from wholecurve.cli.progress import Progress, progress_for
from wholecurve.config import Resolved, RunFlags
from wholecurve.model.errors import InterruptedRun, MeasureError
from wholecurve.model.plain_text import printable
from wholecurve.run import RunResult, measure

KINDS_SHOWN = 3


def command(*, flags: Annotated[RunFlags, Parameter(name="*")] = RunFlags()) -> int:  # noqa: B008 - it is frozen
    """Measure one point of a served endpoint.

    Sends the rows of a data set at the load asked for, and writes a folder with the records of every request, the
    figures computed from them, and a report. A flag wins over the same key of a configuration file.
    """
    progress = progress_for(sys.stderr, quiet=flags.quiet)
    resolved = resolved_run(flags, progress.say)
    result = measure_into(resolved, flags.out or resolved.settings.output.dir, progress)
    show_result(result, resolved.plan.to_json(), as_json=flags.json, quiet=flags.quiet)
    return result.exit_code


def measure_into(resolved: Resolved, out: str | None, progress: Progress) -> RunResult:
    """Measure into a new folder, which is taken away again if it was made here and nothing was written into it.

    Raises InterruptedRun when the user stops the work after the load; `report` can then finish the folder.
    """
    made = out is None or not Path(out).exists()
    folder = out_folder(out, resolved.plan)
    try:
        with closing(progress):
            return measure(resolved, folder, show=progress.show, say=progress.say)
    except KeyboardInterrupt:
        if not (folder / "plan.json").exists():
            raise
        raise InterruptedRun(
            "interrupted while results were written; the records are kept",
            hint=f"finish it with: wholecurve report {folder}",
        ) from None
    finally:
        if made:
            with contextlib.suppress(OSError):
                folder.rmdir()  # fails if anything is in it


@contextlib.contextmanager
def closing(progress: Progress) -> Iterator[None]:
    """Take the display away, however the run ends."""
    try:
        yield
    finally:
        progress.close()


def show_result(result: RunResult, plan: Mapping[str, Any], *, as_json: bool, quiet: bool) -> None:
    """The result on stdout, and on stderr what keeps it from being valid. Everything is on disk already."""
    try:
        if as_json:
            sys.stdout.write(result_json(result))
        elif not quiet:
            print_summary(result.summary, plan, shown(result.folder))
        sys.stdout.flush()
    except (BrokenPipeError, SystemExit):  # rich turns the first into the second
        drop_stdout()
    except OSError as error:
        drop_stdout()
        raise MeasureError(
            f"the result could not be printed: {error.strerror}",
            hint=f"all of it is on disk; print it again with: wholecurve report {result.folder}",
        ) from None
    for line in closing_words(result, name_folder=as_json and not quiet):
        tell(line)


def print_summary(summary: Mapping[str, Any], plan: Mapping[str, Any], folder: str) -> None:
    """The report on stdout, as wide as the terminal. `plan` is plan.json; `folder` is named at the end."""
    from rich.console import Console

    from wholecurve.report import show

    show(summary, Console(file=sys.stdout), folder, plan)


def result_json(result: RunResult) -> str:
    """The summary as it is on disk: strict JSON."""
    import orjson

    return orjson.dumps(result.summary, option=orjson.OPT_INDENT_2).decode() + "\n"


def closing_words(result: RunResult, *, name_folder: bool) -> list[str]:
    """How it ended if not well, what failed with what to do, and where the files are if nothing else says it."""
    lines = []
    if result.reason is not None:
        lines.append(f"{result.state.value}: {result.reason}")
    lines += [f"not valid: {sentence}" for sentence in result.invalid]
    if lines:
        lines += failure_words(result.summary)
    if name_folder:
        lines.append(f"files: {shown(result.folder)}")
    return lines


def failure_words(summary: Mapping[str, Any]) -> list[str]:
    """The most frequent kinds of failure, an example of each, and the next step; nothing without failures."""
    kinds = list((summary.get("failures") or {}).get("kinds") or ())[:KINDS_SHOWN]
    lines = []
    for kind in kinds:
        example = printable(str(kind.get("example") or ""))
        more = f" ({example})" if example and example != kind["sentence"] else ""
        lines.append(f"  {kind['count']} failed: {kind['sentence']}{more}")
    if kinds:
        url = ((summary.get("workload") or {}).get("endpoint") or {}).get("urls") or ["URL"]
        lines.append(f"  what the endpoint speaks is told by: wholecurve probe {url[0].partition('?')[0]}")
    return lines


def shown(folder: Path) -> str:
    """A folder as the user named it."""
    return f"{folder}/"
