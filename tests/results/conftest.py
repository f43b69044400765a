"""The real campaign is measured once; every test that changes files works on a copy."""

from __future__ import annotations

from pathlib import Path

import pytest
from result_runs import copy_of, measure_campaign


@pytest.fixture(scope="session")
def measured(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return measure_campaign(tmp_path_factory.mktemp("measured") / "campaign")


@pytest.fixture
def campaign(measured: Path, tmp_path: Path) -> Path:
    return copy_of(measured, tmp_path / "campaign")
