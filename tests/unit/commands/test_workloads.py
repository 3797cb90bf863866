"""``apuflow list workloads``."""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner

from apuflow.cli import build_app


@pytest.fixture(autouse=True)
def _project(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(root)
    monkeypatch.setenv("COLUMNS", "200")


def lines(*arguments: str) -> list[str]:
    done = CliRunner().invoke(build_app(), ["list", "workloads", *arguments])
    assert done.exit_code == 0, done.exception
    return done.output.splitlines()


def test_every_workload_stands_with_its_engines() -> None:
    """gem5's own weekly test runs softmax forward; DNNMark has no dropout on HIP."""
    listed = {words[0]: words[1:4] for line in lines() if len(words := line.split()) > 4}
    assert listed["softmax_fwd"] == ["yes", "yes", "yes"]
    assert listed["conv_fwd"] == ["unproven", "yes", "yes"]
    assert listed["dropout_fwd"] == ["no", "no", "no"]


def test_what_is_wrong_with_a_network_is_said(root: Path) -> None:
    """Of 3 channels, MIOpen's transposed convolution cannot make 32: DNNMark's Setup aborts."""
    problems = ("error:", "warning:")
    assert not [line for line in lines("conv_fwd") if line.startswith(problems)]
    network = root / "configs/workloads/conv.dnnmark"
    network.write_text(network.read_text().replace("conv_mode=cross_correlation", "conv_mode=transpose"))
    [problem] = [line for line in lines("conv_fwd") if line.startswith(problems)]
    assert problem.startswith("error: conv1: ")
    assert "c (3) = num_output (32)" in problem


def test_one_workload_is_described() -> None:
    """126 images of 32x256x256 floats are 1,056,964,608 bytes, of 3 channels 99,090,432."""
    said = lines("conv_fwd")
    assert "  Convolution conv1: 126x3x256x256 -> 126x32x256x256" in said
    assert "mmap file: 99.1 MB" in said
