"""Fixtures of the unit tests."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A project directory with the shipped configuration."""
    shutil.copytree(ROOT / "configs", tmp_path / "configs")
    (tmp_path / "configs/site.yaml").unlink(missing_ok=True)
    return tmp_path
