"""Shared fixtures, and the gate's rule: with APUFLOW_REQUIRE_ALL=1 nothing is skipped for a missing tool."""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from collections.abc import Callable, Generator
from pathlib import Path
from typing import Any

import needs
import pytest
from places import DATA, ROOT

from apuflow.containers import found


def pytest_configure(config: pytest.Config) -> None:
    """The directory of ``places.made_once``.

    Tests start Python hundreds of times, so bytecode is kept whatever the environment says.
    """
    sys.dont_write_bytecode = False
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    if not hasattr(config, "workerinput"):
        os.environ["APUFLOW_TEST_RUN"] = tempfile.mkdtemp(dir="/var/tmp", prefix="apuflow-tests-")


def pytest_unconfigure(config: pytest.Config) -> None:
    if not hasattr(config, "workerinput"):
        shutil.rmtree(os.environ["APUFLOW_TEST_RUN"], ignore_errors=True)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    if report.skipped and os.environ.get("APUFLOW_REQUIRE_ALL") and "gem5" not in item.keywords:
        report.outcome = "failed"
        report.longrepr = f"skipped, but the gate requires it: {report.longrepr}"
    return report


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """With several workers, all tests that share what is costly to make run on one of them."""
    from xdist.scheduler import LoadScopeScheduling

    class Scheduling(LoadScopeScheduling):  # type: ignore[misc]
        def _split_scope(self, nodeid: str) -> str:
            return _shared(nodeid)

    return Scheduling(config, log)


def _shared(nodeid: str) -> str:
    """A Docker daemon; mypy's cache; of other linters nothing; else what the file's own fixtures make."""
    file = Path(nodeid.partition("::")[0])
    if file.name == "test_style.py":
        return "mypy" if "mypy" in nodeid else nodeid
    return "docker" if "docker" in file.name else str(file)


@pytest.fixture(autouse=True)
def found_docker(monkeypatch: pytest.MonkeyPatch) -> Generator[None]:
    """A site without the key ``container`` gets Docker, whatever this machine has."""
    monkeypatch.setenv(found.DECIDED, '{"name": "docker"}')
    found.find_engine.cache_clear()
    yield
    found.find_engine.cache_clear()


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Last of all: what was not tested for want of which tool, and the command that installs it."""
    reports = [report for report in terminalreporter.stats.get("skipped", ()) if report.longrepr]
    reasons = [str(report.longrepr[2]).removeprefix("Skipped: ") for report in reports]
    for line in needs.summary(reasons):
        terminalreporter.write_line(line)


def pytest_report_header() -> list[str]:
    """Which gem5 the tests of a real gem5 run on."""
    if "APUFLOW_TEST_GEM5" not in os.environ:
        return []
    import real_gem5

    return [f"gem5: {real_gem5.release().name}, {real_gem5.TARGET} ({real_gem5.binary()})"]


@pytest.fixture
def data() -> Path:
    """Recorded files of real gem5 runs and upstream facts."""
    return DATA


def copy_project(directory: Path) -> Path:
    """A copy of the project's own files below ``directory`` (no results, no environment)."""
    target = directory / "project"
    target.mkdir()
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
            shutil.copytree(source, target / name, ignore=shutil.ignore_patterns("*.egg-info"))
        else:
            shutil.copy(source, target / name)
    (target / "configs/site.yaml").unlink(missing_ok=True)
    return target


@pytest.fixture(scope="session")
def new_project() -> Callable[[Path], Path]:
    """Makes fresh copies of the project, for fixtures that outlive a test."""
    return copy_project


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A fresh copy of the project to run the workflow in."""
    return copy_project(tmp_path)
