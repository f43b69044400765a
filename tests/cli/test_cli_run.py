"""`wholecurve run` that goes well: folders, what is printed where, progress on terminals and in logs."""

from __future__ import annotations

import io
import json
import os
import pty
import re
import shlex
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest
from cli_console import FILES, USAGE, begin, console, end, environment, files_of, prompts, run_flags, summary

from wholecurve.cli.inputs import out_folder, resolved_run, safe_name
from wholecurve.cli.progress import FIRST_LINE_NS, LINE_EVERY_NS, Lines, Silent, bar, counts, progress_for, rates
from wholecurve.cli.run import measure_into
from wholecurve.config import RunFlags
from wholecurve.model.errors import InputError, InterruptedRun, SetupError
from wholecurve.model.plan import Plan
from wholecurve.model.record import RunState
from wholecurve.run import Live, RunResult
from wholecurve.testing import ScriptedServer, sse_answer

GOOD = sse_answer(["a", "b"], usage=USAGE)
NS = 1_000_000_000


def test_the_command_as_it_is_written_everywhere(tmp_path: Path) -> None:
    with ScriptedServer(sse_answer(["a", "b"], first_s=0.1, usage=USAGE)) as server:
        done = console(*run_flags(server.url, tmp_path), cwd=tmp_path)
    assert done.code == 0
    assert done.err == ""
    assert "TTFT" in done.out
    assert "Files: out/" in done.out
    assert set(FILES) <= files_of(tmp_path / "out")
    found = summary(tmp_path / "out")
    assert found["outcomes"]["succeeded"] == 4
    assert found["concurrency"]["requested"] == 2
    assert server.peak_requests == 2


def test_json_goes_to_stdout_alone(tmp_path: Path) -> None:
    with ScriptedServer(GOOD) as server:
        done = console(*run_flags(server.url, tmp_path, "--json"), cwd=tmp_path)
    assert json.loads(done.out) == summary(tmp_path / "out")
    assert done.errors() == ["files: out/"]


def test_result_and_point_are_unverified(tmp_path: Path) -> None:
    """DESIGN 1: without a record of a registry a result is never presented as anything else."""
    with ScriptedServer(GOOD) as server:
        done = console(*run_flags(server.url, tmp_path), cwd=tmp_path)
    assert summary(tmp_path / "out")["status"] == "unverified"
    assert "\n  status: unverified\n" in (tmp_path / "out" / "point.yaml").read_text()
    assert "status: unverified" in done.out


def test_standard_streams_that_are_closed_stay_nobodys(tmp_path: Path) -> None:
    """Else the first files opened would get their numbers, and what is printed would be written into them."""
    with ScriptedServer(GOOD) as server:
        flags = run_flags(server.url, tmp_path)
        closing = f"exec {shlex.join([sys.executable, '-m', 'wholecurve', *flags])} <&- >&- 2>&-"
        done = subprocess.run(["sh", "-c", closing], cwd=tmp_path, env=environment(), timeout=60)
    assert done.returncode == 0
    assert summary(tmp_path / "out")["outcomes"]["succeeded"] == 4
    assert set(FILES) <= files_of(tmp_path / "out")


def test_output_that_cannot_be_printed_loses_nothing(tmp_path: Path) -> None:
    with ScriptedServer(GOOD) as server, Path("/dev/full").open("wb") as full:
        done = end(begin(*run_flags(server.url, tmp_path, "--json"), cwd=tmp_path, stdout=full))
    assert done.code == 4
    assert done.errors() == [
        "error: the result could not be printed: No space left on device",
        "  all of it is on disk; print it again with: wholecurve report out",
    ]
    assert summary(tmp_path / "out")["outcomes"]["succeeded"] == 4


def test_quiet_prints_nothing(tmp_path: Path) -> None:
    with ScriptedServer(GOOD) as server:
        done = console(*run_flags(server.url, tmp_path, "--quiet"), cwd=tmp_path)
    assert (done.code, done.out, done.err) == (0, "", "")
    assert set(FILES) <= files_of(tmp_path / "out")


def test_two_runs_in_one_second_have_two_folders(tmp_path: Path) -> None:
    """REP-6: two at once, a slash and a colon in the model's name; the name itself is kept in the data."""
    with ScriptedServer(GOOD) as server:
        flags = run_flags(server.url, tmp_path, "--quiet", out=None)
        flags[flags.index("--model") + 1] = "org/model:v1"
        children = [begin(*flags, cwd=tmp_path) for _ in range(2)]
        assert [end(child).code for child in children] == [0, 0]
    folders = list((tmp_path / "results").iterdir())
    assert len(folders) == 2
    assert all(re.fullmatch(r"org-model-v1-c2-\d{8}T\d{6}Z(-2)?", folder.name) for folder in folders)
    for folder in folders:
        assert json.loads((folder / "plan.json").read_text())["endpoint"]["model"] == "org/model:v1"


def test_folders_of_one_second_are_numbered(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("wholecurve.cli.inputs.realtime_ns", lambda: 1_700_000_000 * NS)
    plan = _plan(tmp_path)
    names = [out_folder(None, plan).name for _ in range(3)]
    assert names == [f"a-b-c7-20231114T221320Z{more}" for more in ("", "-2", "-3")]


def flags_for(folder: Path) -> RunFlags:
    return RunFlags(endpoint=("http://h:1",), model="a/b", dataset=prompts(folder), concurrency=7)


def _plan(folder: Path) -> Plan:
    return resolved_run(flags_for(folder), lambda _text: None).plan


def test_out_may_be_new_or_empty_only(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    plan = _plan(tmp_path)
    assert out_folder("deep/new", plan) == Path("deep/new")
    assert out_folder("deep/new", plan) == Path("deep/new"), "empty still"
    (tmp_path / "deep" / "new" / "file").touch()
    for taken in ("deep/new", "deep/new/file", "deep/new/file/below"):
        with pytest.raises(InputError):
            out_folder(taken, plan)


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("org/model:v1", "org-model-v1"),
        ("../../etc/passwd", "etc-passwd"),
        (".hidden", "hidden"),
        ("Ünïcode modèl", "n-code-mod-l"),
        ("///", "model"),
        ("x" * 300, "x" * 80),
        ("a\nb\x1b[31m", "a-b-31m"),
    ],
)
def test_safe_names(text: str, name: str) -> None:
    assert safe_name(text) == name


# -- progress ----------------------------------------------------------------------------------------------------------


def live(**changes: Any) -> Live:
    values: dict[str, Any] = {
        "phase": "performance",
        "number": 0,
        "elapsed_ns": 10 * NS,
        "total": 100,
        "min_duration_ns": 0,
        "max_duration_ns": None,
        "issued": 44,
        "ended": 40,
        "in_flight": 4,
        "succeeded": 39,
        "failed": 1,
        "output_events": 4_000,
        "output_tokens": 5_000,
        "ttft_p90_ns": 12_300_000.0,
        "connections": 4,
        "state": RunState.COMPLETE,
        "draining": False,
    }
    return Live(**values | changes)


def test_plain_lines_come_after_5_s_and_every_30_s() -> None:
    """CLI-9: in a job log, a line at least every 30 s with done, failed, in flight."""
    stream = io.StringIO()
    lines = Lines(stream)
    times: list[float] = []
    for tenth in range(1, 1200):
        before = stream.tell()
        lines.show(live(elapsed_ns=tenth * NS // 10))
        if stream.tell() != before:
            times.append(tenth / 10)
    assert times == [5.0, 35.0, 65.0, 95.0]
    assert FIRST_LINE_NS <= LINE_EVERY_NS <= 30 * NS
    assert stream.getvalue().splitlines()[0] == (
        "performance 5 s: 40 of 100 requests done, 4 in flight, 1 failed; 1,000 tokens/s, TTFT P90 12.3 ms, "
        "about 7.5 s left"
    )


def test_every_phase_has_its_own_first_line() -> None:
    stream = io.StringIO()
    lines = Lines(stream)
    lines.show(live(elapsed_ns=6 * NS, phase="warmup"))
    lines.show(live(elapsed_ns=2 * NS, number=1))
    lines.show(live(elapsed_ns=5 * NS, number=1))
    assert [line.split()[0] for line in stream.getvalue().splitlines()] == ["warmup", "performance"]


def test_what_is_not_known_yet_is_said_to_be_so() -> None:
    early = live(total=None, output_events=0, output_tokens=0, ttft_p90_ns=None, ended=0, issued=4)
    assert counts(early) == "0 requests done, 4 in flight, 1 failed"
    assert rates(early) == "no output yet, TTFT P90 not known yet, time left not known"
    assert rates(live(output_tokens=0)).startswith("400 output events/s")
    assert counts(live(draining=True)).endswith(", waiting for the last answers")
    assert rates(live(draining=True)) == "500 tokens/s, TTFT P90 12.3 ms", "how long answers take is not known"
    assert rates(live(ended=100)) == "500 tokens/s, TTFT P90 12.3 ms", "nothing is left"


def test_ctrl_c_says_once_what_it_does() -> None:
    stream = io.StringIO()
    lines = Lines(stream)
    for _ in range(3):
        lines.show(live(elapsed_ns=NS, state=RunState.INTERRUPTED, draining=True))
    assert stream.getvalue() == "stopping: nothing more is sent, 4 in flight; Ctrl-C again stops now\n"


@pytest.mark.parametrize("interrupted_after_plan", [True, False])
def test_ctrl_c_after_the_load_keeps_the_records(
    interrupted_after_plan: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """REP-3: stopped while results are written, the folder stays and the message says how to finish it."""
    monkeypatch.chdir(tmp_path)

    def interrupted(_resolved: object, folder: Path, **_callbacks: object) -> RunResult:
        if interrupted_after_plan:
            (folder / "plan.json").touch()
        raise KeyboardInterrupt

    monkeypatch.setattr("wholecurve.cli.run.measure", interrupted)
    resolved = resolved_run(flags_for(tmp_path), lambda _text: None)
    with pytest.raises(InterruptedRun if interrupted_after_plan else KeyboardInterrupt) as caught:
        measure_into(resolved, "out", Silent())
    if interrupted_after_plan:
        assert "wholecurve report out" in str(caught.value)
    assert Path("out").exists() is interrupted_after_plan


def test_an_empty_folder_of_the_user_is_not_taken_away(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("mine").mkdir()

    def refuse(*_arguments: object, **_callbacks: object) -> RunResult:
        raise SetupError("not ready")

    monkeypatch.setattr("wholecurve.cli.run.measure", refuse)
    resolved = resolved_run(flags_for(tmp_path), lambda _text: None)
    for out, stays in (("mine", True), ("new", False)):
        with pytest.raises(SetupError):
            measure_into(resolved, out, Silent())
        assert Path(out).exists() is stays


@pytest.mark.parametrize("share", [None, 0.0, 0.004, 0.5, 1.0])
def test_the_bar_has_one_width(share: float | None) -> None:
    assert len(bar(share)) == len(bar(0.5))


def test_a_closed_stream_is_nobody_to_tell() -> None:
    stream = io.StringIO()
    progress = progress_for(stream, quiet=False)
    stream.close()
    progress.say("text")
    assert isinstance(progress_for(io.StringIO(), quiet=True), Silent)


def test_on_a_terminal_two_lines_stay_in_place(tmp_path: Path) -> None:
    ours, theirs = pty.openpty()
    with ScriptedServer(sse_answer(["a"] * 12, gap_s=0.05, usage=USAGE)) as server:
        child = begin(*run_flags(server.url, tmp_path), cwd=tmp_path, env={"TERM": "xterm"}, stderr=theirs)
        os.close(theirs)
        seen = bytearray()

        def read() -> None:
            try:
                while piece := os.read(ours, 4096):
                    seen.extend(piece)
            except OSError:
                pass  # the terminal is gone when the child is

        reader = threading.Thread(target=read)
        reader.start()
        done = end(child)
        reader.join()
    os.close(ours)
    text = seen.decode()
    assert done.code == 0
    assert "of 4 requests done" in text
    assert "2 in flight" in text
    assert "\x1b[" in text, "drawn in place"
    assert "\x1b[" not in done.out, "stdout is no terminal"
