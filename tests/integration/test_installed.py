"""The wheel without a checkout: a project is written, used, loaded by another workflow, archived.

The study is the first tutorial's, typed word for word.
"""

from __future__ import annotations

import os
import subprocess
import tempfile
from pathlib import Path

import needs
import pandas as pd
import pytest
import real_gem5
from installed import Machine, make_environment
from places import ROOT

import apuflow
from apuflow.core import project

PLANNED = ("preview-to-gem5", "own-kernel", "cluster")
"""Tutorials whose runs need a real gem5."""

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
def machine(tmp_path_factory: pytest.TempPathFactory) -> Machine:
    return Machine(tmp_path_factory.mktemp("machine"))


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
    asked = "apuflow.evaluate('softmax_fwd', {'num-compute-units': 4})['workgroups'][0]"
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


@pytest.mark.parametrize("tutorial", PLANNED)
def test_tutorials_for_gem5_plan_what_they_say(machine: Machine, tutorial: str, tmp_path: Path) -> None:
    """Without gem5: everything but its runs, which Snakemake plans; it reads the text of MIOpen's kernels."""
    needs.CLANG.required_program()
    kernels = tmp_path / "miopen/src/kernels"
    kernels.mkdir(parents=True)
    for name in ("MIOpenSoftmax.cl", "MIOpenPooling.cl"):
        (kernels / name).write_text("kernel void stand_in() {}\n")
    site = f"container: host\nmiopen_source: {tmp_path}/miopen\n"
    _, printed = machine.type_in(tmp_path, tutorial, site=site, gem5="plan")
    assert "simulate" in printed and "report" in printed


def test_the_cluster_tutorial_ends_with_a_report(machine: Machine, tmp_path: Path) -> None:
    """By the preview, under the Slurm profile: no point is a job then, Snakemake makes all of it itself."""
    there, printed = machine.type_in(tmp_path, "cluster", engine="preview")
    table = pd.read_csv(there / "results/night/pool_fwd.csv")
    assert len(table) == 24 and set(table["status"]) == {"completed"}
    assert (there / "results/night/report.html").exists() and "no recorded failure" in printed


@pytest.mark.gem5
@pytest.mark.parametrize("tutorial", ["preview-to-gem5", "own-kernel", "network"])
def test_tutorials_for_gem5_run_on_a_real_one(machine: Machine, tutorial: str) -> None:
    binary, miopen = os.environ.get("APUFLOW_TEST_GEM5"), os.environ.get("APUFLOW_TEST_MIOPEN")
    if not binary:
        needs.GEM5.skip()
    if not miopen:
        needs.MIOPEN.skip()
    if real_gem5.release().name != "v23.0":
        pytest.skip("the tutorials use v23.0")
    source = Path(binary).resolve().parents[2]
    site = f"container: host\ngem5: {{binary: {binary}, source: {source}}}\nmiopen_source: {miopen}\n"
    with tempfile.TemporaryDirectory(prefix=".gem5-test-", dir=ROOT) as visible:  # a guest sees no /tmp
        project, _ = machine.type_in(Path(visible), tutorial, site=site)
        assert list(project.glob("results/*/report.html"))


def test_the_network_tutorial_folds_layers_into_an_iteration(machine: Machine, tmp_path: Path) -> None:
    there, printed = machine.type_in(tmp_path, "network", gem5="none")
    iterations, operations = (
        pd.read_csv(there / f"results/net/{name}.csv") for name in ("squeezenet1_1", "operations")
    )
    assert (there / "results/net/report.html").exists()
    assert iterations["num_compute_units"].tolist() == [4, 16]
    assert iterations["gpu_time"].is_monotonic_decreasing
    assert f"{len(operations)} points" in printed
    # Layers that occur more than once count more than once.
    assert iterations["gpu_cycles"].sum() > operations["gpu_cycles"].sum()


def test_the_pareto_tutorial_finds_the_points_that_none_beats(machine: Machine, tmp_path: Path) -> None:
    """The figure's points beside the sweep's table, whose machines are compared one with each other here."""
    there, printed = machine.type_in(tmp_path, "pareto", gem5="none")
    assert "all 15 points computed" in printed and (there / "results/space/report.html").exists()
    table = pd.read_csv(there / "results/space/lrn_fwd.csv")
    kilobytes = table["tcc_size"].map({"128kB": 128, "512kB": 512, "2MB": 2048})
    area = table["num_compute_units"] + kilobytes * 1024 / 512e3
    both = pd.DataFrame({"cycles": table["gpu_cycles"], "area": area})
    beaten = [((both <= row).all(axis=1) & (both < row).any(axis=1)).any() for _, row in both.iterrows()]
    best = table.loc[[not each for each in beaten], ["num_compute_units", "tcc_size"]]
    drawn = pd.read_csv(there / "front.csv")
    starred = drawn.loc[drawn["best"], ["num_compute_units", "tcc_size"]]
    assert set(map(tuple, starred.to_numpy())) == set(map(tuple, best.to_numpy()))
    assert f"({len(best)} points)" in printed and len(best) > 1


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
    machine.run(typed[0], "apuflow", "unpack", "archives/tcc.tar.zst", str(there))
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
