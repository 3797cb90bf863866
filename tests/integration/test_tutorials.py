"""The other tutorials, typed word for word on a machine that has the wheel alone."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

import needs
import pandas as pd
import pytest
import real_gem5
from installed import Machine
from places import ROOT

PLANNED = ("preview-to-gem5", "own-kernel", "cluster")
"""Tutorials whose runs need a real gem5."""


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
