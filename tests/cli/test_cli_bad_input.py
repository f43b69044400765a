"""What a user can get wrong before anything is sent: the exact words and the exit code."""

from __future__ import annotations

from pathlib import Path

import pytest
from cli_console import console, prompts

import wholecurve.cli.main as main_module
from wholecurve.cli import COMMANDS
from wholecurve.cli.main import main

URL = "http://127.0.0.1:9"
RUN = ["run", "--endpoint", URL, "--model", "m", "--dataset", "prompts.jsonl"]

CASES: dict[str, tuple[list[str], list[str]]] = {
    "unknown command": (
        ["rnu"],
        ["error: wanted a command, got the unknown command 'rnu'", "  did you mean run?"],
    ),
    "unknown command far from any": (
        ["zzz"],
        [
            "error: wanted a command, got the unknown command 'zzz'",
            f"  commands: {', '.join(COMMANDS)}; see wholecurve --help",
        ],
    ),
    "flag before the command": (
        ["--concurrency", "4"],
        [
            "error: wanted a command, got the unknown flag '--concurrency'",
            f"  commands: {', '.join(COMMANDS)}; see wholecurve --help",
        ],
    ),
    "wrong flag": (
        [*RUN, "--concurency", "4"],
        ["error: unknown flag '--concurency'", "  did you mean --concurrency?"],
    ),
    "wrong flag with its value": (
        [*RUN, "--zebra=secret-1"],
        ["error: unknown flag '--zebra'", "  see wholecurve run --help"],
    ),
    "word where a number belongs": (
        [*RUN, "--concurrency", "many"],
        ["error: --concurrency: wanted a whole number, got 'many'", "  see wholecurve run --help"],
    ),
    "wrong choice": (
        [*RUN, "--concurrency", "1", "--dialect", "openai-chta"],
        [
            "error: --dialect: wanted one of openai-chat, openai-completions, sglang-generate, got 'openai-chta'",
            "  did you mean openai-chat?",
        ],
    ),
    "wrong enumeration": (
        [*RUN, "--pattern", "poison"],
        [
            "error: --pattern: wanted one of concurrency, offline, poisson, constant, got 'poison'",
            "  did you mean poisson?",
        ],
    ),
    "flag without its value": (
        [*RUN, "--concurrency"],
        ["error: wanted a value for --concurrency, got none", "  see wholecurve run --help"],
    ),
    "stray value": (
        [*RUN, "secret-1"],
        ["error: got one value that no flag takes", "  quote values with blanks in them; see wholecurve run --help"],
    ),
    "nothing": (
        ["run"],
        [
            "error: wanted a value for `endpoint` (what is measured), got none",
            "  give --endpoint and --model, or --config FILE",
        ],
    ),
    "missing config": (
        ["run", "--config", "nix.yaml"],
        ["error: wanted a configuration file, found none at nix.yaml", "  at --config", "  check the path"],
    ),
    "out is a file": (
        [*RUN, "--concurrency", "1", "--out", "prompts.jsonl"],
        ["error: --out: wanted a new or empty folder, got the file prompts.jsonl", "  name another folder"],
    ),
    "out is full": (
        [*RUN, "--concurrency", "1", "--out", "full"],
        [
            "error: --out: wanted a new or empty folder, got full, which holds files",
            "  results are never overwritten: name another folder",
        ],
    ),
    "no concurrency for doctor": (
        ["doctor", "--concurrency", "0"],
        ["error: --concurrency: wanted at least 1, got 0"],
    ),
    "report of nothing": (
        ["report", "nix"],
        ["error: wanted a run folder, found none at nix", "  it is what `wholecurve run` named --out"],
    ),
    "report of another folder": (
        ["report", "full"],
        ["error: wanted a run folder, got full, which has no plan.json", "  check the path"],
    ),
    "unknown export": (
        ["export", "evnts", "full"],
        ["error: WHAT: wanted one of requests, gaps, events, got 'evnts'", "  did you mean events?"],
    ),
    "probe of no URL": (
        ["probe"],
        ["error: wanted a value for --endpoint, got none", "  see wholecurve probe --help"],
    ),
    "number that fits nowhere": (
        [*RUN, "--concurrency", "9" * 30],
        [f"error: load.concurrency: wanted at most 1000000000000, got {'9' * 30}", "  at --concurrency"],
    ),
    "workers without end": (
        [*RUN, "--concurrency", "2", "--workers", "5000"],
        ["error: workers: wanted at most 256, got 5000", "  at --workers"],
    ),
    "slowness that is no number": (
        ["sim", "--port", "0", "--slow-ms", "nan"],
        ["error: --slow-ms: wanted 0 to 3600000, got nan"],
    ),
    "simulated processes without end": (
        ["sim", "--port", "0", "--processes", "99999"],
        ["error: processes must be 256 or fewer, got 99999"],
    ),
    "core that is not there": (
        ["sim", "--port", "0", "--cpu", "123456"],
        ["error: --cpu: wanted a core of this machine, got 123456"],
    ),
    "log where no folder is": (
        ["sim", "--port", "0", "--truth-log", "nix/log"],
        ["error: --truth-log: cannot write nix/log: No such file or directory", "  name another file"],
    ),
    "model without a name": (
        ["sim", "--port", "0", "--model", ""],
        ["error: wanted the name of a model, got an empty one"],
    ),
    "unknown fault": (
        ["sim", "--fault", "rest=1%"],
        ["error: unknown fault 'rest'"],
    ),
}


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    prompts(tmp_path)
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "file").touch()


@pytest.mark.parametrize("case", CASES)
def test_message_and_exit_code(case: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments, lines = CASES[case]
    before = sorted(tmp_path.rglob("*"))
    assert main(arguments) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.splitlines()[: len(lines)] == lines
    assert len(err.splitlines()) <= 3
    assert "secret-1" not in err
    assert sorted(tmp_path.rglob("*")) == before, "nothing was written"


def test_missing_dataset(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*RUN[:-1], "nix.jsonl", "--concurrency", "1"]) == 2
    lines = capsys.readouterr().err.splitlines()
    assert lines[:2] == ["error: wanted a data set file, got a name that does not exist", "  at nix.jsonl"]


def test_unknown_key_of_a_file_names_line_and_remedy(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = f"endpoint:\n  urls: [{URL}]\n  model: m\ndataset:\n  path: prompts.jsonl\nload:\n  concurency: 4\n"
    (tmp_path / "run.yaml").write_text(text)
    assert main(["run", "--config", "run.yaml"]) == 2
    assert capsys.readouterr().err.splitlines() == [
        "error: unknown key `load.concurency`",
        "  at run.yaml:7",
        "  did you mean `load.concurrency`?",
    ]


def test_console_command_ends_with_the_code_and_no_traceback(tmp_path: Path) -> None:
    done = console("run", "--concurency", "4", cwd=tmp_path)
    assert (done.code, done.out) == (2, "")
    assert done.errors() == ["error: unknown flag '--concurency'", "  did you mean --concurrency?"]


def test_debug_shows_where_an_error_comes_from(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("WHOLECURVE_DEBUG", "1")
    assert main(["report", "nix"]) == 2
    err = capsys.readouterr().err
    assert "Traceback" in err
    assert "error: wanted a run folder" in err


class _Secret(Exception):
    pass


@pytest.mark.parametrize(
    ("fault", "code", "lines"),
    [
        (KeyboardInterrupt(), 130, ["interrupted"]),
        (
            OSError(28, "No space left on device", "out/plan.json"),
            4,
            ["error: the system refused: No space left on device", "  at out/plan.json"],
        ),
        (BrokenPipeError(32, "Broken pipe"), 0, []),
    ],
    ids=["interrupt", "disk", "pipe"],
)
def test_faults_outside_a_run(
    fault: BaseException,
    code: int,
    lines: list[str],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    def fail(_arguments: object) -> int:
        raise fault

    monkeypatch.setattr(main_module, "_dispatch", fail)
    monkeypatch.setattr(main_module, "drop_stdout", lambda: None)
    assert main([]) == code
    assert capsys.readouterr().err.splitlines() == lines


def test_an_unforeseen_fault_shows_its_place_and_not_its_text(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fail(_arguments: object) -> int:
        raise _Secret("X-Token: secret-1")

    monkeypatch.setattr(main_module, "_dispatch", fail)
    assert main([]) == 4
    lines = capsys.readouterr().err.splitlines()
    assert lines[0] == "error: wholecurve has a fault: _Secret"
    assert lines[1].startswith("  at wholecurve.cli.main, line ")
    assert lines[2] == "  please report it, with what WHOLECURVE_DEBUG=1 prints"
