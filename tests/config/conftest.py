"""What the tests of configuration share: a data set on disk, and settings from text."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from wholecurve import datasets
from wholecurve.config import Resolved, RunFlags, Settings, parse_config, resolve, settings_from

PROMPTS = '{"prompt": "one"}\n{"prompt": "two"}\n{"prompt": "three"}\n'

Run = Callable[..., Resolved]


def settings(text: str, environ: Mapping[str, str] | None = None, flags: RunFlags | None = None) -> Settings:
    """Settings of a YAML text, named run.yaml in messages."""
    return settings_from(flags or RunFlags(), parse_config(text, "run.yaml", environ or {}))


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


BASE = """\
endpoint: {urls: "http://127.0.0.1:8000", model: m}
dataset: {path: prompts.jsonl}
load: {concurrency: 4}
"""
