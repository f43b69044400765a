"""What the engine's own script promises before any engine runs: clear errors, and prompts that can be remade."""

from __future__ import annotations

import json
import os
from pathlib import Path

import llama_cpp
import make_prompts
import pytest


def test_the_prompts_file_is_what_its_script_writes() -> None:
    assert make_prompts.FILE.read_text("utf-8") == make_prompts.text()


def test_there_are_enough_prompts_and_each_has_a_question_and_a_limit() -> None:
    rows = [json.loads(line) for line in make_prompts.FILE.read_text("utf-8").splitlines()]
    assert len(rows) >= 100
    assert {row["messages"][-1]["role"] for row in rows} == {"user"}
    assert all(0 < row["max_tokens"] <= 128 for row in rows)
    assert len({row["messages"][-1]["content"] for row in rows}) >= 90


def test_the_model_lies_beside_the_script() -> None:
    assert llama_cpp.MODEL.read_bytes()[:4] == b"GGUF"


def test_a_named_engine_that_is_not_there_is_an_error(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("LLAMA_SERVER", str(tmp_path / "absent"))
    with pytest.raises(llama_cpp.EngineError, match="is no executable file"):
        llama_cpp.ensure_binary()


def test_a_named_engine_is_used_as_it_is(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    binary = tmp_path / "llama-server"
    binary.write_text("#!/bin/sh\n")
    binary.chmod(0o755)
    monkeypatch.setenv("LLAMA_SERVER", str(binary))
    assert llama_cpp.ensure_binary() == binary


def test_a_missing_compiler_is_an_error(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("LLAMA_SERVER", raising=False)
    monkeypatch.delenv("CXX", raising=False)
    monkeypatch.setenv("WHOLECURVE_ENGINES", str(tmp_path / "cache"))
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(llama_cpp.EngineError, match=r"no C\+\+ compiler"):
        llama_cpp.ensure_binary()


def test_an_engine_that_stops_at_once_is_an_error_with_its_log(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    binary = tmp_path / "llama-server"
    binary.write_text("#!/bin/sh\necho cannot load the model >&2\nexit 7\n")
    binary.chmod(0o755)
    monkeypatch.setenv("LLAMA_SERVER", str(binary))
    with pytest.raises(llama_cpp.EngineError, match=r"exit code 7:\ncannot load the model"), llama_cpp.running():
        pass


def test_a_cached_binary_is_found(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("LLAMA_SERVER", raising=False)
    monkeypatch.setenv("WHOLECURVE_ENGINES", str(tmp_path))
    binary = tmp_path / f"llama.cpp-{llama_cpp.VERSION}-portable" / "llama-server"
    binary.parent.mkdir()
    binary.touch(mode=0o755)
    assert os.access(binary, os.X_OK)
    assert llama_cpp.find_binary() == binary
