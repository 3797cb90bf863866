"""``apuflow plan``."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from apuflow.cli import build_app
from apuflow.core.errors import ConfigError


@pytest.fixture(autouse=True)
def _project(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(root)
    monkeypatch.setenv("COLUMNS", "200")


def output(*arguments: str) -> str:
    done = CliRunner().invoke(build_app(), list(arguments))
    assert done.exit_code == 0, done.exception
    return done.output


def test_a_workload_is_shown_with_every_point() -> None:
    shown = output("plan", "quickstart", "softmax_fwd")
    assert "u64-" in shown
    assert "7 points, 0 done" in shown


def test_as_json() -> None:
    points = json.loads(output("plan", "quickstart", "pool_bwd", "--json"))
    assert [point["num-compute-units"] for point in points] == [1, 2, 4, 8, 16, 32, 64]
    rows = json.loads(output("plan", "quickstart", "--json"))
    [workload] = [row for row in rows if row["workload"] == "pool_bwd"]
    assert workload["points"] == 7
    assert workload["warnings"]


def test_a_sample_is_said(root: Path) -> None:
    text = "description: x\nengines: [gem5-kernels]\nsuites: [squeezenet1_1]\nlayer: {n: 1, direction: fwd}\n"
    (root / "configs/sweeps/net.yaml").write_text(text + "sampling: {bound: 0.02, budget: 0.25}\n")
    shown = " ".join(output("plan", "net").split())
    assert "operations with 25 % of the cycles" in shown and "within 2 %" in shown
    assert "sample:" not in output("plan", "quickstart")


@pytest.mark.parametrize("arguments", [["nosuch"], ["quickstart", "dropout_fwd"]])
def test_unknown_names_are_refused(arguments: list[str]) -> None:
    assert isinstance(CliRunner().invoke(build_app(), ["plan", *arguments]).exception, ConfigError)


def test_memory_is_that_of_gem5_and_the_preview_needs_none(root: Path) -> None:
    """Softmax of 100x1000 on 16 units, in whole 100 MB.

    800 MB of gem5 itself, 6.3 MB a unit, twice what the guest touches (200 MB of ROCm, about 1.2 MB of
    tensors). 1.4e9 bytes are 1.30 of gem5's GB.
    """
    head = "description: x\nworkloads: [softmax_fwd]\naxes: {num-compute-units: [4, 16]}\nengines: "
    (root / "configs/sweeps/mine.yaml").write_text(head + "[gem5]\n")
    [row] = [line for line in output("plan", "mine").splitlines() if line.startswith("softmax_fwd")]
    assert row.endswith("1.30 GB")
    (root / "configs/sweeps/mine.yaml").write_text(head + "[preview]\n")
    assert "GB" not in output("plan", "mine")


def test_the_plan_says_whose_kernels_products_are_and_why_it_is_the_stand_in(root: Path) -> None:
    head = "description: x\nengines: [gem5-kernels, preview]\nworkloads: [fc_fwd, softmax_fwd]\n"
    (root / "configs/sweeps/mine.yaml").write_text(head)
    assert "matrix products: rocBLAS' own kernels (gem5-kernels, preview)" in output("plan", "mine")
    (root / "configs/site.yaml").write_text("container: host\nmiopen_source: MIOpen\n")
    shown = output("plan", "mine")
    assert "matrix products: rocBLAS' own kernels (preview)" in shown
    [line] = [line for line in shown.splitlines() if "stand-in (gem5-kernels)" in line]
    assert "rocblas_source" in line and "tensile_source" in line
    (root / "configs/sweeps/mine.yaml").write_text(head.replace("fc_fwd, ", ""))
    assert "matrix products" not in output("plan", "mine")


def test_a_checkout_of_tensile_that_is_not_there_is_said_before_a_run(root: Path) -> None:
    (root / "configs/sweeps/mine.yaml").write_text(
        "description: x\nengines: [gem5-kernels]\nworkloads: [fc_fwd]\n"
    )
    (root / "configs/site.yaml").write_text("rocblas_source: .\ntensile_source: absent\n")
    [line] = [line for line in output("plan", "mine").splitlines() if line.startswith("cannot run here")]
    assert "tensile_source: absent" in line and "products: stand-in" in line
