"""What a run of the tests says about a tool that is not there."""

from __future__ import annotations

import os
import re
import subprocess
import sys

import needs
import pytest
from places import ROOT

NEEDS_A_COMPILER = "tests/unit/launcher/test_program.py::test_program_is_static_and_small"


def without_tools(**environment: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-p", "no:xdist", NEEDS_A_COMPILER]
    variables = {name: value for name, value in os.environ.items() if name != "APUFLOW_REQUIRE_ALL"}
    variables |= {"PATH": "/nowhere", **environment}
    return subprocess.run(command, cwd=ROOT, env=variables, capture_output=True, text=True, check=False)


def test_the_summary_names_what_was_not_tested_and_the_packages() -> None:
    done = without_tools()
    assert done.returncode == 0, done.stdout
    *_, untested, install, counts = done.stdout.splitlines()
    assert "gem5-kernels" in untested and "no C compiler" in untested
    assert install.endswith("apt-get install gcc libc6-dev")
    assert counts.startswith("1 skipped")


def test_in_the_gate_it_fails() -> None:
    done = without_tools(APUFLOW_REQUIRE_ALL="1")
    assert done.returncode == 1
    assert "1 error" in done.stdout and "no C compiler" in done.stdout


def test_nothing_is_said_where_nothing_is_missing() -> None:
    assert list(needs.summary([])) == []


@pytest.mark.parametrize("name", needs.ANYWHERE)
def test_what_the_bare_run_leaves_out_is_there_and_needs_no_program(name: str) -> None:
    """But for a gem5 and Python packages; faults and reruns are of a project that the bare run makes, too."""
    place = ROOT / "tests" / name
    assert place.exists()
    if name.startswith("unit"):
        program = re.compile(
            r"\bsubprocess\b|\bwhich\(|\bneeds\.(?!GEM5\b|NETWORKS\b|TRITON\b)|\blauncher_tools\b|\bclang: "
        )
        files = [place] if place.is_file() else sorted(place.rglob("*.py"))
        assert files and not [file for file in files if program.search(file.read_text())]
