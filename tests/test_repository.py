"""Holds the repository's own files to its promises: pins, no address, no path of one machine, a licence."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
SKIPPED_FOLDERS = frozenset(
    {
        ".cache",
        ".git",
        ".hypothesis",
        ".mypy_cache",
        ".pytest_cache",
        ".ruff_cache",
        ".venv",
        "__pycache__",
        "build",
        "dist",
        "results",
    }
)

# The patterns are put together from pieces, so that this file does not hold what it forbids.
ADDRESSES = re.compile(
    "|".join(
        (
            "pypi" + r"\.(?:org|python)",
            "python" + "hosted",
            r"registry\." + "npmjs",
            r"deb\." + r"debian\.org",
            "--(?:extra-)?index" + "-url",
            "--find" + "-links",
            "PIP_(?:EXTRA_)?INDEX" + "_URL",
            "https?://[^ ]*/simple" + r"(?:/|\b)",
        )
    )
)
MACHINE_PATHS = re.compile(
    "|".join(("/ro" + "ot/", "/ho" + r"me/\w", "/Us" + r"ers/\w", "/wo" + r"rk/\w", "/tmp/" + "venv"))
)


def repository_files() -> Iterator[Path]:
    """Every file that belongs to the repository, build products and caches left out."""
    for path in sorted(ROOT.rglob("*")):
        parts = path.relative_to(ROOT).parts
        ignored = any(part in SKIPPED_FOLDERS or part.endswith(".egg-info") for part in parts)
        if path.is_file() and not ignored:
            yield path


def text_files() -> Iterator[tuple[str, str]]:
    """Path and text of every file that is text."""
    for path in repository_files():
        data = path.read_bytes()
        if b"\0" not in data[:8192]:
            yield path.relative_to(ROOT).as_posix(), data.decode("utf-8", "replace")


def offending_lines(pattern: re.Pattern[str], files: Iterator[tuple[str, str]]) -> list[str]:
    """`path:line: match` for every match."""
    return [
        f"{name}:{text.count(chr(10), 0, match.start()) + 1}: {match.group()}"
        for name, text in files
        for match in pattern.finditer(text)
    ]


def normal(name: str) -> str:
    """A distribution's name as package indexes compare it."""
    return re.sub(r"[-_.]+", "-", name).lower()


def pins(file: Path) -> dict[str, str]:
    """Name to exact version of one requirements file and of those that it includes. Anything else is an error."""
    found: dict[str, str] = {}
    for raw in file.read_text("utf-8").splitlines():
        line = raw.split("#")[0].strip()
        if not line:
            continue
        if line.startswith("-r "):
            found |= pins(file.parent / line[3:].strip())
            continue
        match = re.fullmatch(r"([A-Za-z0-9._-]+)==([A-Za-z0-9.!+]+)", line)
        assert match, f"{file.name}: not an exact pin: {line!r}"
        name = normal(match.group(1))
        assert name not in found or found[name] == match.group(2), f"{file.name}: two versions of {name}"
        found[name] = match.group(2)
    return found


def project() -> dict[str, object]:
    loaded: dict[str, object] = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    return loaded


def required(requirements: object) -> list[str]:
    assert isinstance(requirements, list)
    return [normal(re.split(r"[\s<>=!~;\[]", item, maxsplit=1)[0]) for item in requirements]


def test_every_runtime_dependency_is_pinned() -> None:
    missing = set(required(project()["dependencies"])) - set(pins(ROOT / "requirements" / "runtime.txt"))
    assert not missing


def test_every_development_dependency_is_pinned() -> None:
    extras = project()["optional-dependencies"]
    assert isinstance(extras, dict)
    missing = set(required(extras["dev"])) - set(pins(ROOT / "requirements" / "dev.txt"))
    assert not missing


def test_the_build_back_end_is_pinned() -> None:
    build = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["build-system"]
    assert set(required(build["requires"])) <= set(pins(ROOT / "requirements" / "build.txt"))


def test_optional_tokenizer_code_is_not_installed_by_default() -> None:
    assert "transformers" not in pins(ROOT / "requirements" / "dev.txt")


@pytest.mark.parametrize("line", ["numpy>=2", "numpy", "numpy==2.*", "numpy @ file.whl", "--pre"])
def test_a_loose_pin_is_refused(line: str, tmp_path: Path) -> None:
    file = tmp_path / "requirements.txt"
    file.write_text(line + "\n")
    with pytest.raises(AssertionError, match="not an exact pin"):
        pins(file)


def test_no_file_names_a_package_index() -> None:
    assert offending_lines(ADDRESSES, text_files()) == []


def test_no_file_names_a_path_of_one_machine() -> None:
    assert offending_lines(MACHINE_PATHS, text_files()) == []


@pytest.mark.parametrize(
    ("pattern", "text"),
    [
        (ADDRESSES, "pip install --index" + "-url x"),
        (ADDRESSES, "see https://py" + "pi.org/project/x"),
        (ADDRESSES, "https://mirror.example/sim" + "ple/numpy"),
        (MACHINE_PATHS, "data: /ho" + "me/ann/data"),
        (MACHINE_PATHS, "/wo" + "rk/main/src"),
    ],
)
def test_an_address_or_machine_path_would_be_found(pattern: re.Pattern[str], text: str) -> None:
    assert offending_lines(pattern, iter([("file", "first\n" + text)])) == [f"file:2: {pattern.search(text)[0]}"]  # type: ignore[index]


def test_the_walk_sees_the_repository() -> None:
    seen = {path.relative_to(ROOT).as_posix() for path in repository_files()}
    assert {"LICENSE", "Makefile", "pyproject.toml", "requirements/runtime.txt", ".ci/run"} <= seen


def test_the_licence_is_the_one_the_package_declares() -> None:
    assert project()["license"] == "Apache-2.0"
    text = (ROOT / "LICENSE").read_text("utf-8")
    assert "Apache License" in text
    assert "END OF TERMS AND CONDITIONS" in text


def test_the_ci_script_runs_the_same_tests_as_a_developer() -> None:
    script = (ROOT / ".ci" / "run").read_text("utf-8")
    assert "make test" in script
    assert (ROOT / ".ci" / "run").stat().st_mode & 0o100


def test_the_wheel_holds_every_file_of_the_package(tmp_path: Path) -> None:
    """Templates, styles, prompts and rules too: an installed package has no source tree to fall back on."""
    command = [sys.executable, "-m", "hatchling", "build", "--target", "wheel", "--directory", str(tmp_path)]
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True)
    (wheel,) = tmp_path.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        held = {name for name in archive.namelist() if name.startswith("wholecurve/")}
    source = ROOT / "src"
    wanted = {path.relative_to(source).as_posix() for path in repository_files() if source in path.parents}
    assert wanted - held == set()
    assert {Path(name).suffix for name in held} >= {".py", ".j2", ".css", ".jsonl"}
