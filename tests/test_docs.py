"""Holds README, changelog and docs to the product: links, files, flags, commands and tables that they name exist.

Nothing is executed: command lines of the pages are parsed by the real parser. The generated pages of docs/reference are
held against their generators by tests/cli, tests/config and tests/metrics.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest
import yaml

from wholecurve.cli import COMMANDS, EXIT_CODES
from wholecurve.cli.docs import help_text
from wholecurve.cli.main import build_app
from wholecurve.config import COMMAND_FLAGS, FLAG_OF, RunFlags, read_config, settings_from
from wholecurve.metrics import Verdict
from wholecurve.metrics.limits import LIMITS
from wholecurve.model.point import PointKind
from wholecurve.model.record import REQUEST_COLUMNS
from wholecurve.results import load_curves
from wholecurve.wire import DIALECTS

ROOT = Path(__file__).resolve().parents[1]
PAGES = ("README.md", "CHANGELOG.md", *sorted(str(p.relative_to(ROOT)) for p in (ROOT / "docs").rglob("*.md")))
WRITTEN = tuple(page for page in PAGES if not page.startswith("docs/reference/"))
GUIDE = "docs/guide/measure-your-endpoint.md"
VERDICTS = "docs/guide/when-the-verdict-is-not-ok.md"
HOT_PATH = "docs/design/hot-path.md"
OVERVIEW = "docs/design/overview.md"

FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
CODE = re.compile(r"`([^`\n]+)`")
FLAG = re.compile(r"(?<![\w-])--[a-z][a-z0-9-]*")
REPOSITORY_PATH = re.compile(r"(?<![\w./~-])(?:src|tests|docs|bench|requirements)/[\w./-]*\w/?")

# Flags of other programs that a page may name, each with the reason why no command of ours has it.
FOREIGN_FLAGS: Mapping[str, str] = {"--help": "every command's", "--version": "the program's own"}


def text_of(page: str) -> str:
    return (ROOT / page).read_text(encoding="utf-8")


def blocks(page: str, language: str) -> Iterator[str]:
    """Fenced blocks of one language."""
    return (body for kind, body in FENCE.findall(text_of(page)) if kind == language)


def prose(page: str) -> str:
    """The page without its fenced blocks."""
    return FENCE.sub("", text_of(page))


def command_lines(page: str) -> list[str]:
    """Every `wholecurve ...` line of the shell blocks, without its comment."""
    return [
        line.partition("  #")[0].strip()
        for block in blocks(page, "sh")
        for line in block.splitlines()
        if line.startswith("wholecurve ")
    ]


def anchor(heading: str) -> str:
    """The fragment that Markdown viewers make of a heading."""
    return re.sub(r"[^\w\- ]", "", heading.strip().lower()).replace(" ", "-")


def anchors(path: Path) -> set[str]:
    found = re.findall(r"^#+ (.*)$", FENCE.sub("", path.read_text(encoding="utf-8")), re.MULTILINE)
    return {anchor(heading) for heading in found}


def bad_links(page: str, text: str) -> list[str]:
    """Relative links that lead nowhere, in a page at that place."""
    bad = []
    for target in LINK.findall(text):
        if re.match(r"[a-z]+:", target):
            continue
        name, _, fragment = target.partition("#")
        path = (ROOT / page).parent / name if name else ROOT / page
        if not path.exists() or (fragment and fragment not in anchors(path)):
            bad.append(target)
    return bad


@pytest.mark.parametrize("page", PAGES)
def test_every_relative_link_leads_somewhere(page: str) -> None:
    assert bad_links(page, text_of(page)) == []


def test_a_dead_link_would_be_found() -> None:
    text = "[a](docs/none.md) [b](LICENSE) [c](docs/reference/commands.md#run) [d](#none) [e](https://example.org/x)"
    assert bad_links("README.md", text) == ["docs/none.md", "#none"]


@pytest.mark.parametrize("page", WRITTEN)
def test_every_named_file_of_the_repository_exists(page: str) -> None:
    """`bench/results/` is made by a run and ignored by git, so a page may name it."""
    named = {name.rstrip("/.") for name in REPOSITORY_PATH.findall(text_of(page))} - {"bench/results"}
    assert [name for name in sorted(named) if not (ROOT / name).exists()] == []


@pytest.mark.parametrize("name", ["src/wholecurve/none.py", "docs/none", "tests/none/"])
def test_a_missing_file_would_be_found(name: str) -> None:
    (found,) = REPOSITORY_PATH.findall(f"see `{name}`.")
    assert found == name
    assert not (ROOT / found).exists()


def test_modules_named_in_the_hot_path_exist() -> None:
    """Files without a folder are those of run/; others name their package."""
    package = ROOT / "src" / "wholecurve"
    named = {code for code in CODE.findall(prose(HOT_PATH)) if code.endswith(".py")}
    assert len(named) > 8
    assert [name for name in named if not (package / ("" if "/" in name else "run") / name).is_file()] == []


# -- commands and flags ------------------------------------------------------------------------------------------------


def known_flags() -> set[str]:
    """Flags of `run` from the tables, and those of every other command from its help."""
    flags = set(FLAG_OF.values()) | {f"--{name.replace('_', '-')}" for name in COMMAND_FLAGS}
    for name in COMMANDS:
        flags |= set(FLAG.findall(help_text(name).partition("Parameters:")[2]))
    return flags | set(FOREIGN_FLAGS)


@pytest.mark.parametrize("page", WRITTEN)
def test_every_flag_that_is_named_exists(page: str) -> None:
    named = {flag for code in CODE.findall(prose(page)) for flag in FLAG.findall(code)}
    assert sorted(named - known_flags()) == []


@pytest.mark.parametrize("page", WRITTEN)
def test_every_command_that_is_named_exists(page: str) -> None:
    named = {match[1] for code in CODE.findall(prose(page)) if (match := re.match(r"wholecurve ([a-z]+)", code))}
    assert sorted(named - set(COMMANDS)) == []


def parsed(line: str) -> Mapping[str, object]:
    """What the real parser binds to the command's parameters; raises for a line that it would refuse."""
    words = shlex.split(line)
    assert words[0] == "wholecurve"
    _, bound, _ = build_app(words[1]).parse_args(words[1:], print_error=False, exit_on_error=False)
    return bound.arguments


LINES = [(page, line) for page in WRITTEN for line in command_lines(page)]


@pytest.mark.parametrize(("page", "line"), LINES)
def test_every_command_line_parses(page: str, line: str) -> None:
    assert isinstance(parsed(line), Mapping)


def test_the_pages_show_every_command_but_the_demo() -> None:
    """`make demo` shows that one."""
    in_text = {match for page in WRITTEN for match in re.findall(r"`wholecurve ([a-z]+)", prose(page))}
    assert {shlex.split(line)[1] for _, line in LINES} | in_text >= set(COMMANDS) - {"demo"}
    assert any(line.startswith("wholecurve run ") for page, line in LINES if page == "README.md")


@pytest.mark.parametrize(
    "line", ["wholecurve run --concurency 4", "wholecurve export nothing RUN", "wholecurve report"]
)
def test_a_wrong_command_line_would_be_found(line: str) -> None:
    from cyclopts import CycloptsError

    with pytest.raises(CycloptsError):
        parsed(line)


def test_run_lines_make_valid_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    """Beyond the parser: values that only the settings know to refuse."""
    monkeypatch.setenv("MY_KEY", "x")
    checked = 0
    for _, line in LINES:
        flags = parsed(line).get("flags") if line.startswith("wholecurve run ") else None
        if isinstance(flags, RunFlags) and flags.config is None:
            assert settings_from(flags).endpoint.model == flags.model
            checked += 1
    assert checked > 5


# -- tables that stand in pages and in code ----------------------------------------------------------------------------


def test_the_page_of_verdicts_has_every_limit_and_no_other() -> None:
    rows = re.findall(r"^\| `(\w+)` \|(.*)$", text_of(VERDICTS), re.MULTILINE)
    assert {name for name, _ in rows} >= {limit.code for limit in LIMITS}
    codes = [name for name, _ in rows if name not in set(Verdict)]
    assert sorted(codes) == sorted(limit.code for limit in LIMITS)
    assert {str(verdict) for verdict in Verdict} <= set(CODE.findall(text_of(VERDICTS)))


def shown_limit(value: float | None, code: str) -> str:
    """A limit as the page writes it: the number, by the unit that its name ends in."""
    if value is None:
        return "never"
    if code.endswith("_ns"):
        return f"{value / 1e6:.3g} ms"
    return f"{value * 100:.3g} %" if code.endswith(("_share", "_max")) else f"{value:.1f}" if value else "0"


@pytest.mark.parametrize("limit", LIMITS, ids=lambda limit: limit.code)
def test_the_page_of_verdicts_has_todays_limits(limit: object) -> None:
    code, strained, limited = (getattr(limit, name) for name in ("code", "strained", "client_limited"))
    (row,) = re.findall(rf"^\| `{code}` \| ([^|]+) \| ([^|]+) \|", text_of(VERDICTS), re.MULTILINE)
    cells = [re.sub(r"^(?:above|below) ", "", cell.strip()) for cell in row]
    wanted = [shown_limit(strained, code), shown_limit(limited, code)]
    if strained == limited:
        wanted[0] = "never"  # what is over both is said to be client-limited
    assert cells == wanted


def test_the_guide_has_every_exit_code() -> None:
    codes = [int(code) for code in re.findall(r"^\| (\d+) \|", text_of(GUIDE), re.MULTILINE)]
    assert codes == [code for code, _ in EXIT_CODES]


def test_the_configuration_of_the_guide_is_valid(tmp_path: Path) -> None:
    (body,) = blocks(GUIDE, "yaml")
    assert yaml.safe_load(body)["output"]["dir"] == "results/evening"
    file = tmp_path / "measure.yaml"
    file.write_text(body, encoding="utf-8")
    settings = settings_from(RunFlags(), read_config(str(file), {}))
    assert settings.load.concurrency == 8


@pytest.mark.parametrize("name", DIALECTS)
def test_the_changelog_names_every_dialect(name: str) -> None:
    assert f"`{name}`" in text_of("CHANGELOG.md")


def test_columns_named_in_the_hot_path_are_recorded() -> None:
    columns = {column.name for column in REQUEST_COLUMNS}
    assert {"first_shared", "reads", "user_stamps", "output_events"} <= columns & set(CODE.findall(text_of(HOT_PATH)))


def test_the_overview_has_every_package() -> None:
    packages = {path.parent.name for path in (ROOT / "src" / "wholecurve").glob("*/__init__.py")}
    rows = set(re.findall(r"^\| `(\w+)` \|", text_of(OVERVIEW), re.MULTILINE))
    assert rows == packages


def test_the_overview_has_every_file_of_a_run_folder() -> None:
    """Names that run/measure.py writes, as it writes them."""
    source = (ROOT / "src" / "wholecurve" / "run" / "measure.py").read_text(encoding="utf-8")
    written = re.findall(r"write_atomically\(out / (.*?), ", source)
    names = {"/".join(re.findall(r'"([^"]+)"', found)) for found in written}
    assert len(names) > 8
    assert names <= set(CODE.findall(text_of(OVERVIEW)))


@pytest.mark.parametrize("page", WRITTEN)
def test_lines_are_plain(page: str) -> None:
    """No tab, no trailing blank, no unfinished business, and every fence is closed."""
    text = text_of(page)
    assert not re.search(r"\t|[ \t]+$", text, re.MULTILINE)
    assert not re.search(r"\b(?:TO" + r"DO|FIX" + r"ME|TB" + r"D)\b", text)
    assert text.count("\n```") % 2 == 0
    assert text.endswith("\n")


def test_the_example_curve_is_read_by_todays_code() -> None:
    (curve,) = load_curves(ROOT / "docs" / "examples" / "llama-cpp" / "curve.json")
    levels = [point.concurrency for point in curve.points if point.kind is PointKind.CURVE]
    assert levels == [1, 2, 3, 5, 7, 11, 16]
    assert all(point.figure("system_tps").low is not None for point in curve.points), "every headline has its interval"
