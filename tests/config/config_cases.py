"""What the tests of configuration share: a short file, and settings from text."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from wholecurve.config import Resolved, RunFlags, Settings, parse_config, settings_from

Run = Callable[..., Resolved]


def settings(text: str, environ: Mapping[str, str] | None = None, flags: RunFlags | None = None) -> Settings:
    """Settings of a YAML text, named run.yaml in messages."""
    return settings_from(flags or RunFlags(), parse_config(text, "run.yaml", environ or {}))


BASE = """\
endpoint: {urls: "http://127.0.0.1:8000", model: m}
dataset: {path: prompts.jsonl}
load: {concurrency: 4}
"""
