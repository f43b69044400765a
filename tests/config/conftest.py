"""A data set on disk, and plans made from text."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest
from config_cases import Run, settings

from wholecurve import datasets
from wholecurve.config import Resolved, RunFlags, resolve

PROMPTS = '{"prompt": "one"}\n{"prompt": "two"}\n{"prompt": "three"}\n'


@pytest.fixture
def prompts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """prompts.jsonl with three rows, in the current folder."""
    monkeypatch.chdir(tmp_path)
    file = tmp_path / "prompts.jsonl"
    file.write_text(PROMPTS)
    return file


@pytest.fixture
def run(prompts: Path) -> Run:
    """Resolves a YAML text: `run(text, environ={...}, flags=RunFlags(...), cores=...)`."""

    def made(
        text: str = "",
        environ: Mapping[str, str] | None = None,
        flags: RunFlags | None = None,
        cores: int = 8,
        rows: str | None = None,
    ) -> Resolved:
        if rows is not None:
            prompts.write_text(rows)
        wanted = settings(text, environ, flags)
        return resolve(wanted, environ=environ or {}, read_dataset=datasets.load, cores=cores)

    return made
