"""Shared fixtures, and the gate's rule: with APUFLOW_REQUIRE_ALL=1 a test may not be skipped for a missing tool."""

from __future__ import annotations

import os
import shutil
from collections.abc import Generator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
DATA = Path(__file__).resolve().parent / "data"


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    if report.skipped and os.environ.get("APUFLOW_REQUIRE_ALL") and "gem5" not in item.keywords:
        report.outcome = "failed"
        report.longrepr = f"skipped, but the gate requires it: {report.longrepr}"
    return report


@pytest.fixture
def data() -> Path:
    """Recorded files of real gem5 runs and upstream facts."""
    return DATA


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A copy of the project's own files (no results, no environment) to run the workflow in."""
    directory = tmp_path / "project"
    directory.mkdir()
    for name in (
        "Snakefile",
        "workflow",
        "configs",
        "profiles",
        "analysis",
        "pyproject.toml",
        "requirements.lock",
    ):
        source = ROOT / name
        if source.is_dir():
            shutil.copytree(
                source, directory / name, ignore=shutil.ignore_patterns("__pycache__", "*.egg-info")
            )
        else:
            shutil.copy(source, directory / name)
    return directory
