"""The real engine as a fixture: built once, started for a session, stopped at its end."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parent))

from llama_cpp import Engine, running


@pytest.fixture(scope="session")
def llama_server() -> Iterator[Engine]:
    """A running llama-server with the trained model, 16 slots. What keeps it from starting is an error, not a skip."""
    with running(parallel=16) as engine:
        yield engine
