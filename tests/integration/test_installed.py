"""The wheel without a checkout: a project is written, used, loaded by another workflow, archived.

The study is the first tutorial's, typed word for word.
"""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pandas as pd
import pytest
from installed import Machine, make_environment
from places import ROOT

import apuflow
from apuflow.core import project

OTHER_WORKFLOW = """\
from apuflow.core import project


module apuflow:
    snakefile: project.snakefile()


use rule * from apuflow as apuflow_*


rule summary:
    default_target: True
    input: "results/quickstart/softmax_fwd.csv",
    output: "summary.txt",
    shell: "wc -l < {input} > {output}"
"""


@pytest.fixture(scope="module")
def typed(machine: Machine, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """The project that the first tutorial ends with, and what its commands printed."""
    return machine.type_in(tmp_path_factory.mktemp("empty"), "first-study")


def test_the_installed_program_knows_its_version_and_its_data(machine: Machine, tmp_path: Path) -> None:
    assert machine.run(tmp_path, "apuflow", "--version") == f"apuflow {apuflow.__version__}\n"
    assert machine.package.is_dir()
    assert "608" in machine.run(tmp_path, "apuflow", "score")


def test_the_wheel_takes_no_name_that_others_use(machine: Machine, tmp_path: Path) -> None:
    """Ours and what Snakemake looks for; a module of the user's called analysis does no harm."""
    ours = {"apuflow", "apuflow_analysis", "snakemake_logger_plugin_apuflow"}
    found = {
        path.name for path in machine.package.parent.iterdir() if path.suffix not in (".pth", ".dist-info")
    }
    assert found - {"__pycache__"} == ours
    (tmp_path / "analysis.py").write_text("raise SystemExit('not mine')\n")
    asked = "apuflow.evaluate('softmax_fwd', {'num-compute-units': 4}, {'n': 100})['workgroups'][0]"
    assert machine.run(tmp_path, "python", "-c", f"import apuflow; print({asked})").startswith("100")


def test_the_first_tutorial_ends_with_what_it_promises(typed: tuple[Path, str]) -> None:
    first, printed = typed
    assert first.name == "first"
    assert len(pd.read_csv(first / "results/quickstart/softmax_fwd.csv")) == 7
    table = pd.read_csv(first / "results/tcc/pool_fwd.csv")
    assert len(table) == 4 and set(table["engine"]) == {"preview"} and set(table["status"]) == {"completed"}
    assert (first / "results/quickstart/softmax_fwd.columns.json").exists()
    assert {file.suffix for file in (first / "results/tcc/figures").glob("speedup.*")} == {
        ".svg",
        ".png",
        ".csv",
    }
    assert "every checksum holds" in printed and "8 points" in printed
    # Nothing of the program is copied into a project: a new version of it is one pip install.
    assert not [*first.glob("workflow/**/*.py"), *first.glob("workflow/**/*.smk")]


def test_another_workflow_loads_it_as_a_module(machine: Machine, tmp_path: Path) -> None:
    machine.run(tmp_path, "apuflow", "init", ".")
    (tmp_path / "Snakefile").write_text(OTHER_WORKFLOW)
    machine.run(tmp_path, "snakemake", "--cores", "2")
    assert (tmp_path / "summary.txt").read_text().split() == ["8"]


def test_a_clone_works_where_apuflow_is_not_installed(project: Path, tmp_path: Path) -> None:
    """As from Snakemake's catalogue, but for the profile: its logger is found only where it is installed."""
    python = make_environment(tmp_path / "env")
    target = "results/quickstart/softmax_fwd.csv"
    words = [str(python), "-m", "snakemake", "--workflow-profile", "none", "--cores", "1", target]
    environment = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
    done = subprocess.run(words, cwd=project, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert len(pd.read_csv(project / target)) == 7


def test_its_archive_carries_the_program_along(
    machine: Machine, typed: tuple[Path, str], tmp_path: Path
) -> None:
    there = tmp_path / "there"
    machine.run(typed[0], "apuflow", "archive", "unpack", "archives/tcc.tar.zst", str(there))
    carried = ("hatch_build.py", "pyproject.toml", "Makefile", "requirements.lock", "data/gem5_runs/runs.csv")
    logger = "workflow/snakemake_logger_plugin_apuflow/__init__.py"
    for file in (
        "workflow/Snakefile",
        "workflow/apuflow/cli.py",
        logger,
        "analysis/apuflow_analysis/__init__.py",
        *carried,
    ):
        assert (there / file).read_bytes() == (ROOT / file).read_bytes()
    assert (there / "Snakefile").read_text() == project.SNAKEFILE
    assert not (there / "workflow/apuflow/project_files").exists()


def test_a_project_leaves_what_is_there(tmp_path: Path) -> None:
    (tmp_path / "Snakefile").write_text("# mine\n")
    written = project.new_project(tmp_path)
    assert "configs/sweeps/quickstart.yaml" in written and "Snakefile" not in written
    assert (tmp_path / "Snakefile").read_text() == "# mine\n"
    assert project.new_project(tmp_path) == []
    assert not (tmp_path / "configs/site.yaml").exists()
